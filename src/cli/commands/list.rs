//! `tw list`.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::List, call: &Call<'_>) -> Reply {
    let request = request::List {
        limit: args.limit,
        kind: match args.kind {
            _ if args.all => request::ListKind::All,
            args::ListKind::Snapshot => request::ListKind::Snapshot,
            args::ListKind::Backup => request::ListKind::Backup,
            args::ListKind::Experiment => request::ListKind::Experiment,
        },
        all_worktrees: args.all || args.all_worktrees,
    };
    reply(ops::list::list(&call.open()?, &request))
}
