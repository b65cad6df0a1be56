//! Rewinds: the choices, what was done, and what was taken back.

use super::checkpoint::{first_line, headline};
use super::record::USUAL_TAIL;
use super::text::{clean, count, number, quoted};
use super::{Human, Page, RenderOptions, time};
use crate::error::Error;
use crate::ops::rewind::{Choices, CodePart, ConversationPart, Delivery, Mode, Rewound, Undone};
use crate::ops::session::Resume;
use crate::wire::command_line;

/// So many files are named without `-v`.
const FILES: usize = 20;

/// `2 files, +3 -10 lines`.
fn code_numbers(part: &CodePart) -> String {
    if part.files.is_empty() {
        return "no file differs".to_owned();
    }
    format!(
        "{}, +{} -{} lines",
        count(part.files.len(), "file"),
        number(part.insertions as u64),
        number(part.deletions as u64)
    )
}

/// `12 messages and 8,123 tokens discarded`.
fn talk_numbers(part: &ConversationPart) -> String {
    let messages = count(part.messages_discarded, "message");
    match part.tokens_discarded {
        Some(tokens) if tokens < 0 => format!(
            "{messages} discarded; the context grows by {} tokens, as what was summarised comes back",
            number(tokens.unsigned_abs())
        ),
        Some(tokens) => format!(
            "{messages} and {} tokens discarded",
            number(tokens.unsigned_abs())
        ),
        None => format!("{messages} discarded"),
    }
}

fn or_why<T>(part: &Result<T, Error>, say: impl Fn(&T) -> String) -> String {
    match part {
        Ok(part) => say(part),
        Err(error) => format!("not possible: {}", clean(error.message())),
    }
}

impl Choices {
    /// The prompt that the conversation would go back to, where the checkpoint is not named after it.
    fn other_prompt(&self) -> Option<String> {
        let part = self.conversation.as_ref().ok()?;
        let prompt = first_line(part.original_user_message.as_deref()?);
        (prompt != headline(&self.checkpoint)).then_some(prompt)
    }
}

impl Human for Choices {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let checkpoint = &self.checkpoint;
        page.line(format!(
            "checkpoint {} ({}): {}",
            checkpoint.checkpoint_id,
            time::ago(options.now, &checkpoint.created_at),
            headline(checkpoint)
        ));
        let code = or_why(&self.code, code_numbers);
        let talk = or_why(&self.conversation, talk_numbers);
        let both = match (&self.code, &self.conversation) {
            (Ok(_), Ok(_)) => format!("{code}; {talk}"),
            _ => "not possible".to_owned(),
        };
        page.line(format!("  1  code and conversation  {both}"));
        page.line(format!("  2  conversation           {talk}"));
        page.line(format!("  3  code                   {code}"));
        page.line("  4  never mind");
        if let Some(prompt) = self.other_prompt() {
            page.line(format!("the prompt there was: {prompt}"));
        }
        page
    }
}

fn code_lines(page: &mut Page, part: &CodePart, options: &RenderOptions) {
    page.line(format!("  files: {}", code_numbers(part)));
    let shown = if options.verbose {
        part.files.len()
    } else {
        FILES
    };
    for file in part.files.iter().take(shown) {
        let lines = if file.binary {
            "binary".to_owned()
        } else {
            format!("+{} -{}", file.insertions, file.deletions)
        };
        page.line(format!(
            "    {} {}  {lines}",
            file.status,
            quoted(&file.path)
        ));
    }
    if part.files.len() > shown {
        page.line(format!(
            "    and {} more",
            count(part.files.len() - shown, "file")
        ));
    }
    if let Some(backup) = &part.backup_id {
        page.line(format!(
            "  what was there: {}",
            options.style.id(&clean(backup), USUAL_TAIL)
        ));
    }
}

/// The command that goes on, with the directory that it belongs into.
fn resume_line(words: &[String], cwd: Option<&str>) -> String {
    let command = clean(&command_line(words));
    match cwd {
        Some(cwd) => format!(
            "cd {} && {command}",
            clean(&command_line(&[cwd.to_owned()]))
        ),
        None => command,
    }
}

fn talk_lines(page: &mut Page, part: &ConversationPart) {
    page.line(format!("  conversation: {}", talk_numbers(part)));
    if let Some(message) = &part.original_user_message {
        page.line("  the prompt there was:");
        for line in message.lines() {
            page.line(format!("    {}", clean(line)));
        }
    }
    match (&part.fork, &part.resume_command) {
        (Some(_), Some(words)) => {
            page.line(format!(
                "  go on with: {}",
                resume_line(words, part.cwd.as_deref())
            ));
        }
        (None, Some(words)) => page.line(format!(
            "  nothing was said before it; start afresh with: {}",
            resume_line(words, part.cwd.as_deref())
        )),
        (None, None) => page.line("  nothing was said before it: the agent starts afresh"),
        (Some(fork), None) => {
            if let Some(path) = &fork.path {
                page.line(format!("  the fork: {}", clean(path)));
            }
        }
    }
    match &part.note {
        Some((_, Delivery::Hook)) => page.line("  the note is handed over when the fork starts"),
        Some((text, Delivery::Prompt)) => {
            page.line("  paste this as the first prompt:");
            for line in text.lines() {
                page.line(format!("    {}", clean(line)));
            }
        }
        None => {}
    }
}

impl Human for Rewound {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let what = match self.mode {
            Mode::Code => "files",
            Mode::Conversation => "conversation",
            Mode::Both => "files and conversation",
            Mode::NeverMind => {
                page.line("nothing was done");
                return page;
            }
        };
        let verb = if self.dry_run {
            "would rewind"
        } else {
            "rewound"
        };
        page.line(format!(
            "{verb} {what} to checkpoint {}: {}",
            self.checkpoint.checkpoint_id,
            headline(&self.checkpoint)
        ));
        if let Some(part) = &self.code {
            code_lines(&mut page, part, options);
        }
        if let Some(part) = &self.conversation {
            talk_lines(&mut page, part);
        }
        page.notices(&self.notices);
        if !self.dry_run {
            page.hint("'tw rewind --undo' takes this back");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        let words = self.conversation.as_ref()?.resume_command.as_ref()?;
        Some(vec![command_line(words)])
    }
}

impl Human for Undone {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = match &self.code {
            Some(code) => code.page(options),
            None => Page::default(),
        };
        page.line(format!(
            "took back the rewind to checkpoint {}",
            self.rewind.checkpoint_id
        ));
        match &self.resume_command {
            Some(words) => page.line(format!(
                "  the session goes on with: {}",
                clean(&command_line(words))
            )),
            None => page.line(format!("  the session was {}", clean(&self.session_id))),
        }
        page.notices(&self.notices);
        page
    }
}

impl Human for Resume {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(resume_line(&self.resume_command, self.cwd.as_deref()));
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![command_line(&self.resume_command)])
    }
}
