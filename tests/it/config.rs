//! `tw config`: one setting read, set and taken away; and the short names of commands.

use serde_json::{Value, json};

use crate::access::{USER, access_of, give_all, may_act_for_others, somebodys, tw_as};
use crate::sandbox::Sandbox;

fn setting(sandbox: &Sandbox, key: &str) -> (Value, String) {
    let document = sandbox.json(["config", key]);
    let origin = document["origin"].as_str().unwrap().to_owned();
    (document["value"].clone(), origin)
}

#[test]
fn a_setting_is_read_set_and_taken_away() {
    let sandbox = Sandbox::new();
    assert_eq!(
        setting(&sandbox, "keep_days"),
        (json!(14), "default".to_owned())
    );
    assert_eq!(sandbox.ok(["config", "keep_days"]), "14\n");
    // In each spelling; what else stands in the file stays.
    sandbox.git(["config", "core.editor", "true"]);
    for (key, value) in [
        ("keepDays", "30"),
        ("timewarp.keepdays", "31"),
        ("keep-days", "32"),
    ] {
        sandbox.ok(["config", key, value]);
        assert_eq!(sandbox.git(["config", "timewarp.keepDays"]).trim(), value);
        assert_eq!(sandbox.ok(["config", "keep_days"]), format!("{value}\n"));
    }
    assert_eq!(sandbox.git(["config", "core.editor"]).trim(), "true");
    sandbox.ok(["config", "--unset", "keep_days"]);
    sandbox.ok(["config", "--unset", "keep_days"]);
    assert_eq!(sandbox.ok(["config", "keep_days"]), "14\n");
    sandbox.ok(["config", "checkpoints", "steps"]);
    assert_eq!(sandbox.ok(["config", "checkpoints"]), "steps\n");
}

#[test]
fn a_list_is_replaced_or_added_to() {
    let sandbox = Sandbox::new();
    sandbox.ok(["config", "exclude", "*.one"]);
    sandbox.ok(["config", "exclude", "--add", "*.two"]);
    assert_eq!(sandbox.ok(["config", "exclude"]), "*.one\n*.two\n");
    sandbox.ok(["config", "exclude", "*.three"]);
    assert_eq!(setting(&sandbox, "exclude").0, json!(["*.three"]));
    sandbox.write("a.three", "left out\n");
    assert_eq!(sandbox.snap()["stats"]["files"], 1);
    // All or none of several.
    let (error, code) = sandbox.json_error(["config", "exclude", "--add", "*.four", "!five"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    let (error, code) = sandbox.json_error(["config", "exclude", "*.four", "*.five"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    assert_eq!(setting(&sandbox, "exclude").0, json!(["*.three"]));
    sandbox.ok(["config", "exclude", "--add", "*.four", "*.five"]);
    let all = json!(["*.three", "*.four", "*.five"]);
    assert_eq!(setting(&sandbox, "exclude").0, all);
    let (error, code) = sandbox.json_error(["config", "keep_days", "--add", "3"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
}

#[test]
fn what_is_no_setting_or_no_value_is_refused_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let before = sandbox.read(".git/config");
    let (error, code) = sandbox.json_error(["config", "keep_dayz"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    assert!(
        error["hint"].as_str().unwrap().contains("keep_days"),
        "{error}"
    );
    for (key, value) in [
        ("keep_days", "-1"),
        ("keep_last", "many"),
        ("max_file_size", "10 apples"),
        ("lock_timeout", "inf"),
        ("default_excludes", "perhaps"),
        ("checkpoints", "often"),
    ] {
        let (error, code) = sandbox.json_error(["config", key, value]);
        assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2), "{key}");
        assert!(
            error["message"].as_str().unwrap().contains("must be"),
            "{error}"
        );
    }
    assert_eq!(sandbox.read(".git/config"), before);
}

#[test]
fn the_user_s_own_file_is_written_when_it_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.ok(["config", "--global", "keep_last", "7"]);
    assert_eq!(sandbox.ok(["config", "keep_last"]), "7\n");
    assert!(!sandbox.text(".git/config").contains("keepLast"));
    // The repository's own wins, and that is said.
    sandbox.ok(["config", "keep_last", "9"]);
    let set = sandbox.json(["config", "--global", "keep_last", "8"]);
    assert_eq!(
        (&set["value"], &set["overridden"]),
        (&json!(9), &json!(true))
    );
    sandbox.ok(["config", "--unset", "keep_last"]);
    assert_eq!(sandbox.ok(["config", "keep_last"]), "8\n");
    let (error, _) = sandbox.json_error(["config", "--global", "keep_last"]);
    assert_eq!(error["code"], "USAGE");
}

#[test]
fn short_names_are_those_of_the_commands() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snap", "before the refactor"]);
    let listed = sandbox.json(["list"])["snapshots"].clone();
    assert_eq!(listed[0]["title"], "before the refactor");
    assert_eq!(sandbox.ok(["-q", "ls"]), sandbox.ok(["-q", "list"]));
    assert_eq!(sandbox.json(["st"]), sandbox.json(["status"]));
    // The message, by either name and not by both.
    sandbox.ok(["snapshot", "-m", "named"]);
    assert_eq!(
        sandbox.json(["list", "-n", "1"])["snapshots"][0]["title"],
        "named"
    );
    let (error, code) = sandbox.json_error(["snapshot", "one", "-m", "two"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
}

#[test]
fn a_glob_that_cannot_be_read_is_refused_and_told() {
    let sandbox = Sandbox::new();
    let before = sandbox.read(".git/config");
    for (key, glob) in [
        ("exclude", "["),
        ("include", "!x"),
        ("exclude", "[[:nosuch:]]"),
    ] {
        let (error, code) = sandbox.json_error(["config", key, glob]);
        assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2), "{glob}");
        let said = format!("invalid glob '{glob}' in '{key}'");
        assert!(
            error["message"].as_str().unwrap().contains(&said),
            "{error}"
        );
    }
    assert_eq!(sandbox.read(".git/config"), before);
    let (error, code) = sandbox.json_error(["snapshot", "--exclude", "["]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    assert!(
        error["message"].as_str().unwrap().contains("of --exclude"),
        "{error}"
    );

    // git's own command asks nobody. What mends it leaves the other globs.
    for place in ["--local", "--global"] {
        sandbox.git(["config", place, "--add", "timewarp.exclude", "*.fine"]);
        sandbox.git(["config", place, "--add", "timewarp.exclude", "a b["]);
        let (error, code) = sandbox.json_error(["snapshot"]);
        assert_eq!((error["code"].as_str(), code), (Some("INVALID_CONFIG"), 3));
        let fix = error["hint"].as_str().unwrap().to_owned();
        let (status, told) = check(&sandbox);
        assert_eq!(
            (status.as_str(), &told["fix"]),
            ("error", &json!(fix)),
            "{told}"
        );
        let warnings = sandbox.json(["config"])["warnings"].clone();
        assert!(warnings[0].as_str().unwrap().contains(&fix), "{warnings}");
        assert_eq!(sandbox.json(["config", "exclude"])["warnings"], warnings);
        mend(&sandbox, &fix);
        sandbox.snap();
        assert_eq!(check(&sandbox).0, "ok");
        assert_eq!(setting(&sandbox, "exclude").0, json!(["*.fine"]));
        sandbox.git(["config", place, "--unset-all", "timewarp.exclude"]);
    }
}

#[test]
fn a_value_that_cannot_be_one_is_told_with_what_takes_it_away() {
    let sandbox = Sandbox::new();
    for place in ["--local", "--global"] {
        sandbox.git(["config", place, "timewarp.keepDays", "x"]);
        let (error, code) = sandbox.json_error(["status"]);
        assert_eq!((error["code"].as_str(), code), (Some("INVALID_CONFIG"), 3));
        let fix = error["hint"].as_str().unwrap().to_owned();
        let (status, told) = check(&sandbox);
        assert_eq!((status.as_str(), &told["fix"]), ("error", &json!(fix)));
        let listed = sandbox.json(["config"]);
        let warnings = &listed["warnings"];
        assert!(warnings[0].as_str().unwrap().contains(&fix));
        assert_eq!(&sandbox.json(["config", "keep_days"])["warnings"], warnings);
        let shown = sandbox.tw(["config", "keep_days"]);
        assert_eq!(shown.out(), "14\n");
        assert!(shown.err().contains(&fix), "{}", shown.err());
        let other = sandbox.json(["config", "keep_last"]);
        assert_eq!(other["warnings"], json!([]));
        mend(&sandbox, &fix);
        sandbox.json(["status"]);
        assert_eq!(check(&sandbox).0, "ok");
        // 'tw config' mends it as well.
        sandbox.git(["config", "timewarp.keepDays", "x"]);
        sandbox.ok(["config", "keep_days", "3"]);
        sandbox.ok(["config", "--unset", "keep_days"]);
    }
}

#[test]
fn what_does_not_count_in_the_team_s_file_is_said_for_what_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".timewarp/config.toml",
        "exclude = ['*', '[', 'fine/']\ninclude = 'x'\nkeep_last = 'many'\nkeep_days = 1\nkeep_dayz = 30\nmax_file_size = 1\n",
    );
    let listed = sandbox.json(["config"]);
    let expected = [
        "'include' in .timewarp/config.toml is ignored: it must be a list of globs",
        "'keep_days' in .timewarp/config.toml does not count there (a repository may not weaken protection); use git config",
        "'keep_dayz' in .timewarp/config.toml is not a setting and is ignored; 'tw config' lists the settings",
        "'keep_last' in .timewarp/config.toml is ignored: it must be a non-negative integer",
        "'max_file_size' in .timewarp/config.toml does not count there (a repository may not weaken protection); use git config",
        "glob '*' in .timewarp/config.toml is ignored: it matches everything",
        "glob '[' in .timewarp/config.toml is ignored: ",
    ];
    let warnings = listed["warnings"].as_array().unwrap();
    let mut warnings: Vec<_> = warnings.iter().map(|one| one.as_str().unwrap()).collect();
    warnings.sort_unstable();
    assert_eq!(warnings.len(), expected.len(), "{warnings:#?}");
    for (said, expected) in warnings.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(setting(&sandbox, "exclude").0, json!(["fine/"]));
    let (status, told) = check(&sandbox);
    assert_eq!(status, "warning");
    let noted = sandbox.tw(["snapshot"]).err();
    for said in warnings {
        assert!(told["message"].as_str().unwrap().contains(said), "{told}");
        assert!(noted.contains(said), "{noted}");
    }
}

/// What doctor says of the settings.
fn check(sandbox: &Sandbox) -> (String, Value) {
    let ran = sandbox.tw(["--json", "doctor"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "config");
    let found = found.unwrap().clone();
    let is_error = found["status"] == "error";
    assert_eq!(ran.code, i32::from(is_error), "{document}");
    (found["status"].as_str().unwrap().to_owned(), found)
}

/// Runs a command that was named.
fn mend(sandbox: &Sandbox, command: &str) {
    let output = sandbox.command("sh").args(["-c", command]).output();
    assert!(output.unwrap().status.success(), "{command}");
}

#[test]
fn the_user_s_own_file_is_written_where_the_repository_is_another_s() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    give_all(&sandbox.repo(), 0, 0);
    // A linked one, as git follows it.
    let (own, real) = (
        sandbox.home().join(".gitconfig"),
        sandbox.home().join("dot"),
    );
    std::fs::create_dir(&real).unwrap();
    std::fs::rename(&own, real.join("gitconfig")).unwrap();
    std::os::unix::fs::symlink("dot/gitconfig", &own).unwrap();
    let dead = real.join("gitconfig.tmp-1-1-0");
    std::fs::write(&dead, "").unwrap();
    give_all(&sandbox.home(), USER, USER);
    let bits = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(real.join("gitconfig"), bits).unwrap();
    let ran = tw_as(&sandbox, USER, &["config", "--global", "keep_days", "5"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let held = sandbox.git(["config", "--global", "timewarp.keepDays"]);
    assert_eq!(held, "5\n");
    // Nothing else is left beside it.
    let left: Vec<_> = std::fs::read_dir(&real).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let (uid, _, bits, _) = access_of(&real.join("gitconfig"));
    assert_eq!((uid, bits), (USER, 0o600));
    assert!(own.is_symlink());
}
