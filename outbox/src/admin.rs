//! The operator's hand on the table: look, retry, give up.

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};

use crate::channel::{ChannelError, check_channel};
use crate::emit::{default, is_not_migrated};
use crate::ids::RecordId;
use crate::pattern::{NameFault, check_id};
use crate::record::{OutboxRecord, Status};
use crate::stored_text::stored_text;

/// Reads one record.
pub(crate) const ADMIN_GET: &str = include_str!("sql/admin_get.sql");
/// FAILED to PENDING.
pub(crate) const ADMIN_RETRY: &str = include_str!("sql/admin_retry.sql");
/// PENDING to FAILED.
pub(crate) const ADMIN_MARK_FAILED: &str = include_str!("sql/admin_mark_failed.sql");

/// How often a statement is run again that the server refused for a race.
const SERIALIZATION_RETRIES: usize = 20;

/// Looks at records and changes them by hand, within a scope that is fixed when it is made.
///
/// Nothing here touches a record that is PROCESSING: it belongs to its runtime.
///
/// ```
/// use outbox::{Admin, Mutation, RecordId};
///
/// async fn retry(pool: outbox::sqlx::PgPool, id: RecordId) -> Result<(), outbox::AdminError> {
///     match Admin::operator(pool).retry(id).await? {
///         Mutation::Applied => println!("it is due now"),
///         Mutation::Conflict { current } => println!("it is {current}, not FAILED"),
///         Mutation::NotFound | Mutation::LostClaim => println!("somebody was faster"),
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Admin {
    pool: PgPool,
    tenant_id: Option<String>,
    /// `None`: those of the default emitter.
    channel: Option<String>,
}

/// What became of a change of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a change that was not applied is no error"]
pub enum Mutation {
    /// It was made.
    Applied,
    /// There is no such record in the scope.
    NotFound,
    /// The record's state does not allow it; nothing changed.
    Conflict {
        /// The state.
        current: Status,
    },
    /// The state allowed it, but another transition came first; nothing changed.
    LostClaim,
}

/// Why an administrative call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// The tenant of a scope is no valid identifier.
    #[error("the tenant {tenant_id:?} can't have records: {fault}")]
    InvalidTenant {
        /// The tenant as it was given.
        tenant_id: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// A record can't be given up for no reason.
    #[error("a reason is needed to mark a record failed; it becomes the record's `last_error`")]
    EmptyReason,
    /// A name that can't be a channel.
    #[error("the channel can't be used")]
    InvalidChannel(#[source] ChannelError),
    /// The outbox's tables are not there, or are older than this version needs.
    #[error(
        "the outbox's tables are missing or older than needed; run `outbox::migrate(&pool).await?` before, and see that `search_path` names their schema"
    )]
    NotMigrated(#[source] sqlx::Error),
    /// The server reported an error, or could not be reached, or a row could not be read.
    #[error("reading or changing the outbox failed")]
    Database(#[source] sqlx::Error),
}

impl From<sqlx::Error> for AdminError {
    fn from(error: sqlx::Error) -> Self {
        if is_not_migrated(&error) {
            Self::NotMigrated(error)
        } else {
            Self::Database(error)
        }
    }
}

impl Admin {
    /// The scope of an operator: every record.
    #[must_use]
    pub fn operator(pool: PgPool) -> Self {
        Self {
            pool,
            tenant_id: None,
            channel: None,
        }
    }

    /// The scope of one tenant: its records only. Others do not exist for it, not even as a
    /// conflict.
    ///
    /// # Errors
    ///
    /// When `tenant_id` is no identifier that a record can have: 1 to 255 characters without white
    /// space at either end. Nothing is trimmed, and upper case is not lower case.
    pub fn tenant(pool: PgPool, tenant_id: impl Into<String>) -> Result<Self, AdminError> {
        let tenant_id = tenant_id.into();
        if let Err(fault) = check_id(&tenant_id) {
            return Err(AdminError::InvalidTenant { tenant_id, fault });
        }
        Ok(Self {
            pool,
            tenant_id: Some(tenant_id),
            channel: None,
        })
    }

    /// The channel to notify when a record becomes due, as `start(pool).channel(…)` has it on the
    /// consuming side. Default: the channels of the runtimes that run in this process, else
    /// `outbox_events`.
    /// A name that is no channel (`[a-z_][a-z0-9_$]*` of at most 63 bytes) is an error of the calls
    /// that would notify it.
    #[must_use]
    pub fn channel(mut self, name: impl Into<String>) -> Self {
        self.channel = Some(name.into());
        self
    }

    /// The record `id`, if the scope has it.
    ///
    /// # Errors
    ///
    /// When the server can't be reached, or the row holds a number that a
    /// [`serde_json::Value`] has no room for.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub async fn get(&self, id: RecordId) -> Result<Option<OutboxRecord>, AdminError> {
        let record = sqlx::query_as(ADMIN_GET)
            .bind(id)
            .bind(self.tenant_id.as_deref())
            .fetch_optional(&self.pool)
            .await?;
        Ok(record)
    }

    /// Makes a FAILED record PENDING and due now, and wakes the pollers.
    ///
    /// `retry_count` is kept, so a record that failed by its limit gets one attempt; `last_error`,
    /// `processed_at`, `failed_at` and `recovery_count` are reset. Of several retries at once one
    /// is [`Applied`](Mutation::Applied).
    ///
    /// # Errors
    ///
    /// When the channel's name is none, or the server can't be reached or refuses.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped midway, the change is made or not; asking again is harmless.
    pub async fn retry(&self, id: RecordId) -> Result<Mutation, AdminError> {
        let defaults = default::emitter();
        let channels = match &self.channel {
            Some(channel) => {
                check_channel(channel).map_err(AdminError::InvalidChannel)?;
                std::slice::from_ref(channel)
            }
            None => defaults.channels(),
        };
        let row = self
            .race(|| {
                sqlx::query(ADMIN_RETRY)
                    .bind(id)
                    .bind(self.tenant_id.as_deref())
                    .bind(channels)
            })
            .await?;
        judge(row.as_ref(), Status::Failed)
    }

    /// Makes a PENDING record FAILED: it is not tried any more, unless it is retried. `reason`
    /// becomes its `last_error`, cut to 16 KiB.
    ///
    /// # Errors
    ///
    /// When `reason` is empty or white space, or the server can't be reached or refuses.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped midway, the change is made or not; asking again is harmless.
    pub async fn mark_failed(
        &self,
        id: RecordId,
        reason: impl Into<String>,
    ) -> Result<Mutation, AdminError> {
        let reason = reason.into();
        if reason.trim().is_empty() {
            return Err(AdminError::EmptyReason);
        }
        let reason = stored_text(&reason);
        let row = self
            .race(|| {
                sqlx::query(ADMIN_MARK_FAILED)
                    .bind(id)
                    .bind(self.tenant_id.as_deref())
                    .bind(&*reason)
            })
            .await?;
        judge(row.as_ref(), Status::Pending)
    }

    /// Runs a statement of one row. Where the role's isolation is repeatable read or serializable,
    /// a lost race is an error instead of a result; the statement is then run again, and finds what
    /// the winner left.
    async fn race<'q>(
        &self,
        statement: impl Fn() -> Statement<'q>,
    ) -> Result<Option<PgRow>, sqlx::Error> {
        let mut left = SERIALIZATION_RETRIES;
        loop {
            match statement().fetch_optional(&self.pool).await {
                Err(error) if left > 0 && is_lost_race(&error) => left -= 1,
                result => return result,
            }
        }
    }
}

type Statement<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// Whether the server gave a transaction up for the sake of another one.
fn is_lost_race(error: &sqlx::Error) -> bool {
    const SERIALIZATION_FAILURE: &str = "40001";
    const DEADLOCK: &str = "40P01";
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| [SERIALIZATION_FAILURE, DEADLOCK].contains(&&*code))
}

/// What a statement's row says of a change that `wanted` allows.
fn judge(row: Option<&PgRow>, wanted: Status) -> Result<Mutation, AdminError> {
    let Some(row) = row else {
        return Ok(Mutation::NotFound);
    };
    if row.try_get("applied")? {
        return Ok(Mutation::Applied);
    }
    let current: Status =
        row.try_get::<&str, _>("status")?
            .parse()
            .map_err(|error| sqlx::Error::ColumnDecode {
                index: "status".to_owned(),
                source: Box::<crate::record::UnknownStatus>::new(error),
            })?;
    Ok(if current == wanted {
        Mutation::LostClaim
    } else {
        Mutation::Conflict { current }
    })
}
