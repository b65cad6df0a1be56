//! `tw context`.

use super::issue_write::read;
use super::{Call, Reply, reply};
use crate::cli::args::{self, ContextAppend, ContextCompact, ContextVerb};
use crate::error::Result;
use crate::ops::context::{self, Append, Compact, ContextLog, Marker, Revert, Summary};

pub fn run(args: &args::ContextLog, call: &Call<'_>) -> Reply {
    let log = find(args, call)?;
    match &args.verb {
        ContextVerb::Append(args) => reply(context::append(&log, &record(args)?)),
        ContextVerb::Checkpoint(args) => {
            let marker = if args.marker {
                Marker::Visible
            } else {
                Marker::Hidden
            };
            reply(context::checkpoint(&log, marker))
        }
        ContextVerb::Usage(args) => reply(context::usage(&log, args.tokens)),
        ContextVerb::Show(_) => reply(context::show(&log)),
        ContextVerb::Revert(args) => {
            let request = Revert {
                checkpoint_id: args.checkpoint,
                note: args.note.as_deref().map(text).transpose()?,
            };
            reply(context::revert(&log, &request))
        }
        ContextVerb::Compact(args) => reply(context::compact(&log, &compaction(args, call)?)),
    }
}

/// A named file needs no repository.
fn find(args: &args::ContextLog, call: &Call<'_>) -> Result<ContextLog> {
    let Some(file) = &args.file else {
        return context::of_session(&call.open()?, args.session.as_deref());
    };
    let wait = call
        .open()
        .map_or(context::PATIENCE, |ctx| ctx.settings.lock_timeout);
    context::at_file(call.start, file, wait)
}

/// The word, or with `-` standard input.
pub fn text(word: &str) -> Result<String> {
    if word != "-" {
        return Ok(word.to_owned());
    }
    Ok(String::from_utf8_lossy(&read(word.as_ref())?).into_owned())
}

fn record(args: &ContextAppend) -> Result<Append> {
    let Some(role) = &args.role else {
        let bytes = match args.text.as_str() {
            "-" => read("-".as_ref())?,
            line => line.as_bytes().to_vec(),
        };
        return Ok(Append::Json(bytes));
    };
    Ok(Append::Message {
        role: role.clone(),
        text: text(&args.text)?,
        tool_call_id: args.tool_call_id.clone(),
    })
}

fn compaction(args: &ContextCompact, call: &Call<'_>) -> Result<Compact> {
    let summary = match (&args.summarizer, &args.summary_file) {
        (Some(line), _) => Summary::Command(line.clone()),
        (None, Some(file)) => {
            let file = if file.as_os_str() == "-" {
                file.clone()
            } else {
                call.start.join(file)
            };
            Summary::Text(String::from_utf8_lossy(&read(&file)?).into_owned())
        }
        // One of the two is required.
        (None, None) => Summary::Text(String::new()),
    };
    Ok(Compact {
        keep: args.keep,
        summary,
        if_over: args.if_over,
        reserved: args.reserved,
    })
}
