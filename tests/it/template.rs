//! The repositories that sandboxes start from, and the disk that they stand on.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::fs::StatVfsMountFlags;
use timewarp::git::ObjectFormat;

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

/// What kind of repositories git makes in a sandbox. The one place where that is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    objects: &'static str,
    refs: &'static str,
}

impl Kind {
    /// Git's default. What compares with ids that stand in a text of ours, as documents print them, asks for this one by name, and so
    /// is the same test whatever all others run on.
    pub const PLAIN: Self = Self {
        objects: "sha1",
        refs: "files",
    };
    /// With ids of thirty-two bytes.
    pub const SHA256: Self = Self {
        objects: "sha256",
        refs: "files",
    };

    /// What all tests run on that do not say otherwise: `TW_TEST_OBJECTS` names another hash, `TW_TEST_REFS` another way to keep refs.
    pub fn of_all() -> Self {
        static ALL: LazyLock<Kind> = LazyLock::new(|| Kind {
            objects: one_of("TW_TEST_OBJECTS", ["sha1", "sha256"]),
            refs: one_of("TW_TEST_REFS", ["files", "reftable"]),
        });
        *ALL
    }

    /// With refs in files, whatever this run has: for tests of what only they have.
    pub fn ref_files() -> Self {
        let refs = "files";
        Self {
            refs,
            ..Self::of_all()
        }
    }

    /// The same with refs in the reftable format.
    pub fn with_reftable(self) -> Self {
        let refs = "reftable";
        Self { refs, ..self }
    }

    /// Whether refs are in the reftable format.
    pub fn has_reftable(self) -> bool {
        self.refs == "reftable"
    }

    /// What tells git.
    pub fn variables(self) -> [(&'static str, &'static str); 2] {
        [
            ("GIT_DEFAULT_HASH", self.objects),
            ("GIT_DEFAULT_REF_FORMAT", self.refs),
        ]
    }

    /// The beginning of a configuration.
    pub fn configuration(self) -> &'static str {
        match self.format() {
            ObjectFormat::Sha1 => "[core]\n\trepositoryformatversion = 0\n",
            ObjectFormat::Sha256 => {
                "[extensions]\n\tobjectFormat = sha256\n[core]\n\trepositoryformatversion = 1\n"
            }
        }
    }

    /// An id of one digit alone, which is no object's.
    pub fn id(self, digit: &str) -> String {
        digit.repeat(self.format().digits())
    }

    /// How objects are named.
    pub fn format(self) -> ObjectFormat {
        ObjectFormat::from_name(self.objects).unwrap()
    }
}

/// What an environment variable says, which is the first of these when it is not there.
fn one_of(variable: &str, values: [&'static str; 2]) -> &'static str {
    let Ok(said) = std::env::var(variable) else {
        return values[0];
    };
    let known = values.into_iter().find(|value| *value == said);
    known.unwrap_or_else(|| panic!("{variable}={said}"))
}

/// Templates of one repository, one for each kind.
pub struct Templates(Mutex<BTreeMap<Kind, &'static Template>>);

impl Templates {
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Makes the directory; `make` gives the template where there is none yet.
    pub fn lay_out(&self, kind: Kind, dir: &Path, make: impl FnOnce() -> Template) {
        let template = {
            let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *made
                .entry(kind)
                .or_insert_with(|| Box::leak(Box::new(make())))
        };
        template.lay_out(dir);
    }
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
