//! Discovery and identity against repositories that git itself made.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::testing::TestRepo;
use super::{ConfigLevel, Repo, SharedRepository};
use crate::env::Env;
use crate::error::Code;
use crate::git::ObjectFormat;
use crate::git::objects::ObjectStore;
use crate::git::tree;

fn committed() -> TestRepo {
    let test = TestRepo::new();
    test.write("dir/a", "one\n");
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "one\n\nbody"]);
    test
}

fn discover(dir: &Path) -> Repo {
    Repo::discover(dir, &Env::default()).expect("a repository")
}

fn refused(dir: &Path) -> (Code, String) {
    let error = Repo::discover(dir, &Env::default()).expect_err("refused");
    (error.code(), error.message().to_owned())
}

#[test]
fn a_plain_repository_from_below_and_from_inside_its_git_directory() {
    let test = committed();
    for dir in ["", "dir", ".git", ".git/refs"] {
        let repo = discover(&test.dir().join(dir));
        assert_eq!(repo.worktree_root(), test.dir(), "{dir}");
        assert_eq!(repo.git_dir(), test.dir().join(".git"));
        assert_eq!(repo.common_dir(), repo.git_dir());
        assert!(!repo.is_linked_worktree());
        assert_eq!(repo.worktree_name(), "main");
        assert_eq!(
            repo.git2()
                .expect("opened")
                .workdir()
                .and_then(|dir| dir.canonicalize().ok()),
            Some(test.dir().to_path_buf())
        );
    }
}

#[test]
fn a_linked_worktree_also_relative_moved_and_of_a_bare_repository() {
    let test = committed();
    let side = test.beside("side");
    let path = side.display().to_string();
    test.git(&["worktree", "add", "-q", &path, "-b", "topic"]);
    let repo = discover(&side);
    assert!(repo.is_linked_worktree());
    assert_eq!(repo.worktree_name(), "side");
    assert_eq!(repo.worktree_root(), side);
    assert_eq!(repo.git_dir(), test.dir().join(".git/worktrees/side"));
    assert_eq!(repo.common_dir(), test.dir().join(".git"));
    assert_eq!(
        repo.index_path(),
        test.dir().join(".git/worktrees/side/index")
    );
    let head = repo.head_unpeeled().expect("read");
    assert_eq!(head.reference.as_deref(), Some("refs/heads/topic"));
    assert_eq!(
        discover(&test.dir().join(".git/worktrees/side")).worktree_root(),
        side
    );

    std::fs::write(side.join(".git"), "gitdir: ../top/.git/worktrees/side\n").expect("written");
    assert_eq!(discover(&side).worktree_root(), side);
    let moved = test.beside("moved");
    std::fs::rename(&side, &moved).expect("moved");
    assert_eq!(discover(&moved).worktree_root(), moved);
    assert_eq!(
        discover(&moved)
            .git2()
            .expect("opened")
            .workdir()
            .and_then(|dir| dir.canonicalize().ok()),
        Some(moved)
    );

    let bare = test.beside("bare.git");
    let bare_path = bare.display().to_string();
    test.git(&["clone", "-q", "--bare", ".", &bare_path]);
    let tree = test.beside("tree");
    test.git_in(
        &bare,
        &[
            "worktree",
            "add",
            "-q",
            &tree.display().to_string(),
            "-b",
            "x",
        ],
    );
    let repo = discover(&tree);
    assert!(repo.is_linked_worktree() && !repo.git2().expect("opened").is_bare());
    assert_eq!(repo.common_dir(), bare);
    assert_eq!(refused(&bare).0, Code::UnsupportedRepository);
}

#[test]
fn the_head_of_a_nested_repository_is_read_wherever_its_git_directory_is() {
    let test = committed();
    let make = |name: &str| {
        let dir = test.dir().join(name);
        std::fs::create_dir(&dir).expect("made");
        test.git_in(&dir, &["init", "-q", "-b", "main"]);
        test.git_in(&dir, &["commit", "-qm", name, "--allow-empty"]);
        test.git_in(&dir, &["rev-parse", "HEAD"])
    };
    let expected = [make("odd"), make("linked")];
    // A path may end in a space, and need not be UTF-8; and git follows a symlink to a git directory.
    let odd = test.beside("").join(OsStr::from_bytes(b"store \xff "));
    std::fs::rename(test.dir().join("odd/.git"), &odd).expect("moved");
    let gitfile = [b"gitdir: ", odd.as_os_str().as_bytes(), b"\n"].concat();
    std::fs::write(test.dir().join("odd/.git"), gitfile).expect("written");
    let linked = test.dir().join("linked/.git");
    std::fs::rename(&linked, test.beside("linked.git")).expect("moved");
    symlink(test.beside("linked.git"), &linked).expect("made");
    let repo = test.open();
    for (name, expected) in ["odd", "linked"].iter().zip(expected) {
        let head = repo.nested_head(name.as_bytes()).expect(name);
        assert_eq!(head.to_string(), expected.trim(), "{name}");
    }
}

#[test]
fn core_worktree_moves_the_working_tree() {
    let test = committed();
    let other = test.beside("other");
    std::fs::create_dir(&other).expect("made");
    test.git(&["config", "core.worktree", "../../other"]);
    let repo = discover(test.dir());
    assert_eq!(repo.worktree_root(), other);
    assert_eq!(
        repo.git2()
            .expect("opened")
            .workdir()
            .and_then(|dir| dir.canonicalize().ok()),
        Some(other.clone())
    );
    std::fs::remove_dir(&other).expect("removed");
    let (code, message) = refused(test.dir());
    assert_eq!(code, Code::UnsupportedRepository);
    assert!(message.contains("other"), "{message}");
}

#[test]
fn a_submodule_is_its_own_repository() {
    let test = committed();
    let outer = test.beside("outer");
    std::fs::create_dir(&outer).expect("made");
    test.git_in(&outer, &["init", "-q"]);
    test.git_in(&outer, &["submodule", "add", "-q", "../top", "sub"]);
    let repo = discover(&outer.join("sub/dir"));
    assert_eq!(repo.worktree_root(), outer.join("sub"));
    assert_eq!(repo.git_dir(), outer.join(".git/modules/sub"));
    assert!(!repo.is_linked_worktree());
    let inside = discover(&outer.join(".git/modules/sub"));
    assert_eq!(inside.worktree_root(), outer.join("sub"));
}

#[test]
fn a_separate_git_directory_works_from_its_working_tree_only() {
    let test = TestRepo::empty();
    let store = test.beside("store");
    test.git(&[
        "init",
        "-q",
        &format!("--separate-git-dir={}", store.display()),
    ]);
    assert_eq!(discover(test.dir()).git_dir(), store);
    assert_eq!(refused(&store).0, Code::UnsupportedRepository);
}

#[test]
fn formats_that_are_not_read_here_are_named() {
    let test = TestRepo::empty();
    let none = refused(test.dir());
    assert_eq!(none.0, Code::NotARepository);
    assert!(none.1.contains(&test.dir().display().to_string()));

    let test = TestRepo::empty();
    test.git(&["init", "-q"]);
    test.git(&["config", "core.repositoryFormatVersion", "1"]);
    test.git(&["config", "extensions.objectFormat", "sha512"]);
    let (code, message) = refused(test.dir());
    assert_eq!(code, Code::UnsupportedRepository);
    assert!(
        message.contains("extensions.objectFormat=sha512"),
        "{message}"
    );
    for (key, value) in [
        ("core.repositoryFormatVersion", "2"),
        ("extensions.future", "yes"),
        ("extensions.refStorage", "future"),
        ("extensions.objectFormat", "sha512"),
        ("extensions.compatObjectFormat", "sha256"),
    ] {
        let test = TestRepo::new();
        test.git(&["config", "core.repositoryFormatVersion", "1"]);
        test.git(&["config", key, value]);
        assert_eq!(refused(test.dir()).0, Code::UnsupportedRepository, "{key}");
    }
}

#[test]
fn a_repository_names_its_objects_as_its_configuration_says() {
    for format in ObjectFormat::ALL {
        let test = TestRepo::empty();
        test.git(&["init", "-q", &format!("--object-format={format}")]);
        assert_eq!(discover(test.dir()).object_format(), format);
        test.git(&["config", "core.repositoryFormatVersion", "0"]);
        if format == ObjectFormat::Sha1 {
            discover(test.dir());
        } else {
            // git does not read it either.
            let (code, message) = refused(test.dir());
            assert_eq!(code, Code::UnsupportedRepository);
            assert!(message.contains("objectFormat=sha256"), "{message}");
        }
    }
}

#[test]
fn known_extensions_open() {
    let test = committed();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("extensions.worktreeConfig", "true"),
        ("extensions.preciousObjects", "true"),
        ("extensions.objectFormat", "sha1"),
        ("extensions.refStorage", "files"),
    ] {
        test.git(&["config", key, value]);
        assert!(
            discover(test.dir())
                .head_unpeeled()
                .expect("read")
                .oid
                .is_some(),
            "{key}"
        );
    }
    test.git(&["config", "--worktree", "timewarp.keepDays", "9"]);
    // This git may be older than the extension.
    let path = test.dir().join(".git/config");
    let mut config = std::fs::read_to_string(&path).expect("read");
    config.push_str("[extensions]\n\trelativeWorktrees = true\n");
    std::fs::write(&path, config).expect("written");
    let entries = discover(test.dir())
        .config_entries("timewarp.")
        .expect("read");
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].level, ConfigLevel::Worktree);
    assert_eq!(entries[0].text(), "9");
}

#[test]
fn another_owner_is_refused() {
    if !rustix::process::geteuid().is_root() {
        crate::provided::skipped("root", "only root can give a repository to someone else");
        return;
    }
    let test = committed();
    std::os::unix::fs::chown(test.dir().join(".git"), Some(12345), None).expect("given away");
    let (code, message) = refused(test.dir());
    assert_eq!(code, Code::UnsafeRepository);
    let line = format!(
        "git config --global --add safe.directory '{}'",
        test.dir().display()
    );
    assert!(message.contains(&line), "{message}");
    // A directory named safe opens, though libgit2 itself, which reads another file, says no.
    let sources = super::Sources {
        command: vec![("safe.directory".to_owned(), b"*".to_vec())],
        ..super::Sources::default()
    };
    let found = super::discover::find(test.dir(), &super::Limits::default(), &Env::default())
        .expect("found");
    let repo = Repo::open(found, &sources, &Env::default()).expect("trusted");
    assert!(repo.head_unpeeled().expect("read").oid.is_some());
    assert!(!repo.git2().expect("opened").is_bare());
}

#[test]
fn settings_have_gits_defaults_and_values() {
    let test = committed();
    let repo = discover(test.dir());
    assert!(repo.trust_ctime().expect("read"));
    assert!(!repo.ignore_case().expect("read"));
    assert_eq!(repo.excludes_file(), None);
    assert_eq!(repo.hooks_dir(), test.dir().join(".git/hooks"));
    assert_eq!(
        repo.shared_repository().expect("read"),
        SharedRepository::Umask
    );
    for (key, value) in [
        ("core.fileMode", "off"),
        ("core.trustctime", "false"),
        ("core.excludesFile", "conf/ignore"),
        ("core.attributesFile", "/etc/attributes"),
        ("core.autocrlf", "input"),
        ("core.hooksPath", ".husky"),
        ("core.sharedRepository", "0660"),
    ] {
        test.git(&["config", key, value]);
    }
    test.git(&["config", "--add", "timewarp.exclude", "a"]);
    test.git(&["config", "--add", "timewarp.exclude", "b"]);
    let repo = discover(test.dir());
    assert!(!repo.file_mode().expect("read"));
    assert!(!repo.trust_ctime().expect("read"));
    assert_eq!(repo.excludes_file(), Some(test.dir().join("conf/ignore")));
    assert_eq!(repo.attributes_file(), Some("/etc/attributes".into()));
    assert_eq!(repo.autocrlf().as_deref(), Some("input"));
    assert_eq!(repo.eol(), None);
    assert_eq!(repo.hooks_dir(), test.dir().join(".husky"));
    assert_eq!(
        repo.shared_repository().expect("read"),
        SharedRepository::Mode(0o660)
    );
    assert_eq!(
        repo.config_all("timewarp.exclude").expect("read"),
        ["a", "b"]
    );
    assert_eq!(
        repo.config("timewarp.exclude").expect("read").as_deref(),
        Some("b")
    );
}

#[test]
fn head_follows_git() {
    let test = TestRepo::new();
    let unborn = discover(test.dir()).head_unpeeled().expect("read");
    assert!(unborn.unborn && !unborn.detached);
    test.write("a", "1");
    test.git(&["add", "a"]);
    test.git(&["commit", "-qm", "one"]);
    let id = test.git(&["rev-parse", "HEAD"]);
    let repo = discover(test.dir());
    let is_main = |repo: &Repo| {
        let head = repo.head_unpeeled().expect("read");
        assert_eq!(
            head.oid.map(|oid| oid.to_string()).as_deref(),
            Some(id.trim())
        );
        assert_eq!(head.reference.as_deref(), Some("refs/heads/main"));
        assert!(!head.detached && !head.unborn);
    };
    is_main(&repo);
    test.git(&["pack-refs", "--all"]);
    is_main(&repo);
    test.git(&["checkout", "-q", "--detach"]);
    let head = repo.head_unpeeled().expect("read");
    assert!(head.detached && head.reference.is_none() && head.oid.is_some());
}

#[test]
fn commits_and_trees_answer() {
    let test = committed();
    test.write("dir/a", "two\n");
    test.git(&["commit", "-qam", "two"]);
    let repo = discover(test.dir());
    let oid = repo.head_unpeeled().expect("read").oid.expect("born");
    let objects = ObjectStore::open(repo.common_dir(), repo.object_format()).expect("opened");
    let commit = objects.commit(oid).expect("read");
    let [parent] = commit.parents[..] else {
        panic!("one parent, not {:?}", commit.parents);
    };
    assert_eq!(
        objects.commit(parent).expect("read").message,
        b"one\n\nbody\n"
    );
    assert_eq!(commit.author_time, 1_700_000_000);
    let at = |path: &[u8]| tree::find(&objects, commit.tree, path).expect("read");
    let file = at(b"dir/a").expect("there");
    assert_eq!(file.mode, 0o100_644);
    let blob = test.git(&["rev-parse", "HEAD:dir/a"]);
    assert_eq!(file.oid.to_string(), blob.trim());
    assert_eq!(at(b"dir").expect("there").mode, 0o040_000);
    assert!(at(b"dir/b").is_none());
    assert!(objects.commit(commit.tree).is_err());
    assert!(
        objects.is_commit(oid) && !objects.is_commit(commit.tree) && objects.is_tree(commit.tree)
    );
}

/// Runs itself again in a child whose environment is the one that git gives to a hook of another repository.
#[test]
fn variables_of_another_repository_never_mislead() {
    let env = Env::from_process();
    if let Some(dir) = env.var("TW_TEST_HERE") {
        let repo = Repo::discover(Path::new(dir), &env).expect("a repository");
        assert_eq!(repo.git_dir(), Path::new(dir).join(".git"));
        assert_eq!(repo.worktree_root(), Path::new(dir));
        let oid = repo.head_unpeeled().expect("read").oid.expect("born");
        let id = git2::Oid::from_bytes(oid.as_bytes()).expect("an id");
        assert!(repo.git2().expect("opened").find_commit(id).is_ok());
        let objects = ObjectStore::open(repo.common_dir(), repo.object_format()).expect("opened");
        assert!(objects.is_commit(oid));
        let top = crate::git::command::Git::new(&repo)
            .args(["ls-files", "--full-name"])
            .run()
            .expect("ran");
        assert_eq!(top, b"dir/a\n");
        return;
    }
    let test = committed();
    let other = TestRepo::new();
    let git_dir = other.dir().join(".git");
    let output = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "git::repo::tests::variables_of_another_repository_never_mislead",
        ])
        .env("TW_TEST_HERE", test.dir())
        .env("GIT_DIR", &git_dir)
        .env("GIT_COMMON_DIR", &git_dir)
        .env("GIT_WORK_TREE", other.dir())
        .env("GIT_INDEX_FILE", git_dir.join("index"))
        .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
        .env("GIT_NAMESPACE", "elsewhere")
        .env("GIT_PREFIX", "nowhere/")
        .env("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("run again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}
