use super::*;
use crate::env::Env;
use crate::git::repo::Repo;
use crate::store::id::IssueId;
use serde_json::json;
use std::path::Path;
use std::rc::Rc;

/// Longer than any of these takes.
const WAIT: std::time::Duration = std::time::Duration::from_secs(60);

const AT: Moment = Moment(1_772_292_612_000_000_000);
const ISSUE: &str = "i_20260228_153012_ab12cd";
const FACE: &str = "refs/notes/timewarp/issues/i_20260228_153012_ab12cd";

struct Lab {
    temp: tempfile::TempDir,
    repo: Rc<Repo>,
    commit: Oid,
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = crate::provided::git(dir)
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com"])
        .args(args)
        .current_dir(dir)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

impl Lab {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        git(temp.path(), &["init", "-q", "-b", "main"]);
        git(
            temp.path(),
            &["commit", "-q", "--allow-empty", "-m", "first"],
        );
        let commit = Oid::from_hex(&git(temp.path(), &["rev-parse", "HEAD"])).expect("an id");
        let repo = Rc::new(Repo::discover(temp.path(), &Env::default()).expect("a repository"));
        Self { temp, repo, commit }
    }

    fn store(&self) -> Store {
        Store::open(&self.repo, WAIT).expect("a store")
    }

    fn git(&self, args: &[&str]) -> String {
        git(self.temp.path(), args)
    }

    fn make(&self, store: &Store) -> Oid {
        let mut transaction = store.refs.transaction();
        let note = Note {
            annotated: self.commit,
            json: object(json!({"version": 1, "count": 0, "later": {"kept": true}})),
        };
        let mut new = NewObjects::new(store.objects.format());
        let into = (&mut transaction, &mut new);
        let tip = store.stage_record(into, &name(), &note, "issue: report", AT);
        let tip = tip.expect("staged");
        let made = transaction.commit_with(&store.objects, &new);
        made.expect("made");
        tip
    }

    fn count(&self, store: &Store) -> (u64, Vec<String>) {
        let held = store.record(&name()).expect("read").expect("there");
        let notices = held.notices.clone();
        let note = held.into_only(&name()).expect("one note");
        assert_eq!(note.annotated, self.commit);
        (note.json["count"].as_u64().expect("a number"), notices)
    }

    /// Both refs name one commit.
    fn tip(store: &Store) -> Oid {
        let face = store.refs.read(FACE).expect("read").expect("a face");
        let memory = store.refs.read(&name().record_ref()).expect("read");
        assert_eq!(memory, Some(face));
        face
    }
}

fn name() -> Record {
    Record::Issue(IssueId::parse(ISSUE).expect("an id"))
}

fn object(value: Value) -> Json {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is a change, which may fail")]
fn add(draft: &mut Draft) -> Result<()> {
    let json = draft.only().expect("a note");
    let count = json["count"].as_u64().expect("a number");
    json.insert("count".to_owned(), (count + 1).into());
    Ok(())
}

#[test]
fn a_change_is_a_commit_on_both_refs_and_keeps_unknown_fields() {
    let lab = Lab::new();
    let store = lab.store();
    let first = lab.make(&store);
    let ((), second) = store
        .update_record(&name(), "issue: edit", AT, add)
        .expect("changed")
        .expect("there");
    assert_eq!(Lab::tip(&store), second);
    assert_eq!(
        lab.git(&["rev-parse", &format!("{second}^")]),
        first.to_string()
    );
    let shown = lab.git(&["notes", "--ref", FACE, "show", "HEAD"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(
        shown,
        json!({"version": 1, "count": 1, "later": {"kept": true}})
    );
    let old = store.record_in_history(&name(), first).expect("history");
    assert_eq!(old.json["count"], 0);
    let same = store
        .update_record(&name(), "issue: edit", AT, |_| Ok(()))
        .expect("read")
        .expect("there");
    assert_eq!(same.1, second, "nothing changed, nothing written");
    let other = Record::Issue(IssueId::parse("i_20260228_153012_zzzzzz").expect("an id"));
    let none = store.update_record(&other, "x", AT, add).expect("read");
    assert!(none.is_none());
}

#[test]
fn no_change_is_lost_among_threads() {
    let lab = Lab::new();
    lab.make(&lab.store());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let repo = Rc::new(
                    Repo::discover(lab.temp.path(), &Env::default()).expect("a repository"),
                );
                let store = Store::open(&repo, WAIT).expect("a store");
                for _ in 0..10 {
                    store
                        .update_record(&name(), "issue: edit", AT, add)
                        .expect("changed");
                }
            });
        }
    });
    let store = lab.store();
    assert_eq!(lab.count(&store).0, 80);
    let commits = lab.git(&["rev-list", "--count", FACE]);
    assert_eq!(commits, "81");
}

#[test]
fn a_missing_face_is_put_back_and_a_missing_memory_made() {
    let lab = Lab::new();
    let store = lab.store();
    let tip = lab.make(&store);
    lab.git(&["update-ref", "-d", FACE]);
    let (_, notices) = lab.count(&store);
    assert_eq!(
        notices,
        [format!(
            "issue {ISSUE}: its notes ref was gone and is put back"
        )]
    );
    assert_eq!(Lab::tip(&store), tip);
    lab.git(&["update-ref", "-d", &name().record_ref()]);
    let listed = store.records(RecordKind::Issues).expect("listed");
    assert_eq!(listed.records.len(), 1);
    assert_eq!(lab.count(&store).1, Vec::<String>::new());
    assert_eq!(Lab::tip(&store), tip);
}

#[test]
fn what_plain_git_wrote_is_taken_in() {
    let lab = Lab::new();
    let store = lab.store();
    lab.make(&store);
    let body = r#"{"version": 1, "count": 7}"#;
    lab.git(&["notes", "--ref", FACE, "add", "-f", "-m", body, "HEAD"]);
    let (count, notices) = lab.count(&store);
    assert_eq!(count, 7);
    assert!(notices[0].contains("plain git"), "{notices:?}");
    let tip = Lab::tip(&store);
    // Set back by hand: the memory knows better.
    let older = lab.git(&["rev-parse", &format!("{FACE}^")]);
    lab.git(&["update-ref", FACE, &older]);
    assert_eq!(lab.count(&store).0, 7);
    assert_eq!(Lab::tip(&store), tip);
}

#[test]
fn a_face_moved_elsewhere_is_kept_as_a_second_version() {
    let lab = Lab::new();
    let store = lab.store();
    let first = lab.make(&store);
    store
        .update_record(&name(), "issue: edit", AT, add)
        .expect("changed");
    lab.git(&["update-ref", FACE, &first.to_string()]);
    let body = r#"{"version": 1, "count": 50}"#;
    lab.git(&["notes", "--ref", FACE, "add", "-f", "-m", body, "HEAD"]);
    let theirs = lab.git(&["rev-parse", FACE]);
    let (count, notices) = lab.count(&store);
    assert_eq!(count, 1, "the memory's version stands");
    assert!(notices[0].contains("second version"), "{notices:?}");
    let tip = Lab::tip(&store);
    assert_eq!(lab.git(&["rev-parse", &format!("{tip}^2")]), theirs);
    assert_eq!(lab.count(&store), (1, Vec::new()), "said once");
    lab.git(&["fsck", "--strict"]);
}

#[test]
fn what_cannot_be_read_is_said_and_hides_nothing() {
    let lab = Lab::new();
    let store = lab.store();
    lab.make(&store);
    for (id, body) in [
        ("i_20260228_153012_aaaaaa", "{\"version\": 2}"),
        ("i_20260228_153012_bbbbbb", "no JSON"),
    ] {
        let face = format!("refs/notes/timewarp/issues/{id}");
        lab.git(&["notes", "--ref", &face, "add", "-m", body, "HEAD"]);
    }
    let listed = store.records(RecordKind::Issues).expect("listed");
    let codes: Vec<_> = listed
        .records
        .into_iter()
        .map(|(name, held)| held.into_only(&name).err().map(|error| error.code()))
        .collect();
    let expected = [Some(Code::NewerRecord), None, Some(Code::CorruptRecord)];
    assert_eq!(codes, expected);
}

/// JSON that is no issue has a code of its own; other records have none.
#[test]
fn json_that_is_no_record_is_told_from_what_is_no_json() {
    let lab = Lab::new();
    let store = lab.store();
    let id = "i_20260228_153012_aaaaaa";
    let of = |kind: &str, name: &Record, body: &str| {
        let face = format!("refs/notes/timewarp/{kind}");
        lab.git(&["notes", "--ref", &face, "add", "-f", "-m", body, "HEAD"]);
        let held = store.record(name).expect("read").expect("there");
        held.into_only(name).expect_err(body).code()
    };
    let issue = Record::Issue(IssueId::parse(id).expect("an id"));
    let issue = |body: &str| of(&format!("issues/{id}"), &issue, body);
    let session = |body: &str| of("sessions/one", &Record::session("one"), body);
    for body in [
        "{\"hello\": 1}",
        "{}",
        "[]",
        "42",
        "\"x\"",
        "null",
        "{\"version\": \"x\"}",
    ] {
        assert_eq!(issue(body), Code::IssueInvalid, "{body}");
        assert_eq!(session(body), Code::CorruptRecord, "{body}");
    }
    for body in ["garbage{", "{\"version\": 1", "{} {}"] {
        assert_eq!(issue(body), Code::CorruptRecord, "{body}");
        assert_eq!(session(body), Code::CorruptRecord, "{body}");
    }
}

#[test]
fn a_lock_of_a_dead_process_does_not_stand_for_ever() {
    let lab = Lab::new();
    let store = lab.store();
    let tip = lab.make(&store);
    lab.git(&["update-ref", "-d", FACE]);
    let lock = lab.temp.path().join(".git").join(format!("{FACE}.lock"));
    std::fs::create_dir_all(lock.parent().expect("a parent")).expect("made");
    std::fs::write(&lock, "").expect("written");
    assert_eq!(lab.count(&store), (0, Vec::new()), "read from the memory");
    assert!(lock.exists(), "it may be somebody's");
    let file = std::fs::File::options()
        .write(true)
        .open(&lock)
        .expect("opened");
    let old = std::time::SystemTime::UNIX_EPOCH;
    file.set_modified(old).expect("aged");
    assert_eq!(lab.count(&store).1.len(), 1);
    assert_eq!(Lab::tip(&store), tip);
}
