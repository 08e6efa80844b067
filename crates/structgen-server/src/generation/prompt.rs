//! Prompts: conversations through chat templates, texts and tokens; and the requests built from them.

use structgen::chat::{ChatOptions, ChatPrompt};
use structgen::decode::Run;
use structgen::decode::request::ContextOverflow;
use structgen::tools::{Reasoning, ToolChoice, ToolFormat};
use structgen::vocab::TokenId;
use structgen::{Model, Request};

use super::job::{Ask, Chat, Prompt};
use super::plan::{How, Plan};
use super::settings::Settings;
use super::tools::Tools;
use crate::error::{ApiError, Result};
use crate::models::ServedModel;

/// A conversation rendered as a prompt.
pub(super) struct Rendered {
    tokens: Vec<TokenId>,
    pub(super) reasoning: Reasoning,
}

/// Renders the prompt of a conversation with the model's chat template.
pub(super) fn render(served: &ServedModel, ask: &Ask) -> Result<Rendered> {
    let Prompt::Chat(chat) = &ask.prompt else {
        return Err(ApiError::internal("only conversations are rendered"));
    };
    let refused = |error: structgen::Error| ApiError::of(&error, "messages");
    let model = &served.model;
    let mut options = ChatOptions {
        tools: ask.tools.as_ref().map(|tools| tools.for_template.clone()),
        variables: chat.variables.clone(),
        continue_final_message: chat.continues_final_message,
        add_generation_prompt: !chat.continues_final_message && !chat.omits_generation_prompt,
        ..ChatOptions::default()
    };
    let is_off = chat.reasoning_effort.as_deref() == Some("none");
    match &chat.reasoning_effort {
        None => {}
        Some(_) if is_off => {
            { options.variables.entry("enable_thinking") }.or_insert(false.into());
        }
        Some(effort) if served.reasons => {
            let effort = effort.as_str().into();
            options
                .variables
                .insert("reasoning_effort".to_owned(), effort);
        }
        Some(_) => {
            let message =
                "reasoning_effort: the model does not reason, by the format of its answers";
            return Err(ApiError::invalid("reasoning_effort", message));
        }
    }
    if ask.settings.reasoning_tokens.is_some() && !served.reasons {
        let message =
            "structgen.reasoning_tokens: the model does not reason, by the format of its answers";
        return Err(ApiError::invalid("structgen.reasoning_tokens", message));
    }
    let template = model.chat_template().map_err(refused)?;
    let prompt = template
        .render(&chat.conversation.messages, &options)
        .map_err(|error| refused(error.into()))?;
    check_nothing_is_left_out(&prompt, chat, ask.tools.as_ref())?;
    check_length(model, prompt.text(), &ask.settings).map_err(refused)?;
    let tokens = { model.tokenizer() }
        .encode_mixed(prompt.text(), prompt.trusted())
        .map_err(|error| refused(error.into()))?;
    let reasoning = match (is_off, opens_reasoning(&prompt, &served.format)) {
        (_, true) => Reasoning::Open,
        (true, false) => Reasoning::Off,
        (false, false) => Reasoning::Allowed,
    };
    Ok(Rendered { tokens, reasoning })
}

/// Refuses a text that cannot fit the model's context, unless it is to be cropped.
fn check_length(model: &Model, text: &str, settings: &Settings) -> structgen::Result<()> {
    match settings.options.overflow {
        ContextOverflow::Error => model.check_length(text),
        ContextOverflow::Crop { .. } => Ok(()),
    }
}

/// Returns an error if a template omits any of its input, which would otherwise be silently dropped.
fn check_nothing_is_left_out(
    prompt: &ChatPrompt,
    chat: &Chat,
    tools: Option<&Tools>,
) -> Result<()> {
    let text = chat.conversation.last_user_text().unwrap_or_default();
    if !prompt.text().contains(text.trim()) {
        return Err(ApiError::of(
            &structgen::Error::TemplateDropsText,
            "messages",
        ));
    }
    // Tools that may not be called need not be shown.
    let tools = { tools.filter(|tools| tools.choice != ToolChoice::None) }
        .map_or(&[][..], |tools| &tools.list);
    if let Some(tool) = { tools.iter() }.find(|tool| !prompt.text().contains(&tool.name)) {
        let message = format!(
            "the model's chat template leaves out the tool {:?}, so that the model would not know of it",
            tool.name
        );
        return Err(ApiError::invalid("tools", message).with_code("chat_template"));
    }
    Ok(())
}

/// Returns an error for fields that only a chat template or a model that reasons would read, where a value is
/// extracted from the last message instead.
fn check_nothing_is_for_a_template(chat: &Chat, settings: &Settings) -> Result<()> {
    let effort = chat.reasoning_effort.as_deref();
    let given = [
        (
            "reasoning_effort",
            effort.is_some_and(|effort| effort != "none"),
        ),
        ("chat_template_kwargs", !chat.variables.is_empty()),
        ("continue_final_message", chat.continues_final_message),
        ("add_generation_prompt", chat.omits_generation_prompt),
        (
            "structgen.reasoning_tokens",
            settings.reasoning_tokens.is_some(),
        ),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("{name}: the model extracts values, without a chat template");
            Err(ApiError::invalid(name, message))
        }
    }
}

/// Returns whether a prompt ends where reasoning starts, as with some templates.
fn opens_reasoning(prompt: &ChatPrompt, format: &ToolFormat) -> bool {
    let end = prompt.text().trim_end();
    format.reasoning.as_ref().is_some_and(|reasoning| {
        let mut begins = reasoning.begin.texts();
        begins.any(|begin| !begin.trim().is_empty() && end.ends_with(begin.trim()))
    })
}

/// Refuses more outputs than a model's queue can ever hold.
pub(crate) fn check_outputs(model: &Model, outputs: usize, param: &str) -> Result<()> {
    match model.engine().limits().queue {
        most if outputs > most => {
            let message = format!(
                "{param}: the request has {outputs} outputs, and at most {most} may wait for the model"
            );
            Err(ApiError::invalid(param, message))
        }
        _ => Ok(()),
    }
}

/// A request that was submitted.
pub(super) struct Submitted {
    pub(super) run: Run,
    /// The text that the answer is about, if known.
    pub(super) input: Option<String>,
}

/// Submits a request of a client under its plan. `most` bounds new tokens if the request sets no limit.
pub(super) fn submit(
    served: &ServedModel,
    ask: &Ask,
    plan: &Plan,
    rendered: Option<Rendered>,
    most: usize,
    client: u64,
) -> Result<Submitted> {
    let model = &served.model;
    let refused = |error: structgen::Error| ApiError::of(&error, "messages");
    check_outputs(model, ask.settings.options.sequences, "n")?;
    let mut settings = ask.settings.clone();
    let text = match &ask.prompt {
        Prompt::Chat(chat) => chat.conversation.last_user_text(),
        Prompt::Text(text) => Some(text.clone()),
        Prompt::Tokens(_) => None,
    };
    let mut request = if let (How::Extraction { extractor, .. }, Some(text)) = (&plan.how, &text) {
        if let Prompt::Chat(chat) = &ask.prompt {
            check_nothing_is_for_a_template(chat, &settings)?;
        }
        check_length(model, text, &settings).map_err(refused)?;
        extractor.request(text).map_err(refused)?
    } else {
        // The embedded model extracts greedily; other models sample at temperature 1, as OpenAI's do.
        if !settings.has_temperature && !model.is_embedded() {
            settings.options.sampling.temperature = 1.0;
        }
        let tokens = match (&ask.prompt, rendered) {
            (_, Some(rendered)) => rendered.tokens,
            (Prompt::Chat(_), None) => render(served, ask)?.tokens,
            (Prompt::Text(text), None) => {
                check_length(model, text, &settings).map_err(refused)?;
                let mut tokens = model.encode_prompt("").map_err(refused)?;
                let text = model.tokenizer().encode(text);
                tokens.extend(text.map_err(|error| refused(error.into()))?);
                tokens
            }
            (Prompt::Tokens(tokens), None) => {
                let width = model.tokenizer().vocabulary().len();
                if let Some(token) = tokens.iter().find(|token| token.index() >= width) {
                    let message = format!("the model has no token {}", token.0);
                    return Err(ApiError::invalid("prompt", message));
                }
                tokens.clone()
            }
        };
        let constraint = match &plan.how {
            How::Free => None,
            How::Constrained(compiled) | How::Calls { compiled, .. } => Some(compiled.clone()),
            How::Extraction { .. } => {
                let message = "there is no message of a user to extract from";
                return Err(ApiError::invalid("messages", message));
            }
        };
        Request::new(tokens, constraint)
    };
    let room = model.room_after(&request.prompt, most);
    // The preferences of the model's reader.
    let samplers = std::mem::take(&mut request.options.samplers);
    request.options = settings.options_for(model.tokenizer(), room)?;
    request.options.samplers = samplers;
    let request = request.with_client(client).with_events();
    let run = model.submit(request).map_err(refused)?;
    Ok(Submitted { run, input: text })
}
