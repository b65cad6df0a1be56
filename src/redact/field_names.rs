//! What the name of a field says about its value.

use super::words::{
    ABOUT, FOREIGN_PASSWORDS, NO_KEYS, PASS_OWNERS, PASSWORD_ENDS, PASSWORDS, PLAIN_KEYS,
    PUBLIC_KEYS, PUBLIC_VALUES, SECRET_ENDS, SECRET_KEYS, SECRETS, TRAILING, VAGUE_PASSWORDS,
    WEAK_NAMES,
};

/// How much a name promises that its value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameClass {
    /// Nothing, or that it is none: `public_key`, `token_count`, `commit_sha`.
    None,
    /// May hold one: `key`, `auth`, `session`.
    Weak,
    /// Holds one when the value looks random: `token`, `client_secret`, `api_key`.
    Strong,
    /// Holds one whatever it looks like: `password`.
    Password,
}

/// What is longer is a text that stands where a name could.
pub(super) const LONGEST: usize = 200;

/// Splits a name into lower-case words: `vendorAPIKey-v2` is `vendor`, `api`, `key`, `v2`.
fn words(name: &str) -> Vec<String> {
    let bytes = name.as_bytes();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after = bytes.get(at + 1);
        let hump = byte.is_ascii_uppercase()
            && (before.is_some_and(u8::is_ascii_lowercase)
                || (before.is_some_and(u8::is_ascii_uppercase)
                    && after.is_some_and(u8::is_ascii_lowercase)));
        if (hump || !byte.is_ascii_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// What one word alone says.
fn word_class(word: &str) -> NameClass {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if PASSWORDS.has(word)
        || PASSWORD_ENDS.end(word)
        || (word.len() <= 12
            && (word.ends_with("pwd") || (word.ends_with("pass") && is_pass(word))))
    {
        return NameClass::Password;
    }
    if SECRET_ENDS.end(word) || SECRETS.has(word) {
        return NameClass::Strong;
    }
    if let Some(before) = word
        .strip_suffix("keys")
        .or_else(|| word.strip_suffix("key"))
    {
        if NO_KEYS.has(word) {
            return NameClass::None;
        }
        if SECRET_KEYS.end(before) {
            return NameClass::Strong;
        }
        if PLAIN_KEYS.has(before) {
            return NameClass::None;
        }
        return NameClass::Weak;
    }
    if WEAK_NAMES.has(word) || word.ends_with("auth") {
        return NameClass::Weak;
    }
    NameClass::None
}

/// `dbpass`, `userpass`; not `compass`, `onepass`.
fn is_pass(word: &str) -> bool {
    word.strip_suffix("pass")
        .is_some_and(|before| PASS_OWNERS.has(before))
}

/// Classifies a field name.
pub(super) fn classify(name: &str) -> NameClass {
    if name.len() > LONGEST {
        return NameClass::None;
    }
    // Letters beyond ASCII make no words below.
    if !name.is_ascii() && FOREIGN_PASSWORDS.end(&name.to_lowercase()) {
        return NameClass::Password;
    }
    let words = words(name);
    let words = without_trailing(&words);
    let Some((last, before)) = words.split_last() else {
        return NameClass::None;
    };
    if ABOUT.has(last) || words.iter().any(|word| PUBLIC_KEYS.has(word)) {
        return NameClass::None;
    }
    let own = last_class(last, before);
    if own != NameClass::None {
        return own;
    }
    if is_named_key(last, before) {
        return NameClass::None;
    }
    // A secret word further left: `tokenGithub`, `password_db`; the value has to look random.
    let left = (0..before.len())
        .map(|at| last_class(&before[at], &before[..at]))
        .max()
        .unwrap_or(NameClass::None);
    left.min(NameClass::Strong)
}

/// The words up to the one that counts.
fn without_trailing(words: &[String]) -> &[String] {
    let is_plain =
        |word: &String| TRAILING.has(word) || word.bytes().all(|byte| byte.is_ascii_digit());
    let plain = words.iter().rev().take_while(|word| is_plain(word)).count();
    &words[..words.len() - plain.min(words.len().saturating_sub(1))]
}

/// Whether a name ends in a word for a secret: `api_token`, `TOKEN_PROD`; not `tokens.py`, `tokenGithub`.
pub(super) fn ends_in_secret(name: &str) -> bool {
    let words = words(name);
    let words = without_trailing(&words);
    words
        .split_last()
        .is_some_and(|(last, before)| last_class(last, before) >= NameClass::Strong)
}

fn is_named_key(last: &str, before: &[String]) -> bool {
    matches!(last, "key" | "keys") && before.last().is_some_and(|word| PLAIN_KEYS.has(word))
}

/// The class of a word with the ones before it in mind: `api key`, `cache key`, `pass word`.
fn last_class(word: &str, before: &[String]) -> NameClass {
    let previous = before.last().map(String::as_str);
    if matches!(word, "key" | "keys") {
        return match previous {
            Some(previous)
                if SECRET_KEYS.has(previous) || word_class(previous) >= NameClass::Strong =>
            {
                NameClass::Strong
            }
            Some(previous) if PLAIN_KEYS.has(previous) => NameClass::None,
            _ => NameClass::Weak,
        };
    }
    if word == "pat" {
        return if previous.is_some() {
            NameClass::Weak
        } else {
            NameClass::None
        };
    }
    if matches!(word, "word" | "phrase") && previous == Some("pass") {
        return NameClass::Password;
    }
    word_class(word)
}

/// Whether a name is a word for a password that names other things as often, and nothing says whose it is: `pw`, `self.pw`;
/// not `DB_PW`.
pub(super) fn is_vague_password(name: &str) -> bool {
    let words = words(name);
    words.split_last().is_some_and(|(last, owners)| {
        let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
        VAGUE_PASSWORDS.has(last)
            && owners
                .iter()
                .all(|owner| matches!(owner.as_str(), "self" | "this" | "cls"))
    })
}

/// Whether a name is of many: `tokens` are what a text is cut into as often as they are secrets.
pub(super) fn names_many(name: &str) -> bool {
    words(name).last().is_some_and(|last| last == "tokens")
}

/// Whether a name says that its value is a public hash, id or the like.
pub(super) fn names_a_public_value(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else {
        return false;
    };
    ABOUT.has(last)
        || words
            .iter()
            .any(|word| PUBLIC_KEYS.has(word) || PUBLIC_VALUES.has(word))
        || last.ends_with("hash")
        || last.ends_with("sha256")
        || last.ends_with("sum")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_name() {
        assert_eq!(words("vendorAPIKey-v2"), ["vendor", "api", "key", "v2"]);
        assert_eq!(words("AWS_SECRET"), ["aws", "secret"]);
        assert_eq!(words("--db.password"), ["db", "password"]);
    }

    #[test]
    fn passwords() {
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPass",
            "PGPASSWORD",
            "db_pwd",
            "userPassword1",
            "passphrase",
            "spring.datasource.password",
            "MYSQL_ROOT_PASSWORD",
            "passwd",
            "DB_PW",
            "DB_MDP",
            "mot_de_passe",
            "Contraseña",
            "db_contraseña",
            "ПАРОЛЬ",
            "パスワード",
            "remotepass",
        ] {
            assert_eq!(classify(name), NameClass::Password, "{name}");
        }
    }

    #[test]
    fn strong_names() {
        for name in [
            "token",
            "githubToken",
            "GITHUB_TOKEN",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "client_secret",
            "secretKey",
            "vendor_api_token",
            "AWS_SECRET_ACCESS_KEY",
            "privateKey",
            "password_db",
            "authToken",
            "SECRET_KEY_BASE",
            "TOKEN_PROD",
            "_authToken",
            "GITHUBTOKEN",
            "accesskey",
        ] {
            assert_eq!(classify(name), NameClass::Strong, "{name}");
        }
    }

    #[test]
    fn weak_and_none() {
        for name in ["key", "auth", "session", "vendor_key", "_auth"] {
            assert_eq!(classify(name), NameClass::Weak, "{name}");
        }
        for name in [
            "public_key",
            "token_count",
            "password_length",
            "secretName",
            "keyword",
            "monkey",
            "primary_key",
            "cacheKey",
            "tokenId",
            "commit_sha",
            "author",
            "keyboard",
            "compass",
        ] {
            assert_eq!(classify(name), NameClass::None, "{name}");
        }
    }

    #[test]
    fn ends_in_secrets() {
        for name in [
            "token",
            "API_KEY",
            "clientSecret",
            "TOKEN_PROD",
            "x-api-key",
        ] {
            assert!(ends_in_secret(name), "{name}");
        }
        for name in [
            "tokens.py",
            "tokenGithub",
            "token_type",
            "secret.name",
            "key",
            "",
        ] {
            assert!(!ends_in_secret(name), "{name}");
        }
    }

    #[test]
    fn vague_passwords() {
        for name in ["pw", "pw1", "self.pw", "mdp", "passe", "heslo"] {
            assert!(is_vague_password(name), "{name}");
        }
        for name in ["DB_PW", "userPw", "password", "pwd", "kennwort"] {
            assert!(!is_vague_password(name), "{name}");
        }
    }

    #[test]
    fn public_values() {
        for name in [
            "checksum",
            "sha256",
            "commit",
            "request_id",
            "narHash",
            "integrity",
            "shasum",
        ] {
            assert!(names_a_public_value(name), "{name}");
        }
        assert!(!names_a_public_value("vendor"));
    }
}
