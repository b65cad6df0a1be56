//! A check-up: what is broken or at risk, and the command that mends it. Only looks.

mod hooked;
mod kept;
mod private;
mod versions;

use std::os::unix::fs::MetadataExt;

pub use private::outside;

use super::Context;
use super::gitview::read_index;
use super::head_commit::head_tree;
use super::issues::desk::exclude::{check_desk, is_desk_excluded};
use super::outcome::{Check, CheckStatus, Checkup};
use super::recover_dropped;
use super::refspecs;
use super::settings::Fault;
use super::swap::recover::{damaged, is_interrupted, leads_nowhere};
use super::swap::undo_log::{self, Log};
use super::watcher::{self, State};
use super::worktrees::{self, Worktree};
use crate::error::{Code, Error, Result};
use crate::git::command::Git;
use crate::git::create;
use crate::git::fs::is_there;
use crate::git::repo::SharedRepository;
use crate::store::Store;
use crate::store::lock::{git_locks, is_dead_lock};
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
    let mut checks = vec![
        git(ctx),
        config(ctx),
        tell("head", head(ctx, store)),
        tell("index", index(ctx, store)),
        states(ctx, &worktrees),
        interrupted(&worktrees),
        locks(&worktrees),
    ];
    checks.extend(private::check(ctx));
    checks.extend(kept::snapshots(ctx, store));
    checks.push(tell("undo-log", undo_log(ctx, store, &worktrees)));
    checks.push(tell("labels", kept::labels(store)));
    checks.push(tell("records", kept::records(store)));
    checks.push(tell("sessions", hooked::sessions(ctx)));
    checks.push(tell("agents", hooked::agents(ctx)));
    checks.push(tell("agent-versions", versions::agents(ctx)));
    checks.push(tell("refspecs", refspecs(ctx)));
    checks.push(tell("open-directories", open_directories(&worktrees)));
    checks.push(tell("desk", desk(ctx, store)));
    checks.push(tell("watcher", watcher(ctx)));
    checks.push(tell("workspace", kept::workspace(ctx)));
    checks.push(tell("permissions", Ok(permissions(store, &worktrees))));
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

/// What is damaged of our own files, and what was once.
fn states(ctx: &Context<'_>, worktrees: &[Worktree]) -> Check {
    let (mut unreadable, mut aside) = (Vec::new(), Vec::new());
    let shared = StateDir::new(ctx.repo.common_dir());
    for worktree in worktrees {
        let damaged = damaged::find(&worktree.dir, &shared);
        let damaged = damaged.iter().map(|path| path.display().to_string());
        let mut damaged: Vec<String> = damaged.collect();
        if worktree.git_dir == ctx.repo.git_dir() && leads_nowhere(ctx) {
            damaged.push(worktree.dir.file("state.json").display().to_string());
        }
        let state = worktree.dir.state().err();
        if state.is_some() || !damaged.is_empty() {
            unreadable.push((worktree, state, damaged));
        }
        aside.extend(damaged::set_aside_before(&worktree.dir));
    }
    let aside: Vec<String> = aside
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    tell(
        "state",
        Ok(match (unreadable.first(), aside.is_empty()) {
            (None, true) => ok(format!("readable in every worktree ({})", worktrees.len())),
            (None, false) => warning(
                format!("damaged and set aside: {}", listed(&aside)),
                "look into them, then remove them",
            ),
            (Some((worktree, state, damaged)), _) => {
                let told = state.as_ref().map(|error| error.message().to_owned());
                let told = told.unwrap_or_else(|| format!("damaged: {}", listed(damaged)));
                let name = &worktree.name;
                broken(
                    format!(
                        "worktree '{name}': {told}; nothing can be forgotten until it is fixed"
                    ),
                    Some(recover_in(ctx, worktree, state.as_ref())),
                )
            }
        }),
    )
}

/// The command that mends a worktree's own files, unless a newer `tw` wrote them, or they are somebody else's.
fn recover_in(ctx: &Context<'_>, worktree: &Worktree, state: Option<&Error>) -> String {
    let hint = state.filter(|error| error.code() != Code::CorruptRecord);
    if let Some(hint) = hint.and_then(|error| error.hints().first()) {
        return hint.clone();
    }
    match worktrees::root(worktree) {
        Some(root) if worktree.git_dir != ctx.repo.git_dir() => {
            format!("tw -C {} recover", typed_path(&root))
        }
        _ => "tw recover".to_owned(),
    }
}

fn interrupted(worktrees: &[Worktree]) -> Check {
    let mut dead = Vec::new();
    for worktree in worktrees {
        match worktree.dir.journal() {
            Ok(Some(_)) if is_interrupted(&worktree.dir) => dead.push(worktree.name.clone()),
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
            broken(message, Some("tw recover".to_owned()))
        }),
    )
}

/// Locks that a dead process of ours left: git would wait for them for ever.
fn locks(worktrees: &[Worktree]) -> Check {
    let mut dead = Vec::new();
    for worktree in worktrees {
        for path in git_locks(&worktree.git_dir) {
            if is_dead_lock(&path) {
                dead.push(path.display().to_string());
            }
        }
    }
    tell(
        "locks",
        Ok(if dead.is_empty() {
            ok("no lock was left behind")
        } else {
            warning(
                format!("a tw that died left {}", listed(&dead)),
                "tw recover",
            )
        }),
    )
}

fn undo_log(ctx: &Context<'_>, store: &Store, worktrees: &[Worktree]) -> Result<Finding> {
    let mut count = 0;
    for worktree in worktrees {
        for log in Log::ALL {
            count += undo_log::files(&worktree.dir, log)?.len();
        }
    }
    let lost = recover_dropped::lost_backups(ctx, store)?;
    let ids = |available: bool| -> Vec<String> {
        let lost = lost.iter().filter(|one| one.available == available);
        lost.map(|one| one.id.clone()).collect()
    };
    let (there, gone) = (ids(true), ids(false));
    Ok(if !there.is_empty() {
        warning(
            format!("steps whose backups lost their refs: {}", listed(&there)),
            format!("tw recover --dropped {}", there.join(" ")),
        )
    } else if gone.is_empty() {
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
