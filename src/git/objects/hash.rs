//! Hashes of objects: SHA-1 with collision detection for what is written, plain SHA-1 for the proof of what is read, and
//! SHA-256, of which no collision is known, for both.
//!
//! A colliding blob that "already exists" would be dropped without a word, so every new id is checked for the traces of the
//! known attacks, as git checks its own. Objects that are read were checked when they came in; there plain SHA-1, four times
//! faster, proves that the disk gave back what was written.

use std::sync::OnceLock;

use sha1_checked::Digest;
use sha2::Sha256;

use super::{ObjectKind, header};
use crate::error::{Code, Error, Result};
use crate::git::{ObjectFormat, Oid};

const COLLISION: &str = "sha1_collision";

/// The id of an object.
///
/// # Errors
/// Bytes made for a SHA-1 collision attack; [`is_collision`] tells.
pub fn hash(format: ObjectFormat, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
    let mut hasher = Hasher::new(format, kind, data.len() as u64);
    hasher.update(data);
    hasher.finish()
}

/// The id of a blob of no bytes at all.
pub fn is_empty_blob(oid: Oid) -> bool {
    static EMPTY: OnceLock<[Option<Oid>; 2]> = OnceLock::new();
    let of = |format| hash(format, ObjectKind::Blob, b"").ok();
    EMPTY
        .get_or_init(|| ObjectFormat::ALL.map(of))
        .contains(&Some(oid))
}

/// Computes the id of an object whose size is known before its bytes.
pub struct Hasher {
    sha: New,
    announced: u64,
    seen: u64,
}

/// What becomes the id of a new object.
enum New {
    Sha1(Box<sha1_checked::Sha1>),
    Sha256(Sha256),
}

impl Hasher {
    /// Starts with the header that git hashes first.
    pub fn new(format: ObjectFormat, kind: ObjectKind, size: u64) -> Self {
        let head = header(kind, size);
        let sha = match format {
            ObjectFormat::Sha1 => New::Sha1(Box::new(sha1_checked::Sha1::new().chain_update(head))),
            ObjectFormat::Sha256 => New::Sha256(Sha256::new().chain_update(head)),
        };
        Self {
            sha,
            announced: size,
            seen: 0,
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, data: &[u8]) {
        self.seen += data.len() as u64;
        match &mut self.sha {
            New::Sha1(sha) => sha.update(data),
            New::Sha256(sha) => sha.update(data),
        }
    }

    /// Returns the id of the object whose bytes were hashed.
    ///
    /// # Errors
    /// Other than the announced number of bytes, or bytes made for a collision attack ([`is_collision`]).
    pub fn finish(self) -> Result<Oid> {
        if self.seen != self.announced {
            return Err(Error::new(
                Code::Io,
                format!(
                    "an object of {} bytes was announced, {} came",
                    self.announced, self.seen
                ),
            ));
        }
        match self.sha {
            New::Sha1(sha) => {
                let result = sha.try_finalize();
                if result.has_collision() {
                    return Err(collision());
                }
                Ok(Oid::from_bytes(result.hash())?)
            }
            New::Sha256(sha) => Ok(Oid::from_bytes(&sha.finalize())?),
        }
    }
}

fn collision() -> Error {
    Error::new(
        Code::Io,
        "content carries a SHA-1 collision attack; git cannot store it safely",
    )
    .detail(COLLISION, true)
}

/// Whether an error means that the content is a collision attack: a fact about that file, not about the repository.
pub fn is_collision(error: &Error) -> bool {
    error.find_detail(COLLISION).is_some()
}

/// The hash of what is read, to be compared with the id asked for.
pub(super) struct Proof {
    sum: PlainHash,
    oid: Oid,
}

impl Proof {
    /// Of the object with this id, if it is.
    pub(super) fn new(oid: Oid, kind: ObjectKind, size: u64) -> Self {
        let mut sum = PlainHash::new(oid.format());
        sum.update(&header(kind, size));
        Self { sum, oid }
    }

    pub(super) fn update(&mut self, data: &[u8]) {
        self.sum.update(data);
    }

    pub(super) fn holds(self) -> bool {
        self.sum.finish() == self.oid
    }
}

/// The plain hash of bytes, as at the end of packs, of their indexes and of git's index.
pub(in crate::git) enum PlainHash {
    Sha1(sha1::Sha1),
    Sha256(Sha256),
}

impl PlainHash {
    pub(in crate::git) fn new(format: ObjectFormat) -> Self {
        match format {
            ObjectFormat::Sha1 => Self::Sha1(sha1::Sha1::new()),
            ObjectFormat::Sha256 => Self::Sha256(Sha256::new()),
        }
    }

    pub(in crate::git) fn update(&mut self, data: &[u8]) {
        match self {
            Self::Sha1(sha) => sha.update(data),
            Self::Sha256(sha) => sha.update(data),
        }
    }

    pub(in crate::git) fn finish(self) -> Oid {
        match self {
            Self::Sha1(sha) => Oid::from(&<[u8; 20]>::from(sha.finalize())),
            Self::Sha256(sha) => Oid::from(&<[u8; 32]>::from(sha.finalize())),
        }
    }

    /// Of all of some bytes.
    pub(in crate::git) fn of(format: ObjectFormat, data: &[u8]) -> Oid {
        let mut sum = Self::new(format);
        sum.update(data);
        sum.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_gits() {
        let id = |format, kind| hash(format, kind, b"").expect("no attack").to_string();
        for (format, kind, is) in [
            (
                ObjectFormat::Sha1,
                ObjectKind::Blob,
                "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            ),
            (
                ObjectFormat::Sha1,
                ObjectKind::Tree,
                "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            ),
            (
                ObjectFormat::Sha256,
                ObjectKind::Blob,
                "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
            ),
            (
                ObjectFormat::Sha256,
                ObjectKind::Tree,
                "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
            ),
        ] {
            assert_eq!(id(format, kind), is);
        }
    }

    #[test]
    fn a_wrong_size_is_refused() {
        for format in ObjectFormat::ALL {
            let mut hasher = Hasher::new(format, ObjectKind::Blob, 3);
            hasher.update(b"four");
            let error = hasher.finish().expect_err("four bytes are not three");
            assert!(!is_collision(&error));
        }
    }

    #[test]
    fn a_collision_is_told_from_other_errors() {
        assert!(is_collision(&collision().while_doing("a.pdf")));
        assert!(!is_collision(&Error::new(Code::Io, "else")));
    }

    #[test]
    fn the_proof_agrees_with_the_id() {
        for format in ObjectFormat::ALL {
            let oid = hash(format, ObjectKind::Commit, b"x").expect("no attack");
            let proof = |data: &[u8]| {
                let mut proof = Proof::new(oid, ObjectKind::Commit, 1);
                proof.update(data);
                proof.holds()
            };
            assert!(proof(b"x"));
            assert!(!proof(b"y"));
        }
    }
}
