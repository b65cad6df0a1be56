//! What every tool uses.

pub use schemars::JsonSchema;
pub use serde::Deserialize;
pub use serde_json::Value;

pub use super::{Effect, Request};
pub use crate::error::{Error, Result};
pub use crate::mcp::arguments::{Address, literal_paths, paths, time_limit};
pub use crate::ops::{self, Context, request};
pub use crate::wire;
pub use crate::wire::schema::{Document, document};
