//! The fields of a request for a response.

use serde_json::{Map, Value, json};
use structgen::chat::ChatMessage;

use super::body::Repeated;
use crate::api::fields::take_labels;
use crate::config::ServerLimits;
use crate::error::{ApiError, Result};
use crate::fields::{Fields, parse};
use crate::generation::{
    Ask, Chat, Conversation, MOST_MESSAGES, Nesting, Prompt, Settings, Target, Tools, content_text,
    named_schema, past_call,
};

/// A request for a response.
pub(super) struct ResponseRequest {
    pub(super) model: Option<String>,
    /// The input of this request, without the conversation that it continues.
    pub(super) input: Conversation,
    pub(super) previous: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) ask: Ask,
    pub(super) is_stored: bool,
    pub(super) is_streamed: bool,
    /// The fields of the request that the response repeats.
    pub(super) repeated: Repeated,
}

pub(super) fn read(fields: &mut Fields<'_>, limits: &ServerLimits) -> Result<ResponseRequest> {
    let repeated = Repeated::of(fields)?;
    let model = fields.take("model")?;
    let input = input(fields)?;
    let instructions: Option<String> = fields.take("instructions")?;
    let previous = fields.take("previous_response_id")?;
    let mut settings = Settings::read(fields, limits)?;
    settings.read_max_tokens(fields, &["max_output_tokens"])?;
    settings.need_one_output()?;
    let has_logprobs = includes_logprobs(fields)?;
    match fields.take("top_logprobs")? {
        None if has_logprobs => settings.set_logprobs(0, "top_logprobs", limits)?,
        Some(others) if has_logprobs || others > 0 => {
            settings.set_logprobs(others, "top_logprobs", limits)?;
        }
        _ => {}
    }
    let mut target = Target::read(fields)?;
    if let Some(mut text) = fields.object("text")? {
        if let Some(format) = text.object("format")? {
            target = target.or(text_format(format)?)?;
        }
        text.finish()?;
    }
    let tools = Tools::read(fields, Nesting::Flat)?;
    let mut chat = Chat::default();
    if let Some(mut reasoning) = fields.object("reasoning")? {
        chat.reasoning_effort = reasoning.take("effort")?;
        reasoning.finish()?;
    }
    chat.variables = fields.take("chat_template_kwargs")?.unwrap_or_default();
    take_labels(fields)?;
    let _: Option<Map<String, Value>> = fields.take("metadata")?;
    let is_stored = fields.take("store")?.unwrap_or(true);
    let is_streamed = fields.take("stream")?.unwrap_or(false);
    // Usage is part of the response, streamed or not.
    if let Some(options) = fields.object("stream_options")? {
        options.finish()?;
    }
    for (name, only) in [
        ("truncation", json!("disabled")),
        ("background", json!(false)),
    ] {
        if let Some(value) = fields.take::<Value>(name)?
            && value != only
        {
            let message = format!("{name} may only be {only}");
            return Err(ApiError::invalid(name, message));
        }
    }
    Ok(ResponseRequest {
        model,
        input,
        previous,
        instructions,
        ask: Ask {
            prompt: Prompt::Chat(chat),
            target,
            tools,
            settings,
        },
        is_stored,
        is_streamed,
        repeated,
    })
}

/// Returns whether `include` asks for log probabilities, its only supported value.
fn includes_logprobs(fields: &mut Fields<'_>) -> Result<bool> {
    let include: Vec<String> = fields.take("include")?.unwrap_or_default();
    const LOGPROBS: &str = "message.output_text.logprobs";
    match include.iter().find(|name| *name != LOGPROBS) {
        None => Ok(!include.is_empty()),
        Some(other) => {
            let message = format!("include may have {LOGPROBS} only, and has {other:?}");
            Err(ApiError::invalid("include", message))
        }
    }
}

fn text_format(mut format: Fields<'_>) -> Result<Target> {
    let kind: String = format.need("type")?;
    match &*kind {
        "text" | "json_object" => {
            let path = format.path().to_owned();
            format.finish()?;
            Ok(match &*kind {
                "text" => Target::default(),
                _ => Target::object(path),
            })
        }
        "json_schema" => named_schema(format),
        _ => {
            let path = format.path_of("type");
            let message =
                format!("{path} is {kind:?}, and must be text, json_object or json_schema");
            Err(ApiError::invalid(path, message))
        }
    }
}

/// Reads the input: a text of the user, or items.
fn input(fields: &mut Fields<'_>) -> Result<Conversation> {
    let Some(input) = fields.raw("input") else {
        return Err(fields.missing("input"));
    };
    let mut conversation = Conversation::default();
    if input.get().starts_with('"') {
        conversation.push("user", parse(input, "input")?);
        return Ok(conversation);
    }
    fields.put_back("input", input);
    let items = fields.list("input")?.unwrap_or_default();
    if items.len() > MOST_MESSAGES {
        let message = format!("input may have at most {MOST_MESSAGES} items");
        return Err(ApiError::invalid("input", message));
    }
    let mut calls = Vec::new();
    for (path, item) in items {
        let item = Fields::of_value(item, path, fields.unread())?;
        add_item(&mut conversation, &mut calls, item)?;
    }
    conversation.push_calls(calls);
    Ok(conversation)
}

/// Adds an item to a conversation, or to the calls after its last message.
fn add_item(
    conversation: &mut Conversation,
    calls: &mut Vec<Value>,
    mut item: Fields<'_>,
) -> Result<()> {
    let kind: Option<String> = item.take("type")?;
    // Items of earlier responses come back with these fields.
    let _: Option<String> = item.take("id")?;
    let _: Option<String> = item.take("status")?;
    match kind.as_deref().unwrap_or("message") {
        "message" => {
            let role: String = item.need("role")?;
            let role = match &*role {
                "system" | "developer" => "system",
                "user" | "assistant" => &role,
                _ => {
                    let path = item.path_of("role");
                    let message = format!(
                        "{path} is {role:?}, and must be system, developer, user or assistant"
                    );
                    return Err(ApiError::invalid(path, message));
                }
            };
            let path = item.path_of("content");
            let content = item.raw("content").ok_or_else(|| item.missing("content"))?;
            let text = content_text(content, &path, item.unread())?;
            conversation.push_calls(std::mem::take(calls));
            conversation.push(role, text);
        }
        "function_call" => {
            let call_id: String = item.need("call_id")?;
            let name: String = item.need("name")?;
            let path = item.path_of("arguments");
            let arguments: String = item.need("arguments")?;
            calls.push(past_call(Some(call_id), &name, &arguments, &path)?);
        }
        "function_call_output" => {
            let call_id: String = item.need("call_id")?;
            let path = item.path_of("output");
            let output = item.raw("output").ok_or_else(|| item.missing("output"))?;
            let text = content_text(output, &path, item.unread())?;
            let message = ChatMessage::tool(text).with("tool_call_id", call_id);
            conversation.push_calls(std::mem::take(calls));
            conversation.messages.push(message);
        }
        // Earlier reasoning is not part of later prompts.
        "reasoning" => drop(item.rest()),
        other => {
            let path = item.path_of("type");
            let message = format!(
                "{path} is {other:?}, and must be message, function_call, function_call_output or reasoning"
            );
            return Err(ApiError::invalid(path, message));
        }
    }
    item.finish()
}
