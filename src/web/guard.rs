//! Who may ask: the page itself, loaded by somebody who was given the address, and nobody else.
//!
//! The token is in the address once. The page keeps it for its own tab and sends it with each request in `Authorization`. It is
//! no cookie on purpose: a browser sends those to every port of a host, and so to whatever else listens on the loopback.
//! `Host` keeps out pages whose name was made to lead here, `Origin` and `Sec-Fetch-Site` those of other sites. What they may is to open the
//! page in a tab, as the address does that somebody was sent and clicks: they learn nothing of what is in it.

use std::net::SocketAddr;

use super::http::Request;
use crate::error::Result;
use crate::git::hex::hex;
use crate::git::random;

/// 32 random bytes, in hex digits.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Makes a new random token.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new() -> Result<Self> {
        let mut bytes = [0; 32];
        random::fill(&mut bytes)?;
        Ok(Self(hex(&bytes)))
    }

    /// The token's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is this one. Takes the same time wherever they differ.
    pub fn is(&self, other: &str) -> bool {
        if self.0.len() != other.len() {
            return false;
        }
        let pairs = self.0.bytes().zip(other.bytes());
        let differing = pairs.fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
        differing == 0
    }
}

/// What stands in the way of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is meant for another host.
    Host,
    /// It comes from another site.
    Origin,
    /// It has no token.
    NoToken,
    /// It has a token that is not this server's.
    WrongToken,
}

/// What a request has to show.
pub struct Guard {
    names: [String; 2],
    token: Token,
}

impl Guard {
    /// For a server at this address.
    pub fn new(address: SocketAddr, token: Token) -> Self {
        let port = address.port();
        Self {
            names: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            token,
        }
    }

    /// Whether a request may be answered.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn check(&self, request: &Request) -> std::result::Result<(), Refusal> {
        let host = request.header("host").ok_or(Refusal::Host)?;
        if !self.names.iter().any(|name| name == host) {
            return Err(Refusal::Host);
        }
        let origin = request.header("origin");
        let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
        // Browsers say where a POST comes from; whoever does not is no browser, and has to say it, too.
        let is_post = request.method == "POST";
        if origin.map_or(is_post, |origin| !is_own(origin)) {
            return Err(Refusal::Origin);
        }
        if !comes_from_here(request) && (is_post || !opens_a_tab(request)) {
            return Err(Refusal::Origin);
        }
        let given = match request.header("authorization") {
            Some(value) => value.strip_prefix("Bearer "),
            // The address that was printed: only a page can be had by it.
            None if !is_post => request.query.strip_prefix("token="),
            None => None,
        };
        match given {
            None => Err(Refusal::NoToken),
            Some(given) if self.token.is(given) => Ok(()),
            Some(_) => Err(Refusal::WrongToken),
        }
    }
}

/// Whether the page itself asks, or somebody who typed the address, as far as a browser says.
fn comes_from_here(request: &Request) -> bool {
    match request.header("sec-fetch-site") {
        None | Some("same-origin") => true,
        // Typed, or from a program that is no browser. No page makes a POST so.
        Some("none") => request.method != "POST",
        Some(_) => false,
    }
}

/// Whether what comes is shown in a tab of its own, and not to a page that asks for it, nor within one.
fn opens_a_tab(request: &Request) -> bool {
    let is = |name: &str, value: &str| request.header(name) == Some(value);
    is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_and_only_the_same_one_is_taken() {
        let (one, other) = (Token::new().expect("random"), Token::new().expect("random"));
        assert_eq!(one.as_str().len(), 64);
        assert!(one.is(one.as_str()));
        for wrong in [
            other.as_str(),
            "",
            &one.as_str()[1..],
            &format!("{}0", one.as_str()),
        ] {
            assert!(!one.is(wrong), "{wrong}");
        }
    }
}
