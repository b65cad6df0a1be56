//! A check-up: what is broken or at risk, and the command that mends it. Only looks.

mod hooked;
mod kept;
mod lost_past;
mod private;
mod readable;
mod versions;

use std::os::unix::fs::MetadataExt;

pub use private::outside;

use super::Context;
use super::gitview::read_index;
use super::head_commit::head_tree;
use super::history::Here;
use super::issues::desk::exclude::{check_desk, is_desk_excluded};
use super::outcome::{Check, CheckStatus, Checkup};
use super::recover_dropped;
use super::refspecs;
use super::settings::Fault;
use super::swap::recover::{Fate, Noted, damaged, is_interrupted, lost_id};
use super::swap::undo_log::{self, Log};
use super::watcher::{self, State};
use super::worktrees::{self, Worktree};
use crate::error::{Code, Error, Result};
use crate::git::command::Git;
use crate::git::create;
use crate::git::fs::is_there;
use crate::git::liveness::Dead;
use crate::git::repo::SharedRepository;
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::identity::WORKTREE_ID;
use crate::store::lock::dead_git_locks;
use crate::store::state::StateDir;
use crate::text::{self, typed_path};

/// What is said in a directory without git where there is no program of that name either.
const NO_GIT: &str = "git is not installed; only blame, push and pull need it";

/// How many names a message carries.
const SHOWN: usize = 5;

/// Makes all checks and returns what each found.
///
/// # Errors
/// When the repository itself cannot be read. What a check finds is in its result.
pub fn doctor(ctx: &Context<'_>) -> Result<Checkup> {
    let store = ctx.store()?;
    let worktrees = worktrees::all(&ctx.repo)?;
    let (noted, failed) = noted(ctx, store, &worktrees);
    let mut checks = vec![
        git(ctx),
        config(ctx),
        tell("head", head(ctx, store)),
        tell("index", index(ctx, store)),
        states(ctx, store, (&noted, failed)),
        interrupted(ctx, &worktrees),
        tell("locks", locks(ctx, store, &worktrees)),
    ];
    checks.push(tell("id", id(store)));
    checks.extend(private::check(ctx));
    checks.extend(kept::snapshots(ctx, store));
    checks.push(tell("undo-log", undo_log(ctx, store, &noted)));
    checks.push(tell("labels", kept::labels(store)));
    checks.push(tell("records", kept::records(store)));
    checks.push(tell("runs", kept::runs(ctx)));
    checks.push(tell("sessions", hooked::sessions(ctx)));
    checks.push(tell("backtracks", kept::backtracks(ctx, &worktrees)));
    checks.push(tell("agents", hooked::agents(ctx)));
    checks.push(tell("agent-versions", versions::agents(ctx)));
    checks.push(tell("sharing", kept::sharing(store)));
    checks.push(tell("refspecs", refspecs(ctx)));
    checks.push(tell("open-directories", open_directories(&worktrees)));
    checks.push(tell("desk", desk(ctx, store)));
    checks.push(tell("watcher", watcher(ctx)));
    checks.push(tell("workspace", kept::workspace(ctx)));
    checks.push(tell("permissions", Ok(permissions(store, &worktrees))));
    checks.push(tell("private-files", readable::check(ctx, store)));
    Ok(Checkup { checks })
}

/// What a check came to: status, message, fix.
type Finding = (CheckStatus, String, Option<String>);

fn ok(message: impl Into<String>) -> Finding {
    (CheckStatus::Ok, message.into(), None)
}

fn warning(message: impl Into<String>, fix: impl Into<String>) -> Finding {
    (CheckStatus::Warning, message.into(), Some(fix.into()))
}

fn broken(message: impl Into<String>, fix: Option<String>) -> Finding {
    (CheckStatus::Error, message.into(), fix)
}

fn tell(name: &'static str, found: Result<Finding>) -> Check {
    let (status, message, fix) = match found {
        Ok(found) => found,
        // What this check-up itself says of a record is no way out.
        Err(error) if error.code() == Code::CorruptRecord => {
            let fix = error
                .hints()
                .iter()
                .find(|hint| !hint.contains("tw doctor"));
            broken(error.message(), fix.cloned())
        }
        Err(error) => broken(error.message(), error.hints().first().cloned()),
    };
    Check {
        name,
        status,
        message,
        fix,
    }
}

/// `'a', 'b' and 3 more`.
fn listed(names: &[String]) -> String {
    text::listed(names.iter().map(|name| format!("'{name}'")), SHOWN)
}

fn git(ctx: &Context<'_>) -> Check {
    let version = Git::new(&ctx.repo).arg("--version").run();
    if ctx.repo.is_private() && version.is_err() {
        return tell("git", Ok(ok(NO_GIT)));
    }
    tell(
        "git",
        match version {
            Ok(text) => Ok(git_reads(
                ctx,
                String::from_utf8_lossy(&text).trim().to_owned(),
            )),
            Err(error) => Ok((
                CheckStatus::Warning,
                format!("{}; a few commands need it", error.message()),
                Some("install git".to_owned()),
            )),
        },
    )
}

/// Whether the program git knows the format of the repository; an older one may not.
fn git_reads(ctx: &Context<'_>, version: String) -> Finding {
    match Git::new(&ctx.repo).args(["rev-parse", "--git-dir"]).run() {
        Ok(_) => ok(version),
        Err(error) => warning(
            format!(
                "{version} does not read this repository, and a few commands need it: {}",
                error.message()
            ),
            "install a newer git",
        ),
    }
}

fn config(ctx: &Context<'_>) -> Check {
    let settings = &ctx.settings;
    let faults = settings.faults.iter().cloned();
    let faults: Vec<Fault> = faults.chain(settings.bad_globs()).collect();
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let fixes: Vec<&str> = faults.iter().map(|fault| fault.fix.as_str()).collect();
    tell(
        "config",
        Ok(match (faults.is_empty(), settings.warnings.is_empty()) {
            (false, _) => broken(messages.join("; "), Some(fixes.join("; "))),
            (true, false) => warning(settings.warnings.join("; "), "edit .timewarp/config.toml"),
            (true, true) => ok("every setting takes effect"),
        }),
    )
}

/// Whether the index can be read.
fn index(ctx: &Context<'_>, store: &Store) -> Result<Finding> {
    read_index(&ctx.repo, &store.objects).map(|_| ok("can be read"))
}

fn head(ctx: &Context<'_>, store: &Store) -> Result<Finding> {
    let head = ctx.repo.head(&store.objects)?;
    head_tree(ctx, store, &head)?;
    Ok(match ctx.repo.broken_branch(&head) {
        Some(message) => broken(message, None),
        None => ok("HEAD can be read"),
    })
}

/// What became of the commits that the files of a worktree name, by worktree. What nobody could look at is as if there were none.
type NotedIn<'w> = (&'w Worktree, Noted);

/// Looks at all worktrees, and says why one could not be looked at.
fn noted<'w>(
    ctx: &Context<'_>,
    store: &Store,
    worktrees: &'w [Worktree],
) -> (Vec<NotedIn<'w>>, Option<Error>) {
    let mut failed = None;
    let noted = worktrees.iter().map(|worktree| {
        let look = || {
            let here = Here::of(ctx, store)?.of_other(worktree)?;
            Noted::find(store, &worktree.dir, &here)
        };
        let found = look().unwrap_or_else(|error| {
            failed.get_or_insert(error);
            Noted::default()
        });
        (worktree, found)
    });
    let noted = noted.collect();
    (noted, failed)
}

/// What is damaged of our own files, and what was once; and whether each past has a way home.
fn states(
    ctx: &Context<'_>,
    store: &Store,
    (noted, failed): (&[NotedIn<'_>], Option<Error>),
) -> Check {
    let (mut unfit, mut aside) = (Vec::new(), Vec::new());
    let shared = StateDir::new(ctx.repo.common_dir());
    for (worktree, noted) in noted {
        let paths = damaged::find(&worktree.dir, &shared);
        let damaged = paths.iter().map(|path| path.display().to_string());
        let damaged: Vec<String> = damaged.collect();
        let state = worktree.dir.state().err();
        let told = if let Some(error) = &state {
            Some(unfit_until_fixed(error.message(), ""))
        } else if damaged.is_empty() {
            way_home(noted.home.as_ref())
        } else {
            let told = format!("damaged: {}", listed(&damaged));
            // What tells a worktree from others is read in it alone.
            let only_here = paths.iter().all(|path| path.ends_with(WORKTREE_ID));
            let reach = if only_here { " in it" } else { "" };
            Some(unfit_until_fixed(&told, reach))
        };
        if let Some((status, told)) = told {
            let fix = match status {
                CheckStatus::Warning => "tw return".to_owned(),
                _ => recover_in(ctx, worktree, state.as_ref()),
            };
            let message = format!("worktree '{}': {told}", worktree.name);
            unfit.push((status, message, Some(fix)));
        }
        aside.extend(damaged::set_aside_before(&worktree.dir));
    }
    // What is broken comes before what may be soon.
    unfit.sort_by_key(|(status, ..)| *status == CheckStatus::Warning);
    let aside = aside.iter().map(|path| path.display().to_string());
    let aside: Vec<String> = aside.collect();
    let found = match (unfit.into_iter().next(), failed) {
        (Some(found), _) => Ok(found),
        (None, Some(error)) => Err(error),
        (None, None) if aside.is_empty() => lost_past::find(ctx, store).map(|lost| {
            let readable = || ok(format!("readable in every worktree ({})", noted.len()));
            lost.unwrap_or_else(readable)
        }),
        (None, None) => Ok(warning(
            format!("damaged and set aside: {}", listed(&aside)),
            "look into them, then remove them",
        )),
    };
    tell("state", found)
}

/// What is wrong with the way home from a past.
fn way_home(home: Option<&(String, Fate)>) -> Option<(CheckStatus, String)> {
    let (id, fate) = home?;
    match fate {
        Fate::There => None,
        Fate::Adrift => Some((
            CheckStatus::Warning,
            format!(
                "the ref of '{id}', the backup of the present, names another commit than state.json; git's next gc may take that one"
            ),
        )),
        Fate::Replaced(_) => Some((
            CheckStatus::Error,
            format!(
                "the ref of '{id}', the backup of the present, names another commit than state.json, which is gone, as after a program that rewrites history"
            ),
        )),
        Fate::Displaced | Fate::Gone => Some((
            CheckStatus::Error,
            format!("the backup of the present that state.json names, '{id}', cannot be read"),
        )),
    }
}

/// `reach`: where nothing can be forgotten, if that is not everywhere.
fn unfit_until_fixed(what: &str, reach: &str) -> (CheckStatus, String) {
    let told = format!("{what}; nothing can be forgotten{reach} until it is fixed");
    (CheckStatus::Error, told)
}

/// Whether what was made here is known by the repository's id as its own.
fn id(store: &Store) -> Result<Finding> {
    Ok(match lost_id(store)? {
        None => ok("what was made here has it"),
        Some(_) => warning(
            "the repository has no id, or another one than its own backups: what was made here before counts as another repository's",
            "tw recover",
        ),
    })
}

/// The command that mends a worktree's own files, unless a newer `tw` wrote them, or they are somebody else's.
fn recover_in(ctx: &Context<'_>, worktree: &Worktree, state: Option<&Error>) -> String {
    let hint = state.filter(|error| error.code() != Code::CorruptRecord);
    if let Some(hint) = hint.and_then(|error| error.hints().first()) {
        return hint.clone();
    }
    if let Some(way_out) = worktrees::if_gone(&ctx.repo, worktree) {
        return way_out;
    }
    match worktrees::root(worktree) {
        Some(root) if worktree.git_dir != ctx.repo.git_dir() => {
            format!("tw -C {} recover", typed_path(&root))
        }
        _ => "tw recover".to_owned(),
    }
}

fn interrupted(ctx: &Context<'_>, worktrees: &[Worktree]) -> Check {
    let (mut dead, mut fixes) = (Vec::new(), Vec::new());
    for worktree in worktrees {
        match worktree.dir.journal() {
            Ok(Some(_)) if is_interrupted(&worktree.dir) => {
                dead.push(worktree.name.clone());
                fixes.push(recover_in(ctx, worktree, None));
            }
            Ok(_) => {}
            Err(error) => return tell("interrupted", Err(error)),
        }
    }
    tell(
        "interrupted",
        Ok(if dead.is_empty() {
            ok("no swap was interrupted")
        } else {
            let message = format!("unfinished swap in worktree {}", listed(&dead));
            broken(message, Some(fixes.join("; ")))
        }),
    )
}

/// Locks that a dead process of ours left: git would wait for them for ever.
fn locks(ctx: &Context<'_>, store: &Store, worktrees: &[Worktree]) -> Result<Finding> {
    let (mut dead, mut fixes) = (Vec::new(), Vec::new());
    for worktree in worktrees {
        for path in dead_git_locks(&worktree.git_dir) {
            dead.push(path.display().to_string());
            fixes.push(recover_in(ctx, worktree, None));
        }
    }
    let of_refs = store.refs.locks_of(&Dead::find(&store.common(""))?)?;
    if !of_refs.is_empty() {
        fixes.push("tw recover".to_owned());
    }
    dead.extend(of_refs.iter().map(|path| path.display().to_string()));
    fixes.dedup();
    Ok(if dead.is_empty() {
        ok("no lock was left behind")
    } else {
        let message = format!("a tw that died left {}", listed(&dead));
        warning(message, fixes.join("; "))
    })
}

fn undo_log(ctx: &Context<'_>, store: &Store, noted: &[(&Worktree, Noted)]) -> Result<Finding> {
    let mut count = 0;
    for (worktree, noted) in noted {
        let rewritten = noted.steps_with(|_, fate| matches!(fate, Fate::Replaced(_)));
        if !rewritten.is_empty() {
            let message = format!(
                "the commits that steps go by are gone, and refs name others, as after a program that rewrites history: {}",
                listed(&rewritten)
            );
            return Ok(warning(message, recover_in(ctx, worktree, None)));
        }
        for log in Log::ALL {
            count += undo_log::files(&worktree.dir, log)?.len();
        }
    }
    let lost = recover_dropped::lost_backups(ctx, store)?;
    let there: Vec<String> = lost
        .iter()
        .filter(|one| one.available)
        .map(|one| one.id.clone())
        .collect();
    if !there.is_empty() {
        let message = format!("steps whose backups lost their refs: {}", listed(&there));
        let fix = format!("tw recover --dropped {}", there.join(" "));
        return Ok(warning(message, fix));
    }
    let mut gone: Vec<String> = lost.into_iter().map(|one| one.id).collect();
    for (_, noted) in noted {
        // A snapshot that one led to is no part of going back.
        gone.extend(
            noted.steps_with(|id, fate| fate == Fate::Displaced && id.kind() != IdKind::Snapshot),
        );
    }
    gone.sort();
    gone.dedup();
    Ok(if gone.is_empty() {
        ok(format!("{count} steps, each with its backup"))
    } else {
        warning(
            format!(
                "steps that cannot be taken any more, as git has removed their backups: {}",
                listed(&gone)
            ),
            "nothing brings them back; the steps leave the log when they are 30 days old and 100 newer ones are in it",
        )
    })
}

fn refspecs(ctx: &Context<'_>) -> Result<Finding> {
    let risks = refspecs::risks(ctx)?;
    if risks.is_empty() {
        return Ok(ok("no remote fetches or publishes refs of tw"));
    }
    let messages: Vec<&str> = risks.iter().map(|risk| risk.message.as_str()).collect();
    let mut fixes: Vec<&str> = risks.iter().map(|risk| risk.fix.as_str()).collect();
    // One that is needed first stands with each.
    fixes.dedup();
    let fix = fixes.join("; ");
    Ok(warning(messages.join("; "), fix))
}

fn open_directories(worktrees: &[Worktree]) -> Result<Finding> {
    let (mut open, mut gone) = (0, Vec::new());
    for worktree in worktrees {
        if let Some(opened) = worktrees::opened(&worktree.dir)? {
            open += 1;
            if matches!(is_there(&opened.path()), Ok(false)) {
                gone.push(opened.dir);
            }
        }
    }
    Ok(if gone.is_empty() {
        ok(format!("{open} open"))
    } else {
        warning(
            format!("removed by hand: {}", listed(&gone)),
            "git worktree prune",
        )
    })
}

fn desk(ctx: &Context<'_>, store: &Store) -> Result<Finding> {
    check_desk(ctx, store)?;
    let there = ctx.repo.worktree_root().join(".timewarp").is_dir();
    Ok(if there && !is_desk_excluded(ctx.repo.common_dir())? {
        warning(
            ".timewarp/ is there and git's info/exclude does not leave it out",
            "tw init",
        )
    } else {
        ok(if there {
            ".timewarp/ is there and left out by git"
        } else {
            "no .timewarp/ here; it is optional"
        })
    })
}

/// Whether snapshots can ask the watcher, where there is one.
fn watcher(ctx: &Context<'_>) -> Result<Finding> {
    let now = watcher::look(ctx.store()?.dir.path());
    let pid = now.pid.unwrap_or_default();
    Ok(match now.state {
        State::Off => ok("not running; it is optional"),
        State::Running => ok(format!(
            "watches {} directories",
            now.directories.unwrap_or_default()
        )),
        State::Silent => warning(
            format!("process {pid} does not answer; snapshots look at all files"),
            format!("kill -KILL {pid}"),
        ),
        State::Fault => warning(
            format!(
                "turned itself off: {}; snapshots look at all files",
                now.reason.unwrap_or_default()
            ),
            "tw watch start",
        ),
    })
}

/// State, logs and journals are for their owner alone, and for those that the repository is shared with.
fn permissions(store: &Store, worktrees: &[Worktree]) -> Finding {
    let mut open = Vec::new();
    let sharing = store.repo.shared_repository();
    let sharing = sharing.unwrap_or(SharedRepository::Umask);
    let allowed = create::shared_bits(0o40_700, sharing) & 0o777;
    let dirs = worktrees
        .iter()
        .map(|worktree| worktree.dir.path().to_owned());
    for dir in dirs.chain([store.repo.common_dir().join("timewarp")]) {
        if let Ok(meta) = dir.symlink_metadata()
            && meta.mode() & 0o777 & !allowed != 0
        {
            open.push(dir);
        }
    }
    open.sort();
    open.dedup();
    if open.is_empty() {
        return ok(if allowed == 0o700 {
            "state and logs are private"
        } else {
            "state and logs are shared as the repository is"
        });
    }
    let shown: Vec<String> = open.iter().map(|dir| dir.display().to_string()).collect();
    let typed: Vec<String> = open.iter().map(|dir| typed_path(dir)).collect();
    warning(
        format!("open to others: {}", listed(&shown)),
        match allowed {
            0o700 => format!("chmod go-rwx {}", typed.join(" ")),
            bits => format!("chmod {bits:o} {}", typed.join(" ")),
        },
    )
}
