//! The editor that asks for what a report lacks, on a terminal only.

use std::fmt::Write as _;
use std::process::Command;

use crate::env::Env;
use crate::error::{Error, Result, ResultExt};
use crate::git::fs::{self, Durable};
use crate::ops::issue::ReportFields;

/// What stands in the file: a heading for each text.
const HEADINGS: [&str; 4] = [
    "Task context",
    "Symptom",
    "Success criteria",
    "Suspected cause (optional)",
];

/// Opens an editor when a required text is missing, and takes what is written.
///
/// # Errors
/// When no editor can be started, or it ends with an error.
pub fn complete(fields: &mut ReportFields, env: &Env) -> Result<()> {
    let missing = [
        &fields.task_context,
        &fields.symptom,
        &fields.success_criteria,
    ];
    if missing.iter().all(|text| text.is_some()) {
        return Ok(());
    }
    let name = format!("tw-issue-{}.md", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write_atomic(&path, template(fields).as_bytes(), Durable::No)?;
    let edited = edit(&path, env);
    let text = edited.and_then(|()| {
        crate::git::regular::read_to_string(&path)
            .context(|| format!("cannot read '{}'", path.display()))
    });
    // Also when it was not read: a report may hold what is nobody else's business.
    fs::remove_optional(&path)?;
    take(fields, &text?);
    Ok(())
}

fn edit(path: &std::path::Path, env: &Env) -> Result<()> {
    // In git's own order, and at its end git's default.
    let editor = ["GIT_EDITOR", "VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| env.var(name))
        .map_or_else(|| "vi".into(), Clone::clone);
    // As git does: the shell reads the variable, the file is its argument.
    let mut line = editor.clone();
    line.push(" \"$1\"");
    let status = Command::new("sh")
        .arg("-c")
        .arg(line)
        .arg("sh")
        .arg(path)
        .status();
    let status = status.context(|| format!("cannot start '{}'", editor.display()))?;
    if status.success() {
        return Ok(());
    }
    let message = format!(
        "'{}' ended with an error, nothing was recorded",
        editor.display()
    );
    Err(Error::usage(message))
}

fn slots(fields: &mut ReportFields) -> [&mut Option<String>; 4] {
    [
        &mut fields.task_context,
        &mut fields.symptom,
        &mut fields.success_criteria,
        &mut fields.suspected_cause,
    ]
}

fn template(fields: &mut ReportFields) -> String {
    let mut text = String::new();
    for (heading, slot) in HEADINGS.into_iter().zip(slots(fields)) {
        let body = slot.as_deref().unwrap_or_default();
        let _ = write!(text, "## {heading}\n{body}\n\n");
    }
    text
}

fn take(fields: &mut ReportFields, text: &str) {
    let mut slots = slots(fields);
    let mut bodies = vec![String::new(); slots.len()];
    let mut at = None;
    for line in text.lines() {
        let heading = line.strip_prefix("## ").map(str::trim);
        match heading.and_then(|name| HEADINGS.iter().position(|known| *known == name)) {
            Some(found) => at = Some(found),
            None => {
                if let Some(body) = at.and_then(|at| bodies.get_mut(at)) {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    for (slot, body) in slots.iter_mut().zip(bodies) {
        **slot = Some(body.trim().to_owned()).filter(|body| !body.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_taken_and_the_rest_stays_missing() {
        let mut fields = ReportFields {
            symptom: Some("hangs".to_owned()),
            ..ReportFields::default()
        };
        let text =
            template(&mut fields).replace("## Task context\n", "## Task context\nbuild\n## x\n");
        take(&mut fields, &text);
        assert_eq!(fields.task_context.as_deref(), Some("build\n## x"));
        assert_eq!(fields.symptom.as_deref(), Some("hangs"));
        assert_eq!(fields.success_criteria, None);
    }
}
