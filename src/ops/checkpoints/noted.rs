//! Where a checkpoint was noted, in a conversation that may lie in two files.
//!
//! kimi-cli keeps what the model sees in one file and what people see in another, and either may be the one that was named
//! when the checkpoint was made. Offsets are only ever compared with offsets of the same file.

use std::path::Path;

use crate::agents::lines::sha256_of_prefix;
use crate::agents::transcript::{Cut, Message, Prompt, Role, Transcript};
use crate::error::Result;
use crate::store::checkpoint::Place;

/// A noted place, in the file that it is a place of.
#[derive(Debug, Clone, Copy)]
pub struct Noted<'a> {
    transcript: &'a Transcript,
    place: &'a Place,
    /// The companion's path, when that was the file.
    companion: Option<&'a Path>,
}

impl<'a> Noted<'a> {
    /// The place of a checkpoint in its conversation.
    pub fn new(transcript: &'a Transcript, place: &'a Place) -> Self {
        let named = place
            .path
            .as_deref()
            .and_then(|path| Path::new(path).file_name());
        let is_named = |path: &&Path| named.is_some() && path.file_name() == named;
        let companion = transcript.companion.as_deref().filter(is_named);
        Self {
            transcript,
            place,
            companion: companion.filter(|_| !is_named(&transcript.path.as_path())),
        }
    }

    /// Which of the conversation's files it is, as messages say it: 0 the session file, 1 its companion.
    pub fn file(&self) -> u8 {
        u8::from(self.companion.is_some())
    }

    /// Whether what precedes the place is what it was; None when that was not noted.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn is_intact(&self) -> Result<Option<bool>> {
        let Some(noted) = &self.place.sha256_of_prefix else {
            return Ok(None);
        };
        let path = self.companion.unwrap_or(&self.transcript.path);
        let found = sha256_of_prefix(path, self.place.offset)?;
        Ok(Some(found.as_ref() == Some(noted)))
    }

    /// The first prompt whose record stands at or after the place: the one that was sent when the file ended there.
    pub fn next_prompt(&self) -> Option<&'a Prompt> {
        if self.companion.is_none() {
            return self.transcript.prompt_from(self.place.offset);
        }
        self.first_from(self.transcript.prompts.iter())
    }

    /// The first of these that stands at or after the place.
    pub fn first_from<'p>(
        &self,
        mut prompts: impl Iterator<Item = &'p Prompt>,
    ) -> Option<&'p Prompt> {
        prompts.find(|prompt| !self.precedes(prompt))
    }

    /// Whether a prompt stands before the place, and was answered before it.
    pub fn is_past(&self, prompt: &Prompt) -> bool {
        self.precedes(prompt) && self.is_answered(prompt)
    }

    /// Whether something was answered or done between the place and a prompt behind it.
    pub fn is_answered_before(&self, prompt: &Prompt) -> bool {
        let before = self.transcript.messages.get(..prompt.message);
        let mut answers = before.unwrap_or_default().iter().rev();
        answers.any(|message| message.role != Role::User && self.is_from(message))
    }

    /// Whether something was answered or done between two prompts, whichever file it stands in.
    pub fn is_answered_between(&self, prompt: &Prompt, next: &Prompt) -> bool {
        let between = self.transcript.messages.get(prompt.message..next.message);
        let mut between = between.unwrap_or_default().iter();
        between.any(|message| message.role != Role::User)
    }

    /// The last prompt whose record stands before the place, if nothing was said or done between the two.
    pub fn unanswered_prompt(&self) -> Option<&'a Prompt> {
        let mut prompts = self.transcript.prompts.iter().rev();
        let last = prompts.find(|prompt| self.precedes(prompt))?;
        (!self.is_answered(last)).then_some(last)
    }

    /// The prompt whose record stands next before the place, if it was taken back since: what it was answered with is in no message.
    pub fn last_taken_back(&self) -> Option<&'a Prompt> {
        if self.companion.is_some() {
            // It stands in the other file, whose places are not to be compared with this one.
            return None;
        }
        let before = |prompt: &&Prompt| prompt.position.offset < self.place.offset;
        // What has no cut is in a file that this one goes on from.
        let abandoned = self.transcript.abandoned.iter();
        let gone = abandoned.filter(|prompt| prompt.cut.is_some() && before(prompt));
        let last = gone.max_by_key(|prompt| prompt.position.offset)?;
        let mut all = self.transcript.prompts.iter();
        let is_last = |prompt: &Prompt| {
            self.precedes(prompt) && prompt.position.offset > last.position.offset
        };
        (!all.any(is_last)).then_some(last)
    }

    /// Whether a prompt was taken back, so that no message says what it was answered with.
    pub fn is_taken_back(&self, prompt: &Prompt) -> bool {
        let mut abandoned = self.transcript.abandoned.iter();
        abandoned.any(|gone| gone.position == prompt.position)
    }

    /// Whether something was answered or done between a prompt and the place behind it.
    fn is_answered(&self, prompt: &Prompt) -> bool {
        let messages = &self.transcript.messages;
        let own = messages.get(prompt.message);
        // What no person sent is no message.
        let is_said = own.is_some_and(|message| message.role == Role::User);
        let from = prompt.message + usize::from(is_said);
        let since = messages.get(from..).unwrap_or_default().iter();
        let mut answers = since.filter(|message| message.role != Role::User);
        // What was said may stand in the other file: a cut counts it.
        answers.any(|message| message.file == self.file() && !self.is_from(message))
            || self.cut().is_some_and(|cut| cut.messages > from)
    }

    /// Whether a message stands at or after the place.
    fn is_from(&self, message: &Message) -> bool {
        message.file == self.file() && message.position.offset >= self.place.offset
    }

    /// The last place at or before it where a fork may be cut; None before the first prompt.
    pub fn cut(&self) -> Option<Cut> {
        let offset = self.place.offset;
        if self.companion.is_none() {
            return self.transcript.cut_at(offset).copied();
        }
        let mut cuts = self.transcript.boundaries.iter().rev();
        let last = cuts.find(|cut| cut.companion.is_some_and(|place| place.offset <= offset));
        last.filter(|cut| cut.messages > 0).copied()
    }

    /// Whether the conversation was compacted or cleared after the place.
    pub fn is_compacted(&self) -> bool {
        let all = &self.transcript.compactions;
        let mut here = all.iter().filter(|one| one.file == self.file()).peekable();
        if here.peek().is_some() {
            return here.any(|one| one.position.offset >= self.place.offset);
        }
        // Told in the other file only: this one was written anew.
        !all.is_empty() && self.is_intact().is_ok_and(|intact| intact == Some(false))
    }

    /// Whether a prompt's record stands before the place.
    fn precedes(&self, prompt: &Prompt) -> bool {
        let message = self.transcript.messages.get(prompt.message);
        let position = match self.companion {
            // Without a companion, what is not in the session file is in one that it goes on from.
            None if self.transcript.companion.is_none() => {
                Some(prompt.position).filter(|_| message.is_none_or(|message| message.file == 0))
            }
            None => Some(prompt.position),
            Some(_) => message.map(|message| message.position),
        };
        position.is_some_and(|position| position.offset < self.place.offset)
    }
}
