//! `tw web`: the timeline as a page, served live on the loopback or written as one file.
//!
//! Owns the page, the small server, who may ask it, and which commands a page may start. Promises:
//!
//! - Whatever a page shows may be hostile. It is built from text alone, never from markup; characters that would not be seen
//!   are shown; a content policy lets nothing run but the page's own script, and nothing be loaded.
//! - The server listens on the loopback, answers those who have its token, and checks `Host` and `Origin` each time. It reads
//!   no file that a request names: ids and paths are looked up in the repository.
//! - It changes nothing unless it was started so. Then each change is a command of `tw`, run as such in a process of its own,
//!   after the same command's dry run was shown and agreed to.
//! - An exported page needs nothing outside itself, holds no prompt that was not asked for, and no secret that was found.
//!
//! The server is our own, a few hundred lines over threads: one page with one reader needs neither HTTP/2 nor keep-alive nor an
//! event loop, and what is not there cannot be got wrong. The bytes of a request are parsed by `httparse`, as in hyper.

mod act;
mod api;
mod export;
mod guard;
mod http;
mod page;
mod server;

pub use export::{Export, Exported, export, plan};
pub use server::{Serve, Served, serve};
