//! `tw bisect run` as a tool.

use std::ffi::OsString;

use crate::mcp::tools::prelude::*;
use crate::ops::bisect::{self as op, Bisected};

/// # Find the prompt that broke it
///
/// Runs a command on past snapshots, each laid out in a directory of its own, and names the one that broke it with the prompt in whose
/// turn it was taken. Exit status 0 is good, 125 skips, 127, a signal and a timeout decide nothing, everything else is bad. The present
/// counts as bad; a good one is sought backwards. Only a command that a person has run on this machine before is run. The working tree
/// is not touched.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bisect {
    /// The command, a line for a shell.
    command: String,
    /// A good snapshot: an id or part of it, a label, a time. Default: sought backwards.
    good: Option<Address>,
    /// A bad snapshot. Default: the present.
    bad: Option<Address>,
    /// Search the snapshots of this session only.
    session: Option<String>,
    /// Search for the first good one instead of the first bad one.
    #[serde(default)]
    find_good: bool,
    /// Run the command this many times on each snapshot, and blame nothing when its verdicts differ.
    repeat: Option<u32>,
    /// How many side by side, at most 16. Default: 3.
    jobs: Option<usize>,
    /// End a run that takes longer. Default: 600.
    timeout_seconds: Option<u64>,
    /// The same as the command line has it: '90s', '30m' or '2h'; a number means seconds.
    timeout: Option<Address>,
    /// Put the present's version of these paths over every snapshot, relative to the directory.
    #[serde(default)]
    with: Vec<String>,
}

impl Request for Bisect {
    const NAME: &str = "timewarp_bisect";
    const OUTPUTS: &[Document] = &[document::<Bisected>("bisect run")];
    const EFFECT: Effect = Effect::Adds;
    const QUOTES: Option<&str> = Some("prompts");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = op::Bisect {
            good: self.good.map(String::from),
            bad: self.bad.map(String::from),
            parallel: self.jobs.unwrap_or(3).clamp(1, 16),
            repeat: self.repeat.unwrap_or(1),
            session: self.session,
            with: paths(self.with),
            find_good: self.find_good,
            setup: None,
            timeout: Some(time_limit(self.timeout_seconds, self.timeout)?),
            command: vec![OsString::from(self.command)],
            is_typed: false,
        };
        Ok(wire::value(&op::run(ctx, &request)?))
    }
}
