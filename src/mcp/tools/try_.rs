//! `tw try` as a tool.

use std::ffi::OsString;

use crate::mcp::tools::prelude::*;
use crate::ops::attempts::PhaseObserver;
use crate::ops::try_::{self as op, Start, Tried};

/// How many runs an agent may ask for.
const MOST: u64 = 16;

/// # Run a command several times, side by side
///
/// Each run has a directory of its own with the files of the issue's snapshot (or of the named one; default: the present) and is
/// judged by the issue's verify command. The working tree is not touched; what a run leaves is an experiment. Only a command that a
/// person has run on this machine before is run. Ends when all runs have ended: ask for few, and for short ones. The user puts the best
/// onto the present with 'tw try apply'.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Try {
    /// The command, a line for a shell.
    command: String,
    /// Work on this issue: its id or part of it.
    issue_id: Option<String>,
    /// Begin with this snapshot: an id or part of it, 'latest', 'session', a label, a time.
    snapshot: Option<Address>,
    /// How many runs, at most 16. Default: 3.
    runs: Option<u64>,
    /// How many at a time. Default: 2.
    jobs: Option<u64>,
    /// End a command that takes longer. Default: 600.
    timeout_seconds: Option<u64>,
    /// The same as the command line has it: '90s', '30m' or '2h'; a number means seconds.
    timeout: Option<Address>,
    /// End the other runs once one has passed.
    #[serde(default)]
    first: bool,
    /// Give the runs the present's version of these paths, relative to the directory.
    #[serde(default)]
    with: Vec<String>,
}

/// An observer that ignores what it is told, for there is nobody to show it to.
struct Nobody;

impl PhaseObserver for Nobody {
    fn phase(&self, _: u64, _: &'static str) {}
}

impl Request for Try {
    const NAME: &str = "timewarp_try";
    const OUTPUTS: &[Document] = &[document::<Tried>("try")];
    const EFFECT: Effect = Effect::Adds;
    const QUOTES: Option<&str> = Some("what commands printed");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let what = match (self.issue_id, self.snapshot) {
            (Some(_), Some(_)) => {
                return Err(Error::usage("give 'issue_id' or 'snapshot', not both"));
            }
            (issue, snapshot) => issue.or(snapshot.map(String::from)),
        };
        let runs = self.runs.unwrap_or(3);
        if !(1..=MOST).contains(&runs) {
            return Err(Error::usage(format!("'runs' must be 1 to {MOST}")));
        }
        let request = Start {
            what,
            runs,
            jobs: self.jobs.unwrap_or(2).clamp(1, runs),
            timeout: time_limit(self.timeout_seconds, self.timeout)?,
            verify: None,
            setup: None,
            first: self.first,
            with: paths(self.with),
            command: vec![OsString::from(self.command)],
            agent: None,
            agent_args: Vec::new(),
            is_typed: false,
        };
        Ok(wire::value(&op::start(ctx, &request, &Nobody)?))
    }
}
