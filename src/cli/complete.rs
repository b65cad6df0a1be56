//! Completion: the shell's script asks `COMPLETE=<shell> tw -- WORDS`, and this answers.
//!
//! The registration scripts are checked in under `completions/`; [`scripts`] renders them anew, so that a test can tell
//! when they are out of date. Leaves out files: the shells complete those from the hints in the clap tree.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap_complete::env::{CompleteEnv, Shells};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use super::args;
use super::human::text::clean;
use crate::agents::AGENTS;
use crate::env::Env;
use crate::ops;

/// The word for all agents that are used.
pub const ALL_AGENTS: &str = "all";

/// The variable by which a script asks for completions.
const VARIABLE: &str = "COMPLETE";

/// Answers a shell's question, when this call is one, and tells the exit code.
pub fn answer(words: &[OsString], env: &Env) -> Option<u8> {
    let shell = Path::new(env.var(VARIABLE)?).file_stem()?.to_str()?;
    // Somebody else's variable of the same name is none of our business.
    Shells::builtins().completer(shell)?;
    let dir = std::env::current_dir().ok();
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

/// Completes the address of a snapshot.
pub fn snapshots() -> ArgValueCompleter {
    ArgValueCompleter::new(addresses)
}

/// Snapshot ids with their titles, and the words that name a snapshot.
fn addresses(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let env = Env::from_process();
    let ids = ops::list::ids_for_completion(&start(), &env);
    let words = [
        ("latest", "the newest snapshot"),
        ("session", "the snapshot of this session"),
        ("present", "the working tree as it is"),
    ];
    words
        .into_iter()
        .map(|(word, what)| (word.to_owned(), what.to_owned()))
        .chain(ids)
        .filter(|(id, _)| names(id, current))
        .map(|(id, title)| CompletionCandidate::new(id).help(Some(clean(&title).into())))
        .collect()
}

/// Completes the name of an agent that can be set up.
pub fn agents() -> ArgValueCompleter {
    ArgValueCompleter::new(agent_names)
}

/// The agents with their titles, and the word for those that are used.
fn agent_names(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let known = AGENTS.iter().filter(|agent| agent.setup().is_some());
    [(ALL_AGENTS, "those that you use")]
        .into_iter()
        .chain(known.map(|agent| (agent.name(), agent.title())))
        .filter(|(name, _)| name.starts_with(current))
        .map(|(name, title)| CompletionCandidate::new(name).help(Some(title.into())))
        .collect()
}

/// True when what is typed so far begins the id or its random tail.
fn names(id: &str, typed: &str) -> bool {
    let tail = id.rsplit('_').next().unwrap_or(id);
    id.starts_with(typed) || tail.starts_with(typed)
}

/// The directory that `-C` on the unfinished command line leads to. Completion callbacks get the current word only.
fn start() -> PathBuf {
    start_of(std::env::args_os())
}

fn start_of(words: impl Iterator<Item = OsString>) -> PathBuf {
    let mut dir = PathBuf::from(".");
    // Before it are our own words; behind it is the line that is typed.
    let mut words = words.skip_while(|word| word != "--").skip(1);
    while let Some(word) = words.next() {
        if word == "-C" {
            dir.extend(words.next().map(PathBuf::from));
        }
    }
    dir
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_completed_from_its_start_or_its_tail() {
        let id = "s_20260228_153012_ab12cd";
        assert!(names(id, "s_2026"));
        assert!(names(id, "ab1"));
        assert!(names(id, ""));
        assert!(!names(id, "153012"));
    }

    #[test]
    fn an_agent_is_completed_by_its_name() {
        let names = |typed: &str| -> Vec<String> {
            let found = agent_names(OsStr::new(typed)).into_iter();
            let values = found.map(|one| one.get_value().to_string_lossy().into_owned());
            values.collect()
        };
        assert_eq!(names("ki"), ["kimi", "kimi-code"]);
        assert_eq!(names("al"), [ALL_AGENTS]);
        assert_eq!(names("generic"), [""; 0], "it cannot be set up");
    }

    #[test]
    fn the_directory_comes_from_the_completed_line_only() {
        let words = ["tw", "-C", "no", "--", "tw", "-C", "a", "-C", "b", "show"];
        assert_eq!(
            start_of(words.iter().map(OsString::from)),
            PathBuf::from("./a/b")
        );
    }
}
