//! Completion: the shell's script asks `COMPLETE=<shell> tw -- WORDS`, and this answers.
//!
//! The registration scripts are checked in under `completions/`; [`scripts`] renders them anew, so that a test can tell
//! when they are out of date. Leaves out files: the shells complete those from the hints in the clap tree.

mod line;
mod values;

use std::ffi::OsString;
use std::path::Path;

use clap_complete::env::{CompleteEnv, Shells};

use super::args;
use crate::env::Env;

pub use values::*;

/// The variable by which a script asks for completions.
const VARIABLE: &str = "COMPLETE";

/// Answers a shell's question, when this call is one, and tells the exit code.
pub fn answer(words: &[OsString], env: &Env) -> Option<u8> {
    let shell = Path::new(env.var(VARIABLE)?).file_stem()?.to_str()?;
    // Somebody else's variable of the same name is none of our business.
    Shells::builtins().completer(shell)?;
    let typed = words.iter().skip_while(|word| *word != "--").skip(1);
    let typed: Vec<OsString> = typed.cloned().collect();
    let index = env.text("_CLAP_COMPLETE_INDEX");
    let index = index.and_then(|index| index.parse().ok());
    let finished = index.unwrap_or(typed.len().saturating_sub(1));
    line::set(&typed[..finished.min(typed.len())]);
    let dir = std::env::current_dir()
        .map(|dir| dir.join(line::start()))
        .ok();
    let done = CompleteEnv::with_factory(args::tree)
        .completer("tw")
        .try_complete(words.iter().cloned(), dir.as_deref());
    Some(u8::from(done.is_err()))
}

/// The registration script of each shell: the name of its file and its text.
#[expect(clippy::missing_panics_doc, reason = "writing to memory cannot fail")]
pub fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    [
        ("tw.bash", "bash"),
        ("_tw", "zsh"),
        ("tw.fish", "fish"),
        ("tw.elv", "elvish"),
        ("_tw.ps1", "powershell"),
    ]
    .into_iter()
    .map(|(file, shell)| {
        let mut script = Vec::new();
        Shells::builtins()
            .completer(shell)
            .expect("every shell named here is built in")
            .write_registration(VARIABLE, "tw", "tw", "tw", &mut script)
            .expect("memory takes every write");
        while script.starts_with(b"\n") {
            script.remove(0);
        }
        script.truncate(script.trim_ascii_end().len());
        script.push(b'\n');
        (file, script)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Arg, Command, ValueHint};
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
                "keep",
                "keep_days",
                "keep_last",
                "last",
                "limit",
                "max_count",
                "port",
                "reserved",
                "run",
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
        ("tw config value", "as the setting has it"),
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
        ("tw snapshot label", "a new one"),
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
