//! What taking a snapshot says and refuses, and where it may be called.

use std::path::PathBuf;

use serde_json::Value;

use crate::sandbox::Sandbox;

#[test]
fn a_home_directory_is_no_workspace_unless_forced() {
    let sandbox = Sandbox::new();
    for home in [sandbox.repo(), sandbox.repo().join("deep/home")] {
        std::fs::create_dir_all(&home).unwrap();
        let mut command = sandbox.tw_command();
        let output = command
            .env("HOME", &home)
            .args(["--json", "snapshot"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["code"], "UNSAFE_WORKSPACE");
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp"]), "");
    }
    let home = sandbox.repo();
    // A home that is a symlink is the place it leads to.
    let link: PathBuf = sandbox.root().join("link");
    std::os::unix::fs::symlink(&home, &link).unwrap();
    let run = |args: &[&str]| {
        let mut command = sandbox.tw_command();
        command
            .env("HOME", &link)
            .args(args)
            .output()
            .unwrap()
            .status
            .code()
    };
    assert_eq!(run(&["snapshot"]), Some(5));
    assert_eq!(run(&["checkpoint", "-m", "x"]), Some(5));
    assert_eq!(run(&["snapshot", "--force"]), Some(0));
    // It was shown to be meant: commands that have no such option work there now, the others want it each time.
    let report = "issue report --task-context a --symptom b --success-criteria c";
    let report: Vec<&str> = report.split(' ').collect();
    for args in [
        &["checkpoint", "-m", "x"][..],
        &["restore", "latest"],
        &["rewind", "0", "--code"],
        &report,
        &["try", "--", "true"],
        &["session", "end"],
        &["context", "checkpoint"],
    ] {
        assert_eq!(run(args), Some(0), "{args:?}");
    }
    assert_eq!(run(&["snapshot"]), Some(5));
    assert_eq!(run(&["travel", "latest"]), Some(5));
    assert_eq!(run(&["travel", "latest", "--force"]), Some(0));
    assert_eq!(run(&["restore", "latest"]), Some(0), "in the past");
}

#[test]
fn secret_looking_names_are_said_once_with_the_line_that_leaves_them_out() {
    let sandbox = Sandbox::new();
    sandbox.write("tls/server.pem", "s");
    let first = sandbox.tw(["snapshot"]);
    assert!(
        first
            .err()
            .contains("tw config --add exclude /tls/server.pem"),
        "{}",
        first.err()
    );
    sandbox.write("id_rsa", "s");
    let second = sandbox.tw(["snapshot"]);
    assert!(!second.err().contains("secret"), "{}", second.err());
}

/// The command that a note names, pasted.
fn run_exclude_command(sandbox: &Sandbox, said: &str) {
    let at = said.find("tw config --add exclude");
    let at = at.unwrap_or_else(|| panic!("{said}"));
    let line = said[at..].lines().next().unwrap();
    let command = line.split("; the next").next().unwrap();
    let ran = sandbox.paste(command);
    assert_eq!(ran.code, 0, "{command}: {}", ran.err());
}

#[test]
fn the_line_leaves_out_every_file_with_a_secret_looking_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let sandbox = Sandbox::new();
    for path in [
        ".env[1]",
        "!prod.pem",
        ".env it's",
        ".env{a,b} ",
        ".env \"$HOME`\\*?",
        "conf/.npmrc",
        "id_\u{e9}",
        "id_two\nlines",
    ] {
        sandbox.write(path, "s");
    }
    let raw = sandbox.repo().join(OsStr::from_bytes(b"id_\xff"));
    std::fs::write(raw, "s").unwrap();
    // Tracked ones are no secrets, and stay.
    sandbox.write("lib/.npmrc", "s");
    sandbox.git(["add", "lib"]);
    let said = sandbox.tw(["snapshot"]).err();
    assert!(said.contains(" and 6 more); to leave them out: "), "{said}");
    run_exclude_command(&sandbox, &said);
    let next = sandbox.snap();
    let listed = sandbox.git([
        "ls-tree",
        "-r",
        "--name-only",
        next["commit"].as_str().unwrap(),
    ]);
    assert_eq!(listed, "a.txt\nlib/.npmrc\n");
}

#[test]
fn more_secret_looking_names_than_a_line_takes_are_said_by_the_next_snapshots() {
    let sandbox = Sandbox::new();
    for number in 10..35 {
        sandbox.write(format!("{number}.pem"), "s");
    }
    let said = sandbox.tw(["snapshot"]).err();
    assert!(
        said.contains(" and 22 more); to leave the first 20 out: "),
        "{said}"
    );
    run_exclude_command(&sandbox, &said);
    let said = sandbox.tw(["snapshot"]).err();
    assert!(said.contains(" and 2 more); to leave them out: "), "{said}");
    run_exclude_command(&sandbox, &said);
    assert_eq!(sandbox.snap()["stats"]["files"], 1);
    sandbox.write("99.pem", "s");
    let said = sandbox.tw(["snapshot"]).err();
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn tracked_files_with_secret_looking_names_are_not_said() {
    let sandbox = Sandbox::new();
    sandbox.write(".env.example", "s");
    sandbox.git(["add", "."]);
    let ran = sandbox.tw(["snapshot"]);
    assert_eq!(
        (ran.code, ran.err().contains("secret")),
        (0, false),
        "{}",
        ran.err()
    );
}

#[test]
fn a_label_that_is_taken_or_reads_as_something_else_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.snap_with(["--label", "start"]);
    for label in [
        "start", "latest", "present", "1234", "deadbeef", "2h ago", "a b~c", "", "-x", "s_2026",
    ] {
        let (error, code) = sandbox.json_error(["snapshot", &format!("--label={label}")]);
        assert_eq!(error["code"], "INVALID_LABEL", "{label}: {error}");
        assert_eq!(code, 3, "{label}");
    }
    assert_eq!(sandbox.json(["list"])["total"], 1);
}

#[test]
fn quiet_prints_the_id_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("key.pem", "s");
    let ran = sandbox.tw(["-q", "snapshot"]);
    assert_eq!(sandbox.show(&ran), "exit 0\n--- stdout\ns_[1]\n");
}

#[test]
fn a_subdirectory_is_as_good_as_the_root() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "b\n");
    let ran = sandbox.tw_in(sandbox.path("dir"), ["-q", "snapshot"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let snapshot = sandbox.json(["show", "latest"])["snapshot"].clone();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "dir/b.txt"]);
}

#[test]
fn a_setting_that_does_not_fit_says_what_does() {
    let sandbox = Sandbox::new();
    let integer = "a number of days: a non-negative integer";
    for (name, value, valid) in [
        (
            "maxFileSize",
            "much",
            "a number of bytes, or with a unit: 512k, 10m or 1g",
        ),
        ("lockTimeout", "-1", "a number of seconds, 0 to 86400"),
        ("keepDays", "-1", integer),
        ("keepLast", "all", "a non-negative integer"),
        ("checkpoints", "often", "a boolean, 'prompts' or 'steps'"),
    ] {
        let key = format!("timewarp.{name}");
        sandbox.git(["config", &key, value]);
        let (error, _) = sandbox.json_error(["snapshot"]);
        let said = format!("'{key}' is set to '{value}', but must be {valid}");
        assert_eq!(error["message"], Value::from(said));
        sandbox.git(["config", "--unset", &key]);
    }
}

#[test]
fn an_error_never_gives_an_id() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.maxFileSize", "much"]);
    let (error, code) = sandbox.json_error(["snapshot"]);
    assert_eq!(error["code"], "INVALID_CONFIG");
    assert_ne!(code, 0);
    let ran = sandbox.tw(["-q", "snapshot"]);
    assert_eq!((ran.code, ran.out().as_str()), (code, ""));
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp"]), "");
}

// --- what git ignores ---

/// `(entries, bytes)` of what a snapshot taken now says of the files and directories that git ignores.
fn ignored(sandbox: &Sandbox) -> (u64, u64) {
    let snapshot = sandbox.snap();
    let of = |name: &str| snapshot["ignored"][name].as_u64().unwrap();
    (of("entries"), of("bytes"))
}

#[test]
fn what_git_ignores_is_counted_and_not_walked() {
    let sandbox = Sandbox::new();
    assert_eq!(ignored(&sandbox), (0, 0));
    sandbox.write(".gitignore", "*.tmp\n/build/\nlocal/.gitignore\n");
    sandbox.write("a.tmp", "12345");
    sandbox.write("build/deep/large", "x".repeat(5000));
    sandbox.write("src/b.tmp", "123");
    sandbox.write("src/kept.rs", "fn main() {}\n");
    assert_eq!(ignored(&sandbox), (3, 8));
    // From the cache, and by a look at what changed alone.
    assert_eq!(ignored(&sandbox), (3, 8));
    sandbox.write("src/c.tmp", "1");
    assert_eq!(ignored(&sandbox), (4, 9));
    // What is in a directory that is ignored whole is nobody's business.
    sandbox.write("build/more", "more");
    assert_eq!(ignored(&sandbox), (4, 9));
    sandbox.remove("a.tmp");
    // An ignore file that is itself ignored is read, and ignored.
    sandbox.write("local/.gitignore", "*\n");
    assert_eq!(ignored(&sandbox), (4, 6));
    // What is taken along is not left out.
    let taken = sandbox.json(["snapshot", "--include", "*.tmp"]);
    assert_eq!(taken["snapshot"]["ignored"]["entries"], 2, "{taken}");
}

#[test]
fn what_git_ignores_is_one_line_at_v_and_in_show() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.tmp\n");
    sandbox.write("a.tmp", "x".repeat(3000));
    sandbox.write("b.tmp", "y");
    let said = sandbox.ok(["-v", "snapshot"]);
    let commit = sandbox.json(["show", "latest"])["snapshot"]["commit"].clone();
    let expected = format!(
        "  commit: {}\n  ignored by git: 2 entries, 2.9 KiB\n",
        commit.as_str().unwrap()
    );
    assert!(said.contains(&expected), "{said}");
    assert!(!sandbox.ok(["snapshot"]).contains("ignored"));
    let shown = sandbox.ok(["show", "latest"]);
    assert!(
        shown.contains("ignored       2 entries, 2.9 KiB\n"),
        "{shown}"
    );
}
