//! `tw diff` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::compare::Patches;
use crate::ops::request::DiffSides;

/// # Compare two states of the working tree
///
/// Compares a snapshot with another one or with the present, untracked files included. Without addresses: the latest
/// snapshot against the present, which is what changed since. Of more than 100 paths the first are given, and 'files_count': name
/// 'paths' to see others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// Compare from this snapshot: an id or part of it, 'latest', 'session', a label, a time. Default: latest.
    from: Option<Address>,
    /// Compare to this one. Default: present, the working tree as it is.
    to: Option<Address>,
    /// Let 'latest' and times mean snapshots of other worktrees and repositories, too, and those taken in the past.
    #[serde(default)]
    all_worktrees: bool,
    /// Only these paths in the working tree, relative to the directory, and what lies beneath them.
    #[serde(default)]
    paths: Vec<String>,
    /// Give the patch of each file too. It can be long: name paths.
    #[serde(default)]
    patch: bool,
}

impl Request for Diff {
    const NAME: &str = "timewarp_diff";
    const OUTPUTS: &[Document] = &[document::<ops::outcome::Diff>("diff")];
    const EFFECT: Effect = Effect::ReadOnly;
    const QUOTES: Option<&str> = Some("patches");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        ctx.widen_addresses(self.all_worktrees);
        let request = DiffSides {
            from: self.from.map(String::from),
            to: self.to.map(String::from),
            paths: literal_paths(self.paths),
            patches: if self.patch {
                Patches::Texts
            } else {
                Patches::None
            },
            ..DiffSides::default()
        };
        Ok(wire::value(&ops::diff::diff(ctx, &request)?))
    }
}
