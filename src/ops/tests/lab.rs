//! A repository that no configuration of the machine reaches, and contexts in it.

use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::git::Oid;
use crate::ops::Context;
use crate::ops::outcome::SnapshotView;
use crate::ops::request::Take;
use crate::ops::snapshots;
use crate::progress::Silent;
use crate::store::id::SnapshotId;
use crate::store::names;
use crate::store::snapshot::{SnapshotRecord, encode_commit};
use crate::store::state::{Journal, State, StateDir};
use crate::store::trigger::{SwapKind, Trigger};

/// The repository. It goes when dropped.
pub struct Lab {
    temp: tempfile::TempDir,
    top: PathBuf,
    env: Env,
}

impl Lab {
    /// `git init` in a fresh directory called `top`, on the branch `main`, without a commit.
    pub fn new() -> Self {
        crate::provided::usual_umask();
        let temp = tempfile::tempdir().expect("a temporary directory");
        let top = temp.path().canonicalize().expect("resolved").join("top");
        std::fs::create_dir(&top).expect("made");
        let lab = Self {
            temp,
            top,
            env: Env::default(),
        };
        lab.git(&["init", "-q", "-b", "main"]);
        lab
    }

    /// With one commit that has `a` and `dir/b`.
    pub fn with_commit() -> Self {
        let lab = Self::new();
        lab.write("a", "one\n");
        lab.write("dir/b", "two\n");
        lab.commit("first");
        lab
    }

    /// The top of the working tree.
    pub fn dir(&self) -> &Path {
        &self.top
    }

    /// A path in the working tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    /// What a context is given.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// A context at the top.
    pub fn ctx(&self) -> Context<'_> {
        self.ctx_in(&self.top)
    }

    /// A context in any directory.
    pub fn ctx_in(&self, dir: &Path) -> Context<'_> {
        Context::open(dir, &self.env, &Silent).expect("a repository")
    }

    /// Writes a file of the working tree.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// Reads a file of the working tree.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).expect("read")
    }

    /// Commits everything.
    pub fn commit(&self, message: &str) -> Oid {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.rev("HEAD")
    }

    /// The commit a revision names.
    pub fn rev(&self, name: &str) -> Oid {
        Oid::from_hex(self.git(&["rev-parse", name]).trim()).expect("an id")
    }

    /// Runs git at the top; it must succeed. Gives its stdout.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.top, args)
    }

    /// Runs git in a directory; it must succeed. Gives its stdout.
    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let (ok, said) = self.try_git_in(dir, args);
        assert!(ok, "git {args:?}: {said}");
        said
    }

    /// Runs git in a directory: whether it succeeded, and its stdout, or after a failure its stderr.
    pub fn try_git_in(&self, dir: &Path, args: &[&str]) -> (bool, String) {
        let output = crate::provided::git(self.temp.path())
            .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "@1700000000 +0000")
            .args(["-c", "user.name=A U Thor"])
            .args(["-c", "user.email=author@example.com"])
            .args(args)
            .current_dir(dir)
            .output()
            .expect("git runs");
        let said = if output.status.success() {
            output.stdout
        } else {
            output.stderr
        };
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }

    /// Takes a snapshot.
    pub fn snapshot(&self, message: &str) -> SnapshotView {
        let request = Take {
            message: Some(message.to_owned()),
            trigger: Trigger::Manual,
            ..Take::default()
        };
        let taken = snapshots::take(&self.ctx(), &request).expect("a snapshot");
        taken.snapshot
    }

    /// Gives what is stored under one id another id, and with it another time and kind. Answers the new commit.
    pub fn rename(&self, old: &str, new: &str) -> Oid {
        let ctx = self.ctx();
        let store = ctx.store().expect("store");
        let old = SnapshotId::parse(old).expect("an id");
        let new = SnapshotId::parse(new).expect("an id");
        let stored = store.read_id(&old).expect("stored");
        let raw = store.commit(stored.commit).expect("commit");
        let record = SnapshotRecord {
            snapshot_id: new.to_string(),
            kind: new.kind().word().to_owned(),
            created_at: new.time().rfc3339(),
            ..stored.record
        };
        let message = record.message(&stored.title);
        let bytes = encode_commit(raw.tree, &raw.parents, new.time().seconds(), &message);
        let file = self.temp.path().join("commit");
        std::fs::write(&file, bytes).expect("written");
        let file = file.to_str().expect("plain");
        let oid = self.git(&["hash-object", "-t", "commit", "-w", file]);
        let oid = Oid::from_hex(oid.trim()).expect("an id");
        let mut edit = store.refs.transaction();
        edit.delete(&names::snapshot_ref(&old), Some(stored.commit));
        edit.create(&names::snapshot_ref(&new), oid);
        edit.commit().expect("renamed");
        oid
    }

    /// Whether there is a snapshot, backup or experiment of this id.
    pub fn has(&self, id: &str) -> bool {
        let ctx = self.ctx();
        let store = ctx.store().expect("store");
        let id = SnapshotId::parse(id).expect("an id");
        let name = names::snapshot_ref(&id);
        store.refs.read(&name).expect("read").is_some()
    }

    /// Takes a snapshot and dates it back: it gets this id, which says kind and time.
    pub fn old(&self, id: &str) -> String {
        let taken = self.snapshot(id);
        self.rename(&taken.id, id);
        id.to_owned()
    }

    /// Writes the main worktree's `state.json`.
    pub fn set_state(&self, state: &State) {
        let ctx = self.ctx();
        let store = ctx.store().expect("store");
        store.dir.write_state(state).expect("written");
    }

    /// A level of the main worktree's undo or redo log.
    pub fn level(&self, log: &str, name: &str, started_at: &str, backup_id: &str) {
        let dir = StateDir::new(&self.path(".git"));
        let file = dir.file(log).join(format!("{name}.json"));
        std::fs::create_dir_all(dir.file(log)).expect("made");
        let journal = Journal {
            started_at: started_at.to_owned(),
            backup_id: backup_id.to_owned(),
            ..journal()
        };
        let text = serde_json::to_vec(&journal).expect("plain data");
        std::fs::write(file, text).expect("written");
        if !dir.file("state.json").exists() {
            dir.write_state(&journal.state_after).expect("written");
        }
    }
}

/// A journal of a swap that nobody is at.
pub fn journal() -> Journal {
    let state = State {
        version: 1,
        ..State::default()
    };
    Journal {
        version: 1,
        swap_id: "travel-abcdef".to_owned(),
        operation: SwapKind::Travel,
        reverses: None,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        pid: std::process::id(),
        boot_id: None,
        process_start: 0,
        backup_id: "b_20260101_000000_aaaaaa".to_owned(),
        backup_commit: String::new(),
        target_id: None,
        target_commit: None,
        git_id: None,
        git_commit: None,
        experiment_id: None,
        entries: Vec::new(),
        dirs: Vec::new(),
        stayed: Vec::new(),
        stayed_until: None,
        head: None,
        swaps_index: false,
        swaps_operation: false,
        state_before: state.clone(),
        state_after: state,
        head_left: String::new(),
        extra: serde_json::Map::new(),
    }
}
