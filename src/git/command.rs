//! Plain git as a helper, for the few jobs that only git does right.
//!
//! Owns the scrubbed environment: no `GIT_*` of the caller, no hook, fsmonitor, signing program, credential helper, pager,
//! editor, network, lazy fetch or background maintenance. Promises that no child outlives the call and that a failure
//! carries the end of what git said. Leaves out filters: a caller uses only commands that start none.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::pipes::{Said, converse};
use super::repo::Repo;
use crate::error::{Code, Error, Result, ResultExt};

/// How much of git's stderr an error carries.
const STDERR_TAIL: usize = 2000;

/// What every run is told. `core.untrackedCache=false` and its neighbours hold for this run alone.
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.pager=cat",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "credential.helper=",
    "protocol.allow=never",
    "submodule.recurse=false",
    // Or `git worktree add` changes the format of the repository for good.
    "worktree.useRelativePaths=false",
];

/// What names a repository to git, beside options and the current directory: what a hook is told of the one that it belongs to.
pub const NAMES_A_REPOSITORY: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_QUARANTINE_PATH",
];

/// One run of git in a repository.
#[must_use = "nothing happens before `run` or `output`"]
pub struct Git<'a> {
    repo: &'a Repo,
    args: Vec<OsString>,
    stdin: Vec<u8>,
}

/// What a finished git left.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Everything on stdout.
    pub stdout: Vec<u8>,
    /// Everything on stderr.
    pub stderr: Vec<u8>,
}

impl Output {
    /// What git wrote to stdout; `name` is the subcommand.
    ///
    /// # Errors
    /// `IO` when git ended with another status than 0; the message has the end of its stderr.
    pub fn into_stdout(self, name: &str) -> Result<Vec<u8>> {
        if self.status.success() {
            Ok(self.stdout)
        } else {
            Err(failed(name, &self))
        }
    }
}

impl<'a> Git<'a> {
    /// A run in `repo`, at the top of its working tree. Arguments follow: the subcommand first.
    pub fn new(repo: &'a Repo) -> Self {
        Self {
            repo,
            args: Vec::new(),
            stdin: Vec::new(),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Gives git this on stdin. Without, stdin is empty.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The version of the program: its first two numbers. None: there is no git, or it does not say.
    pub fn version(repo: &'a Repo) -> Option<(u32, u32)> {
        let said = Self::new(repo).arg("--version").run().ok()?;
        let said = String::from_utf8_lossy(&said);
        let mut numbers = said.split_ascii_whitespace().nth(2)?.split('.');
        let mut number = || numbers.next()?.parse().ok();
        Some((number()?, number()?))
    }

    /// Runs git and gives its stdout.
    ///
    /// # Errors
    /// `IO` when git cannot be started or ends with another status than 0; the message has the end of its stderr.
    pub fn run(self) -> Result<Vec<u8>> {
        let name = self.name();
        self.output()?.into_stdout(&name)
    }

    /// Runs git and gives all that it left, whatever its status.
    ///
    /// # Errors
    /// `IO` when git cannot be started or its pipes fail.
    pub fn output(self) -> Result<Output> {
        let name = self.name();
        run_child(self.command()?, &self.stdin, &name)
    }

    fn name(&self) -> String {
        let name = self.args.first().cloned().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn command(&self) -> Result<Command> {
        let mut command = scrubbed(self.repo, self.repo.git_dir())?;
        command
            .arg(option("--work-tree=", self.repo.worktree_root()))
            .args(&self.args)
            .current_dir(self.repo.worktree_root())
            .stdin(if self.stdin.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }
}

/// git in a git directory, with the scrubbed environment and the settings of every run, without a subcommand yet.
///
/// # Errors
/// The configuration cannot be read.
pub(super) fn scrubbed(repo: &Repo, git_dir: &Path) -> Result<Command> {
    let env = repo.env();
    let mut command = Command::new("git");
    command.env_clear();
    for (name, value) in env.vars() {
        let name_text = name.to_string_lossy();
        if !(name_text.starts_with("GIT_") || name_text.starts_with("LC_")) {
            command.env(name, value);
        }
    }
    command
        .env("LC_ALL", "C")
        .env_remove("LANGUAGE")
        // Nothing that is only asked may take the index's lock, as `git status` does to write fresh stat data.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "false")
        // Objects are meant as they are stored, which is also how libgit2 reads them.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .arg(option("--git-dir=", git_dir))
        .arg("--no-pager");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    start_no_configured_hook(&mut command, &configured_hooks(repo)?);
    Ok(command)
}

/// The variable that turns a hook off whose name cannot stand before a value.
const NO_HOOK: &str = "TW_NO_HOOK";

/// The names of the hooks that the configuration has as `hook.<name>.event`.
///
/// # Errors
/// The configuration cannot be read.
pub(super) fn configured_hooks(repo: &Repo) -> Result<BTreeSet<String>> {
    let entries = repo.config_entries("hook.")?;
    let names = entries
        .iter()
        .filter_map(|entry| hook_of(entry.key.as_bytes()));
    Ok(names.map(str::to_owned).collect())
}

/// The name of the hook that a key of the configuration is about.
pub(super) fn hook_of(key: &[u8]) -> Option<&str> {
    let key = std::str::from_utf8(key).ok()?;
    let (name, _) = key.strip_prefix("hook.")?.rsplit_once('.')?;
    Some(name)
}

/// Turns hooks of the configuration off, which git has from 2.54 on: `core.hooksPath` says nothing of those. To be called where the
/// subcommand would follow, after all that adds to the configuration.
pub(super) fn start_no_configured_hook(command: &mut Command, names: &BTreeSet<String>) {
    for name in names {
        if name.contains('=') {
            // '-c' ends the key at the first of them, this at the last.
            command.arg(format!("--config-env=hook.{name}.enabled={NO_HOOK}"));
            command.env(NO_HOOK, "false");
        } else {
            command.args(["-c".to_owned(), format!("hook.{name}.enabled=false")]);
        }
    }
}

/// Runs a command of git's to its end. `name` is that of the subcommand, for errors.
///
/// # Errors
/// `IO` when it cannot be started or its pipes fail.
pub(super) fn run_child(mut command: Command, stdin: &[u8], name: &str) -> Result<Output> {
    let child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(Code::Io, "git is not on the PATH")
            .hint("this needs the program 'git': install it, or put it on the PATH")
            .caused_by(error),
        _ => error.into(),
    });
    Running(child.context(|| format!("run 'git {name}'"))?)
        .finish(stdin)
        .context(|| format!("run 'git {name}'"))
}

/// The end of what git said on its standard error.
pub(super) fn said_by(output: &Output) -> String {
    let tail = output.stderr.len().saturating_sub(STDERR_TAIL);
    let stderr = output.stderr.get(tail..).unwrap_or_default();
    String::from_utf8_lossy(stderr).trim().to_owned()
}

/// Several lines of git's as one; a sentence may go on in the next.
fn in_one_line(said: &str) -> String {
    let mut line = String::new();
    for next in said.lines().map(str::trim).filter(|next| !next.is_empty()) {
        match line.chars().last() {
            None => {}
            Some(';' | ':' | ',' | '.') => line.push(' '),
            Some(_) => line.push_str("; "),
        }
        line.push_str(next);
    }
    line
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// A child that is killed and reaped when it is dropped before its end.
struct Running(Child);

impl Running {
    fn finish(mut self, stdin: &[u8]) -> Result<Output> {
        let Said { stdout, stderr } = converse(&mut self.0, stdin)?;
        Ok(Output {
            stdout,
            stderr,
            status: self.0.wait()?,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing happens to a child that has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn failed(name: &str, output: &Output) -> Error {
    let said = in_one_line(&said_by(output));
    Error::new(
        Code::Io,
        format!("'git {name}' failed ({}): {said}", output.status),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::repo::testing::TestRepo;

    #[test]
    fn what_git_says_in_several_lines_is_said_in_one() {
        for (said, line) in [
            ("fatal: no", "fatal: no"),
            ("error: one\nfatal: two\n", "error: one; fatal: two"),
            (
                "fatal: it is;\n  use -f, or\nnot",
                "fatal: it is; use -f, or; not",
            ),
            ("hint:\n\nhint: x", "hint: hint: x"),
            ("", ""),
        ] {
            assert_eq!(in_one_line(said), line);
        }
    }

    #[test]
    fn stdin_and_stdout_are_bytes_of_any_size() {
        let test = TestRepo::new();
        let repo = test.open();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let id = Git::new(&repo)
            .args(["hash-object", "-w", "--stdin"])
            .stdin(bytes.clone())
            .run()
            .expect("written");
        let id = String::from_utf8(id).expect("hex");
        let back = Git::new(&repo).args(["cat-file", "blob", id.trim()]).run();
        assert!(back.expect("read") == bytes);
    }

    #[test]
    fn the_hooks_of_the_configuration_are_turned_off() {
        let test = TestRepo::new();
        for name in ["spy", "a.b", "a=b"] {
            test.git(&["config", &format!("hook.{name}.event"), "pre-push"]);
        }
        let repo = test.open();
        let command = Git::new(&repo).arg("status").command().expect("read");
        let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        let args = args.join(" ");
        let hooks = format!(
            "-c hook.a.b.enabled=false --config-env=hook.a=b.enabled={NO_HOOK} -c hook.spy.enabled=false"
        );
        assert!(args.contains(&hooks), "{args}");
        assert!(args.ends_with(" status"), "{args}");
        // Also those that the installed git does not know are known as settings.
        let spy = ["config", "hook.a=b.enabled"];
        let said = Git::new(&repo).args(spy).run().expect("it is set");
        assert_eq!(said, b"false\n");
    }

    #[test]
    fn a_failure_says_what_git_said() {
        let test = TestRepo::new();
        let repo = test.open();
        let error = Git::new(&repo)
            .args(["cat-file", "-p", "no-such-name"])
            .run()
            .expect_err("no such object");
        assert!(error.message().contains("'git cat-file' failed"), "{error}");
        assert!(error.message().contains("no-such-name"), "{error}");
        let output = Git::new(&repo).args(["config", "no.such"]).output();
        assert_eq!(output.expect("ran").status.code(), Some(1));
    }

    #[test]
    fn no_hook_nor_helper_of_the_repository_starts() {
        let test = TestRepo::new();
        test.write("a", "1");
        test.git(&["add", "a"]);
        test.git(&["commit", "-qm", "one"]);
        let mark = test.dir().join("ran");
        let script = format!("#!/bin/sh\ntouch '{}'\n", mark.display());
        for hook in ["reference-transaction", "post-index-change", "fsmonitor"] {
            test.executable(&format!(".git/hooks/{hook}"), &script);
        }
        let fsmonitor = test.dir().join(".git/hooks/fsmonitor");
        test.git(&["config", "core.fsmonitor", &fsmonitor.display().to_string()]);
        let _ = std::fs::remove_file(&mark);
        let repo = test.open();
        let run = |args: &[&str]| Git::new(&repo).args(args).run().expect("ran");
        run(&["update-ref", "refs/heads/other", "HEAD"]);
        run(&["update-index", "--refresh"]);
        run(&["status", "--porcelain"]);
        assert!(!mark.exists());
        test.git(&["update-ref", "refs/heads/third", "HEAD"]);
        assert!(mark.exists(), "the hook works when git is asked plainly");
    }
}
