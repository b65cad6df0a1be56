//! Outcomes of context logs, in JSON.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::Document;
use super::paths::{self, texts};
use crate::ops::context::{
    Appended, Checkpointed, Compacted, Counted, Marker, NotDone, Reverted, Shown,
};

/// The log that an answer is about.
#[derive(Serialize)]
struct File {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<String>,
}

impl From<&Path> for File {
    fn from(path: &Path) -> Self {
        let bytes = paths::bytes(path);
        Self {
            file: paths::lossy(bytes),
            file_bytes: paths::exact(bytes),
        }
    }
}

fn shown(path: Option<&Path>) -> Option<String> {
    path.map(|path| path.to_string_lossy().into_owned())
}

#[derive(Serialize)]
struct AppendFields {
    #[serde(flatten)]
    file: File,
    appended: usize,
    rotated_to: Option<String>,
}

impl Document for Appended {
    fn fields(&self) -> impl Serialize + '_ {
        AppendFields {
            file: self.file.as_path().into(),
            appended: self.records,
            rotated_to: shown(self.rotated_to.as_deref()),
        }
    }
}

#[derive(Serialize)]
struct CheckpointFields {
    #[serde(flatten)]
    file: File,
    checkpoint_id: i64,
    marker: bool,
}

impl Document for Checkpointed {
    fn fields(&self) -> impl Serialize + '_ {
        CheckpointFields {
            file: self.file.as_path().into(),
            checkpoint_id: self.checkpoint_id,
            marker: self.marker == Marker::Visible,
        }
    }
}

#[derive(Serialize)]
struct UsageFields {
    #[serde(flatten)]
    file: File,
    token_count: u64,
}

impl Document for Counted {
    fn fields(&self) -> impl Serialize + '_ {
        UsageFields {
            file: self.file.as_path().into(),
            token_count: self.token_count,
        }
    }
}

#[derive(Serialize)]
struct ShowFields<'a> {
    #[serde(flatten)]
    file: File,
    session_id: Option<&'a str>,
    system_prompt: Option<&'a str>,
    records: Vec<&'a Value>,
    messages: usize,
    checkpoints: &'a [i64],
    next_checkpoint: i64,
    token_count: u64,
    pending_tokens: u64,
    skipped: usize,
    torn: bool,
    rotated: Vec<String>,
}

impl Document for Shown {
    fn fields(&self) -> impl Serialize + '_ {
        ShowFields {
            file: self.file.as_path().into(),
            session_id: self.session_id.as_deref(),
            system_prompt: self.system_prompt.as_deref(),
            records: self.records.iter().map(|(_, value)| value).collect(),
            messages: self.messages().count(),
            checkpoints: &self.checkpoints,
            next_checkpoint: self.next_checkpoint,
            token_count: self.tokens.counted,
            pending_tokens: self.tokens.pending,
            skipped: self.skipped,
            torn: self.torn,
            rotated: texts(&self.rotated),
        }
    }
}

#[derive(Serialize)]
struct RevertFields {
    #[serde(flatten)]
    file: File,
    checkpoint_id: i64,
    rotated_to: Option<String>,
    messages_discarded: usize,
    tokens_discarded: u64,
    skipped: usize,
    note_checkpoint: Option<i64>,
}

impl Document for Reverted {
    fn fields(&self) -> impl Serialize + '_ {
        RevertFields {
            file: self.file.as_path().into(),
            checkpoint_id: self.checkpoint_id,
            rotated_to: shown(self.rotated_to.as_deref()),
            messages_discarded: self.messages_discarded,
            tokens_discarded: self.tokens_discarded,
            skipped: self.skipped,
            note_checkpoint: self.note_checkpoint,
        }
    }
}

#[derive(Serialize)]
struct CompactFields {
    #[serde(flatten)]
    file: File,
    compacted: bool,
    reason: Option<&'static str>,
    rotated_to: Option<String>,
    messages_discarded: usize,
    tokens_before: u64,
    tokens_after: u64,
    checkpoint_id: Option<i64>,
    skipped: usize,
}

impl Document for Compacted {
    fn fields(&self) -> impl Serialize + '_ {
        let done = self.done.as_ref().ok();
        let before = self.before.total();
        CompactFields {
            file: self.file.as_path().into(),
            compacted: done.is_some(),
            reason: self.done.as_ref().err().copied().map(NotDone::as_str),
            rotated_to: shown(done.and_then(|done| done.rotated_to.as_deref())),
            messages_discarded: done.map_or(0, |done| done.messages_discarded),
            tokens_before: before,
            tokens_after: done.map_or(before, |done| done.tokens),
            checkpoint_id: done.and_then(|done| done.checkpoint_id),
            skipped: self.skipped,
        }
    }
}
