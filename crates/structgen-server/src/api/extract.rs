//! `POST /v1/extract`: extracts values of a schema from texts, each with its positions in the text and its confidence.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use structgen::{Extracting, Extraction, LongText, SchemaExtractor, Source};

use super::fields::take_labels;
use crate::body::{Received, receive};
use crate::clients::Client;
use crate::config::ServerLimits;
use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::generation::{
    Goal, How, Plan, PlanKey, Settings, Target, describe_field, describe_seconds,
};
use crate::models::ServedModel;
use crate::state::App;

/// Maximum number of texts of one request in progress at the same time.
const AHEAD: usize = 32;

struct ExtractRequest {
    model: Option<String>,
    target: Target,
    texts: Vec<String>,
    /// Whether a single text was given, rather than a list.
    is_single: bool,
    source: Option<Source>,
    alternatives: usize,
    refuses_long: bool,
    settings: Settings,
}

fn read(fields: &mut Fields<'_>, limits: &ServerLimits) -> Result<ExtractRequest> {
    let model = fields.take("model")?;
    let Some(schema) = fields.raw("schema") else {
        return Err(fields.missing("schema"));
    };
    let target = Target::schema(schema, "schema")?;
    let text: Option<String> = fields.take("text")?;
    let texts: Option<Vec<String>> = fields.take("texts")?;
    let is_single = text.is_some();
    let texts = match (text, texts) {
        (Some(text), None) => vec![text],
        (None, Some(texts)) => texts,
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid("texts", "give either text or texts"));
        }
        (None, None) => return Err(fields.missing("text")),
    };
    if texts.len() > limits.texts {
        let message = format!("there may be at most {} texts", limits.texts);
        return Err(ApiError::invalid("texts", message));
    }
    let grounded: Option<bool> = fields.take("grounded")?;
    let source = grounded.map(|grounded| match grounded {
        true => Source::Input,
        false => Source::Model,
    });
    let alternatives: usize = fields.take("alternatives")?.unwrap_or(0);
    if alternatives > limits.alternatives {
        let message = format!("alternatives must be at most {}", limits.alternatives);
        return Err(ApiError::invalid("alternatives", message));
    }
    let refuses_long = match fields.take::<String>("long_text")?.as_deref() {
        None | Some("windows") => false,
        Some("refuse") => true,
        Some(_) => {
            let message = "long_text must be windows or refuse";
            return Err(ApiError::invalid("long_text", message));
        }
    };
    let mut settings = Settings::read(fields, limits)?;
    if settings.steps {
        let message = "structgen.steps is for chat completions and completions";
        return Err(ApiError::invalid("structgen.steps", message));
    }
    settings.read_max_tokens(fields, &["max_tokens"])?;
    settings.need_one_output()?;
    settings.refuse_reasoning()?;
    take_labels(fields)?;
    // The endpoint always reports confidence.
    settings.options.log_probs = true;
    Ok(ExtractRequest {
        model,
        target,
        texts,
        is_single,
        source,
        alternatives,
        refuses_long,
        settings,
    })
}

pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let Received {
        fields: request,
        ignored,
        share: _share,
    } = receive(&app, &client, &headers, body, read).await?;
    let served = app.models.get(request.model.as_deref()).await?;
    let plan = plan(&app, &served, &request).await?;
    let How::Extraction { extractor, .. } = &plan.how else {
        return Err(ApiError::internal("the plan is no extraction"));
    };
    let work = {
        let (served, settings) = (Arc::clone(&served), request.settings.clone());
        let most = app.config.limits.new_tokens;
        move || settings.options_for(served.model.tokenizer(), most)
    };
    let mut options = app.prepare(work).await?;
    // The rest of the context depends on each text.
    options.max_new_tokens = request.settings.options.max_new_tokens;
    let mut extractor = SchemaExtractor::clone(extractor)
        .with_alternatives(request.alternatives)
        .with_client(client.number())
        .with_generate_options(options);
    if request.refuses_long {
        extractor = extractor.with_long_text(LongText::Refuse);
    }
    let found = Extractions {
        app: &app,
        extractor,
        plan: &plan,
        has_report: request.settings.report,
    };
    let reply = match request.is_single {
        true => {
            let mut reply = found.one(request.texts).await?;
            reply["object"] = "extraction".into();
            reply["model"] = served.name.as_str().into();
            reply
        }
        false => {
            let data = found.all(request.texts).await;
            json!({"object": "list", "model": served.name, "data": data})
        }
    };
    Ok(ignored.mark(Json(reply).into_response()))
}

async fn plan(app: &App, served: &Arc<ServedModel>, request: &ExtractRequest) -> Result<Arc<Plan>> {
    let (target, source) = (request.target.clone(), request.source);
    let work = move || {
        let goal = Goal {
            target: &target,
            tools: None,
            reasoning: structgen::tools::Reasoning::Off,
            reasoning_tokens: None,
        };
        let key = PlanKey::of(&format!("extraction {source:?} {}", goal.key()));
        Ok((target, key))
    };
    let (target, key) = app.prepare(work).await?;
    let served_by = Arc::clone(served);
    app.plan_for(served, key, move |cancel| {
        Plan::extraction(&served_by, &target, source, cancel)
    })
    .await
}

/// Extractions with one schema.
struct Extractions<'a> {
    app: &'a App,
    extractor: SchemaExtractor,
    plan: &'a Plan,
    has_report: bool,
}

impl Extractions<'_> {
    async fn one(&self, texts: Vec<String>) -> Result<Value> {
        let text = texts.into_iter().next().unwrap_or_default();
        let extracting = self.submit(text).await?;
        self.wait(extracting).await
    }

    /// Returns the values of all texts in order; an error takes the place of its text.
    async fn all(&self, texts: Vec<String>) -> Vec<Value> {
        let mut texts = texts.into_iter();
        let mut running = VecDeque::new();
        let mut data = Vec::new();
        loop {
            // The queue may hold fewer.
            let ahead = AHEAD.min(self.extractor.model().engine().capacity());
            while running.len() < ahead
                && let Some(text) = texts.next()
            {
                running.push_back(self.submit(text).await);
            }
            let Some(next) = running.pop_front() else {
                return data;
            };
            let found = match next {
                Ok(extracting) => self.wait(extracting).await,
                Err(error) => Err(error),
            };
            data.push(found.unwrap_or_else(|error| error.body()));
        }
    }

    /// Binds the schema to a text and starts the extraction.
    async fn submit(&self, text: String) -> Result<Extracting<Value>> {
        let extractor = self.extractor.clone();
        let work = move || {
            let submitted = extractor.submit(&text);
            submitted.map_err(|error| ApiError::of(&error, "text"))
        };
        self.app.prepare(work).await
    }

    async fn wait(&self, extracting: Extracting<Value>) -> Result<Value> {
        let found = extracting.wait_async().await;
        let found = found.map_err(|error| ApiError::of(&error, "text"))?;
        self.count(&found);
        Ok(self.describe(&found))
    }

    fn count(&self, found: &Extraction<Value>) {
        let metrics = &self.app.metrics;
        metrics.prompt_tokens.add(found.stats.prompt_tokens);
        metrics.cached_tokens.add(found.stats.reused_tokens);
        metrics.new_tokens.add(found.tokens());
        metrics.forced_tokens.add(found.stats.forced_tokens);
        metrics.mask_time.observe(found.stats.mask_time);
    }

    fn describe(&self, found: &Extraction<Value>) -> Value {
        let mut reply = json!({
            "value": found.value,
            "json": found.json,
            "fields": found.fields.iter().map(describe_field).collect::<Vec<_>>(),
            "ungrounded": found.ungrounded,
            "usage": {
                "prompt_tokens": found.stats.prompt_tokens,
                "completion_tokens": found.tokens(),
                "total_tokens": found.stats.prompt_tokens + found.tokens(),
                "prompt_tokens_details": {"cached_tokens": found.stats.reused_tokens},
            },
        });
        if self.has_report {
            reply["report"] = json!({
                "enforced": self.plan.enforced,
                "windows": found.outputs.len(),
                "forced_tokens": found.stats.forced_tokens,
                "steered_steps": found.stats.steered_steps,
                "seconds": describe_seconds(&found.stats),
            });
        }
        reply
    }
}
