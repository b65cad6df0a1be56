//! The same work for each of many things, on all cores.
//!
//! For reads of thousands of small files, which wait for the kernel more than they calculate. Few things are worked off on
//! the spot: starting threads would cost more.
//!
//! Threads are started here alone: the system may refuse them, where the user's or the container's processes are at their limit.
//! Then the calling thread does the work, or says why it cannot be done; the ways of the standard library would end the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::error::{self, Error};

/// Worker threads: as many as there are cores, at most eight. Told by the system once: it reads several files for it.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(8)
    })
}

/// Below this many it is not worth a thread.
const FEW: usize = 64;

/// Starts a thread.
///
/// # Errors
/// `IO` when the system refuses one.
pub fn start<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> error::Result<JoinHandle<T>> {
    Builder::new().spawn(work).map_err(refused)
}

/// Starts a thread that ends before the scope does.
///
/// # Errors
/// `IO` when the system refuses one.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> error::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(refused)
}

fn refused(error: std::io::Error) -> Error {
    Error::from(error)
        .while_doing("cannot start a thread")
        .hint("the limit on processes is reached, which 'ulimit -u' or the container sets: end some, or raise it")
}

/// Does the work in a thread of its own; here and now when the system refuses one.
pub fn start_or_do(work: impl FnOnce() + Send + 'static) {
    let held = Arc::new(Mutex::new(Some(work)));
    let taking = Arc::clone(&held);
    let take = move || {
        let work = taking.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(work) = work {
            work();
        }
    };
    let here = take.clone();
    if start(take).is_err() {
        here();
    }
}

/// Work that was given away.
pub enum Beside<'scope, T> {
    /// To a thread.
    Begun(ScopedJoinHandle<'scope, T>),
    /// To nobody: it is done.
    Done(T),
}

/// Gives work to a thread; does it here and now when the system refuses one.
pub fn beside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Copy + Send + 'scope,
) -> Beside<'scope, T> {
    match start_in(scope, work) {
        Ok(worker) => Beside::Begun(worker),
        Err(_) => Beside::Done(work()),
    }
}

impl<T> Beside<'_, T> {
    /// Waits for what comes of it.
    pub fn wait(self) -> T {
        match self {
            Self::Begun(worker) => joined(worker),
            Self::Done(done) => done,
        }
    }
}

/// What `work` makes of each item, in their order.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_from(FEW, items, work)
}

/// As [`map`], of work so much heavier that a thread is worth its start from `few` items on.
pub fn map_from<T: Sync, R: Send>(
    few: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = worth(items.len() / few.max(1));
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(items.len().div_ceil(threads))
            .map(|part| beside(scope, move || part.iter().map(work).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(Beside::wait).collect()
    })
}

/// How many threads to take where so many would be worth their start. The system is not asked about what one does.
fn worth(most: usize) -> usize {
    if most < 2 { 1 } else { most.min(count()) }
}

/// What came of a thread; its panic goes on in this one.
pub fn joined<T>(worker: ScopedJoinHandle<'_, T>) -> T {
    match worker.join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Works the items off, and gives what each thread gathered from them, in no order, and the first error; after one, no further
/// item is begun. For items of uneven weight: a thread takes the next when it is done with the last. `amount` says how many
/// things of [`map`]'s weight they are in all.
pub fn gather<T: Sync, R: Default + Send, E: Send>(
    items: &[T],
    amount: usize,
    work: impl Fn(&T, &mut R) -> Result<(), E> + Sync,
) -> (Vec<R>, Option<E>) {
    let threads = worth((amount / FEW).min(items.len()));
    let next = AtomicUsize::new(0);
    let take = || {
        let mut gathered = R::default();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(item, &mut gathered) {
                next.store(items.len(), Ordering::Relaxed);
                return (gathered, Some(error));
            }
        }
        (gathered, None)
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        // This thread is one of them.
        let started = (1..threads).map_while(|_| start_in(scope, take).ok());
        let workers: Vec<_> = started.collect();
        let mut parts = vec![take()];
        parts.extend(workers.into_iter().map(joined));
        parts
    });
    let mut failed = None;
    let gathered = |(gathered, error)| {
        failed = failed.take().or(error);
        gathered
    };
    (parts.into_iter().map(gathered).collect(), failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_come_out_in_their_order() {
        for count in [0, 1, FEW, 10 * FEW + 7] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(map(&items, |item| item * 2), doubled);
        }
    }

    #[test]
    fn each_is_gathered_once() {
        for count in [0, 1, 7, 500] {
            let items: Vec<usize> = (0..count).collect();
            let take = |item: &usize, found: &mut Vec<usize>| {
                found.push(*item);
                Ok::<(), ()>(())
            };
            let (found, failed) = gather(&items, 10 * FEW, take);
            let mut found = found.concat();
            found.sort_unstable();
            assert_eq!((found, failed), (items, None));
        }
    }

    #[test]
    fn nothing_is_begun_after_an_error() {
        let items: Vec<usize> = (0..2000).collect();
        for amount in [1, 10 * FEW] {
            let work = |item: &usize, found: &mut Vec<usize>| {
                found.push(*item);
                if *item == 3 {
                    return Err("three");
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
                Ok(())
            };
            let (found, failed) = gather(&items, amount, work);
            assert_eq!(failed, Some("three"));
            assert!(found.concat().len() < items.len());
        }
    }
}
