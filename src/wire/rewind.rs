//! Rewinds in JSON.

use serde::Serialize;

use super::Document;
use super::checkpoint::Checkpoint;
use crate::ops::outcome::FileDiff;
use crate::ops::rewind::{CodePart, ConversationPart, Delivery, Rewound, Undone};
use crate::store::checkpoint as stored;

/// A rewind that was done, as the session's notes have it.
#[derive(Serialize)]
pub struct Rewind<'a> {
    session_id: &'a str,
    checkpoint_id: u64,
    rewound_at: &'a str,
    mode: &'a str,
    note: Option<&'a str>,
    rationale: Option<&'a str>,
    original_user_message: Option<&'a str>,
    reverted_from: RevertedFrom,
    messages_discarded: Option<u64>,
    tokens_discarded: Option<i64>,
    backup_id: Option<&'a str>,
    fork: Option<Fork<'a>>,
    undone_at: Option<&'a str>,
}

#[derive(Serialize)]
struct RevertedFrom {
    checkpoint_id: Option<u64>,
    messages: Option<u64>,
    offset: Option<u64>,
}

#[derive(Serialize)]
struct Fork<'a> {
    session_id: &'a str,
    path: &'a str,
    resume_command: String,
}

impl<'a> From<&'a stored::Rewind> for Rewind<'a> {
    fn from(rewind: &'a stored::Rewind) -> Self {
        Self {
            session_id: &rewind.session_id,
            checkpoint_id: rewind.checkpoint_id,
            rewound_at: &rewind.rewound_at,
            mode: &rewind.mode,
            note: rewind.note.as_deref(),
            rationale: rewind.rationale.as_deref(),
            original_user_message: rewind.original_user_message.as_deref(),
            reverted_from: RevertedFrom {
                checkpoint_id: rewind.reverted_from.checkpoint_id,
                messages: rewind.reverted_from.messages,
                offset: rewind.reverted_from.offset,
            },
            messages_discarded: rewind.messages_discarded,
            tokens_discarded: rewind.tokens_discarded,
            backup_id: rewind.backup_id.as_deref(),
            fork: rewind.fork.as_ref().map(|fork| Fork {
                session_id: &fork.session_id,
                path: &fork.path,
                resume_command: command_line(&fork.resume_command),
            }),
            undone_at: rewind.undone_at.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct RewoundFields<'a> {
    dry_run: bool,
    mode: &'static str,
    checkpoint: Checkpoint<'a>,
    code: Option<Code<'a>>,
    conversation: Option<Conversation<'a>>,
    notices: &'a [String],
}

#[derive(Serialize)]
struct Code<'a> {
    snapshot_id: &'a str,
    files: &'a [FileDiff],
    insertions: usize,
    deletions: usize,
    backup_id: Option<&'a str>,
}

impl<'a> From<&'a CodePart> for Code<'a> {
    fn from(part: &'a CodePart) -> Self {
        Self {
            snapshot_id: &part.snapshot_id,
            files: &part.files,
            insertions: part.insertions,
            deletions: part.deletions,
            backup_id: part.backup_id.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct Conversation<'a> {
    transcript: Option<&'a str>,
    messages_discarded: usize,
    tokens_discarded: Option<i64>,
    original_user_message: Option<&'a str>,
    fork: Option<Offered<'a>>,
    resume_command: Option<String>,
    resume_argv: Option<&'a [String]>,
    cwd: Option<&'a str>,
    note: Option<Note<'a>>,
}

#[derive(Serialize)]
struct Offered<'a> {
    session_id: Option<&'a str>,
    path: Option<&'a str>,
    resume_command: Option<String>,
    resume_argv: Option<&'a [String]>,
    messages_kept: usize,
}

#[derive(Serialize)]
struct Note<'a> {
    text: &'a str,
    delivery: &'static str,
}

impl<'a> From<&'a ConversationPart> for Conversation<'a> {
    fn from(part: &'a ConversationPart) -> Self {
        Self {
            transcript: part.transcript.as_deref(),
            messages_discarded: part.messages_discarded,
            tokens_discarded: part.tokens_discarded,
            original_user_message: part.original_user_message.as_deref(),
            fork: part.fork.as_ref().map(|fork| Offered {
                session_id: fork.session_id.as_deref(),
                path: fork.path.as_deref(),
                resume_command: fork.resume_command.as_deref().map(command_line),
                resume_argv: fork.resume_command.as_deref(),
                messages_kept: fork.messages_kept,
            }),
            resume_command: part.resume_command.as_deref().map(command_line),
            resume_argv: part.resume_command.as_deref(),
            cwd: part.cwd.as_deref(),
            note: part.note.as_ref().map(|(text, delivery)| Note {
                text,
                delivery: Delivery::as_str(*delivery),
            }),
        }
    }
}

impl Document for Rewound {
    fn fields(&self) -> impl Serialize + '_ {
        RewoundFields {
            dry_run: self.dry_run,
            mode: self.mode.as_str(),
            checkpoint: (&self.checkpoint).into(),
            code: self.code.as_ref().map(Into::into),
            conversation: self.conversation.as_ref().map(Into::into),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct UndoneFields<'a, C> {
    rewind: Rewind<'a>,
    code: Option<C>,
    session_id: &'a str,
    resume_command: Option<String>,
    resume_argv: Option<&'a [String]>,
    notices: &'a [String],
}

impl Document for Undone {
    fn fields(&self) -> impl Serialize + '_ {
        UndoneFields {
            rewind: (&self.rewind).into(),
            code: self.code.as_ref(),
            session_id: &self.session_id,
            resume_command: self.resume_command.as_deref().map(command_line),
            resume_argv: self.resume_command.as_deref(),
            notices: &self.notices,
        }
    }
}

/// Words as one line for a shell.
pub fn command_line(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte))
    };
    let quoted = words.iter().map(|word| {
        if plain(word) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn a_command_line_survives_the_shell() {
        let words = ["claude", "--resume", "it's here", ""].map(str::to_owned);
        assert_eq!(command_line(&words), r"claude --resume 'it'\''s here' ''");
    }
}
