//! The same work for each of many things, on all cores.
//!
//! For reads of thousands of small files, which wait for the kernel more than they calculate. Few things are worked off on
//! the spot: starting threads would cost more.

use std::sync::OnceLock;

/// Worker threads: as many as there are cores, at most eight. Told by the system once: it reads several files for it.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(8)
    })
}

/// Below so many it is not worth a thread.
const FEW: usize = 64;

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
    // The system is not asked about what one thread does.
    let most = items.len() / few.max(1);
    let threads = if most < 2 { 1 } else { most.min(count()) };
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(items.len().div_ceil(threads))
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>()))
            .collect();
        let join = |part: std::thread::ScopedJoinHandle<'_, Vec<R>>| match part.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        parts.into_iter().flat_map(join).collect()
    })
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
}
