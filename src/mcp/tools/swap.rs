//! The tools that save the working tree or replace files of it: snapshot, travel, return, restore.

use serde_json::Value;

use super::{Effect, Tool, dry_run};
use crate::error::{Code, Error, Result};
use crate::mcp::arguments::{Arg, Arguments, DRY_RUN, Kind};
use crate::ops::request::{DryRun, Guard, Restore, Return, Take, Travel};
use crate::ops::{self, Context, issue};
use crate::wire;

/// `tw snapshot`.
pub const SNAPSHOT: Tool = Tool {
    name: "timewarp_snapshot",
    title: "Take a snapshot",
    about: "Saves everything in the working tree (edits, staged state, untracked files) without touching any of it. Cheap: \
            take one before every risky step.",
    args: &[
        Arg::new("message", Kind::Text, "Its title."),
        Arg::new(
            "label",
            Kind::Text,
            "A name to find it by, unique in the repository.",
        ),
        Arg::new("exclude", Kind::Texts, "Leave out what these globs match."),
        Arg::new(
            "if_changed",
            Kind::Flag,
            "Answer with the newest snapshot when nothing has changed since.",
        ),
    ],
    outputs: &["snapshot"],
    withholds: &[],
    effect: Effect::Adds,
    quotes: None,
    run: snapshot,
};

fn snapshot(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let request = Take {
        message: args.text("message"),
        label: args.text("label"),
        exclude: args.texts("exclude"),
        if_changed: args.flag("if_changed"),
        trigger: "mcp".to_owned(),
        ..Take::default()
    };
    Ok(wire::value(&ops::snapshot::take(ctx, &request)?))
}

/// `tw travel`, and with an issue `tw issue start`.
pub const TRAVEL: Tool = Tool {
    name: "timewarp_travel",
    title: "Travel to the past",
    about: "Puts the working tree, index and HEAD into a snapshot's state, having saved the present. Give 'snapshot', or \
            'issue_id' to go where the issue was met and open a run of it. In the past edit, build and test files only: do not \
            commit, push or switch branches. Keep the guard_token of the answer: timewarp_return needs it. Always return before \
            you end your work.",
    args: &[
        Arg::new(
            "snapshot",
            Kind::Address,
            "Where to: an id or part of it, 'latest', 'latest~2', 'session', a label, a time such as '2h ago'.",
        ),
        Arg::new(
            "issue_id",
            Kind::Address,
            "Go to this issue's snapshot and open a run of it; instead of 'snapshot'.",
        ),
        Arg::new(
            "files_only",
            Kind::Flag,
            "Change files only: leave HEAD and the index as they are. Not for an issue.",
        ),
        DRY_RUN,
    ],
    outputs: &["travel", "issue-start"],
    withholds: &[],
    effect: Effect::Replaces,
    quotes: Some("title and hint of the snapshot"),
    run: travel,
};

fn travel(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let request = Travel {
        dry_run: dry_run(args),
        files_only: args.flag("files_only"),
        ..Travel::default()
    };
    match (args.address("snapshot"), args.address("issue_id")) {
        (Some(address), None) => {
            let request = Travel { address, ..request };
            Ok(wire::value(&ops::travel::travel(ctx, &request)?))
        }
        (None, Some(_)) if request.files_only => Err(Error::new(
            Code::Usage,
            "'files_only' does not go with 'issue_id'",
        )),
        (None, Some(issue)) => Ok(wire::value(&issue::start(ctx, &issue, &request)?)),
        (None, None) => Err(Error::new(Code::Usage, "'snapshot' is missing")
            .hint("give 'snapshot', or 'issue_id' to work on an issue")),
        (Some(_), Some(_)) => Err(Error::new(
            Code::Usage,
            "'snapshot' and 'issue_id' do not go together",
        )
        .hint("an issue knows its snapshot")),
    }
}

/// `tw return`.
pub const RETURN: Tool = Tool {
    name: "timewarp_return",
    title: "Return to the present",
    about: "Brings the present back exactly and proves it. What was made in the past is kept as an experiment; nothing is \
            carried over but what 'keep' names. Needs the guard_token that timewarp_travel answered.",
    args: &[
        Arg::new(
            "guard_token",
            Kind::Text,
            "The guard_token of the travel that began this stay in the past.",
        ),
        Arg::new(
            "take_over",
            Kind::Flag,
            "End a stay that another agent or person began, without its token. This is recorded. Ask the user first.",
        ),
        Arg::new(
            "keep",
            Kind::Texts,
            "Files of the past to carry over into the present, relative to the directory.",
        ),
        Arg::new(
            "discard",
            Kind::Flag,
            "Take no copy of large untracked files made in the past; they are listed.",
        ),
        Arg::new(
            "move_aside",
            Kind::Flag,
            "Rename what is in the way and cannot be saved, such as a nested repository.",
        ),
        DRY_RUN,
    ],
    outputs: &["return"],
    withholds: &[],
    effect: Effect::Replaces,
    quotes: Some("titles of commits"),
    run: return_,
};

fn return_(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let token = args.text("guard_token");
    let request = Return {
        guard: if args.flag("take_over") {
            Guard::TakeOver(token)
        } else {
            Guard::Token(token)
        },
        keep: args.paths("keep"),
        discard: args.flag("discard"),
        move_aside: args.flag("move_aside"),
        dry_run: dry_run(args),
    };
    Ok(wire::value(&ops::return_::return_(ctx, &request)?))
}

/// `tw restore`.
pub const RESTORE: Tool = Tool {
    name: "timewarp_restore",
    title: "Restore files of a snapshot",
    about: "Makes the named paths as a snapshot has them; captured files that it lacks go too. What was there is saved first, \
            and 'tw undo' takes it back. Without paths it is the whole tree, and then only a dry run unless 'confirm' is true.",
    args: &[
        Arg::required(
            "snapshot",
            Kind::Address,
            "Whose files: an id or part of it, 'latest', 'session', a label, a time.",
        ),
        Arg::new(
            "paths",
            Kind::Texts,
            "Which paths, relative to the directory, and what lies beneath them. Default: the whole tree.",
        ),
        Arg::new("confirm", Kind::Flag, "Really restore the whole tree."),
        DRY_RUN,
    ],
    outputs: &["restore"],
    withholds: &[],
    effect: Effect::Replaces,
    quotes: Some("title and hint of the snapshot"),
    run: restore,
};

fn restore(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let paths = args.paths("paths");
    let mut is_whole = paths.is_empty();
    for path in &paths {
        // The root by any other name is the whole tree.
        is_whole |= ctx.repo_path(path)?.is_empty();
    }
    let unconfirmed = is_whole && !args.flag("confirm");
    let request = Restore {
        address: args.needed("snapshot"),
        paths,
        dry_run: if unconfirmed {
            DryRun::Yes
        } else {
            dry_run(args)
        },
    };
    let mut restored = ops::restore::restore(ctx, &request)?;
    if unconfirmed && !args.flag("dry_run") {
        restored.notices.push(
            "nothing was changed: the whole tree is restored only with 'confirm': true".to_owned(),
        );
    }
    Ok(wire::value(&restored))
}
