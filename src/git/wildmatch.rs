//! git's glob matching over bytes: what one pattern of `gitignore(5)`, of `gitattributes(5)` or of an `includeIf` matches.
//!
//! Promises git's answers, oddities included, checked against git itself by the oracle tests. Where git recurses and
//! prunes with its abort results, this walks with two places to go back to (the last `*` and the last `**`), which
//! is enough because an earlier one could not match anything more. No pattern takes more than polynomial time.
//! Leaves out what surrounds a pattern in a file (`!`, a leading or trailing `/`): see `worktree::pattern`.

mod class;

/// How a pattern is read: git's `WM_PATHNAME` and `WM_CASEFOLD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// `*`, `?` and brackets do not match `/`; `**` between slashes does.
    pub pathname: bool,
    /// ASCII letters match in either case (`core.ignoreCase`).
    pub fold_case: bool,
}

impl Flags {
    /// `pathname` alone: paths, and names of branches.
    pub const PATHNAME: Self = Self {
        pathname: true,
        fold_case: false,
    };
}

/// Whether `pattern` matches the whole of `text`. A malformed pattern (an open bracket, a lone backslash at the end)
/// matches nothing.
pub fn wildmatch(pattern: &[u8], text: &[u8], flags: Flags) -> bool {
    let mut matcher = Matcher {
        pattern,
        text,
        flags,
        at: Place::default(),
        star: None,
        stars: None,
    };
    loop {
        match matcher.step() {
            Step::Matched => return true,
            Step::Never => return false,
            Step::Further => {}
            Step::Mismatch => {
                if !matcher.go_back() {
                    return false;
                }
            }
        }
    }
}

/// The bytes that a bracket expression matches, and its length; `pattern` begins behind its `[`. `None` when it is malformed.
pub fn bracket_expression(pattern: &[u8], fold_case: bool) -> Option<([bool; 256], usize)> {
    let mut members = [false; 256];
    let mut end = 0;
    for byte in 0..=u8::MAX {
        let folded = if fold_case {
            byte.to_ascii_lowercase()
        } else {
            byte
        };
        (members[usize::from(byte)], end) = class::matches(pattern, 0, folded, fold_case)?;
    }
    Some((members, end))
}

/// Whether a byte starts something other than itself in a pattern.
pub fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// A position in the pattern and in the text.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    pattern: usize,
    text: usize,
}

enum Step {
    Matched,
    /// Nothing that could still be tried would match.
    Never,
    Further,
    Mismatch,
}

struct Matcher<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    flags: Flags,
    at: Place,
    /// Where to go on after the last `*`, and the first byte of text it has not taken.
    star: Option<Place>,
    /// The same for the last `**/`; it takes whole components.
    stars: Option<Place>,
}

impl Matcher<'_> {
    /// Consumes one element of the pattern.
    fn step(&mut self) -> Step {
        let Some(&wanted) = self.pattern.get(self.at.pattern) else {
            return if self.at.text == self.text.len() {
                Step::Matched
            } else {
                Step::Mismatch
            };
        };
        if wanted == b'*' {
            return self.asterisks();
        }
        // Going back only ever leaves less text for the same need.
        let Some(&byte) = self.text.get(self.at.text) else {
            return Step::Never;
        };
        let byte = self.fold(byte);
        let (matched, next) = match wanted {
            b'?' => (!self.stops(byte), self.at.pattern + 1),
            b'[' => {
                match class::matches(
                    self.pattern,
                    self.at.pattern + 1,
                    byte,
                    self.flags.fold_case,
                ) {
                    None => return Step::Never,
                    Some((matched, next)) => (matched && !self.stops(byte), next),
                }
            }
            // git folds the backslash, not what it escapes: `\A` matches nothing where case is ignored.
            b'\\' => match self.pattern.get(self.at.pattern + 1) {
                None => return Step::Never,
                Some(&escaped) => (escaped == byte, self.at.pattern + 2),
            },
            literal => (self.fold(literal) == byte, self.at.pattern + 1),
        };
        if !matched {
            return Step::Mismatch;
        }
        if self.stops(byte) {
            // No `*` before this slash could have ended elsewhere.
            self.star = None;
        }
        self.at = Place {
            pattern: next,
            text: self.at.text + 1,
        };
        Step::Further
    }

    /// A run of `*`: one that crosses slashes, or one that stays within a component.
    fn asterisks(&mut self) -> Step {
        let begin = self.at.pattern;
        let run = self.pattern[begin..]
            .iter()
            .take_while(|&&byte| byte == b'*')
            .count();
        let end = begin + run;
        let rest = &self.pattern[end..];
        let crosses = !self.flags.pathname || (run > 1 && self.between_slashes(begin, rest));
        if rest.is_empty() {
            let stays = crosses || !self.text[self.at.text..].contains(&b'/');
            return if stays { Step::Matched } else { Step::Mismatch };
        }
        self.at.pattern = end;
        if crosses && self.flags.pathname {
            return self.components(rest);
        }
        self.star = Some(self.at);
        Step::Further
    }

    /// git's condition for `**` to mean any number of directories.
    fn between_slashes(&self, begin: usize, rest: &[u8]) -> bool {
        let opens = begin == 0 || self.pattern[begin - 1] == b'/';
        opens && (rest.is_empty() || rest[0] == b'/' || rest.starts_with(b"\\/"))
    }

    /// `**/`: no component at all (not when the slash is escaped), or as many as it takes.
    fn components(&mut self, rest: &[u8]) -> Step {
        let slash = if rest[0] == b'/' { 1 } else { 2 };
        self.star = None;
        self.stars = Some(Place {
            pattern: self.at.pattern + slash,
            text: self.at.text,
        });
        if slash == 2 {
            return Step::Mismatch;
        }
        self.at.pattern += slash;
        Step::Further
    }

    /// Lets the last `*` take one byte more, or the last `**/` one component more.
    fn go_back(&mut self) -> bool {
        if let Some(star) = &mut self.star {
            let taken = self.text.get(star.text);
            if taken.is_some_and(|&byte| !(self.flags.pathname && byte == b'/')) {
                star.text += 1;
                self.at = *star;
                return true;
            }
            self.star = None;
        }
        let Some(stars) = &mut self.stars else {
            return false;
        };
        let slash = self.text[stars.text..]
            .iter()
            .position(|&byte| byte == b'/');
        let Some(slash) = slash else {
            return false;
        };
        stars.text += slash + 1;
        self.at = *stars;
        true
    }

    fn fold(&self, byte: u8) -> u8 {
        if self.flags.fold_case {
            byte.to_ascii_lowercase()
        } else {
            byte
        }
    }

    /// Whether only a slash in the pattern may match this byte.
    fn stops(&self, byte: u8) -> bool {
        self.flags.pathname && byte == b'/'
    }
}

#[cfg(test)]
mod tests;
