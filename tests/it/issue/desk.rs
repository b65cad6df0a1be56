//! What is typed into `issue.json` on the desk: it is in the record after a look, or it stands in the file still.

use serde_json::{Value, json};

use super::{id, ready, report};
use crate::damage::litter;
use crate::sandbox::Sandbox;
use crate::trip::with_stop;

/// Edits the desk's `issue.json`. Gives its text.
fn edited(sandbox: &Sandbox, id: &str, edit: impl FnOnce(&mut Value)) -> String {
    let file = format!(".timewarp/issues/{id}/issue.json");
    let mut json: Value = serde_json::from_str(&sandbox.text(&file)).unwrap();
    edit(&mut json);
    let text = serde_json::to_string_pretty(&json).unwrap();
    sandbox.write(&file, &text);
    text
}

fn on_desk(sandbox: &Sandbox, id: &str) -> String {
    sandbox.text(format!(".timewarp/issues/{id}/issue.json"))
}

#[test]
fn texts_beside_a_name_that_no_issue_has_are_taken_in() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let text = edited(&sandbox, &id, |json| {
        json["symptom"] = json!("it hangs twice");
        json["my_notes"] = json!("an hour of work");
        json["experiment"]["my_plan"] = json!("x");
    });
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["symptom"], "it hangs twice");
    let notices = shown["notices"].to_string();
    assert!(
        notices.contains("has experiment.my_plan, my_notes, which no issue has"),
        "{notices}"
    );
    assert_eq!(on_desk(&sandbox, &id), text, "the file is left as it is");
    // What was taken in once does not come back over a later change.
    sandbox.json(["issue", "edit", &id, "--symptom", "by a command"]);
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["symptom"], "by a command");
    assert!(shown["notices"].to_string().contains("my_notes"));
    assert_eq!(on_desk(&sandbox, &id), text);
    // With the strange names gone the file is tw's again.
    edited(&sandbox, &id, |json| {
        json.as_object_mut().unwrap().remove("my_notes");
        let experiment = json["experiment"].as_object_mut().unwrap();
        experiment.remove("my_plan");
        json["task_context"] = json!("again");
    });
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["task_context"], "again");
    assert!(on_desk(&sandbox, &id).contains("again"));
    assert_eq!(sandbox.json(["issue", "get", &id])["notices"], json!([]));
}

#[test]
fn sections_of_the_experiment_are_taken_in_from_the_json_too() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    edited(&sandbox, &id, |json| {
        json["experiment"]["repro"] = json!(format!("run it twice with {secret}"));
        json["experiment"]["extra"] = json!({"Mine": "also this"});
    });
    let shown = sandbox.json(["issue", "get", &id]);
    let experiment = &shown["issue"]["experiment"];
    let repro = experiment["repro"].as_str().unwrap();
    assert!(
        repro.starts_with("run it twice with ***REDACTED"),
        "{repro}"
    );
    assert_eq!(experiment["extra"], json!({"Mine": "also this"}));
    let replaced =
        format!("issue {id}: secrets were replaced in the texts: 1 github-personal-token");
    assert_eq!(shown["notices"], json!([replaced]));
    let markdown = sandbox.text(format!(".timewarp/issues/{id}/experiment.md"));
    assert!(markdown.contains("run it twice") && markdown.contains("## Mine"));
    // Of one section in both files the history keeps the other.
    edited(&sandbox, &id, |json| {
        json["experiment"]["repro"] = json!("in the json");
        json["experiment"]["extra"] = json!({});
    });
    let edited = markdown.replace(repro, "in the markdown");
    sandbox.write(format!(".timewarp/issues/{id}/experiment.md"), edited);
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["experiment"]["repro"], "in the markdown");
    let history = sandbox.git(["log", "-p", &super::face(&id)]);
    assert!(history.contains("in the json"), "{history}");
}

#[test]
fn a_value_of_another_type_is_named_and_stays_in_the_file() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let text = edited(&sandbox, &id, |json| {
        json["suspected_cause"] = json!(["a long list"]);
        json["experiment"]["result"] = json!(3);
        json["task_context"] = json!("running");
    });
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["task_context"], "running");
    assert_eq!(shown["issue"]["suspected_cause"], Value::Null);
    let notices = shown["notices"].to_string();
    assert!(notices.contains("suspected_cause"), "{notices}");
    assert!(notices.contains("experiment.result"), "{notices}");
    assert_eq!(on_desk(&sandbox, &id), text);
    // An emptied text that a report needs is said, and comes back.
    edited(&sandbox, &id, |json| {
        json["suspected_cause"] = Value::Null;
        json["experiment"]["result"] = json!("");
        json["symptom"] = json!("");
    });
    let shown = sandbox.json(["issue", "get", &id]);
    let notices = shown["notices"].to_string();
    assert!(notices.contains("'symptom' may not be empty"), "{notices}");
    assert!(on_desk(&sandbox, &id).contains("it hangs"));
}

#[test]
fn what_is_saved_while_the_desk_is_written_stays_and_is_taken_in() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let file = format!(".timewarp/issues/{id}/experiment.md");
    let text = sandbox.text(&file);
    let text = text.replace("## Repro\n", "## Repro\n\nhours of work\n");
    // It was looked at, and the first file of the desk is about to be put in place.
    let edit = ["issue", "edit", &id, "--symptom", "another"];
    let said = with_stop(&sandbox, &edit, "replace-known", || {
        sandbox.write(&file, &text);
    });
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(sandbox.text(&file), text, "{said}");
    let notices = said["notices"].to_string();
    assert!(notices.contains("was edited meanwhile"), "{said}");
    let names = std::fs::read_dir(sandbox.path(format!(".timewarp/issues/{id}"))).unwrap();
    assert_eq!(names.count(), 2, "{said}");
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["experiment"]["repro"], "hours of work");
    assert_eq!(shown["issue"]["symptom"], "another");
    assert!(sandbox.text(&file).contains("another"));
    assert_eq!(litter(&sandbox), [""; 0]);
}

/// As most editors and `>` save: the file is emptied, and then written.
#[cfg(target_os = "linux")]
#[test]
fn a_save_that_a_command_meets_halfway_is_whole_afterwards() {
    use std::io::Write;

    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let file = format!(".timewarp/issues/{id}/experiment.md");
    let sections: String = (0..9)
        .map(|nth| format!("\n## Note {nth}\n\ntext\n"))
        .collect();
    let text = sandbox
        .text(&file)
        .replace("## Repro\n", "## Repro\n\nhours of work\n");
    sandbox.write(&file, text.clone() + &sections);
    sandbox.json(["issue", "get", &id]);
    let experiment = || sandbox.json(["issue", "get", &id])["issue"]["experiment"].clone();
    let before = experiment();
    assert_eq!(before["extra"].as_object().unwrap().len(), 9);
    for (nth, args) in [
        &["issue", "get", &id][..],
        &["issue", "list"],
        &["issue", "next"],
        &["issue", "search", "work"],
        &["issue", "comment", &id, "-m", "x"],
        &["issue", "experiment", &id, "--result", "none"],
        &["search", "work", "--in", "issue"],
    ]
    .into_iter()
    .enumerate()
    {
        for written in [0, text.len() + 80] {
            let save = format!("{text}\nsave {nth} {written}\n{sections}");
            let mut saving = std::fs::File::create(sandbox.path(&file)).unwrap();
            saving.write_all(&save.as_bytes()[..written]).unwrap();
            sandbox.json(args);
            saving.write_all(&save.as_bytes()[written..]).unwrap();
            drop(saving);
            assert_eq!(sandbox.text(&file), save, "{args:?}");
            let after = experiment();
            assert_eq!(after["extra"], before["extra"], "{args:?}");
            let result = after["result"].as_str().unwrap();
            assert!(
                result.contains(&format!("save {nth} {written}")),
                "{result}"
            );
        }
    }
    // Opened when all was looked at already.
    let saving = std::cell::RefCell::new(None);
    let edit = ["issue", "edit", &id, "--symptom", "another"];
    let said = with_stop(&sandbox, &edit, "replace-known", || {
        let opened = std::fs::File::options()
            .write(true)
            .open(sandbox.path(&file));
        saving.replace(Some(opened.unwrap()));
    });
    assert!(
        said["notices"].to_string().contains("was edited meanwhile"),
        "{said}"
    );
    let mut saving = saving.take().unwrap();
    saving.set_len(0).unwrap();
    saving
        .write_all((text.clone() + &sections).as_bytes())
        .unwrap();
    drop(saving);
    assert_eq!(experiment()["repro"], "hours of work");
    assert!(sandbox.text(&file).contains("another"));
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn nothing_is_taken_in_from_a_file_that_was_emptied_or_torn() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let file = format!(".timewarp/issues/{id}/experiment.md");
    let text = sandbox.text(&file) + "\n## Mine\n\nhours of work\n";
    sandbox.write(&file, &text);
    let before = sandbox.json(["issue", "get", &id])["issue"]["experiment"].clone();
    assert_eq!(before["extra"]["Mine"], "hours of work");
    for torn in [
        "",
        "# Experiment\n",
        "I found it\n",
        "\0\0\0\0",
        &text[40..],
    ] {
        sandbox.write(&file, torn);
        sandbox.json(["issue", "list"]);
        let shown = sandbox.json(["issue", "get", &id]);
        assert_eq!(shown["issue"]["experiment"], before, "{torn}");
        let notices = shown["notices"].to_string();
        assert!(notices.contains("has lost its first heading"), "{notices}");
        assert_eq!(sandbox.text(&file), torn);
    }
    // Without the file it is written anew.
    sandbox.write(&file, "");
    std::fs::remove_file(sandbox.path(&file)).unwrap();
    assert_eq!(sandbox.json(["issue", "get", &id])["notices"], json!([]));
    assert!(sandbox.text(&file).contains("hours of work"));
    // One that nobody could have written so is called what it is.
    let large = std::fs::File::create(sandbox.path(&file)).unwrap();
    large.set_len(1 << 30).unwrap();
    drop(large);
    let notices = sandbox.json(["issue", "get", &id])["notices"].to_string();
    assert!(notices.contains("is too large for a desk"), "{notices}");
}

#[test]
fn a_file_that_lacks_a_heading_with_a_text_is_no_edit_and_an_emptied_section_is() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let file = format!(".timewarp/issues/{id}/experiment.md");
    let text = sandbox.text(&file);
    let text = text.replace("## Repro\n", "## Repro\n\nhours of work\n");
    let text = text.replace("## Result\n", "## Result\n\nit worked\n") + "\n## Mine\n\nmore\n";
    sandbox.write(&file, &text);
    let experiment = || sandbox.json(["issue", "get", &id])["issue"]["experiment"].clone();
    let before = experiment();
    // Cut in the middle of a text, before each heading that comes then.
    for (until, lost) in [
        ("of work", "'## Result', '## Mine'"),
        ("## Result", "'## Result', '## Mine'"),
        ("worked", "'## Mine'"),
    ] {
        let cut = &text[..text.find(until).unwrap()];
        sandbox.write(&file, cut);
        let shown = sandbox.json(["issue", "get", &id]);
        assert_eq!(shown["issue"]["experiment"], before, "{until}");
        let notices = shown["notices"].to_string();
        let said = format!("has lost {lost}, under which there was a text");
        assert!(notices.contains(&said), "{notices}");
        assert_eq!(sandbox.text(&file), cut);
    }
    // What lacks only headings without a text is an edit, and so is a section without one.
    let emptied = text.replace("## Changes\n", "").replace("it worked\n", "");
    sandbox.write(&file, emptied.replace("\nmore\n", ""));
    let after = experiment();
    assert_eq!(after["repro"], "hours of work");
    assert_eq!(
        (&after["result"], &after["extra"]["Mine"]),
        (&json!(""), &json!(""))
    );
    // Then its heading may go, too; another name is none that was lost.
    let left = sandbox.text(&file).replace("\n## Mine\n", "");
    sandbox.write(&file, &left);
    assert_eq!(experiment()["extra"], json!({}));
    sandbox.write(&file, &(left + "\n## Mine\n\nmore\n"));
    assert_eq!(experiment()["extra"], json!({"Mine": "more"}));
    let renamed = sandbox.text(&file).replace("## Mine", "## Ours");
    sandbox.write(&file, &renamed);
    assert_eq!(experiment()["extra"], json!({"Ours": "more"}));
}

#[test]
fn what_somebody_else_excludes_while_the_desk_is_excluded_stays() {
    let sandbox = ready();
    let mut args = vec!["issue", "report", "--snapshot", "latest"];
    args.extend(super::FIELDS);
    let file = ".git/info/exclude";
    let said = with_stop(&sandbox, &args, "replace-known", || {
        sandbox.write(file, "*.theirs\n");
    });
    assert_eq!(said["ok"], true, "{said}");
    let text = sandbox.text(file);
    assert!(text.starts_with("*.theirs\n# >>> timewarp"), "{text}");
}

#[test]
fn those_who_read_all_issues_take_edits_in_as_well() {
    for (args, at) in [
        (&["issue", "list"][..], "/issues/0/symptom"),
        (&["issue", "next"], "/issues/0/symptom"),
        (&["issue", "search", "needle"], "/issues/0/symptom"),
        (&["search", "needle", "--in", "issue"], "/hits/0/text"),
    ] {
        let sandbox = ready();
        let id = id(&report(&sandbox, &[]));
        edited(&sandbox, &id, |json| json["symptom"] = json!("the needle"));
        let said = sandbox.json(args);
        assert_eq!(
            said.pointer(at),
            Some(&json!("the needle")),
            "{args:?} {said}"
        );
        // Nobody edits it: nobody writes.
        let records = sandbox.git(["for-each-ref", "refs/timewarp/records"]);
        sandbox.json(args);
        assert_eq!(
            sandbox.git(["for-each-ref", "refs/timewarp/records"]),
            records
        );
    }
}

/// As on a file system where nothing may be written: the desk cannot be locked.
#[test]
fn who_reads_an_issue_need_not_be_able_to_take_its_edits_in() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    sandbox.json(["issue", "get", &id]);
    let lock = sandbox.path(".git/timewarp/desk/lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let of_desk = |shown: &Value| shown["notices"].to_string().contains("not taken in");
    for command in ["get", "experiment"] {
        let shown = sandbox.json(["issue", command, &id]);
        assert!(!of_desk(&shown), "{shown}");
    }
    edited(&sandbox, &id, |json| json["symptom"] = json!("edited"));
    let shown = sandbox.json(["issue", "get", &id]);
    assert!(of_desk(&shown), "{shown}");
    assert_eq!(shown["issue"]["symptom"], "it hangs", "{shown}");
    std::fs::remove_dir(&lock).unwrap();
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["symptom"], "edited", "{shown}");
}

#[test]
fn a_dry_run_takes_no_edit_in() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    sandbox.json(["issue", "start", &id]);
    sandbox.write("a.txt", "of the run\n");
    sandbox.json(["return"]);
    edited(&sandbox, &id, |json| json["symptom"] = json!("edited"));
    let refs = || sandbox.git(["for-each-ref"]);
    let before = refs();
    sandbox.json(["issue", "apply", &id, "--dry-run"]);
    sandbox.json(["issue", "start", &id, "--dry-run"]);
    assert_eq!(refs(), before);
    sandbox.json(["issue", "apply", &id]);
    let shown = sandbox.json(["issue", "get", &id]);
    assert_eq!(shown["issue"]["symptom"], "edited", "{shown}");
}

/// As npm packs a directory, and as git sees it in a repository that is made around it later.
#[test]
fn desks_are_hidden_from_those_who_read_ignore_files_alone() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let own = sandbox.path(".timewarp/issues/.gitignore");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "*\n");
    sandbox.remove(".git/info/exclude");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    std::fs::write(&own, "*\n!own\n").unwrap();
    sandbox.json(["issue", "get", &id]);
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "*\n!own\n");
}
