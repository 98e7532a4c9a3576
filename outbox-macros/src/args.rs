//! Keyed arguments, `key = value, …`, as both macros take them.

use std::fmt::Display;
use std::iter::Peekable;

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree, token_stream};
use syn::{Lit, LitInt, LitStr};

use crate::duration;
use crate::event_name;
use crate::faults::Faults;
use crate::paths::Paths;
use crate::wording::{did_you_mean, one_of};

/// The most attempts, and the most milliseconds: what an `integer` column holds.
const MAX_INT: u32 = i32::MAX as u32;

/// An argument that a macro takes.
pub(crate) struct Known {
    pub(crate) key: &'static str,
    /// As in "takes …".
    pub(crate) takes: &'static str,
    /// A value to paste.
    pub(crate) example: &'static str,
}

/// An argument as it was written: a known key, and the tokens of its value.
pub(crate) struct Argument {
    pub(crate) key: Ident,
    known: &'static Known,
    value: TokenStream,
}

/// Reads `tokens` and adds their arguments to `arguments`: each is known, has a value, and is
/// given once.
pub(crate) fn read(
    tokens: TokenStream,
    known: &'static [Known],
    arguments: &mut Vec<Argument>,
    faults: &mut Faults,
) {
    let keys: Vec<&str> = known.iter().map(|known| known.key).collect();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let TokenTree::Ident(key) = token else {
            let mend = positional(&token, known);
            faults.on(
                &token,
                format!("expected `key = value`, found `{token}`{mend}"),
            );
            skip_value(&mut rest);
            continue;
        };
        let Some(known) = known.iter().find(|known| key == known.key) else {
            let name = key.to_string();
            let near = did_you_mean(&name, &keys);
            faults.on(
                &key,
                format!(
                    "unknown argument `{name}`; expected {}{near}",
                    one_of(&keys)
                ),
            );
            skip_value(&mut rest);
            continue;
        };
        let assigned = rest.next_if(is_equals).is_some();
        let value = take_value(&mut rest);
        if assigned && !value.is_empty() {
            if arguments.iter().any(|earlier| earlier.key == key) {
                faults.on(
                    &key,
                    format!("`{key}` is given twice\nhelp: remove one of them"),
                );
            } else {
                arguments.push(Argument { key, known, value });
            }
        } else {
            let Known { takes, example, .. } = known;
            faults.on(
                &key,
                format!("`{key}` has no value; expected {takes}\nhelp: write `{key} = {example}`"),
            );
        }
        end_value(&mut rest, faults);
    }
}

type Rest = Peekable<token_stream::IntoIter>;

/// A line to paste for a value without a key.
fn positional(value: &TokenTree, known: &[Known]) -> String {
    let key = match syn::parse2::<Lit>(value.clone().into()) {
        Ok(Lit::Int(_)) => "max_retries",
        Ok(Lit::Str(_)) => known.first().map_or("event", |known| known.key),
        _ => return String::new(),
    };
    format!("\nhelp: write `{key} = {value}`")
}

fn is_equals(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '=')
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}

/// The tokens up to the next comma, or up to the next `key =` where a comma was forgotten.
fn take_value(rest: &mut Rest) -> TokenStream {
    let mut value = Vec::new();
    while let Some(token) = rest.peek() {
        if is_comma(token) {
            break;
        }
        if !value.is_empty() && matches!(token, TokenTree::Ident(_)) && begins_argument(rest) {
            break;
        }
        value.extend(rest.next());
    }
    value.into_iter().collect()
}

/// Whether `key =` comes next.
fn begins_argument(rest: &Rest) -> bool {
    let mut ahead = rest.clone();
    matches!(ahead.next(), Some(TokenTree::Ident(_)))
        && matches!(ahead.next(), Some(TokenTree::Punct(punct))
            if punct.as_char() == '=' && punct.spacing() == Spacing::Alone)
}

fn skip_value(rest: &mut Rest) {
    rest.next_if(is_equals);
    take_value(rest);
    rest.next_if(is_comma);
}

/// Expects a comma, or the end.
fn end_value(rest: &mut Rest, faults: &mut Faults) {
    if rest.next_if(is_comma).is_some() {
        return;
    }
    if let Some(next) = rest.peek() {
        faults.on(
            next,
            format!("expected `,` before `{next}`\nhelp: write `, {next}`"),
        );
    }
}

impl Argument {
    /// "`key` takes …, found …", with a line to paste.
    fn mismatch(&self, faults: &mut Faults, mend: Option<&dyn Display>) {
        let Known {
            key,
            takes,
            example,
        } = self.known;
        let found = self.value.to_string().replace("- ", "-");
        let mend = mend.unwrap_or(example);
        faults.on(
            &self.value,
            format!("`{key}` takes {takes}, found `{found}`\nhelp: write `{key} = {mend}`"),
        );
    }

    fn literal(&self) -> Option<Lit> {
        syn::parse2(ungrouped(self.value.clone())).ok()
    }

    /// Notes a fault of the value: "the {noun} …".
    fn fault(&self, at: &LitStr, found: &str, meant: Option<&str>, faults: &mut Faults) {
        let key = self.known.key;
        let mend = meant.map_or_else(
            || self.known.example.to_owned(),
            |meant| format!("{meant:?}"),
        );
        faults.on(at, format!("{found}\nhelp: write `{key} = {mend}`"));
    }

    /// A string.
    pub(crate) fn string(&self, faults: &mut Faults) -> Option<LitStr> {
        match self.literal() {
            Some(Lit::Str(string)) if string.suffix().is_empty() => Some(string),
            _ => {
                self.mismatch(faults, None);
                None
            }
        }
    }

    /// A name that `check` lets pass; `noun` says in messages what it names.
    pub(crate) fn name(
        &self,
        noun: &str,
        check: fn(&str) -> Result<(), event_name::Fault>,
        faults: &mut Faults,
    ) -> Option<LitStr> {
        let name = self.string(faults)?;
        self.checked(name, noun, check, faults)
    }

    /// A name, or a list of names.
    pub(crate) fn names(
        &self,
        noun: &str,
        check: fn(&str) -> Result<(), event_name::Fault>,
        faults: &mut Faults,
    ) -> Vec<LitStr> {
        let tokens: Vec<TokenTree> = ungrouped(self.value.clone()).into_iter().collect();
        let list = match &tokens[..] {
            [TokenTree::Group(list)] if list.delimiter() == Delimiter::Bracket => list,
            _ => return self.name(noun, check, faults).into_iter().collect(),
        };
        let parser = syn::punctuated::Punctuated::<LitStr, syn::Token![,]>::parse_terminated;
        match syn::parse::Parser::parse2(parser, list.stream()) {
            Ok(names) if !names.is_empty() => names
                .into_iter()
                .filter_map(|name| self.checked(name, noun, check, faults))
                .collect(),
            _ => {
                self.mismatch(faults, None);
                Vec::new()
            }
        }
    }

    fn checked(
        &self,
        name: LitStr,
        noun: &str,
        check: fn(&str) -> Result<(), event_name::Fault>,
        faults: &mut Faults,
    ) -> Option<LitStr> {
        match check(&name.value()) {
            Ok(()) => Some(name),
            Err(event_name::Fault { found, meant }) => {
                let found = format!("the {noun} {found}");
                self.fault(&name, &found, meant.as_deref(), faults);
                None
            }
        }
    }

    /// A number of attempts.
    pub(crate) fn attempts(&self, faults: &mut Faults) -> Option<u32> {
        let attempts = match self.literal() {
            Some(Lit::Int(int)) => bounded(&int).filter(|attempts| *attempts >= 1),
            Some(Lit::Str(string)) => {
                // Meant as a number, but for the quotes.
                let meant = string.value().parse::<u32>().ok();
                let meant = meant.filter(|meant| (1..=MAX_INT).contains(meant));
                self.mismatch(faults, meant.as_ref().map(|meant| meant as &dyn Display));
                return None;
            }
            _ => None,
        };
        if attempts.is_none() {
            self.mismatch(faults, None);
        }
        attempts
    }

    /// A duration in milliseconds, at least `least`.
    pub(crate) fn duration(&self, least: u32, faults: &mut Faults) -> Option<u32> {
        let key = self.known.key;
        let ms = match self.literal() {
            Some(Lit::Int(int)) => {
                let ms = bounded(&int);
                if ms.is_none() {
                    self.mismatch(faults, None);
                }
                ms?
            }
            Some(Lit::Str(string)) => match duration::parse(&string.value()) {
                Ok(ms) => ms,
                Err(duration::Fault { found, meant }) => {
                    let text = string.value();
                    let found = format!("`{text:?}` {found}; expected {}", duration::EXPECTED);
                    self.fault(&string, &found, meant.as_deref(), faults);
                    return None;
                }
            },
            _ => {
                self.mismatch(faults, None);
                return None;
            }
        };
        if ms < least {
            let Known { example, .. } = self.known;
            faults.on(
                &self.value,
                format!(
                    "`{key}` is at least {least} ms, found {ms} ms\nhelp: write `{key} = {example}`"
                ),
            );
            return None;
        }
        Some(ms)
    }

    /// One of a few words, each with what it means.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)], faults: &mut Faults) -> Option<T> {
        let string = self.string(faults)?;
        let word = string.value();
        let chosen = choices.iter().find(|(choice, _)| *choice == word);
        if chosen.is_none() {
            let key = self.known.key;
            let words: Vec<String> = choices.iter().map(|(c, _)| format!("{c:?}")).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut mend = did_you_mean(&format!("{word:?}"), &words);
            if mend.is_empty() {
                mend = format!("\nhelp: write `{key} = {}`", self.known.example);
            }
            faults.on(
                string,
                format!(
                    "unknown {key} `{word:?}`; expected {}{mend}",
                    one_of(&words)
                ),
            );
        }
        chosen.map(|(_, meaning)| *meaning)
    }

    /// The path of a crate.
    pub(crate) fn paths(&self, faults: &mut Faults) -> Option<Paths> {
        let string = self.string(faults)?;
        let path = string.parse_with(syn::Path::parse_mod_style);
        if path.is_err() {
            let found = format!(
                "`{:?}` is not the path of a crate; expected one such as `\"outbox\"`",
                string.value()
            );
            self.fault(&string, &found, None, faults);
        }
        path.ok().map(|path| Paths::by_way_of(&path))
    }
}

/// `int` without a suffix, from 0 to 2147483647.
fn bounded(int: &LitInt) -> Option<u32> {
    let plain = int.suffix().is_empty();
    let value = int.base10_parse::<u32>().ok();
    value.filter(|value| plain && *value <= MAX_INT)
}

/// `tokens` out of the invisible groups that `macro_rules` puts around what it was given.
fn ungrouped(tokens: TokenStream) -> TokenStream {
    let mut trees = tokens.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if is_invisible(&group) => ungrouped(group.stream()),
        _ => tokens,
    }
}

fn is_invisible(group: &Group) -> bool {
    group.delimiter() == Delimiter::None
}
