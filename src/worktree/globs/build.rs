//! From the config's text to globs ready to compile: checks, weights and the fingerprint.

use std::collections::BTreeSet;

use globset::{Glob, GlobBuilder, GlobSet};
use sha1::{Digest, Sha1};

use super::syntax::{Scope, Syntax};
use super::{Effect, ExcludedBy, Globs, Part, Source};
use crate::error::{Code, Error, Result};

/// More than this is compiled at once, so that a failure is an error and not a surprise. What is less cannot reach
/// `globset`'s limit.
const MAX_LAZY: usize = 16 * 1024;
/// The team gets no more than this, so that it cannot make the user's own globs fail.
const MAX_TEAM: usize = 8 * 1024;

/// Takes globs in one by one.
pub(super) struct Builder {
    ignore_case: bool,
    globs: Globs,
    hasher: Sha1,
    /// What is kept, the team's part of it apart.
    bytes: usize,
    team_bytes: usize,
}

impl Builder {
    pub(super) fn new(ignore_case: bool) -> Self {
        let mut hasher = Sha1::new();
        // The first number changes whenever some glob comes to mean something else.
        hasher.update([2, u8::from(ignore_case)]);
        Self {
            ignore_case,
            globs: Globs {
                names: Part::default(),
                paths: Part::default(),
                leads: Part::default(),
                shown: BTreeSet::new(),
                fingerprint: [0; 20],
            },
            hasher,
            bytes: 0,
            team_bytes: 0,
        }
    }

    pub(super) fn add(&mut self, text: &str, effect: Effect) -> Result<()> {
        let is_team = matches!(
            effect,
            Effect::Exclude(ExcludedBy::Glob(Source::Team)) | Effect::Include(Source::Team)
        );
        match self.read(text, is_team) {
            Ok(read) => {
                self.hash(text, effect);
                self.keep(read, effect);
            }
            Err(_) if is_team => {}
            Err(reason) => {
                let message = format!("invalid glob '{text}': {reason}");
                return Err(Error::new(Code::InvalidConfig, message));
            }
        }
        Ok(())
    }

    pub(super) fn problem(&mut self, text: &str, source: Source) -> Option<String> {
        self.read(text, source == Source::Team).err()
    }

    fn read(&mut self, text: &str, is_team: bool) -> std::result::Result<Read, String> {
        let syntax = Syntax::parse(text, self.ignore_case)?;
        let separators = syntax.scope == Scope::Path;
        let glob = self.glob(&syntax.glob, separators)?;
        if is_team && !syntax.names_a_byte && matches_everything(&glob) {
            return Err("it matches everything".to_owned());
        }
        let leads = syntax.leads.iter().map(|lead| self.glob(lead, true));
        let leads = leads.collect::<std::result::Result<_, _>>()?;
        if is_team {
            self.team_bytes += syntax.leads.iter().map(String::len).sum::<usize>() + text.len();
            if self.team_bytes > MAX_TEAM {
                return Err("there are too many".to_owned());
            }
        }
        Ok(Read {
            syntax,
            glob,
            leads,
        })
    }

    fn glob(&self, text: &str, separators: bool) -> std::result::Result<Glob, String> {
        GlobBuilder::new(text)
            .literal_separator(separators)
            .backslash_escape(true)
            // As shells have it: `{,x}` stands for nothing or `x`.
            .empty_alternates(true)
            .case_insensitive(self.ignore_case)
            .build()
            .map_err(|error| error.kind().to_string())
    }

    fn keep(&mut self, read: Read, effect: Effect) {
        self.bytes += read.syntax.glob.len();
        let dir_only = read.syntax.dir_only;
        match read.syntax.scope {
            Scope::Name => self.globs.names.add(read.glob, effect, dir_only),
            Scope::Path => self.globs.paths.add(read.glob, effect, dir_only),
        }
        if matches!(effect, Effect::Include(_)) {
            for lead in read.leads {
                self.bytes += lead.glob().len();
                self.globs.leads.add(lead, effect, true);
            }
        }
    }

    fn hash(&mut self, text: &str, effect: Effect) {
        let tag: &[u8] = match effect {
            Effect::Exclude(ExcludedBy::Default) => b"d",
            Effect::Exclude(ExcludedBy::Glob(Source::Team)) => b"xt",
            Effect::Exclude(ExcludedBy::Glob(Source::User)) => b"xu",
            Effect::Exclude(ExcludedBy::Glob(Source::Flag)) => b"xf",
            Effect::Include(Source::Team) => b"it",
            Effect::Include(Source::User) => b"iu",
            Effect::Include(Source::Flag) => b"if",
        };
        // A glob cannot hold a zero byte, so no two lists hash alike.
        for part in [tag, b"\0", text.as_bytes(), b"\0"] {
            self.hasher.update(part);
        }
    }

    pub(super) fn finish(self) -> Result<Globs> {
        let mut globs = self.globs;
        globs.fingerprint = self.hasher.finalize().into();
        if self.bytes > MAX_LAZY {
            for part in [&globs.names, &globs.paths, &globs.leads] {
                let set = part.compile().map_err(|error| {
                    Error::new(Code::InvalidConfig, format!("too many globs: {error}"))
                })?;
                part.set.get_or_init(|| set);
            }
        }
        Ok(globs)
    }
}

struct Read {
    syntax: Syntax,
    glob: Glob,
    leads: Vec<Glob>,
}

/// Whether ordinary names, or paths of one depth, match without exception.
fn matches_everything(glob: &Glob) -> bool {
    // They have no letter that all share, differ in length, and some have no dot: no useful glob matches every one.
    const NAMES: [&str; 5] = ["quince.txt", "zebra", "src-main", "module_1.rs", "beta"];
    let Ok(set) = GlobSet::new([glob]) else {
        return false;
    };
    ["", "one/", "one/two/"].iter().any(|above| {
        NAMES
            .iter()
            .all(|name| set.is_match(format!("{above}{name}")))
    })
}
