//! Over HTTP and ssh on the loopback, and many at once.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::hub::{Clone_, Hub, REF};
use crate::sandbox::{is_root, skipped, wait_until};

/// `git http-backend` behind a listener on the loopback, until it is dropped.
struct Server {
    port: u16,
    ended: Arc<AtomicBool>,
}

impl Server {
    fn start(root: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let root = root.clone();
                std::thread::spawn(move || drop(answer(stream.unwrap(), &root)));
            }
        });
        Self { port, ended }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// One request to one run of the program, as CGI has it.
fn answer(stream: TcpStream, root: &Path) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split(' ');
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut command = std::process::Command::new("git");
    command
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "somebody")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "content-type" => drop(command.env("CONTENT_TYPE", value)),
            "content-encoding" => drop(command.env("HTTP_CONTENT_ENCODING", value)),
            "git-protocol" => drop(command.env("GIT_PROTOCOL", value)),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    command.env("CONTENT_LENGTH", length.to_string());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    child.stdin.take().unwrap().write_all(&body)?;
    let output = child.wait_with_output()?.stdout;
    let end = output
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap_or(0);
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head
        .lines()
        .find_map(|line| line.strip_prefix("Status: "))
        .unwrap_or("200 OK");
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nConnection: close\r\n{head}\r\n\r\n"
    )?;
    stream.write_all(&output[end + 4..])
}

/// An issue goes there and back over this address.
fn there_and_back(hub: &Hub, url: &str, prepare: impl Fn(&Clone_<'_>)) {
    let clones = ["a", "b"].map(|name| hub.sharing(name));
    for clone in &clones {
        clone.git(["remote", "set-url", "origin", url]);
        prepare(clone);
    }
    let [a, b] = clones;
    let id = a.report("over the wire");
    assert_eq!(b.json(["pull"])["commit"], json!(null));
    assert_eq!(a.json(["push"])["sent"][0]["id"], *id);
    assert_eq!(b.json(["pull"])["received"][0]["id"], *id);
    b.json(["issue", "comment", &id, "-m", "heard"]);
    b.json(["push"]);
    a.json(["pull"]);
    assert_eq!(
        a.json(["issue", "get", &id])["issue"]["comments"][0]["text"],
        "heard"
    );
    hub.assert_same(&[&a, &b]);
}

#[test]
fn over_http() {
    let hub = Hub::new();
    let programs = hub.sandbox.git(["--exec-path"]);
    let has = |name: &str| Path::new(programs.trim()).join(name).exists();
    if !has("git-http-backend") || !has("git-remote-http") {
        skipped("git-http", "git was built without HTTP");
        return;
    }
    let server = Server::start(hub.sandbox.root());
    there_and_back(
        &hub,
        &format!("http://127.0.0.1:{}/hub.git", server.port),
        |_| {},
    );
}

#[test]
fn over_ssh_with_a_stand_in_that_runs_the_command_here() {
    let hub = Hub::new();
    let script = hub.sandbox.root().join("ssh");
    hub.sandbox.program(
        &script,
        "#!/bin/sh\nfor last; do :; done\necho \"$last\" >>\"$0.log\"\nexec sh -c \"$last\"\n",
    );
    let url = format!("ssh://somebody@127.0.0.1{}", hub.dir().display());
    there_and_back(&hub, &url, |clone| {
        clone.git(["config", "core.sshCommand", script.to_str().unwrap()]);
        clone.git(["config", "ssh.variant", "simple"]);
    });
    let log = std::fs::read_to_string(hub.sandbox.root().join("ssh.log")).unwrap();
    assert!(
        log.contains("git-upload-pack") && log.contains("git-receive-pack"),
        "{log}"
    );
}

/// A real ssh server on the loopback, in a mount namespace of its own, until it is dropped.
struct Sshd(std::process::Child);

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Sshd {
    /// Starts it; None: this machine cannot, which was said.
    fn start(hub: &Hub) -> Option<(Self, u16)> {
        if !is_root() {
            skipped(
                "root",
                "an ssh server lets root in only where root started it, and others only where they have a shell",
            );
            return None;
        }
        if !Path::new("/usr/sbin/sshd").exists() {
            skipped("sshd", "there is no ssh server");
            return None;
        }
        let mut unshare = std::process::Command::new("unshare");
        let mounts = unshare.args(["--mount", "mount", "-t", "tmpfs", "tw", "/run"]);
        if !mounts.output().is_ok_and(|output| output.status.success()) {
            skipped(
                "mount",
                "nothing can be mounted, and the server wants a directory in /run",
            );
            return None;
        }
        let dir = hub.sandbox.root().join("sshd");
        std::fs::create_dir(&dir).unwrap();
        for key in ["host", "user"] {
            let mut make = hub.sandbox.command("ssh-keygen");
            let make = make.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            make.arg(dir.join(key)).assert().success();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let settings = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {dir}/host\nAuthorizedKeysFile {dir}/user.pub\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
             PrintMotd no\nPermitUserRC no\nSetEnv HOME={home} GIT_CONFIG_NOSYSTEM=1\n",
            dir = dir.display(),
            home = hub.sandbox.home().display(),
        );
        std::fs::write(dir.join("config"), settings).unwrap();
        let run = "mount -t tmpfs tw /run && mkdir -m 755 /run/sshd && exec /usr/sbin/sshd -D -e -f \"$1\"";
        let mut unshare = std::process::Command::new("unshare");
        let server = unshare
            .args(["--mount", "sh", "-c", run, "sh"])
            .arg(dir.join("config"))
            .stderr(std::fs::File::create(dir.join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut server = Self(server);
        // Not by a connection: another program may have taken the port, or the connection itself.
        let log = || std::fs::read_to_string(dir.join("log")).unwrap();
        wait_until("the ssh server listens", || {
            let said = log();
            assert!(server.0.try_wait().unwrap().is_none(), "it ended: {said}");
            said.contains("Server listening on")
        });
        Some((server, port))
    }
}

#[test]
fn over_ssh() {
    let hub = Hub::new();
    let Some((_server, port)) = Sshd::start(&hub) else {
        return;
    };
    let dir = hub.sandbox.root().join("sshd");
    let key = std::fs::read_to_string(dir.join("host.pub")).unwrap();
    let known = dir.join("known_hosts");
    std::fs::write(&known, format!("[127.0.0.1]:{port} {key}")).unwrap();
    let ssh = format!(
        "ssh -F none -i {dir}/user -o IdentitiesOnly=yes -o IdentityAgent=none -o UserKnownHostsFile={known} \
         -o StrictHostKeyChecking=yes -o BatchMode=yes",
        dir = dir.display(),
        known = known.display(),
    );
    let url = format!("ssh://root@127.0.0.1:{port}{}", hub.dir().display());
    there_and_back(&hub, &url, |clone| {
        clone.git(["config", "core.sshCommand", &ssh]);
    });
    // A server that nobody knows is no place to send to: git says so, and nothing went.
    let a = hub.at("a");
    std::fs::write(&known, "").unwrap();
    a.report("not for strangers");
    let before = hub.tree();
    let (error, _) = a.json_error(["push"]);
    assert_eq!(error["code"], "IO");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("Host key verification failed"),
        "{error}"
    );
    assert_eq!(hub.tree(), before);
}

#[test]
fn of_twenty_that_push_at_once_none_is_lost() {
    let hub = Hub::new();
    let names: Vec<String> = (0..20).map(|number| format!("c{number}")).collect();
    let clones: Vec<Clone_<'_>> = names.iter().map(|name| hub.sharing(name)).collect();
    let ids: Vec<String> = clones.iter().map(|clone| clone.report("s")).collect();
    let mut waiting: Vec<&Clone_<'_>> = clones.iter().collect();
    let mut rounds = 0;
    while !waiting.is_empty() {
        rounds += 1;
        assert!(rounds <= 5, "{} are still waiting", waiting.len());
        let start = |clone: &&Clone_<'_>| clone.spawn(&["--json", "push"]);
        let running: Vec<_> = waiting.iter().map(start).collect();
        let ended = running
            .into_iter()
            .map(|child| child.wait_with_output().unwrap());
        let mut left = Vec::new();
        for (clone, output) in waiting.iter().zip(ended) {
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            // Who was too late five times is told so, and has lost nothing.
            match output.status.code() {
                Some(0) => {}
                Some(4) if said["error"]["code"] == "BUSY" => left.push(*clone),
                _ => panic!("{said}"),
            }
        }
        waiting = left;
    }
    let tree = hub.tree();
    for id in &ids {
        assert!(tree.contains(id.as_str()), "{id}");
    }
    clones[0].json(["pull"]);
    assert_eq!(clones[0].json(["issue", "list"])["count"], 20);
}

impl Clone_<'_> {
    fn spawn(&self, args: &[&str]) -> std::process::Child {
        let command = self.command();
        let mut plain = std::process::Command::new(command.get_program());
        plain
            .env_clear()
            .current_dir(&self.dir)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for (name, value) in command.get_envs() {
            plain.env(name, value.unwrap_or_default());
        }
        plain.spawn().unwrap()
    }
}

#[test]
fn partial_and_shallow_clones_get_all_of_it_and_stay_as_they_are() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    hub.git(["config", "uploadpack.allowFilter", "true"]);
    a.git(["commit", "-q", "--allow-empty", "-m", "second"]);
    a.git(["push", "-q", "origin", "main"]);
    let id = a.report("s");
    a.json(["push"]);
    let url = format!("file://{}", hub.dir().display());
    for (name, how) in [("partial", "--filter=blob:none"), ("shallow", "--depth=1")] {
        hub.sandbox.git_in(
            hub.sandbox.root(),
            ["clone", "-q", "-b", "main", how, &url, name],
        );
        let clone = hub.at(name);
        let kept = || {
            let shallow = std::fs::read(clone.dir.join(".git/shallow")).ok();
            (shallow, clone.git(["config", "--list", "--local"]))
        };
        let before = kept();
        clone.json(["share", "init", "origin"]);
        let pulled = clone.json(["pull"]);
        assert_eq!(
            (&pulled["received"][0]["id"], &pulled["refused"]),
            (&json!(id), &json!([])),
            "{name}"
        );
        clone.json(["issue", "comment", &id, "-m", name]);
        clone.json(["push"]);
        assert_eq!(kept(), before, "{name}");
    }
    a.json(["pull"]);
    assert_eq!(
        a.json(["issue", "get", &id])["issue"]["comments"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

/// Bytes that no compression makes fewer.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn a_remote_that_sends_without_end_is_cut_off_and_leaves_nothing() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    hub.add_large(&noise(4 << 20));
    let packs = |clone: &Clone_<'_>| {
        let entries = std::fs::read_dir(clone.depot().join("objects/pack")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = packs(&b);
    // Blocks of 512 bytes: 2 MiB.
    let mut command = b.command();
    let command = command.env("TW_TEST_FETCH_BLOCKS", "4096");
    let output = command.args(["--json", "pull"]).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = said["error"]["message"].as_str().unwrap();
    assert_eq!(message, "'origin' sends more than 2 MiB at once");
    assert_eq!(packs(&b), before);
    b.in_depot(&["fsck"]);
    assert_eq!(b.json(["issue", "list"])["count"], 1);
    // It is only too much for that limit.
    assert_eq!(b.json(["pull"])["refused"].as_array().unwrap().len(), 1);
}

/// The limit is for what comes, and not for what becomes of it here.
#[test]
fn many_packs_become_one_although_that_is_larger_than_what_may_come_at_once() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    let noise = noise(256 << 10);
    let pack_dir = b.depot().join("objects/pack");
    let depot = format!("--git-dir={}", b.depot().display());
    let (mut tree, packs) = (String::new(), 52);
    for nth in 0..packs {
        let part = noise.len() / packs;
        let bytes = &noise[nth * part..(nth + 1) * part];
        let blob = hub.feed(&[&depot, "hash-object", "-w", "--stdin"], bytes);
        let _ = writeln!(tree, "100644 blob {blob}\t{nth:02}");
        let pack = pack_dir.join("pack");
        let args = [&depot, "pack-objects", "-q", pack.to_str().unwrap()];
        hub.feed(&args, format!("{blob}\n").as_bytes());
    }
    let tree = hub.feed(&[&depot, "mktree"], tree.as_bytes());
    let commit = b.in_depot(&["commit-tree", "-m", "kept", &tree]);
    b.in_depot(&["update-ref", "refs/heads/kept", commit.trim()]);
    a.report("t");
    a.json(["push"]);
    let mut command = b.command();
    let command = command.env("TW_TEST_FETCH_BLOCKS", "256");
    let output = command.args(["--json", "pull"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let entries = std::fs::read_dir(&pack_dir).unwrap();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let is_pack = |path: &&PathBuf| path.extension().is_some_and(|end| end == "pack");
    assert_eq!(paths.iter().filter(is_pack).count(), 1, "{paths:?}");
    assert!(!format!("{paths:?}").contains("tmp_"), "{paths:?}");
    assert_eq!(b.json(["issue", "list"])["count"], 2);
}

#[test]
fn a_ref_below_ours_on_the_remote_is_no_race() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.report("s");
    let tree = hub.git(["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let commit = hub.git(["commit-tree", "-m", "x", tree.trim()]);
    hub.git(["update-ref", &format!("{REF}/x"), commit.trim()]);
    let (error, code) = a.json_error(["push"]);
    assert_eq!((error["code"].as_str(), code), (Some("IO"), 1), "{error}");
    let said = error["message"].as_str().unwrap();
    assert!(
        said.contains("does not take") && said.contains("cannot create"),
        "{said}"
    );
}

/// A `git` that writes its arguments to a file, refuses what git 2.25 does not know, and does the rest as git does: the `PATH`, and the file.
pub fn old_git(hub: &Hub) -> (std::ffi::OsString, PathBuf) {
    let (program, log) = (
        hub.sandbox.root().join("old/git"),
        hub.sandbox.root().join("old.log"),
    );
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\necho \"$*\" >>'{}'\ncase \" $* \" in *' --no-write-fetch-head '*) \
         echo 'error: unknown option' >&2; exit 129;; *' --version '*) echo 'git version 2.25.1'; exit;; esac\nexec git \"$@\"\n",
        log.display()
    );
    (in_place_of_git(hub, &program, script), log)
}

/// Makes a program, and the `PATH` on which it stands before all others.
pub fn in_place_of_git(hub: &Hub, program: &Path, script: String) -> std::ffi::OsString {
    hub.sandbox.program(program, script);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(program.parent().unwrap().to_owned());
    std::env::join_paths(dirs.chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn a_git_that_cannot_leave_fetch_head_out_shares() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let (path, _) = old_git(&hub);
    let id = a.report("s");
    for (clone, verb) in [(&a, "push"), (&b, "pull")] {
        let ran = clone.command().env("PATH", &path).arg(verb).output();
        assert!(ran.as_ref().unwrap().status.success(), "{verb}: {ran:?}");
        for place in [".git/FETCH_HEAD", ".git/timewarp/share.git/FETCH_HEAD"] {
            assert!(!clone.dir.join(place).exists(), "{verb}: {place}");
        }
    }
    assert_eq!(b.json(["issue", "list"])["issues"][0]["issue_id"], *id);
}

/// git before 2.54 knows no such hooks, so it is what git is told that is looked at.
#[test]
fn no_run_of_git_starts_a_hook_of_the_configuration() {
    let hub = Hub::new();
    let (a, _) = hub.two();
    let (path, log) = old_git(&hub);
    a.report("s");
    a.git(["config", "hook.spy.event", "pre-push"]);
    a.git(["config", "hook.spy.command", "touch spied"]);
    let dir = hub.sandbox.root().join("opened");
    for args in [
        vec!["snapshot"],
        vec!["open", "latest", dir.to_str().unwrap()],
        vec!["push"],
        vec!["pull"],
    ] {
        let ran = a.command().env("PATH", &path).args(&args).output();
        assert!(ran.as_ref().unwrap().status.success(), "{args:?}: {ran:?}");
    }
    let runs = std::fs::read_to_string(log).unwrap();
    // What 'tw' asks about the program itself names no repository.
    let runs = runs.lines().filter(|run| run.contains("--git-dir"));
    let (told, others): (Vec<_>, Vec<_>) =
        runs.partition(|run| run.contains("-c hook.spy.enabled=false"));
    assert_eq!(others, Vec::<&str>::new());
    for run in ["worktree add", " fetch ", " push "] {
        assert!(
            told.iter().any(|told| told.contains(run)),
            "{run}: {told:?}"
        );
    }
}

#[test]
fn doctor_proposes_no_refspec_that_the_git_here_does_not_know() {
    let hub = Hub::new();
    let a = hub.clone_("a");
    let (path, _) = old_git(&hub);
    let fix = |path: &std::ffi::OsStr| {
        let ran = a
            .command()
            .env("PATH", path)
            .args(["--json", "doctor"])
            .output();
        let document: serde_json::Value = serde_json::from_slice(&ran.unwrap().stdout).unwrap();
        let checks = document["checks"].as_array().unwrap().clone();
        let check = checks.into_iter().find(|check| check["name"] == "refspecs");
        check.unwrap()["fix"].as_str().map(str::to_owned)
    };
    let new = std::env::var_os("PATH").unwrap_or_default();
    a.git([
        "config",
        "--add",
        "remote.origin.fetch",
        "+refs/notes/*:refs/notes/*",
    ]);
    let negative = fix(&new).expect("there is one");
    assert!(negative.contains("'^refs/notes/timewarp/*'"), "{negative}");
    let other = fix(&path).expect("there is one");
    assert!(other.starts_with("install git 2.29 or later"), "{other}");
    // Typed on that git, the first would have ended every fetch.
    a.git([
        "config",
        "--add",
        "remote.origin.fetch",
        "^refs/notes/timewarp/*",
    ]);
    assert_eq!(fix(&new), None);
    let unset = fix(&path).expect("there is one");
    let line = hub
        .sandbox
        .command("sh")
        .current_dir(&a.dir)
        .args(["-c", &unset])
        .output();
    assert!(line.unwrap().status.success(), "{unset}");
    assert_eq!(fix(&new), Some(negative));
}

/// Who fetches from one repository and pushes to another pushes each time what that one lacks.
#[test]
fn a_push_is_about_the_place_that_git_pushes_to() {
    let hub = Hub::new();
    let a = hub.clone_("a");
    let fork = hub.sandbox.root().join("fork.git");
    hub.sandbox
        .git_in(hub.sandbox.root(), ["init", "-q", "--bare", "fork.git"]);
    a.git(["config", "remote.origin.pushurl", fork.to_str().unwrap()]);
    // It is for remotes without an address for pushes.
    let rule = [
        "config",
        "url./nowhere/.pushInsteadOf",
        fork.to_str().unwrap(),
    ];
    a.git(rule);
    a.json(["share", "init", "origin"]);
    for count in 1..=3 {
        a.report("told to the fork");
        let pushed = a.json(["push"]);
        assert_eq!(pushed["sent"].as_array().unwrap().len(), 1, "{pushed}");
        assert_eq!(pushed["tries"], 1, "{pushed}");
        let again = a.json(["push"]);
        assert_eq!(again["sent"], json!([]), "{count} {again}");
    }
    assert_eq!(a.json(["pull"])["commit"], json!(null));
    let b = hub.clone_("b");
    b.git(["remote", "set-url", "origin", fork.to_str().unwrap()]);
    b.json(["share", "init", "origin"]);
    assert_eq!(b.json(["pull"])["received"].as_array().unwrap().len(), 3);
}
