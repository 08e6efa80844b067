//! `--server`: `extract` and `generate` give the same results as with a local model, and failures are named.
#![cfg(all(unix, feature = "serve"))]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PERSON, Run, run, run_with, runtime, structgen, write};

/// A list of tools.
const CLOCK: &str = r#"[{"name": "clock", "parameters": {"type": "object"}}]"#;

/// A server process, which is killed when it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(flags: &[&str]) -> Self {
        runtime();
        let mut command = structgen(["serve", "--port", "0"]);
        command.args(flags).env_remove("STRUCTGEN_API_KEY");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        // The log must be drained, or the server would block.
        thread::spawn(move || drop(std::io::copy(&mut log, &mut std::io::sink())));
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether two outputs are equal up to the last digits of probabilities, which depend on the batch.
fn is_same(one: &str, other: &str) -> bool {
    fn is_near(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => {
                (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-4
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one
                        .iter()
                        .zip(other)
                        .all(|(one, other)| is_near(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                one.keys().eq(other.keys())
                    && one
                        .values()
                        .zip(other.values())
                        .all(|(one, other)| is_near(one, other))
            }
            _ => one == other,
        }
    }
    match (serde_json::from_str(one), serde_json::from_str(other)) {
        (Ok(one), Ok(other)) => is_near(&one, &other),
        _ => one == other,
    }
}

/// Starts a server that answers each connection with the next reply, and returns the requests.
fn scripted(replies: Vec<String>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = listener.local_addr().unwrap().to_string();
    let asked = thread::spawn(move || {
        let mut asked = Vec::new();
        for reply in replies {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                head.push_str(&line.to_lowercase());
                line.clear();
            }
            let length = head.split("content-length: ").nth(1).unwrap();
            let mut body = vec![0; length.lines().next().unwrap().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            asked.push(head + &String::from_utf8(body).unwrap());
            stream.write_all(reply.as_bytes()).unwrap();
        }
        asked
    });
    (url, asked)
}

fn reply(status: &str, headers: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

fn error(message: &str) -> Value {
    json!({"error": {"message": message, "type": "t", "param": null, "code": null}})
}

fn ask(url: &str, args: &[&str]) -> Run {
    let mut command = structgen(["generate", "--server", url]);
    run(command.args(args).env_remove("STRUCTGEN_API_KEY"))
}

#[test]
fn a_server_prints_what_a_model_here_prints() {
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let schema = schema.to_str().unwrap();
    let tree = r#"{"$defs": {"a": {"enum": ["red", "green"]}}, "type": "object"}"#;
    for args in [
        &["extract", "--schema", schema, "Ada is 36 years old"][..],
        &[
            "extract",
            "--schema",
            schema,
            "--ungrounded",
            "--pretty",
            "Ada is 36",
        ],
        &[
            "extract",
            "--schema",
            schema,
            "--spans",
            "--confidence",
            "--alternatives",
            "2",
            "Ada is 36",
        ],
        &[
            "extract",
            "--schema",
            tree,
            "--set",
            "schema.at=/$defs/a",
            "a green tree",
        ],
        &["generate", "--max-tokens", "12", "Once upon"],
        &[
            "generate",
            "--max-tokens",
            "12",
            "--set",
            "no_repeat_ngram=2",
            "--stop",
            "q",
            "Once upon",
        ],
        &[
            "generate",
            "--seed",
            "3",
            "--temperature",
            "1.5",
            "-n",
            "3",
            "--regex",
            "[a-z]{9}",
            "x",
        ],
        &[
            "generate",
            "--task",
            "prose",
            "--seed",
            "5",
            "--max-tokens",
            "9",
            "x",
        ],
        &[
            "generate",
            "--choice",
            "red",
            "--choice",
            "green",
            "a green tree",
        ],
        &[
            "generate",
            "--grammar",
            "root ::= \"yes\" | \"no\"",
            "well?",
        ],
        &["generate", "--json-schema", PERSON, "--pretty", "Ada is 36"],
    ] {
        let here = run(&mut structgen(args));
        assert_eq!(here.code, 0, "{here:?}");
        let there = run(structgen(args).args(["--server", &server.url]));
        assert_eq!(there.code, 0, "{args:?}: {there:?}");
        assert!(
            is_same(&there.out, &here.out),
            "{args:?}: {here:?} {there:?}"
        );
    }
}

#[test]
fn lines_come_in_order_with_errors_in_place_and_go_on_where_they_ended() {
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let line = |i: usize| match i % 7 {
        3 => json!({"id": i}).to_string(),
        5 => json!({"id": i, "text": "word ".repeat(9_000)}).to_string(),
        _ => json!({"id": i, "text": format!("Name{i} is {} years old", i % 90)}).to_string(),
    };
    let lines: String = (0..70).map(|i| line(i) + "\n").collect();
    let input = write(dir.path(), "in.jsonl", &lines);
    let extract = |flags: &[&str]| {
        let mut command = structgen(["extract", "--jsonl", "--refuse-long", "--schema"]);
        command.arg(&schema).arg("--file").arg(&input).args(flags);
        run(&mut command)
    };
    let there = extract(&["--server", &server.url, "--jobs", "6"]);
    assert_eq!(there.code, 2, "{there:?}");
    let found: Vec<Value> = { there.out.lines() }
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(found.len(), 70);
    for (i, line) in found.iter().enumerate() {
        assert_eq!(line["id"], i, "{line}");
        assert_eq!(
            line.get("error").is_some(),
            [3, 5].contains(&(i % 7)),
            "{line}"
        );
    }
    let here = extract(&[]);
    let values = |run: &Run| -> Vec<String> {
        { run.out.lines() }
            .filter(|line| !line.contains("\"error\""))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(values(&there), values(&here));
    // The start of the output, up to the middle of a line.
    let cut = there.out.match_indices('\n').nth(20).unwrap().0;
    let out = write(dir.path(), "out.jsonl", &there.out[..cut + 9]);
    let resumed = extract(&["--server", &server.url, "--resume", out.to_str().unwrap()]);
    assert_eq!((resumed.code, resumed.out.as_str()), (2, ""), "{resumed:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), there.out);
}

#[test]
fn a_server_that_goes_ends_the_run_and_the_lines_before_stay() {
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let lines: String = (0..3_000)
        .map(|i| format!("Name{i} is {} years old\n", i % 90))
        .collect();
    let input = write(dir.path(), "in.jsonl", lines);
    let out = dir.path().join("out.jsonl");
    let command = |url: &str| -> Command {
        let mut command = structgen(["extract", "--jsonl", "--server", url, "--schema"]);
        command
            .arg(&schema)
            .arg("--file")
            .arg(&input)
            .arg("--resume")
            .arg(&out);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let child = command(&server.url).spawn().unwrap();
    let written = || fs::read_to_string(&out).unwrap_or_default().lines().count();
    let deadline = Instant::now() + Duration::from_secs(60);
    while written() < 20 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    drop(server);
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: line "), "{said}");
    let lines = fs::read_to_string(&out).unwrap();
    assert!(
        lines.ends_with('\n') && !lines.contains("\"error\""),
        "{lines}"
    );
    assert!((20..3_000).contains(&written()));
}

#[test]
fn a_key_and_a_model_are_those_of_the_server() {
    let server = Server::start(&["--api-key", "secret"]);
    let refused = ask(&server.url, &["x"]);
    refused.is_bad_input(&["status 401", "api_key", "STRUCTGEN_API_KEY"]);
    assert!(!refused.err.contains("secret"));
    ask(&server.url, &["--set", "api_key=wrong", "x"]).is_bad_input(&["status 401"]);
    let given = ask(
        &server.url,
        &["--set", "api_key=secret", "--choice", "a", "x"],
    );
    assert_eq!((given.code, given.out.as_str()), (0, "a\n"), "{given:?}");
    let mut command = structgen(["generate", "--server", &server.url, "--choice", "a", "x"]);
    assert_eq!(run(command.env("STRUCTGEN_API_KEY", "secret")).code, 0);
    let other = ask(
        &server.url,
        &["--set", "api_key=secret", "--model", "other", "x"],
    );
    other.is_bad_input(&["status 404", "\"other\"", "structgen"]);
    let named = [
        "--set",
        "api_key=secret",
        "--model",
        "structgen",
        "--choice",
        "a",
        "x",
    ];
    assert_eq!(ask(&server.url, &named).code, 0);
}

#[test]
fn what_a_server_does_not_honour_is_refused_by_name() {
    for (args, says) in [
        (&["--strategy", "beam"][..], "strategy"),
        (&["--set", "model.rows=2"], "model.rows"),
        (&["--set", "schema.order=any"], "schema.order"),
        (
            &["--set", "regex.search=true", "--regex", "a"],
            "regex.search",
        ),
        (&["--set", "alternatives=2"], "alternatives"),
        (&["--set", "model.device=cpu"], "model.device"),
        (&["--set", "model.reader=false"], "model.reader"),
        (&["--chat", "--set", "chat.template=rag"], "chat.template"),
        (
            &["--chat", "--tools", CLOCK, "--set", "tools.format=llama3"],
            "tools.format",
        ),
        (&["--tools", "[]"], "--tools needs --chat"),
        (&["--json-schema", "{\"type\": 3}"], "/type"),
    ] {
        ask("127.0.0.1:1", &[args, &["x"]].concat()).is_bad_input(&[says]);
    }
    for flag in [
        &["--events"][..],
        &["--details"],
        &["--confidence", "--json"],
    ] {
        let refused = ask("127.0.0.1:1", &[flag, &["x"]].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.err.contains("--server") && refused.err.contains(flag[0]),
            "{refused:?}"
        );
    }
    ask("https://127.0.0.1:1", &["x"]).is_bad_input(&["no https://"]);
    ask("127.0.0.1:1", &["x"])
        .is_bad_input(&["there is no server at http://127.0.0.1:1", "refused"]);
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let done =
        json!({"choices": [{"index": 0, "text": "yes", "finish_reason": "stop"}], "usage": {}});
    let busy = reply(
        "429 Too Many Requests",
        "retry-after: 1\r\n",
        &error("full"),
    );
    let (url, asked) = scripted(vec![busy.clone(), busy, reply("200 OK", "", &done)]);
    let started = Instant::now();
    let answered = ask(&url, &["--set", "api_key=k", "-n", "1", "x"]);
    assert_eq!(
        (answered.code, answered.out.as_str()),
        (0, "{\"text\":\"yes\"}\n"),
        "{answered:?}"
    );
    assert!(started.elapsed() >= Duration::from_secs(2));
    let asked = asked.join().unwrap();
    assert_eq!(asked.len(), 3);
    assert!(asked[0].contains("authorization: bearer k"));
    assert_eq!(asked[0], asked[2]);
}

#[test]
fn replies_that_are_errors_cut_or_no_replies_are_named() {
    let stream = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
    let part = format!("{stream}data: {{\"choices\": [{{\"index\": 0, \"text\": \"par\"}}]}}\n\n");
    let late = format!(
        "{part}data: {}\n\n",
        json!({"error": {"message": "too long", "code": "incomplete"}})
    );
    for (reply, code, out, says) in [
        (
            reply("500 Internal Server Error", "", &error("broken")),
            2,
            "",
            "status 500: broken",
        ),
        (
            reply("503 Service Unavailable", "", &error("stopping")),
            2,
            "",
            "status 503: stopping",
        ),
        (
            reply("502 Bad Gateway", "", &json!("<html>")),
            2,
            "",
            "status 502",
        ),
        ("SSH-2.0-x\r\n".to_owned(), 2, "", "no HTTP"),
        (String::new(), 2, "", "ended the connection"),
        (part, 2, "par\n", "ended the connection"),
        (late, 1, "par\n", "too long"),
    ] {
        let (url, _) = scripted(vec![reply]);
        let failed = ask(&url, &["x"]);
        assert_eq!(
            (failed.code, failed.out.as_str()),
            (code, out),
            "{failed:?}"
        );
        assert!(
            failed.err.starts_with("error: ") && failed.err.contains(says),
            "{failed:?}"
        );
    }
}

#[test]
fn chats_and_calls_are_asked_for_in_openai_s_form() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{\"zone\":\"UTC\"}"}});
    let message =
        json!({"role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [call]});
    let answer = json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": {}});
    let (url, asked) = scripted(vec![reply("200 OK", "", &answer)]);
    let args = [
        "--chat",
        "--system",
        "Be brief.",
        "--tools",
        CLOCK,
        "--set",
        "tools.choice=clock",
        "--set",
        "reasoning_tokens=9",
        "--set",
        "chat.variables={\"mood\": 3}",
        "What time?",
    ];
    let called = ask(&url, &args);
    assert_eq!(called.code, 0, "{called:?}");
    let printed: Value = serde_json::from_str(&called.out).unwrap();
    let calls = json!([{"name": "clock", "arguments": {"zone": "UTC"}, "id": "c1"}]);
    assert_eq!(
        printed,
        json!({"text": "", "calls": calls, "reasoning": "hm"})
    );
    let asked = asked.join().unwrap().remove(0);
    assert!(
        asked.starts_with("post /v1/chat/completions http/1.1"),
        "{asked}"
    );
    let body: Value = serde_json::from_str(asked.lines().last().unwrap()).unwrap();
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "Be brief."})
    );
    assert_eq!(body["tools"][0]["function"]["name"], "clock");
    assert_eq!(body["tool_choice"]["function"]["name"], "clock");
    assert_eq!(body["structgen"]["reasoning_tokens"], 9);
    assert_eq!(body["chat_template_kwargs"], json!({"mood": 3}));
}

#[test]
fn tools_are_sent_in_one_form_whatever_form_they_have_in_the_file() {
    let message = json!({"role": "assistant", "content": "no"});
    let answer = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}});
    let (url, asked) = scripted(vec![reply("200 OK", "", &answer)]);
    let tools =
        r#"{"tools": [{"name": "clock", "input_schema": {"type": "object"}}, {"name": "now"}]}"#;
    let done = ask(&url, &["--chat", "--tools", tools, "What time?"]);
    assert_eq!(done.code, 0, "{done:?}");
    let asked = asked.join().unwrap().remove(0);
    let body: Value = serde_json::from_str(asked.lines().last().unwrap()).unwrap();
    let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let function = |name: &str, parameters: &Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let expected = [
        function("clock", &json!({"type": "object"})),
        function("now", &none),
    ];
    assert_eq!(body["tools"], json!(expected));
}

#[test]
fn missing_values_that_a_server_reports_are_announced() {
    let found = |ungrounded: &[&str]| {
        let usage = json!({"completion_tokens": 1});
        let body = json!({"json": "{}", "fields": [], "ungrounded": ungrounded, "usage": usage});
        reply("200 OK", "", &body)
    };
    let (url, _) = scripted(vec![found(&["", "/properties/age"])]);
    let mut command = structgen(["extract", "--server", &url, "--schema", "{}", "x"]);
    let one = run(&mut command);
    assert_eq!(
        one.err,
        "note: the text has no value for the document\nnote: the text has no value for /properties/age\n"
    );
    let (url, _) = scripted(vec![found(&[]), found(&["", "/properties/age"])]);
    let mut command = structgen(["extract", "--server", &url, "--schema", "{}"]);
    let several = run_with(command.args(["--jsonl", "--jobs", "1", "-"]), b"x\ny\n");
    assert_eq!(several.code, 0, "{several:?}");
    assert_eq!(
        several.err,
        "note: line 2: the text has no value for the document, /properties/age\n"
    );
}
