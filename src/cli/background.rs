//! Work that no command waits for: asking the tools around for their versions.
//!
//! A snapshot records tool versions out of a cache. When the cache lacks one, `tw` starts itself once more, detached, to fill it;
//! the next snapshot has it. `TW_NO_BACKGROUND` turns that off.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::env::Env;
use crate::ops::{Context, fingerprint};
use crate::progress::Silent;

/// The word by which `tw` asks itself; no command of its users.
const WORD: &str = "__refresh-environment";

/// Starts the refresh when the cache lacks a version. Nothing depends on its success.
pub fn refresh_when_stale(context: &Context<'_>) {
    if context.env.var("TW_NO_BACKGROUND").is_some() || !fingerprint::is_stale(context) {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let _ = Command::new(program)
        .arg(WORD)
        .current_dir(context.repo.worktree_root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
}

/// Does the refresh when this process was started for it.
pub fn answer(words: &[OsString], env: &Env) -> Option<u8> {
    if words.get(1).is_none_or(|word| word != WORD) {
        return None;
    }
    let refreshed = std::env::current_dir()
        .map_err(Into::into)
        .and_then(|start| Context::open(&start, env, &Silent))
        .and_then(|context| fingerprint::refresh(&context));
    Some(u8::from(refreshed.is_err()))
}
