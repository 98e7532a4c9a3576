//! What an argument's value must be, kind by kind.

use std::fmt::Display;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Lit, LitInt, LitStr, Token};

use super::{Argument, Known};
use crate::duration;
use crate::event_name;
use crate::faults::Faults;
use crate::paths::Paths;
use crate::wording::{did_you_mean, one_of};

/// The most attempts, and the most milliseconds: what an `integer` column holds.
const MAX_INT: u32 = i32::MAX as u32;

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
        let parser = Punctuated::<LitStr, Token![,]>::parse_terminated;
        match parser.parse2(list.stream()) {
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
