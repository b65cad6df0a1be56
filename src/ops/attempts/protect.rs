//! The files that a check names. A run is judged by the check as it was: what it executes has the bytes of the snapshot again, whatever
//! the run made of it. What it merely reads (`grep -q done notes.txt`) is what is judged, and stays as the run left it.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::git::Oid;
use crate::git::path;
use crate::git::tree::{self, Node, ReadTree};

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
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "rg",
    "sed",
    "sha256sum",
    "sort",
    "stat",
    "tail",
    "test",
    "tr",
    "uniq",
    "wc",
];

/// A file that a check names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// As the snapshot has it.
    pub node: Node,
    /// Whether the check executes it, as far as its words tell; else it looks at it.
    pub is_of_check: bool,
}

/// Files of the tree that words of the command name.
///
/// # Errors
/// A tree cannot be read.
pub fn named(read: ReadTree<'_>, tree: Oid, command: &str) -> Result<BTreeMap<Vec<u8>, Named>> {
    let mut found: BTreeMap<Vec<u8>, Named> = BTreeMap::new();
    // Each part is a command of its own, with what stands before it at most a keyword.
    for part in command.split([';', '|', '&', '(', ')', '{', '}', '`', '\n']) {
        let ends = |letter: char| letter.is_whitespace() || "'\"<>=,:$".contains(letter);
        let words = part.split(ends).filter(|word| !word.is_empty());
        let mut words = words.skip_while(|word| ["!", "if", "while", "then", "do"].contains(word));
        let program = words.clone().next();
        let is_read = program.is_some_and(|word| READERS.contains(&word));
        if is_read {
            words.next();
        }
        for word in words {
            let mut word = word;
            while let Some(rest) = word.strip_prefix("./") {
                word = rest;
            }
            let full = word.as_bytes();
            if !path::is_safe(full) {
                continue;
            }
            if let Some(node) = tree::find(read, tree, full)?.filter(|node| !node.is_dir()) {
                let is_of_check = !is_read || found.get(full).is_some_and(|one| one.is_of_check);
                found.insert(full.to_vec(), Named { node, is_of_check });
            }
        }
    }
    Ok(found)
}
