//! A Claude Code session file as a neutral conversation.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::NAME;
use super::place::slug;
use super::rows::{self, Block, Kind, Row, Said, Scan, Sent, Usage};
use super::timeline::Tree;
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::transcript::{Cut, Detail, Position, Prompt, Shrink, Tokens, Transcript};
use crate::error::Result;

/// Reads the session in `path`.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    let (scan, parent) = scan_with_parent(path, detail)?;
    let mut builder = Builder::new(NAME, detail);
    let tree = Tree::new(&scan.rows);
    let active = tree.active(tree.leaf(scan.rows.len()), scan.rows.len());
    let mut meter = Meter::default();
    for (index, row) in scan.rows.iter().enumerate() {
        if active.get(index) == Some(&true) {
            fold(&mut builder, row, &mut meter);
        }
    }
    let mut transcript = builder.transcript;
    transcript.abandoned = abandoned(&scan.rows, &tree, &active, &transcript);
    transcript.cwd = resume_cwd(path, &scan.cwds);
    transcript.session_id = match &scan.session_id {
        Some(id) => id.clone(),
        None => stem(path),
    };
    path.clone_into(&mut transcript.path);
    transcript.companion = parent;
    transcript.forked_from = scan
        .rows
        .iter()
        .find_map(|row| row.forked_from.as_deref().map(str::to_owned))
        .filter(|from| *from != transcript.session_id);
    transcript.version = scan.version;
    transcript.set_counts(scan.counts);
    Ok(transcript)
}

/// Reads the rows of `path`, after those of its parent session when the file is a fork that only points there: its first
/// row names a parent that it lacks.
pub fn scan_with_parent(path: &Path, detail: Detail) -> Result<(Scan, Option<PathBuf>)> {
    let mut scan = rows::scan(path, detail, 0)?;
    let Some((parent_path, wanted)) = missing_prefix(path, &scan.rows) else {
        return Ok((scan, None));
    };
    let Ok(parent) = rows::scan(&parent_path, detail, 1) else {
        return Ok((scan, None));
    };
    let mut prefix = parent.rows;
    let Some(last) = prefix
        .iter()
        .position(|row| row.uuid.as_deref() == Some(&*wanted))
    else {
        return Ok((scan, None));
    };
    prefix.truncate(last + 1);
    prefix.append(&mut scan.rows);
    scan.rows = prefix;
    Ok((scan, Some(parent_path)))
}

fn missing_prefix(path: &Path, rows: &[Row]) -> Option<(PathBuf, Box<str>)> {
    let session = rows.iter().find_map(|row| row.forked_from.as_deref())?;
    let first = rows.iter().find(|row| row.is_linked())?;
    let wanted = first.parent.clone()?;
    if rows.iter().any(|row| row.uuid.as_ref() == Some(&wanted)) {
        return None;
    }
    let parent = path.with_file_name(format!("{session}.jsonl"));
    (crate::agents::places::is_plain_id(session) && parent != path && parent.is_file())
        .then_some((parent, wanted))
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The directory to resume in: the recorded one that the file's own directory is named after, else the last.
fn resume_cwd(path: &Path, cwds: &[String]) -> Option<String> {
    let project = path.parent()?.file_name()?.to_string_lossy().into_owned();
    cwds.iter()
        .find(|cwd| slug(cwd.as_bytes()) == project)
        .or(cwds.last())
        .cloned()
}

/// Sums usage with every message counted once, by its row with the most output.
#[derive(Default)]
struct Meter {
    messages: HashMap<Box<str>, Usage>,
    total: u64,
}

impl Meter {
    fn add(&mut self, row: &Row) -> Option<Tokens> {
        let usage = row.usage?;
        let key = row.message_id.clone().or_else(|| row.uuid.clone())?;
        let known = self
            .messages
            .entry(key)
            .or_insert(Usage { output: 0, sum: 0 });
        // One message has several rows, each with the counts so far: the last ones hold.
        if usage.output >= known.output {
            self.total = self.total - known.sum + usage.sum;
            *known = usage;
        }
        Some(Tokens {
            context: Some(known.sum),
            total: Some(self.total),
        })
    }
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

/// A row of the session's own file can be cut at; one of its parent's cannot.
fn own(row: &Row) -> Option<Position> {
    (row.file == 0).then_some(row.position)
}

fn fold(builder: &mut Builder, row: &Row, meter: &mut Meter) {
    builder.file = row.file;
    if row.boundary {
        builder.shrink(row.position, Shrink::Compaction);
    }
    if let Some(said) = &row.said {
        fold_said(builder, row, said);
    } else {
        fold_blocks(builder, row);
    }
    if let Some(tokens) = meter.add(row) {
        builder.tokens(tokens);
    }
    if row.is_message()
        && let Some(position) = own(row)
    {
        let end = Position {
            line: position.line + 1,
            offset: position.offset + row.len + 1,
        };
        builder.boundary(end, None);
    }
}

fn fold_said(builder: &mut Builder, row: &Row, said: &Said) {
    let id = owned(row.uuid.as_deref());
    let typed = Typed {
        position: row.position,
        cut: own(row),
        companion: None,
        prompt_id: owned(row.prompt_id.as_deref()),
        id: id.clone(),
        at: owned(row.at.as_deref()),
        text: said.text.clone(),
        images: said.images,
    };
    match said.sent {
        Sent::First => builder.prompt(Typed {
            prompt_id: typed.prompt_id.or(id),
            ..typed
        }),
        Sent::Meanwhile => {
            builder.aside(&typed);
            builder.user(row.position, id, typed.at, typed.text, typed.images);
        }
        Sent::Notice => builder.aside(&typed),
    }
}

fn fold_blocks(builder: &mut Builder, row: &Row) {
    for block in &row.blocks {
        match block {
            Block::Text(text) if row.kind == Kind::Assistant => {
                let id = owned(row.message_id.as_deref());
                let at = owned(row.at.as_deref());
                builder.assistant(row.position, id, at, text.clone());
            }
            Block::Call { id, name, input } => builder.call(Call {
                id: id.clone(),
                name: name.clone(),
                input: input.clone(),
                at: owned(row.at.as_deref()),
                position: row.position,
            }),
            Block::Result { id, output, error } => builder.result(id, output.clone(), *error),
            Block::Text(_) | Block::Other => {}
        }
    }
}

/// Prompts of the session's own file that are on no path to the leaf.
fn abandoned(
    rows: &[Row],
    tree: &Tree<'_>,
    active: &[bool],
    transcript: &Transcript,
) -> Vec<Prompt> {
    let mut found = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let Some(said) = row
            .said
            .as_ref()
            .filter(|_| row.is_prompt() && row.file == 0)
        else {
            continue;
        };
        if active.get(index) == Some(&true) || tree.is_duplicate(index) {
            continue;
        }
        let known = transcript.cut_at(row.position.offset);
        let before = Cut {
            position: row.position,
            companion: None,
            tokens: known.map(|cut| cut.tokens).unwrap_or_default(),
            messages: known.map_or(0, |cut| cut.messages),
        };
        found.push(Prompt {
            index: found.len(),
            position: row.position,
            prompt_id: owned(row.prompt_id.as_deref()).or_else(|| owned(row.uuid.as_deref())),
            at: owned(row.at.as_deref()),
            text: said.text.clone(),
            images: said.images,
            message: before.messages,
            tokens: before.tokens,
            cut: Some(before),
        });
    }
    found
}
