//! `GET /openapi.json`: describes the endpoints and their fields, in OpenAPI 3.1.

use axum::Json;
use serde_json::{Map, Value, json};

use crate::generation::parameter_names;

/// Returns the document.
pub(crate) async fn document() -> Json<Value> {
    Json(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "structgen",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "OpenAI's API with constraints that hold. Fields that are not understood are refused by name.",
        },
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": object(&[("error", object(&[
                    ("message", text()),
                    ("type", text()),
                    ("param", json!({"type": ["string", "null"]})),
                    ("code", json!({"type": ["string", "null"]})),
                ], &["message", "type"]))], &["error"]),
            },
        },
        "security": [{"key": []}, {}],
        "paths": {
            "/health": {"get": get("Whether the server answers")},
            "/ready": {"get": get("Whether requests are taken, and the default model can be used")},
            "/version": {"get": get("The server's version")},
            "/metrics": {"get": get("Counters and times, for Prometheus")},
            "/openapi.json": {"get": get("This document")},
            "/v1/models": {"get": get("The models")},
            "/v1/models/{id}": {"get": by_id("A model")},
            "/v1/chat/completions": {"post": post("An answer to a conversation", chat())},
            "/v1/completions": {"post": post("Text after prompts", completions())},
            "/v1/responses": {"post": post("A response, whole or as typed events", responses())},
            "/v1/responses/{id}": {
                "get": by_id("A response that was stored"),
                "delete": by_id("Forgets a response"),
            },
            "/v1/responses/{id}/cancel": {"post": by_id("Ends a response that is being streamed")},
            "/v1/extract": {"post": post("Values of a schema from texts", extract())},
            "/v1/constraints/check": {"post": post("Whether a text matches a constraint", check())},
            "/v1/masks": {"post": post("What may come after the beginning of an output", masks())},
            "/tokenize": {"post": post("The tokens of a text", object(&[
                ("model", text()),
                ("prompt", text()),
                ("content", text()),
                ("add_special_tokens", flag()),
                ("add_special", flag()),
                ("return_token_strs", flag()),
                ("with_pieces", flag()),
            ], &[]))},
            "/detokenize": {"post": post("The text of tokens", object(&[
                ("model", text()),
                ("tokens", list(whole())),
            ], &["tokens"]))},
        },
    }))
}

fn get(summary: &str) -> Value {
    json!({"summary": summary, "responses": replies()})
}

fn by_id(summary: &str) -> Value {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    json!({"summary": summary, "parameters": [id], "responses": replies()})
}

fn post(summary: &str, body: Value) -> Value {
    json!({
        "summary": summary,
        "requestBody": {"required": true, "content": {"application/json": {"schema": body}}},
        "responses": replies(),
    })
}

fn replies() -> Value {
    let error = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}});
    json!({"200": {"description": "Done"}, "default": {"description": "An error", "content": error}})
}

/// Returns the schema of an object without other fields.
fn object(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let fields = fields
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()));
    json!({
        "type": "object",
        "properties": fields.collect::<Map<_, _>>(),
        "required": required,
        "additionalProperties": false,
    })
}

fn text() -> Value {
    json!({"type": "string"})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

fn whole() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn any_object() -> Value {
    json!({"type": "object"})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn texts() -> Value {
    json!({"type": ["string", "array"], "items": {"type": "string"}})
}

fn schema() -> Value {
    json!({"type": ["object", "boolean", "string"], "description": "A JSON Schema"})
}

/// Returns the fields common to all kinds of generation.
fn generation() -> Vec<(&'static str, Value)> {
    let mut fields: Vec<(&str, Value)> = { parameter_names() }
        .map(|name| (name, json!({"type": "number"})))
        .collect();
    let extras = object(
        &[
            ("report", flag()),
            ("steps", flag()),
            ("reasoning_tokens", whole()),
            ("params", any_object()),
        ],
        &[],
    );
    fields.extend([
        ("model", text()),
        ("top_k", json!({"type": "integer"})),
        ("logit_bias", any_object()),
        ("stop", texts()),
        ("bad_words", list(text())),
        ("ignore_eos", flag()),
        ("structgen", extras),
        ("user", text()),
        ("safety_identifier", text()),
        ("prompt_cache_key", text()),
        ("service_tier", json!({"enum": ["auto", "default"]})),
    ]);
    fields
}

/// Returns the fields that constrain the answer.
fn targets() -> Vec<(&'static str, Value)> {
    let outputs = [
        ("json", schema()),
        ("regex", text()),
        ("choice", list(text())),
        ("grammar", text()),
        ("json_object", flag()),
        ("structural_tag", json!({"type": ["object", "string"]})),
        ("whitespace_pattern", text()),
    ];
    vec![
        ("response_format", any_object()),
        ("grammar", text()),
        ("json_schema", schema()),
        ("structured_outputs", object(&outputs, &[])),
        ("guided_json", schema()),
        ("guided_regex", text()),
        ("guided_choice", list(text())),
        ("guided_grammar", text()),
        ("guided_json_object", flag()),
        (
            "guided_structural_tag",
            json!({"type": ["object", "string"]}),
        ),
        ("guided_whitespace_pattern", text()),
    ]
}

fn streaming() -> Vec<(&'static str, Value)> {
    let options = object(&[("include_usage", flag())], &[]);
    vec![("stream", flag()), ("stream_options", options)]
}

fn tools() -> Vec<(&'static str, Value)> {
    vec![
        ("tools", list(any_object())),
        ("tool_choice", json!({"type": ["string", "object"]})),
        ("parallel_tool_calls", flag()),
        ("chat_template_kwargs", any_object()),
        ("metadata", any_object()),
        ("store", flag()),
    ]
}

fn chat() -> Value {
    let own = [
        ("messages", list(any_object())),
        ("max_completion_tokens", whole()),
        ("max_tokens", whole()),
        ("n_predict", whole()),
        ("n", whole()),
        ("logprobs", flag()),
        ("top_logprobs", whole()),
        ("reasoning_effort", text()),
        ("continue_final_message", flag()),
        ("add_generation_prompt", flag()),
        ("modalities", list(json!({"const": "text"}))),
    ];
    let fields = [&own[..], &generation(), &targets(), &tools(), &streaming()].concat();
    object(&fields, &["messages"])
}

fn completions() -> Value {
    let own = [
        ("prompt", json!({"type": ["string", "array"]})),
        ("max_tokens", whole()),
        ("n_predict", whole()),
        ("n", whole()),
        ("best_of", whole()),
        ("logprobs", whole()),
        ("echo", flag()),
    ];
    let fields = [&own[..], &generation(), &targets(), &streaming()].concat();
    object(&fields, &["prompt"])
}

fn responses() -> Value {
    let own = [
        ("input", json!({"type": ["string", "array"]})),
        ("instructions", text()),
        ("previous_response_id", text()),
        ("max_output_tokens", whole()),
        ("text", object(&[("format", any_object())], &[])),
        ("reasoning", object(&[("effort", text())], &[])),
        ("top_logprobs", whole()),
        (
            "include",
            list(json!({"const": "message.output_text.logprobs"})),
        ),
        ("truncation", json!({"const": "disabled"})),
        ("background", json!({"const": false})),
    ];
    let fields = [&own[..], &generation(), &targets(), &tools(), &streaming()].concat();
    object(&fields, &["input"])
}

fn extract() -> Value {
    let own = [
        ("schema", schema()),
        ("text", text()),
        ("texts", list(text())),
        ("grounded", flag()),
        ("alternatives", whole()),
        ("long_text", json!({"enum": ["windows", "refuse"]})),
        ("max_tokens", whole()),
    ];
    object(&[&own[..], &generation()].concat(), &["schema"])
}

fn plain_targets() -> Vec<(&'static str, Value)> {
    vec![
        ("json_schema", schema()),
        ("regex", text()),
        ("grammar", text()),
        ("choice", list(text())),
    ]
}

fn check() -> Value {
    let own = [
        ("text", text()),
        ("profile", json!({"enum": ["exact", "generate", "rust"]})),
    ];
    object(&[&own[..], &plain_targets()].concat(), &["text"])
}

fn masks() -> Value {
    let own = [
        ("model", text()),
        ("prefix", text()),
        ("tokens", list(whole())),
        ("limit", whole()),
    ];
    object(&[&own[..], &plain_targets()].concat(), &[])
}
