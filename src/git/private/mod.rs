//! Directories without git: where the private repository of each is, and how a directory is known again.
//!
//! `$XDG_STATE_HOME/timewarp/` (`~/.local/state/timewarp/`), for its owner alone:
//!
//! ```text
//! directories/<key>/directory.json    whose history this is: path, inode, birth time, device
//! directories/<key>/repository/       an ordinary git directory
//! paths/<hash of a path>              a symlink that names the key of the newest directory that was there
//! ```
//!
//! **The key is the directory's identity**: its inode number and the moment at which it was made, which no program can set and
//! no later directory with the same inode number shares. Where the file system does not tell that moment, the device's number
//! takes its place. So a look-up is one small file for each directory on the way up, and only where no `.git` was found.
//!
//! Promises: a history is never taken for another directory's. Identity *and* path must agree:
//!
//! | the directory | identity | path | |
//! |---|---|---|---|
//! | stands where it stood | same | same | its history |
//! | has a second name: a bind mount | same | other, and the recorded one leads to it, too | its history |
//! | was moved on its file system | same | other | refused until somebody says so |
//! | was deleted and made anew, restored, moved to another file system | other | same | none, and the earlier one is named |
//! | is a copy | other | other | none |
//!
//! `paths/` serves the fourth line alone, and is never believed: a link that is wrong or missing costs a hint. Leaves out
//! questions and answers, which are `ops::here`'s.

pub mod linked;
mod make;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha1::Digest;

use super::create;
use super::fs::{Durable, entries, is_there, remove_optional, sync_parent, write_atomic};
use super::hex::hex;
use super::pinned::DirId;
use super::regular;
use super::repo::is_git_directory;
use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};

/// The version of `directory.json` that is written here, and the newest that is read.
const VERSION: u32 = 1;
/// A record is a few hundred bytes; more than this is none.
const MAX_RECORD: u64 = 1 << 20;

const DIRECTORIES: &str = "directories";
const PATHS: &str = "paths";
const RECORD: &str = "directory.json";
const REPOSITORY: &str = "repository";
/// What is being made or removed: no key begins like this.
const UNFINISHED: &str = ".unfinished-";

/// What tells one directory from another, wherever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    id: DirId,
    device: u64,
}

impl Identity {
    /// Of the directory at a path.
    ///
    /// # Errors
    /// It is not there, or is none.
    pub fn of(dir: &Path) -> Result<Self> {
        let what = || format!("cannot look at '{}'", dir.display());
        let meta = std::fs::metadata(dir).context(what)?;
        if !meta.is_dir() {
            let message = format!("'{}' is not a directory", dir.display());
            return Err(Error::new(Code::PathNotFound, message));
        }
        Ok(Self {
            id: DirId::of(&meta),
            device: meta.dev(),
        })
    }

    /// Whether a directory that is made later, in its place and with its inode number, can be told from it.
    pub fn is_certain(&self) -> bool {
        self.id.birth_time.is_some()
    }

    /// When it was made, in seconds since the epoch, where the file system says.
    pub fn since(&self) -> Option<i64> {
        self.id
            .birth_time
            .map(|born| born.div_euclid(1_000_000_000))
    }

    /// A word for it.
    pub fn key(&self) -> String {
        let DirId { inode, birth_time } = self.id;
        match birth_time {
            Some(born) => format!("{inode:x}-{born:x}"),
            None => format!("{inode:x}-on-{:x}", self.device),
        }
    }
}

/// Whose history a private repository keeps: `directory.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    version: u32,
    path: String,
    inode: u64,
    birth_time: Option<i64>,
    device: u64,
    created_at: String,
    /// Its history is kept, and nothing is added to it.
    #[serde(default)]
    set_aside: bool,
    /// Fields of a later version.
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl Record {
    fn id(&self) -> DirId {
        DirId {
            inode: self.inode,
            birth_time: self.birth_time,
        }
    }
}

/// A directory whose history is kept in a private repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    key: String,
    /// In the registry.
    at: PathBuf,
    record: Record,
}

impl Directory {
    /// Where it was when that was last said.
    pub fn path(&self) -> &Path {
        Path::new(&self.record.path)
    }

    /// What it is called in the registry.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its directory in the registry.
    pub fn entry(&self) -> &Path {
        &self.at
    }

    /// Its private repository.
    pub fn repository(&self) -> PathBuf {
        self.at.join(REPOSITORY)
    }

    /// Whether nothing is where its private repository was: somebody removed that.
    ///
    /// # Errors
    /// The place cannot be looked at.
    pub fn is_gone(&self) -> Result<bool> {
        Ok(!is_there(&self.repository())?)
    }

    /// Refuses where its private repository is gone, or is none any more.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`; the place cannot be looked at.
    pub fn check(&self) -> Result<()> {
        let repository = self.repository();
        let (dir, place) = (self.path().display(), repository.display());
        let refused = |message: String, hint: &str| {
            Err(Error::new(Code::NotARepository, message).hint(hint.to_owned()))
        };
        if self.is_gone()? {
            let message = format!("the history of '{dir}' is gone from '{place}'");
            return refused(
                message,
                "put it back there, or run 'tw init --here' in the directory, which begins a new one",
            );
        }
        if !is_git_directory(&repository) {
            let message = format!("the private repository '{place}' of '{dir}' is damaged");
            return refused(
                message,
                "put back what is missing in it; or 'tw init --here --remove --delete-history' deletes it, and 'tw init --here' then begins a new one",
            );
        }
        Ok(())
    }

    /// When its history began, RFC 3339.
    pub fn created_at(&self) -> &str {
        &self.record.created_at
    }

    /// How it stands now.
    pub fn status(&self) -> DirectoryStatus {
        match Identity::of(self.path()) {
            _ if self.record.set_aside => DirectoryStatus::SetAside,
            Ok(found) if found.key() == self.key => DirectoryStatus::InPlace,
            Ok(_) => DirectoryStatus::Replaced,
            Err(_) => DirectoryStatus::Gone,
        }
    }
}

/// How a known directory stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryStatus {
    /// Where it was.
    InPlace,
    /// Nothing is at its path: it was moved or removed.
    Gone,
    /// Another directory is at its path.
    Replaced,
    /// Somebody said that its history is over.
    SetAside,
}

/// What is known of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// Its history goes on.
    Here(Directory),
    /// It was somewhere else when its history was last written.
    Moved(Directory),
    /// Its history was set aside.
    SetAside(Directory),
    /// Nothing is known of it, but of another one that was at its path before.
    Former(Directory),
}

/// The private repositories of one user.
#[derive(Debug, Clone)]
pub struct Registry {
    root: PathBuf,
}

impl Registry {
    /// Where the environment says; none without `XDG_STATE_HOME` and `HOME`. It need not exist.
    pub fn of(env: &Env) -> Option<Self> {
        let named = env.var("XDG_STATE_HOME").map(PathBuf::from);
        // A relative one is to be ignored, says the specification.
        let named = named.filter(|dir| dir.is_absolute());
        let state = named.or_else(|| Some(env.home()?.join(".local/state")))?;
        state.is_absolute().then(|| Self {
            root: state.join("timewarp"),
        })
    }

    /// The directory that holds it all.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether there is any.
    pub fn exists(&self) -> bool {
        self.root.join(DIRECTORIES).is_dir()
    }

    /// Makes it, for its owner alone.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn prepare(&self) -> Result<()> {
        for dir in [
            self.root.clone(),
            self.root.join(DIRECTORIES),
            self.root.join(PATHS),
        ] {
            create::dirs(&dir, 0o700).context(|| format!("cannot create '{}'", dir.display()))?;
        }
        Ok(())
    }

    /// What is known of a directory; its path must be resolved.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`, `NEWER_RECORD`.
    pub fn look(&self, dir: &Path) -> Result<Option<Known>> {
        let identity = Identity::of(dir)?;
        let found = self.read(&identity.key())?;
        // One that says that it is another directory's waits for the end of an `attach` that died.
        let Some(found) = found.filter(|found| found.record.id() == identity.id) else {
            return Ok(self.former(dir, identity)?.map(Known::Former));
        };
        let is_same = found.path() == dir
            // The very same one, under a second name.
            || Identity::of(found.path()).is_ok_and(|there| there == identity);
        Ok(Some(if found.record.set_aside {
            Known::SetAside(found)
        } else if is_same {
            Known::Here(found)
        } else {
            Known::Moved(found)
        }))
    }

    fn former(&self, dir: &Path, now: Identity) -> Result<Option<Directory>> {
        let Ok(key) = std::fs::read_link(self.path_link(dir)) else {
            return Ok(None);
        };
        let Some(key) = key.to_str().filter(|key| is_key(key)) else {
            return Ok(None);
        };
        let found = self.read(key)?;
        Ok(found.filter(|found| found.path() == dir && found.key != now.key()))
    }

    fn path_link(&self, dir: &Path) -> PathBuf {
        let sum = sha1::Sha1::digest(dir.as_os_str().as_bytes());
        self.root.join(PATHS).join(hex(&sum))
    }

    /// Every directory, by path.
    ///
    /// # Errors
    /// The registry or a record in it cannot be read.
    pub fn all(&self) -> Result<Vec<Directory>> {
        let mut found = Vec::new();
        for path in entries(&self.root.join(DIRECTORIES))? {
            let name = path.file_name().and_then(OsStr::to_str);
            if let Some(key) = name.filter(|key| is_key(key)) {
                found.extend(self.read(key)?);
            }
        }
        found.sort_by(|a, b| (a.path(), &a.key).cmp(&(b.path(), &b.key)));
        Ok(found)
    }

    fn read(&self, key: &str) -> Result<Option<Directory>> {
        let at = self.root.join(DIRECTORIES).join(key);
        let file = at.join(RECORD);
        let corrupt =
            |what: String| Error::new(Code::CorruptRecord, format!("'{}': {what}", file.display()));
        let bytes = match regular::read_within(&file, MAX_RECORD) {
            Err(error) if regular::is_absent(&error) => return Ok(None),
            other => other.context(|| format!("cannot read '{}'", file.display()))?,
        };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
        if value["version"].as_u64() > Some(u64::from(VERSION)) {
            let message = format!("'{}' was written by a newer tw", file.display());
            return Err(Error::new(Code::NewerRecord, message));
        }
        let record: Record =
            serde_json::from_value(value).map_err(|error| corrupt(error.to_string()))?;
        if !Path::new(&record.path).is_absolute() {
            return Err(corrupt(format!(
                "'{}' is not an absolute path",
                record.path
            )));
        }
        Ok(Some(Directory {
            key: key.to_owned(),
            at,
            record,
        }))
    }

    /// Makes the private repository of a directory, whole or not at all.
    ///
    /// # Errors
    /// `USAGE` for a path that is not UTF-8; the disk refuses.
    pub fn begin(&self, dir: &Path, at: String) -> Result<Directory> {
        let identity = Identity::of(dir)?;
        let key = identity.key();
        let record = Record {
            version: VERSION,
            path: utf8(dir)?.to_owned(),
            inode: identity.id.inode,
            birth_time: identity.id.birth_time,
            device: identity.device,
            created_at: at,
            set_aside: false,
            extra: Map::new(),
        };
        let unfinished = self.unfinished_repository(&key, &record.path)?;
        write_record(&unfinished, &record)?;
        let place = self.root.join(DIRECTORIES).join(&key);
        std::fs::rename(&unfinished, &place)
            .and_then(|()| sync_parent(&place))
            .context(|| format!("cannot create '{}'", place.display()))?;
        let made = Directory {
            key,
            at: place,
            record,
        };
        self.link(&made)?;
        Ok(made)
    }

    /// Makes the private repository of a directory anew whose own is gone. What else lies where that was stays.
    ///
    /// # Errors
    /// As [`Self::begin`]; something is in its place.
    pub fn begin_again(&self, gone: &Directory, dir: &Path, at: String) -> Result<Directory> {
        let unfinished = self.unfinished_repository(&gone.key, utf8(dir)?)?;
        let place = gone.repository();
        std::fs::rename(unfinished.join(REPOSITORY), &place)
            .and_then(|()| sync_parent(&place))
            .context(|| format!("cannot create '{}'", place.display()))?;
        let _ = std::fs::remove_dir_all(&unfinished);
        let mut anew = gone.clone();
        anew.record.created_at = at;
        self.attach(&anew, dir)
    }

    fn unfinished_repository(&self, key: &str, path: &str) -> Result<PathBuf> {
        let unfinished = self.unfinished(key);
        let _ = std::fs::remove_dir_all(&unfinished);
        let what = || format!("cannot create '{}'", unfinished.display());
        create::new_dir(&unfinished, 0o700).context(what)?;
        make::repository(&unfinished.join(REPOSITORY), path)?;
        Ok(unfinished)
    }

    /// From now on this is the history of the directory at `dir`, whatever directory it was of.
    ///
    /// # Errors
    /// `USAGE` for a path that is not UTF-8; the disk refuses.
    pub fn attach(&self, known: &Directory, dir: &Path) -> Result<Directory> {
        let identity = Identity::of(dir)?;
        let record = Record {
            path: utf8(dir)?.to_owned(),
            inode: identity.id.inode,
            birth_time: identity.id.birth_time,
            device: identity.device,
            set_aside: false,
            ..known.record.clone()
        };
        let key = identity.key();
        let mut at = known.at.clone();
        // First: a death before the name follows leaves a history that nobody takes for any directory's, and that can be adopted.
        write_record(&at, &record)?;
        if key != known.key {
            let moved = self.root.join(DIRECTORIES).join(&key);
            std::fs::rename(&at, &moved)
                .and_then(|()| sync_parent(&moved))
                .context(|| format!("cannot rename '{}'", at.display()))?;
            at = moved;
        }
        self.unlink(known)?;
        let attached = Directory { key, at, record };
        make::set_worktree(&attached.repository(), &attached.record.path)?;
        self.link(&attached)?;
        Ok(attached)
    }

    /// Keeps the history, and ends it.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn set_aside(&self, known: &Directory) -> Result<()> {
        let record = Record {
            set_aside: true,
            ..known.record.clone()
        };
        write_record(&known.at, &record)
    }

    /// Removes a history for good.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn delete(&self, known: &Directory) -> Result<()> {
        let unfinished = self.unfinished(&known.key);
        let what = || format!("cannot remove '{}'", known.at.display());
        self.unlink(known)?;
        let _ = std::fs::remove_dir_all(&unfinished);
        std::fs::rename(&known.at, &unfinished).context(what)?;
        std::fs::remove_dir_all(&unfinished).context(what)
    }

    fn unfinished(&self, key: &str) -> PathBuf {
        let name = format!("{UNFINISHED}{key}");
        self.root.join(DIRECTORIES).join(name)
    }

    fn link(&self, known: &Directory) -> Result<()> {
        let link = self.path_link(known.path());
        remove_optional(&link)?;
        symlink(&known.key, &link)
            .and_then(|()| create::settle_link(&link))
            .context(|| format!("cannot write '{}'", link.display()))
    }

    /// Takes the link of its path away when it names this one.
    fn unlink(&self, known: &Directory) -> Result<()> {
        let link = self.path_link(known.path());
        let named = std::fs::read_link(&link).ok();
        if named.is_some_and(|key| key == Path::new(&known.key)) {
            remove_optional(&link)?;
        }
        Ok(())
    }
}

/// Where the user's private repositories are, when that is inside a directory: they are no part of what is in it.
pub fn inside(dir: &Path, env: &Env) -> Option<PathBuf> {
    let root = std::fs::canonicalize(Registry::of(env)?.root()).ok()?;
    root.starts_with(dir).then_some(root)
}

/// Whether a git directory is a private repository.
pub fn holds(git_dir: &Path) -> bool {
    let above = git_dir.parent();
    git_dir.ends_with(REPOSITORY) && above.is_some_and(|above| above.join(RECORD).is_file())
}

fn write_record(at: &Path, record: &Record) -> Result<()> {
    let bytes = serde_json::to_vec_pretty(record).map_err(std::io::Error::from)?;
    write_atomic(&at.join(RECORD), &bytes, Durable::Yes)
}

fn utf8(dir: &Path) -> Result<&str> {
    dir.to_str().ok_or_else(|| {
        let message = format!("'{}' is not UTF-8", dir.display());
        Error::new(Code::Usage, message)
            .hint("'git init' makes it a repository, which may have any name")
    })
}

/// Two or three parts of lower-case hex digits and words, as [`Identity::key`] makes them: never a path that leads elsewhere.
fn is_key(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_plain)
}
