//! `.keep` files: what holds a new pack against gc until a ref does.
//!
//! git's repack and gc leave a pack with a `.keep` beside it alone. Ours say who made them, and are locked (`flock`) by their
//! maker as long as it lives, so that those of the dead can be removed later; all others are someone else's and stay.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::store::ObjectStore;
use super::temp::{Target, made_by};
use crate::error::{Result, ResultExt};
use crate::git::fs::{entries, is_there, remove_optional};
use crate::git::process::freed;
use crate::git::regular;

/// A pack whose `.keep` is on disk. Dropping it leaves the `.keep` there, for whoever clears up after the dead.
#[derive(Debug)]
#[must_use = "release it once a ref holds the objects"]
pub struct KeptPack {
    target: Target,
    name: String,
    /// Locked: we live.
    _file: File,
}

impl KeptPack {
    /// Makes the `.keep` of a pack that has no name yet. It appears with its whole content, or not at all.
    pub(super) fn create(target: &Target, name: String, note: &str) -> io::Result<Self> {
        let temp = target.create(b"pack/tmp_keep_")?;
        temp.file.write_all_at(format!("{note}\n").as_bytes(), 0)?;
        // An empty one, as a power cut would leave it, would be nobody's and stay for ever.
        temp.file.sync_all()?;
        // Before it has its name: nobody finds it free.
        let file = temp.place_locked(keep_name(&name).as_bytes())?;
        Ok(Self {
            target: target.clone(),
            name,
            _file: file,
        })
    }

    /// The pack's name, without directory and extension.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes the `.keep`: a ref holds the objects now, or nothing should.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn release(self) -> Result<()> {
        let name = keep_name(&self.name);
        self.target
            .remove(name.as_bytes())
            .context(|| format!("cannot remove '{name}'"))
    }
}

fn keep_name(pack: &str) -> String {
    format!("pack/{pack}.keep")
}

impl ObjectStore {
    /// Removes what dead processes of ours left: `.keep` files, packs that never got their idx, temporary files. Returns the
    /// number of `.keep` files. Those of a swap whose journal is still there stay: `is_needed` is asked with the token in the file
    /// (`tw <token> <pid> <start>`).
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn clear_dead(&self, is_needed: &dyn Fn(&str) -> bool) -> Result<usize> {
        let objects = &self.own().path;
        let fan_out = (0..=255u8).map(|byte| objects.join(format!("{byte:02x}")));
        for dir in fan_out.chain([objects.clone(), objects.join("pack")]) {
            clear_dead_temps(&dir)?;
        }
        let mut removed = 0;
        for path in entries(&objects.join("pack"))? {
            if path.extension().is_none_or(|end| end != "keep") {
                continue;
            }
            let token = regular::read(&path).ok().and_then(|note| token(&note));
            // Held until its file is gone: nobody else takes it for a dead one meanwhile.
            let Some(_dead) = token
                .filter(|token| !is_needed(token))
                .and_then(|_| freed(&path))
            else {
                continue;
            };
            // Without its index nobody can have found anything in it; an index that cannot be looked at is there.
            if !is_there(&path.with_extension("idx"))? {
                remove_optional(&path.with_extension("pack"))?;
            }
            remove_optional(&path)?;
            removed += 1;
        }
        Ok(removed)
    }
}

fn clear_dead_temps(dir: &Path) -> Result<()> {
    // One that stays where nobody may look harms nobody.
    for path in entries(dir).unwrap_or_default() {
        let maker = path.file_name().and_then(OsStr::to_str).and_then(made_by);
        if maker.is_some_and(|maker| !maker.is_alive()) {
            remove_optional(&path)?;
        }
    }
    Ok(())
}

/// The token in a note of ours.
fn token(note: &[u8]) -> Option<String> {
    let mut words = std::str::from_utf8(note).ok()?.split_ascii_whitespace();
    if words.next()? != "tw" {
        return None;
    }
    let token = words.next()?;
    // Only read to know a note of ours: whether its maker lives is told by the lock.
    let _pid: u32 = words.next()?.parse().ok()?;
    let _start: u64 = words.next()?.parse().ok()?;
    Some(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_notes_have_a_token() {
        assert_eq!(token(b"tw k3 12 345\n").as_deref(), Some("k3"));
        for note in ["", "tw", "tw k3 12", "fetch-pack 12 345 6", "tw k3 x 1"] {
            assert_eq!(token(note.as_bytes()), None, "{note:?}");
        }
    }
}
