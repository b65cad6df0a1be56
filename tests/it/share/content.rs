//! Snapshots that git itself, or a pull, has something against.

use serde_json::{Value, json};

use super::hub::{Clone_, Hub};
use super::snapshots::{CHAIN, ids, snapshot};

/// What any fetch brings, and a fetch that looks at the content of git's own files refuses.
fn files_that_git_reads() -> [(&'static str, String); 4] {
    let many = (0..400).map(|at| format!("attr{at}")).collect::<Vec<_>>();
    let long = format!("*.x {}\n", many.join(" "));
    let module = |field: &str| format!("[submodule \"sub\"]\n\tpath = sub\n\turl = x\n\t{field}\n");
    [
        (".gitattributes", long),
        (".gitmodules", module("url = ../../../:x")),
        (".gitmodules", module("update = !true")),
        (
            ".gitmodules",
            module("path = -x").replace("\"sub\"", "\"../x\""),
        ),
    ]
}

#[test]
fn what_git_says_of_the_content_of_its_own_files_stops_nobody() {
    for (name, text) in files_that_git_reads() {
        let hub = Hub::new();
        let (a, b) = hub.two();
        a.write(name, &text);
        let id = snapshot(&a, "odd");
        a.json(["push", "--snapshots", &id]);
        let pulled = b.json(["pull"]);
        assert_eq!(ids(&pulled, "received"), [id.as_str()], "{text}");
        assert_eq!(pulled["refused"], json!([]));
        b.json(["travel", &id]);
        let there = std::fs::read_to_string(b.dir.join(name)).unwrap();
        assert_eq!(there, text);
        assert_eq!(b.json(["return"])["verified"], true);
        b.write("b.txt", "of b\n");
        let other = snapshot(&b, "after it");
        b.json(["push", "--snapshots", &other]);
        assert_eq!(ids(&a.json(["pull"]), "received"), [other.as_str()]);
        // As with a plain commit of the same files.
        b.git(["gc", "-q", "--prune=now"]);
    }
}

/// Somebody's file among the records is none of them, and keeps nobody from them.
#[test]
fn such_a_file_beside_the_records_stops_nobody() {
    for (name, text) in files_that_git_reads() {
        let hub = Hub::new();
        let (a, b) = hub.two();
        let id = a.report("s");
        a.json(["push"]);
        hub.write(&[(name, super::hostile::Content::Blob(text.as_bytes()))]);
        assert_eq!(ids(&b.json(["pull"]), "received"), [id.as_str()], "{text}");
        let other = b.report("t");
        b.json(["push"]);
        assert_eq!(ids(&a.json(["pull"]), "received"), [other.as_str()]);
    }
}

fn only_refused(pulled: &Value) -> (&str, &str) {
    let refused = pulled["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 1, "{pulled}");
    let text = |field: &str| refused[0][field].as_str().unwrap();
    (text("path"), text("reason"))
}

/// A commit of the chain with this tree, after what it has, and one more that is good.
fn plant(hub: &Hub, good: &str, tree: &str) -> [&'static str; 2] {
    let text = hub.git(["log", "-1", "--format=%B", CHAIN]);
    let fine = hub.git(["rev-parse", &format!("{CHAIN}^{{tree}}")]);
    let planted = ["s_20260101_000000_bad000", "s_20260101_000000_last00"];
    for (id, tree) in planted.iter().zip([tree, fine.trim()]) {
        let message = text.replace(good, id);
        let made = hub.git(["commit-tree", "-m", &message, "-p", CHAIN, tree]);
        hub.git(["update-ref", CHAIN, made.trim()]);
    }
    planted
}

/// A tree's entries, of a file and a directory that are there.
type Entries = fn(&str, &str) -> Vec<String>;

#[test]
fn a_tree_that_git_would_not_make_is_refused_by_name_and_hides_no_other() {
    let blob = |hub: &Hub| {
        hub.git(["rev-parse", &format!("{CHAIN}:a.txt")])
            .trim()
            .to_owned()
    };
    let hostile: [(Entries, &str); 15] = [
        (|blob, _| vec![format!("100644 {blob}\t..")], "unsafe name"),
        (
            |blob, _| vec![format!("100644 {blob}\t.git")],
            "unsafe name",
        ),
        (
            |blob, _| vec![format!("100644 {blob}\tGIT~1")],
            "unsafe name",
        ),
        (|blob, _| vec![format!("100644 {blob}\ta/b")], "unsafe name"),
        (
            |_, tree| vec![format!("40000 {tree}\t.Git ")],
            "unsafe name",
        ),
        (
            |blob, _| vec![format!("120000 {blob}\t.gitmodules")],
            "unsafe name",
        ),
        (
            |blob, _| vec![format!("100644 {blob}\tb"), format!("100644 {blob}\ta")],
            "not in order",
        ),
        (
            |blob, _| vec![format!("100644 {blob}\ta"), format!("100644 {blob}\ta")],
            "not in order",
        ),
        (
            |blob, _| vec![format!("0100644 {blob}\ta")],
            "begins with a zero",
        ),
        (
            |blob, _| vec![format!("100600 {blob}\ta")],
            "does not write",
        ),
        (|_, tree| vec![format!("40755 {tree}\ta")], "does not write"),
        (
            |blob, _| vec![format!("100044 {blob}\ta")],
            "does not write",
        ),
        (
            |blob, _| vec![format!("160755 {blob}\ta")],
            "does not write",
        ),
        // A submodule to git.
        (|blob, _| vec![format!("644 {blob}\ta")], "does not write"),
        (
            |blob, _| vec![format!("160000 {}\ta", "0".repeat(blob.len()))],
            "leads to nothing",
        ),
    ];
    for (entries, why) in hostile {
        let hub = Hub::new();
        let (a, b) = hub.two();
        let good = snapshot(&a, "good");
        a.json(["push", "--snapshots", &good]);
        let fine = hub.git(["rev-parse", &format!("{CHAIN}^{{tree}}")]);
        let entries = entries(&blob(&hub), fine.trim());
        let inner = hub.tree_of(&entries);
        let planted = plant(&hub, &good, &hub.tree_of(&[format!("40000 {inner}\tdir")]));
        let dry = b.json(["pull", "--dry-run"]);
        let pulled = b.json(["pull"]);
        assert_eq!(dry["refused"], pulled["refused"]);
        let (path, reason) = only_refused(&pulled);
        assert_eq!(path, format!("snapshot {}", planted[0]), "{entries:?}");
        assert!(reason.contains(why), "{entries:?}: {reason}");
        assert_eq!(ids(&pulled, "received"), [good.as_str(), planted[1]]);
        // Nothing of it came, and it stands in nobody's way.
        assert!(!b.sees(&inner), "{entries:?}");
        b.git(["fsck", "--strict"]);
        b.write("b.txt", "of b\n");
        let other = snapshot(&b, "after it");
        b.json(["push", "--snapshots", &other]);
        assert_eq!(b.json(["pull"])["refused"], json!([]), "once is enough");
    }
}

/// A tree that names as a file what is a directory would make every gc of whoever has it fail.
#[test]
fn a_file_that_is_a_directory_reaches_nobody() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let good = snapshot(&a, "good");
    a.json(["push", "--snapshots", &good]);
    let tree = hub.git(["rev-parse", &format!("{CHAIN}^{{tree}}")]);
    // Also where the directory is there, and as such.
    let both = [
        format!("40000 {}\ta", tree.trim()),
        format!("100644 {}\tb", tree.trim()),
    ];
    for entries in [&both[1..], &both] {
        let before = hub.git(["rev-parse", CHAIN]);
        plant(&hub, &good, &hub.tree_of(entries));
        b.tw(["pull"]);
        let bad = b.tw(["show", "s_20260101_000000_bad000"]);
        assert_ne!(bad.code, 0, "{entries:?}");
        b.git(["gc", "-q", "--prune=now"]);
        b.git(["fsck", "--strict"]);
        hub.git(["update-ref", CHAIN, before.trim()]);
    }
    assert_eq!(b.tw(["pull"]).code, 0);
    assert_eq!(b.tw(["show", &good]).code, 0);
}

#[test]
fn a_push_sends_no_snapshot_that_no_pull_takes() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let deep = a.dir.join(["d"; 130].join("/"));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("f"), "deep\n").unwrap();
    let id = snapshot(&a, "deep");
    for dry in [&["--dry-run"][..], &[]] {
        let (error, code) = a.json_error([&["push", "--snapshots", &id][..], dry].concat());
        assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
        let message = format!("'{id}' cannot be shared: its directories are too deep");
        assert_eq!(error["message"], message);
    }
    assert_eq!(hub.refs(), "");
    std::fs::remove_dir_all(a.dir.join("d")).unwrap();
    let small = snapshot(&a, "small");

    // Of bytes that cannot be made smaller.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    let large: Vec<u8> = (0..3 << 20).map(|_| byte()).collect();
    std::fs::write(a.dir.join("large"), large).unwrap();
    let id = snapshot(&a, "large");
    let with_limit = |clone: &Clone_<'_>, words: &[&str]| {
        let ran = clone
            .command()
            .env("TW_TEST_FETCH_BLOCKS", "2048")
            .args(words)
            .output();
        let ran = ran.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        (ran.status.code().unwrap(), said)
    };
    // Twice: what was not sent does not count as there.
    for _ in 0..2 {
        let (code, said) = with_limit(&a, &["push", "--snapshots", &id]);
        assert_eq!(code, 2, "{said}");
        let why = "error: the files that these snapshots add are too large: it is more than 1 MiB, which no 'tw pull' takes\n";
        assert!(said.starts_with(why), "{said}");
    }
    assert_eq!(hub.refs(), "");
    assert_eq!(with_limit(&a, &["push", "--snapshots", &small]).0, 0);
    assert_eq!(with_limit(&b, &["pull"]).0, 0);
    assert_eq!(b.tw(["show", &small]).code, 0);
}
