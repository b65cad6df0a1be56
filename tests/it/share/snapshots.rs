//! `tw push --snapshots`: files go along only when they were named.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::{Value, json};

use super::hub::{Clone_, Hub, REF};
use crate::access::{USER, acl_of, all_below, give_all, may_act_for_others, set_attribute};
use crate::sandbox::skipped;

pub const CHAIN: &str = "refs/timewarp-shared/snapshots-v1";

pub fn snapshot(clone: &Clone_<'_>, title: &str) -> String {
    let taken = clone.json(["snapshot", "-m", title]);
    taken["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

pub fn ids(document: &Value, list: &str) -> Vec<String> {
    let list = document[list].as_array().unwrap();
    list.iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn named_snapshots_go_along_and_can_be_travelled_to() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.write("b.txt", "new here\n");
    a.write("a.txt", "changed\n");
    let id = snapshot(&a, "before the refactor");
    let issue = a.report("s");
    let tied = a.json(["issue", "get", &issue])["issue"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(tied, id);
    let other = {
        a.write("c.txt", "not named\n");
        snapshot(&a, "private")
    };
    let dry = a.json(["push", "--dry-run", "--snapshots", &id]);
    assert_eq!(ids(&dry, "sent"), [issue.clone(), id.clone()]);
    assert_eq!(hub.refs(), "");
    let pushed = a.json(["push", "--snapshots", &id, "latest~1"]);
    assert_eq!(ids(&pushed, "sent"), [issue.clone(), id.clone()]);
    let again = a.json(["push", "--snapshots", "latest~1", "--all-worktrees"]);
    assert_eq!(again["sent"], json!([]));
    assert_eq!(hub.refs(), format!("{CHAIN}\n{REF}\n"));
    assert_eq!(
        hub.git(["rev-list", "--count", CHAIN]).trim(),
        "1",
        "no commit of the user's went along"
    );
    let message = hub.git(["cat-file", "commit", CHAIN]);
    let repository = std::fs::read_to_string(a.dir.join(".git/timewarp/id")).unwrap();
    for private in [a.dir.to_str().unwrap(), repository.trim(), &other, "c.txt"] {
        assert!(!message.contains(private), "{private}: {message}");
    }

    let pulled = b.json(["pull"]);
    assert_eq!(ids(&pulled, "received"), [issue.clone(), id.clone()]);
    assert_eq!(pulled["received"][1]["claimed_by"], "a's");
    assert_eq!(b.json(["pull"])["received"], json!([]));
    let shown = b.json(["show", &id])["snapshot"].clone();
    assert_eq!(
        (&shown["claimed_by"], &shown["worktree"]),
        (&json!("a's"), &json!("(shared)"))
    );
    assert!(
        b.tw(["list", "--all"])
            .out()
            .contains("before the refactor (claimed by a's)")
    );
    // It is no snapshot of this working tree.
    assert_ne!(b.json(["snapshot"])["snapshot"]["snapshot_id"], *id);
    assert_ne!(b.json(["show", "latest"])["snapshot"]["snapshot_id"], *id);
    let before = b.git(["status", "--porcelain"]);
    b.json(["issue", "start", &issue]);
    assert_eq!(
        std::fs::read_to_string(b.dir.join("b.txt")).unwrap(),
        "new here\n"
    );
    assert_eq!(
        std::fs::read_to_string(b.dir.join("a.txt")).unwrap(),
        "changed\n"
    );
    assert_eq!(b.json(["return"])["verified"], true);
    assert_eq!(b.git(["status", "--porcelain"]), before);
    assert!(!b.dir.join("b.txt").exists());
    b.git(["fsck", "--strict"]);
}

/// Its bits are narrowed where it is laid out: nobody changed anything there.
#[test]
fn a_trip_to_what_somebody_of_another_umask_sent_makes_no_experiment() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let chmod = |path: &std::path::Path, bits: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
    };
    std::fs::create_dir_all(a.dir.join("d/hollow")).unwrap();
    std::fs::create_dir_all(a.dir.join("open")).unwrap();
    a.write("d/e", "new here\n");
    a.write("a.txt", "changed\n");
    for path in ["d/e", "a.txt"] {
        chmod(&a.dir.join(path), 0o664);
    }
    for path in ["d", "d/hollow", "open"] {
        chmod(&a.dir.join(path), 0o775);
    }
    let id = snapshot(&a, "of a group");
    a.json(["push", "--snapshots", &id]);
    b.json(["pull"]);
    b.json(["travel", &id]);
    assert_eq!(b.json(["return"])["experiment_id"], Value::Null);
    let hollow = [("d/hollow", 0o700), ("open", 0o750)];
    for (path, bits) in [("d", 0o700), ("d/e", 0o664)].into_iter().chain(hollow) {
        b.json(["travel", &id]);
        chmod(&b.dir.join(path), bits);
        assert_ne!(b.json(["return"])["experiment_id"], Value::Null, "{path}");
    }
}

/// git makes what comes and goes as whoever runs it.
#[test]
fn who_shares_as_root_locks_nobody_out() {
    if !may_act_for_others() {
        return;
    }
    let hub = Hub::new();
    let (a, b) = hub.two();
    for clone in [&a, &b] {
        clone.git(["config", "--global", "safe.directory", "*"]);
        give_all(&clone.dir, USER, USER);
    }
    std::fs::write(a.dir.join("a.txt"), "changed\n").unwrap();
    let id = snapshot(&a, "of root");
    a.json(["push", "--snapshots", &id]);
    b.json(["pull"]);
    for path in [&a, &b].map(|clone| clone.dir.join(".git")) {
        for path in all_below(&path) {
            let meta = path.symlink_metadata().unwrap();
            let owner = (meta.uid(), meta.gid());
            assert_eq!(owner, (USER, USER), "{}", path.display());
        }
    }
}

/// An issue came before its snapshot, and so its note annotates nothing that is here.
#[test]
fn what_an_issue_needs_stays_and_comes_again_and_nothing_else_does() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.write("a.txt", "changed\n");
    let issue = a.report("s");
    let tied = a.json(["issue", "get", &issue])["issue"]["snapshot_id"].clone();
    let tied = tied.as_str().unwrap();
    a.write("a.txt", "changed again\n");
    let free = snapshot(&a, "of no issue");
    a.json(["push", "--snapshots", tied, &free]);
    b.json(["pull"]);
    let forgotten = b.json(["prune", "--keep-days", "0", "--keep-last", "0"]);
    assert_eq!(b.tw(["show", &free]).code, 3, "{forgotten}");
    assert_eq!(b.tw(["show", tied]).code, 0, "{forgotten}");
    assert_eq!(b.json(["pull"])["received"], json!([]));
    assert_eq!(b.json_error(["drop", "-y", tied]).0["code"], "HELD");
    b.json(["drop", "--force", "-y", tied]);
    assert_eq!(ids(&b.json(["pull", "--dry-run"]), "received"), [tied]);
    assert_eq!(ids(&b.json(["pull"]), "received"), [tied]);
    assert_eq!(b.json(["pull"])["received"], json!([]));
    assert_eq!(b.json(["issue", "start", &issue])["run"], 1);
}

#[test]
fn several_send_snapshots_to_one_chain() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let mut all = Vec::new();
    for number in 0..3 {
        for clone in [&a, &b] {
            clone.write("a.txt", &format!("{number}\n"));
            let id = snapshot(clone, "x");
            let sent = ids(&clone.json(["push", "--snapshots", &id]), "sent");
            assert_eq!(sent, [id.as_str()]);
            all.push(id);
        }
    }
    assert_eq!(hub.git(["rev-list", "--count", CHAIN]).trim(), "6");
    let c = hub.sharing("c");
    assert_eq!(ids(&c.json(["pull", "--dry-run"]), "received"), all);
    assert_eq!(ids(&c.json(["pull"]), "received"), all);
    let (error, code) = c.json_error(["push", "--snapshots", "s_20200101_000000_aaaaaa"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SNAPSHOT_NOT_FOUND"), 3)
    );
}

#[test]
fn a_secret_in_a_file_stops_records_and_snapshots() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.report("s");
    a.write(
        "settings.py",
        "KEY = 'ghp_R4nd0mT0kenValue0123456789abcdefABCD'\n",
    );
    let id = snapshot(&a, "x");
    let (error, code) = a.json_error(["push", "--snapshots", &id]);
    assert_eq!((error["code"].as_str(), code), (Some("SECRET_FOUND"), 5));
    let finding = &error["findings"][0];
    assert_eq!(
        (&finding["kind"], &finding["field"]),
        (&json!("snapshot"), &json!("settings.py"))
    );
    assert!(!error.to_string().contains("R4nd0m"));
    assert_eq!((hub.refs().as_str(), hub.objects()), ("", 0));
    let print = finding["fingerprint"].as_str().unwrap();
    a.json(["push", "--snapshots", &id, "--allow-finding", print]);
    assert_eq!(hub.refs(), format!("{CHAIN}\n{REF}\n"));
    // A backup is the present of this working tree, which is nobody else's.
    a.write("a.txt", "two\n");
    a.json(["restore", &id, "a.txt"]);
    let backup = a.json(["list", "--kind", "backup"])["snapshots"][0]["snapshot_id"].clone();
    let (error, _) = a.json_error(["push", "--snapshots", backup.as_str().unwrap()]);
    assert_eq!(error["code"], "USAGE");
}

#[test]
fn what_a_filter_encrypts_for_git_goes_in_plain_only_when_that_was_said() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.write(".gitattributes", "*.bin filter=lfs\nsecret* filter=crypt\n");
    for (filter, command) in [("crypt", "tr a-z n-za-m"), ("lfs", "cat"), ("idle", "")] {
        a.git(["config", &format!("filter.{filter}.clean"), command]);
        a.git(["config", &format!("filter.{filter}.smudge"), command]);
    }
    a.write("large.bin", "lfs has it as it is\n");
    std::fs::create_dir(a.dir.join("deep")).unwrap();
    a.write(
        "deep/.gitattributes",
        "idle* filter=idle\nother* filter=nobody\n",
    );
    a.write("deep/idle", "no program\n");
    a.write("deep/other", "no program either\n");
    a.git(["add", "deep"]);
    a.git(["commit", "-qm", "as it is"]);
    let harmless = snapshot(&a, "nothing encrypted");
    a.json(["push", "--snapshots", &harmless]);
    a.write("deep/secret.txt", "the plain words\n");
    a.write("secret", "more plain words\n");
    a.git(["add", "."]);
    assert_eq!(a.git(["cat-file", "blob", ":secret"]), "zber cynva jbeqf\n");
    let id = snapshot(&a, "x");
    // By the attributes that the snapshot has, too.
    a.write(".gitattributes", "");
    let sent = hub.objects();
    for dry in [&["--dry-run"][..], &[]] {
        let (error, code) = a.json_error([&["push", "--snapshots", &id][..], dry].concat());
        assert_eq!((error["code"].as_str(), code), (Some("SECRET_FOUND"), 5));
        let said: Vec<_> = error["findings"].as_array().unwrap().iter().collect();
        let fields: Vec<_> = said.iter().map(|one| one["field"].clone()).collect();
        assert_eq!(fields, ["deep/secret.txt", "secret"]);
        assert_eq!(said[0]["rule"], "filter-crypt");
        assert_eq!(said[0]["fingerprint"], said[1]["fingerprint"]);
        assert!(
            error["message"]
                .to_string()
                .contains("2 files that git stores through a filter"),
            "{error}"
        );
    }
    assert_eq!(hub.objects(), sent);
    let (error, _) = a.json_error(["push", "--snapshots", &id]);
    let print = error["findings"][0]["fingerprint"].as_str().unwrap();
    a.json(["push", "--snapshots", &id, "--allow-finding", print]);
    let plain = hub.git(["cat-file", "blob", &format!("{CHAIN}:secret")]);
    assert_eq!(plain, "more plain words\n");
}

#[test]
fn a_filter_counts_where_it_is_not_set_up() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    let set_up = |git: &dyn Fn([&str; 3])| {
        for command in ["clean", "smudge"] {
            let key = format!("filter.crypt.{command}");
            git(["config", &key, "tr a-z n-za-m"]);
        }
    };
    set_up(&|args| drop(a.git(args)));
    a.write(".gitattributes", "key filter=crypt\n");
    a.write("key", "the plain words\n");
    a.git(["add", "."]);
    a.git(["commit", "-qm", "a key"]);
    let id = snapshot(&a, "unlocked");
    let is_refused = |why: &str| {
        let (error, code) = a.json_error(["push", "--snapshots", &id]);
        let found = &error["findings"][0];
        let expected = (&json!("key"), &json!("filter-crypt"), 5);
        assert_eq!((&found["field"], &found["rule"], code), expected, "{why}");
    };
    is_refused("set up");
    // As 'git-crypt lock' leaves it.
    a.git(["config", "--remove-section", "filter.crypt"]);
    std::fs::remove_file(a.dir.join("key")).unwrap();
    a.git(["checkout", "-q", "--", "key"]);
    is_refused("locked");
    let locked = snapshot(&a, "locked");
    a.json(["push", "--snapshots", &locked]);
    assert_eq!(
        hub.git(["cat-file", "blob", &format!("{CHAIN}:key")]),
        "gur cynva jbeqf\n"
    );
    // In the configuration of another worktree alone.
    a.git(["config", "extensions.worktreeConfig", "true"]);
    let other = hub.sandbox.root().join("other");
    a.git(["worktree", "add", "-q", other.to_str().unwrap()]);
    set_up(&|[_, key, value]| {
        let at = other.to_str().unwrap();
        a.git(["-C", at, "config", "--worktree", key, value]);
    });
    is_refused("of another worktree");
}

#[test]
fn a_filter_counts_wherever_git_reads_its_attributes() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    for command in ["clean", "smudge"] {
        a.git([
            "config",
            &format!("filter.crypt.{command}"),
            "tr a-z n-za-m",
        ]);
    }
    let at = |path: &str| a.dir.join(path);
    std::fs::create_dir(at("deep")).unwrap();
    a.write("deep/key.txt", "the plain words\n");
    let refuses = |why: &str| {
        let id = snapshot(&a, why);
        let (error, code) = a.json_error(["push", "--snapshots", &id]);
        let found = error["findings"].as_array().unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|one| (&one["field"], &one["rule"]))
            .collect();
        let expected = (&json!("deep/key.txt"), &json!("filter-crypt"));
        assert_eq!((found, code), (vec![expected], 5), "{why}");
    };
    let encrypts = |why: &str| {
        a.write("deep/key.txt", &format!("the plain words: {why}\n"));
        a.git(["add", "deep/key.txt"]);
        let stored = a.git(["cat-file", "blob", ":deep/key.txt"]);
        assert!(stored.starts_with("gur cynva"), "{why}: {stored}");
    };
    // Missing on disk, and in the index: git takes those.
    a.write(".gitattributes", "key.txt filter=crypt\n");
    a.git(["add", ".gitattributes"]);
    std::fs::remove_file(at(".gitattributes")).unwrap();
    let tree = a.git(["write-tree"]);
    encrypts("in the index");
    refuses("in the index");
    // A macro on disk that the index's own file in a directory uses.
    a.git(["rm", "-q", "--cached", ".gitattributes"]);
    a.write(".gitattributes", "[attr]hidden filter=crypt\n");
    a.write("deep/.gitattributes", "key.txt hidden\n");
    a.git(["add", "deep/.gitattributes"]);
    std::fs::remove_file(at("deep/.gitattributes")).unwrap();
    encrypts("of both");
    refuses("of both");
    // In a merge with conflicts it is our side's.
    a.git(["rm", "-q", "--cached", "deep/.gitattributes"]);
    std::fs::remove_file(at(".gitattributes")).unwrap();
    a.write("lines", "key.txt filter=crypt\n");
    let blob = a.git(["hash-object", "-w", "lines"]);
    std::fs::remove_file(at("lines")).unwrap();
    let entry = format!("100644 {} 2\t.gitattributes", blob.trim());
    let script = format!("echo '{entry}' | git update-index --index-info");
    let mut shell = hub.sandbox.command("sh");
    shell.current_dir(&a.dir).args(["-c", &script]);
    assert!(shell.output().unwrap().status.success());
    encrypts("in a conflict");
    refuses("in a conflict");
    a.git(["rm", "-q", "--cached", ".gitattributes"]);
    // In a tree that is read instead of the working tree.
    a.git(["config", "attr.tree", tree.trim()]);
    refuses("in a tree that is named");
    a.git(["config", "--unset", "attr.tree"]);
    // Beside all trees.
    a.write(".git/info/attributes", "key.txt filter=crypt\n");
    encrypts("in info");
    refuses("in info");
    std::fs::remove_file(at(".git/info/attributes")).unwrap();
    a.write("../attributes", "key.txt filter=crypt\n");
    let file = hub.sandbox.root().join("attributes");
    a.git(["config", "core.attributesFile", file.to_str().unwrap()]);
    encrypts("in the user's file");
    refuses("in the user's file");
    a.git(["config", "--unset", "core.attributesFile"]);
    assert!(hub.refs().is_empty());
}

#[test]
fn a_hostile_chain_touches_no_snapshot_that_is_here() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let own = snapshot(&b, "mine");
    let name = format!("refs/timewarp/snapshots/{own}");
    let before = b.git(["rev-parse", &name]);
    let good = snapshot(&a, "good");
    a.json(["push", "--snapshots", &good]);
    let text = hub.git(["log", "-1", "--format=%B", CHAIN]);
    let message = |id: &str| text.replace(&good, id);
    let tree = hub
        .git(["rev-parse", &format!("{CHAIN}^{{tree}}")])
        .trim()
        .to_owned();
    // A few objects that unfold into more paths than anybody has.
    let blob = hub
        .git(["rev-parse", &format!("{CHAIN}:a.txt")])
        .trim()
        .to_owned();
    let mut bomb = hub.tree_of(
        &(0..10)
            .map(|at| format!("100644 {blob}\tf{at}"))
            .collect::<Vec<_>>(),
    );
    for _ in 0..8 {
        bomb = hub.tree_of(
            &(0..10)
                .map(|at| format!("40000 {bomb}\td{at}"))
                .collect::<Vec<_>>(),
        );
    }
    let add = |tree: &str, message: &str| {
        let made = hub.git(["commit-tree", "-m", message, "-p", CHAIN, tree]);
        hub.git(["update-ref", CHAIN, made.trim()]);
    };
    add(&tree, &message(&own));
    add(&bomb, &message("s_20260101_000000_bomb00"));
    add(&tree, "no record at all");
    add(&tree, &message("../../../heads/main"));
    add(&tree, &message("b_20260101_000000_aaaaaa"));
    add(&tree, &message("s_20260101_000000_last00"));
    let heads = b.git(["for-each-ref", "refs/heads"]);
    let pulled = b.json(["pull"]);
    assert_eq!(
        ids(&pulled, "received"),
        [good.as_str(), "s_20260101_000000_last00"]
    );
    assert_eq!(pulled["refused"].as_array().unwrap().len(), 4, "{pulled}");
    assert_eq!(b.git(["rev-parse", &name]), before);
    assert_eq!(b.git(["for-each-ref", "refs/heads"]), heads);
    assert_eq!(b.json(["pull"])["refused"], json!([]), "once is enough");
    // A chain that is none is refused, and records came all the same.
    a.report("s");
    a.json(["push"]);
    hub.git(["update-ref", CHAIN, &blob]);
    let (error, _) = b.json_error(["pull"]);
    assert_eq!(error["code"], "CORRUPT_RECORD");
    assert_eq!(b.json(["issue", "list"])["count"], 1);
}

/// The snapshot of an issue goes only when it is named: until then nobody can go there, and each command says how it comes.
#[test]
fn the_snapshot_of_an_issue_that_was_not_named_is_asked_for() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let issue = a.report("s");
    let tied = a.json(["issue", "get", &issue])["issue"]["snapshot_id"].clone();
    let tied = tied.as_str().unwrap();
    a.json(["push"]);
    b.json(["pull"]);
    let message = format!("snapshot '{tied}' of issue {issue} is not in this repository");
    let way = json!([
        format!(
            "whoever shared the issue has it: 'tw push --snapshots issue:{issue}' sends it from there"
        ),
        "then 'tw pull' brings it here",
    ]);
    let address = format!("issue:{issue}");
    for words in [
        vec!["issue", "start", &issue],
        vec!["try", &issue, "--", "true"],
        vec!["try", &address, "--", "true"],
        vec!["travel", &address],
    ] {
        let (error, code) = b.json_error(&words);
        assert_eq!(code, 3, "{error}");
        assert_eq!(error["code"], "SNAPSHOT_NOT_FOUND");
        assert_eq!(error["message"], message.as_str(), "{words:?}");
        assert_eq!(error["hints"], way, "{words:?}");
    }
    let next = b.tw(["issue", "next"]);
    assert!(
        next.out()
            .contains("its snapshot is not in this repository"),
        "{}",
        next.out()
    );
    let hints: Vec<String> = next.err().lines().map(str::to_owned).collect();
    let told: Vec<String> = way
        .as_array()
        .unwrap()
        .iter()
        .map(|hint| format!("hint: {}", hint.as_str().unwrap()))
        .collect();
    assert_eq!(hints, told);
    // What can be gone to comes first.
    let own = b.report("of b");
    let next = b.json(["issue", "next"]);
    assert_eq!(next["issue_id"], own.as_str());
    assert_eq!(next["issues"][1]["issue_id"], issue.as_str());

    a.json(["push", "--snapshots", &address]);
    b.json(["pull"]);
    assert_eq!(b.json(["issue", "start", &issue])["run"], 1);
}

#[test]
fn the_snapshot_of_an_issue_that_was_dropped_can_be_taken_back() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    let issue = a.report("s");
    let tied = a.json(["issue", "get", &issue])["issue"]["snapshot_id"].clone();
    let tied = tied.as_str().unwrap();
    a.json(["drop", "--force", "-y", tied]);
    let (error, _) = a.json_error(["issue", "start", &issue]);
    let way = json!([
        "when it was dropped, 'tw recover --dropped' lists what git still has",
        format!("'tw recover --dropped {tied}' takes it back"),
    ]);
    assert_eq!(
        (&error["code"], &error["hints"]),
        (&json!("SNAPSHOT_NOT_FOUND"), &way)
    );
    assert!(
        a.tw(["issue", "next"])
            .err()
            .contains(way[1].as_str().unwrap())
    );
    assert_eq!(a.tw(["recover", "--dropped", tied]).code, 0);
    assert_eq!(a.json(["issue", "start", &issue])["run"], 1);
}

#[test]
fn what_is_pulled_does_not_hang_on_what_another_repository_lends() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.write("b.txt", "new here\n");
    let id = snapshot(&a, "lent");
    a.json(["push", "--snapshots", &id]);
    let alternates = b.dir.join(".git/objects/info/alternates");
    let lent = format!("{}\n", a.dir.join(".git/objects").display());
    std::fs::write(&alternates, lent).unwrap();
    b.json(["pull"]);
    std::fs::remove_file(&alternates).unwrap();
    b.git(["fsck", "--strict", "--full"]);
    let blob = format!("refs/timewarp/snapshots/{id}:b.txt");
    assert_eq!(b.git(["cat-file", "blob", &blob]), "new here\n");
}

/// The ACL is not given where its names may be others', and its mask, which the mode shows, is not what the group may.
#[test]
fn an_acl_that_is_not_pulled_lets_nobody_in_whom_it_kept_out() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.write("private", "for one\n");
    std::fs::create_dir(a.dir.join("dir")).unwrap();
    a.write("dir/x", "for one\n");
    for (path, owner, bits) in [("private", 6, 0o640), ("dir", 7, 0o750)] {
        let path = a.dir.join(path);
        if !set_attribute(&path, "system.posix_acl_access", &acl_of(3000, owner)) {
            skipped("access lists", "no ACLs here");
            return;
        }
        std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
    }
    let id = snapshot(&a, "private");
    a.json(["push", "--snapshots", &id]);
    b.json(["pull"]);
    b.json(["travel", &id]);
    for (path, bits) in [("private", 0o600), ("dir", 0o700)] {
        let mode = b.dir.join(path).metadata().unwrap().mode();
        assert_eq!(mode & 0o7777, bits, "{path}");
    }
}

#[test]
fn all_files_are_pulled_as_closed_as_they_were_however_many() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    // More of either kind than a record lists in itself.
    for nth in 0..250 {
        let name = format!("f{nth:03}");
        a.write(&name, "x\n");
        let bits = if nth < 130 { 0o644 } else { 0o600 };
        std::fs::set_permissions(a.dir.join(&name), PermissionsExt::from_mode(bits)).unwrap();
    }
    let id = snapshot(&a, "many");
    a.json(["push", "--snapshots", &id]);
    b.json(["pull"]);
    b.json(["travel", &id]);
    for nth in 0..250 {
        let name = format!("f{nth:03}");
        let mode = |clone: &Clone_<'_>| clone.dir.join(&name).metadata().unwrap().mode() & 0o7777;
        assert_eq!(mode(&b), mode(&a), "{name}");
    }
}

#[test]
fn what_most_files_have_without_their_acls_stands_once() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    std::fs::create_dir(a.dir.join("d")).unwrap();
    for nth in 0..60 {
        let name = format!("d/f{nth:03}");
        a.write(&name, "x\n");
        let path = a.dir.join(&name);
        if nth < 50 && !set_attribute(&path, "system.posix_acl_access", &acl_of(3000, 6)) {
            skipped("access lists", "no ACLs here");
            return;
        }
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o640)).unwrap();
    }
    let id = snapshot(&a, "many");
    let work = a.dir.with_file_name("counts");
    let mut push = a.command();
    push.env("TW_TEST_WORK", &work)
        .args(["push", "--snapshots", &id]);
    assert!(push.output().unwrap().status.success());
    let message = hub.git(["log", "-1", "--format=%B", CHAIN]);
    assert!(message.contains("\"file\": \"0600\""), "{message}");
    assert!(!message.contains("d/f000"), "{message}");
    assert!(message.contains("\"d/f059\": \"0640\""), "{message}");
    b.json(["pull"]);
    b.json(["travel", &id]);
    for nth in 0..60 {
        let mode = b
            .dir
            .join(format!("d/f{nth:03}"))
            .metadata()
            .unwrap()
            .mode();
        assert_eq!(mode & 0o7777, if nth < 50 { 0o600 } else { 0o640 }, "{nth}");
    }
    // Their directory is not read for each of them.
    let counts = std::fs::read_to_string(work).unwrap();
    let reads = counts
        .lines()
        .find_map(|line| line.strip_prefix("tree_reads "));
    let reads: u64 = reads.unwrap().parse().unwrap();
    assert!(reads < 80, "{counts}");
}

#[test]
fn a_list_of_bits_that_no_pull_takes_is_refused_with_the_reason() {
    let hub = Hub::new();
    let (a, _) = hub.two();
    let deep = vec!["d".repeat(250); 12].join("/");
    std::fs::create_dir_all(a.dir.join(&deep)).unwrap();
    for nth in 0..1440 {
        a.write(&format!("usual{nth}"), "x\n");
        let other = format!("{deep}/{nth}");
        a.write(&other, "x\n");
        std::fs::set_permissions(a.dir.join(other), PermissionsExt::from_mode(0o600)).unwrap();
    }
    let id = snapshot(&a, "deep");
    let (error, code) = a.json_error(["push", "--snapshots", &id]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("USAGE"), 2),
        "{error}"
    );
    let said = error["message"].as_str().unwrap();
    assert!(
        said.contains("1440 paths that have other permission bits"),
        "{error}"
    );
    assert!(error["hint"].to_string().contains("chmod"), "{error}");
}
