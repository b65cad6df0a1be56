//! Hostile configuration, environments, users and disks.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use super::{calm, outside};
use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, litter};
use crate::faults::killed_at;
use crate::provided::root_or;
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::stage::{eventful, taken};

#[test]
fn a_hostile_team_config_is_a_warning_at_most() {
    let (sandbox, id) = eventful();
    let configs: [&[u8]; 9] = [
        b"",
        b"\xff\xfe",
        b"[[[[",
        b"exclude = [\"*\"]",
        b"exclude = [\"/\", \"**\"]",
        b"exclude = 7",
        b"lock_timeout = -1\nmax_file_size = \"1\"",
        b"include = [\".env\", \"../../*\"]",
        b"keep_days = 0\nkeep_last = 0",
    ];
    for config in configs {
        sandbox.write(".timewarp/config.toml", config);
        let shown = String::from_utf8_lossy(config).into_owned();
        let taken = calm(&sandbox.tw(["--json", "snapshot"]), &shown);
        assert_eq!(taken["ok"], true, "{shown}: {taken}");
        let commit = taken["snapshot"]["commit"].as_str().unwrap();
        let kept = sandbox.git(["cat-file", "blob", &format!("{commit}:new/fresh.txt")]);
        assert_eq!(kept, "only now\n", "{shown}");
        sandbox.assert_round_trip(&id, |_| ());
    }
}

#[test]
fn a_symlink_in_the_way_is_never_followed() {
    let (sandbox, id) = eventful();
    let trap = sandbox.root().join("trap");
    std::fs::create_dir_all(trap.join("sub")).unwrap();
    std::fs::write(trap.join("b.txt"), "not yours\n").unwrap();
    std::fs::write(trap.join("config.toml"), "exclude = [\"a.txt\"]\n").unwrap();
    for name in ["dir", "hollow", "new", ".timewarp"] {
        if sandbox.exists(name) {
            sandbox.remove(name);
        }
        sandbox.symlink(&trap, name);
    }
    let around = outside(&sandbox);
    let taken = sandbox.json(["snapshot"]);
    let commit = taken["snapshot"]["commit"].as_str().unwrap();
    sandbox.git(["cat-file", "blob", &format!("{commit}:a.txt")]);
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    assert_eq!(outside(&sandbox), around);
    assert!(!sandbox.path("dir").symlink_metadata().unwrap().is_symlink());
    sandbox.json(["return"]);
    before.assert_same(&sandbox.state());
    assert_eq!(outside(&sandbox), around);
    assert_eq!(std::fs::read(trap.join("b.txt")).unwrap(), b"not yours\n");
}

#[test]
fn no_program_of_the_configuration_is_started() {
    let (sandbox, id) = eventful();
    let marker = sandbox.root().join("ran");
    let evil = sandbox.root().join("evil.sh");
    let script = format!(
        "#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n",
        marker.display()
    );
    sandbox.program(&evil, &script);
    let hooks = sandbox.root().join("hooks");
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "pre-commit",
        "post-commit",
        "post-rewrite",
    ] {
        sandbox.program(hooks.join(hook), &script);
    }
    let before = sandbox.state();
    let evil = evil.display().to_string();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "pager.log",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "gpg.program",
        "credential.helper",
        "alias.rev-parse",
        "alias.status",
        "uploadpack.packObjectsHook",
        "interactive.diffFilter",
    ] {
        sandbox.git(["config", key, &evil]);
    }
    for (key, value) in [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("color.ui", "always"),
        ("log.showSignature", "true"),
        ("filter.evil.required", "true"),
        ("core.alternateRefsCommand", &evil),
    ] {
        sandbox.git(["config", key, value]);
    }
    sandbox.write(".git/info/attributes", "* filter=evil diff=evil\n");
    for args in [
        &["snapshot"][..],
        &["list"],
        &["show", "latest"],
        &["travel", &id],
        &["snapshot"],
        &["return"],
        &["restore", &id, "a.txt"],
        &["undo"],
        &["redo"],
        &["undo"],
        &["recover"],
    ] {
        let ran = sandbox.tw([&["--json"], args].concat());
        let told = calm(&ran, &format!("{args:?}"));
        assert_eq!(told["ok"], true, "{args:?}: {told}");
        assert!(
            !marker.exists(),
            "{args:?} started {}",
            std::fs::read_to_string(&marker).unwrap()
        );
    }
    for section in [
        "core.hooksPath",
        "core.fsmonitor",
        "diff.external",
        "alias.status",
        "alias.rev-parse",
        "core.pager",
    ] {
        sandbox.git(["config", "--unset", section]);
    }
    for name in ["filter.evil", "diff.evil"] {
        sandbox.git(["config", "--remove-section", name]);
    }
    sandbox.remove(".git/info/attributes");
    before.assert_same(&sandbox.state());
}

fn in_shell(sandbox: &Sandbox, script: &str) -> std::process::Output {
    let script = script.replace("TW", env!("CARGO_BIN_EXE_tw"));
    sandbox
        .command("bash")
        .args(["-c", &script])
        .output()
        .unwrap()
}

#[test]
fn hostile_environments_change_nothing_that_is_promised() {
    let (sandbox, id) = eventful();
    let home = sandbox.state();
    let elsewhere = sandbox.root().join("elsewhere");
    sandbox.git(["init", "-q", elsewhere.to_str().unwrap()]);
    let other = outside(&sandbox);
    let scripts = [
        format!("export GIT_DIR={0}/.git GIT_WORK_TREE={0} GIT_INDEX_FILE={0}/.git/index; ", elsewhere.display()),
        format!("export GIT_OBJECT_DIRECTORY={0}/.git/objects GIT_COMMON_DIR={0}/.git GIT_NAMESPACE=x; ", elsewhere.display()),
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.bare GIT_CONFIG_VALUE_0=true; ".to_owned(),
        "export GIT_CONFIG_PARAMETERS=\"'core.bare=true'\" GIT_TRACE=1 GIT_EXTERNAL_DIFF=/bin/false; ".to_owned(),
        "unset HOME; ".to_owned(),
        "unset HOME LC_ALL LANG TZ PATH; ".to_owned(),
        "export TMPDIR=/nonexistent; ".to_owned(),
        "umask 0777; ".to_owned(),
        "umask 077; ".to_owned(),
        "umask 0; ".to_owned(),
        "ulimit -n 64; ".to_owned(),
        // Each table that is read takes one more.
        format!("ulimit -n {}; ", if sandbox.has_reftable() { 48 } else { 24 }),
        "export TW_TEST_NOW=1999-01-01T00:00:00Z; ".to_owned(),
    ];
    for setting in scripts {
        for command in [
            "snapshot".to_owned(),
            format!("travel {id}"),
            "return".to_owned(),
            format!("restore {id}"),
            "undo".to_owned(),
        ] {
            let output = in_shell(&sandbox, &format!("{setting} exec 'TW' --json {command}"));
            let said = format!(
                "{setting}{command}: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert_eq!(output.status.code(), Some(0), "{said}");
        }
        let far = home.differences(&sandbox.state());
        assert!(far.is_empty(), "{setting}: {far:?}");
        assert_fsck_clean(&sandbox, &setting);
    }
    assert_eq!(outside(&sandbox), other);
}

#[test]
fn closed_streams_are_no_panic_and_the_work_is_done() {
    let (sandbox, id) = eventful();
    let home = sandbox.state();
    for closed in [
        ">&-",
        "2>&-",
        ">&- 2>&-",
        "<&- >&- 2>&-",
        "> /dev/full",
        "2> /dev/full",
    ] {
        for command in [
            "snapshot".to_owned(),
            format!("travel {id}"),
            "return".to_owned(),
            "list".to_owned(),
        ] {
            let output = in_shell(
                &sandbox,
                &format!("'TW' {command} {closed}; echo $? > ../code"),
            );
            assert!(output.status.success());
            let code = std::fs::read_to_string(sandbox.root().join("code")).unwrap();
            assert!(
                ["0", "1"].contains(&code.trim()),
                "{command} {closed}: {code}"
            );
        }
        let far = home.differences(&sandbox.state());
        assert!(far.is_empty(), "{closed}: {far:?}");
    }
}

/// The commands of a trip and back, in one environment. What must not be is told by panics, by the state, and by fsck.
fn trip(sandbox: &Sandbox, id: &str, setting: &str, as_user: &str, must_work: bool) {
    let home = sandbox.state();
    for command in [
        "snapshot".to_owned(),
        format!("travel {id}"),
        "return".to_owned(),
        format!("restore {id}"),
        "undo".to_owned(),
        "recover".to_owned(),
        "list".to_owned(),
    ] {
        let script = format!("{setting}; exec {as_user} 'TW' --json {command}");
        let output = in_shell(sandbox, &script);
        let said = format!(
            "{setting}: {command}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let code = output.status.code();
        assert!(code.is_some_and(|code| code < 100), "{code:?} {said}");
        assert!(!must_work || code == Some(0), "{said}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect(&said);
        assert!(
            code == Some(0) || answer["error"]["hint"].is_string(),
            "{said}"
        );
    }
    in_shell(sandbox, &format!("exec {as_user} 'TW' recover"));
    let far = home.differences(&sandbox.state());
    assert!(far.is_empty(), "{setting}: {far:?}");
    assert_eq!(litter(sandbox), [""; 0], "{setting}");
    assert_fsck_clean(sandbox, setting);
}

/// The superuser may do everything whatever the umask and the permission bits: as somebody else, then.
#[test]
fn an_ordinary_user_in_a_hostile_environment() {
    let (sandbox, id) = eventful();
    let mut as_user = "";
    if is_root() {
        as_user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
        std::fs::write(
            sandbox.home().join(".gitconfig"),
            "[safe]\n\tdirectory = *\n",
        )
        .unwrap();
        let root = sandbox.root().display().to_string();
        let given = in_shell(
            &sandbox,
            &format!("chown -R 65534:65534 '{root}' && {as_user} test -x 'TW'"),
        );
        if !given.status.success() {
            skipped(
                "setpriv",
                "no setpriv, or the binary is out of another user's reach",
            );
            return;
        }
    }
    for setting in [
        "umask 0777",
        "umask 077",
        "ulimit -n 64",
        "unset HOME",
        "export TMPDIR=/nonexistent",
    ] {
        trip(&sandbox, &id, setting, as_user, true);
    }
    // HOME as a container has it that runs as somebody else than its image was made for.
    let closed = sandbox.home().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let setting = format!("unset XDG_CONFIG_HOME; export HOME='{}'", closed.display());
    trip(&sandbox, &id, &setting, as_user, true);
    for setting in ["ulimit -f 0", "ulimit -f 1"] {
        trip(&sandbox, &id, setting, as_user, false);
    }
    let set = |mode: &str, dir: &str| {
        let done = in_shell(
            &sandbox,
            &format!("find {dir} -type d -exec chmod {mode} {{}} +"),
        );
        assert!(done.status.success());
    };
    set("a-w", ".git");
    trip(&sandbox, &id, "true", as_user, false);
    set("u+w", ".git");
    set("a-w", "dir");
    // Its owner may give himself leave for a moment, and the bits come back.
    trip(&sandbox, &id, "true", as_user, true);
    set("u+w", "dir");
    trip(&sandbox, &id, "true", as_user, true);
}

/// A disk that fills up, and one that turns read-only, where this process may mount one.
#[test]
fn a_tiny_and_a_read_only_disk() {
    let sandbox = Sandbox::bare_room();
    let repo = sandbox.repo();
    std::fs::create_dir(&repo).unwrap();
    let mount = |options: &str| {
        in_shell(
            &sandbox,
            &format!("mount -t tmpfs -o {options} tw '{}'", repo.display()),
        )
    };
    if !mount("size=1m").status.success() {
        skipped(root_or("mount"), "mounting is not allowed here");
        return;
    }
    let mounted = Mounted(repo.clone());
    sandbox.git(["init", "-q", "-b", "main"]);
    sandbox.write("a.txt", "one\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.write("a.txt", "two\n");
    let id = taken(&sandbox);
    // Less room than the next snapshot takes; then a little more each time, through every step on the way.
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let mut incompressible = |len: usize| {
        let mut byte = || {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            noise.to_le_bytes()[0]
        };
        (0..len).map(|_| byte()).collect::<Vec<u8>>()
    };
    let (mut done, mut full) = (0, 0);
    for pages in (0..40).step_by(2) {
        sandbox.write("new.bin", incompressible(60_000));
        sandbox.write("a.txt", format!("{pages}\n"));
        let before = sandbox.state();
        let known = blobs(&sandbox);
        let fill = repo.join(".git/fill");
        let mut file = std::fs::File::create(&fill).unwrap();
        let _ = file.write_all(&vec![0; 2 << 20]);
        let len = file.metadata().unwrap().len();
        file.set_len(len.saturating_sub(pages * 4096)).unwrap();
        drop(file);
        let ran = sandbox.tw(["--json", "travel", &id]);
        let told = calm(&ran, "a full disk");
        std::fs::remove_file(&fill).unwrap();
        if told["ok"] == true {
            done += 1;
        } else {
            full += 1;
            calm(&sandbox.tw(["--json", "recover"]), "room again");
        }
        assert_nothing_lost(&sandbox, &known, "a full disk");
        if sandbox.json(["status"])["mode"] == "past" {
            sandbox.json(["return"]);
        }
        before.assert_same(&sandbox.state());
        assert_eq!(litter(&sandbox), [""; 0], "{pages} pages: {told}");
        // What earlier rounds saved takes room of its own.
        sandbox.json(["prune", "--keep-days", "0", "--keep-last", "1"]);
        for name in sandbox
            .git([
                "for-each-ref",
                "--format=%(refname)",
                "refs/timewarp/backups",
                "refs/timewarp/experiments",
            ])
            .lines()
        {
            sandbox.git(["update-ref", "-d", name]);
        }
        sandbox.git(["gc", "-q", "--prune=now"]);
    }
    assert!(done > 0 && full > 0, "{done} done, {full} full");
    assert!(mount("remount,ro").status.success());
    for args in [
        &["snapshot"][..],
        &["travel", &id],
        &["restore", &id],
        &["recover"],
    ] {
        let told = calm(&sandbox.tw([&["--json"], args].concat()), "read-only");
        assert_eq!(told["ok"], false, "{args:?}: {told}");
    }
    for args in [&["list"][..], &["show", &id], &["status"]] {
        let told = calm(&sandbox.tw([&["--json"], args].concat()), "read-only");
        assert_eq!(told["ok"], true, "{args:?}: {told}");
    }
    drop(mounted);
}

/// A directory of the layer below is copied up, and is as young as that, when something is put into it.
#[test]
fn a_directory_that_an_overlay_copied_is_none_that_was_made_in_the_past() {
    let sandbox = Sandbox::new();
    sandbox.write("cache", "a file then\n");
    let file = taken(&sandbox);
    sandbox.remove("cache");
    let past = taken(&sandbox);
    sandbox.write(".gitignore", "/cache\n");
    sandbox.mkdir("cache/run");
    let script = "mkdir ../up ../work ../below; mv * .[!.]* ../below; mount -t overlay -o lowerdir=../below,upperdir=../up,workdir=../work tw .";
    let mount = format!("cd '{}'; {script}", sandbox.repo().display());
    if !in_shell(&sandbox, &mount).status.success() {
        skipped(root_or("mount"), "mounting is not allowed here");
        return;
    }
    let _mounted = Mounted(sandbox.repo());
    sandbox.json(["travel", &past]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    sandbox.write("cache/run/for a moment", "");
    sandbox.remove("cache/run/for a moment");
    let (error, _) = sandbox.json_error(["travel", "--hop", &file]);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(sandbox.path("cache/run").is_dir());
}

/// The directory that a swap makes there gets the number of the one that it removed.
#[test]
fn a_directory_that_a_swap_makes_on_an_overlay_is_not_the_one_that_it_removed() {
    for args in [&["recover"][..], &["recover", "--forward"]] {
        let sandbox = Sandbox::new();
        let script = "mkdir ../up ../work ../below; mv * .[!.]* ../below; mount -t overlay -o lowerdir=../below,upperdir=../up,workdir=../work tw .";
        let mount = format!("cd '{}'; {script}", sandbox.repo().display());
        if !in_shell(&sandbox, &mount).status.success() {
            skipped(root_or("mount"), "mounting is not allowed here");
            return;
        }
        let _mounted = Mounted(sandbox.repo());
        for path in ["old/f", "old/keep", "z"] {
            sandbox.write(path, "then\n");
        }
        let past = taken(&sandbox);
        std::fs::rename(sandbox.path("old"), sandbox.path("new")).unwrap();
        for path in ["new/f", "new/g", "z"] {
            sandbox.write(path, "now\n");
        }
        let before = sandbox.state();
        killed_at(&sandbox, "apply-exchanged", &["travel", &past]);
        sandbox.json(args);
        if args.contains(&"--forward") {
            let differs = sandbox.json(["diff", &past])["files"].clone();
            assert_eq!(differs, serde_json::json!([]), "{args:?}");
            sandbox.json(["return"]);
        }
        before.assert_same(&sandbox.state());
        assert_eq!(litter(&sandbox), [""; 0]);
    }
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: something may still stand in it.
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}

#[test]
fn few_open_files_are_enough_for_many_directories() {
    let sandbox = Sandbox::new();
    for dir in 0..40 {
        for sub in 0..10 {
            sandbox.write(format!("d{dir}/s{sub}/deep/f"), format!("{dir} {sub}\n"));
        }
    }
    let output = in_shell(&sandbox, "ulimit -n 30; exec 'TW' --json snapshot");
    assert!(output.status.success(), "{output:?}");
    let taken = sandbox.json(["show", "latest"]);
    assert_eq!(taken["snapshot"]["stats"]["files"], 400 + tracked(&sandbox));
}

/// How many files git tracks.
fn tracked(sandbox: &Sandbox) -> usize {
    sandbox.git(["ls-files"]).lines().count()
}
