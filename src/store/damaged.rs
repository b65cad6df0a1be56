//! Files of ours that cannot be read get another name beside their own: no byte is lost, and nobody stumbles over them any more.

use std::path::{Path, PathBuf};

use crate::error::{Code, Result, ResultExt};

/// Behind the name of a file that was set aside; with `-2`, `-3` and so on behind that where an earlier one has the name.
const SUFFIX: &str = "damaged";

/// Whether a path has the name of a file that was set aside.
pub fn is_aside(path: &Path) -> bool {
    let end = path.extension().map(|end| end.to_string_lossy());
    end.is_some_and(|end| end == SUFFIX || end.starts_with("damaged-"))
}

/// Whether what was read says that the file is damaged. One of a later version is not, and neither is one that could not be opened.
pub fn is_corrupt<T>(read: &Result<T>) -> bool {
    matches!(read, Err(error) if error.code() == Code::CorruptRecord)
}

/// Gives a damaged file the first such name that is free, and says which.
///
/// # Errors
/// The name cannot be changed.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let to = free_name(path);
    let what = || format!("cannot set '{}' aside", path.display());
    std::fs::rename(path, &to).context(what)?;
    Ok(to)
}

fn free_name(path: &Path) -> PathBuf {
    let mut end = format!(".{SUFFIX}");
    let mut nth = 1_u64;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(&end);
        if Path::new(&name).symlink_metadata().is_err() {
            return name.into();
        }
        nth += 1;
        end = format!(".{SUFFIX}-{nth}");
    }
}
