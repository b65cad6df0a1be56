//! The steps, how they are chosen, and what each is in a shell.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Few paths that meet often: files where others have directories, ignored names, a space and a letter beyond ASCII.
const PATHS: [&str; 15] = [
    "a",
    "b",
    "d",
    "d/a",
    "d/b",
    "d/e",
    "d/e/c",
    "e/f/g",
    "sp ace/ü",
    "ig",
    "d/ig",
    "x.log",
    "d/y.log",
    "node_modules/m",
    "x.sh",
];
/// Pathspecs as `judge::takes` knows them.
const PATTERNS: [&str; 6] = ["*a", "*/b", "*.log", ":!d", ":!a", ":!d/e"];
/// None that could close a loop, over which git itself stumbles.
const TARGETS: [&str; 4] = ["nowhere", "d", "../..", ".gitignore"];
const MODES: [&str; 5] = ["644", "755", "600", "640", "444"];
const DIR_MODES: [&str; 3] = ["755", "700", "775"];
const DIRS: [&str; 5] = ["d", "d/e", "empty", "e/f", "empty/too"];
/// Ignore files, as `printf` takes them.
const RULES: [&str; 6] = [
    "",
    "ig\\n",
    "ig\\nd/\\n",
    "d/*\\n!d/a\\n",
    "/b\\n/e/\\n",
    "*.sh\\n/a\\n",
];

/// What the shell needs to know for the steps.
pub const SHELL: &str = r#"
room() { # makes the directories that lead to $1, over whatever is in the way
    case $1 in */*) dir=${1%/*};; *) return 0;; esac
    room "$dir"; dir=${1%/*}
    [ -d "$dir" ] && [ ! -L "$dir" ] || { rm -f "$dir"; mkdir "$dir"; }
}
clear() { room "$1"; if [ -L "$1" ] || [ -d "$1" ] || [ ! -w "$1" ]; then rm -rf "$1"; fi; }
put() { clear "$1"; printf "$2" > "$1"; }
link() { clear "$1"; rm -f "$1"; ln -s "$2" "$1"; }
mode() { if [ -f "$1" ] && [ ! -L "$1" ]; then chmod "$2" "$1"; fi; }
dirmode() { if [ -d "$1" ] && [ ! -L "$1" ]; then chmod "$2" "$1"; fi; }
move() { if [ -e "$1" ]; then case $2/ in "$1"/*) return;; esac; mv "$1" .moved; rm -rf "$2"; room "$2"; mv .moved "$2"; fi; }
branch() { git checkout -q "$1" -- || git checkout -q -b "$1"; }
clone() ( unset GIT_DIR GIT_WORK_TREE; rm -rf n; git init -q --template= n; echo n > n/f; git -C n add f; git -C n commit -q -m n; echo more > n/g )
"#;

/// One step.
#[derive(Debug, Clone)]
pub enum Step {
    /// A line for the shell: an edit, or plain git.
    Shell(String),
    /// Take a snapshot.
    Snapshot,
    /// Travel to the n-th newest snapshot, wherever we are.
    Travel(usize),
    /// Go on from a past to the n-th newest snapshot; from the present, travel there.
    Hop(usize),
    /// Return, wherever we are.
    Return,
    /// Travel from the present, return from the past.
    Trip(usize),
    /// Restore the n-th newest snapshot.
    Restore(usize, Option<&'static str>),
    Undo,
    Redo,
    Recover,
}

/// One case: where it begins and what happens.
#[derive(Debug, Clone)]
pub struct Case {
    pub unborn: bool,
    pub steps: Vec<Step>,
}

/// Cases of up to so many steps.
pub fn cases(steps: usize) -> impl Strategy<Value = Case> {
    (prop::bool::weighted(0.15), vec(step(), 1..=steps))
        .prop_map(|(unborn, steps)| Case { unborn, steps })
}

fn step() -> impl Strategy<Value = Step> {
    let nth = || 0..6_usize;
    prop_oneof![
        30 => edit().prop_map(Step::Shell),
        12 => staging().prop_map(Step::Shell),
        16 => history().prop_map(Step::Shell),
        10 => Just(Step::Snapshot),
        14 => nth().prop_map(Step::Trip),
        1 => nth().prop_map(Step::Travel),
        4 => nth().prop_map(Step::Hop),
        1 => Just(Step::Return),
        3 => nth().prop_map(|nth| Step::Restore(nth, None)),
        3 => (nth(), select(&PATHS[..])).prop_map(|(nth, path)| Step::Restore(nth, Some(path))),
        2 => (nth(), select(&PATTERNS[..])).prop_map(|(nth, word)| Step::Restore(nth, Some(word))),
        5 => Just(Step::Undo),
        3 => Just(Step::Redo),
        1 => Just(Step::Recover),
    ]
}

fn edit() -> impl Strategy<Value = String> {
    let path = || select(&PATHS[..]);
    prop_oneof![
        // Of one length, so that only the stamp or the bytes tell two versions apart.
        12 => (path(), 0..6).prop_map(|(path, version)| format!("put '{path}' 'v{version}\\n'")),
        4 => path().prop_map(|path| format!("rm -rf '{path}'")),
        3 => (path(), select(&TARGETS[..])).prop_map(|(path, to)| {
            let to = if path == to { "nowhere" } else { to };
            format!("link '{path}' '{to}'")
        }),
        3 => (path(), select(&MODES[..])).prop_map(|(path, mode)| format!("mode '{path}' {mode}")),
        1 => (select(&DIRS[..]), select(&DIR_MODES[..]))
            .prop_map(|(dir, mode)| format!("dirmode '{dir}' {mode}")),
        3 => (path(), path()).prop_map(|(from, to)| format!("move '{from}' '{to}'")),
        2 => select(&DIRS[..]).prop_map(|dir| format!("room '{dir}/.'")),
        3 => select(&RULES[..]).prop_map(|rules| format!("put .gitignore '{rules}'")),
        1 => select(&["", "a\\n", "b\\ne/\\n"][..]).prop_map(|rules| format!("put d/.gitignore '{rules}'")),
        1 => Just("clone".to_owned()),
        1 => Just("rm -rf n".to_owned()),
        1 => Just("rm -f .gitignore".to_owned()),
    ]
}

fn staging() -> impl Strategy<Value = String> {
    let path = || select(&PATHS[..]);
    prop_oneof![
        4 => path().prop_map(|path| format!("git add -f -- '{path}'")),
        3 => Just("git add -A".to_owned()),
        3 => path().prop_map(|path| format!("git reset -q -- '{path}'")),
        2 => path().prop_map(|path| format!("git add -f -N -- '{path}'")),
        1 => path().prop_map(|path| format!("git rm -rq --cached -- '{path}'")),
        1 => path().prop_map(|path| format!("git update-index --assume-unchanged -- '{path}'")),
        1 => path().prop_map(|path| format!("git update-index --skip-worktree -- '{path}'")),
        1 => path().prop_map(|path| {
            format!("git update-index --no-assume-unchanged --no-skip-worktree -- '{path}'")
        }),
    ]
}

fn history() -> impl Strategy<Value = String> {
    let branch = || select(&["main", "other"][..]);
    prop_oneof![
        4 => Just("git commit -q -m staged".to_owned()),
        6 => Just("git add -A; git commit -q -m all".to_owned()),
        1 => Just("git commit -q --amend --no-edit".to_owned()),
        5 => branch().prop_map(|name| format!("branch {name}")),
        5 => branch().prop_map(|name| format!("git merge -q --no-edit {name}")),
        1 => Just("git merge --abort".to_owned()),
        1 => branch().prop_map(|name| format!("git cherry-pick {name}")),
        1 => Just("git revert --no-edit HEAD".to_owned()),
        1 => branch().prop_map(|name| format!("git rebase -q {name}")),
        1 => Just("git rebase --abort".to_owned()),
        1 => Just("git bisect start -q HEAD HEAD~2".to_owned()),
        1 => Just("git bisect reset -q".to_owned()),
        2 => Just("git stash push -q -u".to_owned()),
        2 => Just("git stash pop -q --index".to_owned()),
        1 => Just("git reset -q --hard".to_owned()),
        1 => Just("git clean -fdq".to_owned()),
        1 => Just("git checkout -q --detach".to_owned()),
        1 => Just("git branch -f other HEAD".to_owned()),
        1 => Just("git reflog expire --expire=now --all; git gc -q --prune=now".to_owned()),
        1 => Just("git pack-refs --all".to_owned()),
    ]
}
