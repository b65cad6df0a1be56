//! The conversation of an issue: from the agent's own session file, redacted, never from memory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::agents::places::Places;
use crate::agents::transcript::{Detail, Selection, Transcript};
use crate::agents::{self, AGENTS, Agent};
use crate::error::{Code, Error};
use crate::ops::Context;
use crate::ops::exports::export;
use crate::ops::redaction::Redacting;
use crate::ops::sessions::{Caller, Via};
use crate::store::chat::{Chat, Message, Redaction, Tool};
use crate::store::records::{Json, VERSION};
use crate::store::session::SessionRecord;

/// A conversation that was found, or why there is none.
pub(super) enum Conversation {
    /// The chat.
    Found(Box<ReadConversation>),
    /// Why the issue has no chat, in one sentence.
    Unavailable(String),
}

/// A conversation that was found.
pub(super) struct ReadConversation {
    /// What was said.
    pub chat: Chat,
    /// How its file was found.
    pub found_by: &'static str,
    /// What is to be said of it where it is not whole.
    pub caveat: Option<String>,
}

/// Which session file to read.
pub(super) struct Source<'a> {
    /// The one that was named.
    pub transcript: Option<&'a Path>,
    /// The session that calls.
    pub caller: Option<&'a Caller>,
    /// What the register knows of it: a hook's payload named its file there.
    pub record: Option<SessionRecord>,
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
    Conversation::Found(Box::new(ReadConversation {
        chat: chat(ctx, &transcript, &source.selection),
        found_by,
        caveat: transcript.caveat(),
    }))
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
    let Some(caller) = source.caller else {
        // Nobody knows whose it is: a guess, and told as one.
        let newest = agents::current::newest(root, &places).ok_or_else(|| {
            let message = "no agent's session file for this directory was found";
            Error::new(Code::TranscriptNotFound, message)
        })?;
        return Ok((agents::read(&newest.path, Detail::Full)?, "newest"));
    };
    if let Some((path, found_by)) = of_session(ctx, caller, source, &places) {
        return Ok((agents::read(&path, Detail::Full)?, found_by));
    }
    if let Some(transcript) = exported(ctx, caller, source)? {
        return Ok((transcript, "session"));
    }
    // Another session's conversation would be worse than none.
    Err(not_there(caller, source))
}

/// The file that the session's start named, else one of its id; with it, how it was found.
fn of_session(
    ctx: &Context<'_>,
    caller: &Caller,
    source: &Source<'_>,
    places: &Places,
) -> Option<(PathBuf, &'static str)> {
    let root = ctx.repo.worktree_root();
    let named = source.transcript_of_record().map(|path| root.join(path));
    if let Some(path) = named.filter(|path| path.is_file()) {
        return Some((path, "session"));
    }
    let agent = source.agent_of(caller);
    let agent = agent.filter(|agent| !agents::by_name(agent).is_some_and(Agent::is_any_harness));
    let found = AGENTS
        .iter()
        .filter(|one| agent.is_none_or(|agent| agent == one.name()))
        .find_map(|one| one.locate(&caller.session_id, Some(root), places))?;
    let found_by = match caller.via {
        Via::Environment => "environment",
        _ => "session",
    };
    Some((found, found_by))
}

/// That a session has no file, which may be because its agent has not written it yet.
fn not_there(caller: &Caller, source: &Source<'_>) -> Error {
    let id = &caller.session_id;
    let mut message = format!("no session file of '{id}' was found");
    if let Some(path) = source.transcript_of_record() {
        let _ = write!(message, ": '{path}', which its agent named, is not there");
    } else if let Some(agent) = source.agent_of(caller) {
        let _ = write!(message, " where the agent '{agent}' keeps them");
    }
    Error::new(Code::TranscriptNotFound, message)
}

impl Source<'_> {
    /// The file that the register knows the session by.
    fn transcript_of_record(&self) -> Option<&str> {
        self.record.as_ref()?.transcript.as_deref()
    }

    /// The agent that a session is of, as it says itself, else as the register knows it.
    fn agent_of<'s>(&'s self, caller: &'s Caller) -> Option<&'s str> {
        let registered = || self.record.as_ref()?.agent.as_deref();
        caller.agent.as_deref().or_else(registered)
    }
}

/// The session as its agent writes it out; None where the agent keeps files.
fn exported(
    ctx: &Context<'_>,
    caller: &Caller,
    source: &Source<'_>,
) -> crate::error::Result<Option<Transcript>> {
    let agent = source.agent_of(caller);
    let Some(agent) = agent.and_then(agents::by_name) else {
        return Ok(None);
    };
    let Some(command) = agent.export_command(&caller.session_id) else {
        return Ok(None);
    };
    let written = export(ctx, &caller.session_id, &command)?;
    agent.read(written.path(), Detail::Full).map(Some)
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
        version: VERSION,
        session_id: session,
        agent: Some(transcript.agent.to_owned()).filter(|name| !name.is_empty()),
        captured_at: ctx.env.now().rfc3339(),
        selection: selection.describe(transcript),
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
