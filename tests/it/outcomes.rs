//! Made-up outcomes of every command: their JSON keeps to the schemas, and people see them as intended.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};
use timewarp::agents::install::{Holds, Scope};
use timewarp::cli::diff::{DiffPage, Form};
use timewarp::cli::human::screen::Screen;
use timewarp::cli::human::style::Style;
use timewarp::cli::human::{Human, RenderOptions};
use timewarp::env::Moment;
use timewarp::git::Oid;
use timewarp::git::path::RepoPath;
use timewarp::ops::install::{AgentFile, AgentFiles, FileChange, Installed};
use timewarp::ops::list::Listing;
use timewarp::ops::outcome::{
    Aftermath, Changes, Check, CheckStatus, Checkup, Closed, CommitMade, ConfigEntry,
    ConfigListing, Counts, DetachedBy, Diff, Dropped, DroppedListing, FileDiff, Forgotten, Head,
    HeadReport, HeadStays, Interrupted, Invalid, Labelled, Listed, MovedAside, Opened, OtherDiff,
    OtherKind, Pruned, Purged, Recovered, RecoveryAction, RepositoryInfo, Restored, Returned,
    Rewritten, SessionHere, Shown, SnapshotView, Status, Taken, Travelled, Work, WorkedOn,
};
use timewarp::ops::steps::{LevelView, Levels, Undone};
use timewarp::ops::swap::undo_log::Log;
use timewarp::store::state::Mode;
use timewarp::store::trigger::SwapKind;
use timewarp::wire;

use crate::schema;

const ID: &str = "s_20260228_153012_ab12cd";

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

fn oid(digit: char) -> Oid {
    Oid::from_hex(&digit.to_string().repeat(40)).unwrap()
}

fn path(bytes: &[u8]) -> RepoPath {
    RepoPath::new(bytes)
}

fn snapshot() -> SnapshotView {
    SnapshotView {
        id: ID.to_owned(),
        kind: "snapshot".to_owned(),
        commit: oid('1'),
        tree: oid('2'),
        title: "before the \u{1b}[31mrefactor".to_owned(),
        labels: vec!["before-refactor".to_owned()],
        foreign: false,
        json: map(json!({
            "version": 1, "snapshot_id": ID, "kind": "snapshot", "created_at": "2026-02-28T15:30:12Z",
            "session_id": null, "agent": "claude", "worktree": "main", "workspace_root": "/work/tree",
            "trigger": "manual", "label": "before-refactor", "initial_task_hint": null,
            "exclude_globs": ["node_modules/"], "env_fingerprint": {"git": "2.47.3", "go": null},
            "head": {"ref": "refs/heads/main", "oid": "1234567890123456789012345678901234567890", "detached": false, "unborn": false},
            "in_progress": null,
            "index": {"conflicts": [], "intent_to_add": ["new.txt"], "skip_worktree": [], "assume_unchanged": []},
            "seq": 412, "repository_id": "r", "taken_in": "present", "modes": {"secret.key": "0600"},
            "empty_dirs": ["logs"],
            "stats": {"files": 8123, "bytes": 91_234_567, "new_objects": 3, "new_bytes": 5120},
            "uncaptured": [
                {"path": "vendor/lib", "reason": "nested-repository"},
                {"path": "big.bin", "reason": "larger-than-limit", "bytes": 734_003_200},
            ],
        })),
    }
}

fn shown_snapshot() -> Shown {
    Shown {
        snapshot: snapshot(),
        diff: None,
    }
}

fn changes() -> Changes {
    Changes {
        written: vec![path(b"a.txt"), path(b"odd\xff\nname")],
        removed: vec![path(b"gone")],
    }
}

fn travelled() -> Travelled {
    Travelled {
        members: Vec::new(),
        mode: Mode::Past,
        snapshot_id: ID.to_owned(),
        snapshot: snapshot(),
        backup_id: Some("b_20260228_160000_000001".to_owned()),
        experiment_id: None,
        commits_made: Vec::new(),
        dry_run: false,
        changes: changes(),
        guard_token: Some("token".to_owned()),
        files_only: false,
        notices: vec!["a rebase is not revived".to_owned()],
    }
}

fn returned() -> Returned {
    Returned {
        members: Vec::new(),
        mode: Mode::Present,
        backup_id: "b_20260228_160000_000001".to_owned(),
        experiment_id: Some("x_20260228_161000_000002".to_owned()),
        dry_run: false,
        verified: true,
        changes: changes(),
        aftermath: Aftermath {
            changed_since: vec![path(b"other\xfe")],
            head: HeadReport {
                reference: Some("refs/heads/main".to_owned()),
                oid: Some(oid('3')),
                restored: false,
                reason: Some(DetachedBy::BranchMoved),
            },
            commits_made: vec![CommitMade {
                oid: oid('4'),
                title: "try it".to_owned(),
            }],
            commits_branch: None,
            stayed: vec![path(b"target/")],
            moved_aside: vec![MovedAside {
                from: path(b"pipe"),
                to: path(b"pipe.tw-past-ab12cd"),
            }],
            discarded: vec![path(b"huge.bin")],
            kept: vec![path(b"notes.md")],
        },
        notices: Vec::new(),
    }
}

fn restored() -> Restored {
    Restored {
        snapshot_id: ID.to_owned(),
        snapshot: snapshot(),
        backup_id: Some("b_20260228_160000_000001".to_owned()),
        dry_run: false,
        staged: false,
        lines: None,
        changes: changes(),
        notices: Vec::new(),
        declined: false,
    }
}

fn level() -> LevelView {
    LevelView {
        level: 1,
        swap_id: "return-abc".to_owned(),
        operation: SwapKind::Return,
        at: "2026-02-28T16:00:00Z".to_owned(),
        mode_before: Mode::Past,
        mode_after: Mode::Present,
        snapshot_id: Some(ID.to_owned()),
        backup_id: "x_20260228_160000_000003".to_owned(),
        paths: 2,
    }
}

fn undone() -> Undone {
    Undone {
        members: Vec::new(),
        direction: Log::Undo,
        operation: SwapKind::Return,
        level: level(),
        dry_run: false,
        mode: Mode::Past,
        backup_id: Some("b_20260228_160000_000003".to_owned()),
        experiment_id: None,
        changes: changes(),
        changed_since: vec![path(b"a.txt")],
        stayed: Vec::new(),
        returned: None,
        head_stayed: Some(HeadStays::Moved),
        notices: Vec::new(),
    }
}

fn recovered() -> Recovered {
    Recovered {
        action: RecoveryAction::RolledBack,
        operation: Some(SwapKind::Travel),
        rescue_id: Some("b_20260228_160000_000004".to_owned()),
        differing: vec![path(b"a.txt")],
        changes: changes(),
        notices: Vec::new(),
    }
}

fn status() -> Status {
    Status {
        workspace: None,
        mode: Mode::Past,
        state: map(json!({
            "current_snapshot_id": ID, "backup_id": "b_20260228_160000_000001", "entered_at": "2026-02-28T16:00:00Z",
        })),
        interrupted: Some(Interrupted {
            operation: SwapKind::Return,
            swap_id: "w1".to_owned(),
            since: "2026-02-28T16:29:00Z".to_owned(),
        }),
        repository: RepositoryInfo {
            private: false,
            workspace_root: "/work/tree".into(),
            worktree: "main".to_owned(),
            git_dir: "/work/tree/.git".into(),
            repository_id: Some("r".to_owned()),
            head: Head {
                reference: None,
                oid: Some(oid('3')),
            },
            counts: Counts {
                snapshots: 12,
                backups: 1,
                experiments: 0,
            },
        },
        latest: Some(snapshot()),
        current: Some(snapshot()),
        work: Work {
            changed: None,
            in_progress: Some("rebase-merge+cherry-pick".to_owned()),
            conflicts: 2,
            issue: Some(WorkedOn {
                issue_id: "i1".to_owned(),
                symptom: "it\u{1b}[31m fails".to_owned(),
                since: None,
            }),
            session: Some(SessionHere {
                session_id: "s1".to_owned(),
                agent: Some("claude".to_owned()),
            }),
        },
        notices: Vec::new(),
    }
}

fn file(name: &str, status: char, insertions: usize, deletions: usize) -> FileDiff {
    FileDiff {
        path: path(name.as_bytes()),
        status,
        old_mode: if status == 'A' { 0 } else { 0o100_644 },
        new_mode: if status == 'D' { 0 } else { 0o100_644 },
        old_oid: None,
        new_oid: Some(oid('5')),
        insertions,
        deletions,
        binary: false,
        missing: false,
        patch: Some(b"--- a\n+++ b\n@@ -1 +1 @@\n-\tone\n+\x1b[2Jtwo\xff\n".to_vec()),
    }
}

fn other(kind: OtherKind, path: Option<&str>, old: Option<&str>, new: Option<&str>) -> OtherDiff {
    OtherDiff {
        kind,
        path: path.map(RepoPath::new),
        old: old.map(str::to_owned),
        new: new.map(str::to_owned),
    }
}

fn diff() -> Diff {
    let mut mode = file("run.sh", 'M', 0, 0);
    mode.new_mode = 0o100_755;
    let mut binary = file("logo.png", 'M', 0, 0);
    binary.binary = true;
    Diff {
        from: ID.to_owned(),
        to: "present".to_owned(),
        files: vec![
            file("a.txt", 'M', 3, 1),
            binary,
            file("new.txt", 'A', 12, 0),
            file("old.txt", 'D', 0, 4),
            mode,
        ],
        insertions: 15,
        deletions: 5,
        others: vec![
            other(OtherKind::Mode, Some("a.txt"), Some("0644"), Some("0600")),
            other(
                OtherKind::EmptyDirectory,
                Some("empty"),
                None,
                Some("there"),
            ),
            other(
                OtherKind::Index,
                Some("new.txt"),
                None,
                Some("intent-to-add"),
            ),
            other(
                OtherKind::Head,
                None,
                Some("refs/heads/main 0123456789012345678901234567890123456789"),
                Some("0123456789012345678901234567890123456789"),
            ),
            other(OtherKind::Operation, None, None, Some("merge")),
        ],
    }
}

fn listed(view: SnapshotView) -> Listed {
    let text = |name: &str| view.json.get(name).and_then(Value::as_str);
    Listed {
        kind: "snapshot",
        labels: view.labels.clone(),
        worktree: text("worktree").unwrap_or_default().to_owned(),
        taken_in: text("taken_in").unwrap_or_default().into(),
        created_at: text("created_at").unwrap_or_default().to_owned(),
        document: serde_json::to_string(&view.json).unwrap(),
        id: view.id,
        commit: view.commit,
        tree: view.tree,
        title: view.title,
        foreign: view.foreign,
    }
}

fn listing() -> Listing {
    let mut backup = snapshot();
    "b_20260227_100000_zz99zz".clone_into(&mut backup.id);
    "before travel".clone_into(&mut backup.title);
    backup.json =
        map(json!({"version": 1, "created_at": "2026-02-27T10:00:00Z", "worktree": "side"}));
    backup.foreign = true;
    backup.labels.clear();
    let mut backup = listed(backup);
    backup.kind = "backup";
    Listing {
        snapshots: vec![listed(snapshot()), backup],
        shared: Vec::new(),
        unique_tail: vec![4, 4],
        invalid: vec![Invalid {
            id: "s_20260101_000000_aaaaaa".to_owned(),
            reason: "no JSON".to_owned(),
        }],
        total: 3,
        chosen: false,
    }
}

fn pruned() -> Pruned {
    Pruned {
        dry_run: false,
        forgotten: vec![Forgotten {
            id: ID.to_owned(),
            kind: "snapshot".to_owned(),
            commit: oid('1'),
            created_at: "2026-02-28T15:30:12Z".to_owned(),
            bytes: 5120,
        }],
        kept: 11,
        bytes: 5120,
        reclaimed: 0,
        notices: Vec::new(),
    }
}

fn purged() -> Purged {
    Purged {
        dry_run: false,
        paths: vec![path(b"config/secret")],
        rewritten: vec![Rewritten {
            id: ID.to_owned(),
            old: oid('1'),
            new: oid('6'),
        }],
        unreachable: vec!["branch 'main' has it".to_owned()],
        finish: "git gc --prune=now".to_owned(),
    }
}

fn checkup() -> Checkup {
    let check = |name, status, fix: Option<&str>| Check {
        name,
        status,
        message: "as found".to_owned(),
        fix: fix.map(str::to_owned),
    };
    Checkup {
        checks: vec![
            check("refs", CheckStatus::Ok, None),
            check("cache", CheckStatus::Warning, None),
            check("journal", CheckStatus::Error, Some("tw recover")),
        ],
    }
}

fn config() -> ConfigListing {
    ConfigListing {
        entries: vec![ConfigEntry {
            key: "keep_days",
            value: json!(14),
            origin: "default".to_owned(),
            description: "how long snapshots are kept",
        }],
        warnings: vec!["'lock_timeout' in .timewarp/config.toml does not count".to_owned()],
    }
}

fn opened() -> Opened {
    Opened {
        snapshot_id: ID.to_owned(),
        snapshot: snapshot(),
        dir: "/work/tree.tw/ab12cd".into(),
        files: 8123,
        notices: Vec::new(),
    }
}

fn closed() -> Closed {
    Closed {
        dir: "/work/tree.tw/ab12cd".into(),
        experiment_id: None,
        refs_made: None,
        notices: Vec::new(),
    }
}

fn labelled() -> Labelled {
    Labelled {
        snapshot_id: ID.to_owned(),
        snapshot: snapshot(),
        label: "before-refactor".to_owned(),
        removed: false,
        notices: Vec::new(),
    }
}

fn initialised() -> Installed {
    Installed {
        dry_run: true,
        changed: vec![".timewarp/config.toml".into()],
        unchanged: vec![".git/info/exclude".into()],
        agents: vec![AgentFiles {
            name: "claude",
            title: "Claude Code",
            found: vec!["/usr/bin/claude".into()],
            files: vec![AgentFile {
                path: ".mcp.json".into(),
                leads_to: ".mcp.json".into(),
                is_shared: false,
                scope: Scope::Project,
                holds: vec![Holds::Mcp],
                became: FileChange::Unchanged,
            }],
        }],
        ..Installed::default()
    }
}

fn taken() -> Taken {
    Taken {
        snapshot: snapshot(),
        fresh: true,
        notices: vec!["'.env' looks like a secret".to_owned()],
    }
}

fn dropped() -> DroppedListing {
    let one = Dropped {
        id: ID.to_owned(),
        commit: oid('1'),
        at: "2026-02-28T16:00:00Z".to_owned(),
        available: true,
        restored: false,
    };
    DroppedListing { dropped: vec![one] }
}

fn keeps_to(name: &str, outcome: &impl Serialize) {
    let document = wire::value(outcome);
    schema::check(name, &document);
    let text: Value = serde_json::from_str(&wire::text(outcome)).unwrap();
    assert_eq!(text, document, "{name}");
}

#[test]
fn every_outcome_keeps_to_its_schema() {
    keeps_to("snapshot", &taken());
    keeps_to("list", &listing());
    keeps_to("show", &shown_snapshot());
    keeps_to("diff", &diff());
    keeps_to("status", &status());
    keeps_to("travel", &travelled());
    keeps_to("return", &returned());
    keeps_to("restore", &restored());
    keeps_to("undo", &undone());
    keeps_to("redo", &undone());
    let levels = Levels {
        levels: vec![level()],
    };
    keeps_to("undo-list", &levels);
    keeps_to("redo-list", &levels);
    keeps_to("recover", &recovered());
    keeps_to("recover-dropped", &dropped());
    keeps_to("open", &opened());
    keeps_to("close", &closed());
    keeps_to("label", &labelled());
    keeps_to("prune", &pruned());
    keeps_to("drop", &pruned());
    keeps_to("purge", &purged());
    keeps_to("init", &initialised());
    keeps_to("config", &config());
    keeps_to("doctor", &checkup());
}

#[test]
fn the_shapes_that_scripts_rely_on_stay() {
    let travel = wire::value(&travelled());
    assert_eq!(travel["mode"], "past");
    assert_eq!(travel["snapshot_id"], ID);
    assert_eq!(
        travel["changes"],
        json!({
            "written": ["a.txt", "odd\u{fffd}\nname"], "written_bytes": [null, "b2Rk/wpuYW1l"],
            "removed": ["gone"],
        })
    );
    let diff = wire::value(&diff());
    assert_eq!(diff["files"][2]["old_mode"], "000000");
    assert_eq!(diff["files"][4]["new_mode"], "100755");
    assert_eq!(diff["files"][0]["status"], "M");
    assert_eq!(wire::value(&returned())["head"]["reason"], "branch-moved");
    let record = &wire::value(&taken())["snapshot"];
    assert_eq!(record["commit"], "1".repeat(40));
    assert_eq!(record["stats"]["files"], 8123);
}

fn look() -> RenderOptions {
    RenderOptions {
        style: Style::new(false),
        terminal: false,
        screen: Screen {
            columns: None,
            unicode: true,
        },
        quiet: false,
        verbose: false,
        now: Moment::parse_rfc3339("2026-02-28T16:30:12Z").unwrap(),
    }
}

/// Everything that is printed, notes and hints below.
fn shown(outcome: &impl Human, look: &RenderOptions) -> String {
    let page = outcome.page(look);
    let mut text = String::from_utf8_lossy(&page.text).into_owned();
    for note in &page.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for hint in &page.hints {
        let _ = writeln!(text, "hint: {hint}");
    }
    text
}

#[test]
fn pages_read_as_intended() {
    for (page, expected) in [
        (
            shown(&taken(), &look()),
            "s_20260228_153012_ab12cd  before the \\u{1b}[31mrefactor\n\
             \x20 8,123 files, 87.0 MiB; 3 new objects, 5.0 KiB\n\
             \x20 label: before-refactor\n\
             \x20 not captured, nested-repository: vendor/lib\n\
             \x20 not captured, larger-than-limit: big.bin (700.0 MiB)\n\
             note: '.env' looks like a secret\n",
        ),
        (
            shown(&listing(), &look()),
            "s_20260228_153012_ab12cd  1 hour ago  snapshot    main:  before the \\u{1b}[31mrefactor  [before-refactor]\n\
             b_20260227_100000_zz99zz  1 day ago   backup      side:  before travel  (foreign)\n\
             note: 's_20260101_000000_aaaaaa' cannot be read: no JSON\n",
        ),
        (
            shown(&travelled(), &look()),
            "in the past: s_20260228_153012_ab12cd  before the \\u{1b}[31mrefactor (1 hour ago)\n\
             \x20 the present is saved as b_20260228_160000_000001\n\
             \x20 2 paths written, 1 removed\n\
             note: a rebase is not revived\n\
             hint: 'tw return' brings the present back\n",
        ),
        (
            shown(&returned(), &look()),
            "in the present, verified\n\
             \x20 what was made in the past is saved as x_20260228_161000_000002\n\
             \x20 2 paths written, 1 removed\n\
             \x20 changed by someone else since, and left so: \"other\\376\"\n\
             \x20 carried over: notes.md\n\
             \x20 not kept in the experiment: huge.bin\n\
             \x20 stayed in place and changed in the past: target/\n\
             \x20 moved aside: pipe to pipe.tw-past-ab12cd\n\
             \x20 HEAD stays detached at 3333333333: branch 'main' has moved since\n\
             \x20 committed in the past: 4444444444 try it\n\
             hint: 'git log 3333333333..main' shows what came since; 'git switch main' goes there\n\
             hint: 'tw diff x_20260228_161000_000002 present' shows what differs from the past\n",
        ),
        (
            shown(&status(), &look()),
            "interrupted: a return that began 1 minute ago did not end\n\
             in the past: s_20260228_153012_ab12cd  before the \\u{1b}[31mrefactor (1 hour ago)\n\
             \x20 since 2026-02-28 16:00:00 UTC (30 minutes ago)\n\
             \x20 the present is saved as b_20260228_160000_000001\n\
             \x20 HEAD detached at 3333333333\n\
             \x20 12 snapshots, 1 backup, 0 experiments\n\
             \x20 latest snapshot s_20260228_153012_ab12cd  before the \\u{1b}[31mrefactor (1 hour ago)\n\
             \x20 under way: rebase, cherry-pick\n\
             \x20 2 paths in conflict\n\
             \x20 working on issue i1: it\\u{1b}[31m fails\n\
             \x20 session s1 of claude\n\
             hint: 'tw recover' finishes or undoes it\n\
             hint: 'tw return' brings the present back\n",
        ),
        (
            shown(
                &DiffPage {
                    exit_code: 0,
                    diff: diff(),
                    form: Form::Stat,
                },
                &look(),
            ),
            " M a.txt    | +3 -1\n\
             \x20M logo.png | binary\n\
             \x20A new.txt  | +12\n\
             \x20D old.txt  | -4\n\
             \x20M run.sh   | mode 100644 to 100755\n\
             \x205 files changed, 15 insertions(+), 5 deletions(-)\n\
             \x20mode a.txt: 0644 to 0600\n\
             \x20empty directory empty: added\n\
             \x20index new.txt: none to intent-to-add\n\
             \x20HEAD: main 0123456 to 0123456\n\
             \x20operation: none to merge\n",
        ),
        (
            shown(&checkup(), &look()),
            "ok       refs: as found\n\
             warning  cache: as found\n\
             error    journal: as found\n\
             \x20        fix: tw recover\n",
        ),
        (
            shown(&pruned(), &look()),
            "forgot s_20260228_153012_ab12cd  1 hour ago  at most 5.0 KiB\n\
             forgot 1, at most 5.0 KiB; kept 11\n\
             hint: 'tw recover --dropped s_20260228_153012_ab12cd' takes it back while git still has it\n",
        ),
    ] {
        assert_eq!(page, expected);
    }
}

#[test]
fn a_record_is_shown_with_all_that_was_not_captured() {
    assert_eq!(
        shown(&shown_snapshot(), &look()),
        "snapshot      s_20260228_153012_ab12cd\n\
         title         before the \\u{1b}[31mrefactor\n\
         label         before-refactor\n\
         taken         2026-02-28 15:30:12 UTC (1 hour ago)\n\
         commit        1111111111111111111111111111111111111111\n\
         tree          2222222222222222222222222222222222222222\n\
         head          main at 1234567890\n\
         trigger       manual\n\
         agent         claude\n\
         worktree      main\n\
         workspace     /work/tree\n\
         captured      8,123 files, 87.0 MiB; 3 new objects, 5.0 KiB\n\
         intent to add new.txt\n\
         empty dirs    logs\n\
         modes         secret.key 0600\n\
         not captured\n\
         \x20 nested-repository  vendor/lib\n\
         \x20 larger-than-limit  big.bin (700.0 MiB)\n"
    );
}

#[test]
fn a_patch_is_exact_in_a_pipe_and_harmless_on_a_terminal() {
    let page = DiffPage {
        exit_code: 0,
        diff: Diff {
            files: vec![file("a", 'M', 1, 1)],
            ..diff()
        },
        form: Form::Patch,
    };
    let piped = page.page(&look()).text;
    assert_eq!(Some(piped), page.diff.files[0].patch);
    let terminal = RenderOptions {
        terminal: true,
        ..look()
    };
    assert_eq!(
        shown(&page, &terminal),
        "--- a\n+++ b\n@@ -1 +1 @@\n-\tone\n+\\u{1b}[2Jtwo\u{fffd}\n"
    );
}

#[test]
fn names_of_changed_paths_come_one_a_line() {
    let page = |form| DiffPage {
        exit_code: 0,
        diff: diff(),
        form,
    };
    assert_eq!(
        shown(&page(Form::NameOnly), &look()),
        "a.txt\nlogo.png\nnew.txt\nold.txt\nrun.sh\n"
    );
    assert!(shown(&page(Form::NameStatus), &look()).starts_with("M\ta.txt\nM\tlogo.png\nA\tnew"));
}

#[test]
fn a_dry_run_and_verbose_list_every_path() {
    let mut dry = travelled();
    dry.dry_run = true;
    dry.backup_id = None;
    assert_eq!(
        shown(&dry, &look()),
        "would travel to s_20260228_153012_ab12cd  before the \\u{1b}[31mrefactor (1 hour ago)\n\
         \x20 2 paths would be written, 1 removed\n\
         \x20   write  a.txt\n\
         \x20   write  \"odd\\377\\nname\"\n\
         \x20   remove gone\n\
         note: a rebase is not revived\n"
    );
    let verbose = RenderOptions {
        verbose: true,
        ..look()
    };
    assert!(shown(&travelled(), &verbose).contains("    remove gone\n"));
}

#[test]
fn quiet_gives_ids() {
    assert_eq!(Human::brief(&taken()), Some(vec![ID.to_owned()]));
    assert_eq!(Human::brief(&listing()).map(|ids| ids.len()), Some(2));
    assert_eq!(
        Human::brief(&returned()),
        Some(vec!["x_20260228_161000_000002".to_owned()])
    );
    assert_eq!(
        Human::brief(&status()),
        Some(vec![format!("interrupted past {ID}")])
    );
    assert_eq!(Human::exit_code(&checkup()), 1);
}
