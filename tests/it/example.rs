//! `examples/loop.sh` runs, and `docs/protocol.md` shows what it says. `TW_BLESS=1` puts a new run into the document.

use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

const BEGIN: &str = "<!-- the output of examples/loop.sh -->\n```console\n";
const END: &str = "```\n<!-- its end -->\n";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The text without what differs from run to run: ids, times in milliseconds, the directory.
fn settled(text: &str) -> String {
    let sandbox = Sandbox::bare_room();
    let text = sandbox.redact(text);
    let lines = text.lines().map(|line| match line.split_once(" ms: ") {
        Some((before, after)) if before.contains(" after ") => {
            let verdict = before.split(" after ").next().unwrap_or_default();
            format!("{verdict} after N ms: {after}")
        }
        _ => line
            .split(' ')
            .map(|word| {
                let is_short_id = word.len() == 7 + 2 + 7 && word.contains("..");
                let is_room = word.contains("/tw-loop-");
                if is_short_id || is_room { "…" } else { word }
            })
            .collect::<Vec<_>>()
            .join(" "),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_loop_runs_and_the_document_shows_it() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .command(file("examples/loop.sh"))
        .env("TW", env!("CARGO_BIN_EXE_tw"))
        .output()
        .unwrap();
    let (said, complained) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(!said.contains("hunter2-Violet-77"), "{said}");
    let document = file("docs/protocol.md");
    let text = std::fs::read_to_string(&document).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("where the output begins");
    let (shown, after) = rest.split_once(END).expect("where the output ends");
    if std::env::var_os("TW_BLESS").is_some_and(|value| value == "1") {
        let text = format!("{before}{BEGIN}{said}{END}{after}");
        std::fs::write(&document, text).unwrap();
        return;
    }
    assert_eq!(
        settled(shown),
        settled(&said),
        "TW_BLESS=1 cargo test --test it example puts the new output into docs/protocol.md"
    );
}
