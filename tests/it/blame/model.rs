//! Owners of lines against a model that knows who wrote each of them.
//!
//! No two lines that are written are alike, so that whoever wrote a text is its owner wherever it goes. Prompts, people and others in
//! another clone write; commits are made, amended, squashed, rebased and merged, branches squashed; files are renamed; trips, restores and stashes bring
//! older contents back. Every line must have its owner, or be ambiguous with its owner among the candidates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

/// Who wrote a line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    Prompt(String, u64),
    Person,
    Others,
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// What came of a case.
#[derive(Debug, Default)]
struct Counts {
    lines: usize,
    ambiguous: usize,
}

struct World<'s> {
    sandbox: &'s Sandbox,
    numbers: Numbers,
    talks: Vec<Talk<'s>>,
    asked: Vec<u64>,
    owners: BTreeMap<String, Owner>,
    /// Texts that some state has.
    captured: BTreeSet<String>,
    file: String,
    written: usize,
    other: PathBuf,
    steps: Vec<String>,
    counts: Counts,
}

impl<'s> World<'s> {
    fn new(sandbox: &'s Sandbox, seed: u64) -> Self {
        let talks = ["11111111", "22222222"].map(|head| {
            let id = format!("{head}-2222-4333-8444-555555555555");
            Talk::with_id(sandbox, Kind::Claude, &id)
        });
        let mut world = Self {
            sandbox,
            numbers: Numbers(seed),
            talks: talks.into(),
            asked: vec![0, 0],
            owners: BTreeMap::new(),
            captured: BTreeSet::new(),
            file: "file-0.txt".to_owned(),
            written: 0,
            other: sandbox.root().join("other"),
            steps: Vec::new(),
            counts: Counts::default(),
        };
        let lines: Vec<String> = (0..30).map(|_| world.text(&Owner::Others)).collect();
        sandbox.write(&world.file, lines.concat());
        world.commit(&["-m", "base"]);
        for talk in &world.talks {
            talk.hook("SessionStart", &json!({}));
        }
        let other = world.other.to_str().unwrap().to_owned();
        sandbox.git(["clone", "-q", ".", &other]);
        world
    }

    /// A line that nobody has written before.
    fn text(&mut self, owner: &Owner) -> String {
        self.written += 1;
        let text = format!("line number {} of them all", self.written);
        self.owners.insert(text.clone(), owner.clone());
        format!("{text}\n")
    }

    fn lines(path: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    /// Writes, changes and removes some lines.
    fn edit(&mut self, path: &Path, owner: &Owner) {
        let mut lines = Self::lines(path);
        for _ in 0..=self.numbers.below(3) {
            let at = self.numbers.below(lines.len() + 1);
            match self.numbers.below(4) {
                0 if at < lines.len() && lines.len() > 10 => {
                    lines.remove(at);
                }
                1 if at < lines.len() => lines[at] = self.text(owner),
                _ => {
                    for _ in 0..=self.numbers.below(3) {
                        let text = self.text(owner);
                        lines.insert(at, text);
                    }
                }
            }
        }
        std::fs::write(path, lines.concat()).unwrap();
    }

    fn present(&self) -> PathBuf {
        self.sandbox.path(&self.file)
    }

    fn rename(&mut self) {
        let from = self.present();
        self.file = format!("file-{}.txt", self.written);
        std::fs::rename(from, self.present()).unwrap();
    }

    /// The file may have another name after HEAD moved.
    fn look(&mut self) {
        let entries = std::fs::read_dir(self.sandbox.repo()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found = names.filter(|name| name.starts_with("file-"));
        self.file = found.next().expect("the file");
        // Of two names, as a merge may leave them, one stays.
        found.for_each(|name| self.sandbox.remove(name));
    }

    fn captures(&mut self) {
        let lines = Self::lines(&self.present());
        let texts = lines.iter().map(|line| line.trim_end().to_owned());
        self.captured.extend(texts);
    }

    fn commit(&mut self, words: &[&str]) {
        self.sandbox.git(["add", "-A"]);
        let words = [&["commit", "-q", "--allow-empty"], words].concat();
        self.sandbox.git(words);
        // HEAD has them.
        self.captures();
    }

    fn is_clean(&self) -> bool {
        self.sandbox.git(["status", "--porcelain"]).is_empty()
    }

    fn turn(&mut self, talk: usize) {
        let owner = Owner::Prompt(self.talks[talk].id.clone(), self.asked[talk]);
        let prompt = format!("{} of {talk}", self.asked[talk]);
        self.talks[talk].submits(&prompt);
        self.captures();
        self.asked[talk] += 1;
        for _ in 0..=self.numbers.below(2) {
            self.act(&owner);
        }
        // Some agents do not say when they are done.
        if self.numbers.below(8) > 0 {
            self.talks[talk].hook("Stop", &json!({}));
            self.captures();
        }
    }

    /// What both people and agents do.
    fn act(&mut self, owner: &Owner) {
        let action = self.numbers.below(12);
        self.steps.push(format!("{owner:?} does {action}"));
        match action {
            0 => self.rename(),
            1 => self.commit(&["-m", "a commit"]),
            2 => self.commit(&["--amend", "-m", "amended"]),
            3 => self.branch_and_merge(owner),
            _ => {
                let path = self.present();
                self.edit(&path, owner);
            }
        }
    }

    fn branch_and_merge(&mut self, owner: &Owner) {
        self.commit(&["-m", "before the branch"]);
        self.sandbox.git(["checkout", "-q", "-B", "side"]);
        let path = self.present();
        self.edit(&path, owner);
        self.commit(&["-m", "on the branch"]);
        self.sandbox.git(["checkout", "-q", "main"]);
        if self.numbers.below(2) == 0 {
            let path = self.present();
            self.edit(&path, owner);
            self.commit(&["-m", "beside the branch"]);
        }
        // What is not merged now may be squashed by somebody later.
        match self.numbers.below(4) {
            0 => {}
            1 => self.squash_side(),
            _ => {
                let merged = self.sandbox.try_git(["merge", "-q", "--no-edit", "side"]);
                if merged.code != 0 {
                    self.sandbox.git(["merge", "--abort"]);
                }
            }
        }
        self.look();
        self.captures();
    }

    /// Takes over what the branch has, in one commit.
    fn squash_side(&mut self) {
        if self
            .sandbox
            .try_git(["rev-parse", "-q", "--verify", "side"])
            .code
            != 0
        {
            return;
        }
        self.commit(&["-m", "before the squash"]);
        let squashed = self.sandbox.try_git(["merge", "-q", "--squash", "side"]);
        if squashed.code == 0 {
            self.look();
            self.commit(&["-m", "of the branch"]);
        } else {
            self.sandbox.git(["reset", "-q", "--merge"]);
        }
        self.look();
        self.captures();
    }

    /// What people do between turns.
    fn person(&mut self) {
        let action = self.numbers.below(10);
        self.steps.push(format!("a person does {action}"));
        let sandbox = self.sandbox;
        match action {
            0 => drop(sandbox.ok(["snapshot"])),
            1 => self.others_and_rebase(),
            2 => self.squash(),
            3 => self.trip(),
            4 => self.restore(),
            9 => self.squash_side(),
            5 if !self.is_clean() => {
                sandbox.git(["stash", "-qu"]);
                sandbox.git(["stash", "pop", "-q"]);
            }
            6 => {
                sandbox.tw(["undo"]);
                self.look();
            }
            _ => self.act(&Owner::Person),
        }
        if action == 0 {
            self.captures();
        }
    }

    /// Others push, in another clone; here their work comes in by a rebase.
    fn others_and_rebase(&mut self) {
        self.commit(&["-m", "before the rebase"]);
        let (sandbox, other) = (self.sandbox, self.other.clone());
        sandbox.git_in(&other, ["fetch", "-q", "origin"]);
        // From what is on both sides: the clone takes what is here at times.
        if self.numbers.below(2) == 0 {
            sandbox.git_in(&other, ["reset", "-q", "--hard", "origin/main"]);
        }
        let entries = std::fs::read_dir(&other).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().path());
        let path = names.find(|path| path.to_string_lossy().contains("/file-"));
        self.edit(&path.unwrap(), &Owner::Others);
        sandbox.git_in(&other, ["commit", "-qam", "of others"]);
        sandbox.git([
            "fetch",
            "-q",
            other.to_str().unwrap(),
            "+HEAD:refs/heads/theirs",
        ]);
        if sandbox.try_git(["rebase", "-q", "theirs"]).code != 0 {
            sandbox.git(["rebase", "--abort"]);
        }
        self.look();
        self.captures();
    }

    fn squash(&mut self) {
        self.commit(&["-m", "to be squashed"]);
        let merges = self
            .sandbox
            .try_git(["rev-list", "--merges", "HEAD~2..HEAD"]);
        if merges.code == 0 && merges.out().is_empty() {
            self.sandbox.git(["reset", "-q", "--soft", "HEAD~2"]);
            self.commit(&["-m", "squashed"]);
        }
    }

    fn ids(&self) -> Vec<String> {
        let listed = self.sandbox.json(["list"])["snapshots"].clone();
        let ids = listed.as_array().unwrap().iter();
        ids.map(|one| one["snapshot_id"].as_str().unwrap().to_owned())
            .collect()
    }

    fn some_id(&mut self) -> Option<String> {
        let ids = self.ids();
        let at = self.numbers.below(ids.len());
        ids.get(at).cloned()
    }

    /// To the past, some work there, and back.
    fn trip(&mut self) {
        let Some(id) = self.some_id() else { return };
        self.captures();
        let file = self.file.clone();
        self.sandbox.ok(["travel", &id]);
        self.look();
        if self.numbers.below(2) == 0 {
            let path = self.present();
            self.edit(&path, &Owner::Person);
        }
        self.sandbox.ok(["return"]);
        self.file = file;
    }

    fn restore(&mut self) {
        let Some(id) = self.some_id() else { return };
        self.captures();
        self.sandbox.ok(["restore", &id]);
        self.look();
        if self.numbers.below(2) == 0 {
            let path = self.present();
            self.edit(&path, &Owner::Person);
            if self.numbers.below(2) == 0 {
                self.sandbox.ok(["snapshot"]);
                self.captures();
            }
        }
    }

    /// Compares all owners.
    fn judge(&mut self) {
        let document = self.sandbox.json(["blame", &self.file]);
        for line in document["lines"].as_array().unwrap() {
            let text = line["text"].as_str().unwrap();
            let owner = &self.owners[text];
            self.counts.lines += 1;
            let origin = &line["origin"];
            let is_right = match origin["kind"].as_str().unwrap() {
                "ambiguous" => {
                    self.counts.ambiguous += 1;
                    let candidates = origin["candidates"].as_array().unwrap();
                    candidates.iter().any(|one| is(one, owner))
                }
                "dirty" => !self.captured.contains(text),
                _ => is(origin, owner),
            };
            assert!(
                is_right,
                "'{text}' is of {owner:?}, not {origin}\n{}",
                self.steps.join("\n")
            );
        }
    }
}

/// Whether an origin or a candidate is this owner.
fn is(origin: &Value, owner: &Owner) -> bool {
    match owner {
        Owner::Prompt(session, checkpoint) => {
            origin["kind"] == "prompt"
                && origin["session_id"] == json!(session)
                && origin["checkpoint_id"] == json!(checkpoint)
        }
        Owner::Person => origin["kind"] == "between",
        Owner::Others => origin["kind"] == "commit",
    }
}

#[test]
fn every_line_has_the_owner_that_wrote_it() {
    let number = |name: &str, usual: u64| {
        let set = std::env::var(name).ok();
        set.map_or(usual, |text| text.parse().expect("a number"))
    };
    let first = number("TW_BLAME_SEED", 1);
    let mut all = Counts::default();
    for seed in first..first + number("TW_BLAME_CASES", 3) {
        let sandbox = Sandbox::unborn();
        sandbox.git(["checkout", "-q", "-B", "main"]);
        let mut world = World::new(&sandbox, seed);
        for _ in 0..number("TW_BLAME_STEPS", 25) {
            world.steps.push(format!("seed {seed}:"));
            match world.numbers.below(2) {
                0 => {
                    let talk = world.numbers.below(2);
                    world.turn(talk);
                }
                _ => world.person(),
            }
            world.judge();
        }
        all.lines += world.counts.lines;
        all.ambiguous += world.counts.ambiguous;
    }
    println!("{all:?}");
    assert!(all.lines > 500 && all.ambiguous * 4 < all.lines, "{all:?}");
}
