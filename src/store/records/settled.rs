//! What had to be settled in records, until somebody is told: whoever answers for a command tells it, whatever the record was read for.
//!
//! Kept for each thread, since a store stays on the one that opened it. Leaves out what each reader gets beside its record
//! ([`super::Held::notices`]): that is the same, and told once.

use std::cell::RefCell;

thread_local! {
    static SETTLED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a sentence.
pub(super) fn keep(said: &str) {
    SETTLED.with_borrow_mut(|settled| settled.push(said.to_owned()));
}

/// Whether anything was settled that nobody was told yet.
pub fn is_untold() -> bool {
    SETTLED.with_borrow(|settled| !settled.is_empty())
}

/// What was settled since this was asked last, in sentences for people.
pub fn take() -> Vec<String> {
    SETTLED.take()
}
