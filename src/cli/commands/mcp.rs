//! `tw mcp`: starts the server, or does one call of it.

use super::{Answer, Call, Reply};
use crate::cli::human::{Page, RenderOptions};
use crate::cli::{args, background};
use crate::mcp;

/// What is left to print: nothing after serving, and the document of a call.
struct Said(String);

impl Answer for Said {
    fn json(&self) -> String {
        self.0.clone()
    }

    fn page(&self, _: &RenderOptions) -> Page {
        Page {
            text: self.0.clone().into_bytes(),
            ..Page::default()
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        None
    }

    fn exit_code(&self) -> u8 {
        0
    }
}

pub fn run(args: &args::Mcp, call: &Call<'_>) -> Reply {
    let start_background = || {
        // No call waits for it, as no snapshot does.
        if let Ok(context) = call.open() {
            background::start_when_due(&context);
        }
    };
    let said = if args.call {
        let answer = mcp::answer(call.env);
        start_background();
        answer
    } else {
        start_background();
        mcp::serve(call.start.to_owned(), call.env.clone())?;
        String::new()
    };
    Ok(Box::new(Said(said)))
}
