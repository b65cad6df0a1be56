//! How an issue was closed, and what showed that it was solved: now, and before it was opened again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Issue, Status};
use crate::git::hex::hex;
use crate::json;
use crate::store::id::IssueId;
use crate::store::records::Json;

/// How an issue was closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Resolution {
    /// RFC 3339, UTC.
    pub at: String,
    /// HEAD's commit then.
    #[serde(default)]
    pub commit: Option<String>,
    /// What was said.
    #[serde(default)]
    pub note: Option<String>,
    /// The check that shows that it is solved; null: none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// What made the check of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofKind {
    /// `tw issue verify`.
    Verify,
    /// A try.
    Try,
    /// A replay.
    Replay,
}

json::words!(ProofKind {
    Verify = "verify",
    Try = "try",
    Replay = "replay",
});

/// A check that shows how an issue stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Proof {
    /// What made it.
    pub kind: ProofKind,
    /// The try or the replay; null for `verify`.
    pub id: Option<String>,
    /// The number of its run, as the try or the replay counts.
    pub run: u64,
    /// That run's number among those of the issue.
    #[serde(default)]
    pub issue_run: Option<u64>,
    /// What the run left; null: nothing differed from the snapshot.
    #[serde(default)]
    pub experiment_id: Option<String>,
    /// The check, redacted.
    pub command: String,
    /// When the run ended, or was put onto the present: RFC 3339, UTC.
    pub at: String,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// How an issue was closed at first: it was opened again since, or closed anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Earlier {
    /// Names it, also where copies of the issue are merged.
    pub id: String,
    /// How it was closed.
    pub status: Status,
    /// The issue that had it, of a duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<IssueId>,
    /// How.
    pub resolution: Resolution,
    /// Until when that held: RFC 3339, UTC.
    pub until: String,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

impl Issue {
    /// Takes away how it is closed, and keeps it among what was before. What holds then is the caller's to say.
    pub fn set_resolution_aside(&mut self, until: &str) {
        let (status, duplicate_of) = (self.status, self.duplicate_of.take());
        let Some(resolution) = self.resolution.take().filter(|_| status.is_closed()) else {
            return;
        };
        // The same wherever it is set aside: copies of the issue are merged.
        let commit = resolution.commit.as_deref().unwrap_or_default();
        let text = format!("{}\n{}\n{commit}", status.as_str(), resolution.at);
        let mut id = id_of(&text);
        let mut known = self.resolutions.iter();
        let of_that_second = known.find(|earlier| earlier.id == id);
        if of_that_second.is_some_and(|earlier| earlier.resolution.note != resolution.note) {
            // Closed twice in one second.
            id = id_of(&format!(
                "{text}\n{}",
                resolution.note.as_deref().unwrap_or_default()
            ));
        }
        if self.resolutions.iter().all(|earlier| earlier.id != id) {
            self.resolutions.push(Earlier {
                id,
                status,
                duplicate_of,
                resolution,
                until: until.to_owned(),
                other: Json::new(),
            });
        }
    }
}

fn id_of(text: &str) -> String {
    let digits = hex(&Sha256::digest(text));
    format!("e_{}", digits.get(..12).unwrap_or_default())
}
