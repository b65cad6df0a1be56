//! Settings of git that count only in the user's repository, and what git is told of them.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::hub::{Clone_, Hub, REF};
use super::transport::in_place_of_git;

/// A hub, one that anybody may read, and a repository of which `origin` is that one, unless a setting says otherwise.
struct Places {
    hub: Hub,
}

impl Places {
    fn new() -> Self {
        let hub = Hub::new();
        let root = hub.sandbox.root();
        hub.sandbox
            .git_in(&root, ["init", "-q", "--bare", "public.git"]);
        let places = Self { hub };
        places.prepare();
        places
    }

    fn prepare(&self) {
        let a = self.hub.clone_("a");
        let public = self.public();
        a.git(["remote", "set-url", "origin", public.to_str().unwrap()]);
        a.json(["share", "init", "origin"]);
        a.report("only for the hub");
        let included = format!(
            "[url \"{}\"]\n\tinsteadOf = {}\n",
            self.hub.dir().display(),
            public.display()
        );
        std::fs::write(self.included(), included).unwrap();
    }

    fn public(&self) -> std::path::PathBuf {
        self.hub.sandbox.root().join("public.git")
    }

    fn included(&self) -> std::path::PathBuf {
        self.hub.sandbox.root().join("included")
    }

    /// Where the records went, when the user's settings have the rest under a condition.
    fn goes_to(&self, condition: &str, clone: &Clone_<'_>) -> &'static str {
        let settings = format!(
            "[includeIf \"{condition}\"]\n\tpath = {}\n",
            self.included().display()
        );
        std::fs::write(self.hub.sandbox.home().join(".gitconfig"), settings).unwrap();
        for dir in [self.hub.dir(), self.public()] {
            self.hub.sandbox.git_in(dir, ["update-ref", "-d", REF]);
        }
        // Git's own push tells where it goes.
        let to = clone.git(["remote", "get-url", "--push", "origin"]);
        for verb in ["push", "pull"] {
            clone.json([verb]);
        }
        let has = |dir: &Path| {
            let refs = self.hub.sandbox.git_in(dir, ["for-each-ref", REF]);
            !refs.is_empty()
        };
        let (hub, public) = (has(&self.hub.dir()), has(&self.public()));
        assert_ne!(hub, public, "{condition}");
        let went = if hub { self.hub.dir() } else { self.public() };
        assert_eq!(Path::new(to.trim()), went, "{condition}");
        if hub { "hub" } else { "public" }
    }
}

#[test]
fn a_condition_is_about_the_users_repository() {
    let places = Places::new();
    let a = places.hub.at("a");
    let dir = a.dir.display().to_string();
    let upper = places.hub.sandbox.root().join("A").display().to_string();
    for (condition, to) in [
        (format!("gitdir:{dir}/"), "hub"),
        (format!("gitdir:{dir}/.git"), "hub"),
        // Everything in it, and not it: where the records are exchanged is in it.
        (format!("gitdir:{dir}/.git/"), "public"),
        (format!("gitdir:{dir}/.git/timewarp/share.git"), "public"),
        (format!("gitdir/i:{upper}/.git"), "hub"),
        ("onbranch:main".to_owned(), "hub"),
        ("onbranch:none".to_owned(), "public"),
        (
            format!("hasconfig:remote.*.url:{}", places.public().display()),
            "hub",
        ),
    ] {
        assert_eq!(places.goes_to(&condition, &a), to, "{condition}");
    }
    // A linked worktree has a git directory of its own.
    a.git(["worktree", "add", "-q", "../w"]);
    let w = places.hub.at("w");
    let of_w = format!("gitdir:{dir}/.git/worktrees/w");
    assert_eq!(places.goes_to(&of_w, &w), "hub");
    assert_eq!(places.goes_to(&of_w, &a), "public");
    assert_eq!(places.goes_to("onbranch:w", &w), "hub");
}

#[test]
fn a_condition_may_name_the_path_that_the_shell_went() {
    let places = Places::new();
    let a = places.hub.at("a");
    let link = places.hub.sandbox.root().join("link");
    symlink(&a.dir, &link).unwrap();
    let settings = format!(
        "[includeIf \"gitdir:{}/.git\"]\n\tpath = {}\n",
        link.display(),
        places.included().display()
    );
    std::fs::write(places.hub.sandbox.home().join(".gitconfig"), settings).unwrap();
    let mut push = a.command();
    push.current_dir(&link).env("PWD", &link);
    let ran = push.args(["push"]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(places.hub.refs().contains(REF));
}

/// A `git` that notes what it is told, and what files it is given, and does the rest as git does.
fn listening(hub: &Hub) -> (std::ffi::OsString, std::path::PathBuf) {
    let (program, log) = (
        hub.sandbox.root().join("listening/git"),
        hub.sandbox.root().join("listening.log"),
    );
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\nexec 3>>'{}'\necho \"told: $*\" >&3\n\
         case \" $* \" in *' fetch '*|*' push '*)\n\
         ls -l .git/timewarp/share.git/settings-* >&3\n\
         git --git-dir=.git/timewarp/share.git -c include.path=\"$PWD/.git/timewarp/share.git/settings-here\" config --get-all test.lines >&3\n\
         git --git-dir=.git/timewarp/share.git -c include.path=\"$PWD/.git/timewarp/share.git/settings-here\" config --get-all http.extraheader >&3;; esac\n\
         exec git \"$@\"\n",
        log.display()
    );
    (in_place_of_git(hub, &program, script), log)
}

#[test]
fn settings_are_given_whole_once_and_where_nobody_else_reads_them() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.report("s");
    a.git(["config", "core.sharedRepository", "world"]);
    a.git(["config", "http.extraHeader", "Token: of-the-repository"]);
    let included = hub.sandbox.home().join("included");
    std::fs::write(&included, "[http]\n\textraHeader = \"Token: of-the-user\"\n[test]\n\tlines = \"one\\ntwo \\\"#\\\\\"\n").unwrap();
    let settings =
        "[includeIf \"gitdir:**/a/.git\"]\n\tpath = included\n[http]\n\textraHeader = last\n";
    std::fs::write(hub.sandbox.home().join(".gitconfig"), settings).unwrap();
    let (path, log) = listening(&hub);
    let mut push = a.command();
    let push = push
        .env("PATH", &path)
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "http.extraHeader")
        .env("GIT_CONFIG_VALUE_0", "Token: of-the-call")
        .env(
            "GIT_CONFIG_PARAMETERS",
            "'http.extraheader'='Token: of-git'",
        );
    let ran = push.arg("push").output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let log = std::fs::read_to_string(log).unwrap();
    let (told, heard): (Vec<&str>, Vec<&str>) =
        log.lines().partition(|line| line.starts_with("told: "));
    assert!(!told.iter().any(|line| line.contains("Token")), "{told:?}");
    let (files, heard): (Vec<&str>, Vec<&str>) = heard
        .into_iter()
        .partition(|line| line.contains("/settings-"));
    assert!(files.len() >= 4, "{log}");
    assert!(
        files.iter().all(|line| line.starts_with("-rw-------")),
        "{files:?}"
    );
    // The same as git itself would take, in its order.
    let once = [
        "one",
        "two \"#\\",
        "Token: of-the-user",
        "last",
        "Token: of-the-repository",
        "Token: of-the-call",
        "Token: of-git",
    ];
    assert_eq!(heard.chunks(once.len()).next().unwrap(), once, "{log}");
    let depot = std::fs::read_dir(a.depot()).unwrap();
    let names: Vec<_> = depot.map(|entry| entry.unwrap().file_name()).collect();
    let is_left = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("settings");
    assert!(!names.iter().any(is_left), "{names:?}");
}

#[test]
fn what_the_call_says_counts_more_than_the_repository() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.report("s");
    a.git(["config", "protocol.file.allow", "always"]);
    let mut push = a.command();
    let push = push
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "protocol.file.allow")
        .env("GIT_CONFIG_VALUE_0", "never");
    let ran = push.arg("push").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("'file' not allowed"), "{said}");
    a.json(["push"]);
}

#[test]
fn an_older_git_goes_nowhere_by_a_condition() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.report("s");
    let (path, _) = super::transport::old_git(&hub);
    let settings = "[includeIf \"gitdir:/elsewhere/\"]\n\tpath = included\n";
    std::fs::write(hub.sandbox.home().join(".gitconfig"), settings).unwrap();
    let ran = a.command().env("PATH", &path).arg("push").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(3), "{said}");
    assert!(said.contains("includeIf"), "{said}");
    assert_eq!(hub.refs(), "");
}
