//! Against git itself: what it writes is read alike, and what is written it reads alike.

mod damage;
mod kinds;
mod sha256;
mod shapes;
mod tree;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;

/// A repository in a temporary directory.
pub(super) struct Sandbox {
    dir: tempfile::TempDir,
    pub(super) format: ObjectFormat,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        Self::of(ObjectFormat::Sha1)
    }

    pub(super) fn of(format: ObjectFormat) -> Self {
        let sandbox = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            format,
        };
        let format = format!("--object-format={format}");
        sandbox.git(&["init", "-q", "-b", "main", &format]);
        sandbox
    }

    /// With some directories, an executable, a symlink and a gitlink committed.
    pub(super) fn with_files() -> Self {
        Self::new().filled()
    }

    pub(super) fn filled(self) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let sandbox = self;
        for path in [
            "a.txt",
            "d/one",
            "d/two",
            "d/e/three",
            "d-x",
            "z/y/x/deep",
            "run",
        ] {
            sandbox.write(path, path);
        }
        let run = sandbox.path("run");
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).expect("chmod");
        std::os::unix::fs::symlink("a.txt", sandbox.path("link")).expect("symlink");
        sandbox.git(&["add", "-A"]);
        let commit = "12".repeat(sandbox.format.width());
        let module = format!("160000,{commit},module");
        sandbox.git(&["update-index", "--add", "--cacheinfo", &module]);
        sandbox.git(&["commit", "-qm", "first"]);
        sandbox
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn git_dir(&self) -> PathBuf {
        self.path(".git")
    }

    pub(super) fn file(&self) -> PathBuf {
        self.path(".git/index")
    }

    pub(super) fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("within")).expect("mkdir");
        fs::write(path, content).expect("write");
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = crate::provided::git(self.dir.path());
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.com");
        command
    }

    pub(super) fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = self.command(args).output().expect("git runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {stderr}");
        output.stdout
    }

    pub(super) fn git_fails(&self, args: &[&str]) {
        let output = self.command(args).output().expect("git runs");
        assert!(!output.status.success(), "git {args:?}");
    }

    pub(super) fn git_with_input(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let mut command = self.command(args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input).expect("git reads");
        drop(stdin);
        let output = child.wait_with_output().expect("git ends");
        assert!(output.status.success(), "git {args:?}");
        output.stdout
    }

    pub(super) fn oid(&self, args: &[&str]) -> Oid {
        id(&self.git(args))
    }

    /// git's index, with all that is true of its cache tree.
    pub(super) fn read(&self) -> Index {
        let mut index = self.try_read().expect("git's index is read");
        index.prove_trees();
        index
    }

    pub(super) fn try_read(&self) -> Result<Index> {
        Index::read(&self.file(), &self.git_dir(), self, Checksum::Verify)
    }

    /// What git makes of the index, left as it is: `git write-tree` may write it anew.
    pub(super) fn write_tree(&self) -> Oid {
        let copy = self.path(".git/index.copy");
        fs::copy(self.file(), &copy).expect("copy");
        let mut command = self.command(&["write-tree"]);
        let output = command.env("GIT_INDEX_FILE", &copy).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        id(&output.stdout)
    }

    /// What git sees in its index: everything but what is only in memory.
    pub(super) fn seen(&self) -> String {
        let debug = self.git(&["ls-files", "--stage", "--debug", "-z"]);
        let debug = String::from_utf8_lossy(&debug);
        let masked = debug.split_inclusive('\n').map(|line| {
            let Some((head, flags)) = line.split_once("\tflags: ") else {
                return line.to_owned();
            };
            let flags = u32::from_str_radix(flags.trim(), 16).expect("hex");
            format!("{head}\tflags: {:x}\n", flags & 0x6000_b000)
        });
        let mut seen: String = masked.collect();
        seen += &String::from_utf8_lossy(&self.git(&["ls-files", "-t", "-v", "-z"]));
        seen += &String::from_utf8_lossy(&self.git(&["ls-files", "--resolve-undo", "-z"]));
        seen
    }

    /// Reads git's index, compares it with what git sees, writes it back in place of git's, and compares again.
    pub(super) fn assert_round_trip(&self) -> Index {
        let seen = self.seen();
        let index = self.read();
        assert!(seen.starts_with(&show(&index)), "{seen}\n{}", show(&index));

        let bytes = index.write_bytes();
        let again = parse_as(self.format, bytes.clone()).expect("what is written is read");
        assert_eq!(show(&again), show(&index));
        assert_eq!(again.cache_tree, index.cache_tree);
        assert_eq!(again.resolve_undo, index.resolve_undo);
        fs::write(self.file(), bytes).expect("write");
        assert_eq!(self.seen(), seen);
        self.git(&["fsck", "--strict", "--no-dangling"]);
        index
    }

    /// Compares the tree of the index with `git write-tree`, with and without the help of the cache tree.
    pub(super) fn assert_tree(&self, index: &Index) {
        let wanted = self.write_tree();
        let plain = Index {
            cache_tree: None,
            ..index.clone()
        };
        for index in [index, &plain] {
            let tree = build_tree(index, &|_| Ok(None), &mut Sink::of(self)).expect("builds");
            assert_eq!(tree, wanted);
        }
    }
}

impl TreeSource for Sandbox {
    fn format(&self) -> ObjectFormat {
        self.format
    }

    fn tree(&self, oid: Oid) -> Result<Vec<u8>> {
        Ok(self.git(&["cat-file", "tree", &oid.to_string()]))
    }
}

/// Puts trees into the sandbox's repository, and counts them.
pub(super) struct Sink<'a> {
    sandbox: &'a Sandbox,
    pub(super) count: usize,
}

impl<'a> Sink<'a> {
    pub(super) fn of(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, count: 0 }
    }
}

impl TreeSink for Sink<'_> {
    fn has(&mut self, oid: Oid) -> bool {
        let mut command = self.sandbox.command(&["cat-file", "-e", &oid.to_string()]);
        command.status().expect("git runs").success()
    }

    fn put(&mut self, content: &[u8]) -> Result<Oid> {
        self.count += 1;
        let args = ["hash-object", "--literally", "-w", "-t", "tree", "--stdin"];
        Ok(id(&self.sandbox.git_with_input(&args, content)))
    }
}

/// No tree at all, for indexes that are not sparse.
pub(super) struct NoTrees(pub(super) ObjectFormat);

impl TreeSource for NoTrees {
    fn format(&self) -> ObjectFormat {
        self.0
    }

    fn tree(&self, oid: Oid) -> Result<Vec<u8>> {
        Err(Error::new(Code::Io, format!("no tree {oid}")))
    }
}

pub(super) fn parse(bytes: Vec<u8>) -> Result<Index> {
    parse_as(ObjectFormat::Sha1, bytes)
}

pub(super) fn parse_as(format: ObjectFormat, bytes: Vec<u8>) -> Result<Index> {
    let nowhere = Path::new("/nonexistent");
    Index::parse(bytes, nowhere, &NoTrees(format), Checksum::Verify)
}

fn id(output: &[u8]) -> Oid {
    let text = String::from_utf8_lossy(output);
    Oid::from_hex(text.trim()).expect("git prints an id")
}

/// The index as `git ls-files --stage --debug -z` shows it, flags masked to those on disk.
fn show(index: &Index) -> String {
    let mut out = String::new();
    for (path, entry) in index.iter() {
        let stat = entry.stat;
        let mut flags = u32::from(entry.stage) << 12;
        for (mark, bit) in [
            (Flags::ASSUME_VALID, 0x8000),
            (Flags::INTENT_TO_ADD, 0x2000_0000),
            (Flags::SKIP_WORKTREE, 0x4000_0000),
        ] {
            if entry.flags.contains(mark) {
                flags |= bit;
            }
        }
        write!(
            out,
            "{:06o} {} {}\t{}\0  ctime: {}:{}\n  mtime: {}:{}\n  dev: {}\tino: {}\n  uid: {}\tgid: {}\n  size: {}\tflags: {flags:x}\n",
            entry.mode,
            entry.oid,
            entry.stage,
            String::from_utf8_lossy(path),
            stat.ctime.0,
            stat.ctime.1,
            stat.mtime.0,
            stat.mtime.1,
            stat.dev,
            stat.ino,
            stat.uid,
            stat.gid,
            stat.size,
        )
        .expect("a string takes everything");
    }
    out
}
