//! A server that runs, and what is sent to it byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::schema;

/// `tw web` as a child process; ended with the test.
pub struct Server {
    pub child: Child,
    pub port: u16,
    pub token: String,
    pub url: String,
}

/// An answer.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

impl Server {
    /// Starts it with these words.
    pub fn start(sandbox: &Sandbox, words: &[&str]) -> Self {
        let made = sandbox.tw_command();
        let mut command = Command::new(made.get_program());
        command
            .env_clear()
            .current_dir(sandbox.repo())
            .arg("--json")
            .args(words);
        for (name, value) in made.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        schema::check("web", &said);
        Self {
            child,
            port: said["port"].as_u64().unwrap().try_into().unwrap(),
            token: said["token"].as_str().unwrap().to_owned(),
            url: said["url"].as_str().unwrap().to_owned(),
        }
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn connect(&self) -> TcpStream {
        self.try_connect().unwrap()
    }

    /// Fails when it has ended.
    pub fn try_connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(self.host())?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(stream)
    }

    /// Sends bytes and reads the answer.
    pub fn send(&self, bytes: &[u8]) -> Got {
        Self::send_over(self.connect(), bytes)
    }

    fn send_over(mut stream: TcpStream, bytes: &[u8]) -> Got {
        // What is refused early may not be read to its end.
        let _ = stream.write_all(bytes);
        read(stream)
    }

    /// A GET with these header lines behind `Host`.
    pub fn get(&self, target: &str, headers: &str) -> Got {
        let host = self.host();
        self.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n").as_bytes())
    }

    /// The header lines of the page's own questions.
    pub fn own_headers(&self) -> String {
        let (host, token) = (self.host(), &self.token);
        format!(
            "Origin: http://{host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        )
    }

    /// A POST with these header lines behind `Host`.
    pub fn post(&self, target: &str, headers: &str, body: &str) -> Got {
        self.post_over(self.connect(), target, headers, body)
    }

    fn post_over(&self, stream: TcpStream, target: &str, headers: &str, body: &str) -> Got {
        let (host, length) = (self.host(), body.len());
        Self::send_over(
            stream,
            format!("POST {target} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n{body}").as_bytes(),
        )
    }

    /// The status of the answer to a question without words; None when it has ended.
    pub fn try_ask(&self, name: &str) -> Option<u16> {
        let stream = self.try_connect().ok()?;
        let target = format!("/api/{name}");
        Some(
            self.post_over(stream, &target, &self.own_headers(), "{}")
                .status,
        )
    }

    /// A question as the page asks it, which is answered.
    pub fn ask(&self, name: &str, body: &Value) -> Value {
        let got = self.post(
            &format!("/api/{name}"),
            &self.own_headers(),
            &body.to_string(),
        );
        assert_eq!(got.status, 200, "{name} {body}: {got:?}");
        got.json()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn read(mut stream: TcpStream) -> Got {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Got {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
