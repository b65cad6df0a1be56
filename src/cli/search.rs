//! `tw search`.

mod page;

use std::ffi::OsString;
use std::ops::ControlFlow;

use serde::Serialize;

use self::page::Printer;
use crate::cli::prelude::*;
use crate::ops::search::{Case, Change, Hits, PatternOptions, Place, Search, Shape, Unread};
use crate::ops::versions::Scope;

/// Search all snapshots: files, what came and went, prompts, issues
///
/// PATTERN is a regular expression, matched line by line as ripgrep does; upper and lower case are told apart only when it has
/// a capital letter. Each hit is a line with the first and the last snapshot that has it, and with the prompt in whose turn it
/// was added and removed, as far as one is known. Newest first; a line that many snapshots share is one hit.
///
/// Printed are SNAPSHOT:PATH:LINE:TEXT, on a terminal under headings that tell the rest. The exit code is 0 when there is a hit,
/// 1 when there is none, and 2 after an error; with -q nothing is printed. What cannot be read is named and hides nothing else.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Where was that function, and when did it go?
  tw search 'fn parse_header'

  # Every line with TODO that came or went since yesterday, in Rust files
  tw search TODO --in diff --since yesterday -g '*.rs'

  # The same of lines that went, in one directory
  tw search TODO --removed -- src/parser

  # What was an agent told about the cache?
  tw search -i cache --in prompt,issue")]
pub struct Args {
    /// Look for this; behind -e, a PATH
    #[arg(value_name = "PATTERN", required_unless_present = "regexp", add = complete::pattern())]
    pattern: Option<OsString>,

    /// As behind '--'
    #[arg(value_name = "PATH", hide = true, add = complete::paths_of_all_times())]
    among: Vec<OsString>,

    /// Look only at these files, and at what lies beneath these directories
    #[arg(value_name = "PATH", last = true, add = complete::paths_of_all_times())]
    paths: Vec<OsString>,

    /// Look for this, too; for several patterns, and for one that begins with '-'
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    regexp: Vec<String>,

    /// Take the pattern as plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Never tell upper and lower case apart
    #[arg(short, long, overrides_with = "case_sensitive")]
    ignore_case: bool,

    /// Always tell upper and lower case apart
    #[arg(short = 's', long)]
    case_sensitive: bool,

    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,

    /// Print only the names of what has a match, each once
    #[arg(short = 'l', long, conflicts_with_all = ["count", "context"])]
    files_with_matches: bool,

    /// Print how many matches each file, prompt or issue has
    #[arg(short, long, conflicts_with = "context")]
    count: bool,

    /// Print N lines before and after each match; -C N, too, behind 'search'
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    context: usize,

    /// Look only at files that match GLOB; '!GLOB' leaves files out
    ///
    /// As in gitignore(5), from the root of the working tree, with {a,b} besides; of several that match the last one counts.
    #[arg(short, long, value_name = "GLOB", allow_hyphen_values = true)]
    glob: Vec<String>,

    /// Where to look; can be given several times (default: content)
    #[arg(long = "in", value_name = "WHERE", value_delimiter = ',')]
    places: Vec<Where>,

    /// Look only at lines that came; implies --in diff
    #[arg(long, conflicts_with = "removed")]
    added: bool,

    /// Look only at lines that went; implies --in diff
    #[arg(long)]
    removed: bool,

    /// Look only at what was taken at TIME or later; a day begins in the morning
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Look only at what was taken at TIME or before; a day ends at night
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Look only at what was taken for this session: its id or its first characters, four or more
    #[arg(long, value_name = "SESSION", add = complete::sessions(), value_parser = flags::named())]
    session: Option<String>,

    /// Look only at what was taken for this agent
    #[arg(long, value_name = "AGENT", add = complete::agents_seen(), value_parser = flags::named())]
    agent: Option<String>,

    /// Stop after N hits
    #[arg(short, long, value_name = "N")]
    max_count: Option<usize>,

    /// Look at backups and experiments, too, of every worktree
    #[arg(long)]
    all: bool,

    /// Look at snapshots of other worktrees, too, and at those taken in the past
    #[arg(long)]
    all_worktrees: bool,

    /// Print hits under headings (the default on a terminal)
    #[arg(long, overrides_with = "no_heading")]
    heading: bool,

    /// Print each hit on one line
    #[arg(long)]
    no_heading: bool,
}

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Where {
    /// In what files have, and in what is staged
    Content,
    /// In lines that came or went
    Diff,
    /// In prompts, and in the notes of rewinds
    Prompt,
    /// In issues and their conversations
    Issue,
}

impl From<Where> for Place {
    fn from(place: Where) -> Self {
        match place {
            Where::Content => Self::Content,
            Where::Diff => Self::Diff,
            Where::Prompt => Self::Prompt,
            Where::Issue => Self::Issue,
        }
    }
}

impl Args {
    fn request(&self) -> Result<Search> {
        let mut patterns = self.regexp.clone();
        let mut paths = [&self.among[..], &self.paths].concat();
        match &self.pattern {
            Some(word) if self.regexp.is_empty() => patterns.push(pattern(word)?),
            Some(word) => paths.insert(0, word.clone()),
            None => {}
        }
        Ok(Search {
            wanted: PatternOptions {
                patterns,
                fixed_strings: self.fixed_strings,
                case: match (self.ignore_case, self.case_sensitive) {
                    (true, _) => Case::Ignore,
                    (_, true) => Case::Sensitive,
                    _ => Case::Smart,
                },
                whole_words: self.word_regexp,
            },
            places: self.places.iter().map(|place| (*place).into()).collect(),
            change: match (self.added, self.removed) {
                (true, _) => Some(Change::Added),
                (_, true) => Some(Change::Removed),
                _ => None,
            },
            paths,
            globs: self.glob.clone(),
            since: self.since.clone(),
            until: self.until.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            scope: match (self.all, self.all_worktrees) {
                (true, _) => Scope::All,
                (_, true) => Scope::AllWorktrees,
                _ => Scope::Here,
            },
            shape: match (self.files_with_matches, self.count) {
                (true, _) => Shape::Files,
                (_, true) => Shape::Counts,
                _ => Shape::Lines {
                    context: self.context,
                },
            },
            limit: self.max_count,
        })
    }
}

fn pattern(word: &OsString) -> Result<String> {
    word.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(Code::Usage, "the pattern is not UTF-8")
            .hint("a regular expression writes a byte as (?-u:\\xff)")
    })
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Hits>("search")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = self.request()?;
        let context = call.open()?;
        if call.output.is_json() {
            return reply(ops::search::collect(&context, &request).map(Answer));
        }
        let options = call.output.options();
        if options.quiet {
            // As with grep: the exit code says it.
            let request = Search {
                limit: Some(1),
                ..request
            };
            return reply(ops::search::collect(&context, &request).map(Answer));
        }
        let heading = (options.terminal || self.heading) && !self.no_heading;
        let mut printer = Printer::new(options, (&request.wanted, request.shape), heading)?;
        let mut failed = None;
        let mut found = false;
        let ended = ops::search::search(&context, &request, &mut |hits| {
            found = true;
            match call.output.part(&printer.print(&hits)) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => ControlFlow::Break(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => reply(Ok(Told {
                found,
                truncated: ended.truncated,
                unreadable: ended.unreadable,
                notices: ended.notices,
            })),
        }
    }
}

/// All hits at once.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Answer(Hits);

impl Human for Answer {
    fn print(&self, _page: &mut Page) {}

    fn brief(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.0.hits.is_empty())
    }

    fn unwritten_code(&self) -> u8 {
        FAILED
    }
}

/// What is left to say when all hits were printed.
#[derive(Debug, Serialize)]
struct Told {
    found: bool,
    truncated: bool,
    unreadable: Vec<Unread>,
    notices: Vec<String>,
}

/// As grep has it: 1 says that there is no match.
pub const FAILED: u8 = 2;

/// This many objects that cannot be read are named.
const NAMED: usize = 10;

impl Human for Told {
    fn print(&self, page: &mut Page) {
        if self.truncated {
            page.note("there are more hits: '--max-count' ended it");
        }
        page.notices(&self.notices);
        for one in self.unreadable.iter().take(NAMED) {
            let of = one
                .path
                .as_ref()
                .map(|path| format!("'{}': ", quoted(path)));
            page.note(format!(
                "not searched: {}{}",
                of.unwrap_or_default(),
                one.reason
            ));
        }
        if let Some(more) = self
            .unreadable
            .len()
            .checked_sub(NAMED)
            .filter(|more| *more > 0)
        {
            page.note(format!("not searched: {} more", count(more, "object")));
        }
        if !self.unreadable.is_empty() {
            page.hint("'tw doctor' looks for damage, '--json' names all of it");
        }
        if !self.found {
            page.note("no match");
        }
    }

    fn exit_code(&self) -> u8 {
        u8::from(!self.found)
    }

    fn unwritten_code(&self) -> u8 {
        FAILED
    }
}
