//! x
use super::Context;
use crate::error::Result;
use crate::store::Store;
pub fn recover_by_itself(_c: &Context<'_>, _s: &Store<'_>) -> Result<Vec<String>> {
    Ok(Vec::new())
}
