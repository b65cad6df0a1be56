//! The lines of the protocol on standard input and output, for the SDK.
//!
//! The SDK's own transport drops a line that it cannot read, and the client waits for an answer that never comes. Here every
//! line that asks for something gets one: what is JSON to the client is read as such ([`foreign_json`]), and what is no JSON, no
//! message or too long is answered with an error. Promises that a line is read whole or not at all, that answers do not run into
//! each other, that of requests with one id under way the first is done and the others are refused, that a client which does not read holds up only what is written to it, and that the end of input is the SDK's, which
//! cancels what is under way then, only when every request has its answer. Leaves out what a message means.

use std::collections::HashSet;
use std::io::{BufRead, Read as _, Write as _};
use std::thread;

use rmcp::ErrorData;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::text::{foreign_json, without_mark};

/// A longer line is no message, and no memory should be asked to hold it.
const LONGEST: usize = 16 << 20;

/// How many lines are read ahead of what is understood.
const AHEAD: usize = 4;

type Message = RxJsonRpcMessage<RoleServer>;

/// Standard input and output as messages.
pub struct StandardLines {
    incoming: mpsc::Receiver<Line>,
    outgoing: mpsc::UnboundedSender<Written>,
    /// Requests of the client that have no answer yet and were not cancelled.
    unanswered: HashSet<RequestId>,
}

/// A line that came in.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// What is to be written, and who waits for it.
struct Written {
    bytes: Vec<u8>,
    done: Option<oneshot::Sender<std::io::Result<()>>>,
}

/// What a line is.
enum Understood {
    Message(Box<Message>),
    /// Nothing that asks for an answer.
    Nothing,
    Refused(Value),
}

impl StandardLines {
    /// Starts to read and write. The receiver tells when all that was written is out: it is closed then.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn open() -> std::io::Result<(Self, std::sync::mpsc::Receiver<()>)> {
        let (lines, incoming) = mpsc::channel(AHEAD);
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (writing, written) = std::sync::mpsc::channel();
        thread::Builder::new().spawn(move || read_all(&lines))?;
        thread::Builder::new().spawn(move || {
            write_all(to_write);
            drop(writing);
        })?;
        let lines = Self {
            incoming,
            outgoing,
            unanswered: HashSet::new(),
        };
        Ok((lines, written))
    }

    /// Keeps count of what has to be answered. The answer of what cannot be: a request with the id of one that is under way, since
    /// nobody could tell the two answers apart.
    fn note(&mut self, message: &Message) -> Option<Value> {
        match message {
            JsonRpcMessage::Request(request) => {
                if !self.unanswered.insert(request.id.clone()) {
                    let what = format!("a request with the id {} is under way", request.id);
                    let error = ErrorData::invalid_request(what, None);
                    return Some(refusal(Some(&request.id), &error));
                }
            }
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(told) = &told.notification
                    && let Some(id) = &told.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        None
    }

    /// Writes without waiting.
    fn answer(&self, message: &Value) {
        let bytes = format!("{message}\n").into_bytes();
        // Whoever writes is gone only when the program ends.
        let _ = self.outgoing.send(Written { bytes, done: None });
    }

    fn write(
        &self,
        bytes: Vec<u8>,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static + use<> {
        let (done, written) = oneshot::channel();
        let sent = self.outgoing.send(Written {
            bytes,
            done: Some(done),
        });
        async move {
            let gone = || std::io::Error::from(std::io::ErrorKind::NotConnected);
            sent.map_err(|_| gone())?;
            written.await.map_err(|_| gone())?
        }
    }
}

impl Transport<RoleServer> for StandardLines {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.unanswered.remove(id);
        }
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            self.write(line)
        });
        async move { line?.await }
    }

    async fn receive(&mut self) -> Option<Message> {
        // This is dropped half-way whenever something else is to be done: nothing is held over the one place where it waits.
        loop {
            let line = match self.incoming.recv().await {
                Some(Line::Whole(line)) => line,
                Some(Line::TooLong) => {
                    let what = format!("a message has at most {LONGEST} bytes");
                    self.answer(&refusal(None, &ErrorData::invalid_request(what, None)));
                    continue;
                }
                None if self.unanswered.is_empty() => return None,
                // The SDK asks again after each answer that it sends.
                None => return std::future::pending().await,
            };
            match understand(&line) {
                Understood::Message(message) => match self.note(&message) {
                    None => return Some(*message),
                    Some(refused) => self.answer(&refused),
                },
                Understood::Nothing => {}
                Understood::Refused(answer) => self.answer(&answer),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // All that was to be written before it is out then.
        self.write(Vec::new()).await
    }
}

/// Hands over the lines of standard input until it ends. The last one may lack its end: it is a message if it is a whole one.
fn read_all(lines: &mpsc::Sender<Line>) {
    let mut input = std::io::stdin().lock();
    while let Ok(Some(line)) = read_line(&mut input) {
        if lines.blocking_send(line).is_err() {
            break;
        }
    }
}

fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    input
        .by_ref()
        .take(LONGEST as u64 + 1)
        .read_until(b'\n', &mut line)?;
    if line.ends_with(b"\n") {
        return Ok(Some(Line::Whole(line)));
    }
    if line.len() <= LONGEST {
        return Ok((!line.is_empty()).then_some(Line::Whole(line)));
    }
    drop(line);
    input.skip_until(b'\n')?;
    Ok(Some(Line::TooLong))
}

fn write_all(mut to_write: mpsc::UnboundedReceiver<Written>) {
    let mut output = std::io::stdout();
    while let Some(Written { bytes, done }) = to_write.blocking_recv() {
        let result = output.write_all(&bytes).and_then(|()| output.flush());
        if let Some(done) = done {
            // Whoever asked may have gone meanwhile.
            let _ = done.send(result);
        }
    }
}

fn understand(line: &[u8]) -> Understood {
    if without_mark(line).trim_ascii().is_empty() {
        return Understood::Nothing;
    }
    let value: Value = match foreign_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let error = ErrorData::parse_error(format!("this is not JSON: {error}"), None);
            return Understood::Refused(refusal(None, &error));
        }
    };
    match Message::deserialize(&value) {
        Ok(message) => Understood::Message(Box::new(message)),
        // A notification is never answered, and neither is an answer.
        Err(_) if value["method"].is_string() && value.get("id").is_none() => Understood::Nothing,
        Err(_) if value.get("result").or_else(|| value.get("error")).is_some() => {
            Understood::Nothing
        }
        Err(error) => {
            let what = format!("this is not a message of the protocol: {error}");
            let id = RequestId::deserialize(&value["id"]).ok();
            Understood::Refused(refusal(
                id.as_ref(),
                &ErrorData::invalid_request(what, None),
            ))
        }
    }
}

/// An error as JSON-RPC has it: with a null where the SDK leaves out the id that could not be read.
fn refusal(id: Option<&RequestId>, error: &ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> Value {
        match understand(line.as_bytes()) {
            Understood::Refused(answer) => answer,
            Understood::Message(_) | Understood::Nothing => panic!("not refused: {line}"),
        }
    }

    #[test]
    fn what_asks_for_something_is_answered() {
        for (line, code, id) in [
            ("{nope", -32700, Value::Null),
            ("5", -32600, Value::Null),
            ("[]", -32600, Value::Null),
            (
                r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#,
                -32600,
                json!(5),
            ),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
                -32600,
                Value::Null,
            ),
        ] {
            let answer = refused(line);
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert_eq!(answer["id"], id, "{line}");
            assert_eq!(answer["jsonrpc"], "2.0");
            // An answer that comes back does not go round.
            let echo = understand(answer.to_string().as_bytes());
            assert!(!matches!(echo, Understood::Refused(_)), "{line}");
        }
    }

    #[test]
    fn notifications_and_blanks_are_not() {
        for line in ["", " \r\n", r#"{"method":"$/x"}"#] {
            let understood = understand(line.as_bytes());
            assert!(matches!(understood, Understood::Nothing), "{line}");
        }
    }

    #[test]
    fn what_is_json_to_the_client_is_a_message() {
        let line = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"a\":\"\\ud83d\"}}}\r\n";
        assert!(matches!(
            understand(line.as_bytes()),
            Understood::Message(_)
        ));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut text = vec![b'x'; LONGEST + 5];
        text.extend_from_slice(b"\nnext\nhalf");
        let mut input = &text[..];
        assert!(matches!(read_line(&mut input), Ok(Some(Line::TooLong))));
        let next = read_line(&mut input).ok().flatten();
        assert!(matches!(next, Some(Line::Whole(line)) if line == b"next\n"));
        let last = read_line(&mut input).ok().flatten();
        assert!(matches!(last, Some(Line::Whole(line)) if line == b"half"));
        assert!(matches!(read_line(&mut input), Ok(None)));
    }
}
