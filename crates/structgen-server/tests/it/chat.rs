//! Chat completions, whole and streamed.

use serde_json::{Value, json};

use crate::support::{serve, serve_with};

const TEXT: &str = "My name is Ruben Keller and I live in Utrecht.";

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "city": {"type": "string"}},
        "required": ["name", "city"],
        "additionalProperties": false,
    })
}

fn extraction() -> Value {
    json!({
        "model": "structgen",
        "messages": [{"role": "user", "content": TEXT}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "person", "strict": true, "schema": person()},
        },
    })
}

fn with(mut body: Value, fields: Value) -> Value {
    let fields = fields.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    body
}

#[test]
fn a_schema_is_filled_from_the_last_message_of_the_user() {
    let server = serve();
    let reply = server
        .post("/v1/chat/completions", &extraction())
        .expect(200);
    assert_eq!(reply["object"], "chat.completion");
    assert_eq!(reply["model"], "structgen");
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(choice["message"]["role"], "assistant");
    let content: Value =
        serde_json::from_str(choice["message"]["content"].as_str().unwrap()).unwrap();
    assert_eq!(content, json!({"name": "Ruben Keller", "city": "Utrecht"}));
    let usage = &reply["usage"];
    let sum =
        usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap();
    assert_eq!(usage["total_tokens"], sum);
    assert!(usage["prompt_tokens_details"]["cached_tokens"].is_u64());
}

#[test]
fn a_stream_has_the_same_text_and_its_parts_in_order() {
    let server = serve();
    let whole = server
        .post("/v1/chat/completions", &extraction())
        .expect(200);
    let options = json!({"stream": true, "stream_options": {"include_usage": true}});
    let stream = server.stream("/v1/chat/completions", &with(extraction(), options));
    assert_eq!(stream.status, 200);
    let kind = (
        "content-type".to_owned(),
        "text/event-stream; charset=utf-8".to_owned(),
    );
    assert!(stream.headers.contains(&kind));
    let chunks = stream.chunks();
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let (usage, rest) = chunks.split_last().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"], whole["usage"]);
    let (last, parts) = rest.split_last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert!(parts.len() > 3, "it came in parts");
    let text: String = { parts.iter() }
        .map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        text,
        whole["choices"][0]["message"]["content"].as_str().unwrap()
    );
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"]));
    assert!(rest.iter().all(|chunk| chunk["usage"].is_null()));
}

#[test]
fn log_probabilities_are_those_of_the_tokens() {
    let server = serve();
    let body = with(extraction(), json!({"logprobs": true, "top_logprobs": 2}));
    let reply = server.post("/v1/chat/completions", &body).expect(200);
    let choice = &reply["choices"][0];
    let tokens = choice["logprobs"]["content"].as_array().unwrap();
    let text: Vec<u8> = { tokens.iter() }
        .flat_map(|token| token["bytes"].as_array().unwrap())
        .map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap())
        .collect();
    assert_eq!(
        text,
        choice["message"]["content"].as_str().unwrap().as_bytes()
    );
    for token in tokens {
        assert!(token["logprob"].as_f64().unwrap() <= 0.0);
        assert!(token["top_logprobs"].as_array().unwrap().len() <= 2);
    }
    assert!(
        tokens
            .iter()
            .any(|token| token["top_logprobs"].as_array().unwrap().len() == 2)
    );
}

#[test]
fn several_outputs_are_numbered_and_a_seed_repeats_them() {
    let server = serve();
    let settings = json!({"n": 3, "seed": 7, "temperature": 2.0, "max_tokens": 60, "guided_regex": "[a-z]{12}",
        "response_format": null});
    let body = with(extraction(), settings);
    let texts = |reply: &Value| -> Vec<String> {
        let choices = reply["choices"].as_array().unwrap();
        assert!(
            choices
                .iter()
                .enumerate()
                .all(|(at, choice)| choice["index"] == at)
        );
        let text = |choice: &Value| choice["message"]["content"].as_str().unwrap().to_owned();
        choices.iter().map(text).collect()
    };
    let first = texts(&server.post("/v1/chat/completions", &body).expect(200));
    assert_eq!(first.len(), 3);
    assert!(first[0] != first[1] || first[1] != first[2]);
    assert!(first.iter().all(|text| text.len() == 12));
    let again = texts(&server.post("/v1/chat/completions", &body).expect(200));
    assert_eq!(first, again);
    let chunks = server
        .stream("/v1/chat/completions", &with(body, json!({"stream": true})))
        .chunks();
    let mut streamed = vec![String::new(); 3];
    for choice in chunks
        .iter()
        .flat_map(|chunk| chunk["choices"].as_array().unwrap())
    {
        let index = usize::try_from(choice["index"].as_u64().unwrap()).unwrap();
        streamed[index].push_str(choice["delta"]["content"].as_str().unwrap_or_default());
    }
    assert_eq!(first, streamed);
}

#[test]
fn every_kind_of_constraint_is_honoured() {
    let server = serve();
    for (fields, allowed) in [
        (
            json!({"guided_choice": ["red", "green"]}),
            vec!["red", "green"],
        ),
        (
            json!({"structured_outputs": {"regex": "a{3}"}}),
            vec!["aaa"],
        ),
        (
            json!({"grammar": "root ::= \"yes\" | \"no\""}),
            vec!["yes", "no"],
        ),
        (json!({"json_schema": {"const": "five"}}), vec!["\"five\""]),
        (
            json!({"guided_json": {"enum": [true, null]}}),
            vec!["true", "null"],
        ),
        (
            json!({"response_format": {"type": "json_object", "schema": {"const": {}}}}),
            vec!["{}"],
        ),
    ] {
        let messages = json!({"messages": [{"role": "user", "content": "green"}]});
        let reply = server
            .post("/v1/chat/completions", &with(messages, fields))
            .expect(200);
        let text = reply["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(allowed.contains(&text), "{text}");
    }
}

#[test]
fn a_stop_string_ends_free_text_before_it() {
    let server = serve();
    let messages = json!({"messages": [{"role": "user", "content": "abc"}]});
    let free = with(messages, json!({"max_tokens": 40, "ignore_eos": true}));
    let reply = server.post("/v1/chat/completions", &free).expect(200);
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
    let text = reply["choices"][0]["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    let stop: String = text.chars().skip(4).take(2).collect();
    let reply = server
        .post("/v1/chat/completions", &with(free, json!({"stop": stop})))
        .expect(200);
    let cut = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(cut, &text[..text.find(&stop).unwrap()]);
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
}

#[test]
fn the_report_and_the_steps_say_what_was_done() {
    let server = serve();
    let extras = json!({"structgen": {"report": true, "steps": true}});
    let body = with(extraction(), extras);
    let reply = server.post("/v1/chat/completions", &body).expect(200);
    let extras = &reply["choices"][0]["structgen"];
    let report = &extras["report"];
    assert_eq!(report["enforced"]["kind"], "json_schema");
    let city = report["fields"]
        .as_array()
        .unwrap()
        .iter()
        .find(|field| field["pointer"] == "/city")
        .unwrap();
    assert_eq!(city["value"], "Utrecht");
    assert_eq!(city["grounded"], true);
    let start = TEXT.find("Utrecht").unwrap();
    assert_eq!(city["bytes"], json!([[start, start + 7]]));
    assert!((0.0..=1.0).contains(&city["confidence"].as_f64().unwrap()));
    let tokens = extras["tokens"].as_array().unwrap();
    assert_eq!(report["tokens"], tokens.len());
    let forced = tokens
        .iter()
        .filter(|token| token["forced"] == true)
        .count();
    assert_eq!(report["forced_tokens"], forced);
    let chosen = tokens
        .iter()
        .find(|token| token["forced"] == false)
        .unwrap();
    assert!(chosen["allowed"].as_u64().unwrap() > 1);
    assert!(!chosen["alternatives"].as_array().unwrap().is_empty());
    assert!(chosen["wanted"].as_array().unwrap().len() <= 5);

    let chunks = server
        .stream("/v1/chat/completions", &with(body, json!({"stream": true})))
        .chunks();
    let streamed: Vec<&Value> = { chunks.iter() }
        .filter_map(|chunk| chunk["choices"][0]["structgen"]["tokens"].as_array())
        .flatten()
        .collect();
    let ids = |tokens: &[&Value]| -> Vec<Value> {
        tokens.iter().map(|token| token["id"].clone()).collect()
    };
    assert_eq!(ids(&streamed), ids(&tokens.iter().collect::<Vec<_>>()));
    let last = &chunks.last().unwrap()["choices"][0]["structgen"]["report"];
    assert_eq!(last["fields"].as_array().unwrap().len(), 2);
}

#[test]
fn a_client_that_leaves_ends_its_request() {
    let server = serve_with(|config| config.limits.new_tokens = 3_000);
    let body = json!({
        "messages": [{"role": "user", "content": "x"}],
        "stream": true, "ignore_eos": true, "temperature": 1.5,
    });
    for _ in 0..10 {
        let mut stream = server.stream("/v1/chat/completions", &body);
        assert!(stream.event().is_some());
        drop(stream);
    }
    let ended = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while server.metric("structgen_running_requests") > 0 {
        assert!(std::time::Instant::now() < ended, "requests go on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(server.metric("structgen_cancelled_total"), 10);
    assert_eq!(server.metric("structgen_open_streams"), 0);
    server
        .post("/v1/chat/completions", &extraction())
        .expect(200);
}
