//! `tw session resume`.

use crate::cli::exec::{self, resume_line};
use crate::cli::prelude::*;
use crate::ops::session::{self, Resume};

/// Print the agent's command that resumes a session
///
/// The command has to be run where the session was, so tw names that directory, too. Without SESSION it is the caller's, or the
/// last one here; one that was rewound and had no prompt since goes on as its fork.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Go on where the last session stopped
  tw session resume --exec

  # Only say how
  tw session resume 5f0c")]
pub struct Args {
    #[command(flatten)]
    pub session: flags::Session,

    /// Run the command
    #[arg(long)]
    pub exec: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Resume>("session resume")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let ctx = call.open()?;
        let resume = session::resume(&ctx, self.session.id())?;
        if !self.exec {
            return reply(Ok(resume));
        }
        if call.output.is_json() {
            return Err(Error::usage("--exec and --json cannot be used together"));
        }
        Err(exec::replace_process(
            &resume.resume_command,
            resume.cwd.as_deref(),
        ))
    }
}

impl Human for Resume {
    fn print(&self, page: &mut Page) {
        page.line(resume_line(&self.resume_command, self.cwd.as_deref()));
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![resume_line(&self.resume_command, self.cwd.as_deref())])
    }
}
