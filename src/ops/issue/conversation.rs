//! The conversation of an issue: from the agent's own session file, redacted, never from memory.

use std::path::Path;

use crate::agents::places::Places;
use crate::agents::transcript::{Detail, Selection, Transcript};
use crate::agents::{self};
use crate::error::{Code, Error};
use crate::ops::Context;
use crate::ops::redaction::Redacting;
use crate::store::chat::{Chat, Message, Redaction, Tool};
use crate::store::records::Json;

/// A conversation that was found, or why there is none.
pub(super) enum Conversation {
    /// The chat, and how its file was found.
    Found(Box<Chat>, &'static str),
    /// Why the issue has no chat, in one sentence.
    Unavailable(String),
}

/// Which session file to read.
pub(super) struct Source<'a> {
    /// The one that was named.
    pub transcript: Option<&'a Path>,
    /// The caller's session, which has to be the one in the file.
    pub session: Option<&'a str>,
    /// Which part of it.
    pub selection: Selection,
}

/// Reads and redacts the conversation. A missing one is no error: the issue is recorded all the same.
pub(super) fn capture(ctx: &Context<'_>, source: &Source<'_>) -> Conversation {
    let (transcript, found_by) = match read(ctx, source) {
        Ok(found) => found,
        Err(error) => return Conversation::Unavailable(error.message().to_owned()),
    };
    if transcript.messages.is_empty() {
        return Conversation::Unavailable("the session file has no messages".to_owned());
    }
    let chat = chat(ctx, &transcript, &source.selection);
    Conversation::Found(Box::new(chat), found_by)
}

fn read(
    ctx: &Context<'_>,
    source: &Source<'_>,
) -> crate::error::Result<(Transcript, &'static str)> {
    if let Some(path) = source.transcript {
        let path = ctx.cwd.join(path);
        return Ok((agents::read(&path, Detail::Full)?, "given"));
    }
    let places = Places::from(ctx.env);
    let root = ctx.repo.worktree_root();
    if let Some(session) = source.session {
        for agent in agents::AGENTS {
            if let Some(path) = agent.locate(session, Some(root), &places) {
                return Ok((agent.read(&path, Detail::Full)?, "session"));
            }
        }
        let message = format!("no session file of '{session}' was found");
        return Err(Error::new(Code::TranscriptNotFound, message));
    }
    match agents::current::current(None, None, root, &places) {
        Some((found, via)) => Ok((agents::read(&found.path, Detail::Full)?, via.as_str())),
        None => Err(Error::new(
            Code::TranscriptNotFound,
            "no agent's session file for this directory was found",
        )),
    }
}

fn chat(ctx: &Context<'_>, transcript: &Transcript, selection: &Selection) -> Chat {
    let mut redacting = Redacting::new(ctx);
    let chosen = transcript.select(selection);
    let messages = transcript.messages.get(chosen).unwrap_or_default();
    let messages = messages
        .iter()
        .map(|message| Message {
            role: message.role.as_str().to_owned(),
            at: message.at.clone(),
            text: redacting.text(&with_images(&message.text, message.images)),
            tool: message.tool.as_ref().map(|tool| {
                let mut input = tool.input.clone();
                redacting.json(&mut input);
                Tool {
                    name: redacting.text(&tool.name),
                    input,
                    output: redacting.optional(tool.output.as_deref()),
                    error: tool.error,
                }
            }),
        })
        .collect();
    let session = Some(transcript.session_id.clone()).filter(|id| !id.is_empty());
    Chat {
        session_id: session,
        agent: Some(transcript.agent.to_owned()).filter(|name| !name.is_empty()),
        captured_at: ctx.env.now().rfc3339(),
        selection: selection.describe(),
        redaction: Redaction {
            applied: true,
            counts: redacting.counts,
        },
        messages,
        other: Json::new(),
    }
}

fn with_images(text: &str, images: u32) -> String {
    match images {
        0 => text.to_owned(),
        1 => format!("{text}\n[1 image]").trim_start().to_owned(),
        more => format!("{text}\n[{more} images]").trim_start().to_owned(),
    }
}
