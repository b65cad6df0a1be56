//! What is known here of a file's commits, for other tools: of each commit the lines that it brought and that were a turn's.
//!
//! Only what is certain is said: what may be somebody else's, what a person wrote and what is not committed is left out. Lines are numbered
//! as the commit's own file has them. The same that is known gives the same bytes.

use std::collections::BTreeMap;
use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Serialize;

use super::agent_trace::Note;
use super::claims::Claims;
use super::git_ai::Log;
use super::{FileLines, Format, Lines, TurnLines, cannot_name, publish};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::blame::{self, Follow, Question};
use crate::git::path::RepoPath;
use crate::git::textdiff::count_lines;
use crate::json::{self, Text};
use crate::ops::Context;
use crate::ops::blame::forms::Forms;
use crate::ops::blame::origin::{Kind, Line};
use crate::ops::blame::telling::Teller;
use crate::ops::blame::{Blame, FileAsked, Inquiry, Known, Source, commit_named, content, not_in};
use crate::ops::versions::{Scope, States, Talks, Turns};
use crate::store::Store;

json::fields! {
    PathField = "path",
}

/// Say in another tool's format what is known of a file.
#[derive(Debug, Clone)]
pub struct Export {
    /// The file as this commit has it; None: HEAD.
    pub revision: Option<String>,
    /// The file.
    pub path: OsString,
    /// The format.
    pub format: Format,
    /// Git notes are made of it.
    pub writes_notes: bool,
}

/// What became of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteState {
    /// None was asked for.
    NotAsked,
    /// It was written.
    Written,
    /// The commit had it.
    Unchanged,
    /// The commit has another tool's, which is left alone.
    Foreign,
}

json::words!(NoteState {
    NotAsked = "not-asked",
    Written = "written",
    Unchanged = "unchanged",
    Foreign = "foreign",
});

/// What is known of a commit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ExportedNote {
    /// The commit.
    pub commit: String,
    /// How many lines of the file it is about.
    pub lines: usize,
    /// It, in the format; of a note that was written the whole note, other files of the commit in it.
    pub text: String,
    /// What became of the note on the commit.
    pub note: NoteState,
    #[serde(skip)]
    pub(super) id: Oid,
    #[serde(skip)]
    pub(super) files: Vec<FileLines>,
}

/// Answer of `blame --export`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Exported {
    /// The file.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// The format.
    pub format: Format,
    /// The ref of its notes.
    pub notes_ref: String,
    /// Of each commit with lines of turns, in the order in which they were made.
    pub commits: Vec<ExportedNote>,
    /// Sentences about what was left out, or could not be read.
    pub notices: Vec<String>,
}

/// Says what is known of a file, and makes git notes of it when asked to.
///
/// # Errors
/// `PATH_NOT_FOUND`: the commit has no such file; `USAGE`: there is no such commit; those of writing notes.
pub fn export(ctx: &Context<'_>, request: &Export) -> Result<Exported> {
    let store = ctx.store()?;
    let name = ctx.repo_path(&request.path)?;
    let start = start(ctx, request)?;
    let word = request.revision.as_deref().unwrap_or("HEAD");
    if content(store, start, &name)?.is_none() {
        return Err(not_in(&name, word));
    }
    let states = States::read(ctx, store, Scope::All)?;
    let talks = Talks::read(ctx, store)?;
    let known = Known::read(ctx, store, &states)?;
    let answer = blame::blame(&ctx.repo, &question(start, &name, None))?;
    let mut made: BTreeMap<(i64, Oid), Vec<Vec<u8>>> = BTreeMap::new();
    for piece in &answer.pieces {
        if !known.moved.made.contains_key(&piece.commit) {
            continue;
        }
        let about = answer.about.get(&piece.commit);
        let at = about.map_or(0, |about| about.committer_time);
        let paths = made.entry((at, piece.commit)).or_default();
        if !paths.contains(&piece.path) {
            paths.push(piece.path.clone());
        }
    }
    let collector = Collector {
        ctx,
        store,
        states: &states,
        known: &known,
        forms: &Forms::read(ctx)?,
        turns: &Turns::new(&talks, &states, ctx.env.now()),
        format: request.format,
    };
    let mut notices = talks.unreadable.clone();
    let mut commits = Vec::new();
    for ((_, commit), mut paths) in made {
        paths.sort_unstable();
        commits.extend(collector.commit(commit, &paths, &mut notices)?);
    }
    if request.writes_notes {
        publish::publish(ctx, store, request.format, &mut commits)?;
    }
    Ok(Exported {
        path: RepoPath::new(name),
        format: request.format,
        notes_ref: request.format.notes_ref().to_owned(),
        commits,
        notices,
    })
}

/// The commit whose lines are asked for.
fn start(ctx: &Context<'_>, request: &Export) -> Result<Oid> {
    let Some(word) = &request.revision else {
        let head = ctx.repo.head(&ctx.store()?.objects)?.oid;
        return head.ok_or_else(|| {
            Error::new(Code::Usage, "nothing is committed here yet")
                .hint("'tw blame PATH' shows the lines of the working tree")
        });
    };
    commit_named(ctx, ctx.store()?, word)?.ok_or_else(|| {
        let message = format!("'{}' is not a commit", crate::text::visible(word));
        Error::new(Code::Usage, message)
            .hint("what is exported is about commits, as git names them")
    })
}

fn question<'q>(commit: Oid, path: &'q [u8], parents: Option<&'q str>) -> Question<'q> {
    Question {
        commit,
        path,
        lines: &[],
        parents,
        ignored: &[],
        follow: Follow::default(),
    }
}

/// Finds the turns of what commits brought.
struct Collector<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    states: &'a States,
    known: &'a Known,
    forms: &'a Forms,
    turns: &'a Turns,
    format: Format,
}

impl Collector<'_> {
    fn commit(
        &self,
        commit: Oid,
        paths: &[Vec<u8>],
        notices: &mut Vec<String>,
    ) -> Result<Option<ExportedNote>> {
        let mut files = Vec::new();
        for path in paths {
            let turns = self.turns(commit, path)?;
            match self.format.name(path) {
                _ if turns.is_empty() => {}
                None => notices.push(cannot_name(self.format, path)),
                Some(name) => files.push(FileLines {
                    path: name.to_owned(),
                    turns,
                }),
            }
        }
        if files.is_empty() {
            return Ok(None);
        }
        let name = commit.to_string();
        let text = match self.format {
            Format::GitAi => Log::of(&name, &files).text(),
            Format::AgentTrace => Note::of(&name, &files).text(),
        };
        let turns = files.iter().flat_map(|file| &file.turns);
        let lines = turns.flat_map(|turn| &turn.lines);
        Ok(Some(ExportedNote {
            commit: name,
            lines: lines.map(|(first, last)| (last - first) as usize + 1).sum(),
            text,
            note: NoteState::NotAsked,
            id: commit,
            files,
        }))
    }

    /// The turns that wrote what a commit brought into a file.
    fn turns(&self, commit: Oid, path: &[u8]) -> Result<Vec<TurnLines>> {
        let Some(text) = content(self.store, commit, path)? else {
            return Ok(Vec::new());
        };
        let asked = self.brought(commit, path)?;
        let all = (0..count_lines(&text)).map(Some);
        let file = FileAsked {
            text,
            revision: commit.to_string(),
            from: vec![Source {
                commit,
                name: path.to_vec(),
                same: all.collect(),
            }],
        };
        let inquiry = Inquiry {
            ctx: self.ctx,
            store: self.store,
            states: self.states,
            known: self.known,
            turns: self.turns,
            forms: self.forms,
            request: &Blame::default(),
            name: path,
        };
        let (past, swaps, traced) = inquiry.trace(&file, &asked)?;
        let links = inquiry.links(&past, &swaps);
        let claims = Claims::default();
        let teller = Teller::new(self.ctx, self.store, &links, self.turns, &traced, &claims);
        let told = teller.lines(&file, &asked, path);
        Ok(by_turn(told.into_iter().map(|told| told.line)))
    }

    /// The lines that none of a commit's parents has, from 0.
    fn brought(&self, commit: Oid, path: &[u8]) -> Result<Vec<usize>> {
        let parents = self.store.objects.commit(commit)?.parents;
        let mut history = commit.to_string();
        for parent in &parents {
            history.push_str(&format!(" {parent}"));
        }
        for parent in &parents {
            history.push_str(&format!("\n{parent}"));
        }
        history.push('\n');
        let answer = blame::blame(&self.ctx.repo, &question(commit, path, Some(&history)))?;
        let pieces = answer.pieces.into_iter();
        let own = pieces.filter(|piece| piece.commit == commit);
        let mut lines: Vec<usize> = own.flat_map(|piece| piece.lines).collect();
        lines.sort_unstable();
        Ok(lines)
    }
}

/// Lines of turns, each turn with its own, in the order of the turns.
fn by_turn(lines: impl Iterator<Item = Line>) -> Vec<TurnLines> {
    let mut turns: BTreeMap<(Option<String>, String, u64), TurnLines> = BTreeMap::new();
    for line in lines {
        let origin = line.origin;
        let (Kind::Prompt, Some(session_id), Some(checkpoint_id), Ok(number)) = (
            origin.kind,
            origin.session_id,
            origin.checkpoint_id,
            u32::try_from(line.line),
        ) else {
            continue;
        };
        let key = (origin.at.clone(), session_id.clone(), checkpoint_id);
        let turn = turns.entry(key).or_insert_with(|| TurnLines {
            session_id,
            checkpoint_id,
            agent: origin.agent,
            model: origin.model,
            at: origin.at,
            lines: Vec::new(),
        });
        add(&mut turn.lines, number);
    }
    turns.into_values().collect()
}

/// Adds the next line of a file to ranges.
fn add(lines: &mut Vec<Lines>, number: u32) {
    match lines.last_mut() {
        Some((_, last)) if *last + 1 == number => *last = number,
        _ => lines.push((number, number)),
    }
}
