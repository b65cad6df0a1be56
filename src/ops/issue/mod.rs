//! Issues: friction reported with its snapshot and its conversation, and what is done about it later.
//!
//! What looks at one issue first takes in what was edited on its desk. Texts are redacted before they enter a record. The
//! records themselves are `issues`'s.

mod apply;
mod close;
mod comment;
mod conversation;
mod document;
mod edit;
mod get;
mod list;
mod outcome;
mod report;
mod request;
mod start;
mod verify;

pub use apply::apply;
pub use close::{close, reopen};
pub use comment::comment;
pub use edit::{edit, experiment};
pub use get::{chat, get, peek, peek_chat};
pub use list::{list, next, search};
pub use outcome::{
    Applied, Captured, ChatShown, Entry, ExperimentShown, Filtered, InvalidIssue, IssueListing,
    IssueOnDesk, IssueSummary, IssueView, Next, Ranked, Reported, Started, Verified,
};
pub use report::report;
pub use request::{
    Apply, ChatPart, Close, Comment, Edit, Experiment, Filter, Report, ReportFields, Sections,
    Verify,
};
pub use start::start;
pub use verify::verify;
