//! The tools that only look: status, list, diff.

use serde_json::Value;

use super::{Effect, Tool};
use crate::error::Result;
use crate::mcp::arguments::{Arg, Arguments, Kind};
use crate::ops::request::{DiffSides, List, ListKind};
use crate::ops::{self, Context};
use crate::wire;

/// `tw status`.
pub const STATUS: Tool = Tool {
    name: "timewarp_status",
    title: "Where the working tree stands",
    about: "Says whether the working tree is in the present or in the past, which snapshot is the latest, and whether a \
            swap was interrupted. Call it first, and whenever anything looks odd. Looks at records only.",
    args: &[],
    outputs: &["status"],
    withholds: &[],
    effect: Effect::ReadOnly,
    quotes: Some("titles and hints of snapshots"),
    run: status,
};

fn status(ctx: &Context<'_>, _: &Arguments) -> Result<Value> {
    let mut document = wire::value(&ops::status::status(ctx)?);
    // Who began the stay has the token; nobody else is to find it here.
    if let Some(state) = document["state"].as_object_mut() {
        state.shift_remove("guard_token");
    }
    Ok(document)
}

/// `tw list`.
pub const LIST: Tool = Tool {
    name: "timewarp_list",
    title: "List snapshots",
    about: "Lists snapshots of this worktree, newest first. Backups are what travel, return and restore saved before they \
            replaced files, experiments what return found in the past.",
    args: &[
        Arg::new(
            "limit",
            Kind::Count,
            "Show at most so many. Default: 50; 'total' in the answer says how many there are.",
        ),
        Arg::new(
            "kind",
            Kind::Word(&["snapshot", "backup", "experiment"]),
            "Show only this kind. Default: snapshot.",
        ),
        Arg::new("all", Kind::Flag, "Show every kind, of every worktree."),
        Arg::new(
            "all_worktrees",
            Kind::Flag,
            "Show those of other worktrees too, and those taken in the past.",
        ),
    ],
    outputs: &["list"],
    withholds: &[],
    effect: Effect::ReadOnly,
    quotes: Some("titles and hints of snapshots"),
    run: list,
};

/// An agent reads what it lists.
pub(super) const FEW: usize = 50;

fn list(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let all = args.flag("all");
    let request = List {
        limit: Some(args.count("limit").unwrap_or(FEW)),
        kind: match args.text("kind").as_deref() {
            _ if all => ListKind::All,
            Some("backup") => ListKind::Backup,
            Some("experiment") => ListKind::Experiment,
            _ => ListKind::Snapshot,
        },
        all_worktrees: all || args.flag("all_worktrees"),
    };
    Ok(wire::value(&ops::list::list(ctx, &request)?))
}

/// `tw diff`.
pub const DIFF: Tool = Tool {
    name: "timewarp_diff",
    title: "Compare two states of the working tree",
    about: "Compares a snapshot with another one or with the present, untracked files included. Without addresses: the \
            latest snapshot against the present, which is what changed since.",
    args: &[
        Arg::new(
            "from",
            Kind::Address,
            "Compare from this snapshot: an id or part of it, 'latest', 'session', a label, a time. Default: latest.",
        ),
        Arg::new(
            "to",
            Kind::Address,
            "Compare to this one. Default: present, the working tree as it is.",
        ),
        Arg::new(
            "paths",
            Kind::Texts,
            "Only these paths in the working tree, relative to the directory, and what lies beneath them.",
        ),
        Arg::new(
            "patch",
            Kind::Flag,
            "Give the patch of each file too. It can be long: name paths.",
        ),
    ],
    outputs: &["diff"],
    withholds: &[],
    effect: Effect::ReadOnly,
    quotes: Some("patches"),
    run: diff,
};

fn diff(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let request = DiffSides {
        from: args.address("from"),
        to: args.address("to"),
        paths: args.paths("paths"),
        patch: args.flag("patch"),
    };
    Ok(wire::value(&ops::diff::diff(ctx, &request)?))
}
