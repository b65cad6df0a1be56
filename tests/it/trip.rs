//! What the tests of travel, return, restore and undo share.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Takes a snapshot and gives its id.
pub fn snapshot(sandbox: &Sandbox) -> String {
    let document = sandbox.json(["snapshot"]);
    document["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Commits everything that git would add.
pub fn commit(sandbox: &Sandbox, message: &str) {
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", message]);
}

/// A list of paths in a document, as text.
pub fn list(value: &Value) -> Vec<String> {
    let items = value.as_array().unwrap_or_else(|| panic!("{value}"));
    let text = |item: &Value| item.as_str().unwrap().to_owned();
    items.iter().map(text).collect()
}

/// The commit of a snapshot, backup or experiment.
pub fn commit_of(sandbox: &Sandbox, id: &str) -> String {
    let kind = match id.as_bytes()[0] {
        b's' => "snapshots",
        b'b' => "backups",
        _ => "experiments",
    };
    let name = format!("refs/timewarp/{kind}/{id}");
    sandbox.git(["rev-parse", &name]).trim().to_owned()
}

/// What a saved side holds at a path, by plain git.
pub fn stored(sandbox: &Sandbox, id: &str, path: &str) -> String {
    sandbox.git(["show", &format!("{}:{path}", commit_of(sandbox, id))])
}

/// `state.json`.
pub fn state_json(sandbox: &Sandbox) -> Value {
    let git_dir = sandbox.git(["rev-parse", "--absolute-git-dir"]);
    let file = Path::new(git_dir.trim()).join("timewarp/state.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Inode and modification time.
pub fn identity(sandbox: &Sandbox, path: &str) -> (u64, i64, i64) {
    let meta = sandbox.path(path).symlink_metadata().unwrap();
    (meta.ino(), meta.mtime(), meta.mtime_nsec())
}

/// Gives a file an old modification time, so that nothing can hold its stamp for racy.
pub fn backdate(sandbox: &Sandbox, path: &str) {
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    let file = std::fs::File::options()
        .append(true)
        .open(sandbox.path(path))
        .unwrap();
    file.set_modified(old).unwrap();
}

/// The permission bits of a path.
pub fn mode(sandbox: &Sandbox, path: &str) -> u32 {
    sandbox.path(path).symlink_metadata().unwrap().mode() & 0o7777
}

/// Everything below a directory: names, types, modes, bytes, modification times. For "nothing was written".
pub fn everything(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let bytes = if meta.is_file() {
                std::fs::read(&path).unwrap()
            } else if meta.is_symlink() {
                std::fs::read_link(&path)
                    .unwrap()
                    .as_os_str()
                    .as_bytes()
                    .to_vec()
            } else {
                pending.push(path.clone());
                Vec::new()
            };
            let fact = format!(
                "{:o} {}.{} {}",
                meta.mode(),
                meta.mtime(),
                meta.mtime_nsec(),
                bytes.escape_ascii()
            );
            found.insert(path.display().to_string(), fact);
        }
    }
    found
}

/// Runs `tw` until it passes a fail point, where it stops (SIGSTOP); then `meanwhile`; then lets it go on to its end.
pub fn with_stop(sandbox: &Sandbox, args: &[&str], point: &str, meanwhile: impl Fn()) -> Value {
    with_stops(sandbox, args, &[(point, &meanwhile)])
}

/// As [`with_stop`], at several points, which it has to pass in this order.
pub fn with_stops(sandbox: &Sandbox, args: &[&str], stops: &[(&str, &dyn Fn())]) -> Value {
    with_stops_under(sandbox, &[], args, stops)
}

/// As [`with_stops`], with more variables in the environment.
pub fn with_stops_under(
    sandbox: &Sandbox,
    variables: &[(&str, &str)],
    args: &[&str],
    stops: &[(&str, &dyn Fn())],
) -> Value {
    let points: Vec<&str> = stops.iter().map(|(point, _)| *point).collect();
    let tw = sandbox.tw_command();
    let mut command = Command::new(tw.get_program());
    command.env_clear().current_dir(sandbox.repo());
    for (name, value) in tw.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let child = command
        .envs(variables.iter().copied())
        .env("TW_STOP_POINT", points.join(","))
        .arg("--json")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for (point, meanwhile) in stops {
        wait_for_stop(&child, point);
        meanwhile();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn wait_for_stop(child: &Child, point: &str) {
    let stat = format!("/proc/{}/stat", child.id());
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        let state = text.rsplit(')').next().unwrap_or("").trim_start();
        match state.as_bytes().first() {
            Some(b'T') => return,
            Some(b'Z') | None => break,
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    panic!("tw never came to '{point}'");
}
