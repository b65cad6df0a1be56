//! Any harness that calls `tw` itself and is none of the known agents.

use super::Agent;

/// Any other harness.
pub struct Generic;

impl Agent for Generic {
    fn name(&self) -> &'static str {
        "generic"
    }

    fn title(&self) -> &'static str {
        "generic agent"
    }

    fn is_any_harness(&self) -> bool {
        true
    }
}
