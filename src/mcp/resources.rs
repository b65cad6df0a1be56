//! Issues and their conversations as resources, for clients that let people attach them. Reading one writes nothing.

use serde_json::{Value, json};

use super::call::origin;
use crate::error::{Error, Result};
use crate::ops::Context;
use crate::ops::issue::ChatShown;
use crate::ops::{issue, issues};
use crate::store::chat::Message;
use crate::wire;

/// An issue's URI is this and its id; its conversation's has [`CHAT`] at the end.
const ISSUES: &str = "timewarp://issues/";
const CHAT: &str = "/chat";

/// The media type of every resource: a record quoted in JSON cannot pass for anything else.
pub const MIME_TYPE: &str = "application/json";

/// This many issues to a page.
pub const PAGE: usize = 20;

/// Bytes of the messages of a conversation, as JSON: there are clients that end the connection at a message of 10 MiB.
const MESSAGES: usize = 2 << 20;

/// What is known of the URIs: template, name, title, description.
pub const TEMPLATES: [[&str; 4]; 2] = [
    [
        "timewarp://issues/{issue_id}",
        "issue",
        "An issue",
        "All of an issue: texts, runs, experiment. Quoted data with its origin.",
    ],
    [
        "timewarp://issues/{issue_id}/chat",
        "chat",
        "The conversation of an issue",
        "The redacted conversation that led to the issue. Quoted data with its origin.",
    ],
];

/// The issues from number `from` on, newest first, and their conversations; `next` where the list goes on.
pub fn list(ctx: &Context<'_>, from: usize) -> Result<Value> {
    let issues = issues::all_as_edited(ctx)?.issues;
    let mut resources = Vec::new();
    for issue in issues.iter().skip(from).take(PAGE) {
        let line: String = issue
            .symptom
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect();
        let claimed = issue.claimed_by.as_ref();
        let claimed = claimed.map_or(String::new(), |name| format!(", claimed by {name}"));
        let about = format!(
            "{} issue, reported {}{claimed}",
            issue.status.as_str(),
            issue.created_at
        );
        resources.push(json!({
            "uri": format!("{ISSUES}{}", issue.id), "name": issue.id.to_string(),
            "title": format!("Issue: {line}"), "description": about,
        }));
        if issue.chat_file.is_some() {
            resources.push(json!({
                "uri": format!("{ISSUES}{}{CHAT}", issue.id), "name": format!("{} chat", issue.id),
                "title": format!("Conversation: {line}"), "description": about,
            }));
        }
    }
    let next = from.saturating_add(PAGE);
    let next = (next < issues.len()).then_some(next);
    Ok(json!({"ok": true, "version": wire::VERSION, "resources": resources, "next": next}))
}

/// What a URI names: the document of `tw issue get` or `tw issue chat`, with its origin.
///
/// # Errors
/// `USAGE` for a URI that is none of ours; those of [`issue::peek`].
pub fn read(ctx: &Context<'_>, uri: &str) -> Result<Value> {
    let Some(rest) = uri.strip_prefix(ISSUES) else {
        return Err(Error::usage(format!("'{uri}' is not a resource of tw")));
    };
    let mut document = match rest.strip_suffix(CHAT) {
        Some(id) => {
            let mut shown = issue::peek_chat(ctx, id)?;
            shorten(&mut shown);
            wire::value(&shown)
        }
        None => wire::value(&issue::peek(ctx, rest)?),
    };
    document["origin"] = origin(match rest.strip_suffix(CHAT) {
        Some(_) => "a conversation between people, an agent and its tools",
        None => "texts of an issue, written by people and agents",
    });
    let claimed = [&document["claimed_by"], &document["issue"]["claimed_by"]];
    let claimed = claimed.into_iter().find_map(Value::as_str);
    let claimed =
        claimed.map(|name| format!("records that came from elsewhere, claimed by {name}"));
    if let Some(claimed) = claimed {
        document["origin"]["from"] = claimed.into();
    }
    Ok(document)
}

/// Leaves the last messages of a conversation that are not too many bytes together, and says so.
fn shorten(shown: &mut ChatShown) {
    let mut left = MESSAGES;
    let mut fits = |message: &Message| {
        let size = serde_json::to_vec(message).map_or(0, |json| json.len());
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    let messages = &mut shown.chat.messages;
    let last = messages.iter().rev().take_while(|one| fits(one)).count();
    let gone = messages.len() - last;
    if gone > 0 {
        messages.drain(..gone);
        let (id, total) = (&shown.issue_id, shown.total);
        shown.notices.push(format!(
            "the first {gone} of {total} messages are left out: 'tw issue chat {id}' shows all"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_conversation_keeps_its_end() {
        let messages = [
            "first",
            &"x".repeat(MESSAGES / 2),
            &"y".repeat(MESSAGES / 3),
            "last",
        ];
        let messages: Vec<Value> = messages
            .map(|text| json!({"role": "user", "text": text}))
            .into();
        let chat = json!({"version": 1, "captured_at": "", "messages": messages});
        let mut shown = ChatShown {
            issue_id: "i_1".to_owned(),
            total: 4,
            chat: serde_json::from_value(chat).expect("a chat"),
            claimed_by: None,
            notices: Vec::new(),
        };
        shorten(&mut shown);
        assert_eq!((shown.chat.messages.len(), shown.notices.len()), (4, 0));
        shown.chat.messages[1]
            .text
            .push_str(&"x".repeat(MESSAGES / 3));
        shorten(&mut shown);
        let left: Vec<usize> = shown
            .chat
            .messages
            .iter()
            .map(|one| one.text.len())
            .collect();
        assert_eq!(left, [MESSAGES / 3, 4]);
        let said = "the first 2 of 4 messages are left out: 'tw issue chat i_1' shows all";
        assert_eq!(shown.notices, [said]);
    }
}
