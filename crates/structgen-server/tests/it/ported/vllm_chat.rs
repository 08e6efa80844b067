//! vLLM's `tests/entrypoints/openai/chat_completion/test_chat.py`.

use serde_json::{Value, json};

use super::{CHAT, chat, content, is_sum, refused, serve_chat, texts, with};
use crate::support::request;

#[test]
fn no_logprobs() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_completion_tokens": 5, "logprobs": false}));
    assert!(server.post(CHAT, &body).expect(200)["choices"][0]["logprobs"].is_null());
}

#[test]
fn zero_logprobs() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_completion_tokens": 5, "logprobs": true, "top_logprobs": 0}));
    let reply = server.post(CHAT, &body).expect(200);
    let tokens = reply["choices"][0]["logprobs"]["content"]
        .as_array()
        .unwrap();
    assert_eq!(tokens[0]["top_logprobs"], json!([]));
}

#[test]
fn some_logprobs() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_completion_tokens": 5, "logprobs": true, "top_logprobs": 5}));
    let reply = server.post(CHAT, &body).expect(200);
    let first = &reply["choices"][0]["logprobs"]["content"][0];
    assert_eq!(first["top_logprobs"].as_array().unwrap().len(), 5);
}

#[test]
fn too_many_chat_logprobs() {
    let (_folder, server) = serve_chat();
    for (most, stream) in [(21, true), (30, false)] {
        let body = json!({"max_completion_tokens": 10, "logprobs": true, "top_logprobs": most, "stream": stream});
        assert_eq!(refused(&server, CHAT, &chat(body)), "top_logprobs");
    }
    server
        .post(CHAT, &chat(json!({"max_completion_tokens": 10})))
        .expect(200);
}

/// Log probabilities of prompts are not computed; the error names the field, whatever its value.
#[test]
fn prompt_logprobs() {
    let (_folder, server) = serve_chat();
    for others in [1, 0, -1] {
        assert_eq!(
            refused(&server, CHAT, &chat(json!({"prompt_logprobs": others}))),
            "prompt_logprobs"
        );
    }
    let without = server
        .post(CHAT, &chat(json!({"max_tokens": 5})))
        .expect(200);
    assert!(without["prompt_logprobs"].is_null());
}

#[test]
fn more_than_one_prompt_logprobs() {
    let (_folder, server) = serve_chat();
    assert_eq!(
        refused(&server, CHAT, &chat(json!({"prompt_logprobs": 2}))),
        "prompt_logprobs"
    );
}

#[test]
fn single_chat_session() {
    let (_folder, server) = serve_chat();
    let settings = json!({"max_completion_tokens": 5, "logprobs": true, "top_logprobs": 5, "ignore_eos": true});
    let reply = server.post(CHAT, &chat(settings)).expect(200);
    assert!(reply["id"].is_string());
    assert_eq!(reply["choices"].as_array().unwrap().len(), 1);
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
    assert_eq!(reply["choices"][0]["message"]["role"], "assistant");
    assert_eq!(reply["usage"]["completion_tokens"], 5);
    assert!(is_sum(&reply["usage"]));
    let mut next = chat(json!({"max_completion_tokens": 5}));
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": content(&reply)}));
    messages.push(json!({"role": "user", "content": "Write it as JSON."}));
    let second = server.post(CHAT, &next).expect(200);
    assert!(second["usage"]["prompt_tokens"].as_u64() > reply["usage"]["prompt_tokens"].as_u64());
}

/// The chunk with the finish reason has no text.
#[test]
fn chat_streaming() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_completion_tokens": 10}));
    let whole = server.post(CHAT, &body).expect(200);
    let chunks = server
        .stream(CHAT, &with(body, json!({"stream": true})))
        .chunks();
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let (text, ended) = texts(&chunks, 1);
    assert_eq!((&*text[0], ended), (content(&whole), 1));
    let last = &chunks.last().unwrap()["choices"][0];
    assert_eq!(last["finish_reason"], whole["choices"][0]["finish_reason"]);
    assert_eq!(last["delta"], json!({}));
}

/// Usage is sent once, at the end: `continuous_usage_stats` may be false, and `min_characters` is unknown.
#[test]
fn stream_options() {
    let (_folder, server) = serve_chat();
    let stream = |options: Value| {
        let fields =
            json!({"max_completion_tokens": 10, "stream": true, "stream_options": options});
        server.stream(CHAT, &chat(fields)).chunks()
    };
    let without = stream(json!({"include_usage": false}));
    assert!(without.iter().all(|chunk| chunk["usage"].is_null()));
    let chunks = stream(json!({"include_usage": true, "continuous_usage_stats": false}));
    let (last, rest) = chunks.split_last().unwrap();
    assert!(rest.iter().all(|chunk| chunk["usage"].is_null()));
    assert!(is_sum(&last["usage"]) && last["choices"] == json!([]));
    for options in [
        json!({"include_usage": null}),
        json!({"include_usage": true}),
    ] {
        let body = chat(json!({"stream": false, "stream_options": options}));
        assert_eq!(refused(&server, CHAT, &body), "stream_options");
    }
    let continuous = json!({"stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true}});
    assert_eq!(
        refused(&server, CHAT, &chat(continuous)),
        "stream_options.continuous_usage_stats"
    );
    assert_eq!(
        refused(&server, CHAT, &chat(json!({"min_characters": 10}))),
        "min_characters"
    );
}

const LANGUAGES: [&str; 4] = ["Rust", "Go", "Python", "C++"];

/// Whether the model picks another one in the next turn is up to the model.
#[test]
fn structured_outputs_choice() {
    let (_folder, server) = serve_chat();
    let mut body = chat(
        json!({"max_completion_tokens": 10, "temperature": 0.7, "structured_outputs": {"choice": LANGUAGES}}),
    );
    for _ in 0..2 {
        let reply = server.post(CHAT, &body).expect(200);
        assert!(LANGUAGES.contains(&content(&reply)), "{reply}");
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": content(&reply)}));
        messages.push(json!({"role": "user", "content": "Another one."}));
    }
}

#[test]
fn structured_outputs_json() {
    let (_folder, server) = serve_chat();
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "age": {"type": "integer"},
            "skills": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 3, "maxItems": 4},
            "jobs": {"type": "array", "maxItems": 2, "items": {
                "type": "object", "properties": {"title": {"type": "string", "maxLength": 9}}, "required": ["title"],
            }},
        },
        "required": ["name", "age", "skills", "jobs"],
    });
    for seed in 0..2 {
        let body = chat(json!({
            "max_completion_tokens": 1_000, "temperature": 1, "seed": seed, "structured_outputs": {"json": schema},
        }));
        let reply = server.post(CHAT, &body).expect(200);
        let value: Value = serde_json::from_str(content(&reply)).unwrap();
        assert!(
            value["name"].is_string() && value["age"].is_number(),
            "{value}"
        );
        assert!(
            (3..=4).contains(&value["skills"].as_array().unwrap().len()),
            "{value}"
        );
    }
}

#[test]
fn structured_outputs_regex() {
    let (_folder, server) = serve_chat();
    let part = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])";
    let pattern = format!(r"{part}(\.{part}){{3}}");
    let body = chat(
        json!({"max_completion_tokens": 20, "temperature": 1, "structured_outputs": {"regex": pattern}}),
    );
    for seed in 0..2 {
        let reply = server
            .post(CHAT, &with(body.clone(), json!({"seed": seed})))
            .expect(200);
        content(&reply).parse::<std::net::Ipv4Addr>().unwrap();
    }
}

#[test]
fn structured_outputs_type_error() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"structured_outputs": {"regex": {"1": "Python", "2": "C++"}}}));
    assert_eq!(refused(&server, CHAT, &body), "structured_outputs.regex");
}

#[test]
fn structured_outputs_choice_logprobs() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({
        "max_completion_tokens": 10, "logprobs": true, "top_logprobs": 5, "structured_outputs": {"choice": LANGUAGES},
    }));
    let reply = server.post(CHAT, &body).expect(200);
    let first = &reply["choices"][0]["logprobs"]["content"][0];
    let others = first["top_logprobs"].as_array().unwrap();
    // Only allowed tokens, and none with a placeholder for "impossible".
    assert!(!others.is_empty());
    assert!(
        others
            .iter()
            .all(|other| other["logprob"].as_f64().unwrap() >= -9999.0)
    );
}

#[test]
fn response_format_json_object() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_tokens": 60, "response_format": {"type": "json_object"}}));
    let reply = server.post(CHAT, &body).expect(200);
    assert!(
        serde_json::from_str::<Value>(content(&reply))
            .unwrap()
            .is_object()
    );
}

#[test]
fn response_format_json_schema() {
    let (_folder, server) = serve_chat();
    let schema = json!({"type": "object", "properties": {"result": {"type": "integer"}}});
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "foo_test", "schema": schema}});
    let reply = server
        .post(
            CHAT,
            &chat(json!({"max_tokens": 60, "response_format": format})),
        )
        .expect(200);
    let value: Value = serde_json::from_str(content(&reply)).unwrap();
    assert!(value.get("result").is_none_or(Value::is_number), "{value}");
}

#[test]
fn response_format_text() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_completion_tokens": 10, "response_format": {"type": "text"}}));
    content(&server.post(CHAT, &body).expect(200));
}

/// An unknown field is refused by name, or listed on request.
#[test]
fn extra_fields() {
    let (_folder, server) = serve_chat();
    let body = json!({"max_tokens": 3, "messages": [{"role": "user", "content": "x", "extra_field": "0"}]});
    assert_eq!(refused(&server, CHAT, &body), "messages[0].extra_field");
    let headers = [
        ("content-type", "application/json"),
        ("x-structgen-lenient", "true"),
    ];
    let reply = request(
        server.address,
        "POST",
        CHAT,
        &headers,
        Some(&body.to_string()),
    );
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.header("x-structgen-ignored-fields"),
        Some("messages[0].extra_field")
    );
}

#[test]
fn complex_message_content() {
    let (_folder, server) = serve_chat();
    let ask = |content: Value| {
        let body = json!({"max_tokens": 8, "temperature": 0, "messages": [{"role": "user", "content": content}]});
        server.post(CHAT, &body).expect(200)["choices"].clone()
    };
    let text = "What is one and one?";
    assert_eq!(
        ask(json!([{"type": "text", "text": text}])),
        ask(json!(text))
    );
}

/// Templates know the roles of the API, and no others.
#[test]
fn custom_role() {
    let (_folder, server) = serve_chat();
    for content in [json!("x"), json!([{"type": "text", "text": "x"}])] {
        let body = json!({"messages": [{"role": "my-custom-role", "content": content}]});
        assert_eq!(refused(&server, CHAT, &body), "messages[0].role");
    }
}

/// Seeds are whole numbers from 0, below 2^64.
#[test]
fn long_seed() {
    let (_folder, server) = serve_chat();
    for seed in ["-9223372036854775809", "-1", "18446744073709551616"] {
        let body = chat(json!({"max_tokens": 3})).to_string();
        let body = body.replacen('{', &format!("{{\"seed\": {seed},"), 1);
        let error = server.post_text(CHAT, &body).expect(400);
        assert_eq!(error["error"]["param"], "seed", "{seed}");
    }
    server
        .post(CHAT, &chat(json!({"max_tokens": 3, "seed": u64::MAX})))
        .expect(200);
}

/// The path of another service's convention does not exist.
#[test]
fn invocations() {
    let (_folder, server) = serve_chat();
    server.post("/invocations", &chat(json!({}))).expect(404);
}

#[test]
fn n_without_a_stream() {
    let (_folder, server) = serve_chat();
    let body = chat(
        json!({"max_completion_tokens": 20, "temperature": 0.7, "n": 3, "ignore_eos": true, "seed": 1}),
    );
    let reply = server.post(CHAT, &body).expect(200);
    let choices = reply["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 3);
    for (index, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], index);
        assert!(!choice["message"]["content"].as_str().unwrap().is_empty());
    }
    assert!(
        choices
            .iter()
            .any(|choice| choice["message"] != choices[0]["message"])
    );
}

#[test]
fn n_with_a_stream() {
    let (_folder, server) = serve_chat();
    let fields = json!({"max_completion_tokens": 15, "temperature": 0.7, "n": 2, "stream": true, "ignore_eos": true});
    let (texts, ended) = texts(&server.stream(CHAT, &chat(fields)).chunks(), 2);
    assert!(texts.iter().all(|text| !text.is_empty()));
    assert_eq!(ended, 2);
}

#[test]
fn n_with_a_seed() {
    let (_folder, server) = serve_chat();
    let body = chat(
        json!({"max_completion_tokens": 10, "temperature": 0.8, "n": 2, "seed": 42, "ignore_eos": true}),
    );
    let reply = server.post(CHAT, &body).expect(200);
    assert_eq!(reply["choices"].as_array().unwrap().len(), 2);
    assert_eq!(
        server.post(CHAT, &body).expect(200)["choices"],
        reply["choices"]
    );
}

/// Four functions of vLLM: `n` of 1, no `n`, and how both and others reach the sampler.
#[test]
fn n_is_one_where_nobody_says() {
    let (_folder, server) = serve_chat();
    for fields in [json!({"n": 1}), json!({})] {
        let body = with(chat(json!({"max_completion_tokens": 10})), fields);
        let reply = server.post(CHAT, &body).expect(200);
        assert_eq!(reply["choices"].as_array().unwrap().len(), 1);
        assert_eq!(reply["choices"][0]["index"], 0);
    }
}
