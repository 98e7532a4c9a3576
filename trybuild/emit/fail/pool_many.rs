//! A pool is no transaction for many events either, nor for an emitter.

use outbox::sqlx::PgPool;
use outbox::{Emitter, OutboxEvent};

#[derive(OutboxEvent)]
struct OrderCreated {
    order_id: u64,
}

async fn create_orders(pool: PgPool, emitter: Emitter) -> Result<(), outbox::EmitError> {
    let events = [OrderCreated { order_id: 7 }];
    outbox::emit_many(&pool, &events).await?;
    emitter.emit(&pool, &events[0]).await?;
    Ok(())
}

fn main() {
    let _ = create_orders;
}
