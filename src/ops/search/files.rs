//! Hits in files: how long each line was there, and when it came and went.

use std::collections::HashMap;

use super::content::Matches;
use super::found::{FileHit, Gone, Said};
use super::plan::{File, Step};
use super::runs::{Run, Runs, What};
use super::{Change, Place};
use crate::ops::versions::{ChainPlace, States, Version};

/// The states that a search looks at.
#[derive(Debug)]
pub struct Chosen(Option<Vec<Vec<usize>>>);

impl Chosen {
    /// Chooses every state.
    pub fn all() -> Self {
        Self(None)
    }

    /// Those that `is_chosen` says, by position.
    pub fn new(states: &States, is_chosen: impl Fn(usize) -> bool) -> Self {
        let counts = states.chains.iter().map(|chain| {
            let mut counts = vec![0];
            for position in &chain.states {
                let before = counts.last().copied().unwrap_or(0);
                counts.push(before + usize::from(is_chosen(*position)));
            }
            counts
        });
        Self(Some(counts.collect()))
    }

    /// Whether there is one among these of a chain.
    fn any(&self, chain: usize, from: usize, to: usize) -> bool {
        self.0
            .as_ref()
            .is_none_or(|counts| counts[chain][to + 1] > counts[chain][from])
    }

    /// Whether any of a path's versions is in one, or came or went in one.
    pub fn touches(&self, path: &File) -> bool {
        let ends = |step: &Step| {
            let length = self
                .0
                .as_ref()
                .map_or(usize::MAX, |counts| counts[step.version.chain].len() - 1);
            (step.version.to + 1).min(length.saturating_sub(1))
        };
        path.steps
            .iter()
            .any(|step| self.any(step.version.chain, step.version.from, ends(step)))
    }
}

/// What is asked of lines in files.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The states.
    pub states: &'a States,
    /// Those that count.
    pub chosen: &'a Chosen,
    /// Content, diff, or both.
    pub places: &'a [Place],
    /// Of a diff these; None: both.
    pub change: Option<Change>,
}

/// The runs of a path's lines, in its files and in its index.
#[derive(Debug, Default)]
pub struct PathRuns {
    files: Runs,
    index: Runs,
}

impl PathRuns {
    /// Takes the next version in; without matches one that cannot be read.
    pub fn take(&mut self, step: &Step, matches: Option<&Matches>) {
        let Version {
            chain, from, to, ..
        } = step.version;
        let side = if step.staged {
            &mut self.index
        } else {
            &mut self.files
        };
        match matches {
            Some(matches) => side.take((chain, from, to), matches),
            None => side.pass_over((chain, from, to)),
        }
    }

    /// The hits of the path.
    pub fn hits(self, path: &File, asked: &Asked<'_>) -> Vec<FileHit> {
        let files = self.files.done();
        let mut found = Vec::new();
        if asked.places.contains(&Place::Diff) {
            for run in &files {
                asked.events(path, run, &mut found);
            }
        }
        if asked.places.contains(&Place::Content) {
            let mut known: HashMap<Key, Span> = HashMap::new();
            for run in files {
                asked.add(&mut known, run);
            }
            let mut staged: HashMap<Key, Span> = HashMap::new();
            for run in self.index.done() {
                asked.add(&mut staged, run);
            }
            staged.retain(|key, _| !known.contains_key(key));
            let both = known.into_values().map(|span| (span, false));
            let both = both.chain(staged.into_values().map(|span| (span, true)));
            let both = both.filter(|(span, _)| span.is_chosen);
            found.extend(both.map(|(span, staged)| asked.found(path, span, staged)));
        }
        found
    }
}

/// What makes lines of different times one hit.
type Key = (What, usize);

/// A line in all its runs.
struct Span {
    first: (usize, ChainPlace),
    last: (usize, ChainPlace),
    /// The one at whose end it was there last.
    run: Run,
    /// Some chain ends with it, or may do so.
    goes_on: bool,
    is_chosen: bool,
}

impl Asked<'_> {
    fn add(&self, spans: &mut HashMap<Key, Span>, run: Run) {
        let (from, to) = (run.first(), run.last());
        let first = (self.states.position(from), from);
        let last = (self.states.position(to), to);
        let goes_on = self.states.after(run.last_possible()).is_none();
        let is_chosen = self.chosen.any(run.chain, run.from, run.to);
        let key = (run.what.clone(), run.nth);
        let Some(span) = spans.get_mut(&key) else {
            let span = Span {
                first,
                last,
                run,
                goes_on,
                is_chosen,
            };
            spans.insert(key, span);
            return;
        };
        span.first = span.first.min(first);
        span.goes_on |= goes_on;
        span.is_chosen |= is_chosen;
        if last > span.last {
            span.last = last;
            span.run = run;
        }
    }

    fn found(&self, path: &File, span: Span, staged: bool) -> FileHit {
        let is_present = |place: ChainPlace| self.states.chains[place.chain].is_present;
        let gone = self.states.after(span.run.last_possible());
        let gone = gone.filter(|place| !span.goes_on && !staged && is_present(*place));
        let gone = gone.map(|place| Gone {
            place,
            is_exact: span.run.reach == span.run.to,
        });
        FileHit {
            position: span.last.0,
            place: Place::Content,
            said: Said::new(span.run.what, span.run.end),
            path: Some(path.path.clone()),
            first: span.first.0,
            last: span.last.0,
            came: Some(span.first.1).filter(|place| !staged && is_present(*place)),
            gone,
            staged,
            change: None,
            count: None,
        }
    }

    /// Where a line came, and where it went.
    fn events(&self, path: &File, run: &Run, found: &mut Vec<FileHit>) {
        if !self.states.chains[run.chain].is_present {
            return;
        }
        let (from, to) = (run.first(), run.last());
        let came = Some((Change::Added, from, &run.begin));
        // Not where nobody knows whether it went there or before.
        let went = self.states.after(to).filter(|_| run.reach == run.to);
        let went = went.map(|went| (Change::Removed, went, &run.end));
        for (change, place, spot) in came.into_iter().chain(went) {
            let wanted = self.change.is_none_or(|wanted| wanted == change);
            if !wanted || !self.chosen.any(place.chain, place.at, place.at) {
                continue;
            }
            found.push(FileHit {
                position: self.states.position(place),
                place: Place::Diff,
                said: Said::new(run.what.clone(), spot.clone()),
                path: Some(path.path.clone()),
                first: self.states.position(from),
                last: self.states.position(to),
                came: Some(place),
                gone: None,
                staged: false,
                change: Some(change),
                count: None,
            });
        }
    }
}
