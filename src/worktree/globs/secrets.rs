//! Names that look like they hold a secret. A name alone proves nothing, either way.

/// Whether a file of this name likely holds a secret: `.env*`, `*.pem`, `*.key`, `id_*`, `.npmrc`, `.netrc`, `.pypirc`,
/// `credentials*`, in any case. Samples of an environment and public keys do not.
pub fn is_secret_name(name: &[u8]) -> bool {
    // Nearly all names are told by their first and last byte.
    let begins = matches!(name.first(), Some(b'.' | b'i' | b'I' | b'c' | b'C'));
    if !begins && !matches!(name.last(), Some(b'm' | b'M' | b'y' | b'Y')) {
        return false;
    }
    let is = |whole: &str| name.eq_ignore_ascii_case(whole.as_bytes());
    let starts = |head: &str| {
        let start = name.get(..head.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(head.as_bytes()))
    };
    let ends = |tail: &str| {
        let end = name.len().checked_sub(tail.len());
        let end = end.and_then(|at| name.get(at..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(tail.as_bytes()))
    };
    [".npmrc", ".netrc", ".pypirc"].into_iter().any(is)
        || (starts(".env") && ![".example", ".sample", ".template"].into_iter().any(ends))
        || (starts("id_") && !ends(".pub"))
        || starts("credentials")
        || [".pem", ".key"].into_iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::is_secret_name;

    #[test]
    fn secrets_by_name() {
        for name in [
            ".env",
            ".env.local",
            ".ENV",
            ".envrc",
            "server.pem",
            "TLS.KEY",
            "id_rsa",
            "id_ed25519",
            ".npmrc",
            ".netrc",
            ".pypirc",
            "credentials",
            "credentials.json",
            "Credentials.csv",
        ] {
            assert!(is_secret_name(name.as_bytes()), "{name}");
        }
        for name in [
            ".env.example",
            ".env.sample",
            ".env.local.template",
            "id_rsa.pub",
            "env",
            "npmrc",
            "keys",
            "pem",
            "my-credentials",
            "",
        ] {
            assert!(!is_secret_name(name.as_bytes()), "{name}");
        }
    }
}
