//! serde's attributes on the type, its variants and its fields work as under serde's own derive.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use outbox::OutboxEvent;

mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(value: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{value:x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

fn nine() -> u8 {
    9
}

#[derive(OutboxEvent, Debug, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fields {
    order_id: u64,
    #[serde(rename = "sum", alias = "total")]
    total_cents: i64,
    #[serde(with = "hex")]
    colour: u32,
    #[serde(skip)]
    cache: Option<String>,
    #[serde(default = "nine")]
    priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(OutboxEvent, Debug, PartialEq, Default)]
#[serde(default)]
struct Defaulted {
    a: u8,
    b: String,
}

#[derive(OutboxEvent, Debug, PartialEq)]
struct Flattened {
    id: u64,
    #[serde(flatten)]
    rest: BTreeMap<String, String>,
}

#[derive(OutboxEvent, Debug, PartialEq)]
#[serde(transparent)]
struct Transparent {
    inner: Vec<u8>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Wire {
    cents: i64,
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
#[serde(into = "Wire", from = "Wire")]
struct Converted(i64);

impl From<Converted> for Wire {
    fn from(Converted(cents): Converted) -> Self {
        Self { cents }
    }
}

impl From<Wire> for Converted {
    fn from(Wire { cents }: Wire) -> Self {
        Self(cents)
    }
}

#[derive(OutboxEvent, Debug, PartialEq, Clone)]
#[serde(into = "i64", try_from = "i64")]
struct Positive(i64);

impl From<Positive> for i64 {
    fn from(Positive(value): Positive) -> Self {
        value
    }
}

impl TryFrom<i64> for Positive {
    type Error = String;

    fn try_from(value: i64) -> Result<Self, String> {
        if value > 0 {
            Ok(Self(value))
        } else {
            Err(format!("{value} is not positive"))
        }
    }
}

#[derive(OutboxEvent, Debug, PartialEq)]
#[serde(tag = "t", rename = "renamed")]
struct Renamed {
    a: u8,
}

#[derive(OutboxEvent, Debug, PartialEq)]
#[serde(tag = "t", rename(serialize = "out"))]
struct RenamedOut {
    a: u8,
}

#[derive(OutboxEvent, Debug, PartialEq)]
#[serde(rename_all = "kebab-case", rename_all_fields = "SCREAMING-KEBAB-CASE")]
enum Variants {
    #[serde(rename = "uno")]
    One,
    TwoWords {
        first_field: u8,
    },
    #[serde(other)]
    #[allow(dead_code)]
    Rest,
}

/// `Self` in fields, and in the paths that attributes name.
#[derive(OutboxEvent, Debug, PartialEq, Default)]
struct Selfish {
    #[serde(skip_serializing_if = "Self::is_zero", default = "Self::zero")]
    depth: u8,
    array: [u8; Self::LEN],
    nothing: Vec<PhantomData<Self>>,
}

impl Selfish {
    const LEN: usize = 2;

    fn is_zero(value: &u8) -> bool {
        *value == 0
    }

    fn zero() -> u8 {
        0
    }
}

/// The serde that a user names for other derives is not the one that the event uses.
#[derive(OutboxEvent, serde::Serialize, serde::Deserialize, Debug, PartialEq)]
#[serde(crate = "serde", rename_all = "UPPERCASE")]
struct Beside {
    id: u64,
}

fn both_ways<E: OutboxEvent + PartialEq + std::fmt::Debug>(event: E, json: &str) {
    let written = event.to_json().expect("encodes");
    assert_eq!(written, json);
    assert_eq!(E::from_json(&written).expect("decodes"), event);
}

fn main() {
    both_ways(
        Fields {
            order_id: 1,
            total_cents: 2,
            colour: 255,
            cache: None,
            priority: 3,
            note: None,
        },
        r#"{"orderId":1,"sum":2,"colour":"ff","priority":3}"#,
    );
    let read = Fields::from_json(r#"{"orderId":1,"total":2,"colour":"ff"}"#).expect("decodes");
    assert_eq!((read.total_cents, read.priority), (2, 9));
    let error = Fields::from_json(r#"{"orderId":1,"more":2}"#).expect_err("an unknown field");
    assert!(
        error
            .to_string()
            .contains("Fields`: at `more`: unknown field"),
        "{error}"
    );

    assert_eq!(
        Defaulted::from_json("{}").expect("decodes"),
        Defaulted::default()
    );
    both_ways(
        Flattened {
            id: 1,
            rest: BTreeMap::from([("a".into(), "b".into())]),
        },
        r#"{"id":1,"a":"b"}"#,
    );
    both_ways(Transparent { inner: vec![1] }, "[1]");
    both_ways(Converted(5), r#"{"cents":5}"#);
    both_ways(Positive(5), "5");
    let error = Positive::from_json("-5").expect_err("not positive");
    assert!(error.to_string().contains("-5 is not positive"), "{error}");
    both_ways(Renamed { a: 1 }, r#"{"t":"renamed","a":1}"#);
    assert_eq!(
        RenamedOut { a: 1 }.to_json().expect("encodes"),
        r#"{"t":"out","a":1}"#
    );
    both_ways(Variants::One, r#""uno""#);
    both_ways(
        Variants::TwoWords { first_field: 1 },
        r#"{"two-words":{"FIRST-FIELD":1}}"#,
    );
    both_ways(
        Selfish {
            depth: 0,
            array: [1, 2],
            nothing: vec![PhantomData, PhantomData],
        },
        r#"{"array":[1,2],"nothing":[null,null]}"#,
    );
    both_ways(Beside { id: 1 }, r#"{"ID":1}"#);
    assert_eq!(Selfish::EVENT_TYPE, "selfish");
}
