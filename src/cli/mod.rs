//! The face for people and scripts: words in, text or one JSON document out, an exit code back.
//!
//! Owns everything about the terminal: parsing, help, colour, progress, questions. Promises: standard output holds the
//! answer and nothing else, a closed pipe ends quietly, and what is shown to people has its control characters escaped.
//! Leaves out the work, which is `ops`'s, and the JSON shapes, which are `wire`'s.

pub mod args;
mod ask;
mod background;
mod commands;
pub mod complete;
mod editor;
mod exec;
mod hints;
pub mod human;
pub mod man;
mod output;
mod progress;
mod usage;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
#[cfg(debug_assertions)]
use crate::git::fs;
use crate::interrupt;
use args::{Cli, Globals};
use commands::{Answer, Call};
use output::Output;

/// Runs one command line, the program's name first, and tells the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    let env = Env::from_process();
    crate::env::keep_own_permissions();
    if let Some(code) = complete::answer(&words, &env) {
        return code;
    }
    if let Some(code) = background::answer(&words, &env) {
        return code;
    }
    interrupt::watch();
    let cli = match args::parse(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let output = Output::new(&usage::globals(&words), &env);
            return if error.use_stderr() {
                let code = output.error(&usage::error(&error));
                // 2 would tell an agent to stop.
                if usage::is_hook(&words) { 0 } else { code }
            } else {
                output.help(&error.render())
            };
        }
    };
    let output = Output::new(&cli.globals, &env);
    let code = match answer(&cli, &output, &env) {
        Ok(answer) => output.answer(answer.as_ref()),
        Err(error) => output.error(&hints::complete(error)),
    };
    #[cfg(debug_assertions)]
    report_work(&env);
    if matches!(cli.command, Some(args::Command::Hook(_))) {
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

fn answer(cli: &Cli, output: &Output, env: &Env) -> Result<Box<dyn Answer>> {
    let start = enter(&cli.globals)?;
    let progress = progress::for_terminal(Output::shows_progress(&cli.globals));
    let call = Call {
        env,
        start: &start,
        progress: progress.as_ref(),
        yes: cli.globals.yes,
        ask: ask::Ask::new(&cli.globals),
        output,
    };
    commands::run(cli.command.as_ref(), &call)
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
    std::env::current_dir().context(|| "cannot tell the current directory")
}
