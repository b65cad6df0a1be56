//! The next command after an error that brought no hint of its own.

use crate::error::{Code, Error};

/// Adds the usual hint for the error's code when it has none.
pub fn complete(error: Error) -> Error {
    if !error.hints().is_empty() {
        return error;
    }
    let of_system = error.hint_of_system();
    let hint = of_system.unwrap_or_else(|| usual(error.code()));
    error.hint(hint)
}

fn usual(code: Code) -> &'static str {
    match code {
        Code::NotARepository => {
            "run tw inside a git working tree, or 'tw -C DIR'; 'git init' makes one"
        }
        // 'tw doctor' is refused there, too.
        Code::UnsupportedRepository => "nothing was touched",
        Code::UnsafeRepository => "'git status' there says whose it is, and how to trust it",
        Code::UnsafeWorkspace => "--force goes on all the same",
        Code::SnapshotNotFound => "'tw list --all' shows what there is",
        Code::AmbiguousAddress => "give more of the id",
        Code::InvalidAddress => "'tw --help' says how to name a snapshot",
        Code::AlreadyInPast => "'tw return' brings the present back first",
        Code::NotInPast => "'tw travel SNAPSHOT' goes to the past; 'tw list' shows where to",
        Code::Busy => "try again when the other command has ended",
        Code::Interrupted => "'tw recover' finishes or undoes the interrupted swap",
        Code::VerifyFailed => "'tw recover' says what differs and how to go on",
        Code::Held => "'tw show SNAPSHOT' tells more",
        Code::NoSpace => "make room on the disk; 'tw prune --dry-run' lists what tw can forget",
        Code::NothingToUndo => "'tw list --kind backup' shows what was saved",
        Code::InvalidLabel => "choose another label; 'tw label --help' says what one looks like",
        Code::InvalidConfig => "'tw config' lists every setting",
        Code::CorruptRecord => "'tw doctor' checks what tw keeps",
        Code::NewerRecord => "a newer tw wrote it: upgrade tw",
        Code::WouldOverwrite => "move what is named away, then try again",
        Code::NotApproved => "whoever the working tree belongs to can agree at a terminal",
        Code::Conflict => "resolve what is named, then try again",
        Code::NotReproduced => "'tw bisect --help' says what makes an end good or bad",
        Code::SecretFound => "'tw redact FILE' shows what counts as a secret",
        Code::WorkspaceMember => "'tw workspace list' shows the members and how they are",
        Code::NoSessionSnapshot => "'tw snapshot' takes one; name it with --snapshot",
        Code::InvalidIssueId | Code::IssueNotFound => "'tw issue list --status all' shows the ids",
        Code::IssueInvalid => "'tw issue report --help' says what an issue must have",
        Code::InvalidCheckpoint | Code::CheckpointUnavailable => {
            "'tw checkpoint list' shows the checkpoints there are"
        }
        Code::BacktrackPending => {
            "'tw backtrack show' shows what waits; 'tw backtrack cancel' drops it"
        }
        Code::TranscriptNotFound | Code::SessionNotFound => {
            "'tw session list --all-worktrees' shows what there is"
        }
        Code::PathNotFound => "'tw find PATH' says which snapshots have a path",
        Code::Usage => "'--help' after the command says what it takes",
        Code::Io => "fix what is named, then try again; 'tw doctor' checks what tw keeps",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ResultExt;

    #[test]
    fn a_hint_of_its_own_is_left_alone() {
        let error = complete(Error::new(Code::Busy, "x").hint("own"));
        assert_eq!(error.hints(), ["own"]);
        assert_eq!(complete(Error::new(Code::Busy, "x")).hints().len(), 1);
    }

    #[test]
    fn what_the_system_refuses_has_a_next_step_wherever_it_arose() {
        let refused = || std::io::Error::from_raw_os_error(24);
        let error = Err::<(), _>(refused()).context(|| "open 'a'").unwrap_err();
        assert!(complete(error).hints()[0].contains("ulimit -n"));
        let wrapped = Error::new(Code::Io, "cannot go on").caused_by(Error::from(refused()));
        assert!(complete(wrapped).hints()[0].contains("ulimit -n"));
        assert_eq!(complete(Error::new(Code::Io, "x")).hints().len(), 1);
    }
}
