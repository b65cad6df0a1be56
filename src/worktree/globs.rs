//! Our own globs on top of git's rules: the defaults, `exclude` and `include` of the user, of the team, and of flags.
//!
//! Globs are written as in `gitignore(5)`, with `{a,b}` besides: without a slash a glob holds at every level, with one
//! within or in front it is anchored at the root, and one at the end asks for a directory (what lies beneath follows).
//! Of two that match one path the one nearer to the user speaks: flag, user, team, default; between equals `exclude` does.
//! Default and team globs never hide what git tracks.
//!
//! `globset` matches them: they are few sets, compiled once and asked about every name, where one automaton is up to twice as
//! fast as one pattern after the other. Files of git's patterns are the opposite (hundreds of them, each asked about a few
//! names, of bytes that need not be UTF-8), so [`super::pattern`] matches those by git's own rules. The oracle holds both
//! to the same answers.
//!
//! `include` reaches into left-out directories only when it is anchored, along the way it names: `/data/*/x.db` leads into
//! `data` and what is directly beneath it. An unanchored one is looked for where the scan goes anyway; else a
//! `.env.local` would cost a walk through every `node_modules`.

mod build;
mod secrets;
mod syntax;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use globset::{Candidate, Glob, GlobSet};

use self::build::Builder;
use super::manifest::Kind;
use crate::error::Result;
use crate::git::path::{self, split};

pub use self::secrets::is_secret_name;
pub use self::syntax::literal;

/// What is left out unless the config says otherwise.
pub const DEFAULT_GLOBS: [&str; 14] = [
    "node_modules/",
    ".venv/",
    "venv/",
    "__pycache__/",
    "dist/",
    "build/",
    ".next/",
    "target/",
    ".cache/",
    ".gradle/",
    "*.log",
    "*.pid",
    "*.sock",
    ".DS_Store",
];

/// Who gave a glob; the later, the more it weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `.timewarp/config.toml`, which may come from a stranger: hides nothing tracked, brings back no secret.
    Team,
    /// `git config timewarp.*`.
    User,
    /// The command line.
    Flag,
}

/// Who leaves a path out; the later, the more it weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExcludedBy {
    /// One of [`DEFAULT_GLOBS`].
    Default,
    /// An `exclude` glob.
    Glob(Source),
}

impl ExcludedBy {
    /// Whether an `include` of `source` weighs more.
    pub fn yields_to(self, source: Source) -> bool {
        self < Self::Glob(source)
    }

    /// As what is left out by it is listed.
    pub fn kind(self) -> Kind {
        match self {
            Self::Default => Kind::DefaultExclude,
            Self::Glob(Source::Team) => Kind::TeamExclude,
            Self::Glob(Source::User | Source::Flag) => Kind::UserExclude,
        }
    }

    /// Whether tracked paths are left out, too.
    pub fn hides_tracked(self) -> bool {
        self > Self::Glob(Source::Team)
    }
}

/// Why a glob cannot be taken in from such a place; `None` when it can.
pub fn problem(glob: &str, source: Source) -> Option<String> {
    Check::new(source).problem(glob)
}

/// Tells which globs of one place can be taken in, one after the other: of the team's there may be too many.
pub struct Check {
    builder: Builder,
    source: Source,
}

impl Check {
    /// Begins a check of the globs of one place.
    pub fn new(source: Source) -> Self {
        Self {
            // Whether case counts makes no difference here.
            builder: Builder::new(false),
            source,
        }
    }

    /// Why the next one cannot be taken in; `None` when it can.
    pub fn problem(&mut self, glob: &str) -> Option<String> {
        self.builder.problem(glob, self.source)
    }
}

/// The globs as they are configured.
#[derive(Debug, Clone, Default)]
pub struct GlobSettings {
    /// Whether [`DEFAULT_GLOBS`] hold.
    pub use_defaults: bool,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// Globs that leave out.
    pub exclude: Vec<(String, Source)>,
    /// Globs that bring back.
    pub include: Vec<(String, Source)>,
}

/// The strongest globs that match a path, of either kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hits {
    /// Who leaves it out.
    pub exclude: Option<ExcludedBy>,
    /// Who brings it back.
    pub include: Option<Source>,
}

/// What the globs say of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobVerdict {
    /// No glob speaks.
    None,
    /// A default glob leaves it out.
    Default,
    /// An `exclude` of the user or of a flag leaves it out.
    Exclude(Source),
    /// An `exclude` of the team leaves it out.
    TeamExclude,
    /// An `include` brings it back.
    Include(Source),
}

/// Compiled on first use: a snapshot of an unchanged tree never asks.
#[derive(Debug)]
pub struct Globs {
    names: Part,
    paths: Part,
    /// Directories on the way to what an anchored `include` matches.
    leads: Part,
    /// Paths that are brought back whatever leaves them out.
    shown: BTreeSet<Vec<u8>>,
    fingerprint: [u8; 20],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Exclude(ExcludedBy),
    Include(Source),
}

impl Globs {
    /// Takes the globs in. Of the team's, those that cannot be read or that match everything are left aside; [`Check`] says which.
    ///
    /// # Errors
    /// `INVALID_CONFIG` naming the first other glob that cannot be read.
    pub fn new(settings: &GlobSettings) -> Result<Self> {
        let defaults = if settings.use_defaults {
            &DEFAULT_GLOBS[..]
        } else {
            &[]
        };
        let defaults = defaults
            .iter()
            .map(|&glob| (glob, Effect::Exclude(ExcludedBy::Default)));
        let exclude = settings
            .exclude
            .iter()
            .map(|(glob, source)| (glob.as_str(), Effect::Exclude(ExcludedBy::Glob(*source))));
        let include = settings
            .include
            .iter()
            .map(|(glob, source)| (glob.as_str(), Effect::Include(*source)));
        let mut builder = Builder::new(settings.ignore_case);
        for (text, effect) in defaults.chain(exclude).chain(include) {
            builder.add(text, effect)?;
        }
        builder.finish()
    }

    /// Brings these paths back from now on, whatever leaves them out.
    pub fn show(&mut self, paths: BTreeSet<Vec<u8>>) {
        self.shown = paths;
    }

    /// Equal for equal globs of equal weight; changes when any verdict might, but for what [`show`](Self::show) brings back.
    pub fn fingerprint(&self) -> [u8; 20] {
        self.fingerprint
    }

    /// The strongest globs that match `path` itself, not a directory above it. Whether it is tracked does not count yet.
    pub fn hits(&self, path: &[u8], is_dir: bool) -> Hits {
        let mut hits = Hits::default();
        let mut take = |effect| match effect {
            Effect::Exclude(by) => hits.exclude = hits.exclude.max(Some(by)),
            // The team's file comes with a clone: it must not put a stranger's hand on `.env`.
            Effect::Include(Source::Team) if is_secret(path) => {}
            Effect::Include(source) => hits.include = hits.include.max(Some(source)),
        };
        self.names.each_match(split(path).1, is_dir, &mut take);
        self.paths.each_match(path, is_dir, &mut take);
        if self.shown.contains(path) {
            hits = Hits {
                exclude: None,
                include: Some(Source::Flag),
            };
        }
        hits
    }

    /// What the globs say of `path` itself, not of a directory above it.
    pub fn verdict(&self, path: &[u8], is_dir: bool, tracked: bool) -> GlobVerdict {
        self.hits(path, is_dir).verdict(tracked)
    }

    /// Whether an anchored `include` may match beneath a directory that `left_out` leaves out (`None`: git's rules do),
    /// and weighs more.
    pub fn leads_into(&self, dir: &[u8], left_out: Option<ExcludedBy>) -> bool {
        let mut leads = path::any_within(&self.shown, dir);
        self.leads.each_match(dir, true, &mut |effect| {
            if let Effect::Include(source) = effect {
                let allowed = source > Source::Team || !is_secret(dir);
                leads |= allowed && left_out.is_none_or(|by| by.yields_to(source));
            }
        });
        leads
    }
}

impl Hits {
    /// The stronger of the two, for a path that git tracks or not.
    pub fn verdict(self, tracked: bool) -> GlobVerdict {
        let exclude = self.exclude.filter(|by| !tracked || by.hides_tracked());
        match (self.include, exclude) {
            (Some(source), exclude) if exclude.is_none_or(|by| by.yields_to(source)) => {
                GlobVerdict::Include(source)
            }
            (_, Some(ExcludedBy::Default)) => GlobVerdict::Default,
            (_, Some(ExcludedBy::Glob(Source::Team))) => GlobVerdict::TeamExclude,
            (_, Some(ExcludedBy::Glob(source))) => GlobVerdict::Exclude(source),
            (_, None) => GlobVerdict::None,
        }
    }
}

/// Whether any component looks secret.
fn is_secret(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(is_secret_name)
}

/// Globs that are matched against the same thing.
#[derive(Debug, Default)]
struct Part {
    globs: Vec<Glob>,
    /// Beside `globs`: what a match does, and whether it must be a directory.
    effects: Vec<(Effect, bool)>,
    set: OnceLock<GlobSet>,
}

impl Part {
    fn add(&mut self, glob: Glob, effect: Effect, dir_only: bool) {
        self.globs.push(glob);
        self.effects.push((effect, dir_only));
    }

    fn compile(&self) -> std::result::Result<GlobSet, globset::Error> {
        GlobSet::new(&self.globs)
    }

    fn each_match(&self, text: &[u8], is_dir: bool, take: &mut impl FnMut(Effect)) {
        if self.globs.is_empty() {
            return;
        }
        // Leaving nothing out is the side to err on.
        let set = self.set.get_or_init(|| self.compile().unwrap_or_default());
        let candidate = Candidate::from_bytes(text);
        // Nearly every name matches nothing, which is told without making a list.
        if !set.is_match_candidate(&candidate) {
            return;
        }
        for index in set.matches_candidate(&candidate) {
            match self.effects.get(index) {
                Some(&(effect, dir_only)) if is_dir || !dir_only => take(effect),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
