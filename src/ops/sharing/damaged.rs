//! What is kept for sharing and was damaged here, as by a power cut: the setup, and the depot.
//!
//! Commands that stumble over it say so, and do not blame the remote. When recovery is asked for, it gets another name: no byte is lost. Which
//! fields were edited here is known by the depot alone; without it every value of ours counts as said before any that the remote has, and
//! where they differ both are kept.

use std::fmt;
use std::path::{Path, PathBuf};

use super::setup::{Setup, depot, depot_dir, lock, setup_file};
use crate::error::{Code, Error, Result};
use crate::git::depot::Depot;
use crate::git::fs::entries;
use crate::ops::Context;
use crate::store::Store;
use crate::store::damaged::{self, is_aside};

/// What is said of what nobody knows then.
const UNKNOWN: &str = "which fields were edited here since the last exchange is not known any more, and where the remote has another value both are kept";

/// What can be damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Setup,
    Depot,
}

/// Something that is damaged.
#[derive(Debug)]
pub struct Damage {
    part: Part,
    path: PathBuf,
    why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Setup => f.write_str(&self.why),
            Part::Depot => write!(
                f,
                "what was exchanged with the remote is damaged here, in '{}': {}",
                self.path.display(),
                self.why
            ),
        }
    }
}

impl Damage {
    /// What is said when it has another name.
    fn told(&self, to: &Path) -> String {
        let to = to.display();
        match self.part {
            Part::Setup => format!(
                "what 'tw share init' had noted was damaged and is now '{to}': 'tw share init REMOTE' names the remote again; {UNKNOWN}"
            ),
            Part::Depot => format!(
                "what was exchanged with the remote was damaged and is now '{to}': 'tw pull' brings it here again; {UNKNOWN}"
            ),
        }
    }
}

/// Looks for what is damaged.
///
/// # Errors
/// The depot cannot be looked at.
pub fn find(store: &Store) -> Result<Vec<Damage>> {
    let setup = setup_file(store);
    let of_setup = match Setup::read(store) {
        Err(error) if error.code() == Code::CorruptRecord => Some(error.message().to_owned()),
        // One of a later version is not damaged.
        _ => None,
    };
    let of_setup = of_setup.map(|why| (Part::Setup, setup, why));
    let of_depot = why_damaged(store)?.map(|why| (Part::Depot, depot_dir(store), why));
    let found = of_setup.into_iter().chain(of_depot);
    Ok(found
        .map(|(part, path, why)| Damage { part, path, why })
        .collect())
}

fn why_damaged(store: &Store) -> Result<Option<String>> {
    let look = || match depot(store)? {
        Some(depot) => depot.damage(),
        None => Ok(None),
    };
    match look() {
        Err(error) if error.code() == Code::CorruptRecord => Ok(Some(error.message().to_owned())),
        looked => looked,
    }
}

/// Says of an error of an exchange that the depot is damaged, where it is: then the remote is not to blame.
pub fn explain(store: &Store, error: Error) -> Error {
    if !matches!(error.code(), Code::CorruptRecord | Code::Io) {
        return error;
    }
    let found = find(store).unwrap_or_default();
    match found.iter().find(|damage| damage.part == Part::Depot) {
        Some(damage) => Error::new(Code::CorruptRecord, damage.to_string())
            .hint("'tw recover' sets it aside, and 'tw pull' brings it here again")
            .caused_by(error),
        None => error,
    }
}

/// Gives what is damaged another name, and says so.
///
/// # Errors
/// `BUSY` while something is exchanged; a name cannot be changed; the depot cannot be looked at.
pub fn set_aside(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    if find(store)?.is_empty() {
        return Ok(Vec::new());
    }
    let _lock = lock(ctx, store)?;
    Depot::settle(&depot_dir(store))?;
    let aside = find(store)?.into_iter().map(|damage| {
        let to = damaged::set_aside(&damage.path)?;
        Ok(damage.told(&to))
    });
    aside.collect()
}

/// The depots that were set aside.
///
/// # Errors
/// Their directory cannot be read.
pub(super) fn depots_aside(store: &Store) -> Result<Vec<PathBuf>> {
    let depot = depot_dir(store);
    let mut aside = entries(&store.common(""))?;
    aside.retain(|path| is_aside(path) && path.file_stem() == depot.file_name());
    Ok(aside)
}
