//! What is refused, and how.

use serde_json::{Value, json};

use crate::support::{request, serve, serve_with};

fn ask(fields: Value) -> Value {
    let mut body = json!({"messages": [{"role": "user", "content": "Ada is 36."}]});
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    body
}

#[test]
fn fields_that_are_not_understood_are_refused_by_name() {
    let server = serve();
    for (fields, param) in [
        (json!({"best_off": 2}), "best_off"),
        (json!({"functions": []}), "functions"),
        (json!({"stop_token_ids": [1]}), "stop_token_ids"),
        (
            json!({"stream": true, "stream_options": {"usage": true}}),
            "stream_options.usage",
        ),
        (
            json!({"response_format": {"type": "json_object", "strict": true}}),
            "response_format.strict",
        ),
        (json!({"structgen": {"reports": true}}), "structgen.reports"),
        (
            json!({"messages": [{"role": "user", "content": "x", "mood": 1}]}),
            "messages[0].mood",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}),
            "messages[0].content[0].type",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"name": "f", "extra": 1}}]}),
            "tools[0].function.extra",
        ),
        (json!({"tools": [{"type": "web_search"}]}), "tools[0].type"),
        (json!({"temperature": -1}), "temperature"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"top_p": 2}), "top_p"),
        (json!({"n": 0}), "n"),
        (json!({"n": 1000}), "n"),
        (json!({"top_logprobs": 3}), "top_logprobs"),
        (
            json!({"logprobs": true, "top_logprobs": 100}),
            "top_logprobs",
        ),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"store": true}), "store"),
        (json!({"tool_choice": "required"}), "tool_choice"),
        (
            json!({"structgen": {"params": {"top_hh": 1}}}),
            "structgen.params.top_hh",
        ),
    ] {
        let error = server
            .post("/v1/chat/completions", &ask(fields.clone()))
            .expect(400);
        assert_eq!(error["error"]["param"], param, "{fields}: {error}");
        assert_eq!(error["error"]["type"], "invalid_request_error");
    }
    let error = server.post("/v1/chat/completions", &json!({})).expect(400);
    assert_eq!(error["error"]["param"], "messages");
}

#[test]
fn in_lenient_mode_they_are_listed_in_a_header() {
    let body = ask(json!({"best_off": 2, "max_tokens": 5, "guided_choice": ["a"]}));
    let lenient = serve_with(|config| config.lenient = true);
    let reply = lenient.post("/v1/chat/completions", &body);
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.header("x-structgen-ignored-fields"), Some("best_off"));
    let strict = serve();
    let headers = [
        ("content-type", "application/json"),
        ("x-structgen-lenient", "true"),
    ];
    let reply = request(
        strict.address,
        "POST",
        "/v1/chat/completions",
        &headers,
        Some(&body.to_string()),
    );
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[test]
fn a_keyword_that_is_not_enforced_is_refused_by_its_pointer() {
    let server = serve();
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": "yes"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    let error = server
        .post(
            "/v1/chat/completions",
            &ask(json!({"response_format": format})),
        )
        .expect(400);
    assert_eq!(
        error["error"]["param"],
        "response_format.json_schema.schema#/properties/a/uniqueItems"
    );
    let metrics = server.get("/metrics").body;
    assert!(
        metrics.contains("structgen_refused_keywords_total{keyword=\"uniqueItems\"} 1"),
        "{metrics}"
    );
    for (fields, param) in [
        (json!({"grammar": "root ::= nothing"}), "grammar"),
        (json!({"guided_regex": "("}), "guided_regex"),
        (json!({"guided_choice": []}), "guided_choice"),
    ] {
        let error = server
            .post("/v1/chat/completions", &ask(fields))
            .expect(400);
        assert_eq!(error["error"]["param"], param);
    }
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_the_one_that_is_needed() {
    let server = serve();
    let body = ask(json!({"guided_regex": "[a-z]{50}", "max_tokens": 3}));
    for stream in [false, true] {
        let mut body = body.clone();
        body["stream"] = stream.into();
        let error = server.post("/v1/chat/completions", &body).expect(400);
        assert_eq!(error["error"]["param"], "max_tokens");
        assert_eq!(error["error"]["code"], "budget_too_small");
        assert!(
            error["error"]["message"].as_str().unwrap().contains("50"),
            "{error}"
        );
    }
    // Outputs that fit are complete, however short.
    let mut body = body;
    body["max_tokens"] = 50.into();
    let reply = server.post("/v1/chat/completions", &body).expect(200);
    assert_eq!(
        reply["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .len(),
        50
    );
}

#[test]
fn bodies_that_are_too_large_or_no_json_are_refused() {
    let server = serve_with(|config| config.limits.body_bytes = 1_000);
    let large = ask(json!({"user": "x".repeat(2_000)}));
    server.post("/v1/chat/completions", &large).expect(413);
    // A client that writes everything before it reads still gets the reply.
    let larger = ask(json!({"user": "x".repeat(20 << 20)}));
    server.post("/v1/chat/completions", &larger).expect(413);
    server.post_text("/v1/chat/completions", "{").expect(400);
    server.post_text("/v1/chat/completions", "[1]").expect(400);
    let twice = r#"{"n": 1, "n": 2, "messages": []}"#;
    let error = server.post_text("/v1/chat/completions", twice).expect(400);
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("twice")
    );
    let reply = request(
        server.address,
        "POST",
        "/v1/chat/completions",
        &[("content-type", "text/plain")],
        Some("{}"),
    );
    assert_eq!(reply.status, 415);
    let headers = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let path = "/v1/chat/completions";
    let reply = request(server.address, "POST", path, &headers, Some("{}"));
    assert_eq!(reply.status, 415);
    // Names of media types are case-insensitive.
    let headers = [("content-type", "Application/JSON; charset=utf-8")];
    let reply = request(server.address, "POST", path, &headers, Some("{}"));
    assert_eq!(reply.status, 400);
}

#[test]
fn a_field_that_occurs_twice_is_refused_at_every_depth() {
    let server = serve();
    for (fields, param) in [
        (r#""logit_bias": {"1": 1, "1": 2}"#, "logit_bias"),
        (r#""metadata": {"a": "b", "a": "c"}"#, "metadata"),
        (
            r#""chat_template_kwargs": {"a": {"b": 1, "b": 1}}"#,
            "chat_template_kwargs",
        ),
        (
            r#""structgen": {"params": {"logit_bias": {"1": 1, "1": 2}}}"#,
            "structgen.params.logit_bias",
        ),
        (
            r#""structgen": {"params": {"seed": 1, "seed": 2}}"#,
            "structgen.params",
        ),
        (
            r#""tool_choice": "none", "tools": [{"type": "function", "function": {"name": "f", "parameters":
                {"properties": {"a": {}, "a": {}}}}}]"#,
            "tools[0].function.parameters",
        ),
    ] {
        let body = format!(r#"{{"messages": [{{"role": "user", "content": "x"}}], {fields}}}"#);
        let error = server.post_text("/v1/chat/completions", &body).expect(400);
        assert_eq!(error["error"]["param"], param, "{error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("occurs twice"), "{message}");
    }
}

#[test]
fn fields_that_set_the_same_to_different_values_are_refused() {
    let server = serve();
    let params = |params: Value| json!({"params": params});
    for (fields, param) in [
        (
            json!({"max_tokens": 5, "structgen": params(json!({"max_new_tokens": 6}))}),
            "max_tokens",
        ),
        (
            json!({"max_tokens": 5, "max_completion_tokens": 6}),
            "max_tokens",
        ),
        (
            json!({"temperature": 0.5, "structgen": params(json!({"temperature": 0.6}))}),
            "structgen.params.temperature",
        ),
        (
            json!({"seed": 1, "structgen": params(json!({"seed": 2}))}),
            "structgen.params.seed",
        ),
        (
            json!({"stop": "a", "structgen": params(json!({"stop": ["b"]}))}),
            "structgen.params.stop",
        ),
        (
            json!({"repetition_penalty": 1.1, "repeat_penalty": 1.2}),
            "repeat_penalty",
        ),
        (
            json!({"n": 2, "structgen": params(json!({"sequences": 3}))}),
            "n",
        ),
    ] {
        let error = server
            .post("/v1/chat/completions", &ask(fields.clone()))
            .expect(400);
        assert_eq!(error["error"]["param"], param, "{fields}: {error}");
    }
    let same = json!({"guided_choice": ["a"], "max_tokens": 5, "temperature": 1, "seed": 1, "structgen":
        params(json!({"max_new_tokens": 5, "temperature": 1.0, "seed": 1}))});
    server.post("/v1/chat/completions", &ask(same)).expect(200);
}

#[test]
fn an_error_about_the_budget_names_the_field_that_sets_it() {
    let server = serve();
    for field in ["max_completion_tokens", "max_tokens", "n_predict"] {
        let body = ask(json!({"guided_regex": "[a-z]{50}", field: 3}));
        let error = server.post("/v1/chat/completions", &body).expect(400);
        assert_eq!(error["error"]["param"], field, "{error}");
    }
}

#[test]
fn a_model_that_cannot_be_loaded_disturbs_no_other() {
    let server = serve_with(|config| {
        config
            .models
            .push(structgen_server::ModelSpec::folder("/nowhere/ghost"));
    });
    let error = server
        .post("/v1/chat/completions", &ask(json!({"model": "ghost"})))
        .expect(503);
    assert_eq!(error["error"]["code"], "model_unavailable");
    assert!(!error.to_string().contains("/nowhere"), "{error}");
    server
        .post(
            "/v1/chat/completions",
            &ask(json!({"guided_choice": ["a"]})),
        )
        .expect(200);
    server
        .post("/v1/chat/completions", &ask(json!({"model": "other"})))
        .expect(404);
}

#[test]
fn a_client_has_so_many_requests_at_once() {
    let server = serve_with(|config| config.limits.requests_per_client = 1);
    let long =
        ask(json!({"stream": true, "ignore_eos": true, "max_tokens": 2000, "temperature": 1.5}));
    let mut stream = server.stream("/v1/chat/completions", &long);
    stream.event();
    let reply = server.post(
        "/v1/chat/completions",
        &ask(json!({"guided_choice": ["a"]})),
    );
    assert_eq!(reply.status, 429, "{}", reply.body);
    assert_eq!(reply.header("retry-after"), Some("1"));
}

#[test]
fn a_server_that_stops_finishes_what_runs() {
    let mut server = serve();
    let long =
        ask(json!({"stream": true, "ignore_eos": true, "max_tokens": 200, "temperature": 1.5}));
    let mut stream = server.stream("/v1/chat/completions", &long);
    stream.event();
    server.stop();
    let chunks = stream.chunks();
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "length"
    );
    server.wait();
    assert!(std::net::TcpStream::connect(server.address).is_err());
}

#[test]
fn an_answer_that_takes_too_long_is_an_error_in_a_stream_as_well() {
    let server = serve_with(|config| {
        config.limits.generation_time = std::time::Duration::from_millis(30);
    });
    for (fields, code) in [
        (json!({}), "time_limit"),
        (json!({"guided_regex": "[a-z]{3900}"}), "incomplete"),
    ] {
        let mut body = ask(json!({"ignore_eos": true, "max_tokens": 3_950, "temperature": 1.5}));
        let fields = fields.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        let error = server.post("/v1/chat/completions", &body).expect(408);
        assert_eq!(error["error"]["code"], code);
        body["stream"] = true.into();
        let mut stream = server.stream("/v1/chat/completions", &body);
        assert_eq!(stream.status, 200);
        let mut last = String::new();
        while let Some((_, data)) = stream.event() {
            last = data;
        }
        let last: Value = serde_json::from_str(&last).unwrap();
        assert_eq!(last["error"]["code"], code, "{last}");
    }
}

#[test]
fn connections_that_stand_still_are_dropped() {
    use std::io::{Read, Write};
    let server = serve_with(|config| {
        config.limits.read_time = std::time::Duration::from_millis(300);
        config.limits.write_time = std::time::Duration::from_millis(300);
    });
    // Half of a head, and half of a body.
    let ended = |text: &str| {
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        stream
            .set_read_timeout(Some(std::time::Duration::from_secs(20)))
            .unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).map(|_| reply)
    };
    ended("GET /health HTTP/1.1\r\nhost: localhost\r\n").unwrap();
    let late = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    assert!(ended(late).unwrap().starts_with("HTTP/1.1 408"));
    // A client that reads nothing.
    let body = ask(
        json!({"stream": true, "ignore_eos": true, "max_tokens": 3000, "temperature": 1.5, "n": 16,
        "structgen": {"steps": true}}),
    );
    let headers = [("content-type", "application/json")];
    let stream = crate::support::client::send(
        server.address,
        "POST",
        "/v1/chat/completions",
        &headers,
        Some(&body.to_string()),
    );
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while server.metric("structgen_cancelled_total") == 0 {
        assert!(std::time::Instant::now() < deadline, "the request goes on");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(stream);
}

#[test]
fn connections_beyond_the_limit_are_refused_and_others_go_on() {
    use std::net::TcpStream;
    let server = serve_with(|config| config.limits.connections = 3);
    let long =
        ask(json!({"stream": true, "ignore_eos": true, "max_tokens": 300, "temperature": 1.5}));
    let mut stream = server.stream("/v1/chat/completions", &long);
    stream.event();
    let idle: Vec<TcpStream> = (0..2)
        .map(|_| TcpStream::connect(server.address).unwrap())
        .collect();
    // Connections are accepted in their order.
    for _ in 0..20 {
        let body = ask(json!({"user": "x".repeat(100_000)}));
        let reply = server.post("/v1/chat/completions", &body);
        assert_eq!(reply.status, 503);
        assert_eq!(reply.header("retry-after"), Some("1"));
        assert_eq!(reply.json()["error"]["code"], "too_many_connections");
    }
    drop(idle);
    let last = stream.chunks();
    assert_eq!(
        last.last().unwrap()["choices"][0]["finish_reason"],
        "length"
    );
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while server.get("/health").status != 200 {
        assert!(std::time::Instant::now() < deadline, "nobody is let in");
    }
    assert!(server.metric("structgen_refused_connections_total") >= 20);
}

#[test]
fn structural_tags_are_lowered_and_refused_by_their_pointer() {
    let server = serve();
    let tag = |content: Value| {
        let begin = json!({"type": "tag", "begin": "<n>", "content": content, "end": "</n>"});
        ask(
            json!({"response_format": {"type": "structural_tag", "format": begin}, "max_tokens": 60}),
        )
    };
    let good = json!({"type": "json_schema", "json_schema": {"enum": ["a", "b"]}});
    let reply = server.post("/v1/chat/completions", &tag(good)).expect(200);
    let text = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(["<n>\"a\"</n>", "<n>\"b\"</n>"].contains(&text), "{text}");
    let bad = json!({"type": "json_schema", "json_schema": {"enum": 5}});
    let error = server.post("/v1/chat/completions", &tag(bad)).expect(400);
    let param = error["error"]["param"].as_str().unwrap();
    assert!(
        param.starts_with("response_format#/format/content"),
        "{error}"
    );
}

#[test]
fn fields_that_nothing_would_read_are_refused() {
    let server = serve();
    let with = |mut body: Value, fields: Value| {
        let fields = fields.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        body
    };
    let plain = |fields| with(json!({"prompt": "x", "guided_choice": ["a"]}), fields);
    let response = |fields| with(json!({"input": "x", "guided_choice": ["a"]}), fields);
    let extract = |fields| with(json!({"schema": {"type": "integer"}, "text": "3"}), fields);
    let format = json!({"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}});
    let tool = json!({"type": "function", "function": {"name": "f"}});
    for target in [json!({"response_format": format}), json!({"tools": [tool]})] {
        for (fields, param) in [
            (json!({"reasoning_effort": "high"}), "reasoning_effort"),
            (
                json!({"structgen": {"reasoning_tokens": 5}}),
                "structgen.reasoning_tokens",
            ),
            (
                json!({"chat_template_kwargs": {"a": 1}}),
                "chat_template_kwargs",
            ),
            (
                json!({"continue_final_message": true}),
                "continue_final_message",
            ),
            (
                json!({"add_generation_prompt": false}),
                "add_generation_prompt",
            ),
        ] {
            let body = with(ask(fields), target.clone());
            let error = server.post("/v1/chat/completions", &body).expect(400);
            assert_eq!(error["error"]["param"], param, "{body}");
        }
    }
    let reasons = json!({"structgen": {"reasoning_tokens": 5}});
    let several = json!({"structgen": {"params": {"sequences": 2}}});
    for (path, body, param) in [
        (
            "/v1/completions",
            plain(reasons.clone()),
            "structgen.reasoning_tokens",
        ),
        (
            "/v1/completions",
            plain(json!({"logit_bias": {"999999": 1}})),
            "logit_bias",
        ),
        (
            "/v1/extract",
            extract(reasons),
            "structgen.reasoning_tokens",
        ),
        (
            "/v1/extract",
            extract(several.clone()),
            "structgen.params.sequences",
        ),
        (
            "/v1/responses",
            response(several),
            "structgen.params.sequences",
        ),
        (
            "/v1/responses",
            response(json!({"stream": true, "stream_options": {"include_usage": true}})),
            "stream_options.include_usage",
        ),
    ] {
        let error = server.post(path, &body).expect(400);
        assert_eq!(error["error"]["param"], param, "{path}: {error}");
    }
}

#[test]
fn messages_that_clients_send_back_may_have_nulls() {
    let server = serve();
    let messages = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "y", "refusal": null, "annotations": null, "audio": null,
            "function_call": null, "tool_calls": null},
        {"role": "user", "content": "z"},
    ]);
    let body = ask(json!({"messages": messages, "guided_choice": ["a"]}));
    server.post("/v1/chat/completions", &body).expect(200);
}
