//! The endpoints other than chat completions.

use serde_json::{Value, json};

use crate::support::{client, request, serve, serve_with};

/// A person whose name can be a single word of the text, whatever the weights prefer.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]*$"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": false,
    })
}

#[test]
fn completions_follow_each_prompt() {
    let server = serve();
    let body = json!({"prompt": ["one", "two"], "n": 2, "guided_regex": "[ab]{4}", "echo": true, "max_tokens": 10});
    let reply = server.post("/v1/completions", &body).expect(200);
    assert_eq!(reply["object"], "text_completion");
    let choices = reply["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 4);
    for (index, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], index);
        let text = choice["text"].as_str().unwrap();
        assert!(
            text.starts_with(if index < 2 { "one" } else { "two" }),
            "{text}"
        );
        assert_eq!(text.len(), 7);
        assert_eq!(choice["finish_reason"], "stop");
    }
    let mut body = body;
    body["stream"] = true.into();
    let chunks = server.stream("/v1/completions", &body).chunks();
    let mut texts = vec![String::new(); 4];
    for choice in chunks
        .iter()
        .flat_map(|chunk| chunk["choices"].as_array().unwrap())
    {
        let index = usize::try_from(choice["index"].as_u64().unwrap()).unwrap();
        texts[index].push_str(choice["text"].as_str().unwrap());
    }
    let whole: Vec<&str> = choices
        .iter()
        .map(|choice| choice["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, whole);
}

#[test]
fn prompts_may_be_tokens_and_log_probabilities_are_listed() {
    let server = serve();
    let tokens = server
        .post("/tokenize", &json!({"content": "hello"}))
        .expect(200)["tokens"]
        .clone();
    let body = json!({"prompt": tokens, "logprobs": 2, "max_tokens": 4, "ignore_eos": true});
    let reply = server.post("/v1/completions", &body).expect(200);
    let logprobs = &reply["choices"][0]["logprobs"];
    assert_eq!(logprobs["tokens"].as_array().unwrap().len(), 4);
    assert_eq!(logprobs["top_logprobs"][0].as_object().unwrap().len(), 2);
    assert_eq!(logprobs["text_offset"][0], 0);
    for (fields, param) in [
        (json!({"prompt": "x", "suffix": "y"}), "suffix"),
        (json!({"prompt": "x", "best_of": 3}), "best_of"),
        (json!({"prompt": [9_999_999]}), "prompt"),
        (json!({"prompt": {"a": 1}}), "prompt"),
        (json!({}), "prompt"),
    ] {
        let error = server.post("/v1/completions", &fields).expect(400);
        assert_eq!(error["error"]["param"], param, "{error}");
    }
}

#[test]
fn offsets_of_tokens_count_characters() {
    let server = serve();
    let mut body = json!({"prompt": "x", "guided_regex": "(é€){5}b", "logprobs": 1});
    let last_offset = |choices: Vec<&Value>| {
        let offsets =
            { choices.iter() }.filter_map(|choice| choice["logprobs"]["text_offset"].as_array());
        offsets.flatten().last().unwrap().as_u64().unwrap()
    };
    let reply = server.post("/v1/completions", &body).expect(200);
    assert_eq!(last_offset(vec![&reply["choices"][0]]), 10, "{reply}");
    assert!(
        reply["system_fingerprint"]
            .as_str()
            .unwrap()
            .starts_with("structgen-")
    );
    body["stream"] = true.into();
    let chunks = server.stream("/v1/completions", &body).chunks();
    let choices = chunks
        .iter()
        .flat_map(|chunk| chunk["choices"].as_array().unwrap());
    assert_eq!(last_offset(choices.collect()), 10);
}

#[test]
fn chunks_of_completions_have_no_usage_before_the_last() {
    let server = serve();
    let body = json!({"prompt": "x", "guided_regex": "[ab]{4}", "stream": true,
        "stream_options": {"include_usage": true}});
    let chunks = server.stream("/v1/completions", &body).chunks();
    let (last, others) = chunks.split_last().unwrap();
    assert!(last["usage"]["completion_tokens"].as_u64().unwrap() > 0);
    assert!(
        others
            .iter()
            .all(|chunk| chunk.as_object().unwrap()["usage"].is_null())
    );
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["system_fingerprint"].is_string())
    );
}

#[test]
fn a_completion_that_fails_before_its_first_token_is_no_stream() {
    let server = serve_with(|config| config.limits.generation_time = std::time::Duration::ZERO);
    for (path, field) in [("/v1/completions", "prompt"), ("/v1/responses", "input")] {
        let body = json!({field: "x", "guided_regex": "[ab]{4}", "stream": true});
        assert_eq!(server.stream(path, &body).status, 408, "{path}");
    }
}

#[test]
fn the_time_of_a_request_ends_with_its_stream() {
    let server = serve();
    let body = json!({"prompt": "x", "stream": true, "ignore_eos": true, "max_tokens": 1000,
        "structgen": {"steps": true}});
    let mut stream = server.stream("/v1/completions", &body);
    stream.event();
    let name = "structgen_request_seconds_count";
    assert_eq!(server.metric(name), 0);
    stream.chunks();
    // The request of the metric itself, and the stream.
    assert_eq!(server.metric(name), 2);
}

#[test]
fn tokens_and_texts_are_each_others_inverse() {
    let server = serve();
    let text = "Zoë pays 3 €. <json>";
    let reply = server.post(
        "/tokenize",
        &json!({"prompt": text, "add_special_tokens": false, "return_token_strs": true}),
    );
    let reply = reply.expect(200);
    assert_eq!(reply["count"], reply["tokens"].as_array().unwrap().len());
    assert_eq!(
        reply["count"],
        reply["token_strs"].as_array().unwrap().len()
    );
    let back = server
        .post("/detokenize", &json!({"tokens": reply["tokens"]}))
        .expect(200);
    assert_eq!(back["prompt"], text);
    let error = server
        .post("/detokenize", &json!({"tokens": [1_000_000]}))
        .expect(400);
    assert_eq!(error["error"]["param"], "tokens");
}

#[test]
fn values_are_extracted_with_their_places_and_confidence() {
    let server = serve();
    let text = "Ada is 36 years old";
    let reply = server
        .post("/v1/extract", &json!({"schema": schema(), "text": text}))
        .expect(200);
    assert_eq!(reply["value"], json!({"name": "Ada", "age": 36}));
    assert_eq!(reply["json"], r#"{"name":"Ada","age":36}"#);
    let age = &reply["fields"][1];
    assert_eq!(age["pointer"], "/age");
    assert_eq!(age["bytes"][0], json!([7, 9]));
    assert_eq!(age["grounded"], true);
    assert!((0.0..=1.0).contains(&age["confidence"].as_f64().unwrap()));

    let body = json!({"schema": schema(), "texts": [text, "Bob is 7.", "Ada is 36, Eve is 40"], "alternatives": 1, "structgen": {"report": true}});
    let reply = server.post("/v1/extract", &body).expect(200);
    let data = reply["data"].as_array().unwrap();
    assert_eq!(data.len(), 3);
    assert_eq!(data[1]["value"]["age"], 7);
    assert_eq!(data[0]["report"]["enforced"]["kind"], "json_schema");
    assert!(data[2]["fields"][0]["alternatives"].is_array());
    for (fields, param) in [
        (json!({"text": "x"}), "schema"),
        (json!({"schema": {}}), "text"),
        (
            json!({"schema": {"type": "thing"}, "text": "x"}),
            "schema#/type",
        ),
        (json!({"schema": {}, "text": "x", "texts": []}), "texts"),
        (json!({"schema": {}, "text": "x", "spans": true}), "spans"),
    ] {
        let error = server.post("/v1/extract", &fields).expect(400);
        assert_eq!(error["error"]["param"], param, "{error}");
    }
}

#[test]
fn texts_that_fail_stand_in_their_place() {
    let server = serve();
    let long = "word ".repeat(20_000);
    let body = json!({"schema": schema(), "texts": ["Ada is 36", long], "long_text": "refuse"});
    let reply = server.post("/v1/extract", &body).expect(200);
    assert_eq!(reply["data"][0]["value"]["name"], "Ada");
    assert_eq!(reply["data"][1]["error"]["code"], "context_length_exceeded");
}

#[test]
fn texts_are_checked_and_masks_are_listed() {
    let server = serve();
    let check = |fields: Value| server.post("/v1/constraints/check", &fields);
    let accepted =
        check(json!({"json_schema": schema(), "text": "{\"age\": 3.0, \"name\": \"A\"}"}))
            .expect(200);
    assert_eq!(accepted, json!({"accepted": true}));
    let refused = check(json!({"regex": "[0-9]+", "text": "12a"})).expect(200);
    assert_eq!(
        (&refused["accepted"], &refused["offset"]),
        (&json!(false), &json!(2))
    );
    assert!(refused["expected"].as_str().unwrap().contains("digit"));
    assert_eq!(
        check(json!({"text": "a"})).expect(400)["error"]["param"],
        "json_schema"
    );

    let masks = |fields: Value| server.post("/v1/masks", &fields).expect(200);
    let first = masks(json!({"choice": ["red", "green"]}));
    assert!(first["allowed"].as_u64().unwrap() >= 2);
    assert_eq!(first["may_end"], false);
    let after = masks(json!({"choice": ["red", "green"], "prefix": "gr"}));
    assert_eq!(after["forced_text"], "een");
    let done = masks(json!({"choice": ["red", "green"], "prefix": "red"}));
    assert_eq!(done["is_finished"], true);
    let error = server
        .post("/v1/masks", &json!({"choice": ["red"], "prefix": "b"}))
        .expect(400);
    assert_eq!(error["error"]["param"], "prefix");
}

#[test]
fn metrics_count_what_was_done() {
    let server = serve_with(|config| config.limits.kept_constraints = 4);
    let body = json!({"prompt": "x", "guided_regex": "[a-z]{5}"});
    for _ in 0..3 {
        server.post("/v1/completions", &body).expect(200);
    }
    assert_eq!(server.metric("structgen_constraint_cache_misses_total"), 1);
    assert_eq!(server.metric("structgen_constraint_cache_hits_total"), 2);
    assert!(server.metric("structgen_new_tokens_total") >= 3);
    assert_eq!(
        server.metric("structgen_time_to_first_token_seconds_count"),
        3
    );
    assert_eq!(server.metric("structgen_loaded_models"), 1);
    assert_eq!(server.metric("structgen_cancelled_total"), 0);
    let text = server.get("/metrics").body;
    assert!(
        text.contains("structgen_requests_total{route=\"/v1/completions\",status=\"200\"} 3"),
        "{text}"
    );
}

#[test]
fn a_client_that_leaves_is_counted_once_with_the_tokens_that_it_got() {
    let server = serve();
    let body = json!({"prompt": vec!["x"; 4], "stream": true, "ignore_eos": true, "max_tokens": 3000,
        "temperature": 1.5});
    let mut stream = server.stream("/v1/completions", &body);
    assert!(stream.event().is_some());
    drop(stream);
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !is_so() {
            let metrics = || server.get("/metrics").body;
            assert!(
                std::time::Instant::now() < deadline,
                "{what}: {}",
                metrics()
            );
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    until("no request runs", &|| {
        server.metric("structgen_running_requests") == 0
    });
    assert_eq!(server.metric("structgen_cancelled_total"), 1);
    assert!(server.metric("structgen_new_tokens_total") > 0);
    // Free strings go on to the end of the context.
    let texts = json!({"schema": {"type": "string"}, "texts": vec!["Ada was born in 1815."; 256], "grounded": false});
    let headers = [("content-type", "application/json")];
    let body = texts.to_string();
    let path = "/v1/extract";
    let sent = client::send(server.address, "POST", path, &headers, Some(&body));
    std::thread::sleep(std::time::Duration::from_secs(1));
    drop(sent);
    until("two have left", &|| {
        server.metric("structgen_cancelled_total") == 2
    });
}

#[test]
fn requests_that_a_stop_cuts_get_an_error() {
    let mut server =
        serve_with(|config| config.limits.stop_time = std::time::Duration::from_millis(1));
    let body =
        json!({"prompt": "x", "n": 8, "ignore_eos": true, "max_tokens": 3000, "temperature": 1.5});
    let mut streamed = body.clone();
    streamed["stream"] = true.into();
    let mut stream = server.stream("/v1/completions", &streamed);
    assert!(stream.event().is_some());
    let response = json!({"input": "x", "stream": true, "ignore_eos": true, "max_output_tokens": 3000,
        "temperature": 1.5});
    let mut events = server.stream("/v1/responses", &response);
    assert!(events.event().is_some());
    let address = server.address;
    let whole = std::thread::spawn(move || {
        let headers = [("content-type", "application/json")];
        let body = body.to_string();
        request(address, "POST", "/v1/completions", &headers, Some(&body))
    });
    while server.metric("structgen_running_requests") < 3 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    server.stop();
    let error = whole.join().unwrap().expect(503);
    assert_eq!(error["error"]["code"], "stopping");
    let mut last = String::new();
    while let Some((_, data)) = stream.event() {
        last = data;
    }
    assert!(last.contains(r#""code":"stopping""#), "{last}");
    let events = events.events();
    let (name, failed) = events.last().unwrap();
    assert_eq!(name, "response.failed");
    assert_eq!(failed["response"]["error"]["code"], "stopping");
    server.wait();
}
