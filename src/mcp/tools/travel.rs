//! `tw travel`, and with an issue `tw issue start`, as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::issue;

/// # Travel to the past
///
/// Puts the working tree, index and HEAD into a snapshot's state, having saved the present. Give 'snapshot', or 'issue_id'
/// to go where the issue was met and open a run of it. In the past edit, build and test files only: do not commit, push or
/// switch branches. Keep the guard_token of the answer: timewarp_return needs it. Always return before you end your work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Travel {
    /// Where to: an id or part of it, 'latest', 'latest~2', 'session', a label, a time such as '2h ago'.
    snapshot: Option<Address>,
    /// Let 'latest' and times mean snapshots of other worktrees and repositories, too, and those taken in the past.
    #[serde(default)]
    all_worktrees: bool,
    /// Go to this issue's snapshot and open a run of it; instead of 'snapshot'.
    issue_id: Option<Address>,
    /// Change files only: leave HEAD and the index as they are. Not for an issue.
    #[serde(default)]
    files_only: bool,
    /// List what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

impl Request for Travel {
    const NAME: &str = "timewarp_travel";
    const OUTPUTS: &[Document] = &[
        document::<ops::outcome::Travelled>("travel"),
        document::<ops::issue::Started>("issue start"),
    ];
    const EFFECT: Effect = Effect::Replaces;
    const QUOTES: Option<&str> = Some("title and hint of the snapshot");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        ctx.widen_addresses(self.all_worktrees);
        let request = request::Travel {
            dry_run: self.dry_run.into(),
            files_only: self.files_only,
            ..request::Travel::default()
        };
        let refused = |message| Err(Error::usage(message));
        match (self.snapshot, self.issue_id) {
            (Some(address), None) => {
                let address = address.into();
                let request = request::Travel { address, ..request };
                Ok(wire::value(&ops::travel::travel(ctx, &request)?))
            }
            (None, Some(_)) if request.files_only => {
                refused("'files_only' does not go with 'issue_id'")
            }
            (None, Some(issue)) => {
                let issue = String::from(issue);
                Ok(wire::value(&issue::start(ctx, &issue, &request)?))
            }
            (None, None) => refused("'snapshot' is missing")
                .map_err(|error| error.hint("give 'snapshot', or 'issue_id' to work on an issue")),
            (Some(_), Some(_)) => refused("'snapshot' and 'issue_id' cannot be used together")
                .map_err(|error| error.hint("an issue knows its snapshot")),
        }
    }
}
