//! Chat templates: from messages to a prompt, as the model's `tokenizer_config.json` has it.

mod error;
mod json;
mod time;

pub use error::ChatError;

use std::collections::BTreeMap;
use std::time::SystemTime;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, Error, ErrorKind};
use serde::{Deserialize, Serialize};

use error::Raised;

/// A model's chat template, in the dialect of Jinja that Hugging Face's tokenizers use.
///
/// Understood are the methods of Python's strings, lists and dictionaries, `namespace`, loop controls,
/// `raise_exception`, `strftime_now`, `tojson` as Python writes it, and the `generation` block.
///
/// A template is a program of the model's author: its steps are bounded ([`ChatError::Render`] beyond), and it sees the
/// messages and nothing else.
///
/// ```
/// use structgen_decode::{ChatTemplate, chat::{ChatMessage, ChatOptions}};
///
/// let template = ChatTemplate::from_tokenizer_config(
///     r#"{"bos_token": "<s>", "chat_template":
///         "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m.content | trim }}\n{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"}"#,
///     None,
/// )?;
/// let prompt = template.render(&[ChatMessage::user("Hello!")], &ChatOptions::default())?;
/// assert_eq!(prompt, "<s>[user] Hello!\n[assistant] ");
/// # Ok::<(), structgen_decode::chat::ChatError>(())
/// ```
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    special_tokens: BTreeMap<String, String>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who speaks, usually `system`, `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl ChatMessage {
    /// What the model is told about its task.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new("system", content)
    }

    /// What the user says.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new("user", content)
    }

    /// What the model said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new("assistant", content)
    }

    /// What someone else says.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
        }
    }
}

/// What a template is told beside the messages.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatOptions {
    /// Whether the prompt ends where the model's answer begins.
    pub add_generation_prompt: bool,
    /// The beginning of the answer, put after the prompt as it is.
    pub prefill: String,
    /// Tools that the model may call, in the form that the template expects.
    pub tools: Option<serde_json::Value>,
    /// Further variables of the template, by name.
    pub variables: serde_json::Map<String, serde_json::Value>,
    /// The time that `strftime_now` returns, in UTC.
    pub now: SystemTime,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            add_generation_prompt: true,
            prefill: String::new(),
            tools: None,
            variables: serde_json::Map::new(),
            now: SystemTime::now(),
        }
    }
}

/// The name under which the environment keeps the one template.
const NAME: &str = "chat";

/// No template in use comes near this many steps; one that does is stopped.
const FUEL: u64 = 5_000_000;

impl ChatTemplate {
    /// The template of a `tokenizer_config.json`, with its special tokens.
    ///
    /// Where the file has several templates, `name` chooses; none is the one called `default`.
    ///
    /// # Errors
    /// [`ChatError`]: no JSON, no template, no template of that name, or a template with a syntax error.
    pub fn from_tokenizer_config(json: &str, name: Option<&str>) -> Result<Self, ChatError> {
        let config = parse(json)?;
        let source = match config.get("chat_template") {
            None | Some(serde_json::Value::Null) => return Err(ChatError::NoTemplate),
            Some(serde_json::Value::String(source)) if name.is_none_or(|n| n == "default") => {
                source.clone()
            }
            Some(serde_json::Value::String(_)) => {
                return Err(ChatError::UnknownName {
                    name: name.unwrap_or_default().into(),
                    available: vec!["default".into()],
                });
            }
            Some(list) => named(list, name.unwrap_or("default"))?,
        };
        Self::new(&source, special_tokens(&config))
    }

    /// A template that lies in a file of its own, such as `chat_template.jinja`, with the special tokens of a
    /// `tokenizer_config.json`.
    ///
    /// # Errors
    /// As [`from_tokenizer_config`](ChatTemplate::from_tokenizer_config).
    pub fn from_source(source: &str, tokenizer_config: &str) -> Result<Self, ChatError> {
        Self::new(source, special_tokens(&parse(tokenizer_config)?))
    }

    fn new(source: &str, special_tokens: BTreeMap<String, String>) -> Result<Self, ChatError> {
        let mut environment = Environment::new();
        // Errors name what is undefined, in optimised builds too.
        environment.set_debug(true);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(ChatError::of)?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function(
            "raise_exception",
            |message: String| -> Result<Value, Error> {
                let error = Error::new(ErrorKind::InvalidOperation, message.clone());
                Err(error.with_source(Raised(message)))
            },
        );
        environment.add_filter(
            "tojson",
            |value: Value, indent: Option<usize>, options: Kwargs| {
                json::to_json(&value, indent, &options)
            },
        );
        environment
            .add_template_owned(NAME, plain_generation_blocks(source))
            .map_err(ChatError::of)?;
        Ok(Self {
            environment,
            special_tokens,
        })
    }

    /// Writes the prompt for a conversation.
    ///
    /// # Errors
    /// [`ChatError::Raised`] where the template refuses the conversation, such as roles that do not alternate;
    /// [`ChatError::Render`] with the line where it fails.
    pub fn render(
        &self,
        messages: &[ChatMessage],
        options: &ChatOptions,
    ) -> Result<String, ChatError> {
        let mut context = BTreeMap::<String, Value>::new();
        for (name, token) in &self.special_tokens {
            context.insert(name.clone(), Value::from(token.as_str()));
        }
        // Templates test these against none, so they are always there.
        context.insert("tools".into(), Value::from(Serde(&options.tools)));
        context.insert("documents".into(), Value::from(()));
        for (name, value) in &options.variables {
            context.insert(name.clone(), Value::from(Serde(value)));
        }
        context.insert("messages".into(), Value::from(Serde(messages)));
        let prompt_wanted = Value::from(options.add_generation_prompt);
        context.insert("add_generation_prompt".into(), prompt_wanted);
        let now = options.now;
        let strftime = Value::from_function(move |format: String| time::strftime(now, &format));
        context.insert("strftime_now".into(), strftime);

        let template = self.environment.get_template(NAME).map_err(ChatError::of)?;
        let mut prompt = template
            .render(Value::from(context))
            .map_err(ChatError::of)?;
        prompt.push_str(&options.prefill);
        Ok(prompt)
    }
}

fn parse(json: &str) -> Result<serde_json::Value, ChatError> {
    serde_json::from_str(json).map_err(|error| ChatError::Config {
        problem: error.to_string(),
    })
}

/// Of a list of named templates, the one asked for.
fn named(list: &serde_json::Value, name: &str) -> Result<String, ChatError> {
    let wrong = || ChatError::Config {
        problem: "chat_template is neither a string nor a list of objects with name and template"
            .into(),
    };
    let mut available = Vec::new();
    for entry in list.as_array().ok_or_else(wrong)? {
        let text = |key: &str| entry.get(key).and_then(serde_json::Value::as_str);
        let (entry_name, template) = text("name").zip(text("template")).ok_or_else(wrong)?;
        if entry_name == name {
            return Ok(template.into());
        }
        available.push(entry_name.to_owned());
    }
    Err(ChatError::UnknownName {
        name: name.into(),
        available,
    })
}

/// Everything called `…_token`, which is a string or an object with `content`.
fn special_tokens(config: &serde_json::Value) -> BTreeMap<String, String> {
    let fields = config.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| name.ends_with("_token"))
        .filter_map(|(name, value)| {
            let token = value.as_str().or_else(|| value.get("content")?.as_str())?;
            Some((name.clone(), token.to_owned()))
        })
        .collect()
}

/// Turns `{% generation %}` blocks, which mark the model's words for training and print as they are, into blocks that
/// the template engine knows. Lines and columns stay where they are but for those after a marker.
fn plain_generation_blocks(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start);
        plain.push_str(before);
        let Some(end) = tag.find("%}") else {
            rest = tag;
            break;
        };
        let (tag, after) = tag.split_at(end);
        match tag
            .trim_start_matches(['{', '%', '-', '+'])
            .trim_end_matches(['-', '+'])
            .trim()
        {
            "generation" => plain.push_str(&tag.replacen("generation", "if true", 1)),
            "endgeneration" => plain.push_str(&tag.replacen("endgeneration", "endif", 1)),
            _ => plain.push_str(tag),
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests;
