//! The prompt that an entry belongs to, whichever entries a filter lets through and however many were read.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::Timeline;
use super::entry::{Entry, Source};
use crate::env::Moment;
use crate::store::checkpoint::{Checkpoint, Kind};
use crate::store::id::SnapshotId;
use crate::text::first_line;

/// What was asked of an agent, or the checkpoint that somebody made: where entries of its session belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The checkpoint.
    pub checkpoint_id: u64,
    /// Its first line.
    pub title: String,
    /// All of it.
    #[serde(skip)]
    pub text: String,
}

/// A checkpoint of a session, as far as it tells what belongs to it.
pub(super) struct AskedAt {
    asked: Arc<Asked>,
    /// It is one of the steps of a turn, which nobody asked for.
    is_step: bool,
    /// Seconds since the epoch.
    second: i64,
    snapshot_id: String,
}

impl From<Checkpoint> for AskedAt {
    fn from(checkpoint: Checkpoint) -> Self {
        let text = checkpoint.prompt.unwrap_or_default();
        Self {
            is_step: checkpoint.kind == Kind::Step,
            second: Moment::seconds_of(&checkpoint.created_at),
            snapshot_id: checkpoint.snapshot_id,
            asked: Arc::new(Asked {
                checkpoint_id: checkpoint.checkpoint_id,
                title: first_line(&text).to_owned(),
                text,
            }),
        }
    }
}

/// As the document of a page has it.
#[expect(clippy::ref_option, reason = "serde passes references")]
pub(super) fn of_page<S: Serializer>(
    asked: &Option<Arc<Asked>>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    asked.as_deref().serialize(serializer)
}

impl Timeline<'_> {
    /// Tells of each entry which prompt it belongs to: its own, that of its checkpoint, or the last one of its session before it.
    pub fn tell_prompts(&mut self, entries: &mut [Entry]) {
        for entry in entries {
            entry.prompt = self.prompt_of(entry);
        }
    }

    fn prompt_of(&mut self, entry: &Entry) -> Option<Arc<Asked>> {
        let noted = self.talks.asked_in(entry.session_id.as_deref()?);
        let asked = |one: &&AskedAt| !one.is_step;
        let found = if let Some(n) = entry.checkpoint_id {
            let at = noted.iter().position(|one| one.asked.checkpoint_id == n)?;
            noted.get(..=at)?.iter().rev().find(asked)
        } else {
            let mut older = noted.iter().rev().filter(asked);
            older.find(|one| self.is_before(one, entry))
        };
        found.map(|one| Arc::clone(&one.asked))
    }

    /// Whether a checkpoint was there before an entry. Within a second the numbers of their snapshots tell.
    fn is_before(&self, one: &AskedAt, entry: &Entry) -> bool {
        let at = Moment::seconds_of(&entry.at);
        if one.second != at {
            return one.second < at;
        }
        let seq = |id: &str| {
            let meta = SnapshotId::parse(id).map(|id| self.records.meta(&id));
            meta.and_then(|meta| meta.ok().flatten())
                .map(|meta| meta.seq)
        };
        let Some(asked) = seq(&one.snapshot_id) else {
            return true;
        };
        match &entry.source {
            Source::Record(meta) => asked < meta.seq,
            Source::Turn(..) => seq(&entry.id).is_none_or(|own| asked <= own),
            Source::Level(_) | Source::Issue => true,
        }
    }
}
