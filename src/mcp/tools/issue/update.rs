//! `tw issue edit` and `tw issue experiment` as a tool.

use super::{severity, severity_words};
use crate::mcp::tools::prelude::*;
use crate::ops::issue::{self, Edit, Experiment, ReportFields, Sections};

/// # Write down what came of an issue
///
/// Changes an issue's texts, or writes sections of its experiment: how to see the problem, what was changed, how that was
/// checked, what came of it. What is not given stays; the record's history keeps what was replaced. Closing an issue is the
/// user's.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which issue: its id or a part of it of four characters or more.
    issue_id: Address,
    /// What was being done.
    task_context: Option<String>,
    /// What went wrong.
    symptom: Option<String>,
    /// When it counts as solved.
    success_criteria: Option<String>,
    /// A guess at why; an empty text clears it.
    #[schemars(length(min = 0))]
    suspected_cause: Option<String>,
    /// The conversation in short; an empty text clears it.
    #[schemars(length(min = 0))]
    chat_summary: Option<String>,
    /// How much it hurts: low is a nuisance, medium costs time, high blocks work.
    #[serde(default)]
    #[schemars(schema_with = "severity_words")]
    severity: Option<String>,
    /// What kind of friction it is, in a word; an empty text clears it.
    #[schemars(length(min = 0))]
    kind: Option<String>,
    /// Experiment: how to see the problem; an empty text clears it.
    #[schemars(length(min = 0))]
    repro: Option<String>,
    /// Experiment: what was changed; an empty text clears it.
    #[schemars(length(min = 0))]
    changes: Option<String>,
    /// Experiment: how that was checked; an empty text clears it.
    #[schemars(length(min = 0))]
    validation: Option<String>,
    /// Experiment: what came of it; an empty text clears it.
    #[schemars(length(min = 0))]
    result: Option<String>,
}

impl Request for Update {
    const NAME: &str = "timewarp_issue_update";
    const OUTPUTS: &[Document] = &[document::<ops::issue::IssueView>("issue edit")];
    const EFFECT: Effect = Effect::Idempotent;
    const QUOTES: Option<&str> = super::QUOTES;

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let issue = String::from(self.issue_id);
        let sections = Sections {
            repro: self.repro,
            changes: self.changes,
            validation: self.validation,
            result: self.result,
        };
        let fields = ReportFields {
            task_context: self.task_context,
            symptom: self.symptom,
            success_criteria: self.success_criteria,
            suspected_cause: self.suspected_cause,
            chat_summary: self.chat_summary,
            verify_command: None,
            severity: severity(self.severity.as_deref()),
            kind: self.kind,
        };
        let has_texts = fields != ReportFields::default();
        if !has_texts && sections.is_empty() {
            return Err(Error::usage("there is nothing to change")
                .hint("give a text of the issue or a section of its experiment"));
        }
        // First what can be refused.
        let mut view = None;
        if has_texts {
            let request = Edit {
                issue: issue.clone(),
                fields,
                ..Edit::default()
            };
            view = Some(issue::edit(ctx, &request)?);
        }
        if !sections.is_empty() {
            let request = Experiment {
                issue: issue.clone(),
                sections,
            };
            issue::experiment(ctx, &request)?;
            view = None;
        }
        let view = match view {
            Some(view) => view,
            None => issue::get(ctx, &issue)?,
        };
        Ok(wire::value(&view))
    }
}
