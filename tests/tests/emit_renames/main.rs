//! A handler's former names: the old and the new version of a service emit one record, under the
//! new name. A process of its own: once emit has met former names it uses another statement.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

use outbox::OutboxEvent;
use outbox_tests::Database;
use sqlx::query;

/// Inserts a subscription as `start` does.
async fn subscribe(
    database: &Database,
    handler: &str,
    patterns: &[&str],
    max_retries: Option<i32>,
) {
    query("INSERT INTO outbox_handlers (handler, patterns, max_retries) VALUES ($1, $2, $3)")
        .bind(handler)
        .bind(patterns)
        .bind(max_retries)
        .execute(&database.pool())
        .await
        .unwrap();
}

/// Says that `handler` was called `aliases` before.
async fn rename(database: &Database, handler: &str, aliases: &[&str]) {
    query("UPDATE outbox_handlers SET aliases = $2 WHERE handler = $1")
        .bind(handler)
        .bind(aliases)
        .execute(&database.pool())
        .await
        .unwrap();
}

/// The handlers of all rows, sorted; an unbound row's is `-`.
async fn handlers(database: &Database) -> Vec<String> {
    let rows = database.rows().await;
    let mut handlers: Vec<String> = rows
        .into_iter()
        .map(|row| row.handler.unwrap_or_else(|| "-".to_owned()))
        .collect();
    handlers.sort();
    handlers
}

#[derive(OutboxEvent)]
#[outbox(event = "renames.subscribed")]
struct Subscribed;

#[derive(OutboxEvent)]
#[outbox(event = "renames.linked")]
struct Linked;

/// Linked here under the name that a newer version has given up.
#[outbox::handler(name = "renames.former")]
async fn former(_event: Linked) {}

#[derive(OutboxEvent)]
#[outbox(event = "renames.aliased")]
struct Aliased;

/// Linked here under a new name, where only the older version has started yet.
#[outbox::handler(name = "renames.latter", alias = "renames.earlier", max_retries = 8)]
async fn latter(_event: Aliased) {}

/// The handlers of one event, the same on both paths.
async fn records<E: OutboxEvent>(database: &Database, event: &E) -> Vec<String> {
    query("TRUNCATE outbox_events")
        .execute(&database.pool())
        .await
        .unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit(&mut tx, event).await.unwrap();
    tx.commit().await.unwrap();
    let one = handlers(database).await;
    query("TRUNCATE outbox_events")
        .execute(&database.pool())
        .await
        .unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, [event]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(handlers(database).await, one);
    one
}

#[tokio::test]
async fn a_subscribed_former_name_gets_no_record() {
    let database = Database::new().await;
    let patterns = ["renames.subscribed"];
    subscribe(&database, "old", &patterns, Some(3)).await;
    assert_eq!(records(&database, &Subscribed).await, ["old"]);

    subscribe(&database, "new", &patterns, None).await;
    rename(&database, "new", &["old", "new", "older"]).await;
    assert_eq!(records(&database, &Subscribed).await, ["new"]);
    assert_eq!(
        database.rows().await[0].max_retries,
        Some(5),
        "the new one's, not the old one's"
    );
}

#[tokio::test]
async fn the_new_name_is_used_though_only_the_old_one_has_the_pattern() {
    let database = Database::new().await;
    subscribe(&database, "old", &["renames.subscribed"], Some(3)).await;
    subscribe(&database, "new", &["renames.other"], Some(4)).await;
    rename(&database, "new", &["old"]).await;
    assert_eq!(records(&database, &Subscribed).await, ["new"]);
    assert_eq!(database.rows().await[0].max_retries, Some(4));
}

#[tokio::test]
async fn a_linked_former_name_gets_no_record() {
    let database = Database::new().await;
    assert_eq!(records(&database, &Linked).await, ["renames.former"]);
    subscribe(&database, "renames.new", &["renames.linked"], None).await;
    rename(&database, "renames.new", &["renames.former"]).await;
    assert_eq!(records(&database, &Linked).await, ["renames.new"]);
}

#[tokio::test]
async fn a_linked_alias_counts_before_the_new_version_has_started() {
    let database = Database::new().await;
    subscribe(&database, "renames.earlier", &["renames.aliased"], Some(3)).await;
    assert_eq!(records(&database, &Aliased).await, ["renames.latter"]);
    assert_eq!(database.rows().await[0].max_retries, Some(8));
}

#[tokio::test]
async fn renames_of_renames_are_followed() {
    let database = Database::new().await;
    let patterns = ["renames.subscribed"];
    for (handler, aliases) in [("z", &[][..]), ("m", &["z"]), ("a", &["m"]), ("q", &["a"])] {
        subscribe(&database, handler, &patterns, None).await;
        rename(&database, handler, aliases).await;
    }
    assert_eq!(records(&database, &Subscribed).await, ["q"]);
    subscribe(&database, "bystander", &patterns, None).await;
    assert_eq!(records(&database, &Subscribed).await, ["bystander", "q"]);
}

#[tokio::test]
async fn a_circle_of_renames_is_one_handler() {
    let database = Database::new().await;
    let patterns = ["renames.subscribed"];
    subscribe(&database, "b", &patterns, None).await;
    subscribe(&database, "c", &patterns, None).await;
    rename(&database, "b", &["c"]).await;
    rename(&database, "c", &["b"]).await;
    assert_eq!(records(&database, &Subscribed).await, ["b"]);

    subscribe(&database, "d", &patterns, None).await;
    rename(&database, "d", &["b"]).await;
    rename(&database, "b", &["c"]).await;
    rename(&database, "c", &["d"]).await;
    assert_eq!(records(&database, &Subscribed).await, ["b"]);
}
