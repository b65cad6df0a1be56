//! How it is started, asked, stopped and told of.

use super::*;

#[test]
fn a_snapshot_looks_only_where_something_changed() {
    let watched = Watched::start(settled(), &[]);
    let (_, quiet) = watched.take();
    assert!(quiet < 10, "{quiet} looked at in an unchanged tree");
    // Also when it is asked whether a new one is needed at all.
    let (_, quiet) = watched.counted(&["-q", "snapshot", "--if-changed"]);
    assert!(quiet < 10, "{quiet} looked at in an unchanged tree");
    watched.write("d3/f3", "changed\n");
    let one = watched.check();
    assert!((1..100).contains(&one), "{one} looked at for one change");
    assert!(watched.check() < 100);
    // A swap looks at everything, whatever the watcher says, and so does its proof.
    let (first, _) = watched.take();
    watched.write("d3/f3", "changed again\n");
    watched.take();
    let (_, swap) = watched.counted(&["-q", "travel", &first]);
    assert!(swap >= DIRS * FILES, "{swap} looked at by a swap");
    let (_, back) = watched.counted(&["-q", "return"]);
    assert!(back >= DIRS * FILES, "{back} looked at by a return");
    assert_eq!(watched.text("d3/f3"), "changed again\n");
    watched.check();
}

#[test]
fn a_watcher_reads_the_cache_of_a_repository_of_sha256() {
    let watched = Watched::start(settled_in(Sandbox::of(Kind::SHA256)), &[]);
    watched.write("d3/f3", "changed\n");
    let one = watched.check();
    assert!((1..100).contains(&one), "{one} looked at for one change");
}

#[test]
fn it_is_started_once_told_of_and_ends_with_its_working_tree() {
    let watched = Watched::of(settled());
    assert_eq!(watched.status()["state"], "off");
    let stopped = watched.json(["watch", "stop"]);
    assert_eq!(stopped["stopped"], false);
    let first = watched.json_patiently(&["watch", "start", "--idle", "1h"]);
    let pid = first["pid"].as_u64().unwrap();
    let second = watched.json_patiently(&["watch", "start", "--audit", "1h"]);
    assert_eq!(second["pid"], pid);
    let (error, code) = watched.json_error(["watch"]);
    assert_eq!((error["code"].as_str(), code), (Some("BUSY"), 4));
    let health = watched.json_patiently(&["doctor"]);
    let checks = health["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "watcher");
    assert_eq!(check.unwrap()["status"], "ok", "{health}");
    let stopped = watched.json_patiently(&["watch", "stop"]);
    assert_eq!(stopped["stopped"], true);
    // It let go of its lock, and ends.
    wait_for_end(pid);

    // Nobody asks: it goes.
    let here = watched.tw(["watch", "--detached", "--idle", "1s"]);
    assert_eq!(here.code, 0, "{here:?}");
    // Nor does it stay when the working tree is moved.
    let pid = watched.json_patiently(&["watch", "start"])["pid"].clone();
    let elsewhere = watched.root().join("elsewhere");
    std::fs::rename(watched.repo(), &elsewhere).unwrap();
    wait_for_end(pid.as_u64().unwrap());
    std::fs::rename(&elsewhere, watched.repo()).unwrap();
    let pid = watched.json_patiently(&["watch", "start"])["pid"].clone();
    std::fs::remove_dir_all(watched.repo()).unwrap();
    wait_for_end(pid.as_u64().unwrap());
}

#[test]
fn a_hook_starts_it_when_the_settings_ask_for_it() {
    let watched = Watched::of(settled());
    let hook = |event: &str| {
        let mut command = watched.patient();
        command.env_remove("TW_NO_BACKGROUND");
        command.args(["hook", "generic", event]);
        let output = command.write_stdin("{\"session_id\": \"abcd\"}").output();
        assert!(output.unwrap().status.success());
    };
    hook("session-start");
    assert_eq!(watched.status()["state"], "off");
    watched.ok(["config", "watch", "true"]);
    hook("user-prompt-submit");
    wait_until("it runs", || watched.status()["state"] == "running");
}

#[test]
fn what_its_starter_has_open_is_not_kept_open() {
    let watched = Watched::of(Sandbox::new());
    let mut starter = watched.command("sh");
    let script = "exec 9>../held; exec \"$0\" watch start";
    starter.args(["-c", script, env!("CARGO_BIN_EXE_tw")]);
    assert!(starter.output().unwrap().status.success());
    let open = std::fs::read_dir(format!("/proc/{}/fd", watched.pid())).unwrap();
    let open = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let held: Vec<_> = open.filter(|path| path.ends_with("held")).collect();
    assert!(held.is_empty(), "{held:?}");
}

#[test]
fn a_service_is_printed_with_the_place_of_the_working_tree() {
    let sandbox = Sandbox::new();
    let unit = sandbox.ok(["watch", "--print-service"]);
    let place = sandbox.repo();
    assert!(
        unit.contains(&format!("WorkingDirectory={}\n", place.display())),
        "{unit}"
    );
    let document = sandbox.json(["watch", "--print-service"]);
    assert_eq!(document["name"], "tw-watch-repo.service");
    let wrong = [
        sandbox.tw(["watch", "--print-service", "--idle", "1h"]),
        sandbox.tw(["watch", "--print-service", "--audit", "1h"]),
    ];
    assert!(wrong.iter().all(|ran| ran.code == 2), "{wrong:?}");
}

pub fn is_alive(pid: u64) -> bool {
    // A dead one that nobody waited for has no command line.
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| !words.is_empty())
}

pub fn wait_for_end(pid: u64) {
    wait_until(&format!("{pid} ends"), || !is_alive(pid));
}
