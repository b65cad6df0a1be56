//! `tw replay`: what was solved once stays solved, and what breaks is opened again with the evidence.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Makes `a.txt` what the instructions of the day say.
const FOLLOW: &str = "cp RULES.md a.txt";

fn report(sandbox: &Sandbox, symptom: &str, verify: &[&str]) -> String {
    let words = [
        "issue",
        "report",
        "--symptom",
        symptom,
        "--task-context",
        "testing",
        "--success-criteria",
        "it is fixed",
    ];
    let words: Vec<&str> = words.iter().chain(verify).copied().collect();
    let reported = sandbox.json(words);
    reported["issue_id"].as_str().unwrap().to_owned()
}

/// Two issues that count as fixed: `a.txt` is to say "fixed", and `b.txt` is to be there.
fn solved() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    sandbox.write("RULES.md", "broken\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "rules"]);
    let check = ["--verify", "test \"$(cat a.txt)\" = fixed"];
    let first = report(&sandbox, "a.txt is wrong", &check);
    sandbox.write("later", "1\n");
    let second = report(&sandbox, "b.txt is missing", &["--verify", "test -e b.txt"]);
    for id in [&first, &second] {
        sandbox.json(["issue", "close", id]);
    }
    (sandbox, first, second)
}

fn replayed(sandbox: &Sandbox, words: &[&str]) -> (Value, i32) {
    let words: Vec<&str> = ["--json"].iter().chain(words).copied().collect();
    let ran = sandbox.tw(&words);
    let document = crate::schema::read(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ran.out(), ran.err()));
    crate::schema::check("replay", &document);
    (document, ran.code)
}

fn of<'a>(document: &'a Value, issue: &str) -> &'a Value {
    let results = document["results"].as_array().unwrap().iter();
    let mut those = results.filter(|result| result["issue_id"] == issue);
    those.next().unwrap_or_else(|| panic!("{document}"))
}

fn status(sandbox: &Sandbox, issue: &str) -> Value {
    sandbox.json(["issue", "get", issue])["issue"]["status"].clone()
}

#[test]
fn every_fixed_issue_is_worked_on_as_it_was_with_the_instructions_of_today() {
    let (sandbox, first, second) = solved();
    let open = report(&sandbox, "still open", &["--verify", "false"]);
    sandbox.write("RULES.md", "fixed\n");
    sandbox.write("a.txt", "in the present\n");
    let before = sandbox.git(["status", "--porcelain"]);
    let (document, code) = replayed(&sandbox, &["replay", "--with", "RULES.md", "--", FOLLOW]);
    assert_eq!((code, &document["ok"]), (1, &json!(true)), "{document}");
    assert_eq!(
        (&document["passed"], &document["failed"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(of(&document, &first)["status"], "passed");
    assert_eq!(of(&document, &second)["status"], "failed");
    assert_eq!(of(&document, &first)["before"], Value::Null);
    let results = document["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["issue_id"] != open));
    // What came along is no part of what the run left.
    let runs = of(&document, &first)["runs"].as_array().unwrap();
    assert_eq!(runs[0]["diff_stat"]["files"], 1, "{document}");
    assert_eq!(sandbox.text("a.txt"), "in the present\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), before);
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    // A first failure says nothing of the fix.
    assert_eq!(status(&sandbox, &second), "fixed");
    let shown = sandbox.json(["replay", "show", "latest"]);
    assert_eq!(shown["results"], document["results"]);
    let id = document["replay_id"].as_str().unwrap();
    let listed = sandbox.json(["replay", "list"]);
    assert_eq!(listed["replays"][0]["replay_id"], id);
    let said = sandbox.ok(["replay", "show", id]);
    assert!(said.contains("1 of 2 issues passed"), "{said}");
    sandbox.json(["replay", "drop", id]);
    assert_eq!(sandbox.json(["replay", "list"])["replays"], json!([]));
}

#[test]
fn a_fix_that_breaks_opens_its_issue_again_with_the_evidence() {
    let (sandbox, first, second) = solved();
    let script = "cp RULES.md a.txt; touch b.txt";
    let run = || replayed(&sandbox, &["replay", "--with", "RULES.md", "--", script]);
    sandbox.write("RULES.md", "fixed\n");
    let (document, code) = run();
    assert_eq!(code, 0, "{document}");
    sandbox.write("RULES.md", "worse\n");
    let (document, code) = run();
    assert_eq!(code, 1);
    let broken = of(&document, &first);
    assert_eq!(
        (&broken["status"], &broken["before"], &broken["reopened"]),
        (&json!("failed"), &json!("passed"), &json!(true))
    );
    assert_eq!(of(&document, &second)["before"], "passed");
    assert_eq!(
        (status(&sandbox, &first), status(&sandbox, &second)),
        (json!("open"), json!("fixed"))
    );
    let issue = sandbox.json(["issue", "get", &first])["issue"].clone();
    let last = issue["runs"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["replay_id"], document["replay_id"]);
    assert_eq!(
        (&last["result"], &issue["resolution"]),
        (&json!("failed"), &Value::Null)
    );
    let comment = issue["comments"][0]["text"].as_str().unwrap();
    assert!(
        comment.contains("opened again") && comment.contains(script),
        "{comment}"
    );
    // It is tried again: a command that is repeated does not pass without it.
    let (again, code) = run();
    assert_eq!((&of(&again, &first)["before"], code), (&json!("failed"), 1));
    // What passed before it broke proves nothing any more.
    let closed = sandbox.json(["issue", "close", &first]);
    assert_eq!(closed["issue"]["resolution"]["proof"], Value::Null);
    let said = closed["notices"].to_string();
    assert!(said.contains("the last check failed"), "{said}");
    // What has come out as before is not written down again, and other commands are compared with their own.
    let (again, _) = run();
    assert_eq!(of(&again, &first)["before"], "failed");
    let after = sandbox.json(["issue", "get", &first])["issue"].clone();
    assert_eq!(after["runs"], issue["runs"]);
    let (other, _) = replayed(&sandbox, &["replay", "--", "true"]);
    assert_eq!(of(&other, &first)["before"], Value::Null);
}

#[test]
fn a_fix_is_opened_again_by_a_replay_with_the_same_files_alone() {
    let (sandbox, first, _) = solved();
    sandbox.write("RULES.md", "fixed\n");
    sandbox.write("more", "m\n");
    let script = "cp RULES.md a.txt";
    let with = |files: &[&str]| {
        let files = files.iter().flat_map(|file| ["--with", file]);
        let words: Vec<&str> = ["replay"]
            .into_iter()
            .chain(files)
            .chain(["--", script])
            .collect();
        replayed(&sandbox, &words).0
    };
    assert_eq!(of(&with(&["RULES.md"]), &first)["status"], "passed");
    // The table compares it all the same: it shows what the rules do.
    let without = with(&[]);
    let result = of(&without, &first);
    assert_eq!(
        (&result["status"], &result["before"], &result["reopened"]),
        (&json!("failed"), &json!("passed"), &json!(false))
    );
    assert_eq!(status(&sandbox, &first), "fixed");
    assert_eq!(of(&with(&["more", "RULES.md"]), &first)["status"], "passed");
    sandbox.write("RULES.md", "worse\n");
    // In whatever order they are named.
    let worse = with(&["RULES.md", "more"]);
    assert_eq!(of(&worse, &first)["reopened"], true);
    assert_eq!(status(&sandbox, &first), "open");
}

/// What was made ready in another way, or had less time, is another replay; the directory in which its words were typed makes no other one.
#[test]
fn a_fix_is_opened_again_by_a_replay_that_was_made_in_the_same_way_alone() {
    let (sandbox, first, _) = solved();
    sandbox.mkdir("sub");
    let now = |rules: &str, dir: &str, words: &[&str]| {
        sandbox.write("RULES.md", format!("{rules}\n"));
        let with = if dir.is_empty() {
            "RULES.md"
        } else {
            "../RULES.md"
        };
        let dir = sandbox.path(dir);
        let before = ["-C", dir.to_str().unwrap(), "replay", "--with", with];
        let words = [&before[..], words, &["--", "cp RULES.md a.txt"]].concat();
        of(&replayed(&sandbox, &words).0, &first).clone()
    };
    let setup = ["--setup", "true"];
    assert_eq!(now("fixed", "", &setup)["status"], "passed");
    for other in [
        &["--setup", "true; true"][..],
        &[],
        &["--timeout", "5m", "--setup", "true"],
    ] {
        let result = now("worse", "", other);
        assert_eq!(
            (&result["status"], &result["reopened"]),
            (&json!("failed"), &json!(false)),
            "{other:?}"
        );
    }
    assert_eq!(status(&sandbox, &first), "fixed");
    let result = now("worse", "sub", &setup);
    assert_eq!(
        (&result["before"], &result["reopened"]),
        (&json!("failed"), &json!(true))
    );
    assert_eq!(status(&sandbox, &first), "open");
}

#[test]
fn one_run_of_several_that_passes_is_enough() {
    let (sandbox, first, _) = solved();
    let counter = sandbox.root().join("counter");
    let script = format!(
        "echo x >>{0}; touch b.txt; [ $(wc -l <{0}) != 2 ] || echo fixed >a.txt",
        counter.display()
    );
    let words = [
        "replay",
        "-n",
        "2",
        "-j",
        "1",
        "--timeout",
        "1m",
        "--setup",
        "true",
        "--",
        &script,
    ];
    let (document, _) = replayed(&sandbox, &words);
    let runs = document["results"].as_array().unwrap();
    assert!(
        runs.iter()
            .all(|result| result["runs"].as_array().unwrap().len() == 2)
    );
    let all: u64 = runs
        .iter()
        .map(|result| result["passes"].as_u64().unwrap())
        .sum();
    assert!((2..=3).contains(&all), "{document}");
    let kept = of(&document, &first)["runs"][0]["status"].clone();
    assert_eq!(of(&document, &first)["status"], kept);
}

#[test]
fn a_check_that_was_not_approved_here_is_an_error_and_the_others_run() {
    let (sandbox, first, second) = solved();
    std::fs::remove_file(sandbox.path(".git/timewarp/approved")).unwrap();
    sandbox.json(["issue", "edit", &second, "--verify", "test -e b.txt"]);
    let (document, code) = replayed(&sandbox, &["replay", "--", "touch b.txt"]);
    assert_eq!(code, 1);
    let refused = of(&document, &first);
    assert_eq!(
        (&refused["status"], &refused["runs"]),
        (&json!("error"), &json!([]))
    );
    assert!(refused["error"].as_str().unwrap().contains("not approved"));
    assert_eq!(refused["before"], Value::Null);
    assert_eq!(of(&document, &second)["status"], "passed");
    let (again, _) = replayed(&sandbox, &["replay", "--", "touch b.txt"]);
    assert_eq!(of(&again, &first)["before"], "error");
}

#[test]
fn a_fix_that_broke_while_its_check_could_not_run_opens_its_issue_again() {
    let (sandbox, first, _) = solved();
    let run = |file: &str| {
        sandbox.write("RULES.md", file);
        let words = ["replay", "--with", "RULES.md", "--", "cp RULES.md a.txt"];
        of(&replayed(&sandbox, &words).0, &first).clone()
    };
    assert_eq!(run("fixed\n")["status"], "passed");
    let approved = sandbox.path(".git/timewarp/approved");
    let kept = std::fs::read(&approved).unwrap();
    std::fs::remove_file(&approved).unwrap();
    assert_eq!(run("fixed\n")["before"], "passed");
    std::fs::write(&approved, kept).unwrap();
    let broken = run("worse\n");
    assert_eq!(
        (&broken["before"], &broken["reopened"]),
        (&json!("error"), &json!(true))
    );
}

#[test]
fn what_cannot_be_replayed_is_said_before_anything_is_run() {
    let (sandbox, ..) = solved();
    for (words, code) in [
        (&["replay"][..], "USAGE"),
        (&["replay", "--agent", "nobody", "--agent-args=-x"], "USAGE"),
        (
            &["replay", "--with", "nothing", "--", "true"],
            "PATH_NOT_FOUND",
        ),
    ] {
        let (error, _) = sandbox.json_error(words);
        assert_eq!(error["code"], code, "{words:?}");
    }
}

#[test]
fn issues_are_chosen_by_how_they_stand() {
    let (sandbox, first, second) = solved();
    sandbox.json([
        "issue",
        "close",
        &first,
        "--status",
        "duplicate",
        "--of",
        &second,
    ]);
    let open = report(&sandbox, "third", &[]);
    let mut chosen = Vec::new();
    for words in [
        &["replay", "--status", "open", "--", "true"][..],
        &["replay", "--status", "experimenting", "--", "true"],
        &["replay", "--status", "fixed", "--", "touch b.txt"],
        &["replay", "--status", "wontfix", "--", "true"],
        &["replay", "--status", "duplicate", "--", "true"],
        &["replay", "--status", "all", "--", "true"],
    ] {
        let (document, code) = replayed(&sandbox, words);
        let results = document["results"].as_array().unwrap().iter();
        let ids: Vec<String> = results
            .map(|result| result["issue_id"].as_str().unwrap().to_owned())
            .collect();
        chosen.push((ids, code));
    }
    // One without a check is never known to be solved.
    let all = vec![open.clone(), second.clone(), first.clone()];
    let wanted = [
        (vec![open], 1),
        (vec![], 0),
        (vec![second], 0),
        (vec![], 0),
        (vec![first], 1),
        (all, 1),
    ];
    assert_eq!(chosen, wanted);
}

#[test]
fn an_agent_that_cannot_work_is_refused_with_those_that_can() {
    let sandbox = Sandbox::new();
    for name in ["nosuch", "cursor"] {
        for words in [&["replay"][..], &["try"]] {
            let issue = report(&sandbox, name, &["--verify", "true"]);
            let issue = (words == ["try"]).then_some(issue.as_str());
            let all: Vec<&str> = words
                .iter()
                .copied()
                .chain(issue)
                .chain(["--agent", name])
                .collect();
            let (error, code) = sandbox.json_error(&all);
            assert_eq!(
                (error["code"].as_str(), code),
                (Some("USAGE"), 2),
                "{all:?}"
            );
            let hints = error["hints"].to_string();
            let said = "the agents that can are claude, codex, gemini, qwen, kimi, kimi-code, pi, opencode";
            assert!(hints.contains(said), "{hints}");
            // The help names the same.
            let help = sandbox.ok([words, &["--help"]].concat());
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            let named = said.trim_start_matches("the agents that can are ");
            assert!(help.contains(named), "{help}");
        }
    }
}

/// As on a full disk.
#[test]
fn a_replay_is_told_although_it_cannot_be_recorded() {
    let (sandbox, first, second) = solved();
    // What is no file stands where the record would be.
    let script = "touch b.txt; cd $TW_SOURCE/.git/timewarp/replays/*/; rm -f replay.json; mkdir -p replay.json/x";
    let (document, code) = replayed(&sandbox, &["replay", "--", script]);
    assert_eq!(code, 1, "{document}");
    assert_eq!(of(&document, &first)["status"], "failed");
    assert_eq!(of(&document, &second)["status"], "passed");
    let said = document["notices"].to_string();
    for text in ["told only here", "replay.json", "'tw scratch gc'"] {
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn a_setup_whose_time_is_over_says_nothing_of_a_fix() {
    let (sandbox, first, _) = solved();
    let words = ["--timeout", "1s", "--setup", "sleep 60", "--", "true"];
    let (document, code) = replayed(&sandbox, &[&["replay", "-j", "2"][..], &words].concat());
    let result = of(&document, &first);
    assert_eq!((result["status"].as_str(), code), (Some("timeout"), 1));
    assert_eq!(result["runs"][0]["error"], "the setup command timed out");
    let issue = sandbox.json(["issue", "get", &first])["issue"].clone();
    assert_eq!(issue["runs"], json!([]), "{issue}");
}
