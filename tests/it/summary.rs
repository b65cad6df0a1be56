//! Long lists: what was read of a commit once is kept, and a list says the same with it, without it, and when it is wrong.

use crate::sandbox::Sandbox;

const FILE: &str = ".git/timewarp/summaries";

/// More than are read without being kept.
const COUNT: usize = 90;

/// Copies of a snapshot under other ids: ref and commit of each.
pub fn copies(sandbox: &Sandbox, from: &str, count: usize) -> Vec<(String, String)> {
    let text = sandbox.git([
        "cat-file",
        "commit",
        &format!("refs/timewarp/snapshots/{from}"),
    ]);
    let ids: Vec<String> = (0..count)
        .map(|n| {
            format!(
                "s_20260227_{:02}{:02}{:02}_zz{n:04}",
                n / 3600,
                n / 60 % 60,
                n % 60 / 2
            )
        })
        .collect();
    let mut paths = String::new();
    for (n, id) in ids.iter().enumerate() {
        let path = sandbox.root().join(format!("tmp/{id}"));
        let text = text.replace(from, id);
        let text = text.replace("\"seq\": 1,", &format!("\"seq\": {},", 1000 + n));
        std::fs::write(&path, text).unwrap();
        paths += &format!("{}\n", path.display());
    }
    let made = fed(
        sandbox,
        &["hash-object", "-t", "commit", "-w", "--stdin-paths"],
        &paths,
    );
    let refs = ids.iter().map(|id| format!("refs/timewarp/snapshots/{id}"));
    let made: Vec<_> = refs.zip(made.lines().map(str::to_owned)).collect();
    let creations = made
        .iter()
        .map(|(name, commit)| format!("create {name} {commit}\n"));
    fed(
        sandbox,
        &["update-ref", "--stdin"],
        &creations.collect::<String>(),
    );
    made
}

/// What git answers to this input.
fn fed(sandbox: &Sandbox, args: &[&str], input: &str) -> String {
    let mut git = sandbox.command("git");
    let output = git.args(args).write_stdin(input).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with many snapshots.
fn many() -> (Sandbox, Vec<(String, String)>) {
    let sandbox = Sandbox::new();
    let first = crate::stage::taken(&sandbox);
    let made = copies(&sandbox, &first, COUNT);
    (sandbox, made)
}

const FACES: [&[&str]; 5] = [
    &["--json", "list"],
    &["--json", "list", "--all"],
    &["--json", "list", "-n", "101"],
    &["list", "-v"],
    &["-q", "list"],
];

fn face(sandbox: &Sandbox, args: &[&str]) -> String {
    let mut command = sandbox.tw_command();
    let command = command
        .env("TW_TEST_NOW", "2026-04-01T00:00:00Z")
        .args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    format!(
        "{:?} {:?}",
        String::from_utf8(output.stdout),
        String::from_utf8(output.stderr)
    )
}

fn faces(sandbox: &Sandbox) -> Vec<String> {
    FACES.iter().map(|args| face(sandbox, args)).collect()
}

/// The same, each read from the objects.
fn faces_read_anew(sandbox: &Sandbox) -> Vec<String> {
    let anew = |args: &&[&str]| {
        if sandbox.exists(FILE) {
            sandbox.remove(FILE);
        }
        face(sandbox, args)
    };
    FACES.iter().map(anew).collect()
}

/// Objects that a plain list reads.
fn reads(sandbox: &Sandbox) -> u64 {
    let file = sandbox.root().join("tmp/work");
    let mut command = sandbox.tw_command();
    let output = command
        .env("TW_TEST_WORK", &file)
        .arg("list")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("object_reads "));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_long_list_reads_each_commit_once() {
    let (sandbox, _) = many();
    let count = COUNT as u64 + 1;
    assert_eq!(reads(&sandbox), count);
    assert_eq!(reads(&sandbox), 0);
    // A few more are no reason to write everything again.
    sandbox.ok(["snapshot"]);
    assert_eq!([reads(&sandbox), reads(&sandbox)], [1, 1]);
    // A short list leaves it alone.
    sandbox.remove(FILE);
    sandbox.ok(["list", "-n", "95"]);
    assert!(!sandbox.exists(FILE));
}

#[test]
fn a_long_list_says_the_same_however_its_summaries_are_damaged() {
    let (sandbox, _) = many();
    let truth = faces_read_anew(&sandbox);
    assert!(truth[0].contains("zz0089"), "{}", truth[0]);
    // The short way to read them all.
    let short = face(&sandbox, &["--json", "list", "-n", "100"]);
    assert_eq!([&short, &short], [&truth[0], &truth[2]]);
    assert_eq!(faces(&sandbox), truth, "with the summaries");
    let good = sandbox.read(FILE);
    let length = good.len();
    for place in [0, 7, 8, 12, 16, 40, 60, length / 2, length - 1] {
        let mut bad = good.clone();
        bad[place] ^= 0x21;
        sandbox.write(FILE, &bad);
        assert_eq!(faces(&sandbox), truth, "byte {place} of {length} is wrong");
    }
    for length in [0, 5, 8, 10, 17, length / 3, length - 1] {
        sandbox.write(FILE, &good[..length]);
        assert_eq!(faces(&sandbox), truth, "cut after {length} bytes");
    }
    let twice = [&good[..], &good[8..]].concat();
    let more = [&good[..], b"and more that means nothing"].concat();
    for bad in [&twice, &more] {
        sandbox.write(FILE, bad);
        assert_eq!(faces(&sandbox), truth);
    }
    sandbox.remove(FILE);
    sandbox.mkdir(FILE);
    assert_eq!(faces(&sandbox), truth, "it cannot be written");
}

#[test]
fn stale_summaries_are_not_believed() {
    let (sandbox, made) = many();
    faces(&sandbox);
    let old = sandbox.read(FILE);
    let check = |what: &str| {
        let truth = faces_read_anew(&sandbox);
        sandbox.write(FILE, &old);
        assert_eq!(faces(&sandbox), truth, "{what}");
        truth
    };
    sandbox.ok(["label", "s_20260227_000000_zz0001", "moved"]);
    assert!(check("a label")[0].contains("moved"));
    sandbox.ok(["label", "--remove", "moved"]);
    assert!(!check("no label")[0].contains("moved"));
    sandbox.ok(["-y", "drop", "s_20260227_000000_zz0000"]);
    assert!(!check("one less")[0].contains("zz0000"));
    sandbox.ok(["snapshot", "-m", "a new one"]);
    assert!(check("one more")[0].contains("a new one"));
    // The record of another under this name.
    sandbox.git(["update-ref", &made[2].0, &made[3].1]);
    assert!(check("a moved ref")[0].contains("its record says"));
    if !sandbox.has_reftable() {
        sandbox.write(format!(".git/{}", made[4].0), "nonsense\n");
        assert!(check("a broken ref")[0].contains("is broken"));
    }
    let (fan, rest) = made[5].1.split_at(2);
    sandbox.remove(format!(".git/objects/{fan}/{rest}"));
    assert!(check("a lost commit")[0].contains("is missing"));
    sandbox.git(["pack-refs", "--all"]);
    check("packed refs");
}

#[test]
fn packs_and_packed_refs_are_listed_alike() {
    let (sandbox, _) = many();
    let truth = faces_read_anew(&sandbox);
    sandbox.git(["pack-refs", "--all"]);
    assert_eq!(faces_read_anew(&sandbox), truth);
    sandbox.git(["gc", "-q", "--prune=now"]);
    assert_eq!(faces(&sandbox), truth);
    assert_eq!(faces_read_anew(&sandbox), truth);
}

#[test]
fn purge_leaves_nothing_of_the_records_it_rewrites() {
    let (sandbox, made) = many();
    sandbox.ok(["list"]);
    sandbox.write("secret.txt", "hidden\n");
    sandbox.ok(["snapshot"]);
    let kept = sandbox.read(FILE);
    assert!(!kept.is_empty(), "{} snapshots", made.len());
    sandbox.ok(["purge", "--yes-purge", "secret.txt"]);
    assert!(!sandbox.exists(FILE));
}
