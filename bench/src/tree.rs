//! The trees that are measured on: files of the crates in the local cargo registry, or made-up ones.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A tree that was made: its files, relative to the root, sorted.
pub struct Tree {
    pub files: Vec<String>,
    /// Where they come from.
    pub source: String,
}

/// Fills a directory, as far as it is not filled yet, with `count` files. With too few crates they are taken several times, each time with a line of
/// its own at the end, so that no two copies are one object to git.
pub fn fill(root: &Path, count: usize, registry: Option<&Path>) -> io::Result<Tree> {
    let real = registry.map(files_below).transpose()?.unwrap_or_default();
    let Some(base) = registry.filter(|_| real.len() >= 1000) else {
        return synthetic(root, count);
    };
    let mut files = Vec::new();
    let mut copy = 0;
    while files.len() < count {
        for path in real.iter().take(count - files.len()) {
            let to = format!("copy-{copy:02}/{path}");
            if root.join(&to).exists() {
                files.push(to);
                continue;
            }
            let mut bytes = fs::read(base.join(path))?;
            if copy > 0 {
                writeln!(bytes, "// copy {copy}")?;
            }
            write(&root.join(&to), &bytes)?;
            files.push(to);
        }
        copy += 1;
    }
    files.sort();
    let source = format!("{} files of crates, {copy} times over", real.len());
    Ok(Tree { files, source })
}

/// Fills a directory with small made-up files.
pub fn synthetic(root: &Path, count: usize) -> io::Result<Tree> {
    let mut files = Vec::new();
    for at in 0..count {
        let path = format!("d{:03}/e{:02}/file-{at}.txt", at / 2500, at / 50 % 50);
        if root.join(&path).exists() {
            files.push(path);
            continue;
        }
        let text = format!("made-up file {at}\n").repeat(1 + at % 40);
        write(&root.join(&path), text.as_bytes())?;
        files.push(path);
    }
    files.sort();
    let source = "small made-up files".to_owned();
    Ok(Tree { files, source })
}

/// Writes a file and makes its directories.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::write(path, bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
            fs::write(path, bytes)
        }
        other => other,
    }
}

/// Where cargo keeps the sources of crates, when it has any.
pub fn registry() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let sources = fs::read_dir(home.join("registry/src")).ok()?;
    sources
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.is_dir())
}

/// Regular files, but for git's own: rules and attributes of the crates would not be those of one repository.
fn files_below(dir: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(dir.join(&at))? {
            let entry = entry?;
            let name = entry.file_name();
            let path = at.join(&name);
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file()
                && !name.to_string_lossy().starts_with(".git")
                && let Some(path) = path.to_str()
            {
                found.push(path.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}
