//! What plain git says of a snapshot: paths, bytes, health. The engine is not asked.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

/// A name that may not be UTF-8.
pub fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

impl Sandbox {
    /// Takes a snapshot and gives its record.
    pub fn snap(&self) -> Value {
        self.snap_with::<&str>([])
    }

    /// Takes a snapshot with options and gives its record.
    pub fn snap_with<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Value {
        let mut all: Vec<OsString> = vec!["snapshot".into()];
        all.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self.json(all)["snapshot"].clone()
    }

    /// What git ran, as bytes.
    pub fn git_bytes<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Vec<u8> {
        let ran: Ran = self.try_git(args);
        assert_eq!(ran.code, 0, "{}", ran.err());
        ran.stdout
    }

    /// Every path of a tree-ish with `<mode> <id>`.
    pub fn tree(&self, treeish: &str) -> BTreeMap<Vec<u8>, String> {
        let out = self.git_bytes(["ls-tree", "-r", "-z", "--full-tree", treeish]);
        out.split(|&byte| byte == 0)
            .filter(|line| !line.is_empty())
            .map(|line| {
                let tab = line.iter().position(|&byte| byte == b'\t').unwrap();
                let words = String::from_utf8(line[..tab].to_vec()).unwrap();
                let (mode, rest) = words.split_once(' ').unwrap();
                let (_, oid) = rest.split_once(' ').unwrap();
                (line[tab + 1..].to_vec(), format!("{mode} {oid}"))
            })
            .collect()
    }

    /// The paths of a snapshot's tree, as text.
    pub fn paths(&self, snapshot: &Value) -> Vec<String> {
        let tree = self.tree(commit(snapshot));
        tree.keys()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect()
    }

    /// The bytes that a tree-ish has at a path.
    pub fn blob(&self, treeish: &str, path: impl AsRef<OsStr>) -> Vec<u8> {
        let mut spec = OsString::from(format!("{treeish}:")).into_vec();
        spec.extend_from_slice(path.as_ref().as_bytes());
        self.git_bytes([OsStr::new("cat-file"), OsStr::new("blob"), os(&spec)])
    }

    /// git's strictest look at the repository: its exit status, and what it says.
    pub fn strictest_look(&self) -> (i32, String) {
        let ran = self.try_git([
            "fsck",
            "--strict",
            "--full",
            "--no-dangling",
            "--no-progress",
        ]);
        (ran.code, format!("{}{}", ran.out(), ran.err()))
    }

    /// Fails unless git finds nothing wrong with the repository, in the strictest way.
    #[track_caller]
    pub fn assert_sound(&self) {
        let (code, said) = self.strictest_look();
        let said = said.replace("notice: HEAD points to an unborn branch (main)\n", "");
        assert_eq!((code, said.as_str()), (0, ""));
    }

    /// The hardest gc there is.
    pub fn gc(&self) {
        self.git(["reflog", "expire", "--expire=now", "--all"]);
        self.git(["gc", "-q", "--prune=now"]);
    }

    /// Every object id there is.
    pub fn objects(&self) -> Vec<String> {
        let out = self.git([
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname) %(objecttype)",
            "--unordered",
        ]);
        let mut lines: Vec<String> = out.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// The commit id of a record.
pub fn commit(snapshot: &Value) -> &str {
    snapshot["commit"].as_str().unwrap()
}

/// The id of a record.
pub fn id(snapshot: &Value) -> &str {
    snapshot["snapshot_id"].as_str().unwrap()
}

/// Path and reason of everything not captured.
pub fn uncaptured(snapshot: &Value) -> Vec<(String, String)> {
    let list = snapshot["uncaptured"].as_array().unwrap();
    list.iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            (text("path"), text("reason"))
        })
        .collect()
}
