//! Change an issue's texts, and read or write its experiment.

use super::verify::changed_by_redaction;
use super::{Edit, Experiment, ExperimentShown, IssueView, get};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::approval;
use crate::ops::issues::{desk, find, update};
use crate::ops::redaction::Redacting;

/// Changes the texts that are given.
///
/// # Errors
/// `USAGE` when a required text would be empty, or nothing is given; those of [`super::get()`].
pub fn edit(ctx: &Context<'_>, request: &Edit) -> Result<IssueView> {
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let fields = &request.fields;
    let required = [
        ("--task-context", &fields.task_context),
        ("--symptom", &fields.symptom),
        ("--success-criteria", &fields.success_criteria),
    ];
    for (flag, text) in required {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(Error::new(Code::Usage, format!("{flag} cannot be empty")));
        }
    }
    let mut redacting = Redacting::new(ctx);
    let kind = redacting.optional(fields.kind_word()?.as_deref());
    let task_context = redacting.optional(fields.task_context.as_deref());
    let symptom = redacting.optional(fields.symptom.as_deref());
    let success_criteria = redacting.optional(fields.success_criteria.as_deref());
    let optional = [
        &fields.suspected_cause,
        &fields.chat_summary,
        &fields.verify_command,
    ];
    let [suspected_cause, chat_summary, verify_command] =
        optional.map(|text| redacting.optional(text.as_deref()));
    let named = [
        ("task_context", task_context.is_some()),
        ("symptom", symptom.is_some()),
        ("success_criteria", success_criteria.is_some()),
        ("suspected_cause", suspected_cause.is_some()),
        ("chat_summary", chat_summary.is_some()),
        ("verify_command", verify_command.is_some()),
        ("kind", kind.is_some()),
        ("severity", fields.severity.is_some()),
    ];
    let given = named.into_iter().filter(|(_, is_given)| *is_given);
    let given: Vec<&str> = given.map(|(name, _)| name).collect();
    let mut notices = desk::take_in(ctx, store, id)?;
    let ((), issue) = update(ctx, store, id, "edit", |issue| {
        let put = |slot: &mut String, text: &Option<String>| {
            if let Some(text) = text {
                slot.clone_from(text);
            }
        };
        put(&mut issue.task_context, &task_context);
        put(&mut issue.symptom, &symptom);
        put(&mut issue.success_criteria, &success_criteria);
        let put = |slot: &mut Option<String>, text: &Option<String>| {
            if let Some(text) = text {
                *slot = Some(text.clone()).filter(|text| !text.trim().is_empty());
            }
        };
        put(&mut issue.suspected_cause, &suspected_cause);
        put(&mut issue.chat_summary, &chat_summary);
        put(&mut issue.verify_command, &verify_command);
        put(&mut issue.kind, &kind);
        if let Some(severity) = fields.severity {
            issue.severity = severity;
        }
        issue.settle(&given);
        Ok(())
    })?;
    if request.trusted
        && let Some(command) = &issue.verify_command
        && verify_command.as_ref() == Some(command)
        && verify_command == fields.verify_command
    {
        approval::approve(store, command)?;
    }
    let given = fields.verify_command.as_deref();
    notices.extend(changed_by_redaction(given, verify_command.as_deref()));
    notices.extend(desk::write(ctx, store, id));
    get::view(ctx, store, issue, notices)
}

/// Shows the experiment, having written the sections that are given.
///
/// # Errors
/// Those of [`super::get()`].
pub fn experiment(ctx: &Context<'_>, request: &Experiment) -> Result<ExperimentShown> {
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let mut notices = desk::take_in(ctx, store, id)?;
    let issue = if request.sections.is_empty() {
        let loaded = crate::ops::issues::load(store, id)?;
        notices.extend(loaded.notices);
        loaded.issue
    } else {
        let mut redacting = Redacting::new(ctx);
        let sections = &request.sections;
        let given = [
            &sections.repro,
            &sections.changes,
            &sections.validation,
            &sections.result,
        ];
        let [repro, changes, validation, result] =
            given.map(|text| redacting.optional(text.as_deref()));
        let ((), issue) = update(ctx, store, id, "experiment", |issue| {
            let experiment = &mut issue.experiment;
            let slots = [
                (&mut experiment.repro, &repro, "experiment/repro"),
                (&mut experiment.changes, &changes, "experiment/changes"),
                (
                    &mut experiment.validation,
                    &validation,
                    "experiment/validation",
                ),
                (&mut experiment.result, &result, "experiment/result"),
            ];
            let mut given = Vec::new();
            for (slot, text, name) in slots {
                if let Some(text) = text {
                    text.trim_end().clone_into(slot);
                    given.push(name);
                }
            }
            issue.settle(&given);
            Ok(())
        })?;
        issue
    };
    notices.extend(desk::write(ctx, store, id));
    Ok(ExperimentShown {
        issue_id: id.to_string(),
        markdown: desk::render(&issue),
        experiment: issue.experiment,
        file: desk::paths(ctx, id).experiment,
        notices,
    })
}
