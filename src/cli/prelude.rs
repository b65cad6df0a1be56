//! What every command file uses.

pub use clap::builder::ValueHint;

pub use super::call::{Call, Reply, Run, reply, swapped};
pub use super::human::text::{beginning, clean, count, number, quoted};
pub use super::human::{Human, Page, RenderOptions};
pub(super) use super::{background, complete, flags};
pub use crate::error::{Code, Error, Result};
pub use crate::ops::{self, Context, request};
pub use crate::wire::schema::{Document, document};
