//! What jsonb, or a reader, would refuse.

use super::*;

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

#[test]
fn what_is_json_is_what_serde_json_takes() {
    let texts = [
        "null",
        "true",
        " false ",
        "0",
        "-0",
        "1.5",
        "1e3",
        "1E+3",
        "\"\"",
        "\"a\\n\\u00e9\"",
        "[]",
        "[1, 2]",
        "{}",
        "{\"a\":{\"b\":[1,{}]}}",
        "\"\\ud83e\\udd80\"",
        "\t[ ]\r\n",
        "",
        " ",
        "nul",
        "nulll",
        "nan",
        "NaN",
        "Infinity",
        "01",
        "-",
        "-a",
        "1.",
        ".5",
        "+1",
        "1e",
        "1e+",
        "0x1",
        "[",
        "]",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1]",
        "\"",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "1 2",
        "[] []",
        "'a'",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800x\"",
        "\u{feff}1",
        "1\u{a0}",
        "/**/1",
        "\"\u{1f}\"",
        "truefalse",
        "[true1]",
        "{\"a\":1 \"b\":2}",
        "{\"a\" 1}",
        "é",
        "\"\\u00é\"",
        "\"\\",
        "\"\\u",
        "--1",
        "{,}",
        "[[]",
        "{\"a\":[}",
    ];
    for text in texts {
        let serde = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        // What serde_json skips unread it does not check for surrogates.
        let serde = serde && serde_json::from_str::<serde_json::Value>(text).is_ok();
        assert_eq!(scan(text).is_ok(), serde, "{text:?}: {:?}", scan(text));
    }
}

#[test]
fn faults_say_where() {
    assert_eq!(scan("[1,]"), Err(JsonFault::Syntax(3)));
    assert_eq!(scan("[1"), Err(JsonFault::Syntax(2)));
    assert_eq!(scan("[\"a\\x\"]"), Err(JsonFault::Syntax(3)));
    assert_eq!(scan("[1e999]"), Err(JsonFault::Number(1)));
}

#[test]
fn e2_nul_is_found_wherever_it_stands() {
    for (text, at) in [
        (r#"{"a":"x\u0000"}"#, 7),
        (r#"{"a":[{"b\u0000":1}]}"#, 9),
        ("\"\0\"", 1),
        ("\0", 0),
        ("1\0", 1),
    ] {
        assert_eq!(scan(text), Err(JsonFault::Nul(at)), "{text:?}");
    }
    assert_eq!(scan(r#""\\u0000""#), Ok(Facts::default()));
}

#[test]
fn e2_half_a_surrogate_pair_is_refused() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud800A""#,
        r#""\udfff\udbff""#,
    ] {
        assert_eq!(scan(text), Err(JsonFault::Surrogate(1)), "{text}");
    }
    assert_eq!(scan(r#""\uD83E\uDD80""#), Ok(Facts::default()));
}

#[test]
fn e3_what_is_accepted_is_as_deep_as_a_reader_goes() {
    for levels in [1, 126, 127] {
        assert_eq!(scan(&nested(levels)), Ok(Facts::default()), "{levels}");
        assert!(serde_json::from_str::<serde_json::Value>(&nested(levels)).is_ok());
    }
    for levels in [128, 500, 20_000, 1_000_000] {
        assert_eq!(scan(&nested(levels)), Err(JsonFault::TooDeep), "{levels}");
    }
    let objects = "{\"a\":".repeat(128) + "1" + &"}".repeat(128);
    assert_eq!(scan(&objects), Err(JsonFault::TooDeep));
}

#[test]
fn e5_integers_beyond_64_bits_are_noticed() {
    for narrow in [
        "0",
        "-0",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "[1,2]",
        "1.0",
        "0.1",
        "1.7976931348623157e308",
        "5e-324",
        "0.30000000000000004",
        "\"340282366920938463463374607431768211455\"",
    ] {
        assert_eq!(scan(narrow), Ok(Facts { wide: false }), "{narrow}");
    }
    for wide in [
        "18446744073709551616",
        "-9223372036854775809",
        "340282366920938463463374607431768211455",
        "{\"a\":[-170141183460469231731687303715884105728]}",
        "0.1234567890123456789",
    ] {
        assert_eq!(scan(wide), Ok(Facts { wide: true }), "{wide}");
    }
}

#[test]
fn e5_numbers_that_no_reader_takes_are_refused() {
    let digits = |count| "9".repeat(count);
    for bad in [
        "1e309",
        "-1e309",
        "1.8e308",
        "1e131072",
        "1e-16384",
        "1e-400",
        "0e99999999999999999999",
        "0e-99999999999999999999",
        "1e-99999999999999999999",
        &digits(310),
        &digits(200_000),
        &format!("0.{}", digits(20_000)),
    ] {
        let shown = &bad[..bad.len().min(30)];
        assert_eq!(scan(bad), Err(JsonFault::Number(0)), "{shown}");
    }
    for good in ["1e308", "5e-324", "0e5", "-0.0", "0.0e-3", &digits(308)] {
        assert!(scan(good).is_ok(), "{good}");
    }
}

#[test]
fn every_finite_float_passes_and_comes_back() {
    let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let float = f64::from_bits(bits);
        if !float.is_finite() {
            continue;
        }
        let text = serde_json::to_string(&float).expect("a finite float has a text");
        assert_eq!(scan(&text), Ok(Facts { wide: false }), "{text}");
        let stored = as_stored(&text);
        let back: f64 = serde_json::from_str(&stored).expect("the stored text is a number");
        assert_eq!(back.to_bits(), float.to_bits(), "{text} {stored}");
    }
}

#[test]
fn numbers_are_rewritten_as_jsonb_does() {
    for (text, stored) in [
        ("[1, -2.50]", "[1, -2.50]"),
        ("-0", "0"),
        ("-0.0", "0.0"),
        ("[-0.00,1]", "[0.00,1]"),
        ("1e3", "1000"),
        ("1.5E+3", "1500"),
        ("1.50e1", "15.0"),
        ("-1.5e-3", "-0.0015"),
        ("12e-1", "1.2"),
        ("0e3", "0"),
        ("0.0e-3", "0.0000"),
        ("-0e5", "0"),
        ("0.001e2", "0.1"),
        ("100e-2", "1.00"),
        ("{\"1e3\":1e3,\"b\":\"-0\"}", "{\"1e3\":1000,\"b\":\"-0\"}"),
    ] {
        assert_eq!(as_stored(text), stored, "{text}");
    }
}

#[test]
fn contents_are_compared_in_any_order() {
    assert!(same_content(
        r#"{"a":1,"b":[1e2,"x"]}"#,
        r#"{"b":["x",100],"a":1}"#
    ));
    assert!(same_content("-0.0", "0.0"));
    assert!(!same_content("1", "1.0"));
    assert!(!same_content("[1,1]", "[1]"));
    assert!(!same_content("\"1\"", "1"));
    assert!(!same_content("[1", "[1,x"));
}

#[test]
fn e10_more_values_than_jsonb_holds_are_refused() {
    // 5 MB of JSON that are 270 MB of digits.
    let many = "1e300,".repeat(850_000);
    assert_eq!(scan(&format!("[{many}1]")), Err(JsonFault::TooLarge));
}
