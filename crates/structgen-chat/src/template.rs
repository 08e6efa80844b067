use std::collections::BTreeMap;
use std::thread;
use std::time::SystemTime;

use serde_json::{Map, Value as Json};

use crate::jinja::{self, Budget, ChatLimits, Failure, Interpreter, Template, Value};
use crate::prompt::Continued;
use crate::{ChatError, ChatMessage, ChatPrompt};

/// A model's chat templates, in the dialect of Jinja that Hugging Face's tokenizers use.
///
/// A prompt is exactly what `apply_chat_template` of transformers returns for the same conversation. The supported part
/// of Jinja is what chat templates use: all expressions; all statements except inheritance, includes, recursive loops
/// and arguments with `*`; and the filters that are not specific to web pages. Of Python, the methods of strings, lists
/// and dictionaries that do not modify them are supported. A template that uses anything else is an error that names
/// it.
#[derive(Debug)]
pub struct ChatTemplate {
    /// By name. A template that does not parse is an error only when it is used.
    templates: BTreeMap<String, Result<Template, ChatError>>,
    special_tokens: BTreeMap<String, String>,
}

/// The inputs of a template besides the messages.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatOptions {
    /// Whether the prompt ends where the model's answer begins.
    pub add_generation_prompt: bool,
    /// Whether the prompt ends within the last message, which the model continues. Excludes `add_generation_prompt`.
    pub continue_final_message: bool,
    /// The beginning of the answer, appended to the prompt verbatim.
    pub prefill: String,
    /// The template to use. If `None`, it is `tool_use` if there are tools and such a template, and `default`
    /// otherwise.
    pub template: Option<String>,
    /// Tools that the model may call, in the form that the template expects, usually that of OpenAI's API.
    pub tools: Option<Vec<Json>>,
    /// Documents for templates that ground answers in them.
    pub documents: Option<Vec<Json>>,
    /// Additional variables of the template, by name (`chat_template_kwargs` in other tools). `messages`
    /// is refused, and so is what contradicts the other options.
    pub variables: Map<String, Json>,
    /// The time that `strftime_now` returns, in UTC.
    pub now: SystemTime,
    /// Limits on rendering.
    pub limits: ChatLimits,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            add_generation_prompt: true,
            continue_final_message: false,
            prefill: String::new(),
            template: None,
            tools: None,
            documents: None,
            variables: Map::new(),
            now: SystemTime::now(),
            limits: ChatLimits::default(),
        }
    }
}

const DEFAULT: &str = "default";
const TOOL_USE: &str = "tool_use";

/// The stack size for a template at the limit of nesting, with room to spare in unoptimised builds.
const STACK: usize = 32 << 20;

impl ChatTemplate {
    /// The templates of a `tokenizer_config.json`, with its special tokens.
    ///
    /// # Errors
    /// [`ChatError::Config`] and [`ChatError::NoTemplate`].
    pub fn from_tokenizer_config(json: &str) -> Result<Self, ChatError> {
        Self::from_sources([], json)
    }

    /// Templates from files of their own, by name, with the special tokens of a `tokenizer_config.json`. The name of
    /// `chat_template.jinja` is `default`. If there are no such files, the templates of the configuration are used.
    ///
    /// # Errors
    /// As [`from_tokenizer_config`](Self::from_tokenizer_config).
    pub fn from_sources(
        sources: impl IntoIterator<Item = (String, String)>,
        tokenizer_config: &str,
    ) -> Result<Self, ChatError> {
        let config = object("tokenizer_config.json", tokenizer_config)?;
        let mut sources: BTreeMap<String, String> = sources.into_iter().collect();
        if sources.is_empty() {
            sources = configured(&config)?;
        }
        let parsed = on_large_stack(|| {
            let sources = sources.into_iter();
            sources
                .map(|(name, source)| (name, jinja::parse(&source)))
                .collect()
        })?;
        Ok(Self {
            templates: parsed,
            special_tokens: special_tokens(&config),
        })
    }

    /// Adds the special tokens of a `special_tokens_map.json` that the configuration does not name.
    ///
    /// # Errors
    /// [`ChatError::Config`].
    pub fn with_special_tokens_map(mut self, json: &str) -> Result<Self, ChatError> {
        for (name, token) in special_tokens(&object("special_tokens_map.json", json)?) {
            self.special_tokens.entry(name).or_insert(token);
        }
        Ok(self)
    }

    /// The names of the templates.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.templates.keys().map(String::as_str)
    }

    /// Renders the prompt for a conversation.
    ///
    /// # Errors
    /// [`ChatError::Raised`] if the template refuses the conversation, for instance because roles do not alternate;
    /// [`ChatError::Render`] and [`ChatError::Limit`] with the line of the failure; [`ChatError::Syntax`] if the
    /// template does not parse; [`ChatError::Options`] if the options contradict one another or the conversation.
    pub fn render(
        &self,
        messages: &[ChatMessage],
        options: &ChatOptions,
    ) -> Result<ChatPrompt, ChatError> {
        if options.add_generation_prompt && options.continue_final_message {
            return Err(ChatError::Options {
                problem: "the final message is either continued or followed by the beginning of an answer".into(),
            });
        }
        check_variables(options)?;
        let template = self.chosen(options)?;
        let render = |messages: &[ChatMessage]| {
            on_large_stack(|| self.render_here(template, messages, options))?
        };
        let mut prompt = match options.continue_final_message {
            true => Continued::new(messages)?.render(render)?,
            false => render(messages)?,
        };
        prompt.push_data(&options.prefill);
        Ok(prompt)
    }

    fn chosen(&self, options: &ChatOptions) -> Result<&Template, ChatError> {
        let name = match &options.template {
            Some(name) => name,
            None if options.tools.is_some() && self.templates.contains_key(TOOL_USE) => TOOL_USE,
            None => DEFAULT,
        };
        match self.templates.get(name) {
            Some(template) => template.as_ref().map_err(Clone::clone),
            None => Err(ChatError::UnknownName {
                name: name.into(),
                available: self.names().map(str::to_owned).collect(),
            }),
        }
    }

    fn render_here(
        &self,
        template: &Template,
        messages: &[ChatMessage],
        options: &ChatOptions,
    ) -> Result<ChatPrompt, ChatError> {
        let budget = Budget::new(options.limits);
        let mut line = 1;
        let mut rendered = || -> jinja::Result<ChatPrompt> {
            let mut interpreter = Interpreter::new(template, budget.clone(), options.now)?;
            for (name, token) in &self.special_tokens {
                interpreter.set_global(name, Value::template(&budget, token)?)?;
            }
            let listed = |values: &Option<Vec<Json>>| match values {
                None => Ok(Value::None),
                Some(values) => {
                    let values = values.iter().map(|value| Value::of_json(&budget, value));
                    Value::list(&budget, values.collect::<jinja::Result<_>>()?)
                }
            };
            // Templates compare these with none, so they are always defined.
            interpreter.set_global("tools", listed(&options.tools)?)?;
            interpreter.set_global("documents", listed(&options.documents)?)?;
            for (name, value) in &options.variables {
                interpreter.set_global(name, Value::of_json(&budget, value)?)?;
            }
            let messages = { messages.iter() }
                .map(|message| Value::of_message(&budget, message.fields()))
                .collect::<jinja::Result<_>>()?;
            interpreter.set_global("messages", Value::list(&budget, messages)?)?;
            let wanted = Value::Bool(options.add_generation_prompt);
            interpreter.set_global("add_generation_prompt", wanted)?;
            let out = interpreter.run();
            line = interpreter.line() as usize;
            let (text, trusted) = out?.into_parts();
            Ok(ChatPrompt::new(text, trusted))
        };
        rendered().map_err(|failure| match failure {
            Failure::Limit(limit, value) => ChatError::Limit { line, limit, value },
            Failure::Raised(message) => ChatError::Raised { message },
            Failure::Failed(reason) => ChatError::Render { line, reason },
        })
    }
}

/// Refuses variables that other inputs of the template would hide.
fn check_variables(options: &ChatOptions) -> Result<(), ChatError> {
    for (name, value) in &options.variables {
        let problem = match name.as_str() {
            "messages" => "it is the conversation",
            "add_generation_prompt" if value.as_bool() != Some(options.add_generation_prompt) => {
                "it is an option of its own, add_generation_prompt"
            }
            "tools" if options.tools.is_some() => "it is given as an option, too",
            "documents" if options.documents.is_some() => "it is given as an option, too",
            _ => continue,
        };
        return Err(ChatError::Options {
            problem: format!("the variable {name:?} cannot be set: {problem}"),
        });
    }
    Ok(())
}

/// Runs on a thread with a stack of known size, since the caller's may be small.
fn on_large_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T, ChatError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new()
            .name("chat-template".into())
            .stack_size(STACK);
        let spawned = builder.spawn_scoped(scope, run);
        let thread = spawned.map_err(|error| ChatError::Thread {
            problem: error.to_string(),
        })?;
        thread.join().map_err(|_| ChatError::Panicked)
    })
}

fn object(file: &'static str, json: &str) -> Result<Map<String, Json>, ChatError> {
    serde_json::from_str(json).map_err(|error| ChatError::Config {
        file,
        problem: error.to_string(),
    })
}

/// The templates of a configuration: a single one, or a list with names.
fn configured(config: &Map<String, Json>) -> Result<BTreeMap<String, String>, ChatError> {
    let wrong = || ChatError::Config {
        file: "tokenizer_config.json",
        problem: "chat_template is neither a string nor a list of objects with name and template"
            .into(),
    };
    match config.get("chat_template") {
        None | Some(Json::Null) => Err(ChatError::NoTemplate),
        Some(Json::Array(entries)) if entries.is_empty() => Err(ChatError::NoTemplate),
        Some(Json::String(source)) => Ok([(DEFAULT.to_owned(), source.clone())].into()),
        Some(Json::Array(entries)) => { entries.iter() }
            .map(|entry| {
                let text = |key: &str| entry.get(key).and_then(Json::as_str);
                let (name, template) = text("name").zip(text("template")).ok_or_else(wrong)?;
                Ok((name.to_owned(), template.to_owned()))
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}

/// All fields named `…_token`, which are strings or objects with `content`.
fn special_tokens(config: &Map<String, Json>) -> BTreeMap<String, String> {
    { config.iter() }
        .filter(|(name, _)| name.ends_with("_token"))
        .filter_map(|(name, value)| {
            let token = value.as_str().or_else(|| value.get("content")?.as_str())?;
            Some((name.clone(), token.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_not_reported_as_a_missing_thread() {
        let result = on_large_stack::<()>(|| panic!("a fault"));
        assert_eq!(result, Err(ChatError::Panicked));
    }
}
