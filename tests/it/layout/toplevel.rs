//! The working tree that `tw` works in is git's, however the repository is laid out.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Where `tw` works, seen from a directory; nothing when it refuses.
fn tw_top(sandbox: &Sandbox, dir: &Path) -> Option<String> {
    let ran = sandbox.tw_in(dir, ["snapshot", "--json"]);
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let top = answer["snapshot"]["workspace_root"].as_str()?;
    Some(top.to_owned())
}

fn git_top(sandbox: &Sandbox, dir: &Path) -> Option<String> {
    let ran = sandbox.try_git_in(dir, ["rev-parse", "--show-toplevel"]);
    (ran.code == 0).then(|| ran.out().trim_end().to_owned())
}

/// How a directory is bound to the repository's git directory.
#[derive(Debug, Clone, Copy)]
enum Bound {
    Directory,
    File,
    RelativeFile,
    Symlink,
    Linked,
    /// A git directory with `commondir` that is no linked worktree's.
    Common,
}

/// A repository in `top`, bound like this, with a directory `other` beside it; answers where its configuration is and its git
/// directory.
fn lay_out(sandbox: &Sandbox, bound: Bound) -> (std::path::PathBuf, std::path::PathBuf) {
    let (root, top) = (sandbox.root(), sandbox.root().join("top"));
    fs::create_dir(root.join("other")).unwrap();
    fs::create_dir_all(top.join("sub")).unwrap();
    let init = || sandbox.git_in(&root, ["init", "-q", "-b", "main", "top"]);
    let store = root.join("store");
    match bound {
        Bound::Directory => {
            init();
            return (top.join(".git/config"), top.join(".git"));
        }
        Bound::Linked => {
            fs::remove_dir_all(&top).unwrap();
            sandbox.git_in(&root, ["init", "-q", "-b", "main", "store"]);
            let make = ["commit", "-q", "--allow-empty", "-m", "first"];
            sandbox.git_in(&store, make);
            sandbox.git_in(&store, ["worktree", "add", "-q", "../top"]);
            fs::create_dir(top.join("sub")).unwrap();
            let git_dir = store.join(".git/worktrees/top");
            return (store.join(".git/config"), git_dir);
        }
        _ => {
            init();
            fs::rename(top.join(".git"), &store).unwrap();
        }
    }
    match bound {
        Bound::Symlink => std::os::unix::fs::symlink(&store, top.join(".git")).unwrap(),
        Bound::RelativeFile => fs::write(top.join(".git"), "gitdir: ../store\n").unwrap(),
        Bound::Common => {
            fs::create_dir(top.join(".git")).unwrap();
            fs::write(top.join(".git/commondir"), "../../store\n").unwrap();
            fs::copy(store.join("HEAD"), top.join(".git/HEAD")).unwrap();
            return (store.join("config"), top.join(".git"));
        }
        _ => fs::write(top.join(".git"), format!("gitdir: {}\n", store.display())).unwrap(),
    }
    (store.join("config"), store)
}

/// Lines of the shared configuration, and of the worktree's own.
const CONFIGURED: [(&str, &str); 10] = [
    ("", ""),
    ("[core]\n\tworktree = OTHER\n", ""),
    ("[core]\n\tworktree = RELATIVE\n", ""),
    ("[core]\n\tbare = true\n", ""),
    ("[core]\n\tbare = true\n\tworktree = OTHER\n", ""),
    ("[core]\n\tbare = false\n", "[core]\n\tworktree = OTHER\n"),
    (
        "[extensions]\n\tworktreeConfig = true\n",
        "[core]\n\tworktree = OTHER\n",
    ),
    (
        "[extensions]\n\tworktreeConfig = true\n",
        "[core]\n\tbare = true\n",
    ),
    (
        "[core]\n\tworktree = OTHER\n[extensions]\n\tworktreeConfig = true\n",
        "",
    ),
    (
        "[core]\n\tbare = true\n[extensions]\n\tworktreeConfig = true\n",
        "[core]\n\tbare = false\n",
    ),
];

#[test]
fn the_working_tree_is_the_one_that_git_works_in() {
    let bounds = [
        Bound::Directory,
        Bound::File,
        Bound::RelativeFile,
        Bound::Symlink,
        Bound::Linked,
        Bound::Common,
    ];
    for bound in bounds {
        for (shared, own) in CONFIGURED {
            let sandbox = Sandbox::bare_room();
            let (config, git_dir) = lay_out(&sandbox, bound);
            let other = sandbox.root().join("other");
            let up = git_dir.strip_prefix(sandbox.root()).unwrap();
            let relative = "../".repeat(up.components().count()) + "other";
            let text = |text: &str| {
                let text = text.replace("OTHER", other.to_str().unwrap());
                text.replace("RELATIVE", &relative)
            };
            let repository = sandbox.kind().configuration();
            fs::write(config, format!("{repository}{}", text(shared))).unwrap();
            if !own.is_empty() {
                fs::write(git_dir.join("config.worktree"), text(own)).unwrap();
            }
            for dir in ["top", "top/sub"].map(|dir| sandbox.root().join(dir)) {
                let case = format!("{bound:?} {shared:?} {own:?} in {}", dir.display());
                let (git, tw) = (git_top(&sandbox, &dir), tw_top(&sandbox, &dir));
                // git calls the working tree what it is also where it does not stand in it.
                assert_eq!(tw, git, "{case}");
            }
        }
    }
}

#[test]
fn the_environment_names_no_other_working_tree() {
    let sandbox = Sandbox::new();
    let other = sandbox.root().join("other");
    sandbox.git(["init", "-q", other.to_str().unwrap()]);
    let mut command = sandbox.tw_command();
    command.env("GIT_DIR", other.join(".git"));
    command.env("GIT_WORK_TREE", &other);
    let output = command.args(["snapshot", "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let top = answer["snapshot"]["workspace_root"].as_str();
    assert_eq!(top, sandbox.repo().to_str());
}
