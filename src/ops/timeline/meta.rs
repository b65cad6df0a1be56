//! What the timeline says of a snapshot, backup or experiment: some fields of its record.

use serde::Deserialize;

use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::ops::history::MadeIn;
use crate::store::id::SnapshotId;
use crate::store::snapshot::TakenIn;
use crate::store::stored::Stored;
use crate::store::summary::Summary;
use crate::store::trigger::Trigger;

/// A snapshot, backup or experiment in short.
#[derive(Debug, Clone)]
pub struct Meta {
    /// The id.
    pub id: SnapshotId,
    /// The commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// Counts up per repository.
    pub seq: u64,
    /// The title.
    pub title: String,
    /// RFC 3339.
    pub created_at: String,
    /// The worktree it was taken in.
    pub worktree: String,
    /// That worktree's random id, where one is recorded.
    pub worktree_id: Option<String>,
    /// The random id of the repository it was taken in.
    pub repository_id: String,
    /// The rest.
    pub said: Said,
}

/// What is read of the record itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Said {
    /// The session it was taken in.
    pub session_id: Option<String>,
    /// The session's agent.
    pub agent: Option<String>,
    /// What made it.
    pub trigger: Trigger,
    /// The session's task.
    pub initial_task_hint: Option<String>,
    /// Where the working tree was.
    pub taken_in: TakenIn,
    /// HEAD.
    pub head: Head,
    /// The snapshot that a swap put in place.
    pub target_id: Option<String>,
    /// Who is said to have taken it, when it came from elsewhere.
    pub claimed_by: Option<String>,
}

/// HEAD as recorded.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Head {
    /// Its commit.
    pub oid: Option<String>,
}

impl Meta {
    /// Whether it was taken while the working tree was in the past.
    pub fn is_of_past(&self) -> bool {
        self.said.taken_in == TakenIn::Past
    }

    /// The files of the commit that HEAD was at; None when it was at none, or that commit is no longer there.
    ///
    /// # Errors
    /// It is damaged.
    pub fn head_tree(&self, objects: &ObjectStore) -> Result<Option<Oid>> {
        let head = self.said.head.oid.as_deref().map(Oid::from_hex);
        match head.transpose()? {
            Some(oid) if objects.contains(oid) => Ok(Some(objects.commit(oid)?.tree)),
            _ => Ok(None),
        }
    }
}

impl<'m> From<&'m Meta> for MadeIn<'m> {
    fn from(meta: &'m Meta) -> Self {
        Self {
            worktree: &meta.worktree,
            worktree_id: meta.worktree_id.as_deref(),
            repository: &meta.repository_id,
        }
    }
}

impl From<Summary> for Meta {
    fn from(summary: Summary) -> Self {
        // It was parsed when it was summarised; what is missing there is missing here.
        let said = serde_json::from_str(&summary.document).unwrap_or_default();
        Self {
            id: summary.id,
            commit: summary.commit,
            tree: summary.tree,
            seq: summary.seq,
            title: summary.title,
            created_at: summary.created_at,
            worktree: summary.worktree,
            worktree_id: Some(summary.worktree_id).filter(|id| !id.is_empty()),
            repository_id: summary.repository_id,
            said,
        }
    }
}

impl From<Stored> for Meta {
    fn from(stored: Stored) -> Self {
        let record = stored.record;
        Self {
            id: stored.id,
            commit: stored.commit,
            tree: stored.tree,
            seq: record.seq,
            title: stored.title,
            created_at: record.created_at,
            worktree: record.worktree,
            worktree_id: record.worktree_id,
            repository_id: record.repository_id,
            said: Said {
                claimed_by: record
                    .extra
                    .get("claimed_by")
                    .and_then(|name| name.as_str().map(str::to_owned)),
                target_id: record.target_id,
                session_id: record.session_id,
                agent: record.agent,
                trigger: record.trigger,
                initial_task_hint: record.initial_task_hint,
                taken_in: record.taken_in,
                head: Head {
                    oid: record.head.oid,
                },
            },
        }
    }
}
