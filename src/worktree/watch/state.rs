//! What a watcher knows: the cache whose directories it watches, and what happened in them.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::ask::{COOKIE, DIR, SOCKET, cookie_name, nonce, place_of};
use super::audit::{Findings, look_at};
use super::changes::{Changes, Depth, Dirty, Event, Named, Since, WatchId, What};
use super::clock::Clock;
use super::message::{Answer, Instance, Nonce, Place, Token};
use super::notify::{Notifier, Refusal};
use super::seen;
use super::serve::Ended;
use crate::git::ObjectFormat;
use crate::git::fs::Root;
use crate::worktree::cache::{self, Identity};
use crate::worktree::manifest::{DirFlags, Manifest};

/// With more directories than this in which files have several names, most of each look would be told of.
const MOST_SEVERAL: usize = 256;

/// This many cookies are remembered.
const MOST_COOKIES: usize = 256;

/// This many directories are gone through before events are taken in again: the system keeps only so many of them.
const AT_ONCE: usize = 256;

pub(super) struct Watcher {
    own: PathBuf,
    root: PathBuf,
    /// How the cache names objects.
    format: ObjectFormat,
    place: Place,
    instance: Instance,
    notifier: Notifier,
    changes: Changes,
    /// Of the `timewarp` directory, where the cache is replaced.
    state_watch: WatchId,
    /// Of the watcher's own directory in it.
    cookie_watch: WatchId,
    /// Of the root directory, also before there is a cache.
    root_watch: WatchId,
    cookies: HashSet<Vec<u8>>,
    cache: Option<(Arc<Manifest>, Identity)>,
    /// The cache may have been replaced.
    cache_moved: bool,
    /// Inodes that were seen with several names, and the directories that have them.
    several: HashSet<u64>,
    several_dirs: BTreeSet<Vec<u8>>,
    /// Other directories that are in every answer.
    always: BTreeSet<Vec<u8>>,
    clock: Clock,
    overflows: u64,
    /// Events were lost since it began: also those that would have said that a watch is of a directory that is gone.
    has_lost_events: bool,
}

type Result<T> = std::result::Result<T, Ended>;

/// Takes events in while the queue is read: all of a watcher but the queue, and what follows from
/// them.
struct Intake<'w> {
    state_watch: WatchId,
    cookie_watch: WatchId,
    root_watch: WatchId,
    cookies: &'w mut HashSet<Vec<u8>>,
    changes: &'w mut Changes,
    cache_moved: &'w mut bool,
    overflows: &'w mut u64,
    has_lost_events: &'w mut bool,
    /// Watches that are not needed any more.
    released: Vec<WatchId>,
    /// Files that came, with their directories.
    came: Vec<(Vec<u8>, Vec<u8>)>,
    /// Why the watcher is at its end.
    ended: Option<Ended>,
}

impl Intake<'_> {
    fn take(&mut self, event: Event<'_>) {
        let own = [self.state_watch, self.cookie_watch, self.root_watch];
        match event {
            Event::Gone(watch) if own.contains(&watch) => self.ended = Some(Ended::Gone),
            Event::Name {
                watch, what, name, ..
            } if watch == self.state_watch => {
                if what == What::Went && name == DIR.as_bytes() {
                    self.ended = Some(Ended::Gone);
                }
                *self.cache_moved |= name.starts_with(b"cache");
            }
            Event::Name {
                watch, what, name, ..
            } if watch == self.cookie_watch => self.take_own(what, name),
            other => self.take_other(other),
        }
    }

    /// Something happened in the watcher's own directory.
    fn take_own(&mut self, what: What, name: &[u8]) {
        if what == What::Went && name == SOCKET.as_bytes() {
            self.ended = Some(Ended::Gone);
        }
        if what == What::Came && name.starts_with(COOKIE.as_bytes()) {
            if self.cookies.len() >= MOST_COOKIES {
                self.cookies.clear();
            }
            self.cookies.insert(name.to_vec());
        }
    }

    /// Something happened in the working tree, or events were lost.
    fn take_other(&mut self, event: Event<'_>) {
        if event == Event::Overflow {
            *self.overflows += 1;
            *self.has_lost_events = true;
            // Also what would have said that the cache is another.
            *self.cache_moved = true;
        }
        if let Event::Name {
            watch,
            name,
            is_dir: false,
            what: What::Came,
            ..
        } = event
            && let Some(dir) = self.changes.path(watch)
        {
            self.came.push((dir.to_vec(), name.to_vec()));
        }
        self.released.extend(self.changes.apply(event));
    }
}

impl Watcher {
    /// Watches what the cache has; everything in it was looked at once for files with several names.
    pub(super) fn begin(
        own: &Path,
        root: &Path,
        format: ObjectFormat,
        instance: Instance,
    ) -> Result<Self> {
        let notifier = Notifier::new().map_err(refused)?;
        // First of all: what is replaced from here on is seen.
        let state_watch = watch_path(&notifier, own)?;
        let cookie_watch = watch_path(&notifier, &own.join(DIR))?;
        let there = Root::open(root).map_err(|_| Ended::Gone)?;
        let place = place_of(&there).ok_or_else(|| Ended::Fault("there is no /proc".to_owned()))?;
        let root_watch = notifier.watch(there.fd()).map_err(refused)?;
        let mut watcher = Self {
            own: own.to_owned(),
            root: root.to_owned(),
            format,
            place,
            instance,
            notifier,
            changes: Changes::default(),
            state_watch,
            cookie_watch,
            root_watch,
            cookies: HashSet::new(),
            cache: None,
            cache_moved: true,
            several: HashSet::new(),
            several_dirs: BTreeSet::new(),
            always: BTreeSet::new(),
            clock: Clock::now(),
            overflows: 0,
            has_lost_events: false,
        };
        watcher.changes.start_anew();
        watcher.reload()?;
        Ok(watcher)
    }

    /// Watches everything anew where events were lost: no watch is known to be of what it was. Says whether it did.
    pub(super) fn begin_again_if_events_were_lost(&mut self) -> Result<bool> {
        if !self.has_lost_events {
            return Ok(false);
        }
        self.begin_again()?;
        Ok(true)
    }

    /// Watches everything anew, as another run.
    pub(super) fn begin_again(&mut self) -> Result<()> {
        let instance = nonce().unwrap_or_default();
        let mut again = Self::begin(&self.own, &self.root, self.format, instance)?;
        again.overflows += self.overflows;
        again.always = std::mem::take(&mut self.always);
        again.changes.take_open(&mut self.changes);
        *self = again;
        Ok(())
    }

    pub(super) fn queue(&self) -> &Notifier {
        &self.notifier
    }

    pub(super) fn watched(&self) -> usize {
        self.changes.watched()
    }

    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }

    /// These directories are in every answer from now on, and no others that were given here.
    pub(super) fn always_tell_of(&mut self, dirs: BTreeSet<Vec<u8>>) {
        self.always = dirs;
    }

    pub(super) fn with_several(&self) -> usize {
        self.several_dirs.len()
    }

    /// The root directory, as long as it is the one that this began with.
    pub(super) fn root(&self) -> Result<Root> {
        let root = Root::open(&self.root).map_err(|_| Ended::Gone)?;
        (place_of(&root) == Some(self.place))
            .then_some(root)
            .ok_or(Ended::Gone)
    }

    /// Takes in what happened, and follows the cache.
    pub(super) fn catch_up(&mut self) -> Result<()> {
        self.drain()?;
        self.reload()
    }

    /// Takes all events in that are there.
    fn drain(&mut self) -> Result<()> {
        let mut intake = Intake {
            state_watch: self.state_watch,
            cookie_watch: self.cookie_watch,
            root_watch: self.root_watch,
            cookies: &mut self.cookies,
            changes: &mut self.changes,
            cache_moved: &mut self.cache_moved,
            overflows: &mut self.overflows,
            has_lost_events: &mut self.has_lost_events,
            released: Vec::new(),
            came: Vec::new(),
            ended: None,
        };
        let drained = self.notifier.drain(|event| intake.take(event));
        let Intake {
            released,
            came,
            ended,
            ..
        } = intake;
        drained.map_err(refused)?;
        for watch in released {
            self.notifier.give_up(watch);
        }
        if let Some(ended) = ended {
            return Err(ended);
        }
        self.look_for_several(&came)
    }

    /// Whether a new name is one more of a file that had one: its writes are told of under either.
    fn look_for_several(&mut self, came: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        if came.is_empty() {
            return Ok(());
        }
        let root = self.root()?;
        let mut found = Vec::new();
        for (dir, name) in came {
            let Ok(fd) = root.open_dir(dir) else { continue };
            let stat = rustix::fs::statat(&fd, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = stat else { continue };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind != FileType::RegularFile {
                self.changes.is_no_file(dir, name);
            }
            if stat.st_nlink > 1 && kind != FileType::Directory {
                found.push(stat.st_ino);
                self.several_dirs.insert(dir.clone());
            }
        }
        self.note_several(found)
    }

    /// Whether something was written under a name that is gone. The file may have another one, of which no event tells: a descriptor goes on under
    /// the name that it was opened by.
    fn look_for_nameless(&mut self) -> Result<()> {
        let written = self.changes.take_written();
        if written.is_empty() {
            return Ok(());
        }
        let root = self.root()?;
        let is_missing = |(dir, name): &Named| {
            let Ok(fd) = root.open_dir(dir) else {
                return true;
            };
            let name = OsStr::from_bytes(name);
            let stat = rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW);
            stat.is_err_and(|errno| errno == Errno::NOENT)
        };
        let missing: BTreeSet<Named> = written.into_iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // It may just have been removed, of which the event tells.
        self.changes.put_back_written(&missing);
        self.drain()?;
        let mut written = self.changes.take_written();
        if missing.iter().any(|named| written.remove(named)) {
            self.changes.start_anew();
        }
        self.changes.put_back_written(&written);
        Ok(())
    }

    /// Directories with these inodes are in every answer from now on.
    fn note_several(&mut self, inodes: Vec<u64>) -> Result<()> {
        let known = self.several.len();
        self.several.extend(inodes);
        if self.several.len() > known {
            self.find_several();
        }
        self.check_several()
    }

    fn find_several(&mut self) {
        let Some((manifest, _)) = &self.cache else {
            return;
        };
        if self.several.is_empty() {
            return;
        }
        for dir in &manifest.dirs {
            let mut files = manifest.files_of(dir).iter();
            if files.any(|file| self.several.contains(&file.stamp.ino)) {
                self.several_dirs.insert(manifest.dir_path(dir).to_vec());
            }
        }
    }

    fn check_several(&self) -> Result<()> {
        let count = self.several_dirs.len();
        if count > MOST_SEVERAL {
            let why = format!("{count} directories hold files with several names (hard links)");
            return Err(Ended::Fault(why));
        }
        Ok(())
    }

    /// Watches the directories of the cache that is on disk now.
    fn reload(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.cache_moved) {
            return Ok(());
        }
        let file = self.own.join("cache");
        let on_disk = Identity::on_disk(&file);
        let known = self.cache.as_ref().map(|(_, identity)| *identity);
        if on_disk.is_none() || on_disk != known {
            self.cache = None;
            let Some((manifest, _, identity)) = cache::load_identified(&file, self.format) else {
                return Ok(());
            };
            let dirs = manifest.dirs.iter();
            let dirs = dirs.filter(|dir| !dir.flags.has(DirFlags::VIRTUAL));
            let dirs = dirs.map(|dir| manifest.dir_path(dir));
            for watch in self.changes.want(dirs) {
                self.notifier.give_up(watch);
            }
            self.cache = Some((Arc::new(manifest), identity));
            self.find_several();
            self.check_several()?;
        }
        self.watch_missing()?;
        self.forget();
        Ok(())
    }

    /// Nobody asks any more for what is older than the moment that the cache goes with.
    fn forget(&mut self) {
        if let Some((token, identity)) = seen::moment(&self.own)
            && token.instance == self.instance
            && self
                .cache
                .as_ref()
                .is_some_and(|(_, known)| *known == identity)
        {
            self.changes.forget_until(token.sequence);
        }
    }

    /// Watches what should be watched, as far as it is there.
    fn watch_missing(&mut self) -> Result<()> {
        let Some((manifest, _)) = self.cache.clone() else {
            return Ok(());
        };
        let missing = self.changes.unwatched();
        if missing.is_empty() {
            return Ok(());
        }
        let root = self.root()?;
        for some in missing.chunks(AT_ONCE) {
            let mut findings = Findings::default();
            for dir in some {
                if self.watch(&root, dir)?
                    && let Some(at) = manifest.find_dir(dir)
                    && let Some(dir) = manifest.dirs.get(at)
                {
                    look_at(&root, &manifest, dir, &mut findings);
                }
            }
            self.note_several(findings.several)?;
            // It also follows the cache no further: one step after the other.
            self.drain()?;
        }
        Ok(())
    }

    fn watch(&mut self, root: &Root, dir: &[u8]) -> Result<bool> {
        let Ok(fd) = root.open_dir(dir) else {
            return Ok(false);
        };
        // Another file system: what is mounted there may be another tomorrow, and need not tell of anything.
        let device = rustix::fs::fstat(&fd).map(|stat| stat.st_dev);
        if device != Ok(self.place.device) {
            return Ok(false);
        }
        match self.notifier.watch(fd.as_fd()) {
            Ok(watch) => Ok(self.changes.add(dir, watch)),
            Err(Refusal::Absent) => Ok(false),
            Err(refusal) => Err(refused(refusal)),
        }
    }

    /// What changed since a moment. The cookie was made before the question: it must have come by.
    pub(super) fn answer(&mut self, nonce: Nonce, asked: Token) -> Result<Answer> {
        // In whose order nobody can write a file without an event.
        self.drain()?;
        let has_come = self.cookies.remove(cookie_name(nonce).as_bytes());
        self.look_for_nameless()?;
        self.reload()?;
        if self.clock.has_jumped() {
            self.changes.start_anew();
        }
        let dirty = match self.changes.since(asked.sequence) {
            Since::Known(dirty) if has_come && asked.instance == self.instance => {
                Some(self.with_untold(dirty))
            }
            _ => None,
        };
        Ok(Answer {
            nonce,
            now: self.now(),
            place: self.place,
            cache: self.cache.as_ref().map(|(_, identity)| *identity),
            dirty,
        })
    }

    /// With the directories in which something may happen that nothing tells of.
    fn with_untold(&self, mut dirty: Dirty) -> Dirty {
        for dir in self.several_dirs.iter().chain(&self.always) {
            dirty.entry(dir.clone()).or_insert(Depth::Names);
        }
        dirty
    }

    fn now(&self) -> Token {
        Token {
            instance: self.instance,
            sequence: self.changes.sequence(),
        }
    }

    /// What an audit needs: the cache, when it goes with a moment of this watcher's.
    pub(super) fn to_audit(&self) -> Option<(Arc<Manifest>, Identity, u64)> {
        let (manifest, identity) = self.cache.as_ref()?;
        let (token, goes_with) = seen::moment(&self.own)?;
        let is_ours = token.instance == self.instance && goes_with == *identity;
        is_ours.then(|| (Arc::clone(manifest), *identity, token.sequence))
    }

    /// Judges what an audit of a cache found: what differs, and was told of by no event since the cache's moment, was missed.
    pub(super) fn judge(&mut self, found: Findings, identity: Identity, moment: u64) -> Result<()> {
        let is_past = |(_, known): &(_, Identity)| *known != identity;
        if self.cache.as_ref().is_none_or(is_past) {
            // Snapshots were taken meanwhile: it was compared with what is past.
            return self.note_several(found.several);
        }
        if let Since::Known(dirty) = self.changes.since(moment) {
            // What this audit itself found to have several names was not looked at so far.
            let dirty = self.with_untold(dirty);
            let missed = found
                .differing
                .iter()
                .find(|(dir, _)| !is_told(&dirty, dir));
            if let Some((_, what)) = missed {
                let what = crate::git::path::display(what);
                return Err(Ended::Fault(format!("'{what}' changed without an event")));
            }
        }
        self.note_several(found.several)
    }
}

/// Whether a directory is among those told of, or beneath one that is with all beneath it.
fn is_told(dirty: &Dirty, dir: &[u8]) -> bool {
    let above = |at: &[u8]| (!at.is_empty()).then(|| crate::git::path::split(at).0.to_vec());
    dirty.contains_key(dir)
        || std::iter::successors(above(dir), |at| above(at.as_slice()))
            .any(|at| dirty.get(&at) == Some(&Depth::Tree))
}

/// Watches a directory of our own.
fn watch_path(notifier: &Notifier, path: &Path) -> Result<WatchId> {
    let root = Root::open(path).map_err(|_| Ended::Gone)?;
    notifier.watch(root.fd()).map_err(refused)
}

fn refused(refusal: Refusal) -> Ended {
    Ended::Fault(match refusal {
        Refusal::Absent => "a directory of its own cannot be watched".to_owned(),
        Refusal::TooMany => {
            "the system allows no more watches (fs.inotify.max_user_watches, max_user_instances)"
                .to_owned()
        }
        Refusal::Other(why) => why,
    })
}
