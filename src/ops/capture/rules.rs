//! The rules that hold everywhere, as capture and plans ask them. In the past, what the present had and did not save is left alone.

use super::Context;
use crate::error::{Error, Result};
use crate::git::objects::ObjectStore;
use crate::git::regular::read_rules;
use crate::git::{Oid, tree};
use crate::ops::settings::Settings;
use crate::ops::unsaved::Unsaved;
use crate::worktree::globs::{GlobSettings, Globs, Source, problem};
use crate::worktree::ignore::{Globals, PatternFile};
use std::sync::Arc;

/// The rules that hold everywhere, and the text that tells one set of them from another.
pub fn rule_parts(
    ctx: &Context<'_>,
    include: &[String],
    exclude: &[String],
) -> Result<(Arc<Globals>, Arc<Globs>, Vec<u8>)> {
    let repo = &ctx.repo;
    let settings = &ctx.settings;
    let ignore_case = repo.ignore_case()?;
    // In the common directory also for a linked worktree, as git has it.
    let info = read_rules(&repo.common_dir().join("info/exclude"))?.unwrap_or_default();
    let global = match repo.excludes_file() {
        Some(file) => read_rules(&file)?.unwrap_or_default(),
        None => Vec::new(),
    };
    let sourced = |list: &[String], source: Source| -> Vec<(String, Source)> {
        list.iter().map(|glob| (glob.clone(), source)).collect()
    };
    let globs = Globs::new(&GlobSettings {
        use_defaults: settings.default_excludes,
        ignore_case,
        exclude: [
            sourced(&settings.team_exclude, Source::Team),
            sourced(&settings.exclude, Source::User),
            sourced(exclude, Source::Flag),
        ]
        .concat(),
        include: [
            sourced(&settings.team_include, Source::Team),
            sourced(&settings.include, Source::User),
            sourced(include, Source::Flag),
        ]
        .concat(),
    })
    .map_err(|error| of_whom(settings, include, exclude, error))?;
    let mut text = Vec::new();
    for part in [&info[..], &global, &globs.fingerprint()[..]] {
        // With its length: a line that moves from one file to the other must change the text.
        text.extend_from_slice(&(part.len() as u64).to_le_bytes());
        text.extend_from_slice(part);
    }
    text.extend_from_slice(&settings.max_file_size.to_le_bytes());
    text.extend_from_slice(&[u8::from(ignore_case), u8::from(repo.file_mode()?)]);
    let left_alone = Unsaved::of_stay(&ctx.state_dir())?.left_alone;
    for paths in [&left_alone.roots, &left_alone.written] {
        for path in paths {
            text.extend_from_slice(path);
            text.push(0);
        }
        text.push(0);
    }
    let globals = Globals {
        left_alone,
        info_exclude: PatternFile::parse(&info, b""),
        excludes_file: PatternFile::parse(&global, b""),
        ignore_case,
    };
    Ok((Arc::new(globals), Arc::new(globs), text))
}

/// The error of globs that cannot be read, said of where the first of them stands, with what mends it there.
fn of_whom(settings: &Settings, include: &[String], exclude: &[String], error: Error) -> Error {
    for (flag, globs) in [("--exclude", exclude), ("--include", include)] {
        for glob in globs {
            if let Some(reason) = problem(glob, Source::Flag) {
                return Error::usage(format!("invalid glob '{glob}' of {flag}: {reason}"))
                    .hint("globs are written as in gitignore(5): '*.log', 'data/raw/'");
            }
        }
    }
    let bad = settings.bad_globs().into_iter().next();
    bad.map_or(error, Error::from)
}

/// The bytes of the `.gitignore` of a directory in a tree.
pub fn load_ignore_file(objects: &ObjectStore, tree: Oid, dir: &[u8]) -> Option<Vec<u8>> {
    let full = crate::git::path::join(dir, b".gitignore");
    let node = tree::find(objects, tree, &full).ok()??;
    // git does not follow a `.gitignore` that is a symbolic link.
    if node.mode & 0o170_000 != 0o100_000 {
        return None;
    }
    objects.read(node.oid).ok().map(|(_, bytes)| bytes)
}
