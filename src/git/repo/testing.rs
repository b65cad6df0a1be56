//! Real repositories in temporary directories, for the tests of this layer.

use std::path::{Path, PathBuf};

use super::Repo;
use crate::env::Env;

/// A repository that no configuration of the machine reaches. It goes when dropped.
pub(in crate::git) struct TestRepo {
    temp: tempfile::TempDir,
    top: PathBuf,
}

impl TestRepo {
    /// `git init` in a fresh directory, on the branch `main`.
    pub fn new() -> Self {
        let test = Self::empty();
        test.git(&["init", "-q", "-b", "main"]);
        test
    }

    /// The fresh directory alone.
    pub fn empty() -> Self {
        crate::provided::usual_umask();
        let temp = tempfile::tempdir().expect("a temporary directory");
        let top = std::fs::canonicalize(temp.path())
            .expect("resolved")
            .join("top");
        std::fs::create_dir(&top).expect("made");
        Self { temp, top }
    }

    /// The top of the working tree.
    pub fn dir(&self) -> &Path {
        &self.top
    }

    /// A directory beside the working tree.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.top.with_file_name(name)
    }

    /// The repository, as `tw` finds it.
    pub fn open(&self) -> Repo {
        Repo::discover(&self.top, &Env::default()).expect("a repository")
    }

    /// Writes a file of the working tree.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// Writes an executable file.
    pub fn executable(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        crate::provided::write_program(&path, text);
    }

    /// Runs git at the top; it must succeed.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.top, args)
    }

    /// Runs git in `dir`; it must succeed.
    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let (ok, said) = self.try_git_in(dir, args);
        assert!(ok, "git {args:?}: {said}");
        said
    }

    /// Runs git in `dir` and gives whether it succeeded, with all that it said.
    pub fn try_git_in(&self, dir: &Path, args: &[&str]) -> (bool, String) {
        let output = crate::provided::git(self.temp.path())
            .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "@1700000000 +0000")
            .env("GIT_EDITOR", "true")
            .args([
                "-c",
                "user.name=A U Thor",
                "-c",
                "user.email=author@example.com",
            ])
            .args(["-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(dir)
            .output()
            .expect("git runs");
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        (output.status.success(), said)
    }
}
