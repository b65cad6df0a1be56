//! `tw snapshot` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::request::Take;
use crate::store::trigger::Trigger;

/// # Take a snapshot
///
/// Saves everything in the working tree (edits, staged state, untracked files) without touching any of it. Cheap: take one
/// before every risky step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Its title.
    message: Option<String>,
    /// A name to find it by, unique in the repository.
    label: Option<String>,
    /// Leave out what these globs match.
    #[serde(default)]
    exclude: Vec<String>,
    /// Answer with the newest snapshot when nothing has changed since; it gets the label.
    #[serde(default)]
    if_changed: bool,
}

impl Request for Snapshot {
    const NAME: &str = "timewarp_snapshot";
    const OUTPUTS: &[Document] = &[document::<ops::outcome::Taken>("snapshot")];
    const EFFECT: Effect = Effect::Adds;

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = Take {
            message: self.message,
            label: self.label,
            exclude: self.exclude,
            if_changed: self.if_changed,
            trigger: Trigger::Mcp,
            ..Take::default()
        };
        Ok(wire::value(&ops::snapshots::take(ctx, &request)?))
    }
}
