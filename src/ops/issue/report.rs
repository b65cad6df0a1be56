//! Report an issue: one ref transaction makes the chat and then the issue, and verifies that their snapshot is there.
//!
//! The issue is tied to the state in which it is reported: to the session's newest snapshot while nothing has changed since,
//! else to a snapshot taken for it. It needs no session.

use super::conversation::{self, Conversation, Source};
use super::verify::changed_by_redaction;
use super::{Captured, Report, ReportFields, Reported, document, get};
use crate::env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs;
use crate::git::objects::NewObjects;
use crate::ops::approval;
use crate::ops::checkpoints;
use crate::ops::issues::desk;
use crate::ops::redaction::Redacting;
use crate::ops::refspecs;
use crate::ops::request::Take;
use crate::ops::sessions::{self, Caller, Via};
use crate::ops::swap::recover;
use crate::ops::{Context, address, snapshots};
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{CHAT_FILE, Experiment, Issue, Severity};
use crate::store::names::{self, Record};
use crate::store::records::{Json, Note};
use crate::store::session::SessionRecord;
use crate::store::state::Mode;
use crate::store::stored::Stored;
use crate::store::trigger::Trigger;

/// What a report cannot be without: the field and its flag.
const REQUIRED: [(&str, &str); 3] = [
    ("task_context", "--task-context"),
    ("symptom", "--symptom"),
    ("success_criteria", "--success-criteria"),
];

/// Reports an issue.
///
/// # Errors
/// `USAGE` names a missing flag, `ISSUE_INVALID` a document that is none, `TRANSCRIPT_NOT_FOUND` a file that was named; what keeps a snapshot from being found or taken.
/// No issue is recorded then.
pub fn report(ctx: &Context<'_>, request: &Report) -> Result<Reported> {
    let (fields, unknown) = complete(request)?;
    check_transcript(ctx, request)?;
    let store = ctx.store()?;
    let recovered = recover::recover_by_itself(ctx, store)?;
    let done = record(ctx, store, request, &fields).map(|mut reported| {
        reported.view.notices.extend(unknown);
        reported
    });
    recovered.tell(done, |reported| &mut reported.view.notices)
}

fn record(
    ctx: &Context<'_>,
    store: &Store,
    request: &Report,
    fields: &ReportFields,
) -> Result<Reported> {
    let mut notices = Vec::new();
    let named = named_session(ctx, store, request.session.as_deref(), &mut notices)?;
    let caller = sessions::caller(ctx, store, named.as_deref(), None)?;
    let record = registered(ctx, caller.as_ref())?;
    let registered = record.as_ref().and_then(|record| record.agent.clone());
    let agent = registered.or_else(|| caller.as_ref()?.agent.clone());
    let snapshot = snapshot(ctx, store, request, (caller.as_ref(), &agent), &mut notices)?;
    let source = Source {
        transcript: request.transcript.as_deref(),
        record,
        caller: caller.as_ref(),
        selection: request.selection,
    };
    let conversation = conversation::capture(ctx, &source);
    let texts = Texts {
        fields,
        author: author(request, (caller, agent), &snapshot, &conversation),
    };
    let mut redacting = Redacting::new(ctx);
    let issue = issue(
        (ctx, store),
        &texts,
        &snapshot,
        &conversation,
        &mut redacting,
    )?;
    notices.extend(redacting.notice());
    let given = fields.verify_command.as_deref();
    notices.extend(changed_by_redaction(given, issue.verify_command.as_deref()));
    if let Some(command) = &issue.verify_command
        && request.is_typed
        && fields.verify_command.as_ref() == Some(command)
    {
        approval::approve_typed(store, command, Some(&snapshot))?;
    }
    write(ctx, store, &issue, &snapshot, &conversation)?;
    notices.extend(refspecs::told_once(ctx, store));
    notices.extend(desk::write(ctx, store, issue.id));
    let chat = match conversation {
        Conversation::Found(found) => {
            notices.extend(found.caveat);
            Some(Captured {
                messages: found.chat.messages.len(),
                found_by: Some(found.found_by),
            })
        }
        Conversation::Unavailable(reason) => {
            notices.push(format!("chat unavailable: {reason}"));
            None
        }
    };
    Ok(Reported {
        view: get::view(ctx, store, issue, notices)?,
        chat,
        in_past: store.dir.state()?.mode == Mode::Past,
    })
}

/// The session that a word names; of one that was never heard of it is the id.
pub(super) fn named_session(
    ctx: &Context<'_>,
    store: &Store,
    word: Option<&str>,
    notices: &mut Vec<String>,
) -> Result<Option<String>> {
    let Some(word) = word else {
        return Ok(None);
    };
    let session = checkpoints::known_or_new(ctx, store, word)?;
    if session != word {
        notices.push(format!("session '{word}' is {session}"));
    }
    Ok(Some(session))
}

/// What the register knows of the session that reports.
fn registered(ctx: &Context<'_>, caller: Option<&Caller>) -> Result<Option<SessionRecord>> {
    match caller {
        Some(caller) => ctx.sessions().get(&caller.session_id),
        None => Ok(None),
    }
}

/// A file that was named has to be there. What is found without one is another matter: the issue is recorded all the same.
fn check_transcript(ctx: &Context<'_>, request: &Report) -> Result<()> {
    let Some(path) = &request.transcript else {
        return Ok(());
    };
    match fs::is_there(&ctx.cwd.join(path)) {
        Ok(false) => Err(Error::new(
            Code::TranscriptNotFound,
            format!("'{}' is not there", path.display()),
        )),
        // What keeps it from being looked at is told by who reads it.
        Ok(true) | Err(_) => Ok(()),
    }
}

/// What the report says, and whose it is.
struct Texts<'a> {
    fields: &'a ReportFields,
    author: Author,
}

/// The session that reports, and its agent, as far as they are known.
struct Author {
    session_id: Option<String>,
    agent: Option<String>,
}

/// The caller, be it the last session that was started here; where none is known, whose conversation it is; then whose snapshot was
/// named. One that was only taken again, since nothing has changed, may be another session's. A conversation that was named tells more
/// than which session was started last.
fn author(
    request: &Report,
    (caller, agent): (Option<Caller>, Option<String>),
    snapshot: &Stored,
    conversation: &Conversation,
) -> Author {
    let chat = match conversation {
        Conversation::Found(found) => Some(&found.chat),
        Conversation::Unavailable(_) => None,
    };
    let is_told =
        request.transcript.is_some() && chat.is_some_and(|chat| chat.session_id.is_some());
    let is_guess = |caller: &Caller| is_told && caller.via == Via::State;
    let (caller, agent) = match caller {
        Some(caller) if is_guess(&caller) => (None, None),
        caller => (caller, agent),
    };
    let is_named = named_snapshot(request).is_some();
    let of_snapshot = &snapshot.record.session_id;
    let session_id = caller
        .map(|caller| caller.session_id)
        .or_else(|| chat?.session_id.clone())
        .or_else(|| of_snapshot.clone().filter(|_| is_named));
    let is_of_snapshot = session_id.is_some() && session_id == *of_snapshot;
    let agent = agent
        .or_else(|| snapshot.record.agent.clone().filter(|_| is_of_snapshot))
        .or_else(|| chat?.agent.clone());
    Author { session_id, agent }
}

/// The fields of the flags, completed by the document's; all that are required are there. With it, what to say of the document.
fn complete(request: &Report) -> Result<(ReportFields, Option<String>)> {
    let mut fields = request.fields.clone();
    let from_json = request.json.is_some();
    let unknown = document::complete(&mut fields, request.json.as_deref())?;
    for (name, flag) in REQUIRED {
        let value = match name {
            "task_context" => &fields.task_context,
            "symptom" => &fields.symptom,
            _ => &fields.success_criteria,
        };
        if value.as_ref().is_some_and(|text| !text.trim().is_empty()) {
            continue;
        }
        return Err(if from_json {
            Error::new(Code::IssueInvalid, format!("'{name}' is missing"))
                .hint("task_context, symptom and success_criteria are required")
        } else {
            Error::new(Code::Usage, format!("{flag} is missing"))
                .hint("tw issue report --task-context TEXT --symptom TEXT --success-criteria TEXT")
        }
        .detail("field", name));
    }
    fields.kind_word()?;
    Ok((fields, unknown))
}

fn named_snapshot(request: &Report) -> Option<String> {
    let in_json = || document::snapshot(request.json.as_deref()?);
    request.snapshot.clone().or_else(in_json)
}

/// The snapshot that was named; else the newest one that has everything as it is now, the session's before others; else a new one.
fn snapshot(
    ctx: &Context<'_>,
    store: &Store,
    request: &Report,
    (caller, agent): (Option<&Caller>, &Option<String>),
    notices: &mut Vec<String>,
) -> Result<Stored> {
    if let Some(text) = named_snapshot(request) {
        let stored = address::resolve(ctx, store, &text)?;
        store.give_ref(&stored)?;
        return Ok(stored);
    }
    let of_session = caller.and_then(|caller| sessions::snapshot_of(ctx, &caller.session_id).ok());
    ctx.check_workspace_was_meant()
        .map_err(|error| error.hint("or name a snapshot with --snapshot"))?;
    let taken = snapshots::take(
        ctx,
        &Take {
            if_changed: true,
            preferred: of_session.into_iter().collect(),
            trigger: Trigger::IssueReport,
            // It was asked just now.
            force: true,
            session: caller.map(|caller| caller.session_id.clone()),
            agent: agent.clone(),
            ..Take::default()
        },
    )?;
    notices.extend(taken.notices);
    let id = SnapshotId::parse(&taken.snapshot.id).expect("a view shows the id it was made from");
    store.read(&id, taken.snapshot.commit)
}

fn issue(
    (ctx, store): (&Context<'_>, &Store),
    texts: &Texts<'_>,
    snapshot: &Stored,
    conversation: &Conversation,
    redacting: &mut Redacting<'_>,
) -> Result<Issue> {
    let (now, fields) = (ctx.env.now(), texts.fields);
    let (chat, unavailable) = match conversation {
        Conversation::Found(found) => (Some(&found.chat), None),
        Conversation::Unavailable(reason) => (None, Some(reason.as_str())),
    };
    let required = |text: &Option<String>| text.clone().unwrap_or_default();
    let optional = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let success_criteria = redacting.text(&required(&fields.success_criteria));
    Ok(Issue {
        session_id: texts.author.session_id.clone(),
        agent: texts.author.agent.clone(),
        task_context: redacting.text(&required(&fields.task_context)),
        symptom: redacting.text(&required(&fields.symptom)),
        suspected_cause: redacting.optional(optional(&fields.suspected_cause).as_deref()),
        severity: fields.severity.unwrap_or(Severity::Medium),
        kind: redacting.optional(optional(&fields.kind_word()?).as_deref()),
        verify_command: redacting.optional(optional(&fields.verify_command).as_deref()),
        chat_file: chat.map(|_| CHAT_FILE.to_owned()),
        chat_unavailable: redacting.optional(unavailable),
        chat_summary: redacting.optional(optional(&fields.chat_summary).as_deref()),
        experiment: Experiment {
            success_criteria: success_criteria.clone(),
            ..Experiment::default()
        },
        success_criteria,
        seq: Some(store.next_seq()?),
        ..Issue::new(IssueId::generate(now)?, snapshot.id, now.rfc3339())
    })
}

/// Makes the refs: chat first, issue last. A kill in between leaves at most a chat without an issue, which prune removes.
fn write(
    ctx: &Context<'_>,
    store: &Store,
    issue: &Issue,
    snapshot: &Stored,
    conversation: &Conversation,
) -> Result<()> {
    let mut transaction = store.refs.transaction();
    transaction.durable();
    let at = names::snapshot_ref(&snapshot.id);
    transaction.verify(&at, snapshot.commit);
    let mut new = NewObjects::new(store.objects.format());
    let mut stage = |name: &Record, json: Json| {
        let note = Note {
            annotated: snapshot.commit,
            json,
        };
        store.stage_record(
            (&mut transaction, &mut new),
            name,
            &note,
            "issue: report",
            ctx.env.now(),
        )
    };
    if let Conversation::Found(found) = conversation {
        stage(&Record::Chat(issue.id), found.chat.to_json())?;
    }
    env::fail_point("issue-chat-written");
    stage(&Record::Issue(issue.id), issue.to_json())?;
    env::fail_point("issue-written");
    // The snapshot, too: nobody waited for it when it was taken.
    store.wait_for_objects()?;
    // Why it fails where the snapshot has been forgotten meanwhile.
    let or_gone = |error: Error| store.check_stands(snapshot).err().unwrap_or(error);
    store.refs.sync(&at).map_err(or_gone)?;
    transaction
        .commit_with(&store.objects, &new)
        .context(|| format!("cannot record issue {}", issue.id))
        .map_err(or_gone)?;
    env::fail_point("issue-recorded");
    Ok(())
}
