//! `tw blame` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::blame::{self as op, By};
use crate::ops::line_range::LineRange;

/// # Tell where the lines of a file come from
///
/// Answers of each line with the agent's turn in which it was written (session, checkpoint, prompt), somebody between turns, or the
/// commit that it came with. Where several may have written it, it is 'ambiguous', with all of them. A line that is 'dirty' was not
/// captured yet. Name lines: of a whole file the first 100 are told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blame {
    /// The file, relative to the directory.
    path: String,
    /// The file as this snapshot has it: an id or part of it, 'latest', 'session', a label, a time. Default: as it is.
    revision: Option<Address>,
    /// Only these lines: 'START,END' or 'START,+COUNT'.
    #[serde(default)]
    lines: Vec<String>,
    /// Ignore white space when comparing lines.
    #[serde(default)]
    ignore_all_space: bool,
    /// Pass over changes of formatting alone.
    #[serde(default)]
    ignore_format: bool,
    /// Give the lines put together, too: by prompt, session or agent.
    by: Option<Whose>,
}

// Without comments: they would be descriptions of each word.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Whose {
    Prompt,
    Session,
    Agent,
}

impl Request for Blame {
    const NAME: &str = "timewarp_blame";
    const OUTPUTS: &[Document] = &[document::<op::Blamed>("blame")];
    const EFFECT: Effect = Effect::ReadOnly;
    const QUOTES: Option<&str> = Some("lines of files and prompts");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let ranges = self.lines.iter().map(|word| LineRange::parse(word));
        let request = op::Blame {
            revision: self.revision.map(String::from),
            path: self.path.into(),
            ranges: ranges.collect::<Result<_>>()?,
            follow: op::Follow {
                ignores_space: self.ignore_all_space,
                ..op::Follow::default()
            },
            ignores_format: self.ignore_format,
            by: self.by.map(|by| match by {
                Whose::Prompt => By::Prompt,
                Whose::Session => By::Session,
                Whose::Agent => By::Agent,
            }),
        };
        Ok(wire::value(&op::blame(ctx, &request)?))
    }
}
