//! git's own hooks: `pre-push` refuses to publish what is `tw`'s by accident, `post-checkout` takes a bookmark.
//!
//! Our lines stand in a marked block right behind the first line, so that a hook that ends early still runs them; what the
//! rest of a `pre-push` hook reads is handed on to it. A hook that is no shell script, a symlink, and a hooks directory
//! outside of this repository's git directory are left alone: the block is printed.

use std::path::{Path, PathBuf};

use super::files::{Change, carry_out, write};
use super::{Install, Installed, Printed, Way};
use crate::agents::edit::{has_block, put_block, take_block};
use crate::error::Result;
use crate::git::fs;
use crate::ops::Context;
use crate::store::names;
use crate::text::typed_path;

/// A hook that did not exist begins, and ends, with this.
const SHEBANG: &str = "#!/bin/sh\n";

/// Deleting such refs elsewhere is right: then the local side is `(delete)` and its id all zeros. `@REFS@` and `@NOTES@` stand for
/// the prefixes of our refs.
// A here-document and no pipe: there the loop would run in a shell of its own, whose `exit` stops no push.
const PRE_PUSH: &str = r#"tw_refs=$(cat)
while read -r tw_local tw_id tw_remote tw_rest; do
    case "$tw_local $tw_remote" in
    "(delete) "*) ;;
    @REFS@* | @NOTES@* | *" @REFS@"* | *" @NOTES@"*)
        echo "error: '$tw_local' is tw's and stays in this repository" >&2
        echo "hint: 'git push --no-verify' publishes it all the same" >&2
        exit 1
        ;;
    esac
done <<TW_REFS
$tw_refs
TW_REFS
if test -n "$tw_refs"; then
    exec <<TW_REFS
$tw_refs
TW_REFS
else
    exec </dev/null
fi
"#;

/// Not for file checkouts, clones and new worktrees (the old id is all zeros, of which nothing is left), nor in the middle of a
/// rebase.
const POST_CHECKOUT: &str = r#"tw_old=${1#"${1%%[!0]*}"}
case "$3 ${tw_old:-zeros} ${GIT_REFLOG_ACTION-}" in
"0 "* | *" zeros "* | *" rebase"*) ;;
*)
    tw_dir=$(git rev-parse --git-dir)
    if test ! -d "$tw_dir/rebase-merge" && test ! -d "$tw_dir/rebase-apply" && command -v tw >/dev/null 2>&1; then
        tw -q snapshot --if-changed --trigger post-checkout -m "after checkout" </dev/null >/dev/null 2>&1 || :
    fi
    ;;
esac
"#;

const HOOKS: [(&str, &str); 2] = [("pre-push", PRE_PUSH), ("post-checkout", POST_CHECKOUT)];

/// Puts both blocks in, or takes them out. A hook that cannot be read or written is noted.
pub fn install(ctx: &Context<'_>, request: &Install, done: &mut Installed) {
    let dir = ctx.repo.hooks_dir();
    let is_own = lies_within(&dir, ctx.repo.common_dir()) || lies_within(&dir, ctx.repo.git_dir());
    for (name, body) in HOOKS {
        let body = body
            .replace("@REFS@", names::ROOT)
            .replace("@NOTES@", names::NOTES);
        let path = dir.join(name);
        if let Err(error) = install_one(&path, &body, is_own, request, done) {
            done.leave_for(path, &error);
        }
    }
}

fn install_one(
    path: &Path,
    body: &str,
    is_own: bool,
    request: &Install,
    done: &mut Installed,
) -> Result<()> {
    let old = fs::read_optional(path)?.map(String::from_utf8);
    let reason = match &old {
        _ if !is_own && !request.yes => {
            Some("lies outside of this repository's git directory (core.hooksPath)")
        }
        _ if path.is_symlink() => Some("is a symbolic link"),
        Some(Err(_)) => Some("is not a shell script"),
        Some(Ok(text)) if !is_shell(text) => Some("is not a shell script"),
        _ => None,
    };
    let old = old.and_then(std::result::Result::ok);
    if request.way == Way::Out && !old.as_deref().is_some_and(has_block) {
        return Ok(());
    }
    if let Some(reason) = reason {
        left_alone(path, body, reason, is_own, request, done);
        return Ok(());
    }
    match request.way {
        Way::In => put_in(path, old.as_deref(), body, done),
        Way::Out => take_out(path, &old.unwrap_or_default(), done),
    }
}

fn lies_within(dir: &Path, git_dir: &Path) -> bool {
    fs::resolved(dir).starts_with(fs::resolved(git_dir))
}

/// Whether a hook is run by a shell of Bourne's kind: without a first line of its own git hands it to `sh`.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let Some(program) = first.strip_prefix("#!") else {
        return true;
    };
    let mut words = program.split_whitespace();
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let mut shell = words.next().map(name).unwrap_or_default();
    if shell == "env" {
        shell = words
            .find(|word| !word.starts_with('-'))
            .map(name)
            .unwrap_or_default();
    }
    matches!(
        shell.as_str(),
        "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh" | "busybox"
    )
}

fn left_alone(
    path: &Path,
    body: &str,
    reason: &str,
    is_own: bool,
    request: &Install,
    done: &mut Installed,
) {
    let what = match request.way {
        Way::In => "add these lines after its first line",
        Way::Out => "remove the lines between the marks by hand",
    };
    let how = if is_own {
        ""
    } else {
        "; --yes does it for you"
    };
    done.notices
        .push(format!("'{}' {reason}; {what}{how}", path.display()));
    if request.way == Way::In {
        done.printed.push(Printed {
            path: path.to_owned(),
            text: put_block("\n", body, Some(0)).trim_end().to_owned() + "\n",
        });
    }
}

fn put_in(path: &Path, old: Option<&str>, body: &str, done: &mut Installed) -> Result<()> {
    let text = old.unwrap_or(SHEBANG);
    let first = if text.starts_with("#!") {
        text.find('\n').map(|end| end + 1)
    } else {
        Some(0)
    };
    let new = match first {
        Some(first) => put_block(text, body, Some(first)),
        None => put_block(text, body, None),
    };
    if old == Some(&new) {
        done.unchanged.push(path.to_owned());
        return Ok(());
    }
    if !done.dry_run {
        write(path, old, (&new, 0o777), done)?;
    }
    let is_run = path.metadata().is_ok_and(|meta| {
        use std::os::unix::fs::PermissionsExt;
        meta.permissions().mode() & 0o111 != 0
    });
    if old.is_some() && !is_run {
        done.notices.push(format!(
            "git runs no hook that is not executable: 'chmod +x {}'",
            typed_path(path)
        ));
    }
    done.changed.push(PathBuf::from(path));
    Ok(())
}

fn take_out(path: &Path, old: &str, done: &mut Installed) -> Result<()> {
    let left = take_block(old);
    let change = if left == SHEBANG {
        Change::Remove
    } else {
        Change::Write(left)
    };
    carry_out(path, Some(old), change, done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_are_known_by_their_first_line() {
        for (text, shell) in [
            ("echo\n", true),
            ("#!/bin/sh\n", true),
            ("#!/usr/bin/env bash\n", true),
            ("#!/usr/bin/env -S bash -e\n", true),
            ("#! /bin/dash -e\n", true),
            ("#!/usr/bin/env python3\n", false),
            ("#!/usr/bin/perl\n", false),
            ("#!", false),
        ] {
            assert_eq!(is_shell(text), shell, "{text:?}");
        }
    }
}
