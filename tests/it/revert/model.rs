//! Random turns of two agents and of people, against a model that knows whose each line is: what is reverted goes, nothing else does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{numbers, turn};
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

/// A small generator of numbers, the same ones for one seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

/// Who wrote a line: a prompt by its number, or somebody else.
type Author = Option<u64>;

/// A line, which is there as long as its author's work is and nobody has removed it.
#[derive(Debug, Clone)]
struct Line {
    text: String,
    author: Author,
    removed: Option<Author>,
}

impl Line {
    fn is_there(&self, reverted: &BTreeSet<u64>) -> bool {
        let stands = |author: &Author| author.is_none_or(|one| !reverted.contains(&one));
        stands(&self.author) && !self.removed.as_ref().is_some_and(stands)
    }
}

/// Files by name, each with all the lines that ever were in it.
#[derive(Debug, Clone, Default)]
struct Model {
    files: BTreeMap<String, Vec<Line>>,
    /// Prompts that are taken back.
    reverted: BTreeSet<u64>,
    lines: usize,
}

const FILES: [&str; 3] = ["a.txt", "src/b.txt", "src/deep/c.txt"];

impl Model {
    fn new() -> Self {
        let mut model = Self::default();
        for file in FILES {
            let lines = (0..12).map(|_| model.line(None)).collect();
            model.files.insert(file.to_owned(), lines);
        }
        model
    }

    fn line(&mut self, author: Author) -> Line {
        self.lines += 1;
        // No line looks like another, edited: none is, here.
        let word = (self.lines as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Line {
            text: format!("{word:016x} {} {author:?}\n", self.lines),
            author,
            removed: None,
        }
    }

    /// What a file has, if there is one.
    fn text(&self, file: &str) -> String {
        let lines = self.files[file].iter();
        let there = lines.filter(|line| line.is_there(&self.reverted));
        there.map(|line| line.text.as_str()).collect()
    }

    fn write(&self, sandbox: &Sandbox) {
        for file in FILES {
            sandbox.write(file, self.text(file));
        }
    }

    /// Somebody puts lines in at a few places, and takes some away.
    fn edit(&mut self, random: &mut Random, author: Author) {
        for _ in 0..=random.below(3) {
            let file = FILES[random.below(FILES.len())];
            let count = self.files[file].len();
            let at = random.below(count + 1);
            if random.below(3) == 0 {
                let reverted = &self.reverted;
                let lines = self.files.get_mut(file).unwrap();
                let mut there: Vec<&mut Line> = lines
                    .iter_mut()
                    .filter(|line| line.is_there(reverted))
                    .collect();
                if there.len() > 4 {
                    let nth = at % there.len();
                    there[nth].removed = Some(author);
                }
                continue;
            }
            for _ in 0..=random.below(2) {
                let line = self.line(author);
                self.files.get_mut(file).unwrap().insert(at, line);
            }
        }
    }

    fn assert_is_there(&self, sandbox: &Sandbox, what: &str) {
        for file in FILES {
            let (wanted, found) = (self.text(file), sandbox.text(file));
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(sorted(&found), sorted(&wanted), "{what}: lines of {file}");
            assert_eq!(found, wanted, "{what}: {file}");
        }
    }
}

/// What came of all the reverts of a case.
#[derive(Debug, Default)]
struct Counts {
    done: usize,
    refused: usize,
    adjacent: usize,
}

fn case(seed: u64, counts: &mut Counts) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let sandbox = Sandbox::new();
    let mut model = Model::new();
    model.write(&sandbox);
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "base"]);
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    let mut prompts = 0;
    for _ in 0..10 {
        match random.below(6) {
            0..=2 => {
                model.edit(&mut random, Some(prompts));
                turn(&talk, &format!("prompt {prompts}"), |sandbox| {
                    model.write(sandbox);
                });
                prompts += 1;
            }
            3 => {
                model.edit(&mut random, None);
                model.write(&sandbox);
            }
            4 => {
                sandbox.git(["commit", "-q", "-a", "--allow-empty", "-m", "so far"]);
            }
            _ if prompts > 0 => {
                let number = random.below(usize::try_from(prompts).unwrap());
                revert(&sandbox, &mut model, number as u64, counts);
            }
            _ => {}
        }
        model.assert_is_there(&sandbox, &format!("seed {seed}"));
    }
}

/// Reverts, and asks for those that depend on it where that is refused.
fn revert(sandbox: &Sandbox, model: &mut Model, number: u64, counts: &mut Counts) {
    let before = sandbox.state();
    let word = number.to_string();
    let ran = sandbox.tw(["--json", "revert", &word]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    if document["ok"] == true {
        counts.done += 1;
        counts.adjacent += document["adjacent"].as_array().unwrap().len();
        model.reverted.insert(number);
        return;
    }
    assert_eq!(document["error"]["code"], "CONFLICT", "{document}");
    before.assert_same(&sandbox.state());
    counts.refused += 1;
    let ran = sandbox.tw(["--json", "revert", &word, "--with-dependents"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    if document["ok"] == true {
        counts.done += 1;
        model.reverted.extend(numbers(&document));
    } else {
        assert_eq!(document["error"]["code"], "CONFLICT", "{document}");
        before.assert_same(&sandbox.state());
    }
}

#[test]
fn what_is_reverted_goes_and_no_other_line_does() {
    let of = |name: &str, usual: u64| {
        let set = std::env::var(name).ok();
        set.map_or(usual, |text| text.parse().unwrap())
    };
    let (first, cases) = (of("TW_REVERT_SEED", 1), of("TW_REVERT_CASES", 6));
    let mut counts = Counts::default();
    for seed in first..first + cases {
        case(seed, &mut counts);
    }
    println!("{cases} cases: {counts:?}");
    assert!(counts.done > 0, "{counts:?}");
}
