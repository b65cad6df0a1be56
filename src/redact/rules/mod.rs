//! The table of secret formats, a file for each trade.
//!
//! Owns the rows alone; how they are matched is the scanner's.

mod ai;
mod chat;
mod ci;
mod cloud;
mod code;
mod databases;
mod email;
mod hosting;
mod monitoring;
mod payment;
mod registries;
mod shared;
mod social;
mod tools;

use super::rule::Rule;

/// Every table, in the order in which rows win over one another.
pub(super) static TABLES: &[&[Rule]] = &[
    cloud::TABLE,
    hosting::TABLE,
    code::TABLE,
    chat::TABLE,
    payment::TABLE,
    ai::TABLE,
    registries::TABLE,
    monitoring::TABLE,
    databases::TABLE,
    ci::TABLE,
    email::TABLE,
    social::TABLE,
    tools::TABLE,
    shared::TABLE,
];
