//! `tw redact`.

use std::path::Path;

use super::{Call, Reply, issue_write, reply};
use crate::cli::args;
use crate::ops::redaction;

pub fn run(args: &args::Redact, call: &Call<'_>) -> Reply {
    let bytes = issue_write::read(args.file.as_deref().unwrap_or(Path::new("-")))?;
    // A text can be redacted anywhere; a repository only adds the values of its .env files.
    let context = call.open().ok();
    reply(Ok(redaction::clean(context.as_ref(), &bytes, args.check)))
}
