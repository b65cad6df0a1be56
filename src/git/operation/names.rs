//! The closed list of names. What is not here is never read, written or removed.
//!
//! Taken from what git writes (2.17 and later), with the few further names that libgit2 and `JGit` write in the same
//! directories. `FETCH_HEAD` and `COMMIT_EDITMSG` belong to no operation.

/// Directories that hold one operation's files.
pub(super) const DIRS: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];

/// Prefixes of refs that belong to an operation, per worktree.
pub(super) const REF_DIRS: [&str; 2] = ["bisect", "rewritten"];

/// Files in the git directory itself.
pub(super) const TOP: [&str; 21] = [
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RESET_WHEN_FOUND",
    "BISECT_RUN",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
];

const SEQUENCER: [&str; 4] = ["abort-safety", "head", "opts", "todo"];

const REBASE_MERGE: [&str; 45] = [
    "allow_rerere_autoupdate",
    "amend",
    "author-script",
    "autostash",
    "cdate_is_adate",
    "current",
    "current-commit",
    "current-fixups",
    "done",
    "drop_redundant_commits",
    "dropped",
    "end",
    "git-rebase-todo",
    "git-rebase-todo.backup",
    "gpg_sign_opt",
    "head",
    "head-name",
    "ignore_date",
    "interactive",
    "keep_redundant_commits",
    "message",
    "message-fixup",
    "message-squash",
    "msgnum",
    "no-reschedule-failed-exec",
    "onto",
    "onto_name",
    "orig-head",
    "patch",
    "quiet",
    "refs-to-delete",
    "reschedule-failed-exec",
    "rewritten",
    "rewritten-list",
    "rewritten-pending",
    "signoff",
    "squash-onto",
    "stopped-sha",
    "strategy",
    "strategy_opts",
    "trailer",
    "update-refs",
    "verbose",
    "prev_head",
    "upstream",
];

const REBASE_APPLY: [&str; 40] = [
    "abort-safety",
    "allow_rerere_autoupdate",
    "apply-opt",
    "applying",
    "author-script",
    "autostash",
    "dirtyindex",
    "final-commit",
    "gpg_sign_opt",
    "head",
    "head-name",
    "info",
    "keep",
    "keepcr",
    "last",
    "messageid",
    "msg",
    "msg-clean",
    "msgnum",
    "next",
    "no_inbody_headers",
    "onto",
    "orig-head",
    "original-commit",
    "patch",
    "patch-merge-index",
    "quiet",
    "quoted-cr",
    "rebasing",
    "rerere-autoupdate",
    "resolvemsg",
    "rewritten",
    "scissors",
    "sign",
    "signoff",
    "strategy",
    "strategy_opts",
    "threeway",
    "utf8",
    "verbose",
];

/// Whether `name`, relative to the worktree's git directory, is a file of an operation. Also the judge of stored records:
/// exact spelling, no other path to the same file.
pub fn is_known_name(name: &str) -> bool {
    match name.split_once('/') {
        None => TOP.contains(&name),
        Some(("sequencer", file)) => SEQUENCER.contains(&file),
        Some(("rebase-merge", file)) => REBASE_MERGE.contains(&file) || is_libgit2_commit(file),
        Some(("rebase-apply", file)) => REBASE_APPLY.contains(&file) || is_mail(file),
        Some(_) => false,
    }
}

/// Whether `name` is a ref of an operation: a valid name under `refs/bisect/` or `refs/rewritten/`.
pub fn is_known_ref(name: &str) -> bool {
    let under = |dir: &str| {
        let rest = name.strip_prefix("refs/")?.strip_prefix(dir)?;
        rest.strip_prefix('/')
    };
    REF_DIRS.iter().any(|dir| under(dir).is_some()) && git2::Reference::is_valid_name(name)
}

/// `0001`: one mail of `git am`.
pub(super) fn is_mail(file: &str) -> bool {
    (4..=9).contains(&file.len()) && file.bytes().all(|byte| byte.is_ascii_digit())
}

/// `cmt.1`: one commit of a rebase by libgit2, or by git before 2.26.
pub(super) fn is_libgit2_commit(file: &str) -> bool {
    file.strip_prefix("cmt.").is_some_and(|number| {
        (1..=9).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_closed() {
        for name in [
            "MERGE_HEAD",
            "ORIG_HEAD",
            "BISECT_RUN",
            "sequencer/todo",
            "rebase-merge/git-rebase-todo.backup",
            "rebase-merge/update-refs",
            "rebase-merge/cmt.12",
            "rebase-apply/0001",
            "rebase-apply/12345",
            "rebase-apply/patch-merge-index",
        ] {
            assert!(is_known_name(name), "{name}");
        }
        for name in [
            "",
            "HEAD",
            "config",
            "index",
            "FETCH_HEAD",
            "MERGE_HEAD/",
            "./MERGE_HEAD",
            "merge_head",
            "hooks/x",
            "hooks/pre-commit",
            "../x",
            "..",
            "/etc/passwd",
            "rebase-merge",
            "rebase-merge/",
            "rebase-merge/../config",
            "rebase-merge/./done",
            "rebase-merge//done",
            "rebase-merge/done/x",
            "rebase-merge/DONE",
            "rebase-merge/cmt.",
            "rebase-merge/cmt.1x",
            "rebase-apply/001",
            "rebase-apply/0001.sh",
            "rebase-apply/1234567890",
            "sequencer/done/../../config",
            "refs/heads/main",
            "info/exclude",
            "timewarp/state.json",
        ] {
            assert!(!is_known_name(name), "{name}");
        }
    }

    #[test]
    fn refs_of_an_operation_have_valid_names() {
        for name in [
            "refs/bisect/bad",
            "refs/bisect/good-0123456789012345678901234567890123456789",
            "refs/rewritten/onto",
            "refs/rewritten/for-update-refs/x",
        ] {
            assert!(is_known_ref(name), "{name}");
        }
        for name in [
            "refs/heads/main",
            "refs/bisect",
            "refs/bisect/",
            "refs/bisect/../heads/main",
            "refs/bisectx/y",
            "refs/rewritten/.x",
            "refs/rewritten/x.lock",
            "refs/rewritten/a//b",
            "bisect/bad",
        ] {
            assert!(!is_known_ref(name), "{name}");
        }
    }

    #[test]
    fn no_name_stands_twice() {
        for list in [&TOP[..], &SEQUENCER, &REBASE_MERGE, &REBASE_APPLY] {
            let unique: std::collections::BTreeSet<_> = list.iter().collect();
            assert_eq!(unique.len(), list.len());
        }
    }
}
