//! What takes time, beside the screen: one thread reads the timeline, another makes diffs.
//!
//! Promises: a diff that nobody looks at any more is given up at its next file; no file larger than [`LARGEST`] is compared, and
//! no diff has more lines than were asked for. A thread that fails says so, and the screen goes on.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::model::Subject;
use super::patch::{self, Kind, Line};
use super::update::{Effect, Event};
use crate::env::Env;
use crate::error::Result;
use crate::git::textdiff::written::Whose;
use crate::git::threads;
use crate::git::tree::Change;
use crate::ops::Context;
use crate::ops::timeline::{Entry, Filter, PathPatch, Timeline};
use crate::progress::Silent;

/// No larger file is compared.
const LARGEST: u64 = 4 << 20;
/// Lines are sent at least this many at a time.
const PART: usize = 200;

/// Where the repository is, and what is wanted of it.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where `tw` was started.
    pub start: PathBuf,
    /// Clock and environment.
    pub env: Env,
    /// Which entries.
    pub filter: Filter,
}

enum Job {
    Page(u64, usize),
    Count(u64, Vec<(usize, Entry)>),
    Diff(u64, Subject, usize),
    Reload,
}

/// The two threads that read the timeline and make diffs.
pub struct Worker {
    reader: Sender<Job>,
    differ: Sender<Job>,
    /// The newest question for a diff.
    asked: Arc<AtomicU64>,
}

impl Worker {
    /// Starts them; what they find goes to `events`.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(place: &Place, events: &Sender<Event>) -> Result<Self> {
        let asked = Arc::new(AtomicU64::new(0));
        let start = || -> Result<_> {
            let (sender, jobs) = channel();
            let thread = Thread {
                place: place.clone(),
                events: events.clone(),
                jobs,
                asked: Arc::clone(&asked),
            };
            threads::start(move || thread.run())?;
            Ok(sender)
        };
        Ok(Self {
            reader: start()?,
            differ: start()?,
            asked,
        })
    }

    /// Gives an effect that is theirs to a thread; false: it is somebody else's.
    pub fn takes(&self, effect: &Effect) -> bool {
        // A thread that is gone has said why.
        match effect {
            Effect::Page(reading, entries) => {
                let _ = self.reader.send(Job::Page(*reading, *entries));
            }
            Effect::Count(reading, entries) => {
                let _ = self.reader.send(Job::Count(*reading, entries.clone()));
            }
            Effect::Diff(asked, subject, limit) => {
                self.asked.store(*asked, Ordering::SeqCst);
                let _ = self.differ.send(Job::Diff(*asked, subject.clone(), *limit));
            }
            Effect::Reload => {
                let _ = self.reader.send(Job::Reload);
                let _ = self.differ.send(Job::Reload);
            }
            _ => return false,
        }
        true
    }
}

struct Thread {
    place: Place,
    events: Sender<Event>,
    jobs: Receiver<Job>,
    asked: Arc<AtomicU64>,
}

impl Thread {
    fn run(self) {
        loop {
            match self.serve() {
                // The refs are to be read anew.
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    self.tell(Event::Failed(error.message().to_owned()));
                    // Until somebody asks for it anew.
                    loop {
                        match self.jobs.recv() {
                            Ok(Job::Reload) => break,
                            Ok(_) => {}
                            Err(_) => return,
                        }
                    }
                }
            }
        }
    }

    fn tell(&self, event: Event) {
        // The screen is gone when nobody hears it.
        let _ = self.events.send(event);
    }

    /// Works until the refs are to be read anew (true), or nobody asks any more.
    fn serve(&self) -> Result<bool> {
        let Ok(mut job) = self.jobs.recv() else {
            return Ok(false);
        };
        let context = Context::open(&self.place.start, &self.place.env, &Silent)?;
        let mut timeline = Timeline::new(&context, &self.place.filter)?;
        loop {
            match job {
                Job::Reload => return Ok(true),
                Job::Page(reading, wanted) => {
                    let mut entries = timeline.page(wanted)?;
                    timeline.tell_prompts(&mut entries);
                    let ended = entries.len() < wanted;
                    self.tell(Event::Page {
                        reading,
                        entries,
                        ended,
                    });
                }
                Job::Count(reading, entries) => {
                    let (places, mut entries): (Vec<usize>, Vec<Entry>) =
                        entries.into_iter().unzip();
                    timeline.count(&mut entries);
                    let counted = places.into_iter().zip(entries).collect();
                    self.tell(Event::Counted(reading, counted));
                }
                Job::Diff(asked, subject, limit) => {
                    if let Err(error) = self.diff(&timeline, asked, &subject, limit) {
                        let lines = vec![Line::said(Kind::Remark, error.message(), None)];
                        self.tell(Event::Lines {
                            asked,
                            lines,
                            done: true,
                        });
                    }
                }
            }
            match self.jobs.recv() {
                Ok(next) => job = next,
                Err(_) => return Ok(false),
            }
        }
    }

    fn is_late(&self, asked: u64) -> bool {
        self.asked.load(Ordering::SeqCst) != asked
    }

    fn diff(
        &self,
        timeline: &Timeline<'_>,
        asked: u64,
        subject: &Subject,
        limit: usize,
    ) -> Result<()> {
        if self.is_late(asked) {
            return Ok(());
        }
        let changes = match subject {
            Subject::Entry(entry) => timeline.changes(entry)?,
            Subject::Between(old, new) => timeline.between(old, new)?,
        };
        let side = match subject {
            Subject::Entry(entry) => timeline.own_side(entry)?,
            Subject::Between(..) => Whose::New,
        };
        let mut out = Lines {
            thread: self,
            asked,
            left: limit,
            ready: Vec::new(),
        };
        match &changes {
            None => out.add(vec![Line::said(
                Kind::Remark,
                "what changed is not known (yet)",
                None,
            )]),
            Some(changes) if changes.is_empty() => {
                out.add(vec![Line::said(Kind::Remark, "no file changed", None)]);
            }
            Some(changes) => {
                for (at, change) in changes.iter().enumerate() {
                    if self.is_late(asked) {
                        return Ok(());
                    }
                    if out.left == 0 {
                        let files = changes.len() - at;
                        out.ready
                            .push(more(&format!("{files} more files: Enter or + shows more")));
                        break;
                    }
                    out.add(of_path(timeline, change, side));
                }
            }
        }
        out.send(true);
        Ok(())
    }
}

fn more(text: &str) -> Line {
    Line::said(Kind::More, text, None)
}

/// What a path's change looks like. One that cannot be read says why, and hides no other.
fn of_path(timeline: &Timeline<'_>, change: &Change, side: Whose) -> Vec<Line> {
    let path: Arc<[u8]> = Arc::from(change.path.as_slice());
    let mut lines = vec![patch::file_line(change, &path)];
    match timeline.patch(change, LARGEST) {
        Ok(PathPatch::Text(text)) => lines.extend(patch::lines(&text, &path, side)),
        Ok(PathPatch::TooLarge(bytes)) => {
            let text = format!("too large to be shown: {bytes} bytes; 'tw diff' compares it");
            lines.push(Line::said(Kind::Remark, &text, Some(&path)));
        }
        Err(error) => lines.push(Line::said(Kind::Remark, error.message(), Some(&path))),
    }
    lines
}

/// Lines on their way to the screen.
struct Lines<'t> {
    thread: &'t Thread,
    asked: u64,
    /// This many more are wanted.
    left: usize,
    ready: Vec<Line>,
}

impl Lines<'_> {
    fn add(&mut self, mut lines: Vec<Line>) {
        if lines.len() > self.left {
            let rest = lines.len() - self.left;
            lines.truncate(self.left);
            lines.push(more(&format!(
                "{rest} more lines of this file: Enter or + shows more"
            )));
            self.left = 0;
        } else {
            self.left -= lines.len();
        }
        self.ready.extend(lines);
        if self.ready.len() >= PART {
            self.send(false);
        }
    }

    fn send(&mut self, done: bool) {
        self.thread.tell(Event::Lines {
            asked: self.asked,
            lines: std::mem::take(&mut self.ready),
            done,
        });
    }
}
