//! A server in place of the hub, with one repository, `org/name`.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// How the server misbehaves.
#[derive(Clone, Default)]
pub(crate) struct Behaviour {
    /// The number of bytes of a body after which it closes a connection.
    pub(crate) cut_after: Option<usize>,
    pub(crate) ignores_ranges: bool,
    /// The number of bytes of a file that it has, of those that it lists.
    pub(crate) ends_at: Option<usize>,
    /// The licence that it names, as in JSON.
    pub(crate) license: Option<&'static str>,
    /// Whether it changes the first byte of a file.
    pub(crate) damages: bool,
    /// Where it redirects requests for files.
    pub(crate) redirect_to: Option<String>,
}

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

type Files = Vec<(&'static str, Vec<u8>)>;

impl Server {
    /// Serves files until the process ends. Those that end in `.onnx` are served as large files, with a SHA-256.
    pub(crate) fn start(files: &[(&'static str, Vec<u8>)], behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, files) = (Arc::clone(&requests), files.to_vec());
        thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that disconnects early is not a failure of the server.
                let _ = answer(stream.unwrap(), &files, &behaviour, &seen);
            }
        });
        Self { url, requests }
    }

    /// Returns the requests so far, each with its headers.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: TcpStream,
    files: &Files,
    behaviour: &Behaviour,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    while !request.ends_with("\r\n\r\n") {
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
    }
    seen.lock().unwrap().push(request.clone());
    let path = request.split(' ').nth(1).unwrap_or_default();
    let status = |stream: &mut TcpStream, status: &str| {
        write!(
            stream,
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        )
    };
    match path {
        "/api/models/org/name/revision/main?blobs=true" => {
            let body = listing(files, behaviour.license.unwrap_or("apache-2.0"));
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
        }
        "/api/models/org/gated/revision/main?blobs=true" => {
            status(&mut stream, "403 Forbidden\r\nx-error-code: GatedRepo")
        }
        "/api/models/org/broken/revision/main?blobs=true" => status(&mut stream, "500 Broken"),
        "/api/models/org/strange/revision/main?blobs=true" => status(&mut stream, "200 OK"),
        _ => {
            let wanted = path.strip_prefix(&format!("/org/name/resolve/{COMMIT}/"));
            let file = files.iter().find(|(name, _)| Some(*name) == wanted);
            match (file, &behaviour.redirect_to) {
                (None, _) => status(&mut stream, "404 Not Found"),
                (_, Some(url)) => {
                    status(&mut stream, &format!("302 Found\r\nlocation: {url}{path}"))
                }
                (Some((_, content)), None) => send(&mut stream, content, &request, behaviour),
            }
        }
    }
}

fn send(
    stream: &mut TcpStream,
    content: &[u8],
    request: &str,
    behaviour: &Behaviour,
) -> std::io::Result<()> {
    let range = request.lines().find_map(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix("range: bytes=")?
            .strip_suffix('-')?
            .parse::<usize>()
            .ok()
    });
    let range = range.filter(|_| !behaviour.ignores_ranges);
    let content = &content[..behaviour.ends_at.unwrap_or(content.len())];
    if range.is_some_and(|from| from >= content.len()) {
        return write!(
            stream,
            "HTTP/1.1 416 Range Not Satisfiable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
    }
    let rest = &content[range.unwrap_or(0)..];
    let len = rest.len();
    match range {
        Some(from) => write!(
            stream,
            "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {from}-{}/{}\r\n",
            content.len() - 1,
            content.len(),
        )?,
        None => write!(stream, "HTTP/1.1 200 OK\r\n")?,
    }
    write!(stream, "connection: close\r\ncontent-length: {len}\r\n\r\n")?;
    let mut rest = rest[..len.min(behaviour.cut_after.unwrap_or(len))].to_vec();
    if behaviour.damages {
        rest[0] ^= 1;
    }
    stream.write_all(&rest)
}

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn listing(files: &Files, license: &str) -> String {
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let file = |(name, content): &(&str, Vec<u8>)| {
        let size = content.len();
        let blob = Sha1::new()
            .chain_update(format!("blob {size}\0"))
            .chain_update(content);
        let blob = hex(&blob.finalize());
        let lfs = match name.ends_with(".onnx") {
            true => format!(
                r#", "lfs": {{"sha256": "{}", "size": {size}, "pointerSize": 134}}"#,
                hex(&Sha256::digest(content))
            ),
            false => String::new(),
        };
        format!(r#"{{"rfilename": "{name}", "size": {size}, "blobId": "{blob}"{lfs}}}"#)
    };
    let files: Vec<String> = files.iter().map(file).collect();
    format!(
        r#"{{"id": "org/name", "sha": "{COMMIT}", "tags": ["onnx"], "cardData": {{"license": "{license}"}},
            "siblings": [{}]}}"#,
        files.join(", ")
    )
}
