//! Object ids: SHA-1 with collision detection for what is written, plain SHA-1 for the proof of what is read.
//!
//! A colliding blob that "already exists" would be dropped without a word, so every new id is checked for the traces of the
//! known attacks, as git checks its own. Objects that are read were checked when they came in; there plain SHA-1, four times
//! faster, proves that the disk gave back what was written.

use git2::Oid;
use sha1_checked::Digest;

use super::{ObjectKind, header};
use crate::error::{Code, Error, Result};

const COLLISION: &str = "sha1_collision";

/// The id of an object.
///
/// # Errors
/// Bytes made for a SHA-1 collision attack; [`is_collision`] tells.
pub fn hash(kind: ObjectKind, data: &[u8]) -> Result<Oid> {
    let mut hasher = Hasher::new(kind, data.len() as u64);
    hasher.update(data);
    hasher.finish()
}

/// Computes the id of an object whose size is known before its bytes.
pub struct Hasher {
    sha: sha1_checked::Sha1,
    announced: u64,
    seen: u64,
}

impl Hasher {
    /// Starts with the header that git hashes first.
    pub fn new(kind: ObjectKind, size: u64) -> Self {
        let mut sha = sha1_checked::Sha1::new();
        sha.update(header(kind, size));
        Self {
            sha,
            announced: size,
            seen: 0,
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, data: &[u8]) {
        self.seen += data.len() as u64;
        self.sha.update(data);
    }

    /// The id.
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
        let result = self.sha.try_finalize();
        let oid = Oid::from_bytes(result.hash())?;
        if result.has_collision() {
            return Err(collision());
        }
        Ok(oid)
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
    error.details().iter().any(|(name, _)| name == COLLISION)
}

/// Plain SHA-1 of what is read, to be compared with the id asked for.
pub(super) struct Proof(sha1::Sha1);

impl Proof {
    pub(super) fn new(kind: ObjectKind, size: u64) -> Self {
        let mut sha = sha1::Sha1::new();
        sha.update(header(kind, size));
        Self(sha)
    }

    pub(super) fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    pub(super) fn holds(self, oid: Oid) -> bool {
        self.0.finalize().as_slice() == oid.as_bytes()
    }
}

/// Plain SHA-1 of bytes: checksums of packs and idx files.
pub(super) fn checksum(data: &[u8]) -> [u8; 20] {
    sha1::Sha1::digest(data).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_gits() {
        let id = |kind, data: &[u8]| hash(kind, data).expect("no attack").to_string();
        assert_eq!(
            id(ObjectKind::Blob, b""),
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        );
        assert_eq!(
            id(ObjectKind::Tree, b""),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
    }

    #[test]
    fn a_wrong_size_is_refused() {
        let mut hasher = Hasher::new(ObjectKind::Blob, 3);
        hasher.update(b"four");
        let error = hasher.finish().expect_err("four bytes are not three");
        assert!(!is_collision(&error));
    }

    #[test]
    fn a_collision_is_told_from_other_errors() {
        assert!(is_collision(&collision().while_doing("a.pdf")));
        assert!(!is_collision(&Error::new(Code::Io, "else")));
    }

    #[test]
    fn the_proof_agrees_with_the_id() {
        let oid = hash(ObjectKind::Commit, b"x").expect("no attack");
        let proof = |data: &[u8]| {
            let mut proof = Proof::new(ObjectKind::Commit, 1);
            proof.update(data);
            proof.holds(oid)
        };
        assert!(proof(b"x"));
        assert!(!proof(b"y"));
    }
}
