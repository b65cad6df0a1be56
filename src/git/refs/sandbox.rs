//! A real repository in a temporary directory, and plain git beside it with nothing of this machine's settings.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::git::Oid;

use super::{RefFormat, Refs};

pub(in crate::git) struct Sandbox {
    dir: tempfile::TempDir,
    format: RefFormat,
}

impl Sandbox {
    pub(in crate::git) fn new() -> Self {
        Self::with(RefFormat::Files)
    }

    pub(in crate::git) fn with(format: RefFormat) -> Self {
        crate::provided::usual_umask();
        let dir = tempfile::tempdir().expect("temporary directory");
        std::fs::create_dir(dir.path().join("home")).expect("home");
        let sandbox = Self { dir, format };
        let name = match format {
            RefFormat::Files => "files",
            RefFormat::Reftable => "reftable",
        };
        let format = format!("--ref-format={name}");
        sandbox.git(&["init", "-q", "-b", "main", &format, "repo"]);
        sandbox
    }

    pub(in crate::git) fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub(in crate::git) fn git_dir(&self) -> PathBuf {
        self.repo().join(".git")
    }

    pub(in crate::git) fn refs(&self) -> Refs {
        Refs::new(self.git_dir(), self.git_dir(), self.format)
    }

    /// Runs git in the repository and gives what it printed; it must succeed.
    pub(in crate::git) fn git(&self, args: &[&str]) -> String {
        self.try_git(args)
            .unwrap_or_else(|| panic!("git {args:?} failed"))
    }

    pub(in crate::git) fn try_git(&self, args: &[&str]) -> Option<String> {
        let repo = self.repo();
        let dir: &Path = if repo.exists() {
            &repo
        } else {
            self.dir.path()
        };
        self.run(dir, args, "")
    }

    pub(in crate::git) fn git_with_input(&self, args: &[&str], input: &str) -> String {
        self.run(&self.repo(), args, input)
            .unwrap_or_else(|| panic!("git {args:?} failed"))
    }

    fn run(&self, dir: &Path, args: &[&str], input: &str) -> Option<String> {
        use std::io::Write as _;
        let mut child = crate::provided::git(&self.dir.path().join("home"))
            .args(args)
            .current_dir(dir)
            .env("GIT_AUTHOR_NAME", "A U Thor")
            .env("GIT_AUTHOR_EMAIL", "author@example.com")
            .env("GIT_COMMITTER_NAME", "C O Mitter")
            .env("GIT_COMMITTER_EMAIL", "committer@example.com")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).expect("git reads");
        drop(stdin);
        let output = child.wait_with_output().expect("git ends");
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// An empty commit of its own, told apart by `message`.
    pub(in crate::git) fn commit(&self, message: &str) -> Oid {
        let tree = self.git(&["mktree"]);
        let commit = self.git(&["commit-tree", "-m", message, tree.trim()]);
        Oid::from_hex(commit.trim()).expect("git prints ids")
    }

    /// What `git for-each-ref` lists under `prefix`.
    pub(in crate::git) fn for_each_ref(&self, prefix: &str) -> Vec<(String, Oid)> {
        let format = "--format=%(refname) %(objectname)";
        let text = self.git(&["for-each-ref", format, prefix]);
        text.lines()
            .map(|line| {
                let (name, hex) = line.split_once(' ').expect("two words");
                (name.to_owned(), Oid::from_hex(hex).expect("git prints ids"))
            })
            .collect()
    }
}
