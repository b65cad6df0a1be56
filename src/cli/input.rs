//! Texts that a flag names: a file, or standard input.

use std::io::Read as _;
use std::path::Path;

use crate::error::{Result, ResultExt};

/// A file, or with `-` standard input.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.context(|| "cannot read standard input")?;
        return Ok(bytes);
    }
    crate::git::regular::read(path)
        .context(|| format!("cannot read '{}'", path.display()))
        .map_err(|error| error.hint("name a file that can be read, or '-' for standard input"))
}

/// The word, or with `-` standard input.
pub fn text(word: &str) -> Result<String> {
    if word != "-" {
        return Ok(word.to_owned());
    }
    Ok(String::from_utf8_lossy(&read(word.as_ref())?).into_owned())
}
