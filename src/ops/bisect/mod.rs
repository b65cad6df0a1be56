//! `tw bisect run`: which snapshot broke it.
//!
//! Owns the question (a command, the files that are put over every snapshot), the line of snapshots (`line`), and the answer. What to look
//! at next is `search`'s, which is pure; `probe` runs the command in scratches; `verdicts` remembers. Promises: the present is not
//! touched; nothing is blamed that was not seen on both sides; an interrupted search goes on where it stopped.

mod line;
mod outcome;
mod probe;
pub mod search;
mod verdicts;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use sha2::{Digest, Sha256};

pub use self::outcome::{Answer, Bisected, Origin, Point, PointPrompt, ProbeView, Verdict};

use self::line::Snapshots;
use self::probe::{Probed, Question};
use self::search::{Edge, Line, Next, SearchResult, Seen};
use self::verdicts::Verdicts;
use super::Context;
use super::approval;
use super::compare::{Beyond, Patches, Side, sides};
use super::elsewhere::Files;
use super::outcome::{Diff, OtherKind};
use super::pathspec::Pathspec;
use super::scratches::at_work;
use super::scratches::present::Present;
use super::scratches::surroundings::Surroundings;
use super::scratches::with::With;
use super::versions::{Scope, States};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::create::private_dir;
use crate::git::hex::hex;
use crate::git::path::RepoPath;
use crate::interrupt::{self, Deferred};
use crate::runner::line_or_words;
use crate::store::Store;
use crate::store::state::Mode;
use crate::store::stored::Stored;

/// How long what probes printed is kept, at least.
const LOG_DAYS: u64 = 7;

/// Search for the snapshot that broke it, or fixed it.
#[derive(Debug, Clone, Default)]
pub struct Bisect {
    /// The good end; None: it is sought backwards (with `find_good`: the present).
    pub good: Option<String>,
    /// The bad end; None: the present (with `find_good`: it is sought backwards).
    pub bad: Option<String>,
    /// How many probes run side by side.
    pub parallel: usize,
    /// How often the command runs on each tree.
    pub repeat: u32,
    /// Only the snapshots of this session.
    pub session: Option<String>,
    /// Files of the present that are put over every snapshot.
    pub with: Vec<OsString>,
    /// Search for the first good one.
    pub find_good: bool,
    /// A shell command that makes each scratch ready.
    pub setup: Option<String>,
    /// After how long a run is ended.
    pub timeout: Option<Duration>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// A person has typed the commands here: they are approved by that. Others have to be.
    pub is_typed: bool,
}

impl Bisect {
    fn newer(&self) -> Option<&str> {
        if self.find_good {
            &self.good
        } else {
            &self.bad
        }
        .as_deref()
    }

    fn older(&self) -> Option<&str> {
        if self.find_good {
            &self.bad
        } else {
            &self.good
        }
        .as_deref()
    }

    /// What a verdict means for the search.
    fn seen(&self, verdict: Verdict) -> Seen {
        match verdict {
            Verdict::Good if self.find_good => Seen::New,
            Verdict::Bad if !self.find_good => Seen::New,
            Verdict::Good | Verdict::Bad => Seen::Old,
            Verdict::Skip | Verdict::Undecided => Seen::Unknown,
            Verdict::Flaky => Seen::Flaky,
        }
    }
}

/// Runs the command on past snapshots until the one that changed its verdict is found.
///
/// # Errors
/// `NOT_REPRODUCED` names the end that is not as it is to be; those of addresses and of scratches.
pub fn run(ctx: &Context<'_>, request: &Bisect) -> Result<Bisected> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    if store.dir.state()?.mode == Mode::Past {
        return Err(
            Error::new(Code::AlreadyInPast, "a search cannot start in the past").hint("tw return"),
        );
    }
    let command = approval::line_of(&request.command);
    let typed = std::iter::once(&command).chain(&request.setup);
    // The line is of snapshots that were taken in this working tree: see `line`.
    let files = Files::of_worktree(store)?;
    let typed = typed.map(String::as_str);
    approval::check(store, request.is_typed, typed, files)?;
    let (present, said) = line::present(ctx, store)?;
    said.tell(search(ctx, store, request, &present), |bisected| {
        &mut bisected.notices
    })
}

fn search(
    ctx: &Context<'_>,
    store: &Store,
    request: &Bisect,
    present: &Stored,
) -> Result<Bisected> {
    let snapshots = Snapshots::between(ctx, store, request)?;
    if snapshots.line.len() < 2 {
        return Err(Error::new(
            Code::Usage,
            "there is nothing to search: only one snapshot is there",
        )
        .hint("'tw list' shows the snapshots of this worktree"));
    }
    let all = States::read(ctx, store, Scope::All)?;
    let kept: HashSet<String> = all.all.iter().map(|state| state.tree.to_string()).collect();
    verdicts::forget(store, &kept)?;
    let question = question(ctx, store, request, present)?;
    let name = name(ctx, request, &question)?;
    let mut search = Bisecting {
        ctx,
        store,
        request,
        verdicts: Verdicts::read(store, &name)?,
        question,
        states: known_by(store, &snapshots),
        known: BTreeMap::new(),
        probes: Vec::new(),
        rounds: 0,
        notices: Vec::new(),
        outside: Outside::default(),
        snapshots,
    };
    let before = Surroundings::look(ctx)?;
    let _at_work = at_work::begin(ctx)?;
    let stop = interrupt::defer();
    ctx.progress.begin("probing", None);
    let found = search.search(&stop);
    ctx.progress.end();
    drop(stop);
    let outside = search.look_around(&before);
    let found = found.map_err(|error| match &outside {
        Ok(outside) => outside.told_with(error),
        // Why the search ended says more than why nobody could look.
        Err(_) => error,
    })?;
    search.outside = outside?;
    Ok(match found {
        Some(found) => search.answer(found)?,
        None => search.bisected(Answer::Interrupted, None, Vec::new(), None),
    })
}

/// What the runs did outside of their scratches, or somebody else while they went on.
#[derive(Debug, Clone, Default)]
struct Outside {
    /// Paths of the present.
    escapes: Vec<RepoPath>,
    /// Names of refs.
    refs_made: Vec<String>,
}

impl Outside {
    /// An error that tells it, too.
    fn told_with(&self, mut error: Error) -> Error {
        let escapes: Vec<String> = self.escapes.iter().map(RepoPath::display).collect();
        error = error
            .paths("escapes", &self.escapes)
            .detail("refs_made", self.refs_made.clone());
        for (what, all) in [
            ("changed in the present", &escapes),
            ("made or changed refs", &self.refs_made),
        ] {
            if !all.is_empty() {
                error = error.hint(format!("{what}: {}", all.join(", ")));
            }
        }
        error
    }
}

/// What every probe does, with what it is given.
fn question(
    ctx: &Context<'_>,
    store: &Store,
    request: &Bisect,
    present: &Stored,
) -> Result<Question> {
    let logs = store.common(verdicts::DIR).join("logs");
    private_dir(&logs)?;
    clear_old(&logs);
    Ok(Question {
        words: line_or_words(&request.command),
        with: With::named(ctx, store, (present, None), &request.with)?,
        repeat: request.repeat.max(1),
        setup: request.setup.clone(),
        timeout: request.timeout,
        logs,
    })
}

/// The hash of everything that a probe depends on beside its tree.
fn name(ctx: &Context<'_>, request: &Bisect, question: &Question) -> Result<String> {
    let mut hash = Sha256::new();
    for word in &request.command {
        hash.update(format!("{} ", word.len()));
        hash.update(word.as_bytes());
    }
    hash.update("\0");
    for (full, node) in question.with.present() {
        hash.update(format!("{:o} {} {} ", node.mode, node.oid, full.len()));
        hash.update(full);
    }
    hash.update("\0");
    let setup = request.setup.as_deref().unwrap_or_default();
    hash.update(format!("{} {setup}", setup.len()));
    hash.update(Present::look(ctx)?.ignored_hash()?);
    Ok(hex(&hash.finalize()))
}

/// Removes what probes printed long ago.
fn clear_old(logs: &std::path::Path) {
    let oldest = Duration::from_secs(LOG_DAYS * 24 * 3600);
    for entry in std::fs::read_dir(logs).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|meta| meta.modified());
        let age = age.ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > oldest) {
            // What is left is tried again next time.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// What each place is known by. Of one that cannot be read, by its tree: whoever lays it out is told.
fn known_by(store: &Store, snapshots: &Snapshots) -> Vec<String> {
    let states = snapshots.line.iter().map(|at| &snapshots.states.all[*at]);
    let known = states.map(|state| {
        let stored = store.read_id(&state.id);
        let known = stored.and_then(|stored| verdicts::known_by(store, &stored));
        known.unwrap_or_else(|_| state.tree.to_string())
    });
    known.collect()
}

struct Bisecting<'a, 'c> {
    ctx: &'a Context<'c>,
    store: &'a Store,
    request: &'a Bisect,
    snapshots: Snapshots,
    /// What each place of the line is known by.
    states: Vec<String>,
    question: Question,
    verdicts: Verdicts,
    known: BTreeMap<usize, Seen>,
    probes: Vec<ProbeView>,
    rounds: u32,
    notices: Vec<String>,
    outside: Outside,
}

impl Bisecting<'_, '_> {
    /// What is found; None when somebody stopped it.
    fn search(&mut self, stop: &Deferred) -> Result<Option<SearchResult>> {
        let line = self.line();
        self.recall(&line);
        loop {
            let places = match search::next(&line, &self.known) {
                Next::Done(found) => return Ok(Some(found)),
                Next::Probe(places) => places,
            };
            self.rounds += 1;
            let ids: Vec<_> = places.iter().map(|at| self.snapshots.id(*at)).collect();
            let probed = probe::side_by_side(self.ctx, &self.question, &ids, stop);
            for (at, probed) in places.iter().zip(probed) {
                self.learn(&line, *at, probed?)?;
            }
            self.ctx.progress.advance(places.len() as u64);
            if stop.requested() {
                return Ok(None);
            }
        }
    }

    /// The states by numbers, equal ones by the same.
    fn line(&self) -> Line {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let trees = self.states.iter().map(|state| {
            let next = numbers.len();
            *numbers.entry(state).or_insert(next)
        });
        Line {
            trees: trees.collect(),
            is_bounded: self.snapshots.is_bounded,
            parallel: self.request.parallel.max(1),
        }
    }

    fn tree(&self, at: usize) -> Oid {
        self.snapshots.states.all[self.snapshots.line[at]].tree
    }

    /// Whether a probe was of a state that is known by the same as that of a place.
    fn is_of(&self, probe: &ProbeView, at: usize) -> bool {
        let mut places = 0..self.states.len();
        let place = places.find(|place| self.snapshots.id(*place).to_string() == probe.snapshot_id);
        place.is_some_and(|place| self.states[place] == self.states[at])
    }

    /// What earlier searches found out.
    fn recall(&mut self, line: &Line) {
        for (at, number) in line.trees.iter().enumerate() {
            let verdict = self.verdicts.get(&self.states[at], self.question.repeat);
            let Some(verdict) = verdict.filter(|_| !self.known.contains_key(number)) else {
                continue;
            };
            self.known.insert(*number, self.request.seen(verdict));
            let view = ProbeView {
                known: true,
                ..self.view(at, verdict)
            };
            self.probes.push(view);
        }
    }

    fn learn(&mut self, line: &Line, at: usize, probed: Probed) -> Result<()> {
        self.verdicts
            .add(&self.states[at], probed.verdict, self.question.repeat)?;
        self.known
            .insert(line.trees[at], self.request.seen(probed.verdict));
        for notice in probed.notices {
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
        let view = ProbeView {
            round: self.rounds,
            exit: probed.exit,
            reason: probed.reason,
            duration_ms: u64::try_from(probed.duration.as_millis()).unwrap_or(u64::MAX),
            leaks: probed.leaks,
            log: Some(probed.log.display().to_string()),
            ..self.view(at, probed.verdict)
        };
        self.probes.push(view);
        Ok(())
    }

    fn view(&self, at: usize, verdict: Verdict) -> ProbeView {
        ProbeView {
            snapshot_id: self.snapshots.id(at).to_string(),
            tree: self.tree(at).to_string(),
            verdict,
            known: false,
            round: 0,
            exit: None,
            reason: None,
            duration_ms: 0,
            leaks: Vec::new(),
            log: None,
        }
    }

    /// What the runs did outside of their scratches.
    fn look_around(&self, before: &Surroundings) -> Result<Outside> {
        let changed = before.changed(&Surroundings::look(self.ctx)?);
        Ok(Outside {
            escapes: changed.escapes.into_iter().collect(),
            refs_made: changed.refs.into_iter().collect(),
        })
    }

    fn answer(self, found: SearchResult) -> Result<Bisected> {
        match found {
            SearchResult::NewEnd => Err(self.not_reproduced(true)),
            SearchResult::OldEnd => Err(self.not_reproduced(false)),
            SearchResult::Flaky(at) => {
                let candidates = vec![self.snapshots.point(at)];
                Ok(self.bisected(Answer::Flaky, None, candidates, None))
            }
            SearchResult::Edges(edges) => self.of_edges(&edges),
        }
    }

    fn of_edges(self, edges: &[Edge]) -> Result<Bisected> {
        let wanted = edges.iter().filter(|edge| edge.becomes == Seen::New);
        let wanted: Vec<Edge> = wanted.copied().collect();
        let Some(last) = wanted.last().copied() else {
            return Err(self.not_reproduced(true));
        };
        let point = |at| self.snapshots.point(at);
        let (answer, candidates) = if edges.len() > 1 {
            let firsts = wanted.iter().map(|edge| point(edge.after));
            (Answer::NotMonotonic, firsts.collect())
        } else if last.is_exact() {
            (Answer::Found, vec![point(last.after)])
        } else {
            let all = (last.before + 1..=last.after).map(point);
            (Answer::Range, all.collect())
        };
        let ids = (
            self.snapshots.id(last.before),
            self.snapshots.id(last.after),
        );
        let sides_of = (
            &Side::of(&self.store.read_id(&ids.0)?),
            &Side::of(&self.store.read_id(&ids.1)?),
        );
        let everything = Pathspec::parse(self.ctx, &[])?;
        let (patches, beyond) = (Patches::None, Beyond::Told);
        let mut diff = sides(self.ctx, self.store, sides_of, &everything, patches, beyond)?;
        // What else there is makes no other state of one: see [`verdicts::known_by`].
        let tells = [OtherKind::Mode, OtherKind::EmptyDirectory];
        diff.others.retain(|one| tells.contains(&one.kind));
        Ok(self.bisected(answer, Some(last), candidates, Some(diff)))
    }

    fn bisected(
        self,
        result: Answer,
        edge: Option<Edge>,
        candidates: Vec<Point>,
        diff: Option<Diff>,
    ) -> Bisected {
        let point = |at| self.snapshots.point(at);
        let (before, after) = (
            edge.map(|edge| point(edge.before)),
            edge.map(|edge| point(edge.after)),
        );
        let (bad, good) = if self.request.find_good {
            ((None, before), (after, None))
        } else {
            ((after, None), (None, before))
        };
        Bisected {
            result,
            first_bad: bad.0,
            last_good: good.1,
            first_good: good.0,
            last_bad: bad.1,
            candidates,
            diff,
            probes: self.probes,
            rounds: self.rounds,
            snapshots: self.snapshots.line.len(),
            escapes: self.outside.escapes,
            refs_made: self.outside.refs_made,
            notices: self.notices,
        }
    }

    /// The newer or the older end is not as it is to be.
    fn not_reproduced(&self, is_newer: bool) -> Error {
        let end = if is_newer == self.request.find_good {
            "good"
        } else {
            "bad"
        };
        let last = self.snapshots.line.len() - 1;
        let at = if is_newer { last } else { 0 };
        let id = self.snapshots.id(at).to_string();
        let verdict = self.probes.iter().rev();
        let verdict = verdict
            .filter(|probe| self.is_of(probe, at))
            .map(|probe| (probe.verdict, probe.reason.clone()))
            .next();
        let (verdict, reason) = verdict.unwrap_or((Verdict::Undecided, None));
        let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
        let message = if !is_newer && !self.snapshots.is_bounded {
            format!(
                "no {end} snapshot was found; the oldest, {id}, is {}{reason}",
                verdict.as_str()
            )
        } else {
            format!("the {end} end, {id}, is {}{reason}", verdict.as_str())
        };
        let probes = serde_json::to_value(&self.probes).unwrap_or_default();
        let error = self
            .outside
            .told_with(Error::new(Code::NotReproduced, message))
            .detail("result", "not-reproduced")
            .detail("end", end)
            .detail("snapshot_id", id)
            .detail("probes", probes);
        match self.probes.last().and_then(|probe| probe.log.as_deref()) {
            Some(log) => error.hint(format!("what it printed: {log}")),
            None => error,
        }
    }
}
