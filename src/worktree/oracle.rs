//! Random trees put to git itself: `git check-ignore` and `git check-attr` must agree with us on every path.
//!
//! `TW_ORACLE_ROUNDS` asks for more rounds, `TW_ORACLE_SEED` for others.

mod lab;
pub(super) mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use self::lab::Lab;
use self::random::{Random, attribute_file, ignore_file, name, pattern};
use super::attributes::{self, AttributeConfig, AttributeFiles, Attributes, DirAttributes};
use super::globs::{GlobSettings, Globs, Source};
use super::ignore::{Globals, PathRules, PatternFile, Verdict};
use super::pattern::{Pattern, Subject};

#[allow(clippy::disallowed_methods, reason = "asks for a longer test")]
fn env_var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str) -> Option<u64> {
    env_var(name)?.parse().ok()
}

/// Runs rounds until there were enough, or for about a second and a half.
fn rounds(mut round: impl FnMut(&mut Lab, &mut Random, u64)) {
    let wanted = number("TW_ORACLE_ROUNDS");
    let seed = number("TW_ORACLE_SEED").unwrap_or(0);
    let mut lab = Lab::new();
    let begun = std::time::Instant::now();
    for index in 0..wanted.unwrap_or(u64::MAX) {
        let mut random = Random((seed + index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        round(&mut lab, &mut random, seed + index);
        if wanted.is_none() && begun.elapsed().as_millis() > 1500 {
            break;
        }
    }
}

#[test]
fn ignore_rules_agree_with_git() {
    rounds(|lab, random, index| {
        lab.regrow(random);
        let files = lab.scatter(".gitignore", random, ignore_file);
        let (info, global) = (ignore_file(random), ignore_file(random));
        lab.write(b".git/info/exclude", &info);
        lab.write(b".git/global", &global);
        let ignore_case = random.one_in(3);
        let case = format!("core.ignorecase={ignore_case}");
        let args = [
            "-c",
            "core.excludesFile=.git/global",
            "-c",
            &case,
            "check-ignore",
            "--no-index",
            "-z",
            "--stdin",
            "-v",
            "-n",
        ];
        let answer = lab.git(&args, &lab.stdin());
        let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
        assert_eq!(
            fields.len(),
            4 * lab.paths.len() + 1,
            "round {index}: git answers on every path"
        );

        let globals = Globals {
            info_exclude: PatternFile::parse(&info, b""),
            excludes_file: PatternFile::parse(&global, b""),
            ignore_case,
            ..Globals::default()
        };
        let mut rules = PathRules::new(Arc::new(globals), |dir: &[u8]| Ok(files.get(dir).cloned()));
        for ((path, &is_dir), answer) in lab.paths.iter().zip(fields.chunks(4)) {
            let expected = match answer[2].first() {
                None => Verdict::Undecided,
                Some(b'!') => Verdict::Included,
                Some(_) => Verdict::Ignored,
            };
            let found = rules
                .is_path_ignored(path, is_dir)
                .expect("nothing fails to load");
            let shown: Vec<_> = answer
                .iter()
                .map(|field| String::from_utf8_lossy(field))
                .collect();
            assert_eq!(
                found,
                expected,
                "round {index}: {shown:?}, directory {is_dir}, case {ignore_case}, files {}",
                show(&files)
            );
        }
    });
}

#[test]
fn attributes_agree_with_git() {
    const ASKED: [&str; 6] = [
        "text",
        "crlf",
        "eol",
        "ident",
        "filter",
        "working-tree-encoding",
    ];
    rounds(|lab, random, index| {
        lab.regrow(random);
        let files = lab.scatter(".gitattributes", random, attribute_file);
        let (info, global) = (attribute_file(random), attribute_file(random));
        lab.write(b".git/info/attributes", &info);
        lab.write(b".git/global", &global);
        let ignore_case = random.one_in(3);
        let case = format!("core.ignorecase={ignore_case}");
        let mut args = vec![
            "-c",
            "core.attributesFile=.git/global",
            "-c",
            &case,
            "check-attr",
            "-z",
            "--stdin",
        ];
        args.extend(ASKED);
        let answer = lab.git(&args, &lab.stdin());
        let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
        assert_eq!(
            fields.len(),
            18 * lab.paths.len() + 1,
            "round {index}: git answers on every path"
        );

        let root = DirAttributes::root(
            AttributeFiles {
                system: None,
                global: Some(&global),
                root: files.get(&b""[..]).map(Vec::as_slice),
                info: Some(&info),
            },
            AttributeConfig {
                converts_eol: false,
                ignore_case,
            },
        );
        let mut rules = Attributes::new(root, |dir: &[u8]| Ok(files.get(dir).cloned()));
        for (path, answer) in lab.paths.keys().zip(fields.chunks(18)) {
            let states = answer
                .chunks(3)
                .map(|field| String::from_utf8_lossy(field[2]).into_owned());
            let expected: Vec<String> = states.collect();
            let (dir, _) = crate::git::path::split(path);
            let directory = rules.directory(dir).expect("nothing fails to load");
            let found = attributes::tests::printed(&directory, path);
            assert_eq!(
                found,
                expected,
                "round {index}: {:?}, case {ignore_case}, info {:?}, global {:?}, files {}",
                String::from_utf8_lossy(path),
                String::from_utf8_lossy(&info),
                String::from_utf8_lossy(&global),
                show(&files),
            );
        }
    });
}

fn show(files: &BTreeMap<Vec<u8>, Vec<u8>>) -> String {
    let mut shown = String::new();
    for (dir, bytes) in files {
        let (dir, bytes) = (String::from_utf8_lossy(dir), String::from_utf8_lossy(bytes));
        write!(shown, "\n  {dir:?}: {bytes:?}").expect("a string takes all");
    }
    shown
}

/// Puts hundreds of patterns at once to paths that need not exist: each pattern gives an attribute of its own.
#[test]
fn patterns_agree_with_git() {
    rounds(|lab, random, index| {
        let patterns: Vec<String> = (0..150).map(|_| pattern(random)).collect();
        let mut file = Vec::new();
        for (number, pattern) in patterns.iter().enumerate() {
            let quoted = pattern.replace('\\', "\\\\").replace('"', "\\\"");
            writeln!(file, "\"{quoted}\" p{number}").expect("a vector takes all");
        }
        lab.write(b".gitattributes", &file);
        lab.paths.clear();
        for _ in 0..150 {
            let depth = 1 + random.below(5);
            let names: Vec<&str> = (0..depth).map(|_| name(random)).collect();
            lab.paths.insert(names.join("/").into_bytes(), false);
        }
        let ignore_case = random.one_in(3);
        let case = format!("core.ignorecase={ignore_case}");
        let answer = lab.git(
            &["-c", &case, "check-attr", "-z", "--stdin", "-a"],
            &lab.stdin(),
        );
        let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
        let matched: BTreeSet<(&[u8], &[u8])> = fields
            .chunks_exact(3)
            .map(|field| (&field[0][2..], field[1]))
            .collect();
        for (number, text) in patterns.iter().enumerate() {
            let Some(parsed) =
                Pattern::parse(text.as_bytes()).filter(|pattern| !pattern.is_negative())
            else {
                continue;
            };
            let attribute = format!("p{number}");
            for path in lab.paths.keys() {
                let expected = matched.contains(&(path.as_slice(), attribute.as_bytes()));
                let found = parsed.matches(Subject::new(path, b"", false), ignore_case);
                assert_eq!(
                    found,
                    expected,
                    "round {index}: {text:?} against {:?}, case {ignore_case}",
                    String::from_utf8_lossy(path)
                );
            }
        }
    });
}

/// Our own globs mean what git's patterns mean, which the tests above compare with git. Left aside are braces, which git
/// does not have, and oddities of git that our globs do not share.
#[test]
fn our_globs_mean_what_gits_patterns_mean() {
    let odd = |text: &str, ignore_case: bool| {
        text.contains('{')
            || text.contains("//")
            || text.contains("\\/")
            || text.split('/').any(|part| part == ".")
            // git compares a literal head first, and then takes what is left for the whole pattern.
            || text
                .match_indices("**")
                .any(|(at, _)| at > 0 && !text[..at].ends_with(['/', '*']))
            || (ignore_case && text.contains('\\'))
    };
    let (mut random, mut asked) = (Random(number("TW_ORACLE_SEED").unwrap_or(0) + 1), 0);
    for _ in 0..number("TW_ORACLE_ROUNDS").unwrap_or(3000) {
        let (text, ignore_case) = (pattern(&mut random), random.one_in(3));
        let settings = GlobSettings {
            ignore_case,
            exclude: vec![(text.clone(), Source::User)],
            ..GlobSettings::default()
        };
        let (Ok(globs), Some(expected)) = (Globs::new(&settings), Pattern::parse(text.as_bytes()))
        else {
            continue;
        };
        if odd(&text, ignore_case) {
            continue;
        }
        asked += 1;
        for _ in 0..60 {
            let depth = 1 + random.below(4);
            let names: Vec<&str> = (0..depth).map(|_| name(&mut random)).collect();
            let (path, is_dir) = (names.join("/").into_bytes(), random.one_in(2));
            assert_eq!(
                globs.hits(&path, is_dir).exclude.is_some(),
                expected.matches(Subject::new(&path, b"", is_dir), ignore_case),
                "{text:?} against {names:?}, directory {is_dir}, case {ignore_case}"
            );
        }
    }
    assert!(asked > 100, "{asked} globs were asked");
}
