use super::{Flags, wildmatch};

const PATH: Flags = Flags {
    pathname: true,
    fold_case: false,
};

fn check(flags: Flags, cases: &[(bool, &str, &str)]) {
    for &(expected, text, pattern) in cases {
        let found = wildmatch(pattern.as_bytes(), text.as_bytes(), flags);
        assert_eq!(found, expected, "{pattern:?} against {text:?}");
    }
}

#[test]
fn plain_bytes_question_marks_and_asterisks() {
    check(
        PATH,
        &[
            (true, "foo", "foo"),
            (false, "foo", "bar"),
            (false, "foo", "fo"),
            (false, "fo", "foo"),
            (true, "", ""),
            (false, "a", ""),
            (false, "", "a"),
            (true, "", "*"),
            (true, "foo", "???"),
            (false, "foo", "??"),
            (true, "foo", "f*"),
            (false, "foo", "*f"),
            (true, "foobar", "*ob*a*r*"),
            (true, "aaaaaaabababab", "*ab"),
            (true, "foo*", "foo\\*"),
            (false, "foobar", "foo\\*bar"),
            (true, "f\\oo", "f\\\\oo"),
            (false, "foo\\", "foo\\"),
            (true, "-", "\\-"),
        ],
    );
}

#[test]
fn slashes_stop_everything_but_double_asterisks() {
    check(
        PATH,
        &[
            (false, "foo/baz/bar", "foo*bar"),
            (false, "foo/baz/bar", "foo**bar"),
            (true, "foobazbar", "foo**bar"),
            (true, "foo/baz/bar", "foo/**/bar"),
            (true, "foo/baz/bar", "foo/**/**/bar"),
            (true, "foo/b/a/z/bar", "foo/**/bar"),
            (true, "foo/bar", "foo/**/bar"),
            (true, "foo/bar", "foo/**/**/bar"),
            (false, "foo/bar", "foo?bar"),
            (false, "foo/bar", "foo[/]bar"),
            (false, "foo/bar", "foo[^a-z]bar"),
            (false, "foo/bar", "f[^eiu][^eiu][^eiu][^eiu][^eiu]r"),
            (true, "foo", "**/foo"),
            (true, "XXX/foo", "**/foo"),
            (true, "bar/baz/foo", "**/foo"),
            (false, "bar/baz/foo", "*/foo"),
            (false, "foo/bar/baz", "**/bar*"),
            (true, "deep/foo/bar/baz", "**/bar/*"),
            (false, "deep/foo/bar/baz/", "**/bar/*"),
            (true, "deep/foo/bar/baz/", "**/bar/**"),
            (false, "deep/foo/bar", "**/bar/*"),
            (false, "deep/foo/bar", "**/bar/**"),
            (true, "deep/foo/bar/baz/x", "**/bar/**"),
            (false, "foo/bar/baz", "**/bar**"),
            (true, "foo/bar/baz/x", "*/bar/**"),
            (false, "deep/foo/bar/baz/x", "*/bar/**"),
            (true, "deep/foo/bar/baz/x", "**/bar/*/*"),
            (true, "a/b", "**\\/b"),
            (false, "b", "**\\/b"),
            (true, "a/b/c", "a/**"),
            (false, "a", "a/**"),
        ],
    );
}

#[test]
fn brackets() {
    check(
        PATH,
        &[
            (true, "ball", "*[al]?"),
            (false, "ten", "[ten]"),
            (true, "ten", "**[!te]"),
            (false, "ten", "**[!ten]"),
            (true, "ton", "t[a-g-o]n"),
            (false, "tin", "t[!a-z]n"),
            (true, "ton", "t[^a-g]n"),
            (true, "a]b", "a[]]b"),
            (true, "a-b", "a[]-]b"),
            (true, "a]b", "a[]-]b"),
            (false, "aab", "a[]-]b"),
            (true, "aab", "a[]a-]b"),
            (true, "]", "]"),
            (true, "[ab]", "\\[ab]"),
            (true, "[ab]", "[[]ab]"),
            (false, "[ab", "[ab"),
            (false, "a", "[a"),
            (true, "-", "[!a-c]"),
            (false, "a", "[!]a-]"),
            (true, "-", "[a-]"),
            (true, "-", "[-a]"),
            (true, "\\", "[\\\\]"),
            (true, "]", "[\\]]"),
            (true, "c", "[a-\\d]"),
            (false, "b", "[c-a]"),
        ],
    );
}

#[test]
fn posix_classes() {
    check(
        PATH,
        &[
            (true, "a1B", "[[:alpha:]][[:digit:]][[:upper:]]"),
            (false, "a", "[[:digit:][:upper:][:space:]]"),
            (true, "A", "[[:digit:][:upper:][:space:]]"),
            (true, "5", "[[:xdigit:]]"),
            (true, "_", "[[:punct:]]"),
            (true, "\u{7f}", "[[:cntrl:]]"),
            (false, "\u{b}", "[[:space:]]"),
            (false, " ", "[[:graph:]]"),
            (true, " ", "[[:print:]]"),
            (true, "y", "[a-c[:digit:]x-z]"),
            (false, "q", "[a-c[:digit:]x-z]"),
            (false, "1", "[[:digit:]"),
            (false, "a", "[[:nosuch:]]"),
            (true, "[", "[[:]"),
            (true, ":", "[[:]"),
            (false, "a", "[[::]]"),
        ],
    );
}

#[test]
fn without_pathname_an_asterisk_takes_slashes() {
    check(
        Flags::default(),
        &[
            (true, "foo/bba/arr", "foo*arr"),
            (true, "foo/bba/arr", "foo**"),
            (true, "foo/bar", "foo?bar"),
            (true, "foo/bar", "foo[/]bar"),
            (true, "a/b/c", "*"),
            (false, "foo", "**/foo"),
            (true, "a/b/foo", "**/foo"),
        ],
    );
}

/// What git does, though no one would ask for it: an escaped or bracketed capital matches nothing.
#[test]
fn folding_case_has_gits_gaps() {
    let flags = Flags {
        pathname: true,
        fold_case: true,
    };
    check(
        flags,
        &[
            (true, "FOO", "foo"),
            (true, "foo", "F?O"),
            (true, "b", "[A-C]"),
            (true, "B", "[a-c]"),
            (true, "a", "[[:upper:]]"),
            (true, "A", "[[:lower:]]"),
            (false, "A", "[A]"),
            (false, "A", "\\A"),
            (true, "A", "\\a"),
        ],
    );
}

#[test]
fn hostile_patterns_end_soon() {
    let text = "a".repeat(2000);
    let pattern = "*a".repeat(60) + "b";
    assert!(!wildmatch(pattern.as_bytes(), text.as_bytes(), PATH));
    let text = "a/".repeat(1000);
    let pattern = "**/a*/".repeat(60) + "b";
    assert!(!wildmatch(pattern.as_bytes(), text.as_bytes(), PATH));
}
