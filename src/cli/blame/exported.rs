//! How what is said for other tools is printed.

use crate::cli::human::text::short;
use crate::cli::prelude::*;
use crate::ops::blame::{Exported, Format, NoteState};

impl Human for Exported {
    fn print(&self, page: &mut Page) {
        for (nth, one) in self.commits.iter().enumerate() {
            if self.format == Format::GitAi {
                if nth > 0 {
                    page.line("");
                }
                page.line(format!("commit {}", one.commit));
            }
            text(page, &one.text);
        }
        if self.commits.is_empty() {
            let path = clean(&self.path.display());
            page.note(format!(
                "no commit that was made here has lines of a turn in '{path}'"
            ));
        }
        let of = |state: NoteState| {
            let all = self.commits.iter().filter(move |one| one.note == state);
            all.map(|one| short(&one.commit)).collect::<Vec<_>>()
        };
        let written = of(NoteState::Written).len();
        let there = of(NoteState::Unchanged).len();
        let name = &self.notes_ref;
        if written > 0 {
            page.note(format!("{} written to {name}", count(written, "note")));
        }
        if there > 0 {
            page.note(format!("{} there already in {name}", count(there, "note")));
        }
        for commit in of(NoteState::Foreign) {
            page.note(format!(
                "{commit} has a note of another tool's in {name}, which was left alone"
            ));
        }
        page.notices(&self.notices);
    }
}

/// Into a file or pipe it goes as it is; what would steer a terminal is escaped there.
fn text(page: &mut Page, text: &str) {
    if page.options.terminal || page.options.style.is_on() {
        page.lines("", text);
    } else {
        page.text.extend_from_slice(text.as_bytes());
    }
}
