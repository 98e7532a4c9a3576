#[outbox::handler]
async fn ship_order(_: OrderPaid, _: Missing) -> Result<(), Absent> {
    Ok(())
}

fn main() {}
