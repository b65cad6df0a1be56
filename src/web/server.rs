//! The server: a thread that accepts, one for each connection as long as the system gives one, and an end when nobody asks any more.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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

/// So many connections are served at once. A browser opens six to a host.
const CONNECTIONS: usize = 32;
/// The end is looked for so often.
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
    /// It ends when nobody asked anything for so long.
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
    /// It ends when nobody asked anything for so many seconds.
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
    connections: AtomicUsize,
}

impl Shared {
    /// Somebody uses it.
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
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
        connections: AtomicUsize::new(0),
    });
    let accepting = Arc::clone(&shared);
    threads::start(move || accept(&listener, &accepting))?;
    announce(&served);
    // A command that a page started is waited for, however long it takes.
    while shared.idle_for() < idle || shared.connections.load(Ordering::SeqCst) > 0 {
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
        let place = Place::take(shared);
        if place.is_none() {
            http::send_at_once(stream, &Response::text(503, "too many connections"));
            continue;
        }
        let shared = Arc::clone(shared);
        threads::start_or_do(move || {
            connection(stream, &shared);
            drop(place);
        });
    }
}

/// One of the connections that are served at once.
struct Place(Arc<Shared>);

impl Place {
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let place = Self(Arc::clone(shared));
        (shared.connections.fetch_add(1, Ordering::SeqCst) < CONNECTIONS).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

fn connection(mut stream: TcpStream, shared: &Shared) {
    let response = match http::read(&mut stream) {
        Ok(None) => return,
        Ok(Some(request)) => answer(&request, shared),
        Err(Refused(status)) => Response::text(status, "this request is not understood"),
    };
    http::send(stream, &response);
}

fn answer(request: &Request, shared: &Shared) -> Response {
    match shared.guard.check(request) {
        Ok(()) => {}
        Err(Refusal::Host) => return Response::text(403, "this server has another name"),
        Err(Refusal::Origin) => return Response::text(403, "no other site may ask"),
        Err(Refusal::WrongToken) => {
            return Response::text(
                403,
                "this token is not of this server: open the address that 'tw web' printed",
            );
        }
        Err(Refusal::NoToken) if request.method == "GET" && request.path == "/" => {
            let (policy, text) = page::door();
            return Response::page(401, policy, text);
        }
        Err(Refusal::NoToken) => {
            return Response::text(401, "open the address that 'tw web' printed");
        }
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => {
            shared.touch();
            let (policy, text) = page::page(&api::begin(shared), Connects::ToItself);
            Response::page(200, policy, text)
        }
        ("POST", path) => match path.strip_prefix("/api/") {
            Some(name) => api::answer(name, request, shared, || shared.touch()),
            None => Response::text(404, "there is nothing here"),
        },
        ("GET", _) => Response::text(404, "there is nothing here"),
        _ => Response::text(405, "only GET and POST are answered"),
    }
}
