//! Text for a column, whatever it was: PostgreSQL stores no NUL, and an error's text can be endless.

use std::borrow::Cow;

/// What is kept of a text, in bytes.
pub(crate) const MAX_TEXT: usize = 16 * 1024;

/// `text` as a column takes it: cut to 16 KiB on a character boundary, each NUL replaced by U+FFFD.
pub(crate) fn stored_text(text: &str) -> Cow<'_, str> {
    if !cut(text).contains('\0') {
        return Cow::Borrowed(cut(text));
    }
    // The replacement is longer than the NUL, so the cut comes after it; no more than the first
    // 16 KiB can be left of it.
    let mut clean = cut(text).replace('\0', "\u{fffd}");
    clean.truncate(cut(&clean).len());
    Cow::Owned(clean)
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e1_short_text_passes_untouched() {
        for text in ["", "mail server said no", "é\u{10ffff}"] {
            assert!(matches!(stored_text(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn e1_nul_becomes_a_replacement_character() {
        assert_eq!(stored_text("a\0b\0"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn e1_the_cut_never_halves_a_character() {
        for (filler, rest) in [("x", 0), ("é", 0), ("€", 1), ("🦀", 0)] {
            let text = filler.repeat(5_000_000 / filler.len());
            let stored = stored_text(&text);
            assert_eq!(stored.len(), MAX_TEXT - rest, "{filler}");
            assert!(text.starts_with(&*stored));
        }
        let nuls = "\0".repeat(MAX_TEXT + 1);
        assert_eq!(stored_text(&nuls).len(), MAX_TEXT - 1);
    }
}
