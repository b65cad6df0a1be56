//! Who may use the files that are the user's own and are rewritten here: settings of agents, hooks, git's configuration and excludes.

use std::os::unix::fs::chown;
use std::path::PathBuf;

use crate::access::{
    USER, access_of, acl, json_as, may_act_for_others, set_attribute, somebodys, tw_as,
};
use crate::sandbox::{Sandbox, is_root, skipped};

/// Every such file, each with something in it.
fn known_files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let home = sandbox.home();
    std::fs::create_dir_all(home.join(".claude")).unwrap();
    std::fs::create_dir_all(sandbox.path(".git/hooks")).unwrap();
    std::fs::create_dir_all(sandbox.path(".git/info")).unwrap();
    sandbox.git(["config", "--global", "user.note", "private"]);
    let files = [
        (
            home.join(".claude/settings.json"),
            "{\"env\":{\"T\":\"private\"}}\n",
        ),
        (sandbox.path(".mcp.json"), "{\"mcpServers\":{}}\n"),
        (
            sandbox.path(".git/hooks/pre-push"),
            "#!/bin/sh\n: private\n",
        ),
        (sandbox.path(".git/info/exclude"), "# private\n"),
    ];
    for (file, text) in &files {
        std::fs::write(file, text).unwrap();
    }
    let settings = [home.join(".gitconfig"), sandbox.path(".git/config")];
    files
        .into_iter()
        .map(|(file, _)| file)
        .chain(settings)
        .collect()
}

#[test]
fn a_file_that_is_rewritten_is_for_those_for_whom_it_was() {
    let sandbox = Sandbox::new();
    let files = known_files(&sandbox);
    for file in &files {
        if is_root() {
            chown(file, Some(2000), Some(2010)).unwrap();
        }
        if !set_attribute(file, "user.tw", b"kept")
            || !set_attribute(file, "system.posix_acl_access", &acl(3000))
        {
            skipped("access lists", "no extended attributes here");
            return;
        }
    }
    let look = || -> Vec<_> {
        let bytes = |file: &PathBuf| std::fs::read(file).unwrap();
        let all = files.iter();
        all.map(|file| (access_of(file), bytes(file))).collect()
    };
    let before = look();
    for args in [
        &["init", "-y", "--user", "--agent", "claude"][..],
        &["init", "-y", "--agent", "claude"],
        &["init", "-y", "--git-hooks"],
        &["init", "-y"],
        &["config", "keep_days", "10"],
        &["config", "--global", "keep_last", "11"],
    ] {
        sandbox.ok(args);
    }
    for ((file, before), after) in files.iter().zip(before).zip(look()) {
        assert_ne!(before.1, after.1, "{} was written", file.display());
        assert_eq!(before.0, after.0, "{}", file.display());
    }
    assert_eq!(
        sandbox.git(["config", "--local", "timewarp.keepDays"]),
        "10\n"
    );
    assert_eq!(
        sandbox.git(["config", "--global", "timewarp.keepLast"]),
        "11\n"
    );
}

#[test]
fn a_file_that_cannot_keep_its_group_is_closed_to_the_new_one() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let files = known_files(&sandbox);
    crate::access::give_all(&sandbox.root(), USER, USER);
    for file in &files {
        // The user owns it and is not in its group.
        chown(file, Some(USER), Some(4321)).unwrap();
        let chmod = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        std::fs::set_permissions(file, chmod).unwrap();
    }
    let told = json_as(&sandbox, USER, &["init", "-y", "--agent", "claude"]);
    let told = told["notices"].to_string();
    assert!(told.contains(".mcp.json' could not keep: group"), "{told}");
    for args in [
        &["init", "-y", "--user", "--agent", "claude"][..],
        &["init", "-y", "--git-hooks"],
        &["init", "-y"],
        &["config", "keep_days", "10"],
        &["config", "--global", "keep_last", "11"],
    ] {
        let ran = tw_as(&sandbox, USER, args);
        assert_eq!(ran.code, 0, "{args:?} {}", ran.err());
    }
    for file in &files {
        let (uid, gid, mode, _) = access_of(file);
        assert_eq!((uid, gid, mode), (USER, USER, 0o600), "{}", file.display());
    }
}

#[test]
fn a_configuration_that_root_changes_is_still_its_owners() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let file = sandbox.path(".git/config");
    sandbox.chmod(".git/config", 0o600);
    sandbox.ok(["config", "keep_days", "10"]);
    let (uid, gid, mode, _) = access_of(&file);
    assert_eq!((uid, gid, mode), (USER, USER, 0o600));
    assert_eq!(
        tw_as(&sandbox, USER, &["config", "keep_days"]).out(),
        "10\n"
    );
}

#[test]
fn a_configuration_that_somebody_writes_is_left_to_him() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/config.lock", "");
    let before = sandbox.text(".git/config");
    let (error, _) = sandbox.json_error(["config", "keep_days", "10"]);
    assert_eq!(error["code"], "BUSY", "{error}");
    assert_eq!(sandbox.text(".git/config"), before);
    sandbox.remove(".git/config.lock");
    sandbox.ok(["config", "keep_days", "10"]);
    assert!(!sandbox.exists(".git/config.lock"));
    let left = crate::access::all_below(&sandbox.path(".git"));
    assert!(
        !left
            .iter()
            .any(|path| path.to_string_lossy().contains(".tmp-"))
    );
}

#[test]
fn a_file_that_is_new_has_the_bits_that_the_umask_leaves() {
    for (umask, file, program) in [
        ("022", 0o644, 0o755),
        ("002", 0o664, 0o775),
        ("077", 0o600, 0o700),
    ] {
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path(".git/info")).unwrap();
        std::fs::remove_file(sandbox.path(".git/info/exclude")).unwrap_or_default();
        let agents = "--agent claude,codex,opencode";
        let all = [&format!("--user {agents}"), agents, "--git-hooks", ""];
        let inits = all.map(|what| format!("\"$0\" init -y {what}"));
        let script = format!("umask {umask}; {}", inits.join(" && "));
        let mut command = sandbox.command("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_tw")]);
        command.assert().success();
        let hooks = std::fs::read_dir(sandbox.path(".git/hooks")).unwrap();
        let hooks = hooks.map(|hook| hook.unwrap().path());
        let hooks: Vec<_> = hooks.filter(|hook| hook.extension().is_none()).collect();
        let of_home = crate::access::all_below(&sandbox.home());
        let settings = of_home.into_iter().filter(|path| path.is_file());
        let settings: Vec<_> = settings
            .filter(|path| !path.ends_with(".gitconfig"))
            .collect();
        assert!(!hooks.is_empty() && settings.len() > 3, "{settings:?}");
        let others = [".mcp.json", ".git/info/exclude", ".timewarp/config.toml"];
        let others = others.map(|name| sandbox.path(name));
        for path in settings.iter().chain(&others) {
            assert_eq!(access_of(path).2, file, "{} {umask}", path.display());
        }
        for path in &hooks {
            assert_eq!(access_of(path).2, program, "{} {umask}", path.display());
        }
    }
}
