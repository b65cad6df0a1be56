//! Git's format for programs, each line complete: who reads `git blame --line-porcelain` can read this.
//!
//! A line of a turn or a person that was not committed has the id that git gives to what is not committed: zeros.

use crate::cli::prelude::*;
use crate::env::Moment;
use crate::ops::blame::{Blamed, Kind, Line, Origin};

/// Prints it.
pub fn print(page: &mut Page, blamed: &Blamed) {
    let not_committed = blamed.format.null().to_string();
    for line in &blamed.lines {
        for row in rows(line, &not_committed) {
            page.line(row);
        }
        page.text.push(b'\t');
        page.text.extend_from_slice(&line.text);
        page.text.extend(line.has_return.then_some(b'\r'));
        page.text.push(b'\n');
    }
}

fn rows(line: &Line, not_committed: &str) -> Vec<String> {
    let origin = &line.origin;
    let commit = origin.commit.as_deref().unwrap_or(not_committed);
    let at = origin.at.as_deref().and_then(Moment::parse_rfc3339);
    let mut rows = vec![
        format!("{commit} {} {} 1", line.original_line, line.line),
        format!("author {}", author(origin)),
        format!("author-mail {}", mail(origin)),
        format!("author-time {}", at.map_or(0, Moment::seconds)),
        "author-tz +0000".to_owned(),
        format!("summary {}", summary(origin)),
        format!("timewarp-kind {}", origin.kind.as_str()),
    ];
    let turn = [
        ("session", origin.session_id.clone()),
        ("checkpoint", origin.checkpoint_id.map(|id| id.to_string())),
        ("agent", origin.agent.clone()),
        ("model", origin.model.clone()),
        ("snapshot", origin.snapshot_id.clone()),
        (
            "imported-from",
            origin
                .imported_from
                .map(|format| format.as_str().to_owned()),
        ),
    ];
    for (name, value) in turn {
        rows.extend(value.map(|value| format!("timewarp-{name} {}", clean(&value))));
    }
    rows.push(format!("filename {}", clean(&line.original_path.display())));
    rows
}

fn author(origin: &Origin) -> String {
    let name = match origin.kind {
        Kind::Prompt | Kind::Imported => origin.agent.as_deref().unwrap_or("agent"),
        Kind::Commit => origin.author.as_deref().unwrap_or_default(),
        Kind::Between => "between turns",
        Kind::Ambiguous => "ambiguous",
        Kind::CommitStep => "formatter",
        Kind::Dirty => "Not Captured Yet",
    };
    clean(name)
}

fn mail(origin: &Origin) -> String {
    clean(origin.author_mail.as_deref().unwrap_or("<>"))
}

fn summary(origin: &Origin) -> String {
    let said = origin.prompt.as_deref().or(origin.title.as_deref());
    clean(
        said.and_then(|text| text.lines().next())
            .unwrap_or_default(),
    )
}
