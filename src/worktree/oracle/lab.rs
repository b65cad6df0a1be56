//! A repository to ask git in.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::random::{Random, name};

/// A repository whose files are made anew each round.
pub(super) struct Lab {
    home: tempfile::TempDir,
    /// Every path of this round, and whether it is a directory.
    pub(super) paths: BTreeMap<Vec<u8>, bool>,
}

impl Lab {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let lab = Self {
            home,
            paths: BTreeMap::new(),
        };
        std::fs::create_dir(lab.root()).expect("an empty place");
        lab.git(&["init", "-q"], b"");
        lab
    }

    pub(super) fn root(&self) -> PathBuf {
        self.home.path().join("repo")
    }

    pub(super) fn git(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = crate::provided::git(self.home.path())
            .args(args)
            .current_dir(self.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("git runs");
        let mut stdin = child.stdin.take().expect("it is piped");
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input).expect("git reads"));
            child.wait_with_output().expect("git ends").stdout
        })
    }

    /// Empties the working tree and grows another one.
    pub(super) fn regrow(&mut self, random: &mut Random) {
        for entry in std::fs::read_dir(self.root()).expect("readable") {
            let path = entry.expect("readable").path();
            if path.file_name() == Some(OsStr::new(".git")) {
                continue;
            }
            if path.is_dir() {
                std::fs::remove_dir_all(path).expect("removable");
            } else {
                std::fs::remove_file(path).expect("removable");
            }
        }
        self.paths.clear();
        let mut dirs = vec![Vec::new()];
        for _ in 0..70 {
            let above = dirs[random.below(dirs.len())].clone();
            let path = crate::git::path::join(&above, name(random).as_bytes());
            if self.paths.contains_key(&path) {
                continue;
            }
            let is_dir = random.below(5) < 2;
            if is_dir {
                std::fs::create_dir(self.at(&path)).expect("a new directory");
                dirs.push(path.clone());
            } else {
                self.write(&path, b"");
            }
            self.paths.insert(path, is_dir);
        }
    }

    pub(super) fn dirs(&self) -> Vec<Vec<u8>> {
        let found = self.paths.iter().filter(|(_, is_dir)| **is_dir);
        [Vec::new()]
            .into_iter()
            .chain(found.map(|(path, _)| path.clone()))
            .collect()
    }

    /// Puts a file into some of the directories, and keeps what it wrote.
    pub(super) fn scatter(
        &self,
        name: &str,
        random: &mut Random,
        make: fn(&mut Random) -> Vec<u8>,
    ) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut written = BTreeMap::new();
        for dir in self.dirs() {
            if dir.is_empty() || random.one_in(3) {
                let bytes = make(random);
                self.write(&crate::git::path::join(&dir, name.as_bytes()), &bytes);
                written.insert(dir, bytes);
            }
        }
        written
    }

    pub(super) fn at(&self, path: &[u8]) -> PathBuf {
        self.root().join(Path::new(OsStr::from_bytes(path)))
    }

    pub(super) fn write(&self, path: &[u8], bytes: &[u8]) {
        std::fs::write(self.at(path), bytes).expect("writable");
    }

    pub(super) fn stdin(&self) -> Vec<u8> {
        let mut input = Vec::new();
        for path in self.paths.keys() {
            input.extend_from_slice(b"./");
            input.extend_from_slice(path);
            input.push(0);
        }
        input
    }
}
