//! How tokens are chosen and where outputs end: maps fields of OpenAI, vLLM and llama.cpp to this project's parameters.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use serde::Deserialize;
use serde_json::value::RawValue;
use structgen::decode::request::Params;
use structgen::vocab::Tokenizer;
use structgen::{GenerateOptions, Strategy};

use crate::config::ServerLimits;
use crate::error::{ApiError, Result};
use crate::fields::{Fields, parse};

/// How a request is to be generated.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) options: GenerateOptions,
    /// Whether the temperature was given.
    pub(crate) has_temperature: bool,
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
        let mut has_temperature = false;
        let mut has_seed = false;
        for (field, name) in PARAMETERS {
            let Some(value) = fields.raw(field) else {
                continue;
            };
            has_temperature |= name == "temperature";
            has_seed |= name == "seed";
            set(&mut params, name, value, &fields.path_of(field))?;
        }
        // In vLLM, -1 means all.
        if let Some(top_k) = fields.take::<i64>("top_k")? {
            params.options.sampling.top_k = usize::try_from(top_k.max(0)).unwrap_or(0);
        }
        if let Some(biases) = fields.take::<BTreeMap<u32, f32>>("logit_bias")? {
            params.options.sampling.logit_bias = biases;
        }
        match fields.take::<OneOrMany>("stop")? {
            None => {}
            Some(OneOrMany::One(stop)) => params.options.stop = vec![stop],
            Some(OneOrMany::Many(stop)) => params.options.stop = stop,
        }
        check_texts(&params.options.stop, MOST_STOPS, &fields.path_of("stop"))?;
        let bad_words = fields.take::<Vec<String>>("bad_words")?.unwrap_or_default();
        check_texts(&bad_words, MOST_BAD_WORDS, &fields.path_of("bad_words"))?;
        let ignores_eos = fields.take("ignore_eos")?.unwrap_or(false);
        let mut settings = Self {
            options: params.options.clone(),
            has_temperature,
            logprobs: None,
            bad_words,
            ignores_eos,
            report: false,
            steps: false,
            reasoning_tokens: None,
        };
        settings.read_extras(fields, &mut params, &mut has_seed, &mut has_temperature)?;
        if params.strategy != Strategy::Sample {
            let message =
                "the server samples; other strategies are for the library and the command line";
            return Err(ApiError::invalid("structgen.params", message));
        }
        params
            .check()
            .map_err(|error| ApiError::from(&error).with_param(parameter_in(&error.to_string())))?;
        if !has_seed {
            // Short enough for the integers of any client.
            params.options.sampling.seed = RandomState::new().build_hasher().finish() >> 32;
        }
        settings.has_temperature = has_temperature;
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
        has_seed: &mut bool,
        has_temperature: &mut bool,
    ) -> Result<()> {
        let Some(mut extras) = fields.object("structgen")? else {
            return Ok(());
        };
        self.report = extras.take("report")?.unwrap_or(false);
        self.steps = extras.take("steps")?.unwrap_or(false);
        self.reasoning_tokens = extras.take("reasoning_tokens")?;
        if let Some(mut named) = extras.object("params")? {
            let given = named.rest();
            let bytes = given
                .iter()
                .map(|(name, value)| name.len() + value.get().len());
            if bytes.sum::<usize>() > MOST_PARAM_BYTES {
                let path = named.path();
                let message = format!("{path} may have at most {MOST_PARAM_BYTES} bytes");
                return Err(ApiError::invalid(path, message));
            }
            // To set a parameter takes time in proportion to all of them.
            let biases = std::mem::take(&mut params.options.sampling.logit_bias);
            for (name, value) in given {
                *has_seed |= name == "seed";
                *has_temperature |= name == "temperature";
                set(params, &name, value, &named.path_of(&name))?;
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
            self.options.sequences = count;
        }
        match self.options.sequences {
            count if (1..=limits.outputs).contains(&count) => Ok(()),
            _ => {
                let message = format!("n must be from 1 to {}", limits.outputs);
                Err(ApiError::invalid("n", message))
            }
        }
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
