//! Contents looked through by all cores, and taken in the order in which they are wanted.
//!
//! Workers take the next few contents in order, and stay only so far ahead of the one that is waited for: what waits is bounded,
//! however slow a content is.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::content::{Depth, Looker, Matches};
use super::pattern::Pattern;
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::git::threads;

/// Contents that a worker takes at once.
const BATCH: usize = 8;
/// How far workers may be ahead.
const AHEAD: usize = 1024;
/// This many bytes of matches may wait before nothing more is begun than what is waited for.
const ROOM: usize = 64 << 20;

/// What came of a content: its matches, or why it cannot be read.
pub type Looked = Arc<Result<Matches, String>>;

/// What came of contents that were looked through before.
pub type Known = HashMap<Oid, Looked>;

/// The contents that are wanted: each once, in the order in which it is first wanted.
#[derive(Debug, Default)]
pub struct Blobs {
    oids: Vec<Oid>,
    /// How often each is wanted.
    uses: Vec<usize>,
}

impl Blobs {
    /// Wants a content once more, and gives its place among them; `known` has the places of all.
    pub fn add(&mut self, oid: Oid, known: &mut HashMap<Oid, usize>) -> usize {
        let at = *known.entry(oid).or_insert_with(|| {
            self.oids.push(oid);
            self.uses.push(0);
            self.oids.len() - 1
        });
        self.uses[at] += 1;
        at
    }

    /// The content at a place.
    pub fn oid(&self, place: usize) -> Oid {
        self.oids[place]
    }
}

/// What workers and the one who waits for them share.
#[derive(Default)]
struct State {
    /// How often each content will still be waited for.
    uses: Vec<usize>,
    /// The first content that nobody has taken.
    next: usize,
    /// The one that is waited for, or will be: all before it were.
    wanted: usize,
    /// What was looked through and is still wanted.
    looked: HashMap<usize, Looked>,
    /// What that takes in memory, about.
    held: usize,
    /// There is no worker: who waits for a content looks through it.
    is_alone: bool,
    /// Nothing more is wanted, or a worker died.
    stopped: bool,
}

/// Contents, each looked through once.
pub struct Board<'a> {
    looking: (&'a ObjectStore, &'a Pattern, Depth),
    blobs: &'a Blobs,
    known: &'a Known,
    state: Mutex<State>,
    came: Condvar,
    room: Condvar,
}

impl State {
    /// Whether a worker may take more.
    fn has_room(&self) -> bool {
        let is_urgent = self.next <= self.wanted;
        is_urgent || (self.next < self.wanted + AHEAD && self.held < ROOM)
    }

    fn put(&mut self, blob: usize, looked: Looked) {
        self.held += weight(&looked);
        self.looked.insert(blob, looked);
    }

    /// What came of a content, which goes once nobody waits for it any more.
    fn get(&mut self, blob: usize) -> Option<Looked> {
        if self.uses[blob] > 0 {
            return self.looked.get(&blob).map(Arc::clone);
        }
        let looked = self.looked.remove(&blob)?;
        self.held -= weight(&looked);
        Some(looked)
    }
}

/// What that takes in memory, about.
pub fn weight(looked: &Looked) -> usize {
    looked.as_ref().as_ref().map_or(0, Matches::weight)
}

impl<'a> Board<'a> {
    /// Looks through the contents, in their order and but for those that are known, while `take` takes what comes of them.
    pub fn run<T>(
        objects: &'a ObjectStore,
        pattern: &'a Pattern,
        depth: Depth,
        blobs: &'a Blobs,
        known: &'a Known,
        take: impl FnOnce(&Board<'a>) -> T,
    ) -> T {
        let board = Self {
            looking: (objects, pattern, depth),
            blobs,
            known,
            state: Mutex::new(State {
                uses: blobs.uses.clone(),
                ..State::default()
            }),
            came: Condvar::new(),
            room: Condvar::new(),
        };
        let workers = threads::count().min(blobs.oids.len());
        std::thread::scope(|scope| {
            // However this ends, and however a worker does, nobody is left waiting.
            let _stop = Stop(&board);
            let work = || {
                let stop = Stop(&board);
                board.work();
                std::mem::forget(stop);
            };
            let started = (0..workers).map_while(|_| threads::start_in(scope, work).ok());
            let is_alone = started.count() == 0;
            board.lock().is_alone = is_alone;
            take(&board)
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn looker(&self) -> Looker<'a> {
        let (objects, pattern, depth) = self.looking;
        Looker::new(objects, pattern, depth)
    }

    fn work(&self) {
        let mut looker = self.looker();
        loop {
            let mut state = self.lock();
            while !state.stopped && !state.has_room() {
                state = self
                    .room
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.stopped || !self.look_through_next(state, &mut looker) {
                return;
            }
        }
    }

    /// Looks through the next few contents; false: there are none.
    fn look_through_next(&self, mut state: MutexGuard<'_, State>, looker: &mut Looker<'_>) -> bool {
        let first = state.next;
        let batch = self.blobs.oids.get(first..).unwrap_or_default();
        let batch = batch.get(..BATCH.min(batch.len())).unwrap_or_default();
        if batch.is_empty() {
            return false;
        }
        state.next += batch.len();
        drop(state);
        let looked: Vec<Looked> = batch
            .iter()
            .map(|oid| match self.known.get(oid) {
                Some(looked) => Arc::clone(looked),
                None => Arc::new(
                    looker
                        .blob(*oid)
                        .map_err(|error| error.message().to_owned()),
                ),
            })
            .collect();
        let mut state = self.lock();
        for (blob, looked) in (first..).zip(looked) {
            state.put(blob, looked);
        }
        if (first..first + batch.len()).contains(&state.wanted) {
            self.came.notify_one();
        }
        true
    }

    /// Waits for a content: once for each time that it was added, and first for those that were added first. None: a worker died.
    pub fn wait(&self, blob: usize) -> Option<Looked> {
        let mut state = self.lock();
        state.wanted = state.wanted.max(blob);
        state.uses[blob] -= 1;
        loop {
            let looked = state.get(blob);
            if state.has_room() {
                self.room.notify_all();
            }
            if looked.is_some() {
                return looked;
            }
            if state.stopped {
                return None;
            }
            if state.is_alone {
                if !self.look_through_next(state, &mut self.looker()) {
                    return None;
                }
                state = self.lock();
                continue;
            }
            state = self
                .came
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Ends the work when it is dropped.
struct Stop<'a, 'b>(&'a Board<'b>);

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.room.notify_all();
        self.0.came.notify_all();
    }
}
