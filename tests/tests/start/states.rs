//! What handlers take beside the event.

use std::sync::{Arc, Mutex};

use outbox::sqlx::{PgPool, query_scalar};
use outbox::{OutboxEvent, StartProblem, State};
use outbox_tests::Database;

use crate::{emit, problems, sent};

#[derive(OutboxEvent)]
#[outbox(event = "states.happened")]
struct Happened {}

#[derive(Clone)]
struct Clicks(Arc<Mutex<Vec<&'static str>>>);

#[derive(Clone)]
struct Clock;

#[outbox::handler(name = "states_two")]
async fn two(_event: Happened, State(clicks): State<Clicks>, _clock: State<Clock>) {
    clicks.0.lock().unwrap().push("two");
}

#[outbox::handler(name = "states_pool")]
async fn pool(
    _event: Happened,
    clicks: State<Clicks>,
    pool: PgPool,
    name: State<&'static str>,
) -> Result<(), outbox::sqlx::Error> {
    let database: String = query_scalar("SELECT current_database()")
        .fetch_one(&pool)
        .await?;
    if database == name.0 {
        clicks.0.0.lock().unwrap().push("pool");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_missing_is_told_by_handler_and_type_before_anything_is_delivered() {
    let database = Database::new().await;
    emit(&database.pool(), &Happened {}).await;
    let before = database.rows().await;

    let start = outbox::start(database.pool())
        .only(["states_two", "states_pool"])
        .state(Clock);
    let error = start.await.unwrap_err();
    let missing: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| match problem {
            StartProblem::MissingState {
                handler,
                place,
                type_name,
            } => {
                assert!(place.file.ends_with("states.rs"), "{place}");
                (*handler, *type_name)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        ("states_pool", "start::states::Clicks"),
        ("states_pool", "&'static str"),
        ("states_two", "start::states::Clicks"),
    ];
    // How a compiler prints a lifetime in a type's name is its own matter.
    let missing: Vec<_> = missing
        .into_iter()
        .map(|(handler, name)| (handler, if name == "&str" { "&'static str" } else { name }))
        .collect();
    assert_eq!(missing, expected);
    assert!(
        error.to_string().contains(
            "needs `State<start::states::Clicks>`; add `.state(…)` with a value of that type"
        ),
        "{error}"
    );
    // Nothing was touched, subscriptions included.
    assert_eq!(database.rows().await, before);
    let subscriptions: i64 = query_scalar("SELECT count(*) FROM outbox_handlers")
        .fetch_one(&database.pool())
        .await
        .unwrap();
    assert_eq!(subscriptions, 0);
}

#[tokio::test]
async fn two_states_of_one_type_are_refused() {
    let database = Database::new().await;
    let start = outbox::start(database.pool())
        .only(["states_two"])
        .state(Clicks(Arc::default()))
        .state(Clock)
        .state(Clock);
    let expected = "`state` was given two values of the type `start::states::Clock`; wrap one of them in a type of its own";
    assert_eq!(problems(start).await, [expected]);
}

#[tokio::test]
async fn states_and_the_pool_reach_the_handlers() {
    let database = Database::new().await;
    let clicks = Clicks(Arc::default());
    let name: &'static str = Box::leak(database.name().to_owned().into_boxed_str());
    let outbox = outbox::start(database.pool())
        .only(["states_two", "states_pool"])
        .state(clicks.clone())
        .state(Clock)
        .state(name)
        .await
        .unwrap();
    emit(&database.pool(), &Happened {}).await;

    for row in sent(&database, 2).await {
        assert_eq!((row.retry_count, row.last_error), (0, None));
    }
    let mut seen = clicks.0.lock().unwrap().clone();
    seen.sort_unstable();
    assert_eq!(seen, ["pool", "two"]);
    outbox.shutdown().await.unwrap();
}
