//! `tw prompt`: opens no repository.

use super::{Call, Reply, reply};
use crate::ops;
use crate::wire::Prompt;

pub fn run(call: &Call<'_>) -> Reply {
    let prompt = ops::status::prompt_line(call.start);
    reply(Ok(Prompt { prompt }))
}
