//! Every kind of operation as git itself starts it: read, wiped, collected by gc, put back, and gone on with.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::env::Env;
use crate::git::repo::testing::TestRepo;

/// `main` and `topic` both change `f`; `topic` has three commits, `middle` at the second.
fn diverged() -> TestRepo {
    let test = TestRepo::new();
    test.write("f", "base\n");
    test.write("h", "clean\n");
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "base"]);
    test.git(&["checkout", "-qb", "topic"]);
    for (file, text) in [("g", "1\n"), ("f", "topic\n"), ("g", "2\n")] {
        test.write(file, text);
        test.git(&["add", "."]);
        test.git(&["commit", "-qm", &format!("topic {file} {}", text.trim())]);
    }
    test.git(&["branch", "middle", "topic~1"]);
    test.git(&["checkout", "-q", "main"]);
    test.write("f", "main\n");
    test.git(&["commit", "-qam", "main f"]);
    test
}

fn read(repo: &Repo) -> Result<OperationState> {
    super::read(
        repo,
        &ObjectStore::open(repo.common_dir(), repo.object_format())?,
    )
}

fn open(dir: &Path) -> Repo {
    Repo::discover(dir, &Env::default()).expect("a repository")
}

/// All that git keeps in a git directory, but for what others own or what moves with every command.
fn contents(git_dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![git_dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).expect("listed") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(git_dir).expect("inside").to_path_buf();
            let skipped = [
                "index",
                "objects",
                "timewarp",
                "logs",
                "gc.pid",
                "worktrees",
            ];
            let shared = name.starts_with("refs/heads") || name.starts_with("refs/keep");
            if shared || name == Path::new("packed-refs") || name == Path::new("info/refs") {
                continue;
            }
            if skipped.iter().any(|skip| name.starts_with(skip)) {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else {
                let mode = path.metadata().expect("there").permissions().mode();
                found.insert(name, (std::fs::read(&path).expect("read"), mode));
            }
        }
    }
    found
}

fn statuses(test: &TestRepo, dir: &Path) -> String {
    test.git_in(dir, &["status"]) + &test.git_in(dir, &["status", "--porcelain=v2", "--branch"])
}

/// Holds what the caller of `read` must hold, and lets gc take all else.
fn collect_garbage(test: &TestRepo, dir: &Path, state: &OperationState) {
    let tree = test.git_in(dir, &["rev-parse", "HEAD^{tree}"]);
    let mut args = vec!["commit-tree".to_owned(), "-m".to_owned(), "keep".to_owned()];
    args.push(tree.trim().to_owned());
    for oid in &state.commits {
        args.extend(["-p".to_owned(), oid.to_string()]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let keep = test.git_in(dir, &args);
    test.git_in(dir, &["update-ref", "refs/keep/commits", keep.trim()]);
    for (n, (_, oid)) in state.trees.iter().enumerate() {
        test.git_in(
            dir,
            &[
                "update-ref",
                &format!("refs/keep/tree{n}"),
                &oid.to_string(),
            ],
        );
    }
    // Reflogs would hold everything, yet `git status` reads them: they go aside for the while.
    let repo = open(dir);
    let mut logs = vec![repo.common_dir().join("logs"), repo.git_dir().join("logs")];
    logs.dedup();
    let aside = |path: &Path| path.with_file_name("logs-aside");
    for path in &logs {
        std::fs::rename(path, aside(path)).expect("moved aside");
    }
    // What gc does to unreachable objects; all are loose here.
    test.git_in(dir, &["prune", "--expire=now"]);
    for path in &logs {
        let _ = std::fs::remove_dir_all(path);
        std::fs::rename(aside(path), path).expect("moved back");
    }
}

/// Read, wipe, gc, restore: git's own view and every byte are as before. Gives the state.
fn round_trip(test: &TestRepo, dir: &Path, expected: &[&str]) -> OperationState {
    let repo = open(dir);
    let status = statuses(test, dir);
    let before = contents(repo.git_dir());
    let state = read(&repo).expect("read");
    assert_eq!(kinds(&state), expected, "{:?}", state.files);
    assert_eq!(state.unknown, Vec::<String>::new());
    assert!(state.files.iter().all(|(name, _, _)| is_known_name(name)));

    restore(&repo, &OperationState::default()).expect("wiped");
    let wiped = read(&repo).expect("read");
    assert!(wiped.is_empty() && kinds(&wiped).is_empty(), "{wiped:?}");
    for gone in [
        "rebase-merge",
        "rebase-apply",
        "sequencer",
        "refs/bisect",
        "refs/rewritten",
    ] {
        assert!(!repo.git_dir().join(gone).exists(), "{gone}");
    }
    if !expected.is_empty() {
        assert_ne!(statuses(test, dir), status);
    }
    collect_garbage(test, dir, &state);

    restore(&repo, &state).expect("restored");
    let again = read(&repo).expect("read");
    assert_eq!(again, state);
    assert!(equal(&again, &state) && equal(&again, &wiped) == state.is_empty());
    assert_eq!(contents(repo.git_dir()), before);
    assert_eq!(statuses(test, dir), status);
    restore(&repo, &state).expect("restored again");
    assert_eq!(contents(repo.git_dir()), before);
    state
}

fn fails(test: &TestRepo, args: &[&str]) {
    let (ok, said) = test.try_git_in(test.dir(), args);
    assert!(!ok, "git {args:?} should have stopped: {said}");
}

fn read_file(test: &TestRepo, name: &str) -> String {
    std::fs::read_to_string(test.dir().join(name)).expect("read")
}

fn resolve(test: &TestRepo) {
    test.write("f", "resolved\n");
    test.git(&["add", "f"]);
}

#[test]
fn a_conflicted_merge_with_autostash_aborts() {
    let test = diverged();
    test.write("h", "dirty\n");
    fails(&test, &["merge", "--autostash", "topic"]);
    let state = round_trip(&test, test.dir(), &["merge"]);
    assert!(state.file("MERGE_AUTOSTASH").is_some());
    assert!(state.file("ORIG_HEAD").is_some());
    assert_eq!(state.trees.len(), 1);
    assert_eq!(read_file(&test, "h"), "clean\n");
    test.git(&["merge", "--abort"]);
    assert_eq!(read_file(&test, "h"), "dirty\n");
    assert_eq!(read_file(&test, "f"), "main\n");
}

#[test]
fn a_conflicted_merge_with_rerere_continues() {
    let test = diverged();
    test.git(&["config", "rerere.enabled", "true"]);
    fails(&test, &["merge", "--no-ff", "topic"]);
    let state = round_trip(&test, test.dir(), &["merge"]);
    assert!(state.file("MERGE_RR").is_some());
    assert_eq!(state.file("MERGE_MODE"), Some(&b"no-ff"[..]));
    resolve(&test);
    test.git(&["merge", "--continue"]);
    assert_eq!(
        test.git(&["rev-list", "--parents", "-1", "HEAD"])
            .split(' ')
            .count(),
        3
    );
}

#[test]
fn a_squash_is_state_but_no_operation() {
    let test = diverged();
    fails(&test, &["merge", "--squash", "topic"]);
    let state = round_trip(&test, test.dir(), &[]);
    assert!(state.file("SQUASH_MSG").is_some());
}

#[test]
fn an_interactive_rebase_at_an_edit_continues() {
    let test = diverged();
    test.git(&["checkout", "-q", "topic"]);
    let editor = "sequence.editor=sed -i -e 1s/pick/edit/ -e 3s/pick/fixup/";
    test.git(&[
        "-c",
        editor,
        "rebase",
        "-i",
        "--update-refs",
        "--signoff",
        "main~1",
    ]);
    let state = round_trip(&test, test.dir(), &["rebase-merge"]);
    assert!(state.file("rebase-merge/amend").is_some());
    assert!(state.file("rebase-merge/update-refs").is_some());
    test.git(&["rebase", "--continue"]);
    let log = test.git(&["log", "--format=%s %(trailers:key=Signed-off-by,valueonly)"]);
    assert!(log.contains("A U Thor"), "{log}");
    assert_eq!(test.git(&["symbolic-ref", "HEAD"]), "refs/heads/topic\n");
}

#[test]
fn a_conflicted_rebase_with_autostash_aborts() {
    let test = diverged();
    test.git(&["checkout", "-q", "topic"]);
    let tip = test.git(&["rev-parse", "HEAD"]);
    test.write("h", "dirty\n");
    fails(
        &test,
        &[
            "rebase",
            "--autostash",
            "-s",
            "recursive",
            "-Xpatience",
            "main",
        ],
    );
    let state = round_trip(&test, test.dir(), &["rebase-merge"]);
    assert!(state.file("rebase-merge/autostash").is_some());
    assert!(state.file("rebase-merge/strategy_opts").is_some());
    assert!(state.file("REBASE_HEAD").is_some());
    test.git(&["rebase", "--abort"]);
    assert_eq!(test.git(&["rev-parse", "topic"]), tip);
    assert_eq!(read_file(&test, "h"), "dirty\n");
}

#[test]
fn a_rebase_of_merges_keeps_its_labels() {
    let test = diverged();
    test.git(&["checkout", "-qb", "side", "main"]);
    test.write("s", "s\n");
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "side"]);
    test.git(&["checkout", "-qb", "joined", "main"]);
    test.write("j", "j\n");
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "joined"]);
    test.git(&["merge", "-q", "--no-edit", "side"]);
    let editor = "sequence.editor=sed -i '/^merge/i break'";
    test.git(&[
        "-c",
        editor,
        "rebase",
        "-i",
        "-r",
        "--force-rebase",
        "main~1",
    ]);
    let state = round_trip(&test, test.dir(), &["rebase-merge"]);
    assert!(!state.refs.is_empty());
    assert!(
        state
            .refs
            .iter()
            .all(|(name, _)| name.starts_with("refs/rewritten/"))
    );
    test.git(&["rebase", "--continue"]);
    assert_eq!(
        test.git(&["rev-list", "--parents", "-1", "HEAD"])
            .split(' ')
            .count(),
        3
    );
}

#[test]
fn a_conflicted_rebase_by_patches_continues_and_aborts() {
    for finish in ["--continue", "--abort"] {
        let test = diverged();
        test.git(&["checkout", "-q", "topic"]);
        let tip = test.git(&["rev-parse", "HEAD"]);
        fails(&test, &["rebase", "--apply", "main"]);
        let state = round_trip(&test, test.dir(), &["rebase-apply"]);
        assert!(state.file("rebase-apply/0002").is_some());
        resolve(&test);
        test.git(&["rebase", finish]);
        assert_eq!(test.git(&["rev-parse", "HEAD"]) == tip, finish == "--abort");
    }
}

#[test]
fn a_conflicted_am_skips_and_aborts() {
    for finish in ["--skip", "--abort"] {
        let test = diverged();
        let before = test.git(&["rev-parse", "HEAD"]);
        let patches = test.git(&["format-patch", "-o", "../patches", "main~1..topic"]);
        let mut args = vec!["am", "-3", "--keep", "--scissors"];
        args.extend(patches.lines());
        fails(&test, &args);
        round_trip(&test, test.dir(), &["am"]);
        test.git(&["am", finish]);
        assert_eq!(
            test.git(&["rev-parse", "HEAD"]) == before,
            finish == "--abort"
        );
    }
}

#[test]
fn a_range_of_picks_continues_also_after_a_commit_by_hand() {
    let test = diverged();
    fails(&test, &["cherry-pick", "-x", "main~1..topic"]);
    let state = round_trip(&test, test.dir(), &["cherry-pick"]);
    assert!(state.file("sequencer/todo").is_some() && state.file("sequencer/opts").is_some());
    resolve(&test);
    test.git(&["commit", "-q", "--no-edit"]);
    let state = round_trip(&test, test.dir(), &["cherry-pick"]);
    assert!(state.file("CHERRY_PICK_HEAD").is_none());
    test.git(&["cherry-pick", "--continue"]);
    assert_eq!(read_file(&test, "g"), "2\n");
}

#[test]
fn reverts_single_and_in_a_row_abort() {
    for range in ["topic~2", "topic~3..topic~1"] {
        let test = diverged();
        test.git(&["checkout", "-q", "topic"]);
        test.write("f", "later\n");
        test.git(&["commit", "-qam", "later"]);
        let tip = test.git(&["rev-parse", "HEAD"]);
        fails(&test, &["revert", "--no-edit", range]);
        round_trip(&test, test.dir(), &["revert"]);
        test.git(&["revert", "--abort"]);
        assert_eq!(test.git(&["rev-parse", "HEAD"]), tip);
    }
}

#[test]
fn a_bisect_goes_on() {
    let test = diverged();
    for n in 0..8 {
        test.write("n", &n.to_string());
        test.git(&["add", "."]);
        test.git(&["commit", "-qm", &format!("n{n}")]);
    }
    test.git(&[
        "bisect",
        "start",
        "--first-parent",
        "--term-new=broken",
        "main",
        "main~8",
    ]);
    test.git(&["bisect", "skip"]);
    let state = round_trip(&test, test.dir(), &["bisect"]);
    assert_eq!(state.refs.len(), 3);
    test.git(&["bisect", "broken"]);
    round_trip(&test, test.dir(), &["bisect"]);
    test.git(&["bisect", "reset"]);
    assert_eq!(test.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert!(kinds(&read(&test.open()).expect("read")).is_empty());
}

#[test]
fn a_linked_worktree_has_its_own() {
    let test = diverged();
    let side = test.beside("side");
    test.git(&[
        "worktree",
        "add",
        "-q",
        &side.display().to_string(),
        "topic",
    ]);
    test.git(&["bisect", "start", "main", "main~1"]);
    let main = read(&test.open()).expect("read");
    assert_eq!(kinds(&main), ["bisect"]);
    let (ok, _) = test.try_git_in(&side, &["rebase", "main"]);
    assert!(!ok);
    round_trip(&test, &side, &["rebase-merge"]);
    assert_eq!(read(&test.open()).expect("read"), main);
    test.git_in(&side, &["rebase", "--abort"]);
    test.git_in(&side, &["bisect", "start", "topic", "topic~3"]);
    let state = round_trip(&test, &side, &["bisect"]);
    assert!(
        test.beside("top/.git/worktrees/side/refs/bisect/bad")
            .exists()
    );
    assert_ne!(state.refs, main.refs);
    assert_eq!(read(&test.open()).expect("read"), main);
    test.git_in(&side, &["bisect", "reset"]);
    test.git(&["bisect", "reset"]);
}

#[test]
fn one_operation_is_replaced_by_another() {
    let test = diverged();
    test.git(&["bisect", "start", "main", "main~1"]);
    let bisect = read(&test.open()).expect("read");
    test.git(&["bisect", "reset"]);
    fails(&test, &["merge", "topic"]);
    let repo = test.open();
    let merge = read(&repo).expect("read");
    for state in [&bisect, &merge, &bisect] {
        restore(&repo, state).expect("restored");
        let found = read(&repo).expect("read");
        assert!(equal(&found, state));
        assert_eq!(found.files.len(), state.files.len());
    }
    assert!(!equal(&bisect, &merge));
}

#[test]
fn orig_head_alone_is_state() {
    let test = diverged();
    test.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let state = round_trip(&test, test.dir(), &[]);
    assert_eq!(state.files.len(), 1);
    assert_eq!(state.commits.len(), 1);
    test.git(&["reset", "-q", "--hard", "ORIG_HEAD"]);
    assert_eq!(read_file(&test, "f"), "main\n");
}

#[test]
fn only_what_moves_no_branch_is_revived_in_the_past() {
    let test = diverged();
    test.git(&["bisect", "start", "main", "main~1"]);
    fails(&test, &["cherry-pick", "topic~1", "topic"]);
    let state = read(&test.open()).expect("read");
    assert_eq!(kinds(&state), ["cherry-pick", "bisect"]);
    let revived = revivable(&state);
    assert_eq!(kinds(&revived), ["cherry-pick"]);
    assert!(revived.refs.is_empty() && revived.file("sequencer/todo").is_some());
    assert!(revived.file("BISECT_START").is_none());
    test.git(&["cherry-pick", "--abort"]);
    test.git(&["bisect", "reset"]);
    test.git(&["checkout", "-q", "topic"]);
    fails(&test, &["rebase", "main"]);
    let state = read(&test.open()).expect("read");
    let names: Vec<_> = revivable(&state)
        .files
        .into_iter()
        .map(|file| file.0)
        .collect();
    assert_eq!(names, ["ORIG_HEAD"]);
}

#[test]
fn what_somebody_began_where_a_rebase_stopped_is_revived() {
    let names = |test: &TestRepo| -> Vec<String> {
        let state = read(&test.open()).expect("read");
        let files = revivable(&state).files.into_iter();
        files.map(|file| file.0).collect()
    };
    let stopped = || {
        let test = diverged();
        test.git(&["checkout", "-q", "topic"]);
        fails(&test, &["rebase", "--exec", "false", "topic~1"]);
        test
    };
    let test = stopped();
    assert!(!names(&test).contains(&"MERGE_HEAD".to_owned()));
    fails(&test, &["merge", "main"]);
    let found = names(&test);
    for name in ["MERGE_HEAD", "MERGE_MODE", "MERGE_MSG"] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
    assert!(
        !found
            .iter()
            .any(|name| name.starts_with("rebase-") || name == "REBASE_HEAD")
    );
    for picked in [&["main"][..], &["main", "main~1"]] {
        let test = stopped();
        fails(&test, &[&["cherry-pick"], picked].concat());
        let found = names(&test);
        assert!(found.contains(&"CHERRY_PICK_HEAD".to_owned()), "{found:?}");
        let has_series = found.contains(&"sequencer/todo".to_owned());
        assert_eq!(has_series, picked.len() > 1, "{found:?}");
    }
}

fn hostile(files: &[&str], refs: &[&str]) -> OperationState {
    let oid = Oid::from_hex("0123456789012345678901234567890123456789").expect("hex");
    OperationState {
        files: files
            .iter()
            .map(|name| ((*name).to_owned(), b"x".to_vec(), 0o755))
            .collect(),
        refs: refs.iter().map(|name| ((*name).to_owned(), oid)).collect(),
        ..OperationState::default()
    }
}

#[test]
fn a_hostile_record_is_refused_whole() {
    let test = diverged();
    fails(&test, &["merge", "topic"]);
    let repo = test.open();
    let before = contents(repo.git_dir());
    for name in [
        "hooks/x",
        "config",
        "../x",
        "rebase-merge/../config",
        "/tmp/x",
        "HEAD",
        "a",
    ] {
        let error = restore(&repo, &hostile(&["MERGE_MSG", name], &[])).expect_err("refused");
        assert_eq!(error.code(), Code::CorruptRecord, "{name}");
    }
    for name in ["refs/heads/main", "refs/bisect/../heads/main", "HEAD"] {
        let error = restore(&repo, &hostile(&[], &[name])).expect_err("refused");
        assert_eq!(error.code(), Code::CorruptRecord, "{name}");
    }
    let twice = hostile(&["MERGE_MSG", "MERGE_MSG"], &[]);
    assert_eq!(
        restore(&repo, &twice).expect_err("twice").code(),
        Code::CorruptRecord
    );
    assert_eq!(contents(repo.git_dir()), before);
}

#[test]
fn nothing_is_read_or_written_through_a_symlink() {
    let test = diverged();
    let repo = test.open();
    let outside = test.beside("outside");
    std::fs::create_dir(&outside).expect("made");
    std::fs::write(outside.join("done"), "secret").expect("written");
    let git = |name: &str| repo.git_dir().join(name);
    std::os::unix::fs::symlink(&outside, git("rebase-merge")).expect("linked");
    std::os::unix::fs::symlink(outside.join("done"), git("MERGE_MSG")).expect("linked");
    let state = read(&repo).expect("read");
    assert!(state.is_empty());
    assert_eq!(state.unknown, ["MERGE_MSG", "rebase-merge"]);
    for name in ["rebase-merge/done", "MERGE_MSG"] {
        let error = restore(&repo, &hostile(&[name], &[])).expect_err("refused");
        assert_eq!(error.code(), Code::WouldOverwrite, "{name}");
    }
    restore(&repo, &OperationState::default()).expect("nothing of ours there");
    assert_eq!(
        std::fs::read(outside.join("done")).expect("read"),
        b"secret"
    );
    assert!(git("MERGE_MSG").symlink_metadata().is_ok());
    assert!(git("rebase-merge").symlink_metadata().is_ok());
}

#[test]
fn what_is_not_on_the_list_is_named_and_stays() {
    let test = diverged();
    test.git(&["checkout", "-q", "topic"]);
    fails(&test, &["rebase", "main"]);
    let repo = test.open();
    let future = repo.git_dir().join("rebase-merge/from-the-future");
    std::fs::write(&future, "x").expect("written");
    let state = read(&repo).expect("read");
    assert_eq!(state.unknown, ["rebase-merge/from-the-future"]);
    restore(&repo, &OperationState::default()).expect("wiped");
    assert!(future.exists());
    restore(&repo, &state).expect("restored");
    std::fs::remove_file(&future).expect("removed");
    test.git(&["rebase", "--abort"]);
}

#[test]
fn a_crash_half_way_is_made_good_by_the_next_run() {
    let test = diverged();
    test.git(&["checkout", "-q", "topic"]);
    fails(&test, &["rebase", "main"]);
    let repo = test.open();
    let state = read(&repo).expect("read");
    let last = repo.git_dir().join("rebase-merge/verbose");
    // The last name of the list cannot be written: what comes before it is in place.
    restore(&repo, &OperationState::default()).expect("wiped");
    std::fs::create_dir_all(&last).expect("in the way");
    let mut more = state.clone();
    more.files
        .push(("rebase-merge/verbose".to_owned(), Vec::new(), 0o644));
    restore(&repo, &more).expect_err("in the way");
    std::fs::write(repo.git_dir().join("timewarp/operation.tmp"), "half").expect("written");
    std::fs::remove_dir(&last).expect("removed");
    restore(&repo, &state).expect("restored");
    assert!(equal(&read(&repo).expect("read"), &state));
    test.git(&["rebase", "--abort"]);
}

#[test]
fn a_huge_file_is_an_error_that_names_it() {
    let test = diverged();
    let repo = test.open();
    let file = std::fs::File::create(repo.git_dir().join("MERGE_MSG")).expect("made");
    file.set_len(MAX_FILE + 1).expect("grown");
    let error = read(&repo).expect_err("too large");
    assert!(error.message().contains("MERGE_MSG"), "{error}");
    file.set_len(MAX_FILE).expect("shrunk");
    assert_eq!(read(&repo).expect("read").files.len(), 1);
}

#[test]
fn permission_bits_come_back() {
    let test = diverged();
    let repo = test.open();
    let path = repo.git_dir().join("MERGE_MSG");
    std::fs::write(&path, "private").expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("set");
    let state = read(&repo).expect("read");
    restore(&repo, &OperationState::default()).expect("wiped");
    restore(&repo, &state).expect("restored");
    let mode = path.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
