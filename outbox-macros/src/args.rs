//! Keyed arguments, `key = value, …`, as both macros take them.

mod value;

use std::iter::Peekable;

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree, token_stream};
use syn::Lit;

use crate::faults::Faults;
use crate::wording::{did_you_mean, one_of};

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
