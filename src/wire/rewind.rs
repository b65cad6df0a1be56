//! Rewinds in JSON.

use serde::Serialize;

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
