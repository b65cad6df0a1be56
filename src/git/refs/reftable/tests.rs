//! Our tables read by git, and git's by us.

use std::fmt::Write as _;

use super::super::sandbox::Sandbox;
use super::super::{Reason, RefFormat, Refs};
use super::Stack;
use crate::git::Oid;

fn sandbox() -> Sandbox {
    Sandbox::with(RefFormat::Reftable)
}

fn tables(sandbox: &Sandbox) -> usize {
    let list = sandbox.git_dir().join("reftable/tables.list");
    let text = std::fs::read_to_string(list).expect("there");
    text.lines().count()
}

/// Everything reads the same by git and by us.
fn assert_same(sandbox: &Sandbox, refs: &Refs) {
    let expected = sandbox.for_each_ref("refs/");
    assert_eq!(refs.list("refs/").expect("listed"), expected);
    for (name, oid) in &expected {
        assert_eq!(refs.read(name).expect("read"), Some(*oid), "{name}");
    }
    let fsck = sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(fsck, "");
}

fn update(refs: &Refs, name: &str, new: Oid, old: Oid) {
    let mut change = refs.transaction();
    change.update(name, new, old);
    change.commit().expect("updated");
}

#[test]
fn an_id_of_the_other_format_is_refused_and_nothing_written() {
    let sandbox = sandbox();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    let other = Oid::from_hex(&"8".repeat(64)).expect("an id");
    let mut change = refs.transaction();
    change.create("refs/timewarp/one", one);
    change.create("refs/timewarp/other", other);
    assert!(change.commit().is_err());
    assert_eq!(refs.names("refs/timewarp/").expect("listed"), [""; 0]);
    assert_same(&sandbox, &refs);
}

#[test]
fn what_git_wrote_is_read() {
    let sandbox = sandbox();
    let refs = sandbox.refs();
    assert_eq!(refs.read("HEAD").expect("unborn"), None);
    let one = sandbox.commit("one");
    sandbox.git(&["update-ref", "refs/heads/main", &one.to_string()]);
    sandbox.git(&["tag", "-a", "-m", "tag", "v1", "main"]);
    sandbox.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    assert_eq!(refs.read("HEAD").expect("read"), Some(one));
    let mut input = String::new();
    for n in 0..3000 {
        let _ = writeln!(input, "create refs/probe/some/what/longer/n{n:05} {one}");
    }
    sandbox.git_with_input(&["update-ref", "--stdin"], &input);
    sandbox.git(&["update-ref", "-d", "refs/probe/some/what/longer/n00007"]);
    assert_same(&sandbox, &refs);
    sandbox.git(&["pack-refs", "--all"]);
    assert_same(&sandbox, &refs);
    for absent in ["n00007", "n0000", "n02999x", "a", "z"] {
        let name = format!("refs/probe/some/what/longer/{absent}");
        assert_eq!(refs.read(&name).expect("read"), None, "{name}");
    }
    let under = refs
        .names("refs/probe/some/what/longer/n001")
        .expect("listed");
    assert_eq!(under.len(), 100);
    assert_eq!(refs.names("refs/zzz/").expect("listed"), [""; 0]);
    let log = refs.log("refs/heads/main").expect("read").expect("kept");
    assert_eq!(log.len(), 1);
    assert_eq!((log[0].old, log[0].new), (None, Some(one)));
}

#[test]
fn what_is_written_git_reads() {
    let sandbox = sandbox();
    let refs = sandbox.refs();
    let [one, two] = ["one", "two"].map(|message| sandbox.commit(message));
    sandbox.git(&[
        "update-ref",
        "-m",
        "made",
        "refs/heads/main",
        &one.to_string(),
    ]);
    // One large enough for an index of an index, then many small ones.
    let mut change = refs.transaction();
    for n in 0..9000 {
        change.create(&format!("refs/probe/some/what/longer/n{n:05}"), one);
    }
    change.commit().expect("created");
    assert_same(&sandbox, &refs);
    for n in 0..60 {
        let mut change = refs.transaction();
        change.create(&format!("refs/probe/small/n{n}"), one);
        change.commit().expect("created");
    }
    assert!(tables(&sandbox) < 10, "{}", tables(&sandbox));
    update(&refs, "refs/probe/small/n7", two, one);
    let mut change = refs.transaction();
    change.delete("refs/heads/main", Some(one));
    for n in 0..8000 {
        change.delete(&format!("refs/probe/some/what/longer/n{n:05}"), Some(one));
    }
    change.commit().expect("deleted");
    assert_same(&sandbox, &refs);
    // With its log, which must not come back with a new one of that name.
    sandbox.git(&[
        "update-ref",
        "-m",
        "again",
        "refs/heads/main",
        &two.to_string(),
    ]);
    let log = sandbox.git(&["reflog", "show", "--format=%gs", "refs/heads/main"]);
    assert_eq!(log, "again\n");
    sandbox.git(&["pack-refs", "--all"]);
    assert_same(&sandbox, &refs);
    // Nothing of ours is left beside the tables.
    let dir = sandbox.git_dir().join("reftable");
    let files = std::fs::read_dir(dir).expect("there").count();
    assert_eq!(files, tables(&sandbox) + 1);
}

#[test]
fn old_values_and_names_are_judged_as_with_files() {
    let sandbox = sandbox();
    let refs = sandbox.refs();
    let [one, two] = ["one", "two"].map(|message| sandbox.commit(message));
    let mut change = refs.transaction();
    change.create("refs/x/a", one);
    change.commit().expect("created");
    let refused = |what: &dyn Fn(&mut super::super::Transaction)| {
        let mut change = refs.transaction();
        what(&mut change);
        change.commit().expect_err("refused").reason
    };
    assert!(matches!(
        refused(&|change| change.create("refs/x/a", two)),
        Reason::Exists { found: Some(found) } if found == one
    ));
    for name in ["refs/x/a/b", "refs/x"] {
        let conflict = refused(&|change| change.create(name, two));
        assert!(
            matches!(conflict, Reason::Conflict { .. }),
            "{name}: {conflict:?}"
        );
    }
    for what in [
        &(|change: &mut super::super::Transaction| change.update("refs/x/a", one, two))
            as &dyn Fn(&mut super::super::Transaction),
        &|change| change.delete("refs/x/a", Some(two)),
        &|change| {
            change.create("refs/x/new", one);
            change.verify("refs/x/a", two);
        },
        &|change| change.update("refs/x/gone", one, two),
    ] {
        assert!(matches!(refused(what), Reason::Changed { .. }));
    }
    assert_eq!(
        refs.list("refs/").expect("listed"),
        [("refs/x/a".to_owned(), one)]
    );
    let mut change = refs.transaction();
    change.delete("refs/x/a", Some(one));
    change.delete("refs/x/b", None);
    let mut prepared = change.prepare().expect("prepared");
    // Nobody else comes in between.
    assert!(
        sandbox
            .try_git(&["update-ref", "refs/x/c", &one.to_string()])
            .is_none()
    );
    prepared.leave_out("refs/x/a");
    prepared.commit().expect("done");
    assert_eq!(
        refs.list("refs/").expect("listed"),
        [("refs/x/a".to_owned(), one)]
    );
    let lock = sandbox.git_dir().join("reftable/tables.list.lock");
    std::fs::write(&lock, "").expect("a stranger's");
    assert!(matches!(
        refused(&|change| change.create("refs/x/d", one)),
        Reason::Locked { lock: held } if held == lock
    ));
}

#[test]
fn writers_of_both_kinds_lose_nothing() {
    let sandbox = sandbox();
    let one = sandbox.commit("one");
    std::thread::scope(|scope| {
        for who in 0..4 {
            let refs = sandbox.refs();
            scope.spawn(move || {
                for n in 0..25 {
                    let mut change = refs.transaction();
                    change.create(&format!("refs/ours/{who}/{n}"), one);
                    change.commit().expect("created");
                }
            });
        }
        scope.spawn(|| {
            for n in 0..25 {
                // git does not wait for the lock, and asked without a pause it would leave nobody else a chance.
                let name = format!("refs/gits/{n}");
                let update = ["update-ref", &name, &one.to_string()];
                let pause = std::time::Duration::from_millis(1);
                let is_done = (0..10_000).any(|_| {
                    std::thread::sleep(pause);
                    sandbox.try_git(&update).is_some()
                });
                assert!(is_done, "git never had the lock");
            }
        });
        let refs = sandbox.refs();
        scope.spawn(move || {
            for _ in 0..50 {
                refs.list("refs/").expect("always whole");
            }
        });
    });
    assert_eq!(sandbox.refs().names("refs/").expect("listed").len(), 125);
    assert_same(&sandbox, &sandbox.refs());
}

#[test]
fn a_table_that_git_folds_is_not_taken_from_it() {
    let sandbox = sandbox();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    let create = |name: &str| {
        let mut change = refs.transaction();
        change.create(name, one);
        change.commit().expect("created");
    };
    create("refs/x/a");
    let list = sandbox.git_dir().join("reftable/tables.list");
    let before = std::fs::read_to_string(&list).expect("there");
    let newest = before.lines().last().expect("one").to_owned();
    let lock = sandbox.git_dir().join(format!("reftable/{newest}.lock"));
    std::fs::write(&lock, "").expect("git's");
    create("refs/x/b");
    create("refs/x/c");
    let after = std::fs::read_to_string(&list).expect("there");
    assert!(after.starts_with(&before), "{before} {after}");
    std::fs::remove_file(&lock).expect("removed");
    create("refs/x/d");
    assert!(tables(&sandbox) < 3);
    assert_same(&sandbox, &refs);
}

#[test]
fn damage_is_an_error_and_no_answer() {
    let sandbox = sandbox();
    let one = sandbox.commit("one");
    sandbox.git(&["update-ref", "refs/heads/main", &one.to_string()]);
    let dir = sandbox.git_dir().join("reftable");
    let list = std::fs::read_to_string(dir.join("tables.list")).expect("there");
    let file = dir.join(list.lines().last().expect("one"));
    let whole = std::fs::read(&file).expect("read");
    for (at, cut) in [
        (5, whole.len()),
        (whole.len() - 3, whole.len()),
        (0, 40),
        (0, 0),
    ] {
        let mut bytes = whole[..cut].to_vec();
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 0x40;
        }
        std::fs::write(&file, bytes).expect("written");
        let refs = sandbox.refs();
        refs.read("refs/heads/main").expect_err("damaged");
        let mut change = refs.transaction();
        change.create("refs/x/a", one);
        change.commit().expect_err("damaged");
    }
    std::fs::remove_file(&file).expect("removed");
    let refs = sandbox.refs();
    refs.list("refs/").expect_err("gone");
    std::fs::write(dir.join("tables.list"), "../../config\n").expect("written");
    Stack::new(&sandbox.git_dir())
        .view()
        .expect_err("no name of a table");
}
