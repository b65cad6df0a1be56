//! Secrets in what would go: the rules that take them out of every text that is kept, and the values that this working tree knows, over every
//! value once more. A record may have come in before a rule did, or by plain git.
//!
//! Nothing of a secret is shown: a finding names record, field and rule, and has a fingerprint by which somebody can say that it is none.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fields::parts;
use super::tree::Key;
use super::{Subject, filters};
use crate::error::{Code, Error, Result};
use crate::git::hex::hex;
use crate::redact::Redactor;
use crate::text::count;

/// More are counted and not listed.
const MOST: usize = 100;
/// This many are named to people.
const SHOWN: usize = 20;

/// Something that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Finding {
    /// What it is in.
    pub kind: Subject,
    /// The record's id.
    pub id: String,
    /// The field, and where in it; of a snapshot, the file.
    pub field: String,
    /// What found it: a row of the table of formats, or a general rule.
    pub rule: String,
    /// How many characters it has; what they are is not shown. Null of a file.
    pub length: Option<usize>,
    /// What `--allow-finding` takes.
    pub fingerprint: String,
}

/// What to look at: the values of a record's fields.
pub type Texts<'a> = (&'a Key, Vec<(&'a str, Value)>);

/// What a finding in the name of a field is said to be in.
const A_NAME: &str = "a name of a field";

/// The findings in these values, without those that were said to be none.
pub fn findings(redactor: &Redactor, texts: &[Texts<'_>], allowed: &[String]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (key, values) in texts {
        // As one document: what is a secret in one field is one in every other.
        let named = |one: &(&str, Value)| Value::from(vec![texts_of(one.0), under_its_name(one)]);
        let before: Vec<Value> = values.iter().map(named).collect();
        let mut after = Value::Array(before.clone());
        redactor.json(&mut after);
        for (before, after) in before.iter().zip(after.as_array().into_iter().flatten()) {
            let names = |pair: &Value| pair.get(0).and_then(Value::as_array).cloned();
            let (names, cleaned) = (names(before), names(after));
            let (names, cleaned) = (names.unwrap_or_default(), cleaned.unwrap_or_default());
            for (name, cleaned) in names.iter().zip(&cleaned) {
                compare(key, A_NAME, name, cleaned, &mut found);
            }
            // A name that is a secret itself is not shown.
            let parts = cleaned.iter().skip(1).filter_map(Value::as_str);
            let at = parts.collect::<Vec<_>>().join("/");
            let value = |pair: &Value| pair.get(1)?.as_object()?.values().next().cloned();
            if let (Some(old), Some(new)) = (&value(before), &value(after)) {
                walk(key, &at, (old, new), &mut found);
            }
        }
    }
    found.retain(|finding| !allowed.contains(&finding.fingerprint));
    for finding in &mut found {
        // A session's id may be any text.
        finding.id = redactor.text(&finding.id).text;
    }
    found.sort();
    found.dedup();
    found
}

/// What is read of a field's name: all of it as it goes, then each of its parts as somebody gave it, for in the name they are escaped.
fn texts_of(name: &str) -> Value {
    let whole = std::iter::once(name.to_owned());
    whole.chain(parts(name)).collect()
}

/// A value under its own name: it may be a secret that it would not be alone.
fn under_its_name((name, value): &(&str, Value)) -> Value {
    let last = parts(name).last().unwrap_or_default();
    Value::Object([(last, value.clone())].into_iter().collect())
}

/// Refuses to go on when there is one.
///
/// # Errors
/// `SECRET_FOUND`, with all of them.
pub fn refuse(found: &[Finding]) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let is_filtered = |one: &&Finding| one.rule.starts_with(filters::RULE);
    let filtered = found.iter().filter(is_filtered).count();
    let secret = match found.len() - filtered {
        1 => "1 text that would be sent looks like a secret".to_owned(),
        texts => format!(
            "{} that would be sent look like secrets",
            count(texts, "text")
        ),
    };
    let files = count(filtered, "file");
    let plain = format!("{files} that git stores through a filter would be sent in plain");
    let what = match (found.len() - filtered, filtered) {
        (_, 0) => secret,
        (0, _) => plain,
        _ => format!("{secret}, and {plain}"),
    };
    let message = format!("{what}; nothing was sent");
    let listed = serde_json::to_value(found.get(..MOST).unwrap_or(found)).unwrap_or_default();
    let mut error = Error::new(Code::SecretFound, message)
        .detail("findings", listed)
        .detail("count", found.len());
    for one in found.iter().take(SHOWN) {
        let length = one
            .length
            .map_or(String::new(), |length| format!(", {length} characters"));
        let (kind, rule) = (one.kind.as_str(), &one.rule);
        error = error.hint(format!(
            "{kind} {}, {}: {rule}{length}; if it is not a secret: --allow-finding {}",
            one.id, one.field, one.fingerprint
        ));
    }
    if let Some(more) = found.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        error = error.hint(format!("and {more} more: 'tw --json share scan'"));
    }
    if filtered > 0 {
        let hint = "a snapshot has files as they are here: what a filter such as git-crypt encrypts for git would go in plain";
        error = error.hint(hint);
    }
    if found.iter().any(|one| one.kind == Subject::Session) {
        let hint = "texts of sessions stay here without --prompts redacted: 'tw share init REMOTE'";
        error = error.hint(hint);
    }
    if found.iter().any(|one| one.kind == Subject::Snapshot) {
        let hint = "'tw purge PATH' takes a file out of all snapshots; 'tw snapshot --exclude PATH' takes one without it";
        error = error.hint(hint);
    }
    if found.iter().any(|one| one.kind == Subject::Experiment) {
        let hint = "'tw try drop TRY' takes a try out; commands of tries stay here without --prompts redacted";
        error = error.hint(hint);
    }
    let is_of_issue = |one: &Finding| matches!(one.kind, Subject::Issue | Subject::Chat);
    if found.iter().any(is_of_issue) {
        let hint = "'tw issue edit ISSUE' takes a text out, its experiment.md a heading; what it was stays in this repository's history alone";
        error = error.hint(hint);
    }
    Err(error)
}

fn walk(key: &Key, at: &str, (old, new): (&Value, &Value), found: &mut Vec<Finding>) {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) => {
            for (number, pair) in old.iter().zip(new).enumerate() {
                walk(key, &format!("{at}/{number}"), pair, found);
            }
        }
        // A name that is a secret has another one after, in the same place.
        (Value::Object(old), Value::Object(new)) if old.len() == new.len() => {
            for ((name, old), (cleaned, new)) in old.iter().zip(new) {
                let names = (Value::from(name.as_str()), Value::from(cleaned.as_str()));
                compare(key, at, &names.0, &names.1, found);
                walk(key, &format!("{at}/{cleaned}"), (old, new), found);
            }
        }
        // Several that became the same one: which value was whose is not known any more.
        (Value::Object(_), Value::Object(_)) => {
            compare(key, at, old, &Value::from("***REDACTED***"), found);
        }
        (old, new) => compare(key, at, old, new, found),
    }
}

/// What was replaced in one text.
fn compare(key: &Key, at: &str, old: &Value, new: &Value, found: &mut Vec<Finding>) {
    static MARK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\*\*\*REDACTED(?::([A-Za-z0-9_.-]+))?\*\*\*").expect("a constant pattern")
    });
    if old == new {
        return;
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let (old, new) = (text(old), text(new));
    let mut rest = old.as_str();
    let mut end = 0;
    let marks: Vec<_> = MARK.captures_iter(&new).collect();
    for (number, mark) in marks.iter().enumerate() {
        let Some(whole) = mark.get(0) else { continue };
        let before = new.get(end..whole.start()).unwrap_or_default();
        rest = rest.strip_prefix(before).unwrap_or(rest);
        end = whole.end();
        let until = marks.get(number + 1).and_then(|next| next.get(0));
        let after = new.get(end..until.map_or(new.len(), |next| next.start()));
        let after = after.unwrap_or_default();
        let length = if until.is_none() && rest.ends_with(after) {
            rest.len() - after.len()
        } else if after.is_empty() {
            rest.len()
        } else {
            rest.find(after).unwrap_or(rest.len())
        };
        let (secret, left) = rest.split_at(length);
        rest = left;
        // It stood there before: nothing was replaced.
        if MARK
            .find(secret)
            .is_some_and(|found| found.as_str() == secret)
        {
            continue;
        }
        let rule = mark.get(1).map_or("general", |rule| rule.as_str());
        let digest = Sha256::digest(format!("{rule}\n{secret}"));
        let (kind, id) = key;
        found.push(Finding {
            kind: (*kind).into(),
            id: id.clone(),
            field: shown(at, secret),
            rule: rule.to_owned(),
            length: Some(secret.chars().count()),
            fingerprint: hex(digest.get(..6).unwrap_or_default()),
        });
    }
}

/// A field's name, unless that holds the secret.
fn shown(at: &str, secret: &str) -> String {
    if at.contains(secret) {
        A_NAME.to_owned()
    } else {
        at.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::Kind;
    use super::*;
    use serde_json::json;

    fn found(values: Vec<(&str, Value)>) -> Vec<Finding> {
        let key = (Kind::Issue, "i_20260228_153012_ab12cd".to_owned());
        findings(&Redactor::new(), &[(&key, values)], &[])
    }

    const TOKEN: &str = "ghp_R4nd0mT0kenValue0123456789abcdefABCD";

    #[test]
    fn a_secret_is_named_by_field_and_rule_and_never_shown() {
        let all = found(vec![
            ("symptom", json!(format!("it said {TOKEN} twice, {TOKEN}!"))),
            (
                "later",
                json!({"deep": [1, {"password": "hunter2-Violet-77"}]}),
            ),
            ("password", json!("hunter2-Violet-78")),
            ("task_context", json!("***REDACTED:jwt*** stood here")),
        ]);
        let fields: Vec<&str> = all.iter().map(|one| one.field.as_str()).collect();
        assert_eq!(
            fields,
            ["later/deep/1/password", "password", "symptom"],
            "{all:?}"
        );
        assert!(all.iter().all(|one| one.length >= Some(17)), "{all:?}");
        let said = refuse(&all).expect_err("refused");
        let json = serde_json::to_string(&said).expect("an error");
        assert!(!json.contains("hunter2") && !json.contains(TOKEN), "{json}");
    }

    #[test]
    fn what_was_said_to_be_none_is_none() {
        let key = (Kind::Issue, "i_20260228_153012_ab12cd".to_owned());
        let values = || vec![("symptom", json!(format!("it said {TOKEN}")))];
        let all = findings(&Redactor::new(), &[(&key, values())], &[]);
        let allowed: Vec<String> = all.iter().map(|one| one.fingerprint.clone()).collect();
        assert_eq!(allowed.len(), 1);
        assert!(findings(&Redactor::new(), &[(&key, values())], &allowed).is_empty());
        let other = vec![(
            "symptom",
            json!("it said ghp_R4nd0mT0kenValue0123456789abcdefABCE"),
        )];
        assert_eq!(
            findings(&Redactor::new(), &[(&key, other)], &allowed).len(),
            1
        );
    }

    #[test]
    fn a_name_that_is_a_secret_is_found_and_not_shown() {
        let name = format!("experiment/extra/{TOKEN}");
        let all = found(vec![
            (name.as_str(), json!("x")),
            ("later", json!({TOKEN: 1})),
        ]);
        assert_eq!(all.len(), 2, "{all:?}");
        let said = serde_json::to_string(&all).expect("findings");
        assert!(!said.contains("R4nd0m"), "{said}");
    }

    #[test]
    fn names_are_read_as_they_were_before_they_were_escaped() {
        let redactor =
            Redactor::with_values([("DB_PASSWORD".to_owned(), "blue/cow~4711hat".to_owned())]);
        let key = (Kind::Issue, "i_20260228_153012_ab12cd".to_owned());
        for name in [
            "experiment/extra/with blue~1cow~04711hat",
            "blue~1cow~04711hat",
            "postgres:~1~1user:s3cretPw99zQ@db.example.com~1x",
        ] {
            let all = findings(&redactor, &[(&key, vec![(name, json!("x"))])], &[]);
            assert!(!all.is_empty(), "{name}");
            assert!(all.iter().all(|one| one.field == A_NAME), "{all:?}");
        }
    }

    #[test]
    fn a_value_is_looked_at_whatever_its_names_are() {
        let other = "ghp_R4nd0mT0kenValue0123456789abcdefABCE";
        let deep = json!({TOKEN: {"password": "hunter2-Violet-77"}, "x": 1});
        // Two names that are taken out become one.
        let both = json!({TOKEN: "one", other: {"password": "hunter2-Violet-78"}});
        for (value, names) in [(deep, 1), (both, 0)] {
            let all = found(vec![("later", value)]);
            assert_eq!(all.len(), names + 1, "{all:?}");
            let said = serde_json::to_string(&all).expect("findings");
            assert!(
                !said.contains("R4nd0m") && !said.contains("Violet"),
                "{said}"
            );
        }
        // What is a secret in one field is one as a name in another.
        let all = found(vec![
            ("password", json!("hunter2-Violet-79")),
            ("later", json!({"hunter2-Violet-79": 1})),
        ]);
        let fields: Vec<&str> = all.iter().map(|one| one.field.as_str()).collect();
        assert_eq!(fields, ["later", "password"], "{all:?}");
    }
}
