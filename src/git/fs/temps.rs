//! Temporary files of atomic writes: their names, which tell who made them, and the end of those whose makers died.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::remove_optional;
use crate::error::Result;
use crate::git::process::Maker;

/// A name beside a file that is to be written, by which [`clear_dead_temps`] knows it.
pub fn temp_of(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut temp = path.as_os_str().to_owned();
    let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
    temp.push(format!("{TEMP}{}-{unique}", Maker::this()));
    PathBuf::from(temp)
}

/// What the name of a temporary file has after that of the file that it becomes; then its maker, and a number.
const TEMP: &str = ".tmp-";

/// Removes the temporary files of atomic writes that died, in a directory and, if asked, in all below it. What disappears
/// meanwhile, or cannot be read, is no error.
///
/// # Errors
/// One cannot be removed.
pub fn clear_dead_temps(dir: &Path, below: Below) -> Result<()> {
    clear_dead_temps_in(dir, below, &|_| true).map(|_| ())
}

/// As [`clear_dead_temps`], of one file's beside it. Whether there was any.
///
/// # Errors
/// One cannot be removed.
pub fn clear_dead_temps_of(path: &Path) -> Result<bool> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let dir = super::dir_of(path);
    let is_of_it = |temp: &[u8]| {
        let rest = temp.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(TEMP.as_bytes()))
    };
    clear_dead_temps_in(dir, Below::Not, &is_of_it)
}

fn clear_dead_temps_in(dir: &Path, below: Below, is_meant: &dyn Fn(&[u8]) -> bool) -> Result<bool> {
    let mut any = false;
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if below == Below::Too && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            any |= clear_dead_temps_in(&entry.path(), below, is_meant)?;
        }
        let name = entry.file_name();
        let meant = name.to_str().filter(|name| is_meant(name.as_bytes()));
        let maker = meant.and_then(temp_maker);
        if maker.is_some_and(|maker| !maker.is_alive()) {
            remove_optional(&entry.path())?;
            any = true;
        }
    }
    Ok(any)
}

/// Whether directories below are meant as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// All of them.
    Too,
    /// None.
    Not,
}

/// Who made a temporary file.
fn temp_maker(name: &str) -> Option<Maker> {
    let (maker, number) = Maker::parse(name.rsplit_once(TEMP)?.1)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(maker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fs::change_known;

    #[test]
    fn temporary_files_of_the_dead_go_and_nothing_else() {
        let dir = tempfile::tempdir().expect("tempdir");
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("below")).expect("mkdir");
        let live = format!("a.tmp-{}-0", Maker::this());
        let stay = ["a", &live, "b.tmp-x-1-0", "b.tmp-1-1", ".tmp-1-1-1-1"];
        for name in stay
            .iter()
            .chain(&["a.tmp-1-1-0", "below/x.json.tmp-1-1-7"])
        {
            std::fs::write(at(name), "").expect("write");
        }
        clear_dead_temps(dir.path(), Below::Too).expect("cleared");
        for name in stay {
            assert!(at(name).exists(), "{name}");
        }
        assert!(!at("a.tmp-1-1-0").exists());
        assert!(!at("below/x.json.tmp-1-1-7").exists());
    }

    #[test]
    fn a_change_takes_what_an_earlier_one_left_that_died() {
        let dir = tempfile::tempdir().expect("tempdir");
        let at = |name: &str| dir.path().join(name);
        for name in ["a.tmp-1-1-0", "ab.tmp-1-1-0", "b.tmp-1-1-0"] {
            std::fs::write(at(name), "").expect("write");
        }
        let made = change_known(&at("a"), None, Some((b"x", 0o644)));
        assert!(made.expect("changed").is_made());
        assert!(!at("a.tmp-1-1-0").exists());
        assert!(at("ab.tmp-1-1-0").exists() && at("b.tmp-1-1-0").exists());
        std::fs::write(at("b"), "x").expect("write");
        let gone = change_known(&at("b"), Some(b"x"), None);
        assert!(gone.expect("changed").is_made());
        assert!(!at("b.tmp-1-1-0").exists());
    }
}
