//! Paths in JSON: text where they are text, exact bytes beside it where they are not.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::git::path::RepoPath;

/// The path as text, lossy.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The exact bytes in base64, when the text is not exact.
pub fn exact(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes)
        .is_err()
        .then(|| STANDARD.encode(bytes))
}

/// A file system path as bytes.
pub fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// A list of paths as text, lossy.
pub fn lossy_list(paths: &[RepoPath]) -> Vec<String> {
    paths.iter().map(|path| lossy(path)).collect()
}

/// For each path its exact bytes where the text is not exact; None when every text is.
pub fn exact_list(paths: &[RepoPath]) -> Option<Vec<Option<String>>> {
    let list: Vec<_> = paths.iter().map(|path| exact(path)).collect();
    list.iter().any(Option::is_some).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_bytes_stand_only_where_the_text_is_not_exact() {
        let paths = [RepoPath::from("a"), RepoPath::new(*b"b\xff")];
        assert_eq!(lossy_list(&paths), ["a", "b\u{fffd}"]);
        assert_eq!(
            exact_list(&paths),
            Some(vec![None, Some("Yv8=".to_owned())])
        );
        assert_eq!(exact_list(&paths[..1]), None);
    }
}
