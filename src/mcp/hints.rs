//! The next call after an error, in the words of the tools.

use serde_json::Value;

use crate::error::{Code, Error};
use crate::ops::approval;

/// Puts the tools' hint before those that name commands.
pub fn complete(document: &mut Value, error: &Error) {
    let code = error.code();
    // A directory that is refused says which would do.
    if document["error"]["argument"] == "dir" {
        return;
    }
    // Of an issue without a conversation nothing goes back.
    if document["error"]["issue_id"].is_string() && code == Code::TranscriptNotFound {
        return;
    }
    let of_command = error.find_detail(approval::VERIFY_HASH).is_some();
    let is_elsewhere = error.find_detail(approval::SNAPSHOT).is_some();
    let hint = if is_elsewhere && code == Code::NotApproved {
        Some(
            "ask the user: among the files of a snapshot that was not made here only what a person has run or approved there is run for an agent",
        )
    } else if of_command && code == Code::NotApproved {
        Some(
            "ask the user to run that command once with 'tw try -- COMMAND'; only what a person has run here is run for an agent",
        )
    } else {
        let of_system = || error.hint_of_system().filter(|_| error.hints().is_empty());
        usual(code).or_else(of_system)
    };
    let Some(hint) = hint else { return };
    if let Some(hints) = document["error"]["hints"].as_array_mut() {
        hints.insert(0, hint.into());
    }
    document["error"]["hint"] = hint.into();
}

fn usual(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::NotARepository => {
            "give 'dir', a directory in a git working tree (or one of 'tw init --here') and in a root of the client"
        }
        Code::SnapshotNotFound | Code::InvalidAddress => {
            "timewarp_list shows the ids; give more of one"
        }
        Code::AmbiguousAddress => "give more of the id: 'candidates' are those it may be",
        Code::SessionNotFound => {
            "timewarp_sessions with all_worktrees: true shows the sessions there are; the agent's hooks begin one"
        }
        Code::AlreadyInPast => {
            "call timewarp_return with the guard_token of the travel that began this stay"
        }
        Code::NotInPast => {
            "nothing is to be done: the working tree is in the present; timewarp_travel goes to the past"
        }
        Code::BacktrackPending => {
            "end your turn: the message that waits is read then; only the user drops it, with 'tw backtrack cancel'"
        }
        Code::NotApproved => {
            "give the guard_token that timewarp_travel answered; take_over: true ends a stay that another agent began"
        }
        Code::Busy => "try again when the other command has ended; never remove lock files",
        Code::Interrupted => "ask the user to run 'tw recover'",
        Code::WouldOverwrite | Code::VerifyFailed | Code::Held => {
            "data would be lost: tell the user what stands here"
        }
        Code::Conflict => {
            "nothing was written: 'conflicts' names the lines and the later prompts; with_dependents: true takes those back, too"
        }
        Code::InvalidCheckpoint => {
            "timewarp_sessions shows the sessions there are; a checkpoint is its number, or SESSION:NUMBER"
        }
        Code::PathNotFound => {
            "paths are taken from 'dir', without a pattern; timewarp_diff shows which files differ"
        }
        Code::InvalidLabel => "give another label; only the user takes one away",
        Code::TranscriptNotFound => {
            "there is no conversation to read: files go back without one, with code: true"
        }
        Code::UnsafeWorkspace => {
            "give 'dir', a repository below it; only a person can take the whole of it, with 'tw snapshot --force'"
        }
        Code::NoSessionSnapshot => "call timewarp_snapshot and give its snapshot_id as 'snapshot'",
        Code::IssueNotFound | Code::InvalidIssueId => {
            "timewarp_issue_list with status: all shows the ids"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn the_tools_hint_stands_first_and_the_commands_stays() {
        let error = Error::new(Code::NotInPast, "not in the past").hint("run 'tw travel'");
        let mut document = wire::error(&error);
        complete(&mut document, &error);
        let hints = document["error"]["hints"].as_array().expect("a list");
        assert_eq!(hints.len(), 2);
        assert_eq!(document["error"]["hint"], hints[0]);
        assert_eq!(hints[1], "run 'tw travel'");
    }

    #[test]
    fn what_the_system_refuses_has_a_next_step() {
        let error = Error::from(std::io::Error::from_raw_os_error(24));
        let mut document = wire::error(&error);
        complete(&mut document, &error);
        let hint = document["error"]["hint"].as_str();
        assert!(hint.is_some_and(|hint| hint.contains("ulimit -n")));
    }
}
