//! With a watcher and without: the same trees, whatever is done, however quickly.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::*;

/// A generator of its own: the same steps in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

/// Does something to the tree.
fn change(watched: &Watched, random: &mut Random) {
    let dir = |random: &mut Random| format!("d{}", random.below(6));
    let (from, to) = (dir(random), dir(random));
    let file = format!("{from}/f{}", random.below(5));
    let path = |path: &str| watched.path(path);
    // Most of these fail now and then: what is not there cannot be moved.
    let mv = |a: &str, b: &str| drop(fs::rename(path(a), path(b)));
    match random.below(14) {
        0 => watched.write(&file, random.below(1000).to_string()),
        1 => drop(fs::remove_file(path(&file))),
        2 => mv(&file, &format!("{to}/f{}", random.below(5))),
        3 => mv(&from, &format!("{to}/sub")),
        4 => mv(&format!("{from}/sub"), &to),
        5 => drop(fs::remove_dir_all(path(&from))),
        6 => watched.write(format!("{from}/sub/deep/er/f{}", random.below(3)), "new\n"),
        7 => drop(fs::hard_link(path(&file), path(&format!("{to}/link")))),
        8 => drop(std::os::unix::fs::symlink("f1", path(&format!("{from}/s")))),
        9 if path(&file).is_file() => watched.chmod(&file, 0o755),
        10 => {
            // The same size, and the time that it had.
            let script = format!(
                "cp -p {file} ../tmp/t; printf x | dd of={file} conv=notrunc; touch -r ../tmp/t {file}"
            );
            let _ = watched.sandbox.command("sh").args(["-c", &script]).output();
        }
        11 => {
            // A directory comes from outside, with what is in it, or goes there.
            let outside = watched.root().join("tmp/outside");
            if outside.exists() {
                drop(fs::rename(&outside, path(&to)));
            } else {
                drop(fs::rename(path(&from), &outside));
            }
        }
        12 => {
            let _ = watched.try_git(["checkout", "-q", "--", "."]);
        }
        _ => drop(append(&path(&file))),
    }
}

fn append(file: &Path) -> std::io::Result<()> {
    fs::OpenOptions::new()
        .append(true)
        .open(file)?
        .write_all(b"more\n")
}

#[test]
fn what_it_leaves_out_is_as_it_was() {
    let rounds = std::env::var("TW_WATCH_ROUNDS").map_or(40, |text| text.parse().unwrap());
    let seed = std::env::var("TW_WATCH_SEED").map_or(7, |text| text.parse().unwrap());
    let sandbox = Sandbox::unborn();
    for dir in 0..6 {
        for file in 0..5 {
            sandbox.write(format!("d{dir}/f{file}"), format!("{dir} {file}\n"));
        }
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    let watched = Watched::start(sandbox, &[]);
    let mut random = Random(seed);
    for round in 0..rounds {
        for _ in 0..=random.below(4) {
            change(&watched, &mut random);
        }
        watched.check();
        // Now and then there is time for it to catch up, and something that stays as it is.
        if round % 4 == 0 {
            std::thread::sleep(Duration::from_millis(20));
            watched.check();
        }
    }
    let status = watched.status();
    assert_eq!(status["state"], "running", "{status}");
    let [asked, unanswered] = ["asked", "unanswered"].map(|name| status[name].as_u64().unwrap());
    assert!(unanswered * 2 < asked, "{status}");
}

#[test]
#[expect(unsafe_code, reason = "a memory map of a file of the test's own")]
fn a_store_into_a_map_is_seen_once_the_map_is_gone_and_before_when_the_file_was_written() {
    let watched = Watched::start(settled(), &[]);
    let open = |file: &str| {
        let options = fs::OpenOptions::new().read(true).write(true).clone();
        options.open(watched.path(file)).unwrap()
    };
    let modified = |file: &str| {
        fs::metadata(watched.path(file))
            .unwrap()
            .modified()
            .unwrap()
    };
    // Opened, mapped, closed, stored into, unmapped: only the last tells.
    let file = open("d1/f1");
    // SAFETY: nobody cuts it off.
    let mut map = unsafe { memmap2::MmapMut::map_mut(&file).unwrap() };
    drop(file);
    let before = modified("d1/f1");
    map[0] = b'#';
    drop(map);
    // Not on a tmpfs: there stamps do not tell of it, with a watcher or without.
    let is_stamped = modified("d1/f1") != before;
    let look = || {
        if is_stamped {
            watched.check()
        } else {
            watched.take().1
        }
    };
    assert!((1..100).contains(&look()));
    // Written and mapped: its directory is looked at as long as that lasts.
    let file = open("d2/f2");
    file.write_all_at(b"!", 1).unwrap();
    // SAFETY: as above.
    let mut map = unsafe { memmap2::MmapMut::map_mut(&file).unwrap() };
    look();
    settle();
    assert!((1..100).contains(&look()));
    map[0] = b'#';
    map.flush().unwrap();
    assert!((1..100).contains(&look()));
    drop((map, file));
    look();
    settle();
    look();
    assert_eq!(watched.take().1, 0);
}

/// A file that somebody has open got another name, and lost the one by which it was opened.
#[test]
fn a_descriptor_goes_on_under_a_name_that_is_gone() {
    let watched = Watched::start(settled(), &[]);
    let pid = watched.pid();
    let outside = watched.root().join("tmp/outside");
    fs::create_dir(watched.path("tmp")).unwrap();
    let cases = [
        (watched.path("tmp/t"), "d1/linked"),
        (outside.clone(), "d2/linked"),
        // In a directory that is new itself.
        (watched.path("d0/t"), "new/linked"),
    ];
    let mut open = Vec::new();
    for (first, second) in &cases {
        watched.take();
        signal_to(pid, "STOP");
        let mut file = fs::File::create(first).unwrap();
        file.write_all(b"begin\n").unwrap();
        let second = watched.path(second);
        fs::create_dir_all(second.parent().unwrap()).unwrap();
        fs::hard_link(first, &second).unwrap();
        fs::remove_file(first).unwrap();
        signal_to(pid, "CONT");
        watched.check();
        watched.check();
        file.write_all(b"middle\n").unwrap();
        watched.check();
        open.push(file);
    }
    // The new name was opened as well, and closed.
    append(&watched.path("d1/linked")).unwrap();
    watched.check();
    fs::rename(watched.path("d2"), watched.path("d2-moved")).unwrap();
    watched.check();
    watched.check();
    for mut file in open {
        file.write_all(b"end\n").unwrap();
        watched.check();
    }
    assert!(watched.text("d2-moved/linked").ends_with("end\n"));
    // Names that were made by others hold no directory for long.
    std::os::unix::fs::symlink("f1", watched.path("d3/symlink")).unwrap();
    watched.write("d4/made", "and closed\n");
    for linked in ["d1/linked", "d2-moved/linked", "new/linked"] {
        watched.remove(linked);
    }
    watched.check();
    watched.follow();
    settle();
    watched.take();
    assert_eq!(watched.take().1, 0);
}

/// Which containers do. The system tells of its writes where it is itself.
#[test]
fn a_file_that_is_mounted_over_one_of_the_tree_is_looked_at() {
    let watched = Watched::of(Sandbox::new());
    let script = r#"mount --bind "$1" a.txt && "$0" watch start && "$0" -q snapshot && "$0" -q snapshot &&
        echo through >a.txt && "$0" -q snapshot && "$0" watch stop"#;
    let outside = watched.root().join("tmp/outside");
    std::fs::write(&outside, "outside\n").unwrap();
    let mut inside = watched.command("unshare");
    inside
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .args([env!("CARGO_BIN_EXE_tw").as_ref(), outside.as_os_str()])
        .env("TW_TEST_WATCH_PATIENCE", "20000");
    let output = inside.output().unwrap();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("unshare:") || said.contains("mount:"),
            "{said}"
        );
        skipped("watch", "no mount namespace is to be had here");
        return;
    }
    let said = String::from_utf8(output.stdout).unwrap();
    let id = said.lines().rfind(|line| line.starts_with("s_")).unwrap();
    let file = format!("refs/timewarp/snapshots/{id}:a.txt");
    assert_eq!(watched.git(["show", &file]), "through\n");
}

#[test]
fn rules_nested_repositories_and_sparse_entries_count_as_without_it() {
    let watched = Watched::start(settled(), &[]);
    let paths = |id: &str| {
        let name = format!("refs/timewarp/snapshots/{id}");
        watched.git(["ls-tree", "-r", "--name-only", &name])
    };
    // An ignore file changes what is captured in directories in which nothing happened.
    watched.write("d5/new", "untracked\n");
    watched.take();
    watched.follow();
    watched.write(".gitignore", "new\n");
    assert!(!paths(&watched.take().0).contains("d5/new"));
    watched.follow();
    watched.remove(".gitignore");
    assert!(paths(&watched.take().0).contains("d5/new"));
    // What is ignored is not watched: nothing in it is told of.
    watched.write(".gitignore", "out/\n");
    watched.write("out/a/b", "built\n");
    watched.take();
    watched.follow();
    let before = watched.status()["directories"].clone();
    watched.write("out/c/d", "built\n");
    assert!(watched.take().1 < 100);
    assert_eq!(watched.status()["directories"], before);
    // A directory becomes a repository, and is none any more, by what happens inside its '.git'.
    watched.write("inner/f", "in\n");
    watched.git(["init", "-q", "inner"]);
    assert!(!paths(&watched.take().0).contains("inner/f"));
    watched.follow();
    watched.remove("inner/.git/HEAD");
    assert!(paths(&watched.take().0).contains("inner/f"));
}
