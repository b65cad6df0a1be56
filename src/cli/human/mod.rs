//! How outcomes look to people: ids, dates, tables, colour.
//!
//! A [`Page`] has the answer for standard output, and notes and hints for standard error. Promises: nothing is told by
//! colour alone, control characters are escaped, and every change of mode ends with the next command.

pub mod again;
pub mod patch;
pub mod screen;
pub mod snapshot;
pub mod style;
pub mod swap;
pub mod text;
pub mod time;

use crate::env::Moment;
use crate::error::Code;
use style::Style;
use text::clean;

/// So much of an id's random tail names it almost always.
pub const USUAL_TAIL: usize = 4;

/// What an outcome needs to know to lay itself out.
#[derive(Debug, Clone, Copy)]
pub struct RenderOptions {
    /// Colour on standard output.
    pub style: Style,
    /// Standard output is a terminal.
    pub terminal: bool,
    /// How much of a line it can show.
    pub screen: screen::Screen,
    /// `-q`.
    pub quiet: bool,
    /// `-v`.
    pub verbose: bool,
    /// For relative times.
    pub now: Moment,
}

impl RenderOptions {
    /// An id, of which the part that names it almost always stands out.
    pub fn id(&self, id: &str) -> String {
        self.style.id(&clean(id), USUAL_TAIL)
    }

    /// How long ago that was.
    pub fn ago(&self, then: &str) -> String {
        time::ago(self.now, then)
    }
}

/// What is printed.
#[derive(Debug)]
pub struct Page {
    /// How it is laid out.
    pub options: RenderOptions,
    /// For standard output, complete with line feeds.
    pub text: Vec<u8>,
    /// Sentences for standard error.
    pub notes: Vec<String>,
    /// Next commands, for standard error.
    pub hints: Vec<String>,
}

impl Page {
    /// One on which nothing stands.
    pub fn new(options: &RenderOptions) -> Self {
        Self {
            options: *options,
            text: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// An id as [`RenderOptions::id`] shows it.
    pub fn id(&self, id: &str) -> String {
        self.options.id(id)
    }

    /// Adds a line to the answer.
    pub fn line(&mut self, line: impl AsRef<str>) {
        self.text.extend_from_slice(line.as_ref().as_bytes());
        self.text.push(b'\n');
    }

    /// Adds a text of several lines, each escaped and indented.
    pub fn lines(&mut self, indent: &str, text: &str) {
        for line in text.lines() {
            self.line(format!("{indent}{}", clean(line)));
        }
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
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
    /// Puts all of it on a page.
    fn print(&self, page: &mut Page);

    /// Renders the answer to a page of its own.
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::new(options);
        self.print(&mut page);
        page
    }

    /// With `-q`: one line each, for scripts. None when `-q` changes nothing.
    fn brief(&self) -> Option<Vec<String>> {
        None
    }

    /// The exit code of a command that answered.
    fn exit_code(&self) -> u8 {
        0
    }

    /// The exit code where the answer cannot be written.
    fn unwritten_code(&self) -> u8 {
        Code::Io.exit_code()
    }
}
