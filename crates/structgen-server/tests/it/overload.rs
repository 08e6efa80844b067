//! Requests that ask for much: refused with the limit, and counted for their client.

use serde_json::{Value, json};
use structgen::ModelOptions;
use structgen::decode::SchedulerLimits;

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
        (json!({"bad_words": ["x", ""]}), "bad_words"),
        (json!({"stop": ["x", ""]}), "stop"),
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

#[test]
fn a_prompt_that_cannot_fit_is_refused_by_its_length() {
    let server = serve();
    let long = "x ".repeat(200_000);
    let chat = json!([{"role": "user", "content": long}]);
    for (path, body, param) in [
        ("/v1/completions", json!({"prompt": long}), "prompt"),
        (
            "/v1/chat/completions",
            json!({"messages": chat}),
            "messages",
        ),
        (
            "/v1/chat/completions",
            json!({"messages": chat, "guided_json": {"type": "object"}}),
            "messages",
        ),
        ("/v1/responses", json!({"input": long}), "input"),
    ] {
        let error = server.post(path, &body).expect(400);
        assert_eq!(error["error"]["param"], param, "{error}");
        assert_eq!(error["error"]["code"], "context_length_exceeded");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("at least"), "{message}");
    }
}

#[test]
fn what_can_never_be_queued_is_refused_with_the_limit() {
    let queue = |most| {
        let mut limits = SchedulerLimits::default();
        limits.queue = most;
        move |config: &mut structgen_server::ServerConfig| {
            config.limits.requests_per_client = 4;
            for model in &mut config.models {
                model.options = ModelOptions::new().with_limits(limits);
            }
        }
    };
    let server = serve_with(queue(8));
    let few = json!({"guided_choice": ["a"]});
    let with = |fields: Value| {
        let mut body = few.clone();
        let fields = fields.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        body
    };
    for (path, fields, param) in [
        ("/v1/completions", json!({"prompt": vec!["x"; 5]}), "prompt"),
        (
            "/v1/completions",
            json!({"prompt": vec!["x"; 3], "n": 3}),
            "prompt",
        ),
        (
            "/v1/chat/completions",
            json!({"messages": [{"role": "user", "content": "x"}], "n": 9}),
            "n",
        ),
    ] {
        assert_eq!(refused(&server, path, &with(fields)), param);
    }
    let most = with(json!({"prompt": vec!["x"; 4], "n": 2}));
    server.post("/v1/completions", &most).expect(200);
    let texts = json!({"schema": {"type": "null"}, "texts": vec!["x"; 20]});
    let found = server.post("/v1/extract", &texts).expect(200);
    let found = found["data"].as_array().unwrap();
    assert!(
        found.iter().all(|found| found["error"].is_null()),
        "{found:?}"
    );
}
