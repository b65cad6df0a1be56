//! Context logs as people see them.

use std::path::Path;

use super::text::{self, clean, count, number};
use super::{Human, Page, RenderOptions};
use crate::agents::kimi::record::{Message, Record};
use crate::ops::context::{
    Appended, Checkpointed, Compacted, Counted, Marker, NotDone, Reverted, Shown,
};

/// So many characters of a message stand on its line.
const SHOWN: usize = 72;

fn kept(page: &mut Page, rotated: Option<&Path>) {
    if let Some(path) = rotated {
        page.line(format!("  the log before is {}", text::path(path)));
    }
}

fn skipped(page: &mut Page, lines: usize) {
    if lines > 0 {
        page.notes
            .push(format!("{} could not be read", count(lines, "line")));
    }
}

impl Human for Appended {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(format!(
            "added {} to {}",
            count(self.records, "record"),
            text::path(&self.file)
        ));
        kept(&mut page, self.rotated_to.as_deref());
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

impl Human for Checkpointed {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let marker = match self.marker {
            Marker::Visible => ", visible to the model",
            Marker::Hidden => "",
        };
        page.line(format!("checkpoint {}{marker}", self.checkpoint_id));
        page.hint(format!(
            "'tw context revert {}' comes back here",
            self.checkpoint_id
        ));
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.checkpoint_id.to_string()])
    }
}

impl Human for Counted {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(format!("{} tokens", number(self.token_count)));
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

/// A record on one line; with `-v` a message in full.
fn show(page: &mut Page, record: &Record, options: &RenderOptions) {
    match record {
        Record::SystemPrompt(prompt) => said(page, "system prompt", prompt, options),
        Record::Usage(tokens) => {
            let line = format!("-- {} tokens", number(*tokens));
            page.line(options.style.dim(&line));
        }
        Record::Checkpoint(id) => page.line(options.style.yellow(&format!("-- checkpoint {id}"))),
        Record::Message(message) => {
            said(page, &who(message), &message.said(), options);
            for (_, name, arguments) in message.calls() {
                said(page, "  calls", &format!("{name} {arguments}"), options);
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

fn said(page: &mut Page, who: &str, text: &str, options: &RenderOptions) {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = clean(lines.next().unwrap_or_default().trim());
    if options.verbose {
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
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for (record, _) in &self.records {
            show(&mut page, record, options);
        }
        let tokens = self.tokens;
        let about = if tokens.pending > 0 { "about " } else { "" };
        page.line(format!(
            "{}, {}, {about}{} tokens",
            count(self.messages().count(), "message"),
            count(self.checkpoints.len(), "checkpoint"),
            number(tokens.total())
        ));
        for path in &self.rotated {
            page.line(format!("  before: {}", text::path(path)));
        }
        skipped(&mut page, self.skipped);
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.checkpoints.iter().map(ToString::to_string).collect())
    }
}

impl Human for Reverted {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(format!(
            "back before checkpoint {}: {} discarded, {} tokens",
            self.checkpoint_id,
            count(self.messages_discarded, "message"),
            number(self.tokens_discarded)
        ));
        if let Some(id) = self.note_checkpoint {
            page.line(format!("  the note stands after checkpoint {id}"));
        }
        kept(&mut page, self.rotated_to.as_deref());
        skipped(&mut page, self.skipped);
        page
    }
}

impl Human for Compacted {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        match &self.done {
            Ok(done) => {
                page.line(format!(
                    "compacted: a summary stands for {}, {} tokens are about {}",
                    count(done.messages_discarded, "message"),
                    number(self.before.total()),
                    number(done.tokens)
                ));
                kept(&mut page, done.rotated_to.as_deref());
            }
            Err(NotDone::UnderLimit) => page.line(format!(
                "nothing to do: {} tokens are within the limit",
                number(self.before.total())
            )),
            Err(NotDone::Nothing) => {
                page.line("nothing to do: there are no more turns than are kept");
                page.hint("'--keep 0' keeps none");
            }
        }
        skipped(&mut page, self.skipped);
        page
    }
}
