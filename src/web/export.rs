//! The page as one file: what was asked for, redacted once more, written whole or not at all.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::page::{self, Connects};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::Oid;
use crate::git::fs::{self, Durable};
use crate::git::objects::ObjectStore;
use crate::git::threads;
use crate::git::tree::{Change, Node};
use crate::interrupt;
use crate::ops::Context;
use crate::ops::timeline::{self, Entry, EntryKind, Filter, Timeline};
use crate::ops::web::{self, File, Line, Lines, Others, What};
use crate::redact::{Counts, MARK, Redactor};

/// This many lines of a path go into the file.
const LINES: usize = 300;
/// This many paths of an entry.
const FILES: usize = 100;
/// This many bytes of lines; what comes after is named without them.
const ROOM: usize = 32 << 20;
/// This many bytes are written at a time.
const CHUNK: usize = 1 << 20;
/// This many entries are worked on at a time.
const BATCH: usize = 64;

/// What is to be written.
#[derive(Debug, Clone)]
pub struct Export {
    /// Where.
    pub file: PathBuf,
    /// Which entries.
    pub filter: Filter,
    /// Whether what was asked of agents goes in.
    pub prompts: bool,
    /// Whether a file that is there may be replaced.
    pub force: bool,
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Exported {
    /// The file, as it was named.
    pub file: String,
    /// How many entries it shows.
    pub entries: usize,
    /// How many of them are prompts with their text.
    pub prompts: usize,
    /// How many prompts, and titles that may have come from one, were left out.
    pub prompts_left_out: usize,
    /// How many paths are named without their lines, since the file would have become too large.
    pub without_lines: usize,
    /// Its size.
    pub bytes: usize,
    /// How often each rule replaced something.
    pub redacted: BTreeMap<String, u64>,
    /// Sentences about what could not be read.
    pub notices: Vec<String>,
}

/// What a question before it should say.
///
/// # Errors
/// `USAGE` when the file is there and may not be replaced; what keeps the timeline from being read.
pub fn plan(ctx: &Context<'_>, export: &Export) -> Result<Others> {
    refuse_existing(export)?;
    if !export.prompts {
        return Ok(Others::default());
    }
    let filter = Filter {
        kinds: vec![EntryKind::Prompt],
        ..export.filter.clone()
    };
    let prompts = Timeline::new(ctx, &filter)?.page(usize::MAX)?;
    web::of_others(ctx, &prompts)
}

/// A regular file is replaced with `--force` alone, and what is none never: it is another program's, or the system's.
fn refuse_existing(export: &Export) -> Result<()> {
    let file = &export.file;
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(dir) = dir
        && !dir.is_dir()
    {
        let message = format!("there is no directory '{}'", dir.display());
        return Err(Error::new(Code::Io, message).hint("make it first, or name another file"));
    }
    match file.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(there) if !there.is_file() => {
            let message = format!("'{}' is not a regular file", file.display());
            Err(Error::new(Code::WouldOverwrite, message).hint("name another file"))
        }
        Ok(_) if export.force => Ok(()),
        Ok(_) => Err(exists(file)),
    }
}

fn exists(file: &Path) -> Error {
    let message = format!("'{}' is there already", file.display());
    Error::new(Code::WouldOverwrite, message).hint("--force replaces it")
}

/// An entry in the file.
#[derive(Serialize)]
struct ExportedEntry {
    #[serde(flatten)]
    entry: Entry,
    text: String,
    paths: Option<Vec<ToldFile>>,
    total: usize,
    trees: Trees,
}

/// Numbers for the trees of an entry: its own, and those between which its paths changed. With them the page finds what leads from one
/// entry to another. A number says only what is equal, nothing of what is in it.
#[derive(Serialize)]
struct Trees {
    own: Option<usize>,
    between: Option<(usize, usize)>,
}

#[derive(Serialize)]
struct ToldFile {
    #[serde(flatten)]
    file: File,
    lines: Lines,
    /// Numbers for the path, its content before and after.
    same: (usize, usize, usize),
}

/// Gives equal things the same number, which tells nothing else about them.
struct Numbers<T>(HashMap<T, usize>);

impl<T: Hash + Eq> Numbers<T> {
    fn of(&mut self, thing: T) -> usize {
        let next = self.0.len();
        *self.0.entry(thing).or_insert(next)
    }
}

/// All of the data.
#[derive(Serialize)]
struct Data {
    live: bool,
    made_at: String,
    prompts: bool,
    kinds: [EntryKind; EntryKind::ALL.len()],
    entries: Vec<ExportedEntry>,
    notices: Vec<String>,
}

/// Writes the page.
///
/// # Errors
/// As [`plan`]; the disk refuses.
pub fn export(ctx: &Context<'_>, export: &Export) -> Result<Exported> {
    refuse_existing(export)?;
    let mut timeline = Timeline::new(ctx, &export.filter)?;
    let mut gathered = Gathered::new(ctx, export.prompts);
    ctx.progress.begin("gathering", None);
    loop {
        let batch = timeline.page(BATCH)?;
        if batch.is_empty() {
            break;
        }
        let entries = batch.len() as u64;
        gathered.add(&timeline, batch)?;
        ctx.progress.advance(entries);
    }
    ctx.progress.end();
    let notices = web::notices(&timeline);
    let notices = notices.iter().map(|text| gathered.redacted(text)).collect();
    let prompts = gathered
        .entries
        .iter()
        .filter(|told| told.entry.kind == EntryKind::Prompt);
    let prompts = if export.prompts { prompts.count() } else { 0 };
    let data = Data {
        live: false,
        made_at: ctx.env.now().rfc3339(),
        prompts: export.prompts,
        kinds: EntryKind::ALL,
        entries: gathered.entries,
        notices,
    };
    let (_, text) = page::page(&data, Connects::Nowhere);
    ctx.progress.begin("writing", Some(text.len() as u64));
    write(ctx, export, text.as_bytes())?;
    ctx.progress.end();
    Ok(Exported {
        file: export.file.display().to_string(),
        entries: data.entries.len(),
        prompts,
        prompts_left_out: gathered.left_out,
        without_lines: gathered.without_lines,
        bytes: text.len(),
        redacted: gathered.counts,
        notices: data.notices,
    })
}

/// What goes into the file, as far as it was gathered.
struct Gathered<'c> {
    ctx: &'c Context<'c>,
    prompts: bool,
    entries: Vec<ExportedEntry>,
    room: usize,
    left_out: usize,
    without_lines: usize,
    counts: Counts,
    trees: Numbers<Option<Oid>>,
    paths: Numbers<Vec<u8>>,
    contents: Numbers<Option<Oid>>,
}

impl<'c> Gathered<'c> {
    fn new(ctx: &'c Context<'c>, prompts: bool) -> Self {
        Self {
            ctx,
            prompts,
            entries: Vec::new(),
            room: ROOM,
            left_out: 0,
            without_lines: 0,
            counts: Counts::new(),
            trees: Numbers(HashMap::new()),
            paths: Numbers(HashMap::new()),
            contents: Numbers(HashMap::new()),
        }
    }

    /// A text without its secrets.
    fn redacted(&mut self, text: &str) -> String {
        let redacted = self.ctx.redactor().text(text);
        self.count(redacted.counts);
        redacted.text
    }

    fn count(&mut self, counts: Counts) {
        for (rule, count) in counts {
            *self.counts.entry(rule).or_default() += count;
        }
    }

    fn add(&mut self, timeline: &Timeline<'_>, mut batch: Vec<Entry>) -> Result<()> {
        timeline.count(&mut batch);
        let mut changes = Vec::with_capacity(batch.len());
        for entry in &batch {
            // What an entry changed may be damaged or gone; that it happened is told all the same.
            changes.push(timeline.changes(entry).unwrap_or_default());
        }
        let objects = &self.ctx.store()?.objects;
        let redactor = self.ctx.redactor();
        let has_room = self.room > 0;
        let files = threads::map_from(4, &changes, |changes| {
            let changes = changes.as_deref()?;
            let shown = changes.iter().take(FILES);
            Some(
                shown
                    .map(|change| {
                        let lines = if has_room {
                            web::between(objects, change, 0, LINES)
                        } else {
                            Ok(Lines::none(What::LeftOut))
                        };
                        let mut lines = lines.unwrap_or_else(|_| Lines::none(What::Missing));
                        let counts = take_out_keys(redactor, objects, change, &mut lines);
                        told_file(redactor, change, lines, counts)
                    })
                    .collect::<Vec<_>>(),
            )
        });
        for ((entry, files), changes) in batch.into_iter().zip(files).zip(changes) {
            let trees = self.trees(timeline, &entry);
            let changes = changes.unwrap_or_default();
            self.add_entry(entry, files, &changes, trees);
        }
        Ok(())
    }

    fn trees(&mut self, timeline: &Timeline<'_>, entry: &Entry) -> Trees {
        let timeline::Trees { own, between } = timeline.trees(entry).unwrap_or_default();
        Trees {
            own: own.map(|own| self.trees.of(Some(own))),
            between: between.map(|(old, new)| (self.trees.of(old), self.trees.of(Some(new)))),
        }
    }

    fn add_entry(
        &mut self,
        mut entry: Entry,
        files: Option<Vec<(ToldFile, Counts)>>,
        changes: &[Change],
        trees: Trees,
    ) {
        let mut text = std::mem::take(&mut entry.text);
        if !self.prompts {
            self.left_out += usize::from(web::without_prompts(&mut entry));
            text.clear();
        }
        entry.title = self.redacted(&entry.title);
        entry.claimed_by = entry.claimed_by.map(|name| self.redacted(&name));
        let text = self.redacted(&text);
        let files = files.map(|files| {
            let told = files.into_iter().zip(changes);
            let told = told.map(|((mut told, counts), change)| {
                self.count(counts);
                let mut content = |node: Option<Node>| self.contents.of(node.map(|node| node.oid));
                let (old, new) = (content(change.old), content(change.new));
                told.same = (self.paths.of(change.path.clone()), old, new);
                told.file.path = self.redacted(&told.file.path);
                let size: usize = told
                    .lines
                    .lines
                    .iter()
                    .map(|line| line.text.len() + line.inks.len() + 16)
                    .sum();
                if told.lines.what == What::LeftOut || size > self.room {
                    told.lines = Lines::none(What::LeftOut);
                    self.without_lines += 1;
                } else {
                    self.room -= size;
                }
                told
            });
            told.collect()
        });
        self.entries.push(ExportedEntry {
            entry,
            text,
            paths: files,
            total: changes.len(),
            trees,
        });
    }
}

/// What stands in a file that may hold a private key. It is asked of every file: the rules are asked of those alone.
const KEYS: [&str; 4] = ["PRIVATE KEY", "Private-Lines:", "privateExponent:", "priv:"];

/// Takes out the lines of keys. The file tells them, and not a hunk in the middle of one.
fn take_out_keys(
    redactor: &Redactor,
    objects: &ObjectStore,
    change: &Change,
    lines: &mut Lines,
) -> Counts {
    let mut counts = Counts::new();
    if lines.lines.is_empty() {
        return counts;
    }
    let Ok(files) = web::files(objects, change) else {
        // Read a moment ago; without them nobody can say what is in the lines.
        *lines = Lines::none(What::Missing);
        return counts;
    };
    let keys = files.map(|file| {
        let text = String::from_utf8_lossy(&file);
        if KEYS.iter().any(|key| text.contains(key)) {
            redactor.lines_of_long_secrets(&text)
        } else {
            Vec::new()
        }
    });
    for line in &mut lines.lines {
        let is_in = |number: Option<usize>, keys: &[RangeInclusive<usize>]| {
            number.is_some_and(|number| keys.iter().any(|key| key.contains(&number)))
        };
        if is_in(line.old, &keys[0]) || is_in(line.new, &keys[1]) {
            line.text = format!("{MARK}***");
            *counts.entry("private-key".to_owned()).or_default() += 1;
        }
    }
    counts
}

fn told_file(
    redactor: &Redactor,
    change: &Change,
    mut lines: Lines,
    mut counts: Counts,
) -> (ToldFile, Counts) {
    let mut redacted = Vec::with_capacity(lines.lines.len());
    let mut rest = lines.lines.as_slice();
    while !rest.is_empty() {
        let end = rest.iter().skip(1).position(|line| line.sign == '@');
        let (hunk, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        redacted.extend(redacted_hunk(redactor, hunk, &mut counts));
        rest = behind;
    }
    lines.lines = redacted;
    lines.colour(&change.path);
    let file = File::of(change);
    let same = (0, 0, 0);
    (ToldFile { file, lines, same }, counts)
}

/// The lines of a hunk without secrets: each side is looked at as the text that it is. Where a secret goes over several lines,
/// so that lines and sides cannot be told apart any more, the hunk is left out.
fn redacted_hunk(redactor: &Redactor, hunk: &[Line], counts: &mut Counts) -> Vec<Line> {
    let mut lines = hunk.to_vec();
    for absent in ['+', '-'] {
        let side: Vec<usize> = (0..lines.len())
            .filter(|&at| lines[at].sign != absent)
            .collect();
        let text: Vec<&str> = side.iter().map(|&at| lines[at].text.as_str()).collect();
        let redacted = redactor.text(&text.join("\n"));
        if redacted.counts.is_empty() {
            continue;
        }
        for (rule, count) in redacted.counts {
            *counts.entry(rule).or_default() += count;
        }
        let parts: Vec<&str> = redacted.text.split('\n').collect();
        if parts.len() != side.len() {
            let said = "these lines held a secret over several lines, and are left out";
            return vec![Line {
                sign: '@',
                old: None,
                new: None,
                text: said.to_owned(),
                inks: String::new(),
            }];
        }
        for (at, part) in side.into_iter().zip(parts) {
            part.clone_into(&mut lines[at].text);
        }
    }
    lines
}

/// Writes the file for its owner alone, beside its place and then into it. A Ctrl-C until then leaves nothing.
fn write(ctx: &Context<'_>, export: &Export, bytes: &[u8]) -> Result<()> {
    let file = &export.file;
    let doing = || format!("cannot write '{}'", file.display());
    let made = tempfile_beside(file);
    let stop = interrupt::defer_quietly();
    let goes_on = || {
        if stop.requested() {
            return Err(std::io::Error::other("interrupted"));
        }
        Ok(())
    };
    fs::write_atomic_by(&made, Durable::No, 0o600, &mut |file| {
        for part in bytes.chunks(CHUNK) {
            goes_on()?;
            file.write_all(part)?;
            ctx.progress.advance(part.len() as u64);
            fail_point("web-export-writing");
        }
        goes_on()
    })
    .context(doing)?;
    let placed = if export.force {
        std::fs::rename(&made, file)
    } else {
        place(&made, file)
    };
    if placed.is_err() {
        // Best effort: what is to be told is why it could not be placed.
        let _ = std::fs::remove_file(&made);
    }
    match placed {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(file)),
        placed => placed.context(doing),
    }
}

fn tempfile_beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    PathBuf::from(name)
}

/// Gives a file its name, unless something has that name by now.
fn place(made: &Path, file: &Path) -> std::io::Result<()> {
    use std::os::fd::AsFd as _;
    use std::os::unix::ffi::OsStrExt as _;
    let dir = fs::open_dir(fs::dir_of(file))?;
    let name = |path: &Path| {
        let name = path.file_name().map(|name| name.as_bytes().to_vec());
        name.ok_or(std::io::ErrorKind::InvalidInput)
    };
    fs::place_to_free(dir.as_fd(), &name(made)?, &name(file)?)?;
    Ok(())
}
