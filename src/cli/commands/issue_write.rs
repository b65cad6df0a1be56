//! `tw issue report`, `edit` and `experiment`: the commands that take texts.

use std::io::Read as _;
use std::path::Path;

use super::{Call, Reply, reply};
use crate::agents::transcript::Selection;
use crate::cli::args::{IssueEdit, IssueExperiment, IssueReport, IssueTexts, SeverityWord};
use crate::cli::editor;
use crate::error::{Result, ResultExt};
use crate::ops::issue::{self, Edit, Experiment, Report, ReportFields, Sections};
use crate::store::issue::Severity;

fn fields(texts: &IssueTexts) -> ReportFields {
    ReportFields {
        task_context: texts.task_context.clone(),
        symptom: texts.symptom.clone(),
        success_criteria: texts.success_criteria.clone(),
        suspected_cause: texts.suspected_cause.clone(),
        chat_summary: texts.chat_summary.clone(),
        verify_command: texts.verify.clone(),
        severity: texts.severity.map(|word| match word {
            SeverityWord::Low => Severity::Low,
            SeverityWord::Medium => Severity::Medium,
            SeverityWord::High => Severity::High,
        }),
    }
}

pub fn report(args: &IssueReport, call: &Call<'_>) -> Reply {
    let mut fields = fields(&args.texts);
    let json = args.from_json.as_deref().map(read).transpose()?;
    if json.is_none() && call.ask.can_ask() {
        editor::complete(&mut fields, call.env)?;
    }
    let selection = match (args.last, args.window) {
        (Some(turns), _) => Selection::LastTurns(turns),
        (None, Some((before, after))) => Selection::Window {
            before,
            after,
            anchor: None,
        },
        (None, None) => Selection::Whole,
    };
    let request = Report {
        trusted: args.texts.verify.is_some(),
        fields,
        json,
        snapshot: args.snapshot.clone(),
        transcript: args.transcript.clone(),
        session: args.session.clone(),
        selection,
    };
    reply(issue::report(&call.open()?, &request))
}

pub fn edit(args: &IssueEdit, call: &Call<'_>) -> Reply {
    let request = Edit {
        issue: args.issue.clone(),
        fields: fields(&args.texts),
        trusted: args.texts.verify.is_some(),
    };
    reply(issue::edit(&call.open()?, &request))
}

pub fn experiment(args: &IssueExperiment, call: &Call<'_>) -> Reply {
    let mut stdin = None;
    let mut text = |given: &Option<String>| -> Result<Option<String>> {
        match given.as_deref() {
            Some("-") => {
                if stdin.is_none() {
                    let bytes = read(Path::new("-"))?;
                    stdin = Some(String::from_utf8_lossy(&bytes).into_owned());
                }
                Ok(stdin.clone())
            }
            given => Ok(given.map(str::to_owned)),
        }
    };
    let sections = Sections {
        repro: text(&args.repro)?,
        changes: text(&args.changes)?,
        validation: text(&args.validation)?,
        result: text(&args.result)?,
    };
    let request = Experiment {
        issue: args.issue.clone(),
        sections,
    };
    reply(issue::experiment(&call.open()?, &request))
}

/// A file, or with `-` standard input.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.context(|| "cannot read standard input")?;
        return Ok(bytes);
    }
    crate::git::regular::read(path).context(|| format!("cannot read '{}'", path.display()))
}
