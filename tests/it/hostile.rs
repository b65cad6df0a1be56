//! Records, files, configuration and environments made to do harm: clear errors, nothing lost, nothing outside touched, no
//! panic.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use timewarp::git::objects::{ObjectKind, hash};

use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, document, litter, walk};
use crate::provided::root_or;
use crate::sandbox::{Ran, Sandbox, is_root, skipped};
use crate::stage::{eventful, in_the_past, taken};

/// Writes a loose object, whatever is in it, and gives its id.
fn put(sandbox: &Sandbox, kind: ObjectKind, bytes: &[u8]) -> String {
    let oid = hash(kind, bytes).unwrap().to_string();
    let path = sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    write!(out, "{} {}\0", kind.name(), bytes.len()).unwrap();
    out.write_all(bytes).unwrap();
    std::fs::write(path, out.finish().unwrap()).unwrap();
    oid
}

fn raw(oid: &str) -> Vec<u8> {
    let pair = |at| u8::from_str_radix(&oid[at..at + 2], 16).unwrap();
    (0..20).map(|byte| pair(2 * byte)).collect()
}

fn tree(sandbox: &Sandbox, entries: &[(&str, &[u8], &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, oid) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(&raw(oid));
    }
    put(sandbox, ObjectKind::Tree, &bytes)
}

/// The parts of a real snapshot, to forge others from.
struct Model {
    tree: String,
    parents: Vec<String>,
    json: Value,
}

const FORGED: &str = "s_20260101_000000_forged";

impl Model {
    fn new(sandbox: &Sandbox, id: &str) -> Self {
        let text = sandbox.git([
            "cat-file",
            "commit",
            &format!("refs/timewarp/snapshots/{id}"),
        ]);
        let (head, message) = text.split_once("\n\n").unwrap();
        let of = |key: &str| {
            let values = head.lines().filter_map(|line| line.strip_prefix(key));
            values.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut json: Value = serde_json::from_str(message.split_once("\n\n").unwrap().1).unwrap();
        json["snapshot_id"] = FORGED.into();
        Self {
            tree: of("tree ").remove(0),
            parents: of("parent "),
            json,
        }
    }

    fn commit(&self, sandbox: &Sandbox, tree: &str, document: &[u8]) -> String {
        let mut bytes = format!("tree {tree}\n").into_bytes();
        for parent in &self.parents {
            bytes.extend(format!("parent {parent}\n").into_bytes());
        }
        let who = "timewarp <timewarp@localhost>";
        bytes.extend(
            format!("author {who} 1767225600 +0000\ncommitter {who} 1 +0000\n\n").into_bytes(),
        );
        bytes.extend(b"snapshot: forged\n\n");
        bytes.extend(document);
        put(sandbox, ObjectKind::Commit, &bytes)
    }

    fn plant(&self, sandbox: &Sandbox, tree: &str, document: &[u8]) {
        plant(sandbox, &self.commit(sandbox, tree, document));
    }

    fn document(&self) -> Vec<u8> {
        serde_json::to_vec(&self.json).unwrap()
    }
}

fn plant(sandbox: &Sandbox, oid: &str) {
    let path = format!(".git/refs/timewarp/snapshots/{FORGED}");
    sandbox.write(path, format!("{oid}\n"));
}

/// Everything in the sandbox but the repository and what is scratch.
fn outside(sandbox: &Sandbox) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let repo = sandbox.repo();
    walk(&sandbox.root(), &mut |path| {
        if !path.starts_with(&repo) {
            found.insert(path.to_owned(), path.symlink_metadata().unwrap().len());
        }
    });
    found
}

/// No panic, and one document on stdout.
#[track_caller]
fn calm(ran: &Ran, context: &str) -> Value {
    let said = format!("{context}: {}{}", ran.out(), ran.err());
    assert!(ran.code != 101 && ran.code < 128, "{said}");
    assert!(!ran.err().contains("panicked"), "{said}");
    let document = document(ran);
    assert_eq!(document["ok"] == true, ran.code == 0, "{said}");
    document
}

/// Travel, restore and show of the forged snapshot are refused, or do no harm; the rest goes on working.
fn assert_harmless(sandbox: &Sandbox, what: &str) {
    let before = sandbox.state();
    let around = outside(sandbox);
    for command in ["travel", "restore"] {
        let refused = calm(&sandbox.tw(["--json", command, FORGED]), what);
        assert_eq!(refused["ok"], false, "{what}: {command} took it");
        let code = refused["error"]["code"].as_str().unwrap();
        assert!(
            [
                "CORRUPT_RECORD",
                "NEWER_RECORD",
                "SNAPSHOT_NOT_FOUND",
                "WOULD_OVERWRITE"
            ]
            .contains(&code),
            "{what}: {refused}"
        );
        let far = before.differences(&sandbox.state());
        assert!(far.is_empty(), "{what}: {command}: {far:?}");
    }
    calm(&sandbox.tw(["--json", "show", FORGED]), what);
    let listed = calm(&sandbox.tw(["--json", "list"]), what);
    assert!(
        listed["snapshots"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["snapshot_id"] != FORGED),
        "{what}: {listed}"
    );
    assert_eq!(
        calm(&sandbox.tw(["--json", "snapshot"]), what)["ok"],
        true,
        "{what}"
    );
    assert_eq!(outside(sandbox), around, "{what}");
    before.assert_same(&sandbox.state());
}

/// Plants trees with names that git would not put in one, for an entry of this mode.
fn names_are_refused(mode: &str) {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"planted\n");
    let inner = tree(&sandbox, &[("100644", b"config", &blob)]);
    let names: [&[u8]; 16] = [
        b"..",
        b".",
        b".git",
        b".GIT",
        b".Git",
        b"git~1",
        b".git ",
        b".git.",
        b".git::$INDEX_ALLOCATION",
        b"a/b",
        b"/etc/planted",
        b"../planted",
        b"",
        b".g\xe2\x80\x8cit",
        b".git\\x",
        b"a/../../planted",
    ];
    let oid = if mode == "40000" { &inner } else { &blob };
    for name in names {
        let forged = tree(&sandbox, &[(mode, name, oid)]);
        model.plant(&sandbox, &forged, &model.document());
        assert_harmless(&sandbox, &format!("{} {mode}", name.escape_ascii()));
    }
}

#[test]
fn files_with_names_that_git_would_not_make_are_refused_whole() {
    names_are_refused("100644");
}

#[test]
fn directories_with_names_that_git_would_not_make_are_refused_whole() {
    names_are_refused("40000");
}

#[test]
fn symlinks_with_names_that_git_would_not_make_are_refused_whole() {
    names_are_refused("120000");
}

#[test]
fn trees_that_git_would_not_make_are_refused_whole() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"planted\n");
    let inner = tree(&sandbox, &[("100644", b"config", &blob)]);
    let below = tree(
        &sandbox,
        &[(
            "40000",
            b"dir",
            &tree(&sandbox, &[("40000", b".git", &inner)]),
        )],
    );
    model.plant(&sandbox, &below, &model.document());
    assert_harmless(&sandbox, "dir/.git");
    let pairs = [
        (
            "twice",
            tree(
                &sandbox,
                &[("100644", b"x", &blob), ("100644", b"x", &blob)],
            ),
        ),
        (
            "file and directory",
            tree(
                &sandbox,
                &[("100644", b"x", &blob), ("40000", b"x", &inner)],
            ),
        ),
        (
            "symlink and directory",
            tree(
                &sandbox,
                &[("120000", b"x", &blob), ("40000", b"x", &inner)],
            ),
        ),
        (
            "unsorted",
            tree(
                &sandbox,
                &[("100644", b"z", &blob), ("100644", b"b", &blob)],
            ),
        ),
        ("odd mode", tree(&sandbox, &[("100000", b"x", &blob)])),
        (
            "a blob as a tree",
            tree(&sandbox, &[("40000", b"x", &blob)]),
        ),
        (
            "a tree as a blob",
            tree(&sandbox, &[("100644", b"x", &inner)]),
        ),
        ("torn", put(&sandbox, ObjectKind::Tree, b"100644 x\0short")),
        (
            "missing blob",
            tree(&sandbox, &[("100644", b"x", &"1".repeat(40))]),
        ),
        (
            "missing tree",
            tree(&sandbox, &[("40000", b"x", &"1".repeat(40))]),
        ),
        ("no tree at all", "2".repeat(40)),
        ("blob for a tree", blob.clone()),
    ];
    for (what, forged) in pairs {
        model.plant(&sandbox, &forged, &model.document());
        assert_harmless(&sandbox, what);
    }
}

#[test]
fn a_very_deep_tree_is_no_panic() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"deep\n");
    let mut at = tree(&sandbox, &[("100644", b"f", &blob)]);
    for _ in 0..500 {
        at = tree(&sandbox, &[("40000", b"d", &at)]);
    }
    model.plant(&sandbox, &at, &model.document());
    let before = sandbox.state();
    let ran = sandbox.tw(["--json", "travel", FORGED]);
    if calm(&ran, "500 levels")["ok"] == true {
        assert_eq!(sandbox.json(["return"])["verified"], true);
    }
    before.assert_same(&sandbox.state());
}

#[test]
fn a_tree_of_ten_thousand_levels_is_refused_whole() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"deep\n");
    let mut at = tree(&sandbox, &[("100644", b"f", &blob)]);
    for _ in 0..10_000 {
        at = tree(&sandbox, &[("40000", b"d", &at)]);
    }
    model.plant(&sandbox, &at, &model.document());
    assert_harmless(&sandbox, "10,000 levels");
}

#[test]
fn documents_that_are_no_record_hide_no_other() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let with = |key: &str, value: Value| {
        let mut json = model.json.clone();
        json[key] = value;
        serde_json::to_vec(&json).unwrap()
    };
    let bomb = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    let mut broken = model.document();
    broken.insert(20, 0xff);
    let documents: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("no JSON", b"hello".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a bomb", bomb),
        ("a bomb inside", {
            let text = String::from_utf8(model.document()).unwrap();
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            text.replacen('{', &format!("{{\"x\":{deep},"), 1)
                .into_bytes()
        }),
        ("future", with("version", json!(99))),
        ("huge version", with("version", json!(u64::MAX))),
        ("negative version", with("version", json!(-1))),
        ("text version", with("version", json!("1"))),
        ("wrong type", with("stats", json!("many"))),
        ("wrong list", with("empty_dirs", json!({"a": 1}))),
        ("wrong mode", with("modes", json!({"a.txt": "rwx"}))),
        ("not UTF-8", broken),
        ("cut", model.document()[..60].to_vec()),
    ];
    for (what, document) in documents {
        model.plant(&sandbox, &model.tree, &document);
        assert_harmless(&sandbox, what);
    }
}

#[test]
fn refs_that_lead_to_no_snapshot_hide_no_other() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"no commit\n");
    let orphan = Model {
        parents: Vec::new(),
        tree: model.tree.clone(),
        json: model.json.clone(),
    };
    let cases = [
        ("a blob", blob),
        ("a tree", model.tree.clone()),
        ("nothing", "3".repeat(40)),
        (
            "a plain commit",
            sandbox.git(["rev-parse", "HEAD"]).trim().to_owned(),
        ),
        (
            "no index commit",
            orphan.commit(&sandbox, &model.tree, &orphan.document()),
        ),
        ("garbage", "zzz".to_owned()),
    ];
    for (what, oid) in cases {
        plant(&sandbox, &oid);
        assert_harmless(&sandbox, what);
    }
}

#[test]
fn lists_that_lead_out_of_the_tree_do_nothing_there() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    for path in [
        "../planted",
        "/tmp/tw-planted",
        ".git/planted",
        "dir/../../planted",
        ".git/hooks",
    ] {
        let mut json = model.json.clone();
        json["empty_dirs"] = json!([path]);
        json["modes"] = json!({path: "0777", "a.txt": "6777"});
        model.plant(&sandbox, &model.tree, &serde_json::to_vec(&json).unwrap());
        let before = sandbox.state();
        let around = outside(&sandbox);
        let ran = sandbox.tw(["--json", "travel", FORGED]);
        if calm(&ran, path)["ok"] == true {
            sandbox.json(["return"]);
        }
        before.assert_same(&sandbox.state());
        assert_eq!(outside(&sandbox), around, "{path}");
        assert!(!sandbox.exists(".git/planted"), "{path}");
    }
}

/// Replaces the operation files of a snapshot of a merge by others.
fn forge_operation(sandbox: &Sandbox, id: &str, name: &[u8], mode: &str) {
    let model = Model::new(sandbox, id);
    let blob = put(sandbox, ObjectKind::Blob, b"#!/bin/sh\ntouch planted\n");
    let files = tree(sandbox, &[(mode, name, &blob)]);
    let operation = tree(sandbox, &[("40000", b"files", &files)]);
    let state_tree = tree(sandbox, &[("40000", b"operation", &operation)]);
    let index_tree = sandbox.git(["rev-parse", &format!("{}^{{tree}}", model.parents[1])]);
    let who = "timewarp <timewarp@localhost> 1 +0000";
    let commit = |tree: &str, parents: &[&str]| {
        let parents: String = parents
            .iter()
            .map(|oid| format!("parent {oid}\n"))
            .collect();
        let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\nforged\n");
        put(sandbox, ObjectKind::Commit, text.as_bytes())
    };
    let state = commit(&state_tree, &[]);
    let index = commit(index_tree.trim(), &[&model.parents[0], &state]);
    let forged = Model {
        parents: vec![model.parents[0].clone(), index],
        ..model
    };
    forged.plant(sandbox, &forged.tree, &forged.document());
}

/// Travel, which would put operation files in place, is refused.
fn assert_not_entered(sandbox: &Sandbox, what: &str) {
    let before = sandbox.state();
    let refused = calm(&sandbox.tw(["--json", "travel", FORGED]), what);
    assert_eq!(
        refused["error"]["code"], "CORRUPT_RECORD",
        "{what}: {refused}"
    );
    before.assert_same(&sandbox.state());
    sandbox.json(["list"]);
}

#[test]
fn operation_files_of_unknown_names_are_never_put_in_place() {
    let (sandbox, _) = eventful();
    let id = taken(&sandbox);
    let names: [&[u8]; 8] = [
        b"hooks",
        b"config",
        b"..",
        b"index",
        b"HEAD",
        b"timewarp",
        b"MERGE_HEAD/../config",
        b"info",
    ];
    for name in names {
        for mode in ["100755", "120000"] {
            forge_operation(&sandbox, &id, name, mode);
            assert_not_entered(
                &sandbox,
                &format!("operation {} {mode}", name.escape_ascii()),
            );
        }
    }
    forge_operation(&sandbox, &id, b"MERGE_HEAD", "120000");
    assert_not_entered(&sandbox, "a symlink for MERGE_HEAD");
}

/// What becomes of a file of ours.
fn harms(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("empty", Vec::new()),
        ("cut", bytes[..bytes.len() / 2].to_vec()),
        ("zeros", vec![0; bytes.len()]),
        ("garbage", b"\xff\xfe garbage {[".to_vec()),
        ("deep", vec![b'['; 100_000]),
        ("future", br#"{"version": 99, "x": 1}"#.to_vec()),
        (
            "other types",
            br#"{"version": 1, "mode": 7, "entries": "x"}"#.to_vec(),
        ),
        ("longer", [bytes, &b"x"[..]].concat()),
    ]
}

#[test]
fn damaged_files_of_ours_are_errors_that_lose_nothing() {
    let (sandbox, _, _) = in_the_past();
    sandbox.json(["return"]);
    sandbox.json(["undo"]);
    let bytes = blobs(&sandbox);
    let before = sandbox.state();
    let files = [
        "state.json",
        "journal.json",
        "cache",
        "cache.patch",
        "seq",
        "repository-id",
        "undo",
        "fingerprint",
    ];
    let mut damaged = 0;
    let dir = sandbox.path(".git/timewarp");
    let mut targets: Vec<PathBuf> = files.iter().map(|name| dir.join(name)).collect();
    walk(&dir, &mut |path| targets.push(path.to_owned()));
    targets.retain(|path| path.is_file() || path.ends_with("journal.json"));
    targets.sort();
    targets.dedup();
    for target in targets {
        let good = std::fs::read(&target).unwrap_or_default();
        let main = ["state.json", "journal.json", "cache", "cache.patch"];
        let most = main.iter().any(|name| target.ends_with(name));
        let tried = harms(&good).into_iter().take(if most { 8 } else { 3 });
        for (what, bad) in tried {
            damaged += 1;
            std::fs::write(&target, bad).unwrap();
            let context = format!("{} {what}", target.display());
            for args in [&["list"][..], &["recover"]] {
                calm(&sandbox.tw([&["--json"], args].concat()), &context);
            }
            let taken = calm(&sandbox.tw(["--json", "snapshot"]), &context);
            let is_cache = ["cache", "cache.patch", "seq"]
                .iter()
                .any(|name| target.ends_with(name));
            assert!(taken["ok"] == true || !is_cache, "{context}: {taken}");
            let far = before.differences(&sandbox.state());
            assert!(far.is_empty(), "{context}: {far:?}");
            if target.ends_with("journal.json") {
                std::fs::remove_file(&target).unwrap();
            } else {
                std::fs::write(&target, &good).unwrap();
            }
        }
    }
    assert!(damaged > 40, "{damaged}");
    assert_nothing_lost(&sandbox, &bytes, "damaged files");
    assert_fsck_clean(&sandbox, "damaged files");
    // And the way home is still there.
    assert_eq!(sandbox.json(["return"])["verified"], true);
}

#[test]
fn a_cache_of_another_repository_is_no_cache() {
    let (sandbox, id) = eventful();
    let (other, _) = eventful();
    other.write("a.txt", "of the other one\n");
    taken(&other);
    // Its stamps may look alike; what it names as its anchor is not here.
    sandbox.write(".git/timewarp/cache", other.read(".git/timewarp/cache"));
    let again = sandbox.json(["snapshot"]);
    let commit = again["snapshot"]["commit"].as_str().unwrap();
    let text = sandbox.git(["cat-file", "blob", &format!("{commit}:a.txt")]);
    assert_eq!(text, sandbox.text("a.txt"));
    assert_fsck_clean(&sandbox, "a foreign cache");
    sandbox.assert_round_trip(&id, |_| ());
}

#[test]
fn a_damaged_undo_log_is_an_error_and_not_a_guess() {
    let (sandbox, id) = eventful();
    sandbox.json(["restore", &id]);
    let mut levels = Vec::new();
    walk(&sandbox.path(".git/timewarp/undo"), &mut |path| {
        levels.push(path.to_owned());
    });
    let [level] = &levels[..] else {
        panic!("{levels:?}")
    };
    let good = std::fs::read_to_string(level).unwrap();
    let before = sandbox.state();
    let around = outside(&sandbox);
    let mut cases = harms(good.as_bytes());
    for path in ["../planted", "/etc/planted", ".git/config", "a/../../x", ""] {
        cases.push((
            "path",
            good.replace("\"a.txt\"", &format!("{path:?}")).into_bytes(),
        ));
    }
    for (what, bad) in cases {
        std::fs::write(level, &bad).unwrap();
        let refused = calm(&sandbox.tw(["--json", "undo"]), what);
        assert_eq!(refused["ok"], false, "{what}");
        before.assert_same(&sandbox.state());
        assert_eq!(outside(&sandbox), around, "{what}");
    }
    std::fs::write(level, good).unwrap();
    sandbox.json(["undo"]);
}

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
    std::fs::write(
        &evil,
        format!(
            "#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n",
            marker.display()
        ),
    )
    .unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = sandbox.root().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "pre-commit",
        "post-commit",
        "post-rewrite",
    ] {
        std::fs::copy(&evil, hooks.join(hook)).unwrap();
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
        "ulimit -n 24; ".to_owned(),
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
        serde_json::from_slice::<Value>(&output.stdout).expect(&said);
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
