//! A remote that anybody may have written to.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::hub::{Clone_, Hub, REF};
use crate::provided;

/// What a file of the shared tree is made of.
pub enum Content<'a> {
    Blob(&'a [u8]),
    Node(&'a str),
}

impl Hub {
    pub fn feed(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = provided::git(&self.sandbox.home());
        command
            .current_dir(self.dir())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A tree of these entries.
    pub fn tree_of(&self, entries: &[String]) -> String {
        self.made(entries)
    }

    /// Adds a large file where none belongs.
    pub fn add_large(&self, bytes: &[u8]) {
        self.write(&[("issues/large.bin", Content::Blob(bytes))]);
    }

    fn blob(&self, bytes: &[u8]) -> String {
        self.feed(&["hash-object", "-w", "--stdin"], bytes)
    }

    /// A tree of these entries, each as `git mktree` takes them, however wrong.
    fn made(&self, entries: &[String]) -> String {
        let mut bytes = Vec::new();
        for entry in entries {
            let (mode, rest) = entry.split_once(' ').unwrap();
            let (id, name) = rest.split_once('\t').unwrap();
            bytes.extend(mode.bytes());
            bytes.push(b' ');
            bytes.extend(name.bytes());
            bytes.push(0);
            for at in (0..id.len()).step_by(2) {
                bytes.push(u8::from_str_radix(&id[at..at + 2], 16).unwrap());
            }
        }
        self.feed(
            &["hash-object", "-w", "-t", "tree", "--literally", "--stdin"],
            &bytes,
        )
    }

    /// Has the shared ref name a commit of these files on top of what it had.
    pub fn write(&self, files: &[(&str, Content<'_>)]) {
        let index = self.sandbox.root().join("tmp/hostile-index");
        let _ = std::fs::remove_file(&index);
        let with = |args: &[&str]| {
            let output = provided::git(&self.sandbox.home())
                .current_dir(self.dir())
                .env("GIT_INDEX_FILE", &index)
                .args(args)
                .output()
                .unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        with(&["read-tree", REF]);
        for (path, content) in files {
            let entry = match content {
                Content::Blob(bytes) => format!("100644,{},{path}", self.blob(bytes)),
                Content::Node(node) => format!("{node},{path}"),
            };
            with(&["update-index", "--add", "--cacheinfo", &entry]);
        }
        let tree = with(&["write-tree"]);
        self.set(&self.commit(&tree));
    }

    fn commit(&self, tree: &str) -> String {
        self.git(["commit-tree", "-m", "x", tree]).trim().to_owned()
    }

    fn set(&self, object: &str) {
        self.git(["update-ref", REF, object]);
    }
}

/// The path of an issue's file.
pub fn path(id: &str) -> String {
    timewarp::ops::sharing::tree::path(timewarp::ops::sharing::fields::Kind::Issue, id)
}

/// A file of an issue of one edit.
fn file(id: &str, fields: &Value) -> Value {
    file_of("issue", id, fields)
}

/// A file of a record of one edit.
pub fn file_of(kind: &str, id: &str, fields: &Value) -> Value {
    let edit = "0123456789abcdef";
    let fields: serde_json::Map<String, Value> = fields
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), json!({"value": value, "edits": [edit]})))
        .collect();
    json!({
        "version": 1, "kind": kind, "id": id, "fields": fields,
        "edits": {edit: {"revision": 1, "at": "2026-02-01T00:00:00Z", "by": "elsewhere", "name": "M\u{1b}[31mallory"}},
    })
}

pub fn issue(id: &str, symptom: &str) -> Value {
    file(
        id,
        &json!({"symptom": symptom, "status": "open", "snapshot_id": "s_20260101_000000_aaaaaa", "created_at": "2026-01-01T00:00:00Z",
            "verify_command": "touch tw-hostile-ran", "task_context": "t", "success_criteria": "c"}),
    )
}

/// What a pull must not touch.
fn everything_else(clone: &Clone_) -> (String, String, String) {
    (
        clone.git(["for-each-ref", "--format=%(refname) %(objectname)"]),
        clone.git(["status", "--porcelain"]),
        clone.git(["config", "--list", "--local"]),
    )
}

const GOOD: &str = "i_20260201_000000_aaaaaa";

/// What came is shown with its sender, and nothing of it is run or reached.
fn shown_and_not_believed(b: &Clone_) {
    let shown = b.tw(["issue", "list"]).out();
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
    assert!(
        shown.contains("claimed by M") && shown.contains("good"),
        "{shown}"
    );
    let ran = b.json_error(["issue", "verify", GOOD]);
    assert_eq!(ran.0["code"], "NOT_APPROVED");
    assert!(!b.dir.join("tw-hostile-ran").exists());
    let (error, _) = b.json_error(["issue", "start", GOOD]);
    assert_eq!(error["code"], "SNAPSHOT_NOT_FOUND", "{error}");
}

#[test]
fn what_is_wrong_is_refused_by_name_and_hides_nothing() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("mine");
    a.json(["push"]);
    let ids: Vec<String> = (0..12)
        .map(|at| format!("i_20260202_000000_bbbb{at:02}"))
        .collect();
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = file(&ids[1], &json!({"symptom": "DEEP"}))
        .to_string()
        .replace("\"DEEP\"", &deep);
    let huge = vec![b' '; 32 << 20];
    let missing = file(&ids[2], &json!({"status": "open"}));
    let mut newer = issue(&ids[3], "x");
    newer["version"] = json!(7);
    let other = issue(GOOD, "another one's");
    let symptom = file(
        &ids[5],
        &json!({"symptom": ["a list"], "status": "open", "snapshot_id": "s_20260101_000000_aaaaaa", "created_at": "x"}),
    );
    let slashes = file("i_20260202_000000_../../x", &json!({}));
    let snapshot = file(
        &ids[6],
        &json!({"symptom": "s", "status": "open", "snapshot_id": "../../../etc/passwd", "created_at": "x"}),
    );
    let bytes = |value: &Value| value.to_string().into_bytes();
    let link = format!("120000,{}", hub.blob(b"/etc/passwd"));
    let program = format!("100755,{}", hub.blob(&bytes(&issue(&ids[8], "x"))));
    let module = format!("160000,{}", hub.sandbox.kind().id("1"));
    hub.write(&[
        (
            &path(GOOD),
            Content::Blob(&bytes(&issue(GOOD, "good \u{1b}[2J\u{202e}evil"))),
        ),
        (&path(&ids[0]), Content::Blob(&huge)),
        (&path(&ids[1]), Content::Blob(deep.as_bytes())),
        (&path(&ids[2]), Content::Blob(&bytes(&missing))),
        (&path(&ids[3]), Content::Blob(&bytes(&newer))),
        (&path(&ids[4]), Content::Blob(&bytes(&other))),
        (&path(&ids[5]), Content::Blob(&bytes(&symptom))),
        (&path(&ids[6]), Content::Blob(&bytes(&snapshot))),
        (&path(&ids[7]), Content::Node(&link)),
        (&path(&ids[8]), Content::Node(&program)),
        (&path(&ids[9]), Content::Node(&module)),
        (&path(&ids[10]), Content::Blob(b"not json \xff\0")),
        (
            "issues/zz/i_20260202_000000_bbbb11.json",
            Content::Blob(&bytes(&issue(&ids[11], "x"))),
        ),
        (
            "issues/aa/i_20260202_000000_../x.json",
            Content::Blob(b"{}"),
        )
            .normal(),
        ("issues/aa/x/y/z/i_1.json", Content::Blob(&bytes(&slashes))),
        ("issues/notes.txt", Content::Blob(b"x")),
        ("later/of/a/newer/kind.json", Content::Blob(b"{}")),
        ("chats", Content::Blob(b"a file")),
    ]);
    let before = everything_else(&b);
    let dry = b.json(["pull", "--dry-run"]);
    assert_eq!(everything_else(&b), before);
    let pulled = b.json(["pull"]);
    let received: Vec<&str> = pulled["received"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["change"].as_str().unwrap())
        .collect();
    assert_eq!(received, ["added", "added"], "{pulled}");
    let refused: Vec<String> = pulled["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].to_string())
        .collect();
    for id in &ids {
        assert!(
            refused.iter().any(|path| path.contains(id.as_str())),
            "{id}: {refused:#?}"
        );
    }
    for path in ["issues/aa/", "issues/notes.txt", "chats"] {
        assert!(
            refused.iter().any(|refused| refused.contains(path)),
            "{path}: {refused:#?}"
        );
    }
    assert!(dry["refused"].as_array().unwrap().len() >= 11);

    shown_and_not_believed(&b);
    // And it does not stand in anybody's way: what is not known, or not ours to judge, stays where it is.
    let id = b.report("b's own");
    b.json(["push"]);
    assert!(hub.tree().contains("later/of/a/newer/kind.json"));
    assert!(hub.shared(&id).contains("b's own"));
    a.json(["pull"]);
    assert_eq!(a.json(["issue", "list"])["count"], 3);
    a.git(["fsck"]);
    b.git(["gc", "-q", "--prune=now"]);
    b.json(["pull"]);
}

trait Normal {
    fn normal(self) -> Self;
}

impl Normal for (&str, Content<'_>) {
    /// git's index takes no '..': the same id below a directory of a plain name.
    fn normal(mut self) -> Self {
        self.0 = "issues/aa/i_20260202_000000_/x.json";
        self
    }
}

#[test]
fn a_ref_that_names_anything_else_is_refused_whole() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("mine");
    a.json(["push"]);
    b.json(["pull"]);
    let good = hub.git(["rev-parse", REF]).trim().to_owned();
    hub.git(["config", "user.name", "x"]);
    hub.git(["config", "user.email", "x@x"]);
    hub.git(["tag", "-a", "-m", "x", "a-tag", &good]);
    let tag = hub.git(["rev-parse", "a-tag"]).trim().to_owned();
    let tree = hub
        .git(["rev-parse", &format!("{good}^{{tree}}")])
        .trim()
        .to_owned();
    let format = |text: &str| {
        let blob = hub.blob(text.as_bytes());
        hub.commit(&hub.made(&[format!("100644 {blob}\tformat.json")]))
    };
    let newer = format(r#"{"major": 2}"#);
    let none = hub.commit(&hub.made(&[]));
    let odd = format("[[[[");
    let wrong = [
        (tag, "CORRUPT_RECORD"),
        (tree, "CORRUPT_RECORD"),
        (hub.blob(b"x"), "CORRUPT_RECORD"),
        (newer, "NEWER_RECORD"),
        (none, "CORRUPT_RECORD"),
        (odd, "CORRUPT_RECORD"),
    ];
    for (object, code) in wrong {
        hub.set(&object);
        let before = everything_else(&b);
        for words in [&["pull"][..], &["push"], &["pull", "--dry-run"]] {
            let (error, _) = b.json_error(words.iter().copied());
            assert_eq!(error["code"], code, "{words:?} of {object}: {error}");
        }
        assert_eq!(everything_else(&b), before);
        assert_eq!(
            hub.git(["rev-parse", REF]).trim(),
            object,
            "nothing was pushed"
        );
        // Nor does it stay in the way.
        b.json(["issue", "list"]);
        b.tw(["share", "status"]);
    }
    hub.set(&good);
    assert_eq!(b.json(["pull"])["received"], json!([]));
    assert_eq!(b.json(["issue", "get", &id])["issue"]["symptom"], "mine");
}

#[test]
fn trees_that_git_itself_would_not_make_come_no_further_than_the_fetch() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("mine");
    a.json(["push"]);
    let blob = hub.blob(b"{}");
    let format = hub
        .git(["rev-parse", &format!("{REF}:format.json")])
        .trim()
        .to_owned();
    let format = format!("100644 {format}\tformat.json");
    for name in ["..", ".", ".git", "a/b", ""] {
        let inner = hub.made(&[format!("100644 {blob}\t{name}")]);
        let issues = hub.made(&[format!("40000 {inner}\taa")]);
        hub.set(&hub.commit(&hub.made(&[format.clone(), format!("40000 {issues}\tissues")])));
        let before = everything_else(&b);
        let (error, code) = b.json_error(["pull"]);
        assert_eq!(code, 1, "{name}: {error}");
        assert_eq!(everything_else(&b), before);
    }
}

#[test]
fn nobody_elses_deletion_or_forgery_takes_a_record_from_here() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("mine");
    a.json(["push"]);
    b.json(["pull"]);
    // All edits known, and no field left.
    let mut file: Value = serde_json::from_str(&hub.shared(&id)).unwrap();
    file["fields"] = json!({});
    hub.write(&[(&path(&id), Content::Blob(file.to_string().as_bytes()))]);
    let pulled = a.json(["pull"]);
    assert_eq!(pulled["refused"].as_array().unwrap().len(), 1, "{pulled}");
    assert_eq!(a.json(["issue", "get", &id])["issue"]["symptom"], "mine");

    // The whole tree gone: what is here goes there again.
    hub.set(&hub.commit(&{
        let format = hub.blob(br#"{"major": 1}"#);
        hub.made(&[format!("100644 {format}\tformat.json")])
    }));
    b.json(["pull"]);
    assert_eq!(b.json(["issue", "get", &id])["issue"]["symptom"], "mine");
    assert_eq!(b.json(["push"])["sent"][0]["id"], *id);
}

/// How large the largest object of the remote is.
fn largest(hub: &Hub) -> u64 {
    let sizes = hub.git([
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectsize)",
    ]);
    let sizes = sizes.lines().map(|size| size.parse().unwrap());
    sizes.max().unwrap()
}

#[test]
fn what_two_made_too_large_is_not_sent_until_somebody_shortens_it() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    // Six bytes each, where it is shared.
    let long = "\u{1}".repeat(800_000);
    a.plant(&id, |issue| issue["symptom"] = json!(long));
    b.plant(&id, |issue| issue["task_context"] = json!(long));
    a.json(["push"]);
    let before = hub.git(["rev-parse", REF]);
    for words in [&["push"][..], &["pull"], &["push"]] {
        let said = b.json(words.iter().copied());
        let notices = said["notices"].to_string();
        assert!(
            notices.contains("stays here: it has") && notices.contains("tw issue edit"),
            "{words:?}: {notices}"
        );
    }
    assert_eq!(hub.git(["rev-parse", REF]), before);
    let other = b.report("goes all the same");
    assert_eq!(b.json(["push"])["sent"][0]["id"], *other);
    // What does not go is in no history of what goes either.
    assert!(largest(&hub) < 8 << 20, "{}", largest(&hub));
    // Both are here, and who shortens one of them sends it.
    let issue = b.json(["issue", "get", &id])["issue"].clone();
    assert!(issue["symptom"] == *long && issue["task_context"] == *long);
    b.json(["issue", "edit", &id, "--task-context", "shortened"]);
    assert_eq!(b.json(["push"])["sent"][0]["id"], *id);
    hub.assert_same(&[&a, &b]);
    let issue = a.json(["issue", "get", &id])["issue"].clone();
    assert!(issue["symptom"] == *long && issue["task_context"] == "shortened");
    // One that not even we could read again stays as it is, whatever comes.
    let longest = "\u{1}".repeat(3_000_000);
    b.plant(&id, |issue| issue["task_context"] = json!(longest));
    a.json(["issue", "edit", &id, "--symptom", "short"]);
    a.json(["push"]);
    let pulled = b.json(["pull"]);
    assert!(pulled["notices"].to_string().contains("tw issue edit"));
    let issue = b.json(["issue", "get", &id])["issue"].clone();
    assert!(issue["task_context"] == *longest && issue["symptom"] == *long);
    b.json(["issue", "edit", &id, "--task-context", "short, too"]);
    b.json(["push"]);
    hub.assert_same(&[&a, &b]);
    let issue = a.json(["issue", "get", &id])["issue"].clone();
    let told = (&issue["symptom"], &issue["task_context"]);
    assert_eq!(told, (&json!("short"), &json!("short, too")));
}

#[test]
fn what_cannot_be_read_there_is_not_written_over() {
    for case in ["program", "malformed", "directory"] {
        let hub = Hub::new();
        let (a, b) = hub.two();
        let id = a.report("s");
        a.json(["push"]);
        b.json(["pull"]);
        let path = path(&id);
        let blob = hub.git(["rev-parse", &format!("{REF}:{path}")]);
        let blob = blob.trim();
        match case {
            "program" => hub.write(&[(&path, Content::Node(&format!("100755,{blob}")))]),
            "malformed" => hub.write(&[(&path, Content::Blob(b"{}"))]),
            _ => {
                let format = hub.git(["rev-parse", &format!("{REF}:format.json")]);
                let tree = hub.made(&[
                    format!("100644 {}\tformat.json", format.trim()),
                    format!("100644 {blob}\tissues"),
                ]);
                hub.set(&hub.commit(&tree));
            }
        }
        let there = hub.git(["ls-tree", REF, "--", "issues"]);
        let all = hub.git(["ls-tree", "-r", REF]);
        a.plant(&id, |issue| issue["symptom"] = json!("EDITED HERE"));
        let other = a.report("another");
        let pushed = a.json(["push"]);
        assert_ne!(pushed["refused"], json!([]), "{case}: {pushed}");
        let sent: Vec<&Value> = pushed["sent"].as_array().unwrap().iter().collect();
        if case == "directory" {
            assert_eq!(sent.len(), 0, "{case}: {pushed}");
            assert_eq!(hub.git(["ls-tree", REF, "--", "issues"]), there);
        } else {
            assert_eq!((sent.len(), &sent[0]["id"]), (1, &json!(other)), "{case}");
        }
        let now = hub.git(["ls-tree", "-r", REF]);
        assert!(all.lines().all(|line| now.contains(line)), "{case}: {now}");
        // Nobody has looked through what did not go.
        for object in hub.everything() {
            assert!(!object.contains("EDITED HERE"), "{case}: {object}");
        }
        a.json(["pull"]);
        let issue = a.json(["issue", "get", &id])["issue"].clone();
        assert_eq!(issue["symptom"], "EDITED HERE", "{case}");
    }
}

/// A tree of so many sessions, of which only the names are any good.
fn sessions(hub: &Hub, count: usize) -> String {
    use timewarp::ops::sharing::{fields::Kind, tree::path};
    let blob = hub.blob(b"{}");
    let mut directories: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for id in (0..count).map(|number| format!("n{number:06}")) {
        let path = path(Kind::Session, &id);
        let (above, name) = path.rsplit_once('/').unwrap();
        let entries = directories.entry(above.to_owned()).or_default();
        entries.push(format!("100644 {blob}\t{name}"));
    }
    let directories = directories.iter().map(|(above, entries)| {
        let two = above.rsplit('/').next().unwrap();
        format!("40000 {}\t{two}", hub.made(entries))
    });
    hub.made(&directories.collect::<Vec<_>>())
}

#[test]
fn no_push_makes_more_records_than_anybody_reads() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("first");
    a.json(["push"]);
    let node = |path: &str| hub.git(["rev-parse", &format!("{REF}:{path}")]);
    let format = node("format.json");
    let fill = |count: usize, more: &[String]| {
        let format = format!("100644 {}\tformat.json", format.trim());
        let sessions = format!("40000 {}\tsessions", sessions(&hub, count));
        let entries = [&[format][..], more, &[sessions]].concat();
        hub.set(&hub.commit(&hub.made(&entries)));
    };
    let issues = format!("40000 {}\tissues", node("issues").trim());
    fill(50_000, &[issues]);
    let id = a.report("second");
    super::sessions::session(&a, "x");
    let pushed = a.json(["push"]);
    assert_eq!(pushed["sent"].as_array().unwrap().len(), 1, "{pushed}");
    assert_eq!(pushed["sent"][0]["id"], *id);
    let notices = pushed["notices"].to_string();
    assert!(
        notices.contains("not sent: 1 new record, for the remote has 50001 records")
            && notices.contains("tw share init"),
        "{notices}"
    );
    b.json(["pull"]);
    assert_eq!(b.json(["issue", "list"])["count"], 2);
    // No more of anything.
    let issues = format!("40000 {}\tissues", node("issues").trim());
    fill(99_998, std::slice::from_ref(&issues));
    a.report("fourth");
    assert_eq!(a.json(["push"])["sent"], json!([]));
    // Too many already: what can be done is said.
    fill(100_000, &[issues]);
    for verb in ["push", "pull"] {
        let (error, _) = a.json_error([verb]);
        assert_eq!(error["code"], "CORRUPT_RECORD");
        assert!(error.to_string().contains("--as-branch"), "{error}");
    }
    a.json(["share", "init", "origin", "--as-branch"]);
    assert_ne!(a.json(["push"])["sent"], json!([]));
}

/// What is far too large is known by its size alone.
#[test]
fn a_conversation_that_is_far_too_large_stays_unread() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.json(["share", "init", "origin", "--prompts", "redacted"]);
    b.json(["share", "init", "origin", "--prompts", "redacted"]);
    let id = a.report_with_chat("s", "ask the oracle");
    let long = "all work and no play ".repeat(820_000);
    a.plant_in("chats", &id, |chat| {
        chat["messages"][0]["text"] = json!(long);
    });
    // Settles the record's refs.
    a.json(["issue", "chat", &id, "--last", "0"]);
    let work = a.dir.with_extension("work");
    let pushed = a
        .command()
        .args(["--json", "push"])
        .env("TW_TEST_WORK", &work)
        .output()
        .unwrap();
    let said = String::from_utf8(pushed.stdout).unwrap();
    assert!(
        said.contains("bytes here, and at most 8388608 go; 'tw share init"),
        "{said}"
    );
    let work = std::fs::read_to_string(&work).unwrap();
    assert!(work.contains("chat_reads 0\n"), "{work}");
    assert!(!hub.tree().contains("chats/"), "{}", hub.tree());
    // Nor is it lost to what others make of it.
    b.json(["pull"]);
    assert_eq!(a.json(["pull"])["received"], json!([]));
    let chat = a.json(["issue", "chat", &id]);
    assert!(chat["chat"]["messages"][0]["text"] == *long);
    // A part of it goes.
    a.plant_in("chats", &id, |chat| {
        chat["messages"][0]["text"] = json!("short");
    });
    a.json(["push"]);
    assert!(hub.tree().contains("chats/"), "{}", hub.tree());
}
