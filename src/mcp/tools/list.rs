//! `tw list` as a tool.

use super::FEW;
use crate::mcp::tools::prelude::*;
use crate::ops::list::ListKind;

/// # List snapshots
///
/// Lists snapshots of this worktree, newest first. Backups are what travel, return and restore saved before they replaced
/// files, experiments what return found in the past.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Show at most this many. Default: 50; 'total' in the answer says how many there are.
    limit: Option<usize>,
    /// Show only this kind. Default: snapshot.
    #[serde(default)]
    kind: Kind,
    /// Show every kind, of every worktree.
    #[serde(default)]
    all: bool,
    /// Show those of other worktrees too, and those taken in the past.
    #[serde(default)]
    all_worktrees: bool,
}

// Without comments: they would be descriptions of each word.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Kind {
    #[default]
    Snapshot,
    Backup,
    Experiment,
}

impl Request for List {
    const NAME: &str = "timewarp_list";
    const OUTPUTS: &[Document] = &[document::<ops::list::Listing>("list")];
    const EFFECT: Effect = Effect::ReadOnly;
    const QUOTES: Option<&str> = Some("titles and hints of snapshots");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = ops::list::List {
            limit: Some(self.limit.unwrap_or(FEW)),
            kind: match self.kind {
                _ if self.all => ListKind::All,
                Kind::Snapshot => ListKind::Snapshot,
                Kind::Backup => ListKind::Backup,
                Kind::Experiment => ListKind::Experiment,
            },
            all_worktrees: self.all || self.all_worktrees,
            ..ops::list::List::default()
        };
        Ok(wire::value(&ops::list::list(ctx, &request)?))
    }
}
