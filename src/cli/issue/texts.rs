//! The texts of an issue as flags, of `tw issue report` and `edit`.

use clap::ValueEnum;

use crate::cli::complete;
use crate::ops::issue::ReportFields;
use crate::store::issue::Severity;

/// The texts of an issue.
#[derive(Debug, clap::Args)]
pub struct IssueTexts {
    /// What was being done
    #[arg(long, value_name = "TEXT")]
    pub task_context: Option<String>,

    /// What went wrong
    #[arg(long, value_name = "TEXT")]
    pub symptom: Option<String>,

    /// When it counts as solved
    #[arg(long, value_name = "TEXT")]
    pub success_criteria: Option<String>,

    /// A guess at why
    #[arg(long, value_name = "TEXT")]
    pub suspected_cause: Option<String>,

    /// The conversation in short
    #[arg(long, value_name = "TEXT")]
    pub chat_summary: Option<String>,

    /// A shell command that succeeds when it is solved
    ///
    /// Given here it is approved on this machine. One that came with a record from elsewhere is shown and not run. It is redacted as
    /// every text is: let it read a secret from the environment or a file.
    #[arg(long, value_name = "CMD")]
    pub verify: Option<String>,

    /// How much it hurts: low, medium or high
    #[arg(long, value_name = "LEVEL", hide_possible_values = true)]
    pub severity: Option<SeverityWord>,

    /// What kind of friction it is, in a word: instructions, tools, environment, code, tests, docs, or your own
    #[arg(long, value_name = "WORD", add = complete::kinds())]
    pub kind: Option<String>,
}

/// How much an issue hurts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityWord {
    /// A nuisance
    Low,
    /// Costs time
    Medium,
    /// Blocks work
    High,
}

pub fn fields(texts: &IssueTexts) -> ReportFields {
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
        kind: texts.kind.clone(),
    }
}
