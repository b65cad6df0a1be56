//! Who may end a stay in the past: over MCP the one who began it, known by the token that travel gave, or one who takes over.
//!
//! Several agents work in one tree. The token keeps one of them from pulling the past away under another one; it is no secret
//! from somebody with a shell, for whom `state.json` is a file like any other. Leaves out the return itself.

use serde::Serialize;

use crate::error::{Code, Error, Result};
use crate::ops::outcome::Returned;
use crate::ops::request::Guard;
use crate::ops::{Context, event_log};
use crate::store::Store;
use crate::store::state::{Mode, State};

/// Whose stay in the past a return ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// The caller's.
    Own,
    /// Somebody else's, and the caller said so.
    AnothersTakenOver,
}

/// Lets a return go on when its caller may. In the present there is nothing to guard.
///
/// # Errors
/// `NOT_APPROVED`.
pub fn check(state: &State, guard: &Guard) -> Result<Stay> {
    let shown = match guard {
        Guard::Unasked => return Ok(Stay::Own),
        Guard::Token(shown) | Guard::TakeOver(shown) => shown,
    };
    if state.mode == Mode::Present || (shown.is_some() && *shown == state.guard_token) {
        return Ok(Stay::Own);
    }
    if matches!(guard, Guard::TakeOver(_)) {
        return Ok(Stay::AnothersTakenOver);
    }
    let message = match shown {
        Some(_) => "the guard token is not the one of this stay in the past",
        None => "the guard token that travel gave is missing",
    };
    Err(Error::new(Code::NotApproved, message)
        .detail("current_snapshot_id", state.current_snapshot_id.clone())
        .detail("entered_at", state.entered_at.clone())
        .hint("'tw return' at the command line needs no token"))
}

/// A line of `log.jsonl`.
#[derive(Serialize)]
struct TakenOver<'a> {
    at: String,
    event: &'static str,
    backup_id: &'a str,
    experiment_id: Option<&'a str>,
}

/// Records that somebody else's stay was ended, and says so.
pub fn record(ctx: &Context<'_>, store: &Store, returned: &Returned) -> Vec<String> {
    let event = TakenOver {
        at: ctx.env.now().rfc3339(),
        event: "return-taken-over",
        backup_id: &returned.backup_id,
        experiment_id: returned.experiment_id.as_deref(),
    };
    let mut notices = vec!["ended a stay in the past that somebody else began".to_owned()];
    // The present is back, and the experiment says it, too: that the log cannot be written is no failure of the return.
    if let Err(error) = event_log::append(&store.dir, &[event]) {
        notices.push(error.message().to_owned());
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_or_a_take_over_ends_a_stay() {
        let past = State {
            mode: Mode::Past,
            guard_token: Some("abc".to_owned()),
            ..State::default()
        };
        let token = |text: &str| Some(text.to_owned());
        let check = |state: &State, guard| check(state, &guard).map_err(|error| error.code());
        assert_eq!(check(&past, Guard::Unasked), Ok(Stay::Own));
        assert_eq!(check(&past, Guard::Token(token("abc"))), Ok(Stay::Own));
        assert_eq!(check(&past, Guard::TakeOver(token("abc"))), Ok(Stay::Own));
        for shown in [None, token("abd"), token("")] {
            let refused = check(&past, Guard::Token(shown.clone()));
            assert_eq!(refused, Err(Code::NotApproved));
            let taken = check(&past, Guard::TakeOver(shown));
            assert_eq!(taken, Ok(Stay::AnothersTakenOver));
        }
        let without = State {
            guard_token: None,
            ..past
        };
        assert_eq!(
            check(&without, Guard::Token(None)),
            Err(Code::NotApproved),
            "a state without a token lets nobody in"
        );
        assert_eq!(
            check(&State::default(), Guard::Token(None)),
            Ok(Stay::Own),
            "in the present the return itself refuses"
        );
    }
}
