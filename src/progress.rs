//! How long work reports on itself. Knows no terminal: `cli` has the bar, everyone else the silent one.

/// Told of progress. Called from several threads.
pub trait Progress: Sync {
    /// A phase begins; `total` steps are expected when known.
    fn begin(&self, phase: &'static str, total: Option<u64>);
    /// This many steps of the phase are done.
    fn advance(&self, steps: u64);
    /// The phase ends.
    fn end(&self);
}

/// Reports nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _phase: &'static str, _total: Option<u64>) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}
