//! A little colour for code: comments, strings, numbers and the words that most languages have.
//!
//! Owns a scan of one line, which knows no grammar. A full highlighter would be the largest dependency of the program and would
//! have to read whole files; of a line of a diff the whole is not at hand. What is not known stays plain.

/// What a character is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// Anything else.
    #[default]
    Plain,
    /// A comment, up to the end of the line.
    Comment,
    /// A text in quotes.
    Text,
    /// A number.
    Number,
    /// A word of the language.
    Keyword,
}

const SLASHES: &[&str] = &[
    "rs", "c", "h", "cc", "cpp", "hpp", "js", "mjs", "ts", "jsx", "tsx", "go", "java", "kt",
    "swift", "cs", "scala", "zig", "php", "dart", "css", "scss", "proto",
];
const HASHES: &[&str] = &[
    "py", "sh", "bash", "zsh", "fish", "rb", "toml", "yaml", "yml", "mk", "pl", "r", "conf",
    "cmake", "nix", "ex", "exs", "jl", "tf",
];
const DASHES: &[&str] = &["sql", "lua", "hs", "elm"];

const KEYWORDS: &[&str] = &[
    "and",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "do",
    "elif",
    "else",
    "end",
    "enum",
    "except",
    "export",
    "extends",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "if",
    "impl",
    "import",
    "in",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "new",
    "nil",
    "none",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "ref",
    "return",
    "self",
    "Self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "False",
    "try",
    "type",
    "typedef",
    "union",
    "unsafe",
    "use",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
    "SELECT",
    "FROM",
    "WHERE",
    "select",
    "insert",
    "update",
    "delete",
];

/// How a file's comments begin; None: it is not taken for code.
pub fn comment_of(path: &[u8]) -> Option<&'static str> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let name = String::from_utf8_lossy(name);
    if matches!(&*name, "Makefile" | "Dockerfile" | "Justfile") {
        return Some("#");
    }
    let (_, ending) = name.rsplit_once('.')?;
    [(SLASHES, "//"), (HASHES, "#"), (DASHES, "--")]
        .into_iter()
        .find(|(endings, _)| endings.contains(&ending))
        .map(|(_, comment)| comment)
}

/// What each character of a line of code is a part of.
pub fn inks(line: &[char], comment: &str) -> Vec<Ink> {
    let comment: Vec<char> = comment.chars().collect();
    let mut inks = vec![Ink::Plain; line.len()];
    let mut at = 0;
    while let Some(ch) = line.get(at) {
        let rest = line.get(at..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        let (ink, length) = if rest.starts_with(&comment) && begins_comment(&comment, before) {
            (Ink::Comment, rest.len())
        } else if matches!(ch, '"' | '\'' | '`') {
            quoted(rest).map_or((Ink::Plain, 1), |length| (Ink::Text, length))
        } else if is_word(*ch) {
            let length = rest.iter().take_while(|ch| is_word(**ch)).count();
            (word(rest.get(..length).unwrap_or_default()), length)
        } else {
            (Ink::Plain, 1)
        };
        if let Some(part) = inks.get_mut(at..at + length) {
            part.fill(ink);
        }
        at += length;
    }
    inks
}

/// `a#b` is a word in a shell, and `$#` a number of arguments.
fn begins_comment(comment: &[char], before: Option<&char>) -> bool {
    comment != ['#'] || before.is_none_or(|before| before.is_whitespace())
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

fn word(word: &[char]) -> Ink {
    if word.first().is_some_and(char::is_ascii_digit) {
        return Ink::Number;
    }
    let word: String = word.iter().collect();
    if KEYWORDS.contains(&word.as_str()) {
        Ink::Keyword
    } else {
        Ink::Plain
    }
}

/// The length of a text in quotes that ends in this line.
fn quoted(rest: &[char]) -> Option<usize> {
    let quote = rest.first()?;
    let mut escaped = false;
    for (at, ch) in rest.iter().enumerate().skip(1) {
        if escaped {
            escaped = false;
        } else if *ch == '\\' {
            escaped = true;
        } else if ch == quote {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str, path: &str) -> String {
        let comment = comment_of(path.as_bytes()).expect("code");
        let chars: Vec<char> = line.chars().collect();
        let letter = |ink: &Ink| match ink {
            Ink::Plain => '.',
            Ink::Comment => 'c',
            Ink::Text => 't',
            Ink::Number => 'n',
            Ink::Keyword => 'k',
        };
        inks(&chars, comment).iter().map(letter).collect()
    }

    #[test]
    fn a_line_of_code_has_words_texts_numbers_and_comments() {
        for (line, path, wanted) in [
            ("let a = \"b\\\"\"; // 1", "x.rs", "kkk.....ttttt..cccc"),
            ("x = 12 # '", "a/b.py", "....nn.ccc"),
            ("n=$# it's", "x.sh", "........."),
            ("a2 'open", "x.js", "........"),
        ] {
            assert_eq!(told(line, path), wanted, "{line}");
        }
        assert_eq!(comment_of(b"README.md"), None);
        assert_eq!(comment_of(b"Makefile"), Some("#"));
    }
}
