//! `tw return` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::request::{self, Guard};

/// # Return to the present
///
/// Brings the present back exactly and proves it. What was made in the past is kept as an experiment; nothing is carried over
/// but what 'keep' names. Needs the guard_token that timewarp_travel answered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Return {
    /// The guard_token of the travel that began this stay in the past.
    guard_token: Option<String>,
    /// End a stay that another agent or person began, without its token. This is recorded. Ask the user first.
    #[serde(default)]
    take_over: bool,
    /// Files of the past to carry over into the present, relative to the directory.
    #[serde(default)]
    keep: Vec<String>,
    /// Take no copy of large untracked files made in the past; they are listed.
    #[serde(default)]
    discard: bool,
    /// Rename what is in the way and cannot be saved, such as a nested repository.
    #[serde(default)]
    move_aside: bool,
    /// List what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

impl Request for Return {
    const NAME: &str = "timewarp_return";
    const OUTPUTS: &[Document] = &[document::<ops::outcome::Returned>("return")];
    const EFFECT: Effect = Effect::Replaces;
    const QUOTES: Option<&str> = Some("titles of commits");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = request::Return {
            guard: if self.take_over {
                Guard::TakeOver(self.guard_token)
            } else {
                Guard::Token(self.guard_token)
            },
            keep: paths(self.keep),
            discard: self.discard,
            move_aside: self.move_aside,
            dry_run: self.dry_run.into(),
            ..request::Return::default()
        };
        Ok(wire::value(&ops::return_::return_(ctx, &request)?))
    }
}
