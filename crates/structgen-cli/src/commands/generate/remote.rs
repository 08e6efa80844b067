//! `structgen generate --server`: generation on a server.

use std::time::Instant;

use serde_json::{Map, Value, json};
use structgen::chat::ChatMessage;
use structgen_lab::advise::Symptom;

use super::{Args, Form, Given};
use crate::Outcome;
use crate::chat_args::Prompt;
use crate::error::{DONE, Failure};
use crate::output::{detail, is_verbose, note, write, write_line};
use crate::remote::{Body, Events, Remote};
use crate::settings::Settings;

/// The parameters that are fields of a request, or that only matter here.
const OWN: &[&str] = &[
    "schema.at",
    "schema.strict",
    "choices_file",
    "structural_tag",
    "api_key",
    "chat.variables",
    "chat.generation_prompt",
    "chat.continue_final_message",
    "tools.choice",
    "tools.reasoning",
    "tools.reasoning_tokens",
];

/// What is known about an output once it is complete.
#[derive(Debug, Default)]
struct Summary {
    is_cut_off: bool,
    report: Option<Value>,
    usage: Option<Value>,
}

impl Args {
    /// Generates on a server. `settings` are those given by flags.
    pub(super) fn run_on(&self, url: &str, settings: &Settings, given: &Given) -> Outcome {
        let lists_outputs = settings.lists_outputs();
        let body = self.body(settings, given)?;
        let path = match self.chat.is_used() {
            true => "/v1/chat/completions",
            false => "/v1/completions",
        };
        let key = settings.api_key.as_deref();
        let remote = Remote::new(url, key, self.model.model.as_deref())?;
        settings.report_seed(None);
        let started = Instant::now();
        let has_tools = given.tools().is_some();
        let summary = match lists_outputs || has_tools || self.results.pretty {
            true => self.print_whole(&remote, path, body, lists_outputs)?,
            false => print_stream(remote.stream(path, streamed(body))?)?,
        };
        report_stats(&summary, started);
        if summary.is_cut_off && given.constraint.is_none() {
            note(&format!("advice: {}", Symptom::CutOff.advice()));
        }
        Ok(DONE)
    }

    /// The request.
    fn body(&self, settings: &Settings, given: &Given) -> anyhow::Result<Body> {
        let mut extras = Map::new();
        if is_verbose() {
            extras.insert("report".to_owned(), true.into());
        }
        if let Some(tokens) = settings.tools.reasoning_tokens {
            extras.insert("reasoning_tokens".to_owned(), tokens.into());
        }
        let mut body = settings.request(OWN, extras)?;
        given.set_in(&mut body)?;
        match self
            .chat
            .read(&self.prompt, &settings.chat, given.tools_file())?
        {
            Prompt::Text(text) => body.set("prompt", text),
            Prompt::Chat(messages, options) => {
                let messages: Vec<_> = messages.iter().map(ChatMessage::fields).collect();
                body.set("messages", messages);
                if options.continue_final_message {
                    body.set("continue_final_message", true);
                } else if !options.add_generation_prompt {
                    body.set("add_generation_prompt", false);
                }
                if !options.variables.is_empty() {
                    body.set("chat_template_kwargs", &options.variables);
                }
                if let Some(tools) = &options.tools {
                    body.set("tools", tools);
                    settings.tools.set_in(&mut body)?;
                }
            }
        }
        Ok(body)
    }

    /// Prints outputs once they are complete.
    fn print_whole(
        &self,
        remote: &Remote,
        path: &str,
        body: Body,
        lists_outputs: bool,
    ) -> Result<Summary, Failure> {
        let strange = || remote.strange("something else");
        let reply = remote.ask(path, body)?;
        let mut reply: Value = serde_json::from_str(&reply).map_err(|_| strange())?;
        let mut summary = Summary {
            usage: reply.get_mut("usage").map(Value::take),
            ..Summary::default()
        };
        let choices = reply.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.ok_or_else(strange)? {
            summary.add(choice);
            let text = text_of(choice, "message").unwrap_or_default();
            let line = match (lists_outputs, self.constraint.tools.is_some()) {
                (true, _) => json!({ "text": text }).to_string(),
                (_, true) => self.results.shown(&calls(choice, text).to_string()),
                _ => self.results.shown(text),
            };
            write_line(&line)?;
        }
        Ok(summary)
    }
}

impl Summary {
    fn add(&mut self, choice: &Value) {
        self.is_cut_off |= choice["finish_reason"] == "length";
        if let Some(report) = choice.pointer("/structgen/report") {
            self.report = Some(report.clone());
        }
    }
}

/// Requests a streamed reply.
fn streamed(mut body: Body) -> Body {
    body.set("stream", true);
    body.set("stream_options", json!({"include_usage": true}));
    body
}

/// Prints the text of an output as it arrives.
fn print_stream(events: Events) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    let mut has_begun = false;
    let print = || -> Result<(), Failure> {
        for event in events {
            let event = event?;
            if let Some(usage) = event.get("usage").filter(|usage| !usage.is_null()) {
                summary.usage = Some(usage.clone());
            }
            let Some(choice) = event.pointer("/choices/0") else {
                continue;
            };
            summary.add(choice);
            let text = text_of(choice, "delta").unwrap_or_default();
            if !text.is_empty() {
                write(text)?;
                has_begun = true;
            }
        }
        Ok(())
    };
    let printed = print();
    // End with a line break whatever happened, so that the shell's prompt starts on a new line.
    if has_begun || printed.is_ok() {
        write("\n")?;
    }
    printed.map(|()| summary)
}

/// Returns the text of a choice, from a chat or a plain completion.
fn text_of<'c>(choice: &'c Value, message: &str) -> Option<&'c str> {
    let text = choice
        .get("text")
        .or_else(|| choice.get(message)?.get("content"));
    text?.as_str()
}

/// Returns a message with calls, as [`structgen::tools::Message::to_json`] writes it.
fn calls(choice: &Value, text: &str) -> Value {
    let message = &choice["message"];
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls = calls.map(|call| {
        let function = &call["function"];
        let arguments = function["arguments"].as_str().unwrap_or_default();
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        json!({"name": function["name"], "arguments": arguments, "id": call["id"]})
    });
    let mut json = json!({"text": text, "calls": calls.collect::<Vec<_>>()});
    if let Some(reasoning) = message["reasoning"].as_str() {
        json["reasoning"] = reasoning.into();
    }
    json
}

/// Prints a request's token counts and time, if that is asked for.
fn report_stats(summary: &Summary, started: Instant) {
    let number = |value: &Option<Value>, pointer: &str| {
        let number = value
            .as_ref()
            .and_then(|value| value.pointer(pointer)?.as_f64());
        number.unwrap_or_default()
    };
    let tokens = number(&summary.usage, "/completion_tokens");
    let took = match number(&summary.report, "/seconds/total") {
        seconds if seconds > 0.0 => seconds,
        _ => started.elapsed().as_secs_f64(),
    };
    let finish = summary.report.as_ref().map(|report| &report["finish"]);
    detail(&format!(
        "{} prompt tokens, {tokens} new tokens ({} forced) in {:.0} ms, {:.0} tokens/s; ended: {}",
        number(&summary.usage, "/prompt_tokens"),
        number(&summary.report, "/forced_tokens"),
        took * 1e3,
        tokens / took,
        finish.and_then(Value::as_str).unwrap_or("unknown"),
    ));
}

impl Given {
    /// Sets the field that constrains the output.
    fn set_in(&self, body: &mut Body) -> anyhow::Result<()> {
        match &self.form {
            Form::Free | Form::Tools(..) => {}
            Form::Json => body.set("json_schema", true),
            Form::Schema(schema) => body.set_json("json_schema", schema.to_json()?)?,
            Form::Grammar(grammar) => body.set("grammar", &grammar.text),
            Form::Regex(pattern) => body.set("structured_outputs", json!({ "regex": pattern })),
            Form::Choices(choices) => body.set("structured_outputs", json!({ "choice": choices })),
            Form::StructuralTag(tag) => {
                body.set("structured_outputs", json!({ "structural_tag": tag }));
            }
        }
        Ok(())
    }
}
