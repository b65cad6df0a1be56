//! What the present had and left out of its backup is there after the return as it was, whatever the rules of the past say of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::provided::skipped;
use crate::sandbox::{Sandbox, is_root};
use crate::trip::{mode, snapshot, stored};

/// A present that leaves something out, and the past that it is left for.
struct Case {
    name: &'static str,
    /// Before the snapshot that is travelled to.
    past: &'static str,
    /// After it: what the present has.
    present: &'static str,
    /// In the past.
    meanwhile: &'static str,
    /// In the present again: what was done to things of the present by hand.
    afterwards: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "an ignore file that ignores itself",
        past: "",
        present: r"mkdir -p env/lib; printf '*\n' >env/.gitignore; echo c >env/lib/m.py; echo '*.o' >.gitignore",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "the same, in use",
        past: "",
        present: r"mkdir -p env/lib/__pycache__; printf '*\n' >env/.gitignore; echo c >env/lib/m.py
            echo c >env/lib/__pycache__/m.pyc; echo '*.o' >.gitignore",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "the team's exclude",
        past: "",
        present: r#"mkdir .timewarp data; echo 'exclude = ["data/"]' >.timewarp/config.toml; git add -f .timewarp
            git commit -qm cfg; echo big >data/set.csv; echo 2 >a.txt"#,
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "a submodule that lost its repository",
        past: "",
        present: r"git init -q --template= lib; echo code >lib/code.c; git -C lib add .; git -C lib commit -qm l
            git add lib; git commit -qm lib; rm -rf lib/.git; echo more >lib/more.c",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "a submodule at an ignored path",
        past: "echo 'dist/' >.gitignore; git add -A; git commit -qm base",
        present: r"git init -q --template= dist; echo 1 >dist/a; git -C dist add .; git -C dist commit -qm s
            git add -f dist; git commit -qm sub; echo unpushed >dist/work",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "a rule of this repository alone, gone in the past",
        past: "",
        present: "mkdir -p .git/info; echo prod.env >>.git/info/exclude; echo KEY >prod.env; echo 2 >a.txt",
        meanwhile: ": >.git/info/exclude",
        afterwards: "",
    },
    Case {
        name: "the user's exclude, gone in the past",
        past: "",
        present: "git config timewarp.exclude 'raw/'; mkdir raw; echo r >raw/r; echo 2 >a.txt",
        meanwhile: "git config --unset timewarp.exclude",
        afterwards: "",
    },
    Case {
        name: "an include that came in the past",
        past: "",
        present: "echo '*.env' >.gitignore; echo KEY >prod.env; mkdir node_modules; echo n >node_modules/n",
        meanwhile: "git config timewarp.include 'prod.env'; git config timewarp.defaultExcludes false",
        afterwards: "",
    },
    Case {
        name: "a nested repository, none in the past any more",
        past: "",
        present: "git init -q --template= n; echo n >n/f; echo 2 >a.txt",
        meanwhile: "mv n/.git ../elsewhere.git",
        afterwards: "mv ../elsewhere.git n/.git",
    },
    Case {
        name: "what no snapshot could have, on both sides",
        past: "git config timewarp.maxFileSize 1k; git init -q --template= n; echo n >n/f; head -c 3000 /dev/zero >big; mkfifo pipe",
        present: "echo 2 >a.txt",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "an empty directory that is ignored",
        past: "mkdir tmp",
        present: "echo 'tmp/' >.gitignore",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "an empty directory in one that is ignored",
        past: "mkdir -p n/e",
        present: "echo n >.gitignore",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "the same, by a rule of this repository alone",
        past: "mkdir -p n/e",
        present: "mkdir -p .git/info; echo n >.git/info/exclude",
        meanwhile: ":",
        afterwards: "",
    },
    Case {
        name: "settings of the past that leave out what the present has",
        past: "mkdir .timewarp data; echo \"exclude = ['data/']\" >.timewarp/config.toml; git add -f .timewarp; git commit -qm cfg",
        present: "echo 'exclude = []' >.timewarp/config.toml; echo 1 >data/x; git commit -qam cfg2",
        meanwhile: ":",
        afterwards: "",
    },
    Case {
        name: "a rule that came in the past for what the present has saved",
        past: "echo 1 >t.o",
        present: "echo 2 >a.txt",
        meanwhile: "mkdir -p .git/info; echo '*.o' >>.git/info/exclude",
        afterwards: "",
    },
    Case {
        name: "what rules leave out, made in an empty directory",
        past: "mkdir logs",
        present: "echo 2 >a.txt",
        meanwhile: "mkdir logs/sub; echo 1 >logs/sub/m.log",
        afterwards: "rm -r logs/sub",
    },
    Case {
        name: "a repository made over files of the present",
        past: "mkdir env; echo 1 >env/lib",
        present: "echo 2 >a.txt",
        meanwhile: "git init -q --template= env",
        afterwards: "rm -rf env/.git",
    },
    Case {
        name: "an include in an ignored directory with tracked files",
        past: "git config timewarp.include '*.env'; mkdir a; echo 1 >a/x; git add a; git commit -qm a; echo 'a/' >.gitignore",
        present: "echo 2 >a.txt",
        meanwhile: "echo K >a/k.env",
        afterwards: "",
    },
    Case {
        name: "the same, made in the present",
        past: "git config timewarp.include '*.env'; mkdir a; echo 1 >a/x; git add a; git commit -qm a; echo 'a/' >.gitignore",
        present: "echo 2 >a.txt; echo K >a/k.env",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "a smaller limit in the past",
        past: "head -c 3000 /dev/zero >big",
        present: "echo 2 >a.txt",
        meanwhile: "git config timewarp.maxFileSize 1k",
        afterwards: "",
    },
    Case {
        name: "an ignore file that ignores itself, made in the past",
        past: "mkdir out; echo 1 >out/k",
        present: "echo 2 >a.txt",
        meanwhile: r"printf '*\n' >out/.gitignore; echo new >out/new",
        afterwards: "",
    },
    Case {
        name: "the same at the top",
        past: "",
        present: "echo 2 >a.txt",
        meanwhile: r"printf '*\n' >.gitignore; echo 1 >new",
        afterwards: "",
    },
    Case {
        name: "an ignored directory that the past has files in",
        past: "mkdir -p out/deep; echo then >out/deep/x",
        present: "rm -r out; mkdir out; echo mine >out/own; echo 'out/' >.gitignore",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "empty directories of the past in what the present ignores",
        past: "mkdir -p p/q/build2/empty; echo x >p/q/build2/x",
        present: "rm -r p/q; mkdir p/build2; echo o >p/build2/o; mkdir -p .git/info; echo 'build2/' >>.git/info/exclude",
        // The rule hides them from a look at the past, too: that differs from what was travelled to.
        meanwhile: ":",
        afterwards: "",
    },
    Case {
        name: "an ignored empty directory that the past fills, tracked still",
        past: "mkdir -p p/d; echo e >p/d/e; echo x >p/x; echo '*' >p/.gitignore; git add -f p",
        present: "rm p/d/e",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "an ignored empty directory that the past fills",
        past: "mkdir -p p/d; echo e >p/d/e; echo x >p/x; echo 'p/d/' >.gitignore; git add -f p",
        present: "rm p/d/e; git rm -q --cached p/d/e",
        meanwhile: "",
        afterwards: "",
    },
    Case {
        name: "the user's exclude, made in the past, over what both sides have",
        past: "mkdir s; echo old >s/f; git add s",
        present: "echo now >s/f; echo 2 >a.txt",
        meanwhile: "git config timewarp.exclude s/",
        afterwards: "",
    },
    Case {
        name: "the same over what the present alone has",
        past: "",
        present: "mkdir s; echo now >s/f",
        meanwhile: "git config timewarp.exclude s/",
        afterwards: "",
    },
    Case {
        name: "the same over what the past alone has",
        past: "mkdir s; echo old >s/f",
        present: "rm -r s; echo 2 >a.txt",
        meanwhile: "git config timewarp.exclude s/",
        afterwards: "",
    },
    Case {
        name: "a tracked file that the user's exclude hid, and does no more",
        past: "",
        present: "echo precious >x; git add x; git config timewarp.exclude x; echo 2 >a.txt",
        meanwhile: "git config --unset timewarp.exclude",
        afterwards: "",
    },
];

pub fn sh(sandbox: &Sandbox, script: &str) {
    let output = sandbox
        .command("sh")
        .current_dir(sandbox.repo())
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "n")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "n@n")))
        .args(["-ec", script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

/// Bytes and permissions of everything in a working tree, the repository's own directory left out.
fn files(root: &Path) -> BTreeMap<String, String> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path == root.join(".git") {
                continue;
            }
            let meta = path.symlink_metadata().unwrap();
            let bytes = if meta.is_dir() {
                pending.push(path.clone());
                Vec::new()
            } else if meta.is_file() {
                std::fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let fact = format!("{:o} {}", meta.permissions().mode(), bytes.escape_ascii());
            found.insert(path.strip_prefix(root).unwrap().display().to_string(), fact);
        }
    }
    found
}

#[test]
fn it_is_there_as_it_was() {
    for case in CASES {
        for way in ["return", "hop", "undo"] {
            let sandbox = Sandbox::new();
            sh(&sandbox, case.past);
            let past = snapshot(&sandbox);
            sh(&sandbox, case.present);
            let before = files(&sandbox.repo());
            sandbox.json(["travel", &past]);
            sh(&sandbox, case.meanwhile);
            let answer = match way {
                "undo" => sandbox.json(["undo"]),
                "hop" => {
                    sandbox.json(["travel", "--hop", &past]);
                    sandbox.json(["return"])
                }
                _ => sandbox.json(["return"]),
            };
            let what = format!("{}, {way}", case.name);
            if way != "undo" {
                assert_eq!(answer["changed_since"], json!([]), "{what}: {answer}");
            }
            if case.meanwhile.is_empty() && way == "return" {
                assert_eq!(answer["experiment_id"], Value::Null, "{what}: {answer}");
                assert_eq!(answer["stayed"], json!([]), "{what}: {answer}");
            }
            // What the case itself did to files that no snapshot has.
            sh(&sandbox, case.afterwards);
            let after = files(&sandbox.repo());
            assert_eq!(before, after, "{what}");
            assert!(!sandbox.exists(".git/timewarp/unsaved.json"), "{what}");
        }
    }
}

#[test]
fn a_damaged_note_has_a_way_home() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.env\n");
    sandbox.write("prod.env", "KEY\n");
    sandbox.json(["travel", &past]);
    let noted = sandbox.path(".git/timewarp/unsaved.json");
    assert!(
        std::fs::read_to_string(&noted)
            .unwrap()
            .contains("prod.env")
    );
    std::fs::write(&noted, "{").unwrap();
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "CORRUPT_RECORD", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.starts_with("'tw recover' sets it aside"), "{error}");
    let recovered = sandbox.json(["recover"]);
    let notices = recovered["notices"].to_string();
    assert!(
        notices.contains("comes back with 'tw restore'"),
        "{notices}"
    );
    assert!(!noted.exists());
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("prod.env"), "KEY\n");
}

#[test]
fn what_the_user_s_own_exclude_hides_is_named_and_not_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.write("n.csv", "1\n");
    let past = snapshot(&sandbox);
    sandbox.git(["config", "timewarp.exclude", "*.csv"]);
    sandbox.write("n.csv", "2\n");
    for words in [&["travel", &past][..], &["restore", &past, "n.csv"]] {
        let (error, code) = sandbox.json_error(words);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("WOULD_OVERWRITE"), 5),
            "{error}"
        );
        assert_eq!(error["paths"][0], "n.csv", "{error}");
        assert!(
            error["hints"]
                .to_string()
                .contains("tw config --unset exclude"),
            "{error}"
        );
    }
    // What is as the snapshot has it need not be captured.
    sandbox.write("n.csv", "1\n");
    let same = sandbox.json(["restore", &past, "n.csv"]);
    assert_eq!(same["changes"]["written"], json!([]), "{same}");
    sandbox.json(["travel", &past]);
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("n.csv"), "1\n");
    sandbox.json(["config", "--unset", "exclude"]);
    sandbox.write("then.csv", "1\n");
    let past = snapshot(&sandbox);
    sandbox.write("n.csv", "3\n");
    sandbox.remove("then.csv");
    let home = sandbox.state();
    for (file, other) in [("n.csv", "then.csv"), ("then.csv", "n.csv")] {
        sandbox.json(["travel", &past]);
        sandbox.git(["config", "timewarp.exclude", "*.csv"]);
        // What is as the past has it is saved already.
        sandbox.write(file, "made there\n");
        let (error, _) = sandbox.json_error(["return"]);
        assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
        assert_eq!(error["paths"], json!([file]), "{error}");
        // The first hint leads home.
        let hint = error["hint"].as_str().unwrap();
        let words: Vec<&str> = hint.split(' ').skip(1).collect();
        assert_eq!(words, ["return", "--move-aside"]);
        let would = sandbox.json(["return", "--move-aside", "--dry-run"]);
        let returned = sandbox.json(words);
        assert_eq!(returned["moved_aside"], would["moved_aside"]);
        let aside = returned["moved_aside"][0]["to"].as_str().unwrap();
        assert_eq!(sandbox.text(aside), "made there\n");
        assert!(!aside.starts_with(other), "{returned}");
        sandbox.remove(aside);
        sandbox.git(["config", "--unset", "timewarp.exclude"]);
        home.assert_same(&sandbox.state());
    }
}

/// A trip that only changes files makes nothing, and all of what it makes is known all the same.
#[test]
fn what_the_present_ignores_stays_on_a_hop_to_a_past_that_has_it() {
    let sandbox = Sandbox::new();
    sandbox.write("keep", "one\n");
    sandbox.git(["add", "keep"]);
    sandbox.git(["commit", "-q", "-m", "keep"]);
    sandbox.write("data/a", "mine\n");
    let has_it = snapshot(&sandbox);
    sandbox.write(".gitignore", "data/\n");
    sandbox.write("keep", "two\n");
    let ignores_it = snapshot(&sandbox);
    sandbox.write("keep", "three\n");
    let home = sandbox.state();
    for hops in [
        &[&has_it][..],
        &[&has_it, &ignores_it],
        &[&has_it, &ignores_it, &has_it],
    ] {
        sandbox.json(["travel", &ignores_it]);
        for to in hops {
            sandbox.json(["travel", "--hop", to]);
            assert_eq!(sandbox.text("data/a"), "mine\n");
        }
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn what_changed_beside_what_a_trip_wrote_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("data/s", "one\n");
    let past = snapshot(&sandbox);
    sandbox.json(["config", "exclude", "data/"]);
    sandbox.write("data/a", "one\n");
    sandbox.remove("data/s");
    sandbox.json(["travel", &past]);
    assert_eq!(sandbox.text("data/s"), "one\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["stayed"], json!([]), "{returned}");
    sandbox.json(["travel", &past]);
    sandbox.write("data/a", "two\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["stayed"], json!(["data"]), "{returned}");
    sandbox.json(["travel", &past]);
    sandbox.remove("data");
    let returned = sandbox.json(["return"]);
    let said = returned["notices"].to_string();
    assert!(said.contains("removed in the past"), "{returned}");
}

#[test]
fn all_that_is_looked_at_of_a_large_directory_counts() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "data/\n");
    let past = snapshot(&sandbox);
    for nth in 0..5_001 {
        sandbox.write(format!("data/{nth}"), "");
    }
    sandbox.json(["travel", &past]);
    for nth in 0..5_001 {
        sandbox.write(format!("data/{nth}"), "more");
    }
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["stayed"], json!(["data"]), "{returned}");
}

#[test]
fn a_file_made_in_the_past_that_nobody_can_read_is_named() {
    if is_root() {
        skipped("an ordinary user", "root reads everything");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("d/f", "one\n");
    let past = snapshot(&sandbox);
    sandbox.json(["travel", &past]);
    sandbox.write("d/closed", "one\n");
    sandbox.chmod("d/closed", 0);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["stayed"], json!(["d/closed"]), "{returned}");
}

/// What git is told to look away from, and the user's own exclude hides, is in no snapshot: not with git's bytes, either.
#[test]
fn a_local_edit_that_git_and_the_user_s_exclude_hide_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("data/t", "1\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "data"]);
    let past = snapshot(&sandbox);
    sandbox.git(["update-index", "--skip-worktree", "data/t"]);
    sandbox.write("data/t", "local edit\n");
    sandbox.json(["config", "exclude", "data/"]);
    let taken = sandbox.json(["snapshot"]);
    let commit = taken["snapshot"]["commit"].as_str().unwrap();
    assert_eq!(
        sandbox.git(["ls-tree", "-r", "--name-only", commit]),
        "a.txt\n"
    );
    let (error, _) = sandbox.json_error(["travel", &past]);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
    assert_eq!(sandbox.text("data/t"), "local edit\n");
    // What is not there stands for what the index says, there as anywhere.
    sandbox.remove("data/t");
    sandbox.write("a.txt", "edited\n");
    let taken = sandbox.json(["snapshot"]);
    assert_eq!(sandbox.paths(&taken["snapshot"]), ["a.txt", "data/t"]);
}

#[test]
fn a_local_edit_stays_where_git_s_rules_hide_its_directory_as_well() {
    let sandbox = Sandbox::new();
    sandbox.write("out/x", "1\n");
    sandbox.write("out/y", "1\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "out"]);
    let past = snapshot(&sandbox);
    sandbox.git(["update-index", "--skip-worktree", "out/x", "out/y"]);
    sandbox.json(["config", "exclude", "out/"]);
    sandbox.write(".gitignore", "out/\n");
    sandbox.write("out/y", "local edit\n");
    let taken = sandbox.json(["snapshot"]);
    assert_eq!(sandbox.paths(&taken["snapshot"]), [".gitignore", "a.txt"]);
    let (error, _) = sandbox.json_error(["travel", &past]);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
    assert_eq!(sandbox.text("out/y"), "local edit\n");
}

/// No record has the bits of what was left out: they are opened to nobody in the past, and come back.
#[test]
fn the_bits_of_a_directory_that_the_present_left_out_come_back() {
    for (dir, rule) in [
        ("data", "printf 'data/\n' > .gitignore"),
        ("data", "git config timewarp.exclude data/"),
        ("build", "true"),
    ] {
        let file = format!("{dir}/s");
        let sandbox = Sandbox::new();
        sandbox.write(&file, "1\n");
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-q", "-m", "dir"]);
        let open = snapshot(&sandbox);
        sandbox.chmod(dir, 0o700);
        let closed = snapshot(&sandbox);
        sandbox.git(["rm", "-q", "--cached", &file]);
        sandbox.git(["commit", "-q", "-m", "out"]);
        sandbox.remove(&file);
        assert_eq!(sandbox.paste(rule).code, 0);
        sandbox.write(format!("{dir}/key"), "secret\n");
        for bits in [0o700, 0o500, 0o755] {
            sandbox.chmod(dir, bits);
            for (past, recorded) in [(&open, 0o755), (&closed, 0o700)] {
                sandbox.json(["travel", past]);
                assert_eq!(mode(&sandbox, dir), bits & recorded, "{dir}, {rule}");
                sandbox.json(["travel", "--hop", &open]);
                assert_eq!(mode(&sandbox, dir) & !bits, 0, "{dir}, {rule}");
                let returned = sandbox.json(["return"]);
                assert_eq!(returned["experiment_id"], json!(null), "{returned}");
                assert_eq!(mode(&sandbox, dir), bits, "{dir}, {rule}");
                sandbox.json(["restore", past, &file]);
                assert_eq!(mode(&sandbox, dir) & !bits, 0, "{dir}, {rule}");
                // Who may not write into it may not remove it.
                sandbox.chmod(dir, 0o700);
                sandbox.remove(&file);
                sandbox.chmod(dir, bits);
            }
        }
    }
}

/// An exclude that was set in the past hides it from the look that comes first, too.
#[test]
fn a_local_edit_comes_back_whatever_hides_it_since() {
    let sandbox = Sandbox::new();
    sandbox.write("data/t", "1\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "data"]);
    let past = snapshot(&sandbox);
    sandbox.write("data/t", "local edit\n");
    sandbox.git(["update-index", "--skip-worktree", "data/t"]);
    let home = sandbox.state();
    sandbox.json(["travel", &past]);
    sandbox.json(["config", "exclude", "data/"]);
    sandbox.json(["return"]);
    sandbox.json(["config", "--unset", "exclude"]);
    home.assert_same(&sandbox.state());
}

/// One scan tells what the next has to look for: nobody writes meanwhile.
#[test]
fn what_is_found_step_by_step_is_no_reason_to_refuse() {
    let sandbox = Sandbox::new();
    sandbox.write("d/s", "left out there\n");
    sandbox.write("data/s", "one\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "dirs"]);
    sandbox.write("data/s", "two\n");
    let taken = sandbox.json(["snapshot", "--exclude", "d/"]);
    let past = taken["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.write("data/s", "three\n");
    sandbox.write("d/s", "edited\n");
    let home = sandbox.state();
    sandbox.json(["travel", &past]);
    sandbox.json(["config", "exclude", "s"]);
    sandbox.json(["return"]);
    sandbox.json(["config", "--unset", "exclude"]);
    home.assert_same(&sandbox.state());
}

/// It is in no backup, tracked or not.
#[test]
fn what_the_user_s_exclude_hid_in_the_present_is_not_replaced_in_the_past() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("x", "past\n");
    let other = snapshot(&sandbox);
    sandbox.write("x", "precious\n");
    sandbox.git(["add", "x"]);
    sandbox.git(["config", "timewarp.exclude", "x"]);
    sandbox.json(["travel", &past]);
    sandbox.git(["config", "--unset", "timewarp.exclude"]);
    for words in [
        &["travel", "--hop", &other][..],
        &["restore", &other, "x"],
        &["restore", &other],
    ] {
        let (error, _) = sandbox.json_error(words);
        assert_eq!(error["code"], "WOULD_OVERWRITE", "{words:?}: {error}");
        assert_eq!(error["paths"], json!(["x"]), "{error}");
    }
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("x"), "precious\n");
}

/// Of an ignored directory only the name is known: what is empty beneath it may be the present's or the past's.
#[test]
fn empty_directories_beneath_ignored_ones_stay_when_what_was_put_in_goes() {
    let sandbox = Sandbox::new();
    sandbox.write("q/b/k/deep", "1\n");
    sandbox.write("q/b/new/deep", "1\n");
    let then = snapshot(&sandbox);
    sandbox.write("q/b/k/other", "1\n");
    let later = snapshot(&sandbox);
    sandbox.remove("q/b/k/deep");
    sandbox.remove("q/b/k/other");
    std::fs::remove_dir_all(sandbox.repo().join("q/b/new")).unwrap();
    sandbox.write(".gitignore", "b\n");
    sandbox.write("q/b/file", "1\n");
    let present = sandbox.state();
    sandbox.json(["travel", &then]);
    sandbox.json(["travel", "--hop", &later]);
    sandbox.json(["travel", "--hop", &then]);
    assert!(sandbox.exists("q/b/new/deep"));
    sandbox.json(["return"]);
    assert!(sandbox.repo().join("q/b/k").is_dir());
    assert!(!sandbox.exists("q/b/new"));
    assert_eq!(present.differences(&sandbox.state()), [""; 0]);
}

/// Of an ignored directory that git tracks files in, what the present had deleted is no file that it left out.
#[test]
fn what_the_present_had_deleted_in_an_ignored_directory_goes_again() {
    let sandbox = Sandbox::new();
    for path in ["dist/x", "own/deep/y"] {
        sandbox.write(path, "committed\n");
    }
    sandbox.git(["add", "-f", "dist", "own"]);
    sandbox.git(["commit", "-q", "-m", "tracked"]);
    sandbox.remove("dist/x");
    sandbox.remove("own/deep/y");
    sandbox.write("own/deep/untracked", "mine\n");
    sandbox.write(".gitignore", "own/\n");
    let present = sandbox.state();
    let now = snapshot(&sandbox);
    sandbox.json(["travel", &now]);
    sandbox.git(["checkout", "-q", "--", "dist"]);
    sandbox.write("own/deep/y", "made in the past\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(present.differences(&sandbox.state()), [""; 0]);
    assert_eq!(sandbox.text("own/deep/untracked"), "mine\n");
    assert_eq!(
        returned["changes"]["removed"],
        json!(["dist/x", "own/deep/y"])
    );
    let experiment = returned["experiment_id"].as_str().unwrap();
    assert_eq!(
        stored(&sandbox, experiment, "own/deep/y"),
        "made in the past\n"
    );
}

/// What the return put in place goes again with its undo, whatever the user's own exclude hides since.
#[test]
fn the_undo_of_a_return_takes_away_what_an_exclude_of_the_past_hides() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("d/c", "mine\n");
    sandbox.json(["travel", &past]);
    sandbox.json(["config", "exclude", "d/"]);
    sandbox.json(["return"]);
    sandbox.json(["undo", "--into-past"]);
    assert!(!sandbox.exists("d/c"));
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("d/c"), "mine\n");
    // No snapshot has it, and none may.
    sandbox.write("d/c", "edited\n");
    let (error, _) = sandbox.json_error(["undo", "--into-past"]);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("d/c"),
        "{error}"
    );
    assert_eq!(sandbox.text("d/c"), "edited\n");
}

/// What lies in a repository that was made since is that one's.
#[test]
fn the_undo_of_a_return_leaves_a_repository_alone_that_was_made_around_what_came_back() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("d/f", "mine\n");
    sandbox.json(["travel", &past]);
    sandbox.write("made there", "then\n");
    sandbox.json(["return"]);
    sandbox.git_in(sandbox.path("d"), ["init", "-q"]);
    sandbox.git_in(sandbox.path("d"), ["add", "f"]);
    sandbox.git_in(sandbox.path("d"), ["commit", "-q", "-m", "own"]);
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(sandbox.text("d/f"), "mine\n");
}
