//! A repository and a home of its own for one test. Nothing reads the network, the real home, or the wall clock.

#![allow(
    dead_code,
    reason = "tests of the engine use what tests of the faces do not"
)]

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use tempfile::TempDir;

pub use crate::provided::{executable, is_root, skipped};

use crate::provided::{announce, usual_umask, write_program};
use crate::schema;
use crate::state::State;
pub use crate::template::Kind;
use crate::template::{self, Template, Templates};

/// The first command of a test runs at this time, 2026-02-28T15:30:00Z; each later one a minute after the one before.
const BEGIN: i64 = 1_772_292_600;
pub const STEP: i64 = 60;

/// Where it is set, all tests run as on a disk where files are slow to make and to delete.
pub const SLOW_DISK: &str = "TW_TEST_SLOW_DISK";

/// A stamp younger than a tick of the clock is looked at again next time.
pub fn settle() {
    std::thread::sleep(Duration::from_millis(60));
}

/// Waits until something is so, for as long as a machine may need that has much else to do.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What was done with a path, which is named where it could not be.
#[track_caller]
fn done<T>(path: &Path, result: std::io::Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// A file that this process has locked, as another `tw` would.
pub struct Locked(std::fs::File);

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing it would not do: a child that another test has just begun may still have it open.
        flock(&self.0, FlockOperation::Unlock).unwrap();
    }
}

/// What one test works in: `home/`, `tmp/` and the repository `repo/`, all under one temporary directory.
pub struct Sandbox {
    /// Where it really is: where the temporary directory is reached by a symlink, git and tw show where it leads.
    root: PathBuf,
    /// Removes it.
    _room: TempDir,
    now: Cell<i64>,
    kind: Kind,
    /// Ids and commit ids in the order in which they were first shown, for [`Sandbox::redact`].
    seen: RefCell<Vec<String>>,
    /// The private repository of a working tree without git: git is told of it, and `tw` finds no git.
    private: Option<PathBuf>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; 128 and the signal's number when a signal ended it, as shells say it.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let signal = || 128 + output.status.signal().unwrap_or(0);
        Self {
            code: output.status.code().unwrap_or_else(signal),
            stdout: output.stdout,
            stderr: output.stderr,
        }
    }
}

impl Ran {
    /// Standard output as text, lossy.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text, lossy.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl Sandbox {
    /// A repository without a commit, on branch `main`.
    pub fn unborn() -> Self {
        Self::unborn_of(Kind::of_all())
    }

    /// [`unborn`](Self::unborn), of a kind of its own.
    pub fn unborn_of(kind: Kind) -> Self {
        static TEMPLATES: Templates = Templates::new();
        let sandbox = Self::room_of(kind);
        std::fs::create_dir(sandbox.repo()).unwrap();
        TEMPLATES.lay_out(kind, &sandbox.path(".git"), || {
            let made = Sandbox::room_of(kind);
            std::fs::create_dir(made.repo()).unwrap();
            made.git(["init", "-q", "-b", "main"]);
            Template::of(&made.path(".git"))
        });
        sandbox.wait(STEP);
        sandbox
    }

    /// A repository with one commit of `a.txt`.
    pub fn new() -> Self {
        Self::of(Kind::of_all())
    }

    /// As [`Self::new`], of a kind of its own.
    pub fn of(kind: Kind) -> Self {
        static TEMPLATES: Templates = Templates::new();
        let sandbox = Self::room_of(kind);
        sandbox.write("a.txt", "one\n");
        TEMPLATES.lay_out(kind, &sandbox.path(".git"), || {
            let made = Sandbox::unborn_of(kind);
            made.write("a.txt", "one\n");
            made.git(["add", "a.txt"]);
            made.git(["commit", "-q", "-m", "first"]);
            Template::of(&made.path(".git"))
        });
        // The index knows the template's file.
        sandbox.git(["update-index", "-q", "--refresh"]);
        sandbox.wait(2 * STEP);
        sandbox
    }

    /// No repository at all; `repo/` does not exist.
    pub fn bare_room() -> Self {
        Self::room_of(Kind::of_all())
    }

    /// As [`Self::bare_room`]; what git makes in it is of this kind.
    pub fn room_of(kind: Kind) -> Self {
        announce();
        usual_umask();
        let room = tempfile::Builder::new()
            .prefix("tw-it-")
            .tempdir_in(template::place())
            .unwrap();
        let root = room.path().canonicalize().unwrap();
        for dir in ["home", "tmp"] {
            std::fs::create_dir(root.join(dir)).unwrap();
        }
        Self {
            root,
            _room: room,
            now: Cell::new(BEGIN),
            kind,
            seen: RefCell::default(),
            private: None,
        }
    }

    /// A working tree without git, whose history is kept in a private repository. `tw` runs without git on its PATH; git, run
    /// beside it, is told where the repository is.
    pub fn without_git() -> Self {
        // A private repository is of one kind.
        let mut sandbox = Self::room_of(Kind::PLAIN);
        std::fs::create_dir(sandbox.repo()).unwrap();
        let bin = sandbox.root().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for tool in [
            "sh", "cat", "env", "grep", "ls", "mkdir", "rm", "sleep", "test", "touch", "true",
        ] {
            symlink(executable(tool.as_ref()), bin.join(tool)).unwrap();
        }
        // Nothing else is known yet than that there is one.
        sandbox.private = Some(PathBuf::new());
        let made = sandbox.json(["init", "--here", "-y"]);
        sandbox.private = Some(PathBuf::from(made["repository"].as_str().unwrap()));
        sandbox
    }

    /// The git directory.
    pub fn git_dir(&self) -> PathBuf {
        self.private.clone().unwrap_or_else(|| self.path(".git"))
    }

    /// The directory that holds everything.
    pub fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// The repository's working tree.
    pub fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// What kind of repositories git makes here.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Whether the repository keeps its refs in the reftable format.
    pub fn has_reftable(&self) -> bool {
        self.kind.has_reftable()
    }

    /// Lets the clock run for so many seconds, beyond the step of each command.
    pub fn wait(&self, seconds: i64) {
        self.now.set(self.now.get() + seconds);
    }

    // --- files, relative to the working tree ---

    /// An absolute path.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.repo().join(path)
    }

    /// Writes a file, and makes its directories.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Writes a program, and makes its directories.
    #[track_caller]
    pub fn program(&self, path: impl AsRef<Path>, text: impl AsRef<str>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_program(&path, text.as_ref());
    }

    /// Whether these files are on an overlay, as those of a container are, and says so. A young file may always change there without
    /// a sign, so that it is read again; when a directory was made nobody knows.
    pub fn is_on_overlay(&self) -> bool {
        /// `OVERLAYFS_SUPER_MAGIC`.
        const OVERLAY: i64 = 0x794c_7630;
        let is_one = rustix::fs::statfs(self.repo()).unwrap().f_type == OVERLAY;
        if is_one {
            let why = "an overlay does not tell who has a file open, or when a directory was made";
            skipped("a file system of its own", why);
        }
        is_one
    }

    /// Locks a file until the value is dropped, and makes it.
    #[track_caller]
    pub fn locked(&self, path: impl AsRef<Path>) -> Locked {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(path).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        Locked(file)
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(path);
        done(&path, std::fs::read(&path))
    }

    /// Reads a file as text.
    #[track_caller]
    pub fn text(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    /// What HEAD is, as its file says it, or would where there are tables.
    pub fn head(&self) -> String {
        if !self.has_reftable() {
            return std::fs::read_to_string(self.git_dir().join("HEAD")).unwrap();
        }
        let branch = self.try_git(["symbolic-ref", "-q", "HEAD"]);
        match branch.code {
            0 => format!("ref: {}", branch.out()),
            _ => self.git(["rev-parse", "HEAD"]),
        }
    }

    /// Whether there is a ref of this whole name, whatever became of its commit.
    pub fn has_ref(&self, name: &str) -> bool {
        self.try_git(["show-ref", "--exists", name]).code == 0
    }

    /// Whether there is a commit of this name beside HEAD, such as `MERGE_HEAD`.
    pub fn has_beside_head(&self, name: &str) -> bool {
        self.try_git(["rev-parse", "-q", "--verify", name]).code == 0
    }

    /// Makes a directory and what leads to it.
    #[track_caller]
    pub fn mkdir(&self, path: impl AsRef<Path>) {
        std::fs::create_dir_all(self.path(path)).unwrap();
    }

    /// Makes a symlink.
    #[track_caller]
    pub fn symlink(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// Sets permission bits.
    #[track_caller]
    pub fn chmod(&self, path: impl AsRef<Path>, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(path), permissions).unwrap();
    }

    /// Removes a file, a symlink, or a directory with all it holds.
    #[track_caller]
    pub fn remove(&self, path: impl AsRef<Path>) {
        let path = self.path(path);
        if path.symlink_metadata().unwrap().is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }

    /// True when something is there, a dangling symlink too.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    // --- commands ---

    /// A command in the working tree with the sandbox's environment and the next time.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let now = self.now.get();
        self.now.set(now + STEP);
        let date = format!("@{now} +0000");
        let mut command = Command::new(executable(program.as_ref()));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.root().join("tmp"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .env("COLUMNS", "100")
            .env("TW_NO_BACKGROUND", "1")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .env("TW_TEST_NOW", rfc3339(now))
            .envs(self.kind.variables())
            .envs(std::env::var_os(SLOW_DISK).map(|value| (SLOW_DISK, value)));
        let repo = self.repo();
        if let Some(git_dir) = &self.private {
            command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", &repo);
        }
        command.current_dir(if repo.is_dir() { repo } else { self.root() });
        command
    }

    /// The `tw` command, for tests that add to its environment or its input.
    pub fn tw_command(&self) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_tw"));
        if self.private.is_some() {
            command
                .env("PATH", self.root().join("bin"))
                .env_remove("GIT_DIR")
                .env_remove("GIT_WORK_TREE");
        }
        command
    }

    /// Runs `tw` in the working tree.
    pub fn tw<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        run(self.tw_command().args(args))
    }

    /// Runs `tw` in another directory.
    pub fn tw_in<S: AsRef<OsStr>>(
        &self,
        dir: impl AsRef<Path>,
        args: impl IntoIterator<Item = S>,
    ) -> Ran {
        run(self.tw_command().current_dir(dir).args(args))
    }

    /// Runs a line as somebody pastes it into a shell in the working tree.
    pub fn paste(&self, line: &str) -> Ran {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_tw"));
        let mut path = program.parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut shell = self.command("bash");
        shell.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        run(shell.env("PATH", path).args(["-c", line]))
    }

    /// The command that begins so and stands between single quotes in what was said, pasted.
    #[track_caller]
    pub fn paste_hint(&self, said: &str, command: &str) -> Ran {
        let at = said.find(&format!("'{command}"));
        let at = at.unwrap_or_else(|| panic!("no '{command}' in: {said}"));
        let line = said[at + 1..].lines().next().unwrap();
        let end = line
            .find("' ")
            .or_else(|| line.find("';"))
            .unwrap_or(line.len());
        self.paste(line[..end].trim_end_matches('\''))
    }

    /// Runs `tw`, which must succeed, and gives its standard output.
    #[track_caller]
    pub fn ok<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let args: Vec<_> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        let ran = self.tw(&args);
        assert_eq!(ran.code, 0, "tw {args:?}\n{}{}", ran.out(), ran.err());
        ran.out()
    }

    /// Runs `tw --json`, which must succeed and keep to its schema, and gives the document.
    #[track_caller]
    pub fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Value {
        Self::json_of(self.tw_command(), args)
    }

    /// As [`Self::json`], of a `tw` command that was added to.
    #[track_caller]
    pub fn json_of<S: AsRef<OsStr>>(command: Command, args: impl IntoIterator<Item = S>) -> Value {
        let (args, ran, document) = Self::document_of(command, args);
        assert_eq!(document["ok"], true, "tw {args:?}: {document}");
        assert_eq!(ran.code, 0, "tw {args:?}: {document}");
        schema::check(&schema_name(&args), &document);
        document
    }

    /// Runs `tw --json`, which must fail as the schema of errors says, and gives the `error` object and the exit code.
    #[track_caller]
    pub fn json_error<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> (Value, i32) {
        let (args, ran, document) = Self::document_of(self.tw_command(), args);
        assert_eq!(document["ok"], false, "tw {args:?}: {document}");
        assert_ne!(ran.code, 0, "tw {args:?}: {document}");
        schema::check("error", &document);
        (document["error"].clone(), ran.code)
    }

    #[track_caller]
    fn document_of<S: AsRef<OsStr>>(
        mut command: Command,
        args: impl IntoIterator<Item = S>,
    ) -> (Vec<String>, Ran, Value) {
        let args: Vec<_> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        let ran = run(command.arg("--json").args(&args));
        let document = schema::read(&ran.stdout)
            .unwrap_or_else(|error| panic!("tw {args:?}: {error}\n{}\n{}", ran.out(), ran.err()));
        let args = args
            .iter()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect();
        (args, ran, document)
    }

    /// Runs git in the working tree; it must succeed. Gives its standard output.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.git_in(self.repo(), args)
    }

    /// Runs git in another directory; it must succeed.
    #[track_caller]
    pub fn git_in<S: AsRef<OsStr>>(
        &self,
        dir: impl AsRef<Path>,
        args: impl IntoIterator<Item = S>,
    ) -> String {
        let args: Vec<_> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        let ran = self.try_git_in(dir, &args);
        assert_eq!(ran.code, 0, "git {args:?}\n{}{}", ran.out(), ran.err());
        ran.out()
    }

    /// Runs git in the working tree.
    pub fn try_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.try_git_in(self.repo(), args)
    }

    /// Runs git in another directory. Only git gets a name to commit under: `tw` must do without. It asks no second git after each commit
    /// whether there is something to tidy up.
    pub fn try_git_in<S: AsRef<OsStr>>(
        &self,
        dir: impl AsRef<Path>,
        args: impl IntoIterator<Item = S>,
    ) -> Ran {
        let mut command = self.command("git");
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "maintenance.auto")
            .env("GIT_CONFIG_VALUE_0", "false");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Test")
                .env(format!("GIT_{role}_EMAIL"), "test@example.com");
        }
        if !dir.as_ref().starts_with(self.repo()) {
            command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        }
        run(command.current_dir(dir).args(args))
    }

    // --- state ---

    /// Everything that a round trip must bring back. See [`State`].
    pub fn state(&self) -> State {
        State::capture(self, &self.repo())
    }

    /// Travels to `address`, lets `in_the_past` do as it likes, returns, and finds everything as it was.
    #[track_caller]
    pub fn assert_round_trip(&self, address: &str, in_the_past: impl FnOnce(&Self)) {
        let before = self.state();
        self.json(["travel", address]);
        in_the_past(self);
        let returned = self.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        before.assert_same(&self.state());
    }

    // --- whole outputs ---

    /// Exit code, standard output and standard error in one text, redacted, for comparing them whole.
    pub fn show(&self, ran: &Ran) -> String {
        let mut text = format!("exit {}\n", ran.code);
        for (name, stream) in [("stdout", ran.out()), ("stderr", ran.err())] {
            if !stream.is_empty() {
                let _ = write!(text, "--- {name}\n{}", self.redact(&stream));
            }
        }
        text
    }

    /// Replaces what differs from run to run: the sandbox's directory, ids, commit ids. The same id gets the same name
    /// all through a test: `s_[1]`, `[oid 2]`.
    pub fn redact(&self, text: &str) -> String {
        let text = text.replace(&*self.root().to_string_lossy(), "[ROOT]");
        let mut out = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = rest
                .find(|ch: char| !(ch.is_ascii_alphanumeric() || ch == '_'))
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            out.push_str(&self.redact_word(word));
            let next = after.chars().next().map_or(0, char::len_utf8);
            out.push_str(&after[..next]);
            rest = &after[next..];
        }
        out
    }

    fn redact_word(&self, word: &str) -> String {
        if is_id(word) {
            format!("{}[{}]", &word[..2], self.number(word))
        } else if matches!(word.len(), 40 | 64)
            && word
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            format!("[oid {}]", self.number(word))
        } else {
            word.to_owned()
        }
    }

    fn number(&self, word: &str) -> usize {
        let mut seen = self.seen.borrow_mut();
        let at = seen.iter().position(|known| known == word);
        1 + at.unwrap_or_else(|| {
            seen.push(word.to_owned());
            seen.len() - 1
        })
    }
}

/// True for `s_20260228_153012_ab12cd` and its like.
fn is_id(word: &str) -> bool {
    let parts: Vec<_> = word.split('_').collect();
    let [letter, date, time, tail] = parts[..] else {
        return false;
    };
    let digits =
        |text: &str, len| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    matches!(letter, "s" | "b" | "x" | "i")
        && digits(date, 8)
        && digits(time, 6)
        && tail.len() == 6
        && tail
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn run(command: &mut Command) -> Ran {
    command.output().unwrap().into()
}

fn rfc3339(seconds: i64) -> String {
    timewarp::env::Moment(i128::from(seconds) * 1_000_000_000).rfc3339()
}

/// Whether a rewind is to tell of each mode.
fn is_without_mode(args: &[String]) -> bool {
    let modes = ["--code", "--conversation", "--both", "--never-mind"];
    !args.iter().any(|arg| modes.contains(&arg.as_str()))
}

/// The schema of a command line: that of its command.
fn schema_name(args: &[String]) -> String {
    let mut words = args
        .iter()
        .map(String::as_str)
        .filter(|arg| !arg.starts_with('-'));
    match words.next() {
        Some(
            group @ ("session" | "issue" | "context" | "scratch" | "try" | "bisect" | "share"
            | "workspace"),
        ) => {
            let verb = match words.next() {
                Some("create") => "report",
                Some("show") if group == "issue" => "get",
                verb => verb.unwrap_or_default(),
            };
            return format!("{group}-{verb}");
        }
        Some("replay") => match words.next() {
            Some(verb @ ("list" | "show" | "drop")) => return format!("replay-{verb}"),
            _ => "replay",
        },
        Some("rewind") if args.iter().any(|arg| arg == "--undo") => "rewind-undo",
        Some("rewind") if is_without_mode(args) && args.iter().any(|arg| arg == "--dry-run") => {
            "rewind-dry-run"
        }
        Some("rewind") if args.len() == 1 => "checkpoint-list",
        Some("checkpoint") if args.iter().any(|arg| arg == "list") => "checkpoint-list",
        Some("checkpoint") if args.iter().any(|arg| arg == "show") => "checkpoint-show",
        Some("backtrack") => match words.next() {
            Some(verb @ ("take" | "show" | "cancel")) => return format!("backtrack-{verb}"),
            _ => "backtrack",
        },
        Some("recover") if args.iter().any(|arg| arg == "--dropped") => "recover-dropped",
        Some("blame") if args.iter().any(|arg| arg == "--export") => "blame-export",
        Some("undo") if args.iter().any(|arg| arg == "--list") => "undo-list",
        Some("redo") if args.iter().any(|arg| arg == "--list") => "redo-list",
        Some("watch") if args.iter().any(|arg| arg == "--print-service") => "watch-print-service",
        Some("watch") => match words.next() {
            Some(verb @ ("start" | "stop" | "status")) => return format!("watch-{verb}"),
            _ => "watch",
        },
        Some("web") if args.iter().any(|arg| arg == "--export") => "web-export",
        Some("config") if words.next().is_some() => "config-key",
        Some("label") if words.next().is_none() => "label-list",
        Some("init") if args.iter().any(|arg| arg == "--list") => "init-here-list",
        Some("init") if args.iter().any(|arg| arg == "--here") => "init-here",
        Some("st") => "status",
        Some(name) => name,
        None => "status",
    }
    .to_owned()
}

#[test]
fn redaction_gives_the_same_id_the_same_name() {
    let sandbox = Sandbox::bare_room();
    let text = format!(
        "s_20260228_153012_ab12cd {}/repo b_20260228_153012_000000, s_20260228_153012_ab12cd {} {}",
        sandbox.root().display(),
        "0".repeat(40),
        "0".repeat(64)
    );
    assert_eq!(
        sandbox.redact(&text),
        "s_[1] [ROOT]/repo b_[2], s_[1] [oid 3] [oid 4]"
    );
}

#[test]
fn the_clock_steps_with_each_command() {
    let sandbox = Sandbox::new();
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "second"]);
    assert_eq!(
        sandbox.git(["log", "--format=%ct"]).lines().count(),
        2,
        "two commits"
    );
    let times = sandbox.git(["log", "--format=%ct"]);
    let times: Vec<i64> = times.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times[0] - times[1], STEP);
}
