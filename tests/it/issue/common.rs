//! What a desk and the record have in common: an edit that was taken in while the file stayed is none a second time.

use serde_json::{Value, json};

use super::{id, ready, report};
use crate::sandbox::Sandbox;

/// An issue on a desk, and a colleague in another worktree.
struct Shared {
    sandbox: Sandbox,
    id: String,
}

impl Shared {
    fn new() -> Self {
        let sandbox = ready();
        sandbox.git(["worktree", "add", "-q", "--detach", "../colleague"]);
        let id = id(&report(&sandbox, &[]));
        Self { sandbox, id }
    }

    fn path(&self, name: &str) -> String {
        format!(".timewarp/issues/{}/{name}", self.id)
    }

    fn text(&self, name: &str) -> String {
        self.sandbox.text(self.path(name))
    }

    /// Replaces a text in a file of the desk.
    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.text(name);
        assert!(text.contains(from), "{from}: {text}");
        self.sandbox
            .write(self.path(name), text.replacen(from, to, 1));
    }

    /// What a command reads, that leaves the desk as it is.
    fn list(&self) -> Value {
        self.sandbox.json(["issue", "list"])
    }

    /// What is read once more, and written to the desk.
    fn get(&self) -> Value {
        self.sandbox.json(["issue", "get", &self.id])
    }

    fn colleague(&self, verb: &str, more: &[&str]) {
        let args = [&["issue", verb, &self.id][..], more].concat();
        let ran = self
            .sandbox
            .tw_in(self.sandbox.root().join("colleague"), args);
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    /// What tw knows of the desk.
    fn base(&self) -> (String, Value) {
        let file = format!(".git/timewarp/desk/{}.json", self.id);
        let json = serde_json::from_str(&self.sandbox.text(&file)).unwrap();
        (file, json)
    }

    /// Lists the issues, and dies at a point.
    fn dies_at(&self, point: &str) {
        let mut command = self.sandbox.tw_command();
        command.env("TW_FAIL_POINT", point).args(["issue", "list"]);
        assert_eq!(command.output().unwrap().status.code(), None, "{point}");
    }
}

#[test]
fn a_text_of_the_desk_that_was_taken_in_does_not_come_back_over_a_newer_one() {
    for args in [
        &["issue", "list"][..],
        &["issue", "next"],
        &["issue", "search", "desk"],
        &["search", "desk", "--in", "issue"],
    ] {
        let desk = Shared::new();
        desk.edit("issue.json", "it hangs", "by the desk");
        desk.edit("experiment.md", "## Repro\n", "## Repro\n\nby the desk\n");
        desk.edit(
            "experiment.md",
            "## Result\n",
            "## Result\n\n## Mine\n\nby the desk\n",
        );
        desk.sandbox.json(args);
        assert!(desk.text("issue.json").contains("by the desk"), "it stays");
        desk.colleague("edit", &["--symptom", "newer", "--task-context", "newer"]);
        desk.colleague("experiment", &["--repro", "newer"]);
        desk.edit("issue.json", "it ends", "by the desk as well");
        desk.edit(
            "experiment.md",
            "## Changes\n",
            "## Changes\n\nby the desk as well\n",
        );
        // Once more, and a third time, without a file being written between.
        desk.sandbox.json(args);
        desk.edit(
            "experiment.md",
            "## Validation\n",
            "## Validation\n\na third\n",
        );
        let shown = desk.get();
        let issue = &shown["issue"];
        let texts = ["symptom", "task_context", "success_criteria"].map(|name| &issue[name]);
        let experiment = ["repro", "changes", "validation"].map(|name| &issue["experiment"][name]);
        assert_eq!(texts, ["newer", "newer", "by the desk as well"], "{args:?}");
        assert_eq!(
            experiment,
            ["newer", "by the desk as well", "a third"],
            "{args:?}"
        );
        assert_eq!(issue["experiment"]["extra"], json!({"Mine": "by the desk"}));
        assert_eq!(shown["notices"], json!([]), "{args:?}");
    }
}

#[test]
fn an_edit_after_one_that_was_taken_in_is_no_conflict_and_may_be_the_way_back() {
    let desk = Shared::new();
    let (json, markdown) = (desk.text("issue.json"), desk.text("experiment.md"));
    for text in ["one", "two"] {
        let before = if text == "one" { "it hangs" } else { "one" };
        desk.edit(
            "issue.json",
            &format!("\"{before}\""),
            &format!("\"{text}\""),
        );
        let said = desk.list();
        assert_eq!(said["notices"], json!([]), "{text}");
        assert_eq!(said["issues"][0]["symptom"], text);
    }
    desk.edit(
        "experiment.md",
        "## Repro\n",
        "## Repro\n\nno\n\n## Mine\n\nno\n",
    );
    assert_eq!(desk.list()["notices"], json!([]));
    // The very bytes that were there at first.
    desk.sandbox.write(desk.path("issue.json"), json);
    let emptied = markdown + "\n## Mine\n";
    desk.sandbox.write(desk.path("experiment.md"), &emptied);
    desk.list();
    let gone = emptied.replace("\n## Mine\n", "");
    desk.sandbox.write(desk.path("experiment.md"), &gone);
    let shown = desk.get();
    assert_eq!(shown["notices"], json!([]));
    assert_eq!(shown["issue"]["symptom"], "it hangs");
    assert_eq!(shown["issue"]["experiment"]["repro"], "");
    assert_eq!(shown["issue"]["experiment"]["extra"], json!({}));
    assert_eq!(desk.text("experiment.md"), gone);
    // What both changed since is said still.
    desk.edit("issue.json", "it hangs", "mine");
    desk.list();
    desk.colleague("edit", &["--symptom", "theirs"]);
    desk.edit("issue.json", "\"mine\"", "\"mine again\"");
    let shown = desk.get();
    assert_eq!(shown["issue"]["symptom"], "mine again");
    let said = "'symptom' was changed here and on the desk";
    assert!(shown["notices"].to_string().contains(said), "{shown}");
}

#[test]
fn an_older_text_on_a_desk_that_was_merged_with_a_newer_one_is_no_edit() {
    let desk = Shared::new();
    desk.colleague("edit", &["--task-context", "newer"]);
    desk.colleague("experiment", &["--result", "newer"]);
    desk.edit("issue.json", "it hangs", "by the desk");
    desk.edit("experiment.md", "## Repro\n", "## Repro\n\nby the desk\n");
    desk.list();
    assert!(desk.text("issue.json").contains("\"building\""));
    desk.edit("issue.json", "it ends", "by the desk as well");
    desk.edit("experiment.md", "by the desk", "by the desk as well");
    let shown = desk.get();
    let issue = &shown["issue"];
    assert_eq!(issue["task_context"], "newer");
    assert_eq!(issue["success_criteria"], "by the desk as well");
    assert_eq!(issue["experiment"]["result"], "newer");
    assert_eq!(issue["experiment"]["repro"], "by the desk as well");
    assert_eq!(shown["notices"], json!([]));
}

#[test]
fn what_the_record_says_in_another_way_is_no_edit_a_second_time() {
    let desk = Shared::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    desk.edit("issue.json", "it hangs", &format!("it hangs with {secret}"));
    let extra = format!("\"extra\": {{\"{secret}\": \"\", \"Mine\": \"x\"}}");
    desk.edit("issue.json", "\"extra\": {}", &extra);
    let typed = format!("## Repro\n\nwith\u{200b} and \\u{{200b}} {secret}\n");
    desk.edit("experiment.md", "## Repro\n", &typed);
    desk.edit("experiment.md", "# Experiment\n", "# Experiment\nabove\n");
    desk.list();
    assert!(!desk.base().1.to_string().contains(&secret));
    desk.colleague("edit", &["--symptom", "newer"]);
    desk.colleague("experiment", &["--repro", "newer"]);
    desk.edit("issue.json", "building", "by the desk");
    desk.edit("experiment.md", "## Result\n", "## Result\n\nby the desk\n");
    desk.list();
    // The line above the headings became a note; without it there is none.
    desk.edit("experiment.md", "above\n", "");
    let shown = desk.get();
    let issue = &shown["issue"];
    assert_eq!(
        (&issue["symptom"], &issue["task_context"]),
        (&json!("newer"), &json!("by the desk"))
    );
    assert_eq!(issue["experiment"]["repro"], "newer");
    assert_eq!(issue["experiment"]["result"], "by the desk");
    let extra = issue["experiment"]["extra"].as_object().unwrap();
    assert_eq!(extra.len(), 2, "{extra:?}");
    assert_eq!(extra["Mine"], "x");
    assert_eq!(shown["notices"], json!([]));
}

#[test]
fn a_file_that_stays_for_what_it_has_besides_gives_its_texts_once() {
    let desk = Shared::new();
    let before = desk.text("issue.json");
    desk.edit("issue.json", "{", "{\"my_notes\": 1,");
    desk.edit("issue.json", "it hangs", "by the desk");
    desk.get();
    desk.colleague("edit", &["--symptom", "newer"]);
    desk.edit("issue.json", "building", "by the desk");
    let issue = desk.get()["issue"].clone();
    assert_eq!(
        (&issue["symptom"], &issue["task_context"]),
        (&json!("newer"), &json!("by the desk"))
    );
    // The very bytes that were there at first say both texts again.
    desk.sandbox.write(desk.path("issue.json"), before);
    let issue = desk.get()["issue"].clone();
    assert_eq!(
        (&issue["symptom"], &issue["task_context"]),
        (&json!("it hangs"), &json!("building"))
    );
}

#[test]
fn who_dies_after_taking_in_leaves_no_edit_that_comes_back() {
    for is_edited_again in [false, true] {
        let desk = Shared::new();
        desk.edit("issue.json", "it hangs", "by the desk");
        desk.edit(
            "experiment.md",
            "## Repro\n",
            "## Repro\n\nby the desk\n\n## Mine\n\nx\n",
        );
        desk.dies_at("desk-taken");
        desk.colleague("edit", &["--symptom", "newer"]);
        desk.colleague("experiment", &["--repro", "newer"]);
        if is_edited_again {
            desk.edit("issue.json", "building", "once more");
            desk.edit("experiment.md", "## Result\n", "## Result\n\nonce more\n");
        }
        let shown = desk.get();
        let issue = &shown["issue"];
        assert_eq!(issue["symptom"], "newer");
        assert_eq!(issue["experiment"]["repro"], "newer");
        assert_eq!(issue["experiment"]["extra"], json!({"Mine": "x"}));
        assert_eq!(issue["task_context"] == "once more", is_edited_again);
        assert_eq!(
            issue["experiment"]["result"] == "once more",
            is_edited_again
        );
        assert_eq!(shown["notices"], json!([]));
    }
}

#[test]
fn who_dies_before_the_edit_is_in_the_record_leaves_it_an_edit() {
    let desk = Shared::new();
    desk.edit("issue.json", "it hangs", "by the desk");
    desk.edit("experiment.md", "## Repro\n", "## Repro\n\nby the desk\n");
    desk.dies_at("object-written");
    desk.colleague("edit", &["--task-context", "newer"]);
    let issue = desk.get()["issue"].clone();
    assert_eq!(
        (&issue["symptom"], &issue["task_context"]),
        (&json!("by the desk"), &json!("newer"))
    );
    assert_eq!(issue["experiment"]["repro"], "by the desk");
}

#[test]
fn who_dies_after_writing_a_file_leaves_no_edit_in_it() {
    let desk = Shared::new();
    desk.colleague("edit", &["--symptom", "newer"]);
    let mut command = desk.sandbox.tw_command();
    // Both files stand; what tw knows of them is still what it knew before.
    command.env("TW_FAIL_POINT", "desk-written");
    command.args(["issue", "get", &desk.id]);
    assert_eq!(command.output().unwrap().status.code(), None);
    assert!(desk.text("issue.json").contains("\"newer\""));
    desk.edit("issue.json", "building", "by the desk");
    desk.colleague("edit", &["--symptom", "newest"]);
    let shown = desk.get();
    let issue = &shown["issue"];
    assert_eq!(
        (&issue["symptom"], &issue["task_context"]),
        (&json!("newest"), &json!("by the desk"))
    );
    assert_eq!(shown["notices"], json!([]));
}

/// An earlier version kept the hashes of what it had taken in, and not what that was.
#[test]
fn a_desk_of_an_earlier_version_gives_no_older_text_either() {
    let desk = Shared::new();
    let (_, before) = desk.base();
    desk.edit("issue.json", "it hangs", "by the desk");
    desk.list();
    let (file, after) = desk.base();
    let mut base = before;
    let hashes = &mut base["files"]["issue.json"]["sha256"];
    let hash = after["files"]["issue.json"]["sha256"][0].clone();
    hashes.as_array_mut().unwrap().push(hash);
    desk.sandbox.write(&file, base.to_string());
    desk.colleague("edit", &["--symptom", "newer"]);
    desk.edit("issue.json", "building", "by the desk");
    let issue = desk.get()["issue"].clone();
    assert_eq!(
        (&issue["symptom"], &issue["task_context"]),
        (&json!("newer"), &json!("by the desk"))
    );
}
