//! The last line of a file that is ours as a whole: by it a file that some `tw` wrote is told from one that somebody has changed since.

use std::ffi::OsStr;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::git::hex::hex;

/// What stands before the digest, in whatever is a comment there.
const MARK: &str = "written by tw ";

/// So many hex digits tell one text from another that nobody made to be like it.
const DIGITS: usize = 16;

/// A text with its seal.
pub(super) fn sealed(path: &Path, text: &str) -> String {
    let (open, close) = match path.extension().and_then(OsStr::to_str) {
        Some("md") => ("<!-- ", " -->"),
        _ => ("// ", ""),
    };
    format!("{text}{open}{MARK}{}{close}\n", digest(text))
}

/// Whether all above the seal is what it was put under. git may have given the lines other ends.
pub(super) fn is_unchanged(text: &str) -> bool {
    let text = text.replace('\r', "");
    let Some(seal) = text.lines().last() else {
        return false;
    };
    let above = text
        .strip_suffix('\n')
        .and_then(|text| text.strip_suffix(seal));
    let found = seal
        .split_once(MARK)
        .and_then(|(_, rest)| rest.get(..DIGITS));
    above.is_some_and(|above| found == Some(&digest(above)))
}

fn digest(text: &str) -> String {
    let mut digest = hex(&Sha256::digest(text.as_bytes()));
    digest.truncate(DIGITS);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_tells_of_every_change() {
        for name in ["SKILL.md", "timewarp.js"] {
            let text = sealed(Path::new(name), "one\ntwo\n");
            assert!(is_unchanged(&text), "{text}");
            assert!(is_unchanged(&text.replace('\n', "\r\n")), "{text}");
            for changed in [
                text.replace("two", "too"),
                format!("{text}more\n"),
                format!("more\n{text}"),
                text.replace("tw ", "tw 0"),
                String::new(),
                "one\ntwo\n".to_owned(),
            ] {
                assert!(!is_unchanged(&changed), "{changed}");
            }
        }
    }
}
