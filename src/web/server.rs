//! The server: a thread that accepts, one for each connection as long as the system gives one, and an end when nobody asks any more.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::act::Actions;
use super::api;
use super::guard::{Guard, Refusal, Token};
use super::http::{self, Refused, Request, Response};
use super::page::{self, Connects};
use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::threads;
use crate::ops::timeline::Filter;

/// This many requests with the token are answered at once. A browser opens six connections to a host.
const ANSWERED: usize = 32;
/// This many connections may not have shown it yet; for one more, the oldest of them is closed.
const STRANGERS: usize = 32;
/// The end is looked for this often.
const TICK: Duration = Duration::from_millis(100);

/// What is to be served.
pub struct Serve {
    /// The process's environment.
    pub env: Env,
    /// A directory of the repository.
    pub start: PathBuf,
    /// Which entries.
    pub filter: Filter,
    /// On this port; 0 lets the system choose one.
    pub port: u16,
    /// Whether a page may start commands.
    pub allow_changes: bool,
    /// It ends when nobody asked anything for this long.
    pub idle: Duration,
    /// Called in the repository after a command.
    pub after_change: fn(&Env, &std::path::Path),
}

/// What is served, and where.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Served {
    /// The address to open in a browser. It holds the token: whoever has it can read the timeline.
    pub url: String,
    /// The port, on 127.0.0.1.
    pub port: u32,
    /// The token, for programs: `Authorization: Bearer TOKEN`.
    pub token: String,
    /// Whether the page may start commands.
    pub allow_changes: bool,
    /// It ends when nobody asked anything for this many seconds.
    pub idle_seconds: u64,
}

/// What the threads share.
pub struct Shared {
    /// What is served.
    pub serve: Serve,
    /// What a page may start; None: nothing.
    pub actions: Option<Actions>,
    /// Held by the one search that runs.
    pub searching: Mutex<()>,
    guard: Guard,
    used: Mutex<Instant>,
    /// Requests with the token that are answered now.
    answered: AtomicUsize,
    /// Connections that have not shown it, oldest first.
    strangers: Mutex<VecDeque<Arc<TcpStream>>>,
}

impl Shared {
    /// Notes that somebody uses the page now.
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn strangers(&self) -> MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_for(&self) -> Duration {
        self.used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

/// Serves until nobody asked anything for long enough. `announce` is told where, once connections are taken.
///
/// # Errors
/// The port is taken; the system gives no random bytes or no thread.
pub fn serve(what: Serve, announce: impl FnOnce(&Served)) -> Result<()> {
    let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, what.port));
    let listener = TcpListener::bind(asked).map_err(|error| {
        Error::new(Code::Io, format!("cannot listen on {asked}: {error}"))
            .hint("without --port the system chooses one that is free")
    })?;
    let address = listener.local_addr().context(|| "cannot tell the port")?;
    let token = Token::new()?;
    let served = Served {
        url: format!("http://{address}/?token={}", token.as_str()),
        port: address.port().into(),
        token: token.as_str().to_owned(),
        allow_changes: what.allow_changes,
        idle_seconds: what.idle.as_secs(),
    };
    let idle = what.idle;
    let shared = Arc::new(Shared {
        guard: Guard::new(address, token),
        searching: Mutex::new(()),
        actions: what.allow_changes.then(Actions::default),
        serve: what,
        used: Mutex::new(Instant::now()),
        answered: AtomicUsize::new(0),
        strangers: Mutex::default(),
    });
    let accepting = Arc::clone(&shared);
    threads::start(move || accept(&listener, &accepting))?;
    announce(&served);
    // A command that a page started is waited for, however long it takes; whoever has shown no token is not.
    while shared.idle_for() < idle || shared.answered.load(Ordering::SeqCst) > 0 {
        std::thread::sleep(TICK.min(idle));
    }
    Ok(())
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors: those that are open end soon.
            std::thread::sleep(TICK);
            continue;
        };
        let stranger = Stranger::let_in(Arc::new(stream), shared);
        threads::start_or_do(move || connection(stranger));
    }
}

/// A connection that has not shown the token. All users of the machine can open some: they take places from each other alone.
struct Stranger {
    stream: Arc<TcpStream>,
    shared: Arc<Shared>,
}

impl Stranger {
    fn let_in(stream: Arc<TcpStream>, shared: &Arc<Shared>) -> Self {
        let mut all = shared.strangers();
        if all.len() >= STRANGERS
            && let Some(oldest) = all.pop_front()
        {
            http::turn_away(&oldest, &Response::text(503, "too many connections"));
        }
        all.push_back(Arc::clone(&stream));
        Self {
            stream,
            shared: Arc::clone(shared),
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut all = self.shared.strangers();
        all.retain(|other| !Arc::ptr_eq(other, &self.stream));
    }
}

/// One of the requests that are answered at once.
struct Place<'s>(&'s Shared);

impl<'s> Place<'s> {
    fn take(shared: &'s Shared) -> Option<Self> {
        let place = Self(shared);
        (shared.answered.fetch_add(1, Ordering::SeqCst) < ANSWERED).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.answered.fetch_sub(1, Ordering::SeqCst);
    }
}

fn connection(stranger: Stranger) {
    let (stream, shared) = (Arc::clone(&stranger.stream), Arc::clone(&stranger.shared));
    let request = match http::read(&stream) {
        Ok(None) => return,
        Ok(Some(request)) => request,
        Err(Refused(status)) => {
            let refused = Response::text(status, "this request is not understood");
            return http::send(&stream, &refused);
        }
    };
    if let Err(refusal) = shared.guard.check(&request) {
        return http::send(&stream, &refused(refusal, &request));
    }
    drop(stranger);
    let place = Place::take(&shared);
    let response = match place {
        Some(_) => answer(&request, &shared, &|| http::is_gone(&stream)),
        None => Response::text(503, "too many connections"),
    };
    http::send(&stream, &response);
    drop(place);
}

fn refused(refusal: Refusal, request: &Request) -> Response {
    match refusal {
        Refusal::Host => Response::text(403, "this server has another name"),
        Refusal::Origin => Response::text(403, "no other site may ask"),
        Refusal::WrongToken => Response::text(
            403,
            "this token is not of this server: open the address that 'tw web' printed",
        ),
        Refusal::NoToken if request.method == "GET" && request.path == "/" => {
            let (policy, text) = page::door();
            Response::page(401, policy, text)
        }
        Refusal::NoToken => Response::text(401, "open the address that 'tw web' printed"),
    }
}

/// Answers somebody who has the token.
fn answer(request: &Request, shared: &Shared, is_gone: &dyn Fn() -> bool) -> Response {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => {
            shared.touch();
            let (policy, text) = page::page(&api::begin(shared), Connects::ToItself);
            Response::page(200, policy, text)
        }
        ("POST", path) => match path.strip_prefix("/api/") {
            Some(name) => api::answer(name, request, shared, || shared.touch(), is_gone),
            None => Response::text(404, "there is nothing here"),
        },
        ("GET", _) => Response::text(404, "there is nothing here"),
        _ => Response::text(405, "only GET and POST are answered"),
    }
}
