//! Changes of formatting alone: white space, quotes, and the commas and semicolons that formatters add.

use super::content;
use super::graph::{Links, Node};
use super::trace::Spot;
use crate::git::Oid;
use crate::git::fs::is_there;
use crate::ops::Context;
use crate::store::Store;

/// Tells changes of formatting from others.
pub struct Formats<'a> {
    pub ctx: &'a Context<'a>,
    pub store: &'a Store,
    pub links: &'a Links<'a>,
}

impl Formats<'_> {
    /// The commit with which a file was formatted: one that was made in the same step, where a hook of git's may format what is
    /// committed, and nothing else changed.
    pub fn commit(&self, spot: &Spot) -> Option<Oid> {
        let hook = self.ctx.repo.hooks_dir().join("pre-commit");
        if !is_there(&hook).unwrap_or(false) || !self.is_formatting(spot.node, &spot.path) {
            return None;
        }
        match spot.node {
            Node::Made(commit) => Some(commit),
            Node::State(at) => {
                let state = &self.links.states.all[at];
                let text = self.text(state.commit, &spot.path)?;
                let mut made = self.links.made.values();
                let has = |commit| self.text(commit, &spot.path).as_ref() == Some(&text);
                let found = made.find(|made| made.place == state.place && has(made.commit));
                found.map(|made| made.commit)
            }
            Node::End(_) => None,
        }
    }

    /// Whether a file changed in nothing but formatting.
    pub fn is_formatting(&self, node: Node, path: &[u8]) -> bool {
        let states = self.links.states;
        let (commit, before) = match node {
            Node::State(at) => (states.all[at].commit, self.links.before(at)),
            Node::Made(commit) => (commit, self.links.before_made(commit)),
            Node::End(_) => return false,
        };
        let before = before.and_then(|at| self.text(states.all[at].commit, path));
        is_formatting(before, self.text(commit, path))
    }

    /// The same of a commit of the history, against the one before it.
    pub fn is_formatting_commit(&self, commit: Oid, path: &[u8]) -> bool {
        let raw = self.store.objects.commit(commit).ok();
        let before = raw.and_then(|raw| self.text(*raw.parents.first()?, path));
        is_formatting(before, self.text(commit, path))
    }

    /// What cannot be read is no formatting.
    fn text(&self, commit: Oid, path: &[u8]) -> Option<Vec<u8>> {
        content(self.store, commit, path).ok().flatten()
    }
}

fn is_formatting(before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before != after && bare(&before) == bare(&after),
        _ => false,
    }
}

/// A text without its formatting.
fn bare(text: &[u8]) -> Vec<u8> {
    let kept = text
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace() && !b",;".contains(byte));
    kept.map(|byte| if *byte == b'\'' { b'"' } else { *byte })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_is_white_space_quotes_and_trailing_marks() {
        assert_eq!(bare(b"a( 'x',\n  b,\n);\n"), bare(b"a(\"x\", b)"));
        assert_ne!(bare(b"a + b"), bare(b"a - b"));
    }
}
