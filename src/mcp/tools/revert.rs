//! `tw revert` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::revert::{self, Conflicts, Shared};

/// # Take back what a prompt changed
///
/// Merges what one prompt (or a whole session) changed out of the files as they are now, and keeps all that came later, by agents and
/// people. Only a dry run unless 'confirm' is true. Where the same lines were changed since, or something was put directly beside them and
/// nothing tells which comes first, nothing is done: the conflict names the lines and the later prompts that did it, and
/// 'with_dependents' takes those back, too. What was there is saved first, and 'tw undo' takes it back; HEAD and the index stay.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revert {
    /// The prompts' checkpoints: numbers, 'checkpoint:N' or 'SESSION:N'; or a snapshot's id: what it holds beside the one before it.
    #[serde(default)]
    checkpoints: Vec<Address>,
    /// All turns of this session; with 'checkpoints', whose they are.
    session: Option<String>,
    /// Only in these paths, relative to the directory, and what lies beneath them.
    #[serde(default)]
    paths: Vec<String>,
    /// Take back the later prompts that touched the same lines, or put something directly beside them, too.
    #[serde(default)]
    with_dependents: bool,
    /// Really take it back.
    #[serde(default)]
    confirm: bool,
    /// List what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

impl Request for Revert {
    const NAME: &str = "timewarp_revert";
    const OUTPUTS: &[Document] = &[document::<revert::Reverted>("revert")];
    const EFFECT: Effect = Effect::Replaces;
    const QUOTES: Option<&str> = Some("prompts of the conversations");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = revert::Revert {
            what: self.checkpoints.into_iter().map(String::from).collect(),
            session: self.session,
            paths: literal_paths(self.paths),
            conflicts: if self.with_dependents {
                Conflicts::WithDependents
            } else {
                Conflicts::Refuse
            },
            shared: Shared::Leave,
            dry_run: (self.dry_run || !self.confirm).into(),
        };
        let mut reverted = revert::revert(ctx, &request)?;
        if !self.confirm && !self.dry_run {
            reverted
                .notices
                .push("nothing was changed: a revert is done only with 'confirm': true".to_owned());
        }
        Ok(wire::value(&reverted))
    }
}
