//! JSON with comments and trailing commas, read into places: where each value, member and comma stands.

/// Deeper nesting is refused.
const DEEPEST: usize = 128;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its first byte.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `{…}` or `[…]`.
    Container(Items),
    /// Anything else.
    Scalar,
}

/// What stands in a container.
#[derive(Debug, Clone)]
pub struct Items {
    /// Whether it is an object.
    pub is_object: bool,
    /// Its members or elements, in order.
    pub list: Vec<Item>,
    /// The comma behind the last one.
    pub trailing_comma: Option<usize>,
}

/// A member of an object, or an element of an array.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its first byte: a member's is its key's.
    pub start: usize,
    /// The key, decoded; empty in an array.
    pub key: String,
    /// The value.
    pub value: Node,
}

/// Reads a whole text. `None` when it is no JSON, also with comments.
pub fn parse(text: &str) -> Option<Node> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut reader = Reader {
        text: text.as_bytes(),
        at: start,
    };
    reader.skip()?;
    let node = reader.value(0)?;
    reader.skip()?;
    (reader.at == text.len()).then_some(node)
}

/// Where the blanks and comments that begin at `at` end; `None` when a comment does not.
pub fn skip(text: &str, at: usize) -> Option<usize> {
    let mut reader = Reader {
        text: text.as_bytes(),
        at,
    };
    reader.skip()?;
    Some(reader.at)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self) -> Option<()> {
        loop {
            match self.rest() {
                [b' ' | b'\t' | b'\n' | b'\r', ..] => self.at += 1,
                [b'/', b'/', rest @ ..] => {
                    let line = rest.iter().position(|&byte| byte == b'\n');
                    self.at += 2 + line.unwrap_or(rest.len());
                }
                [b'/', b'*', rest @ ..] => {
                    self.at += 4 + rest.windows(2).position(|pair| pair == b"*/")?;
                }
                _ => return Some(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => Kind::Container(self.items(b'}', depth)?),
            b'[' => Kind::Container(self.items(b']', depth)?),
            b'"' => {
                self.string()?;
                Kind::Scalar
            }
            _ => {
                self.word()?;
                Kind::Scalar
            }
        };
        Some(Node {
            start,
            end: self.at,
            kind,
        })
    }

    fn items(&mut self, close: u8, depth: usize) -> Option<Items> {
        let mut found = Items {
            is_object: close == b'}',
            list: Vec::new(),
            trailing_comma: None,
        };
        self.at += 1;
        loop {
            self.skip()?;
            if self.peek()? == close {
                self.at += 1;
                return Some(found);
            }
            if !found.list.is_empty() && found.trailing_comma.is_none() {
                return None;
            }
            found.trailing_comma = None;
            let start = self.at;
            let mut key = String::new();
            if found.is_object {
                let written = self.string()?;
                key = serde_json::from_slice(&self.text[written.0..written.1]).ok()?;
                self.skip()?;
                if self.peek()? != b':' {
                    return None;
                }
                self.at += 1;
                self.skip()?;
            }
            let value = self.value(depth + 1)?;
            found.list.push(Item { start, key, value });
            self.skip()?;
            if self.peek()? == b',' {
                found.trailing_comma = Some(self.at);
                self.at += 1;
            }
        }
    }

    fn string(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some((start, self.at));
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.rest().iter().take_while(|byte| is_part(byte)).count();
        let word = self.rest().get(..length)?;
        serde_json::from_slice::<serde_json::Value>(word).ok()?;
        self.at += length;
        Some(())
    }
}
