//! Labels, settings, and what `tw init` writes.

use std::os::unix::fs::symlink;

use super::Lab;
use crate::env::Env;
use crate::error::{Code, Result};
use crate::ops::init::Init;
use crate::ops::install::{Install, Installed};
use crate::ops::label::Label;
use crate::ops::outcome::Labelled;
use crate::ops::request::DryRun;
use crate::ops::{address, config, init, label};
use crate::store::names::label_ref;

fn add(lab: &Lab, address: &str, name: &str) -> Result<Labelled> {
    let request = Label {
        address: Some(address.to_owned()),
        name: name.to_owned(),
        remove: false,
    };
    label::label(&lab.ctx(), &request)
}

fn remove(lab: &Lab, name: &str) -> Result<Labelled> {
    let request = Label {
        address: None,
        name: name.to_owned(),
        remove: true,
    };
    label::label(&lab.ctx(), &request)
}

fn code<T>(result: Result<T>) -> Option<Code> {
    result.err().map(|error| error.code())
}

#[test]
fn a_label_names_one_snapshot() {
    let lab = Lab::with_commit();
    let one = lab.snapshot("one");
    let two = lab.snapshot("two");
    let done = add(&lab, &one.id, "before-refactor").expect("labelled");
    assert_eq!(done.snapshot.id, one.id);
    assert_eq!(done.snapshot.labels, ["before-refactor"]);
    add(&lab, &one.id, "before-refactor").expect("the same again is fine");
    assert_eq!(
        code(add(&lab, &two.id, "before-refactor")),
        Some(Code::InvalidLabel)
    );
    let tail = two.id.rsplit('_').next().expect("a tail");
    for name in ["latest", "abcdef0", "12", "2h ago", tail, "a/b", "-x"] {
        assert_eq!(
            code(add(&lab, &one.id, name)),
            Some(Code::InvalidLabel),
            "{name}"
        );
    }
    assert_eq!(
        code(add(&lab, "s_20200101_000000_aaaaaa", "x1")),
        Some(Code::SnapshotNotFound)
    );
    let ctx = lab.ctx();
    let store = ctx.store().expect("store");
    let found = address::resolve(&ctx, store, "before-refactor").expect("found");
    assert_eq!(found.id.to_string(), one.id);
}

#[test]
fn a_label_is_taken_away_even_when_its_snapshot_is_gone() {
    let lab = Lab::with_commit();
    let one = lab.snapshot("one");
    add(&lab, &one.id, "keep").expect("labelled");
    let done = remove(&lab, "keep").expect("removed");
    assert!(done.removed);
    assert_eq!(done.snapshot.id, one.id);
    assert_eq!(code(remove(&lab, "keep")), Some(Code::InvalidLabel));
    let head = lab.rev("HEAD").to_string();
    lab.git(&["update-ref", &label_ref("odd"), &head]);
    assert!(remove(&lab, "odd").is_ok());
}

/// `tw init`, without agents.
pub(super) fn run_init(lab: &Lab, dry_run: DryRun) -> Result<Installed> {
    let install = Install {
        dry_run,
        ..Install::default()
    };
    let config = true;
    init::init(Some(&lab.ctx()), &Env::default(), &Init { config, install })
}

#[test]
fn init_is_idempotent_and_a_dry_run_writes_nothing() {
    let lab = Lab::with_commit();
    let planned = run_init(&lab, DryRun::Yes).expect("planned");
    assert_eq!(planned.changed.len(), 2);
    assert!(!lab.path(".timewarp").exists());
    assert!(!lab.path(".git/timewarp").exists());
    let done = run_init(&lab, DryRun::No).expect("done");
    assert_eq!(done.changed, planned.changed);
    let config = lab.read(".timewarp/config.toml");
    lab.write(".timewarp/issues/x/issue.json", "{}");
    assert_eq!(
        lab.git(&["status", "--porcelain", "-uall"]),
        "?? .timewarp/config.toml\n"
    );
    lab.write(".timewarp/config.toml", "keep_days = 99\n");
    let again = run_init(&lab, DryRun::No).expect("again");
    assert!(again.changed.is_empty());
    assert_eq!(again.unchanged, planned.changed);
    assert_eq!(lab.read(".timewarp/config.toml"), "keep_days = 99\n");
    assert!(config.contains("# keep_days"));
    assert!(lab.path(".git/timewarp/env.json").exists());
}

#[test]
fn init_writes_through_no_symlink_and_into_no_tracked_path() {
    let lab = Lab::with_commit();
    let outside = lab.dir().with_file_name("outside");
    std::fs::create_dir(&outside).expect("made");
    symlink(&outside, lab.path(".timewarp")).expect("linked");
    assert_eq!(code(run_init(&lab, DryRun::No)), Some(Code::WouldOverwrite));
    std::fs::remove_file(lab.path(".timewarp")).expect("removed");
    lab.write(".timewarp", "a file\n");
    assert_eq!(code(run_init(&lab, DryRun::No)), Some(Code::WouldOverwrite));
    lab.git(&["add", "-f", ".timewarp"]);
    std::fs::remove_file(lab.path(".timewarp")).expect("removed");
    let error = run_init(&lab, DryRun::No).expect_err("tracked");
    assert!(error.message().contains("git tracks"), "{error}");
    lab.git(&["rm", "-q", "--cached", ".timewarp"]);
    std::fs::create_dir(lab.path(".timewarp")).expect("made");
    symlink(outside.join("config"), lab.path(".timewarp/config.toml")).expect("linked");
    assert_eq!(code(run_init(&lab, DryRun::No)), Some(Code::WouldOverwrite));
    std::fs::remove_file(lab.path(".timewarp/config.toml")).expect("removed");
    let exclude = lab.path(".git/info/exclude");
    let _ = std::fs::remove_file(&exclude);
    symlink(outside.join("exclude"), &exclude).expect("linked");
    assert_eq!(code(run_init(&lab, DryRun::No)), Some(Code::WouldOverwrite));
    assert_eq!(std::fs::read_dir(&outside).expect("dir").count(), 0);
}

#[test]
fn config_says_where_each_value_comes_from() {
    let lab = Lab::with_commit();
    lab.write(
        ".timewarp/config.toml",
        "keep_days = 30\nexclude = ['big/']\nlock_timeout = 1\n",
    );
    lab.git(&["config", "timewarp.keepLast", "7"]);
    lab.git(&["config", "timewarp.exclude", "*.tmp"]);
    let listing = config::list(&lab.ctx()).expect("listing");
    let entry = |key: &str| {
        let found = listing.entries.iter().find(|entry| entry.key == key);
        let entry = found.expect("listed");
        (entry.value.to_string(), entry.origin.clone())
    };
    let git = format!("git ({})", lab.path(".git/config").display());
    let team = "team (.timewarp/config.toml)".to_owned();
    assert_eq!(entry("keep_days"), ("30".into(), team.clone()));
    assert_eq!(entry("keep_last"), ("7".into(), git.clone()));
    assert_eq!(
        entry("exclude"),
        (r#"["big/","*.tmp"]"#.into(), format!("{team}, {git}"))
    );
    assert_eq!(entry("lock_timeout"), ("5.0".into(), "default".into()));
    assert_eq!(listing.warnings.len(), 1);
}
