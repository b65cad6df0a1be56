//! The page in a real browser, with axe: `tests/web/page.mjs`.

use std::path::Path;
use std::process::Command;

use super::client::Server;
use super::eventful;
use crate::sandbox::skipped;

#[test]
fn the_page_works_in_a_browser_by_keys_and_axe_finds_nothing() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web");
    let has_node = Command::new("node").arg("--version").output().is_ok();
    if !has_node || !tests.join("node_modules/axe-core").exists() {
        skipped(
            "chromium",
            "'npm ci --prefix tests/web' brings a browser and axe; node runs them",
        );
        return;
    }
    let sandbox = eventful();
    // A hunk of the first turn that the present has otherwise.
    sandbox.write("a.txt", "one\ntwo words, again\n");
    let file = sandbox.root().join("page.html");
    sandbox.ok(["web", "--export", file.to_str().unwrap(), "--prompts"]);
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let mut node = Command::new("node");
    node.arg("page.mjs")
        .arg(&server.url)
        .arg(&file)
        .current_dir(&tests);
    if let Some(pictures) = std::env::var_os("TW_WEB_PICTURES") {
        node.arg(pictures);
    }
    let ran = node.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(
        said.lines().filter(|line| line.starts_with("ok ")).count() >= 20,
        "{said}"
    );
    // What the keys of the page did is what the commands do, and all that was taken back is.
    assert!(sandbox.ok(["label"]).contains("by-keys"));
    assert!(sandbox.ok(["issue", "list"]).contains("none went wrong"));
    assert_eq!(sandbox.text("a.txt"), "one\ntwo words, again\n");
}
