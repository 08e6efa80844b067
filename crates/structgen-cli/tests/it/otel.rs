//! A server's spans, as received by a collector.
#![cfg(all(unix, feature = "otel"))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::support::{run, runtime, structgen};

/// Starts a collector that accepts everything; returns its URL and the requests it receives.
fn collector() -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                head.push_str(&line.to_lowercase());
                line.clear();
            }
            let length = head.split("content-length: ").nth(1).unwrap();
            let mut body = vec![0; length.lines().next().unwrap().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let reply = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(reply.as_bytes()).unwrap();
            if sender.send((head, body)).is_err() {
                return;
            }
        }
    });
    (url, requests)
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_request_s_spans_go_on_with_its_trace_and_have_nothing_of_what_was_asked() {
    runtime();
    let (url, requests) = collector();
    let mut command = structgen(["serve", "--port", "0"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap();
    let body = r#"{"messages": [{"role": "user", "content": "hidden red"}], "guided_choice": ["red", "blue"], "stream": true}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
        traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.contains("[DONE]"), "{reply}");
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (mut heads, mut bodies) = (String::new(), Vec::new());
    for (head, body) in requests.try_iter() {
        heads.push_str(&head);
        bodies.extend(body);
    }
    assert!(heads.starts_with("post /v1/traces http/1.1"), "{heads}");
    assert!(
        heads.contains("content-type: application/x-protobuf"),
        "{heads}"
    );
    for part in [
        "structgen",
        "POST /v1/chat/completions",
        "generate",
        "compile",
        "stream",
        "gen_ai.usage.output_tokens",
    ] {
        assert!(contains(&bodies, part.as_bytes()), "{part}");
    }
    let trace: Vec<u8> = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef].repeat(2);
    assert!(contains(&bodies, &trace), "the trace goes on");
    assert!(!contains(&bodies, b"hidden") && !contains(&bodies, b"blue"));
}

#[test]
fn a_collector_that_cannot_be_reached_is_refused_by_the_variable_s_name() {
    let mut command = structgen(["serve", "--port", "0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:4318");
    run(&mut command).is_bad_input(&["OTEL_EXPORTER_OTLP_ENDPOINT", "http://"]);
}

#[test]
fn a_collector_that_is_gone_disturbs_no_request() {
    runtime();
    let mut command = structgen(["serve", "--port", "0"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let url = line
        .trim()
        .strip_prefix("listening on ")
        .unwrap()
        .to_owned();
    let mut ask = structgen(["generate", "--server", &url, "--choice", "a", "x"]);
    assert_eq!(run(&mut ask).out, "a\n");
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
