//! The tests of `tw` as its users meet it: one binary, one module per command or concern.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests write their fixtures as they please and may fail loudly"
)]

mod cli;
mod golden;
mod layers;
mod outcomes;
mod sandbox;
mod schema;
mod state;
