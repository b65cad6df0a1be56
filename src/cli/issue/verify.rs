//! `tw issue verify`: on a terminal a command that was not approved is shown, and a yes approves it.

use super::page::lines;
use crate::cli::ask::Flag;
use crate::cli::prelude::*;
use crate::ops::approval;
use crate::ops::issue::{self, Verified, Verify};

/// Run an issue's check and record how it went
///
/// Runs the verify command, or CMD, by 'sh -c' in the root of the working tree. Exit status, duration and the end of the
/// output (redacted) go into the run that 'tw issue start' opened here; in the present, into a run that holds checks alone, so that what
/// was tried before keeps its verdict. Exits with 1 when the check failed. A verify command that was not approved on this machine is
/// shown and not run, nor is one among the files of a snapshot that was not made here, in the past or a directory of 'tw open', before it
/// was approved for these. What the check leaves running is named and ended. The first Ctrl-C ends the check, of which nothing is recorded
/// then; the second one kills.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Is it solved?
  tw issue verify ab12

  # Another check
  tw issue verify ab12 -- make test")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// Record it in run N, which was made here
    #[arg(long, value_name = "N")]
    pub run: Option<u64>,

    /// Approve the stored command by its sha256, or the first 12 hex digits of it
    ///
    /// The digits are refused where another command with the same ones was shown here. Among files that were not made here the sha256 is
    /// that of the command and the files: it lets 'tw try' and 'tw replay' work on the issue there, too.
    #[arg(long, value_name = "HASH")]
    pub allow: Option<String>,

    /// Run this instead of the stored command
    #[arg(value_name = "CMD", last = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Verified>("issue verify")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(verify(self, call))
    }
}

/// Runs the check. On a terminal a command that was not approved is shown, and a yes approves it.
fn verify(args: &Args, call: &Call<'_>) -> Result<Verified> {
    let context = call.open()?;
    let mut request = Verify {
        issue: args.issue.id(&context)?,
        command: args.command.clone(),
        run: args.run,
        allow: args.allow.clone(),
    };
    // Tried first: only 'ops' knows what was approved, and whether anything is to be asked at all.
    let error = match issue::verify(&context, &request) {
        Err(error) if error.code() == Code::NotApproved && call.ask.can_ask() => error,
        other => return other,
    };
    let detail = |name: &str| {
        let found = error.find_detail(name);
        found.and_then(|value| value.as_str().map(str::to_owned))
    };
    let command = detail(approval::COMMAND).unwrap_or_default();
    let among = detail(approval::SNAPSHOT)
        .map(|id| format!(" among the files of {id}, which were not made here"));
    let question = format!(
        "Run this command{}, now and later? {}",
        among.unwrap_or_default(),
        clean(&command)
    );
    call.ask.confirm(&question, Flag::Own("--allow"))?;
    request.allow = detail(approval::VERIFY_HASH);
    issue::verify(&context, &request)
}

impl Human for Verified {
    fn print(&self, page: &mut Page) {
        lines(page, &self.output_tail);
        let status = self.exit_status;
        let verdict = if status == 0 {
            page.options.style.green("passed")
        } else {
            page.options.style.red(&format!("failed with {status}"))
        };
        page.line(format!(
            "{verdict} after {} ms: {}",
            self.duration_ms,
            clean(&self.command)
        ));
        page.line(format!(
            "  recorded in run {} of issue {}",
            self.run, self.issue_id
        ));
        page.notices(&self.notices);
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.exit_status != 0)
    }
}
