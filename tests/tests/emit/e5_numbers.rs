//! Numbers come back exactly, or are refused when they are emitted.

use outbox::{EmitError, OutboxEvent, RawEvent};
use outbox_tests::Database;
use sqlx::{PgConnection, query_scalar};

#[derive(OutboxEvent, Clone, PartialEq, Debug)]
#[outbox(event = "e5_numbers.wide")]
struct Wide {
    unsigned: u64,
    signed: i64,
    beyond: u128,
    beyond_signed: i128,
    float: f64,
}

const WIDE: Wide = Wide {
    unsigned: u64::MAX,
    signed: i64::MIN,
    beyond: u128::MAX,
    beyond_signed: i128::MIN,
    float: 1.797_693_134_862_315_7e308,
};

/// What a handler gets of `event`.
async fn there_and_back<E: OutboxEvent>(tx: &mut PgConnection, event: &E) -> Result<E, EmitError> {
    let id = outbox::emit(tx, event).await?;
    let json: String = query_scalar("SELECT payload::text FROM outbox_events WHERE event_id = $1")
        .bind(id)
        .fetch_one(tx)
        .await
        .unwrap();
    Ok(E::receive(event.event_type(), &json).unwrap())
}

#[tokio::test]
async fn e5_integers_at_their_bounds_come_back() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let least = Wide {
        unsigned: 0,
        beyond: u128::from(u64::MAX) + 1,
        beyond_signed: i128::from(i64::MIN) - 1,
        float: 5e-324,
        ..WIDE
    };
    for event in [WIDE, least] {
        assert_eq!(there_and_back(&mut tx, &event).await.unwrap(), event);
    }
    let ids = outbox::emit_many(&mut tx, &[WIDE]).await.unwrap();
    assert_eq!(ids.len(), 1);
}

#[derive(OutboxEvent, Clone, PartialEq, Debug)]
#[outbox(event = "e5_numbers.flat")]
struct Flat {
    #[serde(flatten)]
    inner: Inner,
}

#[derive(serde::Serialize, serde::Deserialize, Clone, PartialEq, Debug)]
struct Inner {
    unsigned: u64,
    signed: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wide: Option<u128>,
}

#[derive(OutboxEvent, Clone, PartialEq, Debug)]
#[outbox(event = "e5_numbers.tagged")]
#[serde(tag = "kind")]
enum Tagged {
    Narrow { value: u64 },
    Wide { value: u128 },
}

#[tokio::test]
async fn e5_what_a_reader_would_not_get_is_refused() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let flat = |wide| Flat {
        inner: Inner {
            unsigned: u64::MAX,
            signed: i64::MIN,
            wide,
        },
    };
    let narrow = flat(None);
    assert_eq!(there_and_back(&mut tx, &narrow).await.unwrap(), narrow);
    let tagged = Tagged::Narrow { value: u64::MAX };
    assert_eq!(there_and_back(&mut tx, &tagged).await.unwrap(), tagged);

    // Either it comes back, or it is not accepted; on both paths.
    let accepted = there_and_back(&mut tx, &flat(Some(u128::MAX))).await;
    check(&accepted, &flat(Some(u128::MAX)));
    let many = outbox::emit_many(&mut tx, &[flat(Some(u128::MAX))]).await;
    assert_eq!(many.is_ok(), accepted.is_ok(), "{many:?}");
    let tagged = Tagged::Wide { value: u128::MAX };
    let accepted = there_and_back(&mut tx, &tagged).await;
    check(&accepted, &tagged);
}

fn check<E: PartialEq + std::fmt::Debug>(accepted: &Result<E, EmitError>, event: &E) {
    match accepted {
        Ok(back) => assert_eq!(back, event),
        Err(error) => assert!(
            matches!(
                error,
                EmitError::Unreadable { .. }
                    | EmitError::Inexact { .. }
                    | EmitError::Serializer { .. }
            ),
            "{error:?}"
        ),
    }
}

#[tokio::test]
async fn e5_a_fraction_that_a_float_would_cut_is_refused() {
    /// Reads into a float what it writes as text.
    struct Cut(String);

    impl OutboxEvent for Cut {
        const EVENT_TYPE: &'static str = "e5_numbers.cut";

        fn to_json(&self) -> Result<String, outbox::EncodeError> {
            Ok(self.0.clone())
        }

        fn from_json(json: &str) -> Result<Self, outbox::DecodeError> {
            let float: f64 = outbox::__private::decode(json)?;
            Ok(Self(outbox::serde_json::to_string(&float).unwrap()))
        }
    }

    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    for cut in [
        "0.12345678901234567890123",
        "123456789012345678901234567890",
    ] {
        let error = outbox::emit(&mut tx, &Cut(cut.to_owned()))
            .await
            .unwrap_err();
        assert!(matches!(error, EmitError::Inexact { .. }), "{error:?}");
    }
    for exact in ["0.1", "100000000000000000000", "1e22"] {
        outbox::emit(&mut tx, &Cut(exact.to_owned())).await.unwrap();
    }
}

#[tokio::test]
async fn numbers_of_raw_events_are_stored_digit_by_digit() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    for (json, stored) in [
        (
            "[18446744073709551616, -1.50]",
            "[18446744073709551616, -1.50]",
        ),
        ("0.12345678901234567890123", "0.12345678901234567890123"),
        ("1.50e1", "15.0"),
        ("12e-3", "0.012"),
        ("1E2", "100"),
        ("0.0e-3", "0.0000"),
        // What jsonb does not keep: the sign of zero.
        ("-0.0", "0.0"),
    ] {
        let event = RawEvent::from_text("e5_numbers.raw", json);
        let back = there_and_back(&mut tx, &event).await.unwrap();
        assert_eq!(back.json(), stored);
    }
    let long = format!("1{}", "0".repeat(308));
    let event = RawEvent::from_text("e5_numbers.raw", "1e308");
    assert_eq!(there_and_back(&mut tx, &event).await.unwrap().json(), long);
}
