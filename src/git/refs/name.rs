//! Which ref names are valid: the rules of `git check-ref-format`, without any of its options.
//!
//! Owns the judgement alone. Names are text here: git allows any byte from 0x80 up, and a name that is not UTF-8 is
//! never ours.

/// Whether git takes `name` as a full ref name: at least two components, each valid.
pub fn is_valid_name(name: &str) -> bool {
    name.contains('/') && !name.ends_with('.') && name.split('/').all(is_valid_component)
}

/// Whether `part` may stand as one component of a ref name. A trailing dot is only wrong at the end of the whole name.
pub fn is_valid_component(part: &str) -> bool {
    // One pass, since listings judge every name; begun as if after a dot, for none may lead.
    let bytes = part.as_bytes();
    let mut last = b'.';
    for &byte in bytes {
        if is_forbidden(byte) || (last == b'.' && byte == b'.') || (last == b'@' && byte == b'{') {
            return false;
        }
        last = byte;
    }
    !bytes.is_empty() && !bytes.ends_with(b".lock")
}

/// Whether `name` may be read as a ref beside HEAD, such as `ORIG_HEAD` (git's `is_root_ref_syntax`).
pub(super) fn is_root_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-' || byte == b'_')
}

fn is_forbidden(byte: u8) -> bool {
    matches!(
        byte,
        0..=b' ' | 0x7f | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\' | b'/'
    )
}

#[cfg(test)]
mod tests {
    use super::super::sandbox::Sandbox;
    use super::*;

    /// Tried one by one against the installed git: the two must never disagree.
    const NAMES: &[&str] = &[
        "refs/heads/main",
        "refs/probe/snapshots/s_20260228_153012_ab12cd",
        "a/b",
        "a",
        "HEAD",
        "@",
        "refs/@",
        "refs/a@",
        "refs/a@{b",
        "refs/@{",
        "refs/a.lock",
        "refs/a.lock/b",
        "refs/.lock",
        "refs/a.lockx",
        "refs/.a",
        "refs/a/.b",
        "refs/a./b",
        "refs/a.",
        "refs/a..b",
        "refs/a b",
        "refs/a~b",
        "refs/a^b",
        "refs/a:b",
        "refs/a?b",
        "refs/a*b",
        "refs/a[b",
        "refs/a]b",
        "refs/a\\b",
        "refs/a\tb",
        "refs/a\u{7f}b",
        "refs//a",
        "/refs/a",
        "refs/a/",
        "refs/\u{e9}t\u{e9}",
        "refs/-a",
        "refs/{a}",
        "refs/a.b-c_d",
    ];

    #[test]
    fn the_judgement_is_gits_own() {
        let sandbox = Sandbox::new();
        for name in NAMES {
            let git = sandbox.try_git(&["check-ref-format", name]).is_some();
            assert_eq!(is_valid_name(name), git, "{name:?}");
        }
        assert!(!is_valid_name(""));
    }

    #[test]
    fn root_names_never_leave_the_git_directory() {
        assert!(is_root_name("ORIG_HEAD"));
        for name in ["", "config", "../HEAD", "A/B", "index", "A.B"] {
            assert!(!is_root_name(name), "{name:?}");
        }
    }
}
