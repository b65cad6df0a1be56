//! Builds a [`Transcript`] from an agent's records in the order of the file.
//!
//! Owns the pairing of calls with results, the joining of one message's rows, and the bookkeeping of cut places. Readers
//! decide what a record means; this decides what the conversation looks like.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::transcript::{
    Compaction, Cut, Detail, Message, Position, Prompt, Role, Shrink, Tokens, Tool, Transcript,
};

/// A conversation under construction.
pub struct Builder {
    /// What has been built so far; heads (session id, cwd, …) are set directly.
    pub transcript: Transcript,
    /// Which file the records come from now: 0 the session file, 1 its companion.
    pub file: u8,
    detail: Detail,
    calls: HashMap<String, usize>,
    open: HashSet<String>,
}

/// What a reader knows of a prompt.
pub struct Typed {
    /// Where its record begins.
    pub position: Position,
    /// Where a fork is cut, when the file still holds that place.
    pub cut: Option<Position>,
    /// The same place in the companion file.
    pub companion: Option<Position>,
    /// The agent's id of the prompt.
    pub prompt_id: Option<String>,
    /// The agent's id of the record.
    pub id: Option<String>,
    /// When it was sent.
    pub at: Option<String>,
    /// As typed.
    pub text: String,
    /// Images that came along.
    pub images: u32,
}

/// A tool call.
pub struct Call {
    /// The id that its result names.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub input: Value,
    /// When the model made it, as RFC 3339.
    pub at: Option<String>,
    /// Where in the file its record begins.
    pub position: Position,
}

impl Builder {
    /// An empty conversation.
    pub fn new(agent: &'static str, detail: Detail) -> Self {
        Self {
            transcript: Transcript {
                agent,
                ..Transcript::default()
            },
            file: 0,
            detail,
            calls: HashMap::new(),
            open: HashSet::new(),
        }
    }

    fn keep(&self, text: String) -> String {
        match self.detail {
            Detail::Full => text,
            Detail::Outline => String::new(),
        }
    }

    /// A prompt: a turn begins, and the place before it is a place to cut.
    pub fn prompt(&mut self, typed: Typed) {
        // An agent that was interrupted leaves a call without its result; the next prompt settles that nobody waits for it.
        self.open.clear();
        self.calls.clear();
        let cut = typed
            .cut
            .map(|position| self.cut(position, typed.companion));
        if let Some(cut) = cut {
            self.push_boundary(cut);
        }
        let transcript = &mut self.transcript;
        transcript.prompts.push(Prompt {
            index: transcript.prompts.len(),
            position: typed.position,
            prompt_id: typed.prompt_id,
            at: typed.at.clone(),
            text: typed.text.clone(),
            images: typed.images,
            message: transcript.messages.len(),
            tokens: transcript.tokens,
            cut,
        });
        self.user(typed.position, typed.id, typed.at, typed.text, typed.images);
    }

    /// What comes like a prompt and begins no turn of a person's. Where a call is open, the place to cut is the last one before it.
    pub fn aside(&mut self, typed: &Typed) {
        let here = typed.cut.map(|place| self.cut(place, typed.companion));
        let cut = if self.open.is_empty() {
            here
        } else {
            here.and(self.transcript.boundaries.last().copied())
        };
        let transcript = &mut self.transcript;
        transcript.asides.push(Prompt {
            index: transcript.prompts.len().saturating_sub(1),
            position: typed.position,
            prompt_id: typed.prompt_id.clone(),
            at: typed.at.clone(),
            text: typed.text.clone(),
            images: typed.images,
            message: transcript.messages.len(),
            tokens: cut.map_or(transcript.tokens, |cut| cut.tokens),
            cut,
        });
    }

    /// Something a person said that begins no turn: sent while the agent was at work.
    pub fn user(
        &mut self,
        position: Position,
        id: Option<String>,
        at: Option<String>,
        text: String,
        images: u32,
    ) {
        let text = self.keep(text);
        self.push(Role::User, position, id, at, text, images);
    }

    /// Words of the model. Rows of one message (same id, nothing between) are joined.
    pub fn assistant(
        &mut self,
        position: Position,
        id: Option<String>,
        at: Option<String>,
        text: String,
    ) {
        let text = self.keep(text);
        if let Some(last) = self.transcript.messages.last_mut()
            && last.role == Role::Assistant
            && id.is_some()
            && last.id == id
        {
            if !last.text.is_empty() && !text.is_empty() {
                last.text.push_str("\n\n");
            }
            last.text.push_str(&text);
            return;
        }
        self.push(Role::Assistant, position, id, at, text, 0);
    }

    /// A tool call begins.
    pub fn call(&mut self, call: Call) {
        let input = match self.detail {
            Detail::Full => call.input,
            Detail::Outline => Value::Null,
        };
        let index = self.transcript.messages.len();
        // Some agents use an id again in a later step: the last call is meant.
        self.calls.insert(call.id.clone(), index);
        self.open.insert(call.id.clone());
        self.push(
            Role::Tool,
            call.position,
            Some(call.id),
            call.at,
            String::new(),
            0,
        );
        if let Some(message) = self.transcript.messages.last_mut() {
            message.tool = Some(Tool {
                name: call.name,
                input,
                output: None,
                error: false,
            });
        }
    }

    /// The rest of a call's arguments, which came in pieces. `parse` turns the whole text into a value.
    pub fn amend_input(&mut self, id: &str, change: impl FnOnce(&mut Value)) {
        if self.detail == Detail::Outline {
            return;
        }
        if let Some(tool) = self.tool_mut(id) {
            change(&mut tool.input);
        }
    }

    /// A call's result. A result without its call is left out.
    pub fn result(&mut self, id: &str, output: String, error: bool) {
        let output = self.keep(output);
        let Some(tool) = self.tool_mut(id) else {
            return;
        };
        tool.output = Some(output);
        tool.error = error;
        self.open.remove(id);
    }

    fn tool_mut(&mut self, id: &str) -> Option<&mut Tool> {
        let index = *self.calls.get(id)?;
        self.transcript.messages.get_mut(index)?.tool.as_mut()
    }

    /// The context was summarised or cleared here.
    pub fn shrink(&mut self, position: Position, kind: Shrink) {
        let messages = self.transcript.messages.len();
        self.transcript.compactions.push(Compaction {
            file: self.file,
            position,
            messages,
            kind,
        });
    }

    /// A record ended at `position`: a place to cut when no call is open and a prompt has been seen.
    pub fn boundary(&mut self, position: Position, companion: Option<Position>) {
        if self.open.is_empty() && !self.transcript.prompts.is_empty() {
            let cut = self.cut(position, companion);
            self.push_boundary(cut);
        }
    }

    fn cut(&self, position: Position, companion: Option<Position>) -> Cut {
        Cut {
            position,
            companion,
            tokens: self.transcript.tokens,
            messages: self.transcript.messages.len(),
        }
    }

    fn push_boundary(&mut self, cut: Cut) {
        let boundaries = &mut self.transcript.boundaries;
        while boundaries
            .last()
            // They are searched by offset, so they have to ascend; of two at one place the later one stands.
            .is_some_and(|last| last.position.offset >= cut.position.offset)
        {
            boundaries.pop();
        }
        boundaries.push(cut);
    }

    /// Takes back the last `turns` turns: their messages go, their prompts are kept as abandoned. Returns where the
    /// first of them began.
    pub fn roll_back(&mut self, turns: usize) -> Option<Position> {
        let transcript = &mut self.transcript;
        let first = transcript.prompts.len().saturating_sub(turns);
        let gone = transcript.prompts.split_off(first);
        let start = gone.first()?;
        transcript.messages.truncate(start.message);
        let asides = &mut transcript.asides;
        asides.retain(|aside| aside.message < start.message);
        transcript.tokens.context = start.tokens.context;
        let place = start.cut.map_or(start.position, |cut| cut.position);
        transcript
            .boundaries
            .retain(|cut| cut.position.offset <= place.offset);
        transcript.abandoned.extend(gone);
        self.open.clear();
        self.calls.clear();
        Some(place)
    }

    /// Token counts from here on.
    pub fn tokens(&mut self, tokens: Tokens) {
        self.transcript.tokens = tokens;
    }

    fn push(
        &mut self,
        role: Role,
        position: Position,
        id: Option<String>,
        at: Option<String>,
        text: String,
        images: u32,
    ) {
        self.transcript.messages.push(Message {
            role,
            at,
            text,
            images,
            tool: None,
            id,
            file: self.file,
            position,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64) -> Position {
        Position {
            line,
            offset: line * 10,
        }
    }

    fn typed(line: u64) -> Typed {
        Typed {
            position: at(line),
            cut: Some(at(line)),
            companion: None,
            prompt_id: None,
            id: None,
            at: None,
            text: format!("prompt on line {line}"),
            images: 0,
        }
    }

    fn call(id: &str, line: u64) -> Call {
        Call {
            id: id.to_owned(),
            name: "shell".to_owned(),
            input: Value::Null,
            at: None,
            position: at(line),
        }
    }

    #[test]
    fn no_place_to_cut_while_a_parallel_call_is_open() {
        let mut builder = Builder::new("test", Detail::Full);
        builder.boundary(at(0), None);
        builder.prompt(typed(1));
        builder.call(call("a", 2));
        builder.call(call("b", 3));
        builder.boundary(at(4), None);
        builder.result("b", "out b".to_owned(), false);
        builder.boundary(at(5), None);
        builder.result("a", "out a".to_owned(), true);
        builder.boundary(at(6), None);
        let transcript = builder.transcript;
        let lines: Vec<u64> = transcript
            .boundaries
            .iter()
            .map(|cut| cut.position.line)
            .collect();
        assert_eq!(lines, [1, 6]);
        let outputs: Vec<_> = transcript
            .messages
            .iter()
            .filter_map(|message| message.tool.as_ref())
            .map(|tool| (tool.output.as_deref(), tool.error))
            .collect();
        assert_eq!(outputs, [(Some("out a"), true), (Some("out b"), false)]);
    }

    #[test]
    fn a_rollback_keeps_the_prompt_as_abandoned() {
        let mut builder = Builder::new("test", Detail::Full);
        builder.prompt(typed(1));
        builder.assistant(at(2), None, None, "one".to_owned());
        builder.boundary(at(3), None);
        builder.prompt(typed(3));
        builder.assistant(at(4), None, None, "two".to_owned());
        builder.boundary(at(5), None);
        assert_eq!(builder.roll_back(1), Some(at(3)));
        let transcript = builder.transcript;
        assert_eq!(transcript.messages.len(), 2);
        assert_eq!(transcript.prompts.len(), 1);
        assert_eq!(transcript.abandoned.len(), 1);
        assert_eq!(
            transcript.boundaries.last().map(|cut| cut.position),
            Some(at(3))
        );
    }

    #[test]
    fn rows_of_one_message_are_joined() {
        let mut builder = Builder::new("test", Detail::Full);
        let id = || Some("m1".to_owned());
        builder.assistant(at(1), id(), None, "a".to_owned());
        builder.assistant(at(2), id(), None, "b".to_owned());
        builder.assistant(at(3), Some("m2".to_owned()), None, "c".to_owned());
        let texts: Vec<_> = builder
            .transcript
            .messages
            .iter()
            .map(|m| m.text.as_str())
            .collect();
        assert_eq!(texts, ["a\n\nb", "c"]);
    }
}
