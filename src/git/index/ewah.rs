//! Git's serialised EWAH bitmaps, as far as a split index needs them: which bits are set.

use super::corrupt;
use super::cursor::Cursor;
use super::write::length;
use crate::error::Result;

/// Reads one bitmap from `rest` and gives the positions of its set bits, ascending.
///
/// # Errors
/// `CORRUPT_RECORD` when it is cut short or sets a bit at or beyond `limit`.
pub(super) fn read(rest: &mut Cursor, limit: usize) -> Result<Vec<usize>> {
    let cut = || corrupt("a bitmap is cut short");
    // How many bits the writer meant; what counts is how many entries there are.
    let _bits = rest.u32().ok_or_else(cut)?;
    let count = rest.u32().ok_or_else(cut)? as usize;
    let bytes = rest
        .take(count.checked_mul(8).ok_or_else(cut)?)
        .ok_or_else(cut)?;
    // Where the last run begins: a writer's bookmark, of no use here.
    let _last_run = rest.u32().ok_or_else(cut)?;

    let mut set = Set {
        bits: Vec::new(),
        at: 0,
        limit: limit as u64,
    };
    let mut words = Cursor::new(bytes);
    while let Some(run) = words.u64() {
        // Bit 0: the value of the run; 32 bits: how many words of it; 31 bits: how many literal words follow.
        set.run(run & 1 != 0, (run >> 1 & 0xffff_ffff) * 64)?;
        for _ in 0..run >> 33 {
            set.literal(words.u64().ok_or_else(cut)?)?;
        }
    }
    Ok(set.bits)
}

/// Appends a bitmap with the bits at `set`, which ascend: one run of no words, then all words as they are.
pub(super) fn write(set: &[usize], out: &mut Vec<u8>) {
    let bits = set.last().map_or(0, |last| last + 1);
    let mut words = vec![0_u64; bits.div_ceil(64)];
    for &bit in set {
        words[bit / 64] |= 1 << (bit % 64);
    }
    let run = (words.len() as u64) << 33;
    let last_run = 0_u32;
    out.extend_from_slice(&length(bits));
    out.extend_from_slice(&length(words.len() + 1));
    for word in std::iter::once(run).chain(words) {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(&last_run.to_be_bytes());
}

struct Set {
    bits: Vec<usize>,
    at: u64,
    limit: u64,
}

impl Set {
    fn run(&mut self, value: bool, len: u64) -> Result<()> {
        if value {
            for _ in 0..len {
                self.push(self.at)?;
                self.at += 1;
            }
        } else {
            self.at += len;
        }
        Ok(())
    }

    fn literal(&mut self, mut word: u64) -> Result<()> {
        while word != 0 {
            self.push(self.at + u64::from(word.trailing_zeros()))?;
            word &= word - 1;
        }
        self.at += 64;
        Ok(())
    }

    fn push(&mut self, bit: u64) -> Result<()> {
        match usize::try_from(bit) {
            Ok(place) if bit < self.limit => self.bits.push(place),
            _ => return Err(corrupt("a bitmap names entries that do not exist")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn serialised(words: &[u64]) -> Vec<u8> {
        let mut out = 0u32.to_be_bytes().to_vec();
        out.extend(u32::try_from(words.len()).expect("few").to_be_bytes());
        out.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        out.extend(0u32.to_be_bytes());
        out
    }

    fn run(value: u64, words: u64, literals: u64) -> u64 {
        value | words << 1 | literals << 33
    }

    #[test]
    fn runs_and_literals_give_positions() {
        let bytes = serialised(&[run(0, 1, 1), 0b101, run(1, 1, 0), run(0, 0, 1), 1 << 63]);
        let mut cursor = Cursor::new(&bytes);
        let mut wanted = vec![64, 66];
        wanted.extend(128..192);
        wanted.push(255);
        assert_eq!(read(&mut cursor, 256).expect("well formed"), wanted);
        assert!(cursor.is_empty());
    }

    #[test]
    fn a_hostile_bitmap_is_refused_at_once() {
        let endless: Vec<u64> = vec![run(1, 0xffff_ffff, 0); 3];
        let beyond = [run(0, 0xffff_ffff, 1), 1];
        let short = [run(0, 0, 5), 1];
        for words in [&endless[..], &beyond, &short] {
            let bytes = serialised(words);
            let error = read(&mut Cursor::new(&bytes), 100).expect_err("hostile");
            assert_eq!(error.code(), Code::CorruptRecord);
        }
        let mut counts = serialised(&[]);
        counts[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(read(&mut Cursor::new(&counts), 100).is_err());
    }
}
