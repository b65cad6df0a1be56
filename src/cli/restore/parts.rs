//! The questions of `tw restore -p`: which parts of which file, asked as git asks.

use std::collections::VecDeque;
use std::io::BufRead;

use crate::cli::ask::answer;
use crate::cli::prelude::*;
use crate::git::path::RepoPath;
use crate::ops::restore::hunks::{FileOffer, Offer, Part};

const HELP: &str = "\
y - take this
n - leave it
q - leave it and all that is left
a - take this and all that is left of the file
d - leave this and all that is left of the file
s - split this into smaller ones
? - this help
";

/// Asks about all parts, in order; on standard error, with answers from standard input, a line each. Its end is a `q`.
///
/// # Errors
/// When the answers cannot be read.
pub fn choose(call: &Call<'_>, offer: &Offer) -> Result<Vec<Vec<Part>>> {
    let mut input = std::io::stdin().lock();
    let mut chosen = Vec::new();
    for file in &offer.files {
        let (parts, goes_on) = choose_of(call, file, &mut input)?;
        chosen.push(parts);
        if !goes_on {
            break;
        }
    }
    // Of the others nothing is taken.
    chosen.resize(offer.files.len(), Vec::new());
    Ok(chosen)
}

/// What is taken of a file, and whether to go on with the next.
fn choose_of(
    call: &Call<'_>,
    file: &FileOffer,
    input: &mut impl BufRead,
) -> Result<(Vec<Part>, bool)> {
    let mut taken = Vec::new();
    let mut open: VecDeque<Part> = file.parts.iter().cloned().collect();
    let mut shown = false;
    while let Some(part) = open.pop_front() {
        if !shown {
            call.output.preview(&Asked { file, part: &part });
        }
        shown = false;
        let split = match &part {
            Part::Lines(hunk) => file.split(hunk)?,
            Part::Whole(_) | Part::Mode(..) => Vec::new(),
        };
        let can_split = split.len() > 1;
        let letters = if can_split {
            "y,n,q,a,d,s,?"
        } else {
            "y,n,q,a,d,?"
        };
        let question = format!("{} [{letters}]", question(&part));
        let typed = answer(&question, input, &mut std::io::stderr())?;
        match typed.as_deref().map(str::trim) {
            Some("y") => taken.push(part),
            Some("n") => {}
            Some("a") => {
                taken.push(part);
                taken.extend(open);
                return Ok((taken, true));
            }
            Some("d") => return Ok((taken, true)),
            None | Some("q") => return Ok((taken, false)),
            Some("s") if can_split => {
                for hunk in split.into_iter().rev() {
                    open.push_front(Part::Lines(hunk));
                }
            }
            Some(_) => {
                call.output.preview(&Help);
                open.push_front(part);
                shown = true;
            }
        }
    }
    Ok((taken, true))
}

fn question(part: &Part) -> String {
    match part {
        Part::Lines(_) => "Take this hunk".to_owned(),
        Part::Mode(old, new) => format!("Take the mode, {old:06o} to {new:06o}"),
        Part::Whole("add") => "Bring this file back".to_owned(),
        Part::Whole("remove") => "Remove this file".to_owned(),
        Part::Whole(_) => "Replace this file".to_owned(),
    }
}

/// What a question is about.
struct Asked<'a> {
    file: &'a FileOffer,
    part: &'a Part,
}

impl Human for Asked<'_> {
    fn print(&self, page: &mut Page) {
        let path = RepoPath::new(self.file.path.clone());
        page.line(page.options.style.dim(&quoted(&path)));
        let Part::Lines(hunk) = self.part else { return };
        for line in hunk.text.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let text = clean(&String::from_utf8_lossy(line));
            page.line(match line.first() {
                Some(b'+') => page.options.style.green(&text),
                Some(b'-') => page.options.style.red(&text),
                _ => text,
            });
        }
    }
}

struct Help;

impl Human for Help {
    fn print(&self, page: &mut Page) {
        for line in HELP.lines() {
            page.line(line);
        }
    }
}
