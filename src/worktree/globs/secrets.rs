//! Names that look like they hold a secret. A name alone proves nothing, either way.

/// Whether a file of this name likely holds a secret: `.env*`, `*.pem`, `*.key`, `id_*`, `.npmrc`, `.netrc`, `.pypirc`,
/// `credentials*`, in any case. Samples of an environment and public keys do not.
pub fn is_secret_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let starts = |head: &[u8]| name.starts_with(head);
    let ends = |tails: &[&str]| tails.iter().any(|tail| name.ends_with(tail.as_bytes()));
    matches!(name.as_slice(), b".npmrc" | b".netrc" | b".pypirc")
        || (starts(b".env") && !ends(&[".example", ".sample", ".template"]))
        || (starts(b"id_") && !ends(&[".pub"]))
        || starts(b"credentials")
        || ends(&[".pem", ".key"])
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
