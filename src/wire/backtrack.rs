//! Outcomes of backtrack, in JSON.

use serde::Serialize;

use super::Document;
use crate::ops::backtrack::{Cancelled, Scheduled, Shown, Taken};
use crate::store::backtrack::Pending;

/// A message, as it waits.
#[derive(Serialize)]
struct Message<'a> {
    session_id: &'a str,
    checkpoint_id: i64,
    of: &'static str,
    note: &'a str,
    rationale: Option<&'a str>,
    created_at: &'a str,
}

impl<'a> From<&'a Pending> for Message<'a> {
    fn from(pending: &'a Pending) -> Self {
        Self {
            session_id: &pending.session_id,
            checkpoint_id: pending.checkpoint_id,
            of: pending.of.as_str(),
            note: &pending.note,
            rationale: pending.rationale.as_deref(),
            created_at: &pending.created_at,
        }
    }
}

#[derive(Serialize)]
struct Fields<'a> {
    backtrack: Option<Message<'a>>,
}

impl<'a> From<Option<&'a Pending>> for Fields<'a> {
    fn from(pending: Option<&'a Pending>) -> Self {
        Self {
            backtrack: pending.map(Into::into),
        }
    }
}

impl Document for Scheduled {
    fn fields(&self) -> impl Serialize + '_ {
        Fields::from(Some(&self.pending))
    }
}

impl Document for Taken {
    fn fields(&self) -> impl Serialize + '_ {
        Fields::from(self.pending.as_ref())
    }
}

impl Document for Shown {
    fn fields(&self) -> impl Serialize + '_ {
        Fields::from(self.pending.as_ref())
    }
}

#[derive(Serialize)]
struct CancelFields<'a> {
    #[serde(flatten)]
    message: Fields<'a>,
    cancelled: bool,
    notices: &'a [String],
}

impl Document for Cancelled {
    fn fields(&self) -> impl Serialize + '_ {
        CancelFields {
            message: self.pending.as_ref().into(),
            cancelled: self.pending.is_some() || !self.notices.is_empty(),
            notices: &self.notices,
        }
    }
}
