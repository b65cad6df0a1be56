//! Which later prompts touched the lines that conflict: the lines are followed from the end of the turn through all states since.
//!
//! Where nothing touched them, it is what was put directly beside them and is in the conflict: nothing tells then which of both comes
//! first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::plan::{Stretch, without};
use super::turns::{Name, Turn, Turns};
use crate::error::Result;
use crate::git::Oid;
use crate::git::textdiff::{self, LARGEST, is_binary};
use crate::git::textmerge::{Overlap, overlaps};
use crate::git::tree::{self, Node};
use crate::ops::merge::Conflict;
use crate::ops::versions::ChainPlace;
use crate::store::Store;

/// Reads a file as it is now; None when it is too large, or not known any more.
pub type Present<'a> = &'a dyn Fn(&[u8], Node) -> Option<Vec<u8>>;

/// What is known of the lines of a conflict.
#[derive(Default)]
pub struct Followed {
    /// The turns that touched them, oldest first; where nothing did, those that put something directly beside them.
    pub turns: Vec<Turn>,
    /// Where they are now; None where they could not be followed.
    pub lines: Option<Vec<Range<usize>>>,
    /// Nothing touched them: all that came since lies directly beside them.
    pub is_beside: bool,
}

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
    /// Follows the lines of a conflict of this stretch up to what is there now.
    ///
    /// # Errors
    /// A tree cannot be read.
    pub fn follow(&self, stretch: &Stretch, conflict: &Conflict) -> Result<Followed> {
        let overlaps = conflict.overlaps.iter();
        let mut following = Following {
            path: conflict.base_path.clone(),
            renamed: conflict.path.clone(),
            lines: overlaps
                .map(|overlap| overlap.base.clone().into())
                .collect(),
            whole: Vec::new(),
            is_whole: conflict.overlaps.is_empty(),
            is_lost: false,
        };
        let chain = stretch.chain;
        let length = self.turns.len(chain);
        for at in stretch.to + 1..=length {
            let old = self.file(chain, at - 1, &following.path)?;
            let new = if at == length {
                conflict.stages[1].map(|node| (conflict.path.clone(), node))
            } else {
                self.renamed(chain, at, &following)?
            };
            self.step(&mut following, (old, new), at);
        }
        // What an earlier step made is not what is there now.
        if conflict.step == 0 {
            following.leave_out_what_lies_apart(&conflict.overlaps);
        }
        let (places, is_beside) = following.causes(|at| self.is_left(chain, at));
        let mut found: BTreeMap<(usize, Name), Turn> = BTreeMap::new();
        for at in places {
            for turn in without(self.turns.at(chain, at), self.chosen) {
                found.insert((turn.start, turn.name()), turn);
            }
        }
        let is_known = !following.is_lost && !following.is_whole && conflict.step == 0;
        let lines = following.lines.into_iter().map(|lines| lines.now);
        Ok(Followed {
            turns: found.into_values().collect(),
            lines: is_known.then(|| lines.collect()),
            is_beside,
        })
    }

    /// Whether what changed at a place is there still: it is not taken back already.
    fn is_left(&self, chain: usize, at: usize) -> bool {
        let turns = self.turns.at(chain, at);
        turns.is_empty() || !without(turns, self.chosen).is_empty()
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

    /// Moves on to the next state.
    fn step(
        &self,
        following: &mut Following,
        (old, new): (Option<Node>, Option<(Vec<u8>, Node)>),
        at: usize,
    ) {
        let Some((name, new)) = new else {
            following.is_lost = true;
            following.whole.extend(old.map(|_| at));
            return;
        };
        let old_name = std::mem::replace(&mut following.path, name.clone());
        if old.is_some_and(|old| old == new && old_name == name) {
            return;
        }
        if following.is_whole && old.is_some() {
            following.whole.push(at);
            return;
        }
        if old.is_some_and(|old| old.oid == new.oid) {
            return;
        }
        let old = old.and_then(|old| self.text(&old_name, old));
        if let Some((old, new)) = old.zip(self.text(&name, new)) {
            following.step(&old, &new, at);
        } else {
            following.is_lost = true;
            following.whole.push(at);
        }
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
    lines: Vec<Way>,
    /// Where the file changed, and nobody knows in which lines.
    whole: Vec<usize>,
    /// No lines are known: whatever changes the file touches them.
    is_whole: bool,
    /// They could not be followed everywhere.
    is_lost: bool,
}

/// Some lines, and what they met.
struct Way {
    now: Range<usize>,
    /// Where something touched them.
    touched: Vec<usize>,
    /// What was put directly before or behind them and is there still.
    beside: Vec<Beside>,
}

/// Lines put directly before or behind others.
struct Beside {
    /// Where they are by now.
    now: Range<usize>,
    /// Where they came.
    at: usize,
}

impl From<Range<usize>> for Way {
    fn from(now: Range<usize>) -> Self {
        Self {
            now,
            touched: Vec::new(),
            beside: Vec::new(),
        }
    }
}

impl Following {
    /// Moves on to the next text.
    fn step(&mut self, old: &[u8], new: &[u8], at: usize) {
        let Ok(hunks) = textdiff::hunks(old, new, 0) else {
            self.whole.push(at);
            return;
        };
        for way in &mut self.lines {
            for beside in &mut way.beside {
                beside.now = textdiff::moved(&hunks, &beside.now);
            }
            way.beside.retain(|beside| !beside.now.is_empty());
            let lines = &way.now;
            let mut moved = textdiff::moved(&hunks, lines);
            for hunk in &hunks {
                if overlaps(&hunk.old, lines) {
                    way.touched.push(at);
                    moved = moved.start.min(hunk.new.start)..moved.end.max(hunk.new.end);
                } else if !hunk.new.is_empty()
                    && (hunk.old.end == lines.start || hunk.old.start == lines.end)
                {
                    let now = hunk.new.clone();
                    way.beside.push(Beside { now, at });
                }
            }
            way.now = moved;
        }
    }

    /// Leaves out what lies beside the lines and has no part in the conflict: an edit of the next line is merged.
    fn leave_out_what_lies_apart(&mut self, conflict: &[Overlap]) {
        for (way, overlap) in self.lines.iter_mut().zip(conflict) {
            let is_in = |beside: &Beside| {
                beside.now.start < overlap.ours.end && overlap.ours.start < beside.now.end
            };
            if way.beside.iter().any(is_in) {
                way.beside.retain(is_in);
            }
        }
    }

    /// Where what stands against the lines came from, of the places of which something is left; and whether all of it lies beside them.
    fn causes(&self, is_left: impl Fn(usize) -> bool) -> (BTreeSet<usize>, bool) {
        let left = |places: &mut dyn Iterator<Item = usize>| -> Vec<usize> {
            places.filter(|at| is_left(*at)).collect()
        };
        let mut causes = BTreeSet::from_iter(left(&mut self.whole.iter().copied()));
        let mut is_beside = causes.is_empty();
        for way in &self.lines {
            let mut places = left(&mut way.touched.iter().copied());
            if places.is_empty() {
                places = left(&mut way.beside.iter().map(|beside| beside.at));
            } else {
                is_beside = false;
            }
            causes.extend(places);
        }
        is_beside &= !causes.is_empty();
        (causes, is_beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(text: &str) -> Following {
        assert!(text.contains("T\n"));
        Following {
            path: Vec::new(),
            renamed: Vec::new(),
            lines: vec![(1..2).into()],
            whole: Vec::new(),
            is_whole: false,
            is_lost: false,
        }
    }

    #[test]
    fn lines_are_followed_and_neighbours_do_not_touch_them() {
        let mut text = "a\nT\nb\n".to_owned();
        let mut following = follow(&text);
        for (step, (next, touches, at)) in [
            ("x\na\nT\nb\n", false, 2..3),
            ("x\na\nT\nn\nb\n", false, 2..3),
            ("x\na\nT\nU\nn\nB\n", false, 2..3),
            ("x\na\nt\nU\nn\nB\n", true, 2..3),
            ("x\na\nU\nn\nB\n", true, 2..2),
            ("x\na\nz\nU\nn\nB\n", true, 2..3),
            ("a\nz\nU\nn\nB\n", false, 1..2),
        ]
        .into_iter()
        .enumerate()
        {
            following.step(text.as_bytes(), next.as_bytes(), step);
            let way = &following.lines[0];
            let touched = way.touched.contains(&step);
            assert_eq!((touched, &way.now), (touches, &at), "{next:?}");
            next.clone_into(&mut text);
        }
    }

    #[test]
    fn what_lies_directly_beside_counts_where_nothing_touches() {
        let mut text = "a\nT\nb\n".to_owned();
        let mut following = follow(&text);
        let mut seen = Vec::new();
        for (step, next) in [
            "a\nT\nb\nfar\n",
            "a\nT\nbehind\nb\nfar\n",
            "before\nT\nbehind\nb\nfar\n",
            "before\nT\nb\nfar\n",
            "before\nt\nb\nfar\n",
        ]
        .into_iter()
        .enumerate()
        {
            following.step(text.as_bytes(), next.as_bytes(), step);
            let (causes, is_beside) = following.causes(|_| true);
            seen.push((Vec::from_iter(causes), is_beside));
            next.clone_into(&mut text);
        }
        let wanted = [
            (vec![], false),
            (vec![1], true),
            (vec![1, 2], true),
            // What was put behind it is gone again.
            (vec![2], true),
            (vec![4], false),
        ];
        assert_eq!(seen, wanted);
        // Where that is taken back again, the neighbours are what is left.
        let causes = following.causes(|at| at != 4);
        assert_eq!(causes, (BTreeSet::from([2]), true));
    }
}
