//! `tw context append`.

use super::kept;
use crate::cli::human::text::{self};
use crate::cli::input;
use crate::cli::prelude::*;
use crate::ops::context::{self, Append, Appended, ContextLog};

/// Add a message or a record
///
/// With --role, TEXT is what a message says. Without, it is a record as JSON: a message with content, tool_calls and
/// tool_call_id as OpenAI's API has them, or one of _system_prompt, _checkpoint and _usage; from standard input, several,
/// one a line, all of which are added or none. What kimi-cli would not load is refused. The system prompt becomes the first
/// line, where every revert keeps it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What a person says
  tw context append --role user 'fix the tests'

  # What a tool answers
  make test 2>&1 | tw context append --role tool --tool-call-id call_1 -

  # What the model says, as it came
  tw context append --json - <message.json")]
pub struct Args {
    /// Who says it: system-prompt, system, user, assistant, tool
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,

    /// Name the tool call that a message of role tool answers
    #[arg(long, value_name = "ID", requires = "role")]
    pub tool_call_id: Option<String>,

    /// The text, or without --role the record; '-' reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: String,
}

impl Args {
    pub fn run(&self, log: &ContextLog) -> Reply {
        reply(context::append(log, &record(self)?))
    }
}

fn record(args: &Args) -> Result<Append> {
    let Some(role) = &args.role else {
        let bytes = match args.text.as_str() {
            "-" => input::read("-".as_ref())?,
            line => line.as_bytes().to_vec(),
        };
        return Ok(Append::Json(bytes));
    };
    Ok(Append::Message {
        role: role.clone(),
        text: input::text(&args.text)?,
        tool_call_id: args.tool_call_id.clone(),
    })
}

impl Human for Appended {
    fn print(&self, page: &mut Page) {
        page.line(format!(
            "added {} to {}",
            count(self.appended, "record"),
            text::path(&self.file)
        ));
        kept(page, self.rotated_to.as_deref());
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
