//! `tw search` as a tool.

use super::FEW;
use crate::error::Code;
use crate::mcp::tools::prelude::*;
use crate::ops::search::{self as op, Case, Change, PatternOptions, Place, Shape};

/// # Search all snapshots
///
/// Looks for a pattern, line by line, in every content that the snapshots of this worktree have, or in the lines that came and
/// went between them, in prompts and in issues. Each hit names the first and the last snapshot that has the line, and the prompt
/// in whose turn it was added and removed, as far as one is known. Newest first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// A regular expression as ripgrep has it. Case counts when it has a capital letter.
    pattern: String,
    /// Take the pattern as plain text.
    #[serde(default)]
    fixed_strings: bool,
    /// Never tell upper and lower case apart.
    #[serde(default)]
    ignore_case: bool,
    /// Match whole words only.
    #[serde(default)]
    word_regexp: bool,
    /// Where to look: content, diff, prompt, issue. Default: content.
    #[serde(default, rename = "in")]
    places: Vec<Where>,
    /// Look only at lines that came.
    #[serde(default)]
    added: bool,
    /// Look only at lines that went.
    #[serde(default)]
    removed: bool,
    /// Only these pathspecs, relative to the directory.
    #[serde(default)]
    paths: Vec<String>,
    /// Only files that match these globs; '!GLOB' leaves files out.
    #[serde(default)]
    glob: Vec<String>,
    /// Give the names of what has a match, each once, without lines.
    #[serde(default)]
    files_with_matches: bool,
    /// Only what was taken at this time or later.
    since: Option<String>,
    /// Only what was taken at this time or before.
    until: Option<String>,
    /// Only what was taken for this session.
    session: Option<String>,
    /// Only what was taken for this agent.
    agent: Option<String>,
    /// Show at most this many hits. Default: 50; 'truncated' in the answer says whether there are more.
    max_count: Option<usize>,
}

// Without comments: they would be descriptions of each word.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Where {
    Content,
    Diff,
    Prompt,
    Issue,
}

impl Request for Search {
    const NAME: &str = "timewarp_search";
    const OUTPUTS: &[Document] = &[document::<op::Hits>("search")];
    const EFFECT: Effect = Effect::TakesIn;
    const QUOTES: Option<&str> = Some("lines of files, prompts and issues");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = op::Search {
            wanted: PatternOptions {
                patterns: vec![self.pattern],
                fixed_strings: self.fixed_strings,
                case: if self.ignore_case {
                    Case::Ignore
                } else {
                    Case::Smart
                },
                whole_words: self.word_regexp,
            },
            places: self.places.into_iter().map(place).collect(),
            change: match (self.added, self.removed) {
                (true, false) => Some(Change::Added),
                (false, true) => Some(Change::Removed),
                (false, false) => None,
                (true, true) => {
                    return Err(Error::new(
                        Code::Usage,
                        "'added' and 'removed' cannot be used together",
                    )
                    .hint("'in' with 'diff' alone looks at both"));
                }
            },
            paths: paths(self.paths),
            globs: self.glob,
            shape: if self.files_with_matches {
                Shape::Files
            } else {
                Shape::default()
            },
            since: self.since,
            until: self.until,
            session: self.session,
            agent: self.agent,
            limit: Some(self.max_count.unwrap_or(FEW)),
            ..op::Search::default()
        };
        Ok(wire::value(&op::collect(ctx, &request)?))
    }
}

fn place(place: Where) -> Place {
    match place {
        Where::Content => Place::Content,
        Where::Diff => Place::Diff,
        Where::Prompt => Place::Prompt,
        Where::Issue => Place::Issue,
    }
}
