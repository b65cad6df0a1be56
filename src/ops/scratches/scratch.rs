//! A scratch that a run is made in: laid out, used, saved, and taken away.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layout::is_desk;
use super::opening::with_worktrees_held;
use super::place::{self, Place};
use super::{NAMED, Purpose, gone, make, put, remove, some_of, trash};
use crate::store::trigger::Trigger;

use super::reach::Reach;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::command::NAMES_A_REPOSITORY;
use crate::git::fs::{Root, entries};
use crate::git::path;
use crate::git::pinned::{PathOccupant, PinnedDir};
use crate::git::tree::{self, Node};
use crate::ops::Context;
use crate::ops::capture::{Capture, CaptureOptions, Storing};
use crate::ops::record::{About, make_unless};
use crate::ops::swap::extras::{captured_bits, looks_as_before, stored_extras};
use crate::ops::worktrees::OpenedDir;
use crate::runner::Job;
use crate::store::id::{IdKind, SnapshotId, Tail};
use crate::store::lock::HeldFile;
use crate::store::state::Mode;
use crate::store::stored::{IndexSide, Stored};
use crate::text::typed_path;
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::Extras;

/// How many free ports a run is given.
const PORTS: u16 = 10;

/// A snapshot laid out for a run. Dropped, it stays, and `gc` saves and removes it once its maker is dead.
pub struct Scratch<'a> {
    /// The context of its worktree.
    pub there: Context<'a>,
    /// What one should know of it.
    pub notices: Vec<String>,
    name: String,
    dir: PinnedDir,
    source: PathBuf,
    base: Base,
    /// The last experiment, and the state that it holds.
    saved: Option<(SnapshotId, Seen, Extras)>,
    /// An experiment was taken, or there was nothing to take.
    was_saved: bool,
    maker: Option<HeldFile>,
}

/// What a scratch was laid out from.
pub(super) struct Base {
    id: SnapshotId,
    pub(super) seen: Seen,
    /// Its index, with what no tree can say of it.
    pub(super) index: IndexSide,
    /// Its permission bits and empty directories.
    extras: Extras,
}

/// What a look at a scratch found, as far as trees say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    tree: Oid,
    index: Oid,
    pub(super) head: Option<Oid>,
}

/// Where a run stands among those at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(pub usize);

impl<'a> Scratch<'a> {
    /// Lays a snapshot out in a new directory among the scratches; `purpose` is the first part of its name.
    ///
    /// # Errors
    /// As [`make`]. Nothing is left then.
    pub fn lay(ctx: &Context<'a>, stored: &Stored, purpose: &'static str) -> Result<Self> {
        let name = format!("{purpose}-{}", Tail::random()?.as_str());
        let place = Place::find(ctx, &place::base(ctx)?.join(&name))?;
        let made = make(ctx, stored, &place, Purpose::Run(purpose))?;
        Ok(Self {
            base: Base::of(ctx, stored)?,
            there: made.there,
            dir: made.dir,
            notices: made.notices,
            name,
            source: ctx.repo.worktree_root().to_owned(),
            saved: None,
            was_saved: false,
            maker: made.maker,
        })
    }

    /// One whose maker is dead, and which is ours now.
    ///
    /// # Errors
    /// Its snapshot is gone.
    pub(super) fn adopt(
        ctx: &Context<'a>,
        (there, dir): (Context<'a>, PinnedDir),
        opened: &OpenedDir,
        maker: HeldFile,
    ) -> Result<Self> {
        let name = dir.path().file_name().unwrap_or_default();
        Ok(Self {
            base: Base::opened(ctx, opened)?,
            notices: Vec::new(),
            name: name.to_string_lossy().into_owned(),
            dir,
            source: ctx.repo.worktree_root().to_owned(),
            saved: None,
            was_saved: false,
            maker: Some(maker),
            there,
        })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What is at its place now.
    pub fn occupant(&self) -> PathOccupant {
        self.dir.occupant()
    }

    /// Refuses when a run has taken it away, or has put something else in its place: that is no scratch, and is left alone.
    ///
    /// # Errors
    /// `HELD`.
    pub fn check_there(&self) -> Result<()> {
        let dir = self.dir().display();
        let message = match self.occupant() {
            PathOccupant::There => return Ok(()),
            PathOccupant::Gone => format!(
                "the run took its scratch '{dir}' away: nothing of it is left to be saved or checked"
            ),
            PathOccupant::Other(what) => {
                format!("the run took its scratch away: {what} is at '{dir}', and is left alone")
            }
        };
        Err(Error::new(Code::Held, message).hint(
            "a run that needs another directory makes one of its own, outside of $TW_SCRATCH",
        ))
    }

    /// Its own name, which no other has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes paths, which are sorted, what these nodes are, with the permission bits and the access that `side` has of them: for files that a run
    /// is to have in another version. Answers what is to be said of access that could not be given.
    ///
    /// # Errors
    /// The disk refuses, or there is a directory in the place of one.
    pub(super) fn put(&self, nodes: &[(&[u8], Node)], side: &Extras) -> Result<Vec<String>> {
        put::put(&self.there, &self.dir.root()?, nodes, &[], side)
    }

    /// Puts files of the present, which are sorted, in place: for those who get to them there.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub(super) fn put_of_present(
        &self,
        nodes: &[(&[u8], Node)],
        side: &Extras,
    ) -> Result<Vec<String>> {
        let (from, to) = (Root::open(&self.source)?, self.dir.root()?);
        let side = Reach::new((&from, &to)).narrowed(side, nodes);
        let what = || {
            format!(
                "cannot look at the directories of '{}'",
                self.dir().display()
            )
        };
        self.put(nodes, &*side.context(what)?)
    }

    /// Makes paths, which are sorted, again what the snapshot has there, permission bits and access included. Answers as `put`.
    ///
    /// # Errors
    /// The disk refuses, or there is a directory in the place of one.
    pub fn put_as_recorded(&self, nodes: &[(&[u8], Node)]) -> Result<Vec<String>> {
        self.put(nodes, &self.base.extras)
    }

    /// Makes the empty directories again that the snapshot has at these paths and beneath them. Answers as `put`.
    pub(super) fn put_empty_dirs(&self, over: &[&[u8]]) -> Result<Vec<String>> {
        let extras = &self.base.extras;
        let all = |full| {
            let beneath = path::all_within(&extras.empty_dirs, full);
            extras.empty_dirs.get(full).into_iter().chain(beneath)
        };
        let empty: Vec<&[u8]> = over
            .iter()
            .flat_map(|full| all(*full))
            .map(Vec::as_slice)
            .collect();
        put::put(&self.there, &self.dir.root()?, &[], &empty, extras)
    }

    /// Takes a file away, where it is there.
    pub(super) fn take_away_file(&self, full: &[u8]) -> Result<()> {
        put::take_away(&self.dir.root()?, full)
    }

    /// What the snapshot has at a path; None: nothing, or a directory.
    pub(super) fn of_snapshot(&self, full: &[u8]) -> Result<Option<Node>> {
        let found = tree::find(&self.there.store()?.objects, self.base.seen.tree, full)?;
        Ok(found.filter(|node| !node.is_dir()))
    }

    /// Takes a path away, and the directories over it that the snapshot has not and in which nothing is left.
    pub(super) fn take_away_path(&self, full: &[u8]) -> Result<()> {
        let root = self.dir.root()?;
        put::take_away(&root, full)?;
        let store = self.there.store()?;
        let stays = |dir: &[u8]| {
            Ok(self.base.extras.leads_to_empty_dir(dir)
                || tree::find(&store.objects, self.base.seen.tree, dir)?.is_some_and(Node::is_dir))
        };
        put::remove_empty_over(&root, full, &stays)
    }

    /// A command to run in it and nowhere else, with what a run finds in its environment.
    pub fn job(
        &self,
        words: Vec<OsString>,
        slot: Slot,
        timeout: Option<Duration>,
        log: PathBuf,
    ) -> Job {
        let mut env: Vec<(OsString, OsString)> = vec![
            ("TW_RUN_ID".into(), self.name.clone().into()),
            ("TW_SLOT".into(), slot.0.to_string().into()),
            ("TW_SCRATCH".into(), self.dir().into()),
            ("TW_SOURCE".into(), self.source.clone().into()),
            // What 'tw' leaves to do later would be taken for something that the run left running.
            ("TW_NO_BACKGROUND".into(), "1".into()),
            // Some programs believe it rather than the system, and would work in the present.
            ("PWD".into(), self.dir().into()),
        ];
        if let Some(port) = free_ports(slot) {
            env.push(("TW_PORT".into(), port.to_string().into()));
        }
        Job {
            words,
            dir: self.dir().to_owned(),
            dir_numbers: Some(self.dir.numbers()),
            env,
            // Started from a git hook, it would work in that hook's repository, index and objects.
            without: NAMES_A_REPOSITORY
                .into_iter()
                .chain(["OLDPWD"])
                .map(OsString::from)
                .collect(),
            timeout,
            linger: None,
            log,
        }
    }

    /// Takes an experiment. None: nothing differs from the snapshot.
    ///
    /// # Errors
    /// `HELD` while something else goes on in it, or when it is not there any more; or whatever keeps it from being saved.
    pub fn experiment(&mut self, title: &str) -> Result<Option<SnapshotId>> {
        let store = self.there.store()?;
        self.check_there()?;
        self.check_state()?;
        let seen = std::cell::Cell::new(None);
        let check = |manifest: &mut Manifest| uncapturable(self.dir(), manifest);
        let wanted = CaptureOptions {
            storing: Storing::Durable(format!("scratch-{}", self.name)),
            before_hashing: Some(&check),
            ..CaptureOptions::default()
        };
        let about = |capture: &Capture<'_>| {
            // What was captured was found by its path.
            self.check_there()?;
            // What nobody may read was found out by reading.
            uncapturable(self.dir(), &capture.manifest)?;
            let now = Seen::of(capture)?;
            let extras = captured_bits(capture);
            let root = self.dir.root()?;
            let is_as = |then: &Seen, before: &Extras| -> Result<bool> {
                let counts = |full: &[u8]| !is_desk(full);
                let is_bare = |full: &[u8]| {
                    let dir = self.dir().join(OsStr::from_bytes(full));
                    entries(&dir).is_ok_and(|entries| entries.is_empty())
                };
                let is_gone = |full: &[u8]| matches!(root.stamp(full), Ok(None));
                let both = (before, &extras);
                let looks = (is_bare, is_gone);
                Ok(*then == now && looks_as_before(&store.objects, now.tree, both, counts, looks)?)
            };
            if is_as(&self.base.seen, &self.base.extras)? {
                return Ok(ControlFlow::Break(None));
            }
            if let Some((id, then, before)) = &self.saved
                && is_as(then, before)?
            {
                return Ok(ControlFlow::Break(Some(*id)));
            }
            seen.set(Some((now, extras)));
            let mut about = About {
                title: title.to_owned(),
                trigger: Trigger::Scratch,
                ..About::default()
            };
            let from = self.base.id.to_string();
            about.extra.insert("opened_from".to_owned(), from.into());
            Ok(ControlFlow::Continue(about))
        };
        let made = make_unless(&self.there, store, IdKind::Experiment, &wanted, &about)?;
        let mut made = match made {
            ControlFlow::Break((known, _)) => {
                self.was_saved = true;
                return Ok(known);
            }
            ControlFlow::Continue(made) => made,
        };
        if let Some(kept) = made.kept.take() {
            // The ref holds it now, and is on disk.
            kept.release()?;
        }
        let id = made.id;
        self.was_saved = true;
        self.saved = seen.take().map(|(seen, extras)| (id, seen, extras));
        Ok(Some(id))
    }

    /// Whether an experiment was taken, or there was nothing to take.
    pub fn was_saved(&self) -> bool {
        self.was_saved
    }

    /// Saves what is in it, then takes it away. Answers the experiment; None: nothing had changed.
    ///
    /// # Errors
    /// What cannot be saved stays, with everything else in it.
    pub fn discard(mut self) -> Result<Option<SnapshotId>> {
        let saved = self.experiment(&format!("left in {}", self.name))?;
        self.take_away()?;
        Ok(saved)
    }

    /// Takes it away. What was made in it since the last experiment goes: a check's output. Of one that is gone, what made it a worktree
    /// goes.
    ///
    /// # Errors
    /// As [`Self::discard`], where no experiment was taken yet; the system refuses; something else is in its place; `HELD` where it is
    /// locked, or was taken elsewhere.
    pub fn discard_rest(mut self) -> Result<()> {
        if !self.was_saved && self.occupant() != PathOccupant::Gone {
            self.experiment(&format!("left in {}", self.name))?;
        }
        self.take_away()
    }

    fn take_away(&mut self) -> Result<()> {
        let git_dir = self.there.repo.git_dir().to_owned();
        gone::check_unlocked(&git_dir, self.dir())?;
        let trash = if self.occupant() == PathOccupant::Gone {
            gone::check_not_moved(&git_dir, self.dir())?;
            gone::check_nothing_made(&self.there, (&git_dir, self.dir()), &self.base)?;
            None
        } else {
            self.check_there()?;
            Some(trash::throw(&self.dir)?)
        };
        // Last: until here git still knows the worktree, and what a death leaves is found by it.
        let maker = self.maker.take();
        with_worktrees_held(&self.there, || remove::metadata(&git_dir, maker))?;
        if let Some(trash) = trash {
            trash.empty(self.there.env);
        }
        Ok(())
    }

    /// Nothing is saved or removed in the middle of something.
    fn check_state(&self) -> Result<()> {
        let own = self.there.state_dir();
        let dir = self.dir().display();
        let held = |what: &str, hint: String| {
            Err(Error::new(Code::Held, format!("'{dir}' {what}")).hint(hint))
        };
        if own.has_journal() {
            let hint = format!("run 'tw -C {} recover' first", typed_path(self.dir()));
            return held("has an unfinished swap", hint);
        }
        match own.state()?.mode {
            Mode::Past => {
                let hint = format!("run 'tw -C {} return' first", typed_path(self.dir()));
                held("is in the past", hint)
            }
            Mode::Present => Ok(()),
        }
    }
}

impl Base {
    fn of(ctx: &Context<'_>, stored: &Stored) -> Result<Self> {
        let store = ctx.store()?;
        let side = store.index_side(stored)?;
        Ok(Self {
            extras: stored_extras(store, stored)?,
            id: stored.id,
            seen: Seen {
                tree: stored.tree,
                index: side.tree,
                head: stored.head,
            },
            index: side,
        })
    }

    /// Of one that is known by what was written when it was made.
    ///
    /// # Errors
    /// Its snapshot is gone.
    pub(super) fn opened(ctx: &Context<'_>, opened: &OpenedDir) -> Result<Self> {
        let id = SnapshotId::parse(&opened.snapshot_id).ok_or_else(|| {
            let message = format!("'{}' is not the id of a snapshot", opened.snapshot_id);
            Error::new(Code::CorruptRecord, message)
        })?;
        Self::of(ctx, &ctx.store()?.read_id(&id)?)
    }
}

impl Seen {
    fn of(capture: &Capture<'_>) -> Result<Self> {
        Ok(Self {
            tree: capture.tree,
            index: capture.index.tree_oid()?,
            head: capture.head.oid,
        })
    }
}

/// Refuses when something is there that an experiment would not hold, and that no rule leaves out.
fn uncapturable(dir: &Path, manifest: &Manifest) -> Result<()> {
    let is_lost = |kind: Kind| {
        let by_rule = kind.is_by_rule() && kind != Kind::TooLarge;
        !by_rule && !kind.in_tree() && kind.reason().is_some()
    };
    let lost = manifest.entries().filter(|(_, file)| is_lost(file.kind));
    let lost: Vec<Vec<u8>> = lost.map(|(at, file)| manifest.path_of(at, &file)).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let paths: Vec<&[u8]> = lost.iter().map(Vec::as_slice).collect();
    Err(Error::new(
        Code::WouldOverwrite,
        format!(
            "'{}' holds what cannot be captured, and stays: {}",
            dir.display(),
            some_of(&paths)
        ),
    )
    .hint("move these elsewhere; then 'tw scratch gc' saves the rest and removes it")
    .paths("paths", paths.get(..NAMED).unwrap_or(&paths)))
}

/// The first of as many ports in a row as nobody listens on. None: there are no such ports.
fn free_ports(slot: Slot) -> Option<u16> {
    // Runs at the same time begin to look at different places, and so do runs of different processes.
    let offset = (std::process::id() as usize % 97) * 16 + slot.0;
    let starts =
        (0..1000_usize).map(|turn| 20_000 + (offset + turn * 17) % 3_000 * usize::from(PORTS));
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    starts
        .filter_map(|start| u16::try_from(start).ok())
        .find(|start| (*start..*start + PORTS).all(is_free))
}
