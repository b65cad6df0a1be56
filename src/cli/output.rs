//! Where words go: the answer to standard output, notes, hints and errors to standard error.
//!
//! The only writer to either. A pipe that nobody reads any more ends quietly, with the exit code that the command earned;
//! any other failure to write the answer is an error.

use std::error::Error as _;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};

use clap::builder::StyledStr;

use super::args::{ColorChoice, Globals};
use super::call::Answer;
use super::human::screen::Screen;
use super::human::style::Style;
use super::human::text::clean;
use super::human::{Human, Page, RenderOptions};
use super::pager::Pager;
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::store::records::settled;
use crate::wire;

/// The two streams and how each is laid out.
pub struct Output {
    json: bool,
    options: RenderOptions,
    errors: Style,
    pager: Pager,
    pages: bool,
    progress: bool,
}

/// The exit codes of what is printed: of the command that it comes from, and where it cannot be.
#[derive(Clone, Copy)]
struct Codes {
    written: u8,
    unwritten: u8,
}

impl Output {
    /// Decides from the flags, the environment and whether each stream is a terminal.
    pub fn new(globals: &Globals, env: &Env) -> Self {
        let terminal = std::io::stdout().is_terminal();
        Self {
            json: globals.json,
            options: RenderOptions {
                style: style(globals.color, terminal, env),
                terminal,
                screen: Screen::of_stdout(env, terminal),
                quiet: globals.quiet,
                verbose: globals.verbose,
                now: env.now(),
            },
            errors: style(globals.color, std::io::stderr().is_terminal(), env),
            pager: Pager::default(),
            pages: terminal && !globals.json && !globals.no_pager,
            progress: Self::shows_progress(globals),
        }
    }

    /// Whether lines that tell how work goes on are wanted.
    pub fn shows_lines(&self) -> bool {
        self.progress
    }

    /// Whether a progress bar is wanted.
    pub fn shows_progress(globals: &Globals) -> bool {
        !globals.no_progress && !globals.json && !globals.quiet && std::io::stderr().is_terminal()
    }

    /// Whether a pager may show the answer.
    pub fn may_page(&self) -> bool {
        self.pages
    }

    /// From now on the answer goes through this program.
    pub fn page_with(&self, program: &OsStr, env: &Env) {
        self.pager.begin(program, env);
    }

    /// Prints an answer and tells the exit code.
    pub fn answer(&self, answer: &dyn Answer) -> u8 {
        let codes = Codes {
            written: answer.exit_code(),
            unwritten: answer.unwritten_code(),
        };
        if self.json {
            let document = answer.json();
            // What served a protocol has said everything.
            let code = self.print(document.as_bytes(), !document.is_empty(), codes);
            // What the document has no place for.
            self.note(&settled::take());
            return code;
        }
        if self.options.quiet
            && let Some(lines) = answer.brief()
        {
            let mut text = String::new();
            for line in lines {
                let _ = writeln!(text, "{}", clean(&line));
            }
            return self.print(text.as_bytes(), false, codes);
        }
        let mut page = answer.page(&self.options);
        let code = self.print(&page.text, false, codes);
        let mut settled = settled::take();
        settled.retain(|said| !page.notes.contains(said));
        page.notices(&settled);
        if !self.options.quiet {
            self.remarks(&page);
        }
        code
    }

    /// Whether one JSON document is wanted.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// How the answer is laid out.
    pub fn options(&self) -> &RenderOptions {
        &self.options
    }

    /// Prints a part of an answer ahead of the rest. False when nobody reads it any more.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn part(&self, text: &[u8]) -> Result<bool> {
        match self.pager.write(text) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::from(error).while_doing("cannot write the answer")),
        }
    }

    /// Shows on standard error what a question is about.
    pub fn preview(&self, about: &dyn Human) {
        // Colour belongs to the stream, and this is not the answer's.
        let page = about.page(&RenderOptions {
            style: self.errors,
            ..self.options
        });
        Self::say(&page.text);
        self.remarks(&page);
    }

    /// Prints an error and tells its exit code.
    pub fn error(&self, error: &Error) -> u8 {
        // What came before it is read first.
        self.pager.finish();
        if self.json {
            let document = wire::error(error).to_string();
            let code = error.code().exit_code();
            let codes = Codes {
                written: code,
                unwritten: code,
            };
            let code = self.print(document.as_bytes(), true, codes);
            self.note(&settled::take());
            return code;
        }
        let mut text = format!("{} {}\n", self.errors.red("error:"), clean(error.message()));
        if self.options.verbose {
            let mut cause = error.source();
            while let Some(error) = cause {
                let _ = writeln!(text, "  caused by: {}", clean(&error.to_string()));
                cause = error.source();
            }
        }
        if !self.options.quiet {
            for hint in error.hints() {
                text.push_str(&self.hint(hint));
            }
        }
        Self::say(text.as_bytes());
        self.note(&settled::take());
        error.code().exit_code()
    }

    /// Prints clap's help or version.
    pub fn help(&self, help: &StyledStr) -> u8 {
        let text = if self.options.style.is_on() {
            help.ansi().to_string()
        } else {
            help.to_string()
        };
        let codes = Codes {
            written: 0,
            unwritten: Code::Io.exit_code(),
        };
        self.print(text.as_bytes(), false, codes)
    }

    /// Prints the help of a command that needs another one beneath it, as the error that this is.
    pub fn missing_command(&self, help: &StyledStr) -> u8 {
        let text = if self.errors.is_on() {
            help.ansi().to_string()
        } else {
            help.to_string()
        };
        Self::say(text.as_bytes());
        Code::Usage.exit_code()
    }

    /// Says notes, unless none are wanted.
    fn note(&self, notes: &[String]) {
        if !self.options.quiet {
            let text: String = notes.iter().map(|note| self.note_line(note)).collect();
            Self::say(text.as_bytes());
        }
    }

    fn note_line(&self, note: &str) -> String {
        format!("{} {}\n", self.errors.yellow("note:"), clean(note))
    }

    fn remarks(&self, page: &Page) {
        let notes = page.notes.iter();
        let mut text: String = notes.map(|note| self.note_line(note)).collect();
        for hint in &page.hints {
            text.push_str(&self.hint(hint));
        }
        Self::say(text.as_bytes());
    }

    fn hint(&self, hint: &str) -> String {
        format!("{} {}\n", self.errors.cyan("hint:"), clean(hint))
    }

    /// Writes the answer. `line` ends it with a line feed.
    fn print(&self, bytes: &[u8], line: bool, codes: Codes) -> u8 {
        let written = self
            .pager
            .write(bytes)
            .and_then(|()| self.pager.write(if line { b"\n" } else { b"" }));
        self.pager.finish();
        match written {
            Ok(()) => codes.written,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => codes.written,
            Err(error) => {
                let message = format!("cannot write the answer: {error}");
                Self::say(format!("{} {message}\n", self.errors.red("error:")).as_bytes());
                codes.unwritten
            }
        }
    }

    /// Writes to standard error. When that fails there is nobody left to tell.
    fn say(bytes: &[u8]) {
        let _ = std::io::stderr().lock().write_all(bytes);
    }
}

fn style(choice: ColorChoice, terminal: bool, env: &Env) -> Style {
    Style::new(match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            // no-color.org: whatever its value.
            terminal && env.var("NO_COLOR").is_none() && env.text("TERM") != Some("dumb")
        }
    })
}
