//! What is kept: snapshots and their objects, labels, records, tries and replays.

use std::collections::HashSet;

use super::{Finding, SHOWN, broken, listed, ok, tell, warning};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::ops::Context;
use crate::ops::holders::{self, HoldStrength, Holders, RetentionScope};
use crate::ops::issues::mend;
use crate::ops::kept::{all as all_runs, to_drop};
use crate::ops::outcome::Check;
use crate::ops::replays::Replay;
use crate::ops::sharing::{Setup, damaged};
use crate::ops::stray_notes;
use crate::ops::swap::undo_log::{self, Log};
use crate::ops::tries::Try;
use crate::ops::whole::Whole;
use crate::ops::workspaces::{head_of_member, membership};
use crate::ops::worktrees::{self, Worktree};
use crate::store::Store;
use crate::store::backtrack::Backtracks;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names::{self, RecordKind};
use crate::store::state::StateDir;
use crate::text::{count, typed, typed_path};

/// Whether every record can be read, and whether everything it holds is there.
pub fn snapshots(ctx: &Context<'_>, store: &Store) -> Vec<Check> {
    let refs = match all(store) {
        Ok(refs) => refs,
        Err(error) => return vec![tell("snapshots", Err(error))],
    };
    ctx.progress.begin("checking", Some(refs.len() as u64));
    let (mut damaged, mut newer, mut torn) = (Vec::new(), Vec::new(), Vec::new());
    let mut unseen = None;
    let mut whole = Whole::new(store);
    for (id, commit) in &refs {
        let read = store.read(id, *commit);
        match read.and_then(|_| whole.snapshot(*commit)) {
            Ok(true) => {}
            Ok(false) => torn.push(id.to_string()),
            Err(error) => match error.code() {
                Code::NewerRecord => newer.push(id.to_string()),
                Code::CorruptRecord => damaged.push(id.to_string()),
                // It may be whole: nobody is told to drop it.
                _ => unseen = unseen.or(Some(error)),
            },
        }
        ctx.progress.advance(1);
    }
    ctx.progress.end();
    let broken_refs = match broken_refs(store, IdKind::ALL.map(names::prefix)) {
        Ok(names) => names,
        Err(error) => return vec![tell("snapshots", Err(error))],
    };
    let readable = if !broken_refs.is_empty() {
        remove_broken(store, &broken_refs, "")
    } else if !damaged.is_empty() {
        let fix = without(ctx, store, &damaged);
        broken(format!("not readable: {}", listed(&damaged)), Some(fix))
    } else if !newer.is_empty() {
        warning(format!("of a newer tw: {}", listed(&newer)), "upgrade tw")
    } else {
        ok(format!("{} snapshots, backups and experiments", refs.len()))
    };
    // In a partial clone git itself leaves objects with the remote.
    let partial = ctx.repo.is_partial_clone();
    let objects = match (unseen, torn.first()) {
        (Some(error), _) => Err(error),
        (None, None) => Ok(ok("no objects are missing")),
        (None, Some(_)) if partial => Ok(warning(
            format!("objects are not here (partial clone): {}", listed(&torn)),
            mend::REFETCH,
        )),
        (None, Some(_)) => {
            let (why, fix) = why_torn(ctx, store, &torn);
            let message = format!(
                "objects are missing: {}; git gc may fail{why}",
                listed(&torn)
            );
            Ok(broken(message, Some(fix)))
        }
    };
    vec![tell("snapshots", Ok(readable)), tell("objects", objects)]
}

/// What is said more of snapshots of which objects are missing, and what mends it.
fn why_torn(ctx: &Context<'_>, store: &Store, torn: &[String]) -> (&'static str, String) {
    let alternates = store.repo.common_dir().join("objects/info/alternates");
    if !store.objects.has_all_alternates() {
        let fix = format!("put back what {} names", typed_path(&alternates));
        return ("; a directory that lends objects is not there", fix);
    }
    let why = if store.objects.borrows() {
        "; a repository that lends objects may have let them go"
    } else {
        ""
    };
    (why, without(ctx, store, torn))
}

/// What goes on without snapshots that are damaged. Nobody may drop what a past began with, and the way home does without;
/// nor where it leads home to, of which recovery says what can be done.
fn without(ctx: &Context<'_>, store: &Store, damaged: &[String]) -> String {
    let worktrees = worktrees::all(&ctx.repo).unwrap_or_default();
    for worktree in &worktrees {
        let Ok(state) = worktree.dir.state() else {
            continue;
        };
        let is_damaged = |id: Option<String>| id.is_some_and(|id| damaged.contains(&id));
        if is_damaged(state.backup_id) {
            return in_worktree(ctx, worktree, "recover");
        }
        if is_damaged(state.current_snapshot_id) {
            return in_worktree(ctx, worktree, "return");
        }
    }
    // Where something cannot be read, no drop goes before that is put right.
    let holders = holders(ctx, store).ok();
    let mut drops = damaged.iter().filter_map(|id| {
        let is_held = holders.as_ref().and_then(|all| is_held(store, all, id))?;
        Some(format!("tw {}", drop_of(id, is_held)))
    });
    if let Some(drop) = drops.next() {
        return drop;
    }
    let first = damaged.first().map_or("", String::as_str);
    for worktree in &worktrees {
        if needs(&worktree.dir, first) {
            return in_worktree(ctx, worktree, &drop_of(first, true));
        }
    }
    format!("tw {}", drop_of(first, false))
}

/// A command of `tw` for a worktree, which is named unless it is this one.
fn in_worktree(ctx: &Context<'_>, worktree: &Worktree, command: &str) -> String {
    let is_elsewhere = worktree.git_dir != ctx.repo.git_dir();
    let elsewhere = is_elsewhere.then(|| worktrees::root(worktree)).flatten();
    match elsewhere {
        Some(root) => format!("tw -C {} {command}", typed_path(&root)),
        None => format!("tw {command}"),
    }
}

fn drop_of(id: &str, is_held: bool) -> String {
    let force = if is_held { "--force " } else { "" };
    format!("drop {force}{id}")
}

/// As `tw drop` asks for them.
fn holders(ctx: &Context<'_>, store: &Store) -> Result<Holders> {
    let reach = RetentionScope {
        now: ctx.env.now(),
        keep_days: ctx.settings.keep_days,
        strict: false,
    };
    holders::find(ctx, store, reach, &[])
}

/// Whether something holds a snapshot, where `tw drop --force` lets go of it here.
fn is_held(store: &Store, holders: &Holders, id: &str) -> Option<bool> {
    let id = SnapshotId::parse(id)?;
    let commit = store.refs.read(&names::snapshot_ref(&id)).ok()??;
    let by = holders.of(&id, commit);
    let is_firm = by.iter().any(|holder| holder.grip == HoldStrength::Firm);
    (!is_firm).then_some(!by.is_empty())
}

/// Whether a level of one of its logs needs a snapshot: there, and nowhere else, `tw drop --force` lets go of it.
fn needs(dir: &StateDir, id: &str) -> bool {
    let in_log = |log| {
        let mut levels = undo_log::heads(dir, log).into_iter().flatten().flatten();
        levels.any(|level| level.needs().contains(&id))
    };
    Log::ALL.into_iter().any(in_log)
}

/// The refs that are there and name nothing, as a power cut leaves them.
fn broken_refs<P: AsRef<str>>(
    store: &Store,
    prefixes: impl IntoIterator<Item = P>,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for prefix in prefixes {
        for (name, read) in store.refs.read_all(prefix.as_ref())? {
            match read {
                Ok(_) => {}
                Err(error) if error.code() == Code::CorruptRecord => found.push(name),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

/// What is said of broken refs that only plain means remove; `more` is what follows from them
/// besides.
fn remove_broken(store: &Store, names: &[String], more: &str) -> Finding {
    let message = format!("refs are broken: {}; git gc may fail{more}", listed(names));
    let files = names.iter().take(SHOWN);
    let files = files.map(|name| typed_path(&store.repo.common_dir().join(name)));
    let fix = format!(
        "rm {}; 'git fsck --lost-found' finds what they named",
        files.collect::<Vec<_>>().join(" ")
    );
    broken(message, Some(fix))
}

fn all(store: &Store) -> Result<Vec<(SnapshotId, Oid)>> {
    let mut found = Vec::new();
    for kind in IdKind::ALL {
        let refs = store.refs.list(names::prefix(kind))?.into_iter();
        found.extend(refs.filter_map(|(name, oid)| Some((names::parse_snapshot_ref(&name)?, oid))));
    }
    Ok(found)
}

/// Whether every label names something that is listed.
pub fn labels(store: &Store) -> Result<Finding> {
    let commits: HashSet<Oid> = all(store)?.into_iter().map(|(_, oid)| oid).collect();
    let broken_labels = broken_refs(store, [names::LABELS])?;
    let broken_labels: Vec<String> = broken_labels
        .iter()
        .map(|name| names::label_of(name).to_owned())
        .collect();
    if let Some(first) = broken_labels.first() {
        let message = format!(
            "labels whose refs are broken: {}; nothing can be forgotten meanwhile",
            listed(&broken_labels)
        );
        let fix = format!("tw label --remove {}", typed(first));
        return Ok(broken(message, Some(fix)));
    }
    let mut labels = store.refs.list(names::LABELS)?;
    let total = labels.len();
    labels.retain(|(_, oid)| !commits.contains(oid));
    let lost: Vec<String> = labels
        .iter()
        .map(|(name, _)| names::label_of(name).to_owned())
        .collect();
    Ok(match lost.first() {
        None => ok(count(total, "label")),
        Some(first) => warning(
            format!("labels of snapshots that are not listed: {}", listed(&lost)),
            format!("tw label --remove {}", typed(first)),
        ),
    })
}

/// Whether every record has its notes ref and its backing ref at one commit, and says what can be read as what it is.
pub fn records(store: &Store) -> Result<Finding> {
    let kinds = RecordKind::ALL.into_iter();
    let kinds =
        kinds.filter_map(|kind| Some([kind.note_prefix()?.to_owned(), kind.record_prefix()]));
    let broken_refs = broken_refs(store, kinds.flatten())?;
    if !broken_refs.is_empty() {
        let more = ", and nothing can be forgotten meanwhile";
        return Ok(remove_broken(store, &broken_refs, more));
    }
    let (mut total, mut apart, mut newer) = (0, Vec::new(), Vec::new());
    let (mut unreadable, mut fix) = (Vec::new(), None);
    for (record, tips) in holders::record_tips(store)? {
        total += 1;
        let notes_ref = record.note_ref().map(|name| store.refs.read(&name));
        let notes_ref = notes_ref.transpose()?.flatten();
        if notes_ref != store.refs.read(&record.record_ref())? {
            apart.push(record.to_string());
        }
        for tip in tips {
            match mend::check(store, &record, tip) {
                Ok(()) => continue,
                Err(error) if error.code() == Code::NewerRecord => newer.push(record.to_string()),
                Err(error) => {
                    let history = error.hints().first().cloned();
                    fix = fix
                        .or_else(|| mend::command(store, &record, tip))
                        .or(history)
                        .or_else(|| mend::last_resort(store, &record, &error));
                    unreadable.push(record.to_string());
                }
            }
            break;
        }
    }
    Ok(if !unreadable.is_empty() {
        broken(format!("not readable: {}", listed(&unreadable)), fix)
    } else if !newer.is_empty() {
        warning(format!("of a newer tw: {}", listed(&newer)), "upgrade tw")
    } else if let Some(found) = stray(store)? {
        found
    } else if !apart.is_empty() {
        let message = format!(
            "notes ref and backing ref differ: {}; the next command that looks at it puts that right",
            listed(&apart)
        );
        warning(message, "tw issue list")
    } else {
        ok(format!(
            "{} of issues, chats and sessions",
            count(total, "record")
        ))
    })
}

/// Whether every try and replay can be read. One of a later version is not told to be dropped.
pub fn runs(ctx: &Context<'_>) -> Result<Finding> {
    let (tries, replays) = (all_runs::<Try>(ctx)?, all_runs::<Replay>(ctx)?);
    let found = ok(format!(
        "{}, {}",
        count(tries.records.len(), "try"),
        count(replays.records.len(), "replay")
    ));
    let tries = tries.invalid.into_iter();
    let tries = tries.map(|(id, error)| (to_drop::<Try>(&id), id, error));
    let replays = replays.invalid.into_iter();
    let replays = replays.map(|(id, error)| (to_drop::<Replay>(&id), id, error));
    let invalid: Vec<(String, String, Error)> = tries.chain(replays).collect();
    let damaged = invalid
        .iter()
        .find(|(.., error)| error.code() == Code::CorruptRecord);
    let Some((drop, _, error)) = damaged.or(invalid.first()) else {
        return Ok(found);
    };
    let ids: Vec<String> = invalid.iter().map(|(_, id, _)| id.clone()).collect();
    let message = format!(
        "not readable: {}; nothing can be forgotten until it is fixed",
        listed(&ids)
    );
    Ok(match error.code() {
        Code::CorruptRecord => broken(message, Some(drop.clone())),
        Code::NewerRecord => warning(
            format!(
                "of a newer tw: {}; nothing can be forgotten here",
                listed(&ids)
            ),
            "upgrade tw",
        ),
        _ => broken(message, error.hints().first().cloned()),
    })
}

/// Whether what is kept for sharing can be used.
pub fn sharing(store: &Store) -> Result<Finding> {
    if let Some(damage) = damaged::find(store)?.first() {
        return Ok(broken(damage.to_string(), Some("tw recover".to_owned())));
    }
    Ok(match Setup::read(store) {
        Err(error) if error.code() == Code::NewerRecord => warning(error.message(), "upgrade tw"),
        setup => match setup? {
            Some(setup) => ok(format!("on, with '{}'", setup.remote)),
            None => ok("off"),
        },
    })
}

/// Whether the messages to earlier selves that wait in any worktree can be read.
pub fn backtracks(ctx: &Context<'_>, worktrees: &[Worktree]) -> Result<Finding> {
    for worktree in worktrees {
        let messages = Backtracks::new(worktree.dir.path(), ctx.settings.lock_timeout);
        if let Some((session, error)) = messages.unreadable()?.into_iter().next() {
            let cancel = format!("backtrack cancel --session {}", typed(session));
            return match error.code() {
                Code::CorruptRecord => {
                    let fix = in_worktree(ctx, worktree, &cancel);
                    Ok(broken(error.message(), Some(fix)))
                }
                Code::NewerRecord => Ok(warning(error.message(), "upgrade tw")),
                _ => Err(error),
            };
        }
    }
    Ok(ok("each message that waits can be read"))
}

/// Notes that stayed behind on commits which another program replaced.
fn stray(store: &Store) -> Result<Option<Finding>> {
    let stray = stray_notes::find(store)?;
    let names: Vec<String> = stray
        .iter()
        .map(|(record, ..)| record.to_string())
        .collect();
    Ok((!names.is_empty()).then(|| {
        let message = format!(
            "another program rewrote snapshots, and notes are on commits that are gone: {}",
            listed(&names)
        );
        warning(message, "tw recover")
    }))
}

/// Whether all members of the workspace can take part; in a member, whether its head knows it.
pub fn workspace(ctx: &Context<'_>) -> Result<Finding> {
    if ctx.state_dir().pointer()?.is_some() && head_of_member(ctx)?.is_none() {
        return Ok(warning(
            "the head of the workspace is not where it was, or does not know this repository: nothing here is forgotten",
            format!(
                "move it back, or run 'tw -C {} workspace off'",
                typed_path(ctx.repo.worktree_root())
            ),
        ));
    }
    let workspace = membership(ctx)?;
    let unfit = workspace.members.iter().filter_map(|member| {
        let problem = member.problem.as_ref()?;
        Some(format!("{}: {problem}", member.path))
    });
    let unfit: Vec<String> = unfit.collect();
    Ok(match (workspace.head, unfit.is_empty()) {
        (None, _) => ok("not part of a workspace"),
        (Some(_), true) => ok("all members of the workspace can take part"),
        (Some(head), false) => warning(
            format!(
                "members of the workspace that cannot take part: {}",
                unfit.join("; ")
            ),
            format!(
                "put them back, or run 'tw -C {} workspace remove DIR'",
                typed(head)
            ),
        ),
    })
}
