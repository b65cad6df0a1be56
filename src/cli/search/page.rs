//! How hits look: one a line for scripts, or under headings for people.

use std::fmt::Write as _;

use crate::cli::human::RenderOptions;
use crate::cli::human::text::{checkpoint_name, claimed, clean, quoted, short_session};
use crate::error::Result;
use crate::ops::search::{
    Change, Hit, MOST_LINES, Neighbour, Pattern, PatternOptions, Place, Shape,
};

/// So much of a prompt stands in a heading.
const PROMPT: usize = 60;

/// Prints hits as they come.
pub struct Printer<'a> {
    options: &'a RenderOptions,
    pattern: Pattern,
    shape: Shape,
    headings: bool,
    /// The heading that stands last, and the last line beneath it.
    under: Option<(String, u64)>,
}

impl<'a> Printer<'a> {
    /// One that marks what is wanted.
    pub fn new(
        options: &'a RenderOptions,
        (wanted, shape): (&PatternOptions, Shape),
        headings: bool,
    ) -> Result<Self> {
        Ok(Self {
            options,
            pattern: Pattern::new(wanted)?,
            shape,
            headings,
            under: None,
        })
    }

    /// Renders the next hits.
    pub fn print(&mut self, hits: &[Hit]) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, hit) in hits.iter().enumerate() {
            if hit.text.is_none() {
                self.whole(hit, &mut out);
                continue;
            }
            let next = hits
                .get(at + 1)
                .filter(|next| self.heading(next) == self.heading(hit));
            self.lines(hit, next.and_then(|next| next.line), &mut out);
        }
        out
    }

    /// A file, a prompt or an issue without its lines.
    fn whole(&mut self, hit: &Hit, out: &mut Vec<u8>) {
        self.under = None;
        // Where nothing but names is asked for, programs take them.
        let named = match self.shape {
            Shape::Files => name(hit),
            _ => claimed_name(hit),
        };
        let name = self.options.style.bold(&named);
        let line = match hit.count {
            Some(count) => format!("{name}:{count}"),
            None if self.shape == Shape::Files => name,
            None if hit.too_many => {
                let snapshot = snapshot(hit);
                format!("{snapshot}:{name}: more than {MOST_LINES} lines match")
            }
            None if hit.binary => format!("{}:{name}: binary file matches", snapshot(hit)),
            None => name,
        };
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }

    /// A line with those around it: those after it up to the next hit.
    fn lines(&mut self, hit: &Hit, next: Option<u64>, out: &mut Vec<u8>) {
        let number = hit.line.unwrap_or(0);
        let heading = self.heading(hit);
        let mut last = match &self.under {
            Some((above, last)) if *above == heading => Some(*last),
            _ => None,
        };
        if last.is_none() && self.headings {
            if self.under.is_some() {
                out.push(b'\n');
            }
            out.extend_from_slice(heading.as_bytes());
        }
        let is_new = |line: &&Neighbour| last.is_none_or(|last| line.line > last);
        let before: Vec<&Neighbour> = hit.before.iter().filter(is_new).collect();
        let first = before.first().map_or(number, |line| line.line);
        // A file of one line has nothing around it.
        let has_context = !matches!(self.shape, Shape::Lines { context: 0 });
        let follows = last.map_or(self.under.is_none() || self.headings, |last| {
            last + 1 >= first
        });
        if has_context && !follows {
            out.extend_from_slice(b"--\n");
        }
        for line in before {
            self.line(hit, (line.line, &line.text), '-', out);
        }
        let text = hit.text.as_deref().unwrap_or_default();
        self.line(hit, (number, text), ':', out);
        last = Some(number);
        let until = next.unwrap_or(u64::MAX);
        for line in hit.after.iter().filter(|line| line.line < until) {
            self.line(hit, (line.line, &line.text), '-', out);
            last = Some(line.line);
        }
        self.under = last.map(|last| (heading, last));
    }

    fn line(&self, hit: &Hit, (number, text): (u64, &[u8]), mark: char, out: &mut Vec<u8>) {
        let style = self.options.style;
        let mut head = String::new();
        if !self.headings {
            let _ = write!(head, "{}:{}{mark}", snapshot(hit), claimed_name(hit));
        }
        let _ = write!(head, "{}{mark}", style.green(&number.to_string()));
        let sign = match hit.change.filter(|_| mark == ':') {
            Some(Change::Added) => "+",
            Some(Change::Removed) => "-",
            None => "",
        };
        head.push_str(sign);
        out.extend_from_slice(head.as_bytes());
        let text = match text.strip_suffix(b"\r") {
            Some(text) if hit.path.is_none() || !self.is_plain() => text,
            _ => text,
        };
        if hit.path.is_none() {
            // What was said to an agent is exact nowhere: a line of text.
            let text = clean(&String::from_utf8_lossy(text));
            out.extend_from_slice(text.as_bytes());
        } else if mark == ':' && style.is_on() {
            self.marked(text, out);
        } else {
            self.text(text, out);
        }
        out.push(b'\n');
    }

    fn marked(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut end = 0;
        for span in self.pattern.spans(text) {
            self.text(text.get(end..span.start).unwrap_or_default(), out);
            let mut found = Vec::new();
            self.text(text.get(span.clone()).unwrap_or_default(), &mut found);
            let found = String::from_utf8_lossy(&found).into_owned();
            out.extend_from_slice(self.options.style.red(&found).as_bytes());
            end = span.end;
        }
        self.text(text.get(end..).unwrap_or_default(), out);
    }

    /// Whether a line goes byte for byte: into a file or a pipe.
    fn is_plain(&self) -> bool {
        !self.options.terminal && !self.options.style.is_on()
    }

    /// What would steer a terminal is escaped there.
    fn text(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.is_plain() {
            out.extend_from_slice(text);
            return;
        }
        let text = String::from_utf8_lossy(text);
        let parts: Vec<_> = text.split('\t').map(clean).collect();
        out.extend_from_slice(parts.join("\t").as_bytes());
    }

    /// What stands above hits that have it in common.
    fn heading(&self, hit: &Hit) -> String {
        let options = self.options;
        let mut text = options.style.bold(&claimed_name(hit));
        match hit.change {
            Some(Change::Added) => text.push_str(" came in"),
            Some(Change::Removed) => text.push_str(" went after"),
            None => {}
        }
        let _ = write!(text, " {}", options.id(snapshot(hit)));
        let spans = hit.change.is_none() && hit.first_snapshot != hit.last_snapshot;
        let _ = write!(text, "  {}", options.ago(&hit.at));
        if hit.staged {
            text.push_str("  (staged only)");
        }
        text.push('\n');
        if spans {
            let _ = writeln!(text, "  since {}", options.id(&hit.first_snapshot));
        }
        if let Some(turn) = turn(
            hit.session_id.as_deref(),
            (hit.checkpoint, hit.or_between),
            hit.prompt.as_deref(),
        ) {
            let word = if hit.change == Some(Change::Removed) {
                "removed"
            } else {
                "added"
            };
            let is_file = matches!(hit.place, Place::Content | Place::Diff);
            if is_file {
                let _ = writeln!(text, "  {word} in {turn}");
            }
        }
        if let Some(gone) = &hit.removed {
            let turn = turn(
                gone.session_id.as_deref(),
                (gone.checkpoint, gone.or_between),
                gone.prompt.as_deref(),
            );
            let turn = turn.map(|turn| format!(", removed in {turn}"));
            let (id, turn) = (options.id(&gone.snapshot_id), turn.unwrap_or_default());
            let _ = writeln!(text, "  gone since {id}{turn}");
        }
        text
    }
}

/// The snapshot in which the line is at its number.
fn snapshot(hit: &Hit) -> &str {
    match hit.change {
        Some(Change::Added) => &hit.first_snapshot,
        _ => &hit.last_snapshot,
    }
}

/// As [`name`], and who is said to have reported an issue that came from elsewhere.
fn claimed_name(hit: &Hit) -> String {
    let claimed = hit.claimed_by.as_deref().map(claimed);
    let claimed = claimed.map(|claimed| format!(" {claimed}"));
    format!("{}{}", name(hit), claimed.unwrap_or_default())
}

/// The file, `SESSION:N`, or the issue, with the text that it is in.
fn name(hit: &Hit) -> String {
    let field = hit.field.as_ref().map(|field| format!(":{}", clean(field)));
    let field = field.unwrap_or_default();
    match (&hit.path, &hit.issue_id) {
        (Some(path), _) => quoted(path),
        (_, Some(issue)) => format!("{}{field}", clean(issue)),
        _ => {
            let session = hit.session_id.as_deref().unwrap_or_default();
            let name = match hit.checkpoint {
                Some(number) => checkpoint_name(session, number),
                None => short_session(session),
            };
            format!("{name}{field}")
        }
    }
}

/// `3f2a1b9c:12 'what was asked'`, or `3f2a1b9c:12 or between '…'`.
fn turn(
    session: Option<&str>,
    (checkpoint, or_between): (Option<u64>, bool),
    prompt: Option<&str>,
) -> Option<String> {
    let mut text = checkpoint_name(session?, checkpoint?);
    if or_between {
        text.push_str(" or between");
    }
    if let Some(prompt) = prompt {
        let shown: String = prompt.chars().take(PROMPT).collect();
        let more = if shown.len() < prompt.len() {
            "…"
        } else {
            ""
        };
        let _ = write!(text, " '{}{more}'", clean(&shown));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::human::screen::Screen;
    use crate::cli::human::style::Style;
    use crate::env::Moment;
    use crate::git::path::RepoPath;

    fn hit(text: &[u8]) -> Hit {
        Hit {
            place: Place::Content,
            path: Some(RepoPath::from(&b"a\x1b.txt"[..])),
            line: Some(3),
            text: Some(text.to_vec()),
            change: None,
            first_snapshot: "s_20260228_153012_ab12cd".to_owned(),
            last_snapshot: "s_20260228_153012_ab12cd".to_owned(),
            checkpoint: Some(1),
            session_id: Some("a\x1b[2Jb".to_owned()),
            prompt: Some("mend\x1b[2J it".to_owned()),
            or_between: false,
            removed: None,
            staged: false,
            binary: false,
            too_many: false,
            count: None,
            issue_id: None,
            claimed_by: None,
            field: None,
            before: Vec::new(),
            after: Vec::new(),
            at: "2026-02-28T15:30:12Z".to_owned(),
        }
    }

    fn printed(text: &[u8], terminal: bool) -> Vec<u8> {
        let options = RenderOptions {
            style: Style::new(false),
            terminal,
            screen: Screen {
                columns: None,
                unicode: true,
            },
            quiet: false,
            verbose: false,
            now: Moment::parse_rfc3339("2026-02-28T15:30:12Z").expect("a fixed time"),
        };
        let wanted = PatternOptions {
            patterns: vec!["x".to_owned()],
            ..PatternOptions::default()
        };
        let mut printer = Printer::new(&options, (&wanted, Shape::Lines { context: 0 }), terminal)
            .expect("a pattern");
        printer.print(&[hit(text)])
    }

    #[test]
    fn nothing_that_was_found_steers_a_terminal() {
        let shown = printed(b"x\x1b[2J\ty\xff\r", true);
        assert!(!shown.contains(&0x1b), "{}", shown.escape_ascii());
        assert!(
            shown.ends_with("\n3:x\\u{1b}[2J\ty\u{fffd}\n".as_bytes()),
            "{}",
            shown.escape_ascii()
        );
    }

    #[test]
    fn a_pipe_gets_a_line_as_it_is_and_its_name_quoted() {
        let line = printed(b"x\x1b\xff\r", false);
        let wanted = b"s_20260228_153012_ab12cd:\"a\\033.txt\":3:x\x1b\xff\r\n";
        assert_eq!(
            line.escape_ascii().to_string(),
            wanted.escape_ascii().to_string()
        );
    }
}
