//! Show one issue, or its conversation.

use super::{ChatPart, ChatShown, IssueOnDesk, IssueView};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::approval;
use crate::ops::elsewhere::Files;
use crate::ops::issues::{desk, find, load, snapshot_files};
use crate::store::Store;
use crate::store::chat::Chat;
use crate::store::id::IssueId;
use crate::store::issue::Issue;

/// Shows an issue. Edits on its desk are taken in first, and the desk is written.
///
/// # Errors
/// `INVALID_ISSUE_ID`, `ISSUE_NOT_FOUND`, `ISSUE_INVALID`, `CORRUPT_RECORD`, `NEWER_RECORD`.
pub fn get(ctx: &Context<'_>, text: &str) -> Result<IssueView> {
    let store = ctx.store()?;
    let id = find(store, text)?;
    let mut notices = desk::take_in_to_read(ctx, store, id);
    let loaded = load(store, id)?;
    notices.extend(loaded.notices);
    notices.extend(desk::write(ctx, store, id));
    view(ctx, store, loaded.issue, notices)
}

/// Shows an issue as its record has it. The desk is neither looked at nor written.
///
/// # Errors
/// Those of [`get`].
pub fn peek(ctx: &Context<'_>, text: &str) -> Result<IssueView> {
    let store = ctx.store()?;
    let loaded = load(store, find(store, text)?)?;
    view_by(ctx, store, loaded.issue, loaded.notices, approval::shown)
}

/// An issue with its desk and what is known of its verify command, which is remembered as shown.
pub(super) fn view(
    ctx: &Context<'_>,
    store: &Store,
    issue: Issue,
    notices: Vec<String>,
) -> Result<IssueView> {
    view_by(ctx, store, issue, notices, approval::show)
}

/// The same; `name` says what `--allow` takes for the command.
fn view_by(
    ctx: &Context<'_>,
    store: &Store,
    mut issue: Issue,
    notices: Vec<String>,
    name: fn(&Store, &str, Files) -> String,
) -> Result<IssueView> {
    let command = issue.verify_command.as_deref();
    // What cannot be read is said by whoever goes there.
    let files = snapshot_files(store, &issue).unwrap_or(Files::OfHere);
    let verify_approved = match command {
        Some(command) => approval::is_approved(store, command, files)?,
        None => false,
    };
    let verify_hash = command.map(|command| name(store, command, files));
    // A record may come from elsewhere: it does not say what is known here.
    for ours in ["paths", "verify_hash", "verify_approved"] {
        issue.other.shift_remove(ours);
    }
    Ok(IssueView {
        issue_id: issue.id,
        issue: IssueOnDesk {
            paths: desk::paths(ctx, issue.id),
            verify_hash,
            verify_approved,
            issue,
        },
        notices,
    })
}

/// Shows an issue's conversation, or the end of it.
///
/// # Errors
/// Those of [`get`]; `TRANSCRIPT_NOT_FOUND` when the issue has no conversation, with the reason.
pub fn chat(ctx: &Context<'_>, text: &str, part: ChatPart) -> Result<ChatShown> {
    let store = ctx.store()?;
    let id = find(store, text)?;
    let taken_in = desk::take_in_to_read(ctx, store, id);
    let mut shown = stored_chat(store, id, part)?;
    shown.notices.splice(0..0, taken_in);
    shown.notices.extend(desk::write(ctx, store, id));
    Ok(shown)
}

/// Shows an issue's conversation. The desk is neither looked at nor written.
///
/// # Errors
/// Those of [`chat`].
pub fn peek_chat(ctx: &Context<'_>, text: &str) -> Result<ChatShown> {
    let store = ctx.store()?;
    let id = find(store, text)?;
    stored_chat(store, id, ChatPart::default())
}

fn stored_chat(store: &Store, id: IssueId, part: ChatPart) -> Result<ChatShown> {
    let loaded = load(store, id)?;
    let mut notices = loaded.notices;
    let Some((mut chat, settled)) = store.chat(id)? else {
        let reason = loaded.issue.chat_unavailable;
        let reason = reason.unwrap_or_else(|| "none was recorded".to_owned());
        return Err(Error::new(
            Code::TranscriptNotFound,
            format!("chat unavailable: {reason}"),
        )
        .hint(format!(
            "'tw issue edit {id} --transcript FILE' takes it from the agent's session file"
        ))
        .detail("issue_id", id.to_string()));
    };
    notices.extend(settled);
    let total = chat.messages.len();
    if let Some(turns) = part.last {
        chat.messages.drain(..start_of_turn(&chat, turns));
    }
    Ok(ChatShown {
        issue_id: id.to_string(),
        chat,
        claimed_by: loaded.issue.claimed_by,
        total,
        notices,
    })
}

/// Where this many of the last turns begin. A turn begins with what a person said.
fn start_of_turn(chat: &Chat, turns: usize) -> usize {
    let prompts: Vec<usize> = chat
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role == "user")
        .map(|(at, _)| at)
        .collect();
    if turns == 0 {
        return chat.messages.len();
    }
    match prompts.len().checked_sub(turns) {
        Some(first) if first > 0 => prompts.get(first).copied().unwrap_or(0),
        _ => 0,
    }
}
