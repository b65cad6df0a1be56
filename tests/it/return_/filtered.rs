//! Large files that a filter converts (git LFS): a backup has what git's index says of them, and not their bytes.

use std::io::Write;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::trip::{mode, snapshot};

const BYTES: usize = 4000;
const NAME: &str = "user.timewarp.test";

/// How a filter makes git's text of a file, and the file of that.
type Filter = (&'static str, &'static str);

/// The text may stand for other bytes as well.
const UPPER: Filter = ("tr a-z A-Z", "tr A-Z a-z");
/// The text names the bytes by their hash, as that of git LFS does.
const LFS: Filter = (
    "cat > .git/big && h=$(sha256sum < .git/big | cut -c1-64) && n=$(wc -c < .git/big) && mv .git/big .git/big-$h && \
     echo version https://git-lfs.github.com/spec/v1 && echo oid sha256:$h && echo size $n",
    "cat .git/big-$(sed -n s/^oid.sha256://p)",
);

/// Away, with a present in which `x.big` stands for its blob in git's index.
fn away() -> (Sandbox, String) {
    away_with(UPPER)
}

fn away_with(filter: Filter) -> (Sandbox, String) {
    away_in(Sandbox::new(), filter)
}

/// A present in which `x.big` stands for its blob in git's index.
fn with_big(sandbox: &Sandbox, filter: Filter) {
    with_big_at(sandbox, filter, "x.big");
}

fn with_big_at(sandbox: &Sandbox, (clean, smudge): Filter, path: &str) {
    sandbox.git(["config", "filter.up.clean", clean]);
    sandbox.git(["config", "filter.up.smudge", smudge]);
    sandbox.git(["config", "timewarp.maxFileSize", "1k"]);
    sandbox.write(".gitattributes", "*.big filter=up\n");
    sandbox.write(path, "x".repeat(BYTES));
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "big"]);
    have_git_look(sandbox);
}

/// Has git's index hold for clean what its filter makes its text of.
fn have_git_look(sandbox: &Sandbox) {
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.git(["update-index", "--refresh", "--force-write-index"]);
}

fn away_in(sandbox: Sandbox, filter: Filter) -> (Sandbox, String) {
    with_big(&sandbox, filter);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "present\n");
    let travelled = sandbox.json(["travel", &id]);
    let backup = travelled["backup_id"].as_str().unwrap();
    let left = &sandbox.json(["show", backup])["snapshot"]["uncaptured"];
    assert_eq!(left[0]["reason"], "filtered-clean", "{left}");
    (sandbox, id)
}

#[track_caller]
fn assert_back(sandbox: &Sandbox, returned: &Value) {
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES), "{returned}");
    assert_eq!(mode(sandbox, "x.big"), 0o644);
    let attribute = rustix::fs::getxattr(sandbox.path("x.big"), NAME, &mut [0; 8][..]);
    assert_eq!(attribute, Err(rustix::io::Errno::NODATA), "{returned}");
    assert!(!sandbox.exists("y.big") && sandbox.text("a.txt") == "present\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M a.txt\n");
}

type Change = fn(&Sandbox);

#[test]
fn bytes_that_are_still_there_come_back() {
    let changes: [(&str, Change); 8] = [
        ("an attribute", |sandbox| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(sandbox.path("x.big"), NAME, b"1", flags).unwrap();
        }),
        ("bits", |sandbox| sandbox.chmod("x.big", 0o600)),
        ("bits, and git has looked", |sandbox| {
            sandbox.chmod("x.big", 0o600);
            have_git_look(sandbox);
        }),
        ("executable", |sandbox| sandbox.chmod("x.big", 0o755)),
        ("moved", |sandbox| {
            sandbox.git(["mv", "x.big", "y.big"]);
        }),
        ("moved into a directory in its place", |sandbox| {
            sandbox.git(["mv", "x.big", "y.big"]);
            sandbox.mkdir("x.big");
            sandbox.git(["mv", "y.big", "x.big/y.big"]);
        }),
        ("no attribute any more", |sandbox| {
            sandbox.write(".gitattributes", "");
            sandbox.git(["add", "-A"]);
        }),
        ("not in the index any more", |sandbox| {
            sandbox.git(["rm", "-q", "--cached", "x.big"]);
            sandbox.chmod("x.big", 0o600);
        }),
    ];
    for (what, change) in changes {
        let (sandbox, _) = away_with(LFS);
        change(&sandbox);
        let would = sandbox.json(["return", "--dry-run"]);
        assert_eq!(would["notices"], json!([]), "{what}: {would}");
        let returned = sandbox.json(["return"]);
        assert_back(&sandbox, &returned);
        sandbox.json(["undo", "--into-past"]);
        assert_back(&sandbox, &sandbox.json(["return"]));
    }
}

#[test]
fn where_they_are_not_the_return_is_not_verified_and_names_them() {
    for remove in [false, true] {
        let (sandbox, _) = away();
        if remove {
            sandbox.remove("x.big");
        } else {
            sandbox.write("x.big", "y".repeat(BYTES));
        }
        let would = sandbox.json(["return", "--dry-run"]);
        assert!(would["notices"].to_string().contains("x.big"), "{would}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], false, "{returned}");
        let said = returned["notices"].to_string();
        assert!(
            said.contains("'x.big'") && said.contains("git checkout -- "),
            "{said}"
        );
        assert_eq!(sandbox.text("x.big"), "X".repeat(BYTES));
        assert_eq!(sandbox.text("a.txt"), "present\n");
        // As it says.
        sandbox.remove("x.big");
        sandbox.git(["checkout", "--", "x.big"]);
        assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES));
    }
}

#[test]
fn a_killed_return_puts_the_bytes_back_all_the_same() {
    for point in ["swap-applied", "swap-index", "swap-proved"] {
        for way in ["--forward", "--back"] {
            let (sandbox, _) = away_with(LFS);
            // What is made again is another file, of which nothing is known.
            if way == "--forward" {
                sandbox.git(["mv", "x.big", "y.big"]);
            } else {
                sandbox.chmod("x.big", 0o600);
            }
            let past = sandbox.state();
            let mut command = sandbox.tw_command();
            let killed = command.env("TW_FAIL_POINT", point).arg("return").output();
            assert!(!killed.unwrap().status.success());
            sandbox.ok(["recover", way]);
            if way == "--back" {
                past.assert_same(&sandbox.state());
                assert_back(&sandbox, &sandbox.json(["return"]));
            }
            assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES), "{point} {way}");
        }
    }
}

#[test]
fn a_hop_leaves_them_as_well() {
    let (sandbox, id) = away_with(LFS);
    sandbox.chmod("x.big", 0o600);
    sandbox.json(["travel", "--hop", &id]);
    assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES));
    assert_back(&sandbox, &sandbox.json(["return"]));
}

/// Only what saved them has the bytes then.
#[test]
fn what_a_swap_of_the_stay_took_comes_back() {
    let sandbox = Sandbox::new();
    let without = snapshot(&sandbox);
    let (sandbox, id) = away_in(sandbox, UPPER);
    let hops: [&[&[&str]]; 4] = [
        &[&["travel", "--hop", &without]],
        &[&["travel", "--hop", &without], &["travel", "--hop", &id]],
        &[&["restore", &without]],
        &[&["restore", &without], &["undo"]],
    ];
    for swaps in hops {
        for swap in swaps {
            sandbox.json(swap.iter().copied());
        }
        let returned = sandbox.json(["return"]);
        assert_back(&sandbox, &returned);
        sandbox.json(["travel", &id]);
    }
}

/// They are in the experiment of the past that was left, under their new name.
#[test]
fn what_was_renamed_before_a_swap_of_the_stay_took_it_comes_back() {
    for swap in [["travel", "--hop"].as_slice(), &["restore"]] {
        let sandbox = Sandbox::new();
        let without = snapshot(&sandbox);
        let (sandbox, _) = away_in(sandbox, LFS);
        sandbox.git(["mv", "x.big", "y.big"]);
        sandbox.json(swap.iter().copied().chain([&*without]));
        assert!(!sandbox.exists("y.big"));
        assert_back(&sandbox, &sandbox.json(["return"]));
    }
}

#[test]
fn what_alone_has_the_bytes_is_held_until_the_return() {
    let sandbox = Sandbox::new();
    let without = snapshot(&sandbox);
    let (sandbox, _) = away_in(sandbox, UPPER);
    let hopped = sandbox.json(["travel", "--hop", &without]);
    let has_them = hopped["experiment_id"].as_str().unwrap();
    sandbox.json(["undo", "-y"]);
    sandbox.remove("x.big");
    sandbox.write("a.txt", "past\n");
    // It empties the redo log, which held the experiment as well.
    sandbox.json(["restore", &without, "a.txt"]);
    for words in [
        ["drop", "-y", has_them].as_slice(),
        &["drop", "-y", "--force", has_them],
    ] {
        let (error, code) = sandbox.json_error(words.iter().copied());
        assert_eq!((error["code"].as_str(), code), (Some("HELD"), 5), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("the way back of worktree 'main'"),
            "{message}"
        );
    }
    sandbox.git(["config", "timewarp.keepBackupDays", "0"]);
    sandbox.json(["prune", "-y", "--keep-days", "0", "--keep-last", "0"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    assert_back(&sandbox, &sandbox.json(["return"]));
    sandbox.ok(["drop", "-y", "--force", has_them]);
}

/// `x.big` is named, and not said to be verified. Answers with the id of the experiment.
#[track_caller]
fn assert_not_verified(sandbox: &Sandbox, what: &str) -> String {
    let would = sandbox.json(["return", "--dry-run"]);
    assert!(would["notices"].to_string().contains("x.big"), "{what}");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], false, "{what}: {returned}");
    let said = returned["notices"].to_string();
    assert!(said.contains("'x.big'"), "{what}: {said}");
    assert_eq!(sandbox.text("a.txt"), "present\n");
    let experiment = returned["experiment_id"].as_str();
    experiment.unwrap_or_default().to_owned()
}

#[test]
fn bytes_that_nothing_proves_come_back_and_are_not_verified() {
    let changes: [(&str, Change); 5] = [
        ("bits", |sandbox| sandbox.chmod("x.big", 0o600)),
        ("bits, and git has looked", |sandbox| {
            sandbox.chmod("x.big", 0o600);
            have_git_look(sandbox);
        }),
        ("moved", |sandbox| {
            sandbox.git(["mv", "x.big", "y.big"]);
        }),
        ("bits, and a hop took it", |sandbox| {
            sandbox.chmod("x.big", 0o600);
            sandbox.json(["travel", "--hop", "label:without"]);
        }),
        ("bits, and a hop left it", |sandbox| {
            sandbox.chmod("x.big", 0o600);
            sandbox.json(["travel", "--hop", "label:with"]);
        }),
    ];
    for (what, change) in changes {
        let sandbox = Sandbox::new();
        sandbox.json(["snapshot", "--label", "without"]);
        let (sandbox, id) = away_in(sandbox, UPPER);
        sandbox.json(["label", &id, "with"]);
        change(&sandbox);
        assert_not_verified(&sandbox, what);
        assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES), "{what}");
        assert_eq!(mode(&sandbox, "x.big"), 0o644, "{what}");
    }
}

#[test]
fn a_write_that_keeps_size_and_time_is_not_verified() {
    for filter in [UPPER, LFS] {
        let (sandbox, _) = away_with(filter);
        let path = sandbox.path("x.big");
        let time = path.metadata().unwrap().modified().unwrap();
        let mut file = std::fs::File::options().write(true).open(path).unwrap();
        file.write_all("z".repeat(BYTES).as_bytes()).unwrap();
        file.set_modified(time).unwrap();
        drop(file);
        let experiment = assert_not_verified(&sandbox, "in place");
        let made = sandbox.git([
            "cat-file",
            "blob",
            &format!("refs/timewarp/experiments/{experiment}:x.big"),
        ]);
        assert_eq!(made, "z".repeat(BYTES));
        // That they are others is proven where the text names the bytes.
        let is_known = filter == LFS;
        assert_eq!(sandbox.text("x.big").starts_with("version"), is_known);
    }
}

#[test]
fn what_is_clean_for_git_alone_is_not_verified() {
    let (sandbox, _) = away();
    // The filter makes the same text of it.
    sandbox.write("x.big", "xX".repeat(BYTES / 2));
    have_git_look(&sandbox);
    assert_not_verified(&sandbox, "clean");
    assert_eq!(sandbox.text("x.big"), "xX".repeat(BYTES / 2));
    for filter in [UPPER, LFS] {
        let (sandbox, _) = away_with(filter);
        let text = sandbox.git(["cat-file", "blob", ":x.big"]);
        sandbox.write("x.big", &text);
        assert_not_verified(&sandbox, "git's text");
        assert_eq!(sandbox.text("x.big"), text);
    }
}

/// Under its new name it is a file that git does not track, and too large to save.
#[test]
fn what_was_moved_without_git_comes_back() {
    for hops in [false, true] {
        let (sandbox, id) = away_with(LFS);
        std::fs::rename(sandbox.path("x.big"), sandbox.path("y.big")).unwrap();
        if hops {
            sandbox.json(["travel", "--hop", &id]);
            assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES));
        }
        let would = sandbox.json(["return", "--dry-run"]);
        assert_eq!(would["notices"], json!([]), "{would}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["stayed"], json!([]), "{returned}");
        assert_back(&sandbox, &returned);
    }
}

#[test]
fn one_that_the_past_ignores_is_in_nobody_s_way() {
    for has_other_bits in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "/data\n");
        let id = snapshot(&sandbox);
        sandbox.write(".gitignore", "");
        with_big_at(&sandbox, LFS, "data/x.big");
        sandbox.json(["travel", &id]);
        if has_other_bits {
            sandbox.json(["travel", "--hop", &id]);
            sandbox.chmod("data/x.big", 0o600);
        }
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(returned["stayed"], json!([]), "{returned}");
        assert_eq!(returned["notices"], json!([]), "{returned}");
        // Of a past that nobody changed nothing is kept.
        assert_eq!(
            returned["experiment_id"].is_null(),
            !has_other_bits,
            "{returned}"
        );
        assert_eq!(sandbox.text("data/x.big"), "x".repeat(BYTES));
        assert_eq!(mode(&sandbox, "data/x.big"), 0o644);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    }
}

#[test]
fn a_killed_return_that_is_not_verified_is_none_when_it_is_finished_either() {
    for point in ["swap-applied", "swap-state"] {
        let (sandbox, _) = away();
        sandbox.write("x.big", "y".repeat(BYTES));
        let mut command = sandbox.tw_command();
        let killed = command.env("TW_FAIL_POINT", point).arg("return").output();
        assert!(!killed.unwrap().status.success());
        let recovered = sandbox.json(["recover", "--forward"]);
        let said = recovered["notices"].to_string();
        assert!(
            said.contains("not verified") && said.contains("'x.big'"),
            "{point}: {said}"
        );
    }
}

#[test]
fn a_restore_that_puts_git_s_text_there_says_so() {
    let sandbox = Sandbox::new();
    with_big(&sandbox, UPPER);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "other\n");
    let restored = sandbox.json(["restore", &id]);
    assert_eq!(restored["notices"], json!([]), "{restored}");
    sandbox.remove("x.big");
    for words in [["restore", "--dry-run", &*id].as_slice(), &["restore", &id]] {
        let restored = sandbox.json(words.iter().copied());
        let said = restored["notices"].to_string();
        assert!(said.contains("for 1 filtered file over the size"), "{said}");
    }
    assert_eq!(sandbox.text("x.big"), "X".repeat(BYTES));
}

#[test]
fn saved_bytes_that_are_damaged_are_as_good_as_none() {
    let sandbox = Sandbox::new();
    let without = snapshot(&sandbox);
    let (sandbox, _) = away_in(sandbox, UPPER);
    let hopped = sandbox.json(["travel", "--hop", &without]);
    let experiment = hopped["experiment_id"].as_str().unwrap();
    let name = format!("refs/timewarp/experiments/{experiment}:x.big");
    let blob = sandbox.git(["rev-parse", &name]).trim().to_owned();
    let unpack = "alias.loosen=!mkdir .git/packs && mv .git/objects/pack/* .git/packs && \
                  for pack in .git/packs/*.pack; do git unpack-objects -q < $pack; done";
    sandbox.git(["-c", unpack, "loosen"]);
    let file = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    sandbox.remove(&file);
    sandbox.write(&file, "damaged");
    assert_not_verified(&sandbox, "damaged");
    assert_eq!(sandbox.text("x.big"), "X".repeat(BYTES));
}
