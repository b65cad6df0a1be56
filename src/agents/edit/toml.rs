//! Our entries in TOML settings: in a block between marks, so that what was there before comes back byte for byte.
//!
//! Marks are comments, and agents that write their settings anew drop those, or put other tools' entries between them. So our
//! entries are known by what they are, between the marks, too: an MCP server `tw` that runs `tw mcp`, hooks that run `tw hook`. One that
//! says more is somebody's own.
//!
//! To `hooks = []`, as an agent writes it that has none, TOML lets nobody add any: it stands aside as a comment while ours are there.

use std::ops::Range;

use super::{inside_block, is_our_hook, is_our_time, put_block, replace_block, take_block};
use toml_edit::{
    Array, ArrayOfTables, Document, DocumentMut, Item, RawString, Table, TableLike, Value,
};

/// The tables of MCP servers, and the list of hooks.
const SERVERS: &str = "mcp_servers";
const HOOKS: &str = "hooks";
const NAME: &str = "tw";

/// What a line begins with that stands aside for ours.
const ASIDE: &str = "# timewarp put aside: ";

fn is_text(item: Option<&Item>, fits: impl Fn(&str) -> bool) -> bool {
    item.and_then(Item::as_str).is_some_and(fits)
}

fn is_server(table: &dyn TableLike) -> bool {
    let args = table.get("args").and_then(Item::as_array);
    let serves = |args: &Array| args.iter().any(|arg| arg.as_str() == Some("mcp"));
    is_text(table.get("command"), |command| command == "tw") && args.is_some_and(serves)
}

/// 'command' and 'args', and nothing in them but 'tw mcp'.
fn is_our_server(table: &dyn TableLike) -> bool {
    let args = table.get("args").and_then(Item::as_array);
    is_server(table) && table.iter().count() == 2 && args.is_some_and(|args| args.len() == 1)
}

/// As some `tw` wrote it.
fn is_our_hook_table(table: &dyn TableLike) -> bool {
    let is_written = |(key, item): (&str, &Item)| match key {
        "event" | "command" => true,
        // So kimi-cli writes what is not set.
        "matcher" => item.as_str() == Some(""),
        "timeout" => item
            .as_integer()
            .and_then(|time| u64::try_from(time).ok())
            .is_some_and(is_our_time),
        _ => false,
    };
    is_text(table.get("command"), is_our_hook) && table.iter().all(is_written)
}

fn is_our_inline_hook(value: &Value) -> bool {
    value
        .as_inline_table()
        .is_some_and(|table| is_our_hook_table(table))
}

/// Whether another program's server has our name, or one of ours with surroundings that may make another program of it.
pub fn has_other_server(text: &str) -> bool {
    let Ok(document) = Document::parse(text) else {
        return false;
    };
    let servers = document.get(SERVERS).and_then(Item::as_table_like);
    let server = servers.and_then(|servers| servers.get(NAME));
    let is_plain = |table: &dyn TableLike| !table.contains_key("env") && !table.contains_key("cwd");
    let is_ours = |table: &dyn TableLike| is_server(table) && is_plain(table);
    server.is_some_and(|server| !server.as_table_like().is_some_and(is_ours))
}

/// The text with the entries of `body` in it, once; None when it is not valid TOML.
pub fn put_toml(text: &str, body: &str) -> Option<String> {
    let bare = without_block(text)?;
    let stray = without_ours(&bare)?;
    if entries(body)?.0.is_some() && entries(&stray)?.0.is_some() {
        // Somebody has it in a form of their own.
        return Some(text.to_owned());
    }
    if !super::has_block(text) && entries(&bare)? == entries(body)? {
        // Somebody wrote the file anew, and they stand there as they should.
        return Some(text.to_owned());
    }
    let wanted = without_known_hooks(body, &stray)?;
    if wanted.trim().is_empty() {
        return Some(stray);
    }
    let room = if stray == bare && bare == take_block(text) {
        make_room(text, &wanted)?
    } else {
        make_room(&stray, &wanted)?
    };
    Some(put_block(&room, &wanted, None))
}

/// The entries without the hooks that a text has in a form of somebody's own: one of each, not two.
fn without_known_hooks(body: &str, text: &str) -> Option<String> {
    let what = |hook: &dyn TableLike| {
        ["event", "command"].map(|name| hook.get(name).and_then(Item::as_str).map(str::to_owned))
    };
    let known: Vec<_> = match Document::parse(text).ok()?.get(HOOKS) {
        Some(Item::ArrayOfTables(hooks)) => hooks.iter().map(|hook| what(hook)).collect(),
        Some(Item::Value(Value::Array(hooks))) => {
            let hooks = hooks.iter().filter_map(Value::as_inline_table);
            hooks.map(|hook| what(hook)).collect()
        }
        _ => Vec::new(),
    };
    let document = Document::parse(body).ok()?;
    let mut found = Vec::new();
    if let Some(Item::ArrayOfTables(hooks)) = document.get(HOOKS) {
        for hook in hooks.iter().filter(|hook| known.contains(&what(*hook))) {
            add_range(hook, body, &mut found)?;
        }
    }
    Some(without_ranges_and_gaps(body, found))
}

/// The text without our entries; None when it is not valid TOML.
pub fn take_toml(text: &str) -> Option<String> {
    let left = without_ours(&without_block(text)?)?;
    let lines = left.split_inclusive('\n');
    let back: String = lines
        .map(|line| line.strip_prefix(ASIDE).unwrap_or(line))
        .collect();
    if back.parse::<::toml::Table>().is_ok() {
        return Some(back);
    }
    // Others have put theirs there meanwhile.
    let lines = left.split_inclusive('\n');
    Some(lines.filter(|line| !line.starts_with(ASIDE)).collect())
}

/// The text with what is empty and leaves no room for the entries of `body` put aside; None when it is not valid TOML.
fn make_room(text: &str, body: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let ours = Document::parse(body).ok()?;
    let mut room = text.to_owned();
    let mut spans = Vec::new();
    for (key, value) in [HOOKS, SERVERS]
        .iter()
        .filter_map(|key| document.get_key_value(key))
    {
        if ours.contains_key(key.get()) && is_empty_inline(value) {
            spans.push(key.span()?.start..value.span()?.end);
        }
    }
    spans.sort_by_key(|span| std::cmp::Reverse(span.start));
    for span in spans {
        let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let lines: String = text[start..span.end]
            .split_inclusive('\n')
            .flat_map(|line| [ASIDE, line])
            .collect();
        room.replace_range(start..span.end, &lines);
    }
    Some(room)
}

fn is_empty_inline(item: &Item) -> bool {
    match item {
        Item::Value(Value::Array(list)) => list.is_empty(),
        Item::Value(Value::InlineTable(table)) => table.is_empty(),
        _ => false,
    }
}

/// Whether entries of others stand where none of ours can be added.
pub fn has_inline_entries(text: &str) -> bool {
    let Ok(document) = Document::parse(text) else {
        return false;
    };
    let mut values = [HOOKS, SERVERS].iter().filter_map(|key| document.get(key));
    values.any(|value| matches!(value, Item::Value(Value::Array(_) | Value::InlineTable(_))))
}

/// The text without our block. What others put between its marks stays.
fn without_block(text: &str) -> Option<String> {
    let Some(inside) = inside_block(text) else {
        return Some(text.to_owned());
    };
    let document = Document::parse(inside).ok()?;
    let foreign = match ranges(&document, inside) {
        Some(ranges) => without_ranges_and_gaps(inside, ranges),
        None => without_inline(inside)?,
    };
    if foreign.trim().is_empty() {
        return Some(take_block(text));
    }
    Some(replace_block(text, foreign.trim_start()))
}

/// Our entries by what they say: the server, and the hooks.
fn entries(text: &str) -> Option<(Option<::toml::Value>, Vec<::toml::Value>)> {
    let table: ::toml::Table = text.parse().ok()?;
    let ours: ::toml::Table = without_ours(text)?.parse().ok()?;
    let server = |table: &::toml::Table| table.get(SERVERS)?.get(NAME).cloned();
    let hooks = |table: &::toml::Table| {
        let list = table.get(HOOKS).and_then(::toml::Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let others = hooks(&ours);
    let hooks = hooks(&table)
        .into_iter()
        .filter(|hook| !others.contains(hook));
    Some((server(&table), hooks.collect()))
}

/// The text without our entries, marked or not; None when it is not valid TOML. Marks stay.
fn without_ours(text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    match ranges(&document, text) {
        Some(ranges) => Some(without_ranges(text, ranges)),
        None => without_inline(text),
    }
}

fn without_ranges(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    let mut left = text.to_owned();
    ranges.sort_by_key(|range| std::cmp::Reverse(range.start));
    for range in ranges {
        left.replace_range(range, "");
    }
    left
}

/// As [`without_ranges`], with the empty lines that part these entries from others: between our marks those are ours.
fn without_ranges_and_gaps(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    let mut left = text.to_owned();
    ranges.sort_by_key(|range| std::cmp::Reverse(range.start));
    for mut range in ranges {
        let (before, behind) = (&left[..range.start], &left[range.end..]);
        let line_end = |text: &str| {
            ["\n", "\r\n"]
                .into_iter()
                .find(|end| text.starts_with(end))
                .map(str::len)
        };
        let gap_before = ["\r\n", "\n"].into_iter().find(|end| {
            let rest = before.strip_suffix(end);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('\n'))
        });
        match (gap_before, line_end(behind)) {
            (gap, Some(behind)) if gap.is_some() || before.is_empty() => range.end += behind,
            (Some(gap), None) if behind.is_empty() => range.start -= gap.len(),
            _ => {}
        }
        left.replace_range(range, "");
    }
    left
}

/// Where our entries stand, each with the line feed of its last line; None when one is written in another way than with a header.
fn ranges(document: &Document<&str>, text: &str) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let servers = document.get(SERVERS);
    if let Some(server) = servers.and_then(|servers| servers.get(NAME)) {
        match server {
            Item::Table(table) if is_our_server(table) => add_range(table, text, &mut found)?,
            other if other.as_table_like().is_some_and(is_our_server) => return None,
            _ => {}
        }
    }
    match document.get(HOOKS) {
        Some(Item::ArrayOfTables(hooks)) => {
            for hook in hooks.iter().filter(|hook| is_our_hook_table(*hook)) {
                add_range(hook, text, &mut found)?;
            }
        }
        Some(Item::Value(Value::Array(hooks))) if hooks.iter().any(is_our_inline_hook) => {
            return None;
        }
        _ => {}
    }
    Some(found)
}

/// From the table's header to the end of its last value, and the same for the tables below it.
fn add_range(table: &Table, text: &str, found: &mut Vec<Range<usize>>) -> Option<()> {
    let header = table.span()?;
    let mut end = header.end;
    for (_, item) in table {
        match item {
            Item::Value(value) => end = end.max(value.span()?.end),
            Item::Table(below) => add_range(below, text, found)?,
            Item::ArrayOfTables(below) => {
                for table in below {
                    add_range(table, text, found)?;
                }
            }
            Item::None => {}
        }
    }
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    found.push(header.start..line_end);
    Some(())
}

/// For entries that were written inline: the document is written anew without them. Comments before them stay.
fn without_inline(text: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    take_server(&mut document);
    let emptied = match document.get_mut(HOOKS) {
        Some(Item::ArrayOfTables(hooks)) => {
            hooks.retain(|hook| !is_our_hook_table(hook));
            ArrayOfTables::is_empty(hooks)
        }
        Some(Item::Value(Value::Array(hooks))) => {
            take_inline_hooks(hooks);
            hooks.is_empty() && !has_comment(Some(hooks.trailing()))
        }
        _ => false,
    };
    if emptied && !is_commented(&document, HOOKS) {
        document.remove(HOOKS);
    }
    let left = document.to_string();
    // What writes TOML writes line feeds.
    Some(if text.contains("\r\n") {
        left.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        left
    })
}

fn has_comment(blank: Option<&RawString>) -> bool {
    let text = blank.and_then(RawString::as_str);
    text.is_some_and(|text| text.contains('#'))
}

/// Whether a comment stands before a key at the top, or before the header of its table.
fn is_commented(document: &DocumentMut, key: &str) -> bool {
    let table = document.get(key).and_then(Item::as_table);
    let header = table.and_then(|table| table.decor().prefix());
    let key = document.key(key).and_then(|key| key.leaf_decor().prefix());
    has_comment(header) || has_comment(key)
}

/// Takes our server out, and the table of servers when nothing is left in it.
fn take_server(document: &mut DocumentMut) {
    let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
    let Some(servers) = servers else {
        return;
    };
    let server = servers.get(NAME).and_then(Item::as_table_like);
    if !server.is_some_and(is_our_server) {
        return;
    }
    let before = servers.key(NAME).and_then(|key| key.leaf_decor().prefix());
    let comment = before.filter(|before| has_comment(Some(before)));
    let comment = comment.and_then(RawString::as_str).map(str::to_owned);
    servers.remove(NAME);
    let is_empty = servers.is_empty();
    if is_empty && comment.is_none() && !is_commented(document, SERVERS) {
        document.remove(SERVERS);
    }
    if let Some(comment) = comment {
        let rest = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing(format!("{comment}{rest}"));
    }
}

/// Takes our hooks out of a list. A comment before one of them goes before what follows.
fn take_inline_hooks(hooks: &mut Array) {
    let mut comments = String::new();
    let mut left = Array::new();
    let trailing = hooks.trailing().as_str().unwrap_or_default().to_owned();
    let is_with_comma = hooks.trailing_comma();
    let decor = hooks.decor().clone();
    for mut hook in std::mem::take(hooks) {
        let decor = hook.decor();
        let before = decor
            .prefix()
            .and_then(RawString::as_str)
            .unwrap_or_default();
        let before = with_comments(&comments, before);
        comments.clear();
        let behind = decor
            .suffix()
            .and_then(RawString::as_str)
            .unwrap_or_default();
        if is_our_inline_hook(&hook) {
            let gap = format!("{before}{behind}");
            comments = if gap.contains('#') {
                gap
            } else {
                String::new()
            };
        } else {
            hook.decor_mut().set_prefix(before);
            left.push_formatted(hook);
        }
    }
    left.set_trailing(with_comments(&comments, &trailing));
    left.set_trailing_comma(is_with_comma && !left.is_empty());
    *left.decor_mut() = decor;
    *hooks = left;
}

/// Comments, each to the end of its line, before other blanks.
fn with_comments(comments: &str, blanks: &str) -> String {
    let comments = comments.trim_end();
    let line_end = if comments.is_empty() || blanks.starts_with(['\n', '\r']) {
        ""
    } else {
        "\n"
    };
    format!("{comments}{line_end}{blanks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_go_and_every_other_byte_stays() {
        for (text, left) in [
            ("", ""),
            ("a = 1\n", "a = 1\n"),
            (
                "# mine\r\n[mcp_servers.tw] # x\r\ncommand = \"tw\"\r\nargs = [\"mcp\"] # y\r\n\r\n# next\r\n[b]\r\nc=1\r\n",
                "# mine\r\n\r\n# next\r\n[b]\r\nc=1\r\n",
            ),
            (
                "[mcp_servers.tw]\nargs = [\n  \"mcp\",\n]\ncommand = \"tw\"\n[mcp_servers.o]\ncommand = \"o\"",
                "[mcp_servers.o]\ncommand = \"o\"",
            ),
            (
                "[[hooks]]\nevent = \"a\"\ncommand = \"theirs\"\n\n[[hooks]]\nevent = 'b'\ncommand = 'tw hook kimi session-start'\ntimeout = 30\n\n[x]\n",
                "[[hooks]]\nevent = \"a\"\ncommand = \"theirs\"\n\n\n[x]\n",
            ),
            (
                "mcp_servers = { tw = { command = \"tw\", args = [\"mcp\"] }, o = { command = \"o\" } }\r\na = 1\r\n",
                "mcp_servers = { o = { command = \"o\" } }\r\na = 1\r\n",
            ),
            (
                "a = 1\nhooks = [{ event = \"b\", command = \"tw hook kimi session-start\" }]\n",
                "a = 1\n",
            ),
            (
                "[mcp_servers.tw]\ncommand = \"twitter\"\n",
                "[mcp_servers.tw]\ncommand = \"twitter\"\n",
            ),
        ] {
            let found = without_ours(text);
            let tables = |text: &str| text.parse::<::toml::Table>().ok();
            assert_eq!(
                tables(found.as_deref().unwrap_or("broken =")),
                tables(left),
                "{text:?}"
            );
            assert_eq!(found.as_deref(), Some(left), "{text:?}");
            let again = without_ours(left);
            assert_eq!(again.as_deref(), Some(left), "{text:?}");
        }
        assert_eq!(without_ours("a ="), None);
    }

    #[test]
    fn what_is_empty_stands_aside_and_comes_back() {
        let hook = "[[hooks]]\nevent = \"x\"\ncommand = \"tw hook kimi x\"\n";
        for (text, body) in [
            ("a = 1\nhooks = []\nb = 2\n\n[models]\n", hook),
            ("hooks = []", hook),
            ("  hooks  = [ # none\r\n  ] # yet\r\na = 1\r\n", hook),
            ("mcp_servers = {}\nhooks = []\n", BODY),
            ("mcp_servers = { }\n[models]\n", BODY),
        ] {
            let made = put_toml(text, body).expect("valid");
            assert!(made.parse::<::toml::Table>().is_ok(), "{made}");
            assert_eq!(put_toml(&made, body).as_deref(), Some(made.as_str()));
            assert_eq!(take_toml(&made).as_deref(), Some(text), "{made}");
            assert!(!has_inline_entries(&made) || body == BODY, "{made}");
        }
        let made = put_toml("hooks = []\n", hook).expect("valid");
        let theirs = "[[hooks]]\nevent = \"y\"\ncommand = \"theirs\"\n";
        let left = take_toml(&format!("{made}{theirs}")).expect("valid");
        assert_eq!(left, theirs);
    }

    const BODY: &str = "[mcp_servers.tw]\ncommand = \"tw\"\nargs = [\"mcp\"]\n";

    #[test]
    fn comments_beside_ours_stay_when_ours_goes() {
        let ours = "{ event = \"b\", command = \"tw hook kimi session-start\" }";
        let beep = "{ event = \"b\", command = \"beep\" }";
        let server = "tw = { command = \"tw\", args = [\"mcp\"] }";
        for text in [
            format!("hooks = [\n  # NOTE\n  {ours},\n  {beep},\n]\n"),
            format!("hooks = [ {ours}, # NOTE\n  {beep}]\n"),
            format!("hooks = [\n  {beep},\n  {ours} # NOTE\n]\n"),
            format!("hooks = [ # NOTE\n  {ours},\n]\n"),
            format!("a = 1\n# NOTE\nhooks = [{ours}]\n[b]\n"),
            format!("# NOTE\n[mcp_servers]\n{server}\n"),
            format!("[mcp_servers]\n# NOTE\n{server}\no = {{}}\n[b]\n"),
            format!("{}# NOTE\n", put_toml("a = 1\n", BODY).expect("valid")),
            put_toml("a = 1\n", BODY)
                .expect("valid")
                .replace("[mcp", "# NOTE\n[mcp"),
        ] {
            let left = take_toml(&text).expect("valid");
            assert!(
                left.parse::<::toml::Table>().is_ok(),
                "{text}\nbecame\n{left}"
            );
            assert_eq!(left.matches("NOTE").count(), 1, "{text}\nbecame\n{left}");
            assert!(!left.contains("\"tw"), "{text}\nbecame\n{left}");
            assert_eq!(left.contains("beep"), text.contains("beep"));
        }
    }

    #[test]
    fn marks_that_an_agent_dropped_make_no_doubles() {
        let mine = "a = 1\n\n[b]\nc = 2\n";
        let made = put_toml(mine, BODY).expect("valid");
        // As 'codex mcp add' leaves it: no comments, and a server of its own.
        let unmarked: String = made
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(|line| [line, "\n"])
            .collect();
        assert_eq!(
            put_toml(&unmarked, BODY).as_deref(),
            Some(unmarked.as_str())
        );
        assert_eq!(take_toml(&unmarked).as_deref(), Some(mine));
        // Both: marked, and once more without marks.
        let doubled = format!(
            "{made}\n{}",
            "[[hooks]]\nevent = \"x\"\ncommand = \"tw hook kimi session-start\"\n"
        );
        assert_eq!(
            take_toml(&doubled)
                .map(|left| left.trim_end().to_owned())
                .as_deref(),
            Some(mine.trim_end())
        );
    }

    #[test]
    fn what_somebody_wrote_by_hand_stays() {
        let hook = "[[hooks]]\nevent = \"x\"\ncommand = \"tw hook kimi x\"\n";
        for (text, body) in [
            (format!("{BODY}startup_timeout_sec = 20\n"), BODY),
            (BODY.replace("[\"mcp\"]", "[\"-q\", \"mcp\"]"), BODY),
            (format!("{BODY}[mcp_servers.tw.tools.x]\na = 1\n"), BODY),
            (format!("{hook}timeout = 99\n"), hook),
            (format!("{hook}async = true\n"), hook),
        ] {
            assert_eq!(take_toml(&text).as_deref(), Some(text.as_str()));
            let made = put_toml(&text, body).expect("valid");
            assert!(made.parse::<::toml::Table>().is_ok(), "{made}");
            assert_eq!(made, text);
            assert_eq!(take_toml(&made).as_deref(), Some(text.as_str()), "{made}");
        }
    }

    #[test]
    fn what_somebody_changed_between_our_marks_stays() {
        let hook = "[[hooks]]\nevent = \"x\"\ncommand = \"tw hook kimi x\"\n";
        for (body, more) in [
            (BODY, "enabled = false\n"),
            (BODY, "startup_timeout_sec = 20\n"),
            (BODY, "[mcp_servers.tw.env]\nA = \"1\"\n"),
            (hook, "timeout = 99\n"),
        ] {
            let made = put_toml("a = 1\n", body).expect("valid");
            let changed = made.replace(body, &format!("{body}{more}"));
            assert!(changed.contains(more), "{changed}");
            let again = put_toml(&changed, body).expect("valid");
            assert!(again.contains(&format!("{body}{more}")), "{again}");
            assert_eq!(again == changed, body == BODY, "{again}");
            assert_eq!(
                again.matches("tw hook").count(),
                usize::from(body == hook),
                "{again}"
            );
            let left = take_toml(&changed).expect("valid");
            assert_eq!(left, format!("a = 1\n{body}{more}"));
        }
    }

    #[test]
    fn a_hook_that_somebody_changed_leaves_no_empty_lines() {
        let hook = |name: &str| {
            format!("[[hooks]]\nevent = \"{name}\"\ncommand = \"tw hook kimi {name}\"\n")
        };
        let body = ["a", "b", "c", "d"].map(hook).join("\n");
        for end in ["\n", "\r\n"] {
            let mine = format!("a = 1{end}");
            let made = put_toml(&mine, &body).expect("valid");
            for names in [&["a"][..], &["b"], &["d"], &["a", "c"], &["b", "c", "d"]] {
                let changed = |name: &&str| format!("{}async = true\n", hook(name));
                let text = names.iter().fold(made.clone(), |text, name| {
                    let [hook, changed] =
                        [hook(name), changed(name)].map(|text| text.replace('\n', end));
                    text.replace(&hook, &changed)
                });
                let left: Vec<String> = names.iter().map(changed).collect();
                let left = format!("{mine}{}", left.join("\n").replace('\n', end));
                let rest = ["a", "b", "c", "d"]
                    .into_iter()
                    .filter(|name| !names.contains(name));
                let rest: Vec<String> = rest.map(hook).collect();
                let again = put_toml(&text, &body).expect("valid");
                assert_eq!(again, put_block(&left, &rest.join("\n"), None), "{text}");
                assert_eq!(put_toml(&again, &body).as_deref(), Some(again.as_str()));
                assert_eq!(take_toml(&again).as_deref(), Some(left.as_str()));
                assert_eq!(take_toml(&text).as_deref(), Some(left.as_str()));
            }
        }
    }

    #[test]
    fn what_others_put_between_our_marks_stays() {
        let mine = "a = 1\n";
        let made = put_toml(mine, BODY).expect("valid");
        let other = "[mcp_servers.other]\ncommand = \"other\"\n";
        let mixed = made.replace(
            super::super::block::END,
            &format!("\n{other}{}", super::super::block::END),
        );
        let left = take_toml(&mixed).expect("valid");
        assert_eq!(left, format!("{mine}{other}"));
        let again = put_toml(&mixed, BODY).expect("valid");
        assert_eq!(take_toml(&again).as_deref(), Some(left.as_str()));
        assert!(
            again.contains(other) && again.matches("mcp_servers.tw").count() == 1,
            "{again}"
        );
    }

    #[test]
    fn a_server_of_our_name_that_runs_another_program_is_not_ours() {
        assert!(has_other_server(
            "[mcp_servers.tw]\ncommand = \"twitter\"\n"
        ));
        assert!(has_other_server("mcp_servers.tw = 1\n"));
        let ours = "[mcp_servers.tw]\ncommand = \"tw\"\nargs = [\"mcp\"]\n";
        assert!(!has_other_server(ours) && !has_other_server("a = 1\n"));
    }
}
