//! The files that a check names: a run is judged by them as they were, whatever it made of them.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::git::Oid;
use crate::git::path;
use crate::git::tree::{self, Node, ReadTree};

/// Files of the tree that words of the command name.
///
/// # Errors
/// A tree cannot be read.
pub fn named(read: ReadTree<'_>, tree: Oid, command: &str) -> Result<BTreeMap<Vec<u8>, Node>> {
    let mut found = BTreeMap::new();
    let ends = |letter: char| letter.is_whitespace() || "'\"`;|&<>()={},:".contains(letter);
    for word in command.split(ends).filter(|word| !word.is_empty()) {
        let mut word = word;
        while let Some(rest) = word.strip_prefix("./") {
            word = rest;
        }
        let full = word.as_bytes();
        if !path::is_safe(full) {
            continue;
        }
        if let Some(node) = tree::find(read, tree, full)?.filter(|node| !node.is_dir()) {
            found.insert(full.to_vec(), node);
        }
    }
    Ok(found)
}
