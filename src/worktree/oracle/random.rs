//! Names, patterns and files of patterns, made of pieces that git reads in surprising ways.

use std::fmt::Write as _;

/// xorshift: the rounds must be the same everywhere.
pub(in crate::worktree) struct Random(pub(in crate::worktree) u64);

impl Random {
    pub(in crate::worktree) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits fit") % limit
    }

    pub(super) fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    pub(in crate::worktree) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const NAMES: &[&str] = &[
    "a", "b", "ab", "aab", "abc", "A", "Ab", "foo", "Foo", "foo.txt", "bar.TXT", "x.log", ".log",
    "a b", "tail ", "#x", "!x", "a]", "[a]", "a-b", "a\\b", "*", "q?", "\u{fc}", "1", "_", "a*",
    "{a,b}", "t\tab",
];

const PIECES: &[&str] = &[
    "a",
    "b",
    "ab",
    "foo",
    "A",
    "x",
    ".txt",
    ".log",
    "*",
    "*",
    "**",
    "**/",
    "/**",
    "/**/",
    "/",
    "/",
    "?",
    "??",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[A-C]",
    "[!a-c]",
    "[]a]",
    "[!]a]",
    "[a-",
    "[[:alpha:]]",
    "[[:upper:]]",
    "[[:punct:]-]",
    "[[:digit:]a]",
    "[[:]",
    "[[:nope:]]",
    "[a\\]]",
    "[\\a-c]",
    "[a-\\c]",
    "[a/b]",
    "[--0]",
    "\\",
    "\\a",
    "\\A",
    "\\*",
    "\\?",
    "\\[",
    "\\ ",
    "\\/",
    "**\\/",
    "/**\\/",
    " ",
    "  ",
    "\t",
    "#",
    "!",
    "-",
    "]",
    ".",
    "{a,b}",
    "\u{fc}",
    "\r",
    "1",
    "_",
];

/// Glues pieces together, more often than not around a name that exists.
pub(super) fn pattern(random: &mut Random) -> String {
    let mut text = String::new();
    if random.one_in(4) {
        text.push('!');
    }
    if random.one_in(5) {
        text.push('/');
    }
    let pieces = 1 + random.below(5);
    for _ in 0..pieces {
        let from = if random.one_in(3) { NAMES } else { PIECES };
        text.push_str(random.pick(from));
    }
    if random.one_in(5) {
        text.push('/');
    }
    text
}

pub(super) fn ignore_file(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    if random.one_in(10) {
        text.push('\u{feff}');
    }
    for _ in 0..=random.below(4) {
        let end = random.pick(&["\n", "\n", "\n", "\r\n", " \n", "\n\n", "\n# note\n"]);
        text.push_str(&pattern(random));
        text.push_str(end);
    }
    if random.one_in(4) {
        text.push_str(&pattern(random));
    }
    text.into_bytes()
}

const STATES: &[&str] = &[
    "text",
    "-text",
    "!text",
    "text=auto",
    "eol=lf",
    "eol=crlf",
    "-crlf",
    "crlf=input",
    "ident",
    "-ident",
    "filter=lfs",
    "filter",
    "-filter",
    "!filter",
    "filter=",
    "working-tree-encoding=UTF-16",
    "binary",
    "-binary",
    "!binary",
    "m1",
    "m2",
    "-m2",
    "!m1",
    "diff=x",
    "merge",
    "te=xt=2",
    "--text",
    "$bad",
    "builtin_x",
];

pub(super) fn attribute_file(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..=random.below(5) {
        match random.below(8) {
            0 => text.push_str(random.pick(&[
                "[attr]m1",
                "[attr]m2",
                "[attr]binary",
                "[attr]text",
                "[attr]",
                "[attr] m1",
            ])),
            1 => write!(text, "\"{}\"", random.pick(NAMES).replace('\\', "\\\\"))
                .expect("a string takes all"),
            2 => text.push_str(random.pick(&["\"open", "\"\\141\"", "\"\\q\"", " *", "\t*"])),
            _ => text.push_str(&pattern(random)),
        }
        for _ in 0..random.below(4) {
            text.push_str(random.pick(&[" ", "\t", "  "]));
            text.push_str(random.pick(STATES));
        }
        text.push_str(random.pick(&["\n", "\n", "\r\n", " \n"]));
    }
    text.into_bytes()
}

pub(super) fn name(random: &mut Random) -> &'static str {
    random.pick(NAMES)
}
