//! How outcomes look to people: ids, dates, tables, colour.
//!
//! A [`Page`] has the answer for standard output, and notes and hints for standard error. Promises: nothing is told by
//! colour alone, control characters are escaped, and every change of mode ends with the next command.

pub mod snapshot;
pub mod style;
pub mod swap;
pub mod text;
pub mod time;

use crate::env::Moment;
use style::Style;

/// What an outcome needs to know to lay itself out.
#[derive(Debug, Clone)]
pub struct RenderOptions {
    /// Colour on standard output.
    pub style: Style,
    /// Standard output is a terminal.
    pub terminal: bool,
    /// `-q`.
    pub quiet: bool,
    /// `-v`.
    pub verbose: bool,
    /// For relative times.
    pub now: Moment,
}

/// What is printed.
#[derive(Debug, Default)]
pub struct Page {
    /// For standard output, complete with line feeds.
    pub text: Vec<u8>,
    /// Sentences for standard error.
    pub notes: Vec<String>,
    /// Next commands, for standard error.
    pub hints: Vec<String>,
}

impl Page {
    /// Adds a line to the answer.
    pub fn line(&mut self, line: impl AsRef<str>) {
        self.text.extend_from_slice(line.as_ref().as_bytes());
        self.text.push(b'\n');
    }

    /// Adds a hint.
    pub fn hint(&mut self, hint: impl Into<String>) {
        self.hints.push(hint.into());
    }

    /// Adds the sentences that an operation had for people.
    pub fn notices(&mut self, notices: &[String]) {
        self.notes.extend_from_slice(notices);
    }
}

/// An outcome that people can read.
pub trait Human {
    /// All of it.
    fn page(&self, options: &RenderOptions) -> Page;

    /// With `-q`: one line each, for scripts. None when `-q` changes nothing.
    fn brief(&self) -> Option<Vec<String>> {
        None
    }

    /// The exit code of a command that answered.
    fn exit_code(&self) -> u8 {
        0
    }
}
