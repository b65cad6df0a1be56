//! Kills at any moment of an exchange: what comes after one is as if there had been none. Refs are in files: a table has all of an
//! exchange or nothing.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};

use super::hub::{Clone_, Hub};
use crate::sandbox::Kind;

/// Kills a command once it has placed so many refs. False: it was done before that.
fn killed(clone: &Clone_<'_>, verb: &str, nth: usize) -> bool {
    killed_at(clone, &[verb], &format!("ref-placed:{nth}"))
}

fn killed_at(clone: &Clone_<'_>, args: &[&str], point: &str) -> bool {
    let mut command = clone.command();
    let ran = command.env("TW_FAIL_POINT", point).args(args).output();
    let ran = ran.unwrap();
    assert!(ran.status.code().is_none_or(|code| code == 0), "{ran:?}");
    ran.status.signal() == Some(9)
}

/// Kills a pull of one record when that is written and our side is not.
fn killed_before_the_end(clone: &Clone_<'_>) {
    let own = || clone.in_depot(&["rev-parse", "refs/records/own"]);
    let before = own();
    // What our side becomes, and both refs of the record.
    assert!(killed(clone, "pull", 3));
    assert_eq!(own(), before);
}

fn set_cause(clone: &Clone_<'_>, id: &str, cause: &str) {
    clone.json(["issue", "edit", id, "--suspected-cause", cause]);
}

/// The cause that an issue has, and the values that lost against it.
fn cause(clone: &Clone_<'_>, id: &str) -> (Value, Vec<Value>) {
    let issue = clone.json(["issue", "get", id])["issue"].clone();
    let lost = issue["conflicts"].as_array().into_iter().flatten();
    let lost = lost.map(|one| one["value"].clone()).collect();
    (issue["suspected_cause"].clone(), lost)
}

/// Nothing was edited there, so nothing goes.
fn assert_sends_nothing(clone: &Clone_<'_>) {
    assert_eq!(clone.json(["share", "status"])["to_push"], json!([]));
    assert_eq!(clone.json(["push"])["sent"], json!([]));
}

#[test]
fn a_pull_that_dies_anywhere_makes_no_edit_of_what_others_wrote() {
    let hub = Hub::of(Kind::ref_files());
    let a = hub.sharing("a");
    let id = a.report("s");
    a.json(["push"]);
    for nth in 1.. {
        let c = hub.sharing(&format!("c{nth}"));
        c.json(["pull"]);
        let guess = format!("guess {nth}");
        set_cause(&a, &id, &guess);
        a.json(["push"]);
        let died = killed(&c, "pull", nth);
        assert_sends_nothing(&c);
        c.json(["pull"]);
        assert_sends_nothing(&c);
        assert_eq!(cause(&c, &id), (json!(guess), vec![]), "{nth}");
        hub.assert_same(&[&c]);
        let refs = c.in_depot(&["for-each-ref", "--format=%(refname)", "refs/records"]);
        assert!(!refs.contains("taking"), "{refs}");
        if !died {
            assert_eq!(nth, 6);
            return;
        }
    }
}

#[test]
fn a_pull_after_one_that_died_may_die_as_well() {
    let hub = Hub::of(Kind::ref_files());
    let a = hub.sharing("a");
    let ids = [a.report("s"), a.report("t")];
    a.json(["push"]);
    // What the one that died had put is in our side; that note is gone; the next stands; a record is written.
    for nth in 1..=5 {
        let c = hub.sharing(&format!("c{nth}"));
        c.json(["pull"]);
        set_cause(&a, &ids[0], &format!("first {nth}"));
        a.json(["push"]);
        killed_before_the_end(&c);
        set_cause(&a, &ids[1], &format!("second {nth}"));
        a.json(["push"]);
        assert!(killed(&c, "pull", nth));
        assert_sends_nothing(&c);
        hub.assert_same(&[&c]);
        assert_sends_nothing(&c);
        for (id, which) in ids.iter().zip(["first", "second"]) {
            assert_eq!(cause(&c, id), (json!(format!("{which} {nth}")), vec![]));
        }
    }
}

#[test]
fn who_edits_after_a_pull_that_died_edits_what_came() {
    let hub = Hub::of(Kind::ref_files());
    let (a, b) = hub.two();
    let c = hub.sharing("c");
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    set_cause(&a, &id, "the cache");
    a.json(["push"]);
    c.json(["pull"]);
    set_cause(&b, &id, "a lock");
    b.json(["push"]);
    killed_before_the_end(&c);
    // Nobody at c has decided.
    assert_sends_nothing(&c);
    let both = (json!("a lock"), vec![json!("the cache")]);
    for clone in [&a, &b, &c] {
        clone.json(["pull"]);
        assert_eq!(cause(clone, &id), both);
    }
    // Somebody has who says again what stood there before.
    set_cause(&a, &id, "a loop");
    a.json(["push"]);
    killed_before_the_end(&c);
    set_cause(&c, &id, "a lock");
    c.json(["push"]);
    for clone in [&a, &b, &c] {
        clone.json(["pull"]);
        assert_eq!(cause(clone, &id), (json!("a lock"), vec![]));
    }
    hub.assert_same(&[&a, &b, &c]);
}

#[test]
fn what_a_pull_that_died_had_put_into_an_issue_of_ours_is_of_others() {
    let hub = Hub::of(Kind::ref_files());
    let (a, b) = hub.two();
    let id = a.report("ours");
    a.json(["push"]);
    b.json(["pull"]);
    set_cause(&b, &id, "b's");
    b.json(["push"]);
    killed_before_the_end(&a);
    hub.sandbox
        .git_in(hub.sandbox.root(), ["init", "-q", "--bare", "other.git"]);
    let other = hub.sandbox.root().join("other.git");
    a.git(["remote", "add", "other", other.to_str().unwrap()]);
    let said = format!(
        "fields that others set in issues of yours go to 'other' with them: {id} (suspected_cause)"
    );
    let named = a.json(["share", "init", "other"]);
    assert_eq!(named["notices"], json!([said]));
}

#[test]
fn a_purge_that_dies_after_a_pull_that_died_forgets_none_of_it() {
    let hub = Hub::of(Kind::ref_files());
    let (a, b) = hub.two();
    let id = a.report("s");
    a.write("notes", "my private notes\n");
    a.json(["snapshot"]);
    a.json(["push", "--snapshots", "latest"]);
    b.json(["pull"]);
    set_cause(&b, &id, "b's");
    b.json(["push"]);
    killed_before_the_end(&a);
    std::fs::remove_file(a.dir.join("notes")).unwrap();
    let purge = ["purge", "notes", "--yes-purge"];
    assert!(killed_at(&a, &purge, "depot-removed"));
    let waits = a.depot().with_extension("git.next");
    assert_eq!((a.depot().exists(), waits.exists()), (false, true));
    // Looking needs no depot in its place.
    assert_eq!(a.json(["share", "status"])["to_push"], json!([]));
    a.json(["push"]);
    assert_eq!((a.depot().exists(), waits.exists()), (true, false));
    assert_sends_nothing(&a);
    hub.assert_same(&[&a]);
}

#[test]
fn who_dies_while_another_remote_is_named_has_named_none() {
    let hub = Hub::of(Kind::ref_files());
    let a = hub.sharing("a");
    a.report("s");
    a.json(["push"]);
    let elsewhere = hub.sandbox.root().join("elsewhere.git");
    a.git(["remote", "add", "other", elsewhere.to_str().unwrap()]);
    let init = ["share", "init", "other"];
    assert!(killed_at(&a, &init, "exchanged-forgotten"));
    assert_eq!(a.json(["share", "status"])["on"], false);
    assert_eq!(a.json_error(["push"]).0["code"], "INVALID_CONFIG");
    assert_eq!(a.json(init)["remote"], "other");
}

#[test]
fn a_push_that_dies_anywhere_leaves_no_conflict_that_was_decided() {
    let hub = Hub::of(Kind::ref_files());
    let (a, b) = hub.two();
    for nth in 1.. {
        let id = a.report("s");
        a.json(["push"]);
        b.json(["pull"]);
        set_cause(&b, &id, "b's");
        b.json(["push"]);
        set_cause(&a, &id, "a's");
        a.json(["pull"]);
        assert_eq!(cause(&a, &id).1, [json!("b's")]);
        // As a program does that knows of no conflicts.
        a.plant(&id, |issue| issue["suspected_cause"] = json!("both"));
        let died = killed(&a, "push", nth);
        a.json(["push"]);
        b.json(["pull"]);
        for clone in [&a, &b] {
            assert_eq!(cause(clone, &id), (json!("both"), vec![]), "{nth}");
        }
        hub.assert_same(&[&a, &b]);
        if !died {
            assert_eq!(nth, 8);
            return;
        }
    }
}
