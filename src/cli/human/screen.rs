//! How much of a text one line of the screen takes.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::env::Env;

/// What the terminal can show: how many columns, and whether it knows more than ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns; None: lines are as long as they are.
    pub columns: Option<usize>,
    /// Whether the locale is one of UTF-8.
    pub unicode: bool,
}

impl Screen {
    /// Of standard output, if that is a `terminal`.
    pub fn of_stdout(env: &Env, terminal: bool) -> Self {
        let told = env.text("COLUMNS").and_then(|text| text.parse().ok());
        let told = told.filter(|columns| *columns > 0);
        let columns = || {
            let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
            let columns = size.map(|size| usize::from(size.ws_col));
            columns.filter(|columns| *columns > 0).unwrap_or(80)
        };
        Self {
            columns: terminal.then(|| told.unwrap_or_else(columns)),
            unicode: is_utf8(env),
        }
    }

    /// A text that is cut where it is wider than this many columns, with a mark that something is missing.
    pub fn fit(&self, text: &str, columns: usize) -> String {
        if width(text) <= columns {
            return text.to_owned();
        }
        let mark = if self.unicode { "…" } else { "..." };
        let room = columns.saturating_sub(width(mark));
        let mut used = 0;
        let fits = |ch: &char| {
            used += ch.width().unwrap_or(0);
            used <= room
        };
        let mut cut: String = text.chars().take_while(fits).collect();
        if columns >= width(mark) {
            cut.truncate(cut.trim_end().len());
            cut.push_str(mark);
        }
        cut
    }
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The first of these that is set to anything decides, as for the C library.
fn is_utf8(env: &Env) -> bool {
    let mut names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let set = names.find_map(|name| env.text(name).filter(|text| !text.is_empty()));
    let set = set.unwrap_or_default().to_ascii_lowercase();
    set.contains("utf-8") || set.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_the_columns_that_it_takes() {
        let screen = |unicode| Screen {
            columns: None,
            unicode,
        };
        for (text, columns, unicode, shown) in [
            ("short", 5, true, "short"),
            ("too long", 6, true, "too l…"),
            ("too long", 5, true, "too…"),
            ("too long", 6, false, "too..."),
            ("日本語の題", 6, true, "日本…"),
            ("ab", 0, true, ""),
            ("abcd", 2, false, "ab"),
        ] {
            let cut = screen(unicode).fit(text, columns);
            assert!(width(&cut) <= columns, "{cut}");
            if columns > 2 {
                assert_eq!(cut, shown);
            }
        }
    }
}
