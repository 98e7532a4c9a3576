//! Durations: `"250ms"`, `"30s"`, `"5m"`, `"1h"`, or milliseconds.

/// The most that a duration may be: what an `integer` column holds, about 24.8 days.
pub(crate) const MAX_MS: u32 = i32::MAX as u32;

/// What a duration may be, for messages.
pub(crate) const EXPECTED: &str =
    "a duration such as `\"250ms\"`, `\"30s\"`, `\"5m\"`, `\"1h\"`, or an integer of milliseconds";

/// What is wrong with a duration's text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What was found.
    pub(crate) found: String,
    /// The text that was probably meant.
    pub(crate) meant: Option<String>,
}

/// The milliseconds that `text` says.
pub(crate) fn parse(text: &str) -> Result<u32, Fault> {
    let fault = |found: String, meant: Option<String>| Err(Fault { found, meant });
    let bare = text.trim();
    let (number, unit) = bare.split_at(number_end(bare));
    let (number, unit) = (number.trim_end(), unit.trim());
    if bare.is_empty() {
        return fault("is empty".to_owned(), None);
    }
    if number.starts_with(['-', '+']) {
        return fault(format!("has a sign, `{}`", &number[..1]), None);
    }
    if number.is_empty() {
        return fault("does not begin with a number".to_owned(), None);
    }
    let Some(factor) = factor(unit) else {
        return fault(
            if unit.is_empty() {
                "has no unit".to_owned()
            } else {
                format!("has the unknown unit `{unit}`")
            },
            Some(format!("{number}s")).filter(|meant| unit.is_empty() && parse(meant).is_ok()),
        );
    };
    if number.contains('.') {
        return fault(
            format!("has the fraction `{number}`"),
            whole(number, factor).map(spell),
        );
    }
    let ms = number
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(factor))
        .and_then(|ms| u32::try_from(ms).ok())
        .filter(|ms| *ms <= MAX_MS);
    let Some(ms) = ms else {
        return fault(format!("is more than {MAX_MS} ms, about 24 days"), None);
    };
    if !matches!(unit, "ms" | "s" | "m" | "h") {
        return fault(format!("has the unknown unit `{unit}`"), Some(spell(ms)));
    }
    if text != format!("{number}{unit}") {
        return fault(
            "contains white space".to_owned(),
            Some(format!("{number}{unit}")),
        );
    }
    Ok(ms)
}

/// Where the number at the beginning of `text` ends.
fn number_end(text: &str) -> usize {
    text.char_indices()
        .find(|&(at, c)| !(c.is_ascii_digit() || c == '.' || (at == 0 && matches!(c, '-' | '+'))))
        .map_or(text.len(), |(at, _)| at)
}

/// The milliseconds of a unit: of the four that count, and of those that come to mind instead.
fn factor(unit: &str) -> Option<u64> {
    Some(match unit.to_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        "w" | "week" | "weeks" => 604_800_000,
        _ => return None,
    })
}

/// `number` with a fraction, in whole milliseconds, if it is that and in range.
fn whole(number: &str, factor: u64) -> Option<u32> {
    let (integer, fraction) = number.split_once('.')?;
    let fraction = fraction.trim_end_matches('0');
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u64 = format!("{integer}{fraction}").parse().ok()?;
    let ms = digits.checked_mul(factor)?;
    let exact = ms.is_multiple_of(scale).then_some(ms / scale)?;
    u32::try_from(exact).ok().filter(|ms| *ms <= MAX_MS)
}

/// `ms` in the largest unit that says it exactly.
fn spell(ms: u32) -> String {
    [(3_600_000, "h"), (60_000, "m"), (1_000, "s")]
        .into_iter()
        .find(|(factor, _)| ms >= *factor && ms.is_multiple_of(*factor))
        .map_or_else(
            || format!("{ms}ms"),
            |(factor, unit)| format!("{}{unit}", ms / factor),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_units_are_read() {
        for (text, ms) in [
            ("0s", 0),
            ("250ms", 250),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("007s", 7_000),
            ("2147483647ms", MAX_MS),
            ("596h", 2_145_600_000),
        ] {
            assert_eq!(parse(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn l12_what_is_no_duration_is_refused_with_what_was_meant() {
        for (text, found, meant) in [
            ("", "is empty", None),
            (" ", "is empty", None),
            ("s", "does not begin with a number", None),
            ("soon", "does not begin with a number", None),
            ("-1s", "has a sign, `-`", None),
            ("+1s", "has a sign, `+`", None),
            ("10", "has no unit", Some("10s")),
            (".", "has no unit", None),
            ("99999999999", "has no unit", None),
            ("-", "has a sign, `-`", None),
            ("1.5s", "has the fraction `1.5`", Some("1500ms")),
            ("0.5h", "has the fraction `0.5`", Some("30m")),
            ("0.0001ms", "has the fraction `0.0001`", None),
            ("1..5s", "has the fraction `1..5`", None),
            ("1 fortnight", "has the unknown unit `fortnight`", None),
            ("1d", "has the unknown unit `d`", Some("24h")),
            ("90sec", "has the unknown unit `sec`", Some("90s")),
            ("1H", "has the unknown unit `H`", Some("1h")),
            ("1h30m", "has the unknown unit `h30m`", None),
            ("1 h", "contains white space", Some("1h")),
            (" 1h", "contains white space", Some("1h")),
            ("1µs", "has the unknown unit `µs`", None),
            (
                "2147483648ms",
                "is more than 2147483647 ms, about 24 days",
                None,
            ),
            ("597h", "is more than 2147483647 ms, about 24 days", None),
            (
                "99999999999d",
                "is more than 2147483647 ms, about 24 days",
                None,
            ),
            (
                "99999999999999999999s",
                "is more than 2147483647 ms, about 24 days",
                None,
            ),
        ] {
            let fault = Fault {
                found: found.to_owned(),
                meant: meant.map(str::to_owned),
            };
            assert_eq!(parse(text), Err(fault), "{text:?}");
        }
    }
}
