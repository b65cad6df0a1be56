//! What must not grow with what is kept, ignored or deep: by counts where counts tell, smaller than in `bench/scale`.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;

use crate::sandbox::{Sandbox, settle};
use crate::stage::taken;
use crate::summary::copies;

/// What a debug build counted while it ran this.
fn counted(sandbox: &Sandbox, args: &[&str]) -> BTreeMap<String, u64> {
    let file = sandbox.root().join("tmp/work");
    let mut command = sandbox.tw_command();
    let output = command
        .env("TW_TEST_WORK", &file)
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let count = |line: &str| {
        let (name, count) = line.split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    text.lines().map(count).collect()
}

#[test]
fn thousands_of_ignored_files_are_not_looked_at() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/cache-of-mine/\n");
    sandbox.mkdir("node_modules");
    sandbox.mkdir("cache-of-mine");
    settle();
    for _ in 0..2 {
        sandbox.ok(["snapshot"]);
    }
    let before = counted(&sandbox, &["snapshot"]);
    for dir in ["node_modules", "cache-of-mine"] {
        for n in 0..2000 {
            sandbox.write(format!("{dir}/f{n}"), "");
        }
    }
    settle();
    assert_eq!(counted(&sandbox, &["snapshot"]), before);
}

#[test]
fn what_is_kept_costs_a_command_nothing() {
    let sandbox = Sandbox::new();
    let first = taken(&sandbox);
    settle();
    let runs: [&[&str]; 5] = [
        &["snapshot"],
        &["list", "-n", "20"],
        &["show", &first],
        &["travel", &first],
        &["return"],
    ];
    let counts = || {
        // Whether the return before left an index that is known depends on the time it took.
        settle();
        sandbox.ok(["snapshot"]);
        runs.map(|args| counted(&sandbox, args))
    };
    // As many as a short list shows.
    for _ in 0..20 {
        sandbox.ok(["snapshot"]);
    }
    counts();
    let few = counts();
    copies(&sandbox, &first, 1000);
    assert_eq!(counts(), few);
}

#[test]
fn a_directory_of_many_entries_is_taken_and_brought_back() {
    let sandbox = Sandbox::new();
    if sandbox.is_on_overlay() {
        return;
    }
    for n in 0..3000 {
        sandbox.write(format!("flat/f{n:04}"), format!("{n}\n"));
    }
    settle();
    let before = taken(&sandbox);
    sandbox.remove("flat/f0000");
    sandbox.write("flat/f2999", "changed\n");
    settle();
    let counts = counted(&sandbox, &["snapshot"]);
    assert_eq!(
        (counts["dir_reads"], counts["file_reads"]),
        (1, 1),
        "{counts:?}"
    );
    sandbox.assert_round_trip(&before, |_| ());
}

/// Longer than any path that the kernel takes at once.
#[test]
fn paths_longer_than_the_kernel_takes_are_taken_and_brought_back() {
    let sandbox = Sandbox::new();
    let name = "n".repeat(100);
    let mut deep = String::from("top");
    for _ in 0..90 {
        deep = format!("{deep}/{name}");
    }
    let mut at = std::fs::File::open(sandbox.repo()).unwrap();
    for part in deep.split('/') {
        rustix::fs::mkdirat(&at, part, rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY;
        at = rustix::fs::openat(&at, part, flags, rustix::fs::Mode::empty())
            .unwrap()
            .into();
    }
    let leaf = || {
        let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::RDWR;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        std::fs::File::from(rustix::fs::openat(&at, "leaf", flags, mode).unwrap())
    };
    leaf().write_all_at(b"one\n", 0).unwrap();
    let one = taken(&sandbox);
    leaf().write_all_at(b"two\n", 0).unwrap();
    let two = taken(&sandbox);
    let text = |id: &str| {
        let what = format!("refs/timewarp/snapshots/{id}:{deep}/leaf");
        sandbox.git(["cat-file", "blob", &what])
    };
    assert_eq!([text(&one), text(&two)], ["one\n", "two\n"]);
    let read = || {
        let mut bytes = [0; 4];
        leaf().read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    sandbox.json(["travel", &one]);
    assert_eq!(read(), *b"one\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(read(), *b"two\n");
}
