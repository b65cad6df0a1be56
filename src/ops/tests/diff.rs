use std::os::unix::fs::{PermissionsExt, symlink};

use super::Lab;
use crate::error::Code;
use crate::git::path::RepoPath;
use crate::ops::compare::Patches;
use crate::ops::diff::diff;
use crate::ops::outcome::{Diff, OtherDiff};
use crate::ops::request::{DiffSides, Take};

fn run(lab: &Lab, request: &DiffSides) -> Diff {
    diff(&lab.ctx(), request).expect("a diff")
}

/// Path, status, lines added, lines removed.
fn told(diff: &Diff) -> Vec<(String, char, usize, usize)> {
    let files = diff.files.iter();
    files
        .map(|file| {
            let path = String::from_utf8_lossy(&file.path).into_owned();
            (path, file.status, file.insertions, file.deletions)
        })
        .collect()
}

/// Forty lines.
fn lines(number: fn(usize) -> usize) -> String {
    let lines: Vec<_> = (0..40).map(|n| number(n).to_string()).collect();
    lines.join("\n") + "\n"
}

/// How many files are below `.git/objects`.
fn objects(lab: &Lab) -> String {
    lab.git(&["count-objects", "-v"])
}

#[test]
fn every_kind_of_change_is_told_and_nothing_is_written() {
    let lab = Lab::with_commit();
    lab.write("gone", "x\n");
    lab.write("run.sh", "#!/bin/sh\n");
    lab.write("blob", b"\0one");
    let taken = lab.snapshot("before");
    lab.write("a", "one\nmore\n");
    lab.write("new/untracked", "1\n2\n");
    std::fs::remove_file(lab.path("gone")).expect("removed");
    std::fs::remove_file(lab.path("dir/b")).expect("removed");
    symlink("elsewhere", lab.path("dir/b")).expect("linked");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(lab.path("run.sh"), mode).expect("chmod");
    lab.write("blob", b"\0two");
    let before = objects(&lab);
    let refs = lab.git(&["for-each-ref"]);
    let diff = run(&lab, &DiffSides::default());
    assert_eq!(
        (diff.from.as_str(), diff.to.as_str()),
        (taken.id.as_str(), "present")
    );
    let wanted = [
        ("a", 'M', 1, 0),
        ("blob", 'M', 0, 0),
        ("dir/b", 'T', 1, 1),
        ("gone", 'D', 0, 1),
        ("new/untracked", 'A', 2, 0),
        ("run.sh", 'M', 0, 0),
    ];
    let wanted = wanted.map(|(path, status, plus, minus)| (path.to_owned(), status, plus, minus));
    assert_eq!(told(&diff), wanted);
    assert_eq!((diff.insertions, diff.deletions), (4, 2));
    assert!(diff.files[1].binary);
    assert_eq!(
        (diff.files[5].old_mode, diff.files[5].new_mode),
        (0o100_644, 0o100_755)
    );
    assert_eq!(objects(&lab), before, "a diff stores nothing");
    assert_eq!(lab.git(&["for-each-ref"]), refs);
}

/// What git itself says of the same two trees, and whether it applies.
#[test]
fn patches_are_git_s() {
    let lab = Lab::with_commit();
    lab.write("long", lines(|n| n));
    lab.write("mode", "x\n");
    lab.write("with space", "x\n");
    lab.write("t\u{e9}\"q", "x");
    lab.write("bin", b"a\0b");
    lab.write("type", "file\n");
    let old = lab.snapshot("old");
    lab.write("long", lines(|n| n * (n % 9)));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(lab.path("mode"), mode).expect("chmod");
    lab.write("with space", "y\n");
    lab.write("t\u{e9}\"q", "y");
    lab.write("bin", b"a\0c");
    lab.write("empty", "");
    std::fs::remove_file(lab.path("type")).expect("removed");
    symlink("a", lab.path("type")).expect("linked");
    std::fs::remove_file(lab.path("a")).expect("removed");
    let request = DiffSides {
        patches: Patches::Full,
        ..DiffSides::default()
    };
    let present = run(&lab, &request);
    let new = lab.snapshot("new");
    let request = DiffSides {
        from: Some(old.id.clone()),
        to: Some(new.id.clone()),
        ..request
    };
    let stored = run(&lab, &request);
    let text = |diff: &Diff| -> String {
        let patches = diff.files.iter().filter_map(|file| file.patch.clone());
        String::from_utf8(patches.flatten().collect()).expect("text")
    };
    let range = [old.commit.to_string(), new.commit.to_string()];
    let git = lab.git(&["diff", "--no-renames", "--binary", &range[0], &range[1]]);
    // How well a content is deflated is each one's own affair.
    let without_data = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let before = std::iter::once("").chain(lines.iter().copied());
        let pairs = lines.iter().zip(before);
        let kept = pairs.filter(|(_, before)| !before.starts_with("literal "));
        kept.map(|(line, _)| (*line).to_owned()).collect()
    };
    assert_eq!(without_data(&text(&stored)), without_data(&git));
    assert_eq!(text(&present), text(&stored));
    let stat = lab.git(&["diff", "--no-renames", "--shortstat", &range[0], &range[1]]);
    let ours = format!(
        "{} insertions(+), {} deletions(-)",
        stored.insertions, stored.deletions
    );
    assert!(stat.contains(&ours), "{stat} has no {ours}");
}

#[test]
fn submodules_are_lines_with_their_commits() {
    let lab = Lab::with_commit();
    let one = lab.rev("HEAD").to_string();
    std::fs::create_dir(lab.path("sub")).expect("made");
    lab.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{one},sub"),
    ]);
    let old = lab.snapshot("old");
    let two = lab.git(&["commit-tree", "-m", "two", "HEAD^{tree}"]);
    lab.git(&[
        "update-index",
        "--cacheinfo",
        &format!("160000,{},sub", two.trim()),
    ]);
    let new = lab.snapshot("new");
    let request = DiffSides {
        from: Some(old.id),
        to: Some(new.id),
        patches: Patches::Full,
        ..DiffSides::default()
    };
    let diff = run(&lab, &request);
    assert_eq!(told(&diff), [("sub".to_owned(), 'M', 1, 1)]);
    let git = lab.git(&["diff", &old.commit.to_string(), &new.commit.to_string()]);
    assert_eq!(diff.files[0].patch.as_deref(), Some(git.as_bytes()));
}

#[test]
fn paths_narrow_and_sides_may_be_turned_round() {
    let lab = Lab::with_commit();
    let taken = lab.snapshot("before");
    lab.write("a", "");
    lab.write("dir/c", "new\n");
    let request = DiffSides {
        from: Some("present".into()),
        to: Some("latest".into()),
        paths: vec!["dir".into()],
        ..DiffSides::default()
    };
    let diff = run(&lab, &request);
    assert_eq!(
        (diff.from.as_str(), diff.to.as_str()),
        ("present", taken.id.as_str())
    );
    assert_eq!(told(&diff), [("dir/c".to_owned(), 'D', 0, 1)]);
    let request = DiffSides {
        paths: vec!["../elsewhere".into()],
        ..DiffSides::default()
    };
    let error = super::super::diff::diff(&lab.ctx(), &request).expect_err("outside");
    assert_eq!(error.code(), Code::Usage);
}

/// Kind, path, old side, new side of what differs beyond contents.
fn others(diff: &Diff) -> Vec<(&'static str, String, String, String)> {
    let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "none".to_owned());
    let one = |other: &OtherDiff| {
        let path = other.path.as_ref().map_or(String::new(), RepoPath::display);
        (
            other.kind.as_str(),
            path,
            text(&other.old),
            text(&other.new),
        )
    };
    diff.others.iter().map(one).collect()
}

fn chmod(lab: &Lab, path: &str, mode: u32) {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(lab.path(path), mode).expect("chmod");
}

#[test]
fn what_a_tree_cannot_say_is_told_of_both_directions() {
    let lab = Lab::with_commit();
    std::fs::create_dir(lab.path("was-empty")).expect("made");
    chmod(&lab, "a", 0o644);
    let before = lab.snapshot("before");
    let nothing = run(&lab, &DiffSides::default());
    assert_eq!((told(&nothing), others(&nothing)), (vec![], vec![]));
    chmod(&lab, "a", 0o600);
    chmod(&lab, "dir", 0o700);
    std::fs::remove_dir(lab.path("was-empty")).expect("removed");
    std::fs::create_dir(lab.path("is-empty")).expect("made");
    let diff = run(&lab, &DiffSides::default());
    assert_eq!(told(&diff), vec![]);
    let dir = others(&diff)
        .into_iter()
        .find(|one| one.1 == "dir")
        .expect("told");
    assert_eq!((dir.0, dir.3), ("mode", "0700".to_owned()));
    let rest: Vec<_> = others(&diff)
        .into_iter()
        .filter(|one| one.1 != "dir")
        .collect();
    let wanted = vec![
        ("mode", "a".to_owned(), "0644".to_owned(), "0600".to_owned()),
        (
            "empty-directory",
            "is-empty".to_owned(),
            "none".to_owned(),
            "there".to_owned(),
        ),
        (
            "empty-directory",
            "was-empty".to_owned(),
            "there".to_owned(),
            "none".to_owned(),
        ),
    ];
    assert_eq!(rest, wanted);
    let after = lab.snapshot("after");
    let both = |from: &str, to: &str| {
        let request = DiffSides {
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
            ..DiffSides::default()
        };
        others(&run(&lab, &request))
    };
    assert_eq!(
        both(&before.id, &after.id),
        others(&diff),
        "as the present was"
    );
    let back: Vec<_> = others(&diff)
        .into_iter()
        .map(|(kind, path, old, new)| (kind, path, new, old))
        .collect();
    assert_eq!(both("present", &before.id), back);
}

#[test]
fn index_head_and_operation_are_told() {
    let lab = Lab::with_commit();
    lab.write("a", "staged\n");
    lab.snapshot("before");
    lab.git(&["add", "a"]);
    lab.write("later", "x\n");
    lab.snapshot("new file");
    lab.git(&["add", "-N", "later"]);
    let diff = run(&lab, &DiffSides::default());
    assert_eq!(told(&diff), vec![]);
    assert_eq!(
        others(&diff),
        vec![(
            "index",
            "later".to_owned(),
            "none".to_owned(),
            "intent-to-add".to_owned()
        )]
    );
    lab.git(&["reset", "-q", "later"]);
    lab.git(&["commit", "-q", "-m", "second"]);
    let diff = run(
        &lab,
        &DiffSides {
            from: Some("latest~1".to_owned()),
            ..DiffSides::default()
        },
    );
    let kinds: Vec<_> = others(&diff)
        .into_iter()
        .map(|one| (one.0, one.1))
        .collect();
    assert_eq!(
        kinds,
        vec![("index", "a".to_owned()), ("head", String::new())]
    );
    let head = others(&diff).pop().expect("told");
    assert!(head.2.starts_with("refs/heads/main "), "{diff:?}");
    lab.snapshot("second");
    lab.write("../top/.git/MERGE_HEAD", lab.git(&["rev-parse", "HEAD"]));
    let diff = run(&lab, &DiffSides::default());
    assert_eq!(
        others(&diff),
        vec![(
            "operation",
            String::new(),
            "none".to_owned(),
            "merge".to_owned()
        )]
    );
    let only = DiffSides {
        paths: vec!["a".into()],
        ..DiffSides::default()
    };
    assert_eq!(
        others(&run(&lab, &only)),
        vec![],
        "of other paths nothing is told"
    );
}

#[test]
fn what_a_snapshot_included_is_compared_with_what_is_on_disk() {
    let lab = Lab::with_commit();
    lab.write(".gitignore", "*.log\n");
    lab.write("kept.log", "one\n");
    lab.write("gone.log", "two\n");
    let request = Take {
        include: vec!["*.log".to_owned()],
        ..Take::default()
    };
    crate::ops::snapshots::take(&lab.ctx(), &request).expect("taken");
    let nothing = run(&lab, &DiffSides::default());
    assert_eq!(told(&nothing), vec![]);
    lab.write("kept.log", "one\nmore\n");
    std::fs::remove_file(lab.path("gone.log")).expect("removed");
    let diff = run(&lab, &DiffSides::default());
    let wanted = [("gone.log", 'D', 0, 1), ("kept.log", 'M', 1, 0)];
    let wanted: Vec<_> = wanted
        .into_iter()
        .map(|(path, a, b, c)| (path.to_owned(), a, b, c))
        .collect();
    assert_eq!(told(&diff), wanted);
}

#[test]
fn paths_are_pathspecs() {
    let lab = Lab::with_commit();
    lab.write("dir/x.rs", "1\n");
    lab.write("dir/y.md", "1\n");
    lab.write("z.rs", "1\n");
    lab.snapshot("before");
    for path in ["dir/x.rs", "dir/y.md", "z.rs"] {
        lab.write(path, "2\n");
    }
    let paths = |words: &[&str]| -> Vec<String> {
        let request = DiffSides {
            paths: words.iter().map(Into::into).collect(),
            ..DiffSides::default()
        };
        told(&run(&lab, &request))
            .into_iter()
            .map(|one| one.0)
            .collect()
    };
    assert_eq!(paths(&["*.rs"]), ["dir/x.rs", "z.rs"]);
    assert_eq!(paths(&[":(glob)*.rs"]), ["z.rs"]);
    assert_eq!(paths(&["dir", ":!*.md"]), ["dir/x.rs"]);
    assert_eq!(paths(&[":!dir"]), ["z.rs"]);
}

#[test]
fn in_the_past_the_snapshot_travelled_to_is_compared() {
    let lab = Lab::with_commit();
    let past = lab.snapshot("past");
    lab.write("a", "later\n");
    lab.snapshot("later");
    let travel = crate::ops::request::Travel {
        address: past.id.clone(),
        ..Default::default()
    };
    crate::ops::travel::travel(&lab.ctx(), &travel).expect("travelled");
    let nothing = run(&lab, &DiffSides::default());
    assert_eq!(
        (nothing.from.as_str(), told(&nothing), others(&nothing)),
        (past.id.as_str(), vec![], vec![])
    );
    lab.write("a", "tried\n");
    let diff = run(&lab, &DiffSides::default());
    assert_eq!(told(&diff), vec![("a".to_owned(), 'M', 1, 1)]);
}
