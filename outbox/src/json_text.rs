//! Finished JSON text: whether PostgreSQL stores it and a reader takes it back.
//!
//! One pass over the text and no recursion, so that neither depth nor size of what somebody made
//! elsewhere matters. `jsonb` keeps less than JSON can say: no U+0000, no half of a surrogate pair,
//! no number beyond `numeric`. What it would refuse is refused here, before the caller's
//! transaction could fail by it.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::encode::MAX_DEPTH;

/// The most digits on either side of the point. A finite `f64` needs 309 before it and, written in
/// full, 1,074 behind it; `numeric` takes more, but `1e100000` in six bytes is not worth it.
const MAX_PLACES: i64 = 1_100;

/// `jsonb` takes 256 MiB less one byte per container; and it needs memory that grows with the
/// number of values while it reads them.
const MAX_STORED: usize = 255 * 1024 * 1024;

/// What a value or a key costs `jsonb` beside its own bytes, at most.
const STORED_PER_VALUE: usize = 16;

/// The decimal digits that every `f64` keeps, whatever they are.
const EXACT_DIGITS: usize = 17;

/// Why a text can't be a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// It is no JSON.
    #[error("it is not JSON at byte {0}")]
    Syntax(usize),
    /// It nests deeper than a reader would follow.
    #[error("it is nested deeper than {MAX_DEPTH} levels, which can't be read back")]
    TooDeep,
    /// It holds U+0000, escaped or not.
    #[error(
        "it has a NUL character at byte {0}, which PostgreSQL does not store; take it out or encode the bytes"
    )]
    Nul(usize),
    /// It holds an escape of half a surrogate pair, which stands for no character.
    #[error("it has half of a surrogate pair at byte {0}, which stands for no character")]
    Surrogate(usize),
    /// It holds a number that an `f64` has no room for.
    #[error("the number at byte {0} is out of range; send it as a string")]
    Number(usize),
    /// As `jsonb` it is larger than PostgreSQL stores.
    #[error("it has more values than PostgreSQL's `jsonb` holds; split it")]
    TooLarge,
}

/// What a text that can be a payload is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// A number is beyond what every reader keeps exactly: an integer outside of `i64` and `u64`,
    /// or a fraction of more than 17 digits.
    pub(crate) wide: bool,
}

/// Reads `text` to its end.
pub(crate) fn scan(text: &str) -> Result<Facts, JsonFault> {
    let mut facts = Facts::default();
    let mut stored = 0_usize;
    let mut nesting = Nesting::default();
    let mut expected = Expected::Value;
    let mut tokens = Tokens::of(text);
    while let Some((at, token)) = tokens.next()? {
        let size = match token {
            Token::Text(text) => STORED_PER_VALUE + text.len(),
            Token::Number(number) => {
                let parts = Parts::of(number);
                if !parts.in_range() {
                    return Err(JsonFault::Number(at));
                }
                facts.wide |= parts.is_wide();
                STORED_PER_VALUE + parts.stored_len()
            }
            Token::Literal(_) | Token::Open(_) => STORED_PER_VALUE,
            Token::Close(_) | Token::Comma | Token::Colon => 0,
        };
        stored = stored.saturating_add(size);
        if stored > MAX_STORED {
            return Err(JsonFault::TooLarge);
        }
        expected = expected.after(token, &mut nesting, at)?;
    }
    if expected == Expected::End {
        Ok(facts)
    } else {
        Err(JsonFault::Syntax(text.len()))
    }
}

/// `text` with its numbers as `jsonb` writes them: no exponents, no negative zero. This, and not
/// what was emitted, is what a reader gets. Text that is no JSON comes back as it is.
pub(crate) fn as_stored(text: &str) -> Cow<'_, str> {
    let mut stored = String::new();
    let mut copied = 0;
    let mut tokens = Tokens::of(text);
    while let Ok(Some((at, token))) = tokens.next() {
        if let Token::Number(number) = token
            && let Cow::Owned(rewritten) = Parts::of(number).as_stored()
        {
            stored.push_str(&text[copied..at]);
            stored.push_str(&rewritten);
            copied = at + number.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    stored.push_str(&text[copied..]);
    Cow::Owned(stored)
}

/// Whether the two texts hold the same keys, strings, numbers and literals once they are stored, in
/// whatever order: hash maps and sets come back in another one.
pub(crate) fn same_content(one: &str, other: &str) -> bool {
    match (leaves(one), leaves(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

fn leaves(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut leaves = Vec::new();
    let mut tokens = Tokens::of(text);
    while let Some((_, token)) = tokens.next().ok()? {
        match token {
            Token::Number(number) => leaves.push(Parts::of(number).as_stored()),
            Token::Text(leaf) | Token::Literal(leaf) => leaves.push(Cow::Borrowed(leaf)),
            Token::Open(_) | Token::Close(_) | Token::Comma | Token::Colon => {}
        }
    }
    leaves.sort_unstable();
    Some(leaves)
}

/// Whether some crate of the binary has turned on `serde_json/arbitrary_precision`. Numbers then
/// travel through `flatten` and untagged enums as maps, and may not come out as numbers.
pub(crate) fn numbers_are_kept_as_text() -> bool {
    static KEPT: LazyLock<bool> = LazyLock::new(|| {
        serde_json::from_str::<serde_json::Number>("1.00")
            .is_ok_and(|number| number.to_string() == "1.00")
    });
    *KEPT
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Open(Container),
    Close(Container),
    Comma,
    Colon,
    /// With its quotes.
    Text(&'t str),
    Number(&'t str),
    Literal(&'t str),
}

/// The text cut into tokens. Escapes and characters within strings are checked here.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.at - start
    }

    /// The next token and where it begins.
    fn next(&mut self) -> Result<Option<(usize, Token<'t>)>, JsonFault> {
        self.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let at = self.at;
        let Some(first) = self.peek() else {
            return Ok(None);
        };
        let single = match first {
            b'{' => Some(Token::Open(Container::Object)),
            b'}' => Some(Token::Close(Container::Object)),
            b'[' => Some(Token::Open(Container::Array)),
            b']' => Some(Token::Close(Container::Array)),
            b',' => Some(Token::Comma),
            b':' => Some(Token::Colon),
            _ => None,
        };
        let token = if let Some(token) = single {
            self.at += 1;
            token
        } else {
            match first {
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b'a'..=b'z' => self.literal()?,
                0 => return Err(JsonFault::Nul(at)),
                _ => return Err(JsonFault::Syntax(at)),
            }
        };
        Ok(Some((at, token)))
    }

    fn string(&mut self) -> Result<Token<'t>, JsonFault> {
        let start = self.at;
        self.at += 1;
        loop {
            self.skip_while(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Token::Text(&self.text[start..self.at]));
                }
                Some(b'\\') => self.escape()?,
                Some(0) => return Err(JsonFault::Nul(self.at)),
                _ => return Err(JsonFault::Syntax(self.at)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonFault> {
        let at = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => match self.code_unit()? {
                0 => Err(JsonFault::Nul(at)),
                0xd800..=0xdbff => {
                    let low = self.text.as_bytes()[self.at..].starts_with(b"\\u");
                    if !low {
                        return Err(JsonFault::Surrogate(at));
                    }
                    self.at += 1;
                    match self.code_unit()? {
                        0xdc00..=0xdfff => Ok(()),
                        _ => Err(JsonFault::Surrogate(at)),
                    }
                }
                0xdc00..=0xdfff => Err(JsonFault::Surrogate(at)),
                _ => Ok(()),
            },
            _ => Err(JsonFault::Syntax(at)),
        }
    }

    /// The four digits behind a `u`, which stands here.
    fn code_unit(&mut self) -> Result<u16, JsonFault> {
        let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
        let unit = digits.and_then(|digits| {
            digits.iter().try_fold(0_u16, |unit, &digit| {
                let value = char::from(digit).to_digit(16)?;
                Some(unit << 4 | u16::try_from(value).ok()?)
            })
        });
        self.at += 5;
        unit.ok_or(JsonFault::Syntax(self.at.min(self.text.len())))
    }

    fn number(&mut self) -> Result<Token<'t>, JsonFault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Token::Number(&self.text[start..self.at]))
    }

    fn digits(&mut self) -> Result<(), JsonFault> {
        match self.skip_while(|byte| byte.is_ascii_digit()) {
            0 => Err(JsonFault::Syntax(self.at)),
            _ => Ok(()),
        }
    }

    fn literal(&mut self) -> Result<Token<'t>, JsonFault> {
        let start = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric());
        match &self.text[start..self.at] {
            literal @ ("null" | "true" | "false") => Ok(Token::Literal(literal)),
            _ => Err(JsonFault::Syntax(start)),
        }
    }
}

/// The open containers, one bit each: set for an object.
#[derive(Default)]
struct Nesting {
    depth: usize,
    objects: u128,
}

const _: () = assert!(MAX_DEPTH < 128, "a bit for every level");

impl Nesting {
    fn open(&mut self, container: Container) -> Result<(), JsonFault> {
        if self.depth == MAX_DEPTH {
            return Err(JsonFault::TooDeep);
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(container == Container::Object);
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.objects >>= 1;
    }

    fn innermost(&self) -> Option<Container> {
        match (self.depth, self.objects & 1) {
            (0, _) => None,
            (_, 1) => Some(Container::Object),
            _ => Some(Container::Array),
        }
    }
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    ValueOrClose,
    KeyOrClose,
    Key,
    Colon,
    CommaOrClose,
    End,
}

impl Expected {
    fn after(self, token: Token, nesting: &mut Nesting, at: usize) -> Result<Self, JsonFault> {
        let behind_value = |nesting: &Nesting| match nesting.innermost() {
            None => Self::End,
            Some(_) => Self::CommaOrClose,
        };
        match (self, token) {
            (Self::Value | Self::ValueOrClose, Token::Open(container)) => {
                nesting.open(container)?;
                Ok(match container {
                    Container::Array => Self::ValueOrClose,
                    Container::Object => Self::KeyOrClose,
                })
            }
            (
                Self::Value | Self::ValueOrClose,
                Token::Text(_) | Token::Number(_) | Token::Literal(_),
            ) => Ok(behind_value(nesting)),
            (Self::KeyOrClose | Self::Key, Token::Text(_)) => Ok(Self::Colon),
            (Self::Colon, Token::Colon) => Ok(Self::Value),
            (Self::CommaOrClose, Token::Comma) => Ok(match nesting.innermost() {
                Some(Container::Object) => Self::Key,
                _ => Self::Value,
            }),
            (
                Self::CommaOrClose | Self::ValueOrClose | Self::KeyOrClose,
                Token::Close(container),
            ) if nesting.innermost() == Some(container) => {
                nesting.close();
                Ok(behind_value(nesting))
            }
            _ => Err(JsonFault::Syntax(at)),
        }
    }
}

/// A number's text in its parts.
struct Parts<'t> {
    text: &'t str,
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    /// `None` where none is written.
    exponent: Option<i64>,
}

impl<'t> Parts<'t> {
    /// Of a number as [`Tokens`] yields it.
    fn of(text: &'t str) -> Self {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (text, None),
        };
        let unsigned = mantissa.strip_prefix('-');
        let (whole, fraction) = unsigned
            .unwrap_or(mantissa)
            .split_once('.')
            .unwrap_or((unsigned.unwrap_or(mantissa), ""));
        Self {
            text,
            negative: unsigned.is_some(),
            whole,
            fraction,
            exponent: exponent.map(|digits| {
                // More digits than fit are far out of range, in either direction.
                let beyond = if digits.starts_with('-') { -1 } else { 1 };
                digits.parse().unwrap_or(beyond * i64::from(i32::MAX))
            }),
        }
    }

    /// The digits before and behind the point when it is written without an exponent. Less than
    /// none when the number begins or ends far from the point.
    fn places(&self) -> (i64, i64) {
        let count = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let exponent = self.exponent.unwrap_or(0);
        (
            count(self.whole).saturating_add(exponent),
            count(self.fraction).saturating_sub(exponent),
        )
    }

    fn is_zero(&self) -> bool {
        let mut digits = self.whole.bytes().chain(self.fraction.bytes());
        digits.all(|digit| digit == b'0')
    }

    /// Whether an `f64` has room for it, so that every reader takes it.
    fn in_range(&self) -> bool {
        let (before, behind) = self.places();
        if before > MAX_PLACES || behind > MAX_PLACES {
            return false;
        }
        // 10^300 and 10^-300 are within an f64's range.
        if before <= 300 && behind <= 300 {
            return true;
        }
        self.text
            .parse::<f64>()
            .is_ok_and(|number| number.is_finite() && (number != 0.0 || self.is_zero()))
    }

    fn is_wide(&self) -> bool {
        if self.fraction.is_empty() && self.exponent.is_none() {
            // 18 digits fit both types.
            return self.text.len() > 18
                && self.text.parse::<i64>().is_err()
                && self.text.parse::<u64>().is_err();
        }
        // Zeros before the first digit that counts don't.
        let whole = self.whole.trim_start_matches('0');
        let fraction = if whole.is_empty() {
            self.fraction.trim_start_matches('0')
        } else {
            self.fraction
        };
        whole.len() + fraction.len() > EXACT_DIGITS
    }

    /// The length of the text that `jsonb` makes of it, or a little more. Within range.
    fn stored_len(&self) -> usize {
        let (before, behind) = self.places();
        let length = before.max(1) + behind.max(0) + 2;
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    /// As `jsonb` writes it. Within range.
    fn as_stored(&self) -> Cow<'t, str> {
        let zero = self.negative && self.is_zero();
        if self.exponent.is_none() {
            return match self.text.strip_prefix('-') {
                Some(positive) if zero => Cow::Owned(positive.to_owned()),
                _ => Cow::Borrowed(self.text),
            };
        }
        let (before, behind) = self.places();
        if before > MAX_PLACES || behind > MAX_PLACES {
            return Cow::Borrowed(self.text);
        }
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        // The digits on both sides of the point, filled up to it where they don't reach it.
        let leading = zeros(-before);
        let trailing = zeros(-behind);
        let digits = [&leading, self.whole, self.fraction, &trailing].concat();
        let point = usize::try_from(before.max(0)).unwrap_or(0);
        let (whole, fraction) = digits.split_at(point.min(digits.len()));
        let whole = whole.trim_start_matches('0');
        let mut text = String::with_capacity(digits.len() + 3);
        if self.negative && !zero {
            text.push('-');
        }
        text.push_str(if whole.is_empty() { "0" } else { whole });
        if !fraction.is_empty() {
            text.push('.');
            text.push_str(fraction);
        }
        Cow::Owned(text)
    }
}

#[cfg(test)]
mod tests;
