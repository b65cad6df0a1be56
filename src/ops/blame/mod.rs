//! `tw blame`: which prompt, which person or which commit each line of a file comes from.
//!
//! Owns the links between states and commits that git itself does not have (`graph`); whose a change is, `versions` says. The lines
//! are followed by git's own blame, over those links. Promises: nothing is written; nothing is guessed, but said to be ambiguous. Lines
//! that no snapshot has are looked for in HEAD and in what is merged into it, and are `dirty` where those have not got them either.
//! What other tools note of commits that were not made here is read, and what is known here is written for them (`exchange`): that
//! alone writes anything, when asked to.

mod commits;
mod exchange;
mod format;
mod forms;
mod graph;
mod groups;
mod named;
mod origin;
mod past;
mod present;
mod renamed;
mod stashed;
mod swaps;
mod taken;
mod telling;
mod trace;

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::Context;
use super::address;
use super::compare::quote_path;
use super::history::Here;
use super::line_range::{self, LineRange};
use super::versions::{Scope, States, Talks, Turns};
use super::worktrees::{self, Worktree};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::command::Git;
use crate::git::objects::ObjectKind;
use crate::git::path::{self, RepoPath};
use crate::git::textdiff::{LARGEST, count_lines};
use crate::git::{operation, reflog, tree};
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::state::Mode;
use commits::{HeadLog, Moved};
use exchange::claims::Claims;
use forms::{Form, Forms};
use graph::Links;
use past::{Names, Past};
use swaps::Swaps;
use taken::Branches;
use telling::Teller;
use trace::{Traced, Tracer};

pub use crate::git::blame::Follow;
pub use exchange::export::{Export, Exported, NoteState, export};
pub use exchange::{Format, agent_trace, git_ai};
pub use groups::{By, Group, Run, groups};
pub use origin::{Blamed, Candidate, Kind, Line, Origin};

/// This many names that a file had are looked for.
const NAMES: usize = 20;

/// Tell where the lines of a file come from.
#[derive(Debug, Clone, Default)]
pub struct Blame {
    /// The file as this snapshot or commit has it; None: as it is.
    pub revision: Option<String>,
    /// The file.
    pub path: OsString,
    /// Only these lines; none: all.
    pub ranges: Vec<LineRange>,
    /// How lines are followed.
    pub follow: Follow,
    /// Changes of formatting alone are passed over.
    pub ignores_format: bool,
    /// What lines are put together by, beside being told of one by one.
    pub by: Option<By>,
}

/// Tells where each line of a file comes from.
///
/// # Errors
/// `PATH_NOT_FOUND`: there is no such file; `SNAPSHOT_NOT_FOUND` and others of addresses; `USAGE` for lines that the file has not got.
pub fn blame(ctx: &Context<'_>, request: &Blame) -> Result<Blamed> {
    let store = ctx.store()?;
    let name = ctx.repo_path(&request.path)?;
    let states = States::read(ctx, store, Scope::All)?;
    let talks = Talks::read(ctx, store)?;
    let forms = Forms::read(ctx)?;
    let form = forms.of(&name)?;
    let file = FileAsked::find(ctx, store, &states, request, (&name, form))?;
    let asked = line_range::asked(&request.ranges, &file.text)?;
    let known = Known::read(ctx, store, &states)?;
    let turns = Turns::new(&talks, &states, ctx.env.now());
    let inquiry = Inquiry {
        ctx,
        store,
        states: &states,
        known: &known,
        turns: &turns,
        forms: &forms,
        request,
        name: &name,
    };
    let (past, swaps, traced) = inquiry.trace(&file, &asked)?;
    let links = inquiry.links(&past, &swaps);
    let claims = Claims::read(ctx, store, traced.spots.values());
    let teller = Teller::new(ctx, store, &links, &turns, &traced, &claims);
    let mut told = teller.lines(&file, &asked, &name);
    telling::committed(ctx, &links, (&name, form), &file.text, request, &mut told)?;
    let invalid = states.invalid.iter();
    let notices = invalid.map(|(id, reason)| format!("'{id}' cannot be read: {reason}"));
    let notices = notices.chain(past.unreadable.clone());
    let lines: Vec<Line> = told.into_iter().map(|line| line.line).collect();
    Ok(Blamed {
        path: RepoPath::new(name),
        revision: file.revision,
        groups: request.by.map(|by| groups(&lines, by)),
        lines,
        notices: notices
            .chain(talks.unreadable)
            .chain(claims.notices)
            .collect(),
        format: store.objects.format(),
        quote: quote_path(ctx)?,
    })
}

/// The file whose lines are asked for, and where they are followed from.
struct FileAsked {
    text: Vec<u8>,
    /// `present`, or an id.
    revision: String,
    /// A line is followed from the first that has it.
    from: Vec<Source>,
}

/// A file of a commit.
struct Source {
    commit: Oid,
    name: Vec<u8>,
    /// For each line that is asked for the line that it is there.
    same: Vec<Option<usize>>,
}

impl FileAsked {
    fn find(
        ctx: &Context<'_>,
        store: &Store,
        states: &States,
        request: &Blame,
        (name, form): (&[u8], Form),
    ) -> Result<Self> {
        match &request.revision {
            Some(word) if !address::is_present(ctx, word) => {
                let (commit, revision) = revision(ctx, store, word)?;
                let text = content(store, commit, name)?;
                let text = text.ok_or_else(|| not_in(name, word))?;
                let all = (0..count_lines(&text)).map(Some);
                let from = vec![Source {
                    commit,
                    name: name.to_vec(),
                    same: all.collect(),
                }];
                Ok(Self {
                    text,
                    revision,
                    from,
                })
            }
            _ => Self::present(ctx, store, states, request, (name, form)),
        }
    }

    fn present(
        ctx: &Context<'_>,
        store: &Store,
        states: &States,
        request: &Blame,
        (name, form): (&[u8], Form),
    ) -> Result<Self> {
        // The root is none of its own files, and is told to be a directory.
        if !name.is_empty() && !present::is_capturable(ctx, store, name) {
            return Err(not_capturable(name));
        }
        let text = present::read(ctx, name)?.ok_or_else(|| not_there(ctx, name))?;
        let mut file = Self {
            text,
            revision: "present".to_owned(),
            from: Vec::new(),
        };
        let alike = (form, request.follow.ignores_space);
        let newest = newest(store, states)?;
        let names = Names(BTreeSet::from([name.to_vec()]));
        let past = LazyCell::new(|| Past::read(&store.objects, states, &names));
        // What a swap put in place since is what it was where it came from.
        let mut put = None;
        if let Some(at) = newest.filter(|at| states.all[*at].id.kind() == IdKind::Backup) {
            let swaps = Swaps::read(store, std::iter::once(name))?;
            let content = swaps.put(&states.all[at].id.to_string(), name);
            put = content.and_then(|content| past.last_of(states, name, content));
        }
        if let Some(state) = put.or(newest) {
            file.add(ctx, store, states.all[state].commit, name, alike)?;
        }
        if let Some(head) = ctx.repo.head(&store.objects)?.oid {
            file.add(ctx, store, head, name, alike)?;
        }
        let under_way = operation::read(&ctx.repo, &store.objects)?;
        for commit in under_way.brings(&store.objects) {
            file.add(ctx, store, commit, name, alike)?;
        }
        if !file.is_known() {
            let content = store.objects.hash(ObjectKind::Blob, &file.text)?;
            if let Some(state) = past.last_of(states, name, content) {
                file.add(ctx, store, states.all[state].commit, name, alike)?;
            }
        }
        Ok(file)
    }

    /// Adds a commit that may have the file, under this name or a former one.
    fn add(
        &mut self,
        ctx: &Context<'_>,
        store: &Store,
        commit: Oid,
        name: &[u8],
        (form, ignores_space): (Form, bool),
    ) -> Result<()> {
        let mut name = name.to_vec();
        let mut old = content(store, commit, &name)?;
        if old.is_none()
            && let Some(former) = renamed::former(ctx, store, commit, &self.text, form)?
        {
            old = content(store, commit, &former)?;
            name = former;
        }
        if let Some(old) = old {
            let same = form.same_lines(&old, &self.text, ignores_space)?;
            self.from.push(Source { commit, name, same });
        }
        Ok(())
    }

    /// Whether each line is in one of the sources.
    fn is_known(&self) -> bool {
        let lines = 0..count_lines(&self.text);
        let has = |source: &Source, line| source.same.get(line).is_some_and(Option::is_some);
        lines
            .into_iter()
            .all(|line| self.from.iter().any(|source| has(source, line)))
    }
}

/// What the working tree was last seen as: the newest state of the present, in the past that of the trip.
fn newest(store: &Store, states: &States) -> Result<Option<usize>> {
    let state = store.dir.state()?;
    let is_past = state.mode == Mode::Past;
    let mut chains = states.chains.iter();
    let chain = chains.find(|chain| chain.is_here && chain.is_present != is_past);
    let last = chain.and_then(|chain| chain.states.last().copied());
    if !is_past {
        return Ok(last);
    }
    let entered = state.entered_at.unwrap_or_default();
    let last = last.filter(|at| states.all[*at].created_at > entered);
    Ok(last.or_else(|| standing(states, state.current_snapshot_id.as_deref())))
}

fn standing(states: &States, id: Option<&str>) -> Option<usize> {
    let all = states.all.iter();
    let mut found = all
        .enumerate()
        .filter(|(_, state)| Some(&*state.id.to_string()) == id);
    found.next().map(|(at, _)| at)
}

/// The commit that a word names, and how it is called.
fn revision(ctx: &Context<'_>, store: &Store, word: &str) -> Result<(Oid, String)> {
    let error = match address::resolve(ctx, store, word) {
        Ok(stored) => return Ok((stored.commit, stored.id.to_string())),
        Err(error) => error,
    };
    if !matches!(error.code(), Code::SnapshotNotFound | Code::InvalidAddress) {
        return Err(error);
    }
    match commit_named(ctx, store, word)? {
        Some(commit) => Ok((commit, commit.to_string())),
        None => Err(error.hint("commits can be named, too, as git names them")),
    }
}

/// The commit that git has under a name, behind tags.
fn commit_named(ctx: &Context<'_>, store: &Store, word: &str) -> Result<Option<Oid>> {
    // As it stands first: whatever is written behind `:/text` belongs to the text.
    match object_named(ctx, word)? {
        Some(oid) if !store.objects.is_commit(oid) => {
            object_named(ctx, &format!("{oid}^{{commit}}"))
        }
        found => Ok(found),
    }
}

/// The object that git has under a name.
fn object_named(ctx: &Context<'_>, name: &str) -> Result<Option<Oid>> {
    // No program can be given such a word; over MCP it can come.
    if name.contains('\0') {
        return Ok(None);
    }
    let found = Git::new(&ctx.repo)
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(name)
        .output()?;
    let id = String::from_utf8_lossy(&found.stdout);
    let oid = Oid::from_hex(id.trim()).ok();
    Ok(oid.filter(|_| found.status.success()))
}

/// A file of a commit; None when it has not got it.
fn content(store: &Store, commit: Oid, name: &[u8]) -> Result<Option<Vec<u8>>> {
    let read = |oid| store.objects.read_safe_tree(oid);
    let root = store.objects.commit(commit)?.tree;
    let node = tree::find(&read, root, name)?;
    let node = node.filter(|node| !node.is_dir() && node.mode != tree::GITLINK_MODE);
    match node {
        Some(node) => store.objects.read_blob_up_to(node.oid, LARGEST),
        None => Ok(None),
    }
}

fn not_there(ctx: &Context<'_>, name: &[u8]) -> Error {
    let there = ctx.repo.worktree_root().join(OsStr::from_bytes(name));
    if there.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        let name = if name.is_empty() { b"." } else { name };
        let message = format!("'{}' is a directory", path::display(name));
        return Error::new(Code::PathNotFound, message).hint("name a file in it");
    }
    let message = format!("file '{}' not found", path::display(name));
    Error::new(Code::PathNotFound, message).hint(
        "name a snapshot or commit that has it before the path; 'tw find PATH' shows which have",
    )
}

fn not_capturable(name: &[u8]) -> Error {
    let message = format!("file '{}' not found", path::display(name));
    Error::new(Code::PathNotFound, message)
        .hint("no snapshot has files of git directories, nested repositories or '.timewarp'")
}

fn not_in(name: &[u8], word: &str) -> Error {
    let message = format!(
        "'{}' has no file '{}'",
        path::display(word.as_bytes()),
        path::display(name)
    );
    Error::new(Code::PathNotFound, message).hint("'tw find PATH' shows which snapshots have it")
}

/// What does not depend on the file's names.
struct Known {
    by_commit: HashMap<Oid, usize>,
    moved: Moved,
    branches: Branches,
    /// The states of the worktrees that have no reflog of HEAD, by HEAD's commit then.
    unlogged: HashMap<Oid, Vec<usize>>,
    /// The snapshot that the working tree stands in.
    standing: Option<usize>,
    /// The snapshots that were laid out in directories that are there, by the chains of these.
    opened: HashMap<usize, SnapshotId>,
}

impl Known {
    fn read(ctx: &Context<'_>, store: &Store, states: &States) -> Result<Self> {
        let mut chains = states.chains.iter();
        let own = chains.position(|chain| chain.is_present && chain.is_here);
        let mut opened = HashMap::new();
        let mut logs = Vec::new();
        for (worktree, chain) in worktrees_of(ctx, store, states)? {
            let from = worktrees::opened(&worktree.dir).ok().flatten();
            let from = from.and_then(|opened| SnapshotId::parse(&opened.snapshot_id));
            opened.extend(from.map(|from| (chain, from)));
            if Some(chain) != own {
                logs.push((chain, reflog::of_worktree(&ctx.repo, &worktree.git_dir)));
            }
        }
        // Of what was done in one second, that of here comes last.
        logs.extend(own.map(|chain| (chain, reflog::read(&ctx.repo))));
        let by_commit = states.all.iter().enumerate();
        let current = store.dir.state()?.current_snapshot_id;
        let mut moved = commits::moved(&ctx.repo, &store.objects, states, &logs)?;
        Ok(Self {
            by_commit: by_commit.map(|(at, state)| (state.commit, at)).collect(),
            branches: Branches::read(store, std::mem::take(&mut moved.behind)),
            moved,
            unlogged: unlogged(states, &logs),
            standing: standing(states, current.as_deref()),
            opened,
        })
    }
}

/// The worktrees of the repository with the chains of their presents. One that cannot be read hides no other.
fn worktrees_of(
    ctx: &Context<'_>,
    store: &Store,
    states: &States,
) -> Result<Vec<(Worktree, usize)>> {
    let here = Here::of(ctx, store)?;
    let all = worktrees::all(&ctx.repo).unwrap_or_default().into_iter();
    let with_chain = all.filter_map(|worktree| {
        let there = here.of_other(&worktree).ok()?;
        let chain = states.present_of(&there)?;
        Some((worktree, chain))
    });
    Ok(with_chain.collect())
}

/// The states of the worktrees that have no reflog of HEAD, as one that was removed has none, by HEAD's commit then.
fn unlogged(states: &States, logs: &[HeadLog]) -> HashMap<Oid, Vec<usize>> {
    let has_log = |chain: &usize| {
        let mut logs = logs.iter();
        logs.any(|(of, moves)| of == chain && !moves.is_empty())
    };
    let mut found: HashMap<_, Vec<usize>> = HashMap::new();
    for (nth, chain) in states.chains.iter().enumerate() {
        if !chain.is_own_present() || has_log(&nth) {
            continue;
        }
        for at in &chain.states {
            if let Some(head) = states.all[*at].head() {
                found.entry(head).or_default().push(*at);
            }
        }
    }
    found
}

/// One question, with all that it takes to answer it.
struct Inquiry<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    states: &'a States,
    known: &'a Known,
    turns: &'a Turns,
    forms: &'a Forms,
    request: &'a Blame,
    name: &'a [u8],
}

impl Inquiry<'_> {
    fn links<'l>(&'l self, past: &'l Past, swaps: &'l Swaps) -> Links<'l> {
        Links {
            store: self.store,
            states: self.states,
            past,
            swaps,
            turns: self.turns,
            made: &self.known.moved.made,
            left: &self.known.moved.left,
            reset: &self.known.moved.reset,
            branches: &self.known.branches,
            unlogged: &self.known.unlogged,
            by_commit: &self.known.by_commit,
            standing: self.known.standing,
            opened: &self.known.opened,
        }
    }

    /// Follows the lines. A name that the file turns out to have had is looked for in all states, too, and then all is followed again:
    /// what is not looked for has no links.
    fn trace(&self, file: &FileAsked, asked: &[usize]) -> Result<(Past, Swaps, Traced)> {
        let mut names = BTreeSet::from([self.name.to_vec()]);
        names.extend(file.from.iter().map(|source| source.name.clone()));
        let mut ignored = Vec::new();
        loop {
            let past = Past::read(&self.store.objects, self.states, &Names(names.clone()));
            let swaps = Swaps::read(self.store, names.iter().map(Vec::as_slice))?;
            let links = self.links(&past, &swaps);
            let traced = self.follow(file, asked, links, &ignored)?;
            let before = (names.len(), ignored.len());
            let spots = traced.spots.values();
            let found: BTreeSet<_> = spots.map(|spot| spot.path.clone()).collect();
            names.extend(found.into_iter().take(NAMES.saturating_sub(before.0)));
            if self.request.ignores_format {
                let links = self.links(&past, &swaps);
                let mut steps = telling::formatting(self.ctx, self.store, &links, &traced);
                steps.retain(|step| !ignored.contains(step));
                ignored.extend(steps);
            }
            if before == (names.len(), ignored.len()) {
                return Ok((past, swaps, traced));
            }
        }
    }

    fn follow(
        &self,
        file: &FileAsked,
        asked: &[usize],
        links: Links<'_>,
        ignored: &[Oid],
    ) -> Result<Traced> {
        let tracer = Tracer {
            repo: &self.ctx.repo,
            links,
            forms: self.forms,
            follow: self.request.follow,
            ignored,
        };
        let mut traced = Traced::default();
        let mut left: Vec<usize> = asked.to_vec();
        for source in &file.from {
            let there = |line: &usize| source.same.get(*line).copied().flatten();
            let (here, others): (Vec<usize>, Vec<usize>) =
                left.into_iter().partition(|line| there(line).is_some());
            let lines = here.iter().filter_map(|line| Some((there(line)?, *line)));
            tracer.trace(source.commit, &source.name, lines, &mut traced)?;
            left = others;
        }
        Ok(traced)
    }
}
