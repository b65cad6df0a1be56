//! `tw diff`.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::cli::human::{DiffPage, Form};
use crate::ops::{self, request};

pub fn run(args: &args::Diff, call: &Call<'_>) -> Reply {
    let form = if args.patch {
        Form::Patch
    } else if args.name_only {
        Form::NameOnly
    } else if args.name_status {
        Form::NameStatus
    } else {
        Form::Stat
    };
    let request = request::DiffSides {
        from: args.from.clone(),
        to: args.to.clone(),
        paths: args.paths.clone(),
        patch: args.patch,
    };
    let diff = ops::diff::diff(&call.open()?, &request)?;
    reply(Ok(DiffPage { diff, form }))
}
