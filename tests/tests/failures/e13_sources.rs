//! E13: an error's causes, of every level, each once.

use anyhow::Context as _;
use outbox::OutboxEvent;
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "e13.asked", max_retries = 1)]
enum Asked {
    Own,
    OwnThatRepeats,
    Transparent,
    Anyhow,
    OwnUnderAnyhow,
    Database,
}

#[derive(Debug, thiserror::Error)]
enum Mail {
    #[error("the mail was not sent")]
    Send(#[source] Smtp),
    #[error("the mail was not sent: {0}")]
    Repeats(#[source] Smtp),
    #[error(transparent)]
    Smtp(#[from] Smtp),
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

#[derive(Debug, thiserror::Error)]
#[error("the server hung up")]
struct Smtp(#[source] std::io::Error);

fn smtp() -> Smtp {
    Smtp(std::io::Error::other("connection reset"))
}

#[outbox::handler(event = "e13.asked", name = "e13")]
async fn asked(event: Asked, pool: outbox::sqlx::PgPool) -> Result<(), Mail> {
    match event {
        Asked::Own => Err(Mail::Send(smtp())),
        Asked::OwnThatRepeats => Err(Mail::Repeats(smtp())),
        Asked::Transparent => Err(smtp().into()),
        Asked::Anyhow => Err(anyhow::anyhow!("connection reset")
            .context("the server hung up")
            .context("the mail was not sent")
            .into()),
        Asked::OwnUnderAnyhow => {
            let sent: Result<(), Smtp> = Err(smtp());
            Ok(sent.context("the mail was not sent")?)
        }
        Asked::Database => {
            sqlx::query("SELECT 1 / 0")
                .execute(&pool)
                .await
                .context("counting mails")?;
            Ok(())
        }
    }
}

#[tokio::test]
async fn e13_every_level_is_stored_once() {
    let whole = "the mail was not sent: the server hung up: connection reset";
    let database = Database::new().await;
    let outbox = outbox::start(database.pool()).only(["e13"]).await.unwrap();
    for (event, text) in [
        (Asked::Own, whole),
        (Asked::OwnThatRepeats, whole),
        (Asked::Transparent, "the server hung up: connection reset"),
        (Asked::Anyhow, whole),
        (Asked::OwnUnderAnyhow, whole),
    ] {
        let emitted = database.emit(&event).await;
        let row = database.row_when_ended(emitted.id).await;
        assert_eq!(row, crate::failed(&emitted, text, &row));
    }
    // sqlx's error says its source in its own text, and more behind it.
    let emitted = database.emit(&Asked::Database).await;
    let row = database.row_when_ended(emitted.id).await;
    let text = row.last_error.clone().unwrap();
    assert!(
        text.starts_with("counting mails: error returned from database: division by zero"),
        "{text}"
    );
    assert_eq!(text.matches("division by zero").count(), 1, "{text}");
    assert_eq!(row, crate::failed(&emitted, &text, &row));
    outbox.shutdown().await.unwrap();
}
