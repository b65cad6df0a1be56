//! The part of HTTP/1.1 that one page needs: a request with a bounded head and body, before a deadline, and one answer.
//!
//! Every connection carries one request. What could be read in two ways is refused: a header that counts given twice, a body
//! whose length is not said, a target that is no path. Knows nothing of what is asked for.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The first line and the headers may take this many bytes.
const HEAD: usize = 16 << 10;
/// A request may have this many headers.
const HEADERS: usize = 64;
/// The body may take this many bytes.
const BODY: usize = 64 << 10;
/// A request is there as a whole after this time.
const REQUEST: Duration = Duration::from_secs(10);
/// An answer is taken after this time.
const ANSWER: Duration = Duration::from_secs(30);
/// What is still on its way is read this long, so that the answer to it is not lost.
const REST: Duration = Duration::from_millis(500);

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, as it was sent.
    pub method: String,
    /// The path, as it was sent.
    pub path: String,
    /// What stands behind the `?`.
    pub query: String,
    headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A header's value, when it was sent.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// Why a request is not answered: the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub u16);

/// Headers that decide something: none may stand there twice.
const SINGLE: [&str; 8] = [
    "host",
    "origin",
    "authorization",
    "content-length",
    "content-type",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-dest",
];

/// Reads a request. None: the other side sent nothing.
///
/// # Errors
/// The status to refuse it with.
pub fn read(stream: &TcpStream) -> Result<Option<Request>, Refused> {
    let deadline = Instant::now() + REQUEST;
    let mut bytes = Vec::new();
    let (mut request, length, begin) = loop {
        match parse(&bytes)? {
            Some(parsed) => break parsed,
            None if bytes.len() >= HEAD => return Err(Refused(431)),
            None => {}
        }
        let room = HEAD - bytes.len();
        match more(stream, &mut bytes, room, deadline) {
            Ok(0) if bytes.is_empty() => return Ok(None),
            Ok(0) => return Err(Refused(400)),
            Ok(_) => {}
            // A browser opens connections ahead of what it may ask.
            Err(_) if bytes.is_empty() => return Ok(None),
            Err(_) => return Err(Refused(408)),
        }
    };
    let mut body = bytes.split_off(begin);
    while body.len() < length {
        let room = length - body.len();
        match more(stream, &mut body, room, deadline) {
            Ok(0) => return Err(Refused(400)),
            Ok(_) => {}
            Err(_) => return Err(Refused(408)),
        }
    }
    body.truncate(length);
    request.body = body;
    Ok(Some(request))
}

fn more(
    mut stream: &TcpStream,
    bytes: &mut Vec<u8>,
    room: usize,
    deadline: Instant,
) -> io::Result<usize> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left))?;
    let mut chunk = [0; 4096];
    let room = room.min(chunk.len());
    let count = loop {
        // A child that ends interrupts it.
        match stream.read(&mut chunk[..room]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    bytes.extend_from_slice(&chunk[..count]);
    Ok(count)
}

/// The request without its body, the body's length, and where it begins. None: the head goes on.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let begin = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(begin)) => begin,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused(431)),
        Err(_) => return Err(Refused(400)),
    };
    let target = parsed.path.filter(|target| target.starts_with('/'));
    let target = target.ok_or(Refused(400))?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    for header in parsed.headers.iter() {
        let name = header.name.to_ascii_lowercase();
        let value = std::str::from_utf8(header.value).map_err(|_| Refused(400))?;
        let is_twice = request.header(&name).is_some() && SINGLE.contains(&name.as_str());
        if is_twice || name == "transfer-encoding" {
            return Err(Refused(400));
        }
        request.headers.push((name, value.to_owned()));
    }
    let length = match request.header("content-length") {
        None => 0,
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map_err(|_| Refused(400))?
        }
        Some(_) => return Err(Refused(400)),
    };
    if length > BODY {
        return Err(Refused(413));
    }
    Ok(Some((request, length, begin)))
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Its type.
    pub content_type: &'static str,
    /// What a browser may do with it.
    pub policy: String,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// Nothing may be loaded, run or shown.
const NO_CONTENT: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

impl Response {
    /// Makes the response that is a JSON document.
    pub fn json(status: u16, body: String) -> Self {
        Self {
            status,
            content_type: "application/json",
            policy: NO_CONTENT.to_owned(),
            body: body.into_bytes(),
        }
    }

    /// Makes the response that is a sentence of plain text.
    pub fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            policy: NO_CONTENT.to_owned(),
            body: format!("{body}\n").into_bytes(),
        }
    }

    /// Makes the response that is an HTML page.
    pub fn page(status: u16, policy: String, body: String) -> Self {
        Self {
            status,
            content_type: "text/html; charset=utf-8",
            policy,
            body: body.into_bytes(),
        }
    }

    fn head(&self) -> String {
        let Self {
            status,
            content_type,
            policy,
            body,
        } = self;
        let (reason, length) = (reason(*status), body.len());
        let allow = if *status == 405 {
            "Allow: GET, POST\r\n"
        } else {
            ""
        };
        format!(
            "HTTP/1.1 {status} {reason}\r\n\
             Content-Type: {content_type}\r\n\
             Content-Length: {length}\r\n\
             Content-Security-Policy: {policy}\r\n\
             Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Permissions-Policy: camera=(), microphone=(), geolocation=()\r\n\
             {allow}Connection: close\r\n\r\n"
        )
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

/// Sends an answer and ends the connection. A client that is gone, or does not read, is nobody to tell.
pub fn send(mut stream: &TcpStream, response: &Response) {
    let deadline = Instant::now() + ANSWER;
    let bytes = [response.head().as_bytes(), &response.body].concat();
    let mut left = bytes.as_slice();
    while !left.is_empty() {
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() || stream.set_write_timeout(Some(time)).is_err() {
            return;
        }
        match stream.write(left) {
            Ok(count) if count > 0 => left = left.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    // What was sent and not read would have the system throw the answer away.
    let deadline = Instant::now() + REST;
    let mut rest = Vec::new();
    while rest.len() < BODY && more(stream, &mut rest, BODY, deadline).is_ok_and(|read| read > 0) {}
}

/// Whether whoever asked has gone away and awaits no answer. What was asked was read to its end before.
pub fn is_gone(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let peeked = stream.peek(&mut [0]);
    let _ = stream.set_nonblocking(false);
    match peeked {
        Ok(count) => count == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// Sends a short answer to somebody who is not waited for, and ends the connection.
pub fn turn_away(mut stream: &TcpStream, response: &Response) {
    let bytes = [response.head().as_bytes(), &response.body].concat();
    if stream.set_nonblocking(true).is_ok() {
        // It fits into the buffer of a connection that had no answer yet, or is lost.
        let _ = stream.write(&bytes);
    }
    let _ = stream.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<(Request, usize, usize)>, Refused> {
        parse(text.as_bytes())
    }

    #[test]
    fn a_request_is_read_as_far_as_it_goes() {
        let text = "POST /api/x?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}";
        let (request, length, begin) = parsed(text).expect("fine").expect("whole");
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/api/x")
        );
        assert_eq!((request.query.as_str(), length), ("a=b", 2));
        assert_eq!(&text[begin..], "{}");
        assert_eq!(request.header("host"), Some("h"));
        assert_eq!(parsed("GET / HTTP/1.1\r\nHost: h\r\n"), Ok(None));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for (head, status) in [
            ("GET http://h/ HTTP/1.1\r\n\r\n", 400),
            ("GET * HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                400,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                400,
            ),
            ("POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
            ("GET / HTTP/2.0\r\n\r\n", 400),
            ("\u{1}\u{2}\u{3}\r\n\r\n", 400),
        ] {
            assert_eq!(parsed(head), Err(Refused(status)), "{head:?}");
        }
        let many = "x: y\r\n".repeat(HEADERS + 1);
        assert_eq!(
            parsed(&format!("GET / HTTP/1.1\r\n{many}\r\n")),
            Err(Refused(431))
        );
    }
}
