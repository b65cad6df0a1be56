//! Every answer is git's own: `git ls-files` with the same words.

use std::ffi::OsString;
use std::path::Path;

use super::Pathspec;
use crate::error::Code;
use crate::ops::Context;
use crate::ops::tests::Lab;
use crate::progress::Silent;

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const NAMES: [&str; 10] = [
    "a", "b", "A", "ab", "a*", "x.rs", "y.rs", "[b]", "src", ":c",
];
const PARTS: [&str; 16] = [
    "a", "b", "A", "*", "**", "?", "[ab]", "x.rs", "*.rs", "src", "a*", "\\*", ".", "..", "[b]",
    ":c",
];
const MAGIC: [&str; 12] = [
    "",
    "",
    "",
    "",
    "",
    ":(glob)",
    ":(icase)",
    ":(literal)",
    ":/",
    ":!",
    ":(top,exclude)",
    ":^",
];

fn grow(lab: &Lab, random: &mut Random) -> Vec<String> {
    let mut files = Vec::new();
    for _ in 0..40 {
        let depth = 1 + random.below(3);
        let parts: Vec<&str> = (0..depth).map(|_| random.of(&NAMES)).collect();
        let path = lab.path(&parts.join("/"));
        let made = path.parent().map(std::fs::create_dir_all);
        if matches!(made, Some(Ok(()))) && !path.exists() && std::fs::write(&path, "x").is_ok() {
            files.push(parts.join("/"));
        }
    }
    files
}

fn asked(dir: &Path, words: &[OsString]) -> Option<Vec<Vec<u8>>> {
    // Words that only take away begin from everything in most commands, and from the current directory in this one.
    let is_exclusion = |word: &OsString| {
        let word = word.to_string_lossy();
        word.starts_with(":!")
            || word.starts_with(":^")
            || word.starts_with(":(") && word.contains("exclude")
    };
    let all = words.iter().all(is_exclusion);
    // The second names nothing; without it this command cuts the beginning that all words share from the exclusions, too.
    let beside = if all { ":/" } else { ":/no such name" };
    let output = crate::provided::git(dir)
        .args(["ls-files", "-z", "--full-name", "--"])
        .args(words)
        .arg(beside)
        .current_dir(dir)
        .output()
        .expect("git runs");
    let names = output.stdout.split(|byte| *byte == 0);
    output.status.success().then(|| {
        names
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    })
}

#[test]
fn every_word_means_what_it_means_to_git() {
    let mut random = Random(7);
    let mut taken = 0;
    for _ in 0..8 {
        let lab = Lab::new();
        let files = grow(&lab, &mut random);
        lab.git(&["add", "-A", "-f"]);
        for _ in 0..60 {
            let near = &files[random.below(files.len())];
            let dir = match random.below(3) {
                0 => lab.path(near).parent().expect("a directory").to_owned(),
                _ => lab.dir().to_owned(),
            };
            let words: Vec<OsString> = (0..=random.below(2))
                .map(|_| {
                    let depth = 1 + random.below(3);
                    let parts: Vec<&str> = (0..depth).map(|_| random.of(&PARTS)).collect();
                    let end = if random.below(6) == 0 { "/" } else { "" };
                    format!("{}{}{end}", random.of(&MAGIC), parts.join("/")).into()
                })
                .collect();
            let Some(wanted) = asked(&dir, &words) else {
                continue;
            };
            let env = lab.env();
            let ctx = Context::open(&dir, env, &Silent).expect("opened");
            let spec = Pathspec::parse(&ctx, &words)
                .unwrap_or_else(|error| panic!("{words:?} in {}: {error}", dir.display()));
            let mut sorted: Vec<&[u8]> = files.iter().map(String::as_bytes).collect();
            sorted.sort_unstable();
            let found: Vec<&[u8]> = sorted
                .into_iter()
                .filter(|path| spec.matches(path))
                .collect();
            assert_eq!(found, wanted, "{words:?} in {}", dir.display());
            taken += found.len();
            for path in found {
                let mut above = crate::git::path::split(path).0;
                while !above.is_empty() {
                    assert!(
                        spec.may_match_in(above),
                        "{words:?}: {above:?} is not looked into"
                    );
                    above = crate::git::path::split(above).0;
                }
            }
        }
    }
    assert!(taken > 500, "{taken} paths were taken");
}

fn parsed(words: &[&str]) -> Result<Pathspec, Code> {
    let lab = Lab::new();
    let words: Vec<OsString> = words.iter().map(Into::into).collect();
    Pathspec::parse(&lab.ctx(), &words).map_err(|error| error.code())
}

#[test]
fn plain_words_are_told_from_patterns() {
    let plain = |words: &[&str]| parsed(words).expect("parsed").plain();
    assert_eq!(plain(&[]), Some(vec![]));
    assert_eq!(
        plain(&["a", "dir/"]),
        Some(vec![b"a".to_vec(), b"dir".to_vec()])
    );
    assert_eq!(plain(&[":(literal)*"]), Some(vec![b"*".to_vec()]));
    assert_eq!(plain(&["*"]), None);
    assert_eq!(plain(&["a", ":!b"]), None);
    assert!(parsed(&["."]).expect("parsed").is_everything());
    assert!(!parsed(&[".", ":!b"]).expect("parsed").is_everything());
}

#[test]
fn a_word_that_takes_nothing_is_named() {
    let spec = parsed(&["*.rs", "doc"]).expect("parsed");
    let paths = [&b"src/x.rs"[..], b"docs"];
    assert_eq!(spec.unmatched(paths.into_iter()), Some("doc".as_ref()));
    assert_eq!(spec.unmatched([&b"x.rs"[..], b"doc/a"].into_iter()), None);
}

#[test]
fn what_git_does_not_know_is_refused() {
    for word in [
        "",
        ":(attr:x)a",
        ":(nonsense)a",
        ":(glob",
        ":(glob,literal)a",
        ":%a",
        "../out",
    ] {
        assert_eq!(parsed(&[word]), Err(Code::Usage), "{word}");
    }
}
