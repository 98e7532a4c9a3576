//! `#[outbox(…)]` on a type, and the default event type.

extern crate outbox as ob;

use outbox::OutboxEvent;

#[derive(OutboxEvent)]
struct HTTPRequestFailed;

#[derive(OutboxEvent)]
struct OrderV2Created;

#[allow(non_camel_case_types)]
#[derive(OutboxEvent)]
struct r#type;

#[derive(OutboxEvent)]
#[outbox(event = "order.created", max_retries = 8)]
struct Both;

#[derive(OutboxEvent)]
#[outbox(event = "été")]
#[outbox(max_retries = 2147483647)]
struct Apart;

#[derive(OutboxEvent)]
#[outbox(max_retries = 1)]
struct Least;

#[derive(OutboxEvent)]
#[outbox(crate = "ob")]
struct OtherName {
    id: u64,
}

mod facade {
    pub mod events {
        pub use outbox;
    }
}

#[derive(OutboxEvent)]
#[outbox(crate = "crate::facade::events::outbox")]
struct ByFacade {
    id: u64,
}

/// Its own implementations, which say something else than derived ones.
#[derive(OutboxEvent, Debug, PartialEq)]
#[outbox(serde = "own")]
struct Own(u64);

impl serde::Serialize for Own {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("#{}", self.0))
    }
}

impl<'de> serde::Deserialize<'de> for Own {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.trim_start_matches('#').parse();
        number.map(Self).map_err(serde::de::Error::custom)
    }
}

/// The longest name: 255 characters, more bytes.
macro_rules! longest {
    ($name:literal) => {
        #[derive(OutboxEvent)]
        #[outbox(event = $name)]
        struct Longest;
    };
}

longest!(
    "ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé"
);

fn main() {
    #[derive(OutboxEvent)]
    struct InAFunction {
        inner: Inner,
    }

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Inner;

    assert_eq!(HTTPRequestFailed::EVENT_TYPE, "http.request.failed");
    assert_eq!(OrderV2Created::EVENT_TYPE, "order.v2.created");
    assert_eq!(r#type::EVENT_TYPE, "type");
    assert_eq!(
        (Both::EVENT_TYPE, Both::MAX_RETRIES),
        ("order.created", Some(8))
    );
    assert_eq!(
        (Apart::EVENT_TYPE, Apart::MAX_RETRIES),
        ("été", Some(i32::MAX))
    );
    assert_eq!((Least::EVENT_TYPE, Least::MAX_RETRIES), ("least", Some(1)));
    assert_eq!(OtherName::MAX_RETRIES, None);
    assert_eq!(
        OtherName { id: 1 }.to_json().expect("encodes"),
        r#"{"id":1}"#
    );
    assert_eq!(
        ByFacade { id: 1 }.to_json().expect("encodes"),
        r#"{"id":1}"#
    );
    assert_eq!(Own(7).to_json().expect("encodes"), r##""#7""##);
    assert_eq!(Own::from_json(r##""#7""##).expect("decodes"), Own(7));
    assert_eq!(Longest::EVENT_TYPE.chars().count(), 255);
    assert_eq!(InAFunction::EVENT_TYPE, "in.a.function");
    let local = InAFunction { inner: Inner };
    assert_eq!(local.to_json().expect("encodes"), r#"{"inner":null}"#);

    // The error names the type that the user wrote, not what stands in for it.
    let error = ByFacade::from_json("[]").err().expect("no number");
    assert!(
        error.type_name().ends_with("::ByFacade"),
        "{}",
        error.type_name()
    );
    let error = ByFacade::from_json("3").err().expect("no struct");
    assert!(
        error
            .to_string()
            .ends_with("expected struct ByFacade at line 1 column 1"),
        "{error}"
    );
}
