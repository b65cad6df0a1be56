//! Which commits and trees an operation needs: everything that its files and refs name.

use std::collections::HashSet;

use crate::git::Oid;

use super::OperationState;
use super::names::{is_libgit2_commit, is_mail};
use crate::git::objects::{ObjectKind, ObjectStore, PartOfId};

/// Files whose every full commit id counts.
const FULL_IDS: [&str; 33] = [
    "BISECT_EXPECTED_REV",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "CHERRY_PICK_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "rebase-apply/abort-safety",
    "rebase-apply/autostash",
    "rebase-apply/head",
    "rebase-apply/onto",
    "rebase-apply/orig-head",
    "rebase-apply/original-commit",
    "rebase-apply/rewritten",
    "rebase-merge/amend",
    "rebase-merge/autostash",
    "rebase-merge/current",
    "rebase-merge/current-commit",
    "rebase-merge/dropped",
    "rebase-merge/head",
    "rebase-merge/onto",
    "rebase-merge/orig-head",
    "rebase-merge/prev_head",
    "rebase-merge/rewritten",
    "rebase-merge/rewritten-list",
    "rebase-merge/rewritten-pending",
    "rebase-merge/squash-onto",
    "rebase-merge/update-refs",
    "sequencer/abort-safety",
    "sequencer/head",
];

/// Lists of commands; their ids may be abbreviated.
const LISTS: [&str; 6] = [
    "rebase-merge/current-fixups",
    "rebase-merge/done",
    "rebase-merge/git-rebase-todo",
    "rebase-merge/git-rebase-todo.backup",
    "rebase-merge/stopped-sha",
    "sequencer/todo",
];

/// Fills in `commits` and `trees` from files and refs.
pub(super) fn collect(objects: &ObjectStore, state: &mut OperationState) {
    let (named, trees) = named(objects, state);
    state.commits = peeled(objects, named);
    state.trees = trees;
}

/// Whether a commit that files and refs name by its whole id is not there.
pub(super) fn lacks(objects: &ObjectStore, state: &OperationState) -> bool {
    let (named, _) = named(objects, state);
    named.into_iter().any(|oid| objects.peel(oid).is_err())
}

/// The objects that files and refs name as commits, and the trees with the files that name them.
fn named(objects: &ObjectStore, state: &OperationState) -> (Vec<Oid>, Vec<(String, Oid)>) {
    let mut named: Vec<Oid> = Vec::new();
    let mut trees = Vec::new();
    for (name, content, _) in &state.files {
        if FULL_IDS.contains(&name.as_str())
            || name
                .strip_prefix("rebase-merge/")
                .is_some_and(is_libgit2_commit)
        {
            named.extend(full_ids(content));
        } else if LISTS.contains(&name.as_str()) {
            named.extend(
                content
                    .split(|&byte| byte == b'\n')
                    .filter_map(|line| id_of_line(objects, line)),
            );
        } else if name.strip_prefix("rebase-apply/").is_some_and(is_mail) {
            // git: a rebase's mails begin with the commit that each was made from.
            let first = content.split(|&byte| byte == b'\n').next();
            named.extend(full_ids(first.unwrap_or_default()));
        } else if name == "AUTO_MERGE" {
            let tree = full_ids(content)
                .into_iter()
                .find(|&oid| objects.is_tree(oid));
            trees.extend(tree.map(|oid| (name.clone(), oid)));
        }
    }
    named.extend(state.refs.iter().map(|(_, oid)| *oid));
    (named, trees)
}

/// Those that are there, each once.
pub(super) fn peeled(objects: &ObjectStore, named: impl IntoIterator<Item = Oid>) -> Vec<Oid> {
    let mut seen = HashSet::new();
    // A merge of an annotated tag names the tag.
    let commits = named.into_iter().filter_map(|oid| match objects.peel(oid) {
        Ok((commit, ObjectKind::Commit)) => Some(commit),
        _ => None,
    });
    commits.filter(|&oid| seen.insert(oid)).collect()
}

/// Runs of exactly as many hex digits as an id has.
pub(super) fn full_ids(content: &[u8]) -> Vec<Oid> {
    content
        .split(|byte| !byte.is_ascii_hexdigit())
        .filter_map(|run| Oid::from_hex_bytes(run).ok())
        .collect()
}

/// The commit of `pick <id> …`, `fixup -C <id> …`, `merge -C <id> …`, or of a bare `<id>`.
fn id_of_line(objects: &ObjectStore, line: &[u8]) -> Option<Oid> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let command = words.next()?;
    if command.starts_with(b"#") {
        return None;
    }
    let word = match words.find(|word| !word.starts_with(b"-")) {
        Some(word) => word,
        None => command,
    };
    let part = PartOfId::parse(word)?;
    objects.resolve(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::repo::testing::TestRepo;

    #[test]
    fn full_ids_are_runs_of_exactly_as_many_digits() {
        for digits in [40, 64] {
            let id = "01".repeat(digits / 2);
            let text = format!("'{id}' [{id}]\n{id}0\nabc");
            assert_eq!(full_ids(text.as_bytes()).len(), 2);
        }
    }

    #[test]
    fn every_shape_of_a_todo_line_gives_its_commit() {
        let test = TestRepo::new();
        test.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        let repo = test.open();
        let oid = repo.head_unpeeled().expect("read").oid.expect("born");
        let (full, short) = (oid.to_string(), &oid.to_string()[..7]);
        let objects = ObjectStore::open(repo.common_dir(), repo.object_format()).expect("opened");
        for line in [
            format!("pick {full} dead beef"),
            format!("  fixup -C {short} # one"),
            format!("merge -C {short} topic # Merge"),
            format!("revert {short} one"),
            short.to_owned(),
        ] {
            assert_eq!(id_of_line(&objects, line.as_bytes()), Some(oid), "{line}");
        }
        for line in [
            "",
            "# pick",
            "break",
            "exec make",
            "label onto",
            "update-ref refs/heads/x",
        ] {
            assert_eq!(id_of_line(&objects, line.as_bytes()), None, "{line}");
        }
    }
}
