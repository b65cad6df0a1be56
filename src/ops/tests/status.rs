use super::Lab;
use crate::ops::outcome::Counts;
use crate::ops::status::{prompt_line, status};
use crate::store::names::SNAPSHOTS;
use crate::store::state::{Mode, State};

fn past(lab: &Lab) -> String {
    let id = lab.snapshot("then").id;
    lab.set_state(&State {
        mode: Mode::Past,
        current_snapshot_id: Some(id.clone()),
        ..State::default()
    });
    id
}

#[test]
fn a_repository_that_tw_never_saw_is_in_the_present() {
    let lab = Lab::with_commit();
    let ctx = lab.ctx();
    let said = status(&ctx).expect("status");
    assert_eq!(said.mode, Mode::Present);
    assert_eq!(said.state["mode"], "present");
    assert_eq!(
        said.state["workspace_root"],
        lab.dir().to_str().expect("plain")
    );
    assert!(said.interrupted.is_none() && said.latest.is_none() && said.current.is_none());
    assert_eq!(
        said.repository.head.reference.as_deref(),
        Some("refs/heads/main")
    );
    assert_eq!(said.repository.head.oid, Some(lab.rev("HEAD")));
    let none = Counts {
        snapshots: 0,
        backups: 0,
        experiments: 0,
    };
    assert_eq!(said.repository.counts, none);
    assert!(!lab.path(".git/timewarp").exists(), "status writes nothing");
    assert_eq!(prompt_line(lab.dir()), None);
}

#[test]
fn the_past_says_where_it_stands() {
    let lab = Lab::with_commit();
    let id = past(&lab);
    let said = status(&lab.ctx()).expect("status");
    assert_eq!(said.mode, Mode::Past);
    assert_eq!(
        said.current.map(|view| view.id).as_deref(),
        Some(id.as_str())
    );
    assert_eq!(
        said.latest.map(|view| view.id).as_deref(),
        Some(id.as_str())
    );
    let tail = id.rsplit('_').next().expect("a tail");
    let line = format!("tw:past {tail}");
    assert_eq!(prompt_line(&lab.path("dir")), Some(line));
}

#[test]
fn the_line_of_a_prompt_has_nothing_but_an_id_of_what_is_written() {
    let lab = Lab::with_commit();
    past(&lab);
    for (id, line) in [
        ("s_20260101_000000_$(touch planted)", "tw:past"),
        ("s_`id`", "tw:past"),
        ("s_20260101_000000_ab12cd", "tw:past ab12cd"),
    ] {
        let state = serde_json::json!({"version": 1, "mode": "past", "current_snapshot_id": id});
        std::fs::write(lab.path(".git/timewarp/state.json"), state.to_string()).expect("written");
        assert_eq!(prompt_line(lab.dir()).as_deref(), Some(line));
    }
}

#[test]
fn a_snapshot_that_is_gone_is_a_notice() {
    let lab = Lab::with_commit();
    let id = past(&lab);
    lab.git(&["update-ref", "-d", &format!("{SNAPSHOTS}{id}")]);
    let said = status(&lab.ctx()).expect("status");
    assert!(said.current.is_none());
    assert!(said.notices[0].contains(&id), "{:?}", said.notices);
}

#[test]
fn only_a_swap_that_nobody_is_at_is_an_interruption() {
    let lab = Lab::with_commit();
    let ctx = lab.ctx();
    let store = ctx.store().expect("store");
    let lock = ctx.lock(&store.dir, "travel").expect("locked");
    let journal = super::lab::journal();
    store.dir.write_journal(&journal).expect("written");
    let said = status(&lab.ctx()).expect("status");
    assert!(said.interrupted.is_none());
    assert!(said.notices[0].contains("travel is under way"));
    assert_eq!(prompt_line(lab.dir()), None);
    drop(lock);
    let said = status(&lab.ctx()).expect("status");
    let interrupted = said.interrupted.expect("interrupted");
    assert_eq!(interrupted.swap_id, "travel-abcdef");
    assert_eq!(prompt_line(lab.dir()).as_deref(), Some("tw:interrupted"));
}

#[test]
fn each_worktree_has_its_own_line() {
    let lab = Lab::with_commit();
    past(&lab);
    let other = lab.dir().with_file_name("other");
    let dir = other.to_str().expect("plain");
    lab.git(&["worktree", "add", "-q", "--detach", dir]);
    assert_eq!(prompt_line(&other), None);
    assert_eq!(
        status(&lab.ctx_in(&other)).expect("status").mode,
        Mode::Present
    );
    assert!(prompt_line(lab.dir()).is_some());
    std::fs::write(lab.path(".git/timewarp/state.json"), "{").expect("torn");
    assert_eq!(prompt_line(lab.dir()).as_deref(), Some("tw:unreadable"));
    assert_eq!(prompt_line(&lab.dir().with_file_name("nowhere")), None);
}
