//! Which scratches there are; and taking away those whose makers are dead.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::scratches::known::{self, State};
use super::scratches::lost;
use crate::error::Result;
use crate::json::{self, Text};
use crate::text::typed_path;

json::fields! {
    Dir = "dir",
}

/// Answer of `scratch list`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "scratch_list")]
pub struct Scratches {
    /// All of this repository, by the names of their worktrees; then those that git knows nothing of any more.
    pub scratches: Vec<ScratchView>,
}

/// A scratch.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "scratch")]
pub struct ScratchView {
    /// Where it is.
    #[serde(flatten, with = "Text::<Dir>")]
    pub dir: PathBuf,
    /// `open`, or the command that made it for a run.
    pub purpose: String,
    /// The snapshot that was laid out; null: nobody knows any more.
    pub snapshot_id: Option<String>,
    /// When; null: nobody knows any more.
    pub created_at: Option<String>,
    /// How it stands.
    pub state: State,
}

/// Lists the scratches of the repository.
///
/// # Errors
/// `CORRUPT_RECORD` when what was written about one cannot be read.
pub fn list(ctx: &Context<'_>) -> Result<Scratches> {
    let known = known::all(ctx)?;
    let lost = lost::all(ctx, &known)?;
    let known = known.into_iter().map(|known| ScratchView {
        purpose: known.purpose().to_owned(),
        snapshot_id: Some(known.opened.snapshot_id),
        created_at: Some(known.opened.at),
        state: known.state,
        dir: known.dir,
    });
    let lost = lost.into_iter().map(|lost| ScratchView {
        dir: lost.dir,
        purpose: lost.purpose.to_owned(),
        snapshot_id: None,
        created_at: None,
        state: State::Lost,
    });
    Ok(Scratches {
        scratches: known.chain(lost).collect(),
    })
}

/// Answer of `scratch gc`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "scratch_gc")]
pub struct Collected {
    /// Those that were taken away.
    pub removed: Vec<RemovedScratch>,
    /// Those that stay although their makers are dead, and why.
    pub kept: Vec<KeptScratch>,
}

/// A scratch that was taken away.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "removed_scratch")]
pub struct RemovedScratch {
    /// Where it was.
    #[serde(flatten, with = "Text::<Dir>")]
    pub dir: PathBuf,
    /// What was in it; null: nothing differed from its snapshot.
    pub experiment_id: Option<String>,
}

/// A scratch that stays.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "kept_scratch")]
pub struct KeptScratch {
    /// Where it is.
    #[serde(flatten, with = "Text::<Dir>")]
    pub dir: PathBuf,
    /// Why.
    pub reason: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// Takes those away whose makers are dead. What is in them is saved first.
///
/// # Errors
/// As [`list`]. One that cannot be saved is named, and stops none of the others.
pub fn gc(ctx: &Context<'_>) -> Result<Collected> {
    known::sweep(ctx)?;
    let mut collected = Collected {
        removed: Vec::new(),
        kept: Vec::new(),
    };
    for known in known::all(ctx)? {
        let is_run = known.purpose() != "open";
        if !is_run || known.state == State::InUse {
            continue;
        }
        let dir = known.dir.clone();
        match known::take_away(ctx, &known) {
            Ok(saved) => collected.removed.push(RemovedScratch {
                dir,
                experiment_id: saved.map(|id| id.to_string()),
            }),
            Err(error) => collected.kept.push(KeptScratch {
                dir,
                reason: error.message().to_owned(),
                hints: error.hints().to_vec(),
            }),
        }
    }
    for lost in lost::all(ctx, &known::all(ctx)?)? {
        collected.kept.push(KeptScratch {
            reason: "git knows nothing of it any more, and what is in it cannot be saved"
                .to_owned(),
            hints: vec![format!(
                "when nothing in it is needed: rm -r {}",
                typed_path(&lost.dir)
            )],
            dir: lost.dir,
        });
    }
    Ok(collected)
}
