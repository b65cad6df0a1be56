//! `tw open` and `tw close`, with every word that they take.

use crate::sandbox::Sandbox;
use crate::trip::snapshot;

#[test]
fn open_and_close_take_a_directory() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "later\n");
    let dir = sandbox.root().join("try-it");
    let opened = sandbox.json(["open", &id, "../try-it"]);
    assert_eq!(opened["dir"].as_str(), dir.to_str());
    assert_eq!(std::fs::read(dir.join("a.txt")).unwrap(), b"one\n");
    assert_eq!(sandbox.text("a.txt"), "later\n");
    let closed = sandbox.json(["close", "../try-it"]);
    assert_eq!(closed["dir"].as_str(), dir.to_str());
    assert!(!dir.exists());
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn open_and_close_take_the_global_directory_beside_their_own() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let above = sandbox.root();
    let ran = sandbox.tw_in(&above, ["-C", "repo", "open", &id, "../beside"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(above.join("beside/a.txt").exists());
    let ran = sandbox.tw_in(&above, ["close", "../beside", "-C", "repo"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(!above.join("beside").exists());
    // Without a directory it goes to the usual place.
    let usual = sandbox.json(["open", &id])["dir"].clone();
    let usual = usual.as_str().unwrap();
    assert!(usual.contains("/repo.tw/"), "{usual}");
    sandbox.ok(["close", usual]);
    assert!(!above.join("repo.tw").exists());
}
