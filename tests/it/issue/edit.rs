//! `tw issue edit` with what a report is taken from, and what is said of secrets.

use serde_json::{Value, json};

use super::{id, ready, report};
use crate::transcripts::{Kind, Talk};
use crate::work::counted;

#[test]
fn a_conversation_comes_to_an_issue_that_had_none() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &["--session", "nobody"]));
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.writes_prompt("one");
    talk.answers("first", 1000);
    talk.writes_prompt("two");
    talk.answers("second", 2000);
    let file = talk.path.to_str().unwrap();
    let edited = sandbox.json([
        "issue",
        "edit",
        &id,
        "--transcript",
        file,
        "--last",
        "1",
        "--symptom",
        "with its talk",
    ]);
    let issue = &edited["issue"];
    assert_eq!(issue["symptom"], "with its talk");
    assert_eq!(issue["chat_file"], "chat.md");
    assert_eq!(issue["chat_unavailable"], Value::Null);
    assert_eq!(issue["agent"], "claude");
    assert_eq!(issue["session_id"], "nobody", "it stays as it was reported");
    let texts = || -> Vec<String> {
        let chat = sandbox.json(["issue", "chat", &id]);
        let messages = chat["chat"]["messages"].as_array().unwrap().clone();
        let texts = messages.iter().map(|one| one["text"].as_str().unwrap());
        texts.map(str::to_owned).collect()
    };
    assert_eq!(texts(), ["two", "second"]);
    let desk = sandbox.text(format!(".timewarp/issues/{id}/chat.md"));
    assert!(desk.contains("second"), "{desk}");
    // Another part takes its place.
    sandbox.json(["issue", "edit", &id, "--transcript", file]);
    assert_eq!(texts(), ["one", "first", "two", "second"]);
    sandbox.json([
        "issue",
        "edit",
        &id,
        "--session",
        &talk.id,
        "--window",
        "0,0",
    ]);
    assert_eq!(texts(), ["second"]);
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["session_id"], talk.id);
    let nobody = sandbox.json(["issue", "edit", &id, "--session", "nobody"]);
    assert!(
        nobody["notices"].to_string().contains("stays as it was"),
        "{nobody}"
    );
    sandbox.json(["issue", "edit", &id, "--transcript", file]);
    // What holds no conversation changes nothing.
    let absent = [
        "issue",
        "edit",
        &id,
        "--transcript",
        "absent",
        "--symptom",
        "x",
    ];
    let (error, exit) = sandbox.json_error(absent);
    assert_eq!((&error["code"], exit), (&json!("TRANSCRIPT_NOT_FOUND"), 3));
    assert_eq!(texts().len(), 4);
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["symptom"], "with its talk");
    let (error, exit) = sandbox.json_error(["issue", "edit", &id, "--last", "1"]);
    assert_eq!((&error["code"], exit), (&json!("USAGE"), 2));
}

#[test]
fn an_issue_is_tied_to_another_snapshot() {
    let sandbox = ready();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.writes_prompt("one");
    talk.answers("first", 1000);
    let file = talk.path.to_str().unwrap();
    let id = id(&report(&sandbox, &["--transcript", file]));
    sandbox.write("a.txt", "later\n");
    let later = sandbox.json(["snapshot"])["snapshot"].clone();
    let edited = sandbox.json(["issue", "edit", &id, "--snapshot", "latest"]);
    assert_eq!(edited["issue"]["snapshot_id"], later["snapshot_id"]);
    let commit = later["commit"].as_str().unwrap();
    for notes in ["issues", "chats"] {
        let notes = format!("refs/notes/timewarp/{notes}/{id}");
        let annotated = sandbox.git(["notes", "--ref", &notes, "list"]);
        let annotated: Vec<_> = annotated.split_whitespace().skip(1).collect();
        assert_eq!(annotated, [commit], "{notes}");
    }
    assert_eq!(
        sandbox.json(["issue", "chat", &id])["chat"]["messages"][0]["text"],
        "one"
    );
    sandbox.json(["issue", "start", &id]);
    assert_eq!(sandbox.text("a.txt"), "later\n");
    let (error, _) = sandbox.json_error(["issue", "edit", &id, "--snapshot", "latest~9"]);
    assert_eq!(error["code"], "SNAPSHOT_NOT_FOUND");
}

#[test]
fn a_document_changes_what_it_names() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    sandbox.write(
        "edit.json",
        r#"{"symptom": "from json", "verify_command": "true"}"#,
    );
    let edit = [
        "issue",
        "edit",
        &id,
        "--from-json",
        "edit.json",
        "--severity",
        "high",
    ];
    let edited = sandbox.json(edit);
    let issue = &edited["issue"];
    assert_eq!(
        (
            &issue["symptom"],
            &issue["severity"],
            &issue["task_context"]
        ),
        (&json!("from json"), &json!("high"), &json!("building"))
    );
    assert_eq!(issue["verify_approved"], false, "not typed here");
    sandbox.write("edit.json", "[]");
    let (error, _) = sandbox.json_error(["issue", "edit", &id, "--from-json", "edit.json"]);
    assert_eq!(error["code"], "ISSUE_INVALID");
}

#[test]
fn secrets_that_were_replaced_are_counted_and_a_check_without_its_own_is_named() {
    let sandbox = ready();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let check = format!("curl -H 'X-Key: {secret}' localhost");
    let cause = format!("{secret} again");
    let reported = report(&sandbox, &["--verify", &check, "--suspected-cause", &cause]);
    let id = id(&reported);
    let edited = sandbox.json(["issue", "edit", &id, "--verify", &check]);
    for (document, count) in [(&reported, 2), (&edited, 1)] {
        let notices = document["notices"].to_string();
        let counted = format!("secrets were replaced in the texts: {count} github-personal-token");
        assert!(notices.contains(&counted), "{notices}");
        assert!(
            notices.contains("the verify command looks like it contains a secret"),
            "{notices}"
        );
        assert!(!notices.contains(&secret));
    }
}

#[test]
fn a_part_of_a_session_s_id_names_it() {
    let sandbox = ready();
    let ids = [
        "aaaa1111-2222-4333-8444-555555555555",
        "aaaa2222-2222-4333-8444-555555555555",
    ];
    for id in ids {
        let talk = Talk::with_id(&sandbox, Kind::Claude, id);
        talk.hook("SessionStart", &json!({"source": "startup"}));
        talk.turn(&format!("asked in {}", &id[..8]), 1000);
    }
    let whole = ids[0];
    let reported = report(&sandbox, &["--session", "aaaa1111"]);
    let told = json!([format!("session 'aaaa1111' is {whole}")]);
    assert_eq!(
        (&reported["issue"]["session_id"], &reported["notices"]),
        (&json!(whole), &told)
    );
    let id = id(&reported);
    let chat = sandbox.json(["issue", "chat", &id]);
    assert_eq!(chat["chat"]["messages"][0]["text"], "asked in aaaa1111");
    let edited = sandbox.json(["issue", "edit", &id, "--session", "aaaa2222"]);
    assert_eq!(edited["issue"]["session_id"], ids[1]);
    let made = sandbox.json(["checkpoint", "-m", "x", "--session", "aaaa1111"]);
    assert_eq!(made["checkpoint"]["session_id"], whole);
    for command in [
        vec!["issue", "edit", &id, "--session", "aaaa"],
        vec!["checkpoint", "--session", "aaaa"],
    ] {
        let (error, code) = sandbox.json_error(command);
        assert_eq!((&error["code"], code), (&json!("AMBIGUOUS_ADDRESS"), 3));
    }
}

#[test]
fn the_experiment_s_criteria_go_along_until_somebody_has_changed_them() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let criteria = || {
        let issue = sandbox.json(["issue", "get", &id])["issue"].clone();
        let own = issue["experiment"]["success_criteria"].clone();
        let desk = sandbox.text(format!(".timewarp/issues/{id}/experiment.md"));
        assert!(desk.contains(own.as_str().unwrap()), "{desk}");
        (issue["success_criteria"].clone(), own)
    };
    sandbox.json(["issue", "edit", &id, "--success-criteria", "it is quick"]);
    assert_eq!(criteria(), (json!("it is quick"), json!("it is quick")));
    let file = format!(".timewarp/issues/{id}/experiment.md");
    let text = sandbox.text(&file).replace("it is quick", "under a second");
    sandbox.write(&file, text);
    sandbox.json(["issue", "edit", &id, "--success-criteria", "it is fast"]);
    assert_eq!(criteria(), (json!("it is fast"), json!("under a second")));
}

#[test]
fn a_transcript_that_was_named_and_is_not_there_is_an_error() {
    let sandbox = ready();
    let words = "issue report --task-context t --symptom s --success-criteria c";
    let words = format!("{words} --transcript /no/such.jsonl");
    let (error, code) = sandbox.json_error(words.split(' '));
    assert_eq!((&error["code"], code), (&json!("TRANSCRIPT_NOT_FOUND"), 3));
    assert_eq!(sandbox.json(["issue", "list"])["issues"], json!([]));
}

/// Most commands show none of a conversation, and it may be large.
#[test]
fn a_conversation_is_read_where_it_is_shown_and_its_file_stands_again_when_it_was_removed() {
    let sandbox = ready();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.writes_prompt("one");
    talk.answers("first", 1000);
    talk.writes_prompt("two");
    talk.answers("second", 2000);
    let file = talk.path.to_str().unwrap();
    let id = id(&report(&sandbox, &["--transcript", file]));
    let desk = sandbox.path(format!(".timewarp/issues/{id}/chat.md"));
    let written = std::fs::read_to_string(&desk).unwrap();
    let reads = |args: &[&str]| counted(&sandbox, args)["chat_reads"];
    assert_eq!(reads(&["issue", "get", &id]), 0);
    assert_eq!(reads(&["issue", "edit", &id, "--symptom", "other"]), 0);
    assert_eq!(reads(&["issue", "experiment", &id, "--repro", "make"]), 0);
    assert_eq!(reads(&["issue", "chat", &id, "--last", "1"]), 1);
    // What is not as it was written is looked at.
    std::fs::remove_file(&desk).unwrap();
    assert_eq!(reads(&["issue", "get", &id]), 1);
    assert_eq!(std::fs::read_to_string(&desk).unwrap(), written);
    std::fs::write(&desk, "mine\n").unwrap();
    assert_eq!(reads(&["issue", "get", &id]), 1);
    assert_eq!(std::fs::read_to_string(&desk).unwrap(), "mine\n");
    std::fs::write(&desk, &written).unwrap();
    assert_eq!(reads(&["issue", "get", &id]), 0);
    sandbox.json(["issue", "edit", &id, "--transcript", file, "--last", "1"]);
    assert_ne!(std::fs::read_to_string(&desk).unwrap(), written);
}
