//! Counts of the work done by this process, in debug builds: what a command must not do is held by tests that count, for
//! times are noise. Knows nothing of what it counts. In release builds all of it is nothing.

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Work {
    /// Names looked at (`fstatat`).
    Stats,
    /// Files and directories opened beneath the working tree.
    Opens,
    /// Directories whose names were read (`getdents`).
    DirReads,
    /// Files of the working tree whose bytes were read to be hashed.
    FileReads,
    /// Trees made or looked up by their content.
    TreePuts,
    /// Blobs made or looked up by their content.
    BlobPuts,
    /// Commits made.
    CommitPuts,
    /// Objects read from the object store.
    ObjectReads,
    /// Objects asked for by id alone.
    ObjectLookups,
    /// Files of loose objects opened.
    ObjectOpens,
    /// Trees taken apart, wherever their bytes come from.
    TreeReads,
    /// Git's index read whole.
    IndexReads,
    /// The stat cache written.
    CacheWrites,
    /// Conversations of issues read whole.
    ChatReads,
}

#[cfg(debug_assertions)]
mod counts {
    use super::Work;
    use std::sync::atomic::{AtomicU64, Ordering};

    const ALL: [(Work, &str); 14] = [
        (Work::Stats, "stats"),
        (Work::Opens, "opens"),
        (Work::DirReads, "dir_reads"),
        (Work::FileReads, "file_reads"),
        (Work::TreePuts, "tree_puts"),
        (Work::BlobPuts, "blob_puts"),
        (Work::CommitPuts, "commit_puts"),
        (Work::ObjectReads, "object_reads"),
        (Work::ObjectLookups, "object_lookups"),
        (Work::ObjectOpens, "object_opens"),
        (Work::TreeReads, "tree_reads"),
        (Work::IndexReads, "index_reads"),
        (Work::CacheWrites, "cache_writes"),
        (Work::ChatReads, "chat_reads"),
    ];

    static COUNTS: [AtomicU64; ALL.len()] = [const { AtomicU64::new(0) }; ALL.len()];

    /// Adds one to the count of this kind of work.
    pub fn count(what: Work) {
        if let Some(counter) = COUNTS.get(what as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every count with its name, a line each.
    pub fn report() -> String {
        let line = |(what, name): &(Work, &str)| {
            let count = COUNTS.get(*what as usize);
            let count = count.map_or(0, |count| count.load(Ordering::Relaxed));
            format!("{name} {count}\n")
        };
        ALL.iter().map(line).collect()
    }
}

#[cfg(debug_assertions)]
pub use counts::{count, report};

/// Nothing, in release builds.
#[cfg(not(debug_assertions))]
#[inline]
pub fn count(_what: Work) {}
