//! Prompts and ends of turns, out of the notes of sessions, by time.
//!
//! A session's notes are read only when what was written to them last may be as new as what is asked for: the commit of a
//! record tells when it was changed, and nothing in it is newer.

use std::collections::HashMap;
use std::sync::Arc;

use super::asked::AskedAt;
use crate::env::Moment;
use crate::error::Result;
use crate::store::Store;
use crate::store::checkpoint::{self, Checkpoint, Kind, SessionNotes};
use crate::store::id::SnapshotId;
use crate::store::names::{Record, RecordKind};

/// A prompt, or the end of a turn.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// Seconds since the epoch.
    pub(super) second: i64,
    /// RFC 3339.
    pub(super) at: String,
    /// Whether it is the end of a turn.
    pub(super) is_end: bool,
    /// The session.
    pub(super) session_id: String,
    /// Its agent.
    pub(super) agent: Option<String>,
    /// The checkpoint of the prompt.
    pub(super) n: Option<u64>,
    /// What made the checkpoint.
    pub(super) made_by: Option<Kind>,
    /// What was asked.
    pub(super) text: String,
    /// The files of that moment, as they are named in the notes.
    pub(super) snapshot_id: String,
    /// The files at the prompt and at the end.
    pub(super) turn: (Option<SnapshotId>, Option<SnapshotId>),
}

/// The notes of all sessions, or of one.
pub(super) struct Talks<'c> {
    store: &'c Store,
    /// Not read yet: when they were changed last, and whose they are. Newest last.
    closed: Vec<(i64, Record)>,
    /// Not given yet, newest last.
    open: Vec<Point>,
    /// The first checkpoint on each snapshot.
    on: HashMap<String, (u64, Kind)>,
    /// What was asked in the sessions whose notes were read.
    asked: HashMap<String, Arc<[AskedAt]>>,
    invalid: Vec<(String, String)>,
    until: i64,
}

impl<'c> Talks<'c> {
    /// Reads when each session's notes were changed; `only` names the one session that counts.
    pub(super) fn new(store: &'c Store, only: Option<&str>, until: Option<Moment>) -> Result<Self> {
        let mut closed = store.record_times(RecordKind::Sessions)?;
        if let Some(only) = only.map(Record::session) {
            closed.retain(|(_, name)| *name == only);
        }
        closed.sort();
        Ok(Self {
            closed,
            until: until.map_or(i64::MAX, Moment::seconds),
            ..Self::none(store)
        })
    }

    /// No notes at all.
    pub(super) fn none(store: &'c Store) -> Self {
        Self {
            store,
            closed: Vec::new(),
            open: Vec::new(),
            on: HashMap::new(),
            asked: HashMap::new(),
            invalid: Vec::new(),
            until: i64::MAX,
        }
    }

    /// The second of the newest that is known.
    pub(super) fn second(&self) -> Option<i64> {
        self.open.last().map(|point| point.second)
    }

    /// No session that was not read yet has anything newer than this.
    pub(super) fn bound(&self) -> Option<i64> {
        self.closed.last().map(|(second, _)| *second)
    }

    /// Reads the notes of the session that was changed last of those that were not read yet.
    pub(super) fn open_one(&mut self) {
        let Some((_, name)) = self.closed.pop() else {
            return;
        };
        let Record::Session(component) = &name else {
            return;
        };
        match checkpoint::read(self.store, component) {
            Ok(notes) => self.add(component, notes),
            Err(error) => {
                let said = (name.to_string(), error.message().to_owned());
                self.invalid.push(said);
            }
        }
        self.open.sort_by(|a, b| {
            let key = |point: &Point| (point.second, point.n, point.is_end);
            key(a).cmp(&key(b))
        });
    }

    fn add(&mut self, component: &str, notes: SessionNotes) {
        let of = |reason: String| (format!("session '{component}'"), reason);
        self.invalid.extend(notes.invalid.iter().cloned().map(of));
        let points = points(&notes, &|id| self.seq(id));
        for checkpoint in &notes.checkpoints {
            let first = (checkpoint.checkpoint_id, checkpoint.kind);
            let snapshot_id = checkpoint.snapshot_id.clone();
            self.on.entry(snapshot_id).or_insert(first);
        }
        self.remember(notes);
        let until = self.until;
        let points = points.into_iter().filter(|point| point.second <= until);
        self.open.extend(points);
    }

    fn remember(&mut self, notes: SessionNotes) {
        let mut checkpoints = notes.checkpoints.into_iter().peekable();
        if let Some(first) = checkpoints.peek() {
            let session_id = first.session_id.clone();
            self.asked
                .insert(session_id, checkpoints.map(AskedAt::from).collect());
        }
    }

    /// What was asked in a session, in the order of the checkpoints. Of notes that cannot be read nothing is known.
    pub(super) fn asked_in(&mut self, session_id: &str) -> Arc<[AskedAt]> {
        if let Some(known) = self.asked.get(session_id) {
            return Arc::clone(known);
        }
        let notes = checkpoint::read(self.store, session_id).unwrap_or_default();
        let asked: Arc<[AskedAt]> = notes.checkpoints.into_iter().map(AskedAt::from).collect();
        self.asked.insert(session_id.to_owned(), Arc::clone(&asked));
        asked
    }

    fn seq(&self, id: &str) -> Option<u64> {
        let stored = self.store.read_id(&SnapshotId::parse(id)?).ok()?;
        Some(stored.record.seq)
    }

    /// Those of this second and newer ones, which are given with this.
    pub(super) fn take(&mut self, second: i64) -> Vec<Point> {
        let from = self.open.partition_point(|point| point.second < second);
        self.open.split_off(from)
    }

    /// Number and kind of the first checkpoint that was noted on a snapshot, among the notes that were read.
    pub(super) fn checkpoint_on(&self, snapshot_id: &str) -> Option<(u64, Kind)> {
        self.on.get(snapshot_id).copied()
    }

    /// What could not be read so far: whose it is and why.
    pub(super) fn invalid(&self) -> &[(String, String)] {
        &self.invalid
    }
}

/// The number of a snapshot.
type Seq<'a> = &'a dyn Fn(&str) -> Option<u64>;

/// A snapshot as notes name it, and when.
type Noted<'a> = (&'a str, &'a str);

/// Whether one was noted later than another. Times are kept in seconds: in one of them the numbers tell.
fn is_later((at, id): Noted<'_>, (other_at, other): Noted<'_>, seq: Seq<'_>) -> bool {
    at > other_at || (at == other_at && id != other && seq(id) > seq(other))
}

/// The snapshot at the end of what a checkpoint begins, the next ones given: of that kind, and of any. What a prompt begins ends with its
/// turn, where that was noted, else with the next prompt; what somebody's checkpoint in a turn begins, with the next of any kind or
/// the end of that turn: behind that it begins nothing.
fn end_of<'n>(
    notes: &'n SessionNotes,
    checkpoint: &'n Checkpoint,
    (next_prompt, next): (Option<&'n Checkpoint>, Option<&'n Checkpoint>),
    seq: Seq<'_>,
) -> Option<&'n str> {
    let n = checkpoint.checkpoint_id;
    let is_prompt = checkpoint.kind == Kind::Prompt;
    let turn = notes.turn_of(n);
    let ended = turn.and_then(|turn| notes.ends_of(turn).next_back());
    let ended = ended.map(|end| (end.created_at.as_str(), end.snapshot_id.as_str()));
    let next = if is_prompt { next_prompt } else { next };
    let next = next.map(|next| (next.created_at.as_str(), next.snapshot_id.as_str()));
    let this = (
        checkpoint.created_at.as_str(),
        checkpoint.snapshot_id.as_str(),
    );
    let end = match (ended, next) {
        (Some(ended), _) if is_prompt => ended,
        (Some(ended), _) if !is_later(ended, this, seq) => this,
        (Some(ended), Some(next)) if is_later(ended, next, seq) => next,
        (Some(ended), _) => ended,
        (None, next) => next?,
    };
    Some(end.1)
}

/// What the notes of a session tell, in no order.
fn points(notes: &SessionNotes, seq: Seq<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    let (mut next_prompt, mut next) = (None, None);
    for checkpoint in notes.checkpoints.iter().rev() {
        let start = SnapshotId::parse(&checkpoint.snapshot_id);
        if checkpoint.kind == Kind::Step {
            continue;
        }
        let n = checkpoint.checkpoint_id;
        let end = end_of(notes, checkpoint, (next_prompt, next), seq);
        let end = end.and_then(SnapshotId::parse);
        points.push(Point {
            second: Moment::seconds_of(&checkpoint.created_at),
            at: checkpoint.created_at.clone(),
            is_end: false,
            session_id: checkpoint.session_id.clone(),
            agent: checkpoint.agent.clone(),
            n: Some(n),
            made_by: Some(checkpoint.kind),
            text: checkpoint.prompt.clone().unwrap_or_default(),
            snapshot_id: checkpoint.snapshot_id.clone(),
            turn: (start, end),
        });
        next = Some(checkpoint);
        if checkpoint.kind == Kind::Prompt {
            next_prompt = next;
        }
    }
    for end in &notes.turn_ends {
        let asked = end.checkpoint_id.and_then(|n| notes.checkpoint(n));
        let start = asked.and_then(|asked| SnapshotId::parse(&asked.snapshot_id));
        points.push(Point {
            second: Moment::seconds_of(&end.created_at),
            at: end.created_at.clone(),
            is_end: true,
            session_id: end.session_id.clone(),
            agent: end.agent.clone(),
            n: end.checkpoint_id,
            made_by: None,
            text: String::new(),
            snapshot_id: end.snapshot_id.clone(),
            turn: (start, SnapshotId::parse(&end.snapshot_id)),
        });
    }
    points
}
