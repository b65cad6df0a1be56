//! Which later prompts touched the lines that conflict: the lines are followed from the end of the turn through all states since.

use std::collections::BTreeMap;
use std::ops::Range;

use super::plan::{Stretch, without};
use super::turns::{Name, Turn, Turns};
use crate::error::Result;
use crate::git::Oid;
use crate::git::textdiff::{self, LARGEST, is_binary};
use crate::git::textmerge::overlaps;
use crate::git::tree::{self, Node};
use crate::ops::merge::Conflict;
use crate::ops::versions::ChainPlace;
use crate::store::Store;

/// Reads a file as it is now; None when it is too large, or not known any more.
pub type Present<'a> = &'a dyn Fn(&[u8], Node) -> Option<Vec<u8>>;

/// The turns that touched lines, and where the lines are now; None where they could not be followed.
pub type Followed = (Vec<Turn>, Option<Vec<Range<usize>>>);

/// Finds the later prompts that touched the lines of a conflict.
pub struct Later<'a> {
    /// Where blobs and trees are.
    pub store: &'a Store,
    /// The states and turns.
    pub turns: &'a Turns,
    /// What is taken back already.
    pub chosen: &'a [Turn],
    /// Reads what is there now.
    pub present: Present<'a>,
}

impl Later<'_> {
    /// The turns that touched the lines of a conflict of this stretch, oldest first; and where those lines are now, when they could be
    /// followed up to there.
    ///
    /// # Errors
    /// A tree cannot be read.
    pub fn follow(&self, stretch: &Stretch, conflict: &Conflict) -> Result<Followed> {
        let mut found: BTreeMap<(usize, Name), Turn> = BTreeMap::new();
        let mut following = Following {
            path: conflict.base_path.clone(),
            renamed: conflict.path.clone(),
            lines: conflict
                .overlaps
                .iter()
                .map(|overlap| overlap.base.clone())
                .collect(),
            is_whole: conflict.overlaps.is_empty(),
            is_lost: false,
        };
        let length = self.turns.len(stretch.chain);
        for at in stretch.to + 1..=length {
            let old = self.file(stretch.chain, at - 1, &following.path)?;
            let new = if at == length {
                conflict.stages[1].map(|node| (conflict.path.clone(), node))
            } else {
                self.renamed(stretch.chain, at, &following)?
            };
            if !self.is_touched(&mut following, old, new) {
                continue;
            }
            for turn in without(self.turns.at(stretch.chain, at), self.chosen) {
                found.insert((turn.start, turn.name()), turn);
            }
        }
        // What an earlier step made is not what is there now.
        let is_known = !following.is_lost && !following.is_whole && conflict.step == 0;
        Ok((
            found.into_values().collect(),
            is_known.then_some(following.lines),
        ))
    }

    fn file(&self, chain: usize, at: usize, path: &[u8]) -> Result<Option<Node>> {
        let Some(root) = self.tree(chain, at) else {
            return Ok(None);
        };
        let found = tree::find(&self.store.objects, root, path)?;
        Ok(found.filter(|node| !node.is_dir()))
    }

    fn tree(&self, chain: usize, at: usize) -> Option<Oid> {
        Some(self.turns.states.at(ChainPlace::new(chain, at))?.tree)
    }

    /// The file in the next state, under its name or the one that it has now.
    fn renamed(
        &self,
        chain: usize,
        at: usize,
        following: &Following,
    ) -> Result<Option<(Vec<u8>, Node)>> {
        for name in [&following.path, &following.renamed] {
            if let Some(node) = self.file(chain, at, name)? {
                return Ok(Some((name.clone(), node)));
            }
        }
        Ok(None)
    }

    fn is_touched(
        &self,
        following: &mut Following,
        old: Option<Node>,
        new: Option<(Vec<u8>, Node)>,
    ) -> bool {
        let Some((name, new)) = new else {
            following.is_lost = true;
            return old.is_some();
        };
        let old_name = std::mem::replace(&mut following.path, name.clone());
        let Some(old) = old else {
            following.is_lost = true;
            return true;
        };
        if old == new && old_name == name {
            return false;
        }
        if following.is_whole {
            return true;
        }
        if old.oid == new.oid {
            return false;
        }
        let text = |path: &[u8], node: Node| self.text(path, node);
        let texts = text(&old_name, old).zip(text(&name, new));
        if let Some((old, new)) = texts {
            return following.is_touched(&old, &new);
        }
        following.is_lost = true;
        true
    }

    fn text(&self, path: &[u8], node: Node) -> Option<Vec<u8>> {
        let bytes = match self.store.objects.header(node.oid).ok()? {
            Some((_, size)) if size > LARGEST => return None,
            Some(_) => self.store.objects.read(node.oid).ok()?.1,
            None => (self.present)(path, node)?,
        };
        (!is_binary(&bytes)).then_some(bytes)
    }
}

/// Lines on their way.
struct Following {
    path: Vec<u8>,
    /// What the file is called now.
    renamed: Vec<u8>,
    lines: Vec<Range<usize>>,
    /// No lines are known: whatever changes the file touches them.
    is_whole: bool,
    /// They could not be followed everywhere.
    is_lost: bool,
}

impl Following {
    /// Moves on to the next text. Whether something there touches the lines.
    fn is_touched(&mut self, old: &[u8], new: &[u8]) -> bool {
        let Ok(hunks) = textdiff::hunks(old, new, 0) else {
            return true;
        };
        let mut touched = false;
        for lines in &mut self.lines {
            let mut moved = textdiff::moved(&hunks, lines);
            for hunk in hunks.iter().filter(|hunk| overlaps(&hunk.old, lines)) {
                touched = true;
                moved = moved.start.min(hunk.new.start)..moved.end.max(hunk.new.end);
            }
            *lines = moved;
        }
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_followed_and_neighbours_do_not_touch_them() {
        let mut following = Following {
            path: Vec::new(),
            renamed: Vec::new(),
            lines: std::iter::once(1..2).collect(),
            is_whole: false,
            is_lost: false,
        };
        let mut text = "a\nT\nb\n".to_owned();
        for (next, touches, at) in [
            ("x\na\nT\nb\n", false, 2..3),
            ("x\na\nT\nn\nb\n", false, 2..3),
            ("x\na\nT\nU\nn\nB\n", false, 2..3),
            ("x\na\nt\nU\nn\nB\n", true, 2..3),
            ("x\na\nU\nn\nB\n", true, 2..2),
            ("x\na\nz\nU\nn\nB\n", true, 2..3),
            ("a\nz\nU\nn\nB\n", false, 1..2),
        ] {
            let touched = following.is_touched(text.as_bytes(), next.as_bytes());
            assert_eq!((touched, &following.lines[0]), (touches, &at), "{next:?}");
            next.clone_into(&mut text);
        }
    }
}
