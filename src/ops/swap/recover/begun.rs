//! How a command begins that changes something: nothing that died before it is left, and its answer says what was done about that.

use super::{recover_locked, refuse_interrupted};
use crate::error::{Error, Result};
use crate::ops::Context;
use crate::ops::request::DryRun;
use crate::store::Store;
use crate::store::lock::WorktreeLock;

/// A command that holds its lock. To be ended by [`Begun::answer`], or by [`Begun::again`] where another one takes over.
#[must_use]
pub struct Begun {
    /// None in a dry run.
    lock: Option<WorktreeLock>,
    recovered: Recovery,
}

/// What was done about commands that had died, in sentences. To be told with whatever the command
/// that did it comes to.
#[derive(Default)]
#[must_use]
pub struct Recovery(pub Vec<String>);

impl Recovery {
    /// Puts it before what an answer has to say already; behind the hints of an error.
    ///
    /// # Errors
    /// Those of the command.
    pub fn tell<T>(
        self,
        done: Result<T>,
        notices: impl FnOnce(&mut T) -> &mut Vec<String>,
    ) -> Result<T> {
        match done {
            Ok(mut answer) => {
                notices(&mut answer).splice(0..0, self.0);
                Ok(answer)
            }
            Err(error) => Err(self.with(error)),
        }
    }

    /// The error of a command that came to nothing.
    pub fn with(self, error: Error) -> Error {
        self.0.into_iter().fold(error, Error::hint)
    }
}

/// Takes the lock for a command and recovers what died. A dry run takes none, and is refused where something died.
///
/// # Errors
/// `BUSY`; `INTERRUPTED` when something is in doubt, or in a dry run.
pub fn begin(ctx: &Context<'_>, store: &Store, command: &str, dry_run: DryRun) -> Result<Begun> {
    if dry_run == DryRun::Yes {
        refuse_interrupted(store)?;
        return Ok(Begun {
            lock: None,
            recovered: Recovery::default(),
        });
    }
    let lock = ctx.lock(&store.dir, command)?;
    let recovered = Recovery(recover_locked(ctx, store, &lock)?);
    Ok(Begun {
        lock: Some(lock),
        recovered,
    })
}

impl Begun {
    /// Recovers once more, under the same lock, what the command itself has made ready for that.
    ///
    /// # Errors
    /// As [`begin`].
    pub fn recover_again(&mut self, ctx: &Context<'_>, store: &Store) -> Result<()> {
        if let Some(lock) = &self.lock {
            let more = recover_locked(ctx, store, lock)?;
            self.recovered.0.extend(more);
        }
        Ok(())
    }

    /// Lets the lock go, now that the command is done. See [`Recovery::tell`].
    ///
    /// # Errors
    /// Those of the command.
    pub fn answer<T>(
        self,
        done: Result<T>,
        notices: impl FnOnce(&mut T) -> &mut Vec<String>,
    ) -> Result<T> {
        drop(self.lock);
        self.recovered.tell(done, notices)
    }

    /// Lets the lock go for a command that takes its own.
    ///
    /// # Errors
    /// Those of the command.
    pub fn again<T>(
        self,
        command: impl FnOnce() -> Result<T>,
        notices: impl FnOnce(&mut T) -> &mut Vec<String>,
    ) -> Result<T> {
        drop(self.lock);
        self.recovered.tell(command(), notices)
    }
}
