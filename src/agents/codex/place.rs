//! Where Codex keeps its rollouts.

use std::path::{Path, PathBuf};

use super::NAME;
use crate::agents::lines;
use crate::agents::places::{self, Candidate, Places, SessionFile};
use crate::agents::value::{owned, text};
use crate::env::Moment;

/// How many of the newest rollouts are looked into.
const NEWEST: usize = 300;

fn root(places: &Places) -> Option<PathBuf> {
    places
        .dir("CODEX_HOME")
        .or_else(|| Some(places.home()?.join(".codex")))
}

/// All rollouts.
fn rollouts(places: &Places) -> Vec<SessionFile> {
    root(places).map_or(Vec::new(), |root| rollouts_in(&root))
}

/// The rollouts in `sessions/YYYY/MM/DD/`, and in the flat directory of archived ones. Compressed ones are left out.
fn rollouts_in(root: &Path) -> Vec<SessionFile> {
    let mut found = places::files(&root.join("archived_sessions"), ".jsonl");
    for year in places::subdirectories(&root.join("sessions")) {
        for month in places::subdirectories(&year) {
            for day in places::subdirectories(&month) {
                found.extend(places::files(&day, ".jsonl"));
            }
        }
    }
    found.retain(|file| file.name().starts_with("rollout-"));
    found
}

/// Rollouts of main sessions whose recorded directory is `cwd` or lies beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let mut found = rollouts(places);
    places::newest_first(&mut found);
    found.truncate(NEWEST);
    places::matching(NAME, found, cwd, recorded_cwd, |file| id_of(&file.path))
}

/// The session's rollout, by its id.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    newest_of(session, rollouts(places))
}

/// The rollout of another session that is kept where the one at `path` is.
pub fn beside(path: &Path, session: &str) -> Option<PathBuf> {
    let rollouts = match sessions_tree(path) {
        Some(tree) => rollouts_in(tree.parent()?),
        None => places::files(path.parent()?, ".jsonl"),
    };
    newest_of(session, rollouts)
}

fn newest_of(session: &str, mut found: Vec<SessionFile>) -> Option<PathBuf> {
    found.retain(|file| id_of(&file.path).as_deref() == Some(session));
    places::newest_first(&mut found);
    found.into_iter().next().map(|file| file.path)
}

/// The id in a rollout's name: the UUID at its end.
pub fn id_of(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    let plain = id
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    plain.then(|| id.to_owned())
}

/// The directory in the head of a rollout; `None` for a sub-agent's.
fn recorded_cwd(path: &Path) -> Option<String> {
    let mut reader = lines::open(path, None).ok()?;
    let record = reader.next_line().ok()??.object()?;
    let head = record.get("payload").unwrap_or(&record);
    let sub_agent = match head.get("source") {
        Some(serde_json::Value::String(source)) => source.contains("subagent"),
        Some(serde_json::Value::Object(source)) => source.contains_key("subagent"),
        _ => false,
    };
    if sub_agent || text(&record, "type") != Some("session_meta") {
        return None;
    }
    owned(head, "cwd")
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
