//! The live page, asked by raw sockets.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Server, read};
use super::{HOSTILE, eventful};
use crate::sandbox::Sandbox;

fn entries(server: &Server) -> Vec<Value> {
    let page = server.ask("entries", &json!({}));
    page["entries"].as_array().unwrap().clone()
}

#[test]
fn the_page_is_given_to_whoever_has_the_token_with_headers_that_keep_it_in() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["web"]);
    assert_eq!(
        server.url,
        format!("http://{}/?token={}", server.host(), server.token)
    );
    assert_eq!(server.token.len(), 64);
    let page = server.get(&format!("/?token={}", server.token), "");
    assert_eq!(page.status, 200);
    assert!(
        page.body.contains("<title>Timeline</title>"),
        "{}",
        page.body
    );
    for line in [
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer",
        "Content-Security-Policy: default-src 'none'; script-src 'sha256-",
        "frame-ancestors 'none'",
        "Connection: close",
    ] {
        assert!(page.head.contains(line), "{line}: {}", page.head);
    }
    assert!(
        !page.head.contains("unsafe") && !page.head.contains("Set-Cookie"),
        "{}",
        page.head
    );
    // What it says in words is the same address.
    let mut plain = std::process::Command::new(env!("CARGO_BIN_EXE_tw"));
    let said = plain
        .args([
            "-C",
            sandbox.repo().to_str().unwrap(),
            "web",
            "--idle",
            "1s",
        ])
        .output()
        .unwrap();
    let url = String::from_utf8(said.stdout).unwrap();
    assert!(
        url.starts_with("http://127.0.0.1:") && url.trim_end().len() > 80,
        "{url}"
    );
    let notes = String::from_utf8(said.stderr).unwrap();
    assert!(
        notes.contains("it only looks")
            && notes.contains("nobody used it for 1 second\n")
            && notes.contains("ended: idle for too long"),
        "{notes}"
    );
}

#[test]
fn nobody_else_is_answered() {
    let sandbox = eventful();
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let (host, token) = (server.host(), server.token.clone());
    let page = format!("/?token={token}");
    let get = |target: &str, host: &str, more: &str| {
        let text = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
        server.send(text.as_bytes()).status
    };
    assert_eq!(get(&page, &host, ""), 200);
    let local = format!("localhost:{}", server.port);
    assert_eq!(get(&page, &local, ""), 200);
    // A name that was made to lead here, another port, none.
    for wrong in [
        "evil.example",
        &format!("evil.example:{}", server.port),
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:80",
        "",
    ] {
        assert_eq!(get(&page, wrong, ""), 403, "{wrong}");
    }
    assert_eq!(
        server
            .send(format!("GET {page} HTTP/1.0\r\n\r\n").as_bytes())
            .status,
        403
    );
    // No token, a wrong one, one that is cut.
    assert_eq!(get("/", &host, ""), 401);
    for wrong in [
        "0".repeat(64),
        token[..63].to_owned(),
        format!("{token}0"),
        String::new(),
    ] {
        assert_eq!(get(&format!("/?token={wrong}"), &host, ""), 403, "{wrong}");
    }
    // Another site, also one on another port of this machine.
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        &format!("https://{host}"),
        &format!("http://{local}"),
    ] {
        assert_eq!(
            get(&page, &host, &format!("Origin: {origin}\r\n")),
            403,
            "{origin}"
        );
    }
    let authorised = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    let own = format!("Origin: http://{host}\r\n");
    let post = |headers: &str| server.post("/api/entries", headers, "{}").status;
    assert_eq!(post(&format!("{own}{authorised}")), 200);
    assert_eq!(post(&authorised), 403, "no origin");
    assert_eq!(post(&format!("Origin: null\r\n{authorised}")), 403);
    assert_eq!(
        post(&format!("{own}{authorised}Sec-Fetch-Site: cross-site\r\n")),
        403
    );
    assert_eq!(
        post(&format!("{own}{authorised}Sec-Fetch-Site: same-site\r\n")),
        403
    );
    assert_eq!(post(&own), 401, "no token");
    assert_eq!(
        server
            .post(&format!("/api/entries?token={token}"), &own, "{}")
            .status,
        401,
        "not in an address"
    );
    let form = format!("{own}Authorization: Bearer {token}\r\nContent-Type: text/plain\r\n");
    assert_eq!(post(&form), 415, "what a form can send");
}

#[test]
fn a_link_from_elsewhere_opens_the_page_in_a_tab_and_nothing_else() {
    let sandbox = eventful();
    let server = Server::start(&sandbox, &["web"]);
    let page = format!("/?token={}", server.token);
    let asked = |target: &str, site: &str, mode: &str, dest: &str| {
        let fetch = "Sec-Fetch-";
        let more = format!("{fetch}Site: {site}\r\n{fetch}Mode: {mode}\r\n{fetch}Dest: {dest}\r\n");
        server.get(target, &more).status
    };
    // Clicked in a terminal, typed, or followed from another site.
    for site in ["none", "same-origin", "same-site", "cross-site"] {
        assert_eq!(asked(&page, site, "navigate", "document"), 200, "{site}");
        assert_eq!(asked("/", site, "navigate", "document"), 401, "{site}");
    }
    for site in ["same-site", "cross-site", "strange"] {
        for (mode, dest) in [
            ("no-cors", "script"),
            ("no-cors", "image"),
            ("cors", "empty"),
            ("navigate", "iframe"),
            ("navigate", "embed"),
            ("same-origin", "document"),
        ] {
            assert_eq!(asked(&page, site, mode, dest), 403, "{site} {mode} {dest}");
        }
        let alone = server.get(&page, &format!("Sec-Fetch-Site: {site}\r\n"));
        assert_eq!(alone.status, 403, "{site}");
    }
    let twice =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Mode: cors\r\n";
    assert_eq!(server.get(&page, twice).status, 400);
    let (host, token) = (format!("127.0.0.1:{}", server.port), &server.token);
    for site in ["none", "cross-site"] {
        let headers = format!(
            "Origin: http://{host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
        );
        assert_eq!(server.post("/api/entries", &headers, "{}").status, 403);
    }
}

#[test]
fn only_what_there_is_is_answered_and_no_file_is_read() {
    let sandbox = eventful();
    let server = Server::start(&sandbox, &["web"]);
    let bearer = format!("Authorization: Bearer {}\r\n", server.token);
    for target in [
        "/../../../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/a.txt",
        "/.git/config",
        "//etc/passwd",
        "/api/entries",
        "/index.html",
        "/favicon.ico",
    ] {
        let got = server.get(target, &bearer);
        assert_eq!(
            (got.status, got.body.as_str()),
            (404, "there is nothing here\n"),
            "{target}"
        );
    }
    for method in [
        "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "get",
    ] {
        let text = format!(
            "{method} / HTTP/1.1\r\nHost: {}\r\n{bearer}\r\n",
            server.host()
        );
        assert_eq!(server.send(text.as_bytes()).status, 405, "{method}");
    }
    let own = server.own_headers();
    assert_eq!(server.post("/api/nothing", &own, "{}").status, 404);
    assert_eq!(server.post("/other", &own, "{}").status, 404);
    for body in ["", "{", "[]", "7", "{\"entry\": 1}"] {
        assert_eq!(server.post("/api/entry", &own, body).status, 400, "{body}");
    }
    // An id that is none leads nowhere, whatever it looks like.
    let mut entry = entries(&server)[0].clone();
    for id in [
        "../../etc/passwd",
        "--help",
        "HEAD",
        "",
        "s_20260228_153000_zzzzzz",
    ] {
        entry["id"] = json!(id);
        let got = server.post("/api/entry", &own, &json!({"entry": entry}).to_string());
        assert_eq!(got.status, 400, "{id}");
        assert_eq!(got.json()["error"]["code"], "SNAPSHOT_NOT_FOUND");
    }
    // It only looks.
    for name in ["try", "do"] {
        let got = server.post(&format!("/api/{name}"), &own, "{\"action\": \"undo\"}");
        assert_eq!(got.status, 403, "{name}");
    }
}

#[test]
fn too_much_and_too_slow_is_refused_and_others_are_served_meanwhile() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["web"]);
    let host = server.host();
    let long = "a".repeat(20 << 10);
    assert_eq!(server.get(&format!("/{long}"), "").status, 431);
    let many = (0..80).fold(String::new(), |all, n| all + &format!("x{n}: y\r\n"));
    assert_eq!(server.get("/", &many).status, 431);
    let own = server.own_headers();
    assert_eq!(
        server
            .post("/api/entries", &own, &"x".repeat(70 << 10))
            .status,
        413
    );
    let chunked = format!("{own}Transfer-Encoding: chunked\r\n");
    assert_eq!(
        server
            .post("/api/entries", &chunked, "2\r\n{}\r\n0\r\n\r\n")
            .status,
        400
    );
    assert_eq!(
        server
            .send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and more\r\n\r\n")
            .status,
        400
    );
    // Clients that never end their request take places for a while, and no more.
    let mut slow: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = server.connect();
            stream
                .write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n").as_bytes())
                .unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    assert_eq!(
        server.get(&format!("/?token={}", server.token), "").status,
        200
    );
    // All of them were still waited for then.
    for stream in &mut slow {
        stream.set_nonblocking(true).unwrap();
        let answer = stream.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(answer, Err(std::io::ErrorKind::WouldBlock));
        stream.set_nonblocking(false).unwrap();
    }
    let answers: Vec<_> = slow.into_iter().map(|stream| read(stream).status).collect();
    assert_eq!(answers, [408; 20]);
    // One after the other it would be minutes.
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn connections_without_the_token_keep_nobody_out_and_do_not_keep_it_from_ending() {
    let sandbox = Sandbox::new();
    let mut server = Server::start(&sandbox, &["web", "--idle", "3s"]);
    let page = format!("/?token={}", server.token);
    let mut held: Vec<_> = (0..40).map(|_| server.connect()).collect();
    // Its owner is served at once, and the oldest of the others make room.
    let begun = Instant::now();
    assert_eq!(server.get(&page, "").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5));
    let turned = held.iter_mut().take(8).map(|stream| {
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.starts_with("HTTP/1.1 503 ")
    });
    assert_eq!(turned.filter(|is| *is).count(), 8);
    // Somebody always has a request under way, and never a token.
    let begun = Instant::now();
    while server.child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never ends");
        if let Ok(mut stream) = std::net::TcpStream::connect(server.host()) {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n");
            held.push(stream);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn it_tells_what_the_log_tells_page_by_page_and_path_by_path() {
    let sandbox = eventful();
    let logged = sandbox.json(["log"]);
    let server = Server::start(&sandbox, &["web"]);
    let all = entries(&server);
    // A page also knows where an entry belongs to.
    let without_prompt = |entry: &Value| {
        let mut entry = entry.clone();
        entry.as_object_mut().unwrap().remove("prompt");
        entry
    };
    let told: Vec<Value> = all.iter().map(without_prompt).collect();
    assert_eq!(Value::Array(told), logged["entries"]);
    // It goes on behind any of them, and knows each again.
    for (at, entry) in all.iter().enumerate() {
        let rest = server.ask("entries", &json!({"after": entry}));
        assert_eq!(
            rest["entries"].as_array().unwrap()[..],
            all[at + 1..],
            "{entry}"
        );
        let told = server.ask("entry", &json!({"entry": entry}));
        assert_eq!(&told["entry"], entry);
        let paths = told["paths"].as_array().map_or(0, Vec::len);
        assert_eq!(
            json!(paths),
            *entry["files"]
                .as_u64()
                .map_or(&json!(0), |_| &entry["files"])
        );
    }
    let title = |wanted: &str| {
        let found = all
            .iter()
            .find(|entry| entry["title"].as_str().unwrap().starts_with(wanted));
        found.unwrap_or_else(|| panic!("{wanted}: {all:?}")).clone()
    };
    // All of a prompt, and what its turn changed.
    let prompt = title("write the parser");
    let told = server.ask("entry", &json!({"entry": prompt}));
    assert_eq!(told["text"], "write the parser\nand its tests");
    let shown = |at: usize| super::shown(&told["paths"][at]);
    let lines = |at: usize| server.ask("lines", &json!({"entry": prompt, "change": shown(at)}));
    let first = lines(0);
    assert_eq!(
        first["lines"],
        json!([
            ["@", null, null, "@@ -1 +1,2 @@"],
            [" ", 1, 1, "one"],
            ["+", null, 2, "two words"]
        ])
    );
    assert_eq!(lines(1)["what"], "binary");
    let own = server.own_headers();
    let beyond = server.post(
        "/api/lines",
        &own,
        &json!({"entry": prompt, "change": {"path": "a.txt", "key": "0"}}).to_string(),
    );
    assert_eq!(beyond.json()["error"]["code"], "PATH_NOT_FOUND");
    // What is hostile comes as it is, in JSON, which nothing renders.
    let hostile = server.ask("entry", &json!({"entry": title("a <b>bold")}));
    assert_eq!(hostile["paths"][0]["path"], "<b>hostile.html");
    let change = super::shown(&hostile["paths"][0]);
    let asked = json!({"entry": title("a <b>bold"), "change": change});
    let lines = server.ask("lines", &asked);
    assert_eq!(lines["lines"][1][3], HOSTILE);
    // Two snapshots compared.
    let id = |label: &str| sandbox.json(["show", label])["snapshot"]["snapshot_id"].clone();
    let pair = json!([id("before-refactor"), id("latest")]);
    let told = server.ask("entry", &json!({"pair": pair}));
    let change = super::shown(&told["paths"][1]);
    let paths = told["paths"].as_array().unwrap().iter();
    let paths: Vec<_> = paths
        .map(|file| {
            (
                file["status"].as_str().unwrap(),
                file["path"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        paths,
        [
            ("A", "<b>hostile.html"),
            ("M", "a.txt"),
            ("A", "b.bin"),
            ("A", "key.rs")
        ]
    );
    let lines = server.ask("lines", &json!({"pair": pair, "change": change}));
    assert_eq!(lines["lines"][2], json!(["+", null, 2, "two words"]));
    // What 'tw search' finds, each hit with a snapshot that leads to an entry.
    for (place, text) in [
        ("content", "two words"),
        ("diff", "two words"),
        ("prompt", "its tests"),
        ("issue", "is slow"),
    ] {
        let found = server.ask("search", &json!({"place": place, "text": text}));
        let same = sandbox.json(["search", text, "-F", "--in", place]);
        assert_eq!(found["hits"], same["hits"], "{place}");
        let named = server.ask(
            "named",
            &json!({"snapshot_id": found["hits"][0]["last_snapshot"]}),
        );
        assert_eq!(
            named["entry"]["id"], found["hits"][0]["last_snapshot"],
            "{place}"
        );
    }
    let nothing = server.ask("search", &json!({"place": "content", "text": "--help"}));
    assert_eq!(nothing["hits"], json!([]));
    let searched = server.ask("entries", &json!({"grep": "BUILD is (slow"}));
    assert_eq!(searched["entries"], json!([]));
    let searched = server.ask("entries", &json!({"grep": "build is", "kinds": ["issue"]}));
    assert_eq!(searched["entries"][0]["title"], "the build is slow");
}

#[test]
fn a_search_that_was_given_up_is_ended_and_the_next_one_does_not_wait_for_it() {
    let sandbox = Sandbox::new();
    for n in 0..40 {
        let lines = (0..20_000).map(|line| format!("{n} {} every line\n", line * 7919));
        sandbox.write(format!("{n}.txt"), lines.collect::<String>());
    }
    sandbox.ok(["snapshot"]);
    let server = Server::start(&sandbox, &["web"]);
    let server_id = server.child.id().to_string();
    let children = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let stats = all.filter_map(|one| std::fs::read_to_string(one.path().join("stat")).ok());
        // Behind the name, which may hold anything: the state, and the parent.
        let is_child = |stat: &String| {
            let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
            let mut words = rest.split(' ');
            words.next() != Some("Z") && words.next() == Some(&server_id)
        };
        stats.filter(is_child).count()
    };
    let body = json!({"place": "content", "text": "no such words"}).to_string();
    let (host, own) = (server.host(), server.own_headers());
    for _ in 0..3 {
        let mut stream = server.connect();
        let head = format!("POST /api/search HTTP/1.1\r\nHost: {host}\r\n{own}");
        let length = body.len();
        let asked = format!("{head}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(asked.as_bytes()).unwrap();
        let begun = Instant::now();
        while children() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "it never began");
        }
        drop(stream);
        let begun = Instant::now();
        while children() > 0 {
            // All of it takes longer than this in a debug build.
            assert!(begun.elapsed() < Duration::from_secs(1), "it goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let found = server.ask(
        "search",
        &json!({"place": "content", "text": "39 7919 every"}),
    );
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn many_entries_are_told_in_pages() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    crate::summary::copies(&sandbox, &first, 250);
    let server = Server::start(&sandbox, &["web"]);
    let mut all: Vec<Value> = Vec::new();
    loop {
        let page = server.ask("entries", &json!({"after": all.last()}));
        let some = page["entries"].as_array().unwrap();
        assert!(some.len() <= 100);
        all.extend(some.iter().cloned());
        if page["more"] == false {
            break;
        }
        assert_eq!(some.len(), 100);
    }
    assert_eq!(Value::Array(all), sandbox.json(["log"])["entries"]);
}

#[test]
fn every_change_shows_its_dry_run_first_and_is_the_command_of_that_name() {
    let sandbox = eventful();
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let id = sandbox.json(["show", "before-refactor"])["snapshot"]["snapshot_id"].clone();
    let own = server.own_headers();
    let confirm = |answer: &Value| server.ask("do", &json!({"confirm": answer["confirm"]}));
    // Nothing is done that was not shown; what was shown is done once.
    let got = server.post("/api/do", &own, "{\"confirm\": \"0\"}");
    assert_eq!(got.json()["error"]["code"], "NOT_APPROVED");
    let before = sandbox.state();
    let shown = server.ask("try", &json!({"action": "travel", "snapshot_id": id}));
    let dry = sandbox.json(["travel", "before-refactor", "--dry-run"]);
    assert_eq!(shown["preview"], dry);
    assert_eq!(sandbox.state(), before);
    assert_eq!(confirm(&shown)["ok"], true);
    assert_eq!(sandbox.json(["status"])["mode"], "past");
    assert_eq!(sandbox.text("a.txt"), "one\n");
    let got = server.post(
        "/api/do",
        &own,
        &json!({"confirm": shown["confirm"]}).to_string(),
    );
    assert_eq!(got.json()["error"]["code"], "NOT_APPROVED");
    // From one past to another.
    let start = sandbox.json(["list"])["snapshots"][3]["snapshot_id"].clone();
    let hop = server.ask("try", &json!({"action": "travel", "snapshot_id": start}));
    assert_eq!(confirm(&hop)["done"]["snapshot_id"], start, "{hop}");
    let home = server.ask("try", &json!({"action": "return"}));
    assert_eq!(home["preview"]["mode"], "present");
    assert_eq!(confirm(&home)["done"]["verified"], true);
    assert_eq!(sandbox.state(), before);
    // One path that an entry changed, by what was shown of it: no page names a path of its own.
    let entry = entries(&server)
        .into_iter()
        .find(|entry| entry["title"] == "a <b>bold</b> title </script>");
    sandbox.write("<b>hostile.html", "spoilt\n");
    sandbox.write("a.txt", "mine\n");
    let entry = entry.unwrap();
    let told = server.ask("entry", &json!({"entry": entry}));
    let chosen = json!({"entry": entry, "change": super::shown(&told["paths"][0])});
    let restore = json!({"action": "restore", "snapshot_id": entry["id"], "chosen": chosen});
    let shown = server.ask("try", &restore);
    assert_eq!(shown["preview"]["changes"]["written"][0], "<b>hostile.html");
    // Something changed since it was shown: that is shown first.
    sandbox.remove("<b>hostile.html");
    sandbox.write("<b>hostile.html", format!("{HOSTILE}\n"));
    let again = confirm(&shown);
    assert_eq!(
        (&again["changed"], &again["preview"]["changes"]["written"]),
        (&json!(true), &json!([]))
    );
    sandbox.write("<b>hostile.html", "spoilt\n");
    let done = confirm(&server.ask("try", &restore));
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(sandbox.text("<b>hostile.html"), format!("{HOSTILE}\n"));
    assert_eq!(sandbox.text("a.txt"), "mine\n");
    // Taken back, and a label and an issue.
    assert_eq!(
        confirm(&server.ask("try", &json!({"action": "undo"})))["ok"],
        true
    );
    assert_eq!(sandbox.text("<b>hostile.html"), "spoilt\n");
    let label = json!({"action": "label", "snapshot_id": id, "name": "from-the-page"});
    assert_eq!(confirm(&server.ask("try", &label))["ok"], true);
    assert_eq!(
        sandbox.json(["show", "from-the-page"])["snapshot"]["snapshot_id"],
        id
    );
    let report = json!({"action": "report", "snapshot_id": id, "task_context": "t", "symptom": "password=hunter2secret", "success_criteria": "c"});
    let shown = server.ask("try", &report);
    assert!(!shown.to_string().contains("hunter2secret"), "{shown}");
    let done = confirm(&shown);
    assert_eq!(done["done"]["issue"]["snapshot_id"], id, "{done}");
    // What a command refuses is refused here, in its words, and nothing that looks like a flag is one.
    for (action, code) in [
        (json!({"action": "return"}), "NOT_IN_PAST"),
        (
            json!({"action": "travel", "snapshot_id": "--force"}),
            "INVALID_ADDRESS",
        ),
        (
            json!({"action": "travel", "snapshot_id": "latest"}),
            "INVALID_ADDRESS",
        ),
        (json!({"action": "purge"}), "USAGE"),
        (
            json!({"action": "travel", "snapshot_id": id, "force": true}),
            "USAGE",
        ),
    ] {
        let got = server.post("/api/try", &own, &action.to_string()).json();
        assert_eq!(
            (&got["ok"], &got["error"]["code"]),
            (&json!(false), &json!(code)),
            "{action}"
        );
    }
    let flag = json!({"action": "label", "snapshot_id": id, "name": "--remove=from-the-page"});
    assert_eq!(
        confirm(&server.ask("try", &flag))["error"]["code"],
        "INVALID_LABEL"
    );
}

#[test]
fn it_listens_on_the_loopback_alone_on_the_port_asked_for() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["web"]);
    let port = format!("{:04X}", server.port);
    let tcp = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listens = |text: &str| -> Vec<String> {
        let listening = text
            .lines()
            .filter(|line| line.contains(" 0A ") && line.contains(&format!(":{port} ")));
        listening
            .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
            .collect()
    };
    assert_eq!(listens(&tcp), [format!("0100007F:{port}")]);
    assert!(listens(&std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default()).is_empty());
    // A port that is taken is said, and one that was asked for is used.
    let (error, code) = sandbox.json_error(["web", "--port", &server.port.to_string()]);
    assert_eq!((code, &error["code"]), (1, &json!("IO")));
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("cannot listen on 127.0.0.1:"),
        "{error}"
    );
}

#[test]
fn it_ends_when_nobody_asked_for_long() {
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let idle = Duration::from_secs(5);
    let mut server = Server::start(&sandbox, &["web", "--idle", "5s"]);
    let half = Instant::now() + idle / 2;
    while Instant::now() < half {
        server.ask("place", &json!({}));
        std::thread::sleep(Duration::from_millis(100));
    }
    // Somebody's question keeps it from here on.
    let asked = Instant::now();
    server.ask("entries", &json!({}));
    // Its page's own questions do not: as long as it answers there are some.
    let mut answered = 0;
    while let Some(status) = server.try_ask("place") {
        answered += u32::from(status == 200);
        assert!(asked.elapsed() < Duration::from_secs(60), "it stays");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(asked.elapsed() >= idle, "{:?}", asked.elapsed());
    assert!(answered > 0);
    let status = server.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(sandbox.state(), before);
    assert!(
        sandbox
            .tw(["web", "--idle", "0s"])
            .err()
            .contains("must be a time such as 90s, 30m or 2h")
    );
}
