//! opencode, which keeps its sessions in a database: a rewind by its own export and import. A shell script plays it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use timewarp::agents;
use timewarp::agents::transcript::Detail;

use crate::sandbox::{Ran, Sandbox};

const SESSION: &str = "ses_6a1b2c3d4e5fAbCdEfGhIjKlMn";

/// What opencode does, with a directory for a database.
const OPENCODE: &str = r#"#!/bin/sh
case "$1" in
export)
    echo "Exporting session: $2" >&2
    cat "$HOME/database/$2.json" 2>/dev/null || { echo "Session not found: $2" >&2; exit 1; } ;;
import)
    id=$(basename "$2" .json)
    cp "$2" "$HOME/database/$id.json" && echo "Imported session: $id" ;;
*)
    echo "opencode runs in $PWD with $*" ;;
esac
"#;

struct Talk<'s> {
    sandbox: &'s Sandbox,
    messages: Vec<Value>,
}

impl<'s> Talk<'s> {
    fn new(sandbox: &'s Sandbox) -> Self {
        std::fs::create_dir(sandbox.home().join("database")).unwrap();
        let program = sandbox.root().join("bin/opencode");
        sandbox.program(&program, OPENCODE);
        let talk = Self {
            sandbox,
            messages: Vec::new(),
        };
        let info = json!({"id": SESSION, "directory": sandbox.repo()});
        talk.hook(
            "session.created",
            &json!({"type": "session.created", "properties": {"info": info}}),
        );
        talk
    }

    fn database(&self) -> PathBuf {
        self.sandbox.home().join(format!("database/{SESSION}.json"))
    }

    fn path(&self) -> String {
        let bin = self.sandbox.root().join("bin");
        format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
    }

    fn hook(&self, event: &str, payload: &Value) {
        let mut command = self.sandbox.tw_command();
        command.args(["hook", "opencode", event]);
        let output = command.write_stdin(payload.to_string()).output().unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b""[..]));
    }

    fn id(&self, kind: &str) -> String {
        format!("{kind}_{:012x}AbCdEfGhIjKlMn", self.messages.len())
    }

    fn message(&mut self, mut info: Value, text: &str) {
        let id = self.id("msg");
        // The clock of the tests steps by a minute.
        let at = 1_772_292_600_000 + 60_000 * self.messages.len() as u64;
        info["id"] = json!(id);
        info["sessionID"] = json!(SESSION);
        info["time"] = json!({ "created": at });
        let part = json!({"id": self.id("prt"), "sessionID": SESSION, "messageID": id, "type": "text", "text": text});
        self.messages.push(json!({"info": info, "parts": [part]}));
        let session = json!({"id": SESSION, "directory": self.sandbox.repo(), "title": "t", "version": "1.4.0"});
        let document = json!({"info": session, "messages": self.messages});
        std::fs::write(self.database(), format!("{document:#}\n")).unwrap();
    }

    /// The plugin tells of the prompt before it is in the database; an older one does not tell its id.
    fn turn(&mut self, text: &str, tokens: u64, told: bool) {
        let mut payload =
            json!({"sessionID": SESSION, "directory": self.sandbox.repo(), "prompt": text});
        let prompt = self.id("msg");
        if told {
            payload["messageID"] = json!(prompt);
        }
        self.hook("chat.message", &payload);
        self.message(json!({"role": "user"}), text);
        let tokens = json!({"input": tokens - 10, "output": 10, "cache": {"read": 0, "write": 0}});
        let info = json!({"role": "assistant", "parentID": prompt, "tokens": tokens});
        self.message(info, &format!("answer to {text}"));
    }

    fn tw(&self, args: &[&str]) -> Ran {
        let mut command = self.sandbox.tw_command();
        let command = command.env("PATH", self.path()).args(args);
        command.output().unwrap().into()
    }

    fn json(&self, args: &[&str]) -> Value {
        let ran = self.tw(&[&["--json"], args].concat());
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(ran.code, 0, "{args:?}: {document}");
        crate::schema::check("rewind", &document);
        document
    }
}

/// Three turns; after the first, a shell changes files.
fn three_turns(sandbox: &Sandbox, told: bool) -> Talk<'_> {
    let mut talk = Talk::new(sandbox);
    talk.turn("go on", 1000, told);
    sandbox.write("a.txt", "one\ntwo\n");
    talk.turn("two", 2000, told);
    sandbox.write("a.txt", "spoilt\n");
    talk.turn("go on", 3500, told);
    talk
}

fn exports(sandbox: &Sandbox) -> Vec<String> {
    let entries = std::fs::read_dir(sandbox.path(".git/timewarp/exports")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn prompts(path: &str) -> Vec<String> {
    let read = agents::read(path.as_ref(), Detail::Full).unwrap();
    read.prompts.into_iter().map(|prompt| prompt.text).collect()
}

#[test]
fn a_rewind_forks_its_export_and_the_command_imports_it() {
    for told in [true, false] {
        let sandbox = Sandbox::new();
        let talk = three_turns(&sandbox, told);
        let before = std::fs::read(talk.database()).unwrap();
        let dry = talk.json(&["rewind", "1", "--both", "--dry-run"]);
        assert_eq!(sandbox.text("a.txt"), "spoilt\n");
        let rewound = talk.json(&["rewind", "1", "--both", "--note", "look again"]);
        for field in [
            "messages_discarded",
            "tokens_discarded",
            "original_user_message",
        ] {
            assert_eq!(
                dry["conversation"][field], rewound["conversation"][field],
                "{told} {field}"
            );
        }
        assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
        let part = &rewound["conversation"];
        assert_eq!(
            (&part["messages_discarded"], &part["tokens_discarded"]),
            (&json!(4), &json!(2500))
        );
        assert_eq!(part["original_user_message"], "two");
        assert_eq!(part["note"]["delivery"], "prompt");
        let (id, path) = (
            &part["fork"]["session_id"],
            part["fork"]["path"].as_str().unwrap(),
        );
        let id = id.as_str().unwrap();
        assert!(
            id.starts_with("ses_") && id.len() == SESSION.len() && id != SESSION,
            "{id}"
        );
        assert_eq!(prompts(path), ["go on"]);
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // The command, as a shell takes it.
        let mut shell = sandbox.command("sh");
        let line = part["fork"]["resume_command"].as_str().unwrap();
        let output = shell
            .env("PATH", talk.path())
            .args(["-c", line])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!(
                "Imported session: {id}\nopencode runs in {} with --session {id}\n",
                sandbox.repo().display()
            )
        );
        assert_eq!(exports(&sandbox), Vec::<String>::new());
        // The fork goes on in the database, and can be rewound there.
        talk.hook(
            "chat.message",
            &json!({"sessionID": id, "directory": sandbox.repo(), "prompt": "three"}),
        );
        let again = talk.json(&["rewind", "0", "--conversation", "--session", id]);
        assert_eq!(again["conversation"]["messages_discarded"], 0);
        assert_eq!(
            prompts(again["conversation"]["fork"]["path"].as_str().unwrap()),
            ["go on"]
        );
        assert_eq!(std::fs::read(talk.database()).unwrap(), before);
    }
}

#[test]
fn the_same_prompt_twice_and_points_in_between_are_told_apart() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, true);
    for (number, gone) in [("0", 6), ("2", 2)] {
        let dry = talk.json(&["rewind", number, "--conversation", "--dry-run"]);
        assert_eq!(dry["conversation"]["messages_discarded"], gone, "{number}");
    }
    // By hand, nothing tells the place but the time.
    sandbox.json(["checkpoint", "-m", "by hand", "--session", SESSION]);
    sandbox.wait(3600);
    let mut talk = talk;
    talk.message(json!({"role": "user"}), "later");
    let last = talk.messages.last_mut().unwrap();
    last["info"]["time"]["created"] = json!(1_772_292_600_000_u64 + 86_400_000);
    talk.message(json!({"role": "assistant", "parentID": "x"}), "never");
    let dry = talk.json(&["rewind", "3", "--conversation", "--dry-run"]);
    assert_eq!(dry["conversation"]["messages_discarded"], 2);
}

#[test]
fn exec_imports_and_goes_over_and_undo_names_the_session_before() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, true);
    let ran = talk.tw(&["rewind", "1", "--both", "--exec"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let end = ran
        .out()
        .split("Imported session: ")
        .nth(1)
        .unwrap()
        .to_owned();
    assert!(
        end.contains(&format!(
            "opencode runs in {} with --session ses_",
            sandbox.repo().display()
        )),
        "{end}"
    );
    let undone = sandbox.json(["rewind", "--undo", "--session", SESSION]);
    assert_eq!(
        undone["resume_command"],
        format!("opencode --session {SESSION}")
    );
    assert_eq!(sandbox.text("a.txt"), "spoilt\n");
}

#[test]
fn without_opencode_the_files_go_back_and_it_says_why_not_the_rest() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, true);
    let before = sandbox.state();
    for mode in ["--both", "--conversation"] {
        let (error, code) = sandbox.json_error(["rewind", "1", mode]);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("TRANSCRIPT_NOT_FOUND"), 3)
        );
        let message = error["message"].as_str().unwrap();
        let asked = format!(
            "the conversation is asked for with 'opencode export {SESSION}', which failed: "
        );
        assert!(message.starts_with(&asked), "{message}");
        assert!(error["hint"].as_str().unwrap().contains("--code"));
    }
    before.assert_same(&sandbox.state());
    // It is there, but has forgotten the session.
    std::fs::remove_file(talk.database()).unwrap();
    let ran = talk.tw(&["rewind", "1", "--both"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.err()
            .contains(&format!("which failed: Session not found: {SESSION}\n")),
        "{}",
        ran.err()
    );
    assert_eq!(exports(&sandbox), Vec::<String>::new());
    sandbox.json(["rewind", "1", "--code"]);
    assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
}

#[test]
fn what_was_written_out_goes_when_it_was_read_and_a_fork_when_it_was_imported() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, true);
    talk.json(&["rewind", "1", "--conversation", "--dry-run"]);
    for args in [&["checkpoint", "list"][..], &["checkpoint", "show", "1"]] {
        assert_eq!(talk.tw(args).code, 0, "{args:?}");
    }
    assert_eq!(exports(&sandbox), Vec::<String>::new());
    // What a killed process left goes with the next.
    sandbox.write(
        ".git/timewarp/exports/.s.export-4294967295-1-0.json",
        "left",
    );
    let rewound = talk.json(&["rewind", "1", "--conversation"]);
    let part = &rewound["conversation"];
    assert_eq!(part["transcript"], Value::Null);
    let id = part["fork"]["session_id"].as_str().unwrap();
    assert_eq!(exports(&sandbox), [format!("{id}.json")]);
    let resume = |id: &str| sandbox.json(["session", "resume", id])["resume_command"].clone();
    assert_eq!(resume(id), part["fork"]["resume_command"]);
    // An import that fails takes nothing away.
    let database = sandbox.home().join("database");
    std::fs::rename(&database, sandbox.home().join("away")).unwrap();
    assert_ne!(talk.tw(&["session", "resume", id, "--exec"]).code, 0);
    assert_eq!(exports(&sandbox), [format!("{id}.json")]);
    std::fs::rename(sandbox.home().join("away"), &database).unwrap();
    let ran = talk.tw(&["session", "resume", id, "--exec"]);
    assert!(ran.out().contains("Imported session: "), "{}", ran.out());
    assert_eq!(exports(&sandbox), Vec::<String>::new());
    assert_eq!(resume(id), format!("opencode --session {id}"));
    // The command that was printed still goes on there.
    let line = part["fork"]["resume_command"].as_str().unwrap();
    let mut shell = sandbox.command("sh");
    let output = shell.env("PATH", talk.path()).args(["-c", line]).output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(said.starts_with("opencode runs in "), "{said}");
}

#[test]
fn a_report_has_the_conversation_that_it_writes_out() {
    let sandbox = Sandbox::new();
    let mut talk = Talk::new(&sandbox);
    talk.turn(
        "one, with a secret: ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
        100,
        true,
    );
    let args = [
        "--task-context=t",
        "--symptom=s",
        "--success-criteria=c",
        "--session",
        SESSION,
    ];
    let ran = talk.tw(&[&["--json", "issue", "report"], &args[..]].concat());
    let reported: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let issue = reported["issue_id"].as_str().unwrap();
    let chat = sandbox.json(["issue", "chat", issue]);
    assert_eq!(chat["chat"]["agent"], "opencode", "{chat}");
    let text = chat.to_string();
    assert!(
        text.contains("one, with a secret") && !text.contains("ghp_"),
        "{text}"
    );
    let left = sandbox.path(".git/timewarp/exports");
    assert_eq!(
        std::fs::read_dir(left).unwrap().count(),
        0,
        "what was written out goes"
    );
}

#[test]
fn steps_of_one_second_are_told_apart_by_their_calls() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.checkpoints", "steps"]);
    let mut talk = Talk::new(&sandbox);
    talk.turn("go on", 1000, true);
    // Three requests of one turn; the second makes two calls at once.
    let prompt = talk.id("msg");
    talk.hook("chat.message", &json!({"sessionID": SESSION, "directory": sandbox.repo(), "prompt": "work", "messageID": prompt}));
    talk.message(json!({"role": "user"}), "work");
    for calls in [&["c1"][..], &["c2", "c3"], &["c4"]] {
        talk.message(json!({"role": "assistant", "parentID": prompt}), "");
        let message = talk.messages.last_mut().unwrap();
        // All of it within the same second.
        message["info"]["time"] = json!({"created": 1_772_292_600_000_u64});
        let id = message["info"]["id"].clone();
        for call in calls {
            let part = json!({"id": format!("prt_{call}"), "sessionID": SESSION, "messageID": id, "type": "tool", "callID": call,
                "tool": "bash", "state": {"status": "completed", "input": {"command": call}, "output": format!("did {call}")}});
            message["parts"].as_array_mut().unwrap().push(part);
        }
    }
    let session =
        json!({"id": SESSION, "directory": sandbox.repo(), "title": "t", "version": "1.4.0"});
    let document = json!({"info": session, "messages": talk.messages});
    std::fs::write(talk.database(), format!("{document:#}\n")).unwrap();
    for call in ["c1", "c2", "c3", "c4"] {
        sandbox.write("a.txt", call);
        talk.hook("tool.execute.after", &json!({"sessionID": SESSION, "tool": "bash", "callID": call, "directory": sandbox.repo()}));
    }
    let points = sandbox.json(["checkpoint", "list", "--session", SESSION])["checkpoints"].clone();
    assert_eq!(points.as_array().unwrap().len(), 6);
    // While another call of the same request may be open, the fork ends before the request.
    for (number, calls) in [
        (2, &["c1"][..]),
        (3, &["c1"]),
        (4, &["c1", "c2", "c3"]),
        (5, &["c1", "c2", "c3", "c4"]),
    ] {
        let number = number.to_string();
        let rewound = talk.json(&["rewind", &number, "--conversation", "--session", SESSION]);
        let fork =
            std::fs::read_to_string(rewound["conversation"]["fork"]["path"].as_str().unwrap())
                .unwrap();
        let kept: Vec<&str> = ["c1", "c2", "c3", "c4"]
            .into_iter()
            .filter(|call| fork.contains(&format!("did {call}")))
            .collect();
        assert_eq!(kept, calls, "checkpoint {number}");
    }
}

#[test]
fn a_fork_that_nobody_imported_is_pruned_with_its_session() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, true);
    let rewound = talk.json(&["rewind", "1", "--conversation"]);
    let id = rewound["conversation"]["fork"]["session_id"]
        .as_str()
        .unwrap();
    let prefix = ".git/timewarp/prefixes/old.json";
    sandbox.write("t.jsonl", "{}\n");
    let payload = json!({"session_id": "old", "transcript_path": sandbox.path("t.jsonl"), "prompt": "x", "cwd": sandbox.repo()});
    let mut command = sandbox.tw_command();
    command.args(["hook", "claude", "UserPromptSubmit"]);
    command
        .write_stdin(payload.to_string())
        .output()
        .expect("a hook answers");
    let notice = |dry: bool| {
        let args: &[&str] = if dry {
            &["prune", "--dry-run"]
        } else {
            &["prune"]
        };
        sandbox.json(args)["notices"].to_string()
    };
    sandbox.wait(13 * 24 * 3600);
    assert_eq!(notice(false), "[]");
    assert_eq!(exports(&sandbox), [format!("{id}.json")]);
    assert!(sandbox.exists(prefix));
    sandbox.wait(2 * 24 * 3600);
    assert!(notice(true).contains("would forget 1 fork of conversations"));
    assert_eq!(exports(&sandbox), [format!("{id}.json")]);
    assert!(notice(false).contains("forgot 1 fork of conversations"));
    assert_eq!(exports(&sandbox), Vec::<String>::new());
    assert!(!sandbox.exists(prefix));
}
