//! `tw diff`: the options that git's has, beside git's own.

use crate::sandbox::Sandbox;

/// Two snapshots of a file of forty lines: one line in the middle differs, one near the end in white space alone.
fn taken() -> Sandbox {
    let sandbox = Sandbox::new();
    let text = |changed: &str, spaced: &str| {
        let lines = (0..40).map(|n| match n {
            20 => format!("{changed}\n"),
            35 => format!("{spaced}\n"),
            n => format!("line {n}\n"),
        });
        lines.collect::<String>()
    };
    sandbox.write("a.txt", text("one", "a b"));
    sandbox.write("spaced.txt", "a b\n");
    sandbox.ok(["snapshot", "--label", "one"]);
    sandbox.write("a.txt", text("two", "  a\tb "));
    sandbox.write("spaced.txt", "ab\n");
    sandbox.ok(["snapshot", "--label", "two"]);
    sandbox
}

/// What git says of the same two trees.
fn git(sandbox: &Sandbox, options: &[&str]) -> String {
    let tree = |label: &str| {
        let shown = sandbox.json(["show", label]);
        shown["snapshot"]["commit"].as_str().unwrap().to_owned()
    };
    let (one, two) = (tree("one"), tree("two"));
    let mut words = vec!["diff", "--abbrev=7"];
    words.extend(options);
    words.extend([one.as_str(), &two]);
    sandbox.git(words)
}

#[test]
fn lines_of_context_and_white_space_are_as_git_has_them() {
    let sandbox = taken();
    assert_eq!(sandbox.ok(["diff", "one", "two", "-p"]), git(&sandbox, &[]));
    assert_eq!(
        sandbox.ok(["diff", "one", "two", "-U", "0"]),
        git(&sandbox, &["-U0"])
    );
    assert_eq!(
        sandbox.ok(["diff", "one", "two", "-U5"]),
        git(&sandbox, &["-U5"])
    );
    let ignoring = sandbox.ok(["diff", "one", "two", "-p", "-w"]);
    assert_eq!(ignoring, git(&sandbox, &["-w"]));
    assert!(!ignoring.contains("spaced.txt"), "{ignoring}");
    let counts = sandbox.json(["diff", "one", "two", "--ignore-all-space"]);
    let files = counts["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{counts}");
    assert_eq!(
        (&files[0]["insertions"], &files[0]["deletions"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn two_dots_stand_between_both_sides() {
    let sandbox = taken();
    let both = sandbox.ok(["diff", "one", "two"]);
    assert_eq!(sandbox.ok(["diff", "one..two"]), both);
    let one_path = sandbox.ok(["diff", "one", "two", "spaced.txt"]);
    assert_eq!(sandbox.ok(["diff", "one..two", "spaced.txt"]), one_path);
    assert_eq!(
        sandbox.ok(["diff", "one..two", "--", "spaced.txt"]),
        one_path
    );
    // What is not named is what it would be without the dots.
    assert_eq!(sandbox.ok(["diff", "one.."]), sandbox.ok(["diff", "one"]));
    sandbox.write("a.txt", "now\n");
    assert_eq!(
        sandbox.ok(["diff", "..one"]),
        sandbox.ok(["diff", "latest", "one"])
    );
}

#[test]
fn the_exit_code_says_whether_something_differs() {
    let sandbox = taken();
    let code = |words: &[&str]| sandbox.tw(words).code;
    assert_eq!(code(&["diff", "one", "two", "--exit-code"]), 1);
    assert_eq!(code(&["diff", "one", "two"]), 0);
    assert_eq!(code(&["diff", "one", "one", "--exit-code"]), 0);
    assert_eq!(
        code(&["diff", "one", "two", "--exit-code", "-w", "spaced.txt"]),
        0
    );
    assert_eq!(code(&["diff", "--exit-code"]), 0);
    // The index alone.
    sandbox.git(["add", "spaced.txt"]);
    assert_eq!(code(&["diff", "--exit-code"]), 1);
    let (_, code) = sandbox.json_error(["diff", "nothing", "--exit-code"]);
    assert_eq!(code, 3);
}

#[test]
fn a_word_that_names_no_snapshot_and_is_a_path_is_one() {
    let sandbox = taken();
    sandbox.write("a.txt", "three\n");
    sandbox.write("spaced.txt", "three\n");
    let names = |args: &[&str]| sandbox.ok([&["diff", "--name-only"], args].concat());
    assert_eq!(names(&["a.txt"]), "a.txt\n");
    assert_eq!(names(&["one", "a.txt"]), "a.txt\n");
    assert_eq!(names(&["a.txt", "spaced.txt"]), "a.txt\nspaced.txt\n");
    assert_eq!(
        names(&["a.txt", "spaced.txt", "new"]),
        "a.txt\nspaced.txt\n"
    );
    assert_eq!(names(&["s*.txt"]), "spaced.txt\n");
    assert_eq!(names(&[":!a.txt"]), "spaced.txt\n");
    // What was captured is one although it is gone.
    sandbox.remove("a.txt");
    assert_eq!(names(&["a.txt"]), "a.txt\n");
    // What names a snapshot does so also where a file has its name, as 'one' always did.
    sandbox.write("one", "a file\n");
    assert_eq!(names(&["one", "two"]), "a.txt\nspaced.txt\n");
    assert_eq!(names(&["--", "one"]), "one\n");
    for args in [&["diff", "nothing"][..], &["diff", "one", "nothing"]] {
        let (error, code) = sandbox.json_error(args);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("SNAPSHOT_NOT_FOUND"), 3)
        );
    }
    let (error, code) = sandbox.json_error(["diff", "spaced.txt", "one"]);
    assert_eq!(
        (&error["hint"], code),
        (&"paths go after the snapshots".into(), 2)
    );
}

/// Two dots in a path are no range.
#[test]
fn a_path_that_leads_upwards_or_has_two_dots_is_a_path() {
    let sandbox = taken();
    sandbox.mkdir("sub");
    sandbox.write("a..b", "new\n");
    let dir = sandbox.path("sub");
    let names = |words: &[&str]| {
        let ran = sandbox.tw_in(&dir, ["diff", "--name-only"].iter().chain(words));
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err());
        ran.out()
    };
    assert_eq!(names(&["../a..b"]), "a..b\n");
    assert_eq!(names(&[".."]), "a..b\n");
    assert_eq!(names(&["one", "two", "../spaced.txt"]), "spaced.txt\n");
    assert_eq!(names(&["one..two", "../spaced.txt"]), "spaced.txt\n");
    assert_eq!(names(&["one..two"]), "a.txt\nspaced.txt\n");
    assert_eq!(names(&["two.."]), "a..b\n");
    assert_eq!(sandbox.ok(["diff", "--name-only", "a..b"]), "a..b\n");
    let (error, code) = sandbox.json_error(["diff", "one..nowhere"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SNAPSHOT_NOT_FOUND"), 3)
    );
}

#[test]
fn a_patch_with_binary_files_applies_in_both_directions() {
    let sandbox = Sandbox::new();
    // Bytes of every value, as compression leaves them and as it does not.
    let noise = (0..5000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]);
    let noise: Vec<u8> = std::iter::once(0).chain(noise).collect();
    let files = || {
        let names = [
            "noise.bin",
            "gone.bin",
            "new.bin",
            "becomes.txt",
            "text.txt",
        ];
        names.map(|name| sandbox.exists(name).then(|| sandbox.read(name)))
    };
    sandbox.write("noise.bin", &noise);
    sandbox.write("gone.bin", b"\0gone");
    sandbox.write("becomes.txt", b"\0");
    sandbox.write("text.txt", "one\n");
    sandbox.ok(["snapshot", "--label", "one"]);
    let one = files();
    let noise: Vec<u8> = noise.into_iter().rev().collect();
    sandbox.write("noise.bin", &noise);
    sandbox.remove("gone.bin");
    sandbox.write("new.bin", b"\0\0\0\0");
    sandbox.write("becomes.txt", "text\n");
    sandbox.write("text.txt", "two\n");
    sandbox.ok(["snapshot", "--label", "two"]);
    let two = files();
    let patch = sandbox.root().join("binary.patch");
    std::fs::write(&patch, sandbox.ok(["diff", "-p", "one", "two"])).unwrap();
    let patch = patch.to_str().unwrap();
    sandbox.git(["apply", "-R", patch]);
    assert_eq!(files(), one);
    sandbox.git(["apply", patch]);
    assert_eq!(files(), two);
}

#[test]
fn wide_characters_take_two_columns() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot", "--label", "one"]);
    sandbox.write("語.txt", "x\n");
    sandbox.write("abcdef", "y\n");
    let said = sandbox.ok(["diff", "one"]);
    assert!(
        said.starts_with(" A abcdef | +1\n A 語.txt | +1\n"),
        "{said}"
    );
}

/// What is staged has trees in no object yet, and so it is nearly always.
#[test]
fn what_is_staged_and_edited_on_is_compared() {
    let sandbox = taken();
    sandbox.write("staged/deep", "two\n");
    sandbox.git(["add", "staged"]);
    sandbox.write("staged/deep", "three\n");
    sandbox.git(["update-index", "--chmod=+x", "staged/deep"]);
    let diff = sandbox.json(["diff"]);
    let has = |part: &str, field: &str, value: &str| {
        let found = diff[part].as_array().unwrap();
        found.iter().any(|one| one[field] == value)
    };
    assert!(has("files", "path", "staged/deep"), "{diff}");
    assert!(has("others", "kind", "index"), "{diff}");
    sandbox.json(["travel", "latest"]);
    sandbox.git(["rm", "-q", "--cached", "a.txt"]);
    assert_eq!(sandbox.tw(["diff"]).code, 0);
}
