//! `tw context show`.

use super::skipped;
use crate::agents::context_log::record::{Message, Record};
use crate::cli::human::text::{self};
use crate::cli::prelude::*;
use crate::ops::context::{self, ContextLog, Shown};

/// Show a log
///
/// One line for each record, with -v whole messages; then how large the context is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The texts for a program
  tw context show --json | jq '.records[] | select(.role == \"user\") | .content'")]
pub struct Args {}

pub fn run(log: &ContextLog) -> Reply {
    reply(context::show(log))
}

/// This many characters of a message stand on its line.
const SHOWN: usize = 72;

/// A record on one line; with `-v` a message in full.
fn show(page: &mut Page, record: &Record) {
    match record {
        Record::SystemPrompt(prompt) => said(page, "system prompt", prompt),
        Record::Usage(tokens) => {
            let line = format!("-- {} tokens", number(*tokens));
            page.line(page.options.style.dim(&line));
        }
        Record::Checkpoint(id) => {
            page.line(page.options.style.yellow(&format!("-- checkpoint {id}")));
        }
        Record::Message(message) => {
            said(page, &who(message), &message.said());
            for (_, name, arguments) in message.calls() {
                said(page, "  calls", &format!("{name} {arguments}"));
            }
        }
    }
}

fn who(message: &Message) -> String {
    match message.answers() {
        Some(call) => format!("tool, answers {}", clean(call)),
        None => clean(message.role()),
    }
}

fn said(page: &mut Page, who: &str, text: &str) {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = clean(lines.next().unwrap_or_default().trim());
    if page.options.verbose {
        page.line(format!("{who}: {first}"));
        for line in lines {
            page.line(format!("    {}", clean(line)));
        }
        return;
    }
    let mut shown: String = first.chars().take(SHOWN).collect();
    if first.chars().count() > SHOWN || lines.next().is_some() {
        shown.push('\u{2026}');
    }
    page.line(format!("{who}: {shown}"));
}

impl Human for Shown {
    fn print(&self, page: &mut Page) {
        for line in &self.records {
            show(page, &line.record);
        }
        let tokens = self.tokens;
        let about = if tokens.pending > 0 { "about " } else { "" };
        page.line(format!(
            "{}, {}, {about}{} tokens",
            count(self.messages, "message"),
            count(self.checkpoints.len(), "checkpoint"),
            number(tokens.total())
        ));
        for path in &self.rotated {
            page.line(format!("  before: {}", text::path(path)));
        }
        skipped(page, self.skipped);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.checkpoints.iter().map(ToString::to_string).collect())
    }
}
