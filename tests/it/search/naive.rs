//! Hits against a search of each snapshot by itself, by `git grep`.

use std::collections::{BTreeMap, BTreeSet};

use super::{hits, text};
use crate::sandbox::Sandbox;

/// Path, text, and how many of the same are above it.
type Line = (String, String, usize);

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[usize::try_from(self.below(words.len() as u64)).unwrap()]
    }
}

const PATHS: [&str; 6] = ["a", "d/a", "d/e/b", "d.x", "d-y", "c"];
const LINES: [&str; 5] = ["needle", "needle two", "hay", "", "x needle"];

/// Changes some files: new lines, copies, removals, a file where a directory was.
fn change(sandbox: &Sandbox, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(2) {
        let path = numbers.of(&PATHS);
        match numbers.below(6) {
            0 if sandbox.exists(path) => sandbox.remove(path),
            1 if !sandbox.exists("d") => sandbox.write("d", "needle\n"),
            _ => {
                if path.starts_with("d/") && sandbox.path("d").is_file() {
                    sandbox.remove("d");
                }
                let lines = (0..numbers.below(4)).map(|_| numbers.of(&LINES));
                let lines: Vec<&str> = lines.collect();
                sandbox.write(path, lines.join("\n"));
            }
        }
    }
}

/// The lines of a snapshot, by number.
fn lines(sandbox: &Sandbox, id: &str) -> BTreeMap<Line, u64> {
    let commit = format!("refs/timewarp/snapshots/{id}");
    let ran = sandbox.try_git(["grep", "-n", "-z", "-e", "needle", &commit]);
    let mut found = BTreeMap::new();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in ran.out().lines() {
        let mut parts = line.splitn(3, '\0');
        let path = parts
            .next()
            .unwrap()
            .strip_prefix(&format!("{commit}:"))
            .unwrap();
        let number = parts.next().unwrap().parse().unwrap();
        let text = parts.next().unwrap();
        let count = counts
            .entry((path.to_owned(), text.to_owned()))
            .or_default();
        found.insert((path.to_owned(), text.to_owned(), *count), number);
        *count += 1;
    }
    found
}

#[test]
fn hits_are_those_of_a_search_of_each_snapshot() {
    for seed in 1..=4 {
        let sandbox = Sandbox::new();
        let mut numbers = Numbers(seed);
        let mut taken: Vec<(String, BTreeMap<Line, u64>)> = Vec::new();
        for _ in 0..24 {
            change(&sandbox, &mut numbers);
            let id = super::take(&sandbox);
            let lines = lines(&sandbox, &id);
            taken.push((id, lines));
        }
        // What is staged is HEAD's, without a needle.
        assert_eq!(contents(&sandbox), naive_contents(&taken), "seed {seed}");
        assert_eq!(events(&sandbox), naive_events(&taken), "seed {seed}");
    }
}

fn contents(sandbox: &Sandbox) -> BTreeSet<String> {
    let found = hits(sandbox, &["search", "needle"]);
    let told = found.iter().map(|hit| {
        let [path, text, first, last] =
            ["path", "text", "first_snapshot", "last_snapshot"].map(|name| text(hit, name));
        let gone = hit["removed"]["snapshot_id"].as_str().unwrap_or_default();
        format!("{path}:{}:{text} {first} {last} {gone}", hit["line"])
    });
    let told: BTreeSet<String> = told.collect();
    assert_eq!(told.len(), found.len());
    // Newest first.
    let lasts: Vec<&str> = found.iter().map(|hit| text(hit, "last_snapshot")).collect();
    assert!(
        lasts.is_sorted_by(|a, b| a.get(..17) >= b.get(..17)),
        "{lasts:?}"
    );
    told
}

fn naive_contents(taken: &[(String, BTreeMap<Line, u64>)]) -> BTreeSet<String> {
    let mut spans: BTreeMap<&Line, (usize, usize, u64)> = BTreeMap::new();
    for (at, (_, lines)) in taken.iter().enumerate() {
        for (line, number) in lines {
            let span = spans.entry(line).or_insert((at, at, *number));
            (span.1, span.2) = (at, *number);
        }
    }
    let told = spans
        .into_iter()
        .map(|((path, text, _), (first, last, number))| {
            let id = |at: usize| taken.get(at).map_or("", |(id, _)| id);
            let gone = id(last + 1);
            format!("{path}:{number}:{text} {} {} {gone}", id(first), id(last))
        });
    told.collect()
}

fn events(sandbox: &Sandbox) -> Vec<String> {
    let found = hits(sandbox, &["search", "needle", "--in", "diff"]);
    let told = found.iter().map(|hit| {
        let [change, path, text, first, last] =
            ["change", "path", "text", "first_snapshot", "last_snapshot"]
                .map(|name| text(hit, name));
        let at = if change == "added" { first } else { last };
        format!("{change} {path}:{}:{text} {at}", hit["line"])
    });
    let mut told: Vec<String> = told.collect();
    told.sort();
    told
}

fn naive_events(taken: &[(String, BTreeMap<Line, u64>)]) -> Vec<String> {
    let nothing = (String::new(), BTreeMap::new());
    let mut told = Vec::new();
    for (old, new) in std::iter::once(&nothing).chain(taken).zip(taken) {
        for (change, (has, lines), (_, others)) in [("added", new, old), ("removed", old, new)] {
            let mut seen: BTreeSet<&Line> = BTreeSet::new();
            for (line, number) in lines {
                if !others.contains_key(line) && seen.insert(line) {
                    told.push(format!("{change} {}:{number}:{} {has}", line.0, line.1));
                }
            }
        }
    }
    told.sort();
    told
}
