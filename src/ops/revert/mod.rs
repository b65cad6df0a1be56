//! Revert: what a prompt, a session or a snapshot changed is taken back, and all that came later stays.
//!
//! Each turn is a three-way merge onto the present, from the state after it to the one before it. Owns which states those are
//! (`turns`), whose a change is where turns overlap (`plan`, `whose`), what is taken back already (`gone`), and which later prompts touched the same lines (`later`); the
//! merge and the swap are those of every application of changes. Index and HEAD stay. A conflict writes nothing.

mod gone;
mod later;
mod outcome;
mod plan;
mod turns;
mod whose;

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::Context;
use super::address;
use super::applying::{Applying, Change, OnConflict, Put, Words};
use super::checkpoints::{self, resolve_session};
use super::merge::{self, Beside, Merged};
use super::pathspec::Pathspec;
use super::request::DryRun;
use super::swap::recover;
use super::versions::ChainPlace;
use crate::error::{Code, Error, Result};
use crate::git::path::RepoPath;
use crate::store::Store;
use crate::store::address::{Address, parse};
use crate::store::checkpoint::Checkpoint;
use crate::store::names::session_component;
use crate::store::state::Mode;
use crate::store::trigger::SwapKind;
use later::{Followed, Later};
use plan::{Plan, Planner, Stretch};
use turns::{End, Turn, Turns, names};

pub use outcome::{Adjacent, Conflict, Lines, Prompt, Reverted, Taken, Unattributed, place_of};
pub use plan::Shared;

/// What becomes of lines that were changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conflicts {
    /// Nothing is written.
    #[default]
    Refuse,
    /// Both sides come into the files, with markers.
    Write,
    /// The prompts that touched them are taken back, too.
    WithDependents,
}

/// Take back what prompts changed.
#[derive(Debug, Clone, Default)]
pub struct Revert {
    /// Checkpoints, or snapshots.
    pub what: Vec<String>,
    /// Whose checkpoints; without any, all of this session's.
    pub session: Option<String>,
    /// Only in these paths.
    pub paths: Vec<OsString>,
    /// What becomes of conflicts.
    pub conflicts: Conflicts,
    /// What becomes of changes that may be another's.
    pub shared: Shared,
    /// Plan only.
    pub dry_run: DryRun,
}

/// Takes back what the turns of a request changed, and keeps what came later.
///
/// # Errors
/// `CONFLICT` with lines and later prompts; `INVALID_CHECKPOINT`, `SESSION_NOT_FOUND` and what an address can be refused for;
/// `PATH_NOT_FOUND` for a word that means nothing; `ALREADY_IN_PAST`; `WOULD_OVERWRITE`; else as a restore. Nothing is changed then.
pub fn revert(ctx: &Context<'_>, request: &Revert) -> Result<Reverted> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, SwapKind::Revert.as_str(), request.dry_run)?;
    let done = take_back(ctx, store, request);
    begun.answer(done, |reverted| &mut reverted.notices)
}

fn take_back(ctx: &Context<'_>, store: &Store, request: &Revert) -> Result<Reverted> {
    if store.dir.state()?.mode == Mode::Past {
        let message = "a prompt is taken back in the present, and this is the past";
        return Err(Error::new(Code::AlreadyInPast, message).hint("run 'tw return' first"));
    }
    let reverting = Reverting {
        ctx,
        store,
        request,
        only: Pathspec::parse(ctx, &request.paths)?,
        turns: Turns::read(ctx, store)?,
    };
    reverting.run()
}

/// What is taken back.
#[derive(Default)]
struct Chosen {
    turns: Vec<Turn>,
    /// The places of snapshots.
    snapshots: Vec<ChainPlace>,
    /// Turns of the session that stay, since nobody knows what they did here: why.
    left: Vec<Error>,
}

struct Reverting<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    request: &'a Revert,
    only: Pathspec,
    turns: Turns,
}

impl Reverting<'_> {
    fn run(&self) -> Result<Reverted> {
        let mut chosen = self.chosen()?;
        let shared = (self.request.shared, &self.only);
        let mut planner = Planner::new(self.ctx, self.store, &self.turns, shared)?;
        planner.refuse_unknown(&self.request.paths, &chosen.turns, &chosen.snapshots)?;
        loop {
            let plan = planner.plan(&chosen.turns, &chosen.snapshots)?;
            let (stretches, changes) = changes(&planner, &plan)?;
            let applying = self.applying(&chosen, (changes, self.nothing(&chosen, &plan)))?;
            let error = match applying.run(self.request.dry_run) {
                Ok(put) => return self.answer(&chosen, plan, &stretches, (&applying, put)),
                Err(error) => error,
            };
            if error.code() != Code::Conflict {
                return Err(error);
            }
            let merged = applying.merged();
            let conflicts = self.conflicts(&chosen, &stretches, &applying, &merged)?;
            let known = names(&chosen.turns);
            let mut dependents: Vec<Turn> = conflicts
                .iter()
                .flat_map(|(_, prompts)| prompts.iter().cloned())
                .filter(|turn| turn.is_known() && !known.contains(&turn.name()))
                .collect();
            dependents.sort_by_key(Turn::name);
            dependents.dedup_by_key(|turn| turn.name());
            if self.request.conflicts != Conflicts::WithDependents || dependents.is_empty() {
                return Err(conflict(&conflicts));
            }
            chosen.turns.extend(dependents);
        }
    }

    /// What is said where there is nothing to do.
    fn nothing(&self, chosen: &Chosen, plan: &Plan) -> &'static str {
        let is_left = plan.leaves_latest || !plan.unattributed.is_empty();
        if is_left && self.request.shared == Shared::Leave {
            "nothing to revert but what may be another session's"
        } else if !chosen.left.is_empty() {
            "nothing to revert of the other turns"
        } else if plan.already.is_empty() {
            "nothing to revert: the present has none of it"
        } else {
            "already reverted: what came later stays, also where it looks the same"
        }
    }

    fn chosen(&self) -> Result<Chosen> {
        let request = self.request;
        let mut chosen = Chosen::default();
        if request.what.is_empty() {
            let Some(word) = request.session.as_deref() else {
                let message = "name a checkpoint, or a session with --session";
                return Err(Error::usage(message).hint("'tw log' shows what there is"));
            };
            let session_id = resolve_session(self.ctx, self.store, Some(word))?;
            let turns = self.turns.of_session(&session_id).into_iter();
            let (known, unknown) = turns.partition(Turn::is_known);
            chosen.turns = known;
            let unknown: Vec<Turn> = unknown;
            let mut left: Vec<(u64, Error)> = unknown
                .iter()
                .map(|one| (one.name().1, not_known(one)))
                .collect();
            let gone = self.turns.gone_of(&session_id);
            left.extend(gone.map(|one| (one.checkpoint_id, no_snapshot(one))));
            left.sort_by_key(|(n, _)| *n);
            chosen.left = left.into_iter().map(|(_, why)| why).collect();
            return if chosen.turns.is_empty() && !chosen.left.is_empty() {
                Err(chosen.left.swap_remove(0))
            } else {
                Ok(chosen)
            };
        }
        for word in &request.what {
            let is_number = word.trim().parse::<u64>().is_ok();
            let now = self.ctx.env.now();
            if is_number || matches!(parse(word, now), Ok(Address::Checkpoint { .. })) {
                chosen.turns.push(self.turn(word)?);
            } else {
                chosen.snapshots.push(self.snapshot(word)?);
            }
        }
        chosen.turns.sort_by_key(Turn::name);
        chosen.turns.dedup_by_key(|turn| turn.name());
        Ok(chosen)
    }

    fn turn(&self, word: &str) -> Result<Turn> {
        let session = self.request.session.as_deref();
        let named = checkpoints::find(self.ctx, self.store, word, session)?;
        let turn = (self.ctx, self.store);
        let turn = self.turns.of(turn, &named.notes, &named.checkpoint);
        let Some(turn) = turn else {
            let snapshot = checkpoints::stored(self.store, &named.checkpoint)?;
            let message = format!("'{}' was not taken in the present", snapshot.id);
            return Err(Error::new(Code::CheckpointUnavailable, message));
        };
        if !turn.is_known() {
            return Err(not_known(&turn));
        }
        Ok(turn)
    }

    /// The place of a snapshot, which has one before it.
    fn snapshot(&self, word: &str) -> Result<ChainPlace> {
        let stored = address::resolve(self.ctx, self.store, word)
            .map_err(|error| error.hint("'tw log' shows the prompts"))?;
        let states = &self.turns.states;
        let state = states.all.iter().find(|state| state.id == stored.id);
        let place = state.map(|state| state.place).filter(|place| {
            let chain = states.chains.get(place.chain);
            place.at > 0 && chain.is_some_and(|chain| chain.is_present)
        });
        place.ok_or_else(|| {
            let message = format!(
                "what '{}' changed is not known: it has no snapshot of the present before it",
                stored.id
            );
            Error::usage(message).hint(format!(
                "'tw diff {} present' shows what differs",
                stored.id
            ))
        })
    }

    fn applying(
        &self,
        chosen: &Chosen,
        (changes, nothing): (Vec<Change>, &'static str),
    ) -> Result<Applying<'_, '_>> {
        let on_conflict = match self.request.conflicts {
            Conflicts::Write => OnConflict::Markers,
            Conflicts::Refuse | Conflicts::WithDependents => OnConflict::Refuse,
        };
        let words = Words {
            operation: SwapKind::Revert,
            title: format!("before reverting {}", self.title(chosen)),
            nothing,
            who: "what is reverted",
        };
        let what = (changes, self.only.clone());
        Applying::new(
            self.ctx,
            self.store,
            what,
            words,
            (on_conflict, Beside::Joins),
        )
    }

    fn title(&self, chosen: &Chosen) -> String {
        match (chosen.turns.as_slice(), chosen.snapshots.as_slice()) {
            ([turn], []) => format!(
                "checkpoint {} of session {}",
                turn.checkpoint.checkpoint_id,
                session_component(&turn.checkpoint.session_id)
            ),
            ([], [place]) => self.id_at(*place).unwrap_or_default(),
            (turns, snapshots) => match turns.len() + snapshots.len() {
                0 => "nothing".to_owned(),
                many => format!("{many} prompts"),
            },
        }
    }

    fn id_at(&self, place: ChainPlace) -> Option<String> {
        Some(self.turns.states.at(place)?.id.to_string())
    }

    /// The conflicts, with the later prompts that touched the same lines.
    fn conflicts(
        &self,
        chosen: &Chosen,
        stretches: &[Stretch],
        applying: &Applying<'_, '_>,
        merged: &Merged,
    ) -> Result<Vec<(Conflict, Vec<Turn>)>> {
        let later = Later {
            store: self.store,
            turns: &self.turns,
            chosen: &chosen.turns,
            present: &|full, node| applying.present(full, node),
        };
        let mut all = Vec::new();
        for conflict in &merged.conflicts {
            let stretch = stretches.get(conflict.step);
            let followed = stretch.map(|stretch| later.follow(stretch, conflict));
            let followed = followed.transpose()?.unwrap_or_default();
            all.push((shown(conflict, &followed), followed.turns));
        }
        Ok(all)
    }

    fn answer(
        &self,
        chosen: &Chosen,
        plan: Plan,
        stretches: &[Stretch],
        (applying, put): (&Applying<'_, '_>, Put),
    ) -> Result<Reverted> {
        let conflicts = self.conflicts(chosen, stretches, applying, &put.merged)?;
        let turns = chosen.turns.iter().map(|turn| self.taken(turn));
        let snapshots = chosen.snapshots.iter().map(|place| Taken {
            prompt: Prompt::default(),
            snapshot_id: self
                .id_at(ChainPlace::new(place.chain, place.at - 1))
                .unwrap_or_default(),
            end_snapshot_id: self.id_at(*place),
            end_noted: true,
        });
        let adjacent = put
            .merged
            .adjacent
            .into_iter()
            .map(|(path, lines)| Adjacent {
                path: RepoPath::new(path),
                lines: lines.iter().map(Lines::from).collect(),
            });
        let unattributed = plan.unattributed.into_iter();
        let mut notices: Vec<String> = put.notices;
        notices.extend(self.unnoted(&chosen.turns));
        notices.extend(
            chosen
                .left
                .iter()
                .map(|why| format!("{}: it stays", why.message())),
        );
        if plan.leaves_latest {
            let said = "what came after the last snapshot may be another session's and stays; '--include-shared' takes it back, too";
            notices.push(said.to_owned());
        }
        notices.extend(self.turns.unreadable.iter().cloned());
        Ok(Reverted {
            dry_run: put.dry_run,
            reverted: turns.chain(snapshots).collect(),
            backup_id: put.backup_id,
            changes: put.changes,
            already_reverted: plan.already.into_iter().map(RepoPath::new).collect(),
            merged: put.merged.merged.into_iter().map(RepoPath::new).collect(),
            adjacent: adjacent.collect(),
            conflicts: conflicts
                .into_iter()
                .map(|(conflict, _)| conflict)
                .collect(),
            unattributed: unattributed
                .map(|(path, session_ids)| Unattributed {
                    path: RepoPath::new(path),
                    session_ids: session_ids.into_iter().collect(),
                })
                .collect(),
            included_shared: self.request.shared == Shared::Include,
            notices,
        })
    }

    fn taken(&self, turn: &Turn) -> Taken {
        Taken {
            prompt: Prompt::from(&turn.checkpoint),
            snapshot_id: turn.checkpoint.snapshot_id.clone(),
            end_snapshot_id: turn
                .last()
                .and_then(|at| self.id_at(ChainPlace::new(turn.chain, at))),
            end_noted: matches!(turn.end, End::Noted(_)),
        }
    }

    /// Where an end was not noted, what people did before the next prompt is in the turn, too.
    fn unnoted(&self, turns: &[Turn]) -> Vec<String> {
        let said = |turn: &Turn| {
            let until = match turn.end {
                End::Noted(_) | End::Elsewhere(_) | End::Forgotten(_) => return None,
                End::Taken(at) => self.id_at(ChainPlace::new(turn.chain, at))?,
                End::Open => "now".to_owned(),
            };
            let n = turn.checkpoint.checkpoint_id;
            Some(format!(
                "the end of the turn of checkpoint {n} was not noted: all that changed until {until} counts as its"
            ))
        };
        turns.iter().filter_map(said).collect()
    }
}

/// Why it is not known what a turn did.
fn not_known(turn: &Turn) -> Error {
    let n = turn.checkpoint.checkpoint_id;
    let message = if matches!(turn.end, End::Forgotten(_)) {
        format!(
            "the snapshot at the end of the turn of checkpoint {n} was forgotten, and what was done after it cannot be told apart"
        )
    } else {
        format!(
            "the turn of checkpoint {n} began or ended in the past or in another worktree, and what it did here is not known"
        )
    };
    let id = &turn.checkpoint.snapshot_id;
    Error::new(Code::CheckpointUnavailable, message).hint(format!(
        "'tw diff {id} present' shows what differs since its prompt; 'tw restore {id} PATH' brings single paths back"
    ))
}

fn no_snapshot(checkpoint: &Checkpoint) -> Error {
    let message = format!(
        "the snapshot of checkpoint {} is not there any more, and what its turn did is not known",
        checkpoint.checkpoint_id
    );
    let error = Error::new(Code::CheckpointUnavailable, message);
    error.hint("'tw log' shows which snapshots are left")
}

/// The stretches that change something, with their changes.
fn changes(planner: &Planner<'_>, plan: &Plan) -> Result<(Vec<Stretch>, Vec<Change>)> {
    let mut all = (Vec::new(), Vec::new());
    for stretch in &plan.stretches {
        if let Some(change) = planner.change(stretch)? {
            all.0.push(stretch.clone());
            all.1.push(change);
        }
    }
    Ok(all)
}

/// The lines are those followed, where they are known better than by what differs around them.
fn shown(conflict: &merge::Conflict, followed: &Followed) -> Conflict {
    let around = conflict.overlaps.iter().map(|overlap| overlap.ours.clone());
    let known = followed.lines.clone();
    let ranges = known.unwrap_or_else(|| around.collect());
    let mut lines: Vec<Lines> = ranges.iter().map(Lines::from).collect();
    lines.dedup();
    let prompts = followed.turns.iter();
    Conflict {
        path: RepoPath::new(conflict.path.clone()),
        reason: conflict.reason,
        lines,
        adjacent: followed.is_beside,
        prompts: prompts.map(|turn| Prompt::from(&turn.checkpoint)).collect(),
    }
}

fn conflict(conflicts: &[(Conflict, Vec<Turn>)]) -> Error {
    let shown: Vec<String> = conflicts
        .iter()
        .take(5)
        .map(|(conflict, _)| conflict.to_string())
        .collect();
    let beside = conflicts.iter().filter(|(conflict, _)| conflict.adjacent);
    let place = match beside.count() {
        0 => "in the same lines",
        beside if beside == conflicts.len() => "directly beside the same lines",
        _ => "in the same lines or directly beside them",
    };
    let message = format!("changed since, {place}: {}", shown.join("; "));
    let paths: BTreeSet<&[u8]> = conflicts
        .iter()
        .map(|(conflict, _)| conflict.path.as_bytes())
        .collect();
    let list: Vec<_> = conflicts.iter().map(|(conflict, _)| conflict).collect();
    let mut error = Error::new(Code::Conflict, message);
    if conflicts.iter().any(|(_, prompts)| !prompts.is_empty()) {
        error = error.hint("'--with-dependents' reverts the prompts that did, too");
    }
    error
        .hint("nothing was written; '--conflicts' writes both sides into the files, with markers")
        .paths("paths", &paths.into_iter().collect::<Vec<_>>())
        .detail("conflicts", serde_json::json!(list))
}
