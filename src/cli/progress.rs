//! The progress bar: on standard error, on a terminal only, silent for the first 250 ms of work: while somebody is asked, none is done.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::env::shows_progress_at_once;
use crate::progress::{Progress, Silent};

/// Work shorter than this shows nothing.
const SILENCE: Duration = Duration::from_millis(250);
const TICK: Duration = Duration::from_millis(100);
/// How often it is looked whether there is work.
const LOOK: Duration = Duration::from_millis(50);

/// The bar, or the silent one.
pub fn for_terminal(shown: bool) -> Box<dyn Progress> {
    if shown {
        Box::new(Bar::new())
    } else {
        Box::new(Silent)
    }
}

/// Says that a Ctrl-C was heard, over a bar that may be there.
pub fn tell_interrupted() {
    let mut stderr = std::io::stderr().lock();
    let over = if stderr.is_terminal() { "\r\x1b[K" } else { "" };
    // Where nobody reads there is nobody to be told.
    let _ = writeln!(stderr, "{over}finishing; again kills");
}

/// One bar for all phases of a command.
struct Bar {
    shown: ProgressBar,
    drawing: Option<Drawing>,
}

/// A thread that draws until this is dropped, and not the bars' own, at whose refusal the process would die: without one
/// nothing is shown.
struct Drawing {
    /// Dropped first, so that the thread ends at once.
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drawing {
    fn start(draw: impl FnOnce(&Receiver<()>) + Send + 'static) -> Self {
        let (ended, wait) = channel();
        let thread = std::thread::Builder::new().name("progress".to_owned());
        Self {
            ended: Some(ended),
            thread: thread.spawn(move || draw(&wait)).ok(),
        }
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to show.
            let _ = thread.join();
        }
    }
}

/// Whether it has come to its end within a time.
fn has_ended(ended: &Receiver<()>, wait: Duration) -> bool {
    ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout)
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // A bar that is finished draws nothing when its target is set; 'begin' starts it.
        bar.finish_and_clear();
        let shown = bar.clone();
        Self {
            shown,
            drawing: Some(Drawing::start(move |ended| show_later(&bar, ended))),
        }
    }
}

fn show_later(bar: &ProgressBar, ended: &Receiver<()>) {
    let mut silence = if shows_progress_at_once() {
        Duration::ZERO
    } else {
        SILENCE
    };
    while !silence.is_zero() {
        if has_ended(ended, LOOK) {
            return;
        }
        if !bar.is_finished() {
            silence = silence.saturating_sub(LOOK);
        }
    }
    bar.set_draw_target(ProgressDrawTarget::stderr());
    keep_drawing(bar, ended);
}

fn keep_drawing(bar: &ProgressBar, ended: &Receiver<()>) {
    while !has_ended(ended, TICK) {
        // Between two phases there is nothing to show.
        if !bar.is_finished() {
            bar.tick();
        }
    }
}

impl Progress for Bar {
    fn begin(&self, phase: &'static str, total: Option<u64>) {
        let template = if total.is_some() {
            "{msg} [{bar:30}] {pos}/{len}"
        } else {
            "{spinner} {msg} {pos}"
        };
        let style = ProgressStyle::with_template(template)
            .expect("the templates above are well-formed")
            .progress_chars("=> ");
        self.shown.set_style(style);
        self.shown.reset();
        match total {
            Some(total) => self.shown.set_length(total),
            None => self.shown.unset_length(),
        }
        self.shown.set_message(phase);
    }

    fn advance(&self, steps: u64) {
        self.shown.inc(steps);
    }

    fn end(&self) {
        self.shown.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.drawing.take());
        self.shown.finish_and_clear();
    }
}

/// A line for each run of a try, on one screen.
pub struct Lines {
    all: indicatif::MultiProgress,
    by_run: Arc<Mutex<BTreeMap<u64, ProgressBar>>>,
    /// None: nothing is shown.
    drawing: Option<Drawing>,
}

impl Lines {
    /// Lines on a terminal, or nothing.
    pub fn new(shown: bool) -> Self {
        let by_run = Arc::<Mutex<BTreeMap<u64, ProgressBar>>>::default();
        let drawn = Arc::clone(&by_run);
        let draw = move |ended: &Receiver<()>| {
            while !has_ended(ended, TICK) {
                let lines = drawn.lock().unwrap_or_else(PoisonError::into_inner);
                let lines = lines.values().filter(|line| !line.is_finished());
                lines.for_each(ProgressBar::tick);
            }
        };
        Self {
            all: indicatif::MultiProgress::new(),
            by_run,
            drawing: shown.then(|| Drawing::start(draw)),
        }
    }
}

impl crate::ops::attempts::PhaseObserver for Lines {
    fn phase(&self, run: u64, what: &'static str) {
        if self.drawing.is_none() {
            return;
        }
        let mut lines = self.by_run.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry(run).or_insert_with(|| {
            let line = self.all.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {msg}");
            line.set_style(style.expect("the template is well-formed"));
            line
        });
        if run > 0 {
            line.set_prefix(format!("run {run}"));
        }
        line.set_message(what);
        if run == 0 || what == "running" {
            return;
        }
        line.abandon();
        if let Some(base) = lines.get(&0) {
            base.finish_and_clear();
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.drawing.take());
        // The table that follows says it all.
        let _ = self.all.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Instant;

    use indicatif::TermLike;

    use super::*;

    /// Keeps what is drawn.
    #[derive(Debug, Clone, Default)]
    struct Drawn(Arc<Mutex<String>>);

    impl Drawn {
        fn add(&self, text: &str) {
            let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            drawn.push_str(text);
        }

        /// Whether it comes within a time in which it would long be there.
        fn shows(&self, text: &str) -> bool {
            let end = Instant::now() + Duration::from_secs(20);
            while Instant::now() < end {
                let drawn = self
                    .0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                if drawn.contains(text) {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            false
        }
    }

    impl TermLike for Drawn {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.add(text);
            Ok(())
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.add(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.add("\n");
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_phase_moves() {
        let drawn = Drawn::default();
        let target = ProgressDrawTarget::term_like(Box::new(drawn.clone()));
        // Shown from the start: nobody waits to draw on a terminal.
        let bar = Bar {
            shown: ProgressBar::with_draw_target(None, target),
            drawing: None,
        };
        let drawing = bar.shown.clone();
        let _drawing = Drawing::start(move |ended| keep_drawing(&drawing, ended));
        for phase in ["checking", "writing", "proving"] {
            bar.begin(phase, Some(1000));
            for done in [17, 400] {
                bar.advance(done);
                let place = if done == 17 { "17/1000" } else { "417/1000" };
                assert!(drawn.shows(place), "{phase}: {drawn:?}");
            }
            bar.end();
            *drawn.0.lock().unwrap_or_else(PoisonError::into_inner) = String::new();
        }
    }

    #[test]
    fn time_in_which_nothing_is_done_does_not_count() {
        let bar = Bar::new();
        std::thread::sleep(2 * SILENCE);
        bar.begin("writing", Some(2));
        assert!(bar.shown.is_hidden());
    }

    #[test]
    fn short_work_stays_hidden_and_ends_without_waiting() {
        let bar = Bar::new();
        bar.begin("scanning", Some(2));
        bar.advance(2);
        assert_eq!(bar.shown.position(), 2);
        assert!(bar.shown.is_hidden());
        bar.end();
        assert!(bar.shown.is_finished());
        bar.begin("hashing", None);
        assert_eq!(bar.shown.position(), 0);
        assert!(!bar.shown.is_finished());
    }
}
