//! The ways to keep and bring back a working tree.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{Background, Sample, measure};

/// Where one tree is measured.
pub struct Lab {
    /// The repository.
    pub tree: PathBuf,
    /// What the routes keep beside it.
    pub side: PathBuf,
    pub tw: PathBuf,
}

/// A way to take a snapshot and to go back to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Tw,
    GitKeep,
    GitTemp,
    Stash,
    Shadow,
    Libgit2,
    Copy,
    Jj,
}

pub const ROUTES: [Route; 8] = [
    Route::Tw,
    Route::GitKeep,
    Route::GitTemp,
    Route::Stash,
    Route::Shadow,
    Route::Libgit2,
    Route::Copy,
    Route::Jj,
];

const RECORD: &str = "t=$(git write-tree) && c=$(git commit-tree $t -p HEAD -m s) && git update-ref refs/bench/last $c";

impl Route {
    pub fn name(self) -> &'static str {
        match self {
            Self::Tw => "tw",
            Self::GitKeep => "git-keep",
            Self::GitTemp => "git-temp",
            Self::Stash => "stash",
            Self::Shadow => "shadow",
            Self::Libgit2 => "libgit2",
            Self::Copy => "copy",
            Self::Jj => "jj",
        }
    }

    pub fn says(self) -> &'static str {
        match self {
            Self::Tw => {
                "`tw snapshot`, `tw travel` and `tw return` (backup, experiment and proof included)"
            }
            Self::GitKeep => {
                "`git add -A` into a private index that is kept, `write-tree`, `commit-tree`, `update-ref`; back: `read-tree -u --reset`"
            }
            Self::GitTemp => "the same into a fresh copy of `.git/index`",
            Self::Stash => {
                "`git stash push -u` and `git stash apply --index`; there and back: `push -u`, `pop --index`"
            }
            Self::Shadow => {
                "a second repository over the same working tree: `add -A`, `commit`; back: `reset --hard`"
            }
            Self::Libgit2 => {
                "libgit2 in one process: `add_all` and `update_all` into a private index that is kept, `write_tree`, `commit`, a ref; back: `checkout_tree` by force"
            }
            Self::Copy => {
                "`rsync -a --delete` into a kept copy where it is installed, else `cp -a` into an empty directory"
            }
            Self::Jj => "`jj util snapshot` in a clone of its own",
        }
    }

    pub fn is_installed(self) -> bool {
        self != Self::Jj || has("jj")
    }

    /// Reads or writes the whole tree each time: two rounds show it.
    pub fn is_slow(self) -> bool {
        matches!(self, Self::Stash | Self::Copy)
    }

    /// The directory whose files it keeps.
    pub fn dir(self, lab: &Lab) -> PathBuf {
        match self {
            Self::Jj => lab.side.join("jj"),
            _ => lab.tree.clone(),
        }
    }

    /// Everything before the first snapshot.
    pub fn prepare(self, lab: &Lab) -> Result<(), String> {
        match self {
            Self::GitKeep => sh(lab, "cp .git/index \"$SIDE/keep.index\""),
            Self::Libgit2 => sh(lab, "cp .git/index \"$SIDE/libgit2.index\""),
            Self::Shadow => sh(
                lab,
                "git init -q --bare \"$SIDE/shadow.git\" && git -C \"$SIDE/shadow.git\" config core.bare false && \
                 git -C \"$SIDE/shadow.git\" config gc.auto 0",
            ),
            Self::Jj => sh(
                lab,
                "git clone -q --local . \"$SIDE/jj\" && cd \"$SIDE/jj\" && jj git init --colocate",
            ),
            _ => Ok(()),
        }
    }

    /// Whatever stands between two runs and is no part of them.
    fn tidy(self, lab: &Lab) -> Result<(), String> {
        match self {
            Self::Stash => sh(lab, "git stash clear"),
            Self::Copy if !has("rsync") => sh(lab, "rm -rf \"$SIDE/copy\""),
            _ => Ok(()),
        }
    }

    /// Takes a snapshot.
    pub fn snapshot(self, lab: &Lab) -> Result<Sample, String> {
        self.tidy(lab)?;
        let script = match self {
            Self::Tw => return tw(lab, &["-q", "snapshot"]),
            Self::GitKeep => format!("export GIT_INDEX_FILE=\"$SIDE/keep.index\"; git add -A && {RECORD}"),
            Self::GitTemp => format!(
                "cp .git/index \"$SIDE/temp.index\"; export GIT_INDEX_FILE=\"$SIDE/temp.index\"; git add -A && {RECORD}"
            ),
            Self::Stash => "git stash push -q -u && git stash apply -q --index".to_owned(),
            Self::Shadow => {
                "export GIT_DIR=\"$SIDE/shadow.git\" GIT_WORK_TREE=.; git add -A && git commit -q --allow-empty -m s"
                    .to_owned()
            }
            Self::Libgit2 => format!("{} save \"$SIDE/libgit2.index\"", libgit2()?),
            Self::Copy if has("rsync") => "rsync -a --delete --exclude=/.git ./ \"$SIDE/copy/\"".to_owned(),
            Self::Copy => "mkdir \"$SIDE/copy\" && ls -A | grep -vx .git | xargs cp -a -t \"$SIDE/copy\"".to_owned(),
            Self::Jj => "jj --quiet util snapshot".to_owned(),
        };
        script_sample(lab, &self.dir(lab), &script)
    }

    /// Names the snapshot that was taken last.
    pub fn last(self, lab: &Lab) -> Result<String, String> {
        match self {
            Self::Tw => words(
                lab,
                "\"$TW\" --json list -n 1 | grep -o 's_[0-9]*_[0-9]*_[a-z0-9]*' | head -1",
            ),
            Self::GitKeep => words(lab, "git rev-parse refs/bench/last"),
            Self::Shadow => words(lab, "git -C \"$SIDE/shadow.git\" rev-parse HEAD"),
            Self::Libgit2 => words(lab, "git rev-parse refs/bench/libgit2"),
            _ => Ok(String::new()),
        }
    }

    pub fn travels(self) -> bool {
        matches!(
            self,
            Self::Tw | Self::GitKeep | Self::Stash | Self::Shadow | Self::Libgit2
        )
    }

    /// Saves what is there and goes to a snapshot: the two parts, and the name of what was saved.
    pub fn there(self, lab: &Lab, to: &str) -> Result<(Sample, Sample, String), String> {
        let none = String::new;
        match self {
            Self::Tw => Ok((Sample::default(), swap(lab, &["-q", "travel", to])?, none())),
            Self::Stash => {
                self.tidy(lab)?;
                Ok((
                    Sample::default(),
                    script_sample(lab, &lab.tree, "git stash push -q -u")?,
                    none(),
                ))
            }
            _ => {
                let saving = self.snapshot(lab)?;
                let saved = self.last(lab)?;
                Ok((saving, self.put(lab, to)?, saved))
            }
        }
    }

    /// Saves what is there and comes back.
    pub fn back(self, lab: &Lab, to: &str) -> Result<(Sample, Sample), String> {
        match self {
            Self::Tw => Ok((Sample::default(), swap(lab, &["-q", "return"])?)),
            Self::Stash => Ok((
                Sample::default(),
                script_sample(lab, &lab.tree, "git stash pop -q --index")?,
            )),
            _ => Ok((self.snapshot(lab)?, self.put(lab, to)?)),
        }
    }

    fn put(self, lab: &Lab, to: &str) -> Result<Sample, String> {
        let script = match self {
            Self::Shadow => {
                format!(
                    "export GIT_DIR=\"$SIDE/shadow.git\" GIT_WORK_TREE=.; git reset -q --hard {to}"
                )
            }
            Self::Libgit2 => format!("{} put \"$SIDE/libgit2.index\" {to}", libgit2()?),
            _ => {
                format!("export GIT_INDEX_FILE=\"$SIDE/keep.index\"; git read-tree -u --reset {to}")
            }
        };
        script_sample(lab, &lab.tree, &script)
    }
}

/// The tree of the working tree, found by git with an index that nobody else uses.
pub fn true_tree(lab: &Lab) -> Result<String, String> {
    words(
        lab,
        "export GIT_INDEX_FILE=\"$SIDE/proof.index\"; [ -e \"$GIT_INDEX_FILE\" ] || cp .git/index \"$GIT_INDEX_FILE\"; \
         git add -A && git write-tree",
    )
}

/// The tree of the last snapshot of `tw`.
pub fn tw_tree(lab: &Lab) -> Result<String, String> {
    let id = Route::Tw.last(lab)?;
    words(
        lab,
        &format!("git rev-parse refs/timewarp/snapshots/{id}^{{tree}}"),
    )
}

/// Runs `tw`, measured.
pub fn tw(lab: &Lab, args: &[&str]) -> Result<Sample, String> {
    tw_with(lab, args, Background::Off)
}

/// Runs a swap of `tw`, measured, with what it leaves to the background.
fn swap(lab: &Lab, args: &[&str]) -> Result<Sample, String> {
    tw_with(lab, args, Background::Counted)
}

fn tw_with(lab: &Lab, args: &[&str], background: Background) -> Result<Sample, String> {
    let mut words: Vec<&OsStr> = vec![lab.tw.as_os_str()];
    words.extend(args.iter().map(OsStr::new));
    measure(&lab.tree, &words, (None, background))
}

/// The words that start libgit2's route.
fn libgit2() -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(format!("'{}' libgit2", own.display()))
}

fn script_sample(lab: &Lab, dir: &Path, script: &str) -> Result<Sample, String> {
    let script = format!("SIDE='{}'; {script}", lab.side.display());
    let words = ["sh", "-c", &script].map(OsStr::new);
    measure(dir, &words, (None, Background::Off))
}

/// Runs a script in the tree, not measured.
pub fn sh(lab: &Lab, script: &str) -> Result<(), String> {
    words(lab, script).map(drop)
}

/// What a script prints.
pub fn words(lab: &Lab, script: &str) -> Result<String, String> {
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(&lab.tree)
        .env("SIDE", &lab.side)
        .env("TW", &lab.tw)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("'{script}' failed: {said}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    found.is_ok_and(|output| output.status.success())
}
