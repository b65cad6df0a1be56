//! Checkpoints in JSON.

use serde::Serialize;

use super::Document;
use super::rewind::Rewind;
use crate::ops::checkpoint::{Listing, Shown, Taken};
use crate::ops::outcome::SnapshotView;
use crate::store::checkpoint::{self as stored, Kind};

/// The version of a checkpoint's fields.
const VERSION: u32 = 1;

/// A checkpoint.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are those of the documents"
)]
pub struct Checkpoint<'a> {
    version: u32,
    session_id: &'a str,
    agent: Option<&'a str>,
    checkpoint_id: u64,
    created_at: &'a str,
    prompt: Option<&'a str>,
    snapshot_id: &'a str,
    transcript: Transcript<'a>,
    tokens: Tokens,
    kind: &'static str,
    supersedes: Option<&'a str>,
    tool: Option<&'a str>,
}

#[derive(Serialize)]
struct Transcript<'a> {
    path: Option<&'a str>,
    line: Option<u64>,
    offset: u64,
    prompt_id: Option<&'a str>,
    sha256_of_prefix: Option<&'a str>,
}

/// Token counts.
#[derive(Serialize)]
pub struct Tokens {
    context: Option<u64>,
    total: Option<u64>,
}

impl From<stored::Counts> for Tokens {
    fn from(counts: stored::Counts) -> Self {
        Self {
            context: counts.context,
            total: counts.total,
        }
    }
}

impl<'a> From<&'a stored::Checkpoint> for Checkpoint<'a> {
    fn from(checkpoint: &'a stored::Checkpoint) -> Self {
        let place = &checkpoint.transcript;
        Self {
            version: VERSION,
            session_id: &checkpoint.session_id,
            agent: checkpoint.agent.as_deref(),
            checkpoint_id: checkpoint.checkpoint_id,
            created_at: &checkpoint.created_at,
            prompt: checkpoint.prompt.as_deref(),
            snapshot_id: &checkpoint.snapshot_id,
            transcript: Transcript {
                path: place.path.as_deref(),
                line: place.line,
                offset: place.offset,
                prompt_id: place.prompt_id.as_deref(),
                sha256_of_prefix: place.sha256_of_prefix.as_deref(),
            },
            tokens: checkpoint.tokens.into(),
            kind: Kind::as_str(checkpoint.kind),
            supersedes: checkpoint.supersedes.as_deref(),
            tool: checkpoint.tool.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct TakenFields<'a> {
    checkpoint: Checkpoint<'a>,
    snapshot: &'a SnapshotView,
    fresh: bool,
    notices: &'a [String],
}

impl Document for Taken {
    fn fields(&self) -> impl Serialize + '_ {
        TakenFields {
            checkpoint: (&self.checkpoint).into(),
            snapshot: &self.snapshot,
            fresh: self.fresh,
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct ListFields<'a> {
    session_id: &'a str,
    checkpoints: Vec<Checkpoint<'a>>,
    total: usize,
    rewinds: Vec<Rewind<'a>>,
    invalid: &'a [String],
    notices: &'a [String],
}

impl Document for Listing {
    fn fields(&self) -> impl Serialize + '_ {
        ListFields {
            session_id: &self.session_id,
            checkpoints: self.checkpoints.iter().map(Into::into).collect(),
            total: self.total,
            rewinds: self.rewinds.iter().map(Into::into).collect(),
            invalid: &self.invalid,
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct ShowFields<'a> {
    checkpoint: Checkpoint<'a>,
    available: Available<'a>,
    rewinds: Vec<Rewind<'a>>,
}

#[derive(Serialize)]
struct Available<'a> {
    code: bool,
    conversation: bool,
    reason: Option<&'a str>,
}

impl Document for Shown {
    fn fields(&self) -> impl Serialize + '_ {
        ShowFields {
            checkpoint: (&self.checkpoint).into(),
            available: Available {
                code: self.has_snapshot,
                conversation: self.conversation.is_ok(),
                reason: self
                    .conversation
                    .as_ref()
                    .err()
                    .map(crate::error::Error::message),
            },
            rewinds: self.rewinds.iter().map(Into::into).collect(),
        }
    }
}
