//! The command line: words in, text or one JSON document out, an exit code back.
//!
//! Owns everything about the terminal: parsing, help, colour, progress, questions. Promises: standard output holds the
//! answer and nothing else, a closed pipe ends quietly, and what is shown to people has its control characters escaped.
//! Leaves out the work, which is `ops`'s, and the JSON documents, which are `wire`'s.

#![allow(
    clippy::doc_markdown,
    reason = "the comments of arguments are help for a terminal, which shows no backticks"
)]
#![allow(
    clippy::struct_excessive_bools,
    reason = "flags of a command line, not states"
)]

mod agent_help;
pub mod args;
mod ask;
mod background;
mod backtrack;
mod bisect;
mod blame;
mod call;
mod checkpoint;
mod close;
pub mod complete;
mod completions;
mod config;
mod context;
pub mod diff;
mod doctor;
mod drop;
mod editor;
mod exec;
mod find;
mod flags;
mod hints;
mod hook;
pub mod human;
mod init;
mod input;
mod issue;
mod label;
mod list;
mod log;
#[cfg(feature = "mcp")]
mod mcp;
mod open;
mod output;
mod pager;
mod prelude;
mod progress;
mod prompt;
mod prune;
mod pull;
mod purge;
mod push;
mod recover;
mod redact;
mod redo;
mod replay;
mod restore;
mod return_;
mod revert;
mod rewind;
mod scratch;
mod search;
mod selection;
mod session;
mod share;
mod show;
mod snapshot;
mod stats;
mod status;
mod travel;
mod try_;
#[cfg(feature = "ui")]
mod ui;
mod undo;
mod usage;
mod watch;
#[cfg(feature = "web")]
mod web;
mod workspace;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::env::Env;
use crate::error::{Code, Error, Result};
#[cfg(debug_assertions)]
use crate::git::fs;
use crate::git::repo::Repo;
use crate::interrupt;
use crate::ops;
use crate::store::state::StateDir;
use crate::wire::schema::of_error;
use args::{Cli, Globals};
use call::{Answer, Call, Run};
use output::Output;

call::verbs! {
    /// The commands, in the order in which the help lists them.
    Command {
        Status(status::Args),
        Snapshot(snapshot::Args),
        List(list::Args),
        Log(log::Args),
        #[cfg(feature = "ui")]
        Ui(ui::Args),
        #[cfg(feature = "web")]
        Web(web::Args),
        Show(show::Args),
        Diff(diff::Args),
        Search(search::Args),
        Find(find::Args),
        Blame(blame::Args),
        Travel(travel::Args),
        Return(return_::Args),
        Restore(restore::Args),
        Revert(revert::Args),
        Undo(undo::Args),
        Redo(redo::Args),
        Recover(recover::Args),
        Open(open::Args),
        Close(close::Args),
        Scratch(scratch::Args),
        Label(label::Args),
        Issue(issue::Args),
        Stats(stats::Args),
        Try(try_::Args),
        Replay(replay::Args),
        Bisect(bisect::Args),
        Share(share::Args),
        Push(push::Args),
        Pull(pull::Args),
        Redact(redact::Args),
        Prune(prune::Args),
        Drop(drop::Args),
        Purge(purge::Args),
        Init(init::Args),
        Config(config::Args),
        Watch(watch::Args),
        Workspace(workspace::Args),
        Doctor(doctor::Args),
        Session(session::Args),
        Checkpoint(checkpoint::Args),
        Rewind(rewind::Args),
        Backtrack(backtrack::Args),
        Context(context::Args),
        Hook(hook::Args),
        #[cfg(feature = "mcp")]
        Mcp(mcp::Args),
        AgentHelp(agent_help::Args),
        Completions(completions::Args),
        Prompt(prompt::Args),
    }
}

/// The schema of every document, by its name.
pub fn schemas() -> BTreeMap<String, Value> {
    let documents = Command::documents();
    let schemas = documents.iter().map(|one| (one.name(), one.schema()));
    schemas.chain([("error".to_owned(), of_error())]).collect()
}

/// Does what this program starts itself for, when that is what it was started for.
fn detached(words: &[OsString], env: &Env) -> Option<u8> {
    background::answer(words, env)
        .or_else(|| crate::runner::guard::answer(words))
        .or_else(|| crate::ops::scratches::trash::answer(words))
}

/// Says why a command line is none: it asks for help, or is wrong.
fn not_parsed(error: &clap::Error, words: &[OsString], output: &Output) -> u8 {
    if usage::shows_help(error, words) {
        output.missing_command(&error.render())
    } else if error.use_stderr() {
        let code = output.error(&usage::error(error, words));
        // 2 would tell an agent to stop.
        if usage::is_hook(words) { 0 } else { code }
    } else {
        output.help(&error.render())
    }
}

/// Runs one command line, the program's name first, and tells the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    if usage::is_hook(&words) {
        hook::never_fail();
    }
    let env = Env::from_process();
    crate::env::keep_own_permissions();
    // Before anything is parsed: a shell asks with half a command line.
    if let Some(code) = complete::answer(&words, &env) {
        return code;
    }
    if let Some(code) = detached(&words, &env) {
        return code;
    }
    // Only now: what answers a shell, or works detached, is to die at once.
    interrupt::watch(progress::tell_interrupted);
    let cli = match args::parse(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let output = Output::new(&usage::globals(&words), &env);
            return not_parsed(&error, &words, &output);
        }
    };
    let output = Output::new(&cli.globals, &env);
    let code = match answer(&cli, &output, &env) {
        Ok(answer) => output.answer(answer.as_ref()),
        Err(error) => {
            let code = output.error(&with_way_out(&cli, &env, error));
            match cli.command {
                Some(Command::Search(_)) => search::FAILED,
                _ => code,
            }
        }
    };
    #[cfg(debug_assertions)]
    report_work(&env);
    if matches!(cli.command, Some(Command::Hook(_))) {
        // An agent takes any other code for a verdict on what it was about to do.
        return 0;
    }
    if interrupt::requested() {
        interrupt::EXIT_CODE
    } else {
        code
    }
}

/// Leaves the counts of the work done where a test asks for them.
#[cfg(debug_assertions)]
fn report_work(env: &Env) {
    if let Some(file) = env.var("TW_TEST_WORK") {
        let counts = crate::work::report();
        let _ = fs::write_atomic(file.as_ref(), counts.as_bytes(), fs::Durable::No);
    }
}

/// Names the next command: also where a damaged file of ours may be what stopped this one.
fn with_way_out(cli: &Cli, env: &Env, error: Error) -> Error {
    if matches!(cli.command, Some(Command::Recover(_))) {
        return hints::complete(error);
    }
    // Where -C says, as the command has gone there.
    let Ok(start) = std::env::current_dir() else {
        return hints::complete(error);
    };
    let progress = progress::for_terminal(false);
    let opened = ops::Context::open_despite_faults(&start, env, progress.as_ref());
    let (error, own) = match opened {
        Ok(ctx) => (
            ops::recover::with_way_out(&ctx, error),
            Some(ctx.state_dir()),
        ),
        Err(_) => (error, state_dir_above(&start)),
    };
    let error = hints::complete(error);
    match cli.command {
        Some(Command::Return(_)) if own.is_some_and(|own| own.is_in_past()) => {
            return_::with_way_home(error)
        }
        _ => error,
    }
}

/// The nearest git directory's files of ours, where a damaged HEAD makes it no repository.
fn state_dir_above(start: &Path) -> Option<StateDir> {
    let mut git_dirs = start.ancestors().map(|dir| dir.join(".git"));
    // A file leads to the state of a linked worktree, which is not that of the one above.
    let nearest = git_dirs.find(|dir| dir.symlink_metadata().is_ok())?;
    nearest.is_dir().then(|| StateDir::new(&nearest))
}

fn answer(cli: &Cli, output: &Output, env: &Env) -> Result<Box<dyn Answer>> {
    let start = match (enter(&cli.globals), &cli.command) {
        // A shell in a directory that is gone asks, too, at every prompt; an agent there may name another one.
        (
            Err(_),
            Some(
                Command::Prompt(_)
                | Command::Completions(_)
                | Command::AgentHelp(_)
                | Command::Hook(_)
                | Command::Mcp(_),
            ),
        ) if cli.globals.start_in.is_empty() => PathBuf::from("/"),
        (start, _) => start?,
    };
    let progress = progress::for_terminal(Output::shows_progress(&cli.globals));
    let call = Call {
        env,
        start: &start,
        progress: progress.as_ref(),
        yes: cli.globals.yes,
        ask: ask::Ask::new(&cli.globals),
        output,
    };
    if output.may_page() && cli.command.as_ref().is_some_and(Run::is_paged) {
        let configured = || {
            Repo::discover(&start, env)
                .ok()?
                .config("core.pager")
                .ok()?
        };
        if let Some(program) = pager::program(env, configured) {
            output.page_with(&program, env);
        }
    }
    match &cli.command {
        Some(command) => command.run(&call),
        None => status::Args {}.run(&call),
    }
}

/// Goes where `-C` says. A later directory is relative to the one before, as with git.
fn enter(globals: &Globals) -> Result<PathBuf> {
    for dir in &globals.start_in {
        std::env::set_current_dir(dir).map_err(|error| {
            Error::new(
                Code::PathNotFound,
                format!("cannot change to '{}': {error}", human::text::path(dir)),
            )
            .hint("-C takes a directory that exists")
        })?;
    }
    std::env::current_dir().map_err(|error| {
        let is_gone = error.kind() == ErrorKind::NotFound;
        let error = Error::from(error).while_doing("cannot tell the current directory");
        if is_gone {
            error.hint("it was removed: go to another one, or name one with 'tw -C DIR'")
        } else {
            error
        }
    })
}
