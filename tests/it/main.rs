//! The tests of `tw` as its users meet it: one binary, one module per command or concern.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    missing_docs,
    reason = "tests write their fixtures as they please and may fail loudly"
)]

mod access;
mod access_alone;
mod agent_versions;
mod apply;
mod arguments;
mod backtrack;
mod bisect;
mod blame;
mod broken_refs;
mod checkpoint;
mod cli;
mod completion;
mod config;
mod context;
mod crash;
mod damage;
mod damaged;
mod damaged_records;
mod diff;
mod documents;
mod everyday;
mod example;
mod facts;
mod faults;
mod find;
mod foreign;
mod fuzz;
mod gc;
mod git_versions;
mod golden;
mod heads;
mod hook;
mod hostile;
mod init;
mod init_all;
mod interop;
mod interrupt;
mod issue;
mod late;
mod layers;
mod layout;
#[cfg(target_os = "linux")]
mod leased;
mod list;
mod log;
mod many;
mod mcp;
mod model;
mod model_regressions;
mod namespaces;
mod newer;
mod objects;
mod opencode;
mod outcomes;
mod packages;
mod pager;
mod pasted;
mod plain_renames;
mod poor;
mod power;
mod provided;
mod readme;
mod recover;
mod reftable;
mod regular_files;
mod replaced;
mod replay;
mod report;
mod restore;
mod return_;
mod revert;
mod rewind;
mod rewind_menu;
mod rewritten;
mod runner;
mod said;
mod sandbox;
mod scale;
mod schema;
mod scratch;
mod search;
mod seeds;
mod session;
mod sha256;
mod shapes;
mod share;
mod show;
mod snapshot;
mod stage;
mod state;
mod stats;
mod status;
mod summary;
mod template;
mod terminal;
mod transcripts;
mod travel;
mod trip;
mod try_;
mod turn_end;
mod ui;
mod undo;
mod upkeep;
mod watch;
mod web;
mod without_git;
mod work;
mod workspace;
