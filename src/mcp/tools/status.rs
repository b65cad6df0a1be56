//! `tw status` as a tool.

use crate::mcp::tools::prelude::*;

/// # Where the working tree stands
///
/// Says whether the working tree is in the present or in the past, which snapshot is the latest, how many files changed since,
/// what goes on, and whether a swap was interrupted. Call it first, and whenever anything looks odd. Only looks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {}

impl Request for Status {
    const NAME: &str = "timewarp_status";
    const OUTPUTS: &[Document] = &[document::<ops::outcome::Status>("status")];
    const EFFECT: Effect = Effect::ReadOnly;
    const QUOTES: Option<&str> = Some("titles and hints of snapshots, symptoms of issues");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let mut document = wire::value(&ops::status::status(ctx)?);
        // Who began the stay has the token; nobody else is to find it here.
        if let Some(state) = document["state"].as_object_mut() {
            state.shift_remove("guard_token");
        }
        Ok(document)
    }
}
