//! The files that a check names. A run is judged by the check as it was: what it executes, and what it compares with, has the bytes of
//! the snapshot again, whatever the run made of it. What it merely reads (`grep -q done notes.txt`) is what is judged, and stays as the
//! run left it; else nothing that the run makes of it could ever pass.
//!
//! The command's words are looked at, no more: as they stand, below the directory that an earlier `cd` names, and as patterns of the
//! shell. A pattern over sources (`cc src/*.c`) names what is judged; one over scripts that a shell runs, or over tests, names the check. A
//! program that only reads is known by its name, and what of its arguments is no input by what it is known to do with them. Of two files
//! that are compared one is what is expected: the one that a name says so of, or the one that the snapshot has when the run has yet to
//! make the other. Where nothing tells them apart both are as the run left them. Of a directory that a program which runs tests is given, all
//! files are the check where its name says that it holds tests: any other may hold the sources. Left out on purpose: what a program opens
//! without being told to, and files that the run adds.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::git::Oid;
use crate::git::path;
use crate::git::tree::{self, Node, ReadTree};
use crate::git::wildmatch::{Flags, wildmatch};

/// Programs whose arguments are what they look at, not what they do.
const READERS: &[&str] = &[
    "[",
    "[[",
    "awk",
    "cat",
    "cmp",
    "comm",
    "cut",
    "diff",
    "egrep",
    "fgrep",
    "file",
    "gawk",
    "grep",
    "head",
    "jq",
    "ls",
    "mawk",
    "md5sum",
    "rg",
    "sed",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sort",
    "stat",
    "tail",
    "test",
    "tr",
    "uniq",
    "wc",
];
/// Those that take a program or patterns from the file behind `-f`.
const WITH_PROGRAM: &[&str] = &[
    "awk", "egrep", "fgrep", "gawk", "grep", "jq", "mawk", "rg", "sed",
];
/// Those that compare two files.
const COMPARERS: &[&str] = &["cmp", "comm", "diff"];
/// Those that compare files with a list of sums, under `-c`.
const SUMS: &[&str] = &["md5sum", "sha1sum", "sha256sum", "sha512sum"];
/// What the name of a file that holds what is expected has in it.
const EXPECTED: &[&str] = &[
    "baseline",
    "correct",
    "expect",
    "fixture",
    "gold",
    "master",
    "reference",
    "should",
    "want",
];

/// Programs whose first argument is what they run.
const INTERPRETERS: &[&str] = &[
    ".", "bash", "dash", "ksh", "node", "perl", "python", "python3", "ruby", "sh", "source", "zsh",
];
/// What the name of a file, or of its directory, has in it that is there to check something.
const CHECKS: &[&str] = &["check", "spec", "test", "verif"];

/// Programs and modules that run the tests in the directories and files that they are given.
const RUNNERS: &[&str] = &[
    "ava",
    "bats",
    "jest",
    "mocha",
    "nose2",
    "phpunit",
    "prove",
    "py.test",
    "pytest",
    "rspec",
    "shellspec",
    "tap",
    "unittest",
    "vitest",
];
/// The names of directories that hold tests, and nothing that they test.
const TEST_DIRS: &[&str] = &["__tests__", "spec", "specs", "t", "test", "tests"];

/// A file that a check names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// As the snapshot has it.
    pub node: Node,
    /// Whether it is part of the check, as far as the words tell; else it is what the check looks at.
    pub is_of_check: bool,
}

/// Files of the tree that words of the command name.
///
/// # Errors
/// A tree cannot be read.
pub fn named(trees: &dyn ReadTree, tree: Oid, command: &str) -> Result<BTreeMap<Vec<u8>, Named>> {
    let mut files = Files {
        trees,
        tree,
        all: None,
        dirs: vec![Vec::new()],
    };
    let mut found: BTreeMap<Vec<u8>, Named> = BTreeMap::new();
    // Each part is a command of its own, with what stands before it at most a keyword.
    for part in command.split([';', '|', '&', '(', ')', '{', '}', '`', '\n']) {
        let ends = |letter: char| letter.is_whitespace() || "'\"<>=,:$".contains(letter);
        let words = part.split(ends).filter(|word| !word.is_empty());
        let words = words.skip_while(|word| ["!", "if", "while", "then", "do"].contains(word));
        let words: Vec<&str> = words.collect();
        if let ["cd" | "pushd", rest @ ..] = words.as_slice() {
            files.enter(rest);
            continue;
        }
        for (full, node, is_of_check) in of_part(&mut files, &words)? {
            let known = found.get(&full).is_some_and(|one| one.is_of_check);
            let is_of_check = is_of_check || known;
            found.insert(full, Named { node, is_of_check });
        }
    }
    Ok(found)
}

/// The files that one command names, and whether each is part of the check.
fn of_part(files: &mut Files<'_>, words: &[&str]) -> Result<Vec<(Vec<u8>, Node, bool)>> {
    let program = words.first().copied().unwrap_or_default();
    let is_read = READERS.contains(&program);
    let words = if is_read { words.get(1..) } else { Some(words) };
    let words = words.unwrap_or_default();
    let has_sums =
        SUMS.contains(&program) && words.iter().any(|word| ["-c", "--check"].contains(word));
    let expected = match program {
        _ if COMPARERS.contains(&program) => expected(files, words)?,
        _ => None,
    };
    let mut found = Vec::new();
    let mut is_program = false;
    let mut runner = None;
    for (at, word) in words.iter().enumerate() {
        if let Some(runner) = runner {
            found.extend(with(files.tests_in(word)?, true));
            if runner == "unittest" {
                found.extend(with(files.module(word)?, true));
            }
        }
        runner = runner.or_else(|| runner_of(word));
        let is_run = at == 1 && INTERPRETERS.contains(&program);
        let is_named = !is_pattern(word) || is_run || says(word, CHECKS);
        let is_of_check = !is_read && is_named || has_sums || is_program || expected == Some(at);
        is_program = false;
        if WITH_PROGRAM.contains(&program)
            && let Some(glued) = behind_f(word)
        {
            is_program = glued.is_empty();
            found.extend(with(files.named(glued)?, true));
            continue;
        }
        found.extend(with(files.named(word)?, is_of_check));
    }
    Ok(found)
}

fn with(
    files: Vec<(Vec<u8>, Node)>,
    is_of_check: bool,
) -> impl Iterator<Item = (Vec<u8>, Node, bool)> {
    let files = files.into_iter();
    files.map(move |(full, node)| (full, node, is_of_check))
}

/// The runner of tests that a word names, by whatever path.
fn runner_of(word: &str) -> Option<&'static str> {
    let name = word.rsplit('/').next();
    RUNNERS.iter().copied().find(|one| Some(*one) == name)
}

/// What stands behind `-f` in one word, alone or last of several letters; nothing when the file is the next word. None: another word.
fn behind_f(word: &str) -> Option<&str> {
    if let Some(long) = word.strip_prefix("--") {
        return ["file", "from-file"].contains(&long).then_some("");
    }
    let letters = word.strip_prefix('-')?;
    match letters.find('f') {
        Some(0) => letters.get(1..),
        Some(at) if at + 1 == letters.len() => Some(""),
        _ => None,
    }
}

/// Which of the words of a comparison is the file that holds what is expected.
fn expected(files: &mut Files<'_>, words: &[&str]) -> Result<Option<usize>> {
    let operands = words.iter().enumerate();
    let operands = operands.filter(|(_, word)| **word == "-" || !word.starts_with('-'));
    let operands: Vec<(usize, &str)> = operands.map(|(at, word)| (at, *word)).collect();
    let mut there = Vec::new();
    for (at, word) in &operands {
        if !files.named(word)?.is_empty() {
            there.push((*at, *word));
        }
    }
    let says_so = there.iter().find(|(_, word)| says(word, EXPECTED));
    Ok(match (says_so, operands.as_slice(), there.as_slice()) {
        (Some((at, _)), _, _) => Some(*at),
        // The other one is what another program says, or has yet to be made. One that lies elsewhere is nobody's to make.
        (None, [_, _], [(at, _)]) => {
            let other = operands.iter().find(|(one, _)| one != at);
            other
                .filter(|(_, word)| !word.starts_with('/'))
                .map(|_| *at)
        }
        _ => None,
    })
}

/// Whether one of these is part of a name.
fn says(word: &str, parts: &[&str]) -> bool {
    let word = word.to_ascii_lowercase();
    parts.iter().any(|part| word.contains(part))
}

fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// The files of a tree, as words of a command name them.
struct Files<'a> {
    trees: &'a dyn ReadTree,
    tree: Oid,
    /// All of them, once a pattern asked.
    all: Option<Vec<(Vec<u8>, Node)>>,
    /// The directories that words are below: the top, and where `cd` led.
    dirs: Vec<Vec<u8>>,
}

impl Files<'_> {
    /// From here on words may be below this directory, too.
    fn enter(&mut self, words: &[&str]) {
        let word = words.iter().find(|word| !word.starts_with('-'));
        let from = self.dirs.last().cloned().unwrap_or_default();
        if let Some(dir) = word.and_then(|word| below(&from, word)) {
            self.dirs.push(dir);
        }
    }

    /// The files that a word names.
    fn named(&mut self, word: &str) -> Result<Vec<(Vec<u8>, Node)>> {
        let mut found: Vec<(Vec<u8>, Node)> = Vec::new();
        for dir in self.dirs.clone() {
            let Some(full) = below(&dir, word) else {
                continue;
            };
            if is_pattern(word) {
                let all = self.all()?.iter();
                let matching = all.filter(|(path, _)| wildmatch(&full, path, Flags::PATHNAME));
                found.extend(matching.cloned());
            } else if path::is_safe(&full)
                && let Some(node) = tree::find(self.trees, self.tree, &full)?
                && !node.is_dir()
            {
                found.push((full, node));
            }
        }
        Ok(found)
    }

    /// The files beneath a directory of tests that a word names.
    fn tests_in(&mut self, word: &str) -> Result<Vec<(Vec<u8>, Node)>> {
        let mut found = Vec::new();
        for dir in self.dirs.clone() {
            let Some(full) = below(&dir, word) else {
                continue;
            };
            let mut parts = full.split(|&byte| byte == b'/');
            let is_of_tests = parts.any(|part| TEST_DIRS.iter().any(|one| one.as_bytes() == part));
            if !is_of_tests || !path::is_safe(&full) {
                continue;
            }
            let node = tree::find(self.trees, self.tree, &full)?;
            if let Some(node) = node.filter(|node| node.is_dir()) {
                let beneath = tree::flatten(self.trees, node.oid)?.into_iter();
                found.extend(beneath.map(|(rest, node)| (path::join(&full, &rest), node)));
            }
        }
        Ok(found)
    }

    /// The file of a module of Python's, `tests.test_a.Case.test_one`.
    fn module(&mut self, word: &str) -> Result<Vec<(Vec<u8>, Node)>> {
        let mut name = word;
        loop {
            let found = self.named(&format!("{}.py", name.replace('.', "/")))?;
            match name.rsplit_once('.') {
                Some((shorter, _)) if found.is_empty() => name = shorter,
                _ => return Ok(found),
            }
        }
    }

    fn all(&mut self) -> Result<&[(Vec<u8>, Node)]> {
        if self.all.is_none() {
            self.all = Some(tree::flatten(self.trees, self.tree)?);
        }
        Ok(self.all.as_deref().unwrap_or_default())
    }
}

/// The path that a word names below a directory; None when it leads out of the tree.
fn below(dir: &[u8], word: &str) -> Option<Vec<u8>> {
    if word.starts_with('/') {
        return None;
    }
    let parts = dir
        .split(|&byte| byte == b'/')
        .chain(word.as_bytes().split(|&byte| byte == b'/'));
    let mut path: Vec<&[u8]> = Vec::new();
    for part in parts {
        match part {
            b"" | b"." => {}
            b".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    Some(path.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_below_directories_and_never_out() {
        let below = |dir: &str, word: &str| below(dir.as_bytes(), word);
        let path = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(below("", "./t//x.sh"), path("t/x.sh"));
        assert_eq!(below("t", "x.sh"), path("t/x.sh"));
        assert_eq!(below("t", "../x.sh"), path("x.sh"));
        assert_eq!(below("t", "../../x.sh"), None);
        assert_eq!(below("", "/x"), None);
    }

    #[test]
    fn a_program_comes_from_the_file_behind_f() {
        assert_eq!(behind_f("-f"), Some(""));
        assert_eq!(behind_f("-nf"), Some(""));
        assert_eq!(behind_f("-fcheck.awk"), Some("check.awk"));
        assert_eq!(behind_f("--from-file"), Some(""));
        for other in ["-n", "-qi", "--fixed-strings", "x", "-if=x"] {
            assert_eq!(behind_f(other), None, "{other}");
        }
    }
}
