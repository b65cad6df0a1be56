//! The cases: what is changed before a run, and what must be there after it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::measure::{Background, Sample, floor, measure};
use crate::route::{Lab, Route, sh, true_tree, tw, tw_tree};
use crate::tree::{Tree, write};

/// What one route cost in the rounds of one case.
#[derive(Default)]
pub struct Row {
    pub name: &'static str,
    pub samples: Vec<Sample>,
}

/// One case: every route's rounds, and the raw cost of looking at every file.
pub struct Result_ {
    pub case: String,
    pub rows: Vec<Row>,
    pub floors: Vec<Duration>,
}

/// What differs from the base.
#[derive(Clone, Copy)]
pub struct Change {
    pub changed: usize,
    pub added: usize,
    /// One new file of so many MB of noise.
    pub large: u64,
}

pub const NONE: Change = Change {
    changed: 0,
    added: 0,
    large: 0,
};

/// A base that can be changed and put back.
pub struct Bench<'a> {
    pub lab: &'a Lab,
    pub tree: &'a Tree,
    pub routes: Vec<Route>,
    pub runs: usize,
}

/// Stamps younger than a tick of the clock would be looked at twice; no route is to pay for that.
fn settle() {
    std::thread::sleep(Duration::from_millis(60));
}

/// The same, and no route is to wait for what another wrote.
fn on_disk(lab: &Lab) -> Result<(), String> {
    sh(lab, "sync")?;
    settle();
    Ok(())
}

fn say<T>(result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

impl Bench<'_> {
    /// Snapshots with something changed since the one before.
    pub fn snapshots(&self, case: &str, change: Change) -> Result<Result_, String> {
        let mut result = self.empty(case, |route| {
            // With nothing changed there is nothing to stash.
            route != Route::Stash || change.changed + change.added > 0
        });
        for round in 0..self.runs {
            result.floors.push(floor(&self.lab.tree, &self.tree.files));
            for at in 0..result.rows.len() {
                let at = (at + round) % result.rows.len();
                let route = self.route(result.rows[at].name);
                if route.is_slow() && round > 1 {
                    continue;
                }
                let dir = route.dir(self.lab);
                self.know_the_base(route)?;
                let undo = self.change(&dir, change, &format!("{} {round}", route.name()))?;
                settle();
                result.rows[at].samples.push(route.snapshot(self.lab)?);
                if route == Route::Tw {
                    self.same("the snapshot", &true_tree(self.lab)?, &tw_tree(self.lab)?)?;
                }
                undo.undo()?;
            }
        }
        Ok(result)
    }

    /// An unmeasured run on the base, so that the measured one sees what changed since and nothing else.
    fn know_the_base(&self, route: Route) -> Result<(), String> {
        settle();
        if matches!(route, Route::Stash | Route::Copy) {
            // They know nothing from one run to the next (rsync apart), and nothing to stash is refused.
            return Ok(());
        }
        route.snapshot(self.lab).map(drop)
    }

    /// The first snapshot ever, of what is there.
    pub fn first(&self) -> Result<Result_, String> {
        let mut result = self.empty("first", |route| matches!(route, Route::Tw | Route::GitTemp));
        for _ in 0..self.runs {
            result.floors.push(floor(&self.lab.tree, &self.tree.files));
            for row in &mut result.rows {
                let route = self.route(row.name);
                self.forget()?;
                settle();
                row.samples.push(route.snapshot(self.lab)?);
                if route == Route::Tw {
                    self.same(
                        "the first snapshot",
                        &true_tree(self.lab)?,
                        &tw_tree(self.lab)?,
                    )?;
                }
            }
        }
        Ok(result)
    }

    /// Makes `tw` forget everything here.
    fn forget(&self) -> Result<(), String> {
        sh(
            self.lab,
            "rm -rf .git/timewarp; git for-each-ref --format='delete %(refname)' refs/timewarp | git update-ref --stdin",
        )
    }

    /// There and back between two states: two cases, and for routes whose saving is apart, the way alone as well.
    pub fn travels(&self, case: &str, change: Change) -> Result<Vec<Result_>, String> {
        let mut there = self.empty(&format!("{case} travel"), Route::travels);
        let mut back = self.empty(&format!("{case} return"), Route::travels);
        let apart = |route: Route| {
            matches!(
                route,
                Route::Tw | Route::GitKeep | Route::Shadow | Route::Libgit2
            )
        };
        let mut bare = self.empty(
            &format!("{case} travel, the others without a backup"),
            apart,
        );
        for round in 0..self.runs {
            for at in 0..there.rows.len() {
                let at = (at + round) % there.rows.len();
                let route = self.route(there.rows[at].name);
                if route.is_slow() && round > 1 {
                    continue;
                }
                self.know_the_base(route)?;
                let base = route.last(self.lab)?;
                let base_tree = true_tree(self.lab)?;
                let undo =
                    self.change(&self.lab.tree, change, &format!("{} {round}", route.name()))?;
                on_disk(self.lab)?;
                let changed_tree = true_tree(self.lab)?;
                let (saved, went, from) = route.there(self.lab, &base)?;
                there.rows[at].samples.push(saved.then(went));
                if let Some(row) = bare.rows.iter_mut().find(|row| row.name == route.name()) {
                    row.samples.push(went);
                }
                self.same(
                    &format!("{} travel", route.name()),
                    &base_tree,
                    &true_tree(self.lab)?,
                )?;
                on_disk(self.lab)?;
                let (saved, went) = route.back(self.lab, &from)?;
                back.rows[at].samples.push(saved.then(went));
                self.same(
                    &format!("{} return", route.name()),
                    &changed_tree,
                    &true_tree(self.lab)?,
                )?;
                undo.undo()?;
            }
        }
        Ok(vec![there, back, bare])
    }

    /// `tw` alone.
    pub fn tw_alone(&self, case: &str, args: &[&str]) -> Result<Result_, String> {
        let mut result = self.empty(case, |route| route == Route::Tw);
        tw(self.lab, args)?;
        for _ in 0..self.runs {
            for row in &mut result.rows {
                row.samples.push(tw(self.lab, args)?);
            }
        }
        Ok(result)
    }

    /// The hook that an agent runs before every prompt, nothing changed.
    pub fn hook(&self) -> Result<Result_, String> {
        let mut result = self.empty("hook before a prompt", |route| route == Route::Tw);
        let payload = self.lab.side.join("prompt.json");
        let text = format!(
            "{{\"session_id\":\"bench\",\"transcript_path\":\"{0}/none.jsonl\",\"cwd\":\"{1}\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"go on\"}}",
            self.lab.side.display(),
            self.lab.tree.display()
        );
        say(fs::write(&payload, text))?;
        let words = [
            self.lab.tw.as_os_str(),
            "hook".as_ref(),
            "claude".as_ref(),
            "user-prompt-submit".as_ref(),
        ];
        measure(&self.lab.tree, &words, (Some(&payload), Background::Off))?;
        for _ in 0..self.runs {
            result.floors.push(floor(&self.lab.tree, &self.tree.files));
            for row in &mut result.rows {
                row.samples.push(measure(
                    &self.lab.tree,
                    &words,
                    (Some(&payload), Background::Off),
                )?);
            }
        }
        Ok(result)
    }

    fn same(&self, what: &str, expected: &str, found: &str) -> Result<(), String> {
        if expected == found && !expected.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{what} is wrong: tree {found}, expected {expected}; its figure does not count"
        ))
    }

    fn empty(&self, case: &str, takes_part: impl Fn(Route) -> bool) -> Result_ {
        let part = self.routes.iter().filter(|route| takes_part(**route));
        let row = |route: &Route| Row {
            name: route.name(),
            samples: Vec::new(),
        };
        Result_ {
            case: case.to_owned(),
            rows: part.map(row).collect(),
            floors: Vec::new(),
        }
    }

    fn route(&self, name: &str) -> Route {
        let found = self.routes.iter().find(|route| route.name() == name);
        *found.expect("rows are made of routes")
    }

    /// Changes files in place and adds others, all with bytes that were never there before.
    fn change(&self, dir: &Path, change: Change, tag: &str) -> Result<Undo, String> {
        let mut undo = Undo::default();
        let step = (self.tree.files.len() / change.changed.max(1)).max(1);
        for path in self.tree.files.iter().step_by(step).take(change.changed) {
            let path = dir.join(path);
            let before = say(fs::read(&path))?;
            let mut bytes = before.clone();
            bytes.extend_from_slice(format!("\n// {tag}\n").as_bytes());
            say(fs::write(&path, bytes))?;
            undo.changed.push((path, before));
        }
        for at in 0..change.added {
            let path = dir.join(format!("new/part-{:03}/file-{at}.txt", at / 100));
            let text = format!("a new file, {tag}, {at}\n").repeat(1 + at % 60);
            say(write(&path, text.as_bytes()))?;
        }
        if change.large > 0 {
            say(write(
                &dir.join("new/large.bin"),
                &noise(change.large << 20, tag),
            ))?;
        }
        if change.added > 0 || change.large > 0 {
            undo.added = Some(dir.join("new"));
        }
        Ok(undo)
    }
}

/// Bytes that no compressor makes smaller.
fn noise(length: u64, tag: &str) -> Vec<u8> {
    let mut state = tag.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

#[derive(Default)]
struct Undo {
    changed: Vec<(std::path::PathBuf, Vec<u8>)>,
    added: Option<std::path::PathBuf>,
}

impl Undo {
    fn undo(self) -> Result<(), String> {
        for (path, before) in self.changed {
            say(write(&path, &before))?;
        }
        match self.added {
            Some(dir) if dir.exists() => say(fs::remove_dir_all(dir)),
            _ => Ok(()),
        }
    }
}
