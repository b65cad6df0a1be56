//! Our reading and writing against plain git's, in real repositories.

use std::collections::BTreeSet;
use std::time::Duration;

use super::sandbox::Sandbox;
use super::*;

type Outcome = std::result::Result<(), TransactionError>;

fn create(refs: &Refs, name: &str, oid: Oid) -> Outcome {
    let mut transaction = refs.transaction();
    transaction.create(name, oid);
    transaction.commit()
}

fn update(refs: &Refs, name: &str, new: Oid, old: Oid) -> Outcome {
    let mut transaction = refs.transaction();
    transaction.update(name, new, old);
    transaction.commit()
}

fn delete(refs: &Refs, name: &str, old: Option<Oid>) -> Outcome {
    let mut transaction = refs.transaction();
    transaction.delete(name, old);
    transaction.commit()
}

/// Every file left below the git directory that ends in `.lock`.
fn locks(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    found
}

/// So many refs at one commit, as loose files that git wrote.
fn many(sandbox: &Sandbox, count: usize) -> Oid {
    let commit = sandbox.commit("many");
    let input: Vec<String> = (0..count)
        .map(|n| format!("create refs/probe/snapshots/s_{n:05} {commit}\n"))
        .collect();
    sandbox.git_with_input(&["update-ref", "--stdin"], &input.concat());
    commit
}

/// The same as `git pack-refs --all` leaves it, without the thousands of files before.
fn many_packed(sandbox: &Sandbox, count: usize) {
    let commit = sandbox.commit("many");
    sandbox.git(&["update-ref", "refs/heads/main", &commit.to_string()]);
    sandbox.git(&["tag", "-a", "-m", "peeled", "v1", "main"]);
    sandbox.git(&["pack-refs", "--all"]);
    let path = sandbox.git_dir().join("packed-refs");
    let mut lines: Vec<String> = std::fs::read_to_string(&path)
        .expect("packed")
        .lines()
        .map(str::to_owned)
        .collect();
    // Sorted, as the header says: after the branch, before the tag and its peeled line.
    let tag = lines.len() - 2;
    let many = (0..count).map(|n| format!("{commit} refs/probe/snapshots/s_{n:05}"));
    lines.splice(tag..tag, many);
    let text = lines.join("\n") + "\n";
    std::fs::write(&path, text).expect("write");
}

#[test]
fn refs_read_the_same_loose_packed_and_mixed() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let (one, two) = (sandbox.commit("one"), sandbox.commit("two"));
    for name in ["refs/probe/a", "refs/probe/b/c", "refs/heads/main"] {
        create(&refs, name, one).expect("create");
    }
    sandbox.git(&["tag", "-a", "-m", "peeled", "v1", "main"]);
    assert_eq!(
        refs.list("refs/").expect("list"),
        sandbox.for_each_ref("refs/")
    );
    sandbox.git(&["pack-refs", "--all"]);
    assert!(!sandbox.git_dir().join("refs/probe/a").exists());
    assert_eq!(
        refs.list("refs/").expect("list"),
        sandbox.for_each_ref("refs/")
    );
    update(&refs, "refs/probe/a", two, one).expect("update");
    create(&refs, "refs/probe/b/d", two).expect("create");
    assert_eq!(
        refs.list("refs/").expect("list"),
        sandbox.for_each_ref("refs/")
    );
    assert_eq!(refs.read("refs/probe/a").expect("read"), Some(two));
    assert_eq!(refs.read("refs/probe/b/c").expect("read"), Some(one));
    assert_eq!(refs.read("refs/probe/b").expect("read"), None);
    assert_eq!(refs.read("HEAD").expect("read"), Some(one));
    let names = refs.names("refs/probe/b/").expect("names");
    assert_eq!(names, ["refs/probe/b/c", "refs/probe/b/d"]);
    let names = refs.names("refs/probe/b/d").expect("names");
    assert_eq!(names, ["refs/probe/b/d"]);
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn names_that_are_no_refs_are_left_out() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    create(&refs, "refs/probe/a", sandbox.commit("one")).expect("create");
    let dir = sandbox.git_dir().join("refs/probe");
    for file in ["b.lock", ".hidden", "c~"] {
        std::fs::write(dir.join(file), "").expect("write");
    }
    std::fs::write(dir.join("empty"), "").expect("write");
    std::os::unix::fs::symlink(".", dir.join("loop")).expect("symlink");
    assert_eq!(
        refs.names("refs/probe/").expect("names"),
        ["refs/probe/a", "refs/probe/empty", "refs/probe/loop"]
    );
    assert_eq!(refs.list("refs/probe/").expect("list").len(), 1);
    let error = refs.read("refs/probe/empty").expect_err("broken");
    assert_eq!(error.code(), Code::CorruptRecord);
    for prefix in ["../", "refs/../", "refs//", "config", "/", "refs/probe/../"] {
        assert_eq!(refs.names(prefix).expect("names"), Vec::<String>::new());
    }
    for name in ["config", "../secret", "refs/../config", "refs/probe/../x"] {
        assert_eq!(refs.read(name).expect("read"), None, "{name}");
    }
}

#[test]
fn symbolic_refs_are_followed_but_not_in_circles() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let commit = sandbox.commit("one");
    create(&refs, "refs/heads/main", commit).expect("create");
    let mut last = "refs/heads/main".to_owned();
    for depth in 1..=6 {
        let name = format!("refs/x/{depth}");
        sandbox.git(&["symbolic-ref", &name, &last]);
        last = name;
    }
    assert_eq!(refs.read("refs/x/5").expect("depth five"), Some(commit));
    refs.read("refs/x/6").expect_err("too deep");
    let error = update(&refs, "refs/x/1", commit, commit).expect_err("not written through");
    assert!(matches!(error.reason, Reason::Io(_)));
    delete(&refs, "refs/x/1", None).expect("the symbolic ref itself goes");
    assert_eq!(refs.read("refs/heads/main").expect("read"), Some(commit));
}

#[test]
fn per_worktree_refs_live_in_the_worktrees_own_directory() {
    let sandbox = Sandbox::new();
    let commit = sandbox.commit("one");
    create(&sandbox.refs(), "refs/heads/main", commit).expect("create");
    sandbox.git(&["worktree", "add", "-q", "--detach", "../other", "main"]);
    let own = sandbox.git_dir().join("worktrees/other");
    let linked = Refs::new(sandbox.git_dir(), &own, RefFormat::Files);
    create(&linked, "refs/bisect/bad", commit).expect("create");
    create(&linked, "refs/probe/a", commit).expect("create");
    assert!(own.join("refs/bisect/bad").exists());
    assert_eq!(sandbox.refs().read("refs/bisect/bad").expect("read"), None);
    let all = ["refs/bisect/bad", "refs/heads/main", "refs/probe/a"];
    assert_eq!(linked.names("refs/").expect("names"), all);
    assert_eq!(linked.names("refs/b").expect("names"), all[..1]);
    assert_eq!(linked.names("refs/bisect/").expect("names"), all[..1]);
    assert_eq!(sandbox.refs().names("refs/").expect("names"), all[1..]);
    assert_eq!(linked.read("HEAD").expect("read"), Some(commit));
    let seen = sandbox.git(&["-C", "../other", "for-each-ref", "--format=%(refname)"]);
    assert_eq!(seen.lines().collect::<Vec<_>>(), all);
}

#[test]
fn old_values_are_stated_and_held_to() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let (one, two) = (sandbox.commit("one"), sandbox.commit("two"));
    let name = "refs/probe/a";
    let missing = update(&refs, name, two, one).expect_err("absent");
    assert!(matches!(
        missing.reason,
        Reason::Changed { found: None, .. }
    ));
    create(&refs, name, one).expect("create");
    for packed in [false, true] {
        if packed {
            sandbox.git(&["pack-refs", "--all"]);
        }
        let error = create(&refs, name, two).expect_err("exists");
        assert!(matches!(error.reason, Reason::Exists { found: Some(found) } if found == one));
        let error = update(&refs, name, one, two).expect_err("changed");
        assert_eq!(error.name, name);
        assert!(matches!(error.reason,
            Reason::Changed { expected, found: Some(found) } if expected == two && found == one));
        let error = delete(&refs, name, Some(two)).expect_err("changed");
        assert!(error.is_lost_race());
        assert_eq!(refs.read(name).expect("read"), Some(one));
    }
    delete(&refs, name, Some(one)).expect("delete");
    delete(&refs, name, None).expect("nothing to delete is no error");
    assert_eq!(sandbox.for_each_ref("refs/"), []);
    assert_eq!(locks(&sandbox.git_dir()), Vec::<PathBuf>::new());
}

#[test]
fn one_refusal_refuses_the_whole_transaction() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let (one, two) = (sandbox.commit("one"), sandbox.commit("two"));
    create(&refs, "refs/probe/there", one).expect("create");
    create(&refs, "refs/probe/moved", one).expect("create");
    let mut transaction = refs.transaction();
    transaction.create("refs/probe/new/deep/one", one);
    transaction.update("refs/probe/moved", two, one);
    transaction.delete("refs/probe/there", Some(two));
    let error = transaction.commit().expect_err("refused");
    assert_eq!(error.name, "refs/probe/there");
    assert_eq!(refs.read("refs/probe/moved").expect("read"), Some(one));
    assert!(!sandbox.git_dir().join("refs/probe/new").exists());
    assert_eq!(locks(&sandbox.git_dir()), Vec::<PathBuf>::new());
}

#[test]
fn refs_and_directories_exclude_each_other() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    create(&refs, "refs/probe/a/b", one).expect("create");
    for packed in [false, true] {
        if packed {
            sandbox.git(&["pack-refs", "--all"]);
        }
        for name in ["refs/probe/a", "refs/probe/a/b/c", "refs/probe/a/b/c/d"] {
            let error = create(&refs, name, one).expect_err(name);
            let Reason::Conflict { with } = error.reason else {
                panic!("{error:?}")
            };
            assert_eq!(with, "refs/probe/a/b");
        }
    }
    let mut transaction = refs.transaction();
    transaction.create("refs/probe/c", one);
    transaction.create("refs/probe/c/d", one);
    let error = transaction.commit().expect_err("one below the other");
    assert!(matches!(error.reason, Reason::Conflict { .. }));
    delete(&refs, "refs/probe/a/b", Some(one)).expect("delete");
    std::fs::create_dir_all(sandbox.git_dir().join("refs/probe/a/x/y")).expect("empty");
    create(&refs, "refs/probe/a", one).expect("empty directories give way");
    assert_eq!(sandbox.for_each_ref("refs/probe").len(), 1);
}

#[test]
fn strange_names_are_refused_before_anything_is_locked() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    for name in [
        "HEAD",
        "refs/../x",
        "refs/a b",
        "refs/a.lock",
        "",
        "config",
        "heads/main",
    ] {
        let error = create(&refs, name, one).expect_err(name);
        assert!(matches!(error.reason, Reason::Name), "{name}");
    }
    let mut twice = refs.transaction();
    twice.create("refs/probe/a", one);
    twice.verify("refs/probe/a", one);
    assert!(matches!(
        twice.commit().expect_err("twice").reason,
        Reason::Name
    ));
}

#[test]
fn a_held_lock_is_waited_for_and_then_named() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    create(&refs, "refs/probe/other", one).expect("create");
    let lock = sandbox.git_dir().join("refs/probe/a.lock");
    std::fs::write(&lock, "").expect("write");
    let error = create(&refs, "refs/probe/a", one).expect_err("held");
    assert!(matches!(&error.reason, Reason::Locked { lock: named } if *named == lock));
    assert!(lock.exists(), "a stale lock is never broken");
    assert_eq!(Error::from(error).code(), Code::Busy);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| create(&refs, "refs/probe/a", one));
        std::thread::sleep(Duration::from_millis(150));
        std::fs::remove_file(&lock).expect("release");
        waiting.join().expect("no panic").expect("waited");
    });
}

#[test]
fn a_prepared_transaction_holds_git_off_and_can_leave_refs_out() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    for name in ["refs/probe/a", "refs/probe/b"] {
        create(&refs, name, one).expect("create");
    }
    let mut transaction = refs.transaction();
    transaction.delete("refs/probe/a", Some(one));
    transaction.delete("refs/probe/b", Some(one));
    let mut prepared = transaction.prepare().expect("prepare");
    assert_eq!(sandbox.try_git(&["update-ref", "-d", "refs/probe/b"]), None);
    prepared.leave_out("refs/probe/b");
    prepared.commit().expect("commit");
    assert_eq!(
        sandbox.for_each_ref("refs/"),
        [("refs/probe/b".to_owned(), one)]
    );
    let mut transaction = refs.transaction();
    transaction.delete("refs/probe/b", Some(one));
    drop(transaction.prepare().expect("prepare"));
    assert_eq!(refs.read("refs/probe/b").expect("read"), Some(one));
    assert_eq!(locks(&sandbox.git_dir()), Vec::<PathBuf>::new());
}

#[test]
fn a_verified_ref_that_changes_takes_the_new_refs_back() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let (one, two) = (sandbox.commit("one"), sandbox.commit("two"));
    for name in ["refs/probe/anchor", "refs/probe/moved"] {
        create(&refs, name, one).expect("create");
    }
    let start = || {
        let mut transaction = refs.transaction();
        transaction.create("refs/probe/new", two);
        transaction.update("refs/probe/moved", two, one);
        transaction.verify("refs/probe/anchor", one);
        transaction
    };
    let prepared = start().prepare().expect("anchor holds");
    sandbox.git(&["update-ref", "refs/probe/anchor", &two.to_string()]);
    let error = prepared.commit().expect_err("anchor moved");
    assert_eq!(error.name, "refs/probe/anchor");
    assert!(matches!(error.reason, Reason::Changed { found: Some(found), .. } if found == two));
    assert_eq!(error.left_behind, Vec::<String>::new());
    assert_eq!(refs.read("refs/probe/new").expect("read"), None);
    assert_eq!(refs.read("refs/probe/moved").expect("read"), Some(one));
    start().commit().expect_err("seen at the first look");
    update(&refs, "refs/probe/anchor", one, two).expect("back");
    start().commit().expect("holds");
    assert_eq!(refs.read("refs/probe/new").expect("read"), Some(two));
    assert_eq!(locks(&sandbox.git_dir()), Vec::<PathBuf>::new());
}

/// An issue verifies its snapshot while a prune deletes it: whatever the timing, no issue without its snapshot.
#[test]
fn a_creation_that_verifies_and_a_deletion_that_looks_never_both_win() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    for round in 0..150 {
        let snapshot = format!("refs/probe/snapshots/{round}");
        let issue = format!("refs/notes/timewarp/issues/{round}");
        create(&refs, &snapshot, one).expect("create");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut transaction = refs.transaction();
                transaction.create(&issue, one);
                transaction.verify(&snapshot, one);
                let _ = transaction.commit();
            });
            scope.spawn(|| {
                let mut transaction = refs.transaction();
                transaction.delete(&snapshot, Some(one));
                let mut prepared = transaction.prepare().expect("prepare");
                if refs.read(&issue).expect("read").is_some() {
                    prepared.leave_out(&snapshot);
                }
                prepared.commit().expect("commit");
            });
        });
        let held = refs.read(&issue).expect("read").is_some();
        let there = refs.read(&snapshot).expect("read").is_some();
        assert!(there || !held, "round {round}: an issue lost its snapshot");
    }
}

#[test]
fn creations_appear_in_the_order_given() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    let (chat, issue) = ("refs/probe/z-chat", "refs/probe/a-issue");
    for _ in 0..200 {
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let begun = std::time::Instant::now();
                while refs.read(issue).expect("read").is_none() {
                    // A scope waits for its threads, also when the other one fails.
                    assert!(begun.elapsed() < Duration::from_secs(60), "never there");
                    std::hint::spin_loop();
                }
                refs.read(chat).expect("read").is_some()
            });
            let mut transaction = refs.transaction();
            transaction.create(chat, one);
            transaction.create(issue, one);
            transaction.commit().expect("commit");
            assert!(watch.join().expect("no panic"), "issue before chat");
        });
        delete(&refs, issue, None).expect("delete");
        delete(&refs, chat, None).expect("delete");
    }
}

/// How often a file of this name takes its place in a directory while `work` is done, as the system tells it.
#[cfg(target_os = "linux")]
fn times_replaced(dir: &Path, name: &str, work: impl FnOnce()) -> usize {
    use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

    let queue = inotify::init(CreateFlags::NONBLOCK).expect("a queue");
    inotify::add_watch(&queue, dir, WatchFlags::MOVED_TO).expect("a watch");
    work();
    let mut buffer = vec![std::mem::MaybeUninit::uninit(); 1 << 16];
    let mut reader = Reader::new(&queue, &mut buffer);
    let events = std::iter::from_fn(|| {
        let event = reader.next().ok()?;
        Some(event.file_name().map(|name| name.to_bytes().to_vec()))
    });
    events
        .filter(|file| file.as_deref() == Some(name.as_bytes()))
        .count()
}

#[cfg(target_os = "linux")]
#[test]
fn five_thousand_packed_refs_go_in_one_rewrite() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    many_packed(&sandbox, 5_000);
    let kept = [
        sandbox.for_each_ref("refs/heads/"),
        sandbox.for_each_ref("refs/tags/"),
    ]
    .concat();
    let all = refs.list("refs/probe/").expect("list");
    assert_eq!(all.len(), 5_000);
    let mut transaction = refs.transaction();
    for (name, oid) in &all {
        transaction.delete(name, Some(*oid));
    }
    let rewrites = times_replaced(&sandbox.git_dir(), "packed-refs", || {
        transaction.commit().expect("commit");
    });
    assert_eq!(rewrites, 1);
    assert_eq!(sandbox.for_each_ref("refs/"), kept);
    assert_eq!(refs.list("refs/").expect("list"), kept);
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn deletion_leaves_no_lock_and_no_empty_directory() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    many(&sandbox, 50);
    let mut transaction = refs.transaction();
    for name in refs.names("refs/probe/").expect("names") {
        transaction.delete(&name, None);
    }
    transaction.commit().expect("commit");
    assert_eq!(locks(&sandbox.git_dir()), Vec::<PathBuf>::new());
    let below = std::fs::read_dir(sandbox.git_dir().join("refs/probe"));
    assert_eq!(below.expect("refs/<one> stays").count(), 0);
}

#[test]
fn a_deletion_under_a_running_pack_refs_stays_deleted() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    std::thread::scope(|scope| {
        let packing = scope.spawn(|| {
            for _ in 0..30 {
                let _ = sandbox.try_git(&["pack-refs", "--all"]);
            }
        });
        let mut round = 0;
        while !packing.is_finished() {
            // Every name once, as with ids: between its two steps `git pack-refs` cannot tell a ref from one that was
            // deleted and made again with the same value.
            let name = format!("refs/probe/{}/{round}", round % 3);
            create(&refs, &name, one).expect("create");
            assert_eq!(refs.read(&name).expect("read"), Some(one));
            assert_eq!(refs.names(&name).expect("names").len(), 1);
            delete(&refs, &name, Some(one)).expect("delete");
            assert_eq!(refs.read(&name).expect("read"), None);
            round += 1;
        }
    });
    assert_eq!(sandbox.for_each_ref("refs/"), []);
}

#[test]
fn no_update_is_lost_among_threads() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let name = "refs/probe/counter";
    let value = |n: usize| Oid::from_hex(&format!("{n:040x}")).expect("hex");
    create(&refs, name, value(1)).expect("create");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    loop {
                        let old = refs.read(name).expect("read").expect("there");
                        let count = usize::from_str_radix(&old.to_string(), 16).expect("hex");
                        match update(&refs, name, value(count + 1), old) {
                            Ok(()) => break,
                            Err(error) => assert!(error.is_lost_race(), "{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(refs.read(name).expect("read"), Some(value(201)));
}

#[test]
fn creation_survives_deletions_of_its_directory() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let refs = &refs;
            scope.spawn(move || {
                for _ in 0..200 {
                    let name = format!("refs/probe/a/b/{thread}");
                    create(refs, &name, one).expect("create");
                    delete(refs, &name, Some(one)).expect("delete");
                }
            });
        }
    });
    assert!(!sandbox.git_dir().join("refs/probe/a").exists());
}

#[test]
fn a_reflog_that_git_wrote_goes_with_its_ref_and_ours_write_none() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let one = sandbox.commit("one");
    sandbox.git(&["config", "core.logAllRefUpdates", "always"]);
    create(&refs, "refs/probe/ours", one).expect("create");
    sandbox.git(&["update-ref", "refs/probe/a/gits", &one.to_string()]);
    let logs = sandbox.git_dir().join("logs/refs/probe");
    assert!(logs.join("a/gits").exists());
    assert!(!logs.join("ours").exists());
    delete(&refs, "refs/probe/a/gits", Some(one)).expect("delete");
    assert!(!logs.join("a").exists());
}

#[test]
fn refs_reach_the_disk_wherever_they_are() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let mut transaction = refs.transaction();
    transaction.durable();
    transaction.create("refs/probe/a/b", sandbox.commit("one"));
    transaction.commit().expect("commit");
    refs.sync("refs/probe/a/b").expect("loose");
    sandbox.git(&["pack-refs", "--all"]);
    refs.sync("refs/probe/a/b").expect("packed");
    refs.sync("refs/probe/a/c").expect_err("absent");
}

#[test]
fn many_values_are_waited_for_together_and_stand_or_do_not() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let (one, two) = (sandbox.commit("one"), sandbox.commit("two"));
    let name = |nth: usize| format!("refs/probe/many/{nth:03}");
    let mut transaction = refs.transaction();
    transaction.durable();
    for nth in 0..150 {
        transaction.create(&name(nth), one);
    }
    transaction.commit().expect("commit");
    let mut transaction = refs.transaction();
    transaction.durable();
    for nth in 0..150 {
        let old = if nth == 149 { two } else { one };
        transaction.update(&name(nth), two, old);
    }
    transaction.commit().expect_err("the last one is not so");
    let all = refs.read_all("refs/probe/many/").expect("listed");
    assert_eq!(all.len(), 150);
    assert!(
        all.into_iter()
            .all(|(_, oid)| oid.is_ok_and(|oid| oid == one))
    );
}

#[test]
fn a_symlinked_packed_refs_stays_a_symlink() {
    let sandbox = Sandbox::new();
    let refs = sandbox.refs();
    let commit = many(&sandbox, 3);
    sandbox.git(&["pack-refs", "--all"]);
    let (link, real) = (
        sandbox.git_dir().join("packed-refs"),
        sandbox.repo().join("real"),
    );
    std::fs::rename(&link, &real).expect("move");
    std::os::unix::fs::symlink(&real, &link).expect("link");
    delete(&refs, "refs/probe/snapshots/s_00001", Some(commit)).expect("delete");
    assert!(link.is_symlink());
    let left: BTreeSet<_> = refs.names("refs/").expect("names").into_iter().collect();
    assert_eq!(left.len(), 2);
    assert_eq!(sandbox.for_each_ref("refs/").len(), 2);
}
