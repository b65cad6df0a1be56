//! Runs that take their scratch away or put something else in its place: nothing but the very directory that was made is written,
//! judged or removed, and the verdict says what became of it.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, is_root};
use crate::stage::taken;

/// A repository with an issue whose check names two files, which are others in the present.
fn with_issue() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for name in ["d/check.sh", "check.sh"] {
        sandbox.write(name, "exit 1 # v1\n");
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "check"]);
    let words = ["issue", "report", "--task-context", "t", "--symptom", "s"];
    let check = ["--verify", "sh d/check.sh && sh check.sh"];
    let words: Vec<&str> = words
        .into_iter()
        .chain(["--success-criteria", "c"])
        .chain(check)
        .collect();
    let id = sandbox.json(&words)["issue_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for name in ["d/check.sh", "check.sh"] {
        sandbox.write(name, PRECIOUS);
    }
    sandbox.write(".tw-trash/kept", "kept\n");
    (sandbox, id)
}

const PRECIOUS: &str = "exit 0 # v2 precious\n";

fn untouched(sandbox: &Sandbox) {
    for name in ["d/check.sh", "check.sh"] {
        assert_eq!(sandbox.text(name), PRECIOUS, "{name}");
    }
    assert_eq!(sandbox.text(".tw-trash/kept"), "kept\n");
    assert_eq!(sandbox.text("a.txt"), "one\n");
}

/// The one run of a try with this script, in which nothing was to be judged.
fn lost(sandbox: &Sandbox, id: &str, script: &str) -> Value {
    let ran = sandbox.tw(["--json", "try", id, "-n", "1", "--", "sh", "-c", script]);
    let document = crate::schema::read(&ran.stdout).unwrap();
    crate::schema::check("try", &document);
    let run = document["runs"][0].clone();
    assert_eq!((ran.code, &run["status"]), (1, &json!("error")), "{run}");
    for none in ["verify", "experiment_id", "diff_stat"] {
        assert_eq!(run[none], Value::Null, "{none}: {run}");
    }
    run
}

fn states(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.json(["scratch", "list"]);
    let all = listed["scratches"].as_array().unwrap().iter();
    all.map(|one| one["state"].clone()).collect()
}

fn said(run: &Value) -> &str {
    run["error"].as_str().unwrap()
}

#[test]
fn a_symlink_to_the_present_in_the_place_of_a_scratch_is_never_followed() {
    let (sandbox, id) = with_issue();
    let script = "cd /; rm -rf \"$TW_SCRATCH\"; ln -s \"$TW_SOURCE\" \"$TW_SCRATCH\"";
    let run = lost(&sandbox, &id, script);
    assert!(said(&run).contains("a symlink is at '"), "{run}");
    assert_eq!(run["escapes"], json!([]), "{run}");
    untouched(&sandbox);
    assert_eq!(states(&sandbox), [json!("replaced")]);
    let kept = sandbox.json(["scratch", "gc"])["kept"].clone();
    let reason = "a symlink is in its place, and is left alone";
    assert_eq!(kept[0]["reason"], reason);
    untouched(&sandbox);
    std::fs::remove_file(kept[0]["dir"].as_str().unwrap()).unwrap();
    assert_eq!(states(&sandbox), [json!("gone")]);
    sandbox.json(["scratch", "gc"]);
    assert_eq!(states(&sandbox), [] as [Value; 0]);
    untouched(&sandbox);
}

#[test]
fn another_directory_in_the_place_of_a_scratch_is_none() {
    let (sandbox, id) = with_issue();
    for script in [
        "cd ..; mv \"$TW_SCRATCH\" aside; mkdir \"$TW_SCRATCH\"; echo theirs >\"$TW_SCRATCH/x\"",
        "cd ..; cp -a \"$TW_SCRATCH\" copy; rm -rf \"$TW_SCRATCH\"; mv copy \"$TW_SCRATCH\"; echo theirs >\"$TW_SCRATCH/x\"",
    ] {
        let run = lost(&sandbox, &id, script);
        assert!(said(&run).contains("another directory is at '"), "{run}");
        let kept = sandbox.json(["scratch", "gc"])["kept"].clone();
        let dir = std::path::PathBuf::from(kept[0]["dir"].as_str().unwrap());
        assert_eq!(std::fs::read(dir.join("x")).unwrap(), b"theirs\n");
        std::fs::remove_dir_all(dir).unwrap();
        assert_eq!(sandbox.json(["scratch", "gc"])["kept"], json!([]));
    }
    untouched(&sandbox);
}

#[test]
fn a_scratch_that_is_gone_is_said_to_be_gone() {
    let (sandbox, id) = with_issue();
    for script in [
        "cd /; rm -rf \"$TW_SCRATCH\"",
        "cd ..; mv \"$TW_SCRATCH\" aside",
        "cd /; mv \"$(dirname \"$TW_SCRATCH\")\" \"$TW_SOURCE.moved\"",
    ] {
        let run = lost(&sandbox, &id, script);
        assert!(said(&run).contains("nothing of it is left"), "{run}");
        assert_eq!(states(&sandbox), [] as [Value; 0]);
        untouched(&sandbox);
        let _ = std::fs::remove_dir_all(sandbox.root().join("repo.moved"));
    }
}

#[test]
fn a_trash_that_leads_to_the_present_is_not_emptied() {
    let (sandbox, id) = with_issue();
    let script = "ln -s \"$TW_SOURCE\" ../.tw-trash";
    let words = ["--json", "try", &id, "-n", "1", "--", "sh", "-c", script];
    let ran = sandbox.tw(words);
    assert!(ran.out().contains("cannot use '"), "{}", ran.out());
    untouched(&sandbox);
    sandbox.tw(["scratch", "gc"]);
    untouched(&sandbox);
    // Nor where the directory of scratches leads there.
    let base = sandbox.root().join("repo.tw");
    std::fs::rename(&base, sandbox.root().join("aside")).unwrap();
    std::os::unix::fs::symlink(sandbox.root().join("repo"), &base).unwrap();
    sandbox.tw(["scratch", "gc"]);
    untouched(&sandbox);
}

#[test]
fn what_is_mounted_in_a_scratch_is_neither_written_nor_deleted() {
    if !is_root() {
        crate::provided::skipped("root", "an ordinary user mounts nothing");
        return;
    }
    let (sandbox, id) = with_issue();
    let within = |words: &[&str]| {
        let mut command = sandbox.command("unshare");
        command.arg("--mount").args(words).output().unwrap()
    };
    if !within(&["mount", "--bind", "d", "d"]).status.success() {
        crate::provided::skipped("mount", "nothing can be mounted");
        return;
    }
    let tw = env!("CARGO_BIN_EXE_tw");
    for mount in [
        "cd /; mount --bind \"$TW_SOURCE\" \"$TW_SCRATCH\"",
        "mount --bind \"$TW_SOURCE/d\" d",
        "mkdir -p target/x; mount --bind \"$TW_SOURCE\" target/x",
        "mkdir ../.tw-trash; mount --bind \"$TW_SOURCE\" ../.tw-trash",
    ] {
        within(&[tw, "try", &id, "-n", "1", "--", "sh", "-c", mount]);
        untouched(&sandbox);
        within(&[tw, "scratch", "gc"]);
        untouched(&sandbox);
    }
}

#[test]
fn what_the_files_of_bisect_take_away_is_in_its_scratch_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("d/x", "v1\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "x"]);
    let good = taken(&sandbox);
    for n in ["1\n", "2\n"] {
        sandbox.write("d/x", n);
        taken(&sandbox);
    }
    sandbox.write("AG", "precious\n");
    let script = "cd /; rm -rf \"$TW_SCRATCH\"; ln -s \"$TW_SOURCE\" \"$TW_SCRATCH\"; echo later >>\"$TW_SOURCE/AG\"; false";
    let ran = sandbox.tw([
        "--json", "bisect", "run", "--good", &good, "--with", "AG", "--", "sh", "-c", script,
    ]);
    let out = ran.out();
    assert!(sandbox.text("AG").starts_with("precious\nlater\n"), "{out}");
    assert!(out.contains("a symlink is at '"), "{out}");
}

#[test]
fn a_directory_that_took_the_place_of_an_open_one_is_not_closed() {
    let sandbox = Sandbox::new();
    let id = taken(&sandbox);
    let dir = sandbox.json(["open", &id])["dir"]
        .as_str()
        .unwrap()
        .to_owned();
    let aside = format!("{dir}-aside");
    sandbox
        .command("cp")
        .args(["-a", &dir, &aside])
        .assert()
        .success();
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::rename(&aside, &dir).unwrap();
    let (error, code) = sandbox.json_error(["close", &dir]);
    assert_eq!((error["code"].as_str(), code), (Some("HELD"), 5), "{error}");
    assert!(std::path::Path::new(&dir).join("a.txt").exists());
    assert_eq!(states(&sandbox), [json!("replaced")]);
}

#[test]
fn what_a_killed_try_leaves_is_collected_in_its_own_directory_alone() {
    let (sandbox, id) = with_issue();
    // Whoever looks for the repository of a directory without a link finds this one.
    sandbox.git_in(sandbox.root(), ["init", "-q"]);
    let kill = "kill -9 $(awk '/^PPid/ {print $2}' /proc/$PPID/status); sleep 60";
    for (replaced, reason) in [
        (
            "cd /; rm -rf \"$TW_SCRATCH\"; ln -s \"$TW_SOURCE\" \"$TW_SCRATCH\"",
            "a symlink is in its place",
        ),
        ("rm .git; echo work >work", "is not its worktree any more"),
    ] {
        let script = format!("{replaced}; {kill}");
        sandbox.tw(["try", &id, "-n", "1", "--", "sh", "-c", &script]);
        let begun = std::time::Instant::now();
        let collected = loop {
            let done = sandbox.json(["scratch", "gc"]);
            let kept = done["kept"].as_array().unwrap();
            let is_ours = |one: &Value| one["reason"].to_string().contains(reason);
            if kept.iter().any(is_ours) {
                break done;
            }
            assert!(begun.elapsed().as_secs() < 20, "{reason}: {done}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        untouched(&sandbox);
        let dir = collected["kept"][0]["dir"].as_str().unwrap().to_owned();
        let dir = std::path::Path::new(&dir);
        if dir.is_symlink() {
            std::fs::remove_file(dir).unwrap();
        } else {
            assert_eq!(std::fs::read(dir.join("work")).unwrap(), b"work\n");
        }
        sandbox.json(["scratch", "gc"]);
        untouched(&sandbox);
    }
    assert!(sandbox.root().join(".git").exists());
}
