//! What a command may cost, by counts of a debug build: these hold where times would only be noise.

use std::collections::BTreeMap;

use crate::sandbox::{Sandbox, settle};

/// Directories and files in each of the tree that is counted in.
pub const DIRS: u64 = 20;
pub const FILES: u64 = 30;

type Counts = BTreeMap<String, u64>;

/// A clean tree of 600 files, one of them empty, whose stamps are no longer fresh.
pub fn settled() -> Sandbox {
    settled_in(Sandbox::unborn())
}

/// As [`settled`], in a repository of any kind.
pub fn settled_in(sandbox: Sandbox) -> Sandbox {
    for dir in 0..DIRS {
        for file in 0..FILES {
            sandbox.write(format!("d{dir}/f{file}"), format!("{dir} {file}\n"));
        }
    }
    sandbox.write("d19/f29", "");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    settle();
    sandbox.git(["update-index", "-q", "--really-refresh"]);
    settle();
    sandbox
}

pub fn counted(sandbox: &Sandbox, args: &[&str]) -> Counts {
    let file = sandbox.root().join("tmp/work");
    let output = sandbox
        .tw_command()
        .env("TW_TEST_WORK", &file)
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let count = |line: &str| {
        let (name, count) = line.split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    text.lines().map(count).collect()
}

/// The counts of these names, in their order.
fn of<const N: usize>(counts: &Counts, names: [&str; N]) -> [u64; N] {
    names.map(|name| counts[name])
}

const WRITTEN: [&str; 4] = ["blob_puts", "tree_puts", "commit_puts", "cache_writes"];
const READ: [&str; 4] = ["dir_reads", "file_reads", "index_reads", "object_lookups"];

#[test]
fn an_unchanged_tree_costs_its_stats_and_one_commit() {
    let sandbox = settled();
    counted(&sandbox, &["snapshot"]);
    let counts = counted(&sandbox, &["snapshot"]);
    assert_eq!(of(&counts, WRITTEN), [0, 0, 1, 0]);
    // The new commit is looked up once its ref is there.
    assert_eq!(of(&counts, READ), [0, 0, 0, 1]);
    let stats = counts["stats"];
    assert!((600..610).contains(&stats), "{stats} for 600 files");
    let opens = counts["opens"];
    assert!((21..30).contains(&opens), "{opens} for 21 directories");
}

#[test]
fn an_index_that_git_refreshed_is_read_once() {
    let sandbox = settled();
    counted(&sandbox, &["snapshot"]);
    // As `git status` does when a stamp moved: the same entries in a new file.
    sandbox.git(["update-index", "--force-write-index"]);
    settle();
    let counts = counted(&sandbox, &["snapshot"]);
    assert_eq!(of(&counts, ["index_reads", "cache_writes"]), [1, 1]);
    // Its trees are those of the last snapshot's index: none of the twenty-one is opened to see whether it is whole.
    let opens = counts["object_opens"];
    assert!((1..20).contains(&opens), "{opens} objects");
    let counts = counted(&sandbox, &["snapshot"]);
    assert_eq!(of(&counts, WRITTEN), [0, 0, 1, 0]);
    assert_eq!(of(&counts, READ), [0, 0, 0, 1]);
}

#[test]
fn an_index_too_fresh_to_be_trusted_is_trusted_later() {
    let sandbox = settled();
    sandbox.git(["update-index", "--force-write-index"]);
    counted(&sandbox, &["snapshot"]);
    settle();
    counted(&sandbox, &["snapshot"]);
    let counts = counted(&sandbox, &["snapshot"]);
    assert_eq!(of(&counts, READ), [0, 0, 0, 1]);
}

#[test]
fn the_first_snapshot_of_a_clean_checkout_stores_no_file() {
    let sandbox = settled();
    let counts = counted(&sandbox, &["snapshot"]);
    assert_eq!(
        of(&counts, ["file_reads", "blob_puts", "tree_puts"]),
        [DIRS * FILES, 0, 0]
    );
    assert_eq!(of(&counts, ["dir_reads", "index_reads"]), [DIRS + 1, 1]);
    // Each directory once, but for those that are more than sixteen in one: they are looked into, and opened again to be read.
    // Each file once: so few are proven by content at once to be what the index says.
    let opens = counts["opens"] - DIRS * FILES;
    assert!((21..30).contains(&opens), "{opens} for 21 directories");
    assert_eq!(
        tree_of_latest(&sandbox),
        sandbox.git(["rev-parse", "HEAD^{tree}"]).trim()
    );
}

#[test]
fn a_trip_looks_at_what_it_replaces_once_and_reads_it_once() {
    let sandbox = settled();
    sandbox.write(".gitignore", "*.a\n");
    counted(&sandbox, &["snapshot"]);
    // Other rules, too: the way back looks at all under the rules of both sides.
    sandbox.write(".gitignore", "*.b\n");
    for dir in 0..DIRS {
        for file in 0..FILES {
            sandbox.write(format!("d{dir}/f{file}"), format!("changed {dir} {file}\n"));
        }
    }
    let all = DIRS * FILES + 1;
    settle();
    let counts = counted(&sandbox, &["travel", "latest"]);
    // One blob more is a list of the backup's record.
    assert_eq!(of(&counts, ["file_reads", "blob_puts"]), [all, all + 1]);
    // Compared with the cache, met again by the walk, and looked at when it changes places: the old one, the new one, and what is in
    // its place then; so are directories, at most.
    let stats = counts["stats"];
    assert!(
        (5 * all..=5 * (all + DIRS + 1)).contains(&stats),
        "{stats} for {all} files"
    );
    settle();
    let counts = counted(&sandbox, &["return"]);
    // What is there is read for the experiment, and what is back for the proof: both are what they were thought to be.
    assert_eq!(of(&counts, ["file_reads", "blob_puts"]), [2 * all, 1]);
}

/// The tree of the newest snapshot.
#[test]
fn a_tree_of_the_index_that_was_lost_since_is_made_again() {
    for stages in [false, true] {
        let sandbox = settled();
        counted(&sandbox, &["snapshot"]);
        let lost = sandbox.git(["rev-parse", "HEAD:d3"]).trim().to_owned();
        sandbox.remove(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]));
        if stages {
            sandbox.write("d5/f5", "changed\n");
            sandbox.git(["add", "."]);
        } else {
            sandbox.git(["update-index", "--force-write-index"]);
        }
        settle();
        counted(&sandbox, &["snapshot"]);
        sandbox.git(["cat-file", "-e", &lost]);
    }
}

#[test]
fn only_trees_of_the_index_that_changed_are_opened() {
    let sandbox = settled();
    counted(&sandbox, &["snapshot"]);
    sandbox.write("d3/f3", "changed\n");
    sandbox.git(["commit", "-qam", "one file of one directory"]);
    settle();
    let counts = counted(&sandbox, &["snapshot"]);
    // Those of the snapshot, of HEAD and of its index before and now: the root, and the one directory that is another.
    let opens = counts["object_opens"];
    assert!((3..20).contains(&opens), "{opens} objects");
    assert_eq!(
        tree_of_latest(&sandbox),
        sandbox.git(["rev-parse", "HEAD^{tree}"]).trim()
    );
}

fn tree_of_latest(sandbox: &Sandbox) -> String {
    let shown = sandbox.json(["show", "latest"]);
    shown["snapshot"]["tree"].as_str().unwrap().to_owned()
}

#[test]
fn trees_that_git_knows_are_taken_only_where_they_hold() {
    let sandbox = settled();
    // One gone; one for another; one more; one that only its mode tells from git's; one of the same bytes under a rule.
    sandbox.remove("d1/f1");
    sandbox.remove("d2/f2");
    sandbox.write("d2/instead", "instead\n");
    sandbox.write("d3/more/new", "new\n");
    sandbox.chmod("d4/f4", 0o755);
    sandbox.git(["config", "timewarp.exclude", "d5/f5"]);
    sandbox.git(["update-index", "--assume-unchanged", "d6/f6"]);
    sandbox.git(["update-index", "--chmod=+x", "d7/f7"]);
    sandbox.symlink("f9", "d8/f8.link");
    settle();
    let counts = counted(&sandbox, &["snapshot"]);
    // d1 to d8, d3/more and the root; of the index's own d6, d7 and its root at most.
    let puts = counts["tree_puts"];
    assert!((10..=13).contains(&puts), "{puts} trees of 23");
    let taken = tree_of_latest(&sandbox);
    sandbox.git(["update-index", "--no-assume-unchanged", "d6/f6"]);
    sandbox.git(["add", "-A"]);
    sandbox.git(["rm", "-q", "--cached", "d5/f5"]);
    assert_eq!(taken, sandbox.git(["write-tree"]).trim());
}

#[test]
fn changed_files_cost_their_own_reads_and_their_directories_trees() {
    let sandbox = settled();
    counted(&sandbox, &["snapshot"]);
    for file in 0..3 {
        sandbox.write(format!("d1/f{file}"), format!("changed {file}\n"));
    }
    sandbox.write("d2/new", "new\n");
    settle();
    let cache = sandbox.read(".git/timewarp/cache");
    let counts = counted(&sandbox, &["snapshot"]);
    // What changed stands in a patch of the cache.
    assert!(sandbox.read(".git/timewarp/cache") == cache);
    // Two directories and the root; only the directory with a new name is read again.
    assert_eq!(of(&counts, WRITTEN), [4, 3, 1, 1]);
    assert_eq!(
        of(&counts, ["dir_reads", "file_reads", "index_reads"]),
        [1, 4, 0]
    );
    // Each file once, and once more those of the directory that had to be read: what the glance saw is not looked at again.
    let stats = counts["stats"];
    assert!((601..640).contains(&stats), "{stats} for 601 files");
}

#[test]
fn tracked_files_with_secret_names_are_asked_about_once() {
    let sandbox = settled();
    sandbox.write("d1/server.pem", "a key for tests\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", "a key"]);
    settle();
    counted(&sandbox, &["snapshot"]);
    let mut reads = Vec::new();
    for round in 0..3 {
        sandbox.write("d2/f2", format!("changed {round}\n"));
        settle();
        reads.push(counted(&sandbox, &["snapshot"])["index_reads"]);
    }
    assert_eq!(reads, [0, 0, 0]);
    // Another one is asked about, tracked or not.
    sandbox.write("d2/client.pem", "another\n");
    settle();
    let said = sandbox.tw(["snapshot"]).err();
    assert!(said.contains("'d2/client.pem'"), "{said}");
}

#[test]
fn whether_a_snapshot_is_needed_and_the_snapshot_take_one_look() {
    let sandbox = settled();
    if sandbox.is_on_overlay() {
        return;
    }
    counted(&sandbox, &["snapshot"]);
    sandbox.write("d7/f7", "changed\n");
    settle();
    let plain = counted(&sandbox, &["snapshot"]);
    sandbox.write("d7/f7", "changed again\n");
    settle();
    let asking = counted(&sandbox, &["snapshot", "--if-changed"]);
    assert_eq!(of(&asking, WRITTEN), of(&plain, WRITTEN));
    let [stats, more] = [&plain, &asking].map(|counts| counts["stats"]);
    assert!(more <= stats + 10, "{more} stats, {stats} without asking");
    let [reads, more] = [&plain, &asking].map(|counts| counts["file_reads"]);
    assert_eq!(more, reads);
    let current = counted(&sandbox, &["snapshot", "--if-changed"]);
    assert_eq!(of(&current, WRITTEN), [0; 4]);
}

#[test]
fn files_that_were_written_again_as_they_were_are_read_once_where_no_snapshot_is_needed() {
    let sandbox = settled();
    if sandbox.is_on_overlay() {
        return;
    }
    counted(&sandbox, &["snapshot"]);
    for dir in 0..5 {
        for file in 0..FILES {
            sandbox.write(format!("d{dir}/f{file}"), format!("{dir} {file}\n"));
        }
    }
    settle();
    let wanted = ["file_reads", "commit_puts", "cache_writes"];
    let first = counted(&sandbox, &["snapshot", "--if-changed"]);
    assert_eq!(of(&first, wanted), [5 * FILES, 0, 1]);
    let second = counted(&sandbox, &["snapshot", "--if-changed"]);
    assert_eq!(of(&second, wanted), [0, 0, 0]);
    sandbox.write("d1/f1", "changed\n");
    settle();
    let changed = counted(&sandbox, &["snapshot", "--if-changed"]);
    assert_eq!(of(&changed, wanted), [1, 1, 1]);
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn the_first_entries_of_the_log_cost_the_same_however_many_there_are() {
    let sandbox = Sandbox::new();
    let mut reads = Vec::new();
    for n in 0..60 {
        sandbox.write("a.txt", format!("{n}\n"));
        sandbox.ok(["snapshot"]);
        if n == 9 || n == 59 {
            let counts = counted(&sandbox, &["log", "-n", "5"]);
            assert_eq!(of(&counts, WRITTEN), [0, 0, 0, 0]);
            reads.push(counts["object_reads"]);
        }
    }
    // Six commits (what the fifth changed, the sixth tells), their trees, and five files as they were and as they are.
    assert_eq!(reads, [22, 22]);
    let list = counted(&sandbox, &["list", "-n", "5", "--grep", "manual"]);
    assert!(list["object_reads"] <= 22, "{list:?}");
}
