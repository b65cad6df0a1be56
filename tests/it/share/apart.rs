//! What a remote gets, and what it does not get, whatever it says, whoever wrote to it and whatever was shared with another one.

use serde_json::{Value, json};

use super::hub::{Clone_, Hub, REF};

const CHAIN: &str = "refs/timewarp-shared/snapshots-v1";

fn has(hub: &Hub, object: &str) -> bool {
    let ran = hub
        .sandbox
        .try_git_in(hub.dir(), ["cat-file", "-e", object]);
    ran.code == 0
}

/// A commit of the private branch, by its id.
fn private(clone: &Clone_<'_>) -> String {
    clone.write("private.c", "PRIVATE\n");
    clone.git(["add", "private.c"]);
    clone.git(["commit", "-q", "-m", "private"]);
    clone.git(["rev-parse", "HEAD"]).trim().to_owned()
}

#[test]
fn a_commit_that_a_remote_names_and_does_not_have_never_goes_there() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    let secret = private(&a);
    let id = a.report("s");
    let snapshot = a.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
    a.json(["push", "--snapshots", snapshot.as_str().unwrap()]);
    for name in [REF, CHAIN] {
        let known = hub.git(["rev-parse", name]).trim().to_owned();
        let tree = hub.git(["rev-parse", &format!("{name}^{{tree}}")]);
        let who = "e <e> 1700000000 +0000";
        let text = format!(
            "tree {}\nparent {known}\nparent {secret}\nauthor {who}\ncommitter {who}\n\nx\n",
            tree.trim()
        );
        let made = hub.feed(
            &["hash-object", "-t", "commit", "-w", "--stdin"],
            text.as_bytes(),
        );
        hub.git(["update-ref", name, &made]);
        let grafts = hub.dir().join("info/grafts");
        std::fs::create_dir_all(grafts.parent().unwrap()).unwrap();
        std::fs::write(&grafts, format!("{made} {known}\n")).unwrap();
        let (error, _) = a.json_error(["pull"]);
        assert_eq!(error["code"], "IO", "{error}");
        let (error, _) = a.json_error(["push", "--snapshots", "latest"]);
        assert_eq!(error["code"], "IO", "{error}");
        // Once it does not say any more that it has it.
        hub.git(["update-ref", "-d", name]);
        std::fs::remove_file(&grafts).unwrap();
        a.json(["issue", "comment", &id, "-m", name]);
        a.json(["push", "--snapshots", "latest"]);
        assert!(!has(&hub, &secret), "{name}");
    }
    assert!(
        !hub.everything()
            .iter()
            .any(|object| object.contains("parent ") && object.contains("private"))
    );
}

#[test]
fn a_conversation_that_did_not_go_yet_stays_once_it_is_to_stay() {
    for waits_by in ["push", "pull"] {
        let hub = Hub::new();
        let (a, b) = hub.two();
        b.report("there before");
        b.json(["push"]);
        a.json(["share", "init", "origin", "--prompts", "redacted"]);
        a.report_with_chat("s", "MY PRIVATE PROMPT");
        match waits_by {
            "push" => {
                hub.hook("pre-receive", "#!/bin/sh\nexit 1\n");
                a.json_error(["push"]);
                std::fs::remove_file(hub.dir().join("hooks/pre-receive")).unwrap();
            }
            _ => drop(a.json(["pull"])),
        }
        a.json(["share", "init", "origin", "--prompts", "none"]);
        a.json(["push"]);
        for object in hub.everything() {
            assert!(!object.contains("MY PRIVATE"), "{waits_by}: {object}");
        }
        a.json(["pull"]);
        assert_eq!(a.json(["issue", "list"])["count"], 2);
    }
}

#[test]
fn what_came_from_one_remote_goes_to_no_other() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.json(["share", "init", "origin", "--prompts", "redacted"]);
    let id = a.report_with_chat("CONFIDENTIAL", "ANNS PROMPT");
    a.json(["push"]);
    a.json(["issue", "edit", &id, "--symptom", "neutral"]);
    a.json(["push"]);
    b.json(["share", "init", "origin", "--prompts", "redacted"]);
    b.json(["pull"]);
    let own = b.report("b's own");
    hub.sandbox
        .git_in(hub.sandbox.root(), ["init", "-q", "--bare", "public.git"]);
    let public = hub.sandbox.root().join("public.git");
    b.git(["remote", "add", "public", public.to_str().unwrap()]);
    b.json(["share", "init", "public", "--prompts", "redacted"]);
    b.json(["issue", "comment", &id, "-m", "mine on theirs"]);
    let pushed = b.json(["push"]);
    assert_eq!(pushed["sent"].as_array().unwrap().len(), 1, "{pushed}");
    assert_eq!(pushed["sent"][0]["id"], *own);
    assert!(
        pushed["notices"]
            .to_string()
            .contains("stays here: it came from another remote")
    );
    let reached = hub.sandbox.git_in(
        &public,
        ["rev-list", "--objects", "--all", "--no-object-names"],
    );
    for object in reached.lines() {
        let text = hub.sandbox.git_in(&public, ["cat-file", "-p", object]);
        for theirs in ["CONFIDENTIAL", "ANNS PROMPT", "neutral", "mine on theirs"] {
            assert!(!text.contains(theirs), "{text}");
        }
    }
    // Back where it came from, what was said meanwhile goes there.
    b.json(["share", "init", "origin", "--prompts", "redacted"]);
    b.json(["push"]);
    a.json(["pull"]);
    let comments = a.json(["issue", "get", &id])["issue"]["comments"].clone();
    assert_eq!(comments[0]["text"], "mine on theirs", "{comments}");
}

#[test]
fn a_history_that_was_written_anew_is_not_brought_back() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("WITHDRAWN");
    a.json(["push"]);
    b.json(["pull"]);
    a.json(["issue", "edit", &id, "--symptom", "neutral"]);
    a.json(["push"]);
    let tree = hub.git(["rev-parse", &format!("{REF}^{{tree}}")]);
    let fresh = hub.git(["commit-tree", "-m", "scrubbed", tree.trim()]);
    hub.git(["update-ref", REF, fresh.trim()]);
    b.json(["pull"]);
    b.json(["issue", "comment", &id, "-m", "b"]);
    b.json(["push"]);
    a.json(["issue", "comment", &id, "-m", "a"]);
    a.json(["push"]);
    for object in hub.reachable() {
        assert!(!object.contains("WITHDRAWN"), "{object}");
    }
}

#[test]
fn a_purge_reaches_what_was_exchanged_and_says_where_it_is_still() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.write("notes", "my private notes\n");
    a.json(["snapshot"]);
    a.json(["push", "--snapshots", "latest"]);
    b.json(["pull"]);
    for clone in [&a, &b] {
        let _ = std::fs::remove_file(clone.dir.join("notes"));
        let purged = clone.json(["purge", "notes", "--yes-purge"]);
        assert!(
            purged.to_string().contains("exchanged with 'origin'"),
            "{purged}"
        );
        assert!(!clone.depot().exists());
    }
    let id = a.report("goes on");
    a.json(["push"]);
    b.json(["pull"]);
    assert_eq!(b.json(["issue", "list"])["issues"][0]["issue_id"], *id);
}

#[test]
fn a_run_keeps_its_number_and_proofs_name_the_run_that_they_mean() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report_by(&["--symptom", "s", "--verify", "grep -q fixed a.txt"]);
    a.json(["push"]);
    a.json(["push", "--snapshots", &format!("issue:{id}")]);
    b.json(["pull"]);
    // b's fails first, and goes out after a's has passed.
    b.json(["issue", "start", &id]);
    b.tw(["issue", "verify", &id, "--", "false"]);
    b.json(["return"]);
    a.json([
        "try",
        &id,
        "-n",
        "1",
        "--",
        "sh",
        "-c",
        "echo fixed >>a.txt",
    ]);
    b.json(["push"]);
    a.json(["pull"]);
    let runs = a.json(["issue", "get", &id])["issue"]["runs"].clone();
    let told: Vec<(&Value, &Value)> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (&run["run"], &run["result"]))
        .collect();
    assert_eq!(told.len(), 2, "{runs}");
    assert_eq!((told[0].0, told[1].0), (&json!(1), &json!(2)), "{runs}");
    assert!(
        runs[0]["claimed_by"].is_null() && runs[1]["claimed_by"] == "b's",
        "{runs}"
    );
    a.json(["issue", "close", &id, "--proof", "latest"]);
    let proof = a.json(["issue", "get", &id])["issue"]["resolution"]["proof"].clone();
    assert_eq!(proof["issue_run"], 1, "{proof}");
    // b numbers them the other way round, and means the same run.
    a.json(["push"]);
    b.json(["pull"]);
    let issue = b.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(issue["resolution"]["proof"]["issue_run"], 2, "{issue}");
    assert_eq!(issue["runs"][1]["claimed_by"], "a's", "{issue}");
}

#[test]
fn who_sets_the_value_that_stands_has_decided_too() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    b.json(["issue", "edit", &id, "--symptom", "b's"]);
    b.json(["push"]);
    a.json(["issue", "edit", &id, "--symptom", "a's"]);
    a.json(["push"]);
    a.json(["pull"]);
    b.json(["pull"]);
    let issue = b.json(["issue", "get", &id])["issue"].clone();
    let stands = issue["symptom"].as_str().unwrap().to_owned();
    assert_eq!(issue["conflicts"].as_array().unwrap().len(), 1);
    b.json(["issue", "edit", &id, "--symptom", &stands]);
    assert_eq!(b.json(["push"])["sent"][0]["id"], *id);
    a.json(["pull"]);
    for clone in [&a, &b] {
        let issue = clone.json(["issue", "get", &id])["issue"].clone();
        assert_eq!(
            (&issue["symptom"], &issue["conflicts"]),
            (&json!(stands), &Value::Null)
        );
    }
    hub.assert_same(&[&a, &b]);
}

#[test]
fn what_says_that_it_is_ours_and_was_not_here_is_claimed() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("mine");
    a.json(["push"]);
    let file: Value = serde_json::from_str(&hub.shared(&id)).unwrap();
    let by = file["edits"].as_object().unwrap().values().next().unwrap()["by"].clone();
    let forged = "i_20260201_000000_aaaaaa";
    let mut made = super::hostile::issue(forged, "not mine");
    for edit in made["edits"].as_object_mut().unwrap().values_mut() {
        edit["by"] = by.clone();
        edit["name"] = json!("a's");
    }
    hub.write(&[(
        &super::hostile::path(forged),
        super::hostile::Content::Blob(made.to_string().as_bytes()),
    )]);
    let pulled = a.json(["pull"]);
    assert_eq!(pulled["received"][0]["claimed_by"], "a's", "{pulled}");
    let shown = a.tw(["issue", "list"]).out();
    assert!(shown.contains("not mine  (claimed by a's)"), "{shown}");
    assert_eq!(shown.matches("claimed by").count(), 1, "{shown}");
    a.json(["pull"]);
    assert_eq!(
        a.json(["issue", "get", forged])["issue"]["claimed_by"],
        "a's"
    );
    drop(b);
}

#[test]
fn a_partial_clone_that_has_the_commit_already_gets_its_files() {
    let hub = Hub::new();
    let a = hub.clone_("a");
    a.json(["share", "init", "origin", "--as-branch"]);
    hub.git(["config", "uploadpack.allowFilter", "true"]);
    a.git(["push", "-q", "origin", "main"]);
    let id = a.report("s");
    a.json(["push"]);
    let url = format!("file://{}", hub.dir().display());
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let name = filter.replace([':', '='], "-");
        let name = name.trim_start_matches('-').to_owned();
        hub.sandbox.git_in(
            hub.sandbox.root(),
            ["clone", "-q", "-b", "main", filter, &url, &name],
        );
        let clone = hub.at(&name);
        clone.json(["share", "init", "origin", "--as-branch"]);
        let pulled = clone.json(["pull"]);
        assert_eq!(pulled["received"][0]["id"], *id, "{filter}: {pulled}");
        clone.json(["issue", "comment", &id, "-m", "from a partial clone"]);
        clone.json(["push"]);
    }
}

#[test]
fn a_refusal_is_told_in_the_remotes_words_whatever_they_are() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.report("s");
    hub.hook(
        "pre-receive",
        "#!/bin/sh\necho 'push blocked by policy' >&2\nexit 1\n",
    );
    let (error, _) = a.json_error(["push"]);
    assert_eq!(error["code"], "IO", "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("blocked by policy"),
        "{error}"
    );
    // A mirror is no obstacle: one ref goes, as everywhere.
    std::fs::remove_file(hub.dir().join("hooks/pre-receive")).unwrap();
    a.git(["config", "remote.origin.mirror", "true"]);
    a.json(["push"]);
    assert_eq!(hub.refs(), format!("{REF}\n"));
    // Nothing of it is in the user's own repository.
    assert_eq!(
        a.git([
            "for-each-ref",
            "--format=%(refname)",
            "refs/remotes",
            "refs/timewarp-shared"
        ]),
        ""
    );
}

#[test]
fn a_snapshot_of_a_newer_program_is_named_until_it_can_be_taken() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.write("b.txt", "b\n");
    a.json(["snapshot"]);
    a.json(["push", "--snapshots", "latest"]);
    let text = hub.git(["log", "-1", "--format=%B", CHAIN]);
    let newer = text.replace("\"version\": 1", "\"version\": 9");
    assert_ne!(text, newer);
    let tree = hub.git(["rev-parse", &format!("{CHAIN}^{{tree}}")]);
    let made = hub.git(["commit-tree", "-m", &newer, tree.trim()]);
    hub.git(["update-ref", CHAIN, made.trim()]);
    for _ in 0..2 {
        let pulled = b.json(["pull"]);
        let why = pulled["refused"][0]["reason"].as_str().unwrap_or_default();
        assert!(why.contains("newer"), "{pulled}");
    }
    // As the newer program would find it.
    let made = hub.git(["commit-tree", "-m", &text, tree.trim()]);
    hub.git(["update-ref", CHAIN, made.trim()]);
    assert_eq!(b.json(["pull"])["received"].as_array().unwrap().len(), 1);
}

#[test]
fn what_nobody_could_read_does_not_go() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    let other = a.report("another");
    let deep = format!("{}1{}", "[".repeat(125), "]".repeat(125));
    a.plant(&id, |issue| {
        issue["later"] = serde_json::from_str(&deep).unwrap();
    });
    let pushed = a.json(["push"]);
    assert!(
        pushed["notices"].to_string().contains("stays here"),
        "{pushed}"
    );
    let pulled = b.json(["pull"]);
    assert_eq!(pulled["refused"], json!([]), "{pulled}");
    assert_eq!(pulled["received"][0]["id"], *other, "{pulled}");
}

/// Who shares with the same remote again, or purges after snapshots were exchanged, still has what says which fields were edited here.
#[test]
fn a_side_that_changed_nothing_loses_whatever_was_forgotten_in_between() {
    for between in ["nothing", "off", "purge"] {
        let hub = Hub::new();
        let (a, b) = hub.two();
        let id = a.report("boom");
        a.json(["snapshot"]);
        a.json(["push", "--snapshots", "latest"]);
        a.json(["issue", "edit", &id, "--symptom", "boom 2"]);
        a.json(["push"]);
        b.json(["pull"]);
        match between {
            "off" => {
                b.json(["share", "off"]);
                b.json(["share", "init", "origin"]);
            }
            "purge" => {
                b.write("notes", "secret\n");
                b.json(["snapshot"]);
                b.json(["purge", "notes", "--yes-purge"]);
                let refs = b.in_depot(&["for-each-ref"]);
                assert!(!refs.contains("snapshots"), "{refs}");
            }
            _ => {}
        }
        b.json(["issue", "edit", &id, "--symptom", "edited by b"]);
        b.json(["push"]);
        a.json(["pull"]);
        b.json(["pull"]);
        for side in [&a, &b] {
            let issue = side.json(["issue", "get", &id])["issue"].clone();
            let told = (&issue["symptom"], &issue["conflicts"]);
            assert_eq!(told, (&json!("edited by b"), &Value::Null), "{between}");
        }
    }
}

/// Another remote of the same name is another remote.
#[test]
fn what_was_exchanged_is_forgotten_when_the_remote_has_moved() {
    let hub = Hub::new();
    let (a, _) = hub.two();
    a.report("boom");
    a.json(["push"]);
    a.json(["share", "off"]);
    a.git(["remote", "set-url", "origin", "/nonexistent/elsewhere"]);
    a.json(["share", "init", "origin"]);
    assert!(!a.depot().exists());
}

#[test]
fn a_run_of_others_is_shown_as_theirs_and_is_no_proof_without_a_word() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    b.json(["issue", "verify", &id, "--", "true"]);
    b.json(["push"]);
    a.json(["pull"]);
    let shown = a.tw(["issue", "show", &id]).out();
    assert!(
        shown.contains(", check ended with 0, claimed by b's\n"),
        "{shown}"
    );
    let (error, _) = a.json_error(["issue", "verify", &id, "--run", "1", "--", "true"]);
    assert_eq!(error["code"], "USAGE", "{error}");
    let closed = a.json(["issue", "close", &id]);
    let said = closed["notices"].to_string();
    assert!(said.contains("run 1 is claimed by 'b\\\\'s'"), "{said}");
    assert_eq!(closed["issue"]["resolution"]["proof"]["issue_run"], 1);
    let shown = a.tw(["issue", "show", &id]).out();
    assert!(shown.contains("'true' passed, claimed by b's\n"), "{shown}");
    // A check of here goes into a run of here, and is the proof then.
    assert_eq!(a.json(["issue", "verify", &id, "--", "true"])["run"], 2);
    let closed = a.json(["issue", "close", &id]);
    assert_eq!(closed["notices"], json!([]));
    assert_eq!(closed["issue"]["resolution"]["proof"]["issue_run"], 2);
    a.json(["push"]);
    b.json(["pull"]);
    let runs = b.json(["issue", "get", &id])["issue"]["runs"].clone();
    assert_eq!(
        (&runs[0]["claimed_by"], &runs[1]["claimed_by"]),
        (&Value::Null, &json!("a's"))
    );
}

/// Runs and comments say whose they are, and stay; fields do not, and it is said which go along.
#[test]
fn what_others_wrote_into_an_issue_of_ours_goes_to_no_other_remote() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("ours");
    a.json(["push"]);
    b.json(["pull"]);
    b.json(["issue", "comment", &id, "-m", "BENCOMMENT"]);
    b.json(["issue", "edit", &id, "--suspected-cause", "BENCAUSE"]);
    b.json(["issue", "verify", &id, "--", "echo BENRUN"]);
    b.json(["push"]);
    a.json(["pull"]);
    hub.sandbox
        .git_in(hub.sandbox.root(), ["init", "-q", "--bare", "other.git"]);
    let other = hub.sandbox.root().join("other.git");
    a.git(["remote", "add", "other", other.to_str().unwrap()]);
    let named = a.json(["share", "init", "other"]);
    let said = format!(
        "fields that others set in issues of yours go to 'other' with them: {id} (suspected_cause)"
    );
    assert_eq!(named["notices"], json!([said]));
    for round in ["first", "second"] {
        a.json(["issue", "comment", &id, "-m", round]);
        let pushed = a.json(["push"]);
        let said = pushed["notices"].to_string();
        let stays = "2 of its runs and comments came from another remote, and stay here";
        assert!(said.contains(stays), "{round}: {said}");
        let reached = hub.sandbox.git_in(
            &other,
            ["rev-list", "--objects", "--all", "--no-object-names"],
        );
        for object in reached.lines() {
            let text = hub.sandbox.git_in(&other, ["cat-file", "-p", object]);
            for theirs in ["BENCOMMENT", "BENRUN"] {
                assert!(!text.contains(theirs), "{round}: {text}");
            }
        }
        // Here it is all there, and theirs.
        let issue = a.json(["issue", "get", &id])["issue"].clone();
        assert_eq!(
            issue["comments"][0]["claimed_by"], "b's",
            "{round}: {issue}"
        );
        assert_eq!(issue["runs"][0]["claimed_by"], "b's", "{round}: {issue}");
        a.json(["pull"]);
    }
}

#[test]
fn who_sets_a_field_on_the_desk_or_closes_the_issue_has_decided() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    for (clone, text) in [(&b, "B"), (&a, "A")] {
        clone.json([
            "issue",
            "edit",
            &id,
            "--symptom",
            text,
            "--suspected-cause",
            text,
        ]);
        clone.json(["issue", "experiment", &id, "--repro", text]);
    }
    b.json(["push"]);
    a.json(["pull"]);
    let lost = || {
        let issue = a.json(["issue", "get", &id])["issue"].clone();
        let lost = issue["conflicts"].as_array().cloned().unwrap_or_default();
        let fields = lost
            .iter()
            .map(|one| one["field"].as_str().unwrap().to_owned());
        fields.collect::<Vec<_>>()
    };
    assert_eq!(lost(), ["experiment/repro", "suspected_cause", "symptom"]);
    for (file, decided, left) in [
        (
            "issue.json",
            "symptom",
            vec!["experiment/repro", "suspected_cause"],
        ),
        ("experiment.md", "repro", vec!["suspected_cause"]),
    ] {
        let path = a.dir.join(format!(".timewarp/issues/{id}/{file}"));
        let text = std::fs::read_to_string(&path).unwrap();
        let edited = match decided {
            "symptom" => ["A", "B"].iter().fold(text, |text, one| {
                text.replace(&format!("\"symptom\": \"{one}\""), "\"symptom\": \"DESK\"")
            }),
            _ => ["A", "B"].iter().fold(text, |text, one| {
                text.replace(&format!("## Repro\n\n{one}\n"), "## Repro\n\nDESK\n")
            }),
        };
        std::fs::write(&path, edited).unwrap();
        assert_eq!(lost(), left, "{file}");
    }
}

/// Who only names the remote again has made nothing, and what is ours is nobody else's whatever a remote says.
#[test]
fn what_was_reported_here_is_claimed_by_nobody() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("boom");
    a.json(["issue", "comment", &id, "-m", "mine"]);
    a.json(["push"]);
    b.json(["pull"]);
    let root = hub.sandbox.root();
    hub.sandbox
        .git_in(&root, ["init", "-q", "--bare", "two.git"]);
    b.git([
        "remote",
        "add",
        "two",
        root.join("two.git").to_str().unwrap(),
    ]);
    b.json(["share", "init", "two"]);
    b.json(["pull"]);
    b.json(["share", "init", "origin"]);
    // Before and after it was pulled.
    assert_eq!(b.json(["push"])["sent"], json!([]));
    b.json(["pull"]);
    assert_eq!(b.json(["push"])["sent"], json!([]));
    assert_eq!(a.json(["pull"])["received"], json!([]));
    // What was edited here and then forgotten does not stand against what others know.
    b.json(["issue", "edit", &id, "--symptom", "edited by b"]);
    std::fs::remove_dir_all(b.depot()).unwrap();
    b.json(["push"]);
    let c = hub.sharing("c");
    let theirs = c.json(["pull"])["received"].clone();
    assert_eq!(theirs[0]["claimed_by"], "a's", "{theirs}");
    let shown = c.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(
        (&shown["claimed_by"], &shown["symptom"]),
        (&json!("a's"), &json!("boom"))
    );
    assert_eq!(shown["conflicts"][0]["value"], "edited by b");
    // Nor does an edit that says it was the first.
    let mut file: Value = serde_json::from_str(&hub.shared(&id)).unwrap();
    let first = "0123456789abcdef";
    file["edits"][first] =
        json!({"revision": 1, "at": "2001-01-01T00:00:00Z", "by": "elsewhere", "name": "Mallory"});
    for (_, field) in file["fields"].as_object_mut().unwrap() {
        field["edits"].as_array_mut().unwrap().push(json!(first));
    }
    let last = "fedcba9876543210";
    file["edits"][last] =
        json!({"revision": 9, "at": "2026-03-01T00:00:00Z", "by": "elsewhere", "name": "Mallory"});
    for (name, field) in file["fields"].as_object_mut().unwrap() {
        if name.starts_with("comments/") {
            field["edits"].as_array_mut().unwrap().push(json!(last));
        }
    }
    let file = file.to_string();
    let path = super::hostile::path(&id);
    hub.write(&[(&path, super::hostile::Content::Blob(file.as_bytes()))]);
    let came = a.json(["pull"])["received"].clone();
    assert_eq!(came[0]["claimed_by"], Value::Null, "{came}");
    let issue = a.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(issue["claimed_by"], Value::Null, "{issue}");
    assert_eq!(issue["comments"][0]["claimed_by"], Value::Null, "{issue}");
    a.git([
        "remote",
        "add",
        "two",
        root.join("two.git").to_str().unwrap(),
    ]);
    a.json(["share", "init", "two"]);
    assert_eq!(a.json(["push"])["sent"][0]["id"], *id);
}
