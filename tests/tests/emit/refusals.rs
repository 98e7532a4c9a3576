//! What can't be stored or read back is refused with a typed error before any SQL: nothing is
//! written, and the transaction goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox::chrono::{DateTime, TimeZone, Utc};
use outbox::serde_json::Value;
use outbox::{
    DecodeError, EmitError, Emitter, EncodeError, JsonFault, NameFault, OutboxEvent, RawEvent,
};
use outbox_tests::Database;
use sqlx::{PgConnection, query_scalar};

use crate::{assert_usable, chain};

/// Emits `event` by every path: alone, and in a batch behind one that is good. Both say the same.
async fn refused<E: OutboxEvent>(tx: &mut PgConnection, good: &E, event: &E) -> EmitError {
    let many = outbox::emit_many(tx, [good, event]).await.unwrap_err();
    let EmitError::InBatch { index: 1, source } = many else {
        panic!("not the second of the batch: {many:?}");
    };
    let one = outbox::emit(tx, event).await.unwrap_err();
    assert_eq!(chain(&one), chain(&*source));
    assert_usable(tx).await;
    let rows: i64 = query_scalar("SELECT count(*) FROM outbox_events")
        .fetch_one(tx)
        .await
        .unwrap();
    assert_eq!(rows, 0, "{one:?}");
    one
}

fn raw(json: impl Into<String>) -> RawEvent {
    RawEvent::from_text("refusals.raw", json)
}

#[derive(OutboxEvent)]
#[outbox(event = "refusals.text")]
struct Text {
    lines: Vec<BTreeMap<String, String>>,
}

fn text(key: &str, value: &str) -> Text {
    Text {
        lines: vec![BTreeMap::from([(key.to_owned(), value.to_owned())])],
    }
}

#[tokio::test]
async fn e2_nul_is_refused_in_values_keys_and_metadata() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    for event in [text("key", "a\0b"), text("k\0ey", "value")] {
        let error = refused(&mut tx, &text("a", "b"), &event).await;
        assert!(matches!(error, EmitError::Nul { .. }), "{error:?}");
        assert!(error.to_string().contains("refusals.text"), "{error}");
    }
    for json in ["\"\\u0000\"", "\"\0\"", "{\"a\\u0000\":1}"] {
        let error = refused(&mut tx, &raw("1"), &raw(json)).await;
        assert!(matches!(error, EmitError::Nul { .. }), "{error:?}");
    }
    for header in [("a\0", "b"), ("a", "b\0")] {
        let error = outbox::emit(&mut tx, &raw("1")).headers([header]).await;
        assert!(
            matches!(error, Err(EmitError::NulInHeader { .. })),
            "{error:?}"
        );
    }
    assert_usable(&mut tx).await;
}

#[derive(OutboxEvent)]
#[outbox(event = "refusals.floats")]
struct Floats {
    double: f64,
    maybe: Option<f64>,
    single: f32,
}

#[tokio::test]
async fn e3_numbers_that_are_not_finite_are_refused() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let good = Floats {
        double: 1e308,
        maybe: None,
        single: f32::MIN_POSITIVE,
    };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        #[allow(clippy::cast_possible_truncation)]
        let single = bad as f32;
        for event in [
            Floats {
                double: bad,
                maybe: None,
                single: 0.0,
            },
            Floats {
                double: 0.0,
                maybe: Some(bad),
                single: 0.0,
            },
            Floats {
                double: 0.0,
                maybe: None,
                single,
            },
        ] {
            let error = refused(&mut tx, &good, &event).await;
            assert!(matches!(error, EmitError::NotFinite { .. }), "{error:?}");
        }
    }
    for json in [
        "NaN",
        "[1e309]",
        "-1e400",
        "1e131072",
        "1e-20000",
        &"9".repeat(140_000),
    ] {
        let error = refused(&mut tx, &raw("1"), &raw(json)).await;
        assert!(
            matches!(error, EmitError::InvalidPayload { .. }),
            "{error:?}"
        );
    }
}

#[derive(OutboxEvent)]
#[outbox(event = "refusals.nested")]
struct Nested(Value);

fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

#[tokio::test]
async fn e3_nesting_that_no_reader_follows_is_refused() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let good = Nested(nested(127));
    for levels in [128, 500] {
        let error = refused(&mut tx, &good, &Nested(nested(levels))).await;
        assert!(matches!(error, EmitError::TooDeep { .. }), "{error:?}");
    }
    for levels in [128, 20_000, 400_000] {
        let json = "[".repeat(levels) + &"]".repeat(levels);
        let error = refused(&mut tx, &raw("1"), &raw(json)).await;
        assert!(matches!(error, EmitError::TooDeep { .. }), "{error:?}");
    }
    let id = outbox::emit(&mut tx, &good).await.unwrap();
    let json: String = query_scalar("SELECT payload::text FROM outbox_events WHERE event_id = $1")
        .bind(id)
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    assert_eq!(Nested::from_json(&json).unwrap().0, good.0);
}

#[tokio::test]
async fn text_that_is_not_json_is_refused() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    for json in [
        "",
        "{",
        "{\"a\":1,}",
        "[1] 2",
        "'a'",
        "nul",
        "\"\\ud800\"",
        "{\"a\":\"\\udc00x\"}",
    ] {
        let error = refused(&mut tx, &raw("1"), &raw(json)).await;
        assert!(
            matches!(error, EmitError::InvalidPayload { .. }),
            "{json}: {error:?}"
        );
    }
}

/// An event whose JSON is made elsewhere, and its reading too.
#[derive(Clone)]
struct ByHand(Result<String, &'static str>);

impl OutboxEvent for ByHand {
    const EVENT_TYPE: &'static str = "refusals.by_hand";

    fn to_json(&self) -> Result<String, EncodeError> {
        self.0.clone().map_err(|text| {
            EncodeError::Serializer(outbox::serde_json::Error::io(std::io::Error::other(text)))
        })
    }

    fn from_json(json: &str) -> Result<Self, DecodeError> {
        Ok(Self(Ok(json.to_owned())))
    }
}

#[tokio::test]
async fn the_serializers_own_error_is_passed_on() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let good = ByHand(Ok("{}".to_owned()));
    let error = refused(&mut tx, &good, &ByHand(Err("the key is sealed"))).await;
    assert!(matches!(error, EmitError::Serializer { .. }), "{error:?}");
    assert!(
        chain(&error).ends_with("the key is sealed"),
        "{}",
        chain(&error)
    );
    let error = refused(&mut tx, &good, &ByHand(Ok("{\"a\"}".to_owned()))).await;
    let fault = EmitError::InvalidPayload {
        event_type: "refusals.by_hand".to_owned(),
        fault: JsonFault::Syntax(4),
    };
    assert_eq!(error.to_string(), fault.to_string());
}

#[derive(OutboxEvent)]
#[outbox(event = "refusals.tuple_keys")]
struct TupleKeys(BTreeMap<(u8, u8), u8>);

#[derive(OutboxEvent)]
#[outbox(event = "refusals.option_keys")]
struct OptionKeys(BTreeMap<Option<bool>, u8>);

#[derive(OutboxEvent)]
#[outbox(event = "refusals.integer_keys")]
struct IntegerKeys(BTreeMap<i64, u8>, BTreeMap<u64, bool>);

#[tokio::test]
async fn e6_keys_are_strings_or_numbers() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let tuples = TupleKeys(BTreeMap::from([((1, 2), 3)]));
    let error = refused(&mut tx, &TupleKeys(BTreeMap::new()), &tuples).await;
    assert!(matches!(error, EmitError::Serializer { .. }), "{error:?}");
    let options = OptionKeys(BTreeMap::from([(None, 3)]));
    let error = refused(&mut tx, &OptionKeys(BTreeMap::new()), &options).await;
    assert!(matches!(error, EmitError::Serializer { .. }), "{error:?}");

    let integers = IntegerKeys(
        BTreeMap::from([(i64::MIN, 1), (-1, 2)]),
        BTreeMap::from([(u64::MAX, true)]),
    );
    outbox::emit(&mut tx, &integers).await.unwrap();
    let json: String = query_scalar("SELECT payload::text FROM outbox_events")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    let back = IntegerKeys::from_json(&json).unwrap();
    assert_eq!((back.0, back.1), (integers.0, integers.1));
}

#[tokio::test]
async fn e10_the_limit_counts_bytes() {
    const MIB: usize = 1024 * 1024;
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    // Two quotes, and characters of two bytes.
    let sized = |bytes: usize| {
        raw(format!(
            "\"{}{}\"",
            "é".repeat(bytes / 2 - 1),
            "x".repeat(bytes % 2)
        ))
    };
    for size in [MIB + 1, 64 * MIB] {
        let error = refused(&mut tx, &raw("1"), &sized(size)).await;
        let EmitError::PayloadTooLarge {
            size: got,
            limit: MIB,
            ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(got, size);
    }
    let small = Emitter::builder().payload_limit(10).build().unwrap();
    let large = Emitter::builder().payload_limit(64 * MIB).build().unwrap();
    let error = small.emit(&mut tx, &sized(11)).await.unwrap_err();
    assert!(
        matches!(
            error,
            EmitError::PayloadTooLarge {
                size: 11,
                limit: 10,
                ..
            }
        ),
        "{error:?}"
    );
    outbox::emit(&mut tx, &sized(MIB - 1)).await.unwrap();
    outbox::emit(&mut tx, &sized(MIB)).await.unwrap();
    small.emit(&mut tx, &sized(10)).await.unwrap();
    large.emit(&mut tx, &sized(64 * MIB)).await.unwrap();
    let error = large.emit(&mut tx, &sized(64 * MIB + 1)).await.unwrap_err();
    assert!(
        matches!(error, EmitError::PayloadTooLarge { .. }),
        "{error:?}"
    );
    let rows: i64 = query_scalar("SELECT count(*) FROM outbox_events")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    assert_eq!(rows, 4);
}

#[tokio::test]
async fn e11_event_types_are_refused_never_trimmed() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let typed = |event_type: &str| RawEvent::new(event_type, &Value::Null);
    for (bad, fault) in [
        (String::new(), NameFault::Empty),
        (" a ".to_owned(), NameFault::WhiteSpace),
        ("a\n".to_owned(), NameFault::WhiteSpace),
        ("\u{a0}a".to_owned(), NameFault::WhiteSpace),
        ("é".repeat(256), NameFault::TooLong(256)),
        ("a.*".to_owned(), NameFault::Star),
        ("*".to_owned(), NameFault::Star),
        ("a\0".to_owned(), NameFault::Nul),
    ] {
        let error = refused(&mut tx, &typed("a"), &typed(&bad)).await;
        let EmitError::InvalidField {
            field: "event_type",
            fault: got,
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(got, fault);
    }
    let good = [
        "a".to_owned(),
        "é".repeat(255),
        "\u{e9}".to_owned(),
        "e\u{301}".to_owned(),
        "a b".to_owned(),
        // Letters that an escape for white space ends in.
        "v.value.nightv".to_owned(),
        "r.t.f.nx0b".to_owned(),
    ];
    for event_type in &good {
        outbox::emit(&mut tx, &typed(event_type)).await.unwrap();
    }
    let stored: Vec<String> = query_scalar("SELECT event_type FROM outbox_events ORDER BY id")
        .fetch_all(&mut *tx)
        .await
        .unwrap();
    assert_eq!(stored, good);
}

#[tokio::test]
async fn identifiers_are_refused_by_name() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let event = raw("1");
    for bad in [
        String::new(),
        " a".to_owned(),
        "a\t".to_owned(),
        "a\0b".to_owned(),
        "x".repeat(256),
    ] {
        for field in [
            "tenant_id",
            "correlation_id",
            "causation_id",
            "aggregate_type",
            "aggregate_id",
            "partition_key",
        ] {
            let emit = outbox::emit(&mut tx, &event);
            let emit = match field {
                "tenant_id" => emit.tenant(&bad),
                "correlation_id" => emit.correlation_id(&bad),
                "causation_id" => emit.causation_id(&bad),
                "aggregate_type" => emit.aggregate(&bad, 7),
                "aggregate_id" => emit.aggregate("order", &bad),
                _ => emit.partition_key(&bad),
            };
            let error = emit.await.unwrap_err();
            assert!(
                matches!(error, EmitError::InvalidField { field: got, .. } if got == field),
                "{field} {bad:?}: {error:?}"
            );
            assert!(error.to_string().contains(field), "{error}");
        }
        let error = outbox::emit_many(&mut tx, [&event])
            .tenant(&bad)
            .await
            .unwrap_err();
        assert!(
            matches!(
                error,
                EmitError::InvalidField {
                    field: "tenant_id",
                    ..
                }
            ),
            "{error:?}"
        );
    }
    assert_usable(&mut tx).await;
}

#[tokio::test]
async fn headers_have_a_limit() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    // {"k":"…"}
    let fits = "x".repeat(64 * 1024 - 8);
    let error = outbox::emit(&mut tx, &raw("1"))
        .header("k", format!("{fits}x"))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            EmitError::HeadersTooLarge {
                size: 65_537,
                limit: 65_536
            }
        ),
        "{error:?}"
    );
    outbox::emit(&mut tx, &raw("1"))
        .header("k", fits)
        .await
        .unwrap();
}

#[tokio::test]
async fn d5_delays_are_rounded_up_or_refused() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let century = Duration::from_hours(36_525 * 24);
    for bad in [Duration::MAX, century + Duration::from_nanos(1)] {
        let error = outbox::emit(&mut tx, &raw("1"))
            .delay(bad)
            .await
            .unwrap_err();
        assert!(
            matches!(error, EmitError::DelayTooLong(got) if got == bad),
            "{error:?}"
        );
    }
    for (delay, ms) in [
        (Duration::ZERO, 0),
        (Duration::from_nanos(1), 1),
        (Duration::from_millis(1), 1),
        (Duration::new(1, 1), 1_001),
        (century, 3_155_760_000_000_i64),
    ] {
        let id = outbox::emit(&mut tx, &raw("1")).delay(delay).await.unwrap();
        let stored: i64 = query_scalar(
            "SELECT (1000 * extract(epoch FROM next_attempt_at - created_at))::int8
             FROM outbox_events WHERE event_id = $1",
        )
        .bind(id)
        .fetch_one(&mut *tx)
        .await
        .unwrap();
        assert_eq!(stored, ms, "{delay:?}");
    }
}

#[tokio::test]
async fn numbers_and_times_out_of_range_are_refused() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    for bad in [0, -1, i32::MIN] {
        let error = outbox::emit(&mut tx, &raw("1"))
            .max_retries(bad)
            .await
            .unwrap_err();
        assert!(
            matches!(error, EmitError::InvalidMaxRetries(got) if got == bad),
            "{error:?}"
        );
    }
    let year = |year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).unwrap();
    for bad in [
        DateTime::<Utc>::MIN_UTC,
        DateTime::<Utc>::MAX_UTC,
        year(0),
        year(10_000),
    ] {
        let error = outbox::emit(&mut tx, &raw("1"))
            .occurred_at(bad)
            .await
            .unwrap_err();
        assert!(
            matches!(error, EmitError::InvalidOccurredAt(got) if got == bad),
            "{error:?}"
        );
    }
    for good in [year(1), year(10_000) - Duration::from_nanos(1)] {
        outbox::emit(&mut tx, &raw("1"))
            .occurred_at(good)
            .await
            .unwrap();
    }
}
