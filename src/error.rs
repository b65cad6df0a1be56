//! The one error type: what went wrong, and what to do next.
//!
//! Owns the stable error codes and their exit codes. A layer adds what it was doing with
//! [`ResultExt::context`]; whoever knows the next command gives it as a hint.

use std::borrow::Cow;
use std::fmt;

use rustix::io::Errno;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Map;

use crate::json::{Bytes, texts};

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The stable codes that scripts see in `error.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "the names are the documentation; the man page lists them"
)]
pub enum Code {
    NotARepository,
    UnsupportedRepository,
    UnsafeRepository,
    UnsafeWorkspace,
    SnapshotNotFound,
    AmbiguousAddress,
    InvalidAddress,
    AlreadyInPast,
    NotInPast,
    Busy,
    Interrupted,
    WouldOverwrite,
    VerifyFailed,
    NotApproved,
    Held,
    Conflict,
    NotReproduced,
    SecretFound,
    NoSpace,
    NothingToUndo,
    WorkspaceMember,
    NoSessionSnapshot,
    InvalidIssueId,
    IssueNotFound,
    IssueInvalid,
    InvalidCheckpoint,
    CheckpointUnavailable,
    BacktrackPending,
    TranscriptNotFound,
    SessionNotFound,
    PathNotFound,
    InvalidLabel,
    InvalidConfig,
    CorruptRecord,
    NewerRecord,
    Usage,
    Io,
}

impl Code {
    /// The code as it stands in JSON: upper snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotARepository => "NOT_A_REPOSITORY",
            Self::UnsupportedRepository => "UNSUPPORTED_REPOSITORY",
            Self::UnsafeRepository => "UNSAFE_REPOSITORY",
            Self::UnsafeWorkspace => "UNSAFE_WORKSPACE",
            Self::SnapshotNotFound => "SNAPSHOT_NOT_FOUND",
            Self::AmbiguousAddress => "AMBIGUOUS_ADDRESS",
            Self::InvalidAddress => "INVALID_ADDRESS",
            Self::AlreadyInPast => "ALREADY_IN_PAST",
            Self::NotInPast => "NOT_IN_PAST",
            Self::Busy => "BUSY",
            Self::Interrupted => "INTERRUPTED",
            Self::WouldOverwrite => "WOULD_OVERWRITE",
            Self::VerifyFailed => "VERIFY_FAILED",
            Self::NotApproved => "NOT_APPROVED",
            Self::Held => "HELD",
            Self::Conflict => "CONFLICT",
            Self::NotReproduced => "NOT_REPRODUCED",
            Self::SecretFound => "SECRET_FOUND",
            Self::NoSpace => "NO_SPACE",
            Self::NothingToUndo => "NOTHING_TO_UNDO",
            Self::WorkspaceMember => "WORKSPACE_MEMBER",
            Self::NoSessionSnapshot => "NO_SESSION_SNAPSHOT",
            Self::InvalidIssueId => "INVALID_ISSUE_ID",
            Self::IssueNotFound => "ISSUE_NOT_FOUND",
            Self::IssueInvalid => "ISSUE_INVALID",
            Self::InvalidCheckpoint => "INVALID_CHECKPOINT",
            Self::CheckpointUnavailable => "CHECKPOINT_UNAVAILABLE",
            Self::BacktrackPending => "BACKTRACK_PENDING",
            Self::TranscriptNotFound => "TRANSCRIPT_NOT_FOUND",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::PathNotFound => "PATH_NOT_FOUND",
            Self::InvalidLabel => "INVALID_LABEL",
            Self::InvalidConfig => "INVALID_CONFIG",
            Self::CorruptRecord => "CORRUPT_RECORD",
            Self::NewerRecord => "NEWER_RECORD",
            Self::Usage => "USAGE",
            Self::Io => "IO",
        }
    }

    /// The process exit code for this error: 1 failed, 2 usage, 3 not found, 4 wrong state, 5 refused to protect data.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::SnapshotNotFound
            | Self::IssueNotFound
            | Self::TranscriptNotFound
            | Self::SessionNotFound
            | Self::PathNotFound
            | Self::InvalidAddress
            | Self::InvalidIssueId
            | Self::InvalidCheckpoint
            | Self::InvalidLabel
            | Self::InvalidConfig
            | Self::AmbiguousAddress
            | Self::CheckpointUnavailable => 3,
            Self::AlreadyInPast
            | Self::NotInPast
            | Self::Busy
            | Self::Interrupted
            | Self::NoSessionSnapshot
            | Self::BacktrackPending
            | Self::NothingToUndo
            | Self::WorkspaceMember => 4,
            Self::WouldOverwrite
            | Self::VerifyFailed
            | Self::NotApproved
            | Self::Held
            | Self::Conflict
            | Self::SecretFound
            | Self::UnsafeWorkspace => 5,
            Self::NotARepository
            | Self::UnsupportedRepository
            | Self::UnsafeRepository
            | Self::NoSpace
            | Self::NotReproduced
            | Self::IssueInvalid
            | Self::CorruptRecord
            | Self::NewerRecord
            | Self::Io => 1,
        }
    }
}

/// What went wrong: a code, a message that names the path, ref or id, the cause, and hints with commands to run.
#[derive(Debug)]
// One pointer, so that every 'Result' stays as small as its value.
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Code,
    message: String,
    hints: Vec<String>,
    details: Vec<(String, serde_json::Value)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error with a message as git writes them: lower case, names in quotes, no full stop.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            hints: Vec::new(),
            details: Vec::new(),
            source: None,
        }))
    }

    /// Makes the error of a call that cannot be meant.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// Adds a hint that names the next command.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Puts these hints in the place of those it has.
    #[must_use]
    pub fn with_hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.0.hints = hints.into_iter().collect();
        self
    }

    /// Adds a machine-readable detail, shown beside `code` and `message` in JSON.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.0.details.push((name.to_owned(), value.into()));
        self
    }

    /// Adds paths as such a detail, and as `NAME_bytes` the exact bytes of those that are not UTF-8.
    #[must_use]
    pub fn paths<B: Bytes>(self, name: &str, paths: &[B]) -> Self {
        let (texts, bytes) = texts(paths);
        let error = self.detail(name, texts);
        match bytes {
            Some(bytes) => error.detail(&format!("{name}_bytes"), bytes),
            None => error,
        }
    }

    /// Keeps the error that led to this one as its source.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says what was being done when the error arose, before its message.
    #[must_use]
    pub fn while_doing(mut self, what: impl fmt::Display) -> Self {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The message, without hints.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The hints, in the order they were added.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// The next step after what the system refused, for whichever command it was; `None` where it refused nothing of that kind.
    pub fn hint_of_system(&self) -> Option<&'static str> {
        of_system(self.errno()?)
    }

    /// Whether the system let us not do it.
    pub fn is_refusal(&self) -> bool {
        matches!(self.errno(), Some(Errno::ACCESS | Errno::PERM))
    }

    /// What the system answered, where that is the cause.
    fn errno(&self) -> Option<Errno> {
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            if let Some(io) = error.downcast_ref::<std::io::Error>() {
                return Errno::from_io_error(io);
            }
            cause = error.source();
        }
        None
    }

    /// Machine-readable details by name.
    pub fn details(&self) -> &[(String, serde_json::Value)] {
        &self.0.details
    }

    /// The detail of this name.
    pub fn find_detail(&self, name: &str) -> Option<&serde_json::Value> {
        let mut details = self.0.details.iter();
        details.find_map(|(known, value)| (known == name).then_some(value))
    }
}

fn of_system(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::MFILE => {
            "this shell limits how many files a process may open; 'ulimit -n 1024' raises the limit"
        }
        Errno::NFILE => "all programs together have too many files open; close some and try again",
        Errno::FBIG => {
            "this shell limits the size of files; 'ulimit -f unlimited' raises the limit where that is allowed"
        }
        Errno::ROFS => {
            "the file system is mounted read-only; 'mount -o remount,rw' makes it writable"
        }
        Errno::TOOBIG => {
            "a file that is named has more extended attributes than can be listed; a copy has none: 'cp FILE COPY && mv COPY FILE'"
        }
        Errno::ACCESS | Errno::PERM => "'ls -ld' shows who owns it and who may change it",
        Errno::IO => "the disk failed there; see what 'dmesg' says about it before you go on",
        _ => return None,
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// As readers of JSON see it: `code`, `message`, `hint` (the first of `hints`, null when there is none), `hints`, and the
/// details, none of which replaces one of these.
impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut body = Map::new();
        body.insert("code".to_owned(), self.code().as_str().into());
        body.insert("message".to_owned(), self.message().into());
        body.insert("hint".to_owned(), self.hints().first().cloned().into());
        body.insert("hints".to_owned(), self.hints().to_vec().into());
        for (name, detail) in self.details() {
            if !body.contains_key(name) {
                body.insert(name.clone(), detail.clone());
            }
        }
        body.serialize(serializer)
    }
}

impl JsonSchema for Error {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "error".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "Upper snake case, stable."},
                "message": {"type": "string", "description": "What went wrong."},
                "hint": {"type": ["string", "null"], "description": "The first of hints."},
                "hints": {"type": "array", "items": {"type": "string"}, "description": "What to do next."},
            },
            "required": ["code", "message", "hint", "hints"],
            "additionalProperties": true,
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let code = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Code::NoSpace,
            _ => Code::Io,
        };
        Self::new(code, error.to_string()).caused_by(error)
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        std::io::Error::from(errno).into()
    }
}

impl From<git2::Error> for Error {
    fn from(error: git2::Error) -> Self {
        Self::new(Code::Io, error.message().to_owned()).caused_by(error)
    }
}

/// Adds context to a failing result.
pub trait ResultExt<T> {
    /// Says what was being done, lazily.
    fn context<D: fmt::Display>(self, what: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Error>> ResultExt<T> for std::result::Result<T, E> {
    fn context<D: fmt::Display>(self, what: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| error.into().while_doing(what()))
    }
}
