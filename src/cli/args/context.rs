//! The words of `tw context`.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Args, Subcommand};

/// Keep the conversation of a harness in a log
///
/// For a harness that has no session file of its own: one file of JSON lines with the messages that the model sees,
/// checkpoints to come back to, and token counts. The form is that of kimi-cli's context.jsonl, and each reads what the
/// other writes. The log is private and is never redacted.
///
/// The log is timewarp/contexts/SESSION.jsonl in the git directory of the worktree, SESSION being the caller's session, or
/// the file that --file names. A change is made whole or not at all, and by one process at a time. What 'revert' and
/// 'compact' take out stays beside the log as SESSION_1.jsonl, SESSION_2.jsonl and so on. Lines that are malformed, or torn
/// by a crash, are skipped and counted.
#[derive(Debug, Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  # A turn
  tw context checkpoint
  tw context append --role user 'fix the tests'
  tw context append --json '{\"role\": \"assistant\", \"content\": \"Which ones?\"}'
  tw context usage 1200

  # Go back to where it began, and say why
  tw context revert 0 --note 'the tests need a database; start one first'

  # Look into a session of kimi-cli
  tw context --file context.jsonl show"
)]
pub struct ContextLog {
    /// Use this file; it may belong to no repository
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "session", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Use the log of this session; default: the caller's
    #[arg(long, value_name = "ID", global = true)]
    pub session: Option<String>,

    /// What to do
    #[command(subcommand)]
    pub verb: ContextVerb,
}

/// What can be done with a log.
#[derive(Debug, Subcommand)]
#[allow(
    missing_docs,
    reason = "the comment of the arguments is the command's help; one here would replace it"
)]
pub enum ContextVerb {
    Append(ContextAppend),
    Checkpoint(ContextCheckpoint),
    Usage(ContextUsage),
    Show(ContextShow),
    Revert(ContextRevert),
    Compact(ContextCompact),
}

/// Add a message or a record
///
/// With --role, TEXT is what a message says. Without, it is a record as JSON: a message with content, tool_calls and
/// tool_call_id as OpenAI's API has them, or one of _system_prompt, _checkpoint and _usage; from standard input, several,
/// one a line, all of which are added or none. What kimi-cli would not load is refused. The system prompt becomes the first
/// line, where every revert keeps it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # What a person says
  tw context append --role user 'fix the tests'

  # What a tool answers
  make test 2>&1 | tw context append --role tool --tool-call-id call_1 -

  # What the model says, as it came
  tw context append --json - <message.json")]
pub struct ContextAppend {
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

/// Add a checkpoint
///
/// Numbers count up from 0. 'tw context revert N' comes back to just before checkpoint N.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Before each prompt
  n=$(tw -q context checkpoint)")]
pub struct ContextCheckpoint {
    /// Add a message that shows the number to the model
    #[arg(long)]
    pub marker: bool,
}

/// Record how large the context is
///
/// The last record counts. What is added after it is guessed at four characters a token, as kimi-cli does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # As the model's API said
  tw context usage 48210")]
pub struct ContextUsage {
    /// The number of tokens
    #[arg(value_name = "N")]
    pub tokens: u64,
}

/// Show a log
///
/// One line for each record, with -v whole messages; then how large the context is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # The texts for a program
  tw context show --json | jq '.records[] | select(.role == \"user\") | .content'")]
pub struct ContextShow {}

/// Go back to a checkpoint
///
/// The log becomes what it was just before checkpoint N was added; the log before stays in a numbered file. A checkpoint
/// that stands between a tool call and its result takes the call along. With --note the log ends in a new checkpoint and a
/// message to the one who goes on from there. Files are not touched: 'tw restore' and 'tw travel' do that.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Forget a long search, keep what it found
  tw context revert 4 --note 'the parser is in src/lex.rs; nothing else matters'")]
pub struct ContextRevert {
    /// The checkpoint
    #[arg(value_name = "N", allow_negative_numbers = true)]
    pub checkpoint: i64,

    /// Leave a note to the one who goes on from there; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Put a summary in the place of old turns
///
/// A turn begins with what a person said. The last turns stay, without thoughts; a summary stands for the others. It is
/// read from a file, or printed by CMD, a line for sh that reads the old turns as Markdown on its standard input. Refuses
/// while a tool call waits for its result. Checkpoints in the turns that stay keep their numbers, the others cannot be
/// reverted to any more, and no number comes again.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("summary").required(true),
    after_help = "\
Examples:
  # Before each call of the model
  tw context compact --if-over 200000 --summarizer 'my-model summarize'

  # With a summary that was written elsewhere
  tw context compact --keep 1 --summary-file summary.md"
)]
pub struct ContextCompact {
    /// Keep the last N turns
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub keep: usize,

    /// Read the summary from FILE; '-' is standard input
    #[arg(long, value_name = "FILE", group = "summary", value_hint = ValueHint::FilePath)]
    pub summary_file: Option<PathBuf>,

    /// Let CMD make the summary
    #[arg(long, value_name = "CMD", group = "summary", value_hint = ValueHint::CommandString)]
    pub summarizer: Option<String>,

    /// Do nothing unless tokens and --reserved reach MAX
    #[arg(long, value_name = "MAX")]
    pub if_over: Option<u64>,

    /// Keep N tokens free for what comes
    #[arg(long, value_name = "N", default_value_t = 50_000, requires = "if_over")]
    pub reserved: u64,
}
