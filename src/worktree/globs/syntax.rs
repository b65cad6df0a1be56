//! Reads a glob of ours as `gitignore(5)` would, and puts it into what `globset` understands.

use std::iter::Peekable;
use std::str::Chars;

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
    /// Says in a few words what is wrong. Brackets and braces are left to `globset` to check.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_LEN {
            return Err("it is too long");
        }
        if text.starts_with('!') {
            return Err("it cannot be negated; use 'include'");
        }
        let mut reader = Reader {
            chars: text.chars().peekable(),
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
        if parts.is_empty() {
            return Err("it names nothing");
        }
        if parts.len() > MAX_PARTS {
            return Err("it has too many components");
        }
        if parts.iter().any(|part| part == "..") {
            return Err("'..' leaves the working tree");
        }
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
    chars: Peekable<Chars<'a>>,
    parts: Vec<String>,
    depth: usize,
    names_a_byte: bool,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), &'static str> {
        while let Some(ch) = self.chars.next() {
            match ch {
                '/' => self.slash()?,
                '\\' if self.chars.next_if_eq(&'/').is_some() => self.slash()?,
                '\\' => {
                    self.push(ch);
                    if let Some(escaped) = self.chars.next() {
                        self.literal(escaped);
                    }
                }
                '[' => self.class()?,
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

    /// Copies a bracket expression so that it never matches a slash, which `globset` would allow.
    fn class(&mut self) -> Result<(), &'static str> {
        let mut class = String::from("[");
        let negated = self.chars.next_if(|ch| matches!(ch, '!' | '^'));
        class.extend(negated);
        let mut members: Vec<char> = self.chars.next().into_iter().collect();
        while let Some(ch) = self.chars.next_if(|ch| *ch != ']') {
            members.push(ch);
        }
        if members.contains(&'/') {
            return Err("a slash cannot stand in brackets");
        }
        let spans = |range: &[char]| range[1] == '-' && range[0] < '/' && '/' < range[2];
        if negated.is_none() && members.windows(3).any(spans) {
            return Err("a range in brackets cannot span the slash");
        }
        class.extend(&members);
        if self.chars.next().is_some() {
            if negated.is_some() {
                // A `-` at the end stays there.
                let dash = class.ends_with('-') && members.len() > 1;
                class.insert(class.len() - usize::from(dash), '/');
            }
            class.push(']');
        }
        class.chars().for_each(|ch| self.push(ch));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Syntax {
        Syntax::parse(text).unwrap_or_else(|reason| panic!("{text:?}: {reason}"))
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
            ("[!a]", Scope::Name, "[!a/]", false),
            ("/[!a-]", Scope::Path, "[!a/-]", false),
            ("/[!]a]", Scope::Path, "[!]a/]", false),
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
            "", "/", "./", "!a", "../a", "a/../b", "{a/b,c}", "a[/]", "/a[ -~]",
        ] {
            assert!(Syntax::parse(text).is_err(), "{text:?}");
        }
    }
}
