//! Signals. Ctrl-C ends `tw` with exit code 130, but never in the middle of a swap; a file over the shell's limit (`ulimit -f`)
//! is an error like a full disk; the end of a child can be waited for.
//!
//! [`watch`] is called once, by `cli`. An operation that must not be cut holds a [`Deferred`] from [`defer`]: the first
//! Ctrl-C then only leaves a mark, which is told at once, and the second one kills. Before and after, the first one kills at once. Nothing here
//! knows what a swap is; recovery from a kill is `ops`'s.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGINT, SIGXFSZ};

/// The exit code of an interrupted command: 128 and the number of SIGINT.
pub const EXIT_CODE: u8 = 130;

/// How often it is looked whether a Ctrl-C came.
const LOOK: Duration = Duration::from_millis(50);

/// True while the next Ctrl-C kills at once.
static KILLS: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// How many [`Deferred`] there are: the last one that goes lets the next Ctrl-C kill again.
static DEFERRED: AtomicUsize = AtomicUsize::new(0);

/// What [`watch`] installed for SIGINT.
static WATCHING: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Says that a Ctrl-C waits for the end of what is being done.
static TELL: OnceLock<fn()> = OnceLock::new();

/// Installs the handler. Without it, or where it cannot be installed, the system's own handling of SIGINT stays. `tell` is called
/// from a thread of its own as soon as a Ctrl-C is deferred.
pub fn watch(tell: fn()) {
    TELL.get_or_init(|| tell);
    watch_interrupts();
    // Handled in any way, the write itself says it.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    // Who started us may ignore it: then the kernel keeps the end of no child, and nobody can wait for one.
    let _ = signal_hook::flag::register(SIGCHLD, Arc::default());
}

fn watch_interrupts() {
    let mut watching = watching();
    // Twice, the second shutdown would find the flag that the first mark has just set.
    if !watching.is_empty() {
        return;
    }
    let kills = kills();
    // Order matters: the shutdown looks at the flag before the second action sets it, so that the first Ctrl-C inside a
    // deferral only sets it and the second one finds it set.
    let shutdown = signal_hook::flag::register_conditional_shutdown(
        SIGINT,
        i32::from(EXIT_CODE),
        Arc::clone(kills),
    );
    let mark = signal_hook::flag::register(SIGINT, Arc::clone(kills));
    watching.extend([shutdown, mark].into_iter().flatten());
}

/// Leaves Ctrl-C to a program that was started and is waited for, until the value is dropped.
pub fn elsewhere() -> Elsewhere {
    for id in watching().drain(..) {
        // The system's own handling does not come back with this: the signal does nothing.
        signal_hook::low_level::unregister(id);
    }
    Elsewhere(())
}

/// While it lives, Ctrl-C does nothing here. See [`elsewhere`].
#[derive(Debug)]
#[must_use = "Ctrl-C kills again as soon as this is dropped"]
pub struct Elsewhere(());

impl Drop for Elsewhere {
    fn drop(&mut self) {
        watch_interrupts();
    }
}

fn watching() -> MutexGuard<'static, Vec<SigId>> {
    WATCHING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds the first Ctrl-C back until the value is dropped.
pub fn defer() -> Deferred {
    // One inside another tells nothing, and takes no mark away.
    let tell = if hold_back() { TELL.get() } else { None };
    Deferred {
        telling: tell.and_then(|tell| telling(*tell)),
    }
}

/// One more that holds Ctrl-C back; says whether it is the first.
fn hold_back() -> bool {
    let is_first = DEFERRED.fetch_add(1, Ordering::SeqCst) == 0;
    if is_first {
        kills().store(false, Ordering::SeqCst);
    }
    is_first
}

/// The same, and nobody is told: what has the whole screen says itself what it does.
pub fn defer_quietly() -> Deferred {
    hold_back();
    Deferred { telling: None }
}

/// Waits for a signal in a thread. A handler may do next to nothing itself: it leaves a byte in a socket.
fn telling(tell: fn()) -> Option<(SigId, JoinHandle<()>)> {
    let (mut waiting, marked) = UnixStream::pair().ok()?;
    let waiter = std::thread::Builder::new().name("interrupt".to_owned());
    let waiter = waiter
        .spawn(move || {
            // Ends when nobody is left who could write.
            if waiting.read_exact(&mut [0]).is_ok() {
                tell();
            }
        })
        .ok()?;
    let telling = signal_hook::low_level::pipe::register(SIGINT, marked).ok()?;
    Some((telling, waiter))
}

/// Does what a Ctrl-C does. Where one waits already nothing is left to do: a second one would kill.
pub fn raise() {
    let one_waits = DEFERRED.load(Ordering::SeqCst) > 0 && kills().load(Ordering::SeqCst);
    if !one_waits {
        let _ = signal_hook::low_level::raise(SIGINT);
    }
}

/// True when a Ctrl-C came while one was deferred.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// While it lives, the first Ctrl-C waits. See [`defer`].
#[derive(Debug)]
#[must_use = "Ctrl-C kills again as soon as this is dropped"]
pub struct Deferred {
    telling: Option<(SigId, JoinHandle<()>)>,
}

impl Deferred {
    /// True when a Ctrl-C is waiting.
    pub fn requested(&self) -> bool {
        kills().load(Ordering::SeqCst)
    }

    /// Waits for some work, and calls `stop` once when a Ctrl-C is waiting before its end. Where the system refuses a thread, nobody looks.
    pub fn ending<T>(&self, stop: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
        let (working, over) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let looker = std::thread::Builder::new().name("interrupt".to_owned());
            let looking = looker.spawn_scoped(scope, move || {
                while let Err(mpsc::RecvTimeoutError::Timeout) = over.recv_timeout(LOOK) {
                    if self.requested() {
                        return stop();
                    }
                }
            });
            let done = work();
            drop((working, looking));
            done
        })
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        if let Some((telling, waiter)) = self.telling.take() {
            // Ends the thread, after what it has to tell: the command may end here.
            signal_hook::low_level::unregister(telling);
            let _ = waiter.join();
        }
        let is_last = DEFERRED.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_last && kills().swap(true, Ordering::SeqCst) {
            REQUESTED.store(true, Ordering::SeqCst);
        }
    }
}

fn kills() -> &'static Arc<AtomicBool> {
    KILLS.get_or_init(|| Arc::new(AtomicBool::new(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deferred_interrupt_is_remembered_and_does_not_kill() {
        watch(|| ());
        let deferred = defer();
        assert!(!deferred.requested());
        signal_hook::low_level::raise(SIGINT).expect("SIGINT can be raised");
        assert!(deferred.requested());
        assert!(!requested());
        drop(deferred);
        assert!(requested());
    }
}
