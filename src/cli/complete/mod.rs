//! Completion: a shell's script asks with an unfinished command line, and this answers.
//!
//! bash, zsh and fish have scripts of our own, checked in under `completions/`: those that clap writes run names through the
//! shell's word splitting, lose what has a colon or a newline, and offer each option before each file. They set `TW_COMPLETE`. elvish
//! and PowerShell have clap's, which a test renders anew, so that it can tell when they are out of date; these ask with
//! `COMPLETE`, as the scripts of all shells once did: who has an old one keeps an answer.

mod line;
mod paths;
mod quoting;
mod shells;
mod values;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use clap::Command;
use clap_complete::env::{CompleteEnv, Shells};

use super::args;
use crate::env::Env;

pub use paths::*;
use shells::Shell;
pub use values::*;

/// The variable by which a script of ours asks.
const OURS: &str = "TW_COMPLETE";

/// The variable by which a script of clap's asks.
pub const VARIABLE: &str = "COMPLETE";

/// Answers a shell's question, when this call is one, and tells the exit code. A script writes `--` before what was typed; without it
/// the variables say nothing: every program with clap's completions is asked with `COMPLETE`, which stands in some profiles.
pub fn answer(words: &[OsString], env: &Env) -> Option<u8> {
    let [_, dashes, typed @ ..] = words else {
        return None;
    };
    if dashes != "--" || typed.is_empty() {
        return None;
    }
    if let Some(shell) = env.text(OURS).and_then(Shell::named) {
        // Whoever does not wait for the answer any more has gone on typing.
        let _ = std::io::stdout().write_all(&shell.answer(typed));
        return Some(0);
    }
    let shell = Path::new(env.var(VARIABLE)?).file_stem()?.to_str()?;
    // Somebody else's variable of the same name is none of our business.
    Shells::builtins().completer(shell)?;
    let index = env.text("_CLAP_COMPLETE_INDEX");
    let index = index.and_then(|index| index.parse().ok());
    let finished = index.unwrap_or(typed.len().saturating_sub(1));
    line::set(&typed[..finished.min(typed.len())]);
    let dir = std::env::current_dir()
        .map(|dir| dir.join(line::start()))
        .ok();
    let done = CompleteEnv::with_factory(tree)
        .completer("tw")
        .try_complete(words.iter().cloned(), dir.as_deref());
    Some(u8::from(done.is_err()))
}

/// The commands as they are offered. Of a command and its other names clap offers the one that comes first in the alphabet, but
/// none that is hidden where another fits: so each is offered by its own name, and by another to who has typed that.
fn tree() -> Command {
    hide_aliases(args::tree())
}

fn hide_aliases(command: Command) -> Command {
    let command = command.mut_subcommands(hide_aliases);
    let aliases: Vec<&'static str> = command
        .get_all_aliases()
        // clap takes no other names here. The process ends when it has answered.
        .map(|alias| &*alias.to_owned().leak())
        .collect();
    command.visible_alias(None).aliases(aliases)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Arg, ValueHint};
    use clap_complete::{ArgValueCandidates, ArgValueCompleter};

    use super::*;

    /// Arguments whose values nobody can know before they are typed, whatever command they are of.
    const FREE: &[(&str, &[&str])] = &[
        (
            "text",
            &[
                "changes",
                "chat_summary",
                "hint",
                "message",
                "note",
                "rationale",
                "repro",
                "result",
                "source",
                "success_criteria",
                "suspected_cause",
                "symptom",
                "task_context",
                "text",
                "title",
                "trigger",
                "validation",
                "verify",
            ],
        ),
        (
            "numbers",
            &[
                "context",
                "idle",
                "if_over",
                "jobs",
                "keep",
                "keep_days",
                "keep_last",
                "last",
                "limit",
                "max_count",
                "port",
                "repeat",
                "reserved",
                "run",
                "runs",
                "timeout",
                "tokens",
                "unified",
                "window",
            ],
        ),
        ("times", &["since", "until"]),
        (
            "patterns",
            &["exclude", "glob", "grep", "include", "regexp"],
        ),
    ];

    /// Arguments of one command.
    const FREE_THERE: &[(&str, &str)] = &[
        ("tw blame lines", "numbers of lines"),
        ("tw config values", "as the setting has it"),
        ("tw context append role", "the harness knows it"),
        ("tw context append tool_call_id", "the harness knows it"),
        (
            "tw context revert checkpoint",
            "a number of the harness's own",
        ),
        ("tw hook event", "agents call it, with their own names"),
        ("tw hook rest", "agents call it"),
        ("tw issue verify allow", "a hash that a refusal tells"),
        ("tw label name", "a new one"),
        (
            "tw recover dropped",
            "finding them takes a walk over all objects",
        ),
        ("tw replay agent_args", "the agent's own words"),
        (
            "tw push allow_finding",
            "a fingerprint that a refusal tells",
        ),
        ("tw restore expect", "an id that a dry run tells"),
        ("tw restore lines", "numbers of lines"),
        (
            "tw share scan allow_finding",
            "a fingerprint that a refusal tells",
        ),
        ("tw snapshot label", "a new one"),
        ("tw try agent_args", "the agent's own words"),
        ("tw watch audit", "a length of time"),
        ("tw watch start audit", "a length of time"),
    ];

    fn is_offered(arg: &Arg) -> bool {
        let has_completer =
            arg.get::<ArgValueCompleter>().is_some() || arg.get::<ArgValueCandidates>().is_some();
        let has_words = arg.get_value_parser().possible_values().is_some();
        has_completer || has_words || arg.get_value_hint() != ValueHint::Unknown
    }

    /// The arguments with a value of a command and of those beneath it that nothing is offered for.
    fn free(command: &Command, path: &str, found: &mut BTreeSet<String>) {
        for arg in command.get_arguments() {
            if arg.get_action().takes_values() && !is_offered(arg) {
                found.insert(format!("{path} {}", arg.get_id()));
            }
        }
        for inner in command.get_subcommands() {
            free(inner, &format!("{path} {}", inner.get_name()), found);
        }
    }

    #[test]
    fn every_value_is_offered_or_known_to_be_free() {
        let mut found = BTreeSet::new();
        free(&args::tree(), "tw", &mut found);
        let everywhere: BTreeSet<&str> = FREE.iter().flat_map(|(_, ids)| *ids).copied().collect();
        let id = |of: &String| of.rsplit(' ').next().unwrap_or_default().to_owned();
        let used: BTreeSet<String> = found.iter().map(id).collect();
        let unused = everywhere.iter().find(|id| !used.contains(**id));
        let is_whole = cfg!(all(feature = "ui", feature = "web"));
        assert!(unused.is_none() || !is_whole, "{unused:?} is offered");
        found.retain(|of| !everywhere.contains(id(of).as_str()));
        let there: BTreeSet<String> = FREE_THERE.iter().map(|(of, _)| (*of).to_owned()).collect();
        assert_eq!(found, there);
    }
}
