use std::rc::Rc;

#[derive(outbox::OutboxEvent)]
#[outbox(serde = "own")]
struct OrderCreated(Rc<u8>);

impl serde::Serialize for OrderCreated {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self.0)
    }
}

impl<'de> serde::Deserialize<'de> for OrderCreated {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u8::deserialize(deserializer).map(|value| Self(Rc::new(value)))
    }
}

fn main() {}
