//! `tw try`: runs side by side in scratches, judged, ranked, kept and applied; whatever happens, the present is as it was.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{STEP, Sandbox, is_root, skipped};
use crate::trip::{mode, snapshot};

/// A repository with a check that wants `a.txt` to say "fixed".
fn checked() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("check.sh", "test \"$(cat a.txt)\" = fixed\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "check"]);
    sandbox
}

fn tried(sandbox: &Sandbox, words: &[&str]) -> (Value, i32) {
    let words: Vec<&str> = ["--json"].iter().chain(words).copied().collect();
    let ran = sandbox.tw(&words);
    let document = crate::schema::read(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ran.out(), ran.err()));
    crate::schema::check("try", &document);
    (document, ran.code)
}

fn beside(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("repo.tw")
}

/// The scratches are deleted by nobody who is waited for.
fn swept(sandbox: &Sandbox) {
    let begun = Instant::now();
    while beside(sandbox).exists() {
        if begun.elapsed() > Duration::from_secs(20) {
            let found = sandbox.command("find").arg(beside(sandbox)).output();
            let found = String::from_utf8(found.unwrap().stdout).unwrap();
            panic!("litter stays:\n{found}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn runs_are_made_side_by_side_judged_and_ranked() {
    let sandbox = checked();
    let script = "case $TW_SLOT in 1) echo fixed >a.txt; echo more >>b.txt;; 2) echo fixed >a.txt;; *) echo broken >a.txt;; esac";
    let words = [
        "try",
        "-n",
        "3",
        "-j",
        "3",
        "--verify",
        "sh check.sh",
        "--",
        script,
    ];
    let (document, code) = tried(&sandbox, &words);
    assert_eq!((code, &document["ok"]), (0, &json!(true)), "{document}");
    assert_eq!(document["base_verify"]["status"], "failed");
    let shown = sandbox.ok(["try", "show", "latest"]);
    let base = "\n  before the runs, 'sh check.sh' failed\n";
    assert!(shown.contains(base), "{shown}");
    let runs = document["runs"].as_array().unwrap();
    let statuses: Vec<&str> = runs
        .iter()
        .map(|run| run["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["passed", "passed", "failed"], "{document}");
    // The smaller change comes first.
    assert_eq!(runs[0]["slot"], 2);
    assert_eq!(
        runs[0]["diff_stat"],
        json!({"files": 1, "insertions": 1, "deletions": 1})
    );
    assert_eq!(document["best"], runs[0]["run"]);
    assert_eq!(runs[0]["escapes"], json!([]));
    assert_eq!(sandbox.text("a.txt"), "one\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    swept(&sandbox);
    // What is kept of it.
    let listed = sandbox.json(["try", "list"]);
    assert_eq!(listed["tries"][0]["try_id"], document["try_id"]);
    let shown = sandbox.json(["try", "show", "latest"]);
    assert_eq!(shown["runs"], document["runs"]);
    let diff = sandbox.ok(["try", "diff", "latest"]);
    assert!(diff.contains("-one\n+fixed\n"), "{diff}");
    let stat = sandbox.ok(["try", "diff", "latest", "--stat"]);
    assert!(stat.contains("1 file changed"), "{stat}");
    sandbox.tw(["try", "-n", "1", "--", "true"]);
    let (error, code) = sandbox.json_error(["try", "show", "t_20"]);
    assert_eq!((&error["code"], code), (&json!("AMBIGUOUS_ADDRESS"), 3));
    assert_eq!(
        error["hint"],
        "give more of the id; 'tw try list' shows what there is"
    );
}

#[test]
fn the_best_is_put_onto_the_present_and_taken_back() {
    let sandbox = checked();
    sandbox.write("b.txt", "mine\n");
    sandbox.git(["add", "b.txt"]);
    tried(
        &sandbox,
        &[
            "try",
            "-n",
            "1",
            "--verify",
            "sh check.sh",
            "--",
            "echo fixed >a.txt; echo new >new",
        ],
    );
    let index = sandbox.git(["ls-files", "-s"]);
    sandbox.write("check.sh", "# changed meanwhile\n");
    let dry = sandbox.json(["try", "apply", "latest", "--dry-run"]);
    assert_eq!(
        (&dry["dry_run"], &dry["backup_id"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(sandbox.text("a.txt"), "one\n");
    let applied = sandbox.json(["try", "apply", "latest"]);
    assert!(applied["backup_id"].is_string(), "{applied}");
    assert_eq!(applied["changes"]["written"], json!(["a.txt", "new"]));
    assert_eq!(
        (sandbox.text("a.txt"), sandbox.text("new")),
        ("fixed\n".into(), "new\n".into())
    );
    assert_eq!(sandbox.text("check.sh"), "# changed meanwhile\n");
    assert_eq!(sandbox.git(["ls-files", "-s"]), index);
    sandbox.ok(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    assert!(!sandbox.path("new").exists());
    // A part of an id begins the id, its time or its end, and has four characters.
    let id = applied["try_id"].as_str().unwrap();
    let tail = id.rsplit_once('_').unwrap().1;
    for too_little in [&tail[..1], &tail[..3], &id[3..8], ""] {
        let (error, _) = sandbox.json_error(["try", "drop", too_little]);
        assert_eq!(error["code"], "SNAPSHOT_NOT_FOUND", "{too_little}");
    }
    for part in [&id[..6], &id[2..10], &tail[..4]] {
        assert_eq!(sandbox.json(["try", "show", part])["try_id"], id);
    }
    let dropped = sandbox.json(["try", "drop", tail]);
    assert_eq!(dropped["experiments"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.json(["try", "list"])["tries"], json!([]));
    let (error, code) = sandbox.json_error(["try", "show", "latest"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SNAPSHOT_NOT_FOUND"), 3)
    );
}

#[test]
fn what_conflicts_is_not_written_unless_both_sides_are_wanted() {
    let sandbox = checked();
    tried(
        &sandbox,
        &["try", "-n", "1", "--", "echo theirs >a.txt; echo new >new"],
    );
    sandbox.write("a.txt", "ours\n");
    let (error, code) = sandbox.json_error(["try", "apply", "latest", "1"]);
    assert_eq!((error["code"].as_str(), code), (Some("CONFLICT"), 5));
    assert_eq!(error["paths"], json!(["a.txt"]));
    assert_eq!(sandbox.text("a.txt"), "ours\n");
    assert!(!sandbox.path("new").exists());
    let ran = sandbox.tw(["try", "apply", "latest", "1", "--conflicts"]);
    assert_eq!(ran.code, 1, "{}", ran.err());
    let text = sandbox.text("a.txt");
    assert!(
        text.contains("<<<<<<<") && text.contains("theirs"),
        "{text}"
    );
    assert_eq!(sandbox.git(["ls-files", "-u"]), "");
    sandbox.ok(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "ours\n");
}

/// In answers and in errors, as everywhere.
#[test]
fn a_path_that_is_not_utf8_has_its_exact_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let sandbox = checked();
    let odd = OsStr::from_bytes(b"odd\xff");
    sandbox.write(odd, "base\n");
    let script =
        "for f in odd*; do echo theirs >$f; done; echo x >$TW_SOURCE/$(printf 'escaped\\377')";
    let words = ["--json", "try", "-n", "1", "--verify", "cat odd*", "--"];
    let words = words.iter().map(OsStr::new).chain([OsStr::new(script)]);
    let ran = sandbox.tw(words);
    let document: Value = crate::schema::read(&ran.stdout).unwrap();
    crate::schema::check("try", &document);
    let run = &document["runs"][0];
    assert_eq!(run["escapes"], json!(["escaped\u{fffd}"]), "{document}");
    assert_eq!(run["escapes_bytes"], json!(["ZXNjYXBlZP8="]));
    let shown = sandbox.json(["try", "show", "latest"]);
    assert_eq!(shown["runs"][0], *run);
    sandbox.write(odd, "ours\n");
    let (error, _) = sandbox.json_error(["try", "apply", "latest"]);
    assert_eq!(error["paths"], json!(["odd\u{fffd}"]), "{error}");
    assert_eq!(error["paths_bytes"], json!(["b2Rk/w=="]));
    let conflict = &error["conflicts"][0];
    assert_eq!(conflict["path"], "odd\u{fffd}");
    assert_eq!(conflict["path_bytes"], "b2Rk/w==");
}

#[test]
fn none_that_passes_is_one_and_a_run_without_a_check_is_unverified() {
    let sandbox = checked();
    let (document, code) = tried(
        &sandbox,
        &["try", "-n", "2", "--verify", "sh check.sh", "--", "true"],
    );
    assert_eq!((code, &document["best"]), (1, &Value::Null));
    let (document, code) = tried(&sandbox, &["try", "-n", "1", "--", "false"]);
    assert_eq!(code, 0);
    assert_eq!(document["runs"][0]["status"], "unverified");
    assert_eq!(document["runs"][0]["exit"], 1);
    let (document, code) = tried(
        &sandbox,
        &["try", "-n", "1", "--timeout", "1s", "--", "sleep", "60"],
    );
    assert_eq!(
        (code, &document["runs"][0]["status"]),
        (1, &json!("timeout"))
    );
    let (document, code) = tried(&sandbox, &["try", "-n", "1", "--", "no-such-program"]);
    assert_eq!((code, &document["runs"][0]["status"]), (1, &json!("error")));
    swept(&sandbox);
}

#[test]
fn a_run_cannot_pass_by_changing_what_the_check_names() {
    let sandbox = checked();
    let words = [
        "try",
        "-n",
        "1",
        "--verify",
        "sh ./check.sh",
        "--",
        "echo true >check.sh; echo out",
    ];
    let (document, code) = tried(&sandbox, &words);
    let run = &document["runs"][0];
    assert_eq!((code, &run["status"]), (1, &json!("failed")));
    assert_eq!(run["protected"], json!(["check.sh"]));
    // It is what the run made all the same.
    assert!(sandbox.ok(["try", "diff", "latest", "1"]).contains("+true"));
    assert_eq!(
        sandbox.ok(["try", "log", "latest", "1"]).lines().next(),
        Some("out")
    );
    assert_eq!(
        sandbox.json(["try", "log", "latest", "1"])["output"],
        "out\n"
    );
}

/// What a check looks at is what is judged.
#[test]
fn a_run_passes_by_changing_what_the_check_reads() {
    let sandbox = checked();
    for check in ["grep -q fixed a.txt", "! test \"$(cat ./a.txt)\" = one"] {
        let words = [
            "try",
            "-n",
            "1",
            "--verify",
            check,
            "--",
            "echo fixed >a.txt",
        ];
        let (document, code) = tried(&sandbox, &words);
        assert_eq!((code, &document["best"]), (0, &json!(1)), "{document}");
        assert_eq!(document["runs"][0]["protected"], json!(["a.txt"]));
    }
}

/// A run that changes what it is judged by, however the check names it.
#[test]
fn a_run_cannot_pass_by_changing_what_it_is_compared_with() {
    let sandbox = Sandbox::new();
    sandbox.write("expected.txt", "good\n");
    sandbox.write("out.txt", "bad\n");
    sandbox.write("check.awk", "END { exit 1 }\n");
    sandbox.write("t/x.sh", "exit 1\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "check"]);
    let awk = "echo 'END { exit 0 }' >check.awk";
    let script = "echo exit 0 >t/x.sh";
    for (check, run) in [
        ("diff -q expected.txt out.txt", "cp out.txt expected.txt"),
        ("cmp out.txt expected.txt", "cp out.txt expected.txt"),
        (
            "cat out.txt | diff - expected.txt",
            "cp out.txt expected.txt",
        ),
        ("awk -f check.awk out.txt", awk),
        ("awk -fcheck.awk out.txt", awk),
        ("sh t/*.sh", script),
        ("cd t && sh x.sh", script),
        ("sh t//x.sh", script),
        ("sh t/../t/x.sh", script),
    ] {
        let words = ["try", "-n", "1", "--verify", check, "--", run];
        let (document, code) = tried(&sandbox, &words);
        let status = &document["runs"][0]["status"];
        assert_eq!((code, status), (1, &json!("failed")), "{check}: {document}");
    }
}

/// A runner of tests is given the directory of them, or the name of a module. What they test is what the run has to mend.
#[test]
fn a_run_cannot_pass_by_changing_the_tests_that_a_runner_is_given() {
    let sandbox = Sandbox::new();
    let all = "for t in $(find $* -name '*.sh'); do sh $t || exit 1; done\n";
    sandbox.write("bin/pytest", all);
    sandbox.write(
        "bin/unittest",
        "sh $(echo $1 | cut -d. -f1,2 | tr . /).py\n",
    );
    sandbox.write("tests/deep/a.sh", "test -f done\n");
    sandbox.write("tests/test_a.py", "test -f done\n");
    sandbox.write("src/b.sh", "test -f done\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "check"]);
    let spoil = "for f in tests/deep/a.sh tests/test_a.py src/b.sh; do echo exit 0 >$f; done";
    for (check, code, named) in [
        ("sh bin/pytest tests", 1, "tests/deep/a.sh"),
        ("sh bin/pytest -L ./tests/deep", 1, "tests/deep/a.sh"),
        ("cd tests && sh ../bin/pytest .", 1, "tests/deep/a.sh"),
        ("sh bin/unittest tests.test_a.Case", 1, "tests/test_a.py"),
        // They may be what is to be mended.
        ("sh bin/pytest src", 0, ""),
        ("sh bin/pytest .", 0, ""),
    ] {
        let words = ["try", "-n", "1", "--verify", check, "--", spoil];
        let (document, exit) = tried(&sandbox, &words);
        assert_eq!(exit, code, "{check}: {document}");
        let protected = document["runs"][0]["protected"].to_string();
        assert!(protected.contains(named), "{check}: {document}");
        assert_eq!(protected == "[]", code == 0, "{check}: {document}");
    }
    let (document, exit) = tried(
        &sandbox,
        &[
            "try",
            "-n",
            "1",
            "--verify",
            "sh bin/pytest tests",
            "--",
            "touch done",
        ],
    );
    assert_eq!(exit, 0, "{document}");
}

/// What is compared with it is the run's own.
#[test]
fn a_run_passes_by_making_what_is_compared() {
    let sandbox = Sandbox::new();
    sandbox.write("expected.txt", "good\n");
    sandbox.write("out.txt", "bad\n");
    sandbox.write("a/list", "good\n");
    sandbox.write("a/made", "bad\n");
    sandbox.write("none", "");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "check"]);
    for (check, run) in [
        ("diff -q expected.txt out.txt", "cp expected.txt out.txt"),
        ("diff -q out.txt expected.txt", "cp expected.txt out.txt"),
        ("diff a/list a/made", "cp a/list a/made"),
        ("cmp new.txt expected.txt", "cp expected.txt new.txt"),
        ("grep -qf expected.txt out.txt", "cp expected.txt out.txt"),
        // Nothing tells which of the two is what is expected.
        ("cmp -s out.txt a/list", "cp a/list out.txt"),
        ("comm -3 out.txt a/list | diff - none", "cp a/list out.txt"),
        // A pattern over what is to be mended.
        (
            "for f in o*.txt; do grep -q good $f || exit 1; done",
            "echo good >out.txt",
        ),
        (
            "env X=1 sh -c 'grep -q good \"$1\"' - o*.txt",
            "echo good >out.txt",
        ),
    ] {
        let words = ["try", "-n", "1", "--verify", check, "--", run];
        let (document, code) = tried(&sandbox, &words);
        assert_eq!(
            (code, &document["best"]),
            (0, &json!(1)),
            "{check}: {document}"
        );
    }
}

#[test]
fn what_a_run_changed_in_bits_and_empty_directories_alone_is_kept_and_applied() {
    let sandbox = Sandbox::new();
    sandbox.write("key", "k\n");
    sandbox.write("new/test", "of the present\n");
    sandbox.chmod("key", 0o600);
    let with_bits = snapshot(&sandbox);
    sandbox.chmod("key", 0o644);
    let without = snapshot(&sandbox);
    let check = "test $(stat -c %a key) = 600 && test -d spool";
    let (answer, _) = tried(
        &sandbox,
        &[
            "try",
            "-n",
            "1",
            "--verify",
            check,
            "--",
            "sh",
            "-c",
            "chmod 600 key; mkdir spool",
        ],
    );
    let run = &answer["runs"][0];
    assert_eq!(run["status"], "passed", "{answer}");
    assert!(run["experiment_id"].is_string(), "{answer}");
    let said = sandbox.tw(["try", "show", "latest"]).out();
    assert!(!said.contains("no change"), "{said}");
    sandbox.json(["try", "apply", "latest"]);
    assert_eq!(mode(&sandbox, "key"), 0o600);
    assert!(sandbox.path("spool").is_dir());
    // One that goes is a change, and one that comes again is none.
    let script = "rmdir spool; mkdir spool";
    let (answer, _) = tried(&sandbox, &["try", "-n", "1", "--", script]);
    assert_eq!(answer["runs"][0]["experiment_id"], Value::Null, "{answer}");
    let (answer, _) = tried(&sandbox, &["try", "-n", "1", "--", "rmdir spool"]);
    assert!(answer["runs"][0]["experiment_id"].is_string(), "{answer}");
    sandbox.json(["try", "apply", "latest"]);
    assert!(!sandbox.exists("spool"));
    // Bits of a directory in which nothing but empty ones are.
    std::fs::create_dir_all(sandbox.path("out/of")).unwrap();
    sandbox.chmod("out", 0o755);
    let (answer, _) = tried(&sandbox, &["try", "-n", "1", "--", "chmod 750 out"]);
    assert!(answer["runs"][0]["experiment_id"].is_string(), "{answer}");
    sandbox.json(["try", "apply", "latest"]);
    assert_eq!(mode(&sandbox, "out"), 0o750);
    // Nor is what git ignores, in a directory of its own or not.
    sandbox.write(".gitignore", "*.o\n");
    let script = "mkdir -p obj cache; touch obj/a.o; echo '*' > cache/.gitignore; touch cache/x";
    let (answer, _) = tried(&sandbox, &["try", "-n", "1", "--", "sh", "-c", script]);
    assert_eq!(answer["runs"][0]["experiment_id"], Value::Null, "{answer}");
    // What is put over a run's files and taken back is no change of its.
    sandbox.chmod("key", 0o640);
    sandbox.write("new/deep/test", "of the present\n");
    for from in [&with_bits, &without] {
        let words = [
            "try", "-n", "1", from, "--with", "key", "--with", "new", "--", "true",
        ];
        let (answer, _) = tried(&sandbox, &words);
        assert_eq!(answer["runs"][0]["experiment_id"], Value::Null, "{answer}");
    }
}

#[test]
fn what_a_run_left_unreadable_keeps_its_scratch() {
    if is_root() {
        skipped("try_", "root reads everything");
        return;
    }
    let sandbox = Sandbox::new();
    let (answer, _) = tried(
        &sandbox,
        &[
            "try",
            "-n",
            "1",
            "--",
            "sh",
            "-c",
            "echo x > a.txt; chmod 000 a.txt",
        ],
    );
    let run = &answer["runs"][0];
    assert_eq!(run["experiment_id"], Value::Null, "{answer}");
    assert!(run["error"].as_str().unwrap().contains("a.txt"), "{answer}");
    let left = sandbox.json(["scratch", "list"])["scratches"].clone();
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
}

/// As an earlier version took it, which left out what it could not read.
#[test]
fn of_what_an_experiment_could_not_capture_nothing_is_known() {
    let sandbox = Sandbox::new();
    sandbox.write("kept", "of the present\n");
    sandbox.write("gone", "going\n");
    sandbox.mkdir("spool");
    let script = "rm gone kept; rmdir spool; echo made >made";
    let (answer, _) = tried(&sandbox, &["try", "-n", "1", "--", script]);
    let experiment = answer["runs"][0]["experiment_id"].as_str().unwrap();
    let name = format!("refs/timewarp/experiments/{experiment}");
    let listed =
        r#"{"path": "kept", "reason": "unreadable"}, {"path": "spool/pipe", "reason": "pipe"}"#;
    let older = sandbox.git(["cat-file", "commit", &name]);
    let older = older.replace("\"uncaptured\": []", &format!("\"uncaptured\": [{listed}]"));
    assert!(older.contains("spool/pipe"), "{older}");
    sandbox.write("../older", older);
    let oid = sandbox.git(["hash-object", "-t", "commit", "-w", "../older"]);
    sandbox.git(["update-ref", &name, oid.trim()]);
    let would = sandbox.json(["try", "apply", "latest", "--dry-run"]);
    let applied = sandbox.json(["try", "apply", "latest"]);
    assert_eq!(sandbox.text("kept"), "of the present\n");
    assert!(sandbox.exists("made") && !sandbox.exists("gone"));
    assert!(sandbox.path("spool").is_dir());
    for answer in [would, applied] {
        assert_eq!(answer["changes"]["removed"], json!(["gone"]), "{answer}");
        let said = answer["notices"].to_string();
        assert!(said.contains("did not capture it"), "{said}");
        assert!(
            said.contains("'kept'") && !said.contains("'gone'"),
            "{said}"
        );
    }
}

/// The escapes of one run that otherwise passes with no change.
fn escapes(sandbox: &Sandbox, script: &str) -> Value {
    let words = [
        "try", "-n", "1", "--verify", "true", "--", "sh", "-c", script,
    ];
    let (document, code) = tried(sandbox, &words);
    let run = &document["runs"][0];
    assert_eq!((code, &run["status"]), (0, &json!("passed")), "{document}");
    assert_eq!(run["uncertain"], false);
    run["escapes"].clone()
}

/// Their only copy is in the present.
#[test]
fn ignored_files_of_the_present_that_a_run_changes_are_named() {
    let sandbox = checked();
    sandbox.write(".gitignore", ".env\n*.log\nbuild/\nnode_modules/\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", "rules"]);
    for file in [
        ".env",
        "gone.log",
        "src/deep.log",
        "build/kept",
        "node_modules/a/b/c",
    ] {
        sandbox.write(file, "the only copy\n");
    }
    assert_eq!(escapes(&sandbox, "cat $TW_SOURCE/.env"), json!([]));
    let script =
        "echo overwritten >$TW_SOURCE/.env; rm $TW_SOURCE/gone.log; echo x >$TW_SOURCE/src/new.log";
    assert_eq!(
        escapes(&sandbox, script),
        json!([".env", "gone.log", "src/new.log"])
    );
    let shown = sandbox.ok(["try", "show", "latest"]);
    let said = "changed in the present: .env, gone.log, src/new.log";
    assert!(shown.contains(said), "{shown}");
    // By its mode alone, beneath what is ignored whole, and what came or went whole.
    let script = "cd $TW_SOURCE; chmod 600 .env; echo x >node_modules/a/b/c; rm -r build; mkdir -p src/build/x; echo >src/build/x/y";
    assert_eq!(
        escapes(&sandbox, script),
        json!([".env", "build/", "node_modules/a/b/c", "src/build/"])
    );
    // So many that the directory says it better.
    let script = "cd $TW_SOURCE/node_modules; for n in $(seq 150); do echo >$n; done";
    assert_eq!(escapes(&sandbox, script), json!(["node_modules/"]));
    // A rule that changes moves files, and changes none but its own.
    let script = "cd $TW_SOURCE; echo node_modules/ >.gitignore";
    assert_eq!(escapes(&sandbox, script), json!([".gitignore"]));
}

/// Which of two that go on at once it was nobody can tell.
#[test]
fn an_ignored_file_that_changes_while_several_run_is_uncertain() {
    let sandbox = checked();
    sandbox.write(".git/info/exclude", ".env\n");
    sandbox.write(".env", "the only copy\n");
    let script = "cd $TW_SOURCE/..; touch at-$TW_SLOT; until [ -e at-1 ] && [ -e at-2 ]; do sleep 0.05; done; echo x >$TW_SOURCE/.env";
    let (document, _) = tried(
        &sandbox,
        &["try", "-n", "2", "-j", "2", "--", "sh", "-c", script],
    );
    let runs = document["runs"].as_array().unwrap();
    assert!(
        runs.iter()
            .any(|run| run["uncertain"] == true && run["escapes"] == json!([".env"])),
        "{document}"
    );
}

/// Beneath ignored directories so many entries are looked at, the highest first; nothing is told of what was not seen.
#[test]
fn a_huge_ignored_directory_is_looked_at_in_part() {
    let sandbox = checked();
    sandbox.write(".gitignore", "/big/\n/small/\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", "rules"]);
    let dir = sandbox.path("big/flat");
    std::fs::create_dir_all(&dir).unwrap();
    for number in 0..50_001 {
        std::fs::File::create(dir.join(number.to_string())).unwrap();
    }
    sandbox.write("small/deep/file", "x\n");
    let begun = Instant::now();
    let script = "cd $TW_SOURCE; echo x >>big/flat/7; echo x >big/new; echo y >small/deep/file; rm big/flat/8";
    assert_eq!(
        escapes(&sandbox, script),
        json!(["big/new", "small/deep/file"])
    );
    // By far less, unless every entry is looked at again and again.
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}

/// The git directory of the present is that of the scratch, too.
#[test]
fn what_a_run_does_to_the_git_directory_is_named() {
    let sandbox = checked();
    sandbox.git(["config", "extensions.worktreeConfig", "true"]);
    let settings = "git config core.hooksPath .husky; git -C $TW_SOURCE config --worktree a.b c";
    assert_eq!(
        escapes(&sandbox, settings),
        json!([".git/config", ".git/config.worktree"])
    );
    sandbox.git(["config", "--unset", "core.hooksPath"]);
    let hooks = "cd $TW_SOURCE/.git; mkdir -p hooks info; echo true >hooks/pre-commit; echo '*.o' >>info/exclude; echo '*.c text' >info/attributes";
    let named = [
        ".git/hooks/pre-commit",
        ".git/info/attributes",
        ".git/info/exclude",
    ];
    assert_eq!(escapes(&sandbox, hooks), json!(named));
    // Its mode decides whether git runs it.
    let mode = "chmod 755 $TW_SOURCE/.git/hooks/pre-commit";
    assert_eq!(escapes(&sandbox, mode), json!([".git/hooks/pre-commit"]));
    // When git looked at a file is no change of the index.
    let looks = "touch -d 2001-01-01 $TW_SOURCE/a.txt; git -C $TW_SOURCE update-index --refresh";
    assert_eq!(escapes(&sandbox, looks), json!([]));
    let head = "cd $TW_SOURCE; git rm -q --cached a.txt; git symbolic-ref HEAD refs/heads/zz";
    assert_eq!(escapes(&sandbox, head), json!([".git/HEAD", ".git/index"]));
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
    let operation = "cd $TW_SOURCE; git rev-parse HEAD >.git/MERGE_HEAD";
    assert_eq!(escapes(&sandbox, operation), json!([".git/MERGE_HEAD"]));
    // No git writes the index while it is there.
    let lock = "touch $TW_SOURCE/.git/index.lock";
    assert_eq!(escapes(&sandbox, lock), json!([".git/index.lock"]));
}

#[test]
fn what_a_run_does_outside_is_named() {
    let sandbox = checked();
    let script = "echo over >\"$TW_SOURCE/a.txt\"; git branch side; setsid sleep 100 & sleep 1";
    let (document, _) = tried(&sandbox, &["try", "-n", "1", "--", script]);
    let run = &document["runs"][0];
    assert_eq!(run["escapes"], json!(["a.txt"]));
    assert_eq!(run["refs_made"], json!(["refs/heads/side"]));
    assert_eq!(run["uncertain"], false);
    assert!(
        run["leaks"][0].as_str().unwrap().contains("sleep 100"),
        "{run}"
    );
    let said = sandbox.ok(["try", "show", "latest"]);
    for text in [
        "changed in the present: a.txt",
        "made refs: refs/heads/side",
        "left running, and ended: ",
    ] {
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn snapshots_and_labels_that_a_run_deletes_or_moves_are_named() {
    let sandbox = checked();
    let taken = sandbox.json(["snapshot", "--label", "keep"])["snapshot"].clone();
    let name = format!(
        "refs/timewarp/snapshots/{}",
        taken["snapshot_id"].as_str().unwrap()
    );
    let script = format!(
        "git update-ref -d {name}; git update-ref refs/timewarp/records/labels/keep HEAD; {} snapshot -q",
        env!("CARGO_BIN_EXE_tw")
    );
    let (document, _) = tried(&sandbox, &["try", "-n", "1", "--", &script]);
    let run = &document["runs"][0];
    assert_eq!(
        run["refs_made"],
        json!(["refs/timewarp/records/labels/keep", name])
    );
}

#[test]
fn a_scratch_that_a_run_left_in_the_past_is_named_with_the_way_out() {
    let sandbox = checked();
    let tw = env!("CARGO_BIN_EXE_tw");
    let script = format!("echo x >x; {tw} -q snapshot; {tw} travel latest; echo more >x");
    let (document, _) = tried(&sandbox, &["try", "-n", "1", "--", &script]);
    assert_eq!(document["runs"][0]["status"], "error", "{document}");
    let kept = sandbox.json(["scratch", "gc"])["kept"][0].clone();
    let dir = kept["dir"].as_str().unwrap();
    assert_eq!(
        kept["hints"],
        json!([format!("run 'tw -C {dir} return' first")])
    );
    sandbox.ok(["-C", dir, "return"]);
    assert_eq!(sandbox.json(["scratch", "gc"])["kept"], json!([]));
    swept(&sandbox);
}

/// A check executes what the run wrote, as tests do; and a daemon of the setup is one, too.
#[test]
fn what_setup_and_check_do_outside_is_named() {
    let sandbox = checked();
    let code = "cat >code.sh <<'E'\necho x >$TW_SOURCE/by-check; git branch by-check; setsid sleep 101 &\nE";
    let words = [
        "try",
        "-n",
        "1",
        "--setup",
        "setsid sleep 102 & sleep 1",
        "--verify",
        "test -e code.sh || { echo x >$TW_SOURCE/by-base; setsid sleep 103 & sleep 1; exit 1; }; sh code.sh; sleep 1",
        "--",
        "sh",
        "-c",
        code,
    ];
    let (document, exit) = tried(&sandbox, &words);
    let run = &document["runs"][0];
    assert_eq!((exit, &run["status"]), (0, &json!("passed")), "{document}");
    assert_eq!(run["escapes"], json!(["by-check"]));
    assert_eq!(run["refs_made"], json!(["refs/heads/by-check"]));
    let sleepers = |outside: &Value| -> Vec<String> {
        let leaks = outside["leaks"].as_array().unwrap().iter();
        let leaks = leaks.map(|leak| leak.as_str().unwrap());
        leaks
            .map(|leak| leak[leak.find("sleep").unwrap()..].to_owned())
            .collect()
    };
    assert_eq!(sleepers(run), ["sleep 102", "sleep 101"]);
    let base = &document["base_outside"];
    assert_eq!(base["escapes"], json!(["by-base"]));
    assert_eq!(base["refs_made"], json!([]));
    assert_eq!(sleepers(base), ["sleep 102", "sleep 103"]);
    let shown = sandbox.ok(["try", "show", "latest"]);
    for text in [
        "changed in the present: by-base",
        "changed in the present: by-check",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
}

/// Snapshots have them, and what is on the desk is in the present, too.
#[test]
fn permission_bits_empty_directories_and_the_desk_are_of_the_present() {
    let sandbox = checked();
    sandbox.write("dir/file", "x\n");
    sandbox.mkdir("gone/inner");
    let script =
        "cd $TW_SOURCE; chmod 600 a.txt; chmod 700 dir; mkdir -p new/inner; rmdir gone/inner gone";
    assert_eq!(
        escapes(&sandbox, script),
        json!(["a.txt", "dir/", "gone/inner/", "new/inner/"])
    );
    assert_eq!(escapes(&sandbox, "chmod 700 $TW_SOURCE"), json!(["./"]));
    // A directory that something in it tells of needs no word of its own.
    let script = "cd $TW_SOURCE; mkdir more; echo x >more/file; rm -r dir";
    assert_eq!(escapes(&sandbox, script), json!(["dir/file", "more/file"]));
    let id = issue(&sandbox);
    sandbox.write(".timewarp/config.toml", "");
    let desk = format!(".timewarp/issues/{id}/issue.json");
    let script = format!(
        "cd $TW_SOURCE; echo 'exclude = [\"a.txt\"]' >.timewarp/config.toml; echo x >>{desk}"
    );
    let named = [".timewarp/config.toml", desk.as_str()];
    assert_eq!(escapes(&sandbox, &script), json!(named));
    sandbox.git(["add", "-f", ".timewarp/config.toml"]);
    let script = format!("cd $TW_SOURCE; echo >.timewarp/config.toml; rm {desk}");
    assert_eq!(escapes(&sandbox, &script), json!(named));
}

/// A run that fails for it looks like an honest failure.
#[test]
fn what_a_scratch_lacks_is_named() {
    let sandbox = checked();
    let sub = sandbox.root().join("other");
    sandbox.git(["init", "-q", sub.to_str().unwrap()]);
    let commit = ["commit", "-q", "--allow-empty", "-m", "in it"];
    sandbox.git_in(&sub, commit);
    sandbox.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        sub.to_str().unwrap(),
        "sub",
    ]);
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{:064}\nsize 5\n",
        1
    );
    sandbox.write(".gitattributes", "*.bin filter=lfs -text\n");
    sandbox.write("large.bin", pointer);
    let (document, _) = tried(&sandbox, &["try", "-n", "2", "--", "true"]);
    let lacks = json!([
        "submodules are left empty: 'sub'",
        "git LFS pointers that were not fetched: 'large.bin'"
    ]);
    assert_eq!(document["notices"], lacks);
    assert_eq!(document["runs"][1]["notices"], lacks);
    assert_eq!(sandbox.json(["try", "show", "latest"])["notices"], lacks);
    let id = issue(&sandbox);
    sandbox.ok(["issue", "close", &id]);
    let replayed = sandbox.tw(["--json", "replay", "--", "echo fixed >a.txt"]);
    let replayed: Value = serde_json::from_slice(&replayed.stdout).unwrap();
    assert_eq!(replayed["notices"], lacks, "{replayed}");
    let shown = sandbox.json(["replay", "show", "latest"]);
    assert_eq!(shown["results"][0]["runs"][0]["notices"], lacks);
}

#[test]
fn files_that_come_with_a_run_are_no_part_of_what_it_left() {
    let sandbox = checked();
    let id = crate::trip::snapshot(&sandbox);
    sandbox.write("RULES.md", "be brief\n");
    sandbox.write("a.txt", "later\n");
    let words = [
        "try",
        "-n",
        "1",
        "--with",
        "RULES.md",
        &id,
        "--",
        "cat RULES.md a.txt; echo x >made",
    ];
    let (document, _) = tried(&sandbox, &words);
    assert_eq!(document["source"], json!(id));
    assert_eq!(document["runs"][0]["diff_stat"]["files"], 1, "{document}");
    assert_eq!(sandbox.ok(["try", "log", "latest"]), "be brief\none\n");
}

/// Some programs believe `PWD` rather than the system; a shell would put it right.
#[test]
fn a_run_is_told_where_it_is() {
    let sandbox = checked();
    let (document, _) = tried(&sandbox, &["try", "-n", "1", "--", "printenv", "PWD"]);
    let said = sandbox.ok(["try", "log", "latest"]);
    assert!(said.contains("/repo.tw/try-"), "{said}: {document}");
}

#[test]
fn setup_comes_first_and_the_first_that_passes_ends_the_others() {
    let sandbox = checked();
    // The first one passes when the second one is where only its end is left.
    let script = "test -f ready || exit 3; second=$TW_SOURCE/../second; \
                  if [ $TW_SLOT = 1 ]; then until [ -e $second ]; do sleep 0.05; done; \
                  else touch $second; sleep 60; fi; echo fixed >a.txt";
    let begun = Instant::now();
    let words = [
        "try",
        "-n",
        "4",
        "-j",
        "2",
        "--first",
        "--setup",
        "touch ready",
        "--verify",
        "sh check.sh",
        "--",
        script,
    ];
    let (document, code) = tried(&sandbox, &words);
    assert_eq!(code, 0, "{document}");
    assert!(begun.elapsed() < Duration::from_secs(40));
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{document}");
    assert_eq!(
        (&runs[0]["status"], &runs[1]["error"]),
        (&json!("passed"), &json!("stopped"))
    );
}

#[test]
fn a_setup_that_is_stopped_has_not_failed() {
    let sandbox = checked();
    // That of the check before all runs and of the first run have nothing to do.
    let setup = "[ $TW_SLOT = 1 ] || { touch $TW_SOURCE/../second; sleep 60; }";
    let script = "until [ -e $TW_SOURCE/../second ]; do sleep 0.05; done; echo fixed >a.txt";
    let (document, code) = tried(
        &sandbox,
        &[
            "try",
            "-n",
            "2",
            "-j",
            "2",
            "--first",
            "--setup",
            setup,
            "--verify",
            "sh check.sh",
            "--",
            script,
        ],
    );
    assert_eq!(code, 0, "{document}");
    let runs = document["runs"].as_array().unwrap();
    let told: Vec<_> = runs.iter().map(|run| &run["error"]).collect();
    assert_eq!(told, [&Value::Null, &json!("stopped")], "{document}");
}

#[test]
fn a_setup_whose_time_is_over_is_said_to_be() {
    let sandbox = checked();
    let id = issue(&sandbox);
    let words = ["--timeout", "1s", "--setup", "sleep 60", "--", "true"];
    let (document, code) = tried(&sandbox, &[&["try", &id, "-n", "1"][..], &words].concat());
    let run = &document["runs"][0];
    assert_eq!((run["status"].as_str(), code), (Some("timeout"), 1));
    assert_eq!(run["error"], "the setup command timed out");
    // Of the issue it says nothing.
    let runs = &sandbox.json(["issue", "get", &id])["issue"]["runs"];
    assert_eq!(runs[0]["result"], Value::Null, "{runs}");
}

#[test]
fn equal_trees_are_one_group() {
    let sandbox = checked();
    let script = "[ $TW_SLOT = 3 ] && echo other >a.txt || echo same >a.txt";
    let (document, _) = tried(&sandbox, &["try", "-n", "3", "-j", "3", "--", script]);
    let runs = document["runs"].as_array().unwrap();
    let group = |slot: u64| runs.iter().find(|run| run["slot"] == slot).unwrap()["group"].clone();
    assert_eq!(group(1), group(2));
    assert_ne!(group(1), group(3));
}

fn issue(sandbox: &Sandbox) -> String {
    crate::trip::snapshot(sandbox);
    let words = [
        "issue",
        "report",
        "--snapshot",
        "latest",
        "--symptom",
        "a.txt is wrong",
        "--task-context",
        "testing",
        "--success-criteria",
        "it is fixed",
        "--verify",
        "sh check.sh",
    ];
    let reported = sandbox.json(words);
    reported["issue_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_issue_brings_its_snapshot_and_its_check_and_gets_the_runs() {
    let sandbox = checked();
    let id = issue(&sandbox);
    sandbox.write("a.txt", "later\n");
    let (document, code) = tried(
        &sandbox,
        &["try", &id, "-n", "2", "--", "cat a.txt; echo fixed >a.txt"],
    );
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["issue_id"], json!(id));
    let shown = sandbox.json(["issue", "get", &id]);
    let runs = shown["issue"]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["result"], "passed");
    assert_eq!(runs[0]["try_id"], document["try_id"]);
    let listed = sandbox.json(["issue", "list"])["issues"][0].clone();
    assert_eq!(
        (&listed["tries"], &listed["best"]),
        (&json!(1), &document["best"])
    );
    let said = sandbox.ok(["issue", "list"]);
    assert!(said.contains("1 try, run "), "{said}");
    let first = document["runs"].as_array().unwrap().iter();
    let first = first.clone().find(|run| run["issue_run"] == 1).unwrap();
    assert_eq!(runs[0]["experiment_id"], first["experiment_id"]);
    assert_eq!(
        sandbox.ok(["try", "log", "latest"]).lines().next(),
        Some("one")
    );
}

#[test]
fn a_check_after_a_try_is_the_later_one_also_within_its_second() {
    let sandbox = checked();
    let id = issue(&sandbox);
    let verified = || {
        let ran = sandbox.tw(["--json", "issue", "verify", &id]);
        let document: Value = serde_json::from_str(&ran.out()).unwrap();
        sandbox.wait(-STEP);
        document["run"].clone()
    };
    assert_eq!(verified(), 1);
    let words = ["try", &id, "-n", "1", "--", "echo fixed >a.txt"];
    assert_eq!(tried(&sandbox, &words).0["runs"][0]["issue_run"], 2);
    sandbox.wait(-STEP);
    assert_eq!(verified(), 3);
    let closed = sandbox.json(["issue", "close", &id]);
    assert_eq!(closed["issue"]["resolution"]["proof"], Value::Null);
    let said = closed["notices"].to_string();
    assert!(said.contains("the last check failed"), "{said}");
}

#[test]
fn a_try_that_passed_is_the_proof_of_a_fix() {
    let sandbox = checked();
    let id = issue(&sandbox);
    let script = "test $TW_SLOT = 2 || echo fixed >a.txt";
    let words = ["try", &id, "-n", "2", "-j", "2", "--", script];
    let (document, _) = tried(&sandbox, &words);
    let try_id = document["try_id"].as_str().unwrap();
    let statuses = ["passed", "failed"];
    for (run, status) in document["runs"].as_array().unwrap().iter().zip(statuses) {
        assert_eq!(run["status"], status);
    }
    let best = document["best"].as_u64().unwrap();
    let failed = document["runs"][1]["run"].as_u64().unwrap();
    // One of nothing, one that failed, one of another issue, and where nothing is solved.
    let other = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "x",
        "--symptom",
        "y",
        "--success-criteria",
        "z",
    ]);
    let other = other["issue_id"].as_str().unwrap();
    let wrong_run = format!("latest:{failed}");
    for (words, code) in [
        (&[&id, "--proof", "nothing"][..], "SNAPSHOT_NOT_FOUND"),
        (&[&id, "--proof", &wrong_run], "USAGE"),
        (&[&id, "--proof", "latest:x"], "USAGE"),
        (&[&id, "--proof", "latest:9"], "USAGE"),
        (&[other, "--proof", "latest"], "USAGE"),
        (&[&id, "--proof", "latest", "--status", "wontfix"], "USAGE"),
    ] {
        let words: Vec<&str> = ["issue", "close"].iter().chain(words).copied().collect();
        let (error, _) = sandbox.json_error(&words);
        assert_eq!(error["code"], code, "{words:?}: {error}");
    }
    assert_eq!(
        sandbox.json(["issue", "get", &id])["issue"]["resolution"],
        Value::Null
    );
    let closed = sandbox.json(["issue", "close", &id, "--proof", "latest"]);
    let proof = &closed["issue"]["resolution"]["proof"];
    assert_eq!(
        (&proof["kind"], &proof["id"]),
        (&json!("try"), &json!(try_id))
    );
    assert_eq!(proof["run"], best);
    assert_eq!(proof["command"], "sh check.sh");
    assert_eq!(proof["experiment_id"], document["runs"][0]["experiment_id"]);
    assert_eq!(proof["issue_run"], document["runs"][0]["issue_run"]);
    assert_eq!(closed["notices"], json!([]));
    let shown = sandbox.ok(["issue", "get", &id]);
    let line = format!("proof: run {best} of {try_id}, 'sh check.sh' passed\n");
    assert!(shown.contains(&line), "{shown}");
    // Without it, one of the try's runs is check enough; whoever opens it again takes the proof away.
    let again = sandbox.json(["issue", "reopen", &id]);
    assert_eq!(again["issue"]["resolution"], Value::Null);
    let closed = sandbox.json(["issue", "close", &id]);
    assert_eq!(closed["notices"], json!([]));
}

#[test]
fn apply_takes_permission_bits_and_empty_directories_too() {
    let sandbox = checked();
    for file in ["here", "changed"] {
        sandbox.write(file, "1\n");
        sandbox.chmod(file, 0o640);
    }
    let root = sandbox.path("");
    let bits = |path: &std::path::Path| {
        let metadata = std::fs::metadata(path).unwrap();
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777
    };
    let root_bits = bits(&root);
    let script = "echo fixed >a.txt; chmod 600 here changed; mkdir -p made/empty; chmod 700 made";
    tried(&sandbox, &["try", "-n", "1", "--", script]);
    sandbox.chmod("changed", 0o644);
    let before = sandbox.state();
    let applied = sandbox.json(["try", "apply", "latest"]);
    assert_eq!(applied["changes"]["written"], json!(["a.txt", "here"]));
    assert_eq!(bits(&sandbox.path("here")), 0o600);
    assert_eq!(bits(&sandbox.path("changed")), 0o644, "changed since");
    assert!(sandbox.path("made/empty").is_dir());
    assert_eq!(
        (bits(&sandbox.path("made")), bits(&root)),
        (0o700, root_bits)
    );
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn apply_takes_empty_directories_in_the_place_of_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("dir", "a file\n");
    for script in [
        "rm dir; mkdir -p dir/empty/deep; echo 1 >dir/file",
        "rm dir; mkdir -p dir/empty/deep",
        "rm dir; mkdir dir",
    ] {
        tried(&sandbox, &["try", "-n", "1", "--", script]);
        let before = sandbox.state();
        sandbox.json(["try", "apply", "latest"]);
        let made = ["dir", "dir/empty/deep"][usize::from(script.contains("deep"))];
        assert!(sandbox.path(made).is_dir(), "{script}");
        let after = sandbox.state();
        sandbox.json(["undo"]);
        before.assert_same(&sandbox.state());
        sandbox.json(["redo"]);
        after.assert_same(&sandbox.state());
        sandbox.json(["undo"]);
    }
}

#[test]
fn apply_follows_permission_bits_to_the_names_of_now() {
    let sandbox = Sandbox::new();
    let files = [
        "key",
        "both",
        "shared",
        "gone",
        "dir/in/file",
        "split/a",
        "split/b",
    ];
    for file in files {
        sandbox.write(file, format!("{file}\n").repeat(20));
        sandbox.chmod(file, 0o644);
    }
    for dir in ["dir", "dir/in", "split"] {
        sandbox.chmod(dir, 0o755);
    }
    let script = "chmod 600 key both shared gone; echo more >>both; chmod 700 dir dir/in split";
    tried(&sandbox, &["try", "-n", "1", "--", script]);
    let rename = |from: &str, to: &str| {
        std::fs::rename(sandbox.path(from), sandbox.path(to)).unwrap();
    };
    for dir in ["one", "two"] {
        sandbox.mkdir(dir);
        sandbox.chmod(dir, 0o755);
    }
    rename("key", "one/key");
    rename("both", "both2");
    rename("shared", "shared2");
    rename("dir", "dir2");
    rename("split/a", "one/a");
    rename("split/b", "two/b");
    std::fs::remove_dir(sandbox.path("split")).unwrap();
    sandbox.chmod("shared2", 0o640);
    sandbox.remove("gone");
    let before = sandbox.state();
    let applied = sandbox.json(["try", "apply", "latest"]);
    let names = [
        "one/key", "both2", "shared2", "dir2", "dir2/in", "one", "two",
    ];
    assert_eq!(
        names.map(|name| mode(&sandbox, name)),
        [0o600, 0o600, 0o640, 0o700, 0o700, 0o755, 0o755]
    );
    let told = "the run changed permission bits of what is not there any more: 'gone', 'split'";
    assert_eq!(applied["notices"], json!([told]));
    // Nothing else is to be said of these alone.
    let again = sandbox.json(["try", "apply", "latest"]);
    assert_eq!(
        (&again["backup_id"], &again["notices"]),
        (&Value::Null, &json!([told]))
    );
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn what_was_applied_proves_the_fix() {
    let sandbox = checked();
    let id = issue(&sandbox);
    let resolution = |words: &[&str]| {
        sandbox.json(["issue", "reopen", &id]);
        let words = [&["issue", "close", &id], words].concat();
        let closed = sandbox.json(words);
        (
            closed["issue"]["resolution"]["proof"].clone(),
            closed["notices"].to_string(),
        )
    };
    let (proof, said) = resolution(&[]);
    assert!(
        proof.is_null() && said.contains("no check was run"),
        "{said}"
    );
    sandbox.json(["issue", "reopen", &id]);
    assert_eq!(sandbox.json(["issue", "next"])["issue_id"], json!(id));
    let script = "[ $TW_SLOT = 1 ] && echo fixed >a.txt; true";
    let (first, _) = tried(&sandbox, &["try", &id, "-n", "2", "-j", "2", "--", script]);
    // The last run that was made failed: it is the best one that counts.
    let (proof, _) = resolution(&[]);
    assert_eq!(
        (&proof["kind"], &proof["id"]),
        (&json!("try"), &first["try_id"])
    );
    let (second, _) = tried(&sandbox, &["try", &id, "-n", "1", "--", "true"]);
    let (proof, said) = resolution(&[]);
    assert!(
        proof.is_null() && said.contains("the last check failed"),
        "{said}"
    );
    let named = first["try_id"].as_str().unwrap();
    assert_eq!(resolution(&["--proof", named]).0["id"], first["try_id"]);
    let other = second["try_id"].as_str().unwrap();
    let refused = sandbox
        .json_error(["issue", "close", &id, "--proof", other])
        .0;
    assert_eq!(refused["code"], "USAGE");
    sandbox.wait(60);
    sandbox.json(["try", "apply", named]);
    let (proof, said) = resolution(&[]);
    let best = first["best"].clone();
    assert_eq!(
        (&proof["id"], &proof["run"]),
        (&first["try_id"], &best),
        "{said}"
    );
    let shown = sandbox.ok(["issue", "get", &id]);
    assert!(shown.contains(&format!("of {named}, ")), "{shown}");
}

#[test]
fn an_agent_works_on_an_issue_without_a_terminal() {
    let sandbox = checked();
    let id = issue(&sandbox);
    let bin = sandbox.root().join("bin");
    let agent = "#!/bin/sh\nprintf '%s\\n' \"$@\"\necho fixed >a.txt\n";
    sandbox.program(bin.join("claude"), agent);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let words = [
        "--json",
        "try",
        &id,
        "-n",
        "1",
        "--agent",
        "claude",
        "--agent-args",
        "--model",
        "--agent-args",
        "small",
    ];
    let mut command = sandbox.tw_command();
    let output = command
        .current_dir(sandbox.path(""))
        .env("PATH", path)
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = sandbox.ok(["try", "log", "latest"]);
    assert!(said.starts_with("-p\nFix this problem"), "{said}");
    assert!(said.contains("\nSymptom:\n> a.txt is wrong\n"), "{said}");
    assert!(said.contains("\n--model\nsmall\n"), "{said}");
    let (error, code) = sandbox.json_error(["try", "--agent", "claude"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
}

#[test]
fn an_agent_that_is_not_installed_fails_at_nothing() {
    let sandbox = checked();
    let id = issue(&sandbox);
    for words in [&["try", &id][..], &["replay", "--status", "open"]] {
        let output = sandbox
            .tw_command()
            .current_dir(sandbox.path(""))
            .env("PATH", sandbox.root().join("empty"))
            .arg("--json")
            .args(words)
            .args(["--agent", "claude", "--agent-args=-x"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let error = &document["error"];
        assert_eq!(error["code"], "USAGE", "{document}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("'claude'"), "{message}");
    }
    assert_eq!(sandbox.json(["try", "list"])["tries"], json!([]));
}

#[test]
fn a_killed_try_leaves_no_child_and_gc_leaves_no_litter() {
    let sandbox = checked();
    sandbox.write("mine", "untracked\n");
    let status = sandbox.git(["status", "--porcelain"]);
    let pids = sandbox.root().join("pids");
    let script = format!(
        "echo work >a.txt; echo $$ >>{}; setsid sleep 300",
        pids.display()
    );
    let own = sandbox.root().join("own");
    let start = format!("echo $$ >{}; exec \"$@\"", own.display());
    let mut command = sandbox.command("sh");
    command.args(["-c", &start, "sh", env!("CARGO_BIN_EXE_tw")]);
    command.args(["try", "-n", "2", "-j", "2", "--", &script]);
    let waiting = std::thread::spawn(move || command.output());
    let begun = Instant::now();
    let read = || std::fs::read_to_string(&pids).unwrap_or_default();
    while read().lines().count() < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the runs do not begin"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = std::fs::read_to_string(&own)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let _ = waiting.join();
    for pid in read().lines() {
        let stat = format!("/proc/{pid}/stat");
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
        while runs() {
            assert!(begun.elapsed() < Duration::from_secs(90), "{pid} goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let done = sandbox.json(["scratch", "gc"]);
    let removed = done["removed"].as_array().unwrap();
    assert_eq!((removed.len(), &done["kept"]), (2, &json!([])), "{done}");
    assert!(
        removed.iter().all(|one| one["experiment_id"].is_string()),
        "{done}"
    );
    swept(&sandbox);
    assert_eq!(sandbox.git(["status", "--porcelain"]), status);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    let said = sandbox.tw(["try", "show", "latest"]).err();
    assert!(said.contains("was killed"), "{said}");
}

/// Whatever the run did to the processes above it.
#[test]
fn of_a_killed_try_no_run_goes_on_that_stopped_its_guard() {
    let sandbox = checked();
    let pid = sandbox.root().join("pid");
    let own = sandbox.root().join("own");
    let script = format!(
        "kill -STOP $PPID; echo $$ >'{}'; exec sleep 300",
        pid.display()
    );
    let start = format!("echo $$ >{}; exec \"$@\"", own.display());
    let mut command = sandbox.command("sh");
    command.args(["-c", &start, "sh", env!("CARGO_BIN_EXE_tw")]);
    command.args(["try", "-n", "1", "--", &script]);
    let waiting = std::thread::spawn(move || command.output());
    let number = |file: &std::path::Path| -> Option<i32> {
        let text = std::fs::read_to_string(file).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    };
    crate::sandbox::wait_until("the run begins", || number(&pid).is_some());
    let tw = rustix::process::Pid::from_raw(number(&own).unwrap()).unwrap();
    rustix::process::kill_process(tw, rustix::process::Signal::KILL).unwrap();
    let _ = waiting.join();
    let stat = format!("/proc/{}/stat", number(&pid).unwrap());
    crate::sandbox::wait_until("it ends", || {
        !std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"))
    });
}

/// The files of the check cannot be put back where it made a file of their directory.
#[test]
fn a_scratch_goes_also_where_its_run_could_not_be_judged() {
    let sandbox = checked();
    sandbox.write("tests/check.sh", "exit 1\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "tests"]);
    let verify = ["try", "-n", "1", "--verify", "sh tests/check.sh", "--"];
    let script = "rm -rf tests; echo x >tests";
    let (document, code) = tried(&sandbox, &[&verify[..], &[script]].concat());
    let run = &document["runs"][0];
    assert_eq!((code, &run["status"]), (1, &json!("error")), "{document}");
    assert!(run["experiment_id"].is_string(), "{run}");
    swept(&sandbox);
}

#[test]
fn a_scratch_that_stays_is_named_whatever_the_run_did_to_git() {
    let sandbox = checked();
    for (script, state) in [
        (
            "echo work >made; echo garbage >$(git rev-parse --git-dir)/HEAD",
            "left",
        ),
        ("echo work >made; rm -rf $(git rev-parse --git-dir)", "lost"),
    ] {
        if state == "left" && sandbox.has_reftable() {
            // The file says nothing there.
            continue;
        }
        let (document, code) = tried(&sandbox, &["try", "-n", "1", "--", script]);
        let run = &document["runs"][0];
        assert_eq!((code, &run["status"]), (1, &json!("error")), "{document}");
        let there = std::fs::read_dir(beside(&sandbox)).unwrap();
        let mut dirs: Vec<PathBuf> = there.map(|entry| entry.unwrap().path()).collect();
        dirs.retain(|dir| dir.join("made").exists());
        let [dir] = dirs.as_slice() else {
            panic!("{dirs:?}: {document}")
        };
        let error = run["error"].as_str().unwrap();
        assert!(
            error.contains(&format!("'{}' stays", dir.display())),
            "{error}"
        );
        let listed = sandbox.json(["scratch", "list"]);
        let listed = listed["scratches"].as_array().unwrap();
        let one = listed
            .iter()
            .find(|one| one["dir"] == dir.to_str().unwrap());
        let one = one.unwrap_or_else(|| panic!("{listed:?}"));
        assert_eq!(
            (&one["purpose"], &one["state"]),
            (&json!("try"), &json!(state))
        );
        assert_eq!(one["snapshot_id"].is_null(), state == "lost");
        // Nothing of it is saved, so nothing of it is removed.
        let collected = sandbox.json(["scratch", "gc"]);
        let kept = collected["kept"].as_array().unwrap();
        assert!(
            kept.iter().any(|one| one["dir"] == dir.to_str().unwrap()),
            "{collected}"
        );
        assert!(dir.join("made").exists());
        std::fs::remove_dir_all(dir).unwrap();
        sandbox.git(["worktree", "prune"]);
    }
    assert_eq!(sandbox.json(["scratch", "list"])["scratches"], json!([]));
}

/// Everything of the present that a try must leave alone.
fn present(sandbox: &Sandbox) -> String {
    let git = |words: &[&str]| sandbox.git(words);
    [
        git(&["status", "--porcelain=v2", "--branch", "--ignored"]),
        git(&["ls-files", "--stage"]),
        git(&["for-each-ref", "refs/heads", "refs/tags", "refs/stash"]),
        sandbox.text("a.txt"),
        sandbox.text("mine"),
    ]
    .join("--\n")
}

/// The processes that have something of this sandbox in their environment: all that a `tw` of it has started.
fn descendants(sandbox: &Sandbox) -> Vec<String> {
    let root = sandbox.root().display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pids = names.filter(|name| name.parse::<u32>().is_ok());
    let of_sandbox = |pid: &String| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&root)
    };
    pids.filter(of_sandbox).collect()
}

/// `TW_KILL_SEED` and `TW_KILL_ROUNDS` choose other moments, and more of them.
#[test]
fn a_try_that_is_killed_at_any_moment_leaves_the_present_as_it_was() {
    let number = |name: &str, default: u64| {
        let set = std::env::var(name).ok();
        set.map_or(default, |set| set.parse().unwrap())
    };
    let (mut random, rounds) = (number("TW_KILL_SEED", 1), number("TW_KILL_ROUNDS", 20));
    let sandbox = checked();
    sandbox.write("mine", "untracked\n");
    sandbox.write("a.txt", "edited\n");
    let before = present(&sandbox);
    let own = sandbox.root().join("own");
    let start = format!("echo $$ >{}; exec \"$@\"", own.display());
    let script = "echo fixed >a.txt; setsid sleep 300 & sleep 0.2";
    let mut killed = 0;
    for round in 0..rounds {
        let _ = std::fs::remove_file(&own);
        let mut command = sandbox.command("sh");
        command.args(["-c", &start, "sh", env!("CARGO_BIN_EXE_tw")]);
        command.args(["try", "-n", "4", "-j", "2", "--verify", "sh check.sh"]);
        command.args(["--", script]);
        let waiting = std::thread::spawn(move || command.output());
        let begun = Instant::now();
        let pid = loop {
            let written = std::fs::read_to_string(&own).unwrap_or_default();
            if let Some(pid) = written.strip_suffix('\n') {
                break pid.parse().unwrap();
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "it does not begin"
            );
            std::thread::sleep(Duration::from_millis(1));
        };
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let delay = Duration::from_millis((random >> 33) % 1500);
        std::thread::sleep(delay);
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        // Who has not been waited for keeps its number.
        if !waiting.is_finished() {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let output = waiting.join().unwrap().unwrap();
        killed += u64::from(output.status.code().is_none());
        let at = format!("round {round}, killed after {delay:?}");
        let begun = Instant::now();
        loop {
            let left = descendants(&sandbox);
            if left.is_empty() {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{at}: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        sandbox.ok(["scratch", "gc"]);
        swept(&sandbox);
        let left = sandbox.json(["scratch", "list"])["scratches"].clone();
        assert_eq!(left, json!([]), "{at}");
        assert_eq!(present(&sandbox), before, "{at}");
    }
    // Of one that was never killed this says nothing.
    assert!(killed * 2 > rounds, "{killed} of {rounds} were killed");
    // Nothing of it stands in the way of the next.
    let (document, code) = tried(
        &sandbox,
        &["try", "-n", "1", "--verify", "sh check.sh", "--", script],
    );
    assert_eq!(
        (&document["runs"][0]["status"], code),
        (&json!("passed"), 0)
    );
    sandbox.git(["fsck", "--no-dangling"]);
}

#[test]
fn what_hooks_record_in_a_scratch_stands_not_in_the_present() {
    let sandbox = checked();
    let payload = "{\"session_id\": \"abc\", \"prompt\": \"p\"}";
    let tw = env!("CARGO_BIN_EXE_tw");
    let script = format!(
        "{tw} snapshot -m inside; echo '{payload}' | {tw} hook claude prompt; echo out >a.txt"
    );
    let (document, _) = tried(&sandbox, &["try", "-n", "1", "--", &script]);
    assert_eq!(document["runs"][0]["leaks"], json!([]), "{document}");
    assert_eq!(document["runs"][0]["refs_made"], json!([]), "{document}");
    let listed = sandbox.json(["list"]);
    assert_eq!(listed["snapshots"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(sandbox.json(["session", "list"])["sessions"], json!([]));
    let everywhere = sandbox.ok(["list", "--all-worktrees"]);
    assert!(everywhere.contains("try-"), "{everywhere}");
    // The present's own state knows nothing of a session either.
    let ran = sandbox.json(["status"]);
    assert_eq!(ran["session"], Value::Null, "{ran}");
}

#[test]
fn an_issue_from_elsewhere_runs_nothing_that_was_not_approved_here() {
    let sandbox = checked();
    let id = issue(&sandbox);
    sandbox.remove(".git/timewarp/approved");
    let (error, code) = sandbox.json_error(["try", &id, "-n", "1", "--", "true"]);
    assert_eq!((error["code"].as_str(), code), (Some("NOT_APPROVED"), 5));
    assert_eq!(sandbox.json(["try", "list"])["tries"], json!([]));
}

#[test]
fn what_was_typed_for_a_scratch_checks_no_issue_in_the_working_tree() {
    let sandbox = checked();
    let bisect = ["bisect", "run", "--setup", "touch A4", "--", "touch A5"];
    for (typed, command, is_approved) in [
        (&["try", "-n", "1", "--", "touch A1"][..], "touch A1", false),
        (
            &["try", "-n", "1", "--setup", "touch A2", "--", "true"],
            "touch A2",
            false,
        ),
        (
            &["try", "-n", "1", "--verify", "touch A3", "--", "true"],
            "touch A3",
            true,
        ),
        (&bisect, "touch A4", false),
        (&bisect, "touch A5", false),
    ] {
        sandbox.tw(typed);
        let fields = json!({"task_context": "c", "symptom": "s", "success_criteria": "o", "verify_command": command});
        sandbox.write("issue.json", fields.to_string());
        let reported = sandbox.json(["issue", "report", "--from-json", "issue.json"]);
        sandbox.remove("issue.json");
        assert_eq!(
            reported["issue"]["verify_approved"], is_approved,
            "{typed:?}"
        );
        let id = reported["issue_id"].as_str().unwrap();
        if is_approved {
            sandbox.json(["issue", "verify", id]);
        } else {
            let (error, code) = sandbox.json_error(["issue", "verify", id]);
            assert_eq!((error["code"].as_str(), code), (Some("NOT_APPROVED"), 5));
        }
        let ran = command.trim_start_matches("touch ");
        assert_eq!(sandbox.exists(ran), is_approved, "{typed:?}");
    }
}

/// Nobody can allow it: as it stands it is not what was meant.
#[test]
fn a_check_that_redaction_changed_is_said_to_be_no_use() {
    let sandbox = checked();
    crate::trip::snapshot(&sandbox);
    let check = "test \"$(cat key)\" = password=hunter2";
    let reported = crate::issue::report(&sandbox, &["--verify", check]);
    let id = reported["issue_id"].as_str().unwrap();
    let (error, _) = sandbox.json_error(["try", id, "-n", "1", "--", "true"]);
    assert_eq!(error["code"], "NOT_APPROVED");
    let hint = error["hint"].as_str().unwrap();
    assert!(
        hint.contains("redacted") && !hint.contains("--allow"),
        "{hint}"
    );
}

#[test]
fn ctrl_c_ends_the_runs_and_keeps_what_they_made() {
    let sandbox = checked();
    let began = sandbox.root().join("began");
    let script = format!(
        "echo work >a.txt; echo $PPID >{}; sleep 300",
        began.display()
    );
    let own = sandbox.root().join("own");
    let start = format!("echo $$ >{}; exec \"$@\"", own.display());
    let mut command = sandbox.command("sh");
    command.args(["-c", &start, "sh", env!("CARGO_BIN_EXE_tw")]);
    command.args(["try", "-n", "3", "-j", "1", "--", &script]);
    let waiting = std::thread::spawn(move || command.output());
    let begun = Instant::now();
    while !began.exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the run does not begin"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = std::fs::read_to_string(&own)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let code = waiting.join().unwrap().unwrap().status.code();
    assert_eq!(code, Some(130));
    swept(&sandbox);
    let shown = sandbox.json(["try", "show", "latest"]);
    let runs = shown["runs"].as_array().unwrap();
    assert_eq!(
        (runs.len(), &runs[0]["error"]),
        (1, &json!("stopped")),
        "{shown}"
    );
    assert!(runs[0]["experiment_id"].is_string());
    assert!(sandbox.ok(["try", "diff", "latest", "1"]).contains("+work"));
}

#[test]
fn of_tries_within_a_second_the_last_is_the_latest() {
    let sandbox = checked();
    for _ in 0..6 {
        let ran = sandbox
            .tw_command()
            .env_remove("TW_TEST_NOW")
            .args(["-q", "try", "-n", "1", "--", "true"])
            .output()
            .unwrap();
        let made = String::from_utf8(ran.stdout).unwrap();
        let listed = sandbox.json(["try", "list"]);
        assert!(
            made.starts_with(listed["tries"][0]["try_id"].as_str().unwrap()),
            "{made}{listed}"
        );
    }
}

/// Before the first commit no run sees what another one commits.
#[test]
fn runs_side_by_side_before_the_first_commit_share_no_branch() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "x\n");
    // Each commits once both are there.
    let script = "at=$TW_SOURCE/../at; : >$at-$TW_SLOT
        for n in $(seq 1000); do [ -e $at-1 ] && [ -e $at-2 ] && break; sleep 0.01; done
        echo $TW_SLOT >f; git add -A; git -c user.name=a -c user.email=a@b commit -qm mine; git rev-list --count HEAD; git symbolic-ref HEAD";
    let (document, _) = tried(&sandbox, &["try", "-n", "2", "-j", "2", "--", script]);
    let said = ["1", "2"].map(|run| {
        let said = sandbox.ok(["try", "log", "latest", run]);
        assert!(said.contains("1\nrefs/heads/timewarp/open-"), "{said}");
        said
    });
    assert_ne!(said[0], said[1], "{document}");
}

/// As on a full disk.
#[test]
fn runs_are_told_although_they_cannot_be_recorded() {
    let sandbox = checked();
    // What is no file stands where the record would be.
    let script = "cd $TW_SOURCE/.git/timewarp/tries/*/; rm -f try.json; mkdir -p try.json/x";
    let (document, code) = tried(&sandbox, &["try", "-n", "2", "-j", "1", "--", script]);
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
    let said = document["notices"][0].as_str().unwrap();
    for text in ["told only here", "try.json", "'tw scratch gc'"] {
        assert!(said.contains(text), "{said}");
    }
    // No other command knows of it.
    let sandbox = checked();
    let ran = sandbox.tw(["try", "-n", "1", "--", script]);
    assert!(!ran.err().contains("tw try"), "{}", ran.err());
}

/// What a run says of a command of ours that is given beside it.
fn said_beside(sandbox: &Sandbox, words: &str) -> String {
    let tw = env!("CARGO_BIN_EXE_tw");
    let file = sandbox.root().join("said");
    format!(
        "'{tw}' -C '{}' --json {words} >'{}'; true",
        sandbox.repo().display(),
        file.display()
    )
}

/// The document that it said.
fn said(sandbox: &Sandbox) -> Value {
    let bytes = std::fs::read(sandbox.root().join("said")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn a_try_that_is_running_is_not_forgotten_and_no_scratch_closed_that_a_run_is_made_in() {
    for words in ["try drop latest", "close $TW_SCRATCH"] {
        let sandbox = checked();
        let script = said_beside(&sandbox, words);
        let (document, code) = tried(&sandbox, &["try", "--", &script]);
        let error = &said(&sandbox)["error"];
        assert_eq!(error["code"], "BUSY", "{words}: {error}");
        assert!(
            error["hint"].as_str().unwrap().contains("Ctrl-C"),
            "{error}"
        );
        assert_eq!(
            (code, &document["runs"][0]["status"]),
            (0, &json!("unverified"))
        );
        sandbox.json(["try", "show", "latest"]);
        sandbox.json(["try", "drop", "latest"]);
        swept(&sandbox);
    }
}

#[test]
fn a_directory_in_which_a_check_runs_or_from_which_runs_are_made_is_not_closed() {
    let sandbox = checked();
    let id = crate::stage::taken(&sandbox);
    let issue = &issue(&sandbox);
    let dir = sandbox.root().join("opened");
    let dir = dir.to_str().unwrap();
    let script = said_beside(&sandbox, &format!("close '{dir}'"));
    for command in [
        &["issue", "verify", issue, "--"][..],
        &["try", "--"],
        &["bisect", "run", "--"],
    ] {
        sandbox.json(["open", &id, dir]);
        for text in ["one\n", "more\n"] {
            sandbox.write("../opened/a.txt", text);
            sandbox.ok(["-C", dir, "snapshot"]);
        }
        let words = [&["-C", dir][..], command, &[&script]].concat();
        sandbox.tw(&words);
        let error = &said(&sandbox)["error"];
        assert_eq!(error["code"], "BUSY", "{command:?}: {error}");
        std::fs::remove_file(sandbox.root().join("said")).unwrap();
        // The issue's own, of a check there.
        let _ = std::fs::remove_dir_all(sandbox.root().join("opened/.timewarp"));
        sandbox.json(["close", dir]);
    }
}

#[test]
fn a_replay_that_is_running_is_not_forgotten() {
    let sandbox = checked();
    issue(&sandbox);
    let script = said_beside(&sandbox, "replay drop latest");
    sandbox.tw(["replay", "--status", "open", "--", &script]);
    let error = &said(&sandbox)["error"];
    assert_eq!(error["code"], "BUSY", "{error}");
    sandbox.json(["replay", "drop", "latest"]);
}

#[test]
fn a_file_comes_with_a_run_that_was_a_directory_and_the_other_way_round() {
    let sandbox = Sandbox::new();
    sandbox.write("conf/x", "1\n");
    sandbox.write("conf/deep/y", "1\n");
    sandbox.write("other", "1\n");
    sandbox.mkdir("conf/spool/in");
    sandbox.mkdir("hollow");
    let id = snapshot(&sandbox);
    for path in ["conf", "hollow", "other"] {
        sandbox.remove(path);
    }
    sandbox.write("conf", "file\n");
    sandbox.write("hollow", "file\n");
    sandbox.write("other/y", "2\n");
    let script = "cat conf hollow other/y";
    let words = [
        "try", "-n", "1", "--with", "conf", "--with", "hollow", "--with", "other", &id, "--",
        script,
    ];
    let (answer, _) = tried(&sandbox, &words);
    assert_eq!(sandbox.ok(["try", "log", "latest"]), "file\nfile\n2\n");
    // What is put over a run's files and taken back is no change of its.
    let run = &answer["runs"][0];
    assert_eq!(run["experiment_id"], Value::Null, "{answer}");
}
