//! What a name in a directory of the working tree is, and what follows from that.

/// What a name in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A captured regular file.
    // The numbers stand in cache files: one that is used keeps its meaning.
    File = 1,
    /// A captured symbolic link.
    Symlink = 2,
    /// A submodule that the index names; never entered.
    Gitlink = 3,
    /// In the index with skip-worktree and not on disk (sparse checkout); stands for what the index says.
    Absent = 4,
    /// A clean, tracked, filtered file over the size limit, recorded by its index blob.
    FilteredClean = 5,
    /// A nested repository. By the name `.git`: the directory is one, and is entered for what git tracks in it.
    Nested = 10,
    /// An untracked file over the size limit.
    TooLarge = 11,
    /// A socket.
    Socket = 12,
    /// A named pipe.
    Pipe = 13,
    /// A device.
    Device = 14,
    /// A file or directory that cannot be read.
    Unreadable = 15,
    /// A name that git's own path check refuses.
    UnsafeName = 16,
    /// Left out by our default globs.
    DefaultExclude = 17,
    /// Left out by the user's `exclude`.
    UserExclude = 18,
    /// Left out by the team's `exclude`.
    TeamExclude = 19,
    /// Bytes that git refuses to hash: they look like a SHA-1 collision attack.
    Collision = 20,
    /// A directory that is git's own: of this repository, or of one that it borrows objects from.
    GitDirectory = 21,
    /// A `.git` that makes no repository of its directory, as long as it makes none.
    StrayGit = 22,
    /// An ignore file that is itself ignored: watched, not captured.
    IgnoreFile = 30,
    /// Vanished while being captured.
    Gone = 31,
}

impl Kind {
    /// The kind with this number in the cache.
    #[inline]
    pub fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::File,
            2 => Self::Symlink,
            3 => Self::Gitlink,
            4 => Self::Absent,
            5 => Self::FilteredClean,
            10 => Self::Nested,
            11 => Self::TooLarge,
            12 => Self::Socket,
            13 => Self::Pipe,
            14 => Self::Device,
            15 => Self::Unreadable,
            16 => Self::UnsafeName,
            17 => Self::DefaultExclude,
            18 => Self::UserExclude,
            19 => Self::TeamExclude,
            20 => Self::Collision,
            21 => Self::GitDirectory,
            22 => Self::StrayGit,
            30 => Self::IgnoreFile,
            31 => Self::Gone,
            _ => return None,
        })
    }

    /// A rule alone keeps it out of snapshots: what names it takes it in all the same.
    pub fn is_by_rule(self) -> bool {
        matches!(
            self,
            Self::TooLarge
                | Self::DefaultExclude
                | Self::UserExclude
                | Self::TeamExclude
                | Self::IgnoreFile
        )
    }

    /// Has an entry in the snapshot's tree.
    pub fn in_tree(self) -> bool {
        matches!(
            self,
            Self::File | Self::Symlink | Self::Gitlink | Self::Absent | Self::FilteredClean
        )
    }

    /// Has an entry in the snapshot's tree, and stands on disk as a file or symlink.
    pub fn is_on_disk(self) -> bool {
        matches!(self, Self::File | Self::Symlink | Self::FilteredClean)
    }

    /// Why it was not captured, as `uncaptured` says it.
    pub fn reason(self) -> Option<&'static str> {
        Some(match self {
            Self::Nested => "nested-repository",
            Self::Gitlink => "submodule",
            Self::TooLarge => "larger-than-limit",
            Self::Socket => "socket",
            Self::Pipe => "pipe",
            Self::Device => "device",
            Self::Unreadable => "unreadable",
            Self::UnsafeName | Self::StrayGit => "unsafe-name",
            Self::DefaultExclude => "default-exclude",
            Self::UserExclude => "exclude",
            Self::TeamExclude => "team-exclude",
            Self::Collision => "sha1-collision",
            Self::GitDirectory => "git-directory",
            Self::FilteredClean => "filtered-clean",
            Self::File | Self::Symlink | Self::Absent | Self::IgnoreFile | Self::Gone => {
                return None;
            }
        })
    }

    /// Whether this is what `uncaptured` says of it.
    pub fn is_reason(self, reason: &str) -> bool {
        self.reason() == Some(reason)
    }

    /// Whether its stamp says when it changed. The others are known by their directory's stamp alone.
    pub fn is_watched(self) -> bool {
        !matches!(
            self,
            Self::DefaultExclude
                | Self::UserExclude
                | Self::TeamExclude
                | Self::UnsafeName
                | Self::GitDirectory
                | Self::Gone
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_survive_their_numbers() {
        for number in 0..=255 {
            if let Some(kind) = Kind::from_u8(number) {
                assert_eq!(kind as u8, number);
            }
        }
    }
}
