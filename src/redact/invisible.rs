//! A text without what stands inside of words and is not seen: zero-width characters, soft hyphens, marks of direction,
//! and the zero bytes of UTF-16 that was read as bytes.
//!
//! A secret is looked for in what is left; its place in the text is known again, with all that stands inside.

use std::ops::Range;

/// A text with parts left out.
pub(super) struct Visible {
    pub(super) text: String,
    /// Where each byte of the text that is left stood, and where the last one ended.
    places: Vec<usize>,
}

impl Visible {
    /// The text without what is not seen; `None` when there is nothing of that kind.
    pub(super) fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        // Most texts are plain ASCII: one quick look, and no copy is made.
        if bytes.iter().all(|byte| (1..0x80).contains(byte)) {
            return None;
        }
        let left_out = |(at, ch): &(usize, char)| is_unseen(*ch) || is_wide_zero(bytes, *at);
        if !text.char_indices().any(|found| left_out(&found)) {
            return None;
        }
        let mut visible = Self {
            text: String::with_capacity(text.len()),
            places: Vec::with_capacity(text.len() + 1),
        };
        let mut end = 0;
        for (at, ch) in text.char_indices().filter(|found| !left_out(found)) {
            visible.text.push(ch);
            end = at + ch.len_utf8();
            visible.places.extend(at..end);
        }
        visible.places.push(end);
        Some(visible)
    }

    /// The place in the whole text of a place in what is left.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let last = range.end.checked_sub(1)?;
        Some(*self.places.get(range.start)?..self.places.get(last)? + 1)
    }
}

fn is_unseen(ch: char) -> bool {
    matches!(ch,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// The zero byte that follows or precedes each letter in UTF-16; not one that ends a word of a binary file.
fn is_wide_zero(bytes: &[u8], at: usize) -> bool {
    let zero = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&0);
    zero(Some(at))
        && !zero(at.checked_sub(1))
        && !zero(Some(at + 1))
        && (zero(at.checked_sub(2)) || zero(Some(at + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_again() {
        let text = "é a\u{200b}b\u{ad}c d";
        let visible = Visible::new(text).expect("there is something");
        assert_eq!(visible.text, "é abc d");
        let at = visible.text.find("abc").expect("left");
        let place = visible.place(&(at..at + 3)).expect("known");
        assert_eq!(&text[place], "a\u{200b}b\u{ad}c");
    }

    #[test]
    fn only_the_zeros_of_wide_letters_are_left_out() {
        let left = |text: &str| Visible::new(text).map(|visible| visible.text);
        assert_eq!(left("a\0b\0c\0").as_deref(), Some("abc"));
        assert_eq!(left("\0a\0b\0c").as_deref(), Some("abc"));
        assert_eq!(left("name\0value\0\0\0x"), None);
        assert_eq!(left("plain, ärger"), None);
    }
}
