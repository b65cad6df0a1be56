//! MD5 (RFC 1321), for directory names only: kimi-cli names a working directory's sessions after its digest.

use crate::git::hex::hex;

const SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

/// The digest of `bytes` in lower-case hex.
pub fn md5_hex(bytes: &[u8]) -> String {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(bytes.len() as u64 * 8).to_le_bytes());
    for block in padded.chunks_exact(64) {
        add_block(&mut state, block);
    }
    hex(state.map(u32::to_le_bytes).as_flattened())
}

/// The constant of a step: the fraction of a sine, as the RFC defines it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 2^32 by definition"
)]
fn constant(step: u32) -> u32 {
    (f64::from(step + 1).sin().abs() * 4_294_967_296.0) as u32
}

fn add_block(state: &mut [u32; 4], block: &[u8]) {
    let mut words = [0_u32; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64_u32 {
        let (mix, index) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let shift = SHIFTS[(step / 16) as usize][(step % 4) as usize];
        let sum = a
            .wrapping_add(mix)
            .wrapping_add(constant(step))
            .wrapping_add(words[(index % 16) as usize]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(shift)));
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_rfc() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(
            md5_hex(b"message digest"),
            "f96b697d7cb7938d525a2f31aaf161d0"
        );
        let long =
            b"12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(md5_hex(long), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
