use super::Lab;
use crate::error::{Code, Result};
use crate::ops::event_log::{RefEvent, RefFate, append};
use crate::ops::label::Label;
use crate::ops::outcome::Purged;
use crate::ops::purge::Purge;
use crate::ops::purge::purge;
use crate::ops::request::DryRun;
use crate::ops::request::Show;
use crate::ops::show::show;
use crate::store::id::SnapshotId;
use crate::store::names::{BACKUPS, RECORDS};
use crate::store::state::{Mode, State};

fn run(lab: &Lab, paths: &[&str], dry_run: DryRun) -> Result<Purged> {
    let request = Purge {
        paths: paths.iter().map(Into::into).collect(),
        dry_run,
    };
    purge(&lab.ctx(), &request)
}

fn done(lab: &Lab, paths: &[&str]) -> Purged {
    let purged = run(lab, paths, DryRun::No).expect("purged");
    lab.git(&["fsck", "--strict"]);
    purged
}

/// Everything that hangs on refs of ours and not on HEAD or branches.
fn reachable(lab: &Lab) -> String {
    let args = [
        "rev-list",
        "--objects",
        "--glob=refs/timewarp",
        "--glob=refs/notes",
    ];
    lab.git(&args)
}

fn has(purged: &Purged, sentence: &str) -> bool {
    purged
        .unreachable
        .iter()
        .any(|said| said.contains(sentence))
}

#[test]
fn a_secret_goes_from_everything_and_all_else_stays() {
    let lab = Lab::with_commit();
    let before = lab.snapshot("before");
    lab.write("conf/secret.key", "hunter2\n");
    lab.write("conf/other", "kept\n");
    let untracked = lab.snapshot("untracked");
    lab.git(&["add", "conf/secret.key"]);
    let staged = lab.snapshot("staged");
    lab.write("conf/secret.key", "hunter3\n");
    let backup = lab.old("b_20260101_000000_aaaaaa");
    let label = Label {
        address: Some(untracked.id.clone()),
        name: "good".to_owned(),
        remove: false,
    };
    crate::ops::label::label(&lab.ctx(), &label).expect("labelled");
    let issue = "i_20260101_000000_aaaaaa";
    let (face, memory) = (
        format!("refs/notes/timewarp/issues/{issue}"),
        format!("{RECORDS}issues/{issue}"),
    );
    let on = staged.commit.to_string();
    lab.git(&["notes", &format!("--ref={face}"), "add", "-m", "{}", &on]);
    lab.git(&["update-ref", &memory, &face]);
    let old_backup = lab.rev(&format!("{BACKUPS}{backup}"));
    lab.level("undo", "00000001-x", "2026-01-01T00:00:00Z", &backup);
    let level = lab.path(".git/timewarp/undo/00000001-x.json");
    let text = std::fs::read_to_string(&level).expect("read");
    let entries = r#""entries":[{"path":"conf/secret.key","before":null,"after":null},{"path":"a","before":null,"after":null}]"#;
    let text = text.replace(r#""entries":[]"#, entries).replace(
        r#""backup_commit":"""#,
        &format!(r#""backup_commit":"{old_backup}""#),
    );
    std::fs::write(&level, text).expect("written");
    let blobs = ["hunter2\n", "hunter3\n"].map(|text| {
        lab.write(".git/text", text);
        lab.git(&["hash-object", ".git/text"]).trim().to_owned()
    });
    assert!(blobs.iter().all(|blob| reachable(&lab).contains(blob)));

    let refs = lab.git(&["for-each-ref"]);
    let planned = run(&lab, &["conf/secret.key"], DryRun::Yes).expect("planned");
    assert!(planned.rewritten.iter().all(|one| one.old == one.new));
    assert_eq!(lab.git(&["for-each-ref"]), refs);
    let purged = done(&lab, &["conf/secret.key"]);
    let ids = |purged: &Purged| -> Vec<String> {
        let rewritten = purged.rewritten.iter();
        rewritten.map(|one| one.id.clone()).collect()
    };
    assert_eq!(ids(&purged), ids(&planned));
    assert_eq!(purged.rewritten.len(), 3);
    assert!(has(
        &purged,
        "the index of worktree 'main' has 'conf/secret.key'"
    ));
    assert!(has(&purged, "the working tree"));

    let left = reachable(&lab);
    assert!(blobs.iter().all(|blob| !left.contains(blob)), "{left}");
    let shown = show(&lab.ctx(), &of(&untracked.id))
        .expect("readable")
        .snapshot;
    assert_eq!(shown.title, "untracked");
    assert_eq!(shown.labels, ["good"]);
    assert_eq!(shown.json["stats"]["files"], 3);
    assert_eq!(shown.json["uncaptured"][0]["reason"], "purged");
    let kept = lab.git(&["cat-file", "blob", &format!("{}:conf/other", shown.commit)]);
    assert_eq!(kept, "kept\n");
    let same = show(&lab.ctx(), &of(&before.id))
        .expect("readable")
        .snapshot;
    assert_eq!(same.commit, before.commit, "nothing of it was in there");
    let new = show(&lab.ctx(), &of(&staged.id))
        .expect("readable")
        .snapshot
        .commit
        .to_string();
    assert_eq!(
        lab.git(&["notes", &format!("--ref={face}"), "list"])
            .split(' ')
            .nth(1),
        Some(&*format!("{new}\n"))
    );
    assert_eq!(lab.rev(&memory), lab.rev(&face));
    let level = std::fs::read_to_string(&level).expect("read");
    let new_backup = lab.rev(&format!("{BACKUPS}{backup}"));
    assert!(level.contains(&new_backup.to_string()) && !level.contains(&old_backup.to_string()));
    assert!(!level.contains("secret.key") && level.contains(r#""path": "a""#));

    std::fs::remove_file(lab.path("conf/secret.key")).expect("removed");
    lab.git(&["rm", "-q", "--cached", "conf/secret.key"]);
    lab.git(&["reflog", "expire", "--expire=now", "--all"]);
    lab.git(&["gc", "-q", "--prune=now"]);
    for blob in blobs {
        assert!(!lab.try_git_in(lab.dir(), &["cat-file", "-e", &blob]).0);
    }
    lab.git(&["fsck", "--strict", "--full"]);
    let after = lab.snapshot("after");
    assert!(lab.has(&after.id));
    assert!(done(&lab, &["conf/secret.key"]).rewritten.is_empty());
}

#[test]
fn conflict_stages_of_the_path_go_and_others_stay() {
    let lab = Lab::new();
    lab.write("secret", "base\n");
    lab.write("other", "base\n");
    lab.commit("base");
    lab.git(&["checkout", "-q", "-b", "side"]);
    lab.write("secret", "theirs\n");
    lab.write("other", "theirs\n");
    lab.commit("theirs");
    lab.git(&["checkout", "-q", "main"]);
    lab.write("secret", "ours\n");
    lab.write("other", "ours\n");
    lab.commit("ours");
    assert!(
        !lab.try_git_in(lab.dir(), &["merge", "side"]).0,
        "conflicts"
    );
    let taken = lab.snapshot("in a merge");
    let purged = done(&lab, &["secret"]);
    assert_eq!(purged.rewritten.len(), 1);
    assert!(has(&purged, "branch 'main' has 'secret'"));
    assert!(has(&purged, "branch 'side' has 'secret'"));
    assert!(has(&purged, "keeps commit"), "{:?}", purged.unreachable);
    let ctx = lab.ctx();
    let store = ctx.store().expect("store");
    let id = SnapshotId::parse(&taken.id).expect("an id");
    let stored = store.read_id(&id).expect("readable");
    let lists = store.lists(&stored).expect("lists");
    assert_eq!(lists.conflicts, [b"other".to_vec()]);
    let side = store.index_side(&stored).expect("index");
    let unmerged = store
        .state_blob(side.state, "index/unmerged")
        .expect("read")
        .expect("there");
    let unmerged = String::from_utf8(unmerged).expect("text");
    assert_eq!(unmerged.matches("\tother").count(), 3);
    assert!(!unmerged.contains("secret"));
    let state = side.state.expect("a state").to_string();
    let blobs = lab.git(&["ls-tree", &format!("{state}:index/blobs")]);
    assert_eq!(blobs.lines().count(), 3, "{blobs}");
    let operation = store.operation(&stored).expect("operation");
    assert!(operation.file("MERGE_HEAD").is_some());
    let auto = operation.file("AUTO_MERGE").map(String::from_utf8_lossy);
    if let Some(auto) = auto {
        let files = lab.git(&["ls-tree", "--name-only", auto.trim()]);
        assert_eq!(files, "other\n");
    }
}

#[test]
fn directories_go_whole_and_long_lists_stay_whole() {
    let lab = Lab::with_commit();
    for nth in 0..150 {
        std::fs::create_dir_all(lab.path(&format!("empty/d{nth:03}"))).expect("made");
        lab.write(&format!("private/f{nth:03}"), format!("{nth}\n"));
    }
    let taken = lab.snapshot("many");
    let purged = done(&lab, &["private"]);
    assert_eq!(purged.rewritten.len(), 1);
    let shown = show(&lab.ctx(), &of(&taken.id)).expect("readable").snapshot;
    let length = |name: &str| shown.json[name].as_array().map(Vec::len);
    assert_eq!(length("empty_dirs"), Some(150));
    assert_eq!(length("uncaptured"), Some(150));
    assert_eq!(shown.json["stats"]["files"], 2);
    let files = lab.git(&["ls-tree", "-r", "--name-only", &shown.commit.to_string()]);
    assert_eq!(files, "a\ndir/b\n");
}

#[test]
fn the_past_and_unfinished_swaps_refuse_it() {
    let lab = Lab::with_commit();
    lab.write("secret", "x");
    lab.snapshot("one");
    lab.set_state(&State {
        mode: Mode::Past,
        ..State::default()
    });
    let error = run(&lab, &["secret"], DryRun::No).expect_err("in the past");
    assert_eq!(error.code(), Code::Held);
    lab.set_state(&State::default());
    let other = lab.dir().with_file_name("other");
    lab.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        other.to_str().expect("plain"),
    ]);
    let dir = lab.path(".git/worktrees/other/timewarp");
    std::fs::create_dir_all(&dir).expect("made");
    std::fs::write(dir.join("journal.json"), "{").expect("written");
    let error = run(&lab, &["secret"], DryRun::No).expect_err("a journal");
    assert_eq!(error.code(), Code::Held);
    assert!(error.message().contains("'other'"), "{error}");
    std::fs::remove_file(dir.join("journal.json")).expect("removed");
    let error = run(&lab, &["."], DryRun::No).expect_err("all of it");
    assert_eq!(error.code(), Code::Usage);
    assert_eq!(done(&lab, &["secret"]).rewritten.len(), 1);
}

#[test]
fn it_says_where_it_cannot_reach() {
    let lab = Lab::with_commit();
    lab.write("secret", "x\n");
    lab.git(&["stash", "-q", "-u"]);
    lab.git(&["checkout", "-q", "-b", "other"]);
    lab.write("secret", "x\n");
    lab.commit("oops");
    lab.git(&["tag", "-a", "-m", "t", "v1"]);
    let room = tempfile::tempdir().expect("a directory");
    let linked = room.path().join("linked");
    let there = linked.to_str().expect("UTF-8");
    lab.git(&["worktree", "add", "-q", "--detach", there]);
    lab.git(&["checkout", "-q", "main"]);
    let head = lab.rev("HEAD").to_string();
    let chat = "refs/notes/timewarp/chats/i_20260101_000000_aaaaaa";
    lab.git(&[
        "notes",
        &format!("--ref={chat}"),
        "add",
        "-m",
        "cat secret",
        &head,
    ]);
    lab.write(".git/timewarp/tries/t_1/run-1.log", "x\n");
    lab.write(".git/timewarp/bisect/logs/x.log", "x\n");
    let purged = done(&lab, &["secret"]);
    for sentence in [
        "'tw try drop TRY' deletes what is of one",
        "printed in searches by bisect was not searched",
        "branch 'other' has 'secret'",
        "tag 'v1' has 'secret'",
        "HEAD of worktree 'linked' has 'secret'",
        "stash@{0} has 'secret'",
        "chat of issue i_20260101_000000_aaaaaa mentions 'secret'",
        "clones of this repository",
    ] {
        assert!(
            has(&purged, sentence),
            "{sentence}: {:?}",
            purged.unreachable
        );
    }
    assert!(!has(&purged, "branch 'main'"));
    assert!(purged.finish.contains("git gc --prune=now"));
}

#[test]
fn what_nothing_has_is_not_said_to_be_gone() {
    let lab = Lab::with_commit();
    lab.write("real/f", "a secret\n");
    lab.write("real/g", "another\n");
    std::os::unix::fs::symlink("real", lab.path("lnk")).expect("linked");
    lab.snapshot("one");
    let refused = |paths: &[&str]| {
        let refused = [DryRun::Yes, DryRun::No].map(|dry_run| {
            let error = run(&lab, paths, dry_run).expect_err("nothing has it");
            assert_eq!(error.code(), Code::PathNotFound, "{paths:?}");
            for path in paths {
                assert!(error.message().contains(path), "{}", error.message());
            }
            error.hints().join("\n")
        });
        assert_eq!(refused[0], refused[1]);
        refused[0].clone()
    };
    let hints = refused(&["lnk/f"]);
    assert!(hints.contains("tw purge real/f"), "{hints}");
    let hints = refused(&["reall/f", "reall/g"]);
    assert!(hints.contains("tw find --all reall/f reall/g"), "{hints}");
    assert!(hints.contains("log --all --oneline"), "{hints}");

    let purged = done(&lab, &["real/f", "reall/f"]);
    assert_eq!(purged.rewritten.len(), 1);
    assert!(has(&purged, "'reall/f' is in none of what was searched"));
    assert!(!has(&purged, "'real/f' is in none"));
    // What an earlier purge took out is told again how its bytes go, be it that it died before it said so.
    std::fs::remove_file(lab.path("real/f")).expect("removed");
    let again = done(&lab, &["real/f"]);
    assert!(again.rewritten.is_empty() && again.finish.contains("git gc"));
    refused(&["reall/f"]);
    // What only the working tree has.
    lab.write("late", "x\n");
    assert!(done(&lab, &["late"]).rewritten.is_empty());
}

/// A purge that died between its refs and the files that follow them.
#[test]
fn a_later_purge_finishes_an_earlier_one() {
    let lab = Lab::with_commit();
    let taken = lab.snapshot("one");
    let old = "1234567890123456789012345678901234567890";
    let ctx = lab.ctx();
    let store = ctx.store().expect("store");
    let event = RefEvent {
        at: "2026-01-01T00:00:00Z".to_owned(),
        event: RefFate::Purged,
        reference: String::new(),
        commit: taken.commit.to_string(),
        old_commit: Some(old.to_owned()),
        id: taken.id.clone(),
    };
    append(&store.dir, &[event]).expect("logged");
    lab.set_state(&State {
        backup_commit: Some(old.to_owned()),
        ..State::default()
    });
    done(&lab, &["nothing-there"]);
    let state = store.dir.state().expect("state");
    assert_eq!(state.backup_commit, Some(taken.commit.to_string()));
}

/// Asks for one by its id.
fn of(id: &str) -> Show {
    Show {
        address: Some(id.to_owned()),
        ..Show::default()
    }
}
