//! What a tool call says that it does to files.
//!
//! Owns the names that agents have for tools that only look and for tools that write files, and the shapes of what those are given: a
//! text in the place of another, a whole file, a patch. Any other call (a shell, a sub-agent, an unknown tool) may have written
//! anything, and what stands in its arguments says nothing, but for a patch that a shell was given to apply. Pure.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::transcript::Tool;
use crate::git::textdiff::{hunks, same_lines};

/// Tools that only look, in the agents' words.
const LOOKING: [&str; 35] = [
    "read",
    "grep",
    "glob",
    "ls",
    "list",
    "search",
    "webfetch",
    "websearch",
    "fetch",
    "todowrite",
    "todoread",
    "think",
    "view",
    "readfile",
    "readmanyfiles",
    "listdirectory",
    "searchfilecontent",
    "googlewebsearch",
    "fetchurl",
    "searchweb",
    "readmediafile",
    "settodolist",
    "updateplan",
    "viewimage",
    "toolsearch",
    "exitplanmode",
    "askuserquestion",
    "codesearch",
    "find",
    "grepfiles",
    "grepsearch",
    "listdir",
    "notebookread",
    "question",
    "writetodos",
];

/// Tools that write files and do nothing else.
const WRITING: [&str; 16] = [
    "applypatch",
    "create",
    "createfile",
    "edit",
    "editfile",
    "insert",
    "multiedit",
    "notebookedit",
    "patch",
    "replace",
    "searchreplace",
    "strreplacebasededittool",
    "strreplaceeditor",
    "strreplacefile",
    "write",
    "writefile",
];

/// What tools call the file that they write.
const PATHS: [&str; 8] = [
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "filename",
    "relative_path",
];

/// What they call the text that goes.
const OLD: [&str; 6] = [
    "old_string",
    "oldString",
    "oldText",
    "old_text",
    "old_str",
    "old",
];

/// What they call the text that comes.
const NEW: [&str; 7] = [
    "new_string",
    "newString",
    "newText",
    "new_text",
    "new_str",
    "new",
    "insert_text",
];

/// What they call all of a file.
const WHOLE: [&str; 3] = ["content", "contents", "file_text"];

/// How an answer begins that says that there was no such file before.
const MADE: [&str; 2] = ["File created successfully", "Successfully created"];

/// Whether a tool of this name may write.
pub fn may_write(name: &str) -> bool {
    !LOOKING.contains(&bare(name).as_str())
}

/// One agent's `ReadFile` is another's `read_file`.
fn bare(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|ch| ch.to_ascii_lowercase()).collect()
}

/// What a call wrote.
#[derive(Debug, Default, PartialEq)]
pub struct Writes {
    /// The files, named as seen from where the session runs.
    pub files: Vec<(PathBuf, How)>,
    /// There is nothing else that it can have written.
    pub is_all: bool,
}

/// What was done to a file.
#[derive(Debug, PartialEq)]
pub enum How {
    /// A part of it was replaced.
    Part(Part),
    /// It was written whole.
    Whole {
        /// All that it had then.
        text: String,
        /// There was no such file before.
        is_made: bool,
    },
    /// It was removed.
    Removed,
    /// That is not said, or not in a known way.
    Unknown,
}

/// A text in the place of another.
#[derive(Debug, Default, PartialEq)]
pub struct Part {
    old: Side,
    new: Side,
}

/// What was there before, or is there after.
#[derive(Debug, Default, PartialEq)]
struct Side {
    /// Each with whether it is on this side alone.
    lines: Vec<(String, bool)>,
    /// The first may be the end of a line of the file.
    begins_within: bool,
    /// The last may be the beginning of one.
    ends_within: bool,
}

/// Lines of a file, from 0.
#[derive(Debug, Default, PartialEq)]
pub struct Lines {
    /// No other can have written these.
    pub sure: HashSet<usize>,
    /// These hold what was written, but somebody else may have had a hand in them: a part of a line, or what a file had before it was
    /// written whole.
    pub likely: HashSet<usize>,
}

impl Writes {
    /// What a call says that it wrote. One that failed wrote no file; what a shell did before it failed, nobody knows.
    pub fn of(tool: &Tool) -> Self {
        if !may_write(&tool.name) {
            let is_all = true;
            return Self {
                is_all,
                ..Self::default()
            };
        }
        if !WRITING.contains(&bare(&tool.name).as_str()) {
            return Self {
                files: shell_patch(&tool.input)
                    .filter(|_| !tool.error)
                    .unwrap_or_default(),
                is_all: false,
            };
        }
        let output = tool.output.as_deref().unwrap_or_default();
        let is_made = MADE.iter().any(|said| output.starts_with(said));
        let mut files = Vec::new();
        let is_known = collect(&tool.input, None, is_made, &mut files);
        if tool.error {
            files.clear();
        }
        Self {
            files,
            is_all: is_known || tool.error,
        }
    }
}

/// Adds the files that a tool was given to write. Whether it was said which.
fn collect(
    input: &Value,
    path: Option<&str>,
    is_made: bool,
    found: &mut Vec<(PathBuf, How)>,
) -> bool {
    let count = found.len();
    let fields = match input {
        Value::String(text) => {
            found.extend(patch(text));
            return found.len() > count;
        }
        Value::Array(items) => {
            for item in items {
                collect(item, path, is_made, found);
            }
            return found.len() > count;
        }
        Value::Object(fields) => fields,
        _ => return false,
    };
    let text = |names: &[&str]| {
        let mut named = names.iter().filter_map(|name| fields.get(*name)?.as_str());
        named.next()
    };
    if text(&["command"]) == Some("view") {
        return true;
    }
    let path = text(&PATHS).or(path);
    let is_added = fields.contains_key("insert_line") || text(&["mode"]) == Some("append");
    let how = match (text(&OLD), text(&NEW), text(&WHOLE)) {
        (Some(old), new, _) => Some(part(old, new.unwrap_or_default())),
        (None, Some(text), _) | (None, None, Some(text)) if is_added => Some(part("", text)),
        (None, None, Some(text)) => Some(How::Whole {
            text: text.to_owned(),
            is_made,
        }),
        _ => None,
    };
    if let Some((path, how)) = path.zip(how) {
        found.push((PathBuf::from(path), how));
        return true;
    }
    for value in fields.values() {
        collect(value, path, is_made, found);
    }
    if let Some(path) = path.filter(|_| found.len() == count) {
        found.push((PathBuf::from(path), How::Unknown));
    }
    found.len() > count
}

fn part(old: &str, new: &str) -> How {
    let whole_lines =
        |text: &str| -> String { text.lines().flat_map(|line| [line, "\n"]).collect() };
    let Ok(hunks) = hunks(whole_lines(old).as_bytes(), whole_lines(new).as_bytes(), 0) else {
        return How::Unknown;
    };
    let side = |text: &str, changed: Vec<&Range<usize>>| Side {
        lines: text
            .lines()
            .enumerate()
            .map(|(at, line)| (line.to_owned(), changed.iter().any(|run| run.contains(&at))))
            .collect(),
        begins_within: !old.is_empty(),
        ends_within: !old.is_empty() && !text.ends_with('\n'),
    };
    How::Part(Part {
        old: side(old, hunks.iter().map(|hunk| &hunk.old).collect()),
        new: side(new, hunks.iter().map(|hunk| &hunk.new).collect()),
    })
}

/// The files of a patch that a shell was given to apply.
fn shell_patch(input: &Value) -> Option<Vec<(PathBuf, How)>> {
    let text = |name: &str| match input.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            Some(words?.join(" "))
        }
        _ => None,
    };
    let command = text("command").or_else(|| text("cmd"))?;
    let (before, patched) = command.split_once("*** Begin Patch")?;
    // Where a shell goes first is not known.
    if !before.contains("apply_patch") || before.contains("cd ") {
        return None;
    }
    let dir = text("workdir").unwrap_or_default();
    let files = patch(patched).into_iter();
    Some(
        files
            .map(|(path, how)| (Path::new(&dir).join(path), how))
            .collect(),
    )
}

/// The files of a patch in the form of `apply_patch`.
fn patch(text: &str) -> Vec<(PathBuf, How)> {
    let mut files: Vec<(PathBuf, How)> = Vec::new();
    let mut path: Option<PathBuf> = None;
    let mut part = Part::default();
    for line in text.lines() {
        let is_heading = line.starts_with("***") || line.starts_with("@@");
        if is_heading {
            let done = std::mem::take(&mut part);
            if let Some(path) = path.clone().filter(|_| done != Part::default()) {
                files.push((path, How::Part(done)));
            }
        }
        let named = |heading: &str| Some(PathBuf::from(line.strip_prefix(heading)?.trim_end()));
        let written = ["*** Add File: ", "*** Update File: ", "*** Move to: "];
        if let Some(gone) = named("*** Delete File: ") {
            files.push((gone, How::Removed));
            path = None;
        } else if let Some(next) = written.iter().find_map(|heading| named(heading)) {
            // At least it is named.
            files.push((next.clone(), How::Unknown));
            path = Some(next);
        } else if is_heading {
        } else if let Some(added) = line.strip_prefix('+') {
            part.new.lines.push((added.to_owned(), true));
        } else if let Some(removed) = line.strip_prefix('-') {
            part.old.lines.push((removed.to_owned(), true));
        } else {
            let line = line.strip_prefix(' ').unwrap_or(line);
            for side in [&mut part.old, &mut part.new] {
                side.lines.push((line.to_owned(), false));
            }
        }
    }
    if let Some(path) = path.filter(|_| part != Part::default()) {
        files.push((path, How::Part(part)));
    }
    files
}

impl How {
    /// The lines of a file that it put there.
    pub fn added(&self, file: &[u8]) -> Lines {
        match self {
            Self::Part(part) => part.new.find(&lines_of(file)),
            Self::Whole { text, is_made } => {
                let found = whole(text, file);
                let none = HashSet::new();
                let (sure, likely) = if *is_made {
                    (found, none)
                } else {
                    (none, found)
                };
                Lines { sure, likely }
            }
            Self::Removed | Self::Unknown => Lines::default(),
        }
    }

    /// The lines of a file, as it was before, that it took away.
    pub fn removed(&self, file: &[u8]) -> Lines {
        match self {
            Self::Part(part) => part.old.find(&lines_of(file)),
            Self::Removed => Lines {
                sure: (0..lines_of(file).len()).collect(),
                likely: HashSet::new(),
            },
            Self::Whole { .. } | Self::Unknown => Lines::default(),
        }
    }
}

impl Side {
    /// The lines of a file that are those which this side alone has: where the file has all of the text in one place only, else where
    /// it has a run of them in one place only.
    fn find(&self, file: &[String]) -> Lines {
        let mut found = Lines::default();
        if let Some(at) = self.place(file, 0..self.lines.len()) {
            self.add(file, (at, 0..self.lines.len()), &mut found);
            return found;
        }
        let mut at = 0;
        while at < self.lines.len() {
            let alone = |line: &&(String, bool)| line.1 == self.lines[at].1;
            let end = at + self.lines[at..].iter().take_while(alone).count();
            if self.lines[at].1
                && let Some(place) = self.place(file, at..end)
            {
                self.add(file, (place, at..end), &mut found);
            }
            at = end;
        }
        found
    }

    fn add(&self, file: &[String], (place, run): (usize, Range<usize>), found: &mut Lines) {
        for (line, (text, is_alone)) in self.lines[run].iter().enumerate() {
            if *is_alone {
                let is_whole = file.get(place + line) == Some(text);
                let lines = if is_whole {
                    &mut found.sure
                } else {
                    &mut found.likely
                };
                lines.insert(place + line);
            }
        }
    }

    /// The one place where a file has a run of the lines; None also for what is nothing but space.
    fn place(&self, file: &[String], run: Range<usize>) -> Option<usize> {
        let lines = &self.lines[run.clone()];
        if lines.iter().all(|(text, _)| text.trim().is_empty()) {
            return None;
        }
        let is_same = |nth: usize, there: &str| {
            let text = lines[nth].0.as_str();
            let begins_within = self.begins_within && run.start + nth == 0;
            let ends_within = self.ends_within && run.start + nth + 1 == self.lines.len();
            match (begins_within, ends_within) {
                (false, false) => there == text,
                (true, false) => there.ends_with(text),
                (false, true) => there.starts_with(text),
                (true, true) => there.contains(text),
            }
        };
        let mut places = (0..(file.len() + 1).saturating_sub(lines.len()))
            .filter(|at| (0..lines.len()).all(|nth| is_same(nth, &file[at + nth])));
        places.next().filter(|_| places.next().is_none())
    }
}

/// The lines of a file that have what was once all of it, also where somebody wrote into it since.
fn whole(text: &str, file: &[u8]) -> HashSet<usize> {
    let all = Side {
        lines: text.lines().map(|line| (line.to_owned(), true)).collect(),
        ..Side::default()
    };
    let found = all.find(&lines_of(file)).sure;
    if !found.is_empty() || all.lines.len() < 2 {
        return found;
    }
    let same = same_lines(text.as_bytes(), file, false).unwrap_or_default();
    let alike: HashSet<usize> = (0..same.len()).filter(|at| same[*at].is_some()).collect();
    if alike.len() * 2 > same.len() {
        alike
    } else {
        HashSet::new()
    }
}

fn lines_of(file: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(file)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, input: Value) -> Tool {
        Tool {
            name: name.to_owned(),
            input,
            output: None,
            error: false,
        }
    }

    fn writes(name: &str, input: Value) -> Writes {
        Writes::of(&call(name, input))
    }

    fn sorted(lines: &HashSet<usize>) -> Vec<usize> {
        let mut lines: Vec<usize> = lines.iter().copied().collect();
        lines.sort_unstable();
        lines
    }

    /// The lines that are surely, and those that are likely, of one call.
    fn added(name: &str, input: Value, file: &str) -> (Vec<usize>, Vec<usize>) {
        let mut all = Lines::default();
        for (_, how) in writes(name, input).files {
            let lines = how.added(file.as_bytes());
            all.sure.extend(lines.sure);
            all.likely.extend(lines.likely);
        }
        (sorted(&all.sure), sorted(&all.likely))
    }

    #[test]
    fn what_an_edit_quotes_from_before_is_not_what_it_wrote() {
        let file = "one\nalpha\nbeta\ntwo\n";
        let words = [
            ("Edit", "file_path", "old_string", "new_string"),
            ("edit", "filePath", "oldString", "newString"),
            ("edit", "path", "oldText", "newText"),
            ("str_replace_editor", "path", "old_str", "new_str"),
            ("replace", "file_path", "old_string", "new_string"),
        ];
        for (name, path, old, new) in words {
            for end in ["", "\n"] {
                let input = json!({path: "/w/m.py", old: format!("alpha{end}"), new: format!("alpha\nbeta{end}"),
                    "instruction": "put beta behind alpha", "replace_all": false});
                assert_eq!(added(name, input, file), (vec![2], vec![]), "{name}");
            }
        }
        let input = json!({"file_path": "m", "edits": [
            {"old_string": "one\n", "new_string": "one\nalpha\n"}, {"old_string": "two", "new_string": "beta\ntwo"}]});
        assert_eq!(added("MultiEdit", input, file), (vec![1, 2], vec![]));
        let input = json!({"path": "m", "edit": {"old": "one", "new": "one\nalpha"}});
        assert_eq!(added("StrReplaceFile", input, file), (vec![1], vec![]));
        let input =
            json!({"path": "m", "command": "insert", "insert_line": 1, "new_str": "alpha\n"});
        assert_eq!(added("str_replace_editor", input, file), (vec![1], vec![]));
    }

    #[test]
    fn a_text_counts_where_it_is_once() {
        let insert = |text: &str, file: &str| {
            let input = json!({"path": "m", "old_string": "", "new_string": text});
            added("edit", input, file).0
        };
        assert_eq!(insert("b", "a\nb\nc\n"), [1]);
        assert_eq!(insert("b", "a\nb\nb\n"), [0; 0]);
        assert_eq!(insert("b\nc\n", "a\nb\nc\nd\n"), [1, 2]);
        assert_eq!(insert("b", "a\r\nb\r\n"), [1]);
        assert_eq!(insert("\n", "a\n\nc\n"), [0; 0]);
    }

    #[test]
    fn of_a_part_of_a_line_nobody_knows_who_wrote_the_rest() {
        let input = json!({"path": "m", "old_string": "(b", "new_string": "(b, c"});
        assert_eq!(added("edit", input, "x\na(b, c)\n"), (vec![], vec![1]));
        let input = json!({"path": "m", "old_string": "one", "new_string": "one\nbeta"});
        assert_eq!(added("edit", input, "one\nbeta2\n"), (vec![], vec![1]));
    }

    #[test]
    fn a_whole_file_may_have_had_its_lines_before() {
        let mut write = call("Write", json!({"file_path": "m", "content": "a\nb\nc\n"}));
        let file = b"a\nmine\nb\nc\n";
        let of = |tool: &Tool| Writes::of(tool).files.remove(0).1.added(file);
        assert_eq!(sorted(&of(&write).likely), [0, 2, 3]);
        write.output = Some("File created successfully at: m".to_owned());
        assert_eq!(sorted(&of(&write).sure), [0, 2, 3]);
        let append = json!({"path": "m", "content": "b\n", "mode": "append"});
        assert_eq!(added("WriteFile", append, "a\nb\n"), (vec![1], vec![]));
    }

    #[test]
    fn of_a_patch_only_the_added_lines_count() {
        let text = "*** Begin Patch\n*** Update File: src/a b.rs\n@@\n a\n-b\n+B\n+C\n c\n+d\n*** Delete File: old\n*** End Patch\n";
        let file = "a\nB\nC\nc\nd\n";
        for (name, input) in [
            ("apply_patch", json!(text)),
            ("apply_patch", json!({"patchText": text})),
            ("shell", json!({"command": ["apply_patch", text]})),
            (
                "exec_command",
                json!({"cmd": format!("apply_patch <<'EOF'\n{text}EOF\n")}),
            ),
        ] {
            assert_eq!(added(name, input.clone(), file), (vec![1, 2, 4], vec![]));
            let found = writes(name, input);
            assert_eq!(found.is_all, name == "apply_patch");
            let paths: Vec<_> = found.files.iter().map(|(path, _)| path.as_path()).collect();
            assert_eq!(paths, ["src/a b.rs", "src/a b.rs", "old"].map(Path::new));
            let removed = found.files[1].1.removed(b"a\nb\nc\n").sure;
            assert_eq!(sorted(&removed), [1]);
        }
    }

    #[test]
    fn what_only_looks_or_is_not_known_says_nothing_of_a_line() {
        let input = json!({"path": "m.py", "pattern": "def alpha"});
        assert_eq!(writes("Grep", input).files, []);
        let input = json!({"command": "view", "path": "m.py"});
        assert_eq!(
            writes("str_replace_editor", input),
            Writes {
                files: Vec::new(),
                is_all: true
            }
        );
        for (name, input) in [
            ("Bash", json!({"command": "cat > m.py <<'EOF'\nalpha\nEOF"})),
            ("Task", json!({"prompt": "put alpha into m.py"})),
            (
                "mcp__x__write",
                json!({"path": "m.py", "content": "alpha\n"}),
            ),
            ("apply_patch", json!("--- a/m.py\n+++ b/m.py\n")),
        ] {
            assert_eq!(writes(name, input), Writes::default(), "{name}");
        }
        let mut failed = call(
            "Edit",
            json!({"file_path": "m", "old_string": "a", "new_string": "b"}),
        );
        failed.error = true;
        assert_eq!(Writes::of(&failed).files, []);
        let notebook = json!({"notebook_path": "n", "new_source": "alpha"});
        assert_eq!(
            writes("NotebookEdit", notebook).files,
            [("n".into(), How::Unknown)]
        );
    }
}
