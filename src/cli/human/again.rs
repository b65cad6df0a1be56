//! A dry run that says which command does what it shows.

use serde::Serialize;

use super::{Human, Page};

/// An answer, and the command that does it where it was a dry run: the one that was given, with all its options, without `--dry-run`.
#[derive(Debug, Serialize)]
pub struct Again<T> {
    /// The answer.
    #[serde(flatten)]
    pub answer: T,
    /// The command.
    #[serde(skip)]
    pub command: Option<String>,
}

impl<T: Human> Human for Again<T> {
    fn print(&self, page: &mut Page) {
        self.answer.print(page);
        if let Some(command) = &self.command {
            page.hint(format!("'{command}' does it"));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.answer.brief()
    }

    fn exit_code(&self) -> u8 {
        self.answer.exit_code()
    }
}

/// A command of these words, of which those without a value to say are left out.
pub fn command(words: &[&str]) -> String {
    let said = words.iter().filter(|word| !word.is_empty());
    said.copied().collect::<Vec<_>>().join(" ")
}

/// A flag, where it was given.
pub fn flag(given: bool, flag: &str) -> &str {
    if given { flag } else { "" }
}
