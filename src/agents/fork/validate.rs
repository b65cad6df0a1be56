//! The checks that every fork passes before it is offered, on the bytes that were written.
//!
//! Knows nothing of the plan that made a fork: it compares the fork's lines with the original's and checks what the agents
//! ask of a session: ids unique, one chain, every tool call with its result, every line readable.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::shape::{Facts, Free, Shape};
use super::{ForkPlan, span};
use crate::agents::lines::{self, Lines};
use crate::error::{Code, Error, Result, ResultExt as _};

/// What the validator counted in a fork that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validation {
    /// Lines (or messages, in formats without lines), each the same as one of the original but for ids.
    pub lines: u64,
    /// Ids, all different.
    pub ids: u64,
    /// Tool calls, all with their results.
    pub calls: u64,
}

/// Checks the session file `fork` against the file, or files in order, that it was made from.
///
/// # Errors
/// `VERIFY_FAILED` naming the first thing that is wrong.
pub fn validate_fork(agent: &str, originals: &[&Path], fork: &Path) -> Result<Validation> {
    let cannot = || invalid(fork, &format!("forks of '{agent}' cannot be checked"));
    let agent = crate::agents::by_name(agent).ok_or_else(cannot)?;
    let original = originals
        .first()
        .ok_or_else(|| invalid(fork, "there is no original"))?;
    if let Some(checked) = agent.check_document(original, fork) {
        return checked;
    }
    let shape = agent.fork_shape(fork).ok_or_else(cannot)?;
    let mut original = Chained::new(originals);
    let mut reader = lines::open(fork, None)?;
    let mut state = State::default();
    while let Some(line) = reader.next_line().context(|| lines::shown(fork))? {
        let number = line.position.line;
        let wrong = |what: &str| invalid(fork, &format!("line {number}: {what}"));
        if !line.ended {
            return Err(wrong("torn"));
        }
        let Some(record) = line.object() else {
            return Err(wrong("unreadable"));
        };
        if (shape.added)(&record) {
            continue;
        }
        let free = if number == 1 {
            &shape.head
        } else {
            &shape.rest
        };
        // Compared as bytes, not as values: an agent may depend on the order of fields or on how a number is written.
        let bare = without_ids(line.bytes, free, shape.left_out);
        if !original.advance_to(&bare, free, shape.left_out)? {
            return Err(wrong("not a line of the original, or out of order"));
        }
        state
            .take(&(shape.facts)(&record), shape)
            .map_err(|what| wrong(&what))?;
    }
    let (validation, missing) = state.finish(shape).map_err(|what| invalid(fork, &what))?;
    if let Some(parent) = missing
        && holds(originals, shape, &parent)?
    {
        let what = format!("row '{parent}' is named but left out");
        return Err(invalid(fork, &what));
    }
    Ok(validation)
}

/// Whether the original has a row with this id.
fn holds(originals: &[&Path], shape: &Shape, id: &str) -> Result<bool> {
    for path in originals {
        let mut reader = lines::open(path, None)?;
        while let Some(line) = reader.next_line().context(|| lines::shown(path))? {
            let record = line.object();
            if record.is_some_and(|record| (shape.facts)(&record).id.as_deref() == Some(id)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Checks what was written for `plan` under `new_id`.
pub(super) fn check(plan: &ForkPlan, written: &Path, new_id: &str) -> Result<Validation> {
    let mut first = None;
    for (index, file) in plan.files.iter().enumerate() {
        let path = if file.name.as_os_str().is_empty() || index == 0 {
            written.to_owned()
        } else {
            sibling(written, plan, file)
        };
        let mut sources: Vec<&Path> = file.sources.iter().map(PathBuf::as_path).collect();
        // The parent's rows come first in a fork.
        sources.reverse();
        let validation = validate_fork(plan.agent, &sources, &path)?;
        first.get_or_insert(validation);
    }
    let agent = crate::agents::by_name(plan.agent);
    let agent = agent.ok_or_else(|| invalid(written, "no such agent"))?;
    if !agent.has_same_history(&plan.source, &plan.cut, written)? {
        return Err(invalid(written, "its history is not the original's there"));
    }
    let transcript = agent.read(written, crate::agents::transcript::Detail::Outline)?;
    if !plan.named_by_directory && transcript.session_id != new_id {
        return Err(invalid(written, "it does not have the new session's id"));
    }
    if !transcript.abandoned.is_empty() {
        return Err(invalid(written, "it holds a rewound timeline"));
    }
    first.ok_or_else(|| invalid(written, "it is empty"))
}

fn sibling(written: &Path, plan: &ForkPlan, file: &super::FilePlan) -> PathBuf {
    let depth = plan
        .files
        .first()
        .map_or(0, |first| first.name.components().count());
    let root = written.ancestors().nth(depth).unwrap_or(written);
    root.join(&file.name)
}

/// The error that names what is wrong with a fork.
pub(in crate::agents) fn invalid(fork: &Path, what: &str) -> Error {
    Error::new(
        Code::VerifyFailed,
        format!("the fork '{}' is not valid: {what}", fork.display()),
    )
    .hint("its files can be rewound: give --code")
}

/// The lines of several files, one after the other.
struct Chained<'a> {
    rest: std::slice::Iter<'a, &'a Path>,
    current: Option<Lines<Box<dyn std::io::BufRead>>>,
}

impl<'a> Chained<'a> {
    fn new(paths: &'a [&'a Path]) -> Self {
        Self {
            rest: paths.iter(),
            current: None,
        }
    }

    /// Goes on to the line that is `wanted` but for ids, past lines that the fork leaves out.
    fn advance_to(&mut self, wanted: &[u8], free: &Free, left_out: LeftOut) -> Result<bool> {
        loop {
            if let Some(reader) = &mut self.current {
                while let Some(line) = reader.next_line()? {
                    if without_ids(line.bytes, free, left_out) == wanted {
                        return Ok(true);
                    }
                }
            }
            let Some(path) = self.rest.next() else {
                return Ok(false);
            };
            let file = crate::git::regular::open(path).context(|| lines::shown(path))?;
            self.current = Some(Lines::new(Box::new(std::io::BufReader::new(file))));
        }
    }
}

/// Finds the pieces of a line that a fork may leave out.
type LeftOut = fn(&[u8]) -> Vec<std::ops::Range<usize>>;

/// A line without the ids that a fork may change, without the origin that it may add, and without what it may leave out.
fn without_ids(line: &[u8], free: &Free, left_out: LeftOut) -> Vec<u8> {
    let mut gone: Vec<std::ops::Range<usize>> = free
        .ids
        .iter()
        .filter_map(|path| span::find(line, path))
        .collect();
    gone.extend(free.origin.and_then(|path| added_member(line, path)));
    gone.extend(left_out(line));
    gone.sort_by_key(|range| range.start);
    let mut out = Vec::with_capacity(line.len());
    let mut done = 0;
    for range in gone {
        out.extend_from_slice(line.get(done..range.start).unwrap_or_default());
        done = range.end.max(done);
    }
    out.extend_from_slice(line.get(done..).unwrap_or_default());
    out
}

/// The bytes of a member that is not the first of its object: from the comma before it to its end.
fn added_member(line: &[u8], path: &[&str]) -> Option<std::ops::Range<usize>> {
    let value = span::find(line, path)?;
    let comma = line
        .get(..value.start)?
        .iter()
        .rposition(|&byte| byte == b',')?;
    Some(comma..value.end)
}

/// What was seen of a fork so far.
#[derive(Default)]
struct State {
    lines: u64,
    calls: u64,
    sessions: HashSet<String>,
    ids: HashMap<String, Option<String>>,
    /// Ids of records of which nothing is asked.
    also: HashSet<String>,
    roots: u64,
    open: HashMap<String, u64>,
}

impl State {
    fn take(&mut self, facts: &Facts, shape: &Shape) -> std::result::Result<(), String> {
        self.lines += 1;
        if let Some(session) = &facts.session
            && (shape.every_session || self.sessions.is_empty())
        {
            self.sessions.insert(session.clone());
        }
        if self.sessions.len() > 1 {
            return Err("another session's id".to_owned());
        }
        self.also.extend(facts.also.clone());
        if let Some(id) = &facts.id {
            let parent = facts.parent.clone().filter(|_| !facts.boundary);
            if self.ids.insert(id.clone(), parent).is_some() {
                return Err(format!("id '{id}' appears twice"));
            }
            self.roots += u64::from(facts.parent.is_none() && !facts.boundary && shape.chained);
        }
        for call in &facts.calls {
            self.calls += 1;
            *self.open.entry(call.clone()).or_default() += 1;
        }
        for call in &facts.settled {
            self.calls += 1;
            self.open.remove(call);
        }
        for result in &facts.results {
            match self.open.get_mut(result) {
                Some(count) if *count > 1 => *count -= 1,
                Some(_) => {
                    self.open.remove(result);
                }
                None => return Err(format!("result '{result}' without its call")),
            }
        }
        Ok(())
    }

    /// What was counted, and the parent that the fork's first row names but the fork lacks.
    fn finish(self, shape: &Shape) -> std::result::Result<(Validation, Option<String>), String> {
        if let Some(call) = self.open.keys().next() {
            return Err(format!("tool call '{call}' without its result"));
        }
        let missing = if shape.chained {
            self.one_chain()?
        } else {
            None
        };
        let validation = Validation {
            lines: self.lines,
            ids: self.ids.len() as u64,
            calls: self.calls,
        };
        Ok((validation, missing))
    }

    /// Every row leads to the one root: a row without a parent, or the one whose parent the original lacks too.
    fn one_chain(&self) -> std::result::Result<Option<String>, String> {
        let missing = self
            .ids
            .values()
            .flatten()
            .filter(|parent| !self.ids.contains_key(*parent) && !self.also.contains(*parent))
            .collect::<Vec<_>>();
        if self.roots + missing.len() as u64 > 1 {
            return Err(match missing.first() {
                Some(parent) => format!("row '{parent}' is named but not there"),
                None => "more than one chain".to_owned(),
            });
        }
        let mut reached: HashSet<&str> = HashSet::new();
        for start in self.ids.keys() {
            let mut path = Vec::new();
            let mut next = Some(start.as_str());
            while let Some(id) = next.filter(|id| !reached.contains(id)) {
                path.push(id);
                if path.len() > self.ids.len() {
                    return Err(format!("row '{id}' follows itself"));
                }
                next = self
                    .ids
                    .get(id)
                    .and_then(|parent| parent.as_deref())
                    .filter(|parent| self.ids.contains_key(*parent));
            }
            reached.extend(path);
        }
        Ok(missing.first().map(|parent| (*parent).clone()))
    }
}
