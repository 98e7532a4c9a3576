//! Every shape and every tag style goes to JSON and back, with nothing derived beside it (E7).

use outbox::OutboxEvent;

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
struct Unit;

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
struct Braces {}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
struct Newtype(u64);

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
struct Nothing(());

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
struct Tuple(String, Option<i64>, Vec<u8>);

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
struct Named {
    id: u64,
    note: Option<String>,
}

/// A type that contains itself needs serde's derives beside it: the event's own serialization is
/// for the outbox alone.
#[derive(OutboxEvent, serde::Serialize, serde::Deserialize, Debug, PartialEq, Clone)]
struct Tree {
    value: i32,
    children: Vec<Box<Tree>>,
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
enum External {
    Unit,
    Newtype(u64),
    Tuple(u64, String),
    Named { id: u64 },
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
#[serde(tag = "kind")]
enum Internal {
    Unit,
    Named { id: u64 },
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
#[serde(tag = "kind", content = "value")]
enum Adjacent {
    Unit,
    Newtype(u64),
    Tuple(u64, String),
    Named { id: u64 },
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
#[serde(untagged)]
enum Untagged {
    Newtype(u64),
    Tuple(u64, String),
    Named { id: u64 },
    Unit,
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
#[repr(u8)]
enum Fieldless {
    One = 1,
    Two = 2,
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
#[serde(tag = "type")]
struct Tagged {
    id: u64,
}

#[derive(OutboxEvent, Debug, PartialEq, Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    small: u8,
    large: u64,
}

fn both_ways<E: OutboxEvent + PartialEq + std::fmt::Debug>(event: E, json: &str) {
    let written = event.to_json().expect("encodes");
    assert_eq!(written, json);
    assert_eq!(E::from_json(&written).expect("decodes"), event);
}

fn main() {
    both_ways(Unit, "null");
    both_ways(Braces {}, "{}");
    both_ways(Newtype(u64::MAX), "18446744073709551615");
    both_ways(Nothing(()), "null");
    both_ways(Tuple("a".into(), None, vec![1]), r#"["a",null,[1]]"#);
    both_ways(Named { id: 7, note: None }, r#"{"id":7,"note":null}"#);
    let leaf = Tree {
        value: 2,
        children: vec![],
    };
    both_ways(
        Tree {
            value: 1,
            children: vec![Box::new(leaf)],
        },
        r#"{"value":1,"children":[{"value":2,"children":[]}]}"#,
    );
    both_ways(External::Unit, r#""Unit""#);
    both_ways(External::Newtype(1), r#"{"Newtype":1}"#);
    both_ways(External::Tuple(1, "a".into()), r#"{"Tuple":[1,"a"]}"#);
    both_ways(External::Named { id: 1 }, r#"{"Named":{"id":1}}"#);
    both_ways(Internal::Unit, r#"{"kind":"Unit"}"#);
    both_ways(Internal::Named { id: 1 }, r#"{"kind":"Named","id":1}"#);
    both_ways(Adjacent::Unit, r#"{"kind":"Unit"}"#);
    both_ways(Adjacent::Newtype(1), r#"{"kind":"Newtype","value":1}"#);
    both_ways(
        Adjacent::Tuple(1, "a".into()),
        r#"{"kind":"Tuple","value":[1,"a"]}"#,
    );
    both_ways(
        Adjacent::Named { id: 1 },
        r#"{"kind":"Named","value":{"id":1}}"#,
    );
    both_ways(Untagged::Newtype(1), "1");
    both_ways(Untagged::Tuple(1, "a".into()), r#"[1,"a"]"#);
    both_ways(Untagged::Named { id: 1 }, r#"{"id":1}"#);
    both_ways(Untagged::Unit, "null");
    both_ways(Fieldless::One, r#""One""#);
    both_ways(Fieldless::Two, r#""Two""#);
    both_ways(Tagged { id: 1 }, r#"{"type":"Tagged","id":1}"#);
    both_ways(Packed { small: 1, large: 2 }, r#"{"small":1,"large":2}"#);
}
