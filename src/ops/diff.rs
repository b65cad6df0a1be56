//! `tw diff`: two addresses compared. A word that names no snapshot and is a path is one, as in git.

use std::ffi::OsString;

use super::Context;
use super::address;
use super::compare::{Beyond, Side, sides_as};
use super::outcome::Diff;
use super::pathspec::Pathspec;
use super::request::DiffSides;
use crate::error::{Code, Error, Result};
use crate::store::Store;

/// Compares two sides: by default the latest snapshot, or in the past the one that was travelled to, with the working tree as it is.
///
/// # Errors
/// As [`address::resolve`]; `USAGE` for a path outside the working tree; whatever keeps a file from being read.
pub fn diff(ctx: &Context<'_>, request: &DiffSides) -> Result<Diff> {
    let store = ctx.store()?;
    let mut words = Words {
        ctx,
        store,
        usual: address::usual(store)?,
        paths: Vec::new(),
    };
    let (from, to) = match words.range(request)? {
        Some((from, to)) => (Some(from), Some(to)),
        None => (
            words.side(request.from.as_deref())?,
            words.side(request.to.as_deref())?,
        ),
    };
    let (from, to) = match (from, to) {
        (Some(from), to) => (from, to.unwrap_or(Side::Present)),
        // git has no path before a revision either.
        (None, Some(_)) if request.from.is_some() => {
            let word = request.from.as_deref().unwrap_or_default();
            return Err(
                Error::usage(format!("'{word}' is not a snapshot but comes before one"))
                    .hint("paths go after the snapshots"),
            );
        }
        (None, to) => (side(ctx, store, &words.usual)?, to.unwrap_or(Side::Present)),
    };
    let paths = [&words.paths[..], &request.paths].concat();
    let only = Pathspec::parse(ctx, &paths)?;
    let both = (&from, &to);
    sides_as(
        ctx,
        store,
        both,
        &only,
        request.patches,
        Beyond::Told,
        request.layout,
    )
}

/// Words that stand where snapshots do, of which some may be paths.
struct Words<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    usual: String,
    /// Those that were.
    paths: Vec<OsString>,
}

impl Words<'_> {
    /// The sides of `A..B`, behind which the next word is a path. None where no such word was given, and where it is a path.
    fn range(&mut self, request: &DiffSides) -> Result<Option<(Side, Side)>> {
        let Some(word) = request.from.as_deref() else {
            return Ok(None);
        };
        let Some((from, to)) = address::range(word) else {
            return Ok(None);
        };
        let from = if from.is_empty() { &self.usual } else { from };
        let both = side(self.ctx, self.store, from).and_then(|from| {
            let to = match to {
                "" => Side::Present,
                to => side(self.ctx, self.store, to)?,
            };
            Ok((from, to))
        });
        match both {
            Ok(both) => {
                self.paths.extend(request.to.as_ref().map(OsString::from));
                Ok(Some(both))
            }
            // A name may have two dots in it.
            Err(error)
                if is_no_address(&error) && address::is_path(self.ctx, self.store, word)? =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The side that a word names; None where none was given, and where it is a path.
    fn side(&mut self, word: Option<&str>) -> Result<Option<Side>> {
        let Some(word) = word else { return Ok(None) };
        match side(self.ctx, self.store, word) {
            Ok(side) => Ok(Some(side)),
            Err(error)
                if is_no_address(&error) && address::is_path(self.ctx, self.store, word)? =>
            {
                self.paths.push(word.into());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn is_no_address(error: &Error) -> bool {
    matches!(error.code(), Code::SnapshotNotFound | Code::InvalidAddress)
}

fn side(ctx: &Context<'_>, store: &Store, text: &str) -> Result<Side> {
    if address::is_present(ctx, text) {
        return Ok(Side::Present);
    }
    Ok(Side::of(&address::resolve(ctx, store, text)?))
}
