//! A pool is no transaction.

use outbox::OutboxEvent;
use outbox::sqlx::PgPool;

#[derive(OutboxEvent)]
struct OrderCreated {
    order_id: u64,
}

async fn create_order(pool: PgPool) -> Result<(), outbox::EmitError> {
    outbox::emit(&pool, &OrderCreated { order_id: 7 }).await?;
    Ok(())
}

fn main() {
    let _ = create_order;
}
