//! Git's format for programs, each line complete: who reads `git blame --line-porcelain` can read this.
//!
//! A line of a turn or a person that was not committed has the id that git gives to what is not committed: zeros.

use crate::cli::prelude::*;
use crate::env::Moment;
use crate::git::textdiff::quoted;
use crate::ops::blame::{Blamed, Kind, Line, Origin};

/// Prints the lines in the format of `git blame --porcelain`.
pub fn print(page: &mut Page, blamed: &Blamed) {
    let not_committed = blamed.format.null().to_string();
    for line in &blamed.lines {
        for row in rows(line, &not_committed) {
            page.line(row);
        }
        page.text.extend_from_slice(b"filename ");
        let name = quoted(b"", line.original_path.as_bytes(), blamed.quote);
        page.text.extend(name);
        page.text.push(b'\n');
        page.text.push(b'\t');
        page.text.extend_from_slice(&line.text);
        page.text.extend(line.has_return.then_some(b'\r'));
        page.text.push(b'\n');
    }
}

fn rows(line: &Line, not_committed: &str) -> Vec<String> {
    let origin = &line.origin;
    let commit = origin.commit.as_deref().unwrap_or(not_committed);
    let mut rows = vec![format!("{commit} {} {} 1", line.original_line, line.line)];
    rows.extend(people(origin));
    rows.extend([
        format!("summary {}", summary(origin)),
        format!("timewarp-kind {}", origin.kind.as_str()),
    ]);
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
    rows
}

/// Who wrote it and who committed it, where git knows: else these are the same.
fn people(origin: &Origin) -> Vec<String> {
    let at = origin.at.as_deref().and_then(Moment::parse_rfc3339);
    let at = at.map_or(0, Moment::seconds);
    let of = |word: &str, name: &str, mail: &str, at: i64, zone: &str| {
        [
            format!("{word} {}", clean(name)),
            format!("{word}-mail {}", clean(mail)),
            format!("{word}-time {at}"),
            format!("{word}-tz {}", clean(zone)),
        ]
    };
    let who = author(origin);
    let (author, committer) = match &origin.about {
        Some(about) => (
            of("author", &who, &about.author_mail, at, &about.author_zone),
            of(
                "committer",
                &about.committer,
                &about.committer_mail,
                about.committer_time,
                &about.committer_zone,
            ),
        ),
        None => (
            of("author", &who, "<>", at, "+0000"),
            of("committer", &who, "<>", at, "+0000"),
        ),
    };
    author.into_iter().chain(committer).collect()
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

fn summary(origin: &Origin) -> String {
    let said = origin.prompt.as_deref().or(origin.title.as_deref());
    clean(
        said.and_then(|text| text.lines().next())
            .unwrap_or_default(),
    )
}
