//! Everything that `travel` and `return` promise to bring back, taken by plain git and the file system alone.

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::sandbox::Sandbox;

/// Files in the git directory that belong to a merge, rebase, cherry-pick, revert or bisect under way.
pub const OPERATION: [&str; 17] = [
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "AUTO_MERGE",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
];

pub const OPERATION_DIRS: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];

/// Each fact by its name: a path with type, mode and content, or one answer of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State(BTreeMap<String, String>);

impl State {
    /// Takes the state of the working tree at `worktree`.
    pub fn capture(sandbox: &Sandbox, worktree: &Path) -> Self {
        let mut facts = BTreeMap::new();
        files(worktree, worktree, "file", &mut facts);
        // Without optional locks, or status would write the index that it is asked about.
        let git = |args: &[&str]| {
            let args = [&["--no-optional-locks"], args].concat();
            let ran = sandbox.try_git_in(worktree, &args);
            // NUL-separated answers are easier to compare by line; names with line feeds stay distinct enough.
            format!("{}\n{}", ran.code, ran.out().replace('\0', "\n"))
        };
        for (name, args) in [
            ("index", &["ls-files", "--stage", "-t", "-v", "-z"][..]),
            ("status", &["status", "--porcelain=v2", "--branch", "-z"]),
        ] {
            insert_lines(&mut facts, name, &git(args));
        }
        let git_dir = git_dir_of(sandbox, worktree);
        let has_reftable = git_dir.join("reftable").is_dir();
        let mut list = vec![
            "for-each-ref",
            "--format=%(refname) %(objectname) %(symref)",
        ];
        // What is beside HEAD is a file otherwise.
        list.extend(has_reftable.then_some("--include-root-refs"));
        let refs = git(&list);
        let ours = |line: &&str| {
            !line.starts_with("refs/timewarp/") && !line.starts_with("refs/notes/timewarp/")
        };
        let is_beside_head = |line: &&str| {
            let name = line.split(' ').next().unwrap();
            name.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
                && name.len() > 1
        };
        let refs = refs.lines().filter(ours);
        let (beside_head, refs): (Vec<_>, Vec<_>) = refs.partition(is_beside_head);
        insert_lines(&mut facts, "ref", &refs.join("\n"));
        // Where it has no ref it has no entry.
        if refs.iter().any(|line| line.starts_with("refs/stash ")) {
            let stash = git(&["stash", "list", "--format=%H %gs"]);
            insert_lines(&mut facts, "stash", &stash);
        }
        operation(&git_dir, &mut facts);
        for line in beside_head {
            let (name, value) = line.split_once(' ').unwrap();
            let name = match name {
                "HEAD" => "HEAD".to_owned(),
                other => format!("operation {other}"),
            };
            facts.insert(name, value.to_owned());
        }
        if has_reftable {
            // An unborn one is no ref to git.
            let unborn = || git(&["symbolic-ref", "-q", "HEAD"]);
            facts.entry("HEAD".to_owned()).or_insert_with(unborn);
        }
        Self(facts)
    }

    /// Fails with the facts that differ.
    #[track_caller]
    pub fn assert_same(&self, other: &Self) {
        let differences = self.differences(other);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    /// One line for each fact that differs: gone (`-`) or new (`+`).
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (sign, one, two) in [('-', self, other), ('+', other, self)] {
            for (name, value) in &one.0 {
                if two.0.get(name) != Some(value) {
                    lines.push(format!("{sign} {name}: {value}"));
                }
            }
        }
        lines.sort_by(|a, b| a[2..].cmp(&b[2..]).then(b[..1].cmp(&a[..1])));
        lines
    }
}

/// Where git keeps what it has of a working tree. It is asked only where that is not plain to see.
fn git_dir_of(sandbox: &Sandbox, worktree: &Path) -> PathBuf {
    let is_main = worktree == sandbox.repo();
    let plain = if is_main {
        sandbox.git_dir()
    } else {
        worktree.join(".git")
    };
    if plain.is_dir() {
        return plain;
    }
    let said = sandbox.git_in(worktree, ["rev-parse", "--absolute-git-dir"]);
    PathBuf::from(said.trim_end())
}

fn insert_lines(facts: &mut BTreeMap<String, String>, name: &str, text: &str) {
    for (at, line) in text.lines().enumerate() {
        facts.insert(format!("{name} {at:05}"), line.to_owned());
    }
}

fn operation(git_dir: &Path, facts: &mut BTreeMap<String, String>) {
    let head = std::fs::read(git_dir.join("HEAD")).unwrap();
    facts.insert("HEAD".to_owned(), String::from_utf8(head).unwrap());
    for name in OPERATION {
        if let Ok(bytes) = std::fs::read(git_dir.join(name)) {
            facts.insert(format!("operation {name}"), content(&bytes));
        }
    }
    for name in OPERATION_DIRS {
        let dir = git_dir.join(name);
        if dir.is_dir() {
            files(git_dir, &dir, "operation", facts);
        }
    }
}

/// Every path below `dir` but `.git` itself: type, permission bits, content or target. Directories too, so that empty
/// ones count.
fn files(root: &Path, dir: &Path, what: &str, facts: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path == root.join(".git") {
            continue;
        }
        let meta = path.symlink_metadata().unwrap();
        let kind = meta.file_type();
        let mode = meta.mode() & 0o7777;
        let fact = if kind.is_dir() {
            format!("directory {mode:04o}")
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            format!("symlink to {}", escaped(target.as_os_str().as_bytes()))
        } else if kind.is_file() {
            let body = std::fs::read(&path)
                .map_or_else(|error| error.to_string(), |bytes| content(&bytes));
            format!("file {mode:04o} {body}")
        } else if kind.is_fifo() {
            format!("pipe {mode:04o}")
        } else {
            format!("other {mode:04o}")
        };
        let name = path.strip_prefix(root).unwrap().to_path_buf();
        let name = escaped(&name.into_os_string().into_vec());
        facts.insert(format!("{what} {name}"), fact);
        if kind.is_dir() && std::fs::read_dir(&path).is_ok() {
            files(root, &path, what, facts);
        }
    }
}

/// Short content as it is, long content by its hash.
fn content(bytes: &[u8]) -> String {
    if bytes.len() <= 60 {
        return format!("\"{}\"", escaped(bytes));
    }
    format!("{} bytes {:x}", bytes.len(), Sha256::digest(bytes))
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[test]
fn every_kind_of_change_is_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "two\n");
    sandbox.symlink("a.txt", "link");
    let before = sandbox.state();
    let changes: [(&str, &dyn Fn()); 8] = [
        ("a byte", &|| sandbox.write("dir/b.txt", "twö\n")),
        ("a mode", &|| sandbox.chmod("dir/b.txt", 0o600)),
        ("a target", &|| {
            sandbox.remove("link");
            sandbox.symlink("dir", "link");
        }),
        ("an empty directory", &|| sandbox.mkdir("empty")),
        ("the index", &|| drop(sandbox.git(["add", "dir/b.txt"]))),
        ("an index flag", &|| {
            sandbox.git(["update-index", "--assume-unchanged", "a.txt"]);
        }),
        ("a branch", &|| drop(sandbox.git(["branch", "other"]))),
        ("HEAD", &|| {
            drop(sandbox.git(["checkout", "-q", "--detach"]));
        }),
    ];
    let mut last = before;
    for (name, change) in changes {
        change();
        let now = sandbox.state();
        assert!(!last.differences(&now).is_empty(), "{name}");
        last = now;
    }
    last.assert_same(&sandbox.state());
}

#[test]
fn an_operation_under_way_and_the_stash_are_seen() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "other\n");
    sandbox.git(["commit", "-q", "-am", "other"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    let before = sandbox.state();
    sandbox.git(["stash", "-q"]);
    let stashed = sandbox.state().differences(&before);
    assert!(
        stashed.iter().any(|line| line.contains(" stash ")),
        "{stashed:?}"
    );
    sandbox.git(["stash", "pop", "-q"]);
    sandbox.git(["commit", "-q", "-am", "main"]);
    let before = sandbox.state();
    assert_eq!(sandbox.try_git(["merge", "-q", "other"]).code, 1);
    let merging = before.differences(&sandbox.state());
    for fact in [
        "+ operation MERGE_HEAD",
        "+ index 00003",
        "+ operation AUTO_MERGE",
    ] {
        assert!(
            merging.iter().any(|line| line.starts_with(fact)),
            "{fact}: {merging:?}"
        );
    }
    sandbox.git(["merge", "--abort"]);
}
