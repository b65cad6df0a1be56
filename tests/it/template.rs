//! The repositories that sandboxes start from, and the disk that they stand on.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::StatVfsMountFlags;

/// So much has to be free in memory.
const ROOM: u64 = 4 << 30;

/// Where temporary directories go: where the user says, else into memory where there is room, else to the usual place.
pub fn place() -> &'static Path {
    static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
        let memory = Path::new("/dev/shm");
        if std::env::var_os("TMPDIR").is_none() && has_room(memory) {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        }
    });
    &PLACE
}

/// Whether files can be made and run there, enough of them.
fn has_room(dir: &Path) -> bool {
    let Ok(found) = rustix::fs::statvfs(dir) else {
        return false;
    };
    !found.f_flag.contains(StatVfsMountFlags::NOEXEC)
        && found.f_bavail.saturating_mul(found.f_frsize) >= ROOM
        && tempfile::tempdir_in(dir).is_ok()
}

/// A git directory as git made it, in memory: each path in it with its mode, and a file's bytes.
pub struct Template(Vec<(PathBuf, u32, Option<Vec<u8>>)>);

impl Template {
    /// Takes a copy of a directory without symlinks.
    pub fn of(dir: &Path) -> Self {
        let mut entries = Vec::new();
        crate::damage::walk(dir, &mut |path| {
            let meta = path.symlink_metadata().unwrap();
            let bytes = meta.is_file().then(|| std::fs::read(path).unwrap());
            let name = path.strip_prefix(dir).unwrap().to_owned();
            entries.push((name, meta.permissions().mode(), bytes));
        });
        Self(entries)
    }

    /// Makes the directory.
    pub fn lay_out(&self, dir: &Path) {
        std::fs::create_dir(dir).unwrap();
        for (name, mode, bytes) in &self.0 {
            let path = dir.join(name);
            match bytes {
                Some(bytes) => std::fs::write(&path, bytes).unwrap(),
                None => std::fs::create_dir(&path).unwrap(),
            }
            std::fs::set_permissions(&path, PermissionsExt::from_mode(*mode)).unwrap();
        }
    }
}
