//! The texts of a report as a JSON document.

use serde_json::Value;

use super::{IssueOnDesk, ReportFields};
use crate::error::{Code, Error, Result};
use crate::ops::issues::text_field;
use crate::store::issue::Severity;
use crate::store::records::Json;
use crate::text::{foreign_json, listed, shortened};

/// What a report takes from a document.
const TAKEN: &str = "task_context, symptom, success_criteria, suspected_cause, chat_summary, verify_command, severity, kind, snapshot";

/// So many fields that are not known are named.
const NAMED: usize = 5;

/// Completes the fields that are not given with those of a document, where there is one. Answers with a sentence on fields that no issue has.
///
/// # Errors
/// `ISSUE_INVALID`: it is no JSON object, or a field of it is not what it should be.
pub(super) fn complete(fields: &mut ReportFields, bytes: Option<&[u8]>) -> Result<Option<String>> {
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let json = parse(bytes).map_err(|error| {
        Error::new(
            Code::IssueInvalid,
            format!("the report is not a JSON object: {error}"),
        )
        .hint("{\"task_context\": \"…\", \"symptom\": \"…\", \"success_criteria\": \"…\"} is one")
    })?;
    let put = |field: &mut Option<String>, name: &str| -> Result<()> {
        if field.is_none() {
            *field = text_field(&json, name)?;
        }
        Ok(())
    };
    put(&mut fields.task_context, "task_context")?;
    put(&mut fields.symptom, "symptom")?;
    put(&mut fields.success_criteria, "success_criteria")?;
    put(&mut fields.suspected_cause, "suspected_cause")?;
    put(&mut fields.chat_summary, "chat_summary")?;
    put(&mut fields.verify_command, "verify_command")?;
    put(&mut fields.kind, "kind")?;
    if fields.severity.is_none()
        && let Some(word) = text_field(&json, "severity")?
    {
        let severity = Severity::parse(&word).ok_or_else(|| {
            Error::new(
                Code::IssueInvalid,
                format!("'severity' must be low, medium or high, not '{word}'"),
            )
        })?;
        fields.severity = Some(severity);
    }
    Ok(unknown(&json))
}

/// The document; of an answer of 'tw issue get' its issue.
fn parse(bytes: &[u8]) -> serde_json::Result<Json> {
    let mut json: Json = foreign_json::from_slice(bytes)?;
    if json.contains_key("ok")
        && let Some(Value::Object(issue)) = json.get_mut("issue")
    {
        return Ok(std::mem::take(issue));
    }
    Ok(json)
}

/// Says which fields are left out that are none of an issue's: a slip of the pen is not to pass for a report. What an issue has and
/// a report does not take, an issue that is handed on has, too.
fn unknown(json: &Json) -> Option<String> {
    let issue = schemars::schema_for!(IssueOnDesk);
    let of_issue = issue.get("properties").and_then(Value::as_object);
    let is_known =
        |name: &str| name == "snapshot" || of_issue.is_some_and(|fields| fields.contains_key(name));
    let unknown: Vec<String> = json
        .keys()
        .filter(|name| !is_known(name))
        .map(|name| format!("'{}'", shortened(name, 40)))
        .collect();
    if unknown.is_empty() {
        return None;
    }
    let names = listed(unknown.into_iter(), NAMED);
    Some(format!(
        "left out of the document, as no issue has such a field: {names}; a report takes {TAKEN}"
    ))
}

/// The snapshot that a document names.
pub(super) fn snapshot(bytes: &[u8]) -> Option<String> {
    let json = parse(bytes).ok()?;
    let named = json.get("snapshot").or_else(|| json.get("snapshot_id"))?;
    named.as_str().map(str::to_owned)
}
