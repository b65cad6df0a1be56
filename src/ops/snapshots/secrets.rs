//! The note on files with secret-looking names: which came into a snapshot, and the command that leaves them out.
//!
//! It comes once per repository. What one command cannot name is left for the next snapshots: `told-secrets` has the last path
//! named until then, as bytes, and is empty once all were.

use std::borrow::Cow;

use crate::error::Result;
use crate::git::fs;
use crate::git::objects::ObjectKind;
use crate::ops::Context;
use crate::ops::capture::Capture;
use crate::ops::gitview::read_index;
use crate::store::Store;
use crate::store::state::stored_path;
use crate::text::{listed, typed};
use crate::worktree::globs::{is_secret_name, literal};

/// A command with more paths is none that is looked over before it is run.
const MOST: usize = 20;
/// This many are named in words.
const SHOWN: usize = 3;

/// Says once per repository that files with secret-looking names are in the snapshot, with the command that leaves all of them out.
pub(super) fn notice(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
) -> Result<Option<String>> {
    let told_file = store.common("told-secrets");
    let told = fs::read_optional(&told_file)?;
    // What is unchanged was told of, or had nothing to tell, when it was captured first.
    if told.as_deref().is_some_and(<[u8]>::is_empty) || capture.unchanged {
        return Ok(None);
    }
    let manifest = &capture.manifest;
    let mut candidates: Vec<Vec<u8>> = manifest
        .entries()
        .filter(|(_, file)| file.kind.in_tree() && is_secret_name(manifest.bytes(file.name)))
        .map(|(dir, file)| manifest.path_of(dir, &file))
        .collect();
    candidates.sort_unstable();
    if let Some(told) = &told {
        candidates.retain(|path| path > told);
    }
    if candidates.is_empty() && told.is_none() {
        return Ok(None);
    }
    // Where git tracks all of them they are no news, and it is not asked again until one more comes or the tracked paths change.
    let mut asked = candidates.join(&b"\0"[..]);
    asked.extend_from_slice(capture.tracked.as_bytes());
    let asked = store.objects.hash(ObjectKind::Blob, &asked)?.to_string();
    let tracked_file = store.dir.file("tracked-secrets");
    if fs::read_optional(&tracked_file)?.as_deref() == Some(asked.as_bytes()) {
        return Ok(None);
    }
    let index = match &capture.parsed_index {
        Some(index) => Cow::Borrowed(index),
        None => Cow::Owned(read_index(&ctx.repo, &store.objects)?),
    };
    candidates.retain(|path| !index.has_path(path));
    let rest = candidates.split_off(candidates.len().min(MOST));
    let last_named = match candidates.last() {
        None if told.is_none() => {
            fs::write_atomic(&tracked_file, asked.as_bytes(), fs::Durable::No)?;
            return Ok(None);
        }
        Some(last) if !rest.is_empty() => last.as_slice(),
        _ => b"",
    };
    // A power cut costs no more than to be told twice.
    fs::write_atomic(&told_file, last_named, fs::Durable::No)?;
    Ok((!candidates.is_empty()).then(|| sentence(&candidates, rest.len())))
}

/// The note, on the paths that its command names and on how many more there are.
fn sentence(named: &[Vec<u8>], more: usize) -> String {
    let all = named.len() + more;
    let quoted = |path: &Vec<u8>| format!("'{}'", stored_path(path));
    let mut shown = listed(named.iter().take(SHOWN).map(quoted), SHOWN);
    if all > SHOWN {
        shown.push_str(&format!(" and {} more", all - SHOWN));
    }
    let (which, then) = match more {
        0 => ("them".to_owned(), ""),
        _ => (
            format!("the first {}", named.len()),
            "; the next snapshots name the others",
        ),
    };
    let globs: Vec<String> = named.iter().map(|path| typed(literal(path))).collect();
    format!(
        "the snapshot holds files with secret-looking names ({shown}); to leave {which} out: tw config --add exclude {}{then}",
        globs.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_what_the_sentence_says() {
        let paths = |count: usize| -> Vec<Vec<u8>> {
            (0..count)
                .map(|number| format!("k{number}.pem").into_bytes())
                .collect()
        };
        let begin = "the snapshot holds files with secret-looking names";
        let command = "tw config --add exclude /k0.pem /k1.pem /k2.pem";
        for (named, more, said) in [
            (
                1,
                0,
                "('k0.pem'); to leave them out: tw config --add exclude /k0.pem".to_owned(),
            ),
            (
                5,
                0,
                format!(
                    "('k0.pem', 'k1.pem', 'k2.pem' and 2 more); to leave them out: {command} /k3.pem /k4.pem"
                ),
            ),
            (
                3,
                7,
                format!(
                    "('k0.pem', 'k1.pem', 'k2.pem' and 7 more); to leave the first 3 out: {command}; the next snapshots name the others"
                ),
            ),
        ] {
            assert_eq!(sentence(&paths(named), more), format!("{begin} {said}"));
        }
    }
}
