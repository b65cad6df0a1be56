//! What belongs to a fork besides the lines that were kept: state files, and a line in an agent's list of sessions.

use std::fmt::Debug;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde_json::Value;

use crate::error::Result;
use crate::git::create;

/// What an agent adds to its forks besides copied lines.
pub trait Companion: Debug + Send + Sync {
    /// Writes the files that belong under `root`, where the kept lines are already. `dest` is where `root` will be.
    fn write(&self, root: &Path, dest: &Path) -> Result<()>;

    /// Makes a fork that is in place known to its agent.
    fn announce(&self, _session_id: &str, _dest: &Path) -> Result<()> {
        Ok(())
    }
}

/// A new file, for its owner alone: conversations hold secrets.
pub fn private_file(path: &Path) -> Result<File> {
    Ok(create::new_file(path, 0o600)?)
}

/// Writes the session's `state.json`.
pub fn write_state(state: &Value, root: &Path) -> Result<()> {
    let mut file = private_file(&root.join("state.json"))?;
    file.write_all(format!("{state:#}\n").as_bytes())?;
    file.sync_all()?;
    Ok(())
}

/// When a file was written, in seconds since the epoch.
pub fn written(path: &Path) -> Option<f64> {
    let time = std::fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}
