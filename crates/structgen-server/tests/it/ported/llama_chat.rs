//! llama.cpp's `tools/server/tests/unit/test_chat_completion.py`.

use serde_json::{Value, json};

use super::{CHAT, chat, content, is_sum, refused, serve_chat, texts, with};

#[test]
fn chat_completion() {
    let (_folder, server) = serve_chat();
    for user in [
        json!("Hey"),
        json!("What is the best book"),
        json!([{"type": "text", "text": "What is"}, {"type": "text", "text": "the best book"}]),
    ] {
        let messages =
            json!([{"role": "system", "content": "Book"}, {"role": "user", "content": user}]);
        let body =
            json!({"model": null, "max_tokens": 8, "ignore_eos": true, "messages": messages});
        let reply = server.post(CHAT, &body).expect(200);
        assert!(reply["id"].as_str().unwrap().contains("cmpl"));
        // llama.cpp's own starts with b and a number.
        assert!(
            reply["system_fingerprint"]
                .as_str()
                .unwrap()
                .starts_with("structgen-")
        );
        assert_eq!(reply["usage"]["completion_tokens"], 8);
        assert!(is_sum(&reply["usage"]));
        assert_eq!(reply["choices"][0]["message"]["role"], "assistant");
        assert_eq!(reply["choices"][0]["finish_reason"], "length");
    }
}

/// The first chunk has an empty text with the role, as in OpenAI's API, instead of null; usage is sent on request.
#[test]
fn chat_completion_stream() {
    let (_folder, server) = serve_chat();
    for most in [8, 128] {
        let fields = json!({
            "max_tokens": most, "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true},
        });
        let chunks = server.stream(CHAT, &chat(fields)).chunks();
        assert_eq!(
            chunks[0]["choices"][0]["delta"],
            json!({"role": "assistant", "content": ""})
        );
        let (usage, rest) = chunks.split_last().unwrap();
        assert_eq!(usage["usage"]["completion_tokens"], most);
        for (at, chunk) in rest.iter().enumerate() {
            let choice = &chunk["choices"][0];
            assert_eq!(at == 0, choice["delta"].get("role").is_some());
            assert_eq!(
                (&chunk["id"], &chunk["model"]),
                (&chunks[0]["id"], &json!("chat"))
            );
            match at + 1 == rest.len() {
                true => {
                    assert_eq!(choice["finish_reason"], "length");
                    assert!(choice["delta"].get("content").is_none());
                }
                false => assert!(choice["finish_reason"].is_null()),
            }
        }
    }
}

/// llama.cpp accepts any name; here it must be a model's. `clients/run` runs the official client against a server.
#[test]
fn a_model_that_is_not_there() {
    let (_folder, server) = serve_chat();
    server
        .post(CHAT, &chat(json!({"model": "gpt-3.5-turbo-instruct"})))
        .expect(404);
    server
        .post(
            CHAT,
            &chat(json!({"model": "chat", "max_tokens": 8, "seed": 42})),
        )
        .expect(200);
}

/// The template is the model's own: prompts are not returned, and no endpoint renders them.
#[test]
fn templates() {
    let (_folder, server) = serve_chat();
    let reply = server
        .post(CHAT, &chat(json!({"max_tokens": 8})))
        .expect(200);
    assert!(reply.get("__verbose").is_none());
    server.post("/apply-template", &chat(json!({}))).expect(404);
    assert_eq!(
        refused(&server, CHAT, &chat(json!({"chat_template": "llama3"}))),
        "chat_template"
    );
}

/// The last message is continued on request, and not just because it is the assistant's.
#[test]
fn assistant_prefill() {
    let (_folder, server) = serve_chat();
    let prompt = |prefill: Value, fields: Value| {
        let mut body = with(chat(json!({"max_tokens": 1})), fields);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": prefill}));
        server.post(CHAT, &body).expect(200)["usage"]["prompt_tokens"]
            .as_u64()
            .unwrap()
    };
    let parts = json!([{"type": "text", "text": "Whill"}]);
    let go_on = json!({"continue_final_message": true});
    assert_eq!(
        prompt(json!("Whill"), go_on.clone()),
        prompt(parts, go_on.clone())
    );
    assert!(prompt(json!("Whill"), go_on) < prompt(json!("Whill"), json!({})));
}

/// Answers are complete within the budget, including a JSON object.
#[test]
fn response_formats() {
    let (_folder, server) = serve_chat();
    let ask =
        |format: Value, most: u32| chat(json!({"max_tokens": most, "response_format": format}));
    for (format, most, wanted) in [
        (
            json!({"type": "json_object", "schema": {"const": "42"}}),
            6,
            "\"42\"",
        ),
        (
            json!({"type": "json_schema", "json_schema": {"schema": {"const": "foooooo"}}}),
            10,
            "\"foooooo\"",
        ),
    ] {
        assert_eq!(
            content(&server.post(CHAT, &ask(format, most)).expect(200)),
            wanted
        );
    }
    let reply = server
        .post(CHAT, &ask(json!({"type": "json_object"}), 10))
        .expect(200);
    assert!(content(&reply).starts_with('{') && content(&reply).ends_with('}'));
    // An array in `items` is from before 2020-12, and does not restrict values that are not arrays.
    let schema = json!({"items": [{"type": "integer"}]});
    let reply = server
        .post(
            CHAT,
            &ask(json!({"type": "json_object", "schema": schema}), 10),
        )
        .expect(200);
    serde_json::from_str::<Value>(content(&reply)).unwrap();
    for (format, param) in [
        (json!({"type": "sound"}), "response_format.type"),
        (
            json!({"type": "json_object", "schema": 123}),
            "response_format.schema",
        ),
        (
            json!({"type": "json_object", "schema": {"type": 123}}),
            "response_format.schema#/type",
        ),
        (
            json!({"type": "json_object", "schema": {"type": "hiccup"}}),
            "response_format.schema#/type",
        ),
    ] {
        assert_eq!(refused(&server, CHAT, &ask(format, 10)), param);
    }
}

#[test]
fn json_schema() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_tokens": 6, "json_schema": {"const": "42"}}));
    assert_eq!(content(&server.post(CHAT, &body).expect(200)), "\"42\"");
}

#[test]
fn grammar() {
    let (_folder, server) = serve_chat();
    let body = chat(json!({"max_tokens": 6, "grammar": "root ::= \"a\"{5,5}"}));
    assert_eq!(content(&server.post(CHAT, &body).expect(200)), "aaaaa");
}

/// Two consecutive messages of the assistant are a valid conversation.
#[test]
fn invalid_messages() {
    let (_folder, server) = serve_chat();
    for (messages, param) in [
        (json!(null), "messages"),
        (json!("string"), "messages"),
        (json!([123]), "messages[0]"),
        (json!([{}]), "messages[0].role"),
        (json!([{"role": 123}]), "messages[0].role"),
        (
            json!([{"role": "system", "content": 123}]),
            "messages[0].content",
        ),
        (json!([{"content": "hello"}]), "messages[0].role"),
        (
            json!([{"role": "system", "content": "test"}, {}]),
            "messages[1].role",
        ),
    ] {
        assert_eq!(
            refused(&server, CHAT, &json!({"messages": messages})),
            param,
            "{messages}"
        );
    }
    let twice = json!([
        {"role": "user", "content": "test"},
        {"role": "assistant", "content": "test"},
        {"role": "assistant", "content": "test"},
    ]);
    server
        .post(CHAT, &json!({"messages": twice, "max_tokens": 3}))
        .expect(200);
}

/// Times are part of the report.
#[test]
fn timings() {
    let (_folder, server) = serve_chat();
    assert_eq!(
        refused(&server, CHAT, &chat(json!({"timings_per_token": true}))),
        "timings_per_token"
    );
    let fields = json!({"max_tokens": 10, "stream": true, "structgen": {"report": true}});
    let chunks = server.stream(CHAT, &chat(fields)).chunks();
    let report = &chunks.last().unwrap()["choices"][0]["structgen"]["report"];
    assert!(report["seconds"]["total"].as_f64().unwrap() > 0.0);
    assert!(report["tokens"].as_u64().unwrap() <= 10);
}

#[test]
fn logprobs() {
    let (_folder, server) = serve_chat();
    let body =
        chat(json!({"max_tokens": 5, "logprobs": true, "top_logprobs": 10, "ignore_eos": true}));
    let reply = server.post(CHAT, &body).expect(200);
    let mut text = String::new();
    for token in reply["choices"][0]["logprobs"]["content"]
        .as_array()
        .unwrap()
    {
        text.push_str(token["token"].as_str().unwrap());
        assert!(token["logprob"].as_f64().unwrap() <= 0.0 && token["bytes"].is_array());
        assert!(!token["top_logprobs"].as_array().unwrap().is_empty());
    }
    assert_eq!(text, content(&reply));
}

#[test]
fn logprobs_in_a_stream() {
    let (_folder, server) = serve_chat();
    let fields = json!({"max_tokens": 5, "logprobs": true, "top_logprobs": 10, "stream": true, "ignore_eos": true});
    let chunks = server.stream(CHAT, &chat(fields)).chunks();
    let (text, _) = texts(&chunks, 1);
    let tokens = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["logprobs"]["content"].as_array());
    let tokens: Vec<&Value> = tokens.flatten().collect();
    let listed: String = tokens
        .iter()
        .map(|token| token["token"].as_str().unwrap())
        .collect();
    assert_eq!(listed, text[0]);
    assert!(
        tokens
            .iter()
            .all(|token| !token["top_logprobs"].as_array().unwrap().is_empty())
    );
}

#[test]
fn logit_bias() {
    let (_folder, server) = serve_chat();
    let free = chat(json!({"max_tokens": 24, "ignore_eos": true}));
    let before = server.post(CHAT, &free).expect(200);
    let tokens = server
        .post("/tokenize", &json!({"content": content(&before)}))
        .expect(200);
    let biases: serde_json::Map<String, Value> = { tokens["tokens"].as_array().unwrap().iter() }
        .map(|token| (token.to_string(), json!(-100)))
        .collect();
    let after = server
        .post(CHAT, &with(free, json!({"logit_bias": biases})))
        .expect(200);
    let left = server
        .post("/tokenize", &json!({"content": content(&after)}))
        .expect(200);
    let banned = tokens["tokens"].as_array().unwrap();
    assert!(!content(&after).is_empty());
    assert!(
        left["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .all(|token| !banned.contains(token)),
        "{after}"
    );
}

/// The numbers are in the message, and the kind of error is its code.
#[test]
fn a_context_that_is_exceeded() {
    let (_folder, server) = serve_chat();
    for stream in [false, true] {
        let long = json!([{"role": "user", "content": "What is the best book? ".repeat(1_000)}]);
        let error = server
            .post(CHAT, &json!({"messages": long, "stream": stream}))
            .expect(400);
        assert_eq!(error["error"]["type"], "invalid_request_error");
        assert_eq!(error["error"]["code"], "context_length_exceeded");
        assert!(
            error["error"]["message"].as_str().unwrap().contains("4096"),
            "{error}"
        );
    }
}

#[test]
fn progress() {
    let (_folder, server) = serve_chat();
    assert_eq!(
        refused(&server, CHAT, &chat(json!({"return_progress": true}))),
        "return_progress"
    );
}

#[test]
fn multiple_choices() {
    let (_folder, server) = serve_chat();
    let reply = server
        .post(
            CHAT,
            &chat(json!({"max_tokens": 8, "n": 2, "ignore_eos": true})),
        )
        .expect(200);
    let choices = reply["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 2);
    for choice in choices {
        assert_eq!(choice["message"]["role"], "assistant");
        assert_eq!(choice["finish_reason"], "length");
    }
}
