//! Which files are looked at: pathspecs, and globs as ripgrep has them.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::Among;
use crate::error::{Code, Error, Result};
use crate::git::path;
use crate::ops::pathspec::Pathspec;

/// A `-g`.
#[derive(Debug)]
struct Glob {
    /// With `!` before it.
    excludes: bool,
    /// With `/` behind it: it is for directories alone.
    of_dirs: bool,
    matcher: GlobMatcher,
}

/// The files that are looked at.
#[derive(Debug, Default)]
pub struct Files {
    paths: Pathspec,
    globs: Vec<Glob>,
}

impl Files {
    /// Those that a pathspec takes and the globs let through.
    ///
    /// # Errors
    /// `USAGE` for a glob that is none.
    pub fn new(paths: Pathspec, globs: &[String]) -> Result<Self> {
        Ok(Self {
            paths,
            globs: globs
                .iter()
                .map(|glob| Glob::new(glob))
                .collect::<Result<_>>()?,
        })
    }

    /// The last glob that matches decides; where none does, a file is left out when some glob asks for files.
    fn lets_through(&self, file: &[u8]) -> bool {
        let last = self.globs.iter().rev().find(|glob| glob.matches(file));
        match last {
            Some(glob) => !glob.excludes,
            None => self.globs.iter().all(|glob| glob.excludes),
        }
    }
}

impl Among for Files {
    fn takes(&self, file: &[u8]) -> bool {
        self.paths.matches(file) && self.lets_through(file)
    }

    fn enters(&self, dir: &[u8]) -> bool {
        self.paths.may_match_in(dir)
    }
}

impl Glob {
    fn new(text: &str) -> Result<Self> {
        let excluded = text.strip_prefix('!');
        let glob = excluded.unwrap_or(text);
        // Without a slash within or in front it holds at every level, as in gitignore(5).
        let (anchored, glob) = match glob.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (glob.trim_end_matches('/').contains('/'), glob),
        };
        let (of_dirs, glob) = match glob.strip_suffix('/') {
            Some(dir) => (true, dir),
            None => (false, glob),
        };
        let glob = if anchored {
            glob.to_owned()
        } else {
            format!("**/{glob}")
        };
        let built = GlobBuilder::new(&glob)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let built = built.map_err(|error| {
            let message = format!("'{}' is not a glob: {}", text.escape_debug(), error.kind());
            Error::new(Code::Usage, message).hint("as in gitignore(5), with {a,b} besides")
        })?;
        Ok(Self {
            excludes: excluded.is_some(),
            of_dirs,
            matcher: built.compile_matcher(),
        })
    }

    /// What excludes a directory excludes all in it; what asks for files asks for each by itself.
    fn matches(&self, file: &[u8]) -> bool {
        let is = |path: &[u8]| {
            self.matcher
                .is_match(Path::new(std::ffi::OsStr::from_bytes(path)))
        };
        let mut dir = path::split(file).0;
        if !self.of_dirs && is(file) {
            return true;
        }
        while self.excludes && !dir.is_empty() {
            if is(dir) {
                return true;
            }
            dir = path::split(dir).0;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(globs: &[String]) -> Result<Files> {
        Files::new(Pathspec::default(), globs)
    }

    fn takes(globs: &[&str], file: &str) -> bool {
        let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
        files(&globs).expect("globs").takes(file.as_bytes())
    }

    #[test]
    fn globs_are_those_of_ripgrep() {
        for (globs, file, wanted) in [
            (&[][..], "a/b.rs", true),
            (&["*.rs"], "a/b.rs", true),
            (&["*.{rs,toml}"], "Cargo.toml", true),
            (&["*.rs"], "a/b.c", false),
            (&["!*.rs"], "a/b.rs", false),
            (&["!*.rs"], "a/b.c", true),
            (&["*.rs", "!a/*"], "a/b.rs", false),
            (&["!a/*", "*.rs"], "a/b.rs", true),
            (&["!target/"], "x/target/b/c.rs", false),
            (&["!b.rs/"], "a/b.rs", true),
            (&["b.rs/"], "a/b.rs", false),
            (&["/a/*.rs"], "x/a/b.rs", false),
            (&["a/**/*.rs"], "a/x/y/b.rs", true),
            (&["a/*.rs"], "a/x/b.rs", false),
        ] {
            assert_eq!(takes(globs, file), wanted, "{globs:?} {file}");
        }
        assert!(files(&["a[".to_owned()]).is_err());
    }
}
