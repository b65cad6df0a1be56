//! From a checkpoint to its place in the conversation as the agent's file has it now.
//!
//! A checkpoint of a prompt is made before the agent writes the prompt, or just after: what was noted is where the file ended.
//! The prompt is found by its id, else as the first one after that place. What is sent while an agent is at work has the id of the turn
//! that goes on: its text and its place tell it from the turn's own prompt. A file whose beginning is no longer what it was
//! (cleared, compacted into a new one, rotated) does not hold the place any more.

use std::cell::LazyCell;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::PROMPT_CHARS;
use super::noted::Noted;
use crate::agents::places::Places;
use crate::agents::transcript::{Cut, Detail, Message, Prompt, Tokens, Transcript};
use crate::agents::{self, Agent, by_name};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::exports::{Export, export};
use crate::redact::{self, Redactor};
use crate::store::checkpoint::{Checkpoint, Kind};

/// How long an agent waits for a hook, in seconds: its prompt and its checkpoint are not further apart.
const HOOK_SECONDS: i64 = 30;

/// A checkpoint's place in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Spot {
    /// Just before this prompt.
    Before(Prompt),
    /// Within a turn, or after the last: at this cut, None before the first prompt; and the turn's prompt, None where the
    /// checkpoint is of one that was never written.
    Within(Option<Cut>, Option<Prompt>),
}

impl Spot {
    /// Where a fork is cut; None before the first prompt, where there is nothing to fork.
    pub fn cut(&self) -> Option<&Cut> {
        match self {
            Self::Before(prompt) => prompt.cut.as_ref(),
            Self::Within(cut, _) => cut.as_ref(),
        }
    }

    /// The prompt that a rewind returns to, as typed.
    pub fn prompt(&self) -> Option<&Prompt> {
        match self {
            Self::Before(prompt) => Some(prompt),
            Self::Within(_, prompt) => prompt.as_ref(),
        }
    }

    /// Token counts there.
    pub fn tokens(&self) -> Tokens {
        match self {
            Self::Before(prompt) => prompt.tokens,
            Self::Within(cut, _) => cut.map(|cut| cut.tokens).unwrap_or_default(),
        }
    }
}

/// The conversation that a checkpoint belongs to, and what it was read from as long as it is needed.
#[derive(Debug)]
pub struct Conversation {
    transcript: Transcript,
    export: Option<Export>,
}

impl Deref for Conversation {
    type Target = Transcript;

    fn deref(&self) -> &Transcript {
        &self.transcript
    }
}

impl Conversation {
    /// What the agent wrote out to be read, where it keeps no file: it goes when this is dropped.
    pub fn into_export(self) -> Option<Export> {
        self.export
    }
}

/// Reads the conversation that a checkpoint belongs to, positions and counts only.
///
/// # Errors
/// `TRANSCRIPT_NOT_FOUND` when there is none, or it cannot be read.
pub fn conversation(ctx: &Context<'_>, checkpoint: &Checkpoint) -> Result<Conversation> {
    conversation_in(ctx, checkpoint, Detail::Outline)
}

/// Reads it in this detail.
///
/// # Errors
/// As [`conversation`].
pub fn conversation_in(
    ctx: &Context<'_>,
    checkpoint: &Checkpoint,
    detail: Detail,
) -> Result<Conversation> {
    let agent = checkpoint.agent.as_deref().and_then(by_name);
    let source = file_of(ctx, checkpoint)?.ok_or_else(|| {
        let whose = agent.map_or("any agent", Agent::title);
        let message = format!(
            "no file of {whose} is known to hold the conversation of session '{}'",
            checkpoint.session_id
        );
        Error::new(Code::TranscriptNotFound, message).hint("its files can be rewound: give --code")
    })?;
    let path = source.path();
    let read = match (agents::detect(path)?, agent) {
        (Some(found), _) | (None, Some(found)) => found.read(path, detail),
        (None, None) => agents::read(path, detail),
    };
    let transcript = read.map_err(|error| error.hint("its files can be rewound: give --code"))?;
    Ok(Conversation {
        transcript,
        export: source.into_export(),
    })
}

/// Where a conversation is read from.
enum Source {
    /// The agent's own file.
    File(PathBuf),
    /// Written out by the agent.
    Export(Export),
}

impl Source {
    fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Export(export) => export.path(),
        }
    }

    fn into_export(self) -> Option<Export> {
        match self {
            Self::File(_) => None,
            Self::Export(export) => Some(export),
        }
    }
}

fn file_of(ctx: &Context<'_>, checkpoint: &Checkpoint) -> Result<Option<Source>> {
    let noted = checkpoint.transcript.path.as_deref().map(Path::new);
    if let Some(path) = noted.filter(|path| path.is_file()) {
        return Ok(Some(Source::File(path.to_owned())));
    }
    let session = &checkpoint.session_id;
    let agent = checkpoint.agent.as_deref().and_then(by_name);
    if let Some(path) = noted.and_then(|path| agent?.moved(path)) {
        return Ok(Some(Source::File(path)));
    }
    let record = ctx.sessions().get(session)?;
    let registered = record
        .and_then(|record| record.transcript)
        .map(PathBuf::from);
    if let Some(path) = registered.filter(|path| path.is_file()) {
        return Ok(Some(Source::File(path)));
    }
    if let Some(command) = agent.and_then(|agent| agent.export_command(session)) {
        let written = export(ctx, session, &command)?;
        return Ok(Some(Source::Export(written)));
    }
    let root = ctx.repo.worktree_root();
    let places = Places::from(ctx.env);
    let found = agent.and_then(|agent| agent.locate(session, Some(root), &places));
    let found = found.or_else(|| noted.map(Path::to_owned));
    Ok(found.map(Source::File))
}

/// Finds a checkpoint in its conversation. With `verify` the file's beginning has to be what it was.
///
/// # Errors
/// `CHECKPOINT_UNAVAILABLE` when the file does not hold it any more.
pub fn spot(
    transcript: &Transcript,
    checkpoint: &Checkpoint,
    redactor: &Redactor,
    verify: bool,
) -> Result<Spot> {
    let noted = Noted::new(transcript, &checkpoint.transcript);
    let expected = ExpectedPrompt {
        checkpoint,
        redactor,
    };
    if checkpoint.kind == Kind::Prompt
        && let Some(prompt) = find_by_id(transcript, &noted, &expected)
    {
        return held(prompt, checkpoint);
    }
    if verify && noted.is_intact()? == Some(false) {
        return Err(unavailable(
            checkpoint,
            "the session's file was rewritten since",
        ));
    }
    if checkpoint.kind != Kind::Prompt {
        let cut = match &checkpoint.transcript.path {
            Some(_) => noted.cut(),
            None => cut_of_step(transcript, checkpoint),
        };
        return Ok(within(transcript, cut));
    }
    if agents::is_rewritten(&transcript.path) {
        return find_by_text(transcript, &expected);
    }
    let next = noted.next_prompt();
    let sent = transcript.asides.iter().filter(|one| expected.is(one));
    let sent = noted.first_from(sent);
    let next = match (sent, next) {
        (Some(sent), Some(next)) if sent.position > next.position => Some(next),
        (Some(sent), _) => Some(sent),
        // Something else was asked first, of which the file has no prompt.
        (None, Some(next)) if expected.is_not(next) && noted.is_answered_before(next) => None,
        (None, next) => next,
    };
    let found = match (written_early(&noted, &expected), next) {
        (Some(last), Some(next)) if expected.is(next) => {
            let is_next = expected.was_sent_later(&noted, last, next);
            Some(if is_next { next } else { last })
        }
        (last, next) => last.or(next),
    };
    match found {
        Some(prompt) => held(prompt, checkpoint),
        // It was never written: the conversation ends where it would be.
        None => Ok(Spot::Within(noted.cut(), None)),
    }
}

/// The prompt of a checkpoint that was written before the hook looked, be it taken back since.
fn written_early<'t>(noted: &Noted<'t>, expected: &ExpectedPrompt<'_>) -> Option<&'t Prompt> {
    let is_near = |prompt: &&Prompt| expected.was_sent_just_before(prompt);
    let gone = noted.last_taken_back().filter(is_near);
    let may_be = [gone, noted.unanswered_prompt()];
    let mut may_be = may_be.into_iter().flatten();
    may_be.find(|prompt| expected.is(prompt))
}

/// The prompt of a checkpoint by its id. Others may have the same: what was sent in that turn, and what a fork of the agent's copied.
fn find_by_id<'t>(
    transcript: &'t Transcript,
    noted: &Noted<'t>,
    expected: &ExpectedPrompt<'_>,
) -> Option<&'t Prompt> {
    let id = expected.checkpoint.transcript.prompt_id.as_deref()?;
    let own = || transcript.with_id(id);
    own().next()?;
    // In a file that was written anew nothing stands where it did.
    let is_anew = LazyCell::new(|| {
        let intact = || noted.is_intact().ok().flatten();
        agents::is_rewritten(&transcript.path) || intact() == Some(false)
    });
    let may_be = |prompt: &&Prompt| !noted.is_past(prompt) || *is_anew;
    let nameless = transcript.asides.iter();
    let nameless = nameless.filter(|aside| aside.prompt_id.is_none());
    let alike = || {
        let of_turn = own().chain(nameless.clone());
        of_turn.filter(|prompt| expected.is(prompt))
    };
    let found = expected.first(alike().filter(may_be));
    let found = found.or_else(|| alike().last());
    found.or_else(|| expected.first(own().filter(may_be)))
}

/// A prompt's place in a file that is written anew each time: its text and its time tell.
fn find_by_text(transcript: &Transcript, expected: &ExpectedPrompt<'_>) -> Result<Spot> {
    let checkpoint = expected.checkpoint;
    let found = transcript
        .prompts
        .iter()
        .filter(|prompt| expected.is(prompt));
    if let Some(prompt) = expected.nearest(found) {
        return held(prompt, checkpoint);
    }
    let at = &checkpoint.created_at;
    if begun_by(transcript, at) < transcript.messages.len() {
        let why = "the session's file has no such prompt";
        return Err(unavailable(checkpoint, why));
    }
    // It was never written, and nothing came after it.
    Ok(Spot::Within(cut_by_time(transcript, at), None))
}

fn within(transcript: &Transcript, cut: Option<Cut>) -> Spot {
    let before =
        |prompt: &&Prompt| cut.is_some_and(|cut| prompt.position.offset < cut.position.offset);
    let prompts = transcript.prompts.iter().filter(before);
    Spot::Within(cut, prompts.max_by_key(|prompt| prompt.index).cloned())
}

/// Where a conversation without a file of its own stood at a step: after the message of its call, by name; else by time, which is
/// kept in whole seconds.
fn cut_of_step(transcript: &Transcript, checkpoint: &Checkpoint) -> Option<Cut> {
    let call = checkpoint.transcript.call_id.as_deref();
    let named = |message: &&Message| message.tool.is_some() && message.id.as_deref() == call;
    let Some(message) = transcript
        .messages
        .iter()
        .find(named)
        .filter(|_| call.is_some())
    else {
        return cut_by_time(transcript, &checkpoint.created_at);
    };
    let place = message.position;
    let of_the_message = |other: &&Message| other.tool.is_some() && other.position == place;
    let last = transcript.messages.iter().rfind(of_the_message);
    // Others of the same message may still have been open.
    let is_last = last.is_some_and(|last| last.id == message.id);
    let mut cuts = transcript.boundaries.iter();
    if is_last {
        cuts.find(|cut| cut.position.offset > place.offset).copied()
    } else {
        cuts.rfind(|cut| cut.position.offset <= place.offset)
            .copied()
    }
}

/// Where a conversation without a file of its own stood at a time: after the messages that had begun by then.
fn cut_by_time(transcript: &Transcript, at: &str) -> Option<Cut> {
    let messages = begun_by(transcript, at);
    let mut cuts = transcript.boundaries.iter().rev();
    cuts.find(|cut| (1..=messages).contains(&cut.messages))
        .copied()
}

/// How many messages had begun at a time.
fn begun_by(transcript: &Transcript, at: &str) -> usize {
    let made = Moment::parse_rfc3339(at);
    let begun = |message: &&Message| {
        let sent = message.at.as_deref().and_then(Moment::parse_rfc3339);
        sent.zip(made).is_none_or(|(sent, made)| sent <= made)
    };
    transcript.messages.iter().take_while(begun).count()
}

fn held(prompt: &Prompt, checkpoint: &Checkpoint) -> Result<Spot> {
    if prompt.cut.is_none() {
        return Err(unavailable(
            checkpoint,
            "the session's file does not hold what precedes its prompt any more",
        ));
    }
    Ok(Spot::Before(prompt.clone()))
}

fn unavailable(checkpoint: &Checkpoint, why: &str) -> Error {
    Error::new(
        Code::CheckpointUnavailable,
        format!(
            "checkpoint {} of session '{}' is not in its conversation any more: {why}",
            checkpoint.checkpoint_id, checkpoint.session_id
        ),
    )
    .hint("its files can be rewound: give --code")
}

/// The prompt that a checkpoint was made for, as far as it is known.
struct ExpectedPrompt<'a> {
    checkpoint: &'a Checkpoint,
    redactor: &'a Redactor,
}

impl ExpectedPrompt<'_> {
    fn is(&self, prompt: &Prompt) -> bool {
        let Some(noted) = self.checkpoint.prompt.as_deref() else {
            return false;
        };
        let plain = |text: &str| text.trim().chars().take(PROMPT_CHARS).collect::<String>();
        let noted = plain(noted);
        // Nearly always: redacting the file's prompt would cost much more than comparing it.
        if !noted.contains(redact::MARK) {
            return plain(&prompt.text) == noted;
        }
        plain(&self.redactor.beginning(&prompt.text, PROMPT_CHARS)) == noted
    }

    /// Whether it was noted what was asked, and this is something else.
    fn is_not(&self, prompt: &Prompt) -> bool {
        self.checkpoint.prompt.is_some() && !self.is(prompt)
    }

    /// Of several behind the place the first; where there was no file yet, the one nearest to it in time: a fork has copied the others.
    fn first<'p>(&self, mut prompts: impl Iterator<Item = &'p Prompt>) -> Option<&'p Prompt> {
        match self.checkpoint.transcript.offset {
            0 => self.nearest(prompts),
            _ => prompts.next(),
        }
    }

    /// Of several the one that was sent nearest to it in time.
    fn nearest<'p>(&self, prompts: impl Iterator<Item = &'p Prompt>) -> Option<&'p Prompt> {
        prompts.min_by_key(|prompt| self.seconds_from(prompt))
    }

    /// Of two with its words, whether it is `next`, which stands behind the place, and not `last`, which stands before it unanswered.
    /// Where something was answered between the two, that was most likely `last`: only a time at which the hook may have
    /// run says otherwise, since `next` may have been sent while the agent was at work.
    fn was_sent_later(&self, noted: &Noted<'_>, last: &Prompt, next: &Prompt) -> bool {
        let (before, behind) = (self.seconds_from(last), self.seconds_from(next));
        if noted.is_taken_back(last) || !noted.is_answered_between(last, next) {
            return behind <= before;
        }
        // Times are kept in whole seconds.
        let is_near = |after: i64| (-1..HOOK_SECONDS).contains(&after);
        behind < before && self.seconds_after(next).is_some_and(is_near)
    }

    /// Whether it was sent when the hook was about to run, as far as times are known.
    fn was_sent_just_before(&self, prompt: &Prompt) -> bool {
        // Times are kept in whole seconds.
        let is_near = |after: i64| (-HOOK_SECONDS..=1).contains(&after);
        self.seconds_after(prompt).is_none_or(is_near)
    }

    /// How far apart the two were made.
    fn seconds_from(&self, prompt: &Prompt) -> i64 {
        self.seconds_after(prompt).map_or(i64::MAX, i64::abs)
    }

    /// How long after it the prompt was sent; less than nothing for before.
    fn seconds_after(&self, prompt: &Prompt) -> Option<i64> {
        let at = |text: &str| Moment::parse_rfc3339(text).map(Moment::seconds);
        Some(at(prompt.at.as_deref()?)? - at(&self.checkpoint.created_at)?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::store::checkpoint::Place;

    /// An agent's file, row by row, and where it ended each time that the hook ran.
    struct Session {
        dir: tempfile::TempDir,
        text: String,
        seconds: u32,
    }

    impl Session {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().expect("a temporary directory"),
                text: String::new(),
                seconds: 0,
            }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("session.jsonl")
        }

        fn now(&self) -> String {
            format!(
                "2026-01-01T00:{:02}:{:02}Z",
                self.seconds / 60,
                self.seconds % 60
            )
        }

        fn row(&mut self, mut row: Value) {
            row["timestamp"] = self.now().into();
            self.text.push_str(&format!("{row}\n"));
        }

        fn claude(&mut self, kind: &str, id: &str, parent: Option<&str>) {
            let content = json!([{"type": "text", "text": id}]);
            self.row(json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
                "message": {"role": kind, "id": format!("m-{id}"), "content": content}}));
        }

        /// The hook looks: a checkpoint of which only the place and the words tell.
        fn checkpoint(&self, prompt: &str) -> Checkpoint {
            std::fs::write(self.path(), &self.text).expect("written");
            Checkpoint {
                version: 1,
                session_id: "s".to_owned(),
                agent: None,
                checkpoint_id: 0,
                created_at: self.now(),
                prompt: Some(prompt.to_owned()),
                snapshot_id: String::new(),
                transcript: Place {
                    path: Some(self.path().to_string_lossy().into_owned()),
                    offset: self.text.len() as u64,
                    ..Place::default()
                },
                tokens: Default::default(),
                kind: Kind::Prompt,
                supersedes: None,
                tool: None,
            }
        }

        /// The words of the prompt that is gone back to.
        fn found(&self, checkpoint: &Checkpoint) -> Option<String> {
            std::fs::write(self.path(), &self.text).expect("written");
            let transcript = agents::read(&self.path(), Detail::Outline).expect("readable");
            let spot = spot(&transcript, checkpoint, &Redactor::new(), true).expect("there");
            spot.prompt().map(|prompt| prompt.text.clone())
        }
    }

    #[test]
    fn a_prompt_written_early_and_taken_back_since_is_still_its_checkpoint_s() {
        let mut session = Session::new();
        let mut made = Vec::new();
        let turns = [
            ("one", None),
            ("two", Some("a-one")),
            ("three", Some("a-two")),
            ("four", Some("a-one")),
            ("two again", Some("a-four")),
        ];
        for (text, parent) in turns {
            session.claude("user", text, parent);
            made.push((text, session.checkpoint(text)));
            session.seconds += 40;
            session.claude("assistant", &format!("a-{text}"), Some(text));
        }
        for (text, checkpoint) in made {
            assert_eq!(session.found(&checkpoint).as_deref(), Some(text));
        }
    }

    #[test]
    fn of_a_rollout_that_went_back_it_is_found_as_well() {
        let mut session = Session::new();
        session.row(json!({"type": "session_meta", "payload": {"id": "s", "cwd": "/work"}}));
        let mut made = Vec::new();
        for (text, back) in [("one", 0), ("same", 0), ("same", 2), ("same", 0)] {
            let said = json!([{"type": "input_text", "text": text}]);
            session.row(json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": said}}));
            session.row(
                json!({"type": "event_msg", "payload": {"type": "user_message", "message": text}}),
            );
            let written = session.text.len() as u64;
            made.push((written, session.checkpoint(text)));
            session.seconds += 40;
            session.row(json!({"type": "event_msg", "payload": {"type": "agent_message", "message": "yes"}}));
            if back > 0 {
                session.row(json!({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": back}}));
            }
        }
        for (written, checkpoint) in made {
            std::fs::write(session.path(), &session.text).expect("written");
            let transcript = agents::read(&session.path(), Detail::Outline).expect("readable");
            let found = spot(&transcript, &checkpoint, &Redactor::new(), true).expect("there");
            let at = found.prompt().expect("its prompt").position.offset;
            // Its own: the last before the place.
            assert!(at < written && written - at < 400, "{at} for {written}");
        }
    }

    /// Times are kept in whole seconds: of two within one it is that behind the place.
    #[test]
    fn said_again_at_once_after_it_was_taken_back_it_is_the_later_one() {
        let mut session = Session::new();
        session.row(json!({"type": "session_meta", "payload": {"id": "s", "cwd": "/work"}}));
        let event = |kind: &str, text: &str| json!({"type": "event_msg", "payload": {"type": kind, "message": text}});
        let said = |text: &str| {
            let content = json!([{"type": "input_text", "text": text}]);
            json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}})
        };
        let mut made = None;
        for (text, back) in [("one", 0), ("same", 1), ("same", 0)] {
            made = Some(session.checkpoint(text));
            session.row(said(text));
            session.row(event("user_message", text));
            session.row(event("agent_message", "yes"));
            if back > 0 {
                session.row(json!({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": back}}));
            }
        }
        let made = made.expect("the last");
        std::fs::write(session.path(), &session.text).expect("written");
        let transcript = agents::read(&session.path(), Detail::Outline).expect("readable");
        let found = spot(&transcript, &made, &Redactor::new(), true).expect("there");
        let at = found.prompt().expect("its prompt").position.offset;
        assert!(at >= made.transcript.offset, "{at}");
    }

    /// The words were said before, answered and taken back; said again they were never written.
    #[test]
    fn an_earlier_one_with_the_same_words_is_another() {
        let mut session = Session::new();
        session.claude("user", "one", None);
        session.claude("assistant", "a-one", Some("one"));
        session.claude("user", "go on", Some("a-one"));
        session.claude("assistant", "a-go on", Some("go on"));
        session.seconds += 600;
        let lost = session.checkpoint("go on");
        session.seconds += 600;
        session.claude("user", "else", Some("a-one"));
        session.claude("assistant", "a-else", Some("else"));
        assert_eq!(session.found(&lost).as_deref(), Some("else"));
    }
}
