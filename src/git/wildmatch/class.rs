//! Bracket expressions: sets, ranges, negation and POSIX classes, as git's wildmatch reads them.

/// Whether `byte` (already folded) is in the bracket expression whose first byte after `[` stands at `start`, and where
/// the pattern goes on. `None` when the expression is malformed: then the whole pattern matches nothing.
pub(super) fn matches(
    pattern: &[u8],
    start: usize,
    byte: u8,
    fold_case: bool,
) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(start), Some(b'!' | b'^'));
    let first = start + usize::from(negated);
    let mut class = Class {
        pattern,
        at: first,
        byte,
        fold_case,
        low: None,
        hit: false,
    };
    // A `]` in the first place stands for itself.
    while class.at == first || class.current()? != b']' {
        class.item()?;
    }
    Some((class.hit != negated, class.at + 1))
}

struct Class<'a> {
    pattern: &'a [u8],
    at: usize,
    byte: u8,
    fold_case: bool,
    /// What a `-` that follows would start a range from.
    low: Option<u8>,
    hit: bool,
}

impl Class<'_> {
    fn current(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    fn next(&self) -> Option<u8> {
        self.pattern.get(self.at + 1).copied()
    }

    /// Reads one item: a byte, an escaped byte, the upper end of a range, or a named class.
    fn item(&mut self) -> Option<()> {
        match self.current()? {
            b'-' if self.low.is_some() && self.next().is_some_and(|byte| byte != b']') => {
                self.at += 1;
                let high = self.unescaped()?;
                self.hit |= self.low.is_some_and(|low| self.in_range(low, high));
                self.low = None;
            }
            b'[' if self.next() == Some(b':') => return self.named(),
            _ => {
                let byte = self.unescaped()?;
                self.hit |= byte == self.byte;
                self.low = Some(byte);
            }
        }
        self.at += 1;
        Some(())
    }

    /// The byte here, or the one after a backslash.
    fn unescaped(&mut self) -> Option<u8> {
        if self.current()? == b'\\' {
            self.at += 1;
        }
        self.current()
    }

    fn in_range(&self, low: u8, high: u8) -> bool {
        let within = |byte: u8| low <= byte && byte <= high;
        // The text was folded to lower case, the range was not.
        within(self.byte) || (self.fold_case && within(self.byte.to_ascii_uppercase()))
    }

    /// `[:name:]`, or a plain `[` when no `:]` ends it.
    fn named(&mut self) -> Option<()> {
        let rest = &self.pattern[self.at + 2..];
        let end = rest.iter().position(|&byte| byte == b']')?;
        if let Some(name) = rest[..end].strip_suffix(b":") {
            self.hit |= self.in_named(name)?;
            self.low = None;
            self.at += 2 + end + 1;
        } else {
            self.hit |= self.byte == b'[';
            self.low = Some(b'[');
            self.at += 1;
        }
        Some(())
    }

    fn in_named(&self, name: &[u8]) -> Option<bool> {
        let byte = self.byte;
        Some(match name {
            b"alnum" => byte.is_ascii_alphanumeric(),
            b"alpha" => byte.is_ascii_alphabetic(),
            b"blank" => matches!(byte, b' ' | b'\t'),
            b"cntrl" => byte.is_ascii_control(),
            b"digit" => byte.is_ascii_digit(),
            b"graph" => byte.is_ascii_graphic(),
            b"lower" => byte.is_ascii_lowercase(),
            b"print" => byte.is_ascii_graphic() || byte == b' ',
            b"punct" => byte.is_ascii_punctuation(),
            // git's own isspace: no vertical tab, no form feed.
            b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
            b"upper" => byte.is_ascii_uppercase() || (self.fold_case && byte.is_ascii_lowercase()),
            b"xdigit" => byte.is_ascii_hexdigit(),
            _ => return None,
        })
    }
}
