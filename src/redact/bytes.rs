//! Bytes that need not be text: what is text in them is redacted, every other byte stays.
//!
//! What is no UTF-8 is carried through the redactor as characters that the text does not use. UTF-16 is recognised by its
//! mark, or by the zero bytes of its letters, and written as UTF-16 again.

use std::collections::HashSet;

use super::{Counts, Redacted};

/// Where in Unicode the characters come from that stand for what is no text: nobody uses all of them.
const FIRST: u32 = 0xf_0000;
const LAST: u32 = 0x10_ffff;

/// How many pairs of bytes tell UTF-16 without a mark, and how many of ten must have a zero.
const PAIRS: usize = 2048;
const ZEROS_OF_TEN: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// Redacts the text in `input` with `redact`.
pub fn redacted_bytes(input: &[u8], redact: impl Fn(&str) -> Redacted) -> (Vec<u8>, Counts) {
    if let Ok(text) = std::str::from_utf8(input)
        && order(input).is_none()
    {
        let redacted = redact(text);
        return (redacted.text.into_bytes(), redacted.counts);
    }
    // A mark alone proves nothing: other bytes may begin with it, and have their secrets in plain text.
    let wide = order(input).and_then(|order| wide(input, order, &redact));
    wide.filter(|(_, counts)| !counts.is_empty())
        .or_else(|| narrow(input, &redact))
        .unwrap_or_else(|| piecewise(input, &redact))
}

/// The order of bytes in UTF-16; `None` for anything else.
fn order(input: &[u8]) -> Option<Order> {
    match input {
        [0xff, 0xfe, ..] => return Some(Order::Little),
        [0xfe, 0xff, ..] => return Some(Order::Big),
        _ => {}
    }
    let (mut pairs, mut low, mut high) = (0, 0, 0);
    for pair in input.chunks_exact(2).take(PAIRS) {
        pairs += 1;
        low += usize::from(pair[0] != 0 && pair[1] == 0);
        high += usize::from(pair[0] == 0 && pair[1] != 0);
    }
    let most = |count: usize| pairs >= 4 && count * 10 >= pairs * ZEROS_OF_TEN;
    if most(low) {
        Some(Order::Little)
    } else if most(high) {
        Some(Order::Big)
    } else {
        None
    }
}

/// This many characters in a row that none of these is one of.
fn unused(used: impl Iterator<Item = char>, length: u32) -> Option<u32> {
    let blocks: HashSet<u32> = used
        .map(u32::from)
        .filter(|code| *code >= FIRST)
        .map(|code| code / length)
        .collect();
    (FIRST / length..=LAST / length)
        .rev()
        .find(|block| !blocks.contains(block))
        .map(|block| block * length)
}

fn narrow(input: &[u8], redact: impl Fn(&str) -> Redacted) -> Option<(Vec<u8>, Counts)> {
    let used = input.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    let first = unused(used, 0x100)?;
    let mut text = String::with_capacity(input.len() + 16);
    for chunk in input.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push(char::from_u32(first + u32::from(*byte))?);
        }
    }
    let redacted = redact(&text);
    let mut out = Vec::with_capacity(input.len());
    for ch in redacted.text.chars() {
        match u32::from(ch).checked_sub(first).map(u8::try_from) {
            Some(Ok(byte)) => out.push(byte),
            _ => out.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Some((out, redacted.counts))
}

fn wide(
    input: &[u8],
    order: Order,
    redact: impl Fn(&str) -> Redacted,
) -> Option<(Vec<u8>, Counts)> {
    let unit = |pair: &[u8]| match order {
        Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
        Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
    };
    let units = || input.chunks_exact(2).map(unit);
    let used = char::decode_utf16(units()).filter_map(Result::ok);
    // Halves of a character that stand alone.
    let first = unused(used, 0x800)?;
    let text: String = char::decode_utf16(units())
        .map(|found| {
            found.unwrap_or_else(|half| {
                let number = u32::from(half.unpaired_surrogate()) - 0xd800;
                char::from_u32(first + number).unwrap_or(char::REPLACEMENT_CHARACTER)
            })
        })
        .collect();
    let redacted = redact(&text);
    let mut out = Vec::with_capacity(input.len());
    let mut put = |unit: u16| {
        out.extend_from_slice(&match order {
            Order::Little => unit.to_le_bytes(),
            Order::Big => unit.to_be_bytes(),
        });
    };
    for ch in redacted.text.chars() {
        let half = u32::from(ch)
            .checked_sub(first)
            .filter(|half| *half < 0x800);
        match half.and_then(|half| u16::try_from(half + 0xd800).ok()) {
            Some(half) => put(half),
            None => ch
                .encode_utf16(&mut [0; 2])
                .iter()
                .copied()
                .for_each(&mut put),
        }
    }
    // A file that was cut off may end in half a unit.
    out.extend_from_slice(input.chunks_exact(2).remainder());
    Some((out, redacted.counts))
}

/// Each stretch of text alone: for bytes that use every character there is.
fn piecewise(input: &[u8], redact: impl Fn(&str) -> Redacted) -> (Vec<u8>, Counts) {
    let (mut out, mut counts) = (Vec::with_capacity(input.len()), Counts::new());
    for chunk in input.utf8_chunks() {
        let redacted = redact(chunk.valid());
        out.extend_from_slice(redacted.text.as_bytes());
        out.extend_from_slice(chunk.invalid());
        for (rule, count) in redacted.counts {
            *counts.entry(rule).or_default() += count;
        }
    }
    (out, counts)
}

#[cfg(test)]
mod tests {
    use super::super::Redactor;
    use super::*;

    const SECRET: &str = "q7gzkxv0w1jh9p2m";
    const MARK: &str = "***REDACTED***";

    fn redacted(input: &[u8]) -> Vec<u8> {
        let redactor = Redactor::new();
        redacted_bytes(input, |text| redactor.text(text)).0
    }

    fn encoded(text: &str, order: Order) -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| match order {
                Order::Little => unit.to_le_bytes(),
                Order::Big => unit.to_be_bytes(),
            })
            .collect()
    }

    #[test]
    fn bytes_that_are_no_text_pass_through() {
        for bytes in [
            b"\x80\xff\xfe ab \xc3".as_slice(),
            b"\xed\xa0\x80\r\n\0\x01",
            b"\xff\xfe\x00\xd8a\x00b",
            b"a\0b\0\0\xdcc\0d\0e",
            b"\xef\xbb\xbf\xf4\x8f\xbf\xbf\x80",
        ] {
            assert_eq!(redacted(bytes), bytes);
        }
        let all: Vec<u8> = (0..4096_u32)
            .map(|at| ((at * 167) >> 3).to_le_bytes()[0])
            .collect();
        assert_eq!(redacted(&all), all);
        let line = format!("\u{10ff80} token = '{SECRET}' ");
        let with = |value: &str| [line.replace(SECRET, value).as_bytes(), b"\x80\xff\n"].concat();
        assert_eq!(redacted(&with(SECRET)), with(MARK));
    }

    #[test]
    fn the_mark_of_utf_16_before_other_bytes_hides_no_secret() {
        for mark in [&b"\xff\xfe"[..], b"\xfe\xff", b"\xff\xfe\x80"] {
            let text = |secret: &str| {
                [mark, format!(" password={secret} \n").as_bytes(), b"\x81"].concat()
            };
            assert_eq!(redacted(&text(SECRET)), text(MARK));
        }
    }

    #[test]
    fn utf_16_is_redacted_in_its_own_form() {
        for order in [Order::Little, Order::Big] {
            for start in ["\u{feff}", ""] {
                let text = |value| encoded(&format!("{start}token = '{value}' é\r\n"), order);
                assert_eq!(redacted(&text(SECRET)), text(MARK), "{order:?} {start:?}");
            }
        }
    }

    #[test]
    fn bytes_that_use_every_character_are_redacted_piece_by_piece() {
        let all: String = (FIRST..=LAST).filter_map(char::from_u32).collect();
        let text =
            |value: &str| [all.as_bytes(), b"\xff token = '", value.as_bytes(), b"'"].concat();
        assert_eq!(redacted(&text(SECRET)), text(MARK));
    }
}
