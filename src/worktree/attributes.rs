//! git's attributes, as far as they say that a file's bytes may differ from its blob's.
//!
//! Answers one question: may an index entry's object id stand for the raw bytes in the working tree? When in doubt the
//! answer is that it may not. Macros, precedence (`info/attributes`, the deepest `.gitattributes`, those above it,
//! `core.attributesFile`, the system's) and matching are git's. Converts nothing, reads no files: callers bring the bytes,
//! read no-follow as git does.

mod parse;

use std::collections::HashMap;
use std::sync::Arc;

use self::parse::{Line, Macros, NamedStates, State};
use super::pattern::{Pattern, Subject};
use crate::error::Result;

/// The attributes that change bytes; their places are [`Values`]' first.
const CONVERTING: [&[u8]; 6] = [
    b"text",
    b"crlf",
    b"eol",
    b"ident",
    b"filter",
    b"working-tree-encoding",
];
const TEXT: usize = 0;
const CRLF: usize = 1;
const EOL: usize = 2;
const IDENT: usize = 3;
const FILTER: usize = 4;
const ENCODING: usize = 5;

/// What may happen to a path's bytes between the working tree and the object store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversion {
    /// The driver that `filter` names (`lfs`, for one), whether or not the config knows it.
    pub filter: Option<Arc<[u8]>>,
    /// `working-tree-encoding` is mentioned.
    pub encoding: bool,
    /// Line ends may be converted, which only adds or removes bytes.
    pub eol: bool,
    /// `$Id$` is expanded, which only adds or removes bytes.
    pub ident: bool,
    /// When CR LF becomes LF as the file is added, as far as attributes say so.
    pub normalized: Normalized,
}

/// Of which files git makes CR LF to LF when it adds them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Normalized {
    /// No attribute says that it does.
    #[default]
    Unsaid,
    /// Of those that it takes for text, unless the blob has CR LF: `text=auto`.
    WhereText,
    /// Of all, even where the blob has it: they are text whatever they look like.
    Always,
}

impl Conversion {
    /// Whether the blob surely has the file's own bytes.
    pub fn is_none(&self) -> bool {
        self.filter.is_none() && !self.encoding && !self.eol && !self.ident
    }
}

/// The files of attributes that hold everywhere, and the root's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttributeFiles<'a> {
    /// `gitattributes` in the system's configuration directory.
    pub system: Option<&'a [u8]>,
    /// The file that `core.attributesFile` names, or git's default for it.
    pub global: Option<&'a [u8]>,
    /// The `.gitattributes` of the root.
    pub root: Option<&'a [u8]>,
    /// `info/attributes` of the common git directory.
    pub info: Option<&'a [u8]>,
}

/// What the config says that bears on conversion.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttributeConfig {
    /// `core.autocrlf` is `true` or `input`, or `core.eol` is set: any file that is not `-text` may be converted.
    pub converts_eol: bool,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
}

/// The attributes that hold in one directory. Cheap to clone and to extend while descending; shared across threads.
#[derive(Debug, Clone)]
pub struct DirAttributes {
    shared: Arc<Shared>,
    deepest: Option<Arc<Level>>,
}

/// Lines that matter, in the order they stand; the last match counts.
type Rules = Vec<(Pattern, States)>;
/// Place of the attribute, and what the line gives it.
type States = Vec<(usize, State)>;
/// What is known of each attribute so far.
type Values<'a> = Vec<Option<&'a State>>;

#[derive(Debug)]
struct Shared {
    config: AttributeConfig,
    /// The converting attributes, then the macros that lead to them.
    names: Vec<Box<[u8]>>,
    /// What an attribute that is also a macro stands for.
    expansions: Vec<States>,
    info: Rules,
    /// Below every `.gitattributes`, in order of falling weight.
    outer: Vec<Rules>,
}

#[derive(Debug)]
struct Level {
    base: Box<[u8]>,
    rules: Rules,
    above: Option<Arc<Level>>,
}

impl DirAttributes {
    /// The attributes in the root. Only here are macros taken in, as git has it.
    pub fn root(files: AttributeFiles<'_>, config: AttributeConfig) -> Self {
        let read = |bytes: Option<&[u8]>| parse::parse(bytes.unwrap_or_default(), Macros::Allowed);
        let parsed = [
            read(files.info),
            read(files.root),
            read(files.global),
            read(files.system),
            // git's only built-in macro, which any file may define anew.
            read(Some(b"[attr]binary -diff -merge -text")),
        ];
        let mut shared = Shared::with_macros(&parsed, config);
        let [info, root, global, system, _] = parsed;
        shared.info = shared.keep(info);
        shared.outer = vec![shared.keep(global), shared.keep(system)];
        let root = shared.keep(root);
        let shared = Arc::new(shared);
        let above = Self {
            shared,
            deepest: None,
        };
        above.with(b"", root)
    }

    /// The attributes in `dir` (its whole path, not the root), given the bytes of its `.gitattributes`.
    #[must_use]
    pub fn descend(&self, dir: &[u8], gitattributes: Option<&[u8]>) -> Self {
        // git takes macros from the root's file and those outside the working tree only.
        let lines = parse::parse(gitattributes.unwrap_or_default(), Macros::Refused);
        self.with(dir, self.shared.keep(lines))
    }

    fn with(&self, dir: &[u8], rules: Rules) -> Self {
        let mut extended = self.clone();
        if !rules.is_empty() {
            extended.deepest = Some(Arc::new(Level {
                base: dir.into(),
                rules,
                above: extended.deepest,
            }));
        }
        extended
    }

    /// Whether no file directly in this directory is converted, because nothing that holds here mentions it.
    pub fn is_trivial(&self) -> bool {
        let shared = &self.shared;
        self.deepest.is_none()
            && shared.info.is_empty()
            && shared.outer.iter().all(Vec::is_empty)
            && !shared.config.converts_eol
    }

    /// What may happen to the bytes of a file directly in this directory, given by its whole path.
    pub fn conversion(&self, path: &[u8]) -> Conversion {
        if self.is_trivial() {
            return Conversion::default();
        }
        let values = self.values(path);
        let filter = match values[FILTER] {
            Some(State::Value(driver)) => Some(driver.clone()),
            _ => None,
        };
        Conversion {
            filter,
            // git refuses to work with a state that names no encoding: doubt enough.
            encoding: !matches!(values[ENCODING], None | Some(State::Unspecified)),
            eol: self.may_convert_eol(&values),
            ident: is_on(values[IDENT]),
            normalized: normalized(&values),
        }
    }

    fn may_convert_eol(&self, values: &Values<'_>) -> bool {
        for attribute in [TEXT, CRLF] {
            match values[attribute] {
                Some(State::Unset) => return false,
                state if is_on(state) => return true,
                _ => {}
            }
        }
        is_on(values[EOL]) || self.shared.config.converts_eol
    }

    /// The state of every attribute in `names`; the first six are [`CONVERTING`].
    fn values(&self, path: &[u8]) -> Values<'_> {
        let shared = &*self.shared;
        let mut values = vec![None; shared.names.len()];
        shared.fill(&mut values, &shared.info, path, b"");
        let mut level = self.deepest.as_deref();
        while let Some(Level { base, rules, above }) = level {
            shared.fill(&mut values, rules, path, base);
            level = above.as_deref();
        }
        for rules in &shared.outer {
            shared.fill(&mut values, rules, path, b"");
        }
        values
    }
}

/// What `text` says of a file, or `crlf` or `eol` where it says nothing.
fn normalized(values: &Values<'_>) -> Normalized {
    let is_always = match (values[TEXT], values[CRLF]) {
        (Some(State::Value(value)), _) if **value == *b"auto" => return Normalized::WhereText,
        (Some(State::Value(_) | State::Set), _) => true,
        (Some(State::Unset), _) | (_, Some(State::Unset)) => false,
        (_, crlf) => is_on(crlf) || is_on(values[EOL]),
    };
    if is_always {
        Normalized::Always
    } else {
        Normalized::Unsaid
    }
}

fn is_on(state: Option<&State>) -> bool {
    matches!(state, Some(State::Set | State::Value(_)))
}

impl Shared {
    /// Gathers the macros that lead to a converting attribute; of two definitions the weightier counts, in one file the
    /// last.
    fn with_macros(files: &[Vec<Line>], config: AttributeConfig) -> Self {
        let mut macros: HashMap<&[u8], &NamedStates> = HashMap::new();
        for line in files.iter().flat_map(|file| file.iter().rev()) {
            if let Line::Macro(name, states) = line {
                macros.entry(name).or_insert(states);
            }
        }
        let mut names: Vec<Box<[u8]>> = CONVERTING.iter().map(|&name| name.into()).collect();
        let mut known = 0;
        // A macro may lead to another macro: until no further one is found.
        while known != names.len() {
            known = names.len();
            for (name, states) in &macros {
                let leads = states.iter().any(|(name, _)| names.contains(name));
                if leads && !names.iter().any(|known| **known == **name) {
                    names.push((*name).into());
                }
            }
        }
        let mut shared = Self {
            config,
            names,
            expansions: Vec::new(),
            info: Vec::new(),
            outer: Vec::new(),
        };
        let expand = |name: &[u8]| match macros.get(name) {
            Some(states) => shared.places(states),
            None => States::new(),
        };
        shared.expansions = shared.names.iter().map(|name| expand(name)).collect();
        shared
    }

    fn places(&self, states: &NamedStates) -> States {
        let place = |wanted: &[u8]| self.names.iter().position(|name| **name == *wanted);
        states
            .iter()
            .filter_map(|(name, state)| Some((place(name)?, state.clone())))
            .collect()
    }

    /// Keeps of a file what can change an answer.
    fn keep(&self, lines: Vec<Line>) -> Rules {
        let kept = lines.into_iter().filter_map(|line| match line {
            Line::Macro(..) => None,
            Line::Pattern(pattern, states) => Some((pattern, self.places(&states))),
        });
        kept.filter(|(_, states)| !states.is_empty()).collect()
    }

    fn fill<'a>(&'a self, values: &mut Values<'a>, rules: &'a Rules, path: &[u8], base: &[u8]) {
        if rules.is_empty() {
            return;
        }
        let subject = Subject::new(path, base, false);
        // The last line that matches weighs most, and the first state that an attribute gets counts.
        for (pattern, states) in rules.iter().rev() {
            if pattern.matches(subject, self.config.ignore_case) {
                self.give(values, states);
            }
        }
    }

    /// Gives states to attributes that have none yet, a macro's own along with it.
    fn give<'a>(&'a self, values: &mut Values<'a>, states: &'a States) {
        for (attribute, state) in states.iter().rev() {
            if values[*attribute].is_none() {
                values[*attribute] = Some(state);
                // Only a macro that is set stands for its attributes; `-binary` says nothing of `text`.
                if *state == State::Set {
                    self.give(values, &self.expansions[*attribute]);
                }
            }
        }
    }
}

/// Judges whole paths, in any order, with the `.gitattributes` files that a callback yields. Each directory is asked for
/// once, the root never.
pub struct Attributes<F> {
    load: F,
    seen: HashMap<Box<[u8]>, DirAttributes>,
    root: DirAttributes,
}

impl<F: FnMut(&[u8]) -> Result<Option<Vec<u8>>>> Attributes<F> {
    /// Starts from the root's attributes. `load` is given a directory's path and yields the bytes of its
    /// `.gitattributes`.
    pub fn new(root: DirAttributes, load: F) -> Self {
        Self {
            load,
            seen: HashMap::new(),
            root,
        }
    }

    /// The attributes that hold in a directory.
    ///
    /// # Errors
    /// What the callback returns.
    pub fn directory(&mut self, dir: &[u8]) -> Result<DirAttributes> {
        if dir.is_empty() {
            return Ok(self.root.clone());
        }
        if let Some(seen) = self.seen.get(dir) {
            return Ok(seen.clone());
        }
        let mut attributes = self.root.clone();
        let slashes = dir.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(slash, _)| slash).chain([dir.len()]);
        for dir in ends.map(|end| &dir[..end]) {
            if let Some(seen) = self.seen.get(dir) {
                attributes = seen.clone();
            } else {
                attributes = attributes.descend(dir, (self.load)(dir)?.as_deref());
                self.seen.insert(dir.into(), attributes.clone());
            }
        }
        Ok(attributes)
    }

    /// The attributes that hold in a directory of which it is known whether it has a file of them.
    ///
    /// # Errors
    /// What the callback returns.
    pub fn enter(&mut self, dir: &[u8], has_file: bool) -> Result<DirAttributes> {
        if has_file || dir.is_empty() || self.seen.contains_key(dir) {
            return self.directory(dir);
        }
        let above = self.directory(crate::git::path::split(dir).0)?;
        self.seen.insert(dir.into(), above.clone());
        Ok(above)
    }

    /// What may happen to the bytes of the file at `path`.
    ///
    /// # Errors
    /// What the callback returns.
    pub fn conversion(&mut self, path: &[u8]) -> Result<Conversion> {
        let (dir, _) = crate::git::path::split(path);
        Ok(self.directory(dir)?.conversion(path))
    }
}

#[cfg(test)]
pub(super) mod tests;
