//! The tools for issues. None takes a command, closes an issue, or reads a conversation that it is told the file of.

mod get;
mod list;
mod report;
mod update;

use schemars::{Schema, SchemaGenerator, json_schema};

pub use get::Get;
pub use list::List;
pub use report::Report;
pub use update::Update;

use crate::store::issue::{Severity, Status};

/// What issues quote.
const QUOTES: Option<&str> = Some("texts of issues, written by people and agents");

fn severity_words(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": Severity::ALL.map(Severity::as_str)})
}

fn severity(word: Option<&str>) -> Option<Severity> {
    word.and_then(Severity::parse)
}

/// Every status, and `all`.
fn status_words(_: &mut SchemaGenerator) -> Schema {
    let words = Status::ALL.into_iter().map(Status::as_str).chain(["all"]);
    json_schema!({"type": "string", "enum": words.collect::<Vec<_>>()})
}
