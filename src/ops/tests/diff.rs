use std::os::unix::fs::{PermissionsExt, symlink};

use super::Lab;
use crate::error::Code;
use crate::ops::diff::diff;
use crate::ops::outcome::Diff;
use crate::ops::request::DiffSides;

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
        patch: true,
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
    let git = lab.git(&["diff", "--no-renames", &range[0], &range[1]]);
    assert_eq!(text(&stored), git);
    assert_eq!(text(&present), git);
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
        patch: true,
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
