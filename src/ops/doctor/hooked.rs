//! What agents tell: the register of sessions, and the hooks that fill it.

use super::{Finding, broken, listed, ok, warning};
use crate::agents::install::{INSTALLABLE, Scope, Steps, has_hooks_of, setup};
use crate::agents::places::Places;
use crate::error::Result;
use crate::git::fs;
use crate::ops::{Context, fingerprint};
use crate::store::session::Sessions;

/// Whether every session's record can be read: one that cannot keeps everything from being forgotten.
pub fn sessions(ctx: &Context<'_>) -> Result<Finding> {
    let (records, invalid) = Sessions::new(ctx.repo.common_dir()).list()?;
    let names: Vec<String> = invalid.into_iter().map(|(name, _)| name).collect();
    Ok(match names.first() {
        None => ok(format!("{} in the register", records.len())),
        Some(first) => broken(
            format!(
                "records of sessions that cannot be read: {}; nothing can be forgotten until they are gone",
                listed(&names)
            ),
            Some(format!(
                "rm '{}/timewarp/sessions/{first}.json'",
                ctx.repo.common_dir().display()
            )),
        ),
    })
}

/// Whether the hooks that are installed can run, and whether one that needs the user's trust was ever heard.
pub fn agents(ctx: &Context<'_>) -> Result<Finding> {
    let installed = installed(ctx);
    if installed.is_empty() {
        return Ok(ok("no agent is set up; 'tw init --agent NAME' does it"));
    }
    if fingerprint::locate(ctx, "tw").is_none() {
        return Ok(warning(
            format!(
                "the hooks of {} call 'tw', which is not in PATH",
                listed(&installed)
            ),
            "put tw into a directory of PATH",
        ));
    }
    let (records, _) = Sessions::new(ctx.repo.common_dir()).list()?;
    let is_heard = |agent: &str| {
        let mut agents = records.iter().filter_map(|record| record.agent.as_deref());
        agents.any(|known| known == agent)
    };
    if installed.iter().any(|agent| agent == "codex") && !is_heard("codex") {
        return Ok(warning(
            "the hooks of 'codex' are installed and no session of codex was recorded yet: Codex runs no hook before you trusted it",
            "open '/hooks' in codex, review the hooks of tw and trust them",
        ));
    }
    Ok(ok(format!("set up: {}", listed(&installed))))
}

/// The agents whose settings, the project's or the user's, have hooks of ours.
fn installed(ctx: &Context<'_>) -> Vec<String> {
    let places = Places::from(ctx.env);
    let home = ctx.env.home().unwrap_or_default();
    let root = ctx.repo.worktree_root();
    let has_hooks = |agent: &str, scope| {
        let found = setup(agent, (scope, Steps::Silent), root, &home, &places);
        let targets = found.into_iter().flat_map(|setup| setup.targets);
        let mut files = targets
            .filter(|target| !target.shared)
            .map(|target| target.path);
        files.any(|file| {
            let bytes = fs::read_optional(&file).ok().flatten().unwrap_or_default();
            has_hooks_of(&String::from_utf8_lossy(&bytes), agent)
        })
    };
    let scopes = [Scope::Project, Scope::User];
    INSTALLABLE
        .iter()
        .filter(|agent| scopes.into_iter().any(|scope| has_hooks(agent, scope)))
        .map(|agent| (*agent).to_owned())
        .collect()
}
