//! The timeline as a page: `tw web`.

mod act;
mod browser;
mod client;
mod compare;
mod export;
mod server;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

/// What would run, or end an element, if a page were built of markup; and what would not be seen.
const HOSTILE: &str = "<script>alert(1)</script> \u{202e}drow and \u{1b}[31mred </script><img src=x onerror=alert(2)>";

/// The data in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// What a page asks for of a path that it was shown.
fn shown(file: &Value) -> Value {
    json!({"path": file["path"], "key": file["key"]})
}

/// A turn of an agent with a prompt, a hostile one, a path and content to match, a secret, a trip, and an issue.
fn eventful() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok([
        "snapshot",
        "-m",
        "before the refactor",
        "--label",
        "before-refactor",
    ]);
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("write the parser\nand its tests");
    sandbox.write("a.txt", "one\ntwo words\n");
    sandbox.write("b.bin", b"a\0b");
    talk.hook("Stop", &json!({}));
    sandbox.write("key.rs", "const KEY: &str = \"AKIAIOSFODNN7EXAMPLQ\";\n");
    talk.submits(HOSTILE);
    sandbox.write("<b>hostile.html", format!("{HOSTILE}\n"));
    sandbox.ok(["snapshot", "-m", "a <b>bold</b> title </script>"]);
    sandbox.ok(["travel", "before-refactor"]);
    sandbox.ok(["return"]);
    let texts = [
        "--symptom",
        "the build is slow",
        "--task-context",
        "t",
        "--success-criteria",
        "c",
    ];
    sandbox.ok([&["issue", "report"], &texts[..]].concat());
    sandbox
}
