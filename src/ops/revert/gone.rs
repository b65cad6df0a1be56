//! What is gone already: taken back by a revert, or left behind by going back to a state before it.
//!
//! What came later and looks the same is not what was taken back: a second revert leaves it alone. Told by the swaps that stand in the
//! undo log of this working tree, path by path and in their order. A change is there again when a later swap put a state with it in
//! place, or the very content that it was taken from, and when that content came back between turns: by git, or by a person. What
//! the log has no more, it does not tell.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::os::fd::AsFd as _;

use rustix::io::Errno;

use super::turns::Turns;
use crate::error::{Result, ResultExt};
use crate::git::fs::{Root, read_link_at};
use crate::git::objects::ObjectKind;
use crate::git::textdiff::LARGEST;
use crate::git::tree::Lookup;
use crate::git::{Oid, path};
use crate::ops::Context;
use crate::ops::history::Here;
use crate::ops::swap::journal::{path_of, side_of};
use crate::ops::swap::taken_back;
use crate::ops::swap::undo_log::{self, Log};
use crate::ops::versions::{Chain, ChainPlace, State};
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::snapshot::TakenIn;
use crate::store::state::{Journal, Mode};
use crate::worktree::plan::Side;

/// The order in which snapshots were taken: the number of one, and whether what is meant came after it.
type Order = (u64, bool);

/// Places in a chain, counted by the later state of each: first and last.
type Places = (usize, usize, usize);

/// What a path has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Content {
    /// No file.
    #[default]
    None,
    /// This blob.
    Blob(Oid),
}

impl Content {
    fn of(oid: Option<Oid>) -> Self {
        oid.map_or(Self::None, Self::Blob)
    }
}

/// Which snapshot a swap put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A state of this working tree.
    Here(Order),
    /// Another's.
    Elsewhere,
}

/// A swap that stands.
struct Swap {
    /// Its backup's.
    order: Order,
    /// What it took back.
    taken: Vec<(Places, BTreeSet<Vec<u8>>)>,
    /// The snapshot that it put in place, if it was one.
    target: Option<Target>,
    /// The contents of the paths that it touched, before and after.
    paths: BTreeMap<Vec<u8>, [Content; 2]>,
}

/// Tells which changes of a turn are gone from the present already.
pub struct Gone<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    turns: &'a Turns,
    trees: Lookup<'a>,
    /// The chain of this working tree's present.
    here: Option<usize>,
    /// Positions of states.
    by_id: HashMap<String, usize>,
    /// Oldest first.
    swaps: Vec<Swap>,
}

/// One path on its way through the swaps.
#[derive(Default)]
struct Course {
    is_gone: bool,
    /// The content that it was taken from.
    from: Option<Content>,
    /// The content that was seen last.
    seen: Content,
    /// What it was since when.
    since: Vec<(Order, bool)>,
}

impl Course {
    fn set(&mut self, order: Order, is_gone: bool) {
        self.is_gone = is_gone;
        self.since.push((order, is_gone));
        if !is_gone {
            self.from = None;
        }
    }

    /// Whether this look at the content shows what it was taken from, come back.
    fn sees(&mut self, content: Content) -> bool {
        let last = std::mem::replace(&mut self.seen, content);
        self.from == Some(content) && last != content
    }

    fn was_gone(&self, at: Order) -> bool {
        let mut before = self.since.iter().rev().filter(|(since, _)| *since < at);
        before.next().is_some_and(|(_, is_gone)| *is_gone)
    }
}

impl<'a> Gone<'a> {
    /// Reads the undo log.
    ///
    /// # Errors
    /// A level cannot be read.
    pub fn read(ctx: &'a Context<'a>, store: &'a Store, turns: &'a Turns) -> Result<Self> {
        let chains = &turns.states.chains;
        let here = |chain: &Chain| chain.is_present && chain.is_here;
        let mut gone = Self {
            ctx,
            store,
            turns,
            trees: Lookup::new(&store.objects),
            here: chains.iter().position(here),
            by_id: turns.states.by_id(),
            swaps: Vec::new(),
        };
        for level in undo_log::levels(&store.dir, Log::Undo)?.into_iter().rev() {
            let modes = (
                level.journal.state_before.mode,
                level.journal.state_after.mode,
            );
            // A trip ends as it began.
            if modes == (Mode::Present, Mode::Present) {
                gone.swaps.extend(gone.swap(&level.journal)?);
            }
        }
        Ok(gone)
    }

    fn swap(&self, journal: &Journal) -> Result<Option<Swap>> {
        let Some(order) = self.order(&journal.backup_id) else {
            return Ok(None);
        };
        let target = journal.target_id.as_deref();
        let taken = taken_back::read(journal).into_iter().filter_map(|taken| {
            let from = self.place(&taken.before)?;
            let to = self.place(&taken.after)?;
            let places = (from.chain, from.at + 1, to.at);
            (from.chain == to.chain).then(|| (places, taken.paths().collect()))
        });
        let mut swap = Swap {
            order,
            taken: taken.collect(),
            target: target.map(|id| self.order_here(id).map_or(Target::Elsewhere, Target::Here)),
            paths: BTreeMap::new(),
        };
        for entry in &journal.entries {
            let sides = [&entry.before, &entry.after];
            let [before, after] = sides.map(|side| side_of(side.as_ref()));
            let content = |side: Option<Side>| Content::of(side.map(|side| side.node.oid));
            swap.paths
                .insert(path_of(&entry.path)?, [content(before?), content(after?)]);
        }
        Ok(Some(swap))
    }

    fn state(&self, id: &str) -> Option<&State> {
        self.turns.states.all.get(*self.by_id.get(id)?)
    }

    fn place(&self, id: &str) -> Option<ChainPlace> {
        Some(self.state(id)?.place)
    }

    /// When a snapshot of this repository was taken.
    fn order(&self, id: &str) -> Option<Order> {
        if let Some(state) = self.state(id) {
            return Some((state.seq, false));
        }
        let id = SnapshotId::parse(id)?;
        if let Ok(stored) = self.store.read_id(&id) {
            return Some((stored.record.seq, false));
        }
        // Of one that is gone the id tells: it came after what was taken by then.
        let time = id.time();
        let mut before = self.here_states().rev();
        let last = before.find(|state| state.id.time() <= time);
        Some((last.map_or(0, |state| state.seq), true))
    }

    /// The same for a state of this working tree's present: a snapshot, or a backup.
    fn order_here(&self, id: &str) -> Option<Order> {
        if let Some(place) = self.place(id) {
            return self.order(id).filter(|_| Some(place.chain) == self.here);
        }
        let parsed = SnapshotId::parse(id).filter(|id| id.kind() == IdKind::Backup)?;
        let record = self.store.read_id(&parsed).ok()?.record;
        let is_here = Here::of(self.ctx, self.store).ok()?.is(&record);
        (is_here && record.taken_in != TakenIn::Past).then_some((record.seq, false))
    }

    fn here_states(&self) -> impl DoubleEndedIterator<Item = &State> {
        let states = &self.turns.states;
        let chain = self.here.and_then(|here| states.chains.get(here));
        let taken = chain.map_or(&[][..], |chain| chain.states.as_slice());
        taken.iter().filter_map(|at| states.all.get(*at))
    }

    fn state_at(&self, chain: usize, at: usize) -> Option<&State> {
        self.turns.states.at(ChainPlace::new(chain, at))
    }

    fn order_at(&self, chain: usize, at: usize) -> Option<Order> {
        let state = self.state_at(chain, at)?;
        Some((state.seq, false))
    }

    /// Whether what changed in a path between the state before a place and the one there is gone.
    ///
    /// # Errors
    /// A tree or file cannot be read.
    pub fn is_gone(&self, place: ChainPlace, path: &[u8]) -> Result<bool> {
        let ChainPlace { chain, at } = place;
        let Some(after) = self.order_at(chain, at) else {
            return Ok(false);
        };
        let is_there = |swap: &&Swap| swap.order > after && swap.knows(path);
        if !self.swaps.iter().any(|swap| is_there(&swap)) {
            return Ok(false);
        }
        let before = self.order_at(chain, at.saturating_sub(1));
        let before = before.filter(|_| Some(chain) == self.here);
        let mut course = Course::default();
        let mut next = 0;
        for swap in self.swaps.iter().filter(is_there) {
            self.go_on(&mut course, &mut next, Some(swap.order), path)?;
            let content = swap.paths.get(path);
            if swap.took(place, path) {
                course.set(swap.order, true);
            } else if let (Some(target), Some(_)) = (swap.target, content) {
                let is_gone = match target {
                    Target::Here(target) if target > after => course.was_gone(target),
                    Target::Here(target) => before.is_some_and(|before| target <= before),
                    Target::Elsewhere => false,
                };
                course.set(swap.order, is_gone);
            } else if let (Some(from), Some([_, after])) = (course.from, content)
                && from == *after
            {
                course.set(swap.order, false);
            }
            if let Some([before, after]) = content {
                if course.is_gone && course.from.is_none() && before != after {
                    course.from = Some(*before);
                }
                course.seen = *after;
            }
        }
        self.go_on(&mut course, &mut next, None, path)?;
        Ok(course.is_gone)
    }

    /// Looks whether the content came back between turns, in the states until a swap, or until now.
    fn go_on(
        &self,
        course: &mut Course,
        next: &mut usize,
        until: Option<Order>,
        path: &[u8],
    ) -> Result<()> {
        let Some(here) = self.here else {
            return Ok(());
        };
        let was_gone = course.since.last().map(|(since, _)| *since);
        let is_by_people = |at: usize| self.turns.at(here, at).is_empty();
        while let Some(order) = self.order_at(here, *next)
            && until.is_none_or(|until| order < until)
        {
            let at = *next;
            *next += 1;
            if course.from.is_some()
                && was_gone.is_some_and(|since| since < order)
                && course.sees(self.content(here, at, path)?)
                && is_by_people(at)
            {
                course.set(order, false);
            }
        }
        if until.is_none()
            && course.from.is_some()
            && let Some(content) = self.present(path)?
            && course.sees(content)
            && is_by_people(*next)
        {
            course.is_gone = false;
        }
        Ok(())
    }

    fn content(&self, chain: usize, at: usize, path: &[u8]) -> Result<Content> {
        let Some(state) = self.state_at(chain, at) else {
            return Ok(Content::None);
        };
        let file = self.trees.file(state.tree, path)?;
        Ok(Content::of(file.map(|node| node.oid)))
    }

    /// What a path has now; None when it is too large to be looked at, or nobody may.
    fn present(&self, full: &[u8]) -> Result<Option<Content>> {
        let what = || format!("cannot read '{}'", path::display(full));
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let Some(stamp) = root.stamp(full).context(what)? else {
            return Ok(Some(Content::None));
        };
        let mut bytes = Vec::new();
        if stamp.is_symlink() {
            let (dir, name) = path::split(full);
            let dir = root.open_dir(dir).context(what)?;
            bytes = read_link_at(dir.as_fd(), name).context(what)?;
        } else if stamp.is_file() {
            let file = match root.open_file(full) {
                Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
                other => std::fs::File::from(other.context(what)?),
            };
            file.take(LARGEST + 1)
                .read_to_end(&mut bytes)
                .context(what)?;
        } else {
            return Ok(Some(Content::None));
        }
        if bytes.len() as u64 > LARGEST {
            return Ok(None);
        }
        let oid = self.store.objects.hash(ObjectKind::Blob, &bytes)?;
        Ok(Some(Content::Blob(oid)))
    }
}

impl Swap {
    fn knows(&self, path: &[u8]) -> bool {
        let mut taken = self.taken.iter();
        self.paths.contains_key(path) || taken.any(|(_, paths)| paths.contains(path))
    }

    fn took(&self, place: ChainPlace, path: &[u8]) -> bool {
        self.taken.iter().any(|((chain, first, last), paths)| {
            *chain == place.chain && (*first..=*last).contains(&place.at) && paths.contains(path)
        })
    }
}
