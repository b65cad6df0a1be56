//! Whether the clock was set.

use crate::env::clock_nanos;

/// A clock that is only corrected drifts less than this between two looks.
const JUMP: i64 = 1_000_000_000;

/// The clock, held against the time since boot, which nobody sets.
#[derive(Debug)]
pub(super) struct Clock {
    offset: i64,
}

impl Clock {
    /// Returns the clock as it is set now.
    pub(super) fn now() -> Self {
        Self { offset: offset() }
    }

    /// Whether it jumped since the last time this was asked.
    pub(super) fn has_jumped(&mut self) -> bool {
        self.moves_to(offset())
    }

    fn moves_to(&mut self, offset: i64) -> bool {
        let moved = offset.saturating_sub(self.offset).saturating_abs();
        self.offset = offset;
        moved > JUMP
    }
}

fn offset() -> i64 {
    #[cfg(target_os = "linux")]
    let steady = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let steady = rustix::time::ClockId::Monotonic;
    let steady = rustix::time::clock_gettime(steady);
    let steady = steady
        .tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(steady.tv_nsec);
    clock_nanos().saturating_sub(steady)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_jump_and_a_correction_is_none() {
        let mut clock = Clock::now();
        assert!(!clock.has_jumped());
        let start = clock.offset;
        assert!(!clock.moves_to(start + JUMP / 2));
        assert!(!clock.moves_to(start + JUMP));
        assert!(clock.moves_to(start + 3 * JUMP));
        assert!(!clock.moves_to(start + 3 * JUMP));
        assert!(clock.moves_to(start - JUMP));
    }
}
