//! What is not needed any more: renamed out of the way at once, and deleted by a process that nobody waits for.
//!
//! It goes into `.trash` in the directory of scratches. What a death left there is deleted with the next one.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::env::Env;
use crate::error::{Result, ResultExt};
use crate::git::create;
use crate::store::id::Tail;

/// The word that makes `tw` empty a trash directory; no command of its users.
const WORD: &str = "__trash";
/// The directory, in that of the scratches.
const DIR: &str = ".trash";

/// Renames a directory into the trash beside it.
///
/// # Errors
/// The system refuses; it is where it was then.
pub fn throw(dir: &Path) -> Result<()> {
    let what = || format!("cannot move '{}' away", dir.display());
    let trash = trash_of(dir);
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{}", Tail::random()?.as_str()));
    create::dirs(&trash, 0o700).context(what)?;
    match std::fs::rename(dir, trash.join(&name)) {
        // Somebody who emptied it has just taken it away.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && dir.exists() => {
            create::dirs(&trash, 0o700).context(what)?;
            std::fs::rename(dir, trash.join(&name)).context(what)
        }
        other => other.context(what),
    }
}

/// The trash beside a directory.
pub fn trash_of(dir: &Path) -> PathBuf {
    dir.with_file_name(DIR)
}

/// Empties a trash directory: in the background, or here where that is turned off. The directory of scratches goes with it when
/// nothing is left there, also where there is no trash: a death may have left it alone, made again for a scratch that never was.
pub fn empty(trash: &Path, env: &Env) {
    if !trash.is_dir() {
        remove_above(trash);
        return;
    }
    // The program of a unit test is no `tw`.
    let started = !cfg!(test) && !env.is_on("TW_NO_BACKGROUND") && start(trash);
    if !started {
        delete_all(trash);
    }
}

fn start(trash: &Path) -> bool {
    let Ok(program) = std::env::current_exe() else {
        return false;
    };
    Command::new(program)
        .arg(WORD)
        .arg(trash)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .is_ok()
}

/// Empties the trash when this process was started for it.
pub fn answer(words: &[OsString]) -> Option<u8> {
    if words.get(1).is_none_or(|word| word != WORD) {
        return None;
    }
    let trash = Path::new(words.get(2)?);
    // Nothing else is deleted, whoever asks.
    if trash.file_name().is_some_and(|name| name == DIR) {
        delete_all(trash);
    }
    Some(0)
}

/// Whatever cannot be deleted stays for the next time.
fn delete_all(trash: &Path) {
    for entry in std::fs::read_dir(trash).into_iter().flatten().flatten() {
        delete(&entry.path());
    }
    // Each only when empty.
    let _ = std::fs::remove_dir(trash);
    remove_above(trash);
}

fn remove_above(trash: &Path) {
    if let Some(above) = trash.parent().filter(|above| is_beside(above)) {
        let _ = std::fs::remove_dir(above);
    }
}

/// The usual directory of scratches, which is made for them alone.
fn is_beside(dir: &Path) -> bool {
    dir.extension().is_some_and(|extension| extension == "tw")
}

fn delete(path: &Path) {
    if std::fs::remove_dir_all(path).is_ok() {
        return;
    }
    // Some tools make the directories of their caches read-only.
    let mut pending = vec![path.to_path_buf()];
    while let Some(dir) = pending.pop() {
        let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        if is_dir(&dir) {
            let _ = std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700));
            let inside = std::fs::read_dir(&dir).into_iter().flatten().flatten();
            pending.extend(inside.map(|entry| entry.path()).filter(|path| is_dir(path)));
        }
    }
    let _ = std::fs::remove_dir_all(path);
}
