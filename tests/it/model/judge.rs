//! What a swap must have done, by DESIGN 4 and 11, told from full copies of before, target and after.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Node, World, left_out_by_default};

/// Where a swap leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To what a snapshot has.
    There,
    /// Home to the present: what was made in the past is known and goes, also what the past's rules hide.
    Home,
    /// To the past as it was left.
    PastAgain,
}

/// One swap to be judged.
pub struct Swap<'a> {
    pub before: &'a World,
    pub target: &'a World,
    pub after: &'a World,
    /// Paths that the ignore files of the target name; see [`questions`].
    pub ignored: BTreeSet<String>,
    /// Only what this word of `restore` takes: see [`takes`].
    pub scope: Option<&'a str>,
    pub way: Way,
    /// What the way to the past put there.
    pub placed: &'a BTreeSet<String>,
    /// Inside a stay in the past: files that may be the present's own, which it ignores. They stay.
    pub own: BTreeSet<String>,
}

/// Whether a word of `restore` takes a path: itself and what lies beneath, what ends so (`*END`), or all but one (`:!PATH`).
pub fn takes(word: &str, path: &str) -> bool {
    if let Some(left_out) = word.strip_prefix(":!") {
        return !takes(left_out, path);
    }
    match word.strip_prefix('*') {
        Some(end) => path.ends_with(end),
        None => path == word || beneath(path, word),
    }
}

/// Stands for whatever a directory may hold, when its ignore rules are asked for.
const PROBE: &str = "/probe";

/// The paths whose fate hangs on the target's ignore files.
pub fn questions(worlds: [&World; 3]) -> BTreeSet<String> {
    worlds
        .iter()
        .flat_map(|world| &world.nodes)
        .map(|(path, node)| match node {
            Node::Dir(_) => format!("{path}{PROBE}"),
            _ => path.clone(),
        })
        .collect()
}

fn beneath(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn nested(path: &str) -> bool {
    path == "n" || beneath(path, "n")
}

/// What must stand at a path after the swap.
enum Fate {
    /// What stood there before.
    Same,
    Gone,
    Either,
}

impl Swap<'_> {
    /// All that is wrong with the files and directories.
    pub fn files(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let wanted = self.wanted();
        for (path, node) in &wanted {
            let now = self.after.nodes.get(*path);
            if now != Some(*node) {
                problems.push(format!("{path}: {now:?}, not the target's {node:?}"));
            }
        }
        for (path, node) in &self.before.nodes {
            if node.is_dir() || wanted.contains_key(path.as_str()) {
                continue;
            }
            let now = self.after.nodes.get(path);
            match self.fate(path, &wanted) {
                Fate::Same if now != Some(node) => {
                    problems.push(format!(
                        "{path}: {now:?}, which should have stayed {node:?}"
                    ));
                }
                Fate::Gone if now.is_some_and(|now| !now.is_dir()) => {
                    problems.push(format!("{path}: {now:?}, which should have gone"));
                }
                Fate::Same | Fate::Gone | Fate::Either => {}
            }
        }
        for (path, node) in &self.after.nodes {
            let known = wanted.contains_key(path.as_str())
                || self.before.nodes.get(path).is_some_and(|old| !old.is_dir());
            if !node.is_dir() && !known {
                problems.push(format!("{path}: {node:?} came from nowhere"));
            }
        }
        if self.scope.is_none() {
            self.directories(&mut problems);
        }
        problems
    }

    fn in_scope(&self, path: &str) -> bool {
        self.scope.is_none_or(|scope| takes(scope, path))
    }

    fn wanted(&self) -> BTreeMap<&str, &Node> {
        self.target
            .captured
            .iter()
            .filter(|path| self.in_scope(path) && !self.own.contains(*path))
            .filter_map(|path| Some((path.as_str(), self.target.nodes.get(path)?)))
            .collect()
    }

    fn left_out(&self, path: &str) -> bool {
        !self.target.tracks(path) && (self.ignored.contains(path) || left_out_by_default(path))
    }

    fn hidden_dir(&self, dir: &str) -> bool {
        let probe = format!("{dir}{PROBE}");
        self.ignored.contains(&probe) || left_out_by_default(&probe)
    }

    fn fate(&self, path: &str, wanted: &BTreeMap<&str, &Node>) -> Fate {
        let in_the_way = wanted
            .keys()
            .any(|other| beneath(other, path) || beneath(path, other));
        let ours = self.before.captured.contains(path) || self.placed.contains(path);
        if self.own.contains(path) {
            Fate::Same
        } else if in_the_way {
            Fate::Gone
        } else if self.way != Way::There && self.left_out(path) && ours {
            // The rules there would leave it, and yet it was not there: what a travel wrote goes again.
            Fate::Either
        } else if !self.in_scope(path) || nested(path) || self.left_out(path) {
            Fate::Same
        } else if self.target.nodes.get(path).is_some_and(Node::is_dir) {
            Fate::Either
        } else if self.way == Way::Home || self.before.captured.contains(path) {
            Fate::Gone
        } else {
            Fate::Same
        }
    }

    fn directories(&self, problems: &mut Vec<String>) {
        let dir = |world: &World, path: &str| match world.nodes.get(path) {
            Some(Node::Dir(mode)) => Some(*mode),
            _ => None,
        };
        let empty =
            |world: &World, path: &str| !world.nodes.keys().any(|other| beneath(other, path));
        for path in self.target.nodes.keys().filter(|path| !nested(path)) {
            let Some(mode) = dir(self.target, path) else {
                continue;
            };
            let holds = self.target.captured.iter().any(|file| beneath(file, path));
            if !holds && (!empty(self.target, path) || self.hidden_dir(path)) {
                continue;
            }
            match dir(self.after, path) {
                Some(now) if now == mode => {}
                now => problems.push(format!(
                    "{path}/: {now:?}, not the target's directory {mode:04o}"
                )),
            }
        }
        for path in self.after.nodes.keys().filter(|path| !nested(path)) {
            if dir(self.after, path).is_none() || dir(self.target, path).is_some() {
                continue;
            }
            let files = |world: &World| {
                let mut nodes = world.nodes.iter();
                nodes.any(|(other, node)| beneath(other, path) && !node.is_dir())
            };
            let was_bare = dir(self.before, path).is_some() && !files(self.before);
            let excused =
                files(self.after) || self.hidden_dir(path) || was_bare && self.way != Way::Home;
            if !excused {
                problems.push(format!(
                    "{path}/: an empty directory that the target has not"
                ));
            }
        }
    }

    /// HEAD, index and operation files, where the swap takes them along.
    pub fn git(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let head = self.head();
        if head.as_ref().is_some_and(|head| *head != self.after.head) {
            problems.push(format!("HEAD: {:?}, not {head:?}", self.after.head));
        }
        index(&self.after.index, &self.target.index, &mut problems);
        self.operation(&mut problems);
        problems
    }

    /// What `HEAD` must hold; none where DESIGN says nothing.
    fn head(&self) -> Option<String> {
        let detached = self.target.head_oid.as_ref().map(|oid| format!("{oid}\n"));
        match self.target.head.trim_end().strip_prefix("ref: ") {
            Some(name) if self.way != Way::There => {
                let tip = self.before.refs.get(name);
                if tip == self.target.head_oid.as_ref() {
                    Some(self.target.head.clone())
                } else {
                    detached
                }
            }
            _ => Some(detached.unwrap_or_else(|| self.unborn())),
        }
    }

    /// HEAD on the first branch of ours that is unborn.
    fn unborn(&self) -> String {
        let base = "refs/heads/timewarp/past";
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let free = names.find(|name| !self.before.refs.contains_key(name));
        format!("ref: {}\n", free.unwrap())
    }

    fn operation(&self, problems: &mut Vec<String>) {
        let of_branches = |name: &str| name.starts_with("BISECT") || name.starts_with("rebase");
        let revived = [
            "MERGE_HEAD",
            "MERGE_MSG",
            "MERGE_MODE",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
        ];
        let mut names: BTreeSet<_> = self.after.operation.keys().collect();
        names.extend(self.target.operation.keys());
        let moves_branches = self.target.operation.keys().any(|name| of_branches(name));
        for name in names {
            let wanted = self.target.operation.get(name);
            let now = self.after.operation.get(name);
            if of_branches(name) && self.way != Way::Home {
                if now.is_some() && self.way == Way::There {
                    problems.push(format!("{name}: revived in the past"));
                }
                continue;
            }
            let counts =
                self.way == Way::Home || revived.contains(&name.as_str()) && !moves_branches;
            if counts && now != wanted {
                let show =
                    |bytes: Option<&Vec<u8>>| bytes.map(|bytes| bytes.escape_ascii().to_string());
                problems.push(format!("{name}: {:?}, not {:?}", show(now), show(wanted)));
            }
        }
        let bisect = |world: &World| {
            let mut refs = world.refs.clone();
            refs.retain(|name, _| name.starts_with("refs/bisect/"));
            refs
        };
        if self.way == Way::Home && bisect(self.after) != bisect(self.target) {
            problems.push("refs/bisect/* are not back".to_owned());
        }
    }
}

/// The entries that differ.
pub fn index<T: PartialEq + std::fmt::Debug>(now: &[T], wanted: &[T], problems: &mut Vec<String>) {
    for entry in wanted.iter().filter(|entry| !now.contains(entry)) {
        problems.push(format!("index lacks {entry:?}"));
    }
    for entry in now.iter().filter(|entry| !wanted.contains(entry)) {
        problems.push(format!("index has {entry:?}"));
    }
}

/// What an undo of a restore must have done: the paths it touched are as they were, all else is left alone.
pub fn touched(level: (&World, &World), before: &World, after: &World) -> Vec<String> {
    let file =
        |world: &World, path: &str| world.nodes.get(path).filter(|node| !node.is_dir()).cloned();
    let paths: BTreeSet<_> = level.0.nodes.keys().chain(level.1.nodes.keys()).collect();
    let wanted: BTreeMap<&str, Option<Node>> = paths
        .into_iter()
        .filter(|path| file(level.0, path) != file(level.1, path))
        .map(|path| (path.as_str(), file(level.0, path)))
        .collect();
    let mut problems = Vec::new();
    for (path, node) in &wanted {
        let now = file(after, path);
        if now != *node {
            problems.push(format!("{path}: {now:?}, not as it was, {node:?}"));
        }
    }
    let placed: Vec<_> = wanted
        .iter()
        .filter(|(_, node)| node.is_some())
        .map(|(path, _)| *path)
        .collect();
    for path in before.nodes.keys().chain(after.nodes.keys()) {
        let in_the_way = placed
            .iter()
            .any(|other| beneath(other, path) || beneath(path, other));
        if !in_the_way
            && !wanted.contains_key(path.as_str())
            && file(before, path) != file(after, path)
        {
            problems.push(format!("{path}: touched by an undo that should not"));
        }
    }
    problems
}
