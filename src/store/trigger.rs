//! What made a snapshot, and what kind of swap a journal is of: the words of both, each in this one
//! place.
//!
//! Both are stored. A word that this version does not know comes from a later one, or from whoever
//! named it on the command line: it is kept and shown as it stands.

use crate::json;

/// What kind of swap it is: the `operation` of a journal, and the trigger of what the swap saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwapKind {
    /// To a snapshot.
    Travel,
    /// Back to the present.
    Return,
    /// Of files of a snapshot.
    Restore,
    /// Of the changes of one prompt, or of one session, which are taken back.
    Revert,
    /// To the files at a checkpoint.
    Rewind,
    /// Of what a run made.
    Apply,
    /// Of a level of the undo log.
    Undo,
    /// Of a level of the redo log.
    Redo,
    /// Of what a swap that died had left.
    Recover,
    /// A word that this version does not know. Made by `from` alone, which knows the others.
    Other(String),
}

json::open_words!(SwapKind {
    Travel = "travel",
    Return = "return",
    Restore = "restore",
    Revert = "revert",
    Rewind = "rewind",
    Apply = "apply",
    Undo = "undo",
    Redo = "redo",
    Recover = "recover",
});

/// What made a snapshot, a backup or an experiment: the `trigger` of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// Somebody asked for it.
    Manual,
    /// An agent asked for it over MCP.
    Mcp,
    /// A session began.
    SessionStart,
    /// A checkpoint was made, before a prompt mostly.
    Checkpoint,
    /// An agent's turn ended.
    TurnEnd,
    /// An issue was reported.
    IssueReport,
    /// Runs were to begin with what is there.
    Try,
    /// A search was to end with what is there.
    Bisect,
    /// Runs were to get what is there beside the snapshots of their issues.
    Replay,
    /// An opened directory was closed, and this was left of it.
    Close,
    /// The scratch of a run went, and this was left of it.
    Scratch,
    /// A swap saved what was there.
    Swap(SwapKind),
    /// A word that this version does not know. Made by `from` alone, which knows the others.
    Other(String),
}

json::open_words!(Trigger {
    Manual = "manual",
    Mcp = "mcp",
    SessionStart = "session-start",
    Checkpoint = "checkpoint",
    TurnEnd = "turn-end",
    IssueReport = "issue-report",
    Try = "try",
    Bisect = "bisect",
    Replay = "replay",
    Close = "close",
    Scratch = "scratch",
} or Swap(SwapKind));

impl Default for Trigger {
    /// The trigger of a record that names none.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl From<SwapKind> for Trigger {
    /// An unknown word stays one, as if it had been read.
    fn from(kind: SwapKind) -> Self {
        match kind {
            SwapKind::Other(word) => Self::from(word),
            known => Self::Swap(known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_stored_and_shown_as_it_was_read() {
        for word in [
            "manual",
            "session-start",
            "travel",
            "recover",
            "post-checkout",
            "Travel",
            "",
        ] {
            let stored = format!("\"{word}\"");
            let trigger: Trigger = serde_json::from_str(&stored).expect("a trigger");
            assert_eq!(trigger.to_string(), word);
            assert_eq!(serde_json::to_string(&trigger).expect("a word"), stored);
            let kind: SwapKind = serde_json::from_str(&stored).expect("a kind");
            assert_eq!(kind.to_string(), word);
            assert_eq!(serde_json::to_string(&kind).expect("a word"), stored);
            assert_eq!(Trigger::from(kind), trigger);
        }
    }

    #[test]
    fn what_is_no_word_is_refused_as_before() {
        assert!(serde_json::from_str::<Trigger>("null").is_err());
        assert!(serde_json::from_str::<SwapKind>("1").is_err());
    }

    #[test]
    fn each_known_word_is_its_own_variant() {
        assert_eq!(Trigger::from("travel"), Trigger::Swap(SwapKind::Travel));
        assert_eq!(Trigger::from("turn-end"), Trigger::TurnEnd);
        assert_eq!(
            SwapKind::from("turn-end"),
            SwapKind::Other("turn-end".to_owned())
        );
    }
}
