//! Change an issue's texts, its snapshot or its conversation, and read or write its experiment.

use super::conversation::{self, Conversation, Source};
use super::report::named_session;
use super::verify::changed_by_redaction;
use super::{Edit, Experiment, ExperimentShown, IssueView, ReportFields, document, get};
use crate::agents::transcript::Selection;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::ops::approval;
use crate::ops::issues::{desk, find, load, move_note, update, update_at};
use crate::ops::redaction::Redacting;
use crate::ops::sessions::{Caller, Via};
use crate::ops::{Context, address};
use crate::store::Store;
use crate::store::chat::Chat;
use crate::store::id::IssueId;
use crate::store::issue::{CHAT_FILE, Issue};
use crate::store::names::Record;
use crate::store::stored::Stored;

/// Changes what is given: texts, the snapshot, the conversation.
///
/// # Errors
/// `USAGE` when a required text would be empty; `ISSUE_INVALID` for a document that is none; `TRANSCRIPT_NOT_FOUND` when the file
/// that was named holds no conversation; those of addresses and of [`super::get()`]. Nothing is changed then.
pub fn edit(ctx: &Context<'_>, request: &Edit) -> Result<IssueView> {
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let (fields, unknown) = given(request)?;
    let mut redacting = Redacting::new(ctx);
    let texts = redacted(&fields, &mut redacting)?;
    let mut notices = Vec::from_iter(unknown);
    let talk = talk(ctx, store, request, &mut notices)?;
    notices.extend(desk::take_in(ctx, store, id)?);
    let loaded = load(store, id)?;
    let named = snapshot_named(&loaded.issue, request);
    // Until the issue holds it nobody prunes it here.
    let _lock = match &named {
        Some(_) => Some(ctx.lock(&store.dir, "issue")?),
        None => None,
    };
    let named = named.map(|text| address::resolve(ctx, store, &text));
    let snapshot = named.transpose()?;
    if let Some(stored) = &snapshot {
        store.give_ref(stored)?;
    }
    let annotated = snapshot
        .as_ref()
        .map_or(loaded.annotated, |stored| stored.commit);
    // The chat first, as in a report.
    if let Some(chat) = talk.as_ref().and_then(|talk| talk.chat.as_ref()) {
        keep_chat(ctx, store, id, annotated, chat)?;
    } else if snapshot.is_some() {
        let moved = |draft: &mut _| move_note(draft, annotated);
        store.update_record(&Record::Chat(id), "issue: edit", ctx.env.now(), moved)?;
    }
    let (said, issue) = update_at(ctx, store, id, ("edit", snapshot.as_ref()), |issue| {
        put_texts(issue, &texts, snapshot.as_ref());
        Ok(talk.as_ref().and_then(|talk| talk.put_into(issue)))
    })?;
    if request.is_typed
        && let Some(command) = &issue.verify_command
        && texts.verify_command.as_ref() == Some(command)
        && texts.verify_command == fields.verify_command
    {
        // Who names another snapshot in the same breath means its files, too.
        approval::approve_typed(store, command, snapshot.as_ref())?;
    }
    notices.extend(said);
    notices.extend(redacting.notice());
    let typed = fields.verify_command.as_deref();
    notices.extend(changed_by_redaction(typed, texts.verify_command.as_deref()));
    notices.extend(desk::write(ctx, store, id));
    get::view(ctx, store, issue, notices)
}

/// The texts of the flags, completed by the document's, and what to say of the document. What a report requires may not be emptied.
fn given(request: &Edit) -> Result<(ReportFields, Option<String>)> {
    let mut fields = request.fields.clone();
    let unknown = document::complete(&mut fields, request.json.as_deref())?;
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
    Ok((fields, unknown))
}

fn redacted(fields: &ReportFields, redacting: &mut Redacting<'_>) -> Result<ReportFields> {
    let kind = fields.kind_word()?;
    let mut text = |text: &Option<String>| redacting.optional(text.as_deref());
    Ok(ReportFields {
        task_context: text(&fields.task_context),
        symptom: text(&fields.symptom),
        success_criteria: text(&fields.success_criteria),
        suspected_cause: text(&fields.suspected_cause),
        chat_summary: text(&fields.chat_summary),
        verify_command: text(&fields.verify_command),
        severity: fields.severity,
        kind: text(&kind),
    })
}

fn put_texts(issue: &mut Issue, texts: &ReportFields, snapshot: Option<&Stored>) {
    let mut given = Vec::new();
    let required = [
        ("task_context", &mut issue.task_context, &texts.task_context),
        ("symptom", &mut issue.symptom, &texts.symptom),
    ];
    for (name, slot, text) in required {
        if let Some(text) = text {
            slot.clone_from(text);
            given.push(name);
        }
    }
    if let Some(text) = &texts.success_criteria {
        issue.set_success_criteria(text);
        given.push("success_criteria");
    }
    let optional = [
        (
            "suspected_cause",
            &mut issue.suspected_cause,
            &texts.suspected_cause,
        ),
        ("chat_summary", &mut issue.chat_summary, &texts.chat_summary),
        (
            "verify_command",
            &mut issue.verify_command,
            &texts.verify_command,
        ),
        ("kind", &mut issue.kind, &texts.kind),
    ];
    for (name, slot, text) in optional {
        if let Some(text) = text {
            *slot = Some(text.clone()).filter(|text| !text.trim().is_empty());
            given.push(name);
        }
    }
    if let Some(severity) = texts.severity {
        issue.severity = severity;
        given.push("severity");
    }
    given.extend(snapshot.map(|_| "snapshot_id"));
    issue.settle(&given);
}

/// The snapshot that was named, unless the document only repeats the issue's.
fn snapshot_named(issue: &Issue, request: &Edit) -> Option<String> {
    let own = issue.snapshot_id.to_string();
    let in_json = || document::snapshot(request.json.as_deref()?).filter(|named| *named != own);
    request.snapshot.clone().or_else(in_json)
}

/// The conversation that takes the place of the issue's, and whose it is.
struct Talk {
    session: Option<String>,
    agent: Option<String>,
    chat: Option<Chat>,
    unavailable: Option<String>,
}

/// Reads it; None where none was asked for.
fn talk(
    ctx: &Context<'_>,
    store: &Store,
    request: &Edit,
    notices: &mut Vec<String>,
) -> Result<Option<Talk>> {
    if request.transcript.is_none() && request.session.is_none() {
        return match request.selection {
            Selection::Whole => Ok(None),
            _ => Err(Error::usage("there is no conversation to choose a part of")
                .hint("name it with --transcript FILE or --session ID")),
        };
    }
    let session = named_session(ctx, store, request.session.as_deref(), notices)?;
    let caller = session.as_ref().map(|session| Caller {
        session_id: session.clone(),
        agent: None,
        via: Via::Flag,
    });
    let record = match &session {
        Some(session) => ctx.sessions().get(session)?,
        None => None,
    };
    let agent = record.as_ref().and_then(|record| record.agent.clone());
    let source = Source {
        transcript: request.transcript.as_deref(),
        caller: caller.as_ref(),
        record,
        selection: request.selection,
    };
    let (chat, unavailable) = match conversation::capture(ctx, &source) {
        Conversation::Found(found) => {
            notices.extend(found.caveat);
            (Some(found.chat), None)
        }
        Conversation::Unavailable(reason) if request.transcript.is_some() => {
            return Err(Error::new(Code::TranscriptNotFound, reason));
        }
        Conversation::Unavailable(reason) => (None, Some(Redacting::new(ctx).text(&reason))),
    };
    Ok(Some(Talk {
        session,
        agent,
        chat,
        unavailable,
    }))
}

impl Talk {
    /// Puts it into the issue. Gives a sentence where there is no conversation.
    fn put_into(&self, issue: &mut Issue) -> Option<String> {
        let chat = self.chat.as_ref();
        let of_chat =
            |field: fn(&Chat) -> &Option<String>| chat.and_then(|chat| field(chat).clone());
        // A conversation that stays is of the session that it was of.
        let stays = chat.is_none() && issue.chat_file.is_some();
        if self.session.is_some() && !stays {
            issue.session_id.clone_from(&self.session);
            issue.agent.clone_from(&self.agent);
        } else if issue.session_id.is_none() {
            issue.session_id = of_chat(|chat| &chat.session_id);
        }
        if let Some(agent) = of_chat(|chat| &chat.agent) {
            issue.agent = Some(agent);
        }
        if chat.is_some() {
            issue.chat_file = Some(CHAT_FILE.to_owned());
            issue.chat_unavailable = None;
            return None;
        }
        let reason = self.unavailable.as_ref()?;
        if issue.chat_file.is_some() {
            return Some(format!("the conversation stays as it was: {reason}"));
        }
        issue.chat_unavailable = Some(reason.clone());
        Some(format!("chat unavailable: {reason}"))
    }
}

/// Writes a conversation in the place of the one that the issue has.
fn keep_chat(
    ctx: &Context<'_>,
    store: &Store,
    id: IssueId,
    annotated: Oid,
    chat: &Chat,
) -> Result<()> {
    let now = ctx.env.now();
    store.change_record(&Record::Chat(id), "issue: edit", now, |draft| {
        move_note(draft, annotated)?;
        draft.put(annotated, chat.to_json())
    })?;
    Ok(())
}

/// Shows the experiment, having written the sections that are given.
///
/// # Errors
/// Those of [`super::get()`].
pub fn experiment(ctx: &Context<'_>, request: &Experiment) -> Result<ExperimentShown> {
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let mut notices = if request.sections.is_empty() {
        desk::take_in_to_read(ctx, store, id)
    } else {
        desk::take_in(ctx, store, id)?
    };
    let issue = if request.sections.is_empty() {
        let loaded = load(store, id)?;
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
        notices.extend(redacting.notice());
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
        claimed_by: issue.claimed_by,
        experiment: issue.experiment,
        file: desk::paths(ctx, id).experiment,
        notices,
    })
}
