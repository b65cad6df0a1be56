//! Runs the steps and keeps the full copies that each command is held against.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::judge::{self, Swap, Way};
use super::step::{SHELL, Step};
use super::world::{Mode, World, left_out_by_default};
use crate::sandbox::Sandbox;
use crate::watch::End;

/// The watcher's answers are what is tried, not how quick it is beside many tests.
const WATCH_PATIENCE: (&str, &str) = ("TW_TEST_WATCH_PATIENCE", "20000");

/// A snapshot and the world it was taken of.
struct Saved {
    id: String,
    world: World,
}

/// A swap that can be undone or redone.
struct Level {
    before: World,
    after: World,
    /// From one past to another.
    is_hop: bool,
}

/// What a command answered, and the worlds around it.
struct Answered {
    document: Value,
    /// Paths that git held for changed, although they were not, until it looks.
    stale: BTreeSet<String>,
    before: World,
    after: World,
}

impl Answered {
    fn ok(&self) -> bool {
        self.document["ok"] == true
    }

    fn code(&self) -> &str {
        self.document["error"]["code"].as_str().unwrap_or_default()
    }
}

pub struct Drive {
    /// Ends the watcher, when there is one. Before the sandbox goes.
    watcher: Option<End>,
    sandbox: Sandbox,
    lines: Vec<String>,
    saved: Vec<Saved>,
    /// The present, while in the past.
    home: Option<World>,
    /// What the last way to the past put in place.
    placed: BTreeSet<String>,
    /// What the swaps of this stay in the past made where nothing was.
    made: BTreeSet<String>,
    undo: Vec<Level>,
    redo: Vec<Level>,
    /// Blobs of every captured path that a swap has met.
    keep: BTreeMap<String, String>,
    pub problems: Vec<String>,
}

/// Where the repository is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Git {
    /// `.git`.
    InTheDirectory,
    /// The directory has none, and `tw` no git program: its history is in a private repository.
    Elsewhere,
}

const BEGIN: [&str; 4] = [
    "put a 'v0\\n'; put d/a 'v0\\n'; put d/e/c 'v1\\n'; put x.sh 'v0\\n'; chmod 755 x.sh",
    "git add -A; git commit -q -m first",
    "put a 'v1\\n'; git commit -q -am second",
    "git checkout -q -b other HEAD~; put a 'v2\\n'; put b 'v0\\n'; git add -A; git commit -q -m third; git checkout -q main",
];

impl Drive {
    pub fn new(unborn: bool, git: Git) -> Self {
        let mut drive = Self {
            watcher: None,
            sandbox: match git {
                Git::InTheDirectory => Sandbox::bare_room(),
                Git::Elsewhere => Sandbox::without_git(),
            },
            lines: Vec::new(),
            saved: Vec::new(),
            home: None,
            placed: BTreeSet::new(),
            made: BTreeSet::new(),
            undo: Vec::new(),
            redo: Vec::new(),
            keep: BTreeMap::new(),
            problems: Vec::new(),
        };
        for dir in ["repo", "rules"] {
            std::fs::create_dir_all(drive.sandbox.root().join(dir)).unwrap();
        }
        let rules = drive.sandbox.root().join("rules");
        drive.sandbox.git_in(&rules, ["init", "-q", "--template="]);
        match git {
            Git::InTheDirectory => drive.shell("git init -q --template= -b main"),
            Git::Elsewhere => drive.lines.push(
                "tw -q init --here -y; export GIT_WORK_TREE=$PWD \
                 GIT_DIR=$(tw --json init --here | sed -n 's/.*\"repository\": *\"\\([^\"]*\\)\".*/\\1/p')"
                    .to_owned(),
            ),
        }
        drive.shell("git config core.quotePath false; git config gc.auto 0");
        if !unborn {
            for line in BEGIN {
                drive.shell(line);
            }
        }
        if std::env::var_os("TW_MODEL_WATCH").is_some() {
            drive.watcher = Some(End(drive.sandbox.path(".git")));
            let mut command = drive.sandbox.tw_command();
            command.env(WATCH_PATIENCE.0, WATCH_PATIENCE.1);
            Sandbox::json_of(command, ["watch", "start"]);
            drive.lines.push("tw watch start".to_owned());
        }
        drive
    }

    /// What happened so far, for a shell in an empty directory.
    pub fn script(&self) -> String {
        format!("{SHELL}{}\n", self.lines.join("\n"))
    }

    fn shell(&mut self, line: &str) {
        let mut command = self.sandbox.command("sh");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Test")
                .env(format!("GIT_{role}_EMAIL"), "test@example.com");
        }
        command.env("GIT_EDITOR", "true");
        let _ = command
            .args(["-c", &format!("umask 022\n{SHELL}{line}")])
            .output()
            .unwrap();
        self.lines.push(line.to_owned());
    }

    pub fn step(&mut self, step: &Step) {
        match step {
            Step::Shell(line) => self.shell(line),
            Step::Snapshot => self.snapshot(),
            Step::Travel(nth) => self.travel(*nth),
            Step::Trip(nth) if self.home.is_none() => self.travel(*nth),
            Step::Hop(nth) if self.home.is_none() => self.travel(*nth),
            Step::Hop(nth) => self.hop(*nth),
            Step::Return | Step::Trip(_) => self.go_home(),
            Step::Restore(nth, path) => self.restore(*nth, *path),
            Step::Undo => self.step_over("undo"),
            Step::Redo => self.step_over("redo"),
            Step::Recover => self.recover(),
        }
    }

    /// The last look: git finds the repository whole, and everything is still there.
    pub fn end(&mut self) {
        if !self.problems.is_empty() {
            return;
        }
        self.check_kept();
        let ran = self
            .sandbox
            .try_git(["fsck", "--strict", "--no-dangling", "--no-progress"]);
        // Git's own index names the empty tree, which it knows without having it, and fsck misses it.
        let empty = self.sandbox.git(["hash-object", "-t", "tree", "/dev/null"]);
        let empty = format!("missing tree {}", empty.trim());
        let text = format!("{}{}", ran.out(), ran.err());
        let harmless = |line: &&str| **line == empty || line.starts_with("notice: ");
        if let Some(line) = text.lines().find(|line| !harmless(line)) {
            self.problems.push(format!("fsck: {line}"));
        }
    }

    // --- commands ---

    fn tw(&mut self, args: &[&str]) -> Answered {
        let before = World::take(&self.sandbox);
        let stale = &self.diff_files() - &before.unstaged();
        let mut command = self.sandbox.tw_command();
        if self.watcher.is_some() {
            command.env(WATCH_PATIENCE.0, WATCH_PATIENCE.1);
        }
        let output = command.arg("--json").args(args).output().unwrap();
        let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            let text = String::from_utf8_lossy(&output.stderr);
            self.problems.push(format!("tw {args:?}: {error}: {text}"));
            Value::Null
        });
        let answered = Answered {
            document,
            stale,
            before,
            after: World::take(&self.sandbox),
        };
        if !answered.ok() && answered.before != answered.after {
            self.problems
                .push("a command that failed changed something".to_owned());
        }
        answered
    }

    /// A command that may swap: what a swap met is kept for ever.
    fn swap(&mut self, args: &[&str], line: String) -> Answered {
        self.lines.push(line);
        let answered = self.tw(args);
        let swapped = answered.ok() && answered.before != answered.after;
        for path in answered.before.captured.iter().filter(|_| swapped) {
            if let Some((_, oid)) = answered.before.nodes[path].entry(answered.before.format) {
                let at = format!("{path} before step {}", self.lines.len());
                self.keep.entry(oid).or_insert(at);
            }
        }
        self.check_kept();
        let branches = |world: &World| {
            let mut refs = world.refs.clone();
            refs.retain(|name, _| !name.starts_with("refs/bisect/"));
            refs
        };
        if branches(&answered.before) != branches(&answered.after) {
            self.problems
                .push("the command moved branches, tags or the stash".to_owned());
        }
        self.check_stamps(&answered);
        answered
    }

    /// Reports an error that nothing excuses.
    fn expect_error(&mut self, answered: &Answered, code: &str) {
        if answered.code() != code {
            self.problems
                .push(format!("expected {code}, got {}", answered.document));
        }
    }

    /// True when the command succeeded and left that mode behind.
    fn expect_ok(&mut self, answered: &Answered, mode: Mode) -> bool {
        if !answered.ok() {
            self.problems
                .push(format!("refused: {}", answered.document["error"]));
        } else if answered.after.mode != mode {
            self.problems
                .push(format!("mode is {:?}", answered.after.mode));
        }
        answered.ok()
    }

    fn nth(&self, nth: usize) -> Option<usize> {
        let len = self.saved.len();
        len.checked_sub(1).map(|last| last - nth % len)
    }

    fn snapshot(&mut self) {
        let at = self.saved.len();
        self.lines.push(format!(
            "S{at}=$(tw --json snapshot | sed 's/.*\"snapshot_id\": *\"\\([^\"]*\\)\".*/\\1/;q')"
        ));
        let index = self.sandbox.git_dir().join("index");
        let bytes = std::fs::read(&index).ok();
        let answered = self.tw(&["snapshot"]);
        if !answered.ok() {
            self.problems
                .push(format!("refused: {}", answered.document["error"]));
            return;
        }
        if answered.before != answered.after || bytes != std::fs::read(&index).ok() {
            self.problems
                .push("the snapshot changed something".to_owned());
        }
        let text = |name: &str| {
            answered.document["snapshot"][name]
                .as_str()
                .unwrap()
                .to_owned()
        };
        self.check_trees(&text("commit"), &answered.before);
        self.saved.push(Saved {
            id: text("snapshot_id"),
            world: answered.before,
        });
    }

    fn travel(&mut self, nth: usize) {
        let Some(at) = self.nth(nth) else { return };
        let id = self.saved[at].id.clone();
        let mut answered = self.swap(&["travel", &id], format!("tw travel $S{at}"));
        if self.home.is_some() {
            self.expect_error(&answered, "ALREADY_IN_PAST");
        } else if self.expect_ok(&answered, Mode::Past) {
            let target = self.saved[at].world.clone();
            self.made.clear();
            self.judge(&answered, &target, None, Way::There, true);
            meet(&mut answered, &target);
            self.home = Some(answered.before.clone());
            self.placed.clone_from(&target.captured);
            self.log(answered);
        }
    }

    fn hop(&mut self, nth: usize) {
        let Some(at) = self.nth(nth) else { return };
        let id = self.saved[at].id.clone();
        let mut answered = self.swap(&["travel", "--hop", &id], format!("tw travel --hop $S{at}"));
        let target = self.saved[at].world.clone();
        if self.is_refused(&answered, &target, None) {
            return;
        }
        if self.expect_ok(&answered, Mode::Past) {
            self.judge(&answered, &target, None, Way::There, true);
            meet(&mut answered, &target);
            self.placed.clone_from(&target.captured);
            self.redo.clear();
            self.undo.push(Level {
                before: answered.before,
                after: answered.after,
                is_hop: true,
            });
        }
    }

    /// Inside a stay: whether a swap to this target was right to refuse, since the present may own what it would replace.
    fn is_refused(&self, answered: &Answered, target: &World, scope: Option<&str>) -> bool {
        let meets = |one: &str, other: &str| {
            let within = |path: &str, dir: &str| {
                path.strip_prefix(dir)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            within(one, other) || within(other, one)
        };
        let own = self.own(&answered.before);
        answered.code() == "WOULD_OVERWRITE"
            && own.iter().any(|path| {
                // A word with a pattern may take anything.
                scope.is_none_or(|scope| scope.contains(['*', '!']) || meets(path, scope))
                    && target.captured.iter().any(|other| meets(path, other))
            })
    }

    /// Inside a stay: files that may be the present's own, which it ignores and no backup has.
    fn own(&self, now: &World) -> BTreeSet<String> {
        let Some(home) = &self.home else {
            return BTreeSet::new();
        };
        let files = now.nodes.iter().filter(|(_, node)| !node.is_dir());
        let names: BTreeSet<String> = files.map(|(path, _)| path.clone()).collect();
        let ignored = self.ignored(home, &names);
        let is_own = |path: &String| {
            let left_out = ignored.contains(path) || left_out_by_default(path);
            left_out
                && !home.captured.contains(path)
                && !home.tracks(path)
                && !self.made.contains(path)
        };
        names.into_iter().filter(is_own).collect()
    }

    fn go_home(&mut self) {
        let mut answered = self.swap(&["return"], "tw return".to_owned());
        let Some(home) = self.home.clone() else {
            self.expect_error(&answered, "NOT_IN_PAST");
            return;
        };
        if self.expect_ok(&answered, Mode::Present) {
            self.judge(&answered, &home, None, Way::Home, true);
            meet(&mut answered, &home);
            self.home = None;
            self.log(answered);
        }
    }

    fn restore(&mut self, nth: usize, path: Option<&str>) {
        let Some(at) = self.nth(nth) else { return };
        let id = self.saved[at].id.clone();
        let mut args = vec!["restore", &id];
        args.extend(path);
        let named = path.map_or(String::new(), |path| format!(" '{path}'"));
        let mut answered = self.swap(&args, format!("tw restore $S{at}{named}"));
        let target = self.saved[at].world.clone();
        let is_meant = |file: &String| path.is_none_or(|word| judge::takes(word, file));
        if !answered.ok() && !target.captured.iter().any(is_meant) {
            return;
        }
        let mode = answered.before.mode;
        if self.is_refused(&answered, &target, path) {
            return;
        }
        if self.expect_ok(&answered, mode) {
            self.judge(&answered, &target, path, Way::There, false);
            meet(&mut answered, &target);
            if !answered.document["backup_id"].is_null() {
                self.log(answered);
            }
        }
    }

    fn step_over(&mut self, verb: &str) {
        let mut answered = self.swap(&[verb, "-y"], format!("tw {verb} -y"));
        let levels = if verb == "undo" {
            &mut self.undo
        } else {
            &mut self.redo
        };
        let Some(level) = levels.pop() else {
            self.expect_error(&answered, "NOTHING_TO_UNDO");
            return;
        };
        let flips = level.before.mode != level.after.mode;
        let mode = match (answered.before.mode, flips) {
            (mode, false) => mode,
            (Mode::Past, true) => Mode::Present,
            (Mode::Present, true) => Mode::Past,
        };
        if self.is_refused(&answered, &level.before, None) {
            if verb == "undo" {
                self.undo.push(level);
            } else {
                self.redo.push(level);
            }
            return;
        }
        if !self.expect_ok(&answered, mode) {
            return;
        }
        if flips && mode == Mode::Past {
            self.made.clear();
        }
        match (mode, flips || level.is_hop, self.home.clone()) {
            (_, false, _) => {
                let around = (&level.before, &level.after);
                let problems = judge::touched(around, &answered.before, &answered.after);
                self.problems.extend(problems);
                self.check_git_left_alone(&answered);
            }
            (Mode::Present, true, Some(home)) => {
                self.judge(&answered, &home, None, Way::Home, true);
                self.home = None;
            }
            _ => {
                let moved = level.after.head != answered.before.head
                    || level.after.head_oid != answered.before.head_oid;
                self.judge(&answered, &level.before, None, Way::PastAgain, !moved);
            }
        }
        meet(&mut answered, &level.before);
        if flips && mode == Mode::Past {
            self.home = Some(answered.before.clone());
        }
        if (flips || level.is_hop) && mode == Mode::Past {
            self.placed.clone_from(&level.before.captured);
        }
        let level = Level {
            before: answered.before,
            after: answered.after,
            is_hop: level.is_hop,
        };
        if verb == "undo" {
            self.redo.push(level);
        } else {
            self.undo.push(level);
        }
    }

    fn recover(&mut self) {
        let answered = self.swap(&["recover"], "tw recover".to_owned());
        if answered.before != answered.after {
            self.problems
                .push("nothing to recover, and yet a change".to_owned());
        }
    }

    fn log(&mut self, answered: Answered) {
        self.redo.clear();
        self.undo.push(Level {
            before: answered.before,
            after: answered.after,
            is_hop: false,
        });
    }

    // --- checks ---

    fn judge(
        &mut self,
        answered: &Answered,
        target: &World,
        scope: Option<&str>,
        way: Way,
        git: bool,
    ) {
        let swap = Swap {
            before: &answered.before,
            target,
            after: &answered.after,
            ignored: self.ignored(
                target,
                &judge::questions([&answered.before, target, &answered.after]),
            ),
            scope,
            way,
            placed: &self.placed,
            own: if way == Way::Home {
                BTreeSet::new()
            } else {
                self.own(&answered.before)
            },
        };
        self.problems.extend(swap.files());
        for (path, node) in &answered.after.nodes {
            if !node.is_dir() && !answered.before.nodes.contains_key(path) {
                self.made.insert(path.clone());
            }
        }
        if git {
            self.problems.extend(swap.git());
        } else {
            self.check_git_left_alone(answered);
        }
    }

    fn check_git_left_alone(&mut self, answered: &Answered) {
        if answered.before.head != answered.after.head
            || answered.before.index != answered.after.index
        {
            self.problems
                .push("HEAD or index should have been left alone".to_owned());
        }
    }

    /// Which of the paths git's own rules leave out, given the ignore files of `world`.
    fn ignored(&self, world: &World, paths: &BTreeSet<String>) -> BTreeSet<String> {
        let room = self.sandbox.root().join("rules");
        for entry in std::fs::read_dir(&room).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with(".git") {
                std::fs::remove_dir_all(path).unwrap();
            } else if path.is_file() {
                std::fs::remove_file(path).unwrap();
            }
        }
        for path in world
            .captured
            .iter()
            .filter(|path| path.ends_with(".gitignore"))
        {
            if let Some(super::world::Node::File(_, bytes)) = world.nodes.get(path) {
                let path = room.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
        }
        let mut asked = String::new();
        for path in paths {
            let _ = write!(asked, "{path}\0");
        }
        let output = self
            .sandbox
            .command("git")
            .current_dir(&room)
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .args(["check-ignore", "--no-index", "-z", "--stdin"])
            .write_stdin(asked)
            .output()
            .unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .split_terminator('\0')
            .map(str::to_owned)
            .collect()
    }

    /// Every byte that a swap met in a captured path is reachable from a ref of ours.
    fn check_kept(&mut self) {
        let ran = self.sandbox.try_git([
            "rev-list",
            "--objects",
            "--no-object-names",
            "--glob=refs/timewarp",
        ]);
        if ran.code != 0 {
            self.problems.push(format!("rev-list: {}", ran.err()));
        }
        let text = ran.out();
        let reachable: BTreeSet<_> = text.lines().collect();
        for (oid, at) in &self.keep {
            if !reachable.contains(oid.as_str()) {
                self.problems.push(format!("lost: {at} ({oid})"));
            }
        }
    }

    /// The paths whose files git holds for changed without looking at their bytes again.
    fn diff_files(&self) -> BTreeSet<String> {
        let ran = self.sandbox.try_git(["diff-files", "--name-only", "-z"]);
        let text = ran.out();
        let paths = text.split_terminator('\0').filter(|path| *path != "n");
        paths.map(str::to_owned).collect()
    }

    /// Git sees the files that differ from the index: no stale stamp hides one, nor does the swap make one up where it wrote an
    /// index, as it does when it moves HEAD. What was stale may stay so: a restore leaves the index alone, and so does whoever
    /// writes a file anew.
    fn check_stamps(&mut self, answered: &Answered) {
        let seen = self.diff_files();
        let truth = answered.after.unstaged();
        let index_written = answered.before.head != answered.after.head;
        let made_up: Vec<_> = seen
            .difference(&truth)
            .filter(|path| index_written && !answered.stale.contains(*path))
            .collect();
        if !made_up.is_empty() || !seen.is_superset(&truth) {
            self.problems
                .push(format!("diff-files says {seen:?}, true is {truth:?}"));
        }
    }

    /// The snapshot's tree and its index tree are what was there.
    fn check_trees(&mut self, commit: &str, world: &World) {
        let stored = self.tree(commit);
        let mut wanted: BTreeMap<String, String> = world
            .captured
            .iter()
            .filter_map(|path| {
                let (mode, oid) = world.taken(path)?.entry(world.format)?;
                Some((path.clone(), format!("{mode} {oid}")))
            })
            .collect();
        for entry in &world.index {
            let fact = format!("{} {}", entry.mode, entry.oid);
            let absent = !wanted.contains_key(&entry.path);
            let stays = entry.tag.eq_ignore_ascii_case("S") || entry.mode == "160000";
            if stays && absent && stored.get(&entry.path) == Some(&fact) {
                wanted.insert(entry.path.clone(), fact);
            }
        }
        if stored != wanted {
            self.problems
                .push(format!("the snapshot has {stored:?}, there was {wanted:?}"));
        }
        let parents = self.sandbox.git(["rev-list", "--parents", "-n1", commit]);
        let Some(index) = parents.split_whitespace().skip(1).last() else {
            self.problems
                .push("the snapshot has no index commit".to_owned());
            return;
        };
        let stored = self.tree(index);
        for entry in &world.index {
            let fact = format!("{} {}", entry.mode, entry.oid);
            let whole = entry.stage == "0" && !entry.intent_to_add;
            if whole && stored.get(&entry.path) != Some(&fact) {
                self.problems
                    .push(format!("the index tree lacks {entry:?}"));
            }
        }
    }

    fn tree(&self, commit: &str) -> BTreeMap<String, String> {
        self.sandbox
            .git(["ls-tree", "-r", "-z", commit])
            .split_terminator('\0')
            .map(|line| {
                let (facts, path) = line.split_once('\t').unwrap();
                let mut facts = facts.split(' ');
                let (mode, _, oid) = (facts.next(), facts.next(), facts.next());
                (
                    path.to_owned(),
                    format!("{} {}", mode.unwrap(), oid.unwrap()),
                )
            })
            .collect()
    }
}

/// Notes what stood where the target has something and was captured only for that: it must come back as captured paths do.
fn meet(answered: &mut Answered, target: &World) {
    let met: Vec<_> = answered
        .before
        .nodes
        .iter()
        .filter(|(path, node)| {
            let moved = answered.after.nodes.get(*path) != Some(node);
            !node.is_dir() && (moved || target.captured.contains(*path))
        })
        .map(|(path, _)| path.clone())
        .collect();
    answered.before.captured.extend(met);
}
