//! One file per command: arguments to a request, one call into `ops`, its outcome back.

mod agent_help;
mod backtrack;
mod checkpoint;
mod close;
mod completions;
mod config;
mod context;
mod diff;
mod doctor;
mod drop;
mod hook;
mod init;
mod issue;
mod issue_write;
mod label;
mod list;
#[cfg(feature = "mcp")]
mod mcp;
mod open;
mod prompt;
mod prune;
mod purge;
mod recover;
mod redact;
mod redo;
mod restore;
mod return_;
mod rewind;
mod session;
mod show;
mod snapshot;
mod status;
mod travel;
mod undo;

use std::path::Path;

use super::args::Command;
use super::ask::Ask;
use super::background;
use super::human::{Human, Page, RenderOptions};
use super::output::Output;
use crate::env::Env;
use crate::error::Result;
use crate::ops::Context;
use crate::ops::request::DryRun;
use crate::progress::Progress;
use crate::wire::{self, Document};

/// What a command answers, for programs and for people.
pub trait Answer {
    /// One JSON document.
    fn json(&self) -> String;
    /// See [`Human::page`].
    fn page(&self, look: &RenderOptions) -> Page;
    /// See [`Human::brief`].
    fn brief(&self) -> Option<Vec<String>>;
    /// See [`Human::exit_code`].
    fn exit_code(&self) -> u8;
}

impl<T: Document + Human> Answer for T {
    fn json(&self) -> String {
        wire::text(self)
    }

    fn page(&self, look: &RenderOptions) -> Page {
        Human::page(self, look)
    }

    fn brief(&self) -> Option<Vec<String>> {
        Human::brief(self)
    }

    fn exit_code(&self) -> u8 {
        Human::exit_code(self)
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
    /// For questions.
    pub ask: Ask,
    /// For showing what a question is about.
    pub output: &'a Output,
}

impl<'a> Call<'a> {
    /// Opens the repository.
    pub fn open(&self) -> Result<Context<'a>> {
        Context::open(self.start, self.env, self.progress)
    }
}

/// What every command gives back.
pub type Reply = Result<Box<dyn Answer>>;

fn reply(answer: Result<impl Answer + 'static>) -> Reply {
    Ok(Box::new(answer?))
}

/// Runs a command that may swap: what it wrote is waited for in the background.
fn swapped<A: Answer + 'static>(
    call: &Call<'_>,
    swap: impl FnOnce(&Context<'_>) -> Result<A>,
) -> Reply {
    let context = call.open()?;
    let answer = swap(&context);
    background::start_when_due(&context);
    reply(answer)
}

fn dry_run(flag: bool) -> DryRun {
    if flag { DryRun::Yes } else { DryRun::No }
}

/// Runs one command; status when there is none.
pub fn run(command: Option<&Command>, call: &Call<'_>) -> Reply {
    match command {
        None | Some(Command::Status) => status::run(call),
        Some(Command::Snapshot(args)) => snapshot::run(args, call),
        Some(Command::List(args)) => list::run(args, call),
        Some(Command::Show(args)) => show::run(args, call),
        Some(Command::Diff(args)) => diff::run(args, call),
        Some(Command::Travel(args)) => travel::run(args, call),
        Some(Command::Return(args)) => return_::run(args, call),
        Some(Command::Restore(args)) => restore::run(args, call),
        Some(Command::Undo) => undo::run(call),
        Some(Command::Redo) => redo::run(call),
        Some(Command::Recover(args)) => recover::run(args, call),
        Some(Command::Open(args)) => open::run(args, call),
        Some(Command::Close(args)) => close::run(args, call),
        Some(Command::Label(args)) => label::run(args, call),
        Some(Command::Issue(args)) => issue::run(&args.command, call),
        Some(Command::Redact(args)) => redact::run(args, call),
        Some(Command::Prune(args)) => prune::run(args, call),
        Some(Command::Drop(args)) => drop::run(args, call),
        Some(Command::Purge(args)) => purge::run(args, call),
        Some(Command::Init(args)) => init::run(args, call),
        Some(Command::Config) => config::run(call),
        Some(Command::Doctor) => doctor::run(call),
        Some(Command::Session(args)) => session::run(args, call),
        Some(Command::Checkpoint(args)) => checkpoint::run(args, call),
        Some(Command::Rewind(args)) => rewind::run(args, call),
        Some(Command::Backtrack(args)) => backtrack::run(args, call),
        Some(Command::Context(args)) => context::run(args, call),
        Some(Command::Hook(args)) => hook::run(args, call),
        #[cfg(feature = "mcp")]
        Some(Command::Mcp(args)) => mcp::run(args, call),
        Some(Command::AgentHelp) => agent_help::run(),
        Some(Command::Completions(args)) => completions::run(args),
        Some(Command::Prompt) => prompt::run(call),
    }
}
