//! The command lines behind the keys that change something.
//!
//! Each is what a person would type, so that it goes through the command's own checks, and says what the command says. Ids are
//! whole, and texts that somebody typed stand behind `=` or `--`, where they are never taken for an option.

use std::ffi::OsString;

use serde_json::Value;

use super::model::{Dialog, Model, Pin, Plan, Purpose};
use super::update::Effect;
use crate::ops::pathspec::word_of;
use crate::store::address::of_checkpoint;

/// What a report is asked for: the option, and the question.
pub const REPORT: [(&str, &str); 3] = [
    ("--task-context", "What is being done?"),
    ("--symptom", "What goes wrong?"),
    ("--success-criteria", "When does it count as solved?"),
];

const NO_HUNK: &str = "h restores the hunk at the cursor of the diff; Enter opens the diff";

/// Takes a letter that stands for a command.
pub fn on_letter(model: &mut Model, letter: char, effects: &mut Vec<Effect>) {
    let id = match letter {
        'r' | 'h' => model.source(),
        _ => model.snapshot(),
    };
    match (letter, id.map(str::to_owned)) {
        ('r', Some(id)) => effects.push(Effect::DryRun(restore(model, &id))),
        ('h', Some(id)) => match hunk(model, &id) {
            Some(plan) => effects.push(Effect::DryRun(plan)),
            None => model.message = Some(NO_HUNK.to_owned()),
        },
        ('u', _) => effects.push(Effect::DryRun(undo("undo"))),
        ('U', _) => effects.push(Effect::DryRun(undo("redo"))),
        ('b', _) => effects.push(Effect::DryRun(dry(&["return"], &[]))),
        ('i', id) => {
            model.dialog = Some(Dialog::Input(
                Purpose::Report(id, Vec::new()),
                String::new(),
            ));
        }
        // From one past to another, too.
        ('t', Some(id)) => effects.push(Effect::DryRun(dry(&["travel", "--hop", &id], &[]))),
        ('o', Some(id)) => effects.push(Effect::DryRun(plain(&["open", &id]))),
        ('l', Some(id)) => model.dialog = Some(Dialog::Input(Purpose::Label(id), String::new())),
        ('R', Some(_)) => match checkpoint(model) {
            Some(checkpoint) => model.dialog = Some(Dialog::Rewind(checkpoint)),
            None => model.message = Some("there is no prompt here to rewind to".to_owned()),
        },
        ('t' | 'r' | 'h' | 'o' | 'l' | 'R', None) if model.entry().is_none() => {
            model.message = Some("nothing is chosen".to_owned());
        }
        ('t' | 'r' | 'h' | 'o' | 'l' | 'R', None) => {
            model.message = Some("an issue has no files of its own; choose a snapshot".to_owned());
        }
        _ => model.message = Some("? shows the keys".to_owned()),
    }
}

/// The checkpoint that the entry belongs to, as `tw rewind` takes it.
fn checkpoint(model: &Model) -> Option<String> {
    let entry = model.entry()?;
    let prompt = entry.prompt.as_ref()?;
    Some(of_checkpoint(
        entry.session_id.as_ref()?,
        prompt.checkpoint_id,
    ))
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Without a dry run of its own: the command line itself is shown.
fn plain(command: &[&str]) -> Plan {
    Plan {
        real: words(command),
        ..Plan::default()
    }
}

/// With `--dry-run` first; `tail` comes behind `--`.
fn dry(command: &[&str], tail: &[OsString]) -> Plan {
    let behind = |mut words: Vec<OsString>| {
        if !tail.is_empty() {
            words.push("--".into());
            words.extend_from_slice(tail);
        }
        words
    };
    let looking = [command, &["--dry-run"]].concat();
    Plan {
        dry: Some(behind(words(&looking))),
        real: behind(words(command)),
        ..Plan::default()
    }
}

/// The whole snapshot, or in the diff the path that the cursor is at.
fn restore(model: &Model, id: &str) -> Plan {
    let path = model.line().and_then(|line| line.path.as_ref());
    let path = path.map(|path| word_of(path));
    dry(&["restore", id], path.as_slice())
}

/// Whether a dry run found that all is as it would be: then there is nothing to ask.
pub fn is_needless(plan: &Plan, document: &Value) -> bool {
    let is_empty = |place| {
        let paths = document.pointer(place).and_then(Value::as_array);
        paths.is_some_and(Vec::is_empty)
    };
    // Other commands change more than files.
    let restores = plan.real.first().is_some_and(|verb| verb == "restore");
    restores && is_empty("/changes/written") && is_empty("/changes/removed")
}

/// The lines of the hunk that the cursor of the diff is in; not where the file is another one by then.
fn hunk(model: &Model, id: &str) -> Option<Plan> {
    let line = model.line()?;
    let (path, (from, to)) = (line.path.as_ref()?, line.hunk?);
    let range = format!("-L{from},{to}");
    Some(Plan {
        pinned: Some(Pin {
            place: "/lines/found",
            option: "--expect=",
        }),
        ..dry(&["restore", id, &range], &[word_of(path)])
    })
}

/// What the dry run named is what is taken back, whatever happens until the question is answered.
fn undo(verb: &str) -> Plan {
    Plan {
        pinned: Some(Pin {
            place: "/level/swap_id",
            option: "",
        }),
        ..dry(&[verb, "--into-past"], &[])
    }
}

/// Back to a checkpoint.
pub fn rewind(checkpoint: &str, part: &str) -> Plan {
    dry(&["rewind", checkpoint, part], &[])
}

/// Gives a snapshot a label.
pub fn label(id: &str, name: &str) -> Plan {
    plain(&["label", "--", id, name])
}

/// Reports an issue.
pub fn report(snapshot: Option<&str>, given: &[String]) -> Plan {
    let mut plan = plain(&["issue", "report"]);
    for ((option, _), text) in REPORT.iter().zip(given) {
        plan.real.push(format!("{option}={text}").into());
    }
    if let Some(id) = snapshot {
        plan.real.push(format!("--snapshot={id}").into());
    }
    plan
}
