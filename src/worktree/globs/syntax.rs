//! Reads a glob of ours as `gitignore(5)` would, and puts it into what `globset` understands.
//!
//! Brackets are read as git reads them (`globset` knows neither `[[:digit:]]` nor a backslash in them). What git takes
//! for an oddity of its matcher is not followed: `//` and `\\/` are plain slashes, and `a**/b` never leaves a component.

use crate::git::wildmatch::bracket_expression;

const MAX_LEN: usize = 4096;
/// Well below what a regular expression may nest.
const MAX_DEPTH: usize = 10;
const MAX_PARTS: usize = 100;

/// What a glob is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The last component: no slash in the glob.
    Name,
    /// The whole path.
    Path,
}

/// A glob taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    pub(super) scope: Scope,
    /// For `globset`, with literal separators when the scope is the path.
    pub(super) glob: String,
    pub(super) dir_only: bool,
    /// Globs of the directories that lead to what an anchored glob can match; none for others.
    pub(super) leads: Vec<String>,
    /// Whether every match must contain some byte that the glob names.
    pub(super) names_a_byte: bool,
}

impl Syntax {
    /// Reads a glob.
    ///
    /// # Errors
    /// Says in a few words what is wrong. Braces are left to `globset` to check.
    pub(super) fn parse(text: &str, ignore_case: bool) -> Result<Self, &'static str> {
        if text.len() > MAX_LEN {
            return Err("it is too long");
        }
        if text.starts_with('!') {
            return Err("it cannot be negated; use 'include'");
        }
        let mut reader = Reader {
            rest: text,
            ignore_case,
            parts: vec![String::new()],
            depth: 0,
            names_a_byte: false,
        };
        reader.read()?;
        let Reader {
            mut parts,
            names_a_byte,
            ..
        } = reader;
        let dir_only = parts.len() > 1 && parts.last().is_some_and(String::is_empty);
        if dir_only {
            parts.pop();
        }
        let anchored = parts.len() > 1;
        parts.retain(|part| !part.is_empty() && part != ".");
        for part in &mut parts {
            if part.len() > 2 && part.bytes().all(|byte| byte == b'*') {
                part.truncate(2);
            }
        }
        check(&parts)?;
        let floating = parts.iter().take_while(|part| *part == "**").count();
        let floating = floating.min(parts.len() - 1);
        let scope =
            if parts.len() - floating == 1 && (floating > 0 || !anchored || parts[0] == "**") {
                Scope::Name
            } else {
                Scope::Path
            };
        let leads = match scope {
            Scope::Path if floating == 0 => leads(&parts),
            _ => Vec::new(),
        };
        if scope == Scope::Name {
            parts.drain(..floating);
        }
        Ok(Self {
            scope,
            glob: parts.join("/"),
            dir_only,
            leads,
            names_a_byte,
        })
    }
}

/// Refuses what no path can match, and what is more than we care to match.
fn check(parts: &[String]) -> Result<(), &'static str> {
    if parts.is_empty() {
        return Err("it names nothing");
    }
    if parts.len() > MAX_PARTS {
        return Err("it has too many components");
    }
    if parts.iter().any(|part| part == "..") {
        return Err("'..' leaves the working tree");
    }
    Ok(())
}

/// The glob that means one path of the repository and no other. Of a byte that is no text it asks only that there is one.
pub fn literal(path: &[u8]) -> String {
    let mut glob = String::from("/");
    for chunk in path.utf8_chunks() {
        for char in chunk.valid().chars() {
            if "\\*?[]{}".contains(char) {
                glob.push('\\');
            }
            glob.push(char);
        }
        glob.extend(chunk.invalid().iter().map(|_| '?'));
    }
    glob
}

/// `a`, `a/b` for `a/b/c`; from a `**` on, everything beneath.
fn leads(parts: &[String]) -> Vec<String> {
    let mut leads = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let any_depth = part == "**";
        if any_depth || index + 1 < parts.len() {
            leads.push(parts[..=index].join("/"));
        }
        if any_depth {
            break;
        }
    }
    leads
}

/// Splits at slashes, minding escapes, brackets and braces.
struct Reader<'a> {
    rest: &'a str,
    ignore_case: bool,
    parts: Vec<String>,
    depth: usize,
    names_a_byte: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn read(&mut self) -> Result<(), &'static str> {
        while let Some(ch) = self.next() {
            match ch {
                '/' => self.slash()?,
                // An escaped slash is a slash: the next round reads it.
                '\\' if self.rest.starts_with('/') => {}
                '\\' => {
                    self.push(ch);
                    if let Some(escaped) = self.next() {
                        self.literal(escaped);
                    }
                }
                '[' => self.brackets()?,
                '{' if self.depth == MAX_DEPTH => return Err("its braces nest too deep"),
                '{' => {
                    self.depth += 1;
                    self.push(ch);
                }
                '}' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.push(ch);
                }
                '*' | '?' => self.push(ch),
                ',' if self.depth > 0 => self.push(ch),
                _ => self.literal(ch),
            }
        }
        Ok(())
    }

    fn push(&mut self, ch: char) {
        self.parts
            .last_mut()
            .expect("there is always a part being read")
            .push(ch);
    }

    fn literal(&mut self, ch: char) {
        // In braces it is one choice of several: no match need contain it.
        self.names_a_byte |= self.depth == 0;
        self.push(ch);
    }

    fn slash(&mut self) -> Result<(), &'static str> {
        if self.depth > 0 {
            return Err("a slash cannot stand in braces");
        }
        self.parts.push(String::new());
        Ok(())
    }

    /// Lists for `globset` what git reads a bracket expression as, the slash excepted.
    fn brackets(&mut self) -> Result<(), &'static str> {
        let (members, len) = bracket_expression(self.rest.as_bytes(), self.ignore_case)
            .ok_or("its brackets are not closed, or name an unknown class")?;
        let (text, rest) = self.rest.split_at(len);
        self.rest = rest;
        if !text.is_ascii() {
            return Err("only ASCII characters can stand in brackets");
        }
        let negated = text.starts_with(['!', '^']);
        if text.contains('/') {
            return Err("a slash cannot stand in brackets");
        }
        if members[usize::from(b'/')] && !negated {
            return Err("a range in brackets cannot span the slash");
        }
        let lists = |byte: u8| members[usize::from(byte)] != negated || (negated && byte == b'/');
        self.push('[');
        if negated {
            self.push('!');
        }
        // First stands what means itself there: a `]`, or what no path contains. And last a dash.
        self.push(if lists(b']') { ']' } else { '\0' });
        for byte in (1..=0x7f).filter(|&byte| lists(byte) && !matches!(byte, b']' | b'-')) {
            self.push(char::from(byte));
        }
        if lists(b'-') {
            self.push('-');
        }
        self.push(']');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Syntax {
        Syntax::parse(text, false).unwrap_or_else(|reason| panic!("{text:?}: {reason}"))
    }

    #[test]
    fn slashes_decide_where_a_glob_holds() {
        for (text, scope, glob, dir_only) in [
            ("a", Scope::Name, "a", false),
            ("a/", Scope::Name, "a", true),
            ("/a", Scope::Path, "a", false),
            ("./a/", Scope::Path, "a", true),
            ("a//b", Scope::Path, "a/b", false),
            ("**/a", Scope::Name, "a", false),
            ("**/**/a/", Scope::Name, "a", true),
            ("**/a/b", Scope::Path, "**/a/b", false),
            ("a\\/b", Scope::Path, "a/b", false),
            ("**", Scope::Name, "**", false),
            ("/**", Scope::Name, "**", false),
            ("a/**", Scope::Path, "a/**", false),
            ("[!a]", Scope::Name, "[!\0/a]", false),
            ("/[!a-]", Scope::Path, "[!\0/a-]", false),
            ("/[!]a]", Scope::Path, "[!]/a]", false),
            ("/[^\\]!]", Scope::Path, "[!]!/]", false),
            ("/[!!^]", Scope::Path, "[!\0!/^]", false),
            ("/[\\!^]", Scope::Path, "[\0!^]", false),
            ("[[:digit:]x]", Scope::Name, "[\x000123456789x]", false),
            ("a/****/b", Scope::Path, "a/**/b", false),
        ] {
            let found = parse(text);
            assert_eq!(
                (found.scope, found.glob.as_str(), found.dir_only),
                (scope, glob, dir_only),
                "{text:?}"
            );
        }
    }

    #[test]
    fn anchored_globs_lead_in() {
        let leads = |text| parse(text).leads;
        assert_eq!(leads("/a/b/*.db"), ["a", "a/b"]);
        assert_eq!(leads("a/**/b/c"), ["a", "a/**"]);
        assert_eq!(leads("a/**"), ["a", "a/**"]);
        assert!(leads("/a").is_empty());
        assert!(leads("a").is_empty());
        assert!(leads("**/a/b").is_empty());
    }

    #[test]
    fn bad_globs_are_named() {
        for text in [
            "",
            "/",
            "./",
            "!a",
            "../a",
            "a/../b",
            "{a/b,c}",
            "a[/]",
            "/a[ -~]",
            "a[",
            "[[:nope:]]",
            "[\u{fc}]",
        ] {
            assert!(Syntax::parse(text, false).is_err(), "{text:?}");
        }
    }
}
