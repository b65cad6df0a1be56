//! What belongs to a fork besides the lines that were kept: state files, and a line in an agent's list of sessions.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::agents::kimi::place::WIRE;
use crate::agents::kimi_code::place::JOURNAL;
use crate::agents::value::time_of_seconds;
use crate::error::{Result, ResultExt as _};
use crate::git::create;
use crate::git::regular::{Links, append};

/// What belongs to a fork besides copied lines.
#[derive(Debug, Clone)]
pub enum Extra {
    /// Nothing.
    None,
    /// kimi-cli's `state.json`, but for the time of the wire file.
    KimiState(Value),
    /// Kimi Code's `state.json`, but for times and places, and its list of sessions.
    KimiCode {
        /// The state.
        state: Value,
        /// The list, when the session stands where Kimi Code looks.
        index: Option<PathBuf>,
    },
}

/// A new file, for its owner alone: conversations hold secrets.
pub fn private_file(path: &Path) -> Result<File> {
    Ok(create::new_file(path, 0o600)?)
}

impl Extra {
    /// Writes the files that belong under `root`, where the kept lines are already. `dest` is where `root` will be.
    pub fn write(&self, root: &Path, dest: &Path) -> Result<()> {
        match self {
            Self::None => Ok(()),
            // kimi-cli takes a wire file that is newer than its state says for one that has no title yet.
            Self::KimiState(state) => {
                let mut state = state.clone();
                if let (Some(fields), Some(time)) =
                    (state.as_object_mut(), written(&root.join(WIRE)))
                {
                    fields.insert("wire_mtime".to_owned(), time.into());
                }
                write_state(&state, root)
            }
            Self::KimiCode { state, .. } => write_state(&kimi_code_state(state, root, dest), root),
        }
    }

    /// Makes a fork that is in place known to its agent.
    pub fn announce(&self, session_id: &str, dest: &Path) -> Result<()> {
        let Self::KimiCode {
            state,
            index: Some(index),
        } = self
        else {
            return Ok(());
        };
        let Some(work) = state.get("workDir").and_then(Value::as_str) else {
            return Ok(());
        };
        let directory = dest.to_string_lossy();
        let entry = json!({"sessionId": session_id, "sessionDir": directory, "workDir": work});
        let doing = || format!("cannot list the fork in '{}'", index.display());
        let mut file = append(index, 0o600, Links::Follow).context(doing)?;
        file.write_all(format!("{entry}\n").as_bytes())
            .context(doing)
    }
}

/// When a file was written, in seconds since the epoch.
fn written(path: &Path) -> Option<f64> {
    let time = std::fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}

fn kimi_code_state(state: &Value, root: &Path, dest: &Path) -> Value {
    let mut state = state.clone();
    let now = written(&root.join(JOURNAL)).and_then(time_of_seconds);
    let Some(fields) = state.as_object_mut() else {
        return state;
    };
    // Its list of sessions in a terminal goes by the id in here.
    if fields.contains_key("id") {
        let id = dest.file_name().map(|name| name.to_string_lossy());
        fields.insert("id".to_owned(), id.into());
    }
    for key in ["createdAt", "updatedAt"] {
        fields.insert(key.to_owned(), now.clone().into());
    }
    let main = dest.join(JOURNAL);
    let home = main.parent().unwrap_or(dest).to_string_lossy().into_owned();
    let mut agent = fields
        .get("agents")
        .and_then(|agents| agents.get("main"))
        .filter(|agent| agent.is_object())
        .cloned()
        .unwrap_or_else(|| json!({"type": "main"}));
    if let Some(agent) = agent.as_object_mut() {
        agent.insert("homedir".to_owned(), home.into());
    }
    fields.insert("agents".to_owned(), json!({"main": agent}));
    state
}

fn write_state(state: &Value, root: &Path) -> Result<()> {
    let mut file = private_file(&root.join("state.json"))?;
    file.write_all(format!("{state:#}\n").as_bytes())?;
    file.sync_all()?;
    Ok(())
}
