//! Tests of the whole: idempotence, JSON, texts of every kind, time.

mod innocent;
mod made_up;
mod recall;
mod rules;

use serde_json::json;

use super::keywords::KEYWORDS;
use super::*;
use rules::EXAMPLES;

/// Numbers that look random and are the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % limit.max(1)
    }

    pub(super) fn string(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        (0..length)
            .map(|_| char::from(letters[self.below(letters.len())]))
            .collect()
    }

    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

#[test]
fn what_stands_in_colours_or_in_other_clothes_goes_too() {
    let redactor = Redactor::new();
    let ghp = format!("ghp%5F{}", "q7gzkxv0w1jh9p2mzz01q7gzkxv0w1jh9p2m");
    for (text, redacted) in [
        (
            "DB_PASSWORD=\u{1b}[32mVq7!mKe2zRt9\u{1b}[0m",
            "DB_PASSWORD=\u{1b}[32m***REDACTED***\u{1b}[0m",
        ),
        (
            "\u{1b}[36mDB_PASSWORD\u{1b}[0m=Vq7!mKe2zRt9",
            "\u{1b}[36mDB_PASSWORD\u{1b}[0m=***REDACTED***",
        ),
        (
            "\\u001b[36mDB_PASSWORD\\u001b[0m=Vq7!mKe2zRt9",
            "\\u001b[36mDB_PASSWORD\\u001b[0m=***REDACTED***",
        ),
        (
            "ADMIN_PASSWORD=\"purple monkey dishwasher lamp\"",
            "ADMIN_PASSWORD=\"***REDACTED***\"",
        ),
        (
            "passphrase: \"purple monkey dishwasher lamp\"",
            "passphrase: \"***REDACTED***\"",
        ),
        (
            "MNEMONIC=\"legal winner thank year wave sausage worth useful legal winner thank yellow\"",
            "MNEMONIC=\"***REDACTED***\"",
        ),
        ("APP_TOKEN=Rf5sJu,9cVa2Lq", "APP_TOKEN=***REDACTED***"),
        ("API_SECRET=Rf5s;Ju9cVa2Lq", "API_SECRET=***REDACTED***"),
        ("JWT_SECRET=k8&Zp2#Qw9", "JWT_SECRET=***REDACTED***"),
        ("SECRET=Tr0ub4dor&3xyzABC", "SECRET=***REDACTED***"),
        (
            "https://x.test/?token=q7gzkxv0w1jh9p2m&x=b",
            "https://x.test/?token=***REDACTED***&x=b",
        ),
        (
            "TOKEN=q7gzkxv0w1jh9p2m;export X",
            "TOKEN=***REDACTED***;export X",
        ),
        (
            "APP_TOKEN=q7gzkxv0w1jh9p2m,OTHER=b",
            "APP_TOKEN=***REDACTED***,OTHER=b",
        ),
        (ghp.as_str(), "***REDACTED:github-personal-token***"),
        (
            "Authorization: Bearer my-short-tok9",
            "Authorization: Bearer ***REDACTED***",
        ),
        (
            "form-data; name=\"password\"\r\n\r\nhunter2\r\n--x",
            "form-data; name=\"password\"\r\n\r\n***REDACTED***\r\n--x",
        ),
    ] {
        assert_eq!(redactor.text(text).text, redacted, "{text:?}");
    }
    let json =
        "{\"passphrase\":\"purple monkey dishwasher lamp\",\"password\":\"hunter2x\\ud83d\"}";
    let redacted = "{\"passphrase\":\"***REDACTED***\",\"password\":\"***REDACTED***\"}";
    assert_eq!(redactor.json_lines(json).text, redacted);
}

#[test]
fn quotes_around_quotes_hide_no_secret() {
    let redactor = Redactor::new();
    for (text, redacted) in [
        (
            r"bash -c 'export DB_PASSWORD='\''Xk29dkfj2kd8'\'' && run'",
            r"bash -c 'export DB_PASSWORD='\''***REDACTED***'\'' && run'",
        ),
        (
            r#"bash -c 'export DB_PASSWORD='"'"'Xk29dkfj2kd8'"'"' && run'"#,
            r#"bash -c 'export DB_PASSWORD='"'"'***REDACTED***'"'"' && run'"#,
        ),
        (
            r"sh -c 'sh -c '\''P_PASSWORD='\''\'\'''\''Xk29dkfj2kd8'\''\'\'''\'' x'\'''",
            r"sh -c 'sh -c '\''P_PASSWORD='\''\'\'''\''***REDACTED***'\''\'\'''\'' x'\'''",
        ),
        (
            "INSERT INTO log VALUES ('export DB_PASSWORD=''Xk29dkfj2kd8''');",
            "INSERT INTO log VALUES ('export DB_PASSWORD=''***REDACTED***''');",
        ),
        (
            r#"1,"{""password"": ""Xk29dkfj2kd8""}",x"#,
            r#"1,"{""password"": ""***REDACTED***""}",x"#,
        ),
        (
            r#"{\\\"password\\\": \\\"Xk29dkfj2kd8\\\"}"#,
            r#"{\\\"password\\\": \\\"***REDACTED***\\\"}"#,
        ),
        (
            "Authorization%3A%20Bearer%20Xk29dkfj2kd8Lm",
            "Authorization%3A%20Bearer%20***REDACTED***",
        ),
        (
            "'curl' '-u' 'bob:Xk29dkfj2kd8' 'https://h'",
            "'curl' '-u' 'bob:***REDACTED***' 'https://h'",
        ),
    ] {
        assert_eq!(redactor.text(text).text, redacted, "{text}");
    }
}

#[test]
fn an_escaped_sign_is_that_sign() {
    let redactor = Redactor::new();
    let ghp = format!("ghp_{}", "q7gzkxv0w1jh9p2mzz01q7gzkxv0w1jh9p2m");
    let hook = format!(
        r"https:\/\/hooks.slack.com\/services\/T0AB12CD3\/B0AB12CD3\/{}",
        &ghp[4..28]
    );
    for (text, secret) in [
        (
            r#"log: "{\u0022password\u0022:\u0022VALUE\u0022}""#,
            "hunter2horse",
        ),
        (
            r#"log: "{\\u0022password\\u0022:\\u0022VALUE\\u0022}""#,
            "hunter2horse",
        ),
        (
            r#"log: "{\u0022auth\u0022:\u0022VALUE\u0022}""#,
            ghp.as_str(),
        ),
        (
            r#"[INFO] {"q":"password\u003dVALUE\u0026x\u003d1"}"#,
            "Tr4vel-Kite-9",
        ),
        (r#"[INFO] {"q":"x\u003dVALUE\u0026x\u003d1"}"#, ghp.as_str()),
        (r#"time=1 msg="\u003cVALUE\u003e""#, ghp.as_str()),
        (
            r#"time=1 msg="a\u003dVALUE\u003e""#,
            "xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc",
        ),
        (
            r#"  "url": "mysql:\/\/bob:VALUE@db.test\/app","#,
            "hunter3horse",
        ),
        (
            r#"  "aws_secret_access_key": "VALUE","#,
            r"wJalrXUtnFEMIz\/MDENG\/bPxRfiCYzQk3v9Lm2",
        ),
        (r#"  "hook": "VALUE","#, hook.as_str()),
        (
            r"cfg = '{\x22password\x22:\x22VALUE\x22}'",
            "lantern77Walrus",
        ),
    ] {
        let redacted = redactor.text(&text.replace("VALUE", secret)).text;
        let tail = &secret[secret.len() - 11..];
        assert!(
            !redacted.contains(tail) && redacted.contains(MARK),
            "{redacted}"
        );
        let (before, after) = text.split_once("VALUE").expect("has one");
        assert!(
            redacted.starts_with(before) && redacted.ends_with(after),
            "{redacted}"
        );
    }
}

#[test]
fn a_name_outranks_what_looks_like_another_format() {
    let redactor = Redactor::new();
    let short = "ghp_8sK2jW9xQv4";
    for name in ["GITHUB_TOKEN", "secret", "api_key"] {
        let redacted = redactor.text(&format!("{name}={short}")).text;
        assert_eq!(redacted, format!("{name}={MARK}***"));
    }
    for text in [format!("got {short} here"), format!("key: {short}")] {
        assert_eq!(redactor.text(&text).text, text);
    }
    let public = "-----BEGIN CERTIFICATE-----\ntoken=q7gzkxv0w1jh9p2m\n-----END CERTIFICATE-----";
    assert_eq!(redactor.text(public).text, public);
}

#[test]
fn what_was_cut_off_behind_a_prefix_goes() {
    let redactor = Redactor::new();
    for (token, rule) in [
        ("ghp_8sK2jW9xQv4LmT7b", "github-personal-token"),
        ("github_pat_11ABCDEFG0xI3WMNf", "github-fine-grained-token"),
        ("sk-ant-api03-xI3WMNfLbkpKy0", "anthropic-api-key"),
        ("AIzaSyD8sK2jW9xQv4", "google-api-key"),
        ("glpat-8sK2jW9xQv4L", "gitlab-personal-token"),
    ] {
        for (before, after) in [("got ", "\u{2026} and"), ("x: \"", "...\""), ("", "")] {
            let text = format!("{before}{token}{after}");
            let redacted = format!("{before}{MARK}:{rule}***{after}");
            assert_eq!(redactor.text(&text).text, redacted);
        }
    }
    for text in [
        "ghp_1234567890abcdef",
        "ghp_your_token_goes_here",
        "ghp_xxxxxxxxxxxxxxxx",
        "sk-ant-api03-your-key-here-1",
        "sk-ant-api03-xxxxxxxxxxxx",
        "npm_config_registry_2",
        "hf_hub_download_v1",
        "ghp_8sK2jW9xQv4",
        "xai-grok-4-fast-2025-09",
        "pplx-70b-chat-v20240501",
        "sk-proj-my-project-2024-11-05",
    ] {
        assert_eq!(redactor.text(text).text, text);
    }
}

#[test]
fn cookies_go_wherever_they_stand() {
    let redactor = Redactor::new();
    for text in [
        "curl -b 'theme=dark; sid=VALUE' https://h",
        "document.cookie = \"session=VALUE; path=/\"",
        "curl --cookie sid=VALUE https://h",
        "{\"Set-Cookie\": [\"theme=dark; Path=/\", \"sid=VALUE; Path=/\"], cut",
        "#HttpOnly_.acme.test\tTRUE\t/\tTRUE\t0\tSESSION\tVALUE\n",
        "     3\t.acme.test\tTRUE\t/\tFALSE\t1893456000\tsid\tVALUE",
    ] {
        let redacted = redactor
            .text(&text.replace("VALUE", "a8f5f167f44f4964"))
            .text;
        let (before, after) = text.split_once("VALUE").expect("has one");
        assert!(
            redacted.starts_with(&format!("{before}{MARK}")) && redacted.ends_with(after),
            "{redacted}"
        );
    }
    let mut words = json!(["curl", "-b", "sid=a8f5f167f44f4964", "https://h"]);
    redactor.json(&mut words);
    assert_eq!(words, json!(["curl", "-b", "***REDACTED***", "https://h"]));
}

#[test]
fn tokens_go_however_long_they_are() {
    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let redactor = Redactor::new();
    let mut dice = Dice(14);
    for length in [100, 1000, 3000, 10_000, 100_000] {
        let mut long = |length| dice.string(BASE64, length) + "a1";
        let plain = |text: String| text.replace(['-', '_'], "x");
        let tokens = [
            format!(
                "eyJ{}.eyJ{}.{}",
                long(length / 20 + 20),
                long(length),
                long(342)
            ),
            format!("ghs_{}", plain(long(length))),
            format!("ghp_{}", plain(long(length))),
            format!("ya29.{}", long(length)),
            format!("hvb.{}", long(length)),
            format!("pypi-AgEIcHlwaS5vcmc{}", long(length)),
        ];
        for token in tokens {
            for text in [
                token.clone(),
                format!("the token is {token} here."),
                format!("ID={token}"),
                format!("id: {token}\n"),
                format!("curl -H \"Authorization: Bearer {token}\" https://h"),
            ] {
                let once = redactor.text(&text).text;
                assert!(once.len() < 200, "{length}: {once}");
                assert_eq!(redactor.text(&once).text, once);
            }
        }
    }
}

#[test]
fn a_command_that_is_a_list_of_words_keeps_no_password() {
    let redactor = Redactor::new();
    let mut value = json!({"args": ["curl", "-u", "bob:Xk29 dkfj2kd8", "https://h"], "n": [["docker", "login", "-p", "Xk29dkfj"]]});
    let without = json!({"args": ["curl", "-u", "bob:***REDACTED***", "https://h"], "n": [["docker", "login", "-p", "***REDACTED***"]]});
    let lines = redactor.json_lines(&value.to_string());
    assert_eq!(lines.text, without.to_string());
    let counts = redactor.json(&mut value);
    assert_eq!(value, without);
    assert_eq!((counts["password"], &counts), (2, &lines.counts));
    let kept = ["curl", "-u", "$USER:$PASS", "mysql", "-p", "db"].map(str::to_owned);
    assert_eq!(
        redactor.words(kept.to_vec()),
        (kept.to_vec(), Counts::new())
    );
    let words = ["sshpass", "-p", "it's Xk29dkfj2", "ssh", "h"].map(str::to_owned);
    let (words, _) = redactor.words(words.to_vec());
    assert_eq!(words, ["sshpass", "-p", "***REDACTED***", "ssh", "h"]);
}

#[test]
fn only_the_secret_goes() {
    let redactor = Redactor::new();
    for (text, redacted) in [
        (
            "postgres://bob:hunter2@db.test:5432/app",
            "postgres://bob:***REDACTED***@db.test:5432/app",
        ),
        (
            "export API_TOKEN=\"q7gzkxv0w1jh9p2m\" # keep",
            "export API_TOKEN=\"***REDACTED***\" # keep",
        ),
        (
            "curl -H 'Authorization: Bearer q7gzkxv0w1jh9p2mzz01' https://api.test/v1",
            "curl -H 'Authorization: Bearer ***REDACTED***' https://api.test/v1",
        ),
        (
            "machine api.test login bob password Zx9KqLmP2w4t",
            "machine api.test login bob password ***REDACTED:netrc-password***",
        ),
        (
            "https://9b70c51be6894f218644f10fd72690e8@o324.ingest.us.sentry.io/74",
            "https://***REDACTED:sentry-dsn***@o324.ingest.us.sentry.io/74",
        ),
        (
            "https://api.telegram.org/bot1325897599:AAEiyZZl_ZyvxE-bqlHRSz1vI7pF6sHmlq5/getMe",
            "https://api.telegram.org/bot***REDACTED:telegram-bot-token***/getMe",
        ),
        (
            "echo 'tr0ub4dor&3' | sudo -S apt update",
            "echo '***REDACTED:sudo-password-pipe***' | sudo -S apt update",
        ),
        (
            "echo 'kX9#vQ2$mL' | docker login -u bob --password-stdin",
            "echo '***REDACTED:piped-password***' | docker login -u bob --password-stdin",
        ),
        (
            "echo \"hunter8 horse\" | passwd --stdin bob",
            "echo \"***REDACTED:piped-password***\" | passwd --stdin bob",
        ),
        (
            "echo 'bob:tr0ub4dor&4' | chpasswd",
            "echo 'bob:***REDACTED:chpasswd-line***' | chpasswd",
        ),
        (
            "CREATE USER 'bob'@'%' IDENTIFIED BY 'kX9#vQ2$mL';",
            "CREATE USER 'bob'@'%' IDENTIFIED BY '***REDACTED:sql-identified-by***';",
        ),
        (
            "CREATE USER bob IDENTIFIED BY SqLpa5sW0rD;",
            "CREATE USER bob IDENTIFIED BY ***REDACTED:sql-identified-by***;",
        ),
        (
            "{\\\"token\\\": \\\"q7gzkxv0w1jh9p2m\\\"}",
            "{\\\"token\\\": \\\"***REDACTED***\\\"}",
        ),
    ] {
        assert_eq!(redactor.text(text).text, redacted);
        assert_eq!(redactor.text(redacted).text, redacted);
    }
}

#[test]
fn a_secret_found_once_is_one_everywhere() {
    let redacted =
        Redactor::new().text("token = 'q7gzkxv0w1jh9p2m'\nsent q7gzkxv0w1jh9p2m to the server");
    assert_eq!(
        redacted.text,
        "token = '***REDACTED***'\nsent ***REDACTED*** to the server"
    );
}

#[test]
fn what_may_be_a_name_in_code_is_no_secret_elsewhere() {
    let redactor = Redactor::new();
    for (text, redacted) in [
        (
            "password = GridWorld33x\nimport GridWorld33x",
            "password = ***REDACTED***\nimport GridWorld33x",
        ),
        (
            "password = 'GridWorld33x'\nsent GridWorld33x",
            "password = '***REDACTED***'\nsent ***REDACTED***",
        ),
        (
            "password: Vq7mKe2zRt9Wx\nsent Vq7mKe2zRt9Wx",
            "password: ***REDACTED***\nsent ***REDACTED***",
        ),
    ] {
        assert_eq!(redactor.text(text).text, redacted);
    }
    let lines = "{\"text\":\"password = GridWorld33x\"}\n{\"text\":\"import GridWorld33x\"}";
    let redacted = redactor.json_lines(lines).text;
    assert!(redacted.ends_with("import GridWorld33x\"}"), "{redacted}");
}

#[test]
fn key_blocks_go_and_certificates_stay() {
    let mut dice = Dice(7);
    let line = |dice: &mut Dice| {
        dice.string(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            64,
        )
    };
    let body = format!("{}\n{}", line(&mut dice), line(&mut dice));
    let private = format!("a\n-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nb");
    let redacted = Redactor::new().text(&private);
    assert_eq!(
        redacted.text,
        "a\n-----BEGIN PRIVATE KEY-----\n***REDACTED:private-key***\n-----END PRIVATE KEY-----\nb"
    );
    let public = private.replace("PRIVATE KEY", "CERTIFICATE");
    assert_eq!(Redactor::new().text(&public).text, public);
}

#[test]
fn json_is_redacted_decoded() {
    let mut value = json!({
        "password": "letmein",
        "pin_password": 123_456,
        "nested": {"env": [{"name": "API_KEY", "value": "q7gzkxv0w1jh9p2m"}]},
        "text": "first\nexport DB_PASSWORD=\"o\u{e9}pen9\"\nlast",
        "count": 12,
        "max_tokens": 4096,
        "id": "e8e4df51-2054-49b0-ab1c-516ac95c691d"
    });
    let counts = Redactor::new().json(&mut value);
    assert_eq!(
        value,
        json!({
            "password": "***REDACTED***",
            "pin_password": "***REDACTED***",
            "nested": {"env": [{"name": "API_KEY", "value": "***REDACTED***"}]},
            "text": "first\nexport DB_PASSWORD=\"***REDACTED***\"\nlast",
            "count": 12,
            "max_tokens": 4096,
            "id": "e8e4df51-2054-49b0-ab1c-516ac95c691d"
        })
    );
    assert_eq!(counts.values().sum::<u64>(), 4);
}

#[test]
fn json_lines_keep_every_other_byte() {
    let input = concat!(
        "{\"a\" : 1.50, \"text\":\"caf\\u00e9 \\/ token=\\\"q7gzkxv0w1jh9p2m\\\"\"}\r\n",
        "{\"plain\":\"\\u00e9\",  \"n\":12345678901234567890123}\n",
        "not json: api_key = 'q7gzkxv0w1jh9p2mzz'\n",
        "{\"broken\": \"password\\\": \\\"letmein\n",
    );
    let redacted = Redactor::new().json_lines(input);
    assert_eq!(
        redacted.text,
        concat!(
            "{\"a\" : 1.50, \"text\":\"café / token=\\\"***REDACTED***\\\"\"}\r\n",
            "{\"plain\":\"\\u00e9\",  \"n\":12345678901234567890123}\n",
            "not json: api_key = '***REDACTED***'\n",
            "{\"broken\": \"password\\\": \\\"letmein\n",
        )
    );
    assert_eq!(redacted.counts.values().sum::<u64>(), 2);
}

#[test]
fn a_secret_found_in_one_string_goes_from_all() {
    let input = concat!(
        "{\"text\":\"I use 8f14e45fceea167a5a36dedd4bea2543 now\"}\n",
        "{\"text\":\"export ACME_TOKEN=8f14e45fceea167a5a36dedd4bea2543\"}\n",
    );
    let redactor = Redactor::new();
    let lines = redactor.json_lines(input);
    assert_eq!(
        lines.text,
        concat!(
            "{\"text\":\"I use ***REDACTED*** now\"}\n",
            "{\"text\":\"export ACME_TOKEN=***REDACTED***\"}\n",
        )
    );
    let mut value = json!([
        "I use 8f14e45fceea167a5a36dedd4bea2543 now",
        {"token": "8f14e45fceea167a5a36dedd4bea2543"}
    ]);
    redactor.json(&mut value);
    assert_eq!(
        value,
        json!(["I use ***REDACTED*** now", {"token": "***REDACTED***"}])
    );
}

#[test]
fn both_ways_through_json_agree() {
    let redactor = Redactor::new();
    let mut dice = Dice(11);
    for _ in 0..200 {
        let secret = dice.string("abcdefghijklmnopqrstuvwxyz0123456789", 24);
        let value = match dice.below(4) {
            0 => json!({"auth_token": secret, "n": [1, null, true]}),
            1 => json!([{"key": "SECRET_TOKEN", "value": secret}]),
            2 => json!({"out": format!("x\ntoken: {secret}\ny"), "é": "ü"}),
            _ => json!({"tokens": [secret, "word"], "password": 12_345_678}),
        };
        let mut walked = value.clone();
        let counts = redactor.json(&mut walked);
        let line = redactor.json_lines(&value.to_string());
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&line.text).ok(),
            Some(walked)
        );
        assert_eq!(line.counts, counts);
        assert!(!line.text.contains(&secret), "{value}");
    }
}

#[test]
fn known_values_go_wherever_they_stand() {
    let redactor = Redactor::with_values([
        ("DB_PASSWORD".to_owned(), "correct horse".to_owned()),
        ("EDITOR".to_owned(), "emacs-nox".to_owned()),
    ]);
    let redacted = redactor.text("he said correct horse, or correct%20horse, in emacs-nox");
    assert_eq!(
        redacted.text,
        "he said ***REDACTED:known-value***, or ***REDACTED:known-value***, in emacs-nox"
    );
}

#[test]
fn redacting_twice_is_redacting_once() {
    let redactor = Redactor::new();
    let mut all = String::new();
    for (id, texts) in EXAMPLES.iter() {
        let once = redactor.text(&texts.example).text;
        let twice = redactor.text(&once);
        assert_eq!(
            (twice.text.as_str(), twice.counts.len()),
            (once.as_str(), 0),
            "{id}"
        );
        all.push_str(&texts.example);
        all.push_str([" ", "\n", ", ", "=", "\"", "é"][all.len() % 6]);
    }
    let once = redactor.text(&all).text;
    assert_eq!(redactor.text(&once).text, once);
}

/// Pieces that the general rules act on, put together at random.
const PIECES: &[&str] = &[
    "password",
    "token",
    "api_key",
    "=",
    ": ",
    "\"",
    "'",
    " ",
    "\n",
    "é",
    "://",
    "@",
    "bob:",
    "Bearer ",
    "Authorization: ",
    "Cookie: ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "q7gzkxv0w1jh9p2mc4tf",
    "hunter2",
    "stripe ",
    "8f14e45fceea167a5a36dedd4bea2543",
    "***REDACTED***",
    "\\n",
    "{",
    "}",
    "<token>",
    "</token>",
    "xI3WMNfLbkpKy0aRpBvCr8j",
    "€uro",
    "=>",
    ",",
    "(",
    ")",
    "eyJ",
    "AKIA",
    "value",
    "\\\"",
    "${X}",
    "%3D",
    "%20",
    "'\\''",
    "'\"'\"'",
    "''",
    "\"\"",
    "\\\\\\\"",
    "curl -u ",
    "[\"sshpass\", \"-p\", \"",
    "\\u0022",
    "\\x3d",
    "\\/",
    "***REDACTED:sentry-dsn***",
    "<key>",
    "</key><string>",
    "user,password\n",
    "user,password\\nbob,",
    "curl -b sid=",
    "document.cookie = \"sid=",
    "ghp_8sK2jW9xQv4LmT7b",
    "postgres://u:",
    "😀",
];

#[test]
fn random_texts_stay_sound() {
    let redactor = Redactor::new();
    let mut dice = Dice(0x5eed);
    for round in 0..3000 {
        let length = 1 + dice.below(30);
        let text: String = (0..length).map(|_| *dice.pick(PIECES)).collect();
        let once = redactor.text(&text);
        assert_eq!(
            once.counts.is_empty(),
            once.text == text,
            "{round}: {text:?}"
        );
        let twice = redactor.text(&once.text);
        assert_eq!(twice.text, once.text, "{round}: {text:?}");
        let lines = redactor.json_lines(&text);
        assert_eq!(
            redactor.json_lines(&lines.text).text,
            lines.text,
            "{round}: {text:?}"
        );
    }
}

#[test]
fn what_is_not_seen_hides_no_secret() {
    let redactor = Redactor::new();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mark = redactor.text(&token).text;
    for unseen in [
        "\u{200b}", "\u{ad}", "\u{feff}", "\u{2060}", "\u{34f}", "\u{200d}",
    ] {
        for at in [2, 4, 20, 38] {
            let hidden = format!("{}{unseen}{}", &token[..at], &token[at..]);
            let text = format!("use {hidden} now, 👩\u{200d}💻");
            assert_eq!(
                redactor.text(&text).text,
                format!("use {mark} now, 👩\u{200d}💻"),
                "{unseen:?} {at}"
            );
        }
    }
    let wide: String = token.chars().flat_map(|ch| [ch, '\0']).collect();
    let redacted = redactor.text(&format!("type: {wide}\n")).text;
    assert!(redacted.contains(&mark), "{redacted:?}");
}

#[test]
fn the_beginning_of_a_text_holds_no_half_of_a_secret() {
    let redactor = Redactor::new();
    let secret = "q7gzkxv0w1jh9p2mc4tfz8k3";
    for at in [0, 90, WINDOW - 10, WINDOW - 30] {
        let start = "word ".repeat(at / 5);
        let text = format!("{start} token = '{secret}' {}", "more ".repeat(100_000));
        for length in [95, 100, 110, 2000, WINDOW / 2] {
            let beginning = redactor.beginning(&text, length);
            assert_eq!(beginning.chars().count(), length);
            assert!(!beginning.contains("q7gz"), "{at} {length}");
        }
    }
    let short = format!("token = '{secret}'");
    assert_eq!(redactor.beginning(&short, 2000), redactor.text(&short).text);
    let body = "q7gzkxv0w1jh9p2m".repeat(60_000);
    let all = format!("-----BEGIN PRIVATE KEY-----\n{body}");
    assert!(redactor.beginning(&all, 2000).chars().count() <= 2000);
}

/// The processor time that a text costs, in nanoseconds a byte; the least of some.
fn cost(redactor: &Redactor, text: &str) -> f64 {
    let clock = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        std::time::Duration::try_from(now).expect("a clock does not run backwards")
    };
    let bytes = f64::from(u32::try_from(text.len()).expect("short"));
    let once = || {
        let start = clock();
        redactor.text(text);
        clock().saturating_sub(start).as_secs_f64() * 1e9 / bytes
    };
    (0..2).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn filled(piece: &str, length: usize) -> String {
    piece.repeat(length / piece.len() + 1)
}

/// What once cost more than a pass: windows, headers, blocks, names, values and quotes that never end.
const HEAVY: &[&str] = &[
    "password=",
    "PASSWORD=",
    "pw=",
    "pwd=",
    "PW=",
    "password=***REDACTED***a",
    "password=a&",
    "password:a#",
    "password=hunter2",
    "password>",
    "token=f.x(",
    "token=os.getenv(",
    "?token=a1&",
    "token='",
    "token=\"",
    "token=\\\"",
    "token={x:",
    "<password>",
    "access=",
    "api_key.=",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "-----END RSA PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEA",
    "LS0tLS1CRUdJTi",
    "://a:",
    "://a@",
    "Authorization: ",
    "Cookie: a=b; ",
    "sk-ant-",
    "sgp_",
    "eyJ",
    "eyJhbGciOiJIUz.",
    "ZXlKhbGciOiJIU/",
    "-hvs.",
    "ghp_a1",
    "\"kty\"",
    "{\"kty\":\"d\":\"",
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n",
    "---- END SSH2 ENCRYPTED PRIVATE KEY ----",
    "Private-Lines: 2\n  1:",
    "prime1:00:",
    "  1:-----BEGIN PRIVATE KEY-----\n",
    "A",
    "a1",
    "a1::",
    "\"",
    "{\"a\":",
    "[[[[{{{{",
    "***REDACTED***",
    "curl -u ",
    "mysql -p",
    "redis-cli -a ",
    "twitter ",
    "token\u{200b}=",
    "\u{1b}[32mtoken\u{1b}[0m=",
    "\u{1b}]",
    "\u{1b}[1;",
    "\\u001b[",
    "%5F",
    "password%3D",
    "token='\\''",
    "''a",
    "\\",
    "[\"curl\", \"-u\", ",
    "docker login -p ",
    "name=\"token\"\n",
    "\\u0022",
    "\\u003d",
    "\\x22",
    "\\/",
    "password\\u003d",
    "https:\\/\\/a@",
    "***REDACTED:a***@",
    "user,password\n",
    "user,password\nbob,hunter2\n",
    "user,password\nbob,\"hunter2\n",
    "user,password\nbob,x\n\n",
    "[\"password\", \"hunter2\",",
    "password,",
    "|password|a|\n",
    "<key>password</key><string>",
    "<password a=\"",
    "echo 'hunter2' | kinit ",
    "curl -b ",
    "cookie = \"",
    "--cookie ",
    "set-cookie: \"a\",",
    "TRUE\t/",
    "TRUE\t/\tTRUE\t0\ta\t",
    "postgres://a:b/",
    "postgres://a:b/@",
    "user,password\\n",
    "user,password\\nbob,hunter2\\n",
    "user|password\nbob|hunter2\n",
    "password\\n\"",
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJx7...",
    "é",
];

#[test]
fn time_grows_with_the_text_alone() {
    let redactor = Redactor::new();
    let plain_text = filled("the quick brown fox; let x = y(z);\n", 1 << 16);
    let mut plain = cost(&redactor, &plain_text);
    for piece in HEAVY {
        let texts = [1 << 13, 1 << 16].map(|length| filled(piece, length));
        let [mut short, mut long] = texts.each_ref().map(|text| cost(&redactor, text));
        // A processor that others have begun to share since is slower than the one before: all beside each other then.
        for _ in 0..3 {
            if long >= plain * 600.0 || long >= short * 3.0 + plain {
                plain = cost(&redactor, &plain_text);
                [short, long] = texts.each_ref().map(|text| cost(&redactor, text));
            }
        }
        assert!(
            long < plain * 600.0,
            "{piece:?}: {long} against {plain} of plain text"
        );
        assert!(
            long < short * 3.0 + plain,
            "{piece:?}: {short} and {long}, eight times as long"
        );
    }
}

#[test]
fn no_keyword_costs_more_than_a_pass() {
    let redactor = Redactor::new();
    let plain_text = filled("the quick brown fox; let x = y(z);\n", 1 << 16);
    let plain = cost(&redactor, &plain_text);
    let mut words: Vec<&str> = KEYWORDS.words.clone();
    words.sort_unstable();
    words.dedup();
    for (number, word) in words.iter().enumerate() {
        let ending = ["", "=", ": ", " = \"", ":a1", " -p"][number % 6];
        let text = filled(&format!("{word}{ending}"), 1 << 12);
        let (mut long, mut plain) = (cost(&redactor, &text), plain);
        // A processor that others have begun to share since is slower than the one that the plain text had: beside each other then.
        for _ in 0..3 {
            if long >= plain * 1000.0 {
                (long, plain) = (cost(&redactor, &text), cost(&redactor, &plain_text));
            }
        }
        assert!(
            long < plain * 1000.0,
            "{word}{ending}: {long} against {plain}"
        );
    }
}

#[test]
fn json_with_long_names_costs_no_more_than_a_pass() {
    let redactor = Redactor::new();
    let of = |items: usize| {
        let text = format!(
            "{{\"{}\":[{}\"abcd\"]}}",
            "n".repeat(items * 8),
            "\"abcd\",[],".repeat(items)
        );
        let start = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        redactor.json_lines(&text);
        let end = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        i128::from(end.tv_sec - start.tv_sec) * 1_000_000_000
            + i128::from(end.tv_nsec - start.tv_nsec)
    };
    let least = |items: usize| (0..3).map(|_| of(items)).min().expect("three");
    of(100);
    let [short, long] = [2000, 16_000].map(least);
    assert!(long < short * 30, "{short} and {long}");
}
