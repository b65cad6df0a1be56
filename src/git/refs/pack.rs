//! Loose refs gathered into `packed-refs`, as `git pack-refs` does it, for refs that a caller names.
//!
//! Thousands of loose refs are thousands of files to open; packed they are one. The order is git's: under
//! `packed-refs.lock` the loose values are read and the new file put in place; then each loose file goes under its own ref's
//! lock, if it still says what was packed. A kill in between leaves refs both packed and loose, with one value. Values are read
//! under the lock, for whoever deletes a ref holds it until the loose file is gone: nothing deleted is packed again.

use std::collections::BTreeMap;

use crate::error::{Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::liveness::Flush;
use crate::git::threads;

use super::Refs;
use super::lock::{LockError, Locking};
use super::loose::{self, Value};
use super::rewrite::Rewrite;

impl Refs {
    /// Packs the loose refs whose names begin with one of `prefixes` and whose objects `is_packable` takes, when there are more
    /// than `limit`. Answers how many were.
    ///
    /// Objects that can be peeled must not be taken: packed, git expects to find there what they lead to. When somebody else
    /// holds `packed-refs`, or the file is of another kind than git's of today, nothing is done.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn pack(
        &self,
        prefixes: &[&str],
        limit: usize,
        is_packable: &(dyn Fn(Oid) -> bool + Sync),
    ) -> Result<usize> {
        if self.stacks.is_some() {
            // Each change folds what it can.
            return Ok(0);
        }
        let loose = self.loose_of(prefixes)?;
        if loose.len() <= limit {
            return Ok(0);
        }
        let mut locking = Locking::new(&self.common_dir, Flush::Yes);
        let rewrite = match Rewrite::begin(&self.common_dir, &mut locking) {
            Ok(rewrite) => rewrite,
            Err(LockError::Io(error)) => return Err(error),
            Err(LockError::Held(_) | LockError::Blocked) => return Ok(0),
        };
        // Once more, under the lock: what was deleted since must not come back.
        let loose = self.loose_of(prefixes)?;
        let values = threads::map(&loose, |name| match loose::read(&self.path(name), name) {
            Ok(Some(Value::Direct(oid))) if is_packable(oid) => Some(oid),
            // Symbolic, broken, gone: not ours to settle.
            _ => None,
        });
        let packed: BTreeMap<String, Oid> = loose
            .into_iter()
            .zip(values)
            .filter_map(|(name, oid)| Some((name, oid?)))
            .collect();
        if packed.is_empty() || !rewrite.add(&packed)? {
            return Ok(0);
        }
        drop(rewrite);
        self.sync_common_dir()?;
        packed
            .iter()
            .try_for_each(|(name, oid)| self.remove_packed(name, *oid, &mut locking))?;
        Ok(packed.len())
    }

    fn loose_of(&self, prefixes: &[&str]) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for prefix in prefixes {
            names.extend(self.loose_names(prefix)?);
        }
        Ok(names)
    }

    /// The new file's name must be on disk before the loose files' names go.
    fn sync_common_dir(&self) -> Result<()> {
        let synced = crate::git::fs::sync_dir(&self.common_dir);
        synced.context(|| "syncing 'packed-refs'")
    }

    /// Removes the loose file of a ref that was packed, unless it was moved since.
    fn remove_packed(&self, name: &str, oid: Oid, locking: &mut Locking) -> Result<()> {
        let path = self.path(name);
        // Whoever holds it may be changing it: the loose file says which value counts.
        let Ok(_lock) = locking.take(self.base(name), &path, b"") else {
            return Ok(());
        };
        if !matches!(loose::read(&path, name), Ok(Some(Value::Direct(found))) if found == oid) {
            return Ok(());
        }
        match std::fs::remove_file(&path) {
            Err(error) if !loose::is_absent(&error) => {
                Err(Error::from(error).while_doing(format!("removing the loose ref '{name}'")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::git::refs::sandbox::Sandbox;

    const PROBE: &str = "refs/probe/";

    /// This many loose refs at one commit, beside a branch and an annotated tag.
    fn some(sandbox: &Sandbox, count: usize) -> String {
        let commit = sandbox.commit("some").to_string();
        sandbox.git(&["update-ref", "refs/heads/main", &commit]);
        sandbox.git(&["tag", "-a", "-m", "peeled", "v1", "main"]);
        let refs: Vec<String> = (0..count)
            .map(|n| format!("create {PROBE}s_{n:03} {commit}\n"))
            .collect();
        sandbox.git_with_input(&["update-ref", "--stdin"], &refs.concat());
        commit
    }

    #[test]
    fn git_finds_the_same_refs_when_they_are_packed() {
        let sandbox = Sandbox::new();
        some(&sandbox, 100);
        let before = sandbox.git(&["show-ref", "--dereference"]);
        let refs = sandbox.refs();
        assert_eq!(refs.pack(&[PROBE], 100, &|_| true).expect("packed"), 0);
        assert_eq!(refs.pack(&[PROBE], 99, &|_| true).expect("packed"), 100);
        assert_eq!(sandbox.git(&["show-ref", "--dereference"]), before);
        assert_eq!(refs.loose_names(PROBE).expect("walked"), [""; 0]);
        // Others stay as they are, before and after git packed them.
        assert!(sandbox.git_dir().join("refs/heads/main").exists());
        sandbox.git(&["pack-refs", "--all"]);
        let more = sandbox.commit("more").to_string();
        for name in ["s_000", "s_new"] {
            sandbox.git(&["update-ref", &format!("{PROBE}{name}"), &more]);
        }
        let before = sandbox.git(&["show-ref", "--dereference"]);
        assert_eq!(refs.pack(&[PROBE], 0, &|_| true).expect("packed"), 2);
        assert_eq!(sandbox.git(&["show-ref", "--dereference"]), before);
        assert!(sandbox.git(&["for-each-ref", "refs/tags"]).contains("tag"));
        sandbox.git(&["update-ref", "-d", &format!("{PROBE}s_new")]);
        assert!(!sandbox.git(&["show-ref"]).contains("s_new"));
    }

    #[test]
    fn what_is_not_packable_stays_loose() {
        let sandbox = Sandbox::new();
        some(&sandbox, 3);
        let dir = sandbox.git_dir().join(PROBE);
        std::fs::write(dir.join("broken"), "nonsense\n").expect("written");
        sandbox.git(&[
            "symbolic-ref",
            &format!("{PROBE}symbolic"),
            "refs/heads/main",
        ]);
        sandbox.git(&["update-ref", &format!("{PROBE}tag"), "refs/tags/v1"]);
        let tag = sandbox.git(&["rev-parse", "refs/tags/v1"]);
        let commits = |oid: crate::git::Oid| oid.to_string() != tag.trim();
        // Somebody changes one, somebody else packs.
        std::fs::write(dir.join("s_001.lock"), "").expect("written");
        let refs = sandbox.refs();
        let packed = sandbox.git_dir().join("packed-refs");
        let lock = sandbox.git_dir().join("packed-refs.lock");
        std::fs::write(&lock, "").expect("written");
        assert_eq!(refs.pack(&[PROBE], 0, &commits).expect("held"), 0);
        std::fs::remove_file(&lock).expect("removed");
        assert_eq!(refs.pack(&[PROBE], 0, &commits).expect("packed"), 3);
        let mut left = refs.loose_names(PROBE).expect("walked");
        left.sort();
        let names = ["broken", "s_001", "symbolic", "tag"];
        assert_eq!(left, names.map(|name| format!("{PROBE}{name}")));
        // A file that git of long ago wrote is left to git.
        std::fs::remove_file(dir.join("s_001.lock")).expect("removed");
        let text = std::fs::read_to_string(&packed).expect("there");
        let old: Vec<&str> = text.lines().skip(1).collect();
        std::fs::write(&packed, old.join("\n") + "\n").expect("written");
        assert_eq!(refs.pack(&[PROBE], 0, &commits).expect("old"), 0);
        assert_eq!(refs.loose_names(PROBE).expect("walked").len(), 4);
    }
}
