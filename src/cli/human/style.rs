//! Colour, on or off.

/// Paints text, or leaves it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style(bool);

impl Style {
    /// With or without colour.
    pub fn new(on: bool) -> Self {
        Self(on)
    }

    /// True with colour.
    pub fn is_on(self) -> bool {
        self.0
    }

    fn paint(self, sgr: &str, text: &str) -> String {
        if self.0 && !text.is_empty() {
            format!("\x1b[{sgr}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// What matters most.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What matters least.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Errors and removals.
    pub fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Additions and success.
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Warnings and the past.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Hints and hunk headers.
    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// An id: the part that is enough to name it stands out. `unique` counts characters of the random tail.
    pub fn id(self, id: &str, unique: usize) -> String {
        let tail = id.rfind('_').map_or(0, |at| at + 1);
        let end = tail.saturating_add(unique).min(id.len());
        match (id.get(..tail), id.get(tail..end), id.get(end..)) {
            (Some(head), Some(unique), Some(rest)) => {
                format!("{}{}{}", self.dim(head), self.bold(unique), self.dim(rest))
            }
            _ => id.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unique_part_of_an_id_stands_out() {
        let id = "s_20260228_153012_ab12cd";
        assert_eq!(Style::new(false).id(id, 4), id);
        assert_eq!(
            Style::new(true).id(id, 4),
            "\x1b[2ms_20260228_153012_\x1b[0m\x1b[1mab12\x1b[0m\x1b[2mcd\x1b[0m"
        );
        assert_eq!(Style::new(false).id("odd", 99), "odd");
    }
}
