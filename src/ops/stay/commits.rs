//! The commits that were made on the HEAD of the past, which nothing but an experiment holds when it moves away from them.
//!
//! Those of the past that ends, and of the pasts before it that a hop led away from. Nothing here keeps anybody from coming home: what
//! cannot be told is said.

use super::ReturnOperation;
use crate::error::{Error, Result};
use crate::git::Oid;
use crate::ops::outcome::CommitMade;
use crate::ops::swap::head::is_past_branch;
use crate::ops::swap::undo_log::{Log, heads};
use crate::store::id::SnapshotId;
use crate::store::state::Mode;
use crate::store::trigger::SwapKind;
use crate::text::typed;

/// Commits by their ids and titles, newest first.
type Commits = Vec<(Oid, String)>;

/// The commits of a stay.
#[derive(Debug, Default)]
pub struct CommitsOfStay {
    /// Of the past that ends.
    made: Commits,
    /// The branch of ours that these are on.
    pub branch: Option<String>,
    /// Of the pasts before it, each on its own.
    earlier: Vec<Commits>,
    /// What is said where history cannot be read.
    untold: Option<String>,
}

impl CommitsOfStay {
    /// All of them.
    pub fn listed(self) -> Vec<CommitMade> {
        let all = self
            .made
            .into_iter()
            .chain(self.earlier.into_iter().flatten());
        all.map(|(oid, title)| CommitMade { oid, title }).collect()
    }

    /// What is said of them.
    pub fn notices(&self) -> Vec<String> {
        let mut notices: Vec<String> = self.untold.iter().cloned().collect();
        if let (Some(_), Some(branch)) = (self.made.first(), &self.branch) {
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
            notices.push(format!(
                "commits were made in the past, and are on branch '{branch}'; to call it otherwise: git branch -m {} NAME",
                typed(branch)
            ));
        } else if let Some((oid, _)) = self.made.first() {
            notices.push(format!(
                "commits were made in the past; to keep them on a branch: git branch NAME {oid}"
            ));
        }
        let earlier = self.earlier.iter().filter_map(|made| made.first());
        notices.extend(earlier.map(|(oid, _)| {
            format!(
                "commits were made in the past before a hop; to keep them on a branch: git branch NAME {oid}"
            )
        }));
        notices
    }
}

impl ReturnOperation<'_> {
    /// The commits that were made in this past.
    pub fn commits_here(&self) -> CommitsOfStay {
        let Ok(head) = self.ctx.repo.head(&self.store.objects) else {
            return CommitsOfStay::default();
        };
        // A branch of the user's own keeps its commits; only ours goes away with the past.
        let branch = head.reference.filter(|branch| is_past_branch(branch));
        let base = self.start.as_ref().and_then(|start| start.head);
        let Some(tip) = head.oid else {
            return CommitsOfStay::default();
        };
        match self.commits_alone(tip, base, branch.as_deref()) {
            Ok(made) => CommitsOfStay {
                branch: branch.filter(|_| !made.is_empty()),
                made,
                ..CommitsOfStay::default()
            },
            Err(error) => CommitsOfStay {
                untold: Some(untold_commits(tip, &error)),
                ..CommitsOfStay::default()
            },
        }
    }

    /// Those, and the ones of the pasts before that this stay hopped away from.
    pub fn commits(&self) -> CommitsOfStay {
        let mut commits = self.commits_here();
        // Where the log cannot be read, the hop has told of them.
        let earlier = self.commits_before_hops().unwrap_or_default();
        let is_told = |(oid, _): &(Oid, String)| commits.made.iter().any(|(one, _)| one == oid);
        let earlier = earlier.into_iter().map(|mut made| {
            made.retain(|one| !is_told(one));
            made
        });
        commits.earlier = earlier.filter(|made| !made.is_empty()).collect();
        commits
    }

    fn commits_before_hops(&self) -> Result<Vec<Commits>> {
        let mut found: Vec<Commits> = Vec::new();
        for level in heads(&self.store.dir, Log::Undo)? {
            let journal = level?.journal;
            let (before, after) = (&journal.state_before, &journal.state_after);
            let is_of_stay = after.mode == Mode::Past && after.backup_id == self.state.backup_id;
            if !is_of_stay || before.mode == Mode::Present {
                break;
            }
            if journal.operation == SwapKind::Travel {
                found.extend(self.commits_of_experiment(&journal.backup_id));
            }
        }
        // Who hopped to and fro was at one commit more than once.
        let mut known: Vec<Oid> = Vec::new();
        for made in &mut found {
            made.retain(|(oid, _)| !known.contains(oid));
            known.extend(made.iter().map(|(oid, _)| *oid));
        }
        Ok(found)
    }

    /// None where the experiment is not there, or nobody can tell.
    fn commits_of_experiment(&self, id: &str) -> Option<Commits> {
        let snapshot = |id: &str| self.store.read_id(&SnapshotId::parse(id)?).ok();
        let experiment = snapshot(id)?;
        let started_from = experiment.record.extra.get("started_from");
        let start = started_from.and_then(|id| snapshot(id.as_str()?));
        let base = start.and_then(|start| start.head);
        self.commits_alone(experiment.head?, base, None).ok()
    }

    /// The commits up to a tip that nothing else keeps; `own` is a branch that does not count.
    fn commits_alone(&self, tip: Oid, base: Option<Oid>, own: Option<&str>) -> Result<Commits> {
        if Some(tip) == base || Some(tip) == self.backup.head {
            return Ok(Vec::new());
        }
        let objects = &self.store.objects;
        self.ctx.repo.commits_on_head_alone(objects, tip, base, own)
    }
}

/// What is said of commits of which only the last is known.
pub fn untold_commits(tip: Oid, error: &Error) -> String {
    format!(
        "HEAD was at {tip}, and which commits lead there cannot be told: {}; to keep them on a branch: git branch NAME {tip}",
        error.message()
    )
}
