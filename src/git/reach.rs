//! Who gets to what lies in a directory: whoever may not search that directory gets at nothing beneath it, however open it is.

/// All permission bits.
pub const ALL: u32 = 0o7777;

/// The permission bits that mean something beneath a directory with these: those of nobody who does not get through it.
pub fn beneath(dir: u32) -> u32 {
    let closed = !dir & 0o011;
    ALL & !(closed << 2 | closed << 1 | closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_get_through_gets_at_nothing() {
        for (dir, bits) in [
            (0o755, ALL),
            (0o750, 0o7770),
            (0o700, 0o7700),
            (0o744, 0o7700),
            (0o711, ALL),
        ] {
            assert_eq!(beneath(dir), bits, "{dir:o}");
        }
    }
}
