//! How tokens are chosen and where outputs end: maps fields of OpenAI, vLLM and llama.cpp to this project's parameters.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use structgen::decode::request::Params;
use structgen::vocab::Tokenizer;
use structgen::{GenerateOptions, Strategy};

use crate::config::ServerLimits;
use crate::error::{ApiError, Result};
use crate::fields::{Fields, check_distinct, parse};

/// How a request is to be generated.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) options: GenerateOptions,
    /// Whether the temperature was given.
    pub(crate) has_temperature: bool,
    /// The field that sets the maximum number of new tokens.
    max_tokens_field: &'static str,
    /// The number of alternatives to list with each token's log probability, if these are requested.
    pub(crate) logprobs: Option<usize>,
    /// Texts that must not occur.
    bad_words: Vec<String>,
    ignores_eos: bool,
    /// Whether to report on the answer.
    pub(crate) report: bool,
    pub(crate) steps: bool,
    /// Maximum number of reasoning tokens.
    pub(crate) reasoning_tokens: Option<u32>,
}

/// Fields that are parameters of this project, under the same name or another.
const PARAMETERS: [(&str, &str); 24] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("typical_p", "typical_p"),
    ("seed", "seed"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("repetition_penalty", "repetition_penalty"),
    ("repeat_penalty", "repetition_penalty"),
    ("no_repeat_ngram_size", "no_repeat_ngram"),
    ("top_n_sigma", "top_n_sigma"),
    ("epsilon_cutoff", "epsilon_cutoff"),
    ("eta_cutoff", "eta_cutoff"),
    ("dynatemp_range", "dynamic_temperature.range"),
    ("dynatemp_exponent", "dynamic_temperature.exponent"),
    ("xtc_probability", "xtc.probability"),
    ("xtc_threshold", "xtc.threshold"),
    ("dry_multiplier", "dry.multiplier"),
    ("dry_base", "dry.base"),
    ("dry_allowed_length", "dry.allowed_length"),
    ("mirostat_tau", "mirostat.tau"),
    ("mirostat_eta", "mirostat.eta"),
    ("min_keep", "min_keep"),
    ("min_tokens", "min_new_tokens"),
];

/// Returns the names of the fields that are numbers and parameters of this project.
pub(crate) fn parameter_names() -> impl Iterator<Item = &'static str> {
    PARAMETERS.iter().map(|(field, _)| *field)
}

impl Settings {
    /// Reads the fields common to all kinds of generation.
    pub(crate) fn read(fields: &mut Fields<'_>, limits: &ServerLimits) -> Result<Self> {
        let mut params = Params::default();
        let mut given = Given::default();
        for (field, name) in PARAMETERS {
            let Some(value) = fields.raw(field) else {
                continue;
            };
            let path = fields.path_of(field);
            given.add(name, &path, value)?;
            set(&mut params, name, value, &path)?;
        }
        // In vLLM, -1 means all.
        if let Some(top_k) = given.take::<i64>("top_k", fields)? {
            params.options.sampling.top_k = usize::try_from(top_k.max(0)).unwrap_or(0);
        }
        if let Some(biases) = given.take::<BTreeMap<u32, f32>>("logit_bias", fields)? {
            params.options.sampling.logit_bias = biases;
        }
        match given.take::<OneOrMany>("stop", fields)? {
            None => {}
            Some(OneOrMany::One(stop)) => params.options.stop = vec![stop],
            Some(OneOrMany::Many(stop)) => params.options.stop = stop,
        }
        check_texts(&params.options.stop, MOST_STOPS, &fields.path_of("stop"))?;
        let bad_words = fields.take::<Vec<String>>("bad_words")?.unwrap_or_default();
        check_texts(&bad_words, MOST_BAD_WORDS, &fields.path_of("bad_words"))?;
        if bad_words.iter().any(String::is_empty) {
            let path = fields.path_of("bad_words");
            let message = format!("{path}: a text must not be empty");
            return Err(ApiError::invalid(path, message));
        }
        let ignores_eos = fields.take("ignore_eos")?.unwrap_or(false);
        let mut settings = Self {
            options: params.options.clone(),
            has_temperature: false,
            max_tokens_field: "max_tokens",
            logprobs: None,
            bad_words,
            ignores_eos,
            report: false,
            steps: false,
            reasoning_tokens: None,
        };
        settings.read_extras(fields, &mut params, &mut given)?;
        if params.strategy != Strategy::Sample {
            let message =
                "the server samples; other strategies are for the library and the command line";
            return Err(ApiError::invalid("structgen.params", message));
        }
        params
            .check()
            .map_err(|error| ApiError::from(&error).with_param(parameter_in(&error.to_string())))?;
        if !given.has("seed") {
            // Short enough for the integers of any client.
            params.options.sampling.seed = RandomState::new().build_hasher().finish() >> 32;
        }
        settings.has_temperature = given.has("temperature");
        settings.options = params.options;
        if settings.options.alternatives.max(settings.options.refused) > limits.alternatives {
            let message = format!("at most {} alternatives are listed", limits.alternatives);
            return Err(ApiError::invalid("structgen.params", message));
        }
        if settings.steps {
            settings.options.log_probs = true;
            settings.options.alternatives = settings.options.alternatives.max(STEP_ALTERNATIVES);
            settings.options.refused = settings.options.refused.max(STEP_ALTERNATIVES);
        }
        settings.options.log_probs |= settings.report;
        let limit = limits.generation_time;
        let time = &mut settings.options.time_limit;
        *time = Some(time.map_or(limit, |time| time.min(limit)));
        Ok(settings)
    }

    /// Reads the object `structgen`: what to report, and parameters by this project's names.
    fn read_extras(
        &mut self,
        fields: &mut Fields<'_>,
        params: &mut Params,
        given: &mut Given,
    ) -> Result<()> {
        let Some(mut extras) = fields.object("structgen")? else {
            return Ok(());
        };
        self.report = extras.take("report")?.unwrap_or(false);
        self.steps = extras.take("steps")?.unwrap_or(false);
        self.reasoning_tokens = extras.take("reasoning_tokens")?;
        if let Some(mut named) = extras.object("params")? {
            let fields = named.rest();
            let bytes = fields
                .iter()
                .map(|(name, value)| name.len() + value.get().len());
            if bytes.sum::<usize>() > MOST_PARAM_BYTES {
                let path = named.path();
                let message = format!("{path} may have at most {MOST_PARAM_BYTES} bytes");
                return Err(ApiError::invalid(path, message));
            }
            // To set a parameter takes time in proportion to all of them.
            let biases = std::mem::take(&mut params.options.sampling.logit_bias);
            for (name, value) in fields {
                let path = named.path_of(&name);
                given.add(&name, &path, value)?;
                set(params, &name, value, &path)?;
            }
            if params.options.sampling.logit_bias.is_empty() {
                params.options.sampling.logit_bias = biases;
            }
            check_texts(&params.options.stop, MOST_STOPS, &named.path_of("stop"))?;
            let bad_words = params.options.sampling.bad_words.len();
            check_number(bad_words, MOST_BAD_WORDS, &named.path_of("bad_words"))?;
        }
        extras.finish()
    }

    /// Requires that a single output is requested.
    pub(crate) fn need_one_output(&self) -> Result<()> {
        match self.options.sequences {
            1 => Ok(()),
            _ => {
                let message = "structgen.params.sequences must be 1: there is a single output";
                Err(ApiError::invalid("structgen.params.sequences", message))
            }
        }
    }

    /// Refuses a limit of reasoning, where no chat template asks for any.
    pub(crate) fn refuse_reasoning(&self) -> Result<()> {
        match self.reasoning_tokens {
            None => Ok(()),
            Some(_) => {
                let message = "structgen.reasoning_tokens is for conversations";
                Err(ApiError::invalid("structgen.reasoning_tokens", message))
            }
        }
    }

    /// Sets the number of outputs.
    pub(crate) fn set_outputs(
        &mut self,
        count: Option<usize>,
        limits: &ServerLimits,
    ) -> Result<()> {
        if let Some(count) = count {
            let other = std::mem::replace(&mut self.options.sequences, count);
            if other != count && other != GenerateOptions::default().sequences {
                return Err(conflict("structgen.params.sequences", "n"));
            }
        }
        match self.options.sequences {
            count if (1..=limits.outputs).contains(&count) => Ok(()),
            _ => {
                let message = format!("n must be from 1 to {}", limits.outputs);
                Err(ApiError::invalid("n", message))
            }
        }
    }

    /// Reads the maximum number of new tokens, under any of its names. `structgen.params` may set it as well.
    pub(crate) fn read_max_tokens(
        &mut self,
        fields: &mut Fields<'_>,
        names: &[&'static str],
    ) -> Result<()> {
        let of_params = self.options.max_new_tokens;
        let mut found = of_params.map(|value| (value, "structgen.params.max_new_tokens"));
        for &name in names {
            let Some(value) = fields.take::<usize>(name)? else {
                continue;
            };
            if value == 0 {
                return Err(ApiError::invalid(name, format!("{name} must be 1 or more")));
            }
            match found {
                Some((other, first)) if other != value => return Err(conflict(first, name)),
                _ => found = Some((value, name)),
            }
        }
        if let Some((value, name)) = found {
            self.options.max_new_tokens = Some(value);
            self.max_tokens_field = name;
        }
        Ok(())
    }

    /// Names the field of the request in an error about the maximum number of new tokens.
    pub(crate) fn about_max_tokens(&self, mut error: ApiError) -> ApiError {
        if error.param.as_deref() == Some("max_tokens") {
            error.param = Some(self.max_tokens_field.to_owned());
        }
        error
    }

    /// Requests the log probability of each token and of this many alternatives.
    pub(crate) fn set_logprobs(
        &mut self,
        others: usize,
        param: &str,
        limits: &ServerLimits,
    ) -> Result<()> {
        if others > limits.alternatives {
            let message = format!("{param} must be at most {}", limits.alternatives);
            return Err(ApiError::invalid(param, message));
        }
        self.logprobs = Some(others);
        self.options.log_probs = true;
        self.options.alternatives = self.options.alternatives.max(others);
        Ok(())
    }

    /// Returns the options, completed with what needs the tokenizer and the prompt.
    pub(crate) fn options_for(
        &self,
        tokenizer: &Tokenizer,
        room: usize,
    ) -> Result<GenerateOptions> {
        let mut options = self.options.clone();
        let width = tokenizer.vocabulary().len();
        let has_token = |id: u32| usize::try_from(id).is_ok_and(|id| id < width);
        if let Some(id) = { options.sampling.logit_bias.keys() }.find(|&&id| !has_token(id)) {
            let message = format!("logit_bias: the model has no token {id}");
            return Err(ApiError::invalid("logit_bias", message));
        }
        for word in &self.bad_words {
            // A word may start a text or follow a space.
            for text in [word.clone(), format!(" {word}")] {
                let tokens = tokenizer
                    .encode(&text)
                    .map_err(|error| ApiError::invalid("bad_words", error.to_string()))?;
                if !tokens.is_empty() {
                    let ids = tokens.iter().map(|token| token.0).collect();
                    options.sampling.bad_words.push(ids);
                }
            }
        }
        let most = *options.max_new_tokens.get_or_insert(room);
        if self.ignores_eos {
            options.min_new_tokens = most;
        }
        Ok(options)
    }
}

/// The parameters that a request sets so far, by the fields of other APIs and by this project's names: each with the
/// path of its field and its value.
#[derive(Default)]
struct Given(Vec<(String, String, Value)>);

impl Given {
    /// Adds a parameter. Another field may only set it to the same value.
    fn add(&mut self, name: &str, path: &str, value: &RawValue) -> Result<()> {
        let value: Value = parse(value, path)?;
        let mut others = self.0.iter().filter(|(other, ..)| other == name);
        match others.find(|(.., other)| !is_same(other, &value)) {
            Some((_, first, _)) => Err(conflict(first, path)),
            None => {
                self.0.push((name.to_owned(), path.to_owned(), value));
                Ok(())
            }
        }
    }

    /// Takes the field of a parameter's name.
    fn take<T: DeserializeOwned>(
        &mut self,
        name: &str,
        fields: &mut Fields<'_>,
    ) -> Result<Option<T>> {
        let Some(value) = fields.raw(name) else {
            return Ok(None);
        };
        let path = fields.path_of(name);
        self.add(name, &path, value)?;
        parse(value, &path).map(Some)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, ..)| other == name)
    }
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        // Large integers may be equal as floats only.
        (Some(x), Some(y)) if a.is_f64() || b.is_f64() => x == y,
        _ => a == b,
    }
}

fn conflict(first: &str, second: &str) -> ApiError {
    let message =
        format!("{first} and {second} set the same to different values: give one of them");
    ApiError::invalid(second, message)
}

/// Maximum number of stop strings per request.
const MOST_STOPS: usize = 16;

/// Maximum number of banned texts per request. Each output compares them with its end at every token.
const MOST_BAD_WORDS: usize = 256;

/// Maximum bytes of a stop string or a banned text.
const MOST_TEXT_BYTES: usize = 1_024;

/// Maximum bytes of all names and values in `structgen.params`.
const MOST_PARAM_BYTES: usize = 64 << 10;

/// Returns an error for too many texts, or one that is too long.
fn check_texts(texts: &[String], most: usize, path: &str) -> Result<()> {
    check_number(texts.len(), most, path)?;
    match texts.iter().any(|text| text.len() > MOST_TEXT_BYTES) {
        true => {
            let message = format!("{path}: a text may have at most {MOST_TEXT_BYTES} bytes");
            Err(ApiError::invalid(path, message))
        }
        false => Ok(()),
    }
}

fn check_number(number: usize, most: usize, path: &str) -> Result<()> {
    match number > most {
        true => {
            let message = format!("{path} may have at most {most} items");
            Err(ApiError::invalid(path, message))
        }
        false => Ok(()),
    }
}

/// Number of tokens to report per step: of those allowed, and of those refused.
const STEP_ALTERNATIVES: usize = 5;

/// A text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

fn set(params: &mut Params, name: &str, value: &RawValue, path: &str) -> Result<()> {
    check_distinct(value, path)?;
    let text = match value.get().starts_with('"') {
        true => parse::<String>(value, path)?,
        false => value.get().to_owned(),
    };
    { params.set(name, &text) }.map_err(|error| ApiError::invalid(path, format!("{path}: {error}")))
}

/// Returns the parameter with which an error message starts.
fn parameter_in(message: &str) -> String {
    let name = message.split([' ', ':']).next().unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}
