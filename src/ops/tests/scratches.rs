//! Scratches that runs are made in: side by side, saved before they go, and found when their makers are dead.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Lab;
use crate::error::Code;
use crate::ops::Context;
use crate::ops::scratch::{ScratchView, gc, list};
use crate::ops::scratches::known::State;
use crate::ops::scratches::shared_refs::SharedRefs;
use crate::ops::scratches::with::With;
use crate::ops::scratches::{Scratch, Slot};
use crate::progress::Silent;
use crate::store::id::SnapshotId;
use crate::store::stored::Stored;

fn stored(ctx: &Context<'_>, id: &str) -> Stored {
    let id = SnapshotId::parse(id).expect("an id");
    ctx.store().expect("a store").read_id(&id).expect("read")
}

fn lay<'a>(ctx: &Context<'a>, id: &str) -> Scratch<'a> {
    Scratch::lay(ctx, &stored(ctx, id), "try").expect("laid out")
}

fn beside(lab: &Lab) -> PathBuf {
    lab.dir().with_file_name("top.tw")
}

fn worktrees(lab: &Lab) -> usize {
    lab.git(&["worktree", "list"]).lines().count()
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("written");
}

/// Waits for it. What another test's thread starts meanwhile shares our locks until it becomes its program.
fn until(is_so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_a_run_made_is_an_experiment_and_its_directory_goes() {
    let lab = Lab::with_commit();
    let id = lab.snapshot("base").id;
    lab.write("a", "later\n");
    let ctx = lab.ctx();
    let mut scratch = lay(&ctx, &id);
    let dir = scratch.dir().to_owned();
    assert!(dir.starts_with(beside(&lab)), "{}", dir.display());
    assert_eq!(std::fs::read(dir.join("a")).expect("read"), b"one\n");
    assert_eq!(scratch.experiment("nothing yet").expect("looked"), None);
    write(&dir, "a", "of the run\n");
    let first = scratch.experiment("the run").expect("taken").expect("one");
    // Nothing is taken twice.
    assert_eq!(scratch.discard().expect("gone"), Some(first));
    let made = stored(&ctx, &first.to_string());
    let store = ctx.store().expect("a store");
    let node = crate::git::tree::find(&|oid| store.objects.read_tree(oid), made.tree, b"a");
    let node = node.expect("read").expect("there");
    assert_eq!(
        store.objects.read(node.oid).expect("read").1,
        b"of the run\n"
    );
    assert!(!beside(&lab).exists());
    assert_eq!(worktrees(&lab), 1);
    assert_eq!(lab.read("a"), "later\n");
}

#[test]
fn many_are_made_and_taken_away_at_once() {
    let lab = Lab::with_commit();
    // One waits for the other, however slow the machine is.
    lab.git(&["config", "timewarp.lockTimeout", "600"]);
    let id = lab.snapshot("base").id;
    let one = |number: usize| {
        let ctx = Context::open(lab.dir(), lab.env(), &Silent).expect("a repository");
        let scratch = lay(&ctx, &id);
        write(scratch.dir(), "a", &format!("{number}\n"));
        scratch.discard().expect("gone").expect("saved")
    };
    let mut saved: Vec<SnapshotId> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..16).map(|n| scope.spawn(move || one(n))).collect();
        let joined = runs.into_iter().map(|run| run.join().expect("no panic"));
        joined.collect()
    });
    saved.sort_by_key(ToString::to_string);
    saved.dedup();
    assert_eq!(saved.len(), 16);
    assert_eq!(worktrees(&lab), 1);
    assert!(!beside(&lab).exists());
}

#[test]
fn one_whose_maker_is_dead_is_saved_and_removed() {
    let lab = Lab::with_commit();
    let id = lab.snapshot("base").id;
    let ctx = lab.ctx();
    let scratch = lay(&ctx, &id);
    let dir = scratch.dir().to_owned();
    write(&dir, "new", "work\n");
    let state = || {
        list(&ctx)
            .expect("listed")
            .scratches
            .first()
            .map(|one| one.state)
    };
    assert_eq!(state(), Some(State::InUse));
    let nothing = gc(&ctx).expect("done");
    assert!(nothing.removed.is_empty() && nothing.kept.is_empty() && dir.exists());
    // Its lock is freed, as by death.
    drop(scratch);
    until(|| state() == Some(State::Left));
    let done = gc(&ctx).expect("done");
    let removed = done.removed.first().expect("removed");
    assert_eq!((&removed.dir, done.kept.len()), (&dir, 0));
    let saved = removed.experiment_id.as_deref().expect("saved");
    assert!(saved.starts_with("x_"), "{saved}");
    assert!(!beside(&lab).exists());
    assert_eq!((state(), worktrees(&lab)), (None, 1));
}

#[test]
fn one_that_cannot_be_saved_stays_and_is_named() {
    let lab = Lab::with_commit();
    let id = lab.snapshot("base").id;
    let ctx = lab.ctx();
    let scratch = lay(&ctx, &id);
    let dir = scratch.dir().to_owned();
    lab.git_in(&dir, &["init", "-q", "clone"]);
    lab.git_in(
        &dir.join("clone"),
        &["commit", "-q", "--allow-empty", "-m", "theirs"],
    );
    let error = scratch.discard().expect_err("it holds a repository");
    assert_eq!(error.code(), Code::WouldOverwrite);
    let is_left = || list(&ctx).expect("listed").scratches[0].state == State::Left;
    until(is_left);
    let done = gc(&ctx).expect("done");
    let kept = done.kept.first().expect("kept");
    assert!(kept.reason.contains("'clone'"), "{}", kept.reason);
    std::fs::rename(dir.join("clone"), lab.dir().with_file_name("clone")).expect("moved");
    until(is_left);
    assert_eq!(gc(&ctx).expect("done").removed.len(), 1);
    assert!(!dir.exists());
}

/// The one that is left, after something was done with its directory by git or by hand.
fn left_after(lab: &Lab, done: impl FnOnce(&Path)) -> PathBuf {
    let ctx = lab.ctx();
    let scratch = lay(&ctx, &lab.snapshot("base").id);
    let dir = scratch.dir().to_owned();
    drop(scratch);
    let in_use = |one: &ScratchView| one.state == State::InUse;
    until(|| !list(&ctx).expect("listed").scratches.iter().any(in_use));
    done(&dir);
    dir
}

fn aside(lab: &Lab) -> PathBuf {
    lab.dir().with_file_name("aside")
}

/// Its index and HEAD are in its git directory alone: they stay where nobody knows that nothing is in them.
#[test]
fn what_made_one_a_worktree_stays_while_it_may_be_needed() {
    type Done = fn(&Lab, &Path);
    let cases: [(Done, &str); 5] = [
        (
            |lab, dir| {
                let to = aside(lab);
                let (from, to) = (dir.to_str().expect("text"), to.to_str().expect("text"));
                lab.git(&["worktree", "move", from, to]);
            },
            "was moved to",
        ),
        (
            |lab, dir| {
                lab.git(&["worktree", "lock", dir.to_str().expect("text")]);
                std::fs::rename(dir, aside(lab)).expect("moved");
            },
            "is locked",
        ),
        (
            |lab, dir| {
                lab.git(&["worktree", "lock", dir.to_str().expect("text")]);
            },
            "is locked",
        ),
        (
            |lab, dir| {
                write(dir, "a", "staged\n");
                lab.git_in(dir, &["add", "a"]);
                std::fs::rename(dir, aside(lab)).expect("moved");
            },
            "is not there",
        ),
        (
            |lab, dir| {
                lab.git_in(dir, &["commit", "-q", "--allow-empty", "-m", "made"]);
                std::fs::rename(dir, aside(lab)).expect("moved");
            },
            "is not there",
        ),
    ];
    for (done, why) in cases {
        let lab = Lab::with_commit();
        let dir = left_after(&lab, |dir| done(&lab, dir));
        let collected = gc(&lab.ctx()).expect("done");
        assert!(collected.removed.is_empty(), "{why}");
        assert!(
            collected.kept[0].reason.contains(why),
            "{why}: {}",
            collected.kept[0].reason
        );
        assert_eq!(worktrees(&lab), 2, "{why}");
        if aside(&lab).exists() && why == "is not there" {
            // What leads there was empty, and has gone as well.
            std::fs::create_dir_all(beside(&lab)).expect("mkdir");
            std::fs::rename(aside(&lab), &dir).expect("back");
            let collected = gc(&lab.ctx()).expect("done");
            assert!(collected.removed[0].experiment_id.is_some());
        }
    }
}

#[test]
fn what_made_one_a_worktree_goes_with_it_when_nothing_was_made_in_it() {
    let lab = Lab::with_commit();
    left_after(&lab, |dir| std::fs::remove_dir_all(dir).expect("removed"));
    let collected = gc(&lab.ctx()).expect("done");
    assert_eq!((collected.removed.len(), collected.kept.len()), (1, 0));
    assert_eq!(worktrees(&lab), 1);
}

/// No tree has the entries of a conflict.
#[test]
fn a_state_in_conflict_is_not_taken_for_something_made() {
    for resolved in [false, true] {
        let lab = Lab::with_commit();
        lab.git(&["checkout", "-q", "-b", "theirs"]);
        lab.write("a", "theirs\n");
        lab.git(&["commit", "-q", "-am", "theirs"]);
        lab.git(&["checkout", "-q", "-b", "ours", "HEAD~1"]);
        lab.write("a", "ours\n");
        lab.git(&["commit", "-q", "-am", "ours"]);
        // Fails, as it is meant to.
        lab.try_git_in(lab.dir(), &["merge", "-q", "theirs"]);
        assert!(lab.git(&["status", "--short"]).starts_with("UU a"));
        left_after(&lab, |dir| {
            if resolved {
                lab.git_in(dir, &["checkout", "-q", "--ours", "a"]);
                lab.git_in(dir, &["add", "a"]);
            }
            std::fs::remove_dir_all(dir).expect("removed");
        });
        let collected = gc(&lab.ctx()).expect("done");
        let (removed, kept) = (collected.removed.len(), collected.kept.len());
        assert_eq!((removed, kept), if resolved { (0, 1) } else { (1, 0) });
        assert_eq!(worktrees(&lab), 1 + kept);
    }
}

#[test]
fn one_that_its_run_moved_is_left_to_whoever_has_it() {
    let lab = Lab::with_commit();
    let ctx = lab.ctx();
    let scratch = lay(&ctx, &lab.snapshot("base").id);
    let (from, to) = (scratch.dir().to_owned(), aside(&lab));
    let (from, to) = (from.to_str().expect("text"), to.to_str().expect("text"));
    lab.git(&["worktree", "move", from, to]);
    let error = scratch.discard_rest().expect_err("it was moved");
    assert_eq!(error.code(), Code::Held);
    assert!(lab.git_in(&aside(&lab), &["status", "--short"]).is_empty());
}

#[test]
fn refs_and_stashes_that_are_made_inside_are_found() {
    let lab = Lab::with_commit();
    let id = lab.snapshot("base").id;
    let ctx = lab.ctx();
    let before = SharedRefs::look(&ctx.repo).expect("looked");
    let scratch = lay(&ctx, &id);
    write(scratch.dir(), "a", "two\n");
    lab.git_in(scratch.dir(), &["stash", "push", "-q"]);
    lab.git_in(scratch.dir(), &["branch", "side"]);
    let after = SharedRefs::look(&ctx.repo).expect("looked");
    assert_eq!(before.changed(&after), ["refs/heads/side", "refs/stash"]);
    scratch.discard().expect("gone");
}

#[test]
fn a_file_can_have_another_version() {
    let lab = Lab::with_commit();
    let old = lab.snapshot("old").id;
    lab.write("a", "newer\n");
    lab.write("new/deep/c", "private\n");
    let bits = [("a", 0o600), ("new", 0o700), ("new/deep/c", 0o640)];
    for (path, bits) in bits {
        let perm = std::os::unix::fs::PermissionsExt::from_mode(bits);
        std::fs::set_permissions(lab.path(path), perm).expect("set");
    }
    let flags = rustix::fs::XattrFlags::empty();
    let has_attributes = rustix::fs::setxattr(lab.path("a"), "user.tw", b"value", flags).is_ok();
    let new = lab.snapshot("new").id;
    let ctx = lab.ctx();
    let scratch = lay(&ctx, &old);
    let store = ctx.store().expect("a store");
    let there = |path: &str| scratch.dir().join(path);
    let mode = |path: &str| {
        let meta = there(path).metadata().expect("there");
        std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o7777
    };
    let attribute = || rustix::fs::getxattr(there("a"), "user.tw", &mut [0_u8; 8][..]);
    let words = ["a".into(), "new".into()];
    let sides = (&stored(&ctx, &new), None);
    let with = With::named(&ctx, store, sides, &words).expect("named");
    let mut versions = with
        .over(store, stored(&ctx, &old).tree)
        .expect("looked up");
    versions.nodes.insert(b"dir/b".to_vec(), None);
    scratch.put_over(&versions).expect("put");
    assert_eq!(std::fs::read(there("a")).expect("read"), b"newer\n");
    assert!(!there("dir/b").exists());
    for (path, bits) in bits {
        assert_eq!(mode(path), bits, "{path}");
    }
    assert_eq!(attribute().is_ok(), has_attributes);
    scratch.put_back(&versions).expect("put back");
    assert_eq!(std::fs::read(there("a")).expect("read"), b"one\n");
    assert_eq!((mode("a"), mode("dir/b")), (0o644, 0o644));
    assert!(attribute().is_err() && !there("new").exists());
    scratch.discard().expect("gone");
}

#[test]
fn a_run_knows_where_it_is() {
    let lab = Lab::with_commit();
    let id = lab.snapshot("base").id;
    let ctx = lab.ctx();
    let scratch = lay(&ctx, &id);
    let job = scratch.job(
        vec!["true".into()],
        Slot(2),
        Some(Duration::from_secs(1)),
        lab.dir().with_file_name("log"),
    );
    let value = |name: &str| -> Option<OsString> {
        let found = job.env.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(value("TW_RUN_ID"), Some(scratch.name().into()));
    assert_eq!(value("TW_SLOT"), Some("2".into()));
    assert_eq!(value("TW_SCRATCH"), Some(scratch.dir().into()));
    assert_eq!(value("TW_SOURCE"), Some(lab.dir().into()));
    assert_eq!(value("PWD"), Some(scratch.dir().into()));
    let port = value("TW_PORT").and_then(|port| port.to_str()?.parse::<u16>().ok());
    assert!(port.is_some_and(|port| port >= 20_000), "{port:?}");
    assert_eq!(job.dir, scratch.dir());
    scratch.discard().expect("gone");
}
