//! What the system tells of directories. Linux: inotify. Another system fills this in with the same functions; until then there
//! is no watcher there, and every look is a full one.

#[cfg(target_os = "linux")]
pub use linux::Notifier;
#[cfg(not(target_os = "linux"))]
pub use nowhere::Notifier;

/// Why a directory cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is not there, or not ours to look into: it is told of with every answer.
    Absent,
    /// The system allows no more watches: nothing can be watched in part.
    TooMany,
    /// Anything else, in words.
    Other(String),
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;

    use super::Refusal;
    use crate::worktree::watch::changes::{Event, WatchId, What};

    /// Everything that may change what a look sees. Reading is not told of.
    const EVENTS: WatchFlags = WatchFlags::ATTRIB
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::CREATE)
        .union(WatchFlags::DELETE)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MODIFY)
        .union(WatchFlags::MOVE)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR);

    /// As many bytes of events as are read at once.
    const BUFFER: usize = 64 << 10;

    /// A queue of events.
    pub struct Notifier {
        queue: OwnedFd,
        buffer: Vec<MaybeUninit<u8>>,
    }

    impl Notifier {
        /// Makes a queue that watches nothing yet.
        ///
        /// # Errors
        /// The system allows no more of them.
        pub fn new() -> Result<Self, Refusal> {
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
            let queue = queue.map_err(|errno| match errno {
                Errno::MFILE | Errno::NFILE => Refusal::TooMany,
                other => Refusal::Other(other.to_string()),
            })?;
            Ok(Self {
                queue,
                buffer: vec![MaybeUninit::uninit(); BUFFER],
            })
        }

        /// Watches a directory that is open: by its descriptor, since its path may lead elsewhere by now.
        ///
        /// # Errors
        /// See [`Refusal`].
        pub fn watch(&self, dir: BorrowedFd<'_>) -> Result<WatchId, Refusal> {
            let path = format!("/proc/self/fd/{}", dir.as_raw_fd());
            inotify::add_watch(&self.queue, path, EVENTS).map_err(|errno| match errno {
                Errno::NOSPC | Errno::NOMEM => Refusal::TooMany,
                Errno::NOENT | Errno::ACCESS | Errno::NOTDIR => Refusal::Absent,
                other => Refusal::Other(other.to_string()),
            })
        }

        /// Gives a watch up.
        pub fn give_up(&self, watch: WatchId) {
            // The system gave it up by itself where the directory is gone.
            let _ = inotify::remove_watch(&self.queue, watch);
        }

        /// Takes all events that are there. The system puts an event into the queue before the call that caused it returns:
        /// whatever was done before this is called is seen.
        ///
        /// # Errors
        /// The queue cannot be read.
        pub fn drain(&mut self, mut see: impl FnMut(Event<'_>)) -> Result<(), Refusal> {
            let mut reader = Reader::new(&self.queue, &mut self.buffer);
            loop {
                match reader.next() {
                    Ok(event) => {
                        let name = event.file_name().map(CStr::to_bytes);
                        tell(&mut see, event.wd(), name, event.events(), event.cookie());
                    }
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(Refusal::Other(errno.to_string())),
                }
            }
        }
    }

    impl AsFd for Notifier {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.queue.as_fd()
        }
    }

    fn tell(
        see: &mut impl FnMut(Event<'_>),
        watch: WatchId,
        name: Option<&[u8]>,
        flags: ReadFlags,
        moved: u32,
    ) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return see(Event::Overflow);
        }
        let gone =
            ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT;
        if flags.intersects(gone) {
            return see(Event::Gone(watch));
        }
        let Some(name) = name else {
            return see(Event::Itself(watch));
        };
        let what = if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            What::Came
        } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            What::Went
        } else if flags.contains(ReadFlags::MODIFY) {
            What::Written
        } else if flags.contains(ReadFlags::CLOSE_WRITE) {
            What::Closed
        } else {
            What::Changed
        };
        see(Event::Name {
            watch,
            name,
            is_dir: flags.contains(ReadFlags::ISDIR),
            what,
            moved,
        });
    }
}

#[cfg(not(target_os = "linux"))]
mod nowhere {
    use std::convert::Infallible;
    use std::os::fd::{AsFd, BorrowedFd};

    use super::Refusal;
    use crate::worktree::watch::changes::{Event, WatchId};

    /// There is none: its functions cannot be reached.
    pub struct Notifier(Infallible);

    impl Notifier {
        /// # Errors
        /// Always.
        pub fn new() -> Result<Self, Refusal> {
            let why = "there is no watcher for this system yet";
            Err(Refusal::Other(why.to_owned()))
        }

        /// Never called.
        pub fn watch(&self, _: BorrowedFd<'_>) -> Result<WatchId, Refusal> {
            match self.0 {}
        }

        /// Never called.
        pub fn give_up(&self, _: WatchId) {
            match self.0 {}
        }

        /// Never called.
        pub fn drain(&mut self, _: impl FnMut(Event<'_>)) -> Result<(), Refusal> {
            match self.0 {}
        }
    }

    impl AsFd for Notifier {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }
}
