//! Words: in messages, and in the user's code.

use proc_macro2::TokenTree;
use quote::ToTokens;

/// "`a`", "`a` or `b`", "one of `a`, `b`, `c`".
pub(crate) fn one_of(allowed: &[&str]) -> String {
    match allowed {
        [] => "nothing".to_owned(),
        [only] => format!("`{only}`"),
        [one, other] => format!("`{one}` or `{other}`"),
        all => format!("one of `{}`", all.join("`, `")),
    }
}

/// "\nhelp: did you mean `…`?" when one of `allowed` is close to what was found, else nothing.
pub(crate) fn did_you_mean(found: &str, allowed: &[&str]) -> String {
    nearest(found, allowed).map_or_else(String::new, |near| {
        format!("\nhelp: did you mean `{near}`?")
    })
}

/// The one of `allowed` that `found` was most likely meant to be.
fn nearest<'a>(found: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let found = found.to_lowercase().replace('-', "_");
    allowed
        .iter()
        .map(|word| (distance(&found, word), *word))
        .filter(|(distance, word)| {
            let tolerated = word.chars().count().max(found.chars().count()) / 3;
            *distance <= tolerated || (found.len() >= 4 && word.contains(&found))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Whether `word` stands in `tokens`, at any depth.
pub(crate) fn mentions(tokens: impl ToTokens, word: &str) -> bool {
    tokens
        .into_token_stream()
        .into_iter()
        .any(|token| match token {
            TokenTree::Ident(ident) => ident == word,
            TokenTree::Group(group) => mentions(group.stream(), word),
            _ => false,
        })
}

/// How many insertions, deletions, substitutions and swaps of neighbours turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = substituted.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_prose() {
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b"]), "`a` or `b`");
        assert_eq!(one_of(&["a", "b", "c"]), "one of `a`, `b`, `c`");
    }

    #[test]
    fn distances_count_edits_and_swaps() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("fixd", "fixed"), 1);
        assert_eq!(distance("naem", "name"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn only_near_words_are_offered() {
        let words = ["event", "max_retries", "max_delay", "timeout", "name"];
        for (found, near) in [
            ("max_retry", Some("max_retries")),
            ("retries", Some("max_retries")),
            ("maxRetries", Some("max_retries")),
            ("max-delay", Some("max_delay")),
            ("time_out", Some("timeout")),
            ("nmae", Some("name")),
            ("id", None),
            ("concurrency", None),
        ] {
            assert_eq!(nearest(found, &words), near, "{found}");
        }
    }
}
