//! `tw mcp`: a server of the Model Context Protocol on standard input and output, for agents.
//!
//! Owns the table of tools with their schemas, the resources, the prompt, and which directory a call may work in. Promises:
//!
//! - A misled agent can do no harm. A tool's arguments are a list of its own, and anything else is refused; no path leads out
//!   of the workspace, nothing given here is ever run, and nothing here forgets a record.
//! - A call is a process of its own ([`answer`]), started by the server ([`serve`]). What a command keeps in memory is gone
//!   with it; a panic, which ends the process in release builds, ends that one call; and the locks and journal of a swap name
//!   a process that is dead when the swap is, as recovery wants it.
//! - Standard output holds the protocol and nothing else.
//!
//! Leaves out the work, which is `ops`'s, and the documents, which are `wire`'s. The SDK is named in `server` and `transport` alone.

mod arguments;
mod bounds;
mod call;
mod hints;
mod place;
mod prompt;
mod resources;
mod schema;
mod server;
mod tools;
mod transport;

pub use call::answer;
pub use server::serve;
