//! Exports as opencode writes them, built by its own rules: no real one is in public.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents::fork::{destination, new_session_id, plan_fork, validate_fork};
use crate::agents::read;
use crate::agents::testing::{cut, prompts, write_fork};
use crate::agents::transcript::{Cut, Detail, Role, Transcript};
use crate::env::Moment;
use crate::error::Code;

const NOW: Moment = Moment(1_778_488_015_042 * 1_000_000);
const SESSION: &str = "ses_6a1b2c3d4e5fAbCdEfGhIjKlMn";

struct Export {
    dir: tempfile::TempDir,
    info: Value,
    messages: Vec<Value>,
    ids: u64,
}

impl Export {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            info: json!({"id": SESSION, "slug": "calm-fox", "projectID": "p", "directory": "/work", "title": "one",
                "parentID": "ses_6a1b2c3d4e5eAAAAAAAAAAAAAA", "version": "1.4.0", "share": {"url": "https://x/s/1"},
                "time": {"created": 1_778_488_000_000_u64, "updated": 1_778_488_009_000_u64}}),
            messages: Vec::new(),
            ids: 0,
        }
    }

    fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!(
            "{kind}_{:012x}AbCdEfGhIjKl{:02}",
            0x019e_1625_0000 + self.ids,
            self.ids % 100
        )
    }

    fn message(&mut self, mut info: Value, parts: Vec<Value>) -> String {
        let id = self.id("msg");
        let begun = 1_778_488_000_000 + self.ids * 1000;
        info["id"] = json!(id);
        info["sessionID"] = json!(SESSION);
        info["time"] = json!({ "created": begun });
        let parts: Vec<Value> = parts
            .into_iter()
            .map(|mut part| {
                part["id"] = json!(self.id("prt"));
                part["sessionID"] = json!(SESSION);
                part["messageID"] = json!(id);
                part
            })
            .collect();
        self.messages.push(json!({"info": info, "parts": parts}));
        id
    }

    fn prompt(&mut self, text: &str) -> String {
        let parts = vec![
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": "Called the Read tool", "synthetic": true}),
        ];
        self.message(
            json!({"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}}),
            parts,
        )
    }

    fn step(&mut self, parent: &str, input: u64, parts: Vec<Value>) -> String {
        let tokens =
            json!({"input": input, "output": 10, "reasoning": 0, "cache": {"read": 5, "write": 1}});
        let info = json!({"role": "assistant", "parentID": parent, "modelID": "m", "providerID": "p", "cost": 0, "tokens": tokens});
        let first = json!({"type": "step-start", "snapshot": "abc"});
        self.message(info, [vec![first], parts].concat())
    }

    fn turn(&mut self, text: &str, input: u64) {
        let prompt = self.prompt(text);
        let file = json!({"type": "file", "id": "prt_019e16250000zzzzzzzzzzzzzz", "sessionID": SESSION, "messageID": "msg_019e16250000zzzzzzzzzzzzzz",
            "mime": "image/png", "url": "data:"});
        let state = json!({"status": "completed", "input": {"sessionID": SESSION, "id": "msg_"}, "output": format!("\"{SESSION}\""),
            "title": "ls", "metadata": {}, "time": {"start": 1, "end": 2}, "attachments": [file]});
        self.step(
            &prompt,
            input,
            vec![json!({"type": "tool", "callID": "call_1", "tool": "bash", "state": state})],
        );
        self.step(
            &prompt,
            input + 100,
            vec![json!({"type": "text", "text": format!("answer to {text}")})],
        );
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(format!("{SESSION}.json"))
    }

    fn text(&self) -> String {
        let document =
            json!({"info": self.info, "messages": self.messages, "todos": [{"content": "x"}]});
        format!("{document:#}\n")
    }

    fn read(&self) -> Transcript {
        std::fs::write(self.path(), self.text()).expect("written");
        read(&self.path(), Detail::Full).expect("readable")
    }

    /// Forks at a cut; the fork's file. The export stays as it is.
    fn fork(&self, transcript: &Transcript, cut: &Cut) -> Option<PathBuf> {
        let plan = plan_fork(transcript, cut).expect("planned")?;
        let id = new_session_id(super::NAME, NOW).expect("random bytes");
        let outcome = write_fork(&plan, &id, &destination(&plan, &id, NOW)).expect("valid");
        assert_eq!(
            std::fs::read_to_string(self.path()).expect("text"),
            self.text()
        );
        let made = read(&outcome.path, Detail::Full).expect("readable");
        assert_eq!(
            (made.session_id.as_str(), made.messages.len()),
            (id.as_str(), outcome.messages_kept)
        );
        assert_eq!(
            outcome.messages_kept + outcome.messages_discarded,
            transcript.messages.len()
        );
        let command = outcome.resume_command.expect("a command");
        assert_eq!(
            command[3..],
            [outcome.path.to_str().expect("text"), id.as_str()]
        );
        Some(outcome.path)
    }
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("JSON")
}

#[test]
fn an_export_is_read_with_its_prompts_steps_and_counts() {
    let mut export = Export::new();
    export.turn("one", 1000);
    export.turn("two", 2000);
    let transcript = export.read();
    assert_eq!(
        (transcript.agent, transcript.session_id.as_str()),
        ("opencode", SESSION)
    );
    assert_eq!(transcript.cwd.as_deref(), Some("/work"));
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let roles: Vec<Role> = transcript
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    let turn = [Role::User, Role::Tool, Role::Assistant];
    assert_eq!(roles, [turn, turn].concat());
    assert_eq!(transcript.prompts[1].tokens.context, Some(1116));
    assert_eq!(transcript.tokens.context, Some(2116));
    assert_eq!(transcript.tokens.total, Some(1016 + 1116 + 2016 + 2116));
    assert_eq!(
        transcript.prompts[0].at.as_deref(),
        Some("2026-05-11T08:26:41.000Z")
    );
    // Compact, on one line, it is the same.
    std::fs::write(
        export.path(),
        export.text().lines().map(str::trim).collect::<String>(),
    )
    .expect("written");
    let again = read(&export.path(), Detail::Full).expect("readable");
    assert_eq!(prompts(&again), ["one", "two"]);
}

#[test]
fn every_cut_is_a_valid_fork_with_ids_of_its_own() {
    let mut export = Export::new();
    for (index, text) in ["one", "two", "three"].into_iter().enumerate() {
        export.turn(text, 1000 * (index as u64 + 1));
    }
    let transcript = export.read();
    assert_eq!(export.fork(&transcript, &cut(&transcript, 0)), None);
    let mut forks = 0;
    for cut in transcript.boundaries.iter().filter(|cut| cut.messages > 0) {
        let fork = json_of(&export.fork(&transcript, cut).expect("something to fork"));
        let messages = fork["messages"].as_array().expect("messages");
        assert_eq!(messages.len(), cut.messages, "a message of each kind");
        forks += 1;
    }
    assert!(forks >= 8, "{forks}");
    let fork = json_of(
        &export
            .fork(&transcript, &cut(&transcript, 2))
            .expect("a fork"),
    );
    let info = fork["info"].as_object().expect("a session");
    assert!(!info.contains_key("share") && !info.contains_key("parentID"));
    assert_eq!(
        (&fork["info"]["title"], &fork["todos"][0]["content"]),
        (&json!("one"), &json!("x"))
    );
    let (prompt, step) = (&fork["messages"][0], &fork["messages"][1]);
    assert_eq!(step["info"]["parentID"], prompt["info"]["id"]);
    // What only looks like an id, or is another's, stays.
    let state = &step["parts"][1]["state"];
    assert_eq!(state["input"], json!({"sessionID": SESSION, "id": "msg_"}));
    assert_eq!(state["output"], format!("\"{SESSION}\""));
    assert_eq!(state["attachments"][0]["sessionID"], fork["info"]["id"]);
    // A fork can be forked.
    let path = export.dir.path().join("again.json");
    std::fs::write(&path, fork.to_string()).expect("written");
    let again = read(&path, Detail::Full).expect("readable");
    assert_eq!(prompts(&again), ["one", "two"]);
}

#[test]
fn what_opencode_itself_took_back_is_no_part_of_it() {
    let mut export = Export::new();
    export.turn("one", 1000);
    export.turn("two", 2000);
    let id = export.prompt("three");
    export.info["revert"] = json!({"messageID": id, "snapshot": "abc"});
    let transcript = export.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let last = *transcript.boundaries.last().expect("a place");
    let fork = json_of(&export.fork(&transcript, &last).expect("a fork"));
    assert_eq!(fork["info"]["revert"], Value::Null);
    assert_eq!(fork["messages"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_compaction_is_no_prompt_and_its_tail_is_followed() {
    let mut export = Export::new();
    export.turn("one", 1000);
    let tail = export.prompt("two");
    export.step(&tail, 2000, vec![json!({"type": "text", "text": "answer"})]);
    let user =
        json!({"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}});
    let asked = export.message(
        user,
        vec![json!({"type": "compaction", "auto": true, "tail_start_id": tail})],
    );
    let summary = json!({"role": "assistant", "parentID": asked, "summary": true, "tokens": {"input": 50, "output": 5, "cache": {"read": 0, "write": 0}}});
    export.message(summary, vec![json!({"type": "text", "text": "so far"})]);
    export.turn("three", 100);
    let transcript = export.read();
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    assert_eq!(transcript.compactions.len(), 1);
    let fork = json_of(
        &export
            .fork(&transcript, &cut(&transcript, 2))
            .expect("a fork"),
    );
    let messages = fork["messages"].as_array().expect("messages");
    assert_eq!(
        messages.len(),
        7,
        "three of the first turn, two of the second, the compaction and its summary"
    );
    assert_eq!(
        messages[5]["parts"][0]["tail_start_id"],
        messages[3]["info"]["id"]
    );
}

#[test]
fn a_step_whose_call_did_not_end_is_left_out() {
    let mut export = Export::new();
    export.turn("one", 1000);
    let prompt = export.prompt("two");
    let running = json!({"type": "tool", "callID": "c", "tool": "bash", "state": {"status": "running", "input": {}, "time": {"start": 1}}});
    export.step(&prompt, 2000, vec![running]);
    export.turn("three", 3000);
    let transcript = export.read();
    let fork = export
        .fork(&transcript, &cut(&transcript, 2))
        .expect("a fork");
    assert_eq!(json_of(&fork)["messages"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_torn_export_is_not_offered() {
    let mut export = Export::new();
    export.turn("one", 1000);
    export.turn("two", 2000);
    let text = export.text();
    std::fs::write(export.path(), &text[..text.len() - 200]).expect("written");
    let transcript = read(&export.path(), Detail::Full).expect("readable");
    assert!(transcript.skipped > 0);
    let plan = plan_fork(&transcript, &cut(&transcript, 1))
        .expect("planned")
        .expect("a fork");
    let dest = export.dir.path().join("ses_x.json");
    let error = write_fork(&plan, "ses_x", &dest).expect_err("refused");
    assert_eq!(error.code(), Code::VerifyFailed);
    assert!(!dest.exists());
}

#[test]
fn the_validator_refuses_what_an_import_would_drop_or_mix_up() {
    let mut export = Export::new();
    export.turn("one", 1000);
    export.turn("two", 2000);
    let transcript = export.read();
    let fork = export
        .fork(&transcript, &cut(&transcript, 1))
        .expect("a fork");
    let good = std::fs::read_to_string(&fork).expect("text");
    let document = json_of(&fork);
    let old = json_of(&export.path());
    let id = |document: &Value, at: usize| {
        document["messages"][at]["info"]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    let session = document["info"]["id"].as_str().expect("an id");
    for (from, to) in [
        // An id of the original: the import would leave it out.
        (id(&document, 1), id(&old, 1)),
        (id(&document, 1), id(&document, 2)),
        (session.to_owned(), SESSION.to_owned()),
        ("answer to one".to_owned(), "answer to none".to_owned()),
        ("\"completed\"".to_owned(), "\"running\"".to_owned()),
        ("calm-fox".to_owned(), "calm-dog".to_owned()),
        (
            format!("\"parentID\": \"{}\"", id(&document, 0)),
            "\"parentID\": \"msg_x\"".to_owned(),
        ),
        // Another order.
        (id(&document, 2), id(&document, 2).replace("msg_0", "msg_!")),
    ] {
        assert!(good.contains(&from), "{from}");
        std::fs::write(&fork, good.replace(&from, &to)).expect("written");
        let refused = validate_fork(super::NAME, &[&export.path()], &fork);
        assert!(
            refused.is_err_and(|error| error.code() == Code::VerifyFailed),
            "{from} -> {to}"
        );
    }
    std::fs::write(&fork, &good).expect("written");
    let counted = validate_fork(super::NAME, &[&export.path()], &fork).expect("valid");
    assert_eq!((counted.lines, counted.calls), (3, 1));
}

#[test]
fn only_an_id_of_its_own_form_is_asked_for() {
    use crate::agents::Agent as _;
    assert!(super::Opencode.export_command(SESSION).is_some());
    for other in ["", "ses_", "ses_a b", "ses_../x", "--help", "11111111-2222"] {
        assert_eq!(super::Opencode.export_command(other), None, "{other}");
    }
}
