//! Open directories: what is in them, and what is left when they are closed.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::Lab;
use crate::error::{Code, Result};
use crate::ops::close::close;
use crate::ops::drop::Drop;
use crate::ops::drop::drop;
use crate::ops::open::Open;
use crate::ops::open::open;
use crate::ops::outcome::{Closed, Opened};
use crate::ops::request::Show;
use crate::ops::show::show;

fn run(lab: &Lab, address: &str, dir: Option<&Path>) -> Result<Opened> {
    let request = Open {
        address: address.to_owned(),
        dir: dir.map(Path::to_path_buf),
    };
    open(&lab.ctx(), &request)
}

fn opened(lab: &Lab, address: &str) -> PathBuf {
    run(lab, address, None).expect("opened").dir
}

fn closed(lab: &Lab, dir: &Path) -> Closed {
    close(&lab.ctx(), dir).expect("closed")
}

fn code<T>(result: Result<T>) -> Option<Code> {
    result.err().map(|error| error.code())
}

fn beside(lab: &Lab, name: &str) -> PathBuf {
    lab.dir().with_file_name(name)
}

fn write(dir: &Path, name: &str, text: &str) {
    let file = dir.join(name);
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("made");
    std::fs::write(file, text).expect("written");
}

/// Every path in a directory with its mode and content, but `.git`.
fn listing(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_path_buf()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).expect("dir") {
            let path = entry.expect("entry").path();
            let name = path
                .strip_prefix(dir)
                .expect("inside")
                .display()
                .to_string();
            if name == ".git" {
                continue;
            }
            let meta = path.symlink_metadata().expect("there");
            let content = if meta.is_symlink() {
                std::fs::read_link(&path)
                    .expect("link")
                    .display()
                    .to_string()
            } else if meta.is_dir() {
                pending.push(path);
                String::new()
            } else {
                std::fs::read_to_string(&path).expect("read")
            };
            found.push(format!(
                "{name} {:o} {content:?}",
                meta.permissions().mode()
            ));
        }
    }
    found.sort();
    found
}

fn chmod(path: &Path, mode: u32) {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).expect("chmod");
}

#[test]
fn files_and_index_are_the_snapshot_s() {
    let lab = Lab::with_commit();
    lab.write("run.sh", "#!/bin/sh\n");
    chmod(&lab.path("run.sh"), 0o755);
    lab.write("staged", "1\n");
    lab.git(&["add", "staged", "run.sh"]);
    lab.write("staged", "2\n");
    lab.write("intent", "x\n");
    lab.git(&["add", "-N", "intent"]);
    lab.write("deep/er/untracked", "u\n");
    chmod(&lab.path("deep/er/untracked"), 0o600);
    symlink("nowhere", lab.path("link")).expect("linked");
    std::fs::create_dir(lab.path("empty")).expect("made");
    chmod(&lab.path("empty"), 0o700);
    lab.git(&["update-index", "--assume-unchanged", "a"]);
    std::fs::remove_file(lab.path("dir/b")).expect("removed");
    let status = lab.git(&["status", "--porcelain", "--branch"]);
    let files = listing(lab.dir());
    let index = lab.git(&["ls-files", "-s", "-v"]);
    let taken = lab.snapshot("odd");
    let head = lab.rev("HEAD");
    lab.write("staged", "later\n");
    lab.commit("later");

    let done = run(&lab, &taken.id, None).expect("opened");
    let tail = taken.id.rsplit('_').next().expect("a tail");
    assert_eq!(done.dir, beside(&lab, "top.tw").join(tail));
    assert_eq!(done.snapshot.id, taken.id);
    let there = listing(&done.dir);
    // The directory `dir` is empty on both sides.
    assert_eq!(there, files);
    let leaves = files.iter().filter(|line| !line.ends_with("\"\""));
    assert_eq!(done.files, leaves.count());
    assert_eq!(lab.git_in(&done.dir, &["ls-files", "-s", "-v"]), index);
    let said = lab.git_in(&done.dir, &["status", "--porcelain", "--branch"]);
    assert_eq!(said, status.replace("main", "HEAD (no branch)"));
    assert_eq!(
        lab.git_in(&done.dir, &["rev-parse", "HEAD"]).trim(),
        head.to_string()
    );
    assert!(!lab.try_git_in(&done.dir, &["symbolic-ref", "-q", "HEAD"]).0);
    lab.git(&["fsck", "--strict"]);
    lab.git(&["gc", "-q", "--prune=now"]);
}

#[test]
fn conflict_stages_come_along_and_the_merge_does_not() {
    let lab = Lab::new();
    lab.write("f", "base\n");
    lab.commit("base");
    lab.git(&["checkout", "-q", "-b", "side"]);
    lab.write("f", "theirs\n");
    lab.commit("theirs");
    lab.git(&["checkout", "-q", "main"]);
    lab.write("f", "ours\n");
    lab.commit("ours");
    assert!(!lab.try_git_in(lab.dir(), &["merge", "side"]).0);
    let stages = lab.git(&["ls-files", "-s"]);
    let taken = lab.snapshot("in a merge");
    let done = run(&lab, &taken.id, None).expect("opened");
    assert_eq!(lab.git_in(&done.dir, &["ls-files", "-s"]), stages);
    assert!(
        !lab.try_git_in(&done.dir, &["rev-parse", "-q", "--verify", "MERGE_HEAD"])
            .0
    );
    assert!(done.notices[0].contains("merge"), "{:?}", done.notices);
}

#[test]
fn a_snapshot_without_a_head_opens_without_one() {
    let lab = Lab::new();
    lab.write("a", "1\n");
    lab.git(&["add", "a"]);
    lab.write("b", "2\n");
    let taken = lab.snapshot("unborn");
    let dir = opened(&lab, &taken.id);
    assert_eq!(listing(&dir), listing(lab.dir()));
    assert_eq!(lab.git_in(&dir, &["status", "--porcelain"]), "A  a\n?? b\n");
    assert!(
        !lab.try_git_in(&dir, &["rev-parse", "-q", "--verify", "HEAD"])
            .0
    );
    assert_eq!(lab.git(&["for-each-ref", "refs/heads"]), "");
    let done = closed(&lab, &dir);
    assert!(done.experiment_id.is_some());
    lab.git(&["fsck", "--strict"]);
}

#[test]
fn no_filter_hook_or_conversion_runs() {
    let lab = Lab::with_commit();
    lab.write(".gitattributes", "*.txt filter=mark eol=crlf\n");
    lab.write("x.txt", "plain\n");
    let mark = beside(&lab, "mark");
    let touch = format!("touch '{}'; cat", mark.display());
    let taken = lab.snapshot("with a filter");
    lab.git(&["config", "filter.mark.smudge", &touch]);
    lab.git(&["config", "filter.mark.clean", &touch]);
    let hook = format!("#!/bin/sh\ntouch '{}'\n", mark.display());
    std::fs::create_dir_all(lab.path(".git/hooks")).expect("made");
    crate::provided::write_program(&lab.path(".git/hooks/post-checkout"), &hook);
    let dir = opened(&lab, &taken.id);
    assert_eq!(std::fs::read(dir.join("x.txt")).expect("read"), b"plain\n");
    assert!(!mark.exists());
}

#[test]
fn only_an_empty_place_outside_will_do() {
    let lab = Lab::with_commit();
    let taken = lab.snapshot("one");
    let worktrees = lab.git(&["worktree", "list"]);
    for inside in ["sub", "dir", ".git/x", "."] {
        let result = run(&lab, &taken.id, Some(Path::new(inside)));
        let code = code(result).expect("refused");
        assert!(
            matches!(code, Code::Usage | Code::WouldOverwrite),
            "{inside}"
        );
    }
    assert_eq!(
        code(run(&lab, &taken.id, Some(Path::new("sub/../deeper")))),
        Some(Code::Usage)
    );
    let full = beside(&lab, "full");
    write(&full, "kept", "x");
    assert_eq!(
        code(run(&lab, &taken.id, Some(&full))),
        Some(Code::WouldOverwrite)
    );
    let link = beside(&lab, "link");
    symlink(beside(&lab, "target"), &link).expect("linked");
    assert_eq!(
        code(run(&lab, &taken.id, Some(&link))),
        Some(Code::WouldOverwrite)
    );
    let through = beside(&lab, "through");
    symlink(lab.dir(), &through).expect("linked");
    let sneaky = through.join("sub");
    assert_eq!(code(run(&lab, &taken.id, Some(&sneaky))), Some(Code::Usage));
    assert_eq!(lab.git(&["worktree", "list"]), worktrees);
    assert!(!lab.path("sub").exists());
    let empty = beside(&lab, "empty");
    std::fs::create_dir(&empty).expect("made");
    assert_eq!(
        run(&lab, &taken.id, Some(&empty)).expect("opened").dir,
        empty
    );
    let relative = Path::new("../new/er");
    let dir = run(&lab, &taken.id, Some(relative)).expect("opened").dir;
    assert_eq!(dir, beside(&lab, "new").join("er"));
    closed(&lab, &dir);
    assert!(
        !beside(&lab, "new").exists(),
        "what was made for it goes with it"
    );
}

#[test]
fn a_snapshot_that_is_torn_leaves_nothing_behind() {
    let lab = Lab::with_commit();
    lab.write("z", "only here\n");
    let taken = lab.snapshot("torn");
    let blob = lab.git(&["hash-object", "z"]);
    let file = lab.path(&format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()));
    std::fs::remove_file(file).expect("a loose blob");
    assert_eq!(code(run(&lab, &taken.id, None)), Some(Code::CorruptRecord));
    assert!(!beside(&lab, "top.tw").exists());
    assert!(!lab.path(".git/worktrees").exists());
}

#[test]
fn an_open_directory_holds_its_snapshot() {
    let lab = Lab::with_commit();
    let taken = lab.snapshot("one");
    let dir = opened(&lab, &taken.id);
    let request = Drop {
        addresses: vec![taken.id.clone()],
        ..Drop::default()
    };
    let error = drop(&lab.ctx(), &request).expect_err("held");
    assert_eq!(error.code(), Code::Held);
    assert!(error.message().contains("open directory"), "{error}");
    closed(&lab, &dir);
    drop(&lab.ctx(), &request).expect("free");
}

#[test]
fn close_saves_everything_and_leaves_nothing() {
    let lab = Lab::with_commit();
    lab.write(".gitignore", "*.secret\nnode_modules/\n");
    let taken = lab.snapshot("start");
    let dir = opened(&lab, &taken.id);
    write(&dir, "a", "changed\n");
    write(&dir, "new/file", "made\n");
    write(&dir, "key.secret", "ignored\n");
    write(&dir, "node_modules/x/y", "output\n");
    write(&dir, "target/debug/bin", "output\n");
    write(&dir, "locked/f", "x\n");
    chmod(&dir.join("locked"), 0o555);
    let outside = beside(&lab, "outside");
    write(&outside, "kept", "kept\n");
    symlink(&outside, dir.join("target/out")).expect("linked");
    symlink(&outside, dir.join("way")).expect("linked");
    lab.git_in(&dir, &["commit", "-q", "--allow-empty", "-m", "made there"]);
    let made = lab.git_in(&dir, &["rev-parse", "HEAD"]);
    let before = lab.git(&["status", "--porcelain"]);

    let done = closed(&lab, &dir);
    assert!(!dir.exists() && !beside(&lab, "top.tw").exists());
    assert!(outside.join("kept").exists());
    assert!(!lab.path(".git/worktrees").exists());
    assert_eq!(lab.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(lab.git(&["status", "--porcelain"]), before);
    let id = done.experiment_id.expect("an experiment");
    let shown = show(&lab.ctx(), &of(&id)).expect("readable").snapshot;
    assert_eq!(shown.kind, "experiment");
    assert_eq!(shown.json["opened_from"], taken.id);
    let files = lab.git(&["ls-tree", "-r", "--name-only", &shown.commit.to_string()]);
    assert_eq!(
        files,
        ".gitignore\na\ndir/b\nkey.secret\nlocked/f\nnew/file\nway\n"
    );
    let said = done.notices.join("\n");
    assert!(
        said.contains("'node_modules'") && said.contains("'target'"),
        "{said}"
    );
    assert!(
        said.contains(made.trim()) && said.contains("made there"),
        "{said}"
    );
    lab.git(&["gc", "-q", "--prune=now"]);
    lab.git(&["cat-file", "-e", made.trim()]);
    lab.git(&["fsck", "--strict"]);
    assert!(lab.git(&["count-objects", "-v"]).contains("\ngarbage: 0"));
    let packs = lab.path(".git/objects/pack");
    let kept = listing_names(&packs).join(" ").contains(".keep");
    assert!(!kept, "no pack is kept for ever");
}

#[test]
fn close_refuses_over_what_cannot_be_captured() {
    let lab = Lab::with_commit();
    let taken = lab.snapshot("start");
    let dir = opened(&lab, &taken.id);
    write(&dir, "new", "made\n");
    lab.git_in(&dir, &["init", "-q", "target/nested"]);
    write(&dir, "vendor/inner/.git/HEAD", "ref: refs/heads/main\n");
    let fifo = dir.join("pipe");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .expect("a pipe");
    write(&dir, ".timewarp/issues/x", "desk\n");
    let before = listing_names(&dir);
    let error = close(&lab.ctx(), &dir).expect_err("refused");
    assert_eq!(error.code(), Code::WouldOverwrite);
    let paths = error.find_detail("paths").expect("named").to_string();
    for name in ["pipe", "target/nested", "vendor/inner", ".timewarp"] {
        assert!(paths.contains(name), "{name}: {paths}");
    }
    assert_eq!(listing_names(&dir), before);
    assert_eq!(
        lab.git(&["for-each-ref", crate::store::names::EXPERIMENTS]),
        ""
    );
    std::fs::remove_file(&fifo).expect("removed");
    for name in ["target", "vendor", ".timewarp"] {
        std::fs::remove_dir_all(dir.join(name)).expect("removed");
    }
    closed(&lab, &dir);
    assert!(!dir.exists());
}

fn listing_names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .expect("dir")
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn close_touches_only_what_open_made() {
    let lab = Lab::with_commit();
    let taken = lab.snapshot("one");
    let plain = beside(&lab, "plain");
    lab.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        plain.to_str().expect("plain"),
    ]);
    assert_eq!(code(close(&lab.ctx(), &plain)), Some(Code::Usage));
    assert_eq!(code(close(&lab.ctx(), lab.dir())), Some(Code::Usage));
    assert_eq!(
        code(close(&lab.ctx(), Path::new("../nowhere"))),
        Some(Code::PathNotFound)
    );
    let dir = opened(&lab, &taken.id);
    let inside = dir.join("dir");
    assert_eq!(code(close(&lab.ctx_in(&inside), &dir)), Some(Code::Usage));
    lab.git(&["worktree", "lock", dir.to_str().expect("plain")]);
    assert_eq!(code(close(&lab.ctx(), &dir)), Some(Code::Held));
    lab.git(&["worktree", "unlock", dir.to_str().expect("plain")]);
    closed(&lab, &dir);
    assert!(plain.join("a").exists());
}

/// Asks for one by its id.
fn of(id: &str) -> Show {
    Show {
        address: Some(id.to_owned()),
        ..Show::default()
    }
}
