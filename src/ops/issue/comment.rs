//! Say something of an issue.

use super::{Comment, IssueView, get};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::issues::{desk, find, update};
use crate::ops::redaction::Redacting;
use crate::ops::sessions::{self, Via};
use crate::store::id::Tail;
use crate::store::issue;
use crate::store::records::Json;

/// Adds a comment. Its secrets are taken out first.
///
/// # Errors
/// `USAGE` for an empty text; those of [`super::get()`].
pub fn comment(ctx: &Context<'_>, request: &Comment) -> Result<IssueView> {
    if request.text.trim().is_empty() {
        return Err(Error::new(Code::Usage, "a comment cannot be empty")
            .hint("tw issue comment ISSUE -m TEXT"));
    }
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let mut notices = desk::take_in(ctx, store, id)?;
    let caller = sessions::caller(ctx, store, request.session.as_deref(), None)?;
    // Of the last session that was started here nobody knows whether it speaks.
    let caller = caller.filter(|caller| caller.via != Via::State);
    let mut redacting = Redacting::new(ctx);
    let said = issue::Comment {
        id: Tail::random()?.as_str().to_owned(),
        at: ctx.env.now().rfc3339(),
        session_id: caller.as_ref().map(|session| session.session_id.clone()),
        agent: caller.and_then(|session| session.agent),
        text: redacting.text(&request.text),
        claimed_by: None,
        other: Json::new(),
    };
    let ((), issue) = update(ctx, store, id, "comment", |issue| {
        issue.comments.push(said.clone());
        Ok(())
    })?;
    notices.extend(redacting.notice());
    notices.extend(desk::write(ctx, store, id));
    get::view(ctx, store, issue, notices)
}
