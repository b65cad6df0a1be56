//! From a stream of events to the directories that may differ: pure, without a file system.
//!
//! Every event has a number, and each directory remembers that of its last one, so that anybody who looked at some number can be
//! told what happened since. Whatever cannot be told that way is told coarser, never finer: a directory that moved, came or
//! went counts with everything beneath it until it is watched again; a file that was made or written and not closed keeps its
//! directory in every answer; an overflow makes all earlier numbers worthless, and the watches, too: whoever has them begins again.
//!
//! The system tells of a write under the name by which the file was opened, also when that name is gone. The file may have another one by
//! then, of which nothing is told: so names that were written last are kept until somebody has looked whether they are there.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What the system calls a directory that it watches.
pub type WatchId = i32;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Something with this name in a directory.
    Name {
        /// The directory.
        watch: WatchId,
        /// The name.
        name: &'a [u8],
        /// Whether a directory has it.
        is_dir: bool,
        /// What.
        what: What,
        /// The same number for both sides of a move; 0 for all else.
        moved: u32,
    },
    /// Owner, mode or attributes of the directory itself.
    Itself(WatchId),
    /// The directory was removed or moved, or its file system is gone: no event of it follows.
    Gone(WatchId),
    /// Events were lost.
    Overflow,
}

/// What happened to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It was made, or moved here.
    Came,
    /// It was removed, or moved away.
    Went,
    /// It was written. Whoever wrote it still has it open.
    Written,
    /// Somebody who could write closed it.
    Closed,
    /// Owner, mode, times or attributes.
    Changed,
}

/// How much of a directory may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// It and the names in it.
    Names,
    /// Everything beneath it, too.
    Tree,
}

/// Directories that may differ, and how far.
pub type Dirty = BTreeMap<Vec<u8>, Depth>;

/// What happened since a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// Only in these directories.
    Known(Dirty),
    /// It cannot be told.
    Unknown,
}

/// This many directories are remembered. Past that all is forgotten: a full look is as quick.
const MOST_REMEMBERED: usize = 1 << 16;

/// What is watched, and what happened there.
#[derive(Debug, Default)]
pub struct Changes {
    sequence: u64,
    /// Of what came before, nothing can be told.
    floor: u64,
    paths: HashMap<WatchId, Vec<u8>>,
    watches: BTreeMap<Vec<u8>, WatchId>,
    /// What should be watched and is not: everything may happen there unseen.
    unwatched: BTreeSet<Vec<u8>>,
    dirty: HashMap<Vec<u8>, (u64, Depth)>,
    /// Files that were made or written and not closed since, by directory: a memory map may change them without an event, and so may a
    /// descriptor that was opened before the name was made (`link`).
    open: BTreeMap<Vec<u8>, HashSet<Vec<u8>>>,
    /// Of such a file that was just moved away, the number of the move.
    moving: Option<u32>,
    /// Names that were written or closed, and neither came nor went since.
    written: BTreeSet<Named>,
    /// What is open and written in a directory that was just moved away, and the number of the move.
    moving_dir: Option<(u32, Carried)>,
    /// The name to which a file was moved last, and whether one that was open had it.
    moved_onto: Option<(Named, bool)>,
    /// The directory in whose place another one was moved last, with what was open and written there. When it moves next, two changed places
    /// (`RENAME_EXCHANGE`), which the system tells as two moves; or else it was removed, and what came moves on: nothing tells which.
    moved_over: Option<Carried>,
}

/// A name: the directory, and the name in it.
pub type Named = (Vec<u8>, Vec<u8>);

/// What goes along with a directory, by where it is in it.
#[derive(Debug, Default, Clone)]
struct Carried {
    from: Vec<u8>,
    open: Vec<(Vec<u8>, HashSet<Vec<u8>>)>,
    written: Vec<Named>,
}

impl Changes {
    /// The number of the last event.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How many directories are watched.
    pub fn watched(&self) -> usize {
        self.watches.len()
    }

    /// The directories that should be watched and are not.
    pub fn unwatched(&self) -> Vec<Vec<u8>> {
        self.unwatched.iter().cloned().collect()
    }

    /// The path of what is watched under a name of the system's.
    pub fn path(&self, watch: WatchId) -> Option<&[u8]> {
        self.paths.get(&watch).map(Vec::as_slice)
    }

    /// These directories should be watched, and no others. Answers the watches that are not needed any more.
    pub fn want<'p>(&mut self, dirs: impl Iterator<Item = &'p [u8]>) -> Vec<WatchId> {
        let mut wanted = BTreeSet::new();
        for dir in dirs {
            if !self.watches.contains_key(dir) {
                self.unwatched.insert(dir.to_vec());
            }
            wanted.insert(dir.to_vec());
        }
        self.unwatched.retain(|dir| wanted.contains(dir));
        let others = self.watches.keys().filter(|dir| !wanted.contains(*dir));
        let others: Vec<Vec<u8>> = others.cloned().collect();
        let mut released = Vec::new();
        for dir in others {
            released.extend(self.watches.remove(&dir));
            self.open.remove(&dir);
        }
        self.forget(&released);
        released
    }

    /// A directory is watched from now on. What happened in it before is not known: it counts as changed. False: the system
    /// knows it under another path already, so that events would be put down to only one of the two.
    pub fn add(&mut self, dir: &[u8], watch: WatchId) -> bool {
        if self.paths.get(&watch).is_some_and(|known| known != dir) {
            return false;
        }
        self.paths.insert(watch, dir.to_vec());
        self.watches.insert(dir.to_vec(), watch);
        self.unwatched.remove(dir);
        self.mark(dir.to_vec(), Depth::Names);
        true
    }

    /// Takes an event in. Answers the watches of directories that are not where they were: they are to be given up.
    pub fn apply(&mut self, event: Event<'_>) -> Vec<WatchId> {
        match event {
            Event::Overflow => {
                self.start_anew();
                Vec::new()
            }
            Event::Itself(watch) => {
                if let Some(dir) = self.paths.get(&watch).cloned() {
                    self.mark(dir, Depth::Names);
                }
                Vec::new()
            }
            Event::Gone(watch) => match self.paths.get(&watch).cloned() {
                Some(dir) => self.lose(dir),
                None => Vec::new(),
            },
            Event::Name {
                watch,
                name,
                is_dir,
                what,
                moved,
            } => {
                let Some(dir) = self.paths.get(&watch).cloned() else {
                    return Vec::new();
                };
                if !is_dir {
                    self.note_open(&dir, name, what, moved);
                    self.note_written(&dir, name, what);
                }
                let mut released = Vec::new();
                if is_dir {
                    let full = crate::git::path::join(&dir, name);
                    match what {
                        What::Went if moved != 0 => released = self.move_away(&full, moved),
                        What::Came if moved != 0 => released = self.move_here(&full, moved),
                        What::Came | What::Went => released = self.lose(full),
                        _ => self.mark(full, Depth::Names),
                    }
                }
                self.mark(dir, Depth::Names);
                released
            }
        }
    }

    /// Files that another one knows to be open are open still.
    pub fn take_open(&mut self, other: &mut Self) {
        self.open.append(&mut other.open);
    }

    /// What has this name is no file that anybody could write.
    pub fn is_no_file(&mut self, dir: &[u8], name: &[u8]) {
        self.set_closed(dir, name);
    }

    /// Takes out the names that were written since this was last asked, as far as they are thought to be there.
    pub fn take_written(&mut self) -> BTreeSet<Named> {
        std::mem::take(&mut self.written)
    }

    /// These names are not there: what was written may have another one, unless their end is told of yet.
    pub fn put_back_written(&mut self, missing: &BTreeSet<Named>) {
        self.written.extend(missing.iter().cloned());
    }

    /// Nothing is known of what happened so far.
    pub fn start_anew(&mut self) {
        self.sequence += 1;
        self.floor = self.sequence;
        self.dirty.clear();
    }

    /// Nobody will ask for what happened up to this number any more.
    pub fn forget_until(&mut self, sequence: u64) {
        self.dirty.retain(|_, (last, _)| *last > sequence);
        self.floor = self.floor.max(sequence.min(self.sequence));
    }

    /// What happened after the event with this number.
    pub fn since(&self, sequence: u64) -> Since {
        if sequence < self.floor || sequence > self.sequence {
            return Since::Unknown;
        }
        let mut dirty = Dirty::new();
        let mut put = |dir: &[u8], reach: Depth| {
            let known = dirty.entry(dir.to_vec()).or_insert(reach);
            *known = (*known).max(reach);
        };
        for (dir, (last, reach)) in &self.dirty {
            if *last > sequence {
                put(dir, *reach);
            }
        }
        for dir in &self.unwatched {
            put(dir, Depth::Names);
        }
        for dir in self.open.keys() {
            put(dir, Depth::Names);
        }
        Since::Known(dirty)
    }

    /// A directory is not what it was, nor is anything beneath it.
    fn lose(&mut self, dir: Vec<u8>) -> Vec<WatchId> {
        let mut beneath = dir.clone();
        beneath.push(b'/');
        let inside = self.watches.range(beneath.clone()..);
        let inside = inside.take_while(|(path, _)| path.starts_with(&beneath));
        let mut lost: Vec<Vec<u8>> = inside.map(|(path, _)| path.clone()).collect();
        lost.push(dir.clone());
        let mut released = Vec::new();
        for path in lost {
            self.open.remove(&path);
            if let Some(watch) = self.watches.remove(&path) {
                released.push(watch);
                self.unwatched.insert(path);
            }
        }
        self.forget(&released);
        self.mark(dir, Depth::Tree);
        released
    }

    fn forget(&mut self, watches: &[WatchId]) {
        for watch in watches {
            self.paths.remove(watch);
        }
    }

    fn move_away(&mut self, dir: &[u8], moved: u32) -> Vec<WatchId> {
        let mut carried = self.carry(dir);
        let stays = self.moved_over.take_if(|over| over.from == dir);
        let released = self.lose(dir.to_vec());
        if let Some(over) = stays {
            // What came last may be there still.
            self.open_again(dir, carried.open.clone());
            carried.open.extend(over.open);
        }
        self.moving_dir = Some((moved, carried));
        released
    }

    fn move_here(&mut self, dir: &[u8], moved: u32) -> Vec<WatchId> {
        let over = self.watches.contains_key(dir).then(|| self.carry(dir));
        self.moved_over = over;
        let released = self.lose(dir.to_vec());
        self.put_down(dir, moved);
        released
    }

    /// Takes out what goes along with a directory that moves.
    fn carry(&mut self, dir: &[u8]) -> Carried {
        let relative = |path: &[u8]| {
            let rest = path.strip_prefix(dir)?;
            (rest.is_empty() || rest.starts_with(b"/")).then(|| rest.to_vec())
        };
        let mut carried = Carried {
            from: dir.to_vec(),
            ..Carried::default()
        };
        self.open.retain(|path, names| match relative(path) {
            Some(rest) => {
                carried.open.push((rest, std::mem::take(names)));
                false
            }
            None => true,
        });
        // These stay until it is known where they are: out of all that is watched they are missing.
        let written = self.written.iter();
        let beneath = written.filter_map(|(path, name)| Some((relative(path)?, name.clone())));
        carried.written.extend(beneath);
        carried
    }

    /// A directory came: with what went along, when it is the one that just moved away.
    fn put_down(&mut self, dir: &[u8], moved: u32) {
        let Some((_, carried)) = self.moving_dir.take_if(|(number, _)| *number == moved) else {
            return;
        };
        self.open_again(dir, carried.open);
        for (rest, name) in carried.written {
            let before = ([&carried.from[..], &rest].concat(), name);
            if self.written.remove(&before) {
                self.written.insert(([dir, &rest].concat(), before.1));
            }
        }
    }

    fn open_again(&mut self, dir: &[u8], open: Vec<(Vec<u8>, HashSet<Vec<u8>>)>) {
        for (rest, names) in open {
            let path = [dir, &rest].concat();
            self.open.entry(path).or_default().extend(names);
        }
    }

    fn note_written(&mut self, dir: &[u8], name: &[u8], what: What) {
        let named = (dir.to_vec(), name.to_vec());
        match what {
            What::Written | What::Closed => drop(self.written.insert(named)),
            What::Went | What::Came => drop(self.written.remove(&named)),
            What::Changed => {}
        }
        if self.written.len() > MOST_REMEMBERED {
            self.written.clear();
            self.start_anew();
        }
    }

    fn note_open(&mut self, dir: &[u8], name: &[u8], what: What, moved: u32) {
        match what {
            What::Changed => {}
            What::Written => self.set_open(dir, name),
            What::Closed => {
                self.set_closed(dir, name);
            }
            // Whoever made it has it open, or somebody has it who opened it under another name.
            What::Came if moved == 0 => self.set_open(dir, name),
            What::Went => {
                let was_open = self.set_closed(dir, name);
                let is_last = |onto: &mut (Named, bool)| onto.0.0 == dir && onto.0.1 == name;
                let onto = self.moved_onto.take_if(|onto| moved != 0 && is_last(onto));
                if was_open && onto.is_some() {
                    // Two files may have changed places, which the system tells as two moves: then this one stays.
                    self.set_open(dir, name);
                }
                if moved != 0 && (was_open || onto.is_some_and(|(_, was_open)| was_open)) {
                    self.moving = Some(moved);
                }
            }
            What::Came => {
                let was_open = self.set_closed(dir, name);
                if self.moving.take() == Some(moved) {
                    self.set_open(dir, name);
                }
                self.moved_onto = Some(((dir.to_vec(), name.to_vec()), was_open));
            }
        }
    }

    fn set_open(&mut self, dir: &[u8], name: &[u8]) {
        let names = self.open.entry(dir.to_vec()).or_default();
        names.insert(name.to_vec());
    }

    /// Answers whether it was open.
    fn set_closed(&mut self, dir: &[u8], name: &[u8]) -> bool {
        let Some(names) = self.open.get_mut(dir) else {
            return false;
        };
        let was_open = names.remove(name);
        if names.is_empty() {
            self.open.remove(dir);
        }
        was_open
    }

    fn mark(&mut self, dir: Vec<u8>, reach: Depth) {
        self.sequence += 1;
        if self.dirty.len() >= MOST_REMEMBERED && !self.dirty.contains_key(&dir) {
            self.start_anew();
            return;
        }
        let known = self.dirty.entry(dir).or_insert((0, reach));
        // What was once lost with all beneath it stays so until nobody can ask for that time any more.
        *known = (self.sequence, known.1.max(reach));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With these directories watched, numbered from 1 on, and nothing to tell since.
    fn watching(dirs: &[&str]) -> (Changes, u64) {
        let mut changes = Changes::default();
        assert!(
            changes
                .want(dirs.iter().map(|dir| dir.as_bytes()))
                .is_empty()
        );
        for (nth, dir) in (1..).zip(dirs) {
            assert!(changes.add(dir.as_bytes(), nth));
        }
        let now = changes.sequence();
        (changes, now)
    }

    fn name(watch: WatchId, name: &str, is_dir: bool, what: What) -> Event<'_> {
        let name = name.as_bytes();
        Event::Name {
            watch,
            name,
            is_dir,
            what,
            moved: 0,
        }
    }

    /// `dir` or, with everything beneath it, `dir/`.
    fn told(changes: &Changes, since: u64) -> Vec<String> {
        let Since::Known(dirty) = changes.since(since) else {
            return vec!["?".to_owned()];
        };
        let told = dirty.into_iter().map(|(dir, reach)| {
            let dir = String::from_utf8(dir).expect("a test's own path");
            let beneath = if reach == Depth::Tree { "/" } else { "" };
            format!("{dir}{beneath}")
        });
        told.collect()
    }

    #[test]
    fn a_change_is_told_to_whoever_looked_before_it() {
        let (mut changes, start) = watching(&["", "a", "a/b", "c"]);
        assert!(told(&changes, start).is_empty());
        changes.apply(name(3, "f", false, What::Changed));
        let between = changes.sequence();
        changes.apply(name(4, "g", false, What::Came));
        changes.apply(Event::Itself(2));
        assert_eq!(told(&changes, start), ["a", "a/b", "c"]);
        assert_eq!(told(&changes, between), ["a", "c"]);
        // A number of somebody else's watcher.
        assert_eq!(told(&changes, changes.sequence() + 1), ["?"]);
        changes.forget_until(between);
        assert_eq!(told(&changes, start), ["?"]);
        assert_eq!(told(&changes, between), ["a", "c"]);
    }

    #[test]
    fn what_was_written_and_not_closed_is_told_again_and_again() {
        let (mut changes, _) = watching(&["", "a"]);
        for what in [What::Closed, What::Went] {
            changes.apply(name(2, "db", false, What::Written));
            let now = changes.sequence();
            assert_eq!(told(&changes, now), ["a"]);
            changes.apply(name(2, "other", false, What::Closed));
            assert_eq!(told(&changes, changes.sequence()), ["a"]);
            changes.apply(name(2, "db", false, what));
            assert!(told(&changes, changes.sequence()).is_empty(), "{what:?}");
        }
        // One that was made is open as long as nobody closed it: whoever has it may have opened it under another name.
        changes.apply(name(2, "linked", false, What::Came));
        assert_eq!(told(&changes, changes.sequence()), ["a"]);
        changes.apply(name(2, "linked", false, What::Closed));
        assert!(told(&changes, changes.sequence()).is_empty());
        // What is no file has nothing to close.
        changes.apply(name(2, "symlink", false, What::Came));
        changes.is_no_file(b"a", b"symlink");
        assert!(told(&changes, changes.sequence()).is_empty());
        // Under another name it is still open.
        changes.apply(name(2, "db", false, What::Written));
        for (watch, file, what) in [(2, "db", What::Went), (1, "moved", What::Came)] {
            let name = file.as_bytes();
            changes.apply(Event::Name {
                watch,
                name,
                is_dir: false,
                what,
                moved: 7,
            });
        }
        assert_eq!(told(&changes, changes.sequence()), [""]);
    }

    #[test]
    fn what_is_open_is_known_to_be_when_two_change_places() {
        let moved = |watch, name, is_dir, what, moved| Event::Name {
            watch,
            name,
            is_dir,
            what,
            moved,
        };
        // The open one of the two, as the system names it first and second.
        for (watch, name) in [(2, "x"), (3, "y")] {
            let (mut changes, _) = watching(&["", "a", "b"]);
            changes.apply(self::name(watch, name, false, What::Written));
            for (watch, name, what, number) in [
                (2, b"x", What::Went, 7),
                (3, b"y", What::Came, 7),
                (3, b"y", What::Went, 8),
                (2, b"x", What::Came, 8),
            ] {
                changes.apply(moved(watch, name, false, what, number));
            }
            let now = told(&changes, changes.sequence());
            let other = if watch == 2 { "b" } else { "a" };
            assert!(now.contains(&other.to_owned()), "{now:?}");
        }
        for (watch, other) in [(2, "b"), (3, "a")] {
            let (mut changes, _) = watching(&["", "a", "b"]);
            changes.apply(self::name(watch, "f", false, What::Written));
            for (name, what, number) in [
                (b"a", What::Went, 7),
                (b"b", What::Came, 7),
                (b"b", What::Went, 8),
                (b"a", What::Came, 8),
            ] {
                changes.apply(moved(1, name, true, what, number));
            }
            assert!(changes.add(b"a", 4) && changes.add(b"b", 5));
            let now = told(&changes, changes.sequence());
            assert!(now.contains(&other.to_owned()), "{now:?}");
        }
    }

    #[test]
    fn what_is_open_goes_along_with_its_directory() {
        let (mut changes, _) = watching(&["", "a", "a/b", "a-b"]);
        changes.apply(name(3, "f", false, What::Written));
        changes.apply(name(4, "other", false, What::Closed));
        let dir = |name, what| Event::Name {
            watch: 1,
            name,
            is_dir: true,
            what,
            moved: 7,
        };
        changes.apply(dir(b"a", What::Went));
        changes.apply(dir(b"d", What::Came));
        let dirs = ["", "d", "d/b", "a-b"].map(str::as_bytes);
        changes.want(dirs.into_iter());
        assert!(changes.add(b"d", 6) && changes.add(b"d/b", 7));
        assert_eq!(told(&changes, changes.sequence()), ["d/b"]);
        let written: Vec<Named> = changes.take_written().into_iter().collect();
        let named = |dir: &str, name: &str| -> Named { (dir.into(), name.into()) };
        assert_eq!(written, [named("a-b", "other"), named("d/b", "f")]);
        // Out of all that is watched: it is not there.
        changes.apply(name(7, "f", false, What::Written));
        changes.apply(dir(b"d", What::Went));
        assert_eq!(told(&changes, changes.sequence()), ["d", "d/b"]);
        let written: Vec<Named> = changes.take_written().into_iter().collect();
        assert_eq!(written, [named("d/b", "f")]);
    }

    #[test]
    fn a_name_that_was_written_last_is_to_be_looked_for() {
        let (mut changes, _) = watching(&["", "a"]);
        for what in [What::Came, What::Written, What::Went] {
            changes.apply(name(2, "tmp", false, what));
        }
        assert!(changes.take_written().is_empty());
        // Through a descriptor that outlived the name.
        changes.apply(name(2, "tmp", false, What::Written));
        let written = changes.take_written();
        assert_eq!(written.len(), 1);
        assert!(changes.take_written().is_empty());
        // Its end is told of after all.
        changes.put_back_written(&written);
        changes.apply(name(2, "tmp", false, What::Went));
        assert!(changes.take_written().is_empty());
    }

    #[test]
    fn a_directory_that_moved_is_unknown_with_all_beneath_it_until_it_is_watched_again() {
        let (mut changes, start) = watching(&["", "a", "a/b", "a-b", "c"]);
        // 'mv a d': the watches stay with the directories, which are elsewhere now.
        assert_eq!(changes.apply(name(1, "a", true, What::Went)), [3, 2]);
        assert!(changes.apply(name(1, "d", true, What::Came)).is_empty());
        assert_eq!(told(&changes, start), ["", "a/", "a/b", "d/"]);
        // Their events say nothing of the paths that they had.
        changes.apply(name(3, "f", false, What::Written));
        let now = changes.sequence();
        assert_eq!(told(&changes, now), ["a", "a/b"]);
        // The cache has them elsewhere now.
        let dirs = ["", "d", "d/b", "a-b", "c"].map(str::as_bytes);
        assert!(changes.want(dirs.into_iter()).is_empty());
        assert_eq!(told(&changes, now), ["d", "d/b"]);
        assert!(changes.add(b"d", 6) && changes.add(b"d/b", 7));
        // What happened before they were watched. Of a directory the last number is kept, and the farthest reach.
        assert_eq!(told(&changes, now), ["d/", "d/b"]);
        assert!(told(&changes, changes.sequence()).is_empty());
    }

    #[test]
    fn a_new_directory_counts_with_what_was_made_in_it_before_it_was_watched() {
        let (mut changes, start) = watching(&[""]);
        changes.apply(name(1, "new", true, What::Came));
        assert_eq!(told(&changes, start), ["", "new/"]);
        let seen = changes.sequence();
        let dirs = ["", "new", "new/deep"].map(str::as_bytes);
        changes.want(dirs.into_iter());
        assert_eq!(told(&changes, seen), ["new", "new/deep"]);
        changes.add(b"new", 2);
        changes.add(b"new/deep", 3);
        changes.apply(name(3, "f", false, What::Closed));
        // Of a directory the last number is kept, and the farthest reach.
        assert_eq!(told(&changes, seen), ["new/", "new/deep"]);
        // 'rm -r new': the system says so from the inside out.
        let before = changes.sequence();
        assert_eq!(changes.apply(Event::Gone(3)), [3]);
        assert_eq!(changes.apply(Event::Gone(2)), [2]);
        changes.apply(name(1, "new", true, What::Went));
        assert_eq!(told(&changes, before), ["", "new/", "new/deep/"]);
        // Nobody wants them any more: nothing is left of them.
        changes.want([&b""[..]].into_iter());
        assert!(told(&changes, changes.sequence()).is_empty());
        assert_eq!(changes.watched(), 1);
    }

    #[test]
    fn an_overflow_makes_all_numbers_worthless() {
        let (mut changes, start) = watching(&["", "a"]);
        changes.apply(Event::Overflow);
        assert_eq!(told(&changes, start), ["?"]);
        let now = changes.sequence();
        changes.apply(name(2, "f", false, What::Changed));
        assert_eq!(told(&changes, now), ["a"]);
    }

    #[test]
    fn one_directory_under_two_paths_is_not_watched_under_the_second() {
        let (mut changes, _) = watching(&["", "a"]);
        changes.want(["", "a", "mounted"].map(str::as_bytes).into_iter());
        assert!(!changes.add(b"mounted", 2));
        assert_eq!(told(&changes, changes.sequence()), ["mounted"]);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut changes, start) = watching(&[""]);
        for nth in 0..=MOST_REMEMBERED {
            changes.apply(name(1, &nth.to_string(), true, What::Came));
        }
        assert_eq!(told(&changes, start), ["?"]);
        assert!(changes.dirty.len() <= MOST_REMEMBERED);
    }
}
