//! The watcher: a process that knows which directories of a working tree something happened in.
//!
//! It makes a snapshot cheap, and nothing else rests on it. What it owns: the queue of events and what follows from them
//! ([`changes`]), the process that keeps them ([`serve`]), the question ([`ask`]), and the moment that a cache goes with ([`seen`]).
//!
//! **What it is used for.** Snapshots that are taken in passing: by hand, before a prompt, after a turn. What protects bytes before
//! they are overwritten never asks it: every swap looks at all files, and so does every proof.
//!
//! **What is checked.** A directory that is told of is compared with the cache as ever; the watcher decides only where nobody looks.
//! It is believed when all of this holds, and else the look is a full one:
//!
//! * it runs as the same user, in a directory that is that user's alone, and answers this question within milliseconds;
//! * the cookie made for the question came through its queue, and so did all that was done before;
//! * it is the run of the watcher that the cache on disk was made beside, it watches every directory of that very cache, and its
//!   queue has not overflowed since;
//! * it sees the same directory in the same mount namespace, and nothing was mounted beneath since;
//! * the clock did not jump, neither for it nor for us.
//!
//! **What it cannot see, and what covers that.** Linux tells of no store into a memory map. It tells when the last descriptor and
//! map of a file that could be written are gone, and of every `write` but those of `io_submit`: so a file that was written and not closed keeps its directory in
//! every answer. Left is a file that is changed through a map alone, while the map stands. A file with several names (hard links) is
//! told of in the directory through which it was opened: directories with such files are in every answer, and when there are
//! many, the watcher turns itself off. A descriptor goes on under the name that it was opened by, also when the file has another one by
//! now: a name that was made and not closed keeps its directory in every answer, and a write under a name that is gone makes the
//! answer one of everything. A name made later outside of the working tree, or in what git ignores, is not known, nor what was opened there and is linked in,
//! once it was closed in here. Writes of a server's own clients (an NFS
//! export), of another machine, or into the disk below are not told of either: file systems that others may change are refused.
//! For all of these the watcher compares every file with the cache from time to time ([`audit`]), as long as it is asked;
//! what differs without an event makes it turn itself off, with the reason for `doctor`. And `tw` looks at everything itself when the last
//! audit is too long ago.
//!
//! **Off rather than half on.** Where not every directory can be watched (a limit of the system), nothing is.

pub mod ask;
pub mod audit;
pub mod changes;
mod clock;
pub mod message;
pub mod mounts;
pub mod notify;
pub mod seen;
pub mod serve;
mod state;
