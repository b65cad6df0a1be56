//! Two snapshots compared on the page, and one with the present.

use serde_json::{Value, json};

use super::client::Server;
use super::eventful;
use crate::sandbox::Sandbox;

fn id(sandbox: &Sandbox, address: &str) -> String {
    let shown = sandbox.json(["show", address]);
    shown["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Status and path of each file.
fn paths(told: &Value, list: &str) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let files = told[list].as_array().unwrap().iter();
    files
        .map(|file| (word(&file["status"]), word(&file["path"])))
        .collect()
}

#[test]
fn a_snapshot_is_compared_with_the_present_as_tw_diff_does() {
    let sandbox = eventful();
    sandbox.write("a.txt", "one\ntwo words\nand mine\n");
    sandbox.write("[a].txt", "a pattern by name\n");
    sandbox.write("c.bin", b"a\0b");
    sandbox.remove("key.rs");
    std::fs::create_dir(sandbox.repo().join("empty")).unwrap();
    let before = sandbox.state();
    let snapshot = id(&sandbox, "before-refactor");
    let server = Server::start(&sandbox, &["web"]);
    let pair = json!([snapshot, "present"]);
    let told = server.ask("entry", &json!({"pair": pair}));
    let diff = sandbox.json(["diff", &snapshot]);
    assert_eq!(paths(&told, "paths"), paths(&diff, "files"));
    assert_eq!(told["others"], diff["others"]);
    assert_eq!(told["others"][0]["path"], "empty", "{told}");
    let lines = |path: &str| {
        let files = told["paths"].as_array().unwrap().iter();
        let file = files.clone().find(|file| file["path"] == path).unwrap();
        server.ask(
            "lines",
            &json!({"pair": pair, "change": super::shown(file)}),
        )
    };
    assert_eq!(
        lines("a.txt")["lines"],
        json!([
            ["@", null, null, "@@ -1 +1,3 @@"],
            [" ", 1, 1, "one"],
            ["+", null, 2, "two words"],
            ["+", null, 3, "and mine"]
        ])
    );
    assert_eq!(lines("[a].txt")["lines"][1][3], "a pattern by name");
    assert_eq!(lines("c.bin")["what"], "binary");
    // Between two questions the present went on: what is gone, or differs otherwise, is not shown as what it was.
    let asked = json!({"pair": pair, "change": super::shown(&told["paths"][1])});
    sandbox.write("[a].txt", "otherwise\n");
    let got = server.post("/api/lines", &server.own_headers(), &asked.to_string());
    assert_eq!(got.json()["error"]["code"], "PATH_NOT_FOUND", "{got:?}");
    sandbox.remove("[a].txt");
    sandbox.write("0.txt", "first\n");
    sandbox.write("00.txt", "first\n");
    let got = server.post("/api/lines", &server.own_headers(), &asked.to_string());
    assert_eq!(got.json()["error"]["code"], "PATH_NOT_FOUND", "{got:?}");
    sandbox.remove("0.txt");
    sandbox.remove("00.txt");
    sandbox.write("[a].txt", "a pattern by name\n");
    assert_eq!(sandbox.state(), before);
}

#[test]
fn a_hit_of_a_search_leads_to_its_snapshot_whatever_paths_the_list_is_of() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "one\n");
    sandbox.ok(["snapshot", "-m", "in src"]);
    sandbox.write("b.txt", "findme\n");
    sandbox.ok(["snapshot", "-m", "elsewhere"]);
    let server = Server::start(&sandbox, &["web", "--", "src"]);
    let listed = server.ask("entries", &json!({}));
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1, "{listed}");
    let inside = server.ask("entry", &json!({"entry": listed["entries"][0]}));
    assert_eq!(paths_of(&inside), ["src/a.rs"]);
    let found = server.ask("search", &json!({"place": "content", "text": "findme"}));
    let hit = &found["hits"][0];
    assert_eq!(hit["path"], "b.txt", "{found}");
    let named = server.ask("named", &json!({"snapshot_id": hit["last_snapshot"]}));
    assert_eq!(named["entry"]["title"], "elsewhere");
    let told = server.ask("entry", &json!({"entry": named["entry"]}));
    assert_eq!(paths_of(&told), ["b.txt"]);
    let asked = json!({"entry": named["entry"], "change": super::shown(&told["paths"][0])});
    assert_eq!(server.ask("lines", &asked)["lines"][1][3], "findme");
}

fn paths_of(told: &Value) -> Vec<&str> {
    let files = told["paths"].as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap()).collect()
}

#[test]
fn two_snapshots_that_differ_in_no_file_say_what_else_differs() {
    let sandbox = eventful();
    let old = id(&sandbox, "latest");
    std::fs::create_dir(sandbox.repo().join("empty")).unwrap();
    sandbox.ok(["snapshot", "-m", "an empty directory"]);
    let new = id(&sandbox, "latest");
    let server = Server::start(&sandbox, &["web"]);
    let told = server.ask("entry", &json!({"pair": [old, new]}));
    assert_eq!(told["paths"], json!([]));
    assert_eq!(told["others"], sandbox.json(["diff", &old, &new])["others"]);
    assert_eq!(told["others"][0]["path"], "empty", "{told}");
    let own = server.own_headers();
    for pair in [
        json!(["present", new]),
        json!([old, "../x"]),
        json!(["HEAD", "present"]),
    ] {
        let got = server.post("/api/entry", &own, &json!({"pair": pair}).to_string());
        assert_eq!(got.json()["error"]["code"], "INVALID_ADDRESS", "{pair}");
    }
}

#[test]
fn an_exported_file_tells_which_trees_and_contents_are_equal_and_nothing_else_of_them() {
    let sandbox = eventful();
    let out = sandbox.root().join("page.html");
    sandbox.ok(["web", "--export", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(&out).unwrap();
    let data = super::data(&page);
    let entries = data["entries"].as_array().unwrap();
    let snapshots: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["kind"] == "snapshot")
        .collect();
    // Each begins where an older entry left the files: what the page follows.
    for (at, entry) in entries.iter().enumerate() {
        let between = &entry["trees"]["between"];
        if entry["kind"] != "snapshot" || entry["title"] == "before the refactor" {
            continue;
        }
        assert_eq!(between[1], entry["trees"]["own"], "{entry}");
        let mut older = entries[at..].iter();
        assert!(
            older.any(|old| old["trees"]["own"] == between[0]),
            "{entry}"
        );
    }
    // The same path, and the content that one step left and the next one found.
    let touching: Vec<&Value> = snapshots
        .iter()
        .flat_map(|entry| entry["paths"].as_array().unwrap())
        .collect();
    for file in &touching {
        assert_eq!(file["same"].as_array().unwrap().len(), 3);
        assert_ne!(file["same"][1], file["same"][2], "{file}");
    }
    // A hash would let somebody try what a file may have held.
    let blob = sandbox.git(["hash-object", "a.txt"]);
    assert!(!page.contains(&blob.trim()[..12]));
}
