//! A remote on this disk and repositories that have it as `origin`, all in one sandbox.

use std::ffi::OsStr;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::sandbox::{Kind, Ran, Sandbox};
use crate::schema;

/// What the remote gets.
pub const REF: &str = "refs/timewarp-shared/v1";

/// A bare repository.
pub struct Hub {
    /// Where all of it is.
    pub sandbox: Sandbox,
}

/// A repository that has the hub as `origin`.
pub struct Clone_<'a> {
    sandbox: &'a Sandbox,
    /// Its working tree.
    pub dir: PathBuf,
}

impl Hub {
    /// An empty one.
    pub fn new() -> Self {
        Self::of(Kind::of_all())
    }

    /// An empty one, of repositories of this kind.
    pub fn of(kind: Kind) -> Self {
        let sandbox = Sandbox::of(kind);
        sandbox.git_in(sandbox.root(), ["init", "-q", "--bare", "hub.git"]);
        Self { sandbox }
    }

    /// Where it is.
    pub fn dir(&self) -> PathBuf {
        self.sandbox.root().join("hub.git")
    }

    /// A repository that has it as `origin`, with a commit.
    pub fn clone_(&self, name: &str) -> Clone_<'_> {
        let dir = self.sandbox.root().join(name);
        self.sandbox
            .git_in(self.sandbox.root(), ["init", "-q", "-b", "main", name]);
        let clone = Clone_ {
            sandbox: &self.sandbox,
            dir,
        };
        clone.write("a.txt", "one\n");
        clone.git(["add", "a.txt"]);
        clone.git(["commit", "-q", "-m", "first"]);
        clone.git(["remote", "add", "origin", self.dir().to_str().unwrap()]);
        clone.git(["config", "user.name", &format!("{name}'s")]);
        clone
    }

    /// The repository of a directory beside it.
    pub fn at(&self, name: &str) -> Clone_<'_> {
        Clone_ {
            sandbox: &self.sandbox,
            dir: self.sandbox.root().join(name),
        }
    }

    /// One that shares.
    pub fn sharing(&self, name: &str) -> Clone_<'_> {
        let clone = self.clone_(name);
        clone.json(["share", "init", "origin"]);
        clone
    }

    /// Two that share.
    pub fn two(&self) -> (Clone_<'_>, Clone_<'_>) {
        (self.sharing("a"), self.sharing("b"))
    }

    /// Runs git in it.
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.sandbox.git_in(self.dir(), args)
    }

    /// The names of its refs.
    pub fn refs(&self) -> String {
        self.git(["for-each-ref", "--format=%(refname)"])
    }

    /// How many objects it has.
    pub fn objects(&self) -> usize {
        let all = self.git(["cat-file", "--batch-all-objects", "--batch-check"]);
        all.lines().count()
    }

    /// The contents of all its objects.
    pub fn everything(&self) -> Vec<String> {
        self.contents(&self.git([
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ]))
    }

    /// The contents of what its refs reach.
    pub fn reachable(&self) -> Vec<String> {
        let all = self.git(["rev-list", "--objects", "--all", "--no-object-names"]);
        self.contents(&all)
    }

    fn contents(&self, ids: &str) -> Vec<String> {
        let content = |id: &str| {
            let kind = self.git(["cat-file", "-t", id]);
            let ran = self
                .sandbox
                .try_git_in(self.dir(), ["cat-file", kind.trim(), id]);
            ran.out()
        };
        ids.lines().map(content).collect()
    }

    /// The paths of what is shared.
    pub fn tree(&self) -> String {
        self.git(["ls-tree", "-r", "--name-only", REF])
    }

    /// The file of an issue.
    pub fn shared(&self, id: &str) -> String {
        let tree = self.tree();
        let path = tree
            .lines()
            .find(|path| path.contains(id))
            .expect("it is shared");
        self.git(["show", &format!("{REF}:{path}")])
    }

    /// Puts a hook into it.
    pub fn hook(&self, name: &str, script: &str) {
        let path = self.dir().join("hooks").join(name);
        self.sandbox.program(path, script);
    }

    /// All of these have, byte for byte, what the hub has.
    pub fn assert_same(&self, clones: &[&Clone_<'_>]) {
        for clone in clones {
            clone.json(["pull"]);
        }
        let tree = |text: String| text.trim().to_owned();
        let here = tree(self.git(["rev-parse", &format!("{REF}^{{tree}}")]));
        for clone in clones {
            let own = tree(clone.in_depot(&["rev-parse", "refs/records/own^{tree}"]));
            assert_eq!(own, here, "{}", clone.dir.display());
        }
    }
}

impl Clone_<'_> {
    /// `tw` in it.
    pub fn command(&self) -> Command {
        let mut command = self.sandbox.tw_command();
        command.current_dir(&self.dir);
        command
    }

    /// Runs `tw`.
    pub fn tw<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.command().args(args).output().unwrap().into()
    }

    fn document<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> (Vec<String>, Ran, Value) {
        let args: Vec<String> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_str().unwrap().to_owned())
            .collect();
        let ran: Ran = self
            .command()
            .arg("--json")
            .args(&args)
            .output()
            .unwrap()
            .into();
        let document = schema::read(&ran.stdout)
            .unwrap_or_else(|error| panic!("tw {args:?}: {error}\n{}\n{}", ran.out(), ran.err()));
        (args, ran, document)
    }

    /// Runs `tw --json`, which must succeed and keep to its schema.
    pub fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Value {
        let (args, ran, document) = self.document(args);
        assert_eq!(
            (&document["ok"], ran.code),
            (&json!(true), 0),
            "tw {args:?}: {document}"
        );
        let name = match args[0].as_str() {
            group @ ("issue" | "session" | "share") => format!("{group}-{}", args[1]),
            "try" if ["list", "show", "drop"].contains(&args[1].as_str()) => {
                format!("try-{}", args[1])
            }
            name => name.to_owned(),
        };
        schema::check(&name, &document);
        document
    }

    /// Runs `tw --json`, which must fail.
    pub fn json_error<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> (Value, i32) {
        let (args, ran, document) = self.document(args);
        assert_eq!(document["ok"], false, "tw {args:?}: {document}");
        schema::check("error", &document);
        (document["error"].clone(), ran.code)
    }

    /// Runs git in it.
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.sandbox.git_in(&self.dir, args)
    }

    /// Whether it has an object.
    pub fn sees(&self, oid: &str) -> bool {
        let ran = self.sandbox.try_git_in(&self.dir, ["cat-file", "-e", oid]);
        ran.code == 0
    }

    /// Where what it exchanges is.
    pub fn depot(&self) -> PathBuf {
        self.dir.join(".git/timewarp/share.git")
    }

    /// Runs git there.
    pub fn in_depot(&self, args: &[&str]) -> String {
        let depot = format!("--git-dir={}", self.depot().display());
        self.git([&[depot.as_str()], args].concat())
    }

    /// Writes a file of its working tree.
    pub fn write(&self, path: &str, text: &str) {
        std::fs::write(self.dir.join(path), text).unwrap();
    }

    /// Reports an issue and gives its id.
    pub fn report(&self, symptom: &str) -> String {
        self.report_by(&["--symptom", symptom])
    }

    /// Reports one with a conversation of one turn.
    pub fn report_with_chat(&self, symptom: &str, said: &str) -> String {
        let row = |role: &str, said: String, parent: Value| {
            json!({
                "type": role, "uuid": role, "parentUuid": parent, "sessionId": "talk", "cwd": self.dir,
                "version": "2.0.0", "timestamp": "2026-02-28T15:00:00.000Z", "isSidechain": false, "userType": "external",
                "message": {"role": role, "content": [{"type": "text", "text": said}]},
            })
        };
        let first = row("user", format!("{said} 1"), Value::Null);
        let second = row("assistant", "done".to_owned(), json!("user"));
        let path = self.sandbox.home().join("talk.jsonl");
        std::fs::write(&path, format!("{first}\n{second}\n")).unwrap();
        self.report_by(&["--symptom", symptom, "--transcript", path.to_str().unwrap()])
    }

    /// Reports one with these words.
    pub fn report_by(&self, more: &[&str]) -> String {
        let words = [
            "issue",
            "report",
            "--task-context",
            "t",
            "--success-criteria",
            "c",
        ];
        let reported = self.json(words.iter().chain(more));
        reported["issue_id"].as_str().unwrap().to_owned()
    }

    /// Changes an issue's record by plain git.
    pub fn plant(&self, id: &str, change: impl FnOnce(&mut Value)) {
        self.plant_in("issues", id, change);
    }

    /// Changes a record of an issue, or its conversation in `chats`, by plain git.
    pub fn plant_in(&self, records: &str, id: &str, change: impl FnOnce(&mut Value)) {
        let notes = format!("--ref=timewarp/{records}/{id}");
        let annotated = self.git(["notes", &notes, "list"]);
        let annotated = annotated.split_whitespace().nth(1).unwrap().to_owned();
        let body = self.git([
            "cat-file",
            "blob",
            &format!("refs/notes/timewarp/{records}/{id}:{annotated}"),
        ]);
        let mut issue: Value = serde_json::from_str(&body).unwrap();
        change(&mut issue);
        let file = self.sandbox.root().join("tmp/planted.json");
        std::fs::write(&file, issue.to_string()).unwrap();
        let blob = self.git(["hash-object", "-w", file.to_str().unwrap()]);
        // 'git notes' would not take an object that is not here.
        let tree = self.sandbox.root().join("tmp/planted.tree");
        std::fs::write(&tree, format!("100644 blob {}\t{annotated}\n", blob.trim())).unwrap();
        let script = format!("git mktree --missing <'{}'", tree.display());
        let made = self
            .sandbox
            .command("sh")
            .current_dir(&self.dir)
            .args(["-c", &script])
            .output()
            .unwrap();
        let made = String::from_utf8(made.stdout).unwrap();
        let parent = format!("refs/notes/timewarp/{records}/{id}");
        let commit = self.git(["commit-tree", "-m", "planted", "-p", &parent, made.trim()]);
        self.git(["update-ref", &parent, commit.trim()]);
    }

    /// An issue without what is this repository's own.
    pub fn settled(&self, id: &str) -> Value {
        let mut issue = self.json(["issue", "get", id])["issue"].clone();
        let fields = issue.as_object_mut().unwrap();
        for own in [
            "paths",
            "seq",
            "verify_hash",
            "verify_approved",
            "claimed_by",
            "snapshot_claimed_by",
            "conflicts",
            "chat_unavailable",
        ] {
            fields.remove(own);
        }
        for list in ["runs", "comments"] {
            for item in issue[list].as_array_mut().into_iter().flatten() {
                for own in ["claimed_by", "backup_id", "run"] {
                    item.as_object_mut().unwrap().remove(own);
                }
            }
        }
        // Everybody counts runs as they came here.
        if let Some(runs) = issue["runs"].as_array_mut() {
            runs.sort_by_key(|run| run["id"].to_string());
        }
        issue
    }
}
