//! What was asked for with `tw share init`: a private file beside the repository's other state. Neither a clone nor a fetch brings one
//! along, and the team's settings cannot turn sharing on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::damaged::depots_aside;
use super::record::Author;
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::create::private_dir;
use crate::git::depot::Depot;
use crate::git::fs::{self, Durable};
use crate::git::hex::hex;
use crate::json;
use crate::ops::Context;
use crate::redact::Redactor;
use crate::store::Store;
use crate::store::lock::{HeldFile, hold_file_within};
use crate::store::names::{
    SHARED_BEFORE_DEPOT, SHARED_BRANCH, SHARED_OWN, SHARED_SEEN, SHARED_SNAPSHOTS_BRANCH,
    SHARED_SNAPSHOTS_OUTGOING, SHARED_SNAPSHOTS_REF, SHARED_SNAPSHOTS_SEEN, SHARED_TAKING,
};
use crate::store::state::{parse_versioned, read_json};
use crate::text::typed_path;

const VERSION: u32 = 1;
/// The file in the common `timewarp` directory.
const FILE: &str = "share.json";
/// What stood there when sharing was ended.
const LAST: &str = "share-last.json";
/// Among its other fields: where the remote was.
const PLACE: &str = "place";

/// Whether conversations go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prompts {
    /// They stay here.
    #[default]
    None,
    /// They go along, redacted once more.
    Redacted,
}

impl Prompts {
    /// What goes of a text that was said.
    pub fn kept(self, redactor: &Redactor, text: Option<&str>) -> Option<String> {
        match self {
            Self::None => None,
            Self::Redacted => text.map(|text| redactor.text(text).text),
        }
    }
}

json::words!(Prompts {
    None = "none",
    Redacted = "redacted",
});

/// What was named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// 1.
    pub version: u32,
    /// The remote, as git's configuration names it.
    pub remote: String,
    /// Its one ref.
    pub shared_ref: String,
    /// Whether conversations go along.
    pub prompts: Prompts,
    /// When something was pushed last: RFC 3339, UTC.
    #[serde(default)]
    pub pushed_at: Option<String>,
    /// When something was pulled last: RFC 3339, UTC.
    #[serde(default)]
    pub pulled_at: Option<String>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Setup {
    /// Makes the setup for a remote that was just named.
    pub fn new(remote: &str, shared_ref: &str, prompts: Prompts) -> Self {
        Self {
            version: VERSION,
            remote: remote.to_owned(),
            shared_ref: shared_ref.to_owned(),
            prompts,
            pushed_at: None,
            pulled_at: None,
            other: Map::new(),
        }
    }

    /// The remote's ref of the snapshots that were named.
    pub fn snapshots_ref(&self) -> &'static str {
        if self.shared_ref == SHARED_BRANCH {
            SHARED_SNAPSHOTS_BRANCH
        } else {
            SHARED_SNAPSHOTS_REF
        }
    }

    /// What stands there; None: sharing is off.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`, `NEWER_RECORD`.
    pub fn read(store: &Store) -> Result<Option<Self>> {
        read_json(&setup_file(store)).map_err(|error| match error.code() {
            Code::CorruptRecord => error.with_hints([
                "'tw recover' sets it aside, and 'tw share init REMOTE' names the remote again"
                    .to_owned(),
            ]),
            _ => error,
        })
    }

    /// Writes the setup where all worktrees find it.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn write(&self, store: &Store) -> Result<()> {
        private_dir(&store.common(""))?;
        fs::remove_optional(&store.common(LAST))?;
        write(&setup_file(store), self)
    }

    /// Takes it away, and keeps under another name what it was: with the same remote named again, sharing goes on where it ended.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn end(mut self, ctx: &Context<'_>, store: &Store) -> Result<()> {
        let place = self.place(ctx)?;
        self.other.insert(PLACE.to_owned(), place.into());
        let (file, last) = (setup_file(store), store.common(LAST));
        write(&last, &self)?;
        fs::remove_optional(&file)
    }

    /// What was named before sharing was ended, when git still knows the remote under that name and at that place.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn last(ctx: &Context<'_>, store: &Store) -> Result<Option<Self>> {
        // It only says whether what was exchanged is of use yet.
        let bytes = fs::read_optional(&store.common(LAST)).unwrap_or_default();
        let last = bytes.and_then(|bytes| parse_versioned::<Self>(&bytes, VERSION, LAST).ok());
        let Some(mut last) = last else {
            return Ok(None);
        };
        let place = last.place(ctx)?;
        let then = last.other.shift_remove(PLACE);
        let is_same = place.is_some() && then == Some(place.into());
        Ok(Some(last).filter(|_| is_same))
    }

    /// A digest of where git knows the remote: the address itself may hold a password.
    fn place(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = ctx.repo.config(&format!("remote.{}.url", self.remote))?;
        Ok(url.map(|url| hex(&Sha256::digest(url))))
    }
}

/// Where the setup is.
pub(super) fn setup_file(store: &Store) -> PathBuf {
    store.common(FILE)
}

fn write(file: &Path, setup: &Setup) -> Result<()> {
    fs::write_atomic(file, &json::pretty(setup), Durable::Yes)
}

/// Keeps two commands of this repository from sharing at once.
///
/// # Errors
/// `BUSY`.
pub fn lock(ctx: &Context<'_>, store: &Store) -> Result<HeldFile> {
    private_dir(&store.common(""))?;
    hold_file_within(&store.common("share.lock"), ctx.settings.lock_timeout)
}

/// The repository that is exchanged through, beside the other state that all worktrees share.
pub(super) fn depot_dir(store: &Store) -> PathBuf {
    store.common("share.git")
}

/// The depot. None: nothing was exchanged yet.
///
/// # Errors
/// It cannot be opened.
pub fn depot(store: &Store) -> Result<Option<Depot>> {
    Depot::open(&depot_dir(store), store.objects.format())
}

/// The depot, made where there is none; under the lock of sharing.
///
/// # Errors
/// The disk refuses.
pub fn depot_for_exchange(store: &Store) -> Result<Depot> {
    let depot = Depot::open_or_make(&store.repo, &depot_dir(store))?;
    let mut transaction = store.refs.transaction();
    for (name, commit) in store.refs.list(SHARED_BEFORE_DEPOT)? {
        transaction.delete(&name, Some(commit));
    }
    transaction.commit()?;
    Ok(depot)
}

/// Forgets what was exchanged: what the remote sent, and what of ours it was told. Records and snapshots that came stay.
///
/// # Errors
/// The disk refuses.
pub fn forget_exchanged(store: &Store) -> Result<()> {
    // Somebody may have died while making it anew.
    Depot::remove(&depot_dir(store).with_extension("new"))?;
    Depot::remove(&depot_dir(store))?;
    fail_point("exchanged-forgotten");
    Ok(())
}

/// Says of snapshots that went to the remote or came from it that they are there still.
///
/// # Errors
/// The depot cannot be read.
pub fn sent_snapshots(store: &Store) -> Result<Option<String>> {
    let Some(depot) = depot(store)? else {
        return Ok(None);
    };
    let refs = [SHARED_SNAPSHOTS_SEEN, SHARED_SNAPSHOTS_OUTGOING];
    let any = refs.iter().map(|name| depot.refs.read(name));
    let any = any.collect::<Result<Vec<_>>>()?;
    if any.iter().all(Option::is_none) {
        return Ok(None);
    }
    let remote = Setup::read(store)?.map_or_else(
        || "the remote".to_owned(),
        |setup| format!("'{}'", setup.remote),
    );
    Ok(Some(format!(
        "snapshots that were exchanged with {remote}, and whoever pulled them; 'tw pull' brings here again what is there"
    )))
}

/// Deletes the snapshots that were exchanged, and depots that were set aside, and says where such snapshots are still. The records stay: by
/// them alone it is known which of their fields were edited here, and a side that changed nothing would win over one that did.
///
/// # Errors
/// `BUSY`; the disk refuses.
pub fn forget_sent_snapshots(ctx: &Context<'_>, store: &Store) -> Result<Option<String>> {
    for dir in depots_aside(store)? {
        Depot::remove(&dir)?;
    }
    let dir = depot_dir(store);
    if Depot::is_unsettled(&dir)? {
        let _lock = lock(ctx, store)?;
        Depot::settle(&dir)?;
    }
    let said = sent_snapshots(store)?;
    if said.is_some() {
        let _lock = lock(ctx, store)?;
        let records = [SHARED_OWN, SHARED_TAKING, SHARED_SEEN];
        let kept = Depot::keep_only(&store.repo, &dir, &records);
        // The bytes go first, whatever becomes of the rest.
        kept.or_else(|_| forget_exchanged(store))?;
    }
    Ok(said)
}

/// Returns the setup, which has to be there.
///
/// # Errors
/// `INVALID_CONFIG` when sharing is off, or git does not know the remote any more.
pub fn required(ctx: &Context<'_>, store: &Store) -> Result<Setup> {
    let setup = Setup::read(store)?.ok_or_else(|| {
        Error::new(Code::InvalidConfig, "sharing is off: no remote was named")
            .hint("'tw share init REMOTE' names one; 'tw share scan' shows what would be found in the records")
    })?;
    check_remote(ctx, &setup.remote)?;
    Ok(setup)
}

/// Whether git's configuration has a remote of that name, with a place.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn check_remote(ctx: &Context<'_>, remote: &str) -> Result<()> {
    // Words that could be options, or lead to a file of git's, are no names of remotes.
    let is_name = !remote.is_empty() && !remote.starts_with('-') && !remote.contains(['\n', '\0']);
    if is_name && ctx.repo.config(&format!("remote.{remote}.url"))?.is_some() {
        return Ok(());
    }
    let message = format!("'{remote}' is not a remote of this repository");
    Err(
        Error::new(Code::InvalidConfig, message).hint(if ctx.repo.is_private() {
            // git does not find it by itself.
            let there = typed_path(ctx.repo.git_dir());
            format!("with git, 'git --git-dir={there} remote add NAME URL' adds one")
        } else {
            "'git remote' lists them, 'git remote add NAME URL' adds one".to_owned()
        }),
    )
}

/// Under which names this repository's edits go out: a digest of its id, which itself stays here, and the name that git is told.
///
/// # Errors
/// The id cannot be read or made.
pub fn author(ctx: &Context<'_>, store: &Store) -> Result<Author> {
    let id = store.ensure_repository_id()?;
    let digest = Sha256::digest(format!("shared by {id}"));
    let name = ctx.repo.config("user.name")?.unwrap_or_default();
    let name: String = name.trim().chars().take(50).collect();
    Ok(Author {
        by: hex(digest.get(..6).unwrap_or_default()),
        name: Some(name).filter(|name| !name.is_empty()),
    })
}
