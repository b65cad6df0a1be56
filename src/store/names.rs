//! The names of our refs, built and parsed. The only file with their prefix.
//!
//! A snapshot, backup or experiment has one ref. A record (an issue, a chat, a session) has two at the same commit: the
//! *notes ref* that plain git shows, and the *backing ref* under `records/`, which no fetch of `refs/notes/*` prunes.
//! Labels are records without a notes ref. Names are stored; titles are shown, and nothing parses them.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::git::hex::hex;
use crate::git::refs::{is_valid_component, is_valid_name};

use super::id::{IdKind, IssueId, SnapshotId};

/// Everything of ours but the notes.
pub const ROOT: &str = "refs/timewarp/";
/// Snapshots, one ref each.
pub const SNAPSHOTS: &str = "refs/timewarp/snapshots/";
/// Backups, one ref each.
pub const BACKUPS: &str = "refs/timewarp/backups/";
/// Experiments, one ref each.
pub const EXPERIMENTS: &str = "refs/timewarp/experiments/";
/// The backing ref of records, by kind.
pub const RECORDS: &str = "refs/timewarp/records/";
/// Labels, one ref each.
pub const LABELS: &str = "refs/timewarp/records/labels/";
/// All notes of ours.
pub const NOTES: &str = "refs/notes/timewarp/";
/// What a remote gets, and nothing else of ours: no refspec for it matches a ref of this repository.
pub const SHARED_REF: &str = "refs/timewarp-shared/v1";
/// The same for a service that takes branches only.
pub const SHARED_BRANCH: &str = "refs/heads/timewarp-shared";
/// Snapshots that were named for sharing, one chain of commits.
pub const SHARED_SNAPSHOTS_REF: &str = "refs/timewarp-shared/snapshots-v1";
/// The same for a service that takes branches only.
pub const SHARED_SNAPSHOTS_BRANCH: &str = "refs/heads/timewarp-shared-snapshots";
/// In the depot: the remote's chain of snapshots as it was seen last.
pub const SHARED_SNAPSHOTS_SEEN: &str = "refs/snapshots/seen";
/// In the depot: how much of it was taken in.
pub const SHARED_SNAPSHOTS_TAKEN: &str = "refs/snapshots/taken";
/// In the depot: what of our snapshots is being pushed.
pub const SHARED_SNAPSHOTS_OUTGOING: &str = "refs/snapshots/outgoing";
/// In the depot: our side of what is shared, as our records were when they were merged last.
pub const SHARED_OWN: &str = "refs/records/own";
/// In the depot: the remote's side as it was seen last.
pub const SHARED_SEEN: &str = "refs/records/seen";
/// In the depot: what our side becomes, while what was pulled is put into our records.
pub const SHARED_TAKING: &str = "refs/records/taking";
/// In the depot: what is being pushed.
pub const SHARED_OUTGOING: &str = "refs/records/outgoing";
/// Where these were in our own repository once.
pub const SHARED_BEFORE_DEPOT: &str = "refs/timewarp/shared/";
/// The notes refs of issues.
pub const ISSUE_NOTES: &str = "refs/notes/timewarp/issues/";
/// The notes refs of chats.
pub const CHAT_NOTES: &str = "refs/notes/timewarp/chats/";
/// The notes refs of sessions.
pub const SESSION_NOTES: &str = "refs/notes/timewarp/sessions/";

/// Longest ref component we make. A file name may have 255 bytes, and git adds `.lock`.
const MAX_COMPONENT: usize = 200;

/// Where refs of this kind live.
pub fn prefix(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Snapshot => SNAPSHOTS,
        IdKind::Backup => BACKUPS,
        IdKind::Experiment => EXPERIMENTS,
    }
}

/// The ref of a snapshot, backup or experiment.
pub fn snapshot_ref(id: &SnapshotId) -> String {
    format!("{}{id}", prefix(id.kind()))
}

/// The id in such a ref. None when it is another ref, or the id does not belong in that directory.
pub fn parse_snapshot_ref(name: &str) -> Option<SnapshotId> {
    let (directory, last) = name.split_at(name.rfind('/')? + 1);
    // What parses prints the same again.
    SnapshotId::parse(last).filter(|id| prefix(id.kind()) == directory)
}

/// The ref of a label.
pub fn label_ref(label: &str) -> String {
    format!("{LABELS}{label}")
}

/// The label in such a ref; of any other ref its name.
pub fn label_of(name: &str) -> &str {
    name.strip_prefix(LABELS).unwrap_or(name)
}

/// Whether `text` can be the last component of a ref of ours.
pub fn is_component(text: &str) -> bool {
    text.len() <= MAX_COMPONENT && is_valid_component(text) && is_valid_name(&label_ref(text))
}

/// A session's id as a ref component: itself when it is one of `[A-Za-z0-9._-]`, else `x-` and 16 hex digits of its
/// sha256. What comes out goes in unchanged.
pub fn session_component(session: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if session.bytes().all(plain) && is_component(session) {
        return session.to_owned();
    }
    let digest = Sha256::digest(session.as_bytes());
    format!("x-{}", hex(digest.get(..8).unwrap_or_default()))
}

/// What has a ref under `records/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Record {
    /// An issue.
    Issue(IssueId),
    /// The conversation that belongs to an issue.
    Chat(IssueId),
    /// A session, by its ref component; see [`Record::session`].
    Session(String),
    /// A label, by its name.
    Label(String),
}

/// The kinds of [`Record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// Issues.
    Issues,
    /// Chats.
    Chats,
    /// Sessions.
    Sessions,
    /// Labels, which have no notes ref.
    Labels,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Issues, Self::Chats, Self::Sessions, Self::Labels];

    fn directory(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::Chats => "chats",
            Self::Sessions => "sessions",
            Self::Labels => "labels",
        }
    }

    /// Where the backing refs of this kind live.
    pub fn record_prefix(self) -> String {
        format!("{RECORDS}{}/", self.directory())
    }

    /// Where the notes refs of this kind live.
    pub fn note_prefix(self) -> Option<&'static str> {
        match self {
            Self::Issues => Some(ISSUE_NOTES),
            Self::Chats => Some(CHAT_NOTES),
            Self::Sessions => Some(SESSION_NOTES),
            Self::Labels => None,
        }
    }
}

impl Record {
    /// The session with this id, whatever characters it has.
    pub fn session(id: &str) -> Self {
        Self::Session(session_component(id))
    }

    /// Its kind.
    pub fn kind(&self) -> RecordKind {
        match self {
            Self::Issue(_) => RecordKind::Issues,
            Self::Chat(_) => RecordKind::Chats,
            Self::Session(_) => RecordKind::Sessions,
            Self::Label(_) => RecordKind::Labels,
        }
    }

    /// Its backing ref, under `records/`.
    pub fn record_ref(&self) -> String {
        format!("{}{}", self.kind().record_prefix(), self.component())
    }

    /// Its notes ref, which plain git shows. A label has none.
    pub fn note_ref(&self) -> Option<String> {
        let prefix = self.kind().note_prefix()?;
        Some(format!("{prefix}{}", self.component()))
    }

    /// The record whose backing ref has this name. None for any other ref.
    pub fn parse_record_ref(name: &str) -> Option<Self> {
        let (kind, component) = name.strip_prefix(RECORDS)?.split_once('/')?;
        let kind = RecordKind::ALL
            .into_iter()
            .find(|known| known.directory() == kind)?;
        Self::from_component(kind, component)
    }

    /// The record whose notes ref has this name. None for any other ref.
    pub fn parse_note_ref(name: &str) -> Option<Self> {
        RecordKind::ALL.into_iter().find_map(|kind| {
            let component = name.strip_prefix(kind.note_prefix()?)?;
            Self::from_component(kind, component)
        })
    }

    fn from_component(kind: RecordKind, text: &str) -> Option<Self> {
        match kind {
            RecordKind::Issues => IssueId::parse(text).map(Self::Issue),
            RecordKind::Chats => IssueId::parse(text).map(Self::Chat),
            // Any other component was never made here: a second name of the same session must not be.
            RecordKind::Sessions if session_component(text) == text => {
                Some(Self::Session(text.to_owned()))
            }
            RecordKind::Labels if is_component(text) => Some(Self::Label(text.to_owned())),
            RecordKind::Sessions | RecordKind::Labels => None,
        }
    }

    fn component(&self) -> String {
        match self {
            Self::Issue(id) | Self::Chat(id) => id.to_string(),
            Self::Session(text) | Self::Label(text) => text.clone(),
        }
    }
}

/// How a record is called in messages.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue(id) => write!(f, "issue {id}"),
            Self::Chat(id) => write!(f, "chat of issue {id}"),
            Self::Session(id) => write!(f, "session '{id}'"),
            Self::Label(name) => write!(f, "label '{name}'"),
        }
    }
}

/// How any ref is called in messages: what it is of ours, else its name.
pub fn title(name: &str) -> String {
    if let Some(id) = parse_snapshot_ref(name) {
        return format!("{} {id}", id.kind().word());
    }
    let record = Record::parse_note_ref(name).or_else(|| Record::parse_record_ref(name));
    match record {
        Some(record) => record.to_string(),
        None => format!("ref '{name}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str = "i_20260228_153012_ab12cd";

    fn issue() -> IssueId {
        IssueId::parse(ISSUE).expect("an issue id")
    }

    #[test]
    fn each_kind_of_snapshot_has_its_own_directory() {
        for (id, name) in [
            (
                "s_20260228_153012_ab12cd",
                "refs/timewarp/snapshots/s_20260228_153012_ab12cd",
            ),
            (
                "b_20260228_153012_ab12cd",
                "refs/timewarp/backups/b_20260228_153012_ab12cd",
            ),
            (
                "x_20260228_153012_ab12cd",
                "refs/timewarp/experiments/x_20260228_153012_ab12cd",
            ),
        ] {
            let id = SnapshotId::parse(id).expect("an id");
            assert_eq!(snapshot_ref(&id), name);
            assert_eq!(parse_snapshot_ref(name), Some(id));
        }
        for name in [
            "refs/timewarp/backups/s_20260228_153012_ab12cd",
            "refs/timewarp/snapshots/x/s_20260228_153012_ab12cd",
            "refs/heads/s_20260228_153012_ab12cd",
            "refs/timewarp/snapshots/other",
            "",
        ] {
            assert_eq!(parse_snapshot_ref(name), None, "{name}");
        }
    }

    #[test]
    fn a_record_has_a_face_and_a_memory() {
        let records = [
            (
                Record::Issue(issue()),
                Some("refs/notes/timewarp/issues/"),
                "refs/timewarp/records/issues/",
                ISSUE,
            ),
            (
                Record::Chat(issue()),
                Some("refs/notes/timewarp/chats/"),
                "refs/timewarp/records/chats/",
                ISSUE,
            ),
            (
                Record::session("a.B-1_"),
                Some("refs/notes/timewarp/sessions/"),
                "refs/timewarp/records/sessions/",
                "a.B-1_",
            ),
            (
                Record::Label("good".to_owned()),
                None,
                "refs/timewarp/records/labels/",
                "good",
            ),
        ];
        for (record, notes_ref, backing_ref, last) in records {
            let name = record.record_ref();
            assert_eq!(name, format!("{backing_ref}{last}"));
            assert!(is_valid_name(&name));
            assert_eq!(Record::parse_record_ref(&name), Some(record.clone()));
            assert_eq!(Record::parse_note_ref(&name), None);
            let note = record.note_ref();
            assert_eq!(
                note,
                notes_ref.map(|notes_ref| format!("{notes_ref}{last}"))
            );
            if let Some(note) = note {
                assert_eq!(Record::parse_note_ref(&note), Some(record));
                assert_eq!(Record::parse_record_ref(&note), None);
            }
        }
        assert_eq!(label_of(&label_ref("good")), "good");
        assert_eq!(
            label_ref("good"),
            Record::Label("good".to_owned()).record_ref()
        );
    }

    #[test]
    fn strangers_among_our_refs_are_no_records() {
        for name in [
            "refs/notes/timewarp/issues/i_1",
            "refs/notes/timewarp/issues/i_20260228_153012_ab12cd/x",
            "refs/notes/timewarp/sessions/a b",
            "refs/notes/timewarp/sessions/a/b",
            "refs/notes/timewarp/labels/good",
            "refs/notes/commits",
            "refs/timewarp/records/other/good",
            "refs/timewarp/records/labels/",
            "refs/timewarp/records/labels",
            "refs/timewarp/records/labels/a/b",
        ] {
            assert_eq!(Record::parse_note_ref(name), None, "{name}");
            assert_eq!(Record::parse_record_ref(name), None, "{name}");
        }
    }

    #[test]
    fn any_session_id_becomes_one_safe_component() {
        let kept = [
            "0b9f6c1e-1f2a-4d7c-9d0a-5b1f0f8f3c11",
            "a",
            "ses_1.2",
            "-x",
            "x-0123456789abcdef",
        ];
        for id in kept {
            assert_eq!(session_component(id), id);
        }
        let long = "a".repeat(300);
        let hashed = [
            "", ".", "..", "a..b", ".a", "a.", "a.lock", "a/b", "a b", "\u{e9}", "a:b", "a\n",
            &long,
        ];
        for id in hashed {
            let name = session_component(id);
            assert_eq!(name.len(), 18, "{id:?}");
            assert!(is_component(&name) && name.starts_with("x-"), "{name}");
            assert_eq!(session_component(&name), name);
        }
        // printf 'a/b' | sha256sum
        assert_eq!(session_component("a/b"), "x-c14cddc033f64b9d");
    }

    #[test]
    fn titles_say_what_a_ref_is() {
        assert_eq!(
            title("refs/timewarp/backups/b_20260228_153012_ab12cd"),
            "backup b_20260228_153012_ab12cd"
        );
        assert_eq!(
            title(&format!("{CHAT_NOTES}{ISSUE}")),
            format!("chat of issue {ISSUE}")
        );
        assert_eq!(title(&label_ref("good")), "label 'good'");
        assert_eq!(title("refs/heads/main"), "ref 'refs/heads/main'");
    }
}
