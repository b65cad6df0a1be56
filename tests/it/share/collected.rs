//! What a pull gives to the repository, while git's own gc removes what no ref holds.

use std::process::Stdio;

use serde_json::{Value, json};

use super::hub::{Clone_, Hub};
use super::snapshots::snapshot;
use crate::damage::raw_command;
use crate::many::{Held, go_on};
use crate::sandbox::Kind;

/// Starts `tw pull` and waits until it has stopped at a fail point. None: it ended before.
fn stopped_pull(clone: &Clone_<'_>, hub: &Hub, point: &str) -> Option<Held> {
    let child = raw_command(&hub.sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(&clone.dir)
        .env("TW_STOP_POINT", point)
        .args(["-q", "pull"])
        .stdout(Stdio::null())
        .spawn();
    let mut child = Held(child.unwrap());
    loop {
        if let Some(status) = child.0.try_wait().unwrap() {
            assert!(status.success(), "{point}");
            return None;
        }
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.0.id()));
        let stat = stat.unwrap_or_default();
        let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        if state.starts_with('T') {
            return Some(child);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// What `gc --prune=now` does to objects and refs.
fn sweep(clone: &Clone_<'_>) {
    clone.git(["reflog", "expire", "--expire=now", "--all"]);
    clone.git(["pack-refs", "--all", "--prune"]);
    clone.git(["repack", "-a", "-d", "-q"]);
    clone.git(["prune", "--expire=now"]);
}

/// Says that a gc of a living process is under way, as git does.
fn gc_under_way(clone: &Clone_<'_>, hub: &Hub) -> Held {
    let gc = raw_command(&hub.sandbox.root(), "sleep").arg("600").spawn();
    let gc = Held(gc.unwrap());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let text = format!("{} {}", gc.0.id(), host.trim_end());
    std::fs::write(clone.dir.join(".git/gc.pid"), text).unwrap();
    gc
}

fn loose(clone: &Clone_<'_>, oid: &str) -> std::path::PathBuf {
    let (dir, name) = oid.split_at(2);
    clone.dir.join(".git/objects").join(dir).join(name)
}

fn keeps(clone: &Clone_<'_>) -> usize {
    let entries = std::fs::read_dir(clone.dir.join(".git/objects/pack")).unwrap();
    let names = entries.map(|entry| entry.unwrap().path());
    names
        .filter(|path| path.extension().is_some_and(|end| end == "keep"))
        .count()
}

/// Everything of it is there, and stays, and git has nothing against it.
fn assert_whole(clone: &Clone_<'_>, id: &str, when: &str) {
    assert_eq!(keeps(clone), 0, "{when}");
    for _ in 0..2 {
        clone.git(["fsck", "--strict", "--no-dangling"]);
        clone.git(["gc", "-q", "--prune=now"]);
    }
    clone.json(["travel", id]);
    let text = std::fs::read_to_string(clone.dir.join("new/deep")).unwrap();
    assert_eq!(text, "deep\n", "{when}");
    assert_eq!(clone.json(["return"])["verified"], true, "{when}");
}

/// A hub to which one has sent a snapshot of a HEAD that was never pushed, another that shares, and the snapshot's id. The other has, as loose
/// objects that nothing holds, what `git fetch` left of that HEAD, and a file of the snapshot.
fn sent(hub: &Hub) -> (Clone_<'_>, Clone_<'_>, String) {
    let (a, b) = hub.two();
    a.write("b.txt", "of the HEAD\n");
    a.git(["add", "b.txt"]);
    a.git(["commit", "-q", "-m", "second"]);
    std::fs::create_dir(a.dir.join("new")).unwrap();
    a.write("new/deep", "deep\n");
    a.write("same.txt", "the same\n");
    let id = snapshot(&a, "named");
    a.json(["push", "--snapshots", &id]);
    b.git(["fetch", "-q", a.dir.to_str().unwrap(), "main"]);
    std::fs::remove_file(b.dir.join(".git/FETCH_HEAD")).unwrap();
    b.write("same.txt", "the same\n");
    b.git(["hash-object", "-w", "same.txt"]);
    std::fs::remove_file(b.dir.join("same.txt")).unwrap();
    (a, b, id)
}

#[test]
fn what_a_pull_gives_survives_a_gc_at_every_step() {
    for point in ["objects-written", "objects-held", "refs-placed"] {
        for nth in 1.. {
            let when = format!("{point}:{nth}");
            // git cannot expire reflogs while a table is being put in place.
            let hub = Hub::of(Kind::ref_files());
            let (_, b, id) = sent(&hub);
            let Some(mut child) = stopped_pull(&b, &hub, &when) else {
                assert!(nth > 1, "{point} was passed");
                break;
            };
            sweep(&b);
            go_on(child.0.id());
            assert!(child.0.wait().unwrap().success(), "{when}");
            assert_whole(&b, &id, &when);
        }
    }
}

#[test]
fn what_a_pull_gives_survives_a_gc_that_began_before() {
    for point in [None, Some("objects-written"), Some("objects-held")] {
        for nth in 1.. {
            let when = format!("{}:{nth}", point.unwrap_or("begin"));
            let hub = Hub::new();
            let (_, b, id) = sent(&hub);
            let loose_ones = b.git(["cat-file", "--batch-all-objects", "--batch-check"]);
            let held = b.git(["rev-list", "--objects", "--all", "--no-object-names"]);
            let gc = if point.is_some() {
                let Some(mut child) = stopped_pull(&b, &hub, &when) else {
                    break;
                };
                let gc = gc_under_way(&b, &hub);
                go_on(child.0.id());
                assert!(child.0.wait().unwrap().success(), "{when}");
                gc
            } else {
                let gc = gc_under_way(&b, &hub);
                b.json(["pull"]);
                gc
            };
            // It goes by what was reachable when it began.
            for line in loose_ones.lines() {
                let oid = line.split(' ').next().unwrap();
                if !held.contains(oid) {
                    let _ = std::fs::remove_file(loose(&b, oid));
                }
            }
            drop(gc);
            std::fs::remove_file(b.dir.join(".git/gc.pid")).unwrap();
            assert_whole(&b, &id, &when);
            if point.is_none() {
                break;
            }
        }
    }
}

/// A commit that is there proves nothing of what hangs on it, unless a ref holds it.
#[test]
fn a_head_that_is_not_all_here_is_none() {
    for (torn, is_head) in [(false, true), (true, false)] {
        let hub = Hub::new();
        let (a, b, id) = sent(&hub);
        let head = a.git(["rev-parse", "HEAD"]).trim().to_owned();
        if torn {
            let blob = a.git(["rev-parse", "HEAD:b.txt"]);
            std::fs::remove_file(loose(&b, blob.trim())).unwrap();
        }
        b.json(["pull"]);
        let shown = b.json(["show", &id])["snapshot"]["head"]["oid"].clone();
        let expected = if is_head { json!(head) } else { Value::Null };
        assert_eq!(shown, expected);
        assert_whole(&b, &id, &format!("torn: {torn}"));
    }
}

/// A file that is here already is not stored a second time.
#[test]
fn a_pull_stores_only_what_is_new_here() {
    let hub = Hub::new();
    let (a, b, id) = sent(&hub);
    b.json(["pull"]);
    let packs = std::fs::read_dir(b.dir.join(".git/objects/pack")).unwrap();
    let packs: Vec<_> = packs
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "idx"))
        .collect();
    assert_eq!(packs.len(), 1, "{packs:?}");
    let listed = b.git(["verify-pack", "-v", packs[0].to_str().unwrap()]);
    let oid = |spec: &str| a.git(["rev-parse", spec]).trim().to_owned();
    assert!(!listed.contains(&oid("HEAD:a.txt")), "{listed}");
    let deep = oid(&format!("refs/timewarp/snapshots/{id}:new/deep"));
    assert!(listed.contains(&deep), "{listed}");
}
