//! `tw restore` as a tool.

use crate::mcp::tools::prelude::*;

/// # Restore files of a snapshot
///
/// Makes the named paths as a snapshot has them; captured files that it lacks go too. What was there is saved first, and
/// 'tw undo' takes it back. Without paths it is the whole tree, and then only a dry run unless 'confirm' is true.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Whose files: an id or part of it, 'latest', 'session', a label, a time.
    snapshot: Address,
    /// Let 'latest' and times mean snapshots of other worktrees and repositories, too, and those taken in the past.
    #[serde(default)]
    all_worktrees: bool,
    /// Which paths, relative to the directory, and what lies beneath them. Default: the whole tree.
    #[serde(default)]
    paths: Vec<String>,
    /// Really restore the whole tree.
    #[serde(default)]
    confirm: bool,
    /// List what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

impl Request for Restore {
    const NAME: &str = "timewarp_restore";
    const OUTPUTS: &[Document] = &[document::<ops::outcome::Restored>("restore")];
    const EFFECT: Effect = Effect::Replaces;
    const QUOTES: Option<&str> = Some("title and hint of the snapshot");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        ctx.widen_addresses(self.all_worktrees);
        let mut is_whole = self.paths.is_empty();
        for path in paths(self.paths.clone()) {
            // The root by any other name is the whole tree.
            is_whole |= ctx.repo_path(&path)?.is_empty();
        }
        let unconfirmed = is_whole && !self.confirm;
        let request = request::Restore {
            address: self.snapshot.into(),
            paths: literal_paths(self.paths),
            dry_run: (self.dry_run || unconfirmed).into(),
            ..request::Restore::default()
        };
        let mut restored = ops::restore::restore(ctx, &request)?;
        if unconfirmed && !self.dry_run {
            restored.notices.push(
                "nothing was changed: the whole tree is restored only with 'confirm': true"
                    .to_owned(),
            );
        }
        Ok(wire::value(&restored))
    }
}
