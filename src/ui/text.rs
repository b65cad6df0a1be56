//! Text that somebody else wrote, made fit for a cell of the screen.

use crate::text::is_unsafe;

/// No line is shown longer than this; nobody reads on, and laying it out would take time.
pub const LONGEST: usize = 2000;
/// A tab goes to the next multiple of this.
const TAB: usize = 4;

/// One line with what would move the terminal escaped, and tabs as spaces.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, ch) in text.chars().enumerate() {
        if at == LONGEST {
            out.push('…');
            break;
        }
        push(&mut out, ch);
    }
    out
}

/// Adds a character as it is shown.
pub fn push(out: &mut String, ch: char) {
    if ch == '\t' {
        let spaces = TAB - out.chars().count() % TAB;
        out.extend(std::iter::repeat_n(' ', spaces));
    } else if is_unsafe(ch) {
        out.extend(ch.escape_unicode());
    } else {
        out.push(ch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_terminal() {
        assert_eq!(
            shown("a\tb\x1b[2J\u{202e}c\r"),
            "a   b\\u{1b}[2J\\u{202e}c\\u{d}"
        );
        assert_eq!(shown(&"x".repeat(3000)).chars().count(), LONGEST + 1);
    }
}
