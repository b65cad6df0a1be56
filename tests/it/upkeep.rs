//! What is done in the background when there is much of ours: the same refs and objects, in fewer files.

use std::path::PathBuf;

use crate::faults::traced;
use crate::sandbox::{Kind, Sandbox, wait_until};
use crate::stage::taken;
use crate::summary::copies;

/// Runs the work that is left to a process of its own.
fn background(sandbox: &Sandbox) {
    let output = sandbox.tw_command().arg("__background").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn below(sandbox: &Sandbox, dir: &str, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(sandbox.path(dir)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect()
}

#[test]
fn thousands_of_loose_refs_are_packed_and_nothing_else_changes() {
    let sandbox = Sandbox::of(Kind::ref_files());
    let first = taken(&sandbox);
    let made = copies(&sandbox, &first, 990);
    background(&sandbox);
    let dir = ".git/refs/timewarp/snapshots";
    assert_eq!(below(&sandbox, dir, "").len(), 991, "they are not many yet");
    copies_more(&sandbox);
    let refs = sandbox.git(["show-ref"]);
    let listed = sandbox.ok(["-q", "list"]);
    background(&sandbox);
    assert_eq!(below(&sandbox, dir, ""), Vec::<PathBuf>::new());
    assert!(
        sandbox.exists(".git/refs/heads/main"),
        "a branch is not ours"
    );
    assert_eq!(sandbox.git(["show-ref"]), refs);
    assert_eq!(sandbox.ok(["-q", "list"]), listed);
    // Everything goes on.
    taken(&sandbox);
    let home = sandbox.state();
    sandbox.json(["travel", &first]);
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
    let gone = made[500].0.rsplit('/').next().unwrap();
    sandbox.json(["drop", "-y", gone]);
    assert!(!sandbox.git(["show-ref"]).contains(gone));
}

/// Labels: loose refs of another kind.
fn copies_more(sandbox: &Sandbox) {
    for n in 0..10 {
        sandbox.ok(["label", "latest", &format!("label-{n}")]);
    }
}

#[test]
fn many_packs_are_folded_and_every_snapshot_is_still_whole() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = (0..22)
        .map(|n| {
            for file in 0..110 {
                sandbox.write(format!("d/f{file}"), format!("{n} {file}\n"));
            }
            taken(&sandbox)
        })
        .collect();
    let dir = ".git/objects/pack";
    assert!(below(&sandbox, dir, ".pack").len() > 20);
    background(&sandbox);
    assert_eq!(below(&sandbox, dir, ".pack").len(), 1);
    assert_eq!(below(&sandbox, dir, ".idx").len(), 1);
    assert_eq!(below(&sandbox, dir, ".keep"), Vec::<PathBuf>::new());
    sandbox.git(["fsck", "--strict", "--full"]);
    for (n, id) in ids.iter().enumerate() {
        let text = sandbox.git([
            "cat-file",
            "blob",
            &format!("refs/timewarp/snapshots/{id}:d/f69"),
        ]);
        assert_eq!(text, format!("{n} 69\n"));
    }
    sandbox.assert_round_trip(&ids[0], |_| ());
}

#[test]
fn packs_that_a_multi_pack_index_names_are_not_folded() {
    let sandbox = Sandbox::new();
    let take = |from: usize| {
        for n in from..from + 21 {
            for file in 0..101 {
                sandbox.write(format!("d/f{file}"), format!("{n} {file}\n"));
            }
            taken(&sandbox);
        }
    };
    let dir = ".git/objects/pack";
    take(0);
    sandbox.git(["multi-pack-index", "write"]);
    let named = below(&sandbox, dir, ".pack");
    assert_eq!(named.len(), 21);
    take(100);
    background(&sandbox);
    let left = below(&sandbox, dir, ".pack");
    assert_eq!(left.len(), 22);
    assert!(named.iter().all(|pack| left.contains(pack)));
    sandbox.git(["multi-pack-index", "verify"]);
    sandbox.git(["fsck", "--strict", "--full"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.git(["fsck", "--strict", "--full"]);
}

#[test]
fn it_is_started_once_in_a_few_hundred_snapshots() {
    let sandbox = Sandbox::new();
    taken(&sandbox);
    let done = ".git/timewarp/upkeep";
    // Whether it was started.
    let starts_at = |seq: u64| {
        sandbox.write(".git/timewarp/seq", format!("{seq:020}"));
        let with = |command: &mut std::process::Command| {
            command.env_remove("TW_NO_BACKGROUND");
        };
        let (output, trace) = traced(&sandbox, &["-e", "trace=execve"], with, &["snapshot"])?;
        assert!(output.status.success(), "{output:?}");
        Some(trace.contains("\"__background\""))
    };
    background(&sandbox);
    assert_eq!(sandbox.text(done), "1\n");
    sandbox.remove(done);
    let Some(starts) = starts_at(300) else {
        return;
    };
    assert!(starts);
    wait_until("it is done", || sandbox.exists(done));
    assert_eq!(sandbox.text(done), "301\n");
    assert_eq!(starts_at(302), Some(false));
}

/// Nothing is written, not even later.
#[test]
fn the_dry_run_of_a_first_command_starts_none() {
    let sandbox = Sandbox::new();
    taken(&sandbox);
    std::fs::remove_dir_all(sandbox.path(".git/timewarp")).unwrap();
    let with = |command: &mut std::process::Command| {
        command.env_remove("TW_NO_BACKGROUND");
    };
    let args = ["travel", "--dry-run", "latest"];
    let Some((output, trace)) = traced(&sandbox, &["-e", "trace=execve"], with, &args) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    assert!(!trace.contains("\"__background\""), "{trace}");
    assert!(!sandbox.exists(".git/timewarp"));
}

#[test]
fn a_repository_that_goes_meanwhile_stays_gone() {
    let sandbox = Sandbox::new();
    taken(&sandbox);
    let bin = sandbox.root().join("bin");
    let repo = sandbox.repo();
    let script = format!("#!/bin/sh\nrm -rf '{}'\necho v1.2.3\n", repo.display());
    sandbox.program(bin.join("node"), script);
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)));
    let mut command = sandbox.tw_command();
    command.env("PATH", path.unwrap()).arg("__background");
    command.output().unwrap();
    assert!(!repo.exists());
}
