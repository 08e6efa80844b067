//! `/v1/responses`: whole, as typed events, stored and continued.

use serde_json::{Value, json};

use crate::support::model::chat_model;
use crate::support::{request, serve, serve_with};

fn ask(fields: Value) -> Value {
    let mut body = json!({
        "input": "Ada is 36 years old",
        "text": {"format": {"type": "json_schema", "name": "person", "strict": true, "schema": {
            "type": "object",
            "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]+$"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
            "additionalProperties": false,
        }}},
    });
    let fields = fields.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    body
}

const PERSON: &str = r#"{"name":"Ada","age":36}"#;

#[test]
fn a_response_has_its_output_as_items() {
    let server = serve();
    let reply = server
        .post("/v1/responses", &ask(json!({"metadata": {"a": "b"}})))
        .expect(200);
    assert_eq!(reply["object"], "response");
    assert_eq!(reply["status"], "completed");
    assert_eq!(reply["metadata"], json!({"a": "b"}));
    let message = &reply["output"][0];
    assert_eq!(
        (&message["type"], &message["role"]),
        (&json!("message"), &json!("assistant"))
    );
    assert_eq!(message["content"][0]["type"], "output_text");
    assert_eq!(message["content"][0]["text"], PERSON);
    let usage = &reply["usage"];
    assert!(usage["input_tokens"].as_u64().unwrap() > 0);
    assert!(usage["output_tokens_details"].is_object());
}

#[test]
fn events_are_typed_numbered_and_end_with_the_response() {
    let server = serve();
    let events = server
        .stream("/v1/responses", &ask(json!({"stream": true})))
        .events();
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names[..4],
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
        ]
    );
    assert_eq!(
        names[names.len() - 4..],
        [
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!(data["type"], *name);
        assert_eq!(data["sequence_number"], number);
    }
    let text: String = { events.iter() }
        .filter(|(name, _)| name == "response.output_text.delta")
        .map(|(_, data)| data["delta"].as_str().unwrap())
        .collect();
    assert_eq!(text, PERSON);
    let response = &events.last().unwrap().1["response"];
    assert_eq!(response["output"][0]["content"][0]["text"], PERSON);
    assert_eq!(response["id"], events[0].1["response"]["id"]);
}

#[test]
fn calls_are_items_of_their_own() {
    let server = serve();
    let tool = json!({"type": "function", "name": "person", "parameters": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false,
    }});
    let body = json!({"input": "Ada is 36 years old", "tools": [tool], "tool_choice": {"type": "function", "name": "person"}});
    let reply = server.post("/v1/responses", &body).expect(200);
    let call = &reply["output"][0];
    assert_eq!(
        (&call["type"], &call["name"]),
        (&json!("function_call"), &json!("person"))
    );
    let whole = call["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(whole).unwrap()["name"].is_string());
    let mut body = body;
    body["stream"] = true.into();
    let events = server.stream("/v1/responses", &body).events();
    let arguments: String = { events.iter() }
        .filter(|(name, _)| name == "response.function_call_arguments.delta")
        .map(|(_, data)| data["delta"].as_str().unwrap())
        .collect();
    assert_eq!(arguments, whole);
}

#[test]
fn what_is_kept_can_be_asked_for_and_forgotten() {
    let server = serve();
    let reply = server.post("/v1/responses", &ask(json!({}))).expect(200);
    let path = format!("/v1/responses/{}", reply["id"].as_str().unwrap());
    assert_eq!(server.get(&path).expect(200), reply);
    server
        .post(&format!("{path}/cancel"), &json!({}))
        .expect(400);
    let gone = request(server.address, "DELETE", &path, &[], None).expect(200);
    assert_eq!(gone["deleted"], true);
    assert_eq!(
        server.get(&path).expect(404)["error"]["code"],
        "response_not_found"
    );
    let reply = server
        .post("/v1/responses", &ask(json!({"store": false})))
        .expect(200);
    let path = format!("/v1/responses/{}", reply["id"].as_str().unwrap());
    server.get(&path).expect(404);
}

#[test]
fn a_response_goes_on_with_an_earlier_one() {
    let (_folder, spec) = chat_model();
    let server = serve_with(|config| config.models = vec![spec]);
    let tokens = |reply: &Value| reply["usage"]["input_tokens"].as_u64().unwrap();
    let body =
        json!({"input": "One and two.", "max_output_tokens": 8, "instructions": "Be brief."});
    let first = server.post("/v1/responses", &body).expect(200);
    let next =
        json!({"input": "And three.", "max_output_tokens": 8, "previous_response_id": first["id"]});
    let second = server.post("/v1/responses", &next).expect(200);
    assert!(tokens(&second) > tokens(&first));
    assert_eq!(second["previous_response_id"], first["id"]);
    let unknown = json!({"input": "x", "previous_response_id": "resp_0"});
    let error = server.post("/v1/responses", &unknown).expect(404);
    assert_eq!(error["error"]["param"], "previous_response_id");
    let items = json!({"max_output_tokens": 4, "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "Rain."},
    ]});
    server.post("/v1/responses", &items).expect(200);
}

#[test]
fn a_streamed_response_can_be_cancelled() {
    let server = serve();
    let body = json!({"input": "x", "stream": true, "ignore_eos": true, "max_output_tokens": 3000, "temperature": 1.5});
    let mut stream = server.stream("/v1/responses", &body);
    let (_, created) = stream.event().unwrap();
    let created: Value = serde_json::from_str(&created).unwrap();
    let id = created["response"]["id"].as_str().unwrap();
    while stream.event().unwrap().0.as_deref() != Some("response.output_text.delta") {}
    let path = format!("/v1/responses/{id}");
    let reply = server
        .post(&format!("{path}/cancel"), &json!({}))
        .expect(200);
    assert_eq!(reply["status"], "cancelled");
    let message = &reply["output"][0];
    assert_eq!(message["status"], "incomplete");
    assert!(!message["content"][0]["text"].as_str().unwrap().is_empty());
    assert_eq!(server.get(&path).expect(200), reply);
    let events = stream.events();
    let (name, done) = &events[events.len() - 2];
    assert_eq!(name, "response.output_item.done");
    assert_eq!(done["item"]["status"], "incomplete");
    let (name, last) = events.last().unwrap();
    assert_eq!(name, "response.incomplete");
    assert_eq!(last["response"], reply);
    server
        .post(&format!("{path}/cancel"), &json!({}))
        .expect(400);
    assert_eq!(server.metric("structgen_cancelled_total"), 1);
}

#[test]
fn the_message_of_an_incomplete_response_is_incomplete() {
    let server = serve();
    let body = json!({"input": "x", "ignore_eos": true, "max_output_tokens": 4});
    let reply = server.post("/v1/responses", &body).expect(200);
    assert_eq!(reply["status"], "incomplete");
    assert_eq!(reply["output"][0]["status"], "incomplete");
    let reply = server.post("/v1/responses", &ask(json!({}))).expect(200);
    assert_eq!(reply["output"][0]["status"], "completed");
}

#[test]
fn fields_are_repeated_as_they_were_written() {
    let server = serve();
    let text = r#"{"format": {"type": "json_schema", "name": "x", "schema": {"const": 123456789012345.123456789}}}"#;
    let body = format!(r#"{{"input": "x", "text": {text}, "top_p": 0.50}}"#);
    let reply = server.post_text("/v1/responses", &body);
    assert_eq!(reply.status, 200, "{}", reply.body);
    for field in [
        &format!(r#""text":{text}"#),
        r#""top_p":0.50"#,
        r#""tools":[]"#,
    ] {
        assert!(reply.body.contains(field), "{field} in {}", reply.body);
    }
}

#[test]
fn fields_that_are_not_honoured_are_refused_by_name() {
    let server = serve();
    for (fields, param) in [
        (json!({"background": true}), "background"),
        (json!({"truncation": "auto"}), "truncation"),
        (json!({"conversation": "c"}), "conversation"),
        (json!({"include": ["file_search_call.results"]}), "include"),
        (json!({"text": {"verbosity": "low"}}), "text.verbosity"),
        (
            json!({"reasoning": {"summary": "auto"}}),
            "reasoning.summary",
        ),
        (json!({"max_output_tokens": 1}), "max_output_tokens"),
        (
            json!({"input": [{"type": "item_reference", "id": "x"}]}),
            "input[0].type",
        ),
        (json!({"guided_regex": "a"}), "text.format"),
    ] {
        let error = server
            .post("/v1/responses", &ask(fields.clone()))
            .expect(400);
        let found = error["error"]["param"].as_str().unwrap();
        assert!(found.starts_with(param), "{fields}: {error}");
    }
}

#[test]
fn every_token_of_a_message_has_its_log_probability() {
    let server = serve();
    // Each token is held back until it is known not to start a stop text.
    let body = json!({"input": "x", "guided_regex": "[ab]{12}", "stop": ["aX", "bX"], "top_logprobs": 1,
        "store": false});
    let reply = server.post("/v1/responses", &body).expect(200);
    let listed = reply["output"][0]["content"][0]["logprobs"]
        .as_array()
        .unwrap()
        .len();
    let chat = json!({"messages": [{"role": "user", "content": "x"}], "guided_regex": "[ab]{12}",
        "stop": ["aX", "bX"], "logprobs": true, "top_logprobs": 1});
    let chat = server.post("/v1/chat/completions", &chat).expect(200);
    let of_chat = chat["choices"][0]["logprobs"]["content"]
        .as_array()
        .unwrap();
    assert_eq!(listed, of_chat.len());
    let mut body = body;
    body["stream"] = true.into();
    let events = server.stream("/v1/responses", &body).events();
    let deltas = { events.iter() }.filter(|(name, _)| name == "response.output_text.delta");
    let streamed: usize = deltas
        .map(|(_, data)| data["logprobs"].as_array().unwrap().len())
        .sum();
    assert_eq!(streamed, listed);
}
