//! `tw issue report` as a tool.

use super::{severity, severity_words};
use crate::agents::transcript::Selection;
use crate::mcp::tools::prelude::*;
use crate::ops::issue::{self, ReportFields};

/// # Report an issue
///
/// Reports friction that cost time (a misleading error, a missing script, a flaky test, wrong docs), tied to a snapshot of
/// the state as it is now and with the redacted conversation from the agent's own session file. Then go on with the task. One
/// issue for each problem; never paste secrets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What was being done.
    task_context: String,
    /// What went wrong.
    symptom: String,
    /// When it counts as solved.
    success_criteria: String,
    /// A guess at why.
    suspected_cause: Option<String>,
    /// The conversation in short.
    chat_summary: Option<String>,
    /// How much it hurts: low is a nuisance, medium costs time, high blocks work.
    #[serde(default)]
    #[schemars(schema_with = "severity_words")]
    severity: Option<String>,
    /// What kind of friction it is, in a word: instructions, tools, environment, code, tests, docs, or any other.
    kind: Option<String>,
    /// Tie it to this snapshot instead of the state as it is now.
    snapshot: Option<Address>,
    /// Let 'latest' and times mean snapshots of other worktrees and repositories, too, and those taken in the past.
    #[serde(default)]
    all_worktrees: bool,
    /// Keep only this many of the last turns of the conversation.
    last: Option<usize>,
}

impl Request for Report {
    const NAME: &str = "issue_report";
    const OUTPUTS: &[Document] = &[document::<ops::issue::Reported>("issue report")];
    const EFFECT: Effect = Effect::Adds;
    const QUOTES: Option<&str> = super::QUOTES;

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        ctx.widen_addresses(self.all_worktrees);
        let request = issue::Report {
            fields: ReportFields {
                task_context: Some(self.task_context),
                symptom: Some(self.symptom),
                success_criteria: Some(self.success_criteria),
                suspected_cause: self.suspected_cause,
                chat_summary: self.chat_summary,
                verify_command: None,
                severity: severity(self.severity.as_deref()),
                kind: self.kind,
            },
            snapshot: self.snapshot.map(String::from),
            selection: self.last.map_or(Selection::Whole, Selection::LastTurns),
            ..issue::Report::default()
        };
        Ok(wire::value(&issue::report(ctx, &request)?))
    }
}
