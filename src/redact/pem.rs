//! Armoured key blocks: private ones are replaced, public ones are left alone whole.

use std::ops::Range;

use super::gutter::Gutter;
use super::placeholder::is_stand_in;
use super::runs::{alphanumeric_or, run_at_start};
use super::shape::{Shape, entropy_of, wordiness};
use super::span::{ceil, floor};

/// Longest block that is looked at.
const BLOCK_MAX: usize = 64 * 1024;
const LABEL_MAX: usize = 80;
/// How much base64 a key has at least, and from how much on it need not look random.
const SHORT: usize = 20;
const SURE: usize = 32;
/// How long the longest line of one is at least that stands whole between its marks.
const SHORTEST: usize = 6;
/// How long the lines of a block are.
const LINE: usize = 64;

/// A block that begins at a given place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The inside of a private key.
    Private(Range<usize>),
    /// A certificate, public key or signature, marks included.
    Public(Range<usize>),
}

/// Remembers how far no mark stands, so that many beginnings cost one search.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    no_mark_before: usize,
}

impl Blocks {
    /// Reads the block whose `-----BEGIN` stands at `start`.
    pub(super) fn at(&mut self, text: &str, start: usize) -> Option<Block> {
        let label_start = start + "-----BEGIN".len();
        let label_bytes = text.as_bytes().get(label_start..)?;
        let label_length = label_bytes
            .iter()
            .take(LABEL_MAX)
            .position(|byte| *byte == b'-')?;
        let label = text.get(label_start..label_start + label_length)?;
        let after = &label_bytes[label_length..];
        let dashes = run_at_start(after, usize::MAX, |byte| byte == b'-');
        let body_start = label_start + label_length + dashes;
        let end = self.end_mark(text, body_start);
        if !label.to_ascii_uppercase().contains("PRIVATE KEY") {
            return end.map(|end| Block::Public(start..end));
        }
        let body = trimmed(
            text,
            body_start..end.unwrap_or_else(|| torn_end(text, start, body_start)),
        );
        let closed = end.and_then(|end| text.get(body_start..end));
        (is_key(text.get(body.clone())?) || closed.is_some_and(is_short_key))
            .then_some(Block::Private(body))
    }

    fn end_mark(&mut self, text: &str, from: usize) -> Option<usize> {
        let limit = floor(text, from.saturating_add(BLOCK_MAX));
        let search = ceil(text, from.max(self.no_mark_before)).min(limit);
        let found = text.get(search..limit)?.find("-----");
        if found.is_none() {
            // A mark may begin just before the end of what was searched.
            self.no_mark_before = limit.saturating_sub("-----".len());
        }
        // Another beginning: this one was torn.
        found
            .map(|at| search + at)
            .filter(|at| text[*at..].starts_with("-----END"))
    }
}

/// Where the base64 of a block ends that begins with this mark and was cut off, also in lines with numbers before them.
fn torn_end(text: &str, mark: usize, from: usize) -> usize {
    let bytes = text.as_bytes();
    let lines = Gutter::before(bytes, mark).and_then(|gutter| gutter.lines_after(bytes, from));
    bare_end(text, from).max(lines.unwrap_or(from))
}

fn bare_end(text: &str, from: usize) -> usize {
    let rest = &text.as_bytes()[from..];
    let dashes = rest
        .windows(3)
        .take(BLOCK_MAX)
        .position(|three| three == b"---")
        .unwrap_or(rest.len());
    let length = run_at_start(
        &rest[..dashes],
        BLOCK_MAX,
        alphanumeric_or(b"+/=\\\r\n\t ,:-"),
    );
    from + length
}

/// Without line ends at either side, escaped ones too.
pub(super) fn trimmed(text: &str, mut range: Range<usize>) -> Range<usize> {
    let body = &text[range.clone()];
    let mut rest = body;
    while let Some(next) = [
        "\\\\n", "\\n", "\\\\r", "\\r", "\n", "\r", " ", "\t", "\"", "'", "+", ",", "|",
    ]
    .iter()
    .find_map(|edge| rest.strip_prefix(edge))
    {
        rest = next;
    }
    range.start += body.len() - rest.len();
    while let Some(next) = [
        "\\\\n", "\\n", "\\\\r", "\\r", "\n", "\r", " ", "\t", "\"", "'", "\\",
    ]
    .iter()
    .find_map(|edge| rest.strip_suffix(edge))
    {
        rest = next;
    }
    range.end = range.start + rest.len();
    range
}

/// Enough base64 to hold a key or the beginning of one, not dots or words. Where dots stand for the rest, a whole line must stand before
/// them: what explains keys shows the first signs, which all of them have.
pub(super) fn is_key(body: &str) -> bool {
    let body = &body[..floor(body, 4096)];
    let shown = body.split("...").next().unwrap_or_default();
    let least = if shown.len() < body.len() {
        LINE
    } else {
        SHORT
    };
    let letters: String = shown.chars().filter(|c| is_base64(*c)).collect();
    let longest = longest_line(shown);
    let digits = longest.bytes().filter(u8::is_ascii_digit).count();
    letters.len() >= least
        && longest.len() >= SHORT
        && (letters.len() >= SURE || digits >= 2 && wordiness(longest) < 0.5)
        && entropy_of(&letters) >= 3.0
        && !body.starts_with("***REDACTED")
}

/// Whether what stands between the marks of a private key is one, however short: base64 that makes no words, and nothing that
/// stands for the rest of it, names it, or puts it together.
fn is_short_key(block: &str) -> bool {
    let is_plain = |c: char| is_base64(c) || c.is_ascii_whitespace() || "\\:|>#-,".contains(c);
    if block.len() > 4096 || !block.chars().all(is_plain) {
        return false;
    }
    let lines = block.replace("\\n", "\n").replace("\\r", "\n");
    let longest = longest_line(&lines);
    let shape = Shape::of(longest);
    let mixed = shape.upper >= 2 && shape.lower >= 2;
    let most = if shape.digit > 0 { 0.5 } else { 0.3 };
    shape.len >= SHORTEST
        && (shape.digit > 0 || mixed)
        && wordiness(longest) <= most
        && !is_stand_in(longest)
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

/// The longest run of base64.
fn longest_line(text: &str) -> &str {
    let lines = text.split(|c| !is_base64(c));
    lines.max_by_key(|line| line.len()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "MIIEpAIBAAKCAQEA7bq0c3V5m1Zx8Lw2Qd9TnRkYp4HsJfUoEgB6iX";

    fn private(text: &str) -> Option<&str> {
        match Blocks::default().at(text, text.find("-----BEGIN")?)? {
            Block::Private(range) => Some(&text[range]),
            Block::Public(_) => None,
        }
    }

    #[test]
    fn private_keys() {
        for text in [
            format!("-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"),
            format!("\"-----BEGIN PRIVATE KEY-----\\n{BODY}\\n-----END PRIVATE KEY-----\\n\""),
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n"),
        ] {
            assert_eq!(private(&text), Some(BODY), "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_key_is_one() {
        const SHORT: &str = "MC4CAQAwBQYDK2VwBCIEIJx7";
        for text in [
            format!("-----BEGIN PRIVATE KEY-----\n{SHORT}\u{2026}"),
            format!("\"-----BEGIN EC PRIVATE KEY-----\\n{SHORT}\""),
            format!("-----BEGIN EC PRIVATE KEY-----\n{SHORT}\n-----END EC PRIVATE KEY-----"),
            format!("-----BEGIN EC PRIVATE KEY-----\\n{SHORT}\\n-----END EC PRIVATE KEY-----"),
        ] {
            assert_eq!(private(&text), Some(SHORT), "{text}");
        }
        let line = format!("{BODY}m3Vk8sYt2Q");
        let text = format!("-----BEGIN PRIVATE KEY-----\n{line}\n...\n-----END PRIVATE KEY-----");
        assert_eq!(private(&text), Some(format!("{line}\n...").as_str()));
    }

    #[test]
    fn whole_blocks_go_however_short() {
        for body in [
            "MIIEpAIBAAKCAQEAabc",
            "MIIabc123\nxyz",
            "MIIabc123\\nxyz",
            "  2: MIIabc123\n  3: xyz\n  4:",
            "abc123",
            "x7Kq",
        ] {
            for text in [
                format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"),
                format!(
                    "{{\"k\":\"-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----\\n\"}}"
                ),
            ] {
                let found = (body.len() >= SHORTEST).then(|| body.trim());
                assert_eq!(private(&text), found, "{text}");
            }
        }
        for body in [
            "secret",
            "anything",
            "data2",
            "...",
            "MIIEpAIBAAKCAQEA...",
            "MIIEpAIBAAKCAQEA\u{2026}",
            "<your key>",
            "<key2>",
            "${KEY_2}",
            "{{ .key2 }}",
            "%s",
            "****",
            "XXXXXXXX",
            "YOUR KEY HERE",
            "2048 bits of it",
            "test123key",
            "\" + pkcs8b + \"",
            "` and `",
            "  2: anything\n  3: goes",
        ] {
            let text = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----");
            assert_eq!(private(&text), None, "{text}");
        }
        let torn = "-----BEGIN PRIVATE KEY-----\nMIIabc123\nxyz\n";
        assert_eq!(private(torn), None);
    }

    #[test]
    fn others() {
        let public = format!("-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----");
        assert!(matches!(
            Blocks::default().at(&public, 0),
            Some(Block::Public(_))
        ));
        assert_eq!(
            private("-----BEGIN PRIVATE KEY-----\nanything\n-----END PRIVATE KEY-----"),
            None
        );
        assert_eq!(
            private("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"),
            None
        );
        for text in [
            "a key starts with -----BEGIN PRIVATE KEY----- followed by base64 text of the key and more",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n",
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC...\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nyourprivatekeygoeshere2x\n-----END PRIVATE KEY-----",
        ] {
            assert_eq!(private(text), None, "{text}");
        }
        assert_eq!(private("-----BEGIN"), None);
    }
}
