//! The insides of private keys without the marks around them: cut off above, or the whole block in base64.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::gutter::Gutter;
use super::pem::is_key;
use super::runs::{one_of, run_at_end, run_at_start};

/// Longest body that is looked at.
const BODY_MAX: usize = 64 * 1024;
/// Wrapped lines of base64 are this long at least, but for the last one.
const LINE_MIN: usize = 40;
/// How far into a body what gives it away stands.
const LEAD: usize = 12;

/// What the base64 of a private key begins with, or has after its length: the version and the kind of RSA, elliptic and
/// Edwards keys, of encrypted ones, and of OpenSSH's.
pub(super) const BEGINNINGS: &[&str] = &[
    "IBAAKC",
    "IBAAKB",
    "IBADANBgkqhkiG9w0B",
    "MHcCAQEEI",
    "MIGkAgEBBD",
    "MIHcAgEBBE",
    "MIGHAgEAMBMGByqGSM49",
    "MIG2AgEAMBAGByqGSM49",
    "MIHuAgEAMBAGByqGSM49",
    "MC4CAQAwBQYDK2Vw",
    "TAbBgkqhkiG9w0BBQ",
    "DBOBgkqhkiG9w0BBQ",
    "DBABgkqhkiG9w0BBQ",
    "b3BlbnNzaC1rZXktdjE",
];

/// What the base64 of a whole block begins with: `-----BEGIN `, also after a line end.
pub(super) const WRAPPED: &[&str] = &["LS0tLS1CRUdJTi", "Ci0tLS0tQkVHSU4g"];

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// The length of base64 from a place on.
fn run(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    run_at_start(rest, BODY_MAX, is_base64)
}

/// The line end at a place, as it is or as it is written in a string.
fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let ends: [&[u8]; 5] = [b"\\r\\n", b"\\n", b"\r\n", b"\n", b"\\\n"];
    let end = ends.iter().find(|end| rest.starts_with(end));
    let length = end.map_or(0, |end| end.len());
    if length == 0 {
        return 0;
    }
    let blanks = run_at_start(&rest[length..], 32, one_of(b" \t"));
    length + blanks
}

/// Where base64 that begins at `start` ends, over all its lines, also with numbers before them.
fn end_of_lines(bytes: &[u8], start: usize) -> usize {
    let lines = Gutter::before(bytes, start).and_then(|gutter| gutter.lines_from(bytes, start));
    end_of_bare_lines(bytes, start).max(lines.unwrap_or(start))
}

fn end_of_bare_lines(bytes: &[u8], start: usize) -> usize {
    let mut end = start + run(bytes, start);
    while end - start < BODY_MAX {
        let gap = line_end(bytes, end);
        let next = run(bytes, end + gap);
        if gap == 0 || next == 0 {
            break;
        }
        let line = &bytes[end + gap..end + gap + next];
        let last = line.len() < LINE_MIN;
        let odd = line
            .iter()
            .any(|byte| byte.is_ascii_digit() || b"+/=".contains(byte));
        if last && !odd {
            break;
        }
        end += gap + next;
        if last {
            break;
        }
    }
    end
}

/// The body of a private key in which one of these beginnings stands.
pub(super) fn headless(text: &str, hit: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let lead = run_at_end(&bytes[..hit.start], LEAD + 1, is_base64);
    let start = hit.start - lead;
    // `\n` of a string that was not decoded.
    let escape = start > 0 && bytes[start - 1] == b'\\' && b"nrt".contains(&bytes[start]);
    // The sign of a line that was added.
    let added = bytes.get(start) == Some(&b'+') && (start == 0 || bytes[start - 1] == b'\n');
    let start = start + usize::from(escape || added);
    // A key in DER is a sequence, whose first byte 0x30 gives 'M' in base64.
    if lead > LEAD || (start < hit.start && bytes[start] != b'M') {
        return None;
    }
    let first = start..start + run(bytes, start).min(4 * LINE_MIN);
    if super::shape::entropy_of(text.get(first)?) < 3.0 {
        return None;
    }
    let range = start..end_of_lines(bytes, start);
    (range.len() >= 2 * LINE_MIN && is_key(text.get(range.clone())?)).then_some(range)
}

/// The body before an end mark that has no beginning.
pub(super) fn torn(text: &str, mark: usize) -> Option<Range<usize>> {
    let label = text.get(mark..super::span::floor(text, mark + 60))?;
    let label = label.strip_prefix("-----END ")?;
    if !label.split('-').next()?.contains("PRIVATE KEY") {
        return None;
    }
    match (bare_lines_before(text, mark), lines_before(text, mark)) {
        (Some(bare), Some(lines)) => Some(bare.start.min(lines.start)..bare.end.max(lines.end)),
        (bare, lines) => bare.or(lines),
    }
}

fn bare_lines_before(text: &str, mark: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let length = run_at_end(&bytes[..mark], BODY_MAX, |byte| {
        is_base64(byte) || b"\\\r\n".contains(&byte)
    });
    let mut start = mark - length;
    // The rest of a sentence before the first line.
    if start > 0
        && let Some(line) = bytes[start..mark].iter().position(|byte| *byte == b'\n')
        && line < LINE_MIN / 2
    {
        start += line;
    }
    let body = super::pem::trimmed(text, start..mark);
    is_key(text.get(body.clone())?).then_some(body)
}

/// The lines of a key before a mark, each with what a tool puts before the mark's.
pub(super) fn lines_before(text: &str, mark: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let body = Gutter::before(bytes, mark)?.lines_before(bytes, mark)?;
    is_key(text.get(body.clone())?).then_some(body)
}

/// The lines of a key after the line with a mark, each with what a tool puts before the mark's.
pub(super) fn lines_after(text: &str, mark: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let end = Gutter::before(bytes, mark.start)?.lines_after(bytes, mark.end)?;
    let line = run_at_start(&bytes[mark.end..end], usize::MAX, |byte| byte != b'\n');
    let body = super::pem::trimmed(text, mark.end + line..end);
    is_key(text.get(body.clone())?).then_some(body)
}

/// The base64 of a whole block, when a private key is in it.
pub(super) fn wrapped(text: &str, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let head: Vec<u8> = bytes[start..]
        .iter()
        .take(160)
        .copied()
        .filter(|byte| is_base64(*byte) && *byte != b'=')
        .take(80)
        .collect();
    // Base64 is decoded four characters at a time; what was cut off would make it invalid.
    let whole = head.len() - head.len() % 4;
    let decoded = STANDARD_NO_PAD.decode(&head[..whole]).ok()?;
    let begins = String::from_utf8_lossy(&decoded).contains("PRIVATE KEY");
    begins.then(|| start..end_of_lines(bytes, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;
    use crate::redact::tests::Dice;

    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    fn lines(first: &str) -> String {
        let mut dice = Dice(77);
        let rest = [64 - first.len(), 64, 64, 27].map(|length| dice.string(BASE64, length));
        format!("{first}{}=", rest.join("\n"))
    }

    #[test]
    fn bodies_without_a_beginning_go() {
        for first in [
            "MIIEpAIBAAKCAQEA",
            "MIICXAIBAAKBgQDd",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
            "MHcCAQEEI",
            "MIIFHDBOBgkqhkiG9w0BBQ0w",
            "b3BlbnNzaC1rZXktdjEAAAAA",
        ] {
            let body = lines(first);
            for text in [
                format!("before it\n{body}\nand after"),
                format!("key: {body}"),
                format!("\"{}\"", body.replace('\n', "\\n")),
                format!("    {}\n", body.replace('\n', "\n    ")),
            ] {
                let redacted = Redactor::new().text(&text).text;
                assert!(
                    redacted.contains("***REDACTED:private-key***"),
                    "{text}\n{redacted}"
                );
                let lines = body.split('\n').any(|line| redacted.contains(line));
                assert!(!lines, "{redacted}");
                assert_eq!(redacted.contains("and after"), text.contains("and after"));
            }
        }
    }

    #[test]
    fn a_body_with_its_end_alone_goes() {
        let body = lines("q7Gz");
        let text = format!("cut here\n{body}\n-----END RSA PRIVATE KEY-----\nrest");
        assert_eq!(
            Redactor::new().text(&text).text,
            "cut here\n***REDACTED:private-key***\n-----END RSA PRIVATE KEY-----\nrest"
        );
        let public = text.replace("RSA PRIVATE KEY", "CERTIFICATE");
        assert_eq!(torn(&public, public.find("-----END").expect("there")), None);
    }

    #[test]
    fn a_block_in_base64_goes_and_a_certificate_stays() {
        let block = |label: &str| {
            let body = lines("MIIEpAIBAAKCAQEA");
            let block = format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
            base64::engine::general_purpose::STANDARD.encode(block)
        };
        let key = format!("tls.key: {}\nkind: Secret\n", block("RSA PRIVATE KEY"));
        assert_eq!(
            Redactor::new().text(&key).text,
            "tls.key: ***REDACTED:private-key***\nkind: Secret\n"
        );
        let at = block("CERTIFICATE");
        assert_eq!(wrapped(&at, 0), None);
    }
}
