//! Requests that ask for much: refused with the limit, and counted for their client.

use serde_json::{Value, json};

use crate::support::{Running, serve, serve_with};

/// Returns the field for which a request is refused.
fn refused(server: &Running, path: &str, body: &Value) -> String {
    let reply = server.post(path, body);
    assert!(reply.body.len() < 20_000, "{} bytes", reply.body.len());
    let error = reply.expect(400);
    error["error"]["param"].as_str().unwrap().to_owned()
}

#[test]
fn whatever_a_client_asks_for_counts_as_its_request() {
    let server = serve_with(|config| config.limits.requests_per_client = 1);
    let long = json!({"prompt": "x", "stream": true, "ignore_eos": true, "max_tokens": 3000,
        "structgen": {"steps": true}});
    let mut stream = server.stream("/v1/completions", &long);
    stream.event();
    for (path, body) in [
        ("/tokenize", json!({"prompt": "x"})),
        ("/detokenize", json!({"tokens": [1]})),
        ("/v1/constraints/check", json!({"regex": "a", "text": "a"})),
        ("/v1/masks", json!({"regex": "a"})),
        ("/v1/extract", json!({"schema": {}, "text": "x"})),
        ("/v1/completions", json!({"prompt": "x"})),
        ("/v1/responses", json!({"input": "x"})),
        // It is counted before it is read.
        ("/v1/chat/completions", json!({"nothing": 1})),
    ] {
        assert_eq!(server.post(path, &body).status, 429, "{path}");
    }
}

#[test]
fn a_response_has_so_many_items_of_input() {
    let server = serve();
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let body = |calls| json!({"input": vec![call.clone(); calls], "guided_choice": ["a"]});
    assert_eq!(refused(&server, "/v1/responses", &body(4_097)), "input");
    server.post("/v1/responses", &body(4_096)).expect(200);
}

#[test]
fn texts_that_must_not_occur_and_end_the_output_are_limited() {
    let server = serve();
    let words = |number: usize| -> Vec<String> { (0..number).map(|n| format!("w{n}")).collect() };
    let ids: Vec<[u32; 1]> = (0..257).map(|id| [id]).collect();
    for (fields, param) in [
        (json!({"bad_words": words(257)}), "bad_words"),
        (json!({"bad_words": ["x".repeat(2_000)]}), "bad_words"),
        (json!({"stop": words(17)}), "stop"),
        (json!({"stop": "x".repeat(2_000)}), "stop"),
        (
            json!({"structgen": {"params": {"stop": words(17)}}}),
            "structgen.params.stop",
        ),
        (
            json!({"structgen": {"params": {"bad_words": ids}}}),
            "structgen.params.bad_words",
        ),
        (
            json!({"structgen": {"params": {"stop": ["x".repeat(100_000)]}}}),
            "structgen.params",
        ),
    ] {
        let mut body = json!({"prompt": "x", "guided_choice": ["a"]});
        let fields = fields.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        assert_eq!(refused(&server, "/v1/completions", &body), param);
    }
    let most =
        json!({"prompt": "x", "guided_choice": ["a"], "bad_words": words(256), "stop": words(16)});
    server.post("/v1/completions", &most).expect(200);
}

#[test]
fn errors_do_not_repeat_megabytes() {
    let server = serve();
    let long = "x".repeat(1 << 20);
    for body in [
        json!({"prompt": "x", long.as_str(): 1}),
        json!({"prompt": "x", "temperature": long}),
        json!({"prompt": "x", "seed": {long.as_str(): 1}}),
        json!({"prompt": "x", "n": long}),
        json!({"prompt": "x", "structgen": {"params": {long.as_str(): 1}}}),
    ] {
        refused(&server, "/v1/completions", &body);
    }
}
