//! The index of a repository whose ids have thirty-two bytes, in every version and shape.

use super::*;

fn sandbox() -> Sandbox {
    Sandbox::of(ObjectFormat::Sha256).filled()
}

#[test]
fn every_version_is_read_and_written_as_git_does() {
    let sandbox = sandbox();
    sandbox.write("d/intended", "");
    for version in ["2", "3", "4"] {
        if version == "3" {
            sandbox.git(&["add", "-N", "d/intended"]);
            sandbox.git(&["update-index", "--skip-worktree", "a.txt"]);
        } else {
            sandbox.git(&["update-index", "--index-version", version]);
        }
        sandbox.git(&["write-tree"]);
        let index = sandbox.assert_round_trip();
        assert_eq!(index.version.to_string(), version);
        assert!(
            index
                .entries()
                .iter()
                .all(|entry| entry.oid.format() == sandbox.format)
        );
        assert!(index.cache_tree.is_some());
        sandbox.assert_tree(&index);
    }
}

#[test]
fn what_a_merge_leaves_is_read_and_written_as_git_does() {
    let sandbox = sandbox();
    sandbox.git(&["checkout", "-qb", "other"]);
    sandbox.write("d/one", "theirs");
    sandbox.git(&["commit", "-qam", "theirs"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("d/one", "ours");
    sandbox.git(&["commit", "-qam", "ours"]);
    sandbox.git_fails(&["merge", "other"]);
    let index = sandbox.assert_round_trip();
    assert_eq!(index.stages(b"d/one").len(), 3);
    sandbox.write("d/one", "both");
    sandbox.git(&["add", "d/one"]);
    let index = sandbox.assert_round_trip();
    assert!(index.resolve_undo.is_some());
}

#[test]
fn split_and_sparse_ones_are_put_together() {
    let sandbox = sandbox();
    sandbox.git(&["config", "splitIndex.maxPercentChange", "100"]);
    sandbox.git(&["update-index", "--split-index"]);
    sandbox.write("d/one", "changed");
    sandbox.git(&["rm", "-q", "--cached", "a.txt"]);
    sandbox.git(&["add", "d"]);
    let index = sandbox.read();
    assert!(index.was_split);
    sandbox.assert_tree(&index);
    sandbox.assert_round_trip();

    sandbox.git(&["update-index", "--no-split-index"]);
    sandbox.git(&["commit", "-qam", "second"]);
    sandbox.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "z"]);
    let index = sandbox.read();
    assert!(index.was_sparse && index.get(b"d/e/three", 0).is_some());
    sandbox.assert_tree(&index);
    sandbox.assert_round_trip();
}

#[test]
fn a_file_of_the_other_format_is_refused() {
    let [sha1, sha256] = ObjectFormat::ALL;
    for (written, read) in [(sha1, sha256), (sha256, sha1)] {
        let sandbox = Sandbox::of(written).filled();
        let bytes = fs::read(sandbox.file()).expect("read");
        let error = parse_as(read, bytes).expect_err("another format");
        assert_eq!(error.code(), Code::CorruptRecord);
    }
}

#[test]
fn one_that_is_damaged_is_refused() {
    let sandbox = sandbox();
    let good = fs::read(sandbox.file()).expect("read");
    for length in (0..good.len()).step_by(7) {
        assert!(parse_as(sandbox.format, good[..length].to_vec()).is_err());
    }
    for at in (0..good.len()).step_by(5) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        assert!(parse_as(sandbox.format, bytes).is_err(), "{at}");
    }
}
