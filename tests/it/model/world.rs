//! A full copy of everything that `tw` may touch, taken by plain git and the file system alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use timewarp::git::ObjectFormat;
use timewarp::git::objects::{ObjectKind, hash};

use crate::sandbox::Sandbox;
use crate::state::{OPERATION, OPERATION_DIRS};

/// What stands at a path.
#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    Dir(u32),
    File(u32, Vec<u8>),
    Link(Vec<u8>),
}

impl Node {
    pub fn is_dir(&self) -> bool {
        matches!(self, Self::Dir(_))
    }

    /// Git's mode and the blob's id; none for a directory.
    pub fn entry(&self, format: ObjectFormat) -> Option<(&'static str, String)> {
        match self {
            Self::Dir(_) => None,
            Self::File(mode, bytes) if mode & 0o100 != 0 => {
                Some(("100755", blob_id(format, bytes)))
            }
            Self::File(_, bytes) => Some(("100644", blob_id(format, bytes))),
            Self::Link(target) => Some(("120000", blob_id(format, target))),
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dir(mode) => write!(f, "directory {mode:04o}"),
            Self::File(mode, bytes) => write!(f, "file {mode:04o} \"{}\"", bytes.escape_ascii()),
            Self::Link(target) => write!(f, "symlink to {}", target.escape_ascii()),
        }
    }
}

fn blob_id(format: ObjectFormat, bytes: &[u8]) -> String {
    let oid = hash(format, ObjectKind::Blob, bytes);
    oid.map_or_else(|_| String::new(), |oid| oid.to_string())
}

/// One index entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `H`, `S`, `M`, …; in lower case when assumed unchanged.
    pub tag: String,
    pub mode: String,
    pub oid: String,
    pub stage: String,
    pub path: String,
    pub intent_to_add: bool,
}

impl Entry {
    /// Git looks at the file of such an entry.
    pub fn is_watched(&self) -> bool {
        self.tag == "H" && self.mode != "160000"
    }
}

/// The two modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Present,
    Past,
}

/// The copy.
#[derive(Clone, PartialEq, Eq)]
pub struct World {
    /// Of the repository's ids.
    pub format: ObjectFormat,
    pub nodes: BTreeMap<String, Node>,
    /// Files and symlinks that a snapshot takes, by DESIGN 3.
    pub captured: BTreeSet<String>,
    pub index: Vec<Entry>,
    pub head_paths: BTreeSet<String>,
    /// Content of `HEAD`.
    pub head: String,
    /// The commit that HEAD leads to.
    pub head_oid: Option<String>,
    pub refs: BTreeMap<String, String>,
    pub operation: BTreeMap<String, Vec<u8>>,
    pub mode: Mode,
}

impl World {
    pub fn take(sandbox: &Sandbox) -> Self {
        let git = |args: &[&str]| {
            let ran = sandbox.try_git([&["--no-optional-locks"], args].concat());
            if ran.code == 0 {
                ran.out()
            } else {
                String::new()
            }
        };
        let repo = sandbox.repo();
        let mut nodes = BTreeMap::new();
        walk(&repo, &repo, &mut nodes);
        let index = entries(&git(&["ls-files", "--stage", "-t", "-v", "--debug"]));
        let head_paths: BTreeSet<String> = git(&["ls-tree", "-r", "-z", "--name-only", "HEAD"])
            .split_terminator('\0')
            .map(str::to_owned)
            .collect();
        let others = git(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let others = others
            .split_terminator('\0')
            .filter(|path| !left_out_by_default(path));
        let captured = index
            .iter()
            .map(|entry| entry.path.as_str())
            .chain(head_paths.iter().map(String::as_str))
            .chain(others)
            .filter(|path| nodes.get(*path).is_some_and(|node| !node.is_dir()))
            .map(str::to_owned)
            .collect();
        let mut refs: BTreeMap<_, _> = git(&["for-each-ref", "--format=%(refname) %(objectname)"])
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, oid)| (name.to_owned(), oid.to_owned()))
            .collect();
        refs.retain(|name, _| {
            !name.starts_with("refs/timewarp/") && !name.starts_with("refs/notes/timewarp/")
        });
        let head = sandbox.head();
        let head_oid = match head.trim_end().strip_prefix("ref: ") {
            Some(name) => refs.get(name).cloned(),
            None => Some(head.trim_end().to_owned()),
        };
        Self {
            format: sandbox.kind().format(),
            nodes,
            captured,
            index,
            head_paths,
            head,
            head_oid,
            refs,
            operation: operation(&sandbox.git_dir()),
            mode: mode(&sandbox.git_dir()),
        }
    }

    /// True when git would not call the path untracked.
    pub fn tracks(&self, path: &str) -> bool {
        self.head_paths.contains(path) || self.index.iter().any(|entry| entry.path == path)
    }

    /// The captured node at a path.
    pub fn taken(&self, path: &str) -> Option<&Node> {
        self.captured
            .contains(path)
            .then(|| self.nodes.get(path))
            .flatten()
    }

    /// Paths whose file is not what the index has, as `git diff-files` must say.
    pub fn unstaged(&self) -> BTreeSet<String> {
        let stands = |path: &str| self.nodes.get(path)?.entry(self.format);
        let differs = |entry: &&Entry| match stands(&entry.path) {
            _ if entry.stage != "0" || entry.intent_to_add => true,
            Some((mode, oid)) => mode != entry.mode || oid != entry.oid,
            None => true,
        };
        let mut paths: BTreeSet<_> = self
            .index
            .iter()
            .filter(|entry| entry.stage != "0" || entry.is_watched())
            .filter(differs)
            .map(|entry| entry.path.clone())
            .collect();
        paths.remove("n");
        paths
    }
}

/// What the default globs hide among the paths of the steps.
pub fn left_out_by_default(path: &str) -> bool {
    // git's globs are case-sensitive.
    path.split('/')
        .any(|name| name.strip_suffix(".log").is_some())
        || path.starts_with("node_modules/")
        || path.ends_with('/')
}

fn walk(root: &Path, dir: &Path, nodes: &mut BTreeMap<String, Node>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path == root.join(".git") {
            continue;
        }
        let meta = path.symlink_metadata().unwrap();
        let mode = meta.mode() & 0o7777;
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let node = if meta.is_dir() {
            walk(root, &path, nodes);
            Node::Dir(mode)
        } else if meta.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            Node::Link(target.into_os_string().into_encoded_bytes())
        } else {
            Node::File(mode, std::fs::read(&path).unwrap())
        };
        nodes.insert(name, node);
    }
}

/// Reads `git ls-files --stage -t -v --debug`.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        if let Some((_, flags)) = line.split_once("flags: ") {
            let flags = u32::from_str_radix(flags.trim(), 16).unwrap();
            if let Some(last) = entries.last_mut() {
                last.intent_to_add = flags & 0x2000_0000 != 0;
            }
        } else if !line.starts_with("  ") {
            let (facts, path) = line.split_once('\t').unwrap();
            let facts: Vec<_> = facts.split(' ').map(str::to_owned).collect();
            let [tag, mode, oid, stage] = facts.try_into().unwrap();
            entries.push(Entry {
                tag,
                mode,
                oid,
                stage,
                path: path.to_owned(),
                intent_to_add: false,
            });
        }
    }
    entries
}

fn operation(git_dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in OPERATION {
        if let Ok(bytes) = std::fs::read(git_dir.join(name)) {
            files.insert(name.to_owned(), bytes);
        }
    }
    for name in OPERATION_DIRS {
        let mut nodes = BTreeMap::new();
        let dir: PathBuf = git_dir.join(name);
        if dir.is_dir() {
            walk(git_dir, &dir, &mut nodes);
        }
        for (path, node) in nodes {
            if let Node::File(_, bytes) = node {
                files.insert(path, bytes);
            }
        }
    }
    files
}

fn mode(git_dir: &Path) -> Mode {
    let Ok(bytes) = std::fs::read(git_dir.join("timewarp/state.json")) else {
        return Mode::Present;
    };
    let state: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    if state["mode"] == "past" {
        Mode::Past
    } else {
        Mode::Present
    }
}
