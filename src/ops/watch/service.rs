//! A unit for systemd, by which the watcher runs while its user is logged in.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Result, ResultExt};
use crate::ops::Context;

/// Answer of `watch --print-service`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Service {
    /// What to call its file, below `~/.config/systemd/user`.
    pub name: String,
    /// What is in it.
    pub unit: String,
}

/// The unit for this working tree.
///
/// # Errors
/// This program does not know where it is.
#[expect(
    clippy::disallowed_methods,
    reason = "the unit is for later: it needs the name that this program has on disk"
)]
pub fn service(ctx: &Context<'_>) -> Result<Service> {
    let program = std::env::current_exe().context(|| "cannot find this program".to_owned())?;
    let root = ctx.repo.worktree_root();
    let name = root.file_name().map_or_else(
        || "root".to_owned(),
        |name| {
            let plain = |ch: char| if ch.is_ascii_alphanumeric() { ch } else { '-' };
            name.to_string_lossy().chars().map(plain).collect()
        },
    );
    Ok(Service {
        name: format!("tw-watch-{name}.service"),
        unit: unit(&program, root),
    })
}

fn unit(program: &Path, root: &Path) -> String {
    let place = root.display().to_string();
    format!(
        "[Unit]\n\
         Description=Watcher of tw for {about}\n\
         ConditionPathIsDirectory={bare}\n\
         \n\
         [Service]\n\
         WorkingDirectory={bare}\n\
         ExecStart={program} watch\n\
         Restart=on-abnormal\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        about = one_line(&place),
        bare = one_line(&place),
        program = quoted(&program.display().to_string()),
    )
}

/// systemd takes `%` for the beginning of a specifier, and a line's end for the end of the value.
fn one_line(text: &str) -> String {
    text.replace('%', "%%").replace(['\n', '\r'], " ")
}

/// As one word of a command line.
fn quoted(text: &str) -> String {
    let escaped = one_line(text)
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('$', "$$");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_as_systemd_reads_them() {
        let unit = unit(Path::new("/a \"b\"/$tw"), Path::new("/50% of\nit"));
        assert!(
            unit.contains("ExecStart=\"/a \\\"b\\\"/$$tw\" watch\n"),
            "{unit}"
        );
        assert!(unit.contains("WorkingDirectory=/50%% of it\n"), "{unit}");
    }
}
