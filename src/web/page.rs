//! The page: plain HTML, CSS and JavaScript in one text, with the data that it begins with.
//!
//! Nothing is loaded from elsewhere, and only this script and this style run: the content policy names their hashes. Data is a
//! JSON block that no browser runs, in which no `<` stands, so that nothing in it can end the block.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const DOOR: &str = include_str!("door.html");
const DOOR_SCRIPT: &str = include_str!("door.js");

/// Where a page may send requests to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connects {
    /// To the server that it comes from.
    ToItself,
    /// Nowhere.
    Nowhere,
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// The content policy for a page with this script.
fn policy(script: &str, connects: Connects) -> String {
    let connect = match connects {
        Connects::ToItself => "'self'",
        Connects::Nowhere => "'none'",
    };
    let (script, style) = (hash(script), hash(CSS));
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; connect-src {connect}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

/// The policy as a header, which can also keep the page out of frames.
fn header(policy: &str) -> String {
    format!("{policy}; frame-ancestors 'none'")
}

/// A page with its data: the policy for its header, and its text.
pub fn page(data: &impl Serialize, connects: Connects) -> (String, String) {
    let policy = policy(SCRIPT, connects);
    let text = filled(HTML, &policy, SCRIPT).replacen("{data}", &block(data), 1);
    (header(&policy), text)
}

/// The page for somebody who has no token: it asks the tab for the one that it was opened with.
pub fn door() -> (String, String) {
    let policy = policy(DOOR_SCRIPT, Connects::Nowhere);
    let text = filled(DOOR, &policy, DOOR_SCRIPT);
    (header(&policy), text)
}

fn filled(html: &str, policy: &str, script: &str) -> String {
    html.replacen("{policy}", policy, 1)
        .replacen("{css}", CSS, 1)
        .replacen("{script}", script, 1)
}

/// A document that can stand inside an element of a page. What would end it, or may not stand in HTML, is escaped: that is in strings alone.
fn block(data: &impl Serialize) -> String {
    let text = serde_json::to_string(data).expect("string keys and plain data always encode");
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if ch == '<' || matches!(ch, '\u{2028}' | '\u{2029}') || is_forbidden(ch) {
            for unit in ch.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(ch);
        }
    }
    out
}

/// Whether HTML has no such character: controls, and what Unicode says is none.
fn is_forbidden(ch: char) -> bool {
    ch.is_control() || matches!(ch, '\u{fdd0}'..='\u{fdef}') || u32::from(ch) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_ends_its_block() {
        let hostile = "</script><script>alert(1)</script><!--\u{2028}{css}{script}{data}";
        let (_, text) = page(&hostile, Connects::Nowhere);
        assert!(!text.contains("alert(1)</script>"));
        assert_eq!(
            text.matches("</script>").count(),
            2,
            "the data's and the script's own"
        );
        assert!(text.contains("\\u003c/script>\\u003cscript>alert(1)"));
        assert!(
            text.contains("{css}{script}{data}"),
            "data is not filled in"
        );
    }

    #[test]
    fn what_may_not_stand_in_html_is_escaped_and_is_the_same_text() {
        let data = "\u{0}\u{7f}\u{80}\u{9b}\u{9f}\u{a0}\u{fdd0}\u{fffe}\u{ffff}\u{1ffff}\u{1f600}";
        let text = block(&data);
        assert_eq!(
            text,
            "\"\\u0000\\u007f\\u0080\\u009b\\u009f\u{a0}\\ufdd0\\ufffe\\uffff\\ud83f\\udfff\u{1f600}\""
        );
        let read: String = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, data);
    }

    #[test]
    fn the_policy_lets_this_script_and_this_style_run_alone() {
        let (policy, text) = page(&1, Connects::Nowhere);
        for part in [
            "default-src 'none'",
            &format!("script-src {};", hash(SCRIPT)),
            &format!("style-src {};", hash(CSS)),
            "connect-src 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"));
        let inside = |open: &str, close: &str| {
            let (_, rest) = text.rsplit_once(open).expect("there");
            rest.split_once(close).expect("ended").0.to_owned()
        };
        // The hashes are those of what stands in the page, byte for byte.
        assert_eq!(inside("<script>", "</script>"), SCRIPT);
        assert_eq!(inside("<style>", "</style>"), CSS);
        assert!(door().0.contains(&hash(DOOR_SCRIPT)));
    }

    #[test]
    fn the_sources_of_the_page_name_nothing_outside_and_build_no_markup_from_text() {
        for source in [HTML, CSS, SCRIPT, DOOR, DOOR_SCRIPT] {
            for word in ["http:", "https:", "//cdn", "@import", "url("] {
                assert!(!source.contains(word), "{word}");
            }
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!source.contains(word), "{word}");
            }
        }
    }
}
