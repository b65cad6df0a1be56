//! The texts of a report as a JSON document.

use serde_json::Value;

use super::ReportFields;
use crate::error::{Code, Error, Result};
use crate::ops::issues::text_field;
use crate::store::issue::Severity;
use crate::store::records::Json;
use crate::text::foreign_json;

/// Completes the fields that are not given with those of a document.
///
/// # Errors
/// `ISSUE_INVALID`: it is no JSON object, or a field of it is not what it should be.
pub(super) fn complete(fields: &mut ReportFields, bytes: &[u8]) -> Result<()> {
    let json: Json = foreign_json::from_slice(bytes).map_err(|error| {
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
    Ok(())
}

/// The snapshot that a document names.
pub(super) fn snapshot(bytes: &[u8]) -> Option<String> {
    let json: Value = foreign_json::from_slice(bytes).ok()?;
    let named = json.get("snapshot").or_else(|| json.get("snapshot_id"))?;
    named.as_str().map(str::to_owned)
}
