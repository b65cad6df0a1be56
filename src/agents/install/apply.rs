//! Pieces put into the text of a settings file, and taken out again.

use serde_json::{Value, json};

use super::{Piece, written};
use crate::agents::edit::{
    self, Document, Found, NO_FILE, put_entry, put_marked_member, put_member, take_entry,
    take_marked_member, take_member,
};
use crate::text::command_line;

/// A byte order mark: some editors put one first. It stays where it is, and is no part of the settings.
const MARK: char = '\u{feff}';

/// Why a file cannot be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is no JSON, or TOML, that can be read.
    Unreadable,
    /// It would no longer be readable with ours in it.
    NoRoom,
    /// Entries of others stand in one line, where TOML lets nobody add any.
    Inline,
    /// A server of another command is called `tw`.
    OtherServer,
    /// Another file stands there.
    OtherFile,
}

impl Refusal {
    /// What to say of it, after the file's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "cannot be read as the settings it should be",
            Self::NoRoom => "has other settings where those of tw belong",
            Self::Inline => {
                "has entries in brackets or braces behind 'hooks =' or 'mcp_servers =', to which TOML lets nobody add any (write them as tables, [[hooks]] or [mcp_servers.NAME], and run this again)"
            }
            Self::OtherServer => "has another MCP server called 'tw'",
            Self::OtherFile => "is there already and not of tw's making",
        }
    }
}

fn is_hook(value: &Value, fits: &dyn Fn(&str) -> bool) -> bool {
    let own = ["command", "bash"]
        .iter()
        .filter_map(|key| value[*key].as_str());
    let mut own = own.filter(|command| fits(command));
    let inner = value["hooks"].as_array();
    own.next().is_some() || inner.is_some_and(|list| list.iter().any(|hook| is_hook(hook, fits)))
}

fn is_server(value: &Value) -> bool {
    let whole = match &value["command"] {
        Value::Array(words) => words.first().cloned().unwrap_or_default(),
        other => other.clone(),
    };
    whole == "tw" && value.to_string().contains("\"mcp\"")
}

/// What agents call the variables and the directory that a server is started with.
const SURROUNDINGS: [&str; 3] = ["env", "environment", "cwd"];

/// Whether a server is ours: it runs `tw mcp`, and nothing of its surroundings can make another program of that.
fn is_plain_server(value: &Value) -> bool {
    let sets = |key: &str| value.get(key).is_some_and(|set| !set.is_null());
    is_server(value) && !SURROUNDINGS.into_iter().any(sets)
}

/// What a server of our name that is not ours runs, as far as that can be told.
pub fn other_server(text: &str, pieces: &[Piece]) -> Option<String> {
    let found = server_in(text, pieces)?;
    let words = |value: &Value| match value {
        Value::String(word) => vec![word.clone()],
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str);
            words.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let line = command_line(&[words(&found["command"]), words(&found["args"])].concat());
    let set = SURROUNDINGS.into_iter();
    let set = set.filter_map(|key| Some(format!("{key} {}", found.get(key)?)));
    let said: Vec<String> = std::iter::once(line).chain(set).collect();
    Some(said.join(", "))
}

fn is_toml(text: &str) -> bool {
    text == NO_FILE || text.parse::<toml::Table>().is_ok()
}

/// The text of a file with ours in it; [`NO_FILE`] stands for a file that is not there.
///
/// # Errors
/// The reason why the file is left as it is.
pub fn put(text: &str, pieces: &[Piece]) -> Result<String, Refusal> {
    if let Some(text) = text.strip_prefix(MARK) {
        return Ok(format!("{MARK}{}", put(text, pieces)?));
    }
    let of_others = has_hooks(text);
    let mut text = text.to_owned();
    for piece in pieces {
        text = match piece {
            // Beside hooks of others it would not be known as ours again.
            Piece::Version(version) if of_others => put_version(&text, *version)?,
            piece => put_piece(&text, piece)?,
        };
    }
    Ok(text)
}

fn has_hooks(text: &str) -> bool {
    Document::parse(text).is_some_and(|document| document.keys().contains(&"hooks"))
}

fn put_version(text: &str, version: u32) -> Result<String, Refusal> {
    let document = Document::parse(text).ok_or(Refusal::Unreadable)?;
    if document.keys().contains(&"version") {
        return Ok(text.to_owned());
    }
    put_marked_member(text, "version", &json!(version)).ok_or(Refusal::NoRoom)
}

fn put_piece(text: &str, piece: &Piece) -> Result<String, Refusal> {
    match piece {
        Piece::Whole(new) => put_whole(text, new),
        Piece::Former(_) => Ok(without_former(text)),
        Piece::Block(body) => put_block(text, body),
        _ => put_member_or_entry(text, piece),
    }
}

/// Puts a file of ours in place of an earlier one of ours.
fn put_whole(text: &str, new: &str) -> Result<String, Refusal> {
    let is_ours = text == NO_FILE || written::is_file(text);
    // git may have checked it out for Windows.
    let is_right = text.replace("\r\n", "\n") == *new;
    if is_ours && !is_right {
        Ok(new.to_owned())
    } else if is_right || is_marked(text, new) {
        Ok(text.to_owned())
    } else {
        Err(Refusal::OtherFile)
    }
}

/// Puts a block of ours into a TOML file.
fn put_block(text: &str, body: &str) -> Result<String, Refusal> {
    if !is_toml(text) {
        return Err(Refusal::Unreadable);
    }
    if edit::has_other_server(text) {
        return Err(Refusal::OtherServer);
    }
    let new = match text {
        NO_FILE => format!("{}\n", edit::put_block("", body, None)),
        text => edit::put_toml(text, body).ok_or(Refusal::Unreadable)?,
    };
    if is_toml(&new) {
        Ok(new)
    } else if edit::has_inline_entries(text) {
        Err(Refusal::Inline)
    } else {
        Err(Refusal::NoRoom)
    }
}

/// Puts something of ours into a JSON document.
fn put_member_or_entry(text: &str, piece: &Piece) -> Result<String, Refusal> {
    let document = Document::parse(text).ok_or(Refusal::Unreadable)?;
    let new = match piece {
        Piece::Hook {
            event,
            command,
            entry,
        } => {
            let path = ["hooks", *event];
            let calls = |own: &str| {
                own.strip_prefix(command.as_str())
                    .is_some_and(|more| more.is_empty() || !edit::is_our_hook(own))
            };
            let stays =
                |value: &Value| is_hook(value, &calls) && !written::is_former_hook(value, command);
            if document.has_entry(&path, &stays) {
                return Ok(text.to_owned());
            }
            // An older 'tw' had another command, or told of more: one hook of ours for each event, not two.
            let text = take_entry(text, &path, Some("hooks"), &written::is_hook);
            text.and_then(|text| put_entry(&text, &path, entry, &written::is_hook))
        }
        Piece::Server { key, entry } => match document.member(&[key, "tw"], &is_plain_server) {
            Found::Ours => Some(text.to_owned()),
            Found::Other => return Err(Refusal::OtherServer),
            Found::Absent => put_member(text, &[key, "tw"], entry),
        },
        Piece::Listed { key, text: own } => {
            let is_ours = |value: &Value| value == own;
            if document.has_entry(&[key], &is_ours) {
                return Ok(text.to_owned());
            }
            put_entry(text, &[key], &json!(own), &is_ours)
        }
        Piece::Version(version) if !document.keys().contains(&"version") => {
            put_member(text, &["version"], &json!(version))
        }
        _ => Some(text.to_owned()),
    };
    new.ok_or(Refusal::NoRoom)
}

/// The text of a file without ours; [`NO_FILE`] when nothing of it is left that was not ours.
///
/// # Errors
/// The reason why the file is left as it is.
pub fn take(text: &str, pieces: &[Piece]) -> Result<String, Refusal> {
    if let Some(text) = text.strip_prefix(MARK) {
        let left = take(text, pieces)?;
        // A mark alone is no settings file of any agent.
        return Ok(if left == NO_FILE {
            left
        } else {
            format!("{MARK}{left}")
        });
    }
    let without = take_pieces(text, pieces)?;
    let versioned = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Version(_)));
    // Where no hook is ours the version is none of ours either.
    if !versioned || without == text {
        return Ok(without);
    }
    let keys_end_with = |keys: &[&str]| {
        Document::parse(text).is_some_and(|document| document.keys().ends_with(keys))
    };
    // What is put in stands last.
    if keys_end_with(&["version"]) {
        let unmarked = take_marked_member(text, "version").ok_or(Refusal::Unreadable)?;
        if unmarked != text {
            return take_pieces(&unmarked, pieces);
        }
    }
    // A version that stands behind the hooks and goes when they go is ours.
    if keys_end_with(&["hooks", "version"]) {
        let bare = take_member(text, &["version"], &|_| true).ok_or(Refusal::Unreadable)?;
        let without = take_pieces(&bare, pieces)?;
        let hooks_gone = without == NO_FILE
            || Document::parse(&without).is_some_and(|left| !left.keys().contains(&"hooks"));
        if hooks_gone {
            return Ok(without);
        }
    }
    Ok(without)
}

fn take_pieces(text: &str, pieces: &[Piece]) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    for piece in pieces {
        text = match piece {
            _ if text == NO_FILE => return Ok(text),
            Piece::Whole(_) if written::is_file(&text) => NO_FILE.to_owned(),
            Piece::Whole(new) if is_marked(&text, new) => text,
            Piece::Whole(_) => return Err(Refusal::OtherFile),
            Piece::Former(_) => without_former(&text),
            Piece::Listed { key, text: own } => {
                take_entry(&text, &[key], None, &|value| value == own).ok_or(Refusal::Unreadable)?
            }
            Piece::Block(_) => {
                let left = edit::take_toml(&text).ok_or(Refusal::Unreadable)?;
                // A block at the end of an empty file that was there has no last line feed; one in a file that we made has.
                let was_ours = left.is_empty() && text.ends_with('\n');
                if was_ours { NO_FILE.to_owned() } else { left }
            }
            Piece::Version(_) => text,
            Piece::Hook { event, .. } => {
                take_entry(&text, &["hooks", event], Some("hooks"), &written::is_hook)
                    .ok_or(Refusal::Unreadable)?
            }
            Piece::Server { key, entry } => {
                let is_ours = |value: &Value| written::is_server(value, entry);
                take_member(&text, &[key, "tw"], &is_ours).ok_or(Refusal::Unreadable)?
            }
        };
    }
    Ok(text)
}

/// What is left of a file that an earlier `tw` wrote whole: nothing, unless somebody else has put another in its place.
fn without_former(text: &str) -> String {
    if written::is_file(text) {
        NO_FILE.to_owned()
    } else {
        text.to_owned()
    }
}

/// Whether a whole file began as ours.
fn is_marked(text: &str, new: &str) -> bool {
    let marks = [
        "name: timewarp\n",
        "Installed by 'tw init",
        "\"tw hook copilot ",
    ];
    let mut marks = marks.iter();
    let text = text.replace("\r\n", "\n");
    marks.any(|mark| text.contains(mark) && new.contains(mark))
}

/// Whether a file is one of ours that somebody changed.
pub fn is_changed_file(text: &str, pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Whole(new) | Piece::Former(new) => {
            is_marked(text, new) && text.replace("\r\n", "\n") != *new && !written::is_file(text)
        }
        _ => false,
    })
}

/// Whether a text, without ours, has an MCP server that runs `tw mcp`: somebody changed it, or wrote it by hand.
pub fn has_server_of_others(text: &str, pieces: &[Piece]) -> bool {
    server_in(text, pieces).is_some_and(|server| is_server(&server))
}

/// The server of our name.
fn server_in(text: &str, pieces: &[Piece]) -> Option<Value> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    pieces.iter().find_map(|piece| match piece {
        Piece::Server { key, .. } => Document::parse(text)?.get(&[key, "tw"]),
        Piece::Block(_) => {
            let table: toml::Table = text.parse().ok()?;
            serde_json::to_value(table.get("mcp_servers")?.get("tw")?).ok()
        }
        _ => None,
    })
}
