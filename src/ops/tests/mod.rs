//! Operations on real repositories in temporary directories.

mod lab;

pub(super) use lab::Lab;

mod diff;
mod doctor;
mod open;
mod purge;
mod retention;
mod scratches;
mod setup;
mod status;
