//! What was found, before it is told: in which order, and whose turn it was.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Shape;
use super::content::Whole;
use super::hit::{Change, Hit, Neighbour, Place, Removal};
use super::runs::{Spot, What};
use crate::git::path::RepoPath;
use crate::ops::versions::{ChainPlace, Owners, States, Turn, Turns};
use crate::text;

/// What a hit shows of a file, a prompt or an issue.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// None: the file as a whole.
    pub text: Option<Vec<u8>>,
    /// Where the line is.
    pub spot: Spot,
    /// A binary file.
    pub binary: bool,
    /// A file in which too many lines match.
    pub too_many: bool,
}

impl Said {
    /// Of a line, or of a file.
    pub fn new(what: What, spot: Spot) -> Self {
        let (text, whole) = match what {
            What::Line(text) => (Some(text.shown), None),
            What::File(whole) => (None, Some(whole)),
        };
        Self {
            text,
            spot,
            binary: whole == Some(Whole::Binary),
            too_many: whole == Some(Whole::TooMany),
        }
    }
}

/// A hit in a file that is yet to be told.
#[derive(Debug)]
pub struct FileHit {
    /// The state by which it is put in order.
    pub position: usize,
    /// Content or diff.
    pub place: Place,
    /// What it shows.
    pub said: Said,
    /// The file.
    pub path: Option<RepoPath>,
    /// The first state that has it.
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// The place of the change that a turn may have made.
    pub came: Option<ChainPlace>,
    /// Where it is no more.
    pub gone: Option<Gone>,
    /// In the index alone.
    pub staged: bool,
    /// Of a diff.
    pub change: Option<Change>,
    /// How many it stands for, when counts were asked for.
    pub count: Option<u64>,
}

/// The first state that is known not to have a line any more.
#[derive(Debug, Clone, Copy)]
pub struct Gone {
    /// Its place.
    pub place: ChainPlace,
    /// The state before it has the line: it went in between.
    pub is_exact: bool,
}

/// The hits of a path in the shape that was asked for.
pub fn shaped(found: Vec<FileHit>, shape: Shape) -> Vec<FileHit> {
    if matches!(shape, Shape::Lines { .. }) {
        return found;
    }
    let count = found.len() as u64;
    let all = found.into_iter().reduce(|one, other| FileHit {
        position: one.position.max(other.position),
        place: one.place.min(other.place),
        said: Said {
            binary: one.said.binary || other.said.binary,
            too_many: one.said.too_many || other.said.too_many,
            ..Said::default()
        },
        first: one.first.min(other.first),
        last: one.last.max(other.last),
        staged: one.staged && other.staged,
        ..one
    });
    let whole = all.map(|found| FileHit {
        said: Said {
            binary: found.said.binary,
            too_many: found.said.too_many,
            ..Said::default()
        },
        came: None,
        gone: None,
        change: None,
        count: (shape == Shape::Counts && !found.said.too_many).then_some(count),
        ..found
    });
    whole.into_iter().collect()
}

impl FileHit {
    /// Whether it is told of the newest state.
    pub fn is_newest(&self, states: &States) -> bool {
        self.position + 1 == states.all.len()
    }

    /// As it is told.
    pub fn told(self, states: &States, turns: &Turns) -> Hit {
        let came = self.came.map(|place| turns.before(place));
        let turn = came.and_then(Owners::turn);
        let last = &states.all[self.last];
        let removed = self.gone.map(|Gone { place, is_exact }| {
            let owners = turns.before(place);
            let turn = owners.turn().filter(|_| is_exact);
            Removal {
                snapshot_id: states.all[states.position(place)].id.to_string(),
                session_id: turn.map(|turn| turn.prompt.session_id.clone()),
                checkpoint: turn.map(|turn| turn.prompt.checkpoint_id),
                prompt: turn.and_then(first_line),
                or_between: turn.is_some() && owners.or_between,
            }
        });
        let neighbours = |lines: Vec<(u64, Vec<u8>)>| {
            let lines = lines.into_iter();
            let shown = lines.map(|(line, text)| Neighbour {
                line,
                text: without_return(text),
            });
            shown.collect()
        };
        Hit {
            place: self.place,
            path: self.path,
            line: self.said.text.as_ref().map(|_| self.said.spot.number),
            text: self.said.text.map(without_return),
            change: self.change,
            first_snapshot: states.all[self.first].id.to_string(),
            last_snapshot: last.id.to_string(),
            checkpoint: turn.map(|turn| turn.prompt.checkpoint_id),
            session_id: turn.map(|turn| turn.prompt.session_id.clone()),
            prompt: turn.and_then(first_line),
            or_between: turn.is_some() && came.is_some_and(|came| came.or_between),
            removed,
            staged: self.staged,
            binary: self.said.binary,
            too_many: self.said.too_many,
            count: self.count,
            issue_id: None,
            claimed_by: None,
            field: None,
            before: neighbours(self.said.spot.before),
            after: neighbours(self.said.spot.after),
            at: states.all[self.position].created_at.clone(),
        }
    }
}

/// A line without the carriage return of what ends it: until now it told apart what was ended otherwise.
fn without_return(mut text: Vec<u8>) -> Vec<u8> {
    if text.last() == Some(&b'\r') {
        text.pop();
    }
    text
}

/// The first line of a prompt that says anything.
fn first_line(turn: &Turn) -> Option<String> {
    let line = text::first_line(turn.prompt.prompt.as_deref()?);
    (!line.is_empty()).then(|| line.to_owned())
}

/// The order in which hits are told: of newer states first, then by path and place; there what came last first, by line.
type Order = (
    Reverse<usize>,
    Option<RepoPath>,
    Place,
    Option<Change>,
    Reverse<usize>,
    u64,
    usize,
);

/// A hit in its place.
#[derive(Debug)]
struct Ordered<T> {
    order: Order,
    one: T,
}

impl<T> PartialEq for Ordered<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<T> Eq for Ordered<T> {}

impl<T> PartialOrd for Ordered<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ordered<T> {
    /// The least of a heap comes last: the first to be told is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.order.cmp(&self.order)
    }
}

/// Hits that wait until nothing that comes before them can be found any more.
#[derive(Debug, Default)]
pub struct Waiting {
    heap: BinaryHeap<Ordered<Hit>>,
    /// Keeps what is equal in the order in which it came.
    count: usize,
}

impl Waiting {
    /// Adds one of a state, that came in another.
    pub fn add(&mut self, (position, came): (usize, usize), hit: Hit) {
        self.count += 1;
        let line = hit.line.unwrap_or(0);
        let order = (
            Reverse(position),
            hit.path.clone(),
            hit.place,
            hit.change,
            Reverse(came),
            line,
            self.count,
        );
        self.heap.push(Ordered { order, one: hit });
    }

    /// Adds one that was found in a file.
    pub fn take(&mut self, found: FileHit, states: &States, turns: &Turns) {
        let place = (found.position, found.first);
        self.add(place, found.told(states, turns));
    }

    /// Those that come before everything in this path and the paths after it, whose newest state this is; without one, all.
    pub fn ready(&mut self, next: Option<(usize, &RepoPath)>) -> Vec<Hit> {
        let mut ready = Vec::new();
        while let Some(first) = self.heap.peek() {
            let waits = next.is_some_and(|(newest, path)| {
                let here = (first.order.0, first.order.1.as_ref());
                here >= (Reverse(newest), Some(path))
            });
            if waits {
                break;
            }
            ready.extend(self.heap.pop().map(|ordered| ordered.one));
        }
        ready
    }
}
