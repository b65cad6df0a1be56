use super::*;
use crate::error::Code;

fn settings(exclude: &[(&str, Source)], include: &[(&str, Source)]) -> GlobSettings {
    let own = |globs: &[(&str, Source)]| {
        let owned = |&(glob, source): &(&str, Source)| (glob.to_owned(), source);
        globs.iter().map(owned).collect()
    };
    GlobSettings {
        use_defaults: true,
        ignore_case: false,
        exclude: own(exclude),
        include: own(include),
    }
}

fn globs(exclude: &[(&str, Source)], include: &[(&str, Source)]) -> Globs {
    Globs::new(&settings(exclude, include)).expect("valid globs")
}

fn file(globs: &Globs, path: &str) -> GlobVerdict {
    globs.verdict(path.as_bytes(), false, false)
}

fn dir(globs: &Globs, path: &str) -> GlobVerdict {
    globs.verdict(path.as_bytes(), true, false)
}

#[test]
fn the_defaults_hold_at_every_level_for_untracked_paths() {
    let globs = globs(&[], &[]);
    for glob in DEFAULT_GLOBS {
        let name = glob.trim_end_matches('/').replace('*', "x");
        for path in [name.clone(), format!("a/b/{name}")] {
            assert_eq!(dir(&globs, &path), GlobVerdict::Default, "{path}");
            let expected = if glob.ends_with('/') {
                GlobVerdict::None
            } else {
                GlobVerdict::Default
            };
            assert_eq!(file(&globs, &path), expected, "{path}");
            assert_eq!(
                globs.verdict(path.as_bytes(), true, true),
                GlobVerdict::None
            );
        }
    }
    assert_eq!(file(&globs, ".log"), GlobVerdict::Default);
    assert_eq!(file(&globs, "targets"), GlobVerdict::None);
    assert_eq!(file(&globs, "x.logs"), GlobVerdict::None);
    let none = Globs::new(&GlobSettings::default()).expect("no globs");
    assert_eq!(file(&none, "x.log"), GlobVerdict::None);
}

#[test]
fn slashes_anchor() {
    let by = GlobVerdict::Exclude(Source::User);
    let of = |glob: &str| globs(&[(glob, Source::User)], &[]);
    for (glob, path, expected) in [
        ("*.bin", "a/b.bin", by),
        ("/*.bin", "a/b.bin", GlobVerdict::None),
        ("/*.bin", "b.bin", by),
        ("a/*.bin", "a/b.bin", by),
        ("a/*.bin", "x/a/b.bin", GlobVerdict::None),
        ("a/*.bin", "a/x/b.bin", GlobVerdict::None),
        ("a/**/*.bin", "a/x/y/b.bin", by),
        ("a/**/*.bin", "a/b.bin", by),
        ("**/a/b", "x/y/a/b", by),
        ("**/a/b", "a/b", by),
        ("/a[!x]b", "a/b", GlobVerdict::None),
        ("/a[!x]b", "ayb", by),
        ("*.{bin,dat}", "x/y.dat", by),
        ("a?c", "abc", by),
        ("\\*", "x", GlobVerdict::None),
        ("\\*", "*", by),
        ("f*o", "x/foo", by),
    ] {
        assert_eq!(file(&of(glob), path), expected, "{glob} against {path}");
    }
    assert_eq!(file(&of("only/"), "only"), GlobVerdict::None);
    assert_eq!(dir(&of("only/"), "x/only"), by);
}

#[test]
fn paths_need_not_be_utf8() {
    let globs = globs(&[("*.bin", Source::User)], &[]);
    let verdict = globs.verdict(b"\xff/\xfe.bin", false, false);
    assert_eq!(verdict, GlobVerdict::Exclude(Source::User));
}

#[test]
fn the_nearer_source_speaks_and_between_equals_exclude() {
    use Source::{Flag, Team, User};
    for (exclude, include, expected) in [
        (User, User, GlobVerdict::Exclude(User)),
        (User, Flag, GlobVerdict::Include(Flag)),
        (Flag, User, GlobVerdict::Exclude(Flag)),
        (Team, User, GlobVerdict::Include(User)),
        (Team, Team, GlobVerdict::TeamExclude),
    ] {
        let globs = globs(&[("*.x", exclude)], &[("a.*", include)]);
        assert_eq!(file(&globs, "a.x"), expected);
    }
    let globs = globs(&[], &[("keep.log", Team)]);
    assert_eq!(file(&globs, "keep.log"), GlobVerdict::Include(Team));
}

#[test]
fn only_the_users_own_globs_hide_what_is_tracked() {
    let tracked = |source| globs(&[("*.x", source)], &[]).verdict(b"a.x", false, true);
    assert_eq!(tracked(Source::Team), GlobVerdict::None);
    assert_eq!(tracked(Source::User), GlobVerdict::Exclude(Source::User));
    assert_eq!(tracked(Source::Flag), GlobVerdict::Exclude(Source::Flag));
}

#[test]
fn the_team_brings_back_no_secret() {
    let globs = globs(
        &[],
        &[
            (".env*", Source::Team),
            ("/.env.d/x", Source::Team),
            ("*.db", Source::Team),
        ],
    );
    assert_eq!(file(&globs, ".env.local"), GlobVerdict::None);
    assert_eq!(
        file(&globs, ".env.example"),
        GlobVerdict::Include(Source::Team)
    );
    assert_eq!(file(&globs, "credentials/a.db"), GlobVerdict::None);
    assert!(!globs.leads_into(b".env.d", None));
}

#[test]
fn anchored_includes_lead_in_where_they_weigh_more() {
    let globs = globs(
        &[],
        &[
            ("/data/*/x.db", Source::Team),
            (".env.local", Source::User),
            ("a/**", Source::User),
        ],
    );
    let user = Some(ExcludedBy::Glob(Source::User));
    assert!(globs.leads_into(b"data", None));
    assert!(globs.leads_into(b"data/one", Some(ExcludedBy::Default)));
    assert!(!globs.leads_into(b"data/one/two", None));
    assert!(!globs.leads_into(b"data", user));
    assert!(!globs.leads_into(b"data", Some(ExcludedBy::Glob(Source::Team))));
    assert!(!globs.leads_into(b"node_modules", None));
    assert!(globs.leads_into(b"a/b/c", None));
}

#[test]
fn a_bad_glob_is_named_but_a_strangers_only_warned_of() {
    for glob in ["a[", "{a", "!a", "", "a\\"] {
        let error = Globs::new(&settings(&[(glob, Source::User)], &[])).expect_err(glob);
        assert_eq!(error.code(), Code::InvalidConfig);
        assert!(
            error.message().contains(&format!("'{glob}'")),
            "{}",
            error.message()
        );
        assert_eq!(
            dir(&globs(&[(glob, Source::Team)], &[]), "a"),
            GlobVerdict::None
        );
        assert!(Check::new(Source::Team).problem(glob).is_some(), "{glob}");
    }
}

#[test]
fn a_team_glob_that_matches_everything_is_left_aside() {
    for glob in [
        "*", "**", "/", "/*", "/**", "**/*", "*/", "*/*", "?*", "[a-z]*", "{*,x}", "[!.]*",
    ] {
        let globs = globs(&[(glob, Source::Team)], &[]);
        assert!(Check::new(Source::Team).problem(glob).is_some(), "{glob}");
        assert_eq!(dir(&globs, "src"), GlobVerdict::None, "{glob}");
    }
    for glob in ["*.x", "a*", "?", "/a/*", ".*"] {
        assert_eq!(Check::new(Source::Team).problem(glob), None, "{glob}");
    }
    assert_eq!(
        dir(&globs(&[("*", Source::User)], &[]), "src"),
        GlobVerdict::Exclude(Source::User)
    );
}

#[test]
fn case_is_ignored_where_git_does() {
    let mut settings = settings(&[("*.Bin", Source::User)], &[]);
    settings.ignore_case = true;
    let globs = Globs::new(&settings).expect("valid globs");
    assert_eq!(file(&globs, "A.BIN"), GlobVerdict::Exclude(Source::User));
    assert_eq!(dir(&globs, "Node_Modules"), GlobVerdict::Default);
}

#[test]
fn fingerprints_tell_settings_apart() {
    let base = globs(&[("a", Source::User)], &[]).fingerprint();
    assert_eq!(globs(&[("a", Source::User)], &[]).fingerprint(), base);
    assert_ne!(globs(&[("a", Source::Team)], &[]).fingerprint(), base);
    assert_ne!(globs(&[], &[("a", Source::User)]).fingerprint(), base);
    assert_ne!(
        globs(&[("a", Source::User), ("b", Source::User)], &[]).fingerprint(),
        base
    );
}

#[test]
fn many_globs_are_compiled_at_once() {
    let long: Vec<String> = (0..3000)
        .map(|index| format!("/dir{index}/*x?.bin"))
        .collect();
    let exclude: Vec<_> = long
        .iter()
        .map(|glob| (glob.as_str(), Source::User))
        .collect();
    match Globs::new(&settings(&exclude, &[])) {
        Ok(globs) => assert_eq!(
            file(&globs, "dir7/axb.bin"),
            GlobVerdict::Exclude(Source::User)
        ),
        Err(error) => assert_eq!(error.code(), Code::InvalidConfig),
    }
}

#[test]
fn the_team_can_neither_fill_nor_spoil_the_set() {
    let long: Vec<String> = (0..500)
        .map(|index| format!("/{index}-{}", "x".repeat(60)))
        .collect();
    let mut exclude: Vec<_> = long
        .iter()
        .map(|glob| (glob.as_str(), Source::Team))
        .collect();
    let deep = "{".repeat(300) + "a" + &"}".repeat(300);
    exclude.push((&deep, Source::Team));
    exclude.push(("*.u", Source::User));
    let globs = globs(&exclude, &[]);
    let mut check = Check::new(Source::Team);
    let left_aside = long.iter().filter(|glob| check.problem(glob).is_some());
    assert!(left_aside.count() > 100);
    assert!(check.problem(&deep).is_some());
    assert_eq!(file(&globs, "a.u"), GlobVerdict::Exclude(Source::User));
}

/// Matching leaves nothing out when the set cannot be compiled, so that must not happen.
#[test]
fn what_is_accepted_compiles() {
    const PIECES: [&str; 24] = [
        "a",
        "B",
        "*",
        "**",
        "/",
        "?",
        "[a-z]",
        "[!a]",
        "[]-a]",
        "[&&~~--]",
        "[^^]",
        "[a-\u{100}]",
        "{",
        "}",
        ",",
        "\\",
        "\\{",
        ".",
        "\u{fc}",
        "(",
        "+",
        "$",
        "|",
        "-",
    ];
    let mut state: u32 = 7;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(state >> 16).expect("16 bits fit")
    };
    let mut accepted = 0;
    for round in 0..600 {
        let glob: String = (0..=next() % 7)
            .map(|_| PIECES[next() % PIECES.len()])
            .collect();
        let mut settings = settings(&[(&glob, Source::User)], &[(&glob, Source::User)]);
        settings.ignore_case = round % 2 == 0;
        if let Ok(globs) = Globs::new(&settings) {
            accepted += 1;
            for part in [&globs.names, &globs.paths, &globs.leads] {
                assert!(part.compile().is_ok(), "{glob:?}");
            }
        }
    }
    assert!(accepted > 100, "{accepted} were accepted");
}
