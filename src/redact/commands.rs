//! Passwords on command lines: `redis-cli -a …`, `mysql -p…`, whose flags do not say what they take.

use std::ops::Range;

use super::judge::{Trust, is_secret};
use super::runs::{alphanumeric_or, run_at_start};

/// How far a command line is read.
const REACH: usize = 512;

/// How a flag takes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `-a VALUE`.
    Next,
    /// `-pVALUE`.
    Same,
    /// Either.
    Both,
}

/// A program whose flag takes a password.
#[derive(Debug)]
pub(super) struct Program {
    /// What its name begins with.
    pub(super) word: &'static str,
    flags: &'static [&'static str],
    takes: Takes,
    /// What stands before the password in the value.
    lead: &'static str,
}

const fn program(
    word: &'static str,
    flags: &'static [&'static str],
    takes: Takes,
    lead: &'static str,
) -> Program {
    Program {
        word,
        flags,
        takes,
        lead,
    }
}

/// The programs; those with a lead take the password after it, in whichever word it stands.
pub(super) static PROGRAMS: &[Program] = &[
    program("redis-cli", &["-a", "--pass"], Takes::Next, ""),
    program("valkey-cli", &["-a", "--pass"], Takes::Next, ""),
    program("mysql", &["-p"], Takes::Same, ""),
    program("mariadb", &["-p"], Takes::Same, ""),
    program("mongo", &["-p"], Takes::Both, ""),
    program("cqlsh", &["-p"], Takes::Next, ""),
    program("sshpass", &["-p"], Takes::Both, ""),
    program("docker login", &["-p"], Takes::Both, ""),
    program("podman login", &["-p"], Takes::Both, ""),
    program("buildah login", &["-p"], Takes::Both, ""),
    program("registry login", &["-p"], Takes::Both, ""),
    program("az login", &["-p"], Takes::Next, ""),
    program("ldapsearch", &["-w"], Takes::Both, ""),
    program("ldapadd", &["-w"], Takes::Both, ""),
    program("ldapmodify", &["-w"], Takes::Both, ""),
    program("ldapdelete", &["-w"], Takes::Both, ""),
    program("ldapwhoami", &["-w"], Takes::Both, ""),
    program("ldappasswd", &["-w", "-s"], Takes::Both, ""),
    program("sqlcmd", &["-P"], Takes::Both, ""),
    program("mosquitto_", &["-P"], Takes::Next, ""),
    program("unzip", &["-P"], Takes::Both, ""),
    program("zip", &["-P"], Takes::Both, ""),
    program("7z", &["-p"], Takes::Same, ""),
    program("openssl", &["-k", "-K"], Takes::Next, ""),
    program(
        "openssl",
        &["-pass", "-passin", "-passout"],
        Takes::Next,
        "pass:",
    ),
    program("smbclient", &["-U"], Takes::Both, "%"),
    program(
        "curl",
        &["-u", "--user", "-U", "--proxy-user"],
        Takes::Both,
        ":",
    ),
    program("lftp", &["-u"], Takes::Next, ","),
];

/// The password on a command line, given where the program's name stands.
pub(super) fn password(text: &str, hit: &Range<usize>, program: &Program) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = hit.start.checked_sub(1).map(|at| bytes[at]);
    if before.is_some_and(alphanumeric_or(b"_-.")) {
        return None;
    }
    let name = run_at_start(&bytes[hit.end..], 24, alphanumeric_or(b"_-."));
    // A bound, so that a text full of program names stays linear.
    let limit = super::span::floor(text, hit.end + REACH);
    let mut at = hit.end + name;
    let mut flagged = false;
    while let Some(word) = next_word(bytes, at, limit) {
        at = word.end;
        let value = bare(text, word.clone());
        let written = text.get(value.clone())?;
        let same = program.flags.iter().find_map(|flag| {
            let rest = text.get(word.clone())?.strip_prefix(flag)?;
            (!rest.is_empty() && (flag.len() == 2 || rest.starts_with('='))).then_some(rest.len())
        });
        let value = if std::mem::take(&mut flagged) {
            value
        } else if program.takes != Takes::Same && program.flags.contains(&written) {
            flagged = true;
            continue;
        } else if let Some(length) = same.filter(|_| program.takes != Takes::Next) {
            let start = word.end - length;
            bare(text, start + usize::from(bytes[start] == b'=')..word.end)
        } else {
            continue;
        };
        return after_lead(text, value, program.lead).filter(|found| is_password(text, found));
    }
    None
}

fn after_lead(text: &str, value: Range<usize>, lead: &str) -> Option<Range<usize>> {
    let skipped = text.get(value.clone())?.find(lead)? + lead.len();
    Some(value.start + skipped..value.end)
}

fn is_password(text: &str, value: &Range<usize>) -> bool {
    text.get(value.clone())
        .is_some_and(|value| !value.starts_with('-') && is_secret(value, Trust::Password))
}

/// The next word of a command line; quotes hold blanks together.
fn next_word(bytes: &[u8], from: usize, limit: usize) -> Option<Range<usize>> {
    let mut start = from;
    loop {
        match bytes.get(start..limit)? {
            [b' ' | b'\t', ..] => start += 1,
            [b'\\', b'\n', ..] => start += 2,
            []
            | [
                b'\n' | b'\r' | b'|' | b';' | b'&' | b')' | b'`' | b'<' | b'>',
                ..,
            ] => return None,
            _ => break,
        }
    }
    let mut quote = None;
    let length = bytes[start..limit]
        .iter()
        .position(|byte| match quote {
            Some(open) => {
                if *byte == open {
                    quote = None;
                }
                *byte == b'\n'
            }
            None if b"\"'".contains(byte) => {
                quote = Some(*byte);
                false
            }
            None => b" \t\r\n|;)`<>".contains(byte),
        })
        .unwrap_or(limit - start);
    Some(start..start + length)
}

/// Narrows the range of a word to what is between its quotes.
fn bare(text: &str, mut word: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    if word.start < word.end && b"\"'".contains(&bytes[word.start]) {
        word.start += 1;
    }
    while word.end > word.start && b"\"'\\".contains(&bytes[word.end - 1]) {
        word.end -= 1;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<&str> {
        PROGRAMS.iter().find_map(|program| {
            let at = line.find(program.word)?;
            let hit = at..at + program.word.len();
            password(line, &hit, program).map(|range| &line[range])
        })
    }

    #[test]
    fn passwords_of_flags() {
        for line in [
            "redis-cli -h h -a Hq7vTz2mPx9 ping",
            "redis-cli -h h \\\n  -a 'Hq7vTz2mPx9' ping",
            "mysql -uroot -pHq7vTz2mPx9 app",
            "mysqldump -p'Hq7vTz2mPx9' app",
            "mongosh -u admin -p Hq7vTz2mPx9",
            "sshpass -pHq7vTz2mPx9 ssh h",
            "docker login -u bob -p \"Hq7vTz2mPx9\" host",
            "openssl enc -aes-256-cbc -k Hq7vTz2mPx9",
            "openssl rsa -passin pass:Hq7vTz2mPx9 -in k",
            "smbclient //h/s -U bob%Hq7vTz2mPx9",
            "curl -s --user=bob:Hq7vTz2mPx9 https://h",
            "curl -ubob:Hq7vTz2mPx9 https://h",
            "7z x -pHq7vTz2mPx9 a.7z",
            "zip -r -P Hq7vTz2mPx9 a.zip dir",
            "/usr/bin/ldapsearch -x -w Hq7vTz2mPx9",
        ] {
            assert_eq!(found(line), Some("Hq7vTz2mPx9"), "{line}");
        }
    }

    #[test]
    fn no_passwords() {
        for line in [
            "redis-cli -a $REDIS_PASSWORD ping",
            "redis-cli -a <password>",
            "mysql -u root -p app",
            "mysql -P 3306 -p",
            "curl -u user:password https://h",
            "curl -u \"$USER:$PASS\" https://h",
            "openssl rsa -passin env:PW",
            "my-redis-cli -a Hq7vTz2mPx9",
            "redis-cli ping; tool -a Hq7vTz2mPx9",
            "mongo is a database",
            "gzip -P Hq7vTz2mPx9",
            "tar xf a.zip -P Hq7vTz2mPx9",
            "mysql -pYOUR_PASSWORD",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
