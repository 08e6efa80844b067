//! `structgen serve` as a process: what it refuses, and how it is stopped.
#![cfg(all(unix, feature = "serve"))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::support::{run, runtime, structgen};

#[test]
fn an_address_that_others_reach_needs_a_key() {
    runtime();
    let mut command = structgen(["serve", "--host", "0.0.0.0", "--port", "0"]);
    let refused = run(command.env_remove("STRUCTGEN_API_KEY"));
    refused.is_bad_input(&["0.0.0.0:0", "API key"]);
    let missing = run(&mut structgen(["serve", "--model", "/nowhere/model"]));
    missing.is_bad_input(&["/nowhere/model"]);
    let format = run(&mut structgen(["serve", "--tool-format", "other"]));
    format.is_bad_input(&["\"other\"", "qwen"]);
}

#[test]
fn a_server_answers_and_ends_when_it_is_asked_to() {
    runtime();
    let mut command = structgen(["serve", "--port", "0", "--api-key", "secret"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap();
    let reply = |path: &str, key: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    assert!(reply("/v1/models", "secret").starts_with("HTTP/1.1 200"));
    assert!(reply("/v1/models?prompt=hidden", "wrong").starts_with("HTTP/1.1 401"));
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    // One line of JSON per request, without prompts and keys.
    assert_eq!(rest.matches("\"message\":\"request\"").count(), 2, "{rest}");
    assert!(
        !rest.contains("secret") && !rest.contains("hidden"),
        "{rest}"
    );
}
