//! `tw share`, `tw push`, `tw pull`: repositories that share issues over a remote, as people would use them.

mod apart;
mod approved;
mod collected;
mod conditions;
mod content;
mod damaged;
mod deaths;
mod document;
mod experiments;
mod hostile;
pub mod hub;
mod sessions;
mod snapshots;
mod transport;

use serde_json::{Value, json};

use self::hub::{Clone_, Hub, REF};

/// The id of the only issue here.
fn only(clone: &Clone_) -> String {
    let listed = clone.json(["issue", "list", "--status", "all"]);
    let issues = listed["issues"].as_array().unwrap();
    assert_eq!(issues.len(), 1, "{listed}");
    issues[0]["issue_id"].as_str().unwrap().to_owned()
}

#[test]
fn sharing_is_off_until_a_remote_is_named() {
    let hub = Hub::new();
    let a = hub.clone_("a");
    a.report("x");
    let status = a.json(["share", "status"]);
    assert_eq!(
        (&status["on"], &status["remote"]),
        (&json!(false), &Value::Null)
    );
    for verb in ["push", "pull"] {
        let (error, code) = a.json_error([verb]);
        assert_eq!((error["code"].as_str(), code), (Some("INVALID_CONFIG"), 3));
    }
    let (error, _) = a.json_error(["share", "init", "elsewhere"]);
    assert_eq!(error["code"], "INVALID_CONFIG");
    // The team's file comes with the repository, and turns nothing on.
    std::fs::create_dir_all(a.dir.join(".timewarp")).unwrap();
    std::fs::write(
        a.dir.join(".timewarp/config.toml"),
        "share = \"origin\"\nremote = \"origin\"\n",
    )
    .unwrap();
    assert_eq!(a.json(["share", "status"])["on"], false);
    assert_eq!(hub.refs(), "");

    let named = a.json([
        "share",
        "init",
        "origin",
        "--prompts",
        "redacted",
        "--as-branch",
    ]);
    assert_eq!(named["ref"], "refs/heads/timewarp-shared");
    assert_eq!(
        (&named["prompts"], &named["changed"]),
        (&json!("redacted"), &json!(true))
    );
    let named = a.json(["share", "init", "origin"]);
    assert_eq!(
        (&named["ref"], &named["prompts"]),
        (&json!(REF), &json!("none"))
    );
    assert_eq!(a.json(["share", "init", "origin"])["changed"], false);
    assert_eq!(a.json(["share", "off"])["remote"], "origin");
    assert_eq!(a.json(["share", "off"])["remote"], Value::Null);
    assert_eq!(hub.refs(), "", "nothing of it talks to the remote");
}

#[test]
fn an_issue_goes_to_another_repository_and_comes_back_changed() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("it hangs");
    let dry = a.json(["push", "--dry-run"]);
    assert_eq!(
        dry["sent"],
        json!([{"kind": "issue", "id": id, "change": "added", "claimed_by": null}])
    );
    assert_eq!(hub.refs(), "");
    let waiting = a.json(["share", "status"])["to_push"].clone();
    assert_eq!(waiting, dry["sent"]);
    assert_eq!(a.json(["push"])["sent"], dry["sent"]);
    assert_eq!(a.json(["push"])["sent"], json!([]));

    assert_eq!(b.json(["pull", "--dry-run"])["received"][0]["id"], *id);
    assert_eq!(b.json(["issue", "list"])["count"], 0, "it was a dry run");
    let pulled = b.json(["pull"]);
    assert_eq!(
        pulled["received"],
        json!([{"kind": "issue", "id": id, "change": "added", "claimed_by": "a's"}])
    );
    assert_eq!(b.json(["pull"])["received"], json!([]));
    assert_eq!(
        b.json(["push"])["sent"],
        json!([]),
        "what came is nothing to send"
    );

    let listed = b.json(["issue", "list"]);
    assert_eq!(listed["issues"][0]["claimed_by"], "a's");
    assert!(b.tw(["issue", "list"]).out().contains("(claimed by a's)"));
    let shown = b.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(
        (&shown["symptom"], &shown["claimed_by"]),
        (&json!("it hangs"), &json!("a's"))
    );

    b.json(["issue", "edit", &id, "--symptom", "it hangs at night"]);
    b.json(["issue", "comment", &id, "-m", "seen here, too"]);
    b.json(["issue", "close", &id, "--status", "wontfix", "--note", "no"]);
    b.json(["push"]);
    assert_eq!(a.json(["push"])["to_pull"], 1);
    let pulled = a.json(["pull"]);
    assert_eq!(pulled["received"][0]["change"], "changed");
    assert_eq!(pulled["conflicts"], json!([]));
    let back = a.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(
        (&back["symptom"], &back["status"]),
        (&json!("it hangs at night"), &json!("wontfix"))
    );
    assert_eq!(back["claimed_by"], Value::Null, "it was reported here");
    assert_eq!(back["comments"][0]["claimed_by"], "b's");
    assert_eq!(back["resolution"]["note"], "no");
    a.git(["fsck", "--strict"]);
    hub.git(["fsck", "--strict"]);
}

/// A value is as old as the change that set it, whatever its side changed afterwards, and however often.
#[test]
fn the_value_that_was_set_last_stands_whatever_was_changed_after_it_on_the_other_side() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    for cause in ["a's first", "a's second"] {
        a.json(["issue", "edit", &id, "--suspected-cause", cause]);
    }
    b.json(["issue", "edit", &id, "--suspected-cause", "b's, later"]);
    a.json(["issue", "comment", &id, "-m", "by the way"]);
    a.json(["push"]);
    b.json(["push"]);
    a.json(["pull"]);
    b.json(["pull"]);
    for clone in [&a, &b] {
        let issue = clone.json(["issue", "get", &id])["issue"].clone();
        assert_eq!(issue["suspected_cause"], "b's, later");
        let lost = issue["conflicts"].as_array().unwrap();
        assert_eq!(lost.len(), 1, "{issue}");
        assert_eq!(
            (&lost[0]["field"], &lost[0]["value"]),
            (&json!("suspected_cause"), &json!("a's second"))
        );
        assert_eq!(issue["comments"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn of_two_values_one_stands_and_the_other_is_kept() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    b.json([
        "issue",
        "edit",
        &id,
        "--symptom",
        "b's words",
        "--severity",
        "high",
    ]);
    b.json(["push"]);
    a.json([
        "issue",
        "edit",
        &id,
        "--symptom",
        "a's words",
        "--suspected-cause",
        "c",
    ]);
    let conflict = json!([{"kind": "issue", "id": id, "field": "symptom"}]);
    assert_eq!(a.json(["push"])["conflicts"], conflict);
    assert_eq!(a.json(["pull"])["conflicts"], conflict);
    b.json(["pull"]);
    for clone in [&a, &b] {
        let issue = clone.json(["issue", "get", &id])["issue"].clone();
        assert_eq!(
            (&issue["symptom"], &issue["severity"]),
            (&json!("a's words"), &json!("high"))
        );
        assert_eq!(issue["suspected_cause"], "c");
        assert_eq!(issue["conflicts"].as_array().unwrap().len(), 1);
        let lost = &issue["conflicts"][0];
        assert_eq!(
            (&lost["field"], &lost["value"], &lost["claimed_by"]),
            (&json!("symptom"), &json!("b's words"), &json!("b's"))
        );
    }
    assert!(
        b.tw(["issue", "get", &id])
            .out()
            .contains("symptom, claimed by b's, lost: b's words")
    );
    // Who knows both and sets it has decided.
    b.json(["issue", "edit", &id, "--symptom", "both"]);
    b.json(["push"]);
    a.json(["pull"]);
    let issue = a.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(
        (&issue["symptom"], &issue["conflicts"]),
        (&json!("both"), &Value::Null)
    );
    assert_eq!(
        b.json(["issue", "get", &id])["issue"]["conflicts"],
        Value::Null
    );
    hub.assert_same(&[&a, &b]);
}

#[test]
fn any_commands_anywhere_end_in_the_same_records() {
    let hub = Hub::new();
    let clones: Vec<Clone_> = ["a", "b", "c"].map(|name| hub.sharing(name)).into();
    let id = clones[0].report("s");
    clones[0].json(["push"]);
    clones[1].json(["pull"]);
    clones[2].json(["pull"]);
    // A fixed sequence of numbers, so that a failure comes again.
    let mut state = 0x2545_f491_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for number in 0..30 {
        let clone = &clones[next(3)];
        let text = format!("text {number}");
        match next(7) {
            0 => clone.json(["issue", "edit", &id, "--symptom", &text]),
            1 => clone.json(["issue", "edit", &id, "--suspected-cause", &text]),
            2 => clone.json(["issue", "comment", &id, "-m", &text]),
            3 => clone.json(["issue", "experiment", &id, "--result", &text]),
            4 => clone.json(["issue", "verify", &id, "--", "true"]),
            5 => clone.json(["push"]),
            _ => clone.json(["pull"]),
        };
    }
    for _ in 0..2 {
        for clone in &clones {
            clone.json(["push"]);
        }
    }
    for clone in &clones {
        clone.json(["pull"]);
        assert_eq!(clone.json(["push"])["sent"], json!([]));
    }
    hub.assert_same(&clones.iter().collect::<Vec<_>>());
    let views: Vec<Value> = clones.iter().map(|clone| clone.settled(&id)).collect();
    assert_eq!(views[0], views[1]);
    assert_eq!(views[1], views[2]);
    for clone in &clones {
        let issue = clone.json(["issue", "get", &id])["issue"].clone();
        let runs = issue["runs"].as_array().unwrap();
        let numbers: Vec<u64> = runs
            .iter()
            .map(|run| run["run"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (1..=runs.len() as u64).collect::<Vec<_>>());
        assert!(runs.len() > 1, "{issue}");
    }
}

#[test]
fn what_one_deletes_stays_with_the_others_and_comes_back_when_edited() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    // As an earlier 'tw' of a's did where the refs were gone.
    let mut file: Value = serde_json::from_str(&hub.shared(&id)).unwrap();
    let known: Vec<String> = file["edits"].as_object().unwrap().keys().cloned().collect();
    let (edit, mut by) = ("fedcba9876543210", file["edits"][&known[0]].clone());
    by["revision"] = json!(9);
    file["edits"][edit] = by;
    file["deletions"] = json!({edit: known});
    hub.write(&[(
        &hostile::path(&id),
        hostile::Content::Blob(file.to_string().as_bytes()),
    )]);
    a.json(["pull"]);
    a.json(["push"]);
    assert_eq!(b.json(["pull"])["received"][0]["change"], "deleted");
    let kept = b.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(
        (&kept["symptom"], &kept["deleted_by"]["claimed_by"]),
        (&json!("s"), &json!("a's"))
    );
    assert_eq!(b.json(["push"])["sent"], json!([]));
    let c = hub.sharing("c");
    c.json(["pull"]);
    assert_eq!(c.json(["issue", "list"])["count"], 0);

    b.json(["issue", "edit", &id, "--symptom", "t"]);
    b.json(["push"]);
    for clone in [&a, &b, &c] {
        clone.json(["pull"]);
        let issue = clone.json(["issue", "get", &id])["issue"].clone();
        assert_eq!(
            (&issue["symptom"], &issue["deleted_by"]),
            (&json!("t"), &Value::Null)
        );
    }
    assert!(hub.shared(&id).contains("\"revived\""));
    hub.assert_same(&[&a, &b, &c]);
}

/// The refs of records of these kinds, gone by whatever way.
fn lose_refs(clone: &Clone_) {
    for kind in ["issues", "chats"] {
        for above in ["refs/timewarp/records", "refs/notes/timewarp"] {
            let of = format!("{above}/{kind}");
            for name in clone
                .git(["for-each-ref", "--format=%(refname)", &of])
                .lines()
            {
                clone.git(["update-ref", "-d", name]);
            }
        }
    }
}

#[test]
fn records_that_lost_their_refs_come_back_and_are_deleted_for_nobody() {
    let hub = Hub::new();
    let (a, b) = (hub.clone_("a"), hub.clone_("b"));
    for clone in [&a, &b] {
        clone.json(["share", "init", "origin", "--prompts", "redacted"]);
    }
    let ids = [a.report_with_chat("s", "said"), a.report("t")];
    a.json(["issue", "comment", &ids[0], "-m", "mine"]);
    a.json(["issue", "verify", &ids[0], "--", "true"]);
    a.json(["push"]);
    b.json(["pull"]);
    b.json(["issue", "comment", &ids[0], "-m", "of b"]);
    b.json(["push"]);
    a.json(["pull"]);
    for (clone, verb, list) in [(&a, "push", "sent"), (&b, "pull", "received")] {
        let told = || {
            let issue = |id: &String| {
                let mut issue = clone.json(["issue", "get", id])["issue"].clone();
                // Told anew.
                for own in ["seq", "chat_unavailable"] {
                    issue.as_object_mut().unwrap().remove(own);
                }
                issue
            };
            let chat = clone.json(["issue", "chat", &ids[0]]);
            (ids.each_ref().map(issue), chat["messages"].clone())
        };
        let before = told();
        lose_refs(clone);
        let dry = clone.json([verb, "--dry-run"]);
        assert_eq!(dry[list], json!([]), "{dry}");
        assert!(
            dry["notices"]
                .to_string()
                .contains("has lost its refs here"),
            "{dry}"
        );
        let status = clone.json(["share", "status"]);
        assert_eq!(status["to_push"], json!([]), "{status}");
        let ran = clone.json([verb]);
        assert_eq!(ran[list], json!([]), "{ran}");
        let said = ran["notices"].to_string();
        assert_eq!(said.matches("it is here again").count(), 3, "{ran}");
        assert_eq!(told(), before);
        assert_eq!(clone.json([verb])["notices"], json!([]));
    }
    for id in &ids {
        assert!(!hub.shared(id).contains("\"deleted\""));
    }
    hub.assert_same(&[&a, &b]);
}

#[test]
fn fields_that_are_not_known_go_along_and_nothing_private_does() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.plant(&id, |issue| {
        issue["later"] = json!({"x": [1, {"y": 2}]});
        issue["runs"] = json!([
            {"run": 1, "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:01:00Z", "backup_id": "b_20260101_000000_aaaaaa", "more": 1},
            {"run": 2, "started_at": "2026-01-02T00:00:00Z", "ended_at": null, "backup_id": "b_20260102_000000_aaaaaa"},
        ]);
    });
    a.json(["push"]);
    a.plant(&id, |issue| issue["claimed_by"] = json!("nobody"));
    a.json(["push"]);
    let file = hub.shared(&id);
    let repository = std::fs::read_to_string(a.dir.join(".git/timewarp/id")).unwrap();
    for private in [
        "b_2026",
        "chat.md",
        "nobody",
        repository.trim(),
        a.dir.to_str().unwrap(),
        "2026-01-02",
    ] {
        assert!(!file.contains(private), "{private}: {file}");
    }
    b.json(["pull"]);
    let issue = b.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(issue["later"], json!({"x": [1, {"y": 2}]}));
    assert_eq!(issue["claimed_by"], "a's");
    assert_eq!(issue["runs"][0]["more"], 1);
    b.json(["issue", "edit", &id, "--symptom", "t"]);
    b.json(["push"]);
    a.json(["pull"]);
    let own = a.json(["issue", "get", &id])["issue"].clone();
    assert_eq!(own["runs"][0]["backup_id"], "b_20260101_000000_aaaaaa");
    assert_eq!(
        (&own["runs"][1]["run"], &own["runs"][1]["ended_at"]),
        (&json!(2), &Value::Null)
    );
    assert_eq!(own["later"], json!({"x": [1, {"y": 2}]}));
}

#[test]
fn conversations_go_only_when_asked_for() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report_with_chat("s", "ask the oracle");
    let scanned = |which: &str| a.json(["share", "scan", "--prompts", which])["scanned"].clone();
    assert_eq!((scanned("none"), scanned("redacted")), (json!(1), json!(2)));
    assert_eq!(
        a.json(["share", "scan", "--prompts", "redacted"])["findings"],
        json!([])
    );
    a.json(["push"]);
    assert!(!hub.tree().contains("chats/"), "{}", hub.tree());
    b.json(["pull"]);
    let (error, _) = b.json_error(["issue", "chat", &id]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("was not shared"),
        "{error}"
    );
    a.json(["share", "init", "origin", "--prompts", "redacted"]);
    a.json(["push"]);
    b.json(["pull"]);
    let chat = b.json(["issue", "chat", &id]);
    assert_eq!(chat["chat"]["messages"][0]["text"], "ask the oracle 1");
    // What was shared once is not taken away by sharing no more of it.
    a.json(["share", "init", "origin", "--prompts", "none"]);
    assert_eq!(a.json(["push"])["sent"], json!([]));
}

#[test]
fn a_secret_stops_the_push_before_anything_is_transferred() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    // Kept before anybody could know that it is one.
    let id = a.report("it printed Zebra-Violet-4471-Kite");
    a.json(["issue", "comment", &id, "-m", "fine"]);
    std::fs::write(a.dir.join(".env"), "DEPLOY_TOKEN=Zebra-Violet-4471-Kite\n").unwrap();
    // By plain git, past every door of ours.
    let other = a.report("other");
    let key = "ghp_R4nd0mT0kenValue0123456789abcdefABCD";
    a.plant(&other, |issue| {
        issue["later"] = json!({"deep": [{"text": format!("key {key}")}]});
        issue["experiment"]["extra"] = json!({key: "x"});
        issue["comments"] = json!([{"id": "c1", "at": "2026-01-01T00:00:00Z", "text": key}]);
    });
    for words in [&["push"][..], &["push", "--dry-run"], &["share", "scan"]] {
        let (error, code) = a.json_error(words.iter().copied());
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("SECRET_FOUND"), 5),
            "{words:?}"
        );
        let findings = error["findings"].as_array().unwrap();
        let fields: Vec<&str> = findings
            .iter()
            .map(|one| one["field"].as_str().unwrap())
            .collect();
        assert_eq!(findings.len(), 4, "{error}");
        for field in [
            "symptom",
            "a name of a field",
            "later/deep/0/text",
            "comments/c1/text",
        ] {
            assert!(fields.contains(&field), "{fields:?}");
        }
        let said = error.to_string();
        assert!(
            !said.contains("Violet") && !said.contains("R4nd0m"),
            "{said}"
        );
    }
    let ran = a.tw(["push"]);
    assert_eq!(ran.code, 5);
    assert!(
        !ran.err().contains("Violet") && !ran.err().contains("R4nd0m"),
        "{}",
        ran.err()
    );
    assert_eq!(hub.refs(), "");
    assert_eq!(hub.objects(), 0, "not even an object");

    // Put right, it goes; and what was wrong does not go along in any history.
    a.json(["issue", "edit", &id, "--symptom", "it printed something"]);
    a.plant(&other, |issue| {
        issue["later"] = Value::Null;
        issue["experiment"]["extra"] = json!({});
        issue["comments"] = json!([]);
    });
    a.json(["share", "scan"]);
    a.json(["push"]);
    for object in hub.everything() {
        assert!(
            !object.contains("Violet") && !object.contains("R4nd0m"),
            "{object}"
        );
    }
}

#[test]
fn a_secret_in_the_name_of_a_field_stops_the_push() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    let id = a.report("s");
    let secret = "s3cretPw99zQ";
    let url = format!("conn postgres://user:{secret}@db.example.com/x");
    // A heading that was typed before anybody could know.
    let desk = a.dir.join(format!(".timewarp/issues/{id}/experiment.md"));
    let written = std::fs::read_to_string(&desk).unwrap();
    std::fs::write(
        &desk,
        format!("{written}\n## with blue/cow~4711hat\n\ntext\n"),
    )
    .unwrap();
    a.json(["issue", "get", &id]);
    std::fs::write(a.dir.join(".env"), "DB_PASSWORD=blue/cow~4711hat\n").unwrap();
    a.plant(&id, |issue| {
        issue[&url] = json!({"deep": "ghp_R4nd0mT0kenValue0123456789abcdefABCD"});
        issue["later"] = json!({&url: {"password": "hunter2-Violet-77"}});
        issue["experiment"]["extra"][&url] = json!("text");
    });
    let mut allowed = Vec::new();
    let (error, code) = a.json_error(["push"]);
    assert_eq!((error["code"].as_str(), code), (Some("SECRET_FOUND"), 5));
    let findings = error["findings"].as_array().unwrap();
    for one in findings {
        allowed.push(one["fingerprint"].as_str().unwrap().to_owned());
    }
    let rules: Vec<&str> = findings
        .iter()
        .map(|one| one["rule"].as_str().unwrap())
        .collect();
    for rule in ["general", "known-value"] {
        assert!(rules.contains(&rule), "{error}");
    }
    let said = error.to_string() + &a.tw(["push"]).err();
    for hidden in [secret, "blue/cow", "blue~1cow", "Violet", "R4nd0m"] {
        assert!(!said.contains(hidden), "{hidden}: {said}");
    }
    assert_eq!(hub.objects(), 0);
    // To say that a name is none says nothing of what stands under it.
    let values = findings.iter().filter(|one| {
        let field = one["field"].as_str().unwrap();
        field.ends_with("/deep") || field.ends_with("/password")
    });
    let values: Vec<&Value> = values.collect();
    assert_eq!(values.len(), 2, "{error}");
    let names = findings.iter().filter(|one| !values.contains(one));
    let words = names.flat_map(|one| ["--allow-finding", one["fingerprint"].as_str().unwrap()]);
    let words: Vec<&str> = ["push"].into_iter().chain(words).collect();
    assert_eq!(a.json_error(words).0["count"], 2);
    let all = allowed.iter().flat_map(|print| ["--allow-finding", print]);
    a.json(["push"].into_iter().chain(all).collect::<Vec<_>>());
}

#[test]
fn a_secret_that_was_pulled_into_our_side_is_still_looked_for() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("s");
    a.json(["push"]);
    b.json(["pull"]);
    let key = "ghp_R4nd0mT0kenValue0123456789abcdefABCD";
    b.plant(&id, |issue| issue["later"] = json!(key));
    // The pull makes an edit of it; that edit stays here.
    b.json(["pull"]);
    assert_eq!(b.json_error(["push"]).0["code"], "SECRET_FOUND");
    b.plant(&id, |issue| issue["later"] = json!("none"));
    b.json(["pull"]);
    b.json(["push"]);
    for object in hub.everything() {
        assert!(!object.contains("R4nd0m"), "{object}");
    }
}

#[test]
fn what_is_no_secret_can_be_said_to_be_none() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    let id = a.report("s");
    a.plant(&id, |issue| {
        issue["later"] = json!("ghp_R4nd0mT0kenValue0123456789abcdefABCD");
    });
    let error = a.json_error(["push"]).0;
    let print = error["findings"][0]["fingerprint"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        a.json([
            "share",
            "scan",
            "--prompts",
            "none",
            "--allow-finding",
            &print
        ])["scanned"],
        1
    );
    assert_eq!(
        a.json_error(["push", "--allow-finding", "000000000000"]).0["code"],
        "SECRET_FOUND"
    );
    a.json(["push", "--allow-finding", &print]);
    assert!(hub.shared(&id).contains("R4nd0m"));
}

#[test]
fn plain_pushes_transfer_nothing_of_ours() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("s");
    b.report("t");
    b.json(["push"]);
    a.json(["pull"]);
    a.git(["tag", "-a", "-m", "v1", "v1"]);
    hub.git(["update-ref", "-d", REF]);
    a.git(["push", "-q", "--all", "origin"]);
    a.git(["push", "-q", "--tags", "origin"]);
    a.git(["push", "-q", "--follow-tags", "origin", "main"]);
    assert_eq!(hub.refs(), "refs/heads/main\nrefs/tags/v1\n");
    for object in hub.reachable() {
        assert!(!object.contains("timewarp"), "{object}");
    }
    // And what we push brings nothing of the user's along, whatever git is set to.
    a.git(["config", "push.followTags", "true"]);
    a.git(["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    a.git(["tag", "-a", "-m", "v2", "v2"]);
    a.git(["commit", "-q", "--allow-empty", "-m", "unpushed"]);
    let before = hub.git(["rev-parse", "main"]);
    a.json(["push"]);
    assert_eq!(
        hub.refs(),
        format!("refs/heads/main\nrefs/tags/v1\n{REF}\n")
    );
    assert_eq!(hub.git(["rev-parse", "main"]), before);
}

#[test]
fn a_pull_changes_nothing_but_records() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("s");
    a.json(["push"]);
    hub.git(["tag", "a-tag", REF]);
    b.write("a.txt", "mine\n");
    b.git(["config", "remote.origin.tagOpt", "--tags"]);
    b.git(["config", "fetch.prune", "true"]);
    b.git([
        "config",
        "remote.origin.fetch",
        "+refs/*:refs/remotes/origin/*",
    ]);
    let ours = |clone: &Clone_| {
        let all = clone.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
        let others = |line: &&str| {
            !line.starts_with("refs/timewarp/") && !line.starts_with("refs/notes/timewarp/")
        };
        let lines: Vec<String> = all.lines().filter(others).map(str::to_owned).collect();
        (
            lines,
            clone.git(["status", "--porcelain"]),
            clone.git(["config", "--list", "--local"]),
        )
    };
    let before = ours(&b);
    b.json(["pull"]);
    assert_eq!(only(&b).get(..2), Some("i_"));
    assert_eq!(ours(&b), before);
    assert!(!b.dir.join(".git/FETCH_HEAD").exists());
}

#[test]
fn a_branch_serves_where_no_other_ref_is_taken() {
    let hub = Hub::new();
    let (a, b) = (hub.clone_("a"), hub.clone_("b"));
    for clone in [&a, &b] {
        clone.json(["share", "init", "origin", "--as-branch"]);
    }
    a.report("s");
    a.json(["push"]);
    assert_eq!(hub.refs(), "refs/heads/timewarp-shared\n");
    b.json(["pull"]);
    only(&b);
}

#[test]
fn a_remote_that_refuses_is_told_with_its_words() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.report("s");
    hub.hook(
        "pre-receive",
        "#!/bin/sh\necho 'no such refs here' >&2\nexit 1\n",
    );
    let (error, code) = a.json_error(["push"]);
    let message = error["message"].as_str().unwrap();
    assert_eq!((error["code"].as_str(), code), (Some("IO"), 1));
    assert!(
        message.contains("does not take") && message.contains("no such refs here"),
        "{message}"
    );
    a.git(["remote", "set-url", "origin", "/nowhere/at/all"]);
    for verb in ["push", "pull"] {
        let (error, code) = a.json_error([verb]);
        assert_eq!((error["code"].as_str(), code), (Some("IO"), 1), "{error}");
    }
}

#[test]
fn hooks_of_ours_and_of_the_user_let_it_through() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.json(["init", "--git-hooks"]);
    let hook = a.dir.join(".git/hooks/pre-push");
    assert!(hook.exists());
    a.report("s");
    a.json(["push"]);
    assert_eq!(hub.refs(), format!("{REF}\n"));
}

#[test]
fn a_death_in_the_middle_of_a_pull_loses_nothing() {
    for (point, count) in [
        ("refs-locked", 4),
        ("refs-placed", 4),
        ("objects-written", 3),
    ] {
        for nth in 1..=count {
            let hub = Hub::new();
            let (a, b) = hub.two();
            let id = a.report("s");
            let other = a.report("other");
            a.json(["push"]);
            b.json(["pull"]);
            a.json([
                "issue",
                "edit",
                &id,
                "--symptom",
                "a's",
                "--severity",
                "high",
            ]);
            a.json(["issue", "comment", &other, "-m", "hello"]);
            a.json(["push"]);
            b.json(["issue", "edit", &id, "--suspected-cause", "b's"]);
            let died = b
                .command()
                .env("TW_FAIL_POINT", format!("{point}:{nth}"))
                .arg("pull")
                .output()
                .unwrap();
            let _ = died;
            b.json(["pull"]);
            b.json(["push"]);
            a.json(["pull"]);
            for clone in [&a, &b] {
                let issue = clone.json(["issue", "get", &id])["issue"].clone();
                let told = (
                    &issue["symptom"],
                    &issue["severity"],
                    &issue["suspected_cause"],
                );
                assert_eq!(
                    told,
                    (&json!("a's"), &json!("high"), &json!("b's")),
                    "{point}:{nth}"
                );
                let other = clone.json(["issue", "get", &other])["issue"].clone();
                assert_eq!(other["comments"][0]["text"], "hello");
            }
            hub.assert_same(&[&a, &b]);
        }
    }
}

/// Nobody proves who wrote what came, and nothing shows it as written here.
#[test]
fn what_came_is_claimed_wherever_it_is_shown() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    for clone in [&a, &b] {
        clone.json(["share", "init", "origin", "--prompts", "redacted"]);
    }
    let id = a.report_with_chat("zebra hangs", "zebra");
    a.json(["issue", "experiment", &id, "--repro", "feed the zebra"]);
    a.json(["push"]);
    b.report("zebra of my own");
    b.json(["pull"]);
    let claimed = |list: &Value| {
        let all = list.as_array().unwrap().iter();
        let names = all.map(|one| one["claimed_by"].as_str().unwrap_or("-").to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    };
    let log = b.json(["log", "--kind", "issue"]);
    assert_eq!(claimed(&log["entries"]), ["-", "a's"], "{log}");
    let hits = b.json(["search", "zebra", "--in", "issue"]);
    assert_eq!(claimed(&hits["hits"]), ["-", "a's"], "{hits}");
    let of_chat = hits["hits"].as_array().unwrap().iter();
    let mut of_chat = of_chat.filter(|hit| hit["field"] == "chat");
    assert_eq!(of_chat.next().unwrap()["claimed_by"], "a's");
    for verb in ["experiment", "chat"] {
        assert_eq!(b.json(["issue", verb, &id])["claimed_by"], "a's");
        let said = b.tw(["issue", verb, &id]).out();
        assert!(said.starts_with("(claimed by a's)\n"), "{said}");
        assert!(a.json(["issue", verb, &id])["claimed_by"].is_null());
    }
    for words in [
        &["log"][..],
        &["ui"],
        &["search", "zebra hangs", "--in", "issue"],
        &["search", "zebra hangs", "--in", "issue", "--heading"],
    ] {
        let said = b.tw(words).out();
        let of = said
            .lines()
            .filter(|line| line.contains("(claimed by a's)"));
        assert_eq!(of.count(), 1, "{words:?}: {said}");
    }
    let name = format!(".timewarp/issues/{id}/chat.md");
    let desk = std::fs::read_to_string(b.dir.join(name)).unwrap();
    assert!(desk.starts_with("claimed_by: a's\n"), "{desk}");
}
