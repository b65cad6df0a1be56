//! The lines of one content that match.
//!
//! A large one passes in pieces and is never in memory whole. Whether it is binary git's rule says; of a binary one only that it
//! matches is told, as ripgrep and `git grep` do; and no more of one in which too many lines match.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use sha1::{Digest, Sha1};

use super::pattern::Pattern;
use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::git::{textdiff, threads};

/// What is larger passes in pieces.
const LARGE: u64 = 32 << 20;
/// Pieces that may wait.
const AHEAD: usize = 4;
/// So much of a line is shown, and this much of it before its first match.
const SHOWN: usize = 4096;
const BEFORE: usize = 512;
/// No more lines of one content are told: each is a hit of its own, which takes a kilobyte and more until it is printed.
pub const MOST: usize = 100_000;
/// What a line takes beside its text, about.
const LINE: usize = 160;

/// A line's text, or the part of a very long one around its first match.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Text {
    /// What is shown.
    pub shown: Vec<u8>,
    /// Of the whole line, where that is longer: two lines are the same when all of them is.
    whole: Option<[u8; 20]>,
}

impl Text {
    fn new(pattern: &Pattern, line: &[u8]) -> Self {
        if line.len() <= SHOWN {
            return Self {
                shown: line.to_vec(),
                whole: None,
            };
        }
        let first = pattern.spans(line).first().map_or(0, |span| span.start);
        let start = first.saturating_sub(BEFORE);
        let end = (start + SHOWN).min(line.len());
        Self {
            shown: line.get(start..end).unwrap_or_default().to_vec(),
            whole: Some(Sha1::digest(line).into()),
        }
    }
}

/// A numbered line around one that matches.
pub type Neighbour = (u64, Vec<u8>);

/// A line that matches.
#[derive(Debug, Clone)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    /// Its text, without the line feed.
    pub text: Text,
    /// The lines before it.
    pub before: Vec<Neighbour>,
    /// The lines after it.
    pub after: Vec<Neighbour>,
}

#[cfg(test)]
impl Line {
    /// One with nothing around it.
    pub fn plain(number: u64, text: &[u8]) -> Self {
        Self {
            number,
            text: Text {
                shown: text.to_vec(),
                whole: None,
            },
            before: Vec::new(),
            after: Vec::new(),
        }
    }
}

/// What a content has.
#[derive(Debug, Clone)]
pub enum Matches {
    /// These lines; in their order.
    Lines(Vec<Line>),
    /// A match, and no more is asked or can be told.
    Whole(Whole),
}

/// What is known of a content that is one hit as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whole {
    /// It is text, and any match will do.
    Text,
    /// It is binary, by git's rule.
    Binary,
    /// More than [`MOST`] lines match.
    TooMany,
}

impl Matches {
    /// What they take in memory, about.
    pub fn weight(&self) -> usize {
        let around = |lines: &[Neighbour]| -> usize {
            lines.iter().map(|(_, text)| text.len() + LINE).sum()
        };
        let line =
            |line: &Line| LINE + line.text.shown.len() + around(&line.before) + around(&line.after);
        match self {
            Self::Lines(lines) => lines.iter().map(line).sum(),
            Self::Whole(_) => 0,
        }
    }
}

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every line, with this many lines around it.
    Lines {
        /// Before and after.
        context: usize,
    },
    /// Whether there is any match.
    Any,
}

/// Looks through contents, one after the other.
pub struct Looker<'a> {
    objects: &'a ObjectStore,
    pattern: &'a Pattern,
    searcher: Searcher,
    depth: Depth,
}

impl<'a> Looker<'a> {
    /// One that looks for a pattern.
    pub fn new(objects: &'a ObjectStore, pattern: &'a Pattern, depth: Depth) -> Self {
        let context = match depth {
            Depth::Lines { context } => context,
            Depth::Any => 0,
        };
        Self {
            objects,
            pattern,
            searcher: Pattern::searcher(context),
            depth,
        }
    }

    /// Looks through a blob.
    ///
    /// # Errors
    /// It is missing or damaged, or has a line that does not fit into memory.
    pub fn blob(&mut self, oid: Oid) -> Result<Matches> {
        match self.objects.read_blob_up_to(oid, LARGE)? {
            Some(bytes) => self.bytes(&bytes),
            None => self.large(oid),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<Matches> {
        let mut sink = Lines::new(self.pattern, self.depth, is_binary(bytes));
        let searched = self
            .searcher
            .search_slice(self.pattern.matcher(), bytes, &mut sink);
        searched?;
        Ok(sink.done())
    }

    fn large(&mut self, oid: Oid) -> Result<Matches> {
        let (send, receive) = sync_channel(AHEAD);
        let objects = self.objects;
        std::thread::scope(|scope| {
            let read = move || objects.copy_blob(oid, &mut Pieces(send));
            let reader = threads::start_in(scope, read)?;
            let pieces = Joined::new(receive);
            let start = pieces.piece.get_ref();
            let mut sink = Lines::new(self.pattern, self.depth, is_binary(start));
            let searched = self
                .searcher
                .search_reader(self.pattern.matcher(), pieces, &mut sink);
            let read = threads::joined(reader);
            searched?;
            // One that was not read to its end has what was asked for.
            if sink.whole.is_none() {
                read?;
            }
            Ok(sink.done())
        })
    }
}

/// By git's rule; text in UTF-16 that says so is none, as with ripgrep.
fn is_binary(start: &[u8]) -> bool {
    let marked = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    !marked && textdiff::is_binary(start)
}

/// The side of a channel into which a blob is read.
struct Pieces(SyncSender<Vec<u8>>);

impl Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.0.send(piece.to_vec()).map_err(gone)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The other side of that channel, which reads the pieces as one stream.
struct Joined {
    pieces: Receiver<Vec<u8>>,
    piece: io::Cursor<Vec<u8>>,
}

impl Joined {
    /// Waits for as much of the start as tells what it is.
    fn new(pieces: Receiver<Vec<u8>>) -> Self {
        let mut start = Vec::new();
        while start.len() < textdiff::FIRST {
            let Ok(piece) = pieces.recv() else { break };
            start.extend(piece);
        }
        Self {
            pieces,
            piece: io::Cursor::new(start),
        }
    }
}

impl Read for Joined {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.piece.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            match self.pieces.recv() {
                Ok(piece) => self.piece = io::Cursor::new(piece),
                Err(_) => return Ok(0),
            }
        }
    }
}

/// Takes matching lines in.
struct Lines<'a> {
    pattern: &'a Pattern,
    depth: Depth,
    binary: bool,
    found: Vec<Line>,
    /// The last lines that passed: what stands before the next match.
    passed: VecDeque<Neighbour>,
    /// Nothing more is asked, or can be told.
    whole: Option<Whole>,
}

impl<'a> Lines<'a> {
    fn new(pattern: &'a Pattern, depth: Depth, binary: bool) -> Self {
        Self {
            pattern,
            depth,
            binary,
            found: Vec::new(),
            passed: VecDeque::new(),
            whole: None,
        }
    }

    fn reach(&self) -> u64 {
        match self.depth {
            Depth::Lines { context } => context as u64,
            Depth::Any => 0,
        }
    }

    fn done(self) -> Matches {
        match self.whole {
            Some(whole) => Matches::Whole(whole),
            None => Matches::Lines(self.found),
        }
    }

    /// What is known when a line matches and no more of it is wanted.
    fn whole(&self) -> Option<Whole> {
        match self.depth {
            _ if self.binary => Some(Whole::Binary),
            Depth::Any => Some(Whole::Text),
            Depth::Lines { .. } if self.found.len() >= MOST => Some(Whole::TooMany),
            Depth::Lines { .. } => None,
        }
    }

    /// A line that stands near others: after some, and perhaps before one to come.
    fn pass(&mut self, number: u64, line: &[u8]) {
        let reach = self.reach();
        if reach == 0 {
            return;
        }
        let shown = line.get(..line.len().min(SHOWN)).unwrap_or_default();
        let near = |earlier: &&mut Line| earlier.number + reach >= number;
        for earlier in self.found.iter_mut().rev().take_while(near) {
            earlier.after.push((number, shown.to_vec()));
        }
        self.passed.push_back((number, shown.to_vec()));
        if self.passed.len() as u64 > reach {
            self.passed.pop_front();
        }
    }
}

/// A line without what ends it.
fn bare(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.whole = self.whole();
        if self.whole.is_some() {
            return Ok(false);
        }
        let first = found.line_number().unwrap_or(1);
        for (number, line) in (first..).zip(found.lines()) {
            let line = bare(line);
            let least = number.saturating_sub(self.reach());
            self.passed.retain(|(number, _)| *number >= least);
            let before = self.passed.iter().cloned().collect();
            self.pass(number, line);
            self.found.push(Line {
                number,
                text: Text::new(self.pattern, line),
                before,
                after: Vec::new(),
            });
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        self.pass(line.line_number().unwrap_or(1), bare(line.bytes()));
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> io::Result<()> {
        Ok(())
    }
}
