//! Pipes, endless devices and huge files where a file is read: no command waits for them or reads them.

use std::path::Path;
use std::time::Duration;

use crate::sandbox::{Ran, Sandbox, skipped};

/// Every command here takes well under a second; one that waits takes for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// What stands in the place of a file.
#[derive(Debug, Clone, Copy)]
enum Odd {
    Pipe,
    Endless,
}

impl Odd {
    fn put(self, sandbox: &Sandbox, path: &Path) {
        let _ = std::fs::remove_file(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            Self::Pipe => {
                let made = sandbox.command("mkfifo").arg(path).output().unwrap();
                assert!(made.status.success(), "mkfifo {}", path.display());
            }
            Self::Endless => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        }
    }
}

/// Runs `tw`, which must end by itself.
fn ends(sandbox: &Sandbox, args: &[&str], stdin: &str) -> Ran {
    let mut command = sandbox.tw_command();
    let output = command.args(args).write_stdin(stdin).timeout(PATIENCE);
    let output = output.output().unwrap();
    let ended = output.status.code().is_some();
    assert!(ended, "tw {args:?} was waiting");
    output.into()
}

/// For both kinds, in a repository with a snapshot: puts one at `path`, and runs the commands.
fn each(path: &str, see: impl Fn(&Sandbox, Odd)) {
    for odd in [Odd::Pipe, Odd::Endless] {
        let sandbox = Sandbox::new();
        sandbox.ok(["snapshot"]);
        odd.put(&sandbox, &sandbox.path(path));
        see(&sandbox, odd);
    }
}

const MOST_COMMANDS: [&[&str]; 9] = [
    &["status"],
    &["snapshot"],
    &["list"],
    &["travel", "latest"],
    &["return"],
    &["prune", "-y"],
    &["doctor"],
    &["recover", "-y"],
    &["prompt"],
];

/// What git would take for an absent file is one for snapshots as well.
#[test]
fn odd_rule_files_count_as_absent() {
    let files = [
        ".timewarp/config.toml",
        ".git/info/exclude",
        ".git/info/attributes",
        ".gitignore",
        ".gitattributes",
        ".git/excludes",
        ".git/attributes",
    ];
    for path in files {
        each(path, |sandbox, odd| {
            let named = |name| sandbox.path(name).to_string_lossy().into_owned();
            sandbox.git(["config", "core.excludesFile", &named(".git/excludes")]);
            sandbox.git(["config", "core.attributesFile", &named(".git/attributes")]);
            for args in [&["snapshot"][..], &["travel", "latest"], &["return"]] {
                let ran = ends(sandbox, args, "");
                assert_eq!(ran.code, 0, "{odd:?} {path} {args:?}: {}", ran.err());
            }
            let config = ends(sandbox, &["config"], "");
            let told = config.err().contains("config.toml cannot be read");
            let is_read = path.starts_with(".timewarp") && matches!(odd, Odd::Pipe);
            assert_eq!(told, is_read, "{odd:?} {path}: {}", config.err());
        });
    }
}

/// What cannot be done without is named; nothing waits.
#[test]
fn odd_files_in_the_git_directory_are_named() {
    let named = [
        "config",
        "index",
        "packed-refs",
        "shallow",
        "objects/info/alternates",
        "commondir",
        "timewarp/state.json",
        "timewarp/journal.json",
        "timewarp/id",
    ];
    for name in named {
        each(&format!(".git/{name}"), |sandbox, odd| {
            let ran = ends(sandbox, &["travel", "latest"], "");
            assert_ne!(ran.code, 0, "{odd:?} {name}");
            assert!(
                ran.err().contains(name) && ran.err().contains("not a regular file"),
                "{odd:?} {name}: {}",
                ran.err()
            );
        });
    }
}

/// Runs most commands with each file of the git directory replaced by each odd one.
fn nothing_waits_for(files: &[&str]) {
    for name in files {
        each(&format!(".git/{name}"), |sandbox, _| {
            for args in MOST_COMMANDS {
                ends(sandbox, args, "");
            }
        });
    }
}

#[test]
fn no_command_waits_for_an_odd_file_of_refs() {
    if Sandbox::new().has_reftable() {
        nothing_waits_for(&["HEAD", "MERGE_HEAD", "reftable/tables.list"]);
        return;
    }
    nothing_waits_for(&[
        "HEAD",
        "ORIG_HEAD",
        "MERGE_HEAD",
        "logs/HEAD",
        "refs/heads/main",
        "refs/heads/other",
    ]);
}

#[test]
fn no_command_waits_for_an_odd_file_of_git() {
    nothing_waits_for(&[
        "config",
        "config.worktree",
        "index",
        "shallow",
        "index.lock",
        "info/grafts",
        "gc.pid",
    ]);
}

#[test]
fn no_command_waits_for_an_odd_file_of_ours() {
    nothing_waits_for(&[
        "timewarp/cache",
        "timewarp/lock",
        "timewarp/log.jsonl",
        "timewarp/env-files",
        "timewarp/undo",
        "timewarp/state.json",
    ]);
}

#[test]
fn odd_included_configuration_is_named() {
    for text in [
        "[include]\n\tpath = odd\n",
        "[includeIf \"gitdir:**\"] path = \"odd\"\n",
    ] {
        each(".git/odd", |sandbox, odd| {
            let mut config = sandbox.text(".git/config");
            config.push_str(text);
            sandbox.write(".git/config", config);
            let ran = ends(sandbox, &["snapshot"], "");
            assert_ne!(ran.code, 0, "{odd:?} {text}");
            assert!(ran.err().contains("/odd' is not a regular file"));
        });
    }
}

#[test]
fn odd_transcripts_are_refused_and_never_hold_an_agent_up() {
    each("odd.jsonl", |sandbox, odd| {
        let file = sandbox.path("odd.jsonl").to_string_lossy().into_owned();
        let payload = serde_json::json!({
            "session_id": "one", "transcript_path": file, "cwd": sandbox.repo(),
            "hook_event_name": "UserPromptSubmit", "prompt": "do it",
        });
        for agent in ["claude", "codex", "gemini", "cursor", "copilot"] {
            for event in ["session-start", "user-prompt-submit", "stop"] {
                let ran = ends(sandbox, &["hook", agent, event], &payload.to_string());
                assert_eq!(ran.code, 0, "{odd:?} {agent} {event}: {}", ran.err());
            }
        }
        let report = [
            "issue",
            "report",
            "--task-context",
            "t",
            "--symptom",
            "s",
            "--success-criteria",
            "c",
            "--transcript",
            &file,
        ];
        let ran = ends(sandbox, &report, "");
        assert!(
            ran.err().contains("not a regular file"),
            "{odd:?}: {}",
            ran.err()
        );
        for args in [
            &["redact", &file][..],
            &["issue", "report", "--from-json", &file],
        ] {
            let ran = ends(sandbox, args, "");
            assert_ne!(ran.code, 0, "{odd:?} {args:?}");
            assert!(
                ran.err().contains("not a regular file"),
                "{args:?}: {}",
                ran.err()
            );
        }
    });
}

#[test]
fn a_file_of_a_terabyte_is_not_read() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    let huge = |path: &str| {
        let path = sandbox.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = std::fs::File::create(path).unwrap();
        file.set_len(1 << 40).is_ok()
    };
    for path in [".timewarp/config.toml", ".git/info/exclude"] {
        if !huge(path) {
            skipped("sparse files", "no sparse files of a terabyte here");
            return;
        }
        let ran = ends(&sandbox, &["snapshot"], "");
        assert_eq!(ran.code, 0, "{path}: {}", ran.err());
    }
    huge(".git/timewarp/state.json");
    let ran = ends(&sandbox, &["travel", "latest"], "");
    assert!(
        ran.err().contains("state.json': larger than"),
        "{}",
        ran.err()
    );
}
