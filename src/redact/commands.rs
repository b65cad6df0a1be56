//! Passwords on command lines: `redis-cli -a …`, `mysql -p…`, whose flags do not say what they take.

use std::ops::Range;

use super::fields::behind_mark;
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
    /// What its name begins with; the name of the command itself where it is one of others.
    pub(super) word: &'static str,
    /// The programs whose command it is: `docker login`.
    of: &'static [&'static str],
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
        of: &[],
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
    Program {
        word: "login",
        of: &[
            "docker", "podman", "buildah", "nerdctl", "registry", "oras", "skopeo", "crane", "az",
        ],
        flags: &["-p"],
        takes: Takes::Both,
        lead: "",
    },
    program("ldapsearch", &["-w"], Takes::Both, ""),
    program("ldapadd", &["-w"], Takes::Both, ""),
    program("ldapmodify", &["-w"], Takes::Both, ""),
    program("ldapdelete", &["-w"], Takes::Both, ""),
    program("ldapwhoami", &["-w"], Takes::Both, ""),
    program("ldappasswd", &["-w", "-s"], Takes::Both, ""),
    program("sqlcmd", &["-P"], Takes::Both, ""),
    program("bcp", &["-P"], Takes::Both, ""),
    program("cypher-shell", &["-p"], Takes::Next, ""),
    program("psexec", &["-p"], Takes::Next, ""),
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

impl Program {
    /// Whether a word is its name.
    fn is_called(&self, word: &str) -> bool {
        if !self.of.is_empty() {
            return word == self.word;
        }
        let name = word.rsplit('/').next().unwrap_or_default();
        let start = name.get(..self.word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(self.word))
            && name.bytes().all(alphanumeric_or(b"_-."))
    }

    /// Whether one of these words makes it a command of its own program.
    fn belongs_to<'a>(&self, mut before: impl Iterator<Item = &'a str>) -> bool {
        self.of.is_empty() || before.any(|word| self.of.contains(&word))
    }

    /// Which of the words behind the name holds the password, and where in it.
    fn find<'a>(&self, words: impl Iterator<Item = &'a str>) -> Option<(usize, Range<usize>)> {
        let mut flagged = false;
        for (number, word) in words.enumerate() {
            let same = self.flags.iter().find_map(|flag| {
                let rest = word.strip_prefix(flag)?;
                (!rest.is_empty() && (flag.len() == 2 || rest.starts_with('='))).then_some(rest)
            });
            let start = if std::mem::take(&mut flagged) {
                0
            } else if self.takes != Takes::Same && self.flags.contains(&word) {
                flagged = true;
                continue;
            } else if let Some(rest) = same.filter(|_| self.takes != Takes::Next) {
                word.len() - rest.len() + usize::from(rest.starts_with('='))
            } else {
                continue;
            };
            let whole = bare(word, start..word.len());
            let mut value = after_lead(word, whole.clone(), self.lead)?;
            value.start = value.end - behind_mark(word.get(value.clone())?)?.len();
            if value.is_empty() && self.lead == ":" {
                // A key for a user, who has no password then.
                let key = whole.start..value.end - self.lead.len();
                let is_key = word
                    .get(key.clone())
                    .is_some_and(|key| is_secret(key, Trust::Hinted));
                return is_key.then_some((number, key));
            }
            return is_password(word, &value).then_some((number, value));
        }
        None
    }
}

/// The password on a command line, given where the program's name stands.
pub(super) fn password(text: &str, hit: &Range<usize>, program: &Program) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = hit.start.checked_sub(1).map(|at| bytes[at]);
    if before.is_some_and(alphanumeric_or(b"_-.")) {
        return None;
    }
    let name = run_at_start(&bytes[hit.end..], 24, alphanumeric_or(b"_-."));
    if !program.of.is_empty() {
        let from = super::span::ceil(text, hit.start.saturating_sub(REACH / 4));
        let line = text.get(from..hit.start)?;
        let line = line.rsplit(['\n', ';', '|', '&']).next()?;
        let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
        if name > 0 || !program.belongs_to(words) {
            return None;
        }
    }
    // A bound, so that a text full of program names stays linear.
    let limit = super::span::floor(text, hit.end + REACH);
    let mut words = Words::after(bytes, hit.end + name, limit);
    let mut place = 0..0;
    let written = std::iter::from_fn(|| {
        let word = words.next()?;
        place = bare(text, word.clone());
        // In a list of a program's a word without quotes is a name of the program's.
        let is_name = words.between == Between::Commas && !is_literal(&bytes[word]);
        Some(text.get(place.clone()).filter(|_| !is_name).unwrap_or(""))
    });
    let (_, found) = program.find(written)?;
    Some(place.start + found.start..place.start + found.end)
}

/// What `curl` is told to send as cookies, given where its name stands.
pub(super) fn cookies(text: &str, hit: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = hit.start.checked_sub(1).map(|at| bytes[at]);
    if before.is_some_and(alphanumeric_or(b"_-.")) {
        return None;
    }
    let name = run_at_start(&bytes[hit.end..], 24, alphanumeric_or(b"_-."));
    let limit = super::span::floor(text, hit.end + REACH);
    let mut words = Words::after(bytes, hit.end + name, limit).map(|word| bare(text, word));
    while let Some(word) = words.next() {
        let flag = text.get(word.clone())?;
        // `-b`, also behind flags that take nothing: `-sb`.
        let letters = flag.strip_prefix('-').unwrap_or_default();
        if letters.ends_with('b') && letters.bytes().all(|letter| b"bsSkLivfg".contains(&letter)) {
            return words.next();
        }
        if letters.starts_with('b') {
            return Some(bare(text, word.start + 2..word.end));
        }
    }
    None
}

/// The password among the words of a command: which word, and where in it.
pub(super) fn password_among(words: &[&str]) -> Option<(usize, Range<usize>)> {
    let mut programs = PROGRAMS.iter();
    programs.find_map(|program| {
        let name = words.iter().position(|word| program.is_called(word))?;
        let before = words.get(..name)?.iter();
        if !program.belongs_to(before.map(|word| word.rsplit('/').next().unwrap_or_default())) {
            return None;
        }
        let (number, found) = program.find(words.get(name + 1..)?.iter().copied())?;
        Some((name + 1 + number, found))
    })
}

fn after_lead(text: &str, value: Range<usize>, lead: &str) -> Option<Range<usize>> {
    let skipped = text.get(value.clone())?.find(lead)? + lead.len();
    Some(value.start + skipped..value.end)
}

fn is_password(text: &str, value: &Range<usize>) -> bool {
    text.get(value.clone())
        .is_some_and(|value| !value.starts_with('-') && is_secret(value, Trust::Password))
}

/// What stands between the words of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    Blanks,
    /// `["curl", "-u", …]`, in whatever language.
    Commas,
}

/// The words of a command behind its program's name.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
    limit: usize,
    between: Between,
}

impl<'a> Words<'a> {
    fn after(bytes: &'a [u8], from: usize, limit: usize) -> Self {
        // Where the name itself is quoted its quote ends here.
        let quote = bytes.get(from..limit).unwrap_or_default();
        let slashes = run_at_start(quote, 4, |byte| byte == b'\\');
        let is_quote = quote.get(slashes).is_some_and(|byte| b"\"'".contains(byte));
        let at = if is_quote { from + slashes + 1 } else { from };
        let rest = bytes.get(at..limit).unwrap_or_default();
        let blanks = run_at_start(rest, 8, |byte| byte == b' ');
        let is_list = is_quote && rest.get(blanks) == Some(&b',');
        Self {
            bytes,
            at,
            limit,
            between: if is_list {
                Between::Commas
            } else {
                Between::Blanks
            },
        }
    }

    /// Steps over what stands between words; whether there is one more.
    fn reach_next(&mut self) -> bool {
        loop {
            let rest = self.bytes.get(self.at..self.limit).unwrap_or_default();
            match (self.between, rest) {
                (_, [b' ' | b'\t', ..]) | (Between::Commas, [b',' | b'\n' | b'\r', ..]) => {
                    self.at += 1;
                }
                (Between::Blanks, [b'\\', b'\n', ..]) => self.at += 2,
                (
                    _,
                    []
                    | [
                        b'\n' | b'\r' | b'|' | b';' | b'&' | b')' | b'`' | b'<' | b'>',
                        ..,
                    ],
                )
                | (Between::Commas, [b']' | b'}', ..]) => return false,
                _ => return true,
            }
        }
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    /// The next word; quotes hold blanks together.
    fn next(&mut self) -> Option<Range<usize>> {
        if !self.reach_next() {
            return None;
        }
        let start = self.at;
        let rest = &self.bytes[start..self.limit];
        let ends = |byte: &u8| {
            b" \t\r\n|;)`<>".contains(byte)
                || (self.between == Between::Commas && b",]}".contains(byte))
        };
        let opening = run_at_start(rest, 4, |byte| byte == b'\\');
        let mut quote = None;
        let length = rest.iter().enumerate().position(|(at, byte)| match quote {
            Some(open) => {
                if *byte == open {
                    quote = None;
                }
                *byte == b'\n'
            }
            None if b"\"'".contains(byte) => {
                // Behind a word it ends what all of the command stands in.
                let after = rest.get(at + 1);
                let closes =
                    at > opening && after.is_none_or(|byte| ends(byte) || b",&\"'".contains(byte));
                quote = Some(*byte);
                closes
            }
            None => ends(byte),
        });
        self.at = start + length.unwrap_or(rest.len());
        let word = start..self.at;
        if self
            .bytes
            .get(self.at)
            .is_some_and(|byte| b"\"'".contains(byte))
        {
            // No word comes after that quote.
            self.limit = self.at;
        }
        Some(word)
    }
}

/// Whether a word is a literal of a program: `"x"`, `\"x\"`.
fn is_literal(word: &[u8]) -> bool {
    let slashes = run_at_start(word, 4, |byte| byte == b'\\');
    word.get(slashes).is_some_and(|byte| b"\"'".contains(byte))
}

/// Narrows the range of a word to what is between its quotes.
fn bare(text: &str, mut word: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    if is_literal(&bytes[word.clone()]) {
        word.start += run_at_start(&bytes[word.clone()], 4, |byte| byte == b'\\') + 1;
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
            "curl https://h -u Hq7vTz2mPx9:",
            "bcp d.t out x -S h -PHq7vTz2mPx9",
            "cypher-shell -u neo4j -p Hq7vTz2mPx9",
            "psexec \\\\h -u bob -p Hq7vTz2mPx9 cmd",
            "7z x -pHq7vTz2mPx9 a.7z",
            "zip -r -P Hq7vTz2mPx9 a.zip dir",
            "/usr/bin/ldapsearch -x -w Hq7vTz2mPx9",
            "docker --context a login -u bob -p Hq7vTz2mPx9 host",
            "bash -c \"mysql -uroot -pHq7vTz2mPx9\" && mysql x",
            "'mysql' '-uroot' '-pHq7vTz2mPx9' 'db'",
            "'curl' '-u' 'bob:Hq7vTz2mPx9' 'https://h'",
            "'docker' 'login' '-u' 'bob' '-p' 'Hq7vTz2mPx9'",
            "subprocess.run(['mysqldump', '-uroot', '-pHq7vTz2mPx9', 'db'])",
            "[\"curl\", \"-u\", \"bob:Hq7vTz2mPx9\"]",
            "[\\\"curl\\\", \\\"-u\\\", \\\"bob:Hq7vTz2mPx9\\\"]",
            "exec.Command(\"sshpass\", \"-p\", \"Hq7vTz2mPx9\", \"ssh\", \"h\")",
            "[\n  \"docker\", \"login\",\n  \"-p\", \"Hq7vTz2mPx9\",\n]",
        ] {
            assert_eq!(found(line), Some("Hq7vTz2mPx9"), "{line}");
        }
    }

    #[test]
    fn cookies_of_curl() {
        let found = |line: &str| {
            let hit = line.find("curl")?;
            cookies(line, &(hit..hit + 4)).map(|range| line[range].to_owned())
        };
        for line in [
            "curl -b sid=a8f5f167f44f4964 https://h",
            "curl -s -H 'A: b' -b 'sid=a8f5f167f44f4964' https://h",
            "curl -sLb \"sid=a8f5f167f44f4964\" https://h",
            "curl -bsid=a8f5f167f44f4964 https://h",
            "[\"curl\", \"-b\", \"sid=a8f5f167f44f4964\", \"https://h\"]",
        ] {
            let cookies = found(line);
            assert_eq!(cookies.as_deref(), Some("sid=a8f5f167f44f4964"), "{line}");
        }
        for line in [
            "curl -ubob sid=a8f5f167f44f4964",
            "curl https://h; git checkout -b x=a8f5f167f44f4964",
            "libcurl -b sid=a8f5f167f44f4964",
        ] {
            assert_eq!(found(line), None, "{line}");
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
            "curl -u bob: https://h",
            "curl -u \"$API_KEY_2:\" https://h",
            "my-redis-cli -a Hq7vTz2mPx9",
            "redis-cli ping; tool -a Hq7vTz2mPx9",
            "mongo is a database",
            "gzip -P Hq7vTz2mPx9",
            "tar xf a.zip -P Hq7vTz2mPx9",
            "mysql -pYOUR_PASSWORD",
            "run([\"sshpass\", \"-p\", swordfish1, \"ssh\"])",
            "run([\"sshpass\", \"-p\", config[\"Hq7vTz2mPx9\"], \"ssh\"])",
            "run([\"mysql\", \"-uroot\"], \"x\"), f(\"-pHq7vTz2mPx9\")",
            "login -p Hq7vTz2mPx9",
            "docker ps; login -p Hq7vTz2mPx9",
            "docker logins -p Hq7vTz2mPx9",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
