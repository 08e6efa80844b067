//! A plain HTTP/1.1 client, with which a test can do what proper clients never do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A complete reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Returns the reply, which must have this status.
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Sends a request and waits for the whole reply.
pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Reply {
    let mut reader = BufReader::new(send(address, method, path, headers, body));
    let (status, headers) = head(&mut reader);
    let mut rest = Vec::new();
    let is_chunked =
        { headers.iter() }.any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    match is_chunked {
        true => while chunk(&mut reader, &mut rest) {},
        false => {
            reader.read_to_end(&mut rest).unwrap();
        }
    }
    Reply {
        status,
        headers,
        body: String::from_utf8(rest).unwrap(),
    }
}

/// Sends a request without reading the reply.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = body.unwrap_or_default();
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    // A server that refuses a body may close the connection before it is sent.
    let _ = stream.write_all(head.as_bytes());
    stream
}

fn head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status in {line:?}"));
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            return (status, headers);
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
}

/// Reads a chunk of a body; returns whether there was one.
fn chunk(reader: &mut impl BufRead, body: &mut Vec<u8>) -> bool {
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return false;
    }
    let length = usize::from_str_radix(line.trim(), 16).unwrap();
    let mut bytes = vec![0; length + 2];
    reader.read_exact(&mut bytes).unwrap();
    body.extend(&bytes[..length]);
    length > 0
}

/// A streamed reply, event by event.
pub(crate) struct Stream {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    text: Vec<u8>,
}

/// An event: an optional name, and its data.
pub(crate) type Event = (Option<String>, String);

impl Stream {
    pub(crate) fn open(address: SocketAddr, path: &str, body: &str) -> Self {
        let headers = [("content-type", "application/json")];
        let mut reader = BufReader::new(send(address, "POST", path, &headers, Some(body)));
        let (status, headers) = head(&mut reader);
        Self {
            reader,
            status,
            headers,
            text: Vec::new(),
        }
    }

    /// Returns the next event, or `None` at the end.
    pub(crate) fn event(&mut self) -> Option<Event> {
        loop {
            let text = String::from_utf8_lossy(&self.text).into_owned();
            if let Some(end) = text.find("\n\n") {
                self.text.drain(..end + 2);
                let field = |name: &str| {
                    let lines = text[..end].lines();
                    let mut found = lines.filter_map(|line| line.strip_prefix(name));
                    found.next().map(str::to_owned)
                };
                return Some((field("event: "), field("data: ").unwrap_or_default()));
            }
            if !chunk(&mut self.reader, &mut self.text) {
                assert!(self.text.is_empty(), "a part of an event: {text}");
                return None;
            }
        }
    }

    /// Returns all remaining events as JSON, without the `[DONE]` that must be the last.
    pub(crate) fn chunks(mut self) -> Vec<Value> {
        let mut chunks = Vec::new();
        while let Some((_, data)) = self.event() {
            if data == "[DONE]" {
                assert!(self.event().is_none());
                return chunks;
            }
            chunks.push(serde_json::from_str(&data).unwrap());
        }
        panic!("the stream ended without [DONE]: {chunks:?}");
    }

    /// Returns all remaining events, with their names.
    pub(crate) fn events(mut self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        while let Some((name, data)) = self.event() {
            let data = serde_json::from_str(&data).unwrap();
            events.push((name.unwrap_or_default(), data));
        }
        events
    }
}
