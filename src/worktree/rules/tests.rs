use super::*;
use crate::worktree::globs::GlobSettings;

/// A root with a `.gitignore` and globs given as `(glob, source)`.
fn root(gitignore: &str, exclude: &[(&str, Source)], include: &[(&str, Source)]) -> RulesDir {
    let own = |globs: &[(&str, Source)]| {
        let owned = |&(glob, source): &(&str, Source)| (glob.to_owned(), source);
        globs.iter().map(owned).collect()
    };
    let settings = GlobSettings {
        use_defaults: true,
        ignore_case: false,
        exclude: own(exclude),
        include: own(include),
    };
    let globs = Globs::new(&settings).expect("valid globs");
    RulesDir::root(Arc::default(), Arc::new(globs), Some(gitignore.as_bytes()))
}

fn file(rules: &RulesDir, path: &str) -> Decision {
    rules.judge_file(path.as_bytes(), false)
}

fn tracked(rules: &RulesDir, path: &str) -> Decision {
    rules.judge_file(path.as_bytes(), true)
}

/// Enters a directory that must be entered.
fn enter(rules: &RulesDir, dir: &str, tracked_beneath: bool, gitignore: Option<&str>) -> RulesDir {
    match rules.judge_dir(dir.as_bytes(), tracked_beneath) {
        Decision::Descend(inside) => {
            rules.descend(dir.as_bytes(), inside, gitignore.map(str::as_bytes))
        }
        other => panic!("{dir} is not entered: {other:?}"),
    }
}

const DEFAULT: Decision = Decision::Excluded(Kind::DefaultExclude);
const BY_USER: Decision = Decision::Excluded(Kind::UserExclude);
const BY_TEAM: Decision = Decision::Excluded(Kind::TeamExclude);

#[test]
fn each_rule_leaves_out_under_its_own_name() {
    let rules = root(
        "*.o\n",
        &[("*.u", Source::User), ("*.t", Source::Team)],
        &[],
    );
    assert_eq!(file(&rules, "a.c"), Decision::Capture);
    assert_eq!(file(&rules, "a.o"), Decision::Ignored);
    assert_eq!(file(&rules, "a.log"), DEFAULT);
    assert_eq!(file(&rules, "a.u"), BY_USER);
    assert_eq!(file(&rules, "a.t"), BY_TEAM);
    assert_eq!(rules.judge_dir(b"dist", false), DEFAULT);
    let both = root("dist/\n", &[], &[]);
    assert_eq!(both.judge_dir(b"dist", false), Decision::Ignored);
}

#[test]
fn tracked_files_yield_to_the_users_own_exclude_alone() {
    let rules = root(
        "*.o\n",
        &[
            ("*.u", Source::User),
            ("*.t", Source::Team),
            ("own/", Source::Flag),
        ],
        &[],
    );
    for path in ["a.o", "a.log", "a.t"] {
        assert_eq!(tracked(&rules, path), Decision::Capture, "{path}");
    }
    assert_eq!(tracked(&rules, "a.u"), BY_USER);
    assert_eq!(rules.judge_dir(b"own", true), BY_USER);
}

#[test]
fn an_ignored_directory_is_entered_for_what_is_tracked_in_it() {
    let rules = root("out/\n", &[], &[]);
    assert_eq!(rules.judge_dir(b"out", false), Decision::Ignored);
    let out = enter(&rules, "out", true, Some("!*"));
    assert!(out.inside().is_ignored());
    assert_eq!(tracked(&out, "out/a"), Decision::Capture);
    assert_eq!(file(&out, "out/b"), Decision::Ignored);
    assert_eq!(out.judge_dir(b"out/sub", false), Decision::Ignored);
    let sub = enter(&out, "out/sub", true, None);
    assert_eq!(file(&sub, "out/sub/b"), Decision::Ignored);

    let target = enter(&rules, "target", true, None);
    assert_eq!(tracked(&target, "target/a"), Decision::Capture);
    assert_eq!(file(&target, "target/b"), DEFAULT);
    assert_eq!(target.judge_dir(b"target/sub", false), DEFAULT);
}

#[test]
fn an_anchored_include_leads_into_an_ignored_directory() {
    let rules = root(
        "out/\n",
        &[],
        &[("/out/db/*.db", Source::User), (".env.local", Source::User)],
    );
    let out = enter(&rules, "out", false, None);
    assert_eq!(file(&out, "out/x.db"), Decision::Ignored);
    // It is entered anyway, so the unanchored one holds as well.
    assert_eq!(file(&out, "out/.env.local"), Decision::Capture);
    assert_eq!(out.judge_dir(b"out/other", false), Decision::Ignored);
    let db = enter(&out, "out/db", false, None);
    assert_eq!(file(&db, "out/db/x.db"), Decision::Capture);
    assert_eq!(file(&db, "out/db/x.txt"), Decision::Ignored);
    assert_eq!(rules.judge_dir(b"node_modules", false), DEFAULT);
}

#[test]
fn an_included_directory_brings_all_of_it_back() {
    let rules = root(
        "data/\n*.o\n",
        &[("*.u", Source::User)],
        &[("/data/", Source::User), ("dist/", Source::User)],
    );
    let data = enter(&rules, "data", false, Some("*\n"));
    for path in ["data/a", "data/a.o", "data/a.log"] {
        assert_eq!(file(&data, path), Decision::Capture, "{path}");
    }
    assert_eq!(file(&data, "data/a.u"), Decision::Ignored);
    let deep = enter(&data, "data/node_modules", false, None);
    assert_eq!(file(&deep, "data/node_modules/x"), Decision::Capture);
    let dist = enter(&rules, "dist", false, None);
    assert_eq!(file(&dist, "dist/x.o"), Decision::Capture);
    assert_eq!(file(&rules, "x.o"), Decision::Ignored);
}

#[test]
fn the_team_includes_a_directory_without_its_secrets() {
    let team = Source::Team;
    let rules = root("data/\n", &[], &[("data/", team), ("conf/", team)]);
    let data = enter(&rules, "data", false, None);
    assert_eq!(file(&data, "data/a"), Decision::Capture);
    assert_eq!(file(&data, "data/.env"), Decision::Ignored);
    assert_eq!(
        data.judge_dir(b"data/credentials", false),
        Decision::Ignored
    );
    // Where nothing left it out, nothing needs to bring it back.
    let conf = enter(&rules, "conf", false, None);
    assert_eq!(file(&conf, "conf/.env"), Decision::Capture);
}

#[test]
fn a_flag_reaches_into_what_the_user_excludes() {
    let rules = root(
        "",
        &[("own/", Source::User)],
        &[("/own/a", Source::Flag), ("/own/b", Source::User)],
    );
    let own = enter(&rules, "own", false, None);
    assert_eq!(file(&own, "own/a"), Decision::Capture);
    assert_eq!(file(&own, "own/b"), BY_USER);
    assert_eq!(tracked(&own, "own/c"), BY_USER);
}

#[test]
fn nested_gitignores_speak_in_open_directories() {
    let rules = root("*.o\n", &[], &[]);
    let src = enter(&rules, "src", false, Some("!keep.o\n/gen\n"));
    assert!(!src.inside().is_ignored());
    assert_eq!(file(&src, "src/keep.o"), Decision::Capture);
    assert_eq!(file(&src, "src/x.o"), Decision::Ignored);
    let gen_dir = src.judge_dir(b"src/gen", false);
    assert_eq!(gen_dir, Decision::Ignored);
    let deep = enter(&src, "src/deep", false, None);
    assert_eq!(file(&deep, "src/deep/gen"), Decision::Capture);
}

#[test]
fn rules_are_shared_across_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<RulesDir>();
}
