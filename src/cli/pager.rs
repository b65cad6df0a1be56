//! The pager: the program that shows a long answer on a terminal, page by page.
//!
//! Owns which one it is, as git has it: `GIT_PAGER`, else `core.pager`, else `PAGER`, else `less`; nothing, or `cat`, is none. Promises
//! that it is started only for a command that asks for it, only with something to show, and is waited for; one that cannot be
//! started shows nothing, and the answer is printed as without it. Ctrl-C is the pager's while it runs: `less` stops with it what it
//! does, and must not be left behind on the terminal.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};

use crate::env::Env;
use crate::interrupt;

/// What asks for a shell, as in git; spaces part words.
const FOR_A_SHELL: &[u8] = b"|&;<>()$`\\\"'\n*?[#~=%";

/// What programs are told when the user has not told them: git's own words.
const DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// Which program it is, None for none. `configured` is asked for `core.pager` when the environment does not decide.
pub fn program(env: &Env, configured: impl FnOnce() -> Option<String>) -> Option<OsString> {
    // Set to nothing is an answer, too.
    let set = |name: &str| env.vars().find(|(key, _)| *key == name);
    let named = set("GIT_PAGER").map(|(_, value)| value.clone());
    let program = named
        .or_else(|| configured().map(OsString::from))
        .or_else(|| set("PAGER").map(|(_, value)| value.clone()))
        .unwrap_or_else(|| "less".into());
    (!program.is_empty() && program != "cat").then_some(program)
}

/// Where an answer goes: to standard output, or through a pager.
#[derive(Default)]
pub struct Pager {
    state: RefCell<State>,
}

#[derive(Default)]
enum State {
    /// Standard output.
    #[default]
    Without,
    /// To be started with the first bytes.
    Wanted(Command),
    /// It shows what comes.
    Running(Child, interrupt::Elsewhere),
}

impl Pager {
    /// From now on the answer goes through this program.
    pub fn begin(&self, program: &OsStr, env: &Env) {
        self.state.replace(State::Wanted(command(program, env)));
    }

    /// Writes a part of the answer.
    ///
    /// # Errors
    /// `BrokenPipe` when nobody reads any more.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut state = self.state.borrow_mut();
        if let State::Wanted(command) = &mut *state {
            let started = command.spawn().ok();
            *state = started.map_or(State::Without, |child| {
                State::Running(child, interrupt::elsewhere())
            });
        }
        if let State::Running(child, _) = &mut *state
            && let Some(input) = &mut child.stdin
        {
            return input.write_all(bytes).and_then(|()| input.flush());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush())
    }

    /// Waits until the pager has ended.
    pub fn finish(&self) {
        if let State::Running(mut child, _elsewhere) = self.state.take() {
            // It sees the end of what it is to show.
            drop(child.stdin.take());
            // How it ended says nothing of the command.
            let _ = child.wait();
        }
    }
}

/// As git runs it: by a shell only where that has something to do.
fn command(program: &OsStr, env: &Env) -> Command {
    let bytes = program.as_bytes();
    let mut words = bytes
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty());
    let mut command = match words.next() {
        Some(first) if !bytes.iter().any(|byte| FOR_A_SHELL.contains(byte)) => {
            let mut command = Command::new(OsStr::from_bytes(first));
            command.args(words.map(OsStr::from_bytes));
            command
        }
        _ => {
            let mut command = Command::new("sh");
            command.arg("-c").arg(program);
            command
        }
    };
    for (name, value) in DEFAULTS {
        if !env.vars().any(|(key, _)| key == name) {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::piped());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(vars: &[(&str, &str)], configured: Option<&str>) -> Option<String> {
        let env: Env = vars.iter().copied().collect();
        let program = program(&env, || configured.map(str::to_owned));
        program.map(|program| program.into_string().expect("text"))
    }

    #[test]
    fn the_pager_is_the_one_that_git_takes() {
        let all = [("GIT_PAGER", "first"), ("PAGER", "third")];
        assert_eq!(chosen(&all, Some("second")).as_deref(), Some("first"));
        assert_eq!(chosen(&all[1..], Some("second")).as_deref(), Some("second"));
        assert_eq!(chosen(&all[1..], None).as_deref(), Some("third"));
        assert_eq!(chosen(&[], None).as_deref(), Some("less"));
        for none in ["", "cat"] {
            assert_eq!(chosen(&[("GIT_PAGER", none)], Some("second")), None);
            assert_eq!(chosen(&[], Some(none)), None);
            assert_eq!(chosen(&[("PAGER", none)], None), None);
        }
    }

    #[test]
    fn a_shell_runs_it_only_where_one_is_asked_for() {
        let words = |program: &str| {
            let command = command(OsStr::new(program), &Env::default());
            let words = [command.get_program()]
                .into_iter()
                .chain(command.get_args());
            let words: Vec<String> = words.map(|word| word.to_string_lossy().into()).collect();
            words
        };
        assert_eq!(words("less -S  -R"), ["less", "-S", "-R"]);
        assert_eq!(words("LESS=S less"), ["sh", "-c", "LESS=S less"]);
        assert_eq!(words("a | b"), ["sh", "-c", "a | b"]);
    }
}
