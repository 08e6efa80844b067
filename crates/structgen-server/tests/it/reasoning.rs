//! Reasoning first, then the constraint: for `<think>`, for Harmony's channels, and for reasoning that templates open.

use serde_json::{Value, json};
use structgen_server::ModelSpec;

use crate::support::model::{chat_model, harmony_model, thinking_model};
use crate::support::{Running, serve_with};

const PATH: &str = "/v1/chat/completions";

fn serve(spec: ModelSpec) -> Running {
    serve_with(|config| config.models = vec![spec])
}

fn ask(fields: Value) -> Value {
    let mut body = json!({
        "messages": [{"role": "user", "content": "Is it warm in Utrecht?"}],
        "temperature": 0.8,
        "seed": 5,
        "max_tokens": 120,
    });
    let fields = fields.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    body
}

/// A schema with short values, so that the budget suffices.
fn format() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"warm": {"type": "boolean"}, "degrees": {"type": "integer", "minimum": 0, "maximum": 40}},
        "required": ["warm", "degrees"],
        "additionalProperties": false,
    });
    json!({"type": "json_schema", "json_schema": {"name": "weather", "schema": schema}})
}

fn is_weather(content: &str) -> bool {
    let value: Value = serde_json::from_str(content).unwrap();
    value["warm"].is_boolean() && value["degrees"].is_u64() && value.as_object().unwrap().len() == 2
}

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {
        "type": "object",
        "properties": {"city": {"enum": ["Utrecht", "Bremen"]}},
        "required": ["city"],
        "additionalProperties": false,
    }}})
}

/// A message, whole or assembled from its parts.
#[derive(Debug, Default, PartialEq)]
struct Message {
    reasoning: String,
    content: String,
    calls: Vec<(String, String)>,
    finish: String,
}

fn whole(reply: &Value) -> Message {
    let choice = &reply["choices"][0];
    let text = |name: &str| {
        choice["message"][name]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let calls = choice["message"]["tool_calls"]
        .as_array()
        .into_iter()
        .flatten();
    let text_of = |call: &Value, name: &str| call["function"][name].as_str().unwrap().to_owned();
    Message {
        reasoning: text("reasoning"),
        content: text("content"),
        calls: calls
            .map(|call| (text_of(call, "name"), text_of(call, "arguments")))
            .collect(),
        finish: choice["finish_reason"].as_str().unwrap().to_owned(),
    }
}

/// Assembles the same from the chunks of a stream, in which reasoning comes before all else.
fn streamed(chunks: &[Value]) -> Message {
    let mut message = Message::default();
    for chunk in chunks {
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        if let Some(text) = delta["reasoning"].as_str() {
            assert!(
                message.content.is_empty() && message.calls.is_empty(),
                "{chunk}"
            );
            message.reasoning.push_str(text);
        }
        message
            .content
            .push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            if let Some(name) = function["name"].as_str() {
                message.calls.push((name.to_owned(), String::new()));
            }
            let arguments = function["arguments"].as_str().unwrap();
            message.calls.last_mut().unwrap().1.push_str(arguments);
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            message.finish = finish.to_owned();
        }
    }
    message
}

/// Returns the answer, which must be the same whether it is streamed or not.
fn answer(server: &Running, body: &Value) -> (Message, Value) {
    let reply = server.post(PATH, body).expect(200);
    let message = whole(&reply);
    let mut body = body.clone();
    body["stream"] = true.into();
    assert_eq!(streamed(&server.stream(PATH, &body).chunks()), message);
    (message, reply["usage"].clone())
}

#[test]
fn a_schema_comes_after_reasoning_that_the_template_opens() {
    let (_folder, spec) = thinking_model();
    let server = serve(spec);
    for budget in [1, 4, 30] {
        let (message, usage) = answer(
            &server,
            &ask(json!({
                "response_format": format(),
                "chat_template_kwargs": {"opens": true},
                "structgen": {"reasoning_tokens": budget},
            })),
        );
        assert!(!message.reasoning.is_empty(), "{message:?}");
        assert!(is_weather(&message.content), "{message:?}");
        assert!(!message.reasoning.contains("think>"), "{message:?}");
        let reasoning = usage["completion_tokens_details"]["reasoning_tokens"]
            .as_u64()
            .unwrap();
        assert!((1..=budget).contains(&reasoning), "{usage} {message:?}");
    }
}

#[test]
fn reasoning_leaves_room_for_the_answer() {
    let (_folder, spec) = thinking_model();
    let server = serve(spec);
    // The model would continue to reason; the budget covers both.
    for most in [40, 60, 100] {
        let (message, usage) = answer(
            &server,
            &ask(json!({
                "response_format": format(),
                "chat_template_kwargs": {"opens": true},
                "max_tokens": most,
                "temperature": 2.0,
            })),
        );
        assert!(is_weather(&message.content), "{message:?}");
        assert!(usage["completion_tokens"].as_u64().unwrap() <= most);
    }
    let error = server
        .post(PATH, &ask(json!({"response_format": format(), "chat_template_kwargs": {"opens": true}, "max_tokens": 4})))
        .expect(400);
    assert_eq!(error["error"]["code"], "budget_too_small");
}

#[test]
fn every_constraint_waits_for_the_end_of_reasoning() {
    let (_folder, spec) = thinking_model();
    let server = serve(spec);
    for (fields, allowed) in [
        (json!({"guided_regex": "[0-9]{3}"}), None),
        (
            json!({"guided_choice": ["warm", "cold"]}),
            Some(["warm", "cold"]),
        ),
        (
            json!({"grammar": "root ::= \"yes\" | \"no\""}),
            Some(["yes", "no"]),
        ),
    ] {
        let mut body = ask(fields);
        body["chat_template_kwargs"] = json!({"opens": true});
        body["structgen"] = json!({"reasoning_tokens": 6});
        let (message, _) = answer(&server, &body);
        assert!(!message.reasoning.is_empty(), "{message:?}");
        match allowed {
            Some(allowed) => assert!(allowed.contains(&&*message.content), "{message:?}"),
            None => assert_eq!(
                message
                    .content
                    .parse::<u16>()
                    .unwrap()
                    .to_string()
                    .len()
                    .max(3),
                3
            ),
        }
    }
}

#[test]
fn reasoning_can_be_switched_off() {
    let (_folder, spec) = thinking_model();
    let server = serve(spec);
    let body = ask(json!({"response_format": format(), "reasoning_effort": "none"}));
    let (message, usage) = answer(&server, &body);
    assert_eq!(message.reasoning, "");
    assert!(is_weather(&message.content), "{message:?}");
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 0);
}

#[test]
fn tools_reasoning_and_a_schema_go_together() {
    let (_folder, spec) = thinking_model();
    let server = serve(spec);
    for seed in 0..6 {
        let (message, _) = answer(
            &server,
            &ask(json!({
                "response_format": format(),
                "tools": [tool("weather"), tool("clock")],
                "chat_template_kwargs": {"opens": true},
                "structgen": {"reasoning_tokens": 5},
                "seed": seed,
            })),
        );
        match message.calls.is_empty() {
            true => assert!(
                is_weather(&message.content) && message.finish == "stop",
                "{message:?}"
            ),
            false => assert_eq!((&*message.content, &*message.finish), ("", "tool_calls")),
        }
    }
    let required = ask(json!({
        "tools": [tool("weather"), tool("clock")],
        "tool_choice": "required",
        "parallel_tool_calls": false,
        "chat_template_kwargs": {"opens": true},
        "structgen": {"reasoning_tokens": 5},
    }));
    let (message, _) = answer(&server, &required);
    assert_eq!(message.calls.len(), 1, "{message:?}");
    assert!(!message.reasoning.is_empty());
    let arguments: Value = serde_json::from_str(&message.calls[0].1).unwrap();
    assert!(["Utrecht", "Bremen"].contains(&arguments["city"].as_str().unwrap()));
}

#[test]
fn only_allowed_tools_are_called() {
    let (_folder, spec) = thinking_model();
    let server = serve(spec);
    for (mode, seeds) in [("required", 0..4), ("auto", 4..8)] {
        for seed in seeds {
            let allowed = json!({"mode": mode, "tools": [{"type": "function", "function": {"name": "clock"}}]});
            let (message, _) = answer(
                &server,
                &ask(json!({
                    "tools": [tool("weather"), tool("clock"), tool("map")],
                    "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed},
                    "reasoning_effort": "none",
                    "seed": seed,
                })),
            );
            assert!(
                message.calls.iter().all(|(name, _)| name == "clock"),
                "{message:?}"
            );
            assert!(mode == "auto" || !message.calls.is_empty(), "{message:?}");
        }
    }
}

#[test]
fn harmony_s_channels_are_reasoning_content_and_calls() {
    let (_folder, spec) = harmony_model();
    let server = serve(spec);
    let mut has_reasoned = 0;
    for seed in 0..6 {
        let body = ask(json!({
            "response_format": format(),
            "reasoning_effort": "low",
            "structgen": {"reasoning_tokens": 8},
            "seed": seed,
            "temperature": 1.5,
        }));
        let (message, usage) = answer(&server, &body);
        assert!(is_weather(&message.content), "{message:?}");
        let reasoning = &usage["completion_tokens_details"]["reasoning_tokens"];
        assert!(reasoning.as_u64().unwrap() <= 8, "{usage}");
        has_reasoned += usize::from(!message.reasoning.is_empty());
    }
    assert!(has_reasoned > 0, "it may reason");
    let (message, _) = answer(
        &server,
        &ask(json!({
            "tools": [tool("weather"), tool("clock")],
            "tool_choice": {"type": "function", "function": {"name": "clock"}},
            "structgen": {"reasoning_tokens": 8},
        })),
    );
    assert_eq!(message.calls[0].0, "clock", "{message:?}");
    // Calls and content have channels of their own.
    for seed in 0..3 {
        let (message, _) = answer(
            &server,
            &ask(
                json!({"tools": [tool("clock")], "guided_choice": ["warm", "cold"], "seed": seed}),
            ),
        );
        assert!(
            !message.calls.is_empty() || ["warm", "cold"].contains(&&*message.content),
            "{message:?}"
        );
    }
}

#[test]
fn reasoning_is_an_item_of_a_response() {
    let (_folder, spec) = thinking_model();
    let server = serve(spec);
    let body = json!({
        "input": "Is it warm?",
        "chat_template_kwargs": {"opens": true},
        "structgen": {"reasoning_tokens": 5},
        "max_output_tokens": 100,
        "text": {"format": {"type": "json_schema", "name": "w", "schema": format()["json_schema"]["schema"]}},
    });
    let reply = server.post("/v1/responses", &body).expect(200);
    let kinds: Vec<&str> = { reply["output"].as_array().unwrap().iter() }
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["reasoning", "message"]);
    assert!(is_weather(
        reply["output"][1]["content"][0]["text"].as_str().unwrap()
    ));
    let details = &reply["usage"]["output_tokens_details"];
    assert!((1..=5).contains(&details["reasoning_tokens"].as_u64().unwrap()));
    let mut body = body;
    body["stream"] = true.into();
    let events = server.stream("/v1/responses", &body).events();
    let at = |wanted: &str| events.iter().position(|(name, _)| name == wanted).unwrap();
    assert!(at("response.reasoning_text.done") < at("response.output_text.delta"));
}

#[test]
fn a_model_that_does_not_reason_takes_no_budget_for_it() {
    let (_folder, spec) = chat_model();
    let server = serve(spec);
    for (fields, param) in [
        (
            json!({"structgen": {"reasoning_tokens": 5}}),
            "structgen.reasoning_tokens",
        ),
        (json!({"reasoning_effort": "low"}), "reasoning_effort"),
    ] {
        let error = server.post(PATH, &ask(fields)).expect(400);
        assert_eq!(error["error"]["param"], param, "{error}");
    }
}
