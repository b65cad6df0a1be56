//! What a command is called with, and what it gives back.

use std::path::Path;

use serde::Serialize;

use super::ask::Ask;
use super::background;
use super::human::Human;
use super::output::Output;
use crate::env::Env;
use crate::error::Result;
use crate::ops::Context;
use crate::progress::Progress;
use crate::wire;
use crate::wire::schema::Document;

/// A command with its arguments.
pub trait Run {
    /// The documents that it answers with under `--json`.
    const DOCUMENTS: &[Document] = &[];

    /// Those of a table of commands, too.
    fn documents() -> Vec<Document>
    where
        Self: Sized,
    {
        Self::DOCUMENTS.to_vec()
    }

    /// Whether a terminal shows its answer page by page.
    fn is_paged(&self) -> bool {
        false
    }

    /// Does it: arguments to a request, one call into `ops`, its outcome back.
    fn run(&self, call: &Call<'_>) -> Reply;
}

impl<T: Run> Run for Box<T> {
    const DOCUMENTS: &[Document] = T::DOCUMENTS;

    fn is_paged(&self) -> bool {
        self.as_ref().is_paged()
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        self.as_ref().run(call)
    }
}

/// A table of commands: a row has the name and the arguments, which know how to run. `TABLE of ARGS` is the field `verb` of those
/// arguments, which do nothing else.
macro_rules! verbs {
    ($(#[$about:meta])* $table:ident of $args:ident { $($rows:tt)* }) => {
        $crate::cli::call::verbs! { $(#[$about])* $table { $($rows)* } }

        impl $crate::cli::call::Run for $args {
            fn documents() -> Vec<$crate::wire::schema::Document> {
                <$table as $crate::cli::call::Run>::documents()
            }

            fn run(&self, call: &$crate::cli::call::Call<'_>) -> $crate::cli::call::Reply {
                $crate::cli::call::Run::run(&self.verb, call)
            }
        }
    };
    ($(#[$about:meta])* $table:ident { $($(#[cfg($when:meta)])? $name:ident($args:ty),)* }) => {
        $(#[$about])*
        #[derive(Debug, clap::Subcommand)]
        #[allow(
            missing_docs,
            reason = "the comment of the arguments is the command's help; one here would replace it"
        )]
        pub enum $table {
            $($(#[cfg($when)])? $name($args),)*
        }

        impl $crate::cli::call::Run for $table {
            fn documents() -> Vec<$crate::wire::schema::Document> {
                let mut all = Vec::new();
                $($(#[cfg($when)])? all.extend(<$args as $crate::cli::call::Run>::documents());)*
                all
            }

            fn is_paged(&self) -> bool {
                match self {
                    $($(#[cfg($when)])? Self::$name(args) => $crate::cli::call::Run::is_paged(args),)*
                }
            }

            fn run(&self, call: &$crate::cli::call::Call<'_>) -> $crate::cli::call::Reply {
                match self {
                    $($(#[cfg($when)])? Self::$name(args) => $crate::cli::call::Run::run(args, call),)*
                }
            }
        }
    };
}
pub(crate) use verbs;

/// What a command answers, for programs and for people.
pub trait Answer: Human {
    /// One JSON document.
    fn json(&self) -> String;
}

impl<T: Serialize + Human> Answer for T {
    fn json(&self) -> String {
        wire::text(self)
    }
}

/// What every command may use.
pub struct Call<'a> {
    /// The process's environment.
    pub env: &'a Env,
    /// The directory that paths are relative to.
    pub start: &'a Path,
    /// The bar, or the silent one.
    pub progress: &'a dyn Progress,
    /// `--yes`.
    pub yes: bool,
    /// Asks a person, where there is one.
    pub ask: Ask,
    /// Shows what a question is about.
    pub output: &'a Output,
}

impl<'a> Call<'a> {
    /// Opens the repository.
    pub fn open(&self) -> Result<Context<'a>> {
        Context::open(self.start, self.env, self.progress)
    }

    /// Opens the repository also where a setting has a value that it cannot have.
    pub fn open_despite_faults(&self) -> Result<Context<'a>> {
        Context::open_despite_faults(self.start, self.env, self.progress)
    }
}

/// What every command gives back.
pub type Reply = Result<Box<dyn Answer>>;

pub fn reply(answer: Result<impl Answer + 'static>) -> Reply {
    Ok(Box::new(answer?))
}

/// Runs a command that may swap: what it wrote is waited for in the background.
pub fn swapped<A: Answer + 'static>(
    call: &Call<'_>,
    swap: impl FnOnce(&Context<'_>) -> Result<A>,
) -> Reply {
    let context = call.open()?;
    let answer = swap(&context);
    // Also after a failure: what was written before it is to reach the disk.
    background::start_when_due(&context);
    reply(answer)
}
