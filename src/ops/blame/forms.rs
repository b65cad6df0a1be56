//! The two forms of a file that git converts: as commits have it, and as it is on disk and in the states.
//!
//! Line ends and `$Id$` are all that is passed over, where the attributes and the configuration of the working tree say that git
//! converts them: neither adds a line or takes one away. No filter is run, and no encoding converted: lines that differ by those differ.

use std::borrow::Cow;
use std::cell::RefCell;

use super::content;
use super::graph::Links;
use crate::error::Result;
use crate::git::Oid;
use crate::git::fs::Root;
use crate::git::textdiff::{is_binary, same_lines, with_plain_ends};
use crate::ops::Context;
use crate::ops::gitview::{self, LoadAttributes};
use crate::worktree::attributes::Attributes;
use crate::worktree::scan::read_ignore_file_named;

/// Tells what git converts in which file.
pub struct Forms(RefCell<Attributes<LoadAttributes<'static>>>);

/// What git converts in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Form {
    ends: bool,
    ident: bool,
}

impl Forms {
    /// Reads what holds in the working tree.
    ///
    /// # Errors
    /// The configuration, or a file of attributes, cannot be read.
    pub fn read(ctx: &Context<'_>) -> Result<Self> {
        let root = Root::open(ctx.repo.worktree_root())?;
        let load: LoadAttributes<'static> =
            Box::new(move |dir: &[u8]| read_ignore_file_named(&root, dir, b".gitattributes"));
        let attributes = gitview::attributes(&ctx.repo, load)?;
        Ok(Self(RefCell::new(attributes)))
    }

    /// What git converts in a file of this name.
    ///
    /// # Errors
    /// A file of attributes cannot be read.
    pub fn of(&self, name: &[u8]) -> Result<Form> {
        let conversion = self.0.borrow_mut().conversion(name)?;
        Ok(Form {
            ends: conversion.eol,
            ident: conversion.ident,
        })
    }

    /// Where a line that a commit or state seems to have brought was before in git's other form: for each line that is there in one
    /// of its parents, the first that has it, and the line there.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn before(
        &self,
        links: &Links<'_>,
        commit: Oid,
        name: &[u8],
    ) -> Result<Vec<Option<(Oid, usize)>>> {
        let form = self.of(name)?;
        let store = links.store;
        let mut found = Vec::new();
        if form == Form::default() {
            return Ok(found);
        }
        let Some(text) = content(store, commit, name)? else {
            return Ok(found);
        };
        for parent in links.parents(commit, &links.past.changes(links.states)) {
            let Some(old) = content(store, parent, name)? else {
                continue;
            };
            // In one form git has compared them itself.
            if !form.changes(&old) && !form.changes(&text) {
                continue;
            }
            let same = form.same_lines(&old, &text, false)?;
            found.resize(found.len().max(same.len()), None);
            let olds: Vec<&[u8]> = old.split(|byte| *byte == b'\n').collect();
            let lines = text.split(|byte| *byte == b'\n');
            let lines = lines.zip(same).zip(&mut found);
            for ((line, same), found) in lines {
                let differs = |was: &usize| olds.get(*was).is_some_and(|old| *old != line);
                if found.is_none() {
                    *found = same.filter(differs).map(|was| (parent, was));
                }
            }
        }
        Ok(found)
    }
}

impl Form {
    /// For each line of the new text the line of the old one that it is, as git would compare them.
    ///
    /// # Errors
    /// As [`same_lines`].
    pub fn same_lines(
        self,
        old: &[u8],
        new: &[u8],
        ignores_space: bool,
    ) -> Result<Vec<Option<usize>>> {
        same_lines(&self.kept(old), &self.kept(new), ignores_space)
    }

    /// Whether a text is not as git keeps it.
    fn changes(self, text: &[u8]) -> bool {
        matches!(self.kept(text), Cow::Owned(_))
    }

    /// A text as git keeps it.
    pub fn kept(self, text: &[u8]) -> Cow<'_, [u8]> {
        let mut kept = Cow::Borrowed(text);
        if self.ends && text.windows(2).any(|pair| pair == b"\r\n") && !is_binary(text) {
            kept = Cow::Owned(with_plain_ends(text).copied().collect());
        }
        if self.ident
            && let Some(bytes) = without_idents(&kept)
        {
            kept = Cow::Owned(bytes);
        }
        kept
    }
}

/// A text with `$Id$` in the place of what git made of it; None where there is none.
fn without_idents(text: &[u8]) -> Option<Vec<u8>> {
    const BEGIN: &[u8] = b"$Id:";
    let mut kept: Option<Vec<u8>> = None;
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = text[at..]
        .windows(BEGIN.len())
        .position(|four| four == BEGIN)
    {
        let begin = at + found;
        at = begin + BEGIN.len();
        let end = text[at..].iter().position(|byte| b"$\n".contains(byte));
        let Some(end) = end.map(|end| at + end).filter(|end| text[*end] == b'$') else {
            continue;
        };
        let kept = kept.get_or_insert_default();
        kept.extend_from_slice(&text[from..begin]);
        kept.extend_from_slice(b"$Id");
        (from, at) = (end, end + 1);
    }
    if let Some(kept) = &mut kept {
        kept.extend_from_slice(&text[from..]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_keeps_line_ends_and_idents_without_what_it_puts_there() {
        let said = |text: &[u8], ends, ident| {
            let kept = Form { ends, ident }.kept(text).into_owned();
            String::from_utf8(kept).expect("text")
        };
        assert_eq!(said(b"a\r\nb\rc\r\r\nd\r", true, false), "a\nb\rc\r\nd\r");
        assert_eq!(said(b"a\r\n", false, true), "a\r\n");
        assert_eq!(said(b"\0a\r\n", true, false), "\0a\r\n");
        assert_eq!(
            said(b"x $Id: 1 $ y $Id: 2$\n$Id$", false, true),
            "x $Id$ y $Id$\n$Id$"
        );
        assert_eq!(said(b"$Id: 1\n2 $ $Id:", false, true), "$Id: 1\n2 $ $Id:");
        let form = Form {
            ends: true,
            ident: true,
        };
        assert!(!form.changes(b"a\nb\r") && form.changes(b"a\r\n"));
        let same = form.same_lines(b"a\nb\n", b"x\r\na\r\nb\r\n", false);
        assert_eq!(same.expect("compared"), [None, Some(0), Some(1)]);
    }
}
