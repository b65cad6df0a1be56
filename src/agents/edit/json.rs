//! Members and list entries put into JSON text and taken out of it, by place.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use super::jsonc::{self, Item, Items, Kind, Node};

/// The text of a file that is not there: what is put in makes a whole file, and what is left when all of it is ours is this
/// again.
pub const NO_FILE: &str = "\0";

/// What stands between the colon and the value of a member that is ours and says nothing of us.
const MARKED: &str = "  ";

/// What of ours stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// Ours.
    Ours,
    /// Something of the same name that is not ours.
    Other,
}

/// Text that is JSON, perhaps with comments, and has an object at its top; or nothing but blanks.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    root: Option<Node>,
}

impl Document {
    /// Reads a text; `None` when it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let blank = text.trim_start_matches('\u{feff}').trim().is_empty();
        let root = if blank || text == NO_FILE {
            None
        } else {
            let node = jsonc::parse(text)?;
            items(&node).filter(|items| items.is_object)?;
            Some(node)
        };
        Some(Self {
            text: text.to_owned(),
            root,
        })
    }

    /// The value at a path of keys.
    fn at(&self, path: &[&str]) -> Option<&Node> {
        let mut node = self.root.as_ref()?;
        for key in path {
            node = &items(node)?
                .list
                .iter()
                .rfind(|item| item.key == *key)?
                .value;
        }
        Some(node)
    }

    fn value(&self, node: &Node) -> Value {
        let text = &self.text[node.start..node.end];
        serde_json::from_str(text)
            .ok()
            .or_else(|| jsonc::value(text))
            .unwrap_or_default()
    }

    /// All of it; null for nothing but blanks.
    pub fn whole(&self) -> Value {
        let root = self.root.as_ref();
        root.map_or(Value::Null, |root| self.value(root))
    }

    /// The value at a path of keys; None when there is none.
    pub fn get(&self, path: &[&str]) -> Option<Value> {
        self.at(path).map(|node| self.value(node))
    }

    /// The keys of the object at the top, in order.
    pub fn keys(&self) -> Vec<&str> {
        let root = self.root.as_ref().and_then(items);
        let members = root.into_iter().flat_map(|root| &root.list);
        members.map(|item| item.key.as_str()).collect()
    }

    /// Whether what stands at a path is ours.
    pub fn member(&self, path: &[&str], ours: &dyn Fn(&Value) -> bool) -> Found {
        match self.at(path) {
            None => Found::Absent,
            Some(node) if ours(&self.value(node)) => Found::Ours,
            Some(_) => Found::Other,
        }
    }

    /// Whether the list at a path has an entry of ours.
    pub fn has_entry(&self, path: &[&str], ours: &dyn Fn(&Value) -> bool) -> bool {
        let list = self.list(path);
        list.is_some_and(|list| list.list.iter().any(|item| ours(&self.value(&item.value))))
    }

    /// What of an entry is ours, and goes; `inner` as for [`take_entry`]. None for an entry of others, and for one of ours that
    /// says more than its value does, but for what stands beside ours within it.
    fn going<'a>(
        &self,
        entry: &'a Node,
        inner: Option<&str>,
        ours: &dyn Fn(&Value) -> bool,
    ) -> Option<Going<'a>> {
        let value = Some(self.value(entry)).filter(ours)?;
        let is_alone = self.says_only(entry, &value);
        let within = inner.and_then(|inner| {
            let of = items(entry)?;
            let within = &of.list.iter().rfind(|item| item.key == inner)?.value;
            let mine = |item: &Item| {
                let value = self.value(&item.value);
                let alone = serde_json::json!({ inner: [value] });
                ours(&alone) && self.says_only(&item.value, &value)
            };
            let hooks = &items(within)?.list;
            let at = hooks.iter().position(mine)?;
            (hooks.len() > 1 || !is_alone).then_some(Going::Inner(within, at))
        });
        within.or(is_alone.then_some(Going::Whole))
    }

    fn says_only(&self, node: &Node, value: &Value) -> bool {
        says_only(&self.text[node.start..node.end], value)
    }

    /// The list at a path; None when something else stands there.
    fn list(&self, path: &[&str]) -> Option<&Items> {
        self.at(path).and_then(items).filter(|list| !list.is_object)
    }
}

/// Whether a text says no more than the value that was read from it: a comment is more, and so is a key that stands twice.
pub fn says_only(text: &str, value: &Value) -> bool {
    let bare = |text: &str| {
        let text = text.replace([' ', '\t', '\r', '\n'], "");
        text.replace(",}", "}").replace(",]", "]")
    };
    bare(text) == bare(&value.to_string())
}

fn items(node: &Node) -> Option<&Items> {
    match &node.kind {
        Kind::Container(items) => Some(items),
        Kind::Scalar => None,
    }
}

/// Sets the member at `path`, making what leads to it. A member that is there is replaced in its place. `None` when the text
/// is no JSON, or something on the way is no object.
pub fn put_member(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let document = Document::parse(text)?;
    if let Some(node) = document.at(path) {
        if document.value(node) == *value {
            return Some(text.to_owned());
        }
        let style = Style::of(&document);
        let new = style.value(value, style.depth(text, node.start));
        return Some(replaced(text, node.start..node.end, &new));
    }
    let (key, parents) = path.split_last()?;
    put(&document, parents, Some(key), value)
}

/// Adds a member to the object at the top, which is known as ours again by the two blanks before its value. `None` as for
/// [`put_member`].
pub fn put_marked_member(text: &str, key: &str, value: &Value) -> Option<String> {
    let text = put_member(text, &[key], value)?;
    let node = Document::parse(&text)?.at(&[key])?.start;
    let bare = text[..node].trim_end_matches(' ');
    Some([bare, MARKED, &text[node..]].concat())
}

/// Takes out what [`put_marked_member`] put in. `None` when the text is no JSON.
pub fn take_marked_member(text: &str, key: &str) -> Option<String> {
    let document = Document::parse(text)?;
    let before = document.at(&[key]).map(|node| &text[..node.start]);
    match before.and_then(|before| before.strip_suffix(MARKED)) {
        Some(before) if before.ends_with(':') => take_member(text, &[key], &|_| true),
        _ => Some(text.to_owned()),
    }
}

/// Adds an entry to the list at `path`, making the list and what leads to it. One of ours that is there is replaced by it, unless
/// it has a comment in it.
/// `None` as for [`put_member`].
pub fn put_entry(
    text: &str,
    path: &[&str],
    entry: &Value,
    ours: &dyn Fn(&Value) -> bool,
) -> Option<String> {
    let document = Document::parse(text)?;
    if let Some(list) = document.at(path) {
        let list = items(list).filter(|list| !list.is_object)?;
        let mut found = list.list.iter().map(|item| &item.value);
        let is_ours = |node: &&Node| {
            let value = document.value(node);
            ours(&value) && document.says_only(node, &value)
        };
        if let Some(node) = found.find(is_ours) {
            if document.value(node) == *entry {
                return Some(text.to_owned());
            }
            let style = Style::of(&document);
            let new = style.value(entry, style.depth(text, node.start));
            return Some(replaced(text, node.start..node.end, &new));
        }
        return put(&document, path, None, entry);
    }
    let (key, parents) = path.split_last()?;
    put(
        &document,
        parents,
        Some(key),
        &Value::Array(vec![entry.clone()]),
    )
}

/// Puts a value into the container at `path`; what is missing on the way is made around it.
fn put(document: &Document, path: &[&str], key: Option<&str>, value: &Value) -> Option<String> {
    let style = Style::of(document);
    let Some(mut node) = document.root.as_ref() else {
        // A file of nothing but blanks: they stay, in front of an object that begins as only this one does.
        let whole = wrapped(path, key, value);
        let text = style.value(&whole, 0);
        if document.text == NO_FILE {
            return Some(format!("{text}\n"));
        }
        let body = text.strip_prefix('{').unwrap_or(&text);
        return Some(format!("{}{{\t{}", document.text, body.trim_start()));
    };
    for (depth, part) in path.iter().enumerate() {
        let found = items(node).filter(|found| found.is_object)?;
        let Some(item) = found.list.iter().rfind(|item| item.key == *part) else {
            let rest = wrapped(path.get(depth + 1..)?, key, value);
            return Some(insert(document, &style, node, found, Some(part), &rest));
        };
        node = &item.value;
    }
    let found = items(node)?;
    (found.is_object == key.is_some()).then(|| insert(document, &style, node, found, key, value))
}

fn wrapped(path: &[&str], key: Option<&str>, value: &Value) -> Value {
    let mut whole = value.clone();
    for key in key.iter().rev().chain(path.iter().rev()) {
        whole = Value::Object([((*key).to_owned(), whole)].into_iter().collect());
    }
    whole
}

fn insert(
    document: &Document,
    style: &Style,
    node: &Node,
    found: &Items,
    key: Option<&str>,
    value: &Value,
) -> String {
    let text = &document.text;
    let depth = match found.list.first() {
        Some(first) if text[node.start..first.start].contains('\n') => {
            style.depth(text, first.start)
        }
        _ => style.depth(text, node.start) + 1,
    };
    let name = key.map_or_else(String::new, |key| {
        format!(
            "{}:{}",
            Value::from(key),
            if style.inline { "" } else { " " }
        )
    });
    let item = format!("{name}{}", style.value(value, depth));
    let Some(last) = found.list.last() else {
        // It was there and empty. The comments before it say so, else a blank.
        let inside = &text[node.start + 1..node.end - 1];
        let comments = inside.trim_end();
        let at = node.start + 1 + comments.len();
        let before = if !comments.is_empty() && inside.contains('\n') {
            style.line(depth)
        } else {
            " ".to_owned()
        };
        return replaced(text, at..at, &format!("{before}{item}"));
    };
    let before = style.line(depth);
    if let Some(comma) = last.comma {
        let at = behind_comments(text, comma + 1);
        return replaced(text, at..at, &format!("{before}{item},"));
    }
    let at = behind_comments(text, last.value.end);
    let text = replaced(text, at..at, &format!("{before}{item}"));
    replaced(&text, last.value.end..last.value.end, ",")
}

/// Behind the comments that follow on the same line, else `at` itself.
fn behind_comments(text: &str, at: usize) -> usize {
    // A carriage return alone ends a comment too.
    let line_end = text[at..].find(['\n', '\r']);
    let line_end = line_end.map_or(text.len(), |end| at + end);
    let mut behind = at;
    let mut seek = at;
    while let Some(rest) = text.get(seek..line_end) {
        let comment = seek + rest.len() - rest.trim_start().len();
        let is_block = text[comment..line_end].starts_with("/*");
        if text[comment..line_end].starts_with("//") {
            return line_end;
        }
        let end = text[comment..line_end]
            .find("*/")
            .map(|end| comment + end + 2);
        match end {
            Some(end) if is_block => (behind, seek) = (end, end),
            _ => break,
        }
    }
    behind
}

fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    [&text[..range.start], with, &text[range.end..]].concat()
}

/// Takes the member at `path` out, when it is ours and has no comment in it, and the containers on the way that we made and that are empty then.
/// `None` when the text is no JSON; [`NO_FILE`] says that the whole file was ours.
pub fn take_member(text: &str, path: &[&str], ours: &dyn Fn(&Value) -> bool) -> Option<String> {
    let document = Document::parse(text)?;
    let found = document.at(path);
    let is_ours = |node: &Node| {
        let value = document.value(node);
        ours(&value) && document.says_only(node, &value)
    };
    if !found.is_some_and(is_ours) {
        return Some(text.to_owned());
    }
    let (key, parents) = path.split_last()?;
    let parent = document.at(parents)?;
    let at = items(parent)?
        .list
        .iter()
        .rposition(|item| item.key == *key)?;
    Some(take(&document, parents, at))
}

/// Takes our entries out of the list at `path`, as [`take_member`] does. `inner` names the list within an entry whose own
/// entries may be several tools': only ours go then.
pub fn take_entry(
    text: &str,
    path: &[&str],
    inner: Option<&str>,
    ours: &dyn Fn(&Value) -> bool,
) -> Option<String> {
    let mut text = text.to_owned();
    loop {
        let document = Document::parse(&text)?;
        let list = document.list(path).map(|list| &list.list);
        let mut entries = list.into_iter().flatten().enumerate();
        let going = entries
            .find_map(|(at, item)| document.going(&item.value, inner, ours).map(|of| (at, of)));
        text = match going {
            None => return Some(text),
            Some((_, Going::Inner(within, at))) => cut(&document.text, within, at),
            Some((at, Going::Whole)) => take(&document, path, at),
        };
    }
}

/// What of an entry goes.
enum Going<'a> {
    /// All of it.
    Whole,
    /// One entry of the list within it.
    Inner(&'a Node, usize),
}

/// Takes an item out of the container at `path`, and that container when we made it for the item alone, and so on upwards.
fn take(document: &Document, path: &[&str], at: usize) -> String {
    let text = &document.text;
    let Some((node, found)) = document
        .at(path)
        .and_then(|node| Some((node, items(node)?)))
    else {
        return text.clone();
    };
    let item = match &found.list[..] {
        [item] if is_made_for(document, path, node, item) => item,
        _ => return cut(text, node, at),
    };
    match (&text[node.start + 1..item.start], path.split_last()) {
        // The whole file was blank but for us.
        ("\t", None) => replaced(text, node.start..text.len(), ""),
        // A file that we made: nothing of it stays.
        (_, None) => NO_FILE.to_owned(),
        (_, Some((key, parents))) => {
            let parent = document.at(parents).and_then(items);
            let at = parent.and_then(|of| of.list.iter().rposition(|item| item.key == *key));
            at.map_or_else(|| text.clone(), |at| take(document, parents, at))
        }
    }
}

/// Whether the container at `path` is there for its only item alone: it was not empty before, and no comment stands in it, before
/// it or, at the top, around it.
fn is_made_for(document: &Document, path: &[&str], node: &Node, item: &Item) -> bool {
    let text = &document.text;
    let before = &text[node.start + 1..item.start];
    let around = match path.split_last() {
        None => [&text[..node.start], &text[node.end..]],
        Some((key, parents)) => {
            let parent = document.at(parents).and_then(items);
            let own = parent.and_then(|of| of.list.iter().rfind(|item| item.key == *key));
            [own.map_or("", |own| &text[own.key_end..node.start]), ""]
        }
    };
    let behind = &text[item.value.end..node.end - 1];
    let mut gaps = around.into_iter().chain([before, behind]);
    before != " " && !gaps.any(has_comment)
}

/// Whether what stands between values, where there are no strings, has a comment in it.
fn has_comment(gap: &str) -> bool {
    gap.contains('/')
}

/// What stays of a gap beside an item that goes: its comments with the blanks behind them.
fn comments_of(gap: &str) -> &str {
    if has_comment(gap) {
        gap.trim_start()
    } else {
        ""
    }
}

/// Whether a gap ends within a comment that lasts until its line does.
fn ends_in_line_comment(gap: &str) -> bool {
    let mut rest = gap;
    while let Some(start) = rest.find('/') {
        let comment = &rest[start..];
        let end = if comment.starts_with("//") {
            comment.find(['\n', '\r'])
        } else {
            comment[2..].find("*/").map(|end| 2 + end + 2)
        };
        let Some(end) = end else {
            return comment.starts_with("//");
        };
        rest = &comment[end..];
    }
    false
}

/// A text without `range`, in whose place `comments` stay. `gap` is where the blanks and comments in front of it begin.
fn without(text: &str, gap: usize, range: Range<usize>, comments: &str) -> String {
    let kept = [&text[..range.start], comments].concat();
    let rest = &text[range.end..];
    let ends_line = rest
        .trim_start_matches([' ', '\t'])
        .starts_with(['\n', '\r']);
    let line_end = if ends_in_line_comment(&kept[gap..]) && !ends_line {
        "\n"
    } else {
        ""
    };
    [&kept, line_end, rest].concat()
}

/// Cuts one item out of a container, with its comma and the blanks that came with it. Comments beside it stay.
fn cut(text: &str, node: &Node, at: usize) -> String {
    let Some(found) = items(node) else {
        return text.to_owned();
    };
    let Some(item) = found.list.get(at) else {
        return text.to_owned();
    };
    let end = item.comma.map_or(item.value.end, |comma| comma + 1);
    // Between the item and its own comma.
    let own = &text[item.value.end..item.comma.unwrap_or(item.value.end)];
    let Some(before) = at.checked_sub(1).and_then(|at| found.list.get(at)) else {
        let start = node.start + 1;
        if let Some(next) = found.list.get(at + 1) {
            // The first: up to the next one.
            let comments = [comments_of(own), comments_of(&text[end..next.start])].concat();
            return without(text, start, item.start..next.start, &comments);
        }
        // The only one: with its comma up to what stood in the empty container.
        let comments = text[start..item.start].trim_end().len();
        let own = own.trim_end();
        return without(text, start, start + comments..end, own);
    };
    let comma = before.comma.unwrap_or(before.value.end);
    let start = behind_comments(text, comma + 1);
    let above = text[start..item.start].trim_end().len();
    let left = without(text, comma + 1, start + above..end, own.trim_end());
    // Ours goes with the comma behind it; the last one without any with the comma before it.
    if item.comma.is_some() {
        return left;
    }
    replaced(&left, comma..comma + 1, "")
}

/// How a file is laid out.
struct Style {
    newline: &'static str,
    indent: String,
    inline: bool,
}

impl Style {
    fn of(document: &Document) -> Self {
        let text = &document.text;
        let first = document.root.as_ref().and_then(|root| {
            let first = items(root)?.list.first()?;
            Some(&text[root.start + 1..first.start])
        });
        let indent = first
            .and_then(|space| space.rsplit_once('\n'))
            .map(|(_, indent)| indent);
        let indent = indent.filter(|indent| !indent.is_empty() && indent.trim().is_empty());
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            indent: indent.unwrap_or("  ").to_owned(),
            inline: first.is_some_and(|space| !space.contains('\n')) && !text.trim().contains('\n'),
        }
    }

    /// How deep the line is indented on which `at` stands.
    fn depth(&self, text: &str, at: usize) -> usize {
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..at].trim_start_matches('\u{feff}');
        let blank = line.len() - line.trim_start().len();
        blank / self.indent.len().max(1)
    }

    /// What stands before an item on a line of its own.
    fn line(&self, depth: usize) -> String {
        if self.inline {
            return String::new();
        }
        format!("{}{}", self.newline, self.indent.repeat(depth))
    }

    fn value(&self, value: &Value, depth: usize) -> String {
        if self.inline {
            return value.to_string();
        }
        let mut out = String::new();
        self.render(value, depth, &mut out);
        out
    }

    fn render(&self, value: &Value, depth: usize, out: &mut String) {
        let (open, close, count) = match value {
            Value::Object(members) if !members.is_empty() => ('{', '}', members.len()),
            Value::Array(list) if list.iter().any(|item| item.is_object() || item.is_array()) => {
                ('[', ']', list.len())
            }
            other => {
                // Short lists of words stand on one line.
                out.push_str(&other.to_string().replace("\",\"", "\", \""));
                return;
            }
        };
        out.push(open);
        for at in 0..count {
            out.push_str(if at > 0 { "," } else { "" });
            out.push_str(&self.line(depth + 1));
            match value {
                Value::Object(members) => {
                    if let Some((key, value)) = members.iter().nth(at) {
                        let _ = write!(out, "{}: ", Value::from(key.as_str()));
                        self.render(value, depth + 1, out);
                    }
                }
                other => self.render(&other[at], depth + 1, out),
            }
        }
        out.push_str(&self.line(depth));
        out.push(close);
    }
}

#[cfg(test)]
mod tests;
