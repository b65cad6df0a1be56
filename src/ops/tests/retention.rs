//! prune, drop, and taking back what they dropped.

use super::Lab;
use crate::env::Moment;
use crate::error::{Code, Result};
use crate::git::Oid;
use crate::ops::drop::Drop;
use crate::ops::drop::drop;
use crate::ops::label::Label;
use crate::ops::outcome::{DroppedListing, Pruned};
use crate::ops::prune::prune;
use crate::ops::recover_dropped::dropped;
use crate::ops::request::{DryRun, Prune};
use crate::store::names::{LABELS, RECORDS, SNAPSHOTS};
use crate::store::state::{Mode, State};

const OLD: &str = "s_20200101_000000_aaaaaa";
const OLDER: &str = "s_20200101_000000_bbbbbb";
const BACKUP: &str = "b_20200101_000000_cccccc";

fn run(lab: &Lab, keep_days: u32, keep_last: usize, dry_run: DryRun) -> Result<Pruned> {
    let request = Prune {
        dry_run,
        keep_days: Some(keep_days),
        keep_last: Some(keep_last),
    };
    prune(&lab.ctx(), &request)
}

fn ids(pruned: &Pruned) -> Vec<&str> {
    let forgotten = pruned.forgotten.iter();
    forgotten.map(|one| one.id.as_str()).collect()
}

fn forget(lab: &Lab, address: &str, force: bool) -> Result<Pruned> {
    let request = Drop {
        addresses: vec![address.to_owned()],
        force,
        dry_run: DryRun::No,
    };
    drop(&lab.ctx(), &request)
}

fn held_by(lab: &Lab, id: &str, force: bool) -> String {
    let error = forget(lab, id, force).expect_err("held");
    assert_eq!(error.code(), Code::Held, "{error}");
    error.message().to_owned()
}

fn label(lab: &Lab, id: &str, name: &str) {
    let request = Label {
        address: Some(id.to_owned()),
        name: name.to_owned(),
        remove: false,
    };
    crate::ops::label::label(&lab.ctx(), &request).expect("labelled");
}

/// Makes a notes ref and its memory, as an issue or a session has.
fn note(lab: &Lab, kind: &str, name: &str, on: Oid, body: &str) {
    let face = format!("refs/notes/timewarp/{kind}/{name}");
    let on = on.to_string();
    lab.git(&["notes", &format!("--ref={face}"), "add", "-m", body, &on]);
    let memory = format!("{RECORDS}{kind}/{name}");
    lab.git(&["update-ref", &memory, &face]);
}

fn commit_of(lab: &Lab, id: &str) -> Oid {
    lab.rev(&format!("{SNAPSHOTS}{id}"))
}

#[test]
fn age_or_number_keeps_and_a_dry_run_writes_nothing() {
    let lab = Lab::with_commit();
    let one = lab.old(OLD);
    let two = lab.old("s_20200102_000000_bbbbbb");
    let three = lab.snapshot("now").id;
    let backup = lab.old(BACKUP);
    let pruned = run(&lab, 14, 3, DryRun::No).expect("kept by number");
    assert_eq!(ids(&pruned), [backup.as_str()]);
    let refs = lab.git(&["for-each-ref"]);
    let planned = run(&lab, 14, 2, DryRun::Yes).expect("planned");
    assert_eq!(ids(&planned), [one.as_str()]);
    assert_eq!((planned.dry_run, planned.kept), (true, 2));
    assert!(planned.bytes > 0);
    assert_eq!(lab.git(&["for-each-ref"]), refs);
    let done = run(&lab, 14, 0, DryRun::No).expect("done");
    assert_eq!(ids(&done), [two.as_str(), one.as_str()]);
    assert!(lab.has(&three) && !lab.has(&one) && !lab.has(&two));
    assert_eq!(
        ids(&run(&lab, 0, 0, DryRun::No).expect("strict")),
        [three.as_str()]
    );
}

#[test]
fn of_one_second_the_later_taken_ones_are_kept() {
    let lab = Lab::with_commit();
    // Taken first, but its tail sorts last.
    let first = lab.old("s_20200101_000000_zzzzzz");
    let second = lab.old("s_20200101_000000_aaaaaa");
    let pruned = run(&lab, 0, 1, DryRun::No).expect("pruned");
    assert_eq!(ids(&pruned), [first.as_str()]);
    assert!(lab.has(&second));
}

#[test]
fn what_was_taken_last_is_kept_whatever_the_clock_said() {
    let lab = Lab::with_commit();
    let first = lab.old("s_20200101_000000_aaaaaa");
    let second = lab.old("s_20200102_000000_aaaaaa");
    // Its time keeps it.
    lab.old("s_20990101_000000_aaaaaa");
    let behind = ["s_19700101_001001_aaaaaa", "s_19700101_001002_aaaaaa"].map(|id| lab.old(id));
    let pruned = run(&lab, 14, 2, DryRun::Yes).expect("planned");
    assert_eq!(ids(&pruned), [first.as_str()]);
    let pruned = run(&lab, 14, 1, DryRun::No).expect("pruned");
    assert_eq!(ids(&pruned), [&second, &first, &behind[0]]);
    assert!(lab.has(&behind[1]));
}

#[test]
fn what_is_gone_does_not_count_as_taken_later() {
    let lab = Lab::with_commit();
    let first = lab.old("s_20200101_000000_aaaaaa");
    let second = lab.old("s_20200102_000000_aaaaaa");
    let behind = lab.old("s_19700101_001001_aaaaaa");
    for _ in 0..2 {
        let gone = lab.snapshot("gone").id;
        forget(&lab, &gone, false).expect("forgotten");
    }
    let pruned = run(&lab, 14, 2, DryRun::No).expect("kept");
    assert_eq!(ids(&pruned), Vec::<&str>::new());
    let pruned = run(&lab, 14, 1, DryRun::No).expect("pruned");
    assert_eq!(ids(&pruned), [first.as_str()]);
    assert!(lab.has(&second) && lab.has(&behind));
}

#[test]
fn whatever_holds_is_named_and_kept() {
    let lab = Lab::with_commit();
    let labelled = lab.old("s_20200101_000001_aaaaaa");
    label(&lab, &labelled, "good");
    let reported = lab.old("s_20200101_000002_aaaaaa");
    let issue = "i_20200101_000000_aaaaaa";
    let experiment = lab.old("x_20200101_000003_aaaaaa");
    let body = format!(
        r#"{{"version":1,"status":"open","runs":[{{"run":1,"experiment_id":"{experiment}"}}]}}"#
    );
    note(&lab, "issues", issue, commit_of(&lab, &reported), &body);
    let session = lab.old("s_20200101_000004_aaaaaa");
    let current = lab.old("s_20200101_000005_aaaaaa");
    let undone = lab.old("b_20200101_000006_aaaaaa");
    lab.level("undo", "1", "2026-01-01T00:00:00Z", &undone);
    let redone = lab.old("b_20200101_000007_aaaaaa");
    lab.level("redo", "1", "2020-01-01T00:00:00Z", &redone);
    let free = lab.old(OLD);
    let other = lab.dir().with_file_name("other");
    lab.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        other.to_str().expect("plain"),
    ]);
    {
        let ctx = lab.ctx_in(&other);
        let store = ctx.store().expect("store");
        let state = State {
            mode: Mode::Past,
            current_snapshot_id: Some(current.clone()),
            session_snapshot_id: Some(session.clone()),
            ..State::default()
        };
        store.dir.write_state(&state).expect("written");
    }
    let holders = [
        (&labelled, "label 'good'", true),
        (&reported, "issue i_20200101_000000_aaaaaa", true),
        (&experiment, "a run of issue i_20200101_000000_aaaaaa", true),
        (&session, "the session of worktree 'other'", true),
        (&current, "the past of worktree 'other'", false),
        (&undone, "the undo log of worktree 'main'", true),
        (&redone, "the redo log of worktree 'main'", true),
    ];
    for (id, holder, forced) in holders {
        let said = held_by(&lab, id, false);
        assert!(
            said.ends_with(&format!("'{id}' is held by {holder}")),
            "{said}"
        );
        if !forced {
            assert!(held_by(&lab, id, true).contains(holder));
        }
    }
    let pruned = run(&lab, 0, 0, DryRun::No).expect("pruned");
    assert_eq!(ids(&pruned), [free.as_str()]);
    assert_eq!(pruned.kept, holders.len());
    for (id, _, forced) in holders.iter().filter(|(_, _, forced)| *forced) {
        let gone = forget(&lab, id, *forced).expect("forced");
        assert_eq!(ids(&gone), [id.as_str()]);
    }
    assert_eq!(lab.git(&["for-each-ref", LABELS]), "");
    assert!(!lab.path(".git/timewarp/undo/1.json").exists());
}

/// Plain git takes a note away, or writes over it; the way back leads to the version before.
#[test]
fn an_issue_whose_note_says_nothing_holds_what_the_one_before_said() {
    let issue = "i_20200101_000000_aaaaaa";
    for spoilt in [&["", "[1]"][..], &[""], &["no JSON", "42"]] {
        let lab = Lab::with_commit();
        let reported = lab.old("s_20200101_000002_aaaaaa");
        let named = lab.old("s_20200101_000003_aaaaaa");
        let experiment = lab.old("x_20200101_000004_aaaaaa");
        let free = lab.old(OLD);
        // Marked as text, as a Windows editor does it.
        let body = format!(
            "\u{feff}{{\"version\":1,\"status\":\"open\",\"snapshot_id\":\"{named}\",\"runs\":[{{\"experiment_id\":\"{experiment}\"}}]}}"
        );
        let on = commit_of(&lab, &reported);
        note(&lab, "issues", issue, on, &body);
        let face = format!("refs/notes/timewarp/issues/{issue}");
        let notes = format!("--ref={face}");
        for text in spoilt {
            let on = on.to_string();
            match *text {
                "" => lab.git(&["notes", &notes, "remove", &on]),
                text => lab.git(&["notes", &notes, "add", "-f", "-m", text, &on]),
            };
        }
        lab.git(&["update-ref", &format!("{RECORDS}issues/{issue}"), &face]);
        let pruned = run(&lab, 0, 0, DryRun::No).expect("pruned");
        assert_eq!(ids(&pruned), [free.as_str()], "{spoilt:?}");
        for id in [&reported, &named, &experiment] {
            assert!(held_by(&lab, id, false).contains(issue), "{spoilt:?}");
        }
    }
}

#[test]
fn what_may_hold_and_cannot_be_read_keeps_everything() {
    let lab = Lab::with_commit();
    let (old, labelled) = (lab.old(OLD), lab.old(OLDER));
    label(&lab, &labelled, "good");
    let issue = "i_20200101_000000_aaaaaa";
    note(&lab, "issues", issue, commit_of(&lab, &labelled), "{}");
    let broken = |names: &[String]| {
        let files: Vec<_> = names
            .iter()
            .map(|name| lab.path(&format!(".git/{name}")))
            .collect();
        let before: Vec<_> = files
            .iter()
            .map(|file| std::fs::read(file).expect("read"))
            .collect();
        for file in &files {
            std::fs::write(file, "").expect("written");
        }
        let pruned = run(&lab, 0, 0, DryRun::No);
        for (file, bytes) in files.iter().zip(before) {
            std::fs::write(file, bytes).expect("written");
        }
        pruned
            .map(|pruned| ids(&pruned).join(" "))
            .map_err(|error| error.code())
    };
    let (face, memory) = (
        format!("refs/notes/timewarp/issues/{issue}"),
        format!("{RECORDS}issues/{issue}"),
    );
    assert_eq!(broken(&[format!("{LABELS}good")]), Err(Code::CorruptRecord));
    assert_eq!(broken(&[face.clone(), memory]), Err(Code::CorruptRecord));
    assert!(lab.has(&old) && lab.has(&labelled));
    // Of one that is broken the other one tells.
    assert_eq!(broken(std::slice::from_ref(&face)), Ok(old.clone()));
    // What it says is not there.
    let listed = lab.git(&["notes", &format!("--ref={face}"), "list"]);
    let blob = listed.split_whitespace().next().expect("a note");
    let (dir, name) = blob.split_at(2);
    std::fs::remove_file(lab.path(&format!(".git/objects/{dir}/{name}"))).expect("removed");
    let error = run(&lab, 0, 0, DryRun::No).expect_err("unreadable");
    assert_eq!(error.code(), Code::CorruptRecord, "{error}");
    assert!(error.message().contains(issue), "{error}");
}

#[test]
fn one_unreadable_worktree_keeps_everything() {
    let lab = Lab::with_commit();
    let old = lab.old(OLD);
    let other = lab.dir().with_file_name("other");
    lab.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        other.to_str().expect("plain"),
    ]);
    let dir = lab.path(".git/worktrees/other/timewarp");
    std::fs::create_dir_all(dir.join("undo")).expect("made");
    for (file, text, code) in [
        ("state.json", "{", Code::CorruptRecord),
        ("state.json", r#"{"version": 9}"#, Code::NewerRecord),
        ("journal.json", "", Code::CorruptRecord),
        ("undo/1.json", r#"{"version": 1}"#, Code::CorruptRecord),
        ("opened.json", "[]", Code::CorruptRecord),
    ] {
        std::fs::write(dir.join(file), text).expect("written");
        let error = run(&lab, 0, 0, DryRun::No).expect_err(file);
        assert_eq!(error.code(), code, "{file}: {error}");
        assert!(error.message().contains("worktree 'other'"), "{error}");
        assert!(lab.has(&old));
        std::fs::remove_file(dir.join(file)).expect("removed");
    }
    assert_eq!(
        ids(&run(&lab, 0, 0, DryRun::No).expect("pruned")),
        [old.as_str()]
    );
}

#[test]
fn a_record_that_cannot_be_read_is_kept_and_can_be_dropped_by_its_id() {
    let lab = Lab::with_commit();
    let head = lab.rev("HEAD").to_string();
    lab.git(&["update-ref", &format!("{SNAPSHOTS}{OLD}"), &head]);
    let pruned = run(&lab, 0, 0, DryRun::No).expect("pruned");
    assert!(pruned.forgotten.is_empty());
    assert!(pruned.notices[0].contains(OLD), "{:?}", pruned.notices);
    assert_eq!(ids(&forget(&lab, OLD, false).expect("dropped")), [OLD]);
    assert!(!lab.has(OLD));
}

#[test]
fn sessions_hold_while_they_are_young() {
    let lab = Lab::with_commit();
    let id = lab.old(OLD);
    // The lab's notes are dated 2023: an old session.
    note(&lab, "sessions", "ses-1", commit_of(&lab, &id), "{}");
    assert_eq!(
        ids(&run(&lab, 14, 0, DryRun::Yes).expect("planned")),
        [id.as_str()]
    );
    let days = (lab.ctx().env.now().seconds() - 1_700_000_000) / 86_400 + 2;
    let days = u32::try_from(days).expect("small");
    assert!(
        run(&lab, days, 0, DryRun::Yes)
            .expect("planned")
            .forgotten
            .is_empty()
    );
}

#[test]
fn orphan_chats_go_when_older_than_a_day() {
    let lab = Lab::with_commit();
    let id = lab.snapshot("now").id;
    let on = commit_of(&lab, &id);
    let young = format!(
        "i_{}_aaaaaa",
        lab.ctx().env.now().utc().format("%Y%m%d_%H%M%S")
    );
    for (kind, name) in [
        ("chats", "i_20200101_000000_aaaaaa"),
        ("chats", "i_20200101_000000_bbbbbb"),
        ("issues", "i_20200101_000000_bbbbbb"),
        ("chats", &young),
    ] {
        note(&lab, kind, name, on, r#"{"status":"fixed"}"#);
    }
    run(&lab, 14, 0, DryRun::No).expect("pruned");
    let left = lab.git(&["for-each-ref", "--format=%(refname)", "refs/notes", RECORDS]);
    assert!(!left.contains("i_20200101_000000_aaaaaa"), "{left}");
    assert_eq!(
        left.matches("i_20200101_000000_bbbbbb").count(),
        4,
        "{left}"
    );
    assert_eq!(left.matches(&young).count(), 2, "{left}");
}

#[test]
fn an_undo_level_and_its_backup_go_together() {
    let lab = Lab::with_commit();
    let backup = lab.old(BACKUP);
    lab.level("undo", "00000001-old", "2020-01-01T00:00:00Z", &backup);
    let kept = run(&lab, 0, 0, DryRun::No).expect("pruned");
    assert!(kept.forgotten.is_empty(), "one of fewer than 100 levels");
    for nth in 0..100 {
        let now = Moment(lab.ctx().env.now().0).rfc3339();
        lab.level(
            "undo",
            &format!("{:08}-new", nth + 2),
            &now,
            "b_20200101_000000_dddddd",
        );
    }
    let planned = run(&lab, 0, 0, DryRun::Yes).expect("planned");
    assert_eq!(ids(&planned), [backup.as_str()]);
    assert!(lab.path(".git/timewarp/undo/00000001-old.json").exists());
    let pruned = run(&lab, 0, 0, DryRun::No).expect("pruned");
    assert_eq!(ids(&pruned), [backup.as_str()]);
    assert!(!lab.path(".git/timewarp/undo/00000001-old.json").exists());
    assert!(lab.path(".git/timewarp/undo/00000002-new.json").exists());
}

#[test]
fn in_the_past_what_it_needs_and_every_undo_level_stay() {
    let lab = Lab::with_commit();
    let (past, backup) = (lab.old(OLD), lab.old(BACKUP));
    let other = lab.old("s_20200102_000000_bbbbbb");
    lab.level("undo", "00000001-old", "2020-01-01T00:00:00Z", &backup);
    for nth in 0..100 {
        let now = Moment(lab.ctx().env.now().0).rfc3339();
        let name = format!("{:08}-new", nth + 2);
        lab.level("undo", &name, &now, "b_20200101_000000_dddddd");
    }
    lab.set_state(&State {
        mode: Mode::Past,
        current_snapshot_id: Some(past.clone()),
        ..State::default()
    });
    let pruned = run(&lab, 0, 0, DryRun::No).expect("pruned");
    assert_eq!(ids(&pruned), [other.as_str()]);
    assert!(lab.has(&past) && lab.has(&backup));
    assert!(lab.path(".git/timewarp/undo/00000001-old.json").exists());
}

fn listed(lab: &Lab) -> Vec<(String, bool, bool)> {
    told(dropped(&lab.ctx(), &[]).expect("listed"))
}

fn told(found: DroppedListing) -> Vec<(String, bool, bool)> {
    let found = found.dropped.into_iter();
    found
        .map(|one| (one.id, one.available, one.restored))
        .collect()
}

#[test]
fn what_was_dropped_comes_back_while_git_has_it() {
    let lab = Lab::with_commit();
    lab.write("only-here", "precious\n");
    let one = lab.old(OLD);
    lab.write("only-here", "less so\n");
    let two = lab.old(OLDER);
    std::fs::remove_file(lab.path("only-here")).expect("removed");
    let commit = commit_of(&lab, &one);
    run(&lab, 0, 0, DryRun::No).expect("pruned");
    let mode = std::os::unix::fs::PermissionsExt::mode;
    let meta = lab
        .path(".git/timewarp/log.jsonl")
        .metadata()
        .expect("there");
    assert_eq!(mode(&meta.permissions()) & 0o777, 0o600);
    let mut found = listed(&lab);
    found.sort();
    assert_eq!(
        found,
        [(one.clone(), true, false), (two.clone(), true, false)]
    );
    let error = dropped(&lab.ctx(), &["zzzz".to_owned()]).expect_err("unknown");
    assert_eq!(error.code(), Code::SnapshotNotFound);
    let restored = dropped(&lab.ctx(), &["aaaaaa".to_owned()]).expect("restored");
    assert!(told(restored).contains(&(one.clone(), true, true)));
    assert_eq!(commit_of(&lab, &one), commit);
    assert_eq!(listed(&lab), [(two.clone(), true, false)]);
    lab.git(&["-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now"]);
    assert_eq!(listed(&lab), [(two.clone(), false, false)]);
    let error = dropped(&lab.ctx(), std::slice::from_ref(&two)).expect_err("gone");
    assert_eq!(error.code(), Code::SnapshotNotFound);
    assert!(!lab.has(&two));
    let blob = lab.git(&["cat-file", "blob", &format!("{commit}:only-here")]);
    assert_eq!(blob, "precious\n");
}

/// A blob that is gone makes the commit useless, and a ref to it would make every gc fail.
#[test]
fn a_torn_snapshot_is_not_brought_back() {
    let lab = Lab::with_commit();
    lab.write("only-here", "precious\n");
    let id = lab.old(OLD);
    let blob = lab.git(&["hash-object", "only-here"]);
    run(&lab, 0, 0, DryRun::No).expect("pruned");
    let file = lab.path(&format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()));
    std::fs::remove_file(file).expect("a loose blob");
    assert_eq!(listed(&lab), [(id.clone(), false, false)]);
    assert!(dropped(&lab.ctx(), std::slice::from_ref(&id)).is_err());
    assert!(!lab.has(&id));
    lab.git(&["gc", "-q"]);
}

#[test]
fn what_left_the_undo_log_tells_of_its_swap_for_a_month_and_holds_nothing() {
    let lab = Lab::with_commit();
    let backup = lab.old(BACKUP);
    lab.level("swaps", "20200101000000-1", "2020-01-01T00:00:00Z", &backup);
    let now = lab.ctx().env.now().rfc3339();
    lab.level("swaps", "20990101000000-2", &now, &backup);
    let left = || -> Vec<String> {
        let files = std::fs::read_dir(lab.path(".git/timewarp/swaps")).expect("there");
        let names = files.map(|file| file.expect("read").file_name().into_string());
        names.map(|name| name.expect("plain")).collect()
    };
    run(&lab, 14, 200, DryRun::Yes).expect("planned");
    assert_eq!(left().len(), 2);
    let pruned = run(&lab, 14, 200, DryRun::No).expect("pruned");
    assert_eq!(ids(&pruned), [backup.as_str()]);
    assert_eq!(left(), ["20990101000000-2.json"]);
}

/// Whoever comes second sees the other.
#[test]
fn a_label_and_a_drop_at_once_never_leave_a_label_without_its_snapshot() {
    let lab = Lab::with_commit();
    for nth in 0..20 {
        let id = lab.snapshot("contested").id;
        let name = format!("contested-{nth}");
        let (labelled, dropped) = std::thread::scope(|scope| {
            let label = scope.spawn(|| {
                let request = Label {
                    address: Some(id.clone()),
                    name: name.clone(),
                    remove: false,
                };
                crate::ops::label::label(&lab.ctx(), &request)
            });
            let dropped = forget(&lab, &id, false);
            (label.join().expect("no panic"), dropped)
        });
        assert!(
            labelled.is_ok() != dropped.is_ok(),
            "{labelled:?} {dropped:?}"
        );
        assert_eq!(lab.has(&id), labelled.is_ok());
    }
}
