//! Parameters by any pattern, any result, anywhere (L13).

#![allow(unused_parens)]

use std::fmt;
use std::sync::Arc;

use outbox::{Context, OutboxEvent, RawEvent, State};

#[derive(OutboxEvent)]
struct OrderCreated {
    id: u64,
    lines: Vec<Line>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Line;

#[outbox::handler]
async fn mutable(mut event: OrderCreated) {
    event.id += 1;
    event.lines.push(Line);
}

#[outbox::handler]
async fn destructured(
    OrderCreated { id, .. }: OrderCreated,
    State(limit): State<u64>,
) -> Result<(), String> {
    if id > limit {
        Err(format!("{id} is more than {limit}"))
    } else {
        Ok(())
    }
}

#[outbox::handler]
async fn ignored(_: OrderCreated, _: Context) {}

#[outbox::handler]
async fn unit_result(_: OrderCreated) -> () {}

#[outbox::handler]
async fn awaits(
    event: OrderCreated,
    context: Context,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tokio::task::yield_now().await;
    let _ = (event.id, context.attempt());
    Ok(())
}

#[derive(Debug)]
enum Fault {
    Full,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("full")
    }
}

impl std::error::Error for Fault {}

#[outbox::handler]
async fn own_error(event: OrderCreated, shared: State<Arc<Vec<u64>>>) -> Result<(), Fault> {
    if shared.contains(&event.id) {
        Ok(())
    } else {
        Err(Fault::Full)
    }
}

type Event = OrderCreated;
type Res<T> = Result<T, Fault>;

#[outbox::handler(event = "order.created")]
async fn through_aliases(_: (Event)) -> Res<()> {
    Ok(())
}

#[outbox::handler]
async fn hidden_error(
    _: OrderCreated,
) -> Result<(), impl std::error::Error + Send + Sync + 'static> {
    Err::<(), _>(Fault::Full)
}

#[outbox::handler]
async fn result_by_another_name(_: OrderCreated) -> outbox::__private::Result<(), &'static str> {
    Ok(())
}

#[outbox::handler]
async fn with_a_clause(_: OrderCreated)
where
    Line: Send,
{
}

#[outbox::handler(event = "order.paid")]
async fn raw(event: RawEvent) -> anyhow::Result<()> {
    let _: Vec<u8> = event.parse()?;
    Ok(())
}

pub mod inner {
    pub(crate) mod deeper {
        #[outbox::handler]
        pub(in crate::inner) async fn in_a_module(_: crate::OrderCreated) {}
    }

    pub(crate) async fn call_it(event: crate::OrderCreated) {
        deeper::in_a_module(event).await;
    }
}

/// A handler that `macro_rules` writes.
macro_rules! handler {
    ($name:ident, $event:ty, $type:literal, $retries:expr) => {
        #[outbox::handler(event = $type, max_retries = $retries)]
        async fn $name(_: $event) {}
    };
}

handler!(from_a_macro, OrderCreated, "order.created", 4);

#[outbox::handler(name = "first", event = "a")]
#[outbox::handler(name = "second", event = "b")]
async fn twice(_: RawEvent) {}

#[tokio::main]
async fn main() {
    {
        #[outbox::handler]
        async fn in_a_body(_: OrderCreated) {}

        in_a_body(order()).await;
    }
    // Each is still the function that it was.
    mutable(order()).await;
    assert_eq!(
        destructured(order(), State(0)).await,
        Err("1 is more than 0".to_owned())
    );
    inner::call_it(order()).await;
    own_error(order(), State(Arc::new(vec![1])))
        .await
        .expect("listed");
    let names = outbox::__private::inventory::iter::<outbox::__private::HandlerSpec>;
    assert_eq!(names.into_iter().count(), 16);
}

fn order() -> OrderCreated {
    OrderCreated {
        id: 1,
        lines: Vec::new(),
    }
}
