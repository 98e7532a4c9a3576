//! Why a runtime does not start.

use crate::channel::ChannelError;
use crate::handler::Place;
use crate::options::InvalidOption;

/// The outbox can't start. Everything that is wrong is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Options, handlers or the schema are not what is needed.
    #[error("the outbox can't start:{}", list(.0))]
    Refused(Vec<StartProblem>),
    /// The database gave no answer within `connect_timeout`, or refused the connection.
    #[error(
        "the outbox can't start: the database can't be reached; is it running, and is the pool's URL right?"
    )]
    Unreachable(#[source] sqlx::Error),
    /// The database refused a statement.
    #[error("the outbox can't start: its subscriptions could not be written")]
    Database(#[source] sqlx::Error),
    /// The system gave no thread for the heartbeat.
    #[error("the outbox can't start: the heartbeat thread could not be started")]
    Thread(#[source] std::io::Error),
}

impl StartError {
    /// What is wrong, where that is a matter of options, handlers or schema.
    #[must_use]
    pub fn problems(&self) -> &[StartProblem] {
        match self {
            Self::Refused(problems) => problems,
            _ => &[],
        }
    }
}

/// One reason for not starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartProblem {
    /// An option is out of its range.
    #[error("{0}")]
    Option(InvalidOption),
    /// A handler's attribute, completed by the runtime's settings, makes no policy.
    #[error("handler `{handler}` ({place}), with the runtime's settings: {fault}")]
    Policy {
        /// The handler.
        handler: &'static str,
        /// Where it stands.
        place: Place,
        /// What is wrong.
        fault: InvalidOption,
    },
    /// `channel` is no channel name.
    #[error("expected `channel` to be a channel name: {0}")]
    Channel(ChannelError),
    /// `state` was called twice with one type.
    #[error(
        "`state` was given two values of the type `{0}`; wrap one of them in a type of its own"
    )]
    TwoStates(&'static str),
    /// A handler takes a `State<T>` that `start` was not given.
    #[error(
        "handler `{handler}` ({place}) needs `State<{type_name}>`; add `.state(…)` with a value of that type to `outbox::start(pool)`"
    )]
    MissingState {
        /// The handler.
        handler: &'static str,
        /// Where it stands.
        place: Place,
        /// The state's type.
        type_name: &'static str,
    },
    /// Two handlers have one name, or one has another's name as its alias.
    #[error(
        "two handlers are named `{name}`: {first} and {second}; give one of them another `name = \"…\"` or drop the alias"
    )]
    DuplicateName {
        /// The name.
        name: &'static str,
        /// Where the one stands.
        first: Place,
        /// Where the other stands.
        second: Place,
    },
    /// `only` or `except` names a handler that is not linked.
    #[error("`{option}` names the handler `{name}`, which is not linked; linked are: {linked}")]
    UnknownHandler {
        /// `only` or `except`.
        option: &'static str,
        /// The name.
        name: String,
        /// All linked handlers.
        linked: String,
    },
    /// No handler is linked.
    #[error(
        "no handler is linked: annotate a function with `#[outbox::handler]`; if there are some in a crate that the binary never mentions, the linker has dropped them: write `use that_crate as _;` in the binary"
    )]
    NoHandler,
    /// `only` and `except` leave no handler.
    #[error("`only` and `except` leave no handler to run")]
    NoneChosen,
    /// Tables, columns or indexes are missing.
    #[error("the schema is missing or older than needed ({}, with search_path {search_path}): call `outbox::migrate(&pool).await?` before `start`, or check the `search_path`", missing.join(", "))]
    Schema {
        /// What is missing, such as `table outbox_events`.
        missing: Vec<String>,
        /// The connection's search path.
        search_path: String,
    },
    /// Row level security hides rows from this role, so that events would never be delivered.
    #[error("row level security hides rows of {} from this role: give the role BYPASSRLS, or exempt it by a policy's owner", tables.join(" and "))]
    RowSecurity {
        /// The tables.
        tables: Vec<String>,
    },
    /// The database's encoding is not UTF8.
    #[error("the database's encoding is {0}; the outbox needs UTF8")]
    Encoding(String),
    /// The server is older than PostgreSQL 13.
    #[error("the server is PostgreSQL {}; the outbox needs 13 or newer", .0 / 10_000)]
    ServerTooOld(i32),
    /// The pool's connections and the runtime's see different tables.
    #[error(
        "the pool's connections see another table `outbox_events` than new connections do: set the `search_path` in the connect options or in `after_connect`, so that it is the same on all"
    )]
    OtherTable,
    /// The role may not do what the runtime does.
    #[error("the role lacks the privileges {}: `GRANT SELECT, INSERT, UPDATE ON outbox_events, outbox_handlers TO …`", .0.join(", "))]
    Privileges(Vec<String>),
    /// A running outbox of this process has set another default.
    #[error("{0}")]
    Conflict(String),
    /// The database can't be reached either; alone, this is [`StartError::Unreachable`].
    #[error("the database can't be reached: {}", crate::error_text::chain(.0))]
    Unreachable(sqlx::Error),
}

fn list(problems: &[StartProblem]) -> String {
    problems.iter().fold(String::new(), |list, problem| {
        list + "\n- " + &problem.to_string()
    })
}
