//! Tools: as extractions on the embedded model, and in their own format on chat models.

use serde_json::{Value, json};

use crate::support::model::chat_model;
use crate::support::{serve, serve_with};

fn tool(name: &str, property: &str) -> Value {
    json!({"type": "function", "function": {
        "name": name,
        "description": "It does something.",
        "strict": true,
        "parameters": {
            "type": "object",
            "properties": {property: {"type": "string", "maxLength": 12}},
            "required": [property],
            "additionalProperties": false,
        },
    }})
}

fn ask(choice: Value) -> Value {
    json!({
        "messages": [{"role": "user", "content": "What is the weather in Utrecht?"}],
        "tools": [tool("weather", "city"), tool("clock", "zone")],
        "tool_choice": choice,
    })
}

fn call(reply: &Value) -> (String, Value) {
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{reply}");
    assert!(choice["message"]["content"].is_null());
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["type"], "function");
    assert!(call["id"].as_str().unwrap().starts_with("call_"));
    let arguments = call["function"]["arguments"].as_str().unwrap();
    let name = call["function"]["name"].as_str().unwrap();
    (name.to_owned(), serde_json::from_str(arguments).unwrap())
}

#[test]
fn the_embedded_model_extracts_the_arguments_of_a_named_tool() {
    let server = serve();
    let named = json!({"type": "function", "function": {"name": "weather"}});
    let reply = server
        .post("/v1/chat/completions", &ask(named.clone()))
        .expect(200);
    assert_eq!(
        call(&reply),
        ("weather".to_owned(), json!({"city": "Utrecht"}))
    );

    let mut body = ask(named);
    body["stream"] = true.into();
    let chunks = server.stream("/v1/chat/completions", &body).chunks();
    let deltas = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0].as_object());
    let mut arguments = String::new();
    let mut names = Vec::new();
    for delta in deltas {
        let function = &delta["function"];
        names.extend(function.get("name").cloned());
        arguments.push_str(function["arguments"].as_str().unwrap());
    }
    assert_eq!(names, ["weather"]);
    assert_eq!(
        serde_json::from_str::<Value>(&arguments).unwrap(),
        json!({"city": "Utrecht"})
    );
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "tool_calls"
    );
}

#[test]
fn the_embedded_model_chooses_among_several_tools() {
    let server = serve();
    for choice in [
        json!("auto"),
        json!("required"),
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
            {"type": "function", "function": {"name": "weather"}},
            {"type": "function", "function": {"name": "clock"}},
        ]}}),
    ] {
        let reply = server
            .post("/v1/chat/completions", &ask(choice))
            .expect(200);
        let (name, arguments) = call(&reply);
        let key = if name == "weather" { "city" } else { "zone" };
        assert!(arguments[key].is_string());
    }
}

#[test]
fn where_no_tool_may_be_called_the_embedded_model_writes_text() {
    let server = serve();
    let mut body = ask(json!("none"));
    body["max_tokens"] = 4.into();
    let reply = server.post("/v1/chat/completions", &body).expect(200);
    assert!(reply["choices"][0]["message"]["tool_calls"].is_null());
}

#[test]
fn a_chat_model_calls_tools_in_its_format() {
    let (_folder, spec) = chat_model();
    let server = serve_with(|config| config.models = vec![spec]);
    for (choice, names) in [
        (json!("required"), vec!["weather", "clock"]),
        (
            json!({"type": "function", "function": {"name": "clock"}}),
            vec!["clock"],
        ),
    ] {
        let mut body = ask(choice);
        body["parallel_tool_calls"] = false.into();
        body["max_tokens"] = 300.into();
        let reply = server.post("/v1/chat/completions", &body).expect(200);
        let (name, arguments) = call(&reply);
        assert!(names.contains(&&*name));
        assert_eq!(arguments.as_object().unwrap().len(), 1);
        assert_eq!(
            reply["choices"][0]["message"]["tool_calls"]
                .as_array()
                .unwrap()
                .len(),
            1
        );

        body["stream"] = true.into();
        let chunks = server.stream("/v1/chat/completions", &body).chunks();
        assert_eq!(
            chunks.last().unwrap()["choices"][0]["finish_reason"],
            "tool_calls"
        );
    }
    let mut none = ask(json!("none"));
    none["max_tokens"] = 20.into();
    let reply = server.post("/v1/chat/completions", &none).expect(200);
    assert!(reply["choices"][0]["message"]["tool_calls"].is_null());
}

#[test]
fn names_and_schemas_of_tools_are_checked() {
    let server = serve();
    for (change, param) in [
        (
            json!({"tool_choice": {"type": "function", "function": {"name": "other"}}}),
            "tool_choice",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"name": "<|im_end|>"}}]}),
            "tools[0].function.name",
        ),
        (
            json!({"tools": [tool("weather", "a"), tool("weather", "b")]}),
            "tools",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "minProperties": "x"}}}]}),
            "tools[0].function.parameters#/minProperties",
        ),
    ] {
        let mut body = ask(json!("auto"));
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let error = server.post("/v1/chat/completions", &body).expect(400);
        assert_eq!(error["error"]["param"], param, "{error}");
    }
}

#[test]
fn earlier_calls_and_their_results_are_part_of_the_prompt() {
    let (_folder, spec) = chat_model();
    let server = serve_with(|config| config.models = vec![spec]);
    let mut body = ask(json!("none"));
    body["max_tokens"] = 8.into();
    let before = server.post("/v1/chat/completions", &body).expect(200);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Utrecht\"}"}},
    ]}));
    messages.push(json!({"role": "tool", "tool_call_id": "call_1", "content": "Rain."}));
    let after = server.post("/v1/chat/completions", &body).expect(200);
    let tokens = |reply: &Value| reply["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(tokens(&after) > tokens(&before) + 10);
}

#[test]
fn names_of_special_tokens_in_messages_stay_text() {
    let (_folder, spec) = chat_model();
    let server = serve_with(|config| config.models = vec![spec]);
    let tokens = |text: &str| {
        let body = json!({"messages": [{"role": "user", "content": text}], "max_tokens": 1});
        let reply = server.post("/v1/chat/completions", &body).expect(200);
        reply["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    // As a special token it would be one; as text it is several.
    assert!(tokens("<json><json><json>") > tokens("x") + 6);
}

/// More digits than a float has.
const DIGITS: &str = "123456789012345.123456789";

fn exact(name: &str) -> String {
    format!(
        r#""name": "{name}", "parameters": {{"properties": {{"a": {{"const": {DIGITS}}}}}, "required": ["a"], "additionalProperties": false}}"#
    )
}

#[test]
fn numbers_in_schemas_of_tools_keep_their_digits() {
    let (_folder, spec) = chat_model();
    let server = serve_with(|config| config.models.push(spec));
    // A number may be written with zeros at its end.
    let digits = |arguments: &str| {
        let text = arguments.replace(' ', "");
        let number = text
            .strip_prefix(r#"{"a":"#)
            .and_then(|it| it.strip_suffix('}'));
        number.unwrap_or(arguments).trim_end_matches('0').to_owned()
    };
    let tool = |name: &str| format!(r#"{{"type": "function", "function": {{{}}}}}"#, exact(name));
    for (model, tools) in [
        ("structgen", tool("f")),
        ("structgen", format!("{}, {}", tool("f"), tool("g"))),
        ("chat", tool("f")),
    ] {
        let body = format!(
            r#"{{"model": "{model}", "messages": [{{"role": "user", "content": "x"}}], "tools": [{tools}],
                "tool_choice": "required", "parallel_tool_calls": false, "max_tokens": 300}}"#
        );
        let reply = server.post_text("/v1/chat/completions", &body).expect(200);
        let call = &reply["choices"][0]["message"]["tool_calls"][0];
        let arguments = call["function"]["arguments"].as_str().unwrap();
        assert_eq!(digits(arguments), DIGITS, "{model}");
    }
    let body = format!(
        r#"{{"input": "x", "tools": [{{"type": "function", {}}}], "tool_choice": "required"}}"#,
        exact("f")
    );
    let reply = server.post_text("/v1/responses", &body);
    assert!(reply.body.contains(&exact("f")), "{}", reply.body);
    let reply = reply.expect(200);
    let arguments = reply["output"][0]["arguments"].as_str().unwrap();
    assert_eq!(digits(arguments), DIGITS);
}

#[test]
fn a_schema_of_arguments_is_that_of_an_object() {
    let server = serve();
    let body = |parameters: Value| {
        json!({"messages": [{"role": "user", "content": "x"}], "tools": [
            {"type": "function", "function": {"name": "f", "parameters": parameters}},
        ]})
    };
    for parameters in [
        json!({"type": "string"}),
        json!({"type": ["object", "null"]}),
        json!(true),
        json!("{}"),
        json!([]),
    ] {
        let reply = server.post("/v1/chat/completions", &body(parameters));
        let error = reply.expect(400);
        assert_eq!(error["error"]["param"], "tools[0].function.parameters");
    }
    // Without a type, arguments are an object nevertheless.
    let parameters = json!({"anyOf": [{"type": "string"}, {"properties": {"a": {"const": 1}}, "required": ["a"]}],
        "additionalProperties": false, "properties": {"a": {}}});
    let reply = server.post("/v1/chat/completions", &body(parameters));
    assert_eq!(call(&reply.expect(200)).1, json!({"a": 1}));
    let none = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}});
    let error = server.post("/v1/chat/completions", &ask(none)).expect(400);
    assert_eq!(error["error"]["param"], "tool_choice.allowed_tools.tools");
}
