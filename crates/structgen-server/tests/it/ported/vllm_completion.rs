//! vLLM's `tests/entrypoints/openai/completion/test_completion.py`.

use serde_json::{Value, json};

use super::{is_sum, refused, texts, with};
use crate::support::serve;

const PATH: &str = "/v1/completions";

fn ask(fields: Value) -> Value {
    with(
        json!({"prompt": "Hello, my name is", "max_tokens": 5, "temperature": 0, "ignore_eos": true}),
        fields,
    )
}

/// Ids of ordinary tokens.
const TOKENS: [u32; 5] = [300; 5];

#[test]
fn single_completion() {
    let server = serve();
    let reply = server.post(PATH, &ask(json!({}))).expect(200);
    assert!(reply["id"].is_string());
    assert_eq!(reply["choices"].as_array().unwrap().len(), 1);
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
    assert_eq!(reply["usage"]["completion_tokens"], 5);
    assert!(is_sum(&reply["usage"]));
    assert_eq!(reply["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    let reply = server
        .post(PATH, &ask(json!({"prompt": TOKENS})))
        .expect(200);
    assert!(!reply["choices"][0]["text"].as_str().unwrap().is_empty());
    assert!(reply["choices"][0]["prompt_logprobs"].is_null());
}

/// A prompt is never truncated: one that is too long is an error.
#[test]
fn truncation_of_prompts() {
    let server = serve();
    for (name, value) in [
        ("truncate_prompt_tokens", json!(4)),
        ("truncation_side", json!("left")),
        ("return_token_ids", json!(true)),
    ] {
        assert_eq!(refused(&server, PATH, &ask(json!({name: value}))), name);
    }
}

#[test]
fn no_logprobs() {
    let server = serve();
    let reply = server
        .post(PATH, &ask(json!({"prompt": TOKENS, "logprobs": null})))
        .expect(200);
    assert!(reply["choices"][0]["logprobs"].is_null());
}

/// With 0, no alternatives are listed; vLLM lists the token itself.
#[test]
fn zero_logprobs() {
    let server = serve();
    let reply = server
        .post(PATH, &ask(json!({"prompt": TOKENS, "logprobs": 0})))
        .expect(200);
    let logprobs = &reply["choices"][0]["logprobs"];
    assert_eq!(logprobs["token_logprobs"].as_array().unwrap().len(), 5);
    assert_eq!(
        logprobs["top_logprobs"][0]
            .as_object()
            .map_or(0, |others| others.len()),
        0
    );
}

#[test]
fn some_logprobs() {
    let server = serve();
    let reply = server
        .post(PATH, &ask(json!({"prompt": TOKENS, "logprobs": 5})))
        .expect(200);
    let logprobs = &reply["choices"][0]["logprobs"];
    assert!((5..=6).contains(&logprobs["top_logprobs"][0].as_object().unwrap().len()));
}

#[test]
fn too_many_logprobs() {
    let server = serve();
    for (most, stream) in [(21, false), (30, true)] {
        let body = ask(json!({"prompt": TOKENS, "logprobs": most, "stream": stream}));
        assert_eq!(refused(&server, PATH, &body), "logprobs");
    }
    server.post(PATH, &ask(json!({}))).expect(200);
}

#[test]
fn prompt_logprobs() {
    let server = serve();
    for others in [-1, 0, 1] {
        let body = ask(json!({"prompt": ["a", "b"], "prompt_logprobs": others}));
        assert_eq!(refused(&server, PATH, &body), "prompt_logprobs");
    }
}

#[test]
fn streaming() {
    let server = serve();
    let whole = server.post(PATH, &ask(json!({}))).expect(200);
    let chunks = server.stream(PATH, &ask(json!({"stream": true}))).chunks();
    let (text, ended) = texts(&chunks, 1);
    assert_eq!((&json!(text[0]), ended), (&whole["choices"][0]["text"], 1));
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "length"
    );
}

#[test]
fn several_outputs() {
    let server = serve();
    let fields = json!({"n": 3, "max_tokens": 50, "temperature": 1.5, "logprobs": 0, "seed": 42, "ignore_eos": false});
    let reply = server.post(PATH, &ask(fields)).expect(200);
    let choices = reply["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 3);
    for (index, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], index);
        assert!(choice["finish_reason"].is_string());
        assert!(
            choices[..index]
                .iter()
                .all(|other| other["text"] != choice["text"])
        );
    }
}

#[test]
fn several_outputs_in_a_stream() {
    let server = serve();
    let fields = json!({"n": 3, "max_tokens": 50, "temperature": 1.5, "seed": 42, "stream": true});
    let (found, ended) = texts(&server.stream(PATH, &ask(fields)).chunks(), 3);
    assert_eq!(ended, 3);
    assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2]);
}

#[test]
fn stream_options() {
    let server = serve();
    let stream = |options: Value| {
        server
            .stream(
                PATH,
                &ask(json!({"stream": true, "stream_options": options})),
            )
            .chunks()
    };
    for options in [
        json!({"include_usage": false, "continuous_usage_stats": false}),
        json!({}),
    ] {
        assert!(stream(options).iter().all(|chunk| chunk["usage"].is_null()));
    }
    let chunks = stream(json!({"include_usage": true, "continuous_usage_stats": false}));
    let (last, rest) = chunks.split_last().unwrap();
    assert!(rest.iter().all(|chunk| chunk["usage"].is_null()));
    assert!(is_sum(&last["usage"]) && last["choices"] == json!([]));
    for options in [
        json!({"include_usage": null}),
        json!({"include_usage": true}),
        json!({"continuous_usage_stats": null}),
    ] {
        assert_eq!(
            refused(&server, PATH, &ask(json!({"stream_options": options}))),
            "stream_options"
        );
    }
    for usage in [true, false] {
        let options = json!({"include_usage": usage, "continuous_usage_stats": true});
        let body = ask(json!({"stream": true, "stream_options": options}));
        assert_eq!(
            refused(&server, PATH, &body),
            "stream_options.continuous_usage_stats"
        );
    }
}

/// The server samples: beam search is refused by name.
#[test]
fn batches() {
    let server = serve();
    for prompts in [json!(["Hello", "Hello"]), json!([TOKENS, TOKENS])] {
        let reply = server
            .post(PATH, &ask(json!({"prompt": prompts})))
            .expect(200);
        let choices = reply["choices"].as_array().unwrap();
        assert_eq!(choices.len(), 2);
        assert_eq!(choices[0]["text"], choices[1]["text"]);
        let fields = json!({"prompt": prompts, "n": 2, "temperature": 1.5, "seed": 4});
        let reply = server.post(PATH, &ask(fields)).expect(200);
        let text = |at: usize| &reply["choices"][at]["text"];
        assert!(
            text(0) != text(1) && text(0) == text(2) && text(1) == text(3),
            "{reply}"
        );
        let fields = json!({"prompt": prompts, "stream": true});
        let (found, _) = texts(&server.stream(PATH, &ask(fields)).chunks(), 2);
        assert_eq!(found[0], found[1]);
    }
    assert_eq!(
        refused(&server, PATH, &ask(json!({"use_beam_search": true}))),
        "use_beam_search"
    );
}

/// Prompts are echoed, but their log probabilities are not computed.
#[test]
fn echo_with_logprobs() {
    let server = serve();
    let reply = server.post(PATH, &ask(json!({"echo": true}))).expect(200);
    assert!(
        reply["choices"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("Hello, my name is")
    );
    for others in [0, 1] {
        assert_eq!(
            refused(
                &server,
                PATH,
                &ask(json!({"echo": true, "logprobs": others}))
            ),
            "echo"
        );
    }
}

#[test]
fn an_invalid_schema() {
    let server = serve();
    let schema = json!({
        "$defs": {"Kind": {"enum": ["sedan", "coupe"]}},
        "type": "object",
        "properties": {"brand": {"type": "string"}, "kind": {"$ref": "#/$defs/Kind"}, "foo": "bar"},
        "required": ["brand", "kind"],
    });
    let param = refused(
        &server,
        PATH,
        &ask(json!({"structured_outputs": {"json": schema}})),
    );
    assert_eq!(param, "structured_outputs.json#/properties/foo");
}

#[test]
fn an_invalid_regex() {
    let server = serve();
    let body = ask(json!({"structured_outputs": {"regex": "[.*"}, "stop": ["\n"]}));
    assert_eq!(refused(&server, PATH, &body), "structured_outputs.regex");
}

#[test]
fn an_invalid_grammar() {
    let server = serve();
    let grammar = "root ::= statement_that_is_not_there\nstatement ::= \"SELECT \" column\ncolumn ::= \"a\" | \"b\"";
    let body = ask(json!({"structured_outputs": {"grammar": grammar}}));
    assert_eq!(refused(&server, PATH, &body), "structured_outputs.grammar");
}
