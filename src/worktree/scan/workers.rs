//! The threads of a scan: they share out the known directories, then take what is found beneath from one queue.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};

use super::found::FoundDir;
use super::names::NameBuffer;
use super::{CHUNK, Run, Way};
use crate::error::Error;
use crate::git::fs::Stamp;
use crate::git::threads::start_in;
use crate::worktree::rules::{Sides, SidesInside};

/// This many directories that wait to be read are held open, where the process may open many more; the others are opened again.
const MOST_OPEN: usize = 64;
/// One in this many that may be open is enough.
// The rest is for the threads' own directories, for packs and for what was inherited.
const PART_OPEN: u64 = 8;

/// A directory that is to be read.
pub(super) struct Task {
    pub(super) path: Vec<u8>,
    /// The directory and its stamp, when it is still open from the look at its name.
    pub(super) fd: Option<(OwnedFd, Stamp)>,
    /// The rules of the parent directory, and what follows from this one; None for the root.
    pub(super) above: Option<(Sides, SidesInside)>,
}

/// The directories that are to be read.
pub(super) struct Queue {
    tasks: Mutex<QueueState>,
    wake: Condvar,
}

struct QueueState {
    tasks: Vec<Task>,
    /// How many of them hold a directory open.
    open: usize,
    busy: usize,
    error: Option<Error>,
}

impl Task {
    /// The root, with which the full way begins.
    pub(super) fn root() -> Self {
        Self {
            path: Vec::new(),
            fd: None,
            above: None,
        }
    }
}

impl Queue {
    /// With one directory in it, or none.
    pub(super) fn starting(first: Option<Task>) -> Self {
        Self {
            tasks: Mutex::new(QueueState {
                tasks: first.into_iter().collect(),
                open: 0,
                busy: 0,
                error: None,
            }),
            wake: Condvar::new(),
        }
    }
}

/// How many directories that wait may be held open, by what the system lets us open at all.
pub(super) fn most_open() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let part = limit.map_or(u64::MAX, |limit| limit / PART_OPEN);
    usize::try_from(part).unwrap_or(MOST_OPEN).min(MOST_OPEN)
}

impl Run<'_, '_, '_> {
    fn lock_queue(&self) -> std::sync::MutexGuard<'_, QueueState> {
        self.queue
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The first error of any thread.
    pub(super) fn take_error(&self) -> Option<Error> {
        self.lock_queue().error.take()
    }

    /// What all threads found.
    pub(super) fn in_parallel(&self) -> Vec<FoundDir> {
        // This thread works as well: one less has to be started.
        let threads = self.scan.threads.max(1);
        // Starting threads costs more than looking at a few directories.
        if threads == 1 || (self.way == Way::Fast && self.same.len() <= CHUNK) {
            return self.work();
        }
        std::thread::scope(|scope| {
            let started = (1..threads).map_while(|_| start_in(scope, || self.work()).ok());
            let workers: Vec<_> = started.collect();
            let mut found = self.work();
            for worker in workers {
                found.extend(worker.join().expect("scan workers do not panic"));
            }
            found
        })
    }

    fn work(&self) -> Vec<FoundDir> {
        let mut found = Vec::new();
        let mut names = NameBuffer::default();
        // The known directories first: what is new beneath them is put into the queue on the way.
        loop {
            let at = self.next.fetch_add(CHUNK, Ordering::Relaxed);
            if at >= self.same.len() {
                break;
            }
            for known in at..(at + CHUNK).min(self.same.len()) {
                // The full way begins anew: nothing that is found now is of use.
                if self.give_up.load(Ordering::Relaxed) {
                    return found;
                }
                if self.same[known].load(Ordering::Relaxed) {
                    continue;
                }
                if let Err(error) = self.known_dir(known, &mut found, &mut names) {
                    self.fail(error);
                    return found;
                }
            }
        }
        while let Some(task) = self.take() {
            let result = if self.give_up.load(Ordering::Relaxed) {
                Ok(())
            } else {
                self.read_dir(task, &mut found, &mut names)
            };
            // Only now: before, what is beneath was not in the queue yet, and the others would have gone.
            let mut queue = self.lock_queue();
            queue.busy -= 1;
            if let Err(error) = result {
                queue.error.get_or_insert(error);
                // Nobody needs the rest, and workers that wait must find the queue empty to end.
                queue.tasks.clear();
                queue.open = 0;
                self.give_up.store(true, Ordering::Relaxed);
            }
            let idle = queue.busy == 0 && queue.tasks.is_empty();
            drop(queue);
            if idle {
                self.queue.wake.notify_all();
            }
        }
        found
    }

    fn fail(&self, error: Error) {
        self.give_up.store(true, Ordering::Relaxed);
        self.lock_queue().error.get_or_insert(error);
    }

    fn take(&self) -> Option<Task> {
        let mut queue = self.lock_queue();
        loop {
            if let Some(task) = queue.tasks.pop() {
                queue.open -= usize::from(task.fd.is_some());
                queue.busy += 1;
                return Some(task);
            }
            // Known directories still being looked at by another worker may add tasks; those workers then do them.
            if queue.busy == 0 {
                return None;
            }
            queue = self
                .queue
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queues the directories in a directory, which are in order. The first is taken first: then what is found is nearly sorted.
    pub(super) fn push(&self, tasks: Vec<Task>) {
        if tasks.is_empty() {
            return;
        }
        let mut queue = self.lock_queue();
        for mut task in tasks.into_iter().rev() {
            if queue.open >= self.most_open {
                task.fd = None;
            }
            queue.open += usize::from(task.fd.is_some());
            queue.tasks.push(task);
        }
        drop(queue);
        self.queue.wake.notify_all();
    }

    /// How many of one directory may be held open until they are queued.
    pub(super) fn most_open_of_one(&self) -> usize {
        self.most_open / 4
    }
}
