//! Bytes as lower-case hex digits, as git writes ids.

use std::fmt::Write as _;

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(hex(&[]), "");
    }
}
