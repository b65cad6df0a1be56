//! Where Codex keeps its rollouts, and what their names say.
//!
//! A thread begins in `rollout-<time>-<thread>.jsonl`. Where Codex takes back a turn of it, or goes on with it later, the thread goes on
//! in another file, `rollout-<time>-<thread>_<segment>.jsonl`: the newest segment is the conversation as it stands. Others name a
//! rollout by the last id of its name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::NAME;
use crate::agents::lines;
use crate::agents::places::{self, Candidate, Places, SessionFile, SubAgent};
use crate::agents::value::{owned, text};
use crate::env::Moment;
use crate::text::typed_path;

/// How many of the newest rollouts are looked into.
const NEWEST: usize = 300;

fn root(places: &Places) -> Option<PathBuf> {
    places
        .dir("CODEX_HOME")
        .or_else(|| Some(places.home()?.join(".codex")))
}

/// Lists the rollouts of all sessions, also of archived ones.
fn rollouts(places: &Places) -> Vec<SessionFile> {
    root(places).map_or(Vec::new(), |root| rollouts_in(&root))
}

/// The rollouts in `sessions/YYYY/MM/DD/`, and in the flat directory of archived ones, of which Codex compresses old ones.
fn rollouts_in(root: &Path) -> Vec<SessionFile> {
    let mut found = rollouts_of(&root.join("archived_sessions"));
    for year in places::subdirectories(&root.join("sessions")) {
        for month in places::subdirectories(&year) {
            for day in places::subdirectories(&month) {
                found.extend(rollouts_of(&day));
            }
        }
    }
    found
}

fn rollouts_of(directory: &Path) -> Vec<SessionFile> {
    let mut found = places::files(directory, "");
    found.retain(|file| {
        let name = file.name();
        let is_plain = name.ends_with(".jsonl");
        name.starts_with("rollout-") && (is_plain || is_compressed(&file.path))
    });
    found
}

/// Whether Codex has compressed a rollout, which it does with archived ones after a while.
pub fn is_compressed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("rollout-") && name.ends_with(".jsonl.zst")
}

/// What makes a compressed rollout one that can be read.
pub fn how_to_unpack(path: &Path) -> String {
    format!("'zstd -d {}' unpacks it beside", typed_path(path))
}

/// Rollouts of main sessions whose recorded directory is `cwd` or lies beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let mut found = last_of_each(rollouts(places));
    found.retain(|file| !is_compressed(&file.path));
    places::newest_first(&mut found);
    found.truncate(NEWEST);
    places::matching(NAME, found, cwd, recorded_cwd, |file| id_of(&file.path))
}

/// The rollout in which the session goes on, by its id.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    last_of(session, rollouts(places))
}

/// Where the rollout is now that stood at `path`: Codex archives and compresses them.
pub fn moved(path: &Path) -> Option<PathBuf> {
    named_beside(path).remove(&Ids::of(path)?.own)
}

/// The rollout in which the session of the one at `path` goes on; None when it is that one.
pub fn goes_on_in(path: &Path) -> Option<PathBuf> {
    let last = last_of(&id_of(path)?, beside(path))?;
    (last.file_name() != path.file_name()).then_some(last)
}

/// The rollouts that are kept where the one at `path` is.
fn beside(path: &Path) -> Vec<SessionFile> {
    let tree = sessions_tree(path);
    match tree.as_deref().and_then(Path::parent) {
        Some(root) => rollouts_in(root),
        None => path.parent().map_or(Vec::new(), rollouts_of),
    }
}

/// The same by the ids that others name them with.
pub fn named_beside(path: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = beside(path);
    // Of two of one name the last one stands.
    found.sort_by(|a, b| lateness(a).cmp(&lateness(b)));
    let named = found
        .into_iter()
        .filter_map(|file| Some((Ids::of(&file.path)?.own, file.path)));
    named.collect()
}

/// Of the rollouts of each session the one in which it goes on.
fn last_of_each(found: Vec<SessionFile>) -> Vec<SessionFile> {
    let mut last: BTreeMap<String, SessionFile> = BTreeMap::new();
    for file in found {
        let session = id_of(&file.path).unwrap_or_else(|| file.name().into_owned());
        let known = last.get(&session);
        if known.is_none_or(|known| lateness(known) < lateness(&file)) {
            last.insert(session, file);
        }
    }
    last.into_values().collect()
}

fn last_of(session: &str, mut found: Vec<SessionFile>) -> Option<PathBuf> {
    found.retain(|file| id_of(&file.path).as_deref() == Some(session));
    let last = found
        .into_iter()
        .max_by(|a, b| lateness(a).cmp(&lateness(b)));
    last.map(|file| file.path)
}

/// What orders the rollouts of a session. The ids of segments ascend, and a file may be copied later than it was written.
fn lateness(file: &SessionFile) -> (Option<String>, bool, SystemTime, &Path) {
    let segment = Ids::of(&file.path).and_then(|ids| ids.thread.map(|_| ids.own));
    let is_plain = !is_compressed(&file.path);
    (segment, is_plain, file.modified, &file.path)
}

/// The ids in a rollout's name.
struct Ids {
    /// The last one, by which others name it.
    own: String,
    /// The thread's, where that is another one.
    thread: Option<String>,
}

impl Ids {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".zst").unwrap_or(name);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let (before, own) = id_at_end(stem)?;
        let thread = before.strip_suffix('_').and_then(id_at_end);
        Some(Self {
            own: own.to_owned(),
            thread: thread.map(|(_, thread)| thread.to_owned()),
        })
    }
}

/// The UUID at the end of a text, and what precedes it.
fn id_at_end(text: &str) -> Option<(&str, &str)> {
    let (before, id) = text.split_at_checked(text.len().checked_sub(36)?)?;
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    id.bytes().all(is_id).then_some((before, id))
}

/// The session's id, by the rollout's name.
pub fn id_of(path: &Path) -> Option<String> {
    let ids = Ids::of(path)?;
    Some(ids.thread.unwrap_or(ids.own))
}

/// The id by which others name the rollout.
pub fn own_id_of(path: &Path) -> Option<String> {
    Ids::of(path).map(|ids| ids.own)
}

/// The directory in the head of a rollout; `None` for a sub-agent's.
fn recorded_cwd(path: &Path) -> Option<String> {
    let head = head(path, None)?;
    if source_of_sub_agent(&head).is_some() {
        return None;
    }
    owned(&head, "cwd")
}

/// The sub-agent that a rollout is of.
pub fn sub_agent(path: &Path) -> Option<SubAgent> {
    let head = head(path, Some(lines::HEAD))?;
    let source = source_of_sub_agent(&head)?;
    let id = owned(&head, "id").or_else(|| id_of(path));
    // A review, say, has no thread that it was spawned from.
    let spawned_by = owned(&source["subagent"]["thread_spawn"], "parent_thread_id");
    let session = owned(&head, "session_id").filter(|session| Some(session) != id.as_ref());
    Some(SubAgent {
        parent: session.or(spawned_by),
        id,
    })
}

/// What the first record of a rollout says of its thread.
fn head(path: &Path, limit: Option<u64>) -> Option<Value> {
    let mut record = lines::first_record(path, limit)?;
    if text(&record, "type") != Some("session_meta") {
        return None;
    }
    let payload = record.get_mut("payload").map(Value::take);
    Some(payload.unwrap_or(record))
}

/// Where a thread comes from that is a sub-agent's.
fn source_of_sub_agent(head: &Value) -> Option<&Value> {
    let source = head.get("source")?;
    let is_sub_agent = match source {
        Value::String(source) => source.contains("subagent"),
        source => source.get("subagent").is_some(),
    };
    is_sub_agent.then_some(source)
}

/// Where a new rollout goes: under the day, in the same `sessions` tree as `source` when it stands in one.
pub fn new_path(source: &Path, id: &str, now: Moment) -> PathBuf {
    let time = now.utc();
    let name = format!("rollout-{}-{id}.jsonl", time.format("%Y-%m-%dT%H-%M-%S"));
    match sessions_tree(source) {
        Some(tree) => tree.join(time.format("%Y/%m/%d").to_string()).join(name),
        None => source.with_file_name(name),
    }
}

/// The `sessions` of the tree that a rollout is kept in.
fn sessions_tree(rollout: &Path) -> Option<PathBuf> {
    let mut above = rollout.ancestors().skip(1);
    above.find_map(|directory| match directory.file_name()?.to_str()? {
        "sessions" => Some(directory.to_owned()),
        "archived_sessions" => Some(directory.with_file_name("sessions")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "019e1625-789d-76c0-80ab-3724b5ddb799";

    #[test]
    fn a_new_rollout_stands_under_its_day() {
        let now = Moment(1_778_488_015 * 1_000_000_000);
        let old = Path::new("/h/.codex/sessions/2026/01/02/rollout-x.jsonl");
        assert_eq!(
            new_path(old, ID, now),
            Path::new("/h/.codex/sessions/2026/05/11")
                .join(format!("rollout-2026-05-11T08-26-55-{ID}.jsonl"))
        );
        let archived = Path::new("/h/.codex/archived_sessions/rollout-x.jsonl");
        assert!(new_path(archived, ID, now).starts_with("/h/.codex/sessions/2026"));
        assert_eq!(id_of(&new_path(old, ID, now)).as_deref(), Some(ID));
        assert_eq!(id_of(Path::new("/x/short.jsonl")), None);
    }

    #[test]
    fn a_thread_is_the_segment_in_which_it_goes_on() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let day = home.path().join(".codex/sessions/2026/05/11");
        std::fs::create_dir_all(&day).expect("a directory");
        let head = format!(
            "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{ID}\",\"cwd\":\"/work\"}}}}\n"
        );
        let segment = |last: u8| format!("019e1999-{}{last}", &ID[9..35]);
        let path = |ids: &str| day.join(format!("rollout-2026-05-11T08-26-55-{ids}.jsonl"));
        let written = [
            path(&format!("{ID}_{}", segment(2))),
            path(&format!("{ID}_{}", segment(1))),
            path(ID),
        ];
        for (age, path) in written.iter().enumerate() {
            std::fs::write(path, &head).expect("written");
            let file = std::fs::File::options().append(true).open(path);
            let at = std::time::Duration::from_secs(1000 * (age as u64 + 1));
            // Copied, say: the times tell nothing.
            file.expect("opened")
                .set_modified(SystemTime::UNIX_EPOCH + at)
                .expect("aged");
        }
        assert_eq!(id_of(&written[0]).as_deref(), Some(ID));
        assert_eq!(own_id_of(&written[0]), Some(segment(2)));
        assert_eq!(own_id_of(&written[2]).as_deref(), Some(ID));
        let places = Places::new(Some(home.path().to_owned()));
        let found = find(Path::new("/work"), &places);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.session_id.as_str(), &one.path))
            .collect();
        assert_eq!(found, [(ID, &written[0])]);
        assert_eq!(locate(ID, &places).as_ref(), Some(&written[0]));
        assert_eq!(locate(&segment(2), &places), None);
        assert_eq!(goes_on_in(&written[2]).as_ref(), Some(&written[0]));
        assert_eq!(goes_on_in(&written[0]), None);
        let packed = written[0].with_extension("jsonl.zst");
        std::fs::rename(&written[0], &packed).expect("packed");
        assert_eq!(locate(ID, &places).as_ref(), Some(&packed));
        assert_eq!(moved(&written[0]), Some(packed));
        assert!(find(Path::new("/work"), &places).is_empty());
    }

    #[test]
    fn sub_agents_are_not_found() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let day = home.path().join(".codex/sessions/2026/05/11");
        std::fs::create_dir_all(&day).expect("a directory");
        let write = |last: u8, source: &str| {
            let id = format!("{}{last}", &ID[..35]);
            let line = format!(
                "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"cwd\":\"/work\",\"source\":{source}}}}}\n"
            );
            let path = day.join(format!("rollout-2026-05-11T08-26-55-{id}.jsonl"));
            std::fs::write(path, line).expect("written");
        };
        write(1, "\"cli\"");
        write(2, "{\"subagent\":\"review\"}");
        let places = Places::new(Some(home.path().to_owned()));
        let found = find(Path::new("/work"), &places);
        assert_eq!(found.len(), 1);
        assert!(found[0].session_id.ends_with('1'));
        assert_eq!(
            locate(&found[0].session_id, &places).as_ref(),
            Some(&found[0].path)
        );
    }
}
