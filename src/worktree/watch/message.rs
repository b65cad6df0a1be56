//! What a `tw` and the watcher say to each other: bounded, and nothing but data on either side.
//!
//! A request is one short piece, an answer one piece with its length in front. Whatever is longer, shorter or otherwise than
//! written here is no message.

use super::changes::{Depth, Dirty};
use crate::worktree::cache::Identity;

/// The longest answer. A list that does not fit is no answer: a full look is as quick.
pub const LONGEST_ANSWER: usize = 256 << 10;

/// How long a request is.
pub const REQUEST: usize = 56;

const MAGIC: [u8; 8] = *b"twwatch1";

/// Names one run of a watcher.
pub type Instance = [u8; 16];

/// Names one question.
pub type Nonce = [u8; 16];

/// A moment in the life of one watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Which watcher.
    pub instance: Instance,
    /// Its last event.
    pub sequence: u64,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// What changed since a moment, and what moment it is now. `nonce`: the name of the cookie that was made before.
    Since {
        /// Names the question.
        nonce: Nonce,
        /// Zero when only the moment is wanted.
        token: Token,
    },
    /// How it is, as a JSON document.
    Status {
        /// Names the question.
        nonce: Nonce,
    },
    /// It shall end.
    Stop {
        /// Names the question.
        nonce: Nonce,
    },
}

impl Request {
    /// The question's name.
    pub fn nonce(&self) -> Nonce {
        match *self {
            Self::Since { nonce, .. } | Self::Status { nonce } | Self::Stop { nonce } => nonce,
        }
    }

    /// As it is sent.
    pub fn encode(&self) -> [u8; REQUEST] {
        let mut out = [0; REQUEST];
        out[..8].copy_from_slice(&MAGIC);
        out[8..24].copy_from_slice(&self.nonce());
        match self {
            Self::Since { token, .. } => {
                out[24..40].copy_from_slice(&token.instance);
                out[40..48].copy_from_slice(&token.sequence.to_le_bytes());
                out[48] = 1;
            }
            Self::Status { .. } => out[48] = 2,
            Self::Stop { .. } => out[48] = 3,
        }
        out
    }

    /// Reads it; `None` when it is none.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; REQUEST] = bytes.try_into().ok()?;
        (bytes[..8] == MAGIC && bytes[49..].iter().all(|byte| *byte == 0)).then_some(())?;
        let nonce = bytes[8..24].try_into().ok()?;
        let has_no_token = bytes[24..48].iter().all(|byte| *byte == 0);
        Some(match bytes[48] {
            1 => Self::Since {
                nonce,
                token: Token {
                    instance: bytes[24..40].try_into().ok()?,
                    sequence: u64::from_le_bytes(bytes[40..48].try_into().ok()?),
                },
            },
            2 if has_no_token => Self::Status { nonce },
            3 if has_no_token => Self::Stop { nonce },
            _ => return None,
        })
    }
}

/// Where the watcher looks: only who sees the same directory in the same place may believe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The root directory's device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// The mount namespace: elsewhere other things may be mounted over the same paths.
    pub mounts: u64,
}

/// What a watcher answers to [`Request::Since`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question's.
    pub nonce: Nonce,
    /// What moment it is.
    pub now: Token,
    /// Where it looks.
    pub place: Place,
    /// The cache whose directories it watches, all of them.
    pub cache: Option<Identity>,
    /// What may differ since the moment that was asked for; `None` when it cannot be told.
    pub dirty: Option<Dirty>,
}

impl Answer {
    /// As it is sent, with its length; a list that is too long is left out.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.now.instance);
        for number in [
            self.now.sequence,
            self.place.device,
            self.place.inode,
            self.place.mounts,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        match &self.cache {
            Some(identity) => {
                out.push(1);
                out.extend_from_slice(&identity.encode());
            }
            None => out.push(0),
        }
        let before = out.len();
        out.push(u8::from(self.dirty.is_some()));
        for (dir, reach) in self.dirty.iter().flatten() {
            out.push(u8::from(*reach == Depth::Tree));
            let length = u32::try_from(dir.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(dir);
            if out.len() > LONGEST_ANSWER {
                out.truncate(before);
                out.push(0);
                break;
            }
        }
        let length = u32::try_from(out.len() - 4).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&length.to_le_bytes());
        out
    }

    /// Reads one, without its length; `None` when it is none.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        (take::<8>(&mut rest)? == MAGIC).then_some(())?;
        let nonce = take(&mut rest)?;
        let instance = take(&mut rest)?;
        let mut number = || take(&mut rest).map(u64::from_le_bytes);
        let now = Token {
            instance,
            sequence: number()?,
        };
        let place = Place {
            device: number()?,
            inode: number()?,
            mounts: number()?,
        };
        let cache = match take(&mut rest)? {
            [0] => None,
            [1] => Some(Identity::parse(take(&mut rest)?)?),
            _ => return None,
        };
        let dirty = match take(&mut rest)? {
            [0] => None,
            [1] => Some(parse_dirty(&mut rest)?),
            _ => return None,
        };
        rest.is_empty().then_some(Self {
            nonce,
            now,
            place,
            cache,
            dirty,
        })
    }
}

fn parse_dirty(rest: &mut &[u8]) -> Option<Dirty> {
    let mut dirty = Dirty::new();
    while !rest.is_empty() {
        let reach = match take(rest)? {
            [0] => Depth::Names,
            [1] => Depth::Tree,
            _ => return None,
        };
        let length = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?;
        let (dir, behind) = rest.split_at_checked(length)?;
        *rest = behind;
        dirty.insert(dir.to_vec(), reach);
    }
    Some(dirty)
}

/// Takes the next bytes off the rest.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(dirty: Option<Dirty>) -> Answer {
        Answer {
            nonce: [7; 16],
            now: Token {
                instance: [1; 16],
                sequence: 9,
            },
            place: Place {
                device: 1,
                inode: 2,
                mounts: 3,
            },
            cache: Identity::parse([5; Identity::SIZE]),
            dirty,
        }
    }

    #[test]
    fn what_is_sent_is_what_arrives() {
        let token = Token {
            instance: [3; 16],
            sequence: 1 << 40,
        };
        let nonce = [9; 16];
        for request in [
            Request::Since { nonce, token },
            Request::Status { nonce },
            Request::Stop { nonce },
        ] {
            assert_eq!(Request::parse(&request.encode()), Some(request));
        }
        let dirty = Dirty::from([
            (Vec::new(), Depth::Names),
            (b"a/\xff".to_vec(), Depth::Tree),
        ]);
        for dirty in [None, Some(Dirty::new()), Some(dirty)] {
            let sent = answer(dirty);
            let bytes = sent.encode();
            let length = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            assert_eq!(length as usize, bytes.len() - 4);
            assert_eq!(Answer::parse(&bytes[4..]), Some(sent));
        }
    }

    #[test]
    fn what_is_damaged_is_no_message() {
        let dirty = Dirty::from([(b"some/directory".to_vec(), Depth::Tree)]);
        let bytes = answer(Some(dirty)).encode();
        let whole = &bytes[4..];
        for end in 0..whole.len() {
            // Cut between two directories it would be whole again: the length in front says that it is not.
            let cut = Answer::parse(&whole[..end]);
            assert!(
                cut.is_none_or(|cut| cut.dirty.is_some_and(|dirty| dirty.is_empty())),
                "{end}"
            );
        }
        assert_eq!(Request::parse(&[0; REQUEST]), None);
        assert_eq!(Request::parse(b""), None);
        let mut request = Request::Stop { nonce: [1; 16] }.encode();
        request[48] = 4;
        assert_eq!(Request::parse(&request), None);
    }

    #[test]
    fn a_list_that_is_too_long_is_left_out() {
        let many =
            (0..20_000u32).map(|nth| (format!("directory-{nth}").into_bytes(), Depth::Names));
        let bytes = answer(Some(many.collect())).encode();
        assert!(bytes.len() <= LONGEST_ANSWER + 4);
        assert_eq!(Answer::parse(&bytes[4..]), Some(answer(None)));
    }
}
