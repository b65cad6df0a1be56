//! Recall: made-up keys of services, known and unknown, in the syntaxes in which they leak.

use std::collections::BTreeMap;

use super::{Dice, EXAMPLES, Redactor};

const HEX: &str = "0123456789abcdef";
const BASE36: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL_SAFE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// Services that are in no list.
const UNKNOWN: &[&str] = &[
    "kalovo", "zendramo", "quabelix", "trasylo", "minervox", "pelquani",
];

/// `{v}` is the service, `{V}` in capitals, `{s}` the secret.
const SYNTAXES: &[&str] = &[
    "{v}_api_token = \"{s}\"",
    "{v}Token=\"{s}\"",
    "{v}Token={s}",
    "{\n    \"{v}_token\": \"{s}\"\n}",
    "<{v}Token>{s}</{v}Token>",
    "<{v}Token>\n    {s}\n</{v}Token>",
    "{v}_token: {s}",
    "{v}_token: '{s}'",
    "{v}_token: |\n  {s}\n",
    "string {v}Token = \"{s}\";",
    "var {v}Token string = \"{s}\"",
    "{v}Token := `{s}`",
    "${v}Token .= \"{s}\"",
    "  \"{v}Token\" => \"{s}\"\n",
    "{V}_TOKEN ::= \"{s}\"",
    "{V}_TOKEN ?= {s}",
    "http://{v}:{s}@host.test/user/repo",
    "https://host.test/v1?{v}_token={s}&x=1",
    "{v} token = '{s}'",
    "{v} key = '{s}'",
    "{v} token = '{s}' | '{s}'",
    "export {V}_API_KEY={s}",
    "{v} --token {s} list",
    "{v} --api-key={s}",
    "curl -H \"Authorization: Bearer {s}\" https://api.{v}.test/v1",
    "curl -H \"X-Api-Key: {s}\" https://api.{v}.test/",
    "{v}(api_key=\"{s}\")",
    "ENV {V}_TOKEN {s}",
    "- name: {V}_API_KEY\n  value: {s}\n",
    "{\"name\":\"{V}_API_KEY\",\"value\":\"{s}\"}",
    "variable \"{v}_token\" {\n  default = \"{s}\"\n}",
    "os.getenv(\"{V}_TOKEN\", \"{s}\")",
    "process.env.{V}_TOKEN || \"{s}\"",
    "if ({v}Token == \"{s}\") {",
    "my {v} api key is {s} thanks",
    "[{v}]\napi_key = \"{s}\"",
    "props.put(\"{v}.api.key\", \"{s}\");",
    "{\\\"{v}_token\\\": \\\"{s}\\\"}",
    ":{v}_token => '{s}'",
];

/// Where the service's name alone vouches.
const VOUCHED: &[&str] = &[
    "{v} = '{s}'",
    "\"{v}\": \"{s}\"",
    "client = {v}.Client(\"{s}\")",
];

fn secret(kind: usize, dice: &mut Dice) -> String {
    match kind % 8 {
        0 => dice.string(HEX, 32),
        1 => dice.string(HEX, 40),
        2 => [8, 4, 4, 4, 12]
            .map(|length| dice.string(HEX, length))
            .join("-"),
        3 => dice.string(BASE36, 20),
        4 => dice.string(BASE36, 32),
        5 => dice.string(BASE62, 24),
        6 => dice.string(BASE62, 40),
        _ => dice.string(URL_SAFE, 43),
    }
}

fn filled(syntax: &str, vendor: &str, secret: &str) -> String {
    syntax
        .replace("{v}", vendor)
        .replace("{V}", &vendor.to_uppercase())
        .replace("{s}", secret)
}

/// Share found, and the syntaxes with what they missed.
fn recall(vendors: &[&str], syntaxes: &[&str]) -> (f64, BTreeMap<String, usize>) {
    let redactor = Redactor::new();
    let mut dice = Dice(0xface);
    let (mut all, mut found) = (0u32, 0u32);
    let mut missed: BTreeMap<String, usize> = BTreeMap::new();
    for (kind, vendor) in vendors.iter().enumerate() {
        for syntax in syntaxes {
            let secret = secret(kind, &mut dice);
            let redacted = redactor.text(&filled(syntax, vendor, &secret));
            all += 1;
            if redacted.text.contains(&secret) {
                *missed.entry((*syntax).to_owned()).or_default() += 1;
            } else {
                found += 1;
            }
        }
    }
    (f64::from(found) / f64::from(all), missed)
}

fn vendors() -> Vec<&'static str> {
    include_str!("../vendors.txt")
        .split_ascii_whitespace()
        .filter(|name| !name.contains(['_', '.', '-']) && name.len() > 4)
        .step_by(7)
        .collect()
}

#[test]
fn named_keys_of_any_service_are_found() {
    let mut services = vendors();
    services.extend(UNKNOWN);
    assert!(services.len() > 150);
    let (share, missed) = recall(&services, SYNTAXES);
    assert!(share > 0.985, "{share}: {missed:#?}");
}

#[test]
fn a_service_s_name_vouches() {
    let (share, missed) = recall(&vendors(), VOUCHED);
    assert!(share > 0.93, "{share}: {missed:#?}");
}

#[test]
fn formats_are_found_alone() {
    let redactor = Redactor::new();
    let mut missed = Vec::new();
    for (id, texts) in EXAMPLES.iter() {
        for frame in ["log: {} end", "({})", "x\\n{}\\ny", "> {}", "[\"{}\"]"] {
            let text = frame.replace("{}", &texts.example);
            if redactor.text(&text).counts.is_empty() {
                missed.push((id, frame));
            }
        }
    }
    assert!(missed.len() * 50 < EXAMPLES.len() * 5, "{missed:#?}");
}
