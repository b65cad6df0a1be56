//! `tw travel`.

use super::{Call, Reply, dry_run, swapped};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::Travel, call: &Call<'_>) -> Reply {
    let request = request::Travel {
        address: args.address.clone(),
        dry_run: dry_run(args.dry_run),
        files_only: args.files_only,
        session: None,
        issue_id: None,
        force: args.force,
    };
    swapped(call, |context| ops::travel::travel(context, &request))
}
