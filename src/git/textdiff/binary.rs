//! Binary contents in a patch, as `git apply` takes them: both sides whole, each compressed, in lines of letters.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// git's digits of base 85.
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// This many bytes are in a line.
const LINE: usize = 52;

/// What stands behind the header lines: the new content, and the old one for the way back.
pub(super) fn patch(old: &[u8], new: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = b"GIT binary patch\n".to_vec();
    for side in [new, old] {
        literal(&mut out, side)?;
    }
    Ok(out)
}

fn literal(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    out.extend(format!("literal {}\n", bytes.len()).bytes());
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    for line in encoder.finish()?.chunks(LINE) {
        out.push(length(line.len()));
        for four in line.chunks(4) {
            let mut word = [0; 4];
            for (to, byte) in word.iter_mut().zip(four) {
                *to = *byte;
            }
            out.extend(digits(u32::from_be_bytes(word)));
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    Ok(())
}

/// The letter that says how many bytes a line has: `A` one, `z` all.
fn length(bytes: usize) -> u8 {
    let nth = u8::try_from(bytes.saturating_sub(1)).unwrap_or(u8::MAX);
    if nth < 26 {
        b'A' + nth
    } else {
        b'a' + (nth - 26)
    }
}

fn digits(mut word: u32) -> [u8; 5] {
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(word % 85) as usize];
        word /= 85;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lengths_are_those_of_git() {
        assert_eq!(digits(0), *b"00000");
        assert_eq!(digits(u32::MAX), *b"|NsC0");
        assert_eq!([1, 26, 27, 52].map(length), *b"AZaz");
    }
}
