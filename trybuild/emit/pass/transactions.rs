//! Whatever derefs to the connection of a transaction is one, also in spawned and generic code.

#![deny(warnings)]

use outbox::sqlx::{Acquire, PgConnection, PgPool, Postgres, Transaction};
use outbox::{EmitError, Emitter, EventId, OutboxEvent, RawEvent};

#[derive(OutboxEvent)]
struct OrderCreated {
    order_id: u64,
}

async fn from_a_pool(pool: PgPool) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let event = OrderCreated { order_id: 7 };
    let mut tx = pool.begin().await?;
    outbox::emit(&mut tx, &event).await?;
    outbox::emit(&mut *tx, &event).tenant("acme").await?;
    in_a_function(&mut tx, &event).await?;
    let mut nested = tx.begin().await?;
    outbox::emit(&mut nested, &event).await?;
    nested.commit().await?;
    let id = outbox::emit(&mut tx, &event).await?;
    outbox::emit(&mut tx, &event).causation_id(id).event_id(outbox::uuid::Uuid::nil()).await?;
    outbox::emit_many(&mut tx, &[event]).await?;
    outbox::emit_many(&mut tx, &vec![OrderCreated { order_id: 8 }]).await?;
    outbox::emit_many(&mut tx, [OrderCreated { order_id: 8 }].iter().filter(|_| true)).await?;
    tx.commit().await?;
    Ok(())
}

async fn in_a_function<E: OutboxEvent>(
    tx: &mut Transaction<'_, Postgres>,
    event: &E,
) -> Result<EventId, EmitError> {
    outbox::emit(tx, event).await?;
    outbox::emit(&mut **tx, event).await
}

async fn on_a_connection(tx: &mut PgConnection, emitter: &Emitter) -> Result<(), EmitError> {
    let event = RawEvent::new("order.paid", &outbox::serde_json::json!({ "order_id": 7 }));
    emitter.emit(tx, &event).headers([("source", "api")]).await?;
    let sooner = emitter.emit_many(tx, std::slice::from_ref(&event));
    sooner.await?;
    emitter.emit(tx, &event).in_own_transaction().await.map(drop)
}

fn main() {
    let spawn = |pool: PgPool| tokio::spawn(from_a_pool(pool));
    let _ = (spawn, on_a_connection);
}
