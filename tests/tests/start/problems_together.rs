//! One error tells all that is wrong.

use outbox::{Outbox, OutboxEvent, Retry, StartError, StartProblem, State};
use outbox_tests::Database;

use crate::{EXPLICIT_LIMIT, problems};

#[derive(OutboxEvent)]
#[outbox(event = "problems.happened")]
struct Happened {}

/// What nobody hands over.
#[derive(Clone)]
struct Mailer;

#[outbox::handler(name = "problems_mail")]
async fn mail(_event: Happened, _mailer: State<Mailer>) {}

#[outbox::handler(name = "problems_index")]
async fn index(_event: Happened) {}

#[tokio::test]
async fn options_states_names_other_runtimes_and_the_schema_come_in_one_error() {
    let _explicit = EXPLICIT_LIMIT.lock().await;
    let migrated = Database::new().await;
    let other: Outbox = outbox::start(migrated.pool())
        .only(["problems_index"])
        .retry(Retry::default().max_retries(8))
        .await
        .unwrap();

    let empty = Database::empty().await;
    let error = outbox::start(empty.pool())
        .batch_size(0)
        .retry(Retry::default().max_retries(9))
        .channel("Jobs")
        .state(1_i32)
        .state(2_i32)
        .only(["problems_mail", "problems_mial"])
        .except(["problems_gone"])
        .await
        .unwrap_err();

    let problems = error.problems();
    assert!(
        matches!(
            problems,
            [
                StartProblem::Option(_),
                StartProblem::Channel(_),
                StartProblem::TwoStates("i32"),
                StartProblem::UnknownHandler { option: "only", .. },
                StartProblem::UnknownHandler {
                    option: "except",
                    ..
                },
                StartProblem::MissingState {
                    handler: "problems_mail",
                    ..
                },
                StartProblem::Conflict(_),
                StartProblem::Schema { .. },
            ]
        ),
        "{problems:#?}"
    );
    // Printed, it is a list with an entry for each.
    let text = error.to_string();
    assert!(text.starts_with("the outbox can't start:\n- "), "{text}");
    assert_eq!(text.lines().count(), 1 + problems.len(), "{text}");
    other.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_away_hides_no_other_problem() {
    let nobody = outbox::sqlx::PgPool::connect_lazy("postgres://127.0.0.1:1/nobody").unwrap();
    let start = outbox::start(nobody)
        .only(["problems_index"])
        .connect_timeout(std::time::Duration::from_millis(50))
        .concurrency(0);
    let error = start.await.unwrap_err();
    let problems = error.problems();
    assert!(
        matches!(
            problems,
            [StartProblem::Option(_), StartProblem::Unreachable(_)]
        ),
        "{error}"
    );
    assert_eq!(error.to_string().lines().count(), 3, "{error}");
}

#[tokio::test]
async fn names_that_are_not_linked_are_told_with_those_that_are() {
    let database = Database::new().await;
    let start = outbox::start(database.pool()).only(["problems_mial"]);
    let error = start.await.unwrap_err();
    assert!(matches!(error, StartError::Refused(_)), "{error:?}");
    let [unknown, none] = error.problems() else {
        panic!("{error}");
    };
    let text = unknown.to_string();
    let begin = "`only` names the handler `problems_mial`, which is not linked; linked are: ";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains("`problems_index`, `problems_mail`"), "{text}");
    assert!(matches!(none, StartProblem::NoneChosen), "{none}");

    let start = outbox::start(database.pool())
        .only(["problems_index"])
        .except(["problems_index"]);
    let expected = "`only` and `except` leave no handler to run";
    assert_eq!(problems(start).await, [expected]);

    let start = outbox::start(database.pool()).only([] as [&str; 0]);
    assert_eq!(problems(start).await, [expected]);
}
