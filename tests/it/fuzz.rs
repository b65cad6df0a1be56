//! Real files of ours, and of git's that we read ourselves, damaged at random: an error or an answer, never a panic, never
//! a wrong object, never memory out of proportion. (git's index and the ignore rules have their own, beside their code.)
//!
//! `TW_FUZZ_SECONDS` makes each run longer, `TW_FUZZ_SEED` varies it. A failure names seed and round. What is done with the bytes
//! stands in `parsers`, which the targets of `fuzz/` share.

mod parsers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use timewarp::git::Oid;
use timewarp::git::commit::RawCommit;
use timewarp::git::refs::{RefFormat, Refs};
use timewarp::store::snapshot::SnapshotRecord;
use timewarp::store::state::{Journal, State, parse_versioned};
use timewarp::worktree::cache;
use timewarp::worktree::watch::changes::{Depth, Dirty};
use timewarp::worktree::watch::message::{Answer, Place, Request, Token};
use timewarp::worktree::watch::seen::{self, About, Seen};

use crate::damage::{document, walk};
use crate::sandbox::{Kind, Sandbox};
use crate::stage::{eventful, eventful_as, eventful_in, in_the_past, taken};
use crate::transcripts::{KINDS, Talk};

/// A small generator of numbers, the same ones for one seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }

    fn one_of<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// Damages `bytes` at one to four places.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        const WORDS: [&[u8]; 22] = [
            b"",
            b"\0",
            b"\xff\xff\xff\xff",
            b"..",
            b"/",
            b".git",
            b"null",
            b"-1",
            b"1e999",
            b"99999999999999999999",
            b"{",
            b"[",
            b"\"",
            b"\\u0000",
            b"\\ud800",
            b"\n",
            b" ",
            b"~",
            b"refs/",
            b"0000000000000000000000000000000000000000",
            b"\xc3\x28",
            b"*",
        ];
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = bytes.len().min(at + 1 + self.below(40));
            match self.below(9) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, part);
                }
                3 => {
                    let word = self.one_of(&WORDS);
                    bytes.splice(at..at, word.iter().copied());
                }
                4 => {
                    let word = self.one_of(&WORDS);
                    bytes.splice(at..end, word.iter().copied());
                }
                // What opens a level, very often.
                5 if self.below(8) == 0 => {
                    let many = vec![self.one_of(&[&b"["[..], b"{\"a\":", b"(", b"a."])[0]; 20_000];
                    bytes.splice(at..at, many);
                }
                _ => {
                    let byte = u8::try_from(self.below(256)).unwrap();
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
            }
        }
    }

    /// One of these, damaged.
    fn damaged(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        self.damage(&mut bytes);
        bytes
    }
}

fn number(name: &str, ordinary: u64) -> u64 {
    std::env::var(name).map_or(ordinary, |text| text.parse().unwrap())
}

/// Runs rounds for a while, and at least `least` of them.
fn rounds(least: u64, mut round: impl FnMut(&mut Random)) {
    let seed = number("TW_FUZZ_SEED", 1);
    let time = Duration::from_secs(number("TW_FUZZ_SECONDS", 1));
    let begun = Instant::now();
    for index in 1.. {
        let mut random = Random((seed << 32 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let done = catch_unwind(AssertUnwindSafe(|| round(&mut random)));
        assert!(done.is_ok(), "TW_FUZZ_SEED={seed}, round {index}");
        if index >= least && begun.elapsed() > time {
            return;
        }
    }
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// A repository whose ids have thirty-two bytes, with a snapshot.
fn sha256() -> Sandbox {
    eventful_in(Sandbox::of(Kind::SHA256)).0
}

#[test]
fn stat_caches() {
    let seeds = [eventful().0, sha256()].map(|sandbox| read(sandbox.path(".git/timewarp/cache")));
    assert!(seeds.iter().all(|good| parsers::stat_cache(good)));
    let mut sound = 0;
    rounds(2000, |random| {
        let bytes = random.damaged(&seeds);
        sound += usize::from(if random.below(8) > 0 {
            parsers::sealed_stat_cache(&bytes)
        } else {
            parsers::stat_cache(&bytes)
        });
    });
    assert!(sound > 0, "nothing got past the checks");
}

#[test]
fn state_and_journal() {
    let (sandbox, _, _) = in_the_past();
    let mut seeds = vec![read(sandbox.path(".git/timewarp/state.json"))];
    walk(&sandbox.path(".git/timewarp/undo"), &mut |path| {
        seeds.push(read(path));
    });
    assert!(seeds.len() > 1);
    assert!(parse_versioned::<State>(&seeds[0], 1, "state").is_ok());
    assert!(parse_versioned::<Journal>(&seeds[1], 1, "journal").is_ok());
    rounds(2000, |random| {
        parsers::state(&random.damaged(&seeds));
    });
}

#[test]
fn snapshot_records_and_commits() {
    let (sandbox, id) = eventful();
    let name = format!("refs/timewarp/snapshots/{id}");
    let commit = sandbox.git(["cat-file", "commit", &name]).into_bytes();
    let long = sandbox.git(["cat-file", "commit", "HEAD"]).into_bytes();
    let good = RawCommit::parse(&commit).unwrap();
    assert!(SnapshotRecord::from_message(&good.message, "good").is_ok());
    let seeds = [commit, long];
    rounds(2000, |random| {
        parsers::records(&random.damaged(&seeds));
    });
}

#[test]
fn shared_records() {
    use serde_json::json;
    use timewarp::env::Moment;
    use timewarp::ops::sharing::fields::{Fields, Kind};
    use timewarp::ops::sharing::record::{Author, Shared};
    let edited = |by: &str, symptom: &str, from: &Shared| {
        let author = Author {
            by: by.to_owned(),
            name: Some("n".to_owned()),
        };
        let mut fields = Fields::new();
        fields.insert("symptom".to_owned(), json!(symptom));
        fields.insert("comments/c".to_owned(), json!({"id": "c", "text": symptom}));
        let mut shared = from.clone();
        shared.edit([(&fields, Moment::of_seconds(1_772_292_600))], &author);
        assert!(shared.says(&fields));
        (shared, author)
    };
    let (first, author) = edited("a", "one", &Shared::default());
    let (one, other) = (edited("a", "two", &first).0, edited("b", "three", &first).0);
    let mut deleted = first.clone();
    deleted.delete(Moment::of_seconds(1_772_292_601), &author);
    let both = one.merge(&other);
    let all = both.merge(&deleted);
    let bytes = |shared: &Shared| shared.encode(Kind::Issue, "i_20260228_153012_ab12cd");
    let seeds = [first, both, all, deleted].map(|shared| bytes(&shared));
    rounds(2000, |random| parsers::shared(&random.damaged(&seeds)));
}

#[test]
fn claims_of_other_tools() {
    use serde_json::json;
    let about = json!({"schema_version": "authorship/3.0.0", "sessions": {"s_1": {"agent_id": {
        "tool": "cursor", "id": "1", "model": "m"}}}, "humans": {"h_1": {"author": "n"}}});
    let log = format!("a.txt\n  s_1::t_1 1-4,7\n\"my file.txt\"\n  h_1 2\n---\n{about:#}");
    let record = json!({"version": "0.1.0", "vcs": {"type": "git", "revision": "0".repeat(40)},
        "tool": {"name": "amp"}, "files": [{"path": "a.txt", "conversations": [{
        "contributor": {"type": "ai"}, "ranges": [{"start_line": 1, "end_line": 9}]}]}]});
    let seeds = [log, record.to_string(), format!("{record:#}")].map(String::into_bytes);
    rounds(2000, |random| parsers::claims(&random.damaged(&seeds)));
}

#[test]
fn what_a_watcher_says() {
    let token = Token {
        instance: [3; 16],
        sequence: 77,
    };
    let cache = cache::Identity::parse([5; cache::Identity::SIZE]);
    let answer = Answer {
        nonce: [9; 16],
        now: token,
        place: Place::default(),
        cache,
        dirty: Some(Dirty::from([
            (Vec::new(), Depth::Names),
            (b"some/dir".to_vec(), Depth::Tree),
        ])),
    };
    let about = About {
        at: 1,
        apart: vec![b"nested".to_vec()],
        owner: (1, 2),
        meta: cache::Meta::default(),
    };
    let room = tempfile::tempdir().unwrap();
    let cache = cache.unwrap();
    let seen = Seen {
        token,
        cache,
        about,
    };
    seen.save(room.path()).unwrap();
    let nonce = [1; 16];
    let seeds = [
        answer.encode()[4..].to_vec(),
        Request::Since { nonce, token }.encode().to_vec(),
        Request::Stop { nonce }.encode().to_vec(),
        std::fs::read(room.path().join(seen::FILE)).unwrap(),
        b"31 1 8:1 / /work\\040tree/a rw - ext4 /dev/sda1 rw\n".to_vec(),
    ];
    rounds(2000, |random| parsers::watcher(&random.damaged(&seeds)));
}

#[test]
fn names_addresses_and_patterns() {
    let seeds: Vec<Vec<u8>> = [
        "s_20260228_153012_ab12cd",
        "latest~2",
        "issue:i_20260228_153012_ab12cd",
        "checkpoint:3",
        "claude-1:7",
        "label:before-refactor",
        "2h ago",
        "yesterday",
        "2026-02-28T15:30:12+01:00",
        "last monday",
        "present",
        "session",
        "refs/timewarp/snapshots/s_20260228_153012_ab12cd",
        "refs/notes/timewarp/sessions/x-0123456789abcdef",
        "tw travel-abc 123 456\n",
        "!/a/**/b[!a-z]*?.txt ",
        "[[:alpha:]\\]",
        "d/e/c",
        "%00%ff",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    rounds(5000, |random| {
        let bytes = random.damaged(&seeds);
        parsers::names(&bytes);
        parsers::patterns(&bytes);
    });
}

#[test]
fn trees() {
    let (sandbox, id) = eventful();
    let of = |spec: &str| {
        let mut command = sandbox.command("git");
        command
            .args(["cat-file", "tree", spec])
            .output()
            .unwrap()
            .stdout
    };
    let name = format!("refs/timewarp/snapshots/{id}");
    let other = sha256();
    let mut command = other.command("git");
    let command = command.args(["cat-file", "tree", "HEAD^{tree}"]);
    let seeds = [
        of(&format!("{name}^{{tree}}")),
        of(&format!("{name}:dir")),
        of("HEAD^{tree}"),
        command.output().unwrap().stdout,
    ];
    rounds(2000, |random| {
        parsers::tree(&random.damaged(&seeds));
    });
}

/// Everything under a git directory's `objects`, and the ids that are in it.
fn objects(sandbox: &Sandbox, pattern: &str) -> (Vec<PathBuf>, Vec<Oid>) {
    let mut files = Vec::new();
    walk(&sandbox.path(".git/objects"), &mut |path| {
        if path.is_file() && path.to_string_lossy().contains(pattern) {
            files.push(path.to_owned());
        }
    });
    files.sort();
    let listed = sandbox.git([
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ]);
    let oids = listed.lines().map(|line| Oid::from_hex(line).unwrap());
    (files, oids.collect())
}

#[test]
fn packs_their_indexes_and_loose_objects() {
    let (sandbox, _) = eventful();
    // Versions of one file that are worth a delta.
    for version in 0..4 {
        sandbox.write(
            "long.txt",
            format!("{}{version}\n", "a line like any other\n".repeat(200)),
        );
        taken(&sandbox);
    }
    let loose = objects(&sandbox, "/objects/");
    damage_objects(&sandbox, &loose.0, &loose.1);
    sandbox.git(["repack", "-a", "-d", "-q", "--depth=10", "--window=10"]);
    let packed = objects(&sandbox, "pack-");
    assert!(packed.0.len() >= 2);
    damage_objects(&sandbox, &packed.0, &packed.1);
    let other = sha256();
    other.git(["repack", "-a", "-d", "-q"]);
    let packed = objects(&other, "pack-");
    damage_objects(&other, &packed.0, &packed.1);
}

fn damage_objects(sandbox: &Sandbox, files: &[PathBuf], oids: &[Oid]) {
    rounds(60, |random| {
        let path = &files[random.below(files.len())];
        let good = read(path);
        let mut bad = good.clone();
        random.damage(&mut bad);
        let _ = std::fs::remove_file(path);
        std::fs::write(path, &bad).unwrap();
        parsers::read_objects(&sandbox.path(".git"), oids);
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, &good).unwrap();
    });
    assert_eq!(
        parsers::read_objects(&sandbox.path(".git"), oids),
        oids.len()
    );
}

#[test]
fn indexes() {
    let seeds = [eventful().0, sha256()].map(|sandbox| read(sandbox.path(".git/index")));
    rounds(500, |random| parsers::index(&random.damaged(&seeds)));
}

#[test]
fn loose_objects_and_packs_of_any_name() {
    let mut seeds: Vec<Vec<u8>> = vec![vec![1, 0, 0]];
    for (form, sandbox) in [(0, eventful().0), (2, sha256())] {
        let loose = objects(&sandbox, "/objects/").0;
        seeds.extend(loose.iter().map(|path| [vec![form], read(path)].concat()));
        sandbox.git(["repack", "-a", "-d", "-q"]);
        let packed = objects(&sandbox, "pack-").0;
        let of = |end: &str| {
            let file = packed.iter().find(|path| path.extension().unwrap() == end);
            read(file.unwrap())
        };
        let (idx, pack) = (of("idx"), of("pack"));
        let length = u16::try_from(idx.len()).unwrap().to_le_bytes().to_vec();
        seeds.push([vec![form + 1], length, idx, pack].concat());
    }
    rounds(200, |random| parsers::objects(&random.damaged(&seeds)));
}

#[test]
fn configurations() {
    let text = "[core]\n\tbare = false\n\tignorecase = true\n\texcludesFile = \"~/x\"\n[include]\n\tpath = other\n\
        [includeIf \"gitdir:~/w*/**/[a-z]\"]\n\tpath = ./more\n[extensions]\n\tworktreeConfig = true\n";
    let seeds = [text.as_bytes().to_vec()];
    rounds(200, |random| parsers::config(&random.damaged(&seeds)));
}

#[test]
fn transcripts() {
    let mut seeds = Vec::new();
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, kind);
        talk.turn("one", 1000);
        talk.calls("c1");
        talk.results("c1");
        talk.turn("two", 2000);
        seeds.push(talk.bytes());
    }
    rounds(200, |random| parsers::transcript(&random.damaged(&seeds)));
}

#[test]
fn texts_with_secrets() {
    let seeds = [
        "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY\npostgres://u:p4ssw0rd1@host/db\n",
        "{\"token\": \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\", \"n\": [1, \"Bearer abcdef0123456789\"]}\n",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n",
    ];
    let seeds = seeds.map(|text| text.as_bytes().to_vec());
    rounds(100, |random| parsers::redact(&random.damaged(&seeds)));
}

#[test]
fn every_target_calls_a_parser_that_is_fuzzed_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (here, parsers) = (include_str!("fuzz.rs"), include_str!("fuzz/parsers.rs"));
    let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
    let mut targets = 0;
    for entry in std::fs::read_dir(root.join("fuzz/fuzz_targets")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let called = text.split("timewarp_fuzz::").nth(1).unwrap();
        let called = called.split('(').next().unwrap();
        assert!(parsers.contains(&format!("pub fn {called}(")), "{called}");
        assert!(here.contains(&format!("parsers::{called}(")), "{called}");
        let file = path.file_name().unwrap().to_string_lossy();
        assert!(
            manifest.contains(&format!("\"fuzz_targets/{file}\"")),
            "{file}"
        );
        targets += 1;
    }
    assert_eq!(manifest.matches("[[bin]]").count(), targets);
}

#[test]
fn packed_refs_and_loose_ones() {
    let (sandbox, id) = eventful_as(Kind::ref_files());
    sandbox.json(["label", &id, "name"]);
    sandbox.git(["tag", "-a", "-m", "t", "v1"]);
    sandbox.git(["pack-refs", "--all"]);
    let packed = sandbox.path(".git/packed-refs");
    let loose = sandbox.path(".git/refs/timewarp/snapshots/s_20260101_000000_abcdef");
    std::fs::create_dir_all(loose.parent().unwrap()).unwrap();
    let good = read(&packed);
    let refs = Refs::new(sandbox.path(".git"), sandbox.path(".git"), RefFormat::Files);
    let known = refs.names("refs/").unwrap();
    let seeds = [
        format!("{}\n", "1".repeat(40)).into_bytes(),
        b"ref: refs/heads/main\n".to_vec(),
    ];
    rounds(300, |random| {
        let mut bytes = good.clone();
        random.damage(&mut bytes);
        parsers::packed_refs(&bytes);
        std::fs::write(&packed, &bytes).unwrap();
        std::fs::write(&loose, random.damaged(&seeds)).unwrap();
        for name in &known {
            let _ = refs.read(name);
        }
        let _ = refs.list("refs/timewarp/");
        if let Ok(names) = refs.names("refs/") {
            for name in names {
                let _ = refs.read(&name);
            }
        }
    });
}

#[test]
fn reftables() {
    let sandbox = Sandbox::of(Kind::of_all().with_reftable());
    let (one, two) = ("refs/heads/one", "refs/heads/two");
    sandbox.git(["branch", "one"]);
    sandbox.git(["tag", "-a", "-m", "t", "v1"]);
    sandbox.git(["symbolic-ref", two, one]);
    sandbox.git(["branch", "-D", "one"]);
    let whole = |more: &str| {
        sandbox.git_in(
            sandbox.repo(),
            ["update-ref", "--create-reflog", more, "HEAD"],
        );
        sandbox.git(["pack-refs", "--all"]);
        let list = sandbox.text(".git/reftable/tables.list");
        read(sandbox.path(".git/reftable").join(list.trim()))
    };
    let small = whole("refs/timewarp/snapshots/s_20260228_153012_ab12cd");
    let names = (0..400).map(|n| format!("create refs/much/more/of/them/{n} HEAD\n"));
    let mut many = sandbox.command("git");
    many.args(["update-ref", "--stdin"])
        .write_stdin(names.collect::<String>());
    many.assert().success();
    let seeds = [small, whole("refs/heads/again")];
    for seed in &seeds {
        parsers::reftable(seed);
    }
    rounds(300, |random| parsers::reftable(&random.damaged(&seeds)));
}

/// Whole commands over damaged files: an answer or an error, and the working tree is not touched.
fn commands(sandbox: &Sandbox, files: &[PathBuf], args: &[&[&str]]) {
    let before = sandbox.state();
    rounds(12, |random| {
        let path = &files[random.below(files.len())];
        let good = read(path);
        std::fs::write(path, random.damaged(std::slice::from_ref(&good))).unwrap();
        for args in args {
            let ran = sandbox.tw([&["--json"], *args].concat());
            assert!(ran.code < 100, "{args:?}: {}", ran.err());
            document(&ran);
        }
        std::fs::write(path, good).unwrap();
    });
    before.assert_same(&sandbox.state());
}

#[test]
fn the_teams_configuration() {
    let sandbox = Sandbox::new();
    let text = "exclude = [\"*.tmp\", \"a/**\"]\ninclude = [\".env\"]\nkeep_days = 20\nmax_file_size = \"5m\"\n[other]\nx = 1\n";
    sandbox.write(".timewarp/config.toml", text);
    let file = sandbox.path(".timewarp/config.toml");
    commands(&sandbox, &[file], &[&["config"], &["snapshot"]]);
}

#[test]
fn the_files_of_a_merge_and_of_a_rebase() {
    let (sandbox, _) = eventful();
    let of_merge = [
        "MERGE_HEAD",
        "MERGE_MSG",
        "MERGE_MODE",
        "AUTO_MERGE",
        "ORIG_HEAD",
    ];
    let dir = sandbox.path(".git/rebase-merge");
    std::fs::create_dir(&dir).unwrap();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let todo = format!("pick {} a subject\nexec true\n", head.trim());
    for (name, text) in [
        ("git-rebase-todo", &*todo),
        ("done", &*todo),
        ("onto", &*head),
        ("orig-head", &*head),
    ] {
        std::fs::write(dir.join(name), text).unwrap();
    }
    let mut files: Vec<PathBuf> = of_merge
        .iter()
        .map(|name| sandbox.path(".git").join(name))
        .collect();
    files.extend(["git-rebase-todo", "done", "onto"].map(|name| dir.join(name)));
    files.retain(|path| path.is_file());
    assert!(files.len() > 4);
    commands(&sandbox, &files, &[&["snapshot"]]);
}
