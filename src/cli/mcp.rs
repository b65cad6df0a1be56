//! `tw mcp`: starts the server, or does one call of it.

use crate::cli::call::Answer;
use crate::cli::prelude::*;
use crate::mcp;

/// Serve an agent over the Model Context Protocol
///
/// Agents start this; 'tw init' sets it up. Speaks the protocol on standard input and output until the agent closes
/// its end. The tools are those of an agent that may be misled: nothing in them runs a command that nobody has run here,
/// forgets a record, or leads out of the workspace. A travel gives a guard token, without which another agent cannot return by accident. Issues and their
/// conversations are resources, and the way of an issue is a prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Let the agents that you use start it in this project
  tw init

  # The same for one of them, by hand
  claude mcp add tw -- tw mcp")]
pub struct Args {
    /// Do the one call that stands on standard input: how the server does each
    #[arg(long, hide = true)]
    pub call: bool,
}

impl Run for Args {
    fn run(&self, call: &Call<'_>) -> Reply {
        let start_background = || {
            // No call waits for it, as no snapshot does.
            if let Ok(context) = call.open() {
                background::start_when_due(&context);
            }
        };
        let said = if self.call {
            let answer = mcp::answer(call.env);
            start_background();
            answer
        } else {
            start_background();
            mcp::serve(call.start.to_owned(), call.env.clone())?;
            String::new()
        };
        Ok(Box::new(Served(said)))
    }
}

/// What is left to print: nothing after serving, and the document of a call.
struct Served(String);

impl Human for Served {
    fn print(&self, page: &mut Page) {
        page.text.extend_from_slice(self.0.as_bytes());
    }
}

impl Answer for Served {
    fn json(&self) -> String {
        self.0.clone()
    }
}
