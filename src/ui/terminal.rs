//! The terminal while it is ours: taken, given back, and what comes from it.
//!
//! Promises: it is given back on every way out: at the end, on an error, on a panic, before the program stops (Ctrl-Z) and before
//! it is ended by a signal. One that is gone is no reason to panic.

use std::io::{Stdout, Write, stdin, stdout};
use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, terminal};
use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use super::model::Model;
use super::view::view;
use crate::error::{Error, Result, ResultExt};
use crate::git::threads;

/// True while the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What comes from outside.
#[derive(Debug)]
pub enum Input {
    /// A key, a click, another size, and when it came.
    Event(event::Event, Instant),
    /// A signal.
    Signal(i32),
    /// The terminal is gone.
    Gone,
}

/// The terminal, given back when this is dropped.
pub struct Screen {
    /// Never dropped itself: it would say on stderr that it cannot show the cursor, and panic where that is the terminal that is gone.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it cannot be set up.
    pub fn take() -> Result<Self> {
        restore_on_panic();
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))
            .context(|| "cannot set the terminal up")?;
        let screen = Self {
            terminal: ManuallyDrop::new(terminal),
        };
        enter()?;
        Ok(screen)
    }

    /// Columns and lines.
    pub fn size() -> (u16, u16) {
        terminal::size().unwrap_or((80, 24))
    }

    /// Draws what changed.
    ///
    /// # Errors
    /// When the terminal cannot be written.
    pub fn draw(&mut self, model: &Model) -> Result<()> {
        let drawn = self.terminal.draw(|frame| view(model, frame));
        drawn.map(|_| ()).context(|| "cannot draw on the terminal")
    }

    /// Stops as a program that knows no terminal does, and takes the terminal again when it goes on.
    ///
    /// # Errors
    /// When it cannot be set up again.
    pub fn stop(&mut self) -> Result<()> {
        leave();
        low_level::emulate_default_handler(SIGTSTP).context(|| "cannot stop")?;
        self.again()
    }

    /// Takes the terminal anew, whoever used it meanwhile.
    ///
    /// # Errors
    /// When it cannot be set up.
    pub fn again(&mut self) -> Result<()> {
        enter()?;
        let (columns, lines) = Self::size();
        // What is clean by its own account is drawn anew. Its `clear` would ask where the cursor is, and the answer would go to the
        // thread that reads keys.
        let drawn = self.terminal.resize(Rect::new(0, 0, columns, lines));
        drawn.context(|| "cannot clear the terminal")
    }

    /// Throws away what was typed and not read yet.
    pub fn forget_typed() {
        let _ = rustix::termios::tcflush(stdin(), rustix::termios::QueueSelector::IFlush);
    }

    /// Puts a text into the clipboard, where the terminal allows it (OSC 52).
    pub fn copy(text: &str) {
        let mut out = stdout();
        let _ = write!(out, "\x1b]52;c;{}\x07", STANDARD.encode(text));
        let _ = out.flush();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() -> Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    let raw = enable_raw_mode();
    raw.context(|| "cannot set the terminal up")?;
    let entered = execute!(
        stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste
    );
    entered.context(|| "cannot set the terminal up")
}

/// Gives the terminal back, once. Where it is gone there is nobody to tell.
fn leave() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(
            stdout(),
            DisableBracketedPaste,
            DisableMouseCapture,
            LeaveAlternateScreen,
            Show
        );
        let _ = disable_raw_mode();
    }
}

/// What a panic says is to be read on a terminal that works.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            before(panic);
        }));
    });
}

/// Ends the program as the signal would have.
pub fn end_by(signal: i32) {
    let _ = low_level::emulate_default_handler(signal);
}

/// Whether it asks the program to end.
pub fn is_end(signal: i32) -> bool {
    matches!(signal, SIGTERM | SIGHUP | SIGINT | SIGQUIT)
}

/// Whether it asks the program to stop for a while.
pub fn is_stop(signal: i32) -> bool {
    signal == SIGTSTP
}

/// Ends when the terminal hangs up: whoever reads it then reads nothing again and again, and SIGHUP goes to the leader of the session
/// alone.
fn wait_until_gone() {
    // Of what is asked for, only what is told unasked: that it hung up, or is none.
    let mut terminal = [PollFd::from_borrowed_fd(
        rustix::stdio::stdin(),
        PollFlags::empty(),
    )];
    while poll(&mut terminal, None) == Err(Errno::INTR) {}
}

/// Listens to the terminal and to signals, each on a thread of its own.
///
/// # Errors
/// When the handlers cannot be installed, or the system refuses a thread.
pub fn listen(send: impl Fn(Input) -> bool + Clone + Send + 'static) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT])
        .map_err(Error::from)
        .context(|| "cannot listen to signals")?;
    let to = send.clone();
    threads::start(move || {
        for signal in signals.forever() {
            if !to(Input::Signal(signal)) {
                break;
            }
        }
    })?;
    let gone = send.clone();
    threads::start(move || {
        wait_until_gone();
        gone(Input::Gone);
    })?;
    threads::start(move || {
        let mut last_key = None;
        loop {
            // What came in one piece with the key before it is as old as that, whenever it is read.
            let came = last_key.filter(|_| event::poll(Duration::ZERO).unwrap_or_default());
            let Ok(event) = event::read() else { break };
            let came = came.unwrap_or_else(Instant::now);
            last_key = event.is_key().then_some(came);
            if !send(Input::Event(event, came)) {
                return;
            }
        }
        send(Input::Gone);
    })?;
    Ok(())
}

/// A sender that tells whether anybody listens.
pub fn sender<T: Send + 'static>(
    to: Sender<T>,
    wrap: impl Fn(Input) -> T + Clone + Send + 'static,
) -> impl Fn(Input) -> bool + Clone + Send + 'static {
    move |input| to.send(wrap(input)).is_ok()
}
