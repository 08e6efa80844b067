//! The parameters of a request, and the program's own, as set by `--set`, `--params` and the sampling flags.

mod request;
mod table;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use structgen::constraint::CompiledConstraint;
use structgen::decode::params::{Parameter, Place, set_parameter};
use structgen::decode::{
    SchedulerLimits,
    request::{ContextOverflow, Params},
    strategies::Speculation,
};
use structgen::vocab::TokenId;
use structgen::{
    DraftSource, GenerateOptions, HeadsSource, Model, ModelOptions, SamplingParams, Strategy,
    TaskPreset,
};

use crate::args::RegexArgs;
use crate::chat_args::ChatSettings;
use crate::input::Document;
use crate::interrupt;
use crate::model_settings::ModelSettings;
use crate::models;
use crate::output::note;
use crate::schema_args::SchemaArgs;
use crate::tool_args::ToolArgs;

pub(crate) use table::{Scope, parameters, scope};

/// Maximum number of tokens per output, if none is given.
const MAX_NEW_TOKENS: usize = 4_096;

/// The name of sampling at temperature 0.
const GREEDY: &str = "greedy";

/// Megabytes of prefix cache, if several requests share a prompt.
const PREFIX_CACHE: usize = 256;

/// How to generate outputs: flags for common parameters, `--set` and `--params` for all of them.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Generation")]
pub(crate) struct SettingsArgs {
    /// Use the sampling parameters for a task: factual, code, balanced, prose, chat, creative or brainstorm
    #[arg(long, value_name = "TASK")]
    task: Option<TaskPreset>,
    /// Divide the logits by T; 0, the default, picks the most probable token
    #[arg(long, value_name = "T")]
    temperature: Option<String>,
    /// Keep the K most probable tokens; 0 disables it
    #[arg(long, value_name = "K")]
    top_k: Option<String>,
    /// Keep the most probable tokens up to this total probability; 1 disables it
    #[arg(long, value_name = "P")]
    top_p: Option<String>,
    /// Drop tokens below this share of the most probable one's probability; 0 disables it
    #[arg(long, value_name = "P")]
    min_p: Option<String>,
    /// Seed for sampling; the same seed gives the same output [default: random, printed to standard error]
    #[arg(long, value_name = "N")]
    seed: Option<String>,
    /// Maximum number of tokens per output [default: the rest of the context, at most 4096]
    #[arg(long, value_name = "N")]
    max_tokens: Option<String>,
    /// End the output at this text; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    stop: Vec<String>,
    /// Number of outputs to generate, each printed as a line of JSON: {"text"}, or {"error"} if it was cut
    #[arg(short = 'n', value_name = "N")]
    outputs: Option<String>,
    /// Decoding strategy: greedy, sample, speculate, beam, guidance, contrastive, contrastive_search, asap, rejection
    /// or smc. sample on its own means temperature 0.7, top-k 50, top-p 0.9 and 200 tokens. Options that the strategy
    /// does not honour are errors
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// Set any parameter, such as top_h=0.4, dry.multiplier=0.8 or width=8; may be repeated. `structgen params` lists
    /// them
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Read parameters from a TOML, JSON or YAML file, such as {"options": {"sampling": {"top_h": 0.4}}, "strategy":
    /// {"name": "beam"}}
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

/// All settings of a command except its input, in the form used by files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) options: GenerateOptions,
    pub(crate) strategy: Strategy,
    /// The text of the prompt that guidance steers away from.
    guidance_prompt: Option<String>,
    /// A file of choices, one per line.
    pub(crate) choices_file: Option<PathBuf>,
    /// A file of a structural tag.
    pub(crate) structural_tag: Option<PathBuf>,
    /// The key for a server.
    pub(crate) api_key: Option<String>,
    pub(crate) chat: ChatSettings,
    pub(crate) tools: ToolArgs,
    pub(crate) schema: SchemaArgs,
    pub(crate) regex: RegexArgs,
    pub(crate) model: ModelSettings,
    /// Whether the number of outputs was given.
    #[serde(skip)]
    has_count: bool,
    /// Whether the seed was given.
    #[serde(skip)]
    is_seeded: bool,
}

impl SettingsArgs {
    /// Returns the settings: first the file's, then the flags', then `--set` in order.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let table = parameters();
        let mut settings = Settings::default();
        let mut has_seed = false;
        if let Some(path) = &self.params {
            let form = read_form(path)?;
            has_seed = form.pointer("/options/sampling/seed").is_some();
            settings = from_form(&form)
                .with_context(|| format!("the parameters {} cannot be used", path.display()))?;
        }
        if let Some(task) = self.task {
            set_task(&mut settings.options.sampling, task)?;
        }
        let mut set = |settings: &mut Settings, name: &str, value: &str| {
            has_seed |= name.rsplit('.').next() == Some("seed");
            set_parameter(settings, &table, name, value)
        };
        // If a file sets options of the same strategy, they are kept.
        if let Some(name) = &self.strategy {
            let name = name.replace('-', "_");
            let known = Strategy::NAMES.contains(&name.as_str());
            if !known && name != GREEDY {
                bail!(
                    "there is no strategy {name:?}; there are {GREEDY}, {}",
                    Strategy::NAMES.join(", ")
                );
            }
            let name = if known { name } else { "sample".to_owned() };
            if name != settings.strategy.name() {
                set(&mut settings, "strategy", &name)?;
            }
        }
        if self.says_only_sample() {
            let options = &mut settings.options;
            (options.sampling.temperature, options.sampling.top_k) = (0.7, 50);
            options.sampling.top_p = 0.9;
            options.max_new_tokens = Some(200);
        }
        let flags = [
            ("temperature", &self.temperature),
            ("top_k", &self.top_k),
            ("top_p", &self.top_p),
            ("min_p", &self.min_p),
            ("seed", &self.seed),
            ("max_new_tokens", &self.max_tokens),
        ];
        for (name, value) in flags {
            if let Some(value) = value {
                set(&mut settings, name, value)?;
            }
        }
        if !self.stop.is_empty() {
            settings.options.stop.clone_from(&self.stop);
        }
        for setting in &self.set {
            let Some((name, value)) = setting.split_once('=') else {
                bail!("--set takes NAME=VALUE, such as top_h=0.4, and {setting:?} has no =");
            };
            if name.trim().is_empty() {
                bail!("--set takes NAME=VALUE, such as top_h=0.4, and {setting:?} has no name");
            }
            set(&mut settings, name.trim(), value)?;
        }
        if let Some(count) = &self.outputs {
            // A search returns its best outputs.
            let name = match settings.strategy {
                Strategy::Beam(_) => "beam.n_best",
                Strategy::Smc(_) => "smc.particles",
                _ => "sequences",
            };
            set(&mut settings, name, count)?;
            settings.has_count = true;
        }
        if settings.options.sequences == 0 {
            bail!("sequences is 0, and must be a whole number, 1 or more");
        }
        if self.strategy.as_deref() == Some(GREEDY) && settings.options.sampling.temperature != 0.0
        {
            bail!(
                "--strategy {GREEDY} takes the likeliest token, and a temperature of {} draws: leave one of them out",
                settings.options.sampling.temperature
            );
        }
        if is_faithful(&settings.strategy) && settings.options.sampling.temperature == 0.0 {
            // The model's own distribution, from which these strategies draw.
            settings.options.sampling.temperature = 1.0;
        }
        if !has_seed {
            settings.options.sampling.seed = random_seed();
        }
        settings.is_seeded = has_seed;
        Ok(settings)
    }
}

impl SettingsArgs {
    /// Returns whether the strategy `sample` was given without any sampling parameter.
    fn says_only_sample(&self) -> bool {
        let flags = [&self.temperature, &self.top_k, &self.top_p, &self.min_p];
        self.strategy.as_deref() == Some("sample")
            && flags.into_iter().all(Option::is_none)
            && self.task.is_none()
            && self.params.is_none()
            && self.set.is_empty()
    }
}

/// Sets the parameters of a task; those that it leaves at their defaults stay as they are, such as the seed of a file.
fn set_task(sampling: &mut SamplingParams, task: TaskPreset) -> anyhow::Result<()> {
    let [mut all, set, default] = [&*sampling, &task.params(), &SamplingParams::default()]
        .map(|params| serde_json::to_value(params).unwrap_or_default());
    if let (Value::Object(all), Value::Object(set)) = (&mut all, set) {
        all.extend({ set.into_iter() }.filter(|(name, value)| default[name] != *value));
    }
    *sampling = serde_json::from_value(all)?;
    Ok(())
}

fn is_faithful(strategy: &Strategy) -> bool {
    matches!(
        strategy,
        Strategy::Asap(_) | Strategy::Rejection(_) | Strategy::Smc(_)
    )
}

/// Returns a seed that is short enough to type.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

/// Reads a file of parameters, in TOML, JSON or YAML.
fn read_form(path: &Path) -> anyhow::Result<Value> {
    let Document { name, text } = Document::read_json(path)?;
    let is_toml = path
        .extension()
        .is_some_and(|extension| extension == "toml");
    let form = match is_toml {
        true => toml::from_str(&text).map_err(anyhow::Error::from),
        false => serde_json::from_str(&text).map_err(anyhow::Error::from),
    };
    form.with_context(|| format!("the parameters {name} cannot be used"))
}

/// Deserialises a file's parameters.
fn from_form(form: &Value) -> anyhow::Result<Settings> {
    let settings: Settings = serde_json::from_value(form.clone())?;
    match list_for_object(form, &serde_json::to_value(&settings)?) {
        None => Ok(settings),
        Some(pointer) if pointer.is_empty() => bail!("they must be an object, and are a list"),
        Some(pointer) => bail!("{pointer} must be an object, and is a list"),
    }
}

/// Returns the JSON Pointer of a list that was read as an object: serde accepts the values of a struct without their
/// names, in the order of its fields.
fn list_for_object(given: &Value, read: &Value) -> Option<String> {
    match (given, read) {
        (Value::Array(_), Value::Object(_)) => Some(String::new()),
        (Value::Object(given), Value::Object(read)) => given.iter().find_map(|(key, given)| {
            let below = list_for_object(given, read.get(key)?)?;
            Some(format!("/{key}{below}"))
        }),
        (Value::Array(given), Value::Array(read)) => {
            let mut pairs = given.iter().zip(read).enumerate();
            pairs.find_map(|(index, (given, read))| {
                Some(format!("/{index}{}", list_for_object(given, read)?))
            })
        }
        _ => None,
    }
}

impl Settings {
    /// Returns an error for contradictory settings and those that the strategy does not honour, before anything is
    /// loaded.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let params = Params {
            options: self.options.clone(),
            strategy: self.strategy.clone(),
        };
        params.check()?;
        let (count, most) = (self.options.sequences, SchedulerLimits::default().queue);
        if count > most {
            bail!(
                "sequences is {count}, and must be at most {most}, the number of outputs that may wait for the model"
            );
        }
        if self.guidance_prompt.is_some() && !matches!(self.strategy, Strategy::Guidance(_)) {
            bail!(
                "guidance_prompt is for the strategy guidance, and the strategy is {}",
                self.strategy.name()
            );
        }
        Ok(())
    }

    /// Returns whether outputs are listed, each with the strategy's details: if several were requested, or the strategy
    /// always returns several.
    pub(crate) fn lists_outputs(&self) -> bool {
        let lists = matches!(self.strategy, Strategy::Beam(_)) || is_faithful(&self.strategy);
        lists || self.has_count || self.options.sequences != 1
    }

    /// Returns an error for a parameter that has no effect on a command; `scopes` are those of the command with its
    /// flags.
    pub(crate) fn check_scopes(&self, command: &str, scopes: &[Scope]) -> anyhow::Result<()> {
        for row in self.changed()? {
            let scope = scope(&row);
            if scope != Scope::Request && !scopes.contains(&scope) {
                bail!("{} {}", row.name, scope.reason(command));
            }
        }
        Ok(())
    }

    /// Returns an error for everything but sampling parameters, for a command about a single step.
    pub(crate) fn check_sampling_only(&self, command: &str) -> anyhow::Result<()> {
        let mut changed = self.changed()?.into_iter();
        let other = changed.find(|row| row.place != Place::Sampling);
        let name = other.map_or(self.has_count.then_some("-n"), |row| Some(row.name));
        match name {
            None => Ok(()),
            Some(name) => bail!(
                "{command} takes sampling parameters alone, and {name} is none: strategies, lengths, stop texts and numbers of outputs are for generate"
            ),
        }
    }

    /// Returns the parameters that differ from their defaults.
    pub(crate) fn changed(&self) -> anyhow::Result<Vec<Parameter>> {
        let (form, default) = (form_of(self)?, form_of(&Self::default())?);
        let mut rows = parameters();
        let strategy = self.strategy.name();
        rows.retain(|row| {
            let is_own = row.strategy().is_none_or(|own| own == strategy);
            is_own && row.value_in(&form) != row.value_in(&default)
        });
        Ok(rows)
    }

    /// Returns the strategy, completed with what needs the model's tokenizer.
    pub(crate) fn strategy(&self, model: &Model) -> structgen::Result<Strategy> {
        let mut strategy = self.strategy.clone();
        if let (Strategy::Guidance(guidance), Some(text)) = (&mut strategy, &self.guidance_prompt) {
            guidance.prompt = model.encode_prompt(text)?;
        }
        Ok(strategy)
    }

    /// Returns the options of a request after this prompt.
    pub(crate) fn options_after(&self, prompt: &[TokenId], model: &Model) -> GenerateOptions {
        let mut options = self.options.clone();
        options
            .max_new_tokens
            .get_or_insert(match options.overflow {
                ContextOverflow::Crop { .. } => MAX_NEW_TOKENS,
                ContextOverflow::Error => model.room_after(prompt, MAX_NEW_TOKENS),
            });
        options
    }

    /// Prints the seed if it was chosen at random and affects the output.
    pub(crate) fn report_seed(&self, constraint: Option<&CompiledConstraint>) {
        let sets_temperatures =
            constraint.is_some_and(|constraint| constraint.program().sets_temperatures());
        let draws = self.options.sampling.temperature > 0.0 || sets_temperatures;
        if draws && !self.is_seeded {
            note(&format!("seed {}", self.options.sampling.seed));
        }
    }

    /// Returns the seed, if one was given.
    #[cfg(feature = "play")]
    pub(crate) fn seed(&self) -> Option<u64> {
        self.is_seeded.then_some(self.options.sampling.seed)
    }

    /// Caches prefixes for requests that begin alike, unless a size was set.
    pub(crate) fn keep_prefixes(&mut self) {
        if self.model.prefix_cache == 0 {
            self.model.prefix_cache = PREFIX_CACHE;
        }
    }

    /// Returns the same settings for a model that runs without the strategy.
    pub(crate) fn without_strategy(&self) -> Self {
        let mut plain = self.clone();
        plain.strategy = Strategy::default();
        (plain.model.draft, plain.model.heads) = (None, None);
        plain
    }

    /// Returns the same settings for the embedded model beside another.
    pub(crate) fn for_embedded(&self) -> Self {
        Self {
            model: self.model.embedded(),
            ..self.clone()
        }
    }

    /// Loads the model, with a session per worker, which is opened when it is needed.
    pub(crate) fn load(
        &self,
        model: Option<&Path>,
        workers: NonZeroUsize,
    ) -> anyhow::Result<Model> {
        // Parallel sessions use a core each.
        let threads = (workers > NonZeroUsize::MIN).then_some(NonZeroUsize::MIN);
        let options = self.model.options(threads)?;
        let options = options.with_workers(workers).with_workers_on_demand();
        let options = self.with_drafters(options, model)?;
        let model = self.model.load(model, options)?;
        interrupt::watch(&model);
        Ok(model)
    }

    /// Adds the draft model and the heads that the strategy needs.
    fn with_drafters(
        &self,
        mut options: ModelOptions,
        target: Option<&Path>,
    ) -> anyhow::Result<ModelOptions> {
        let (wants_draft, wants_heads) = match &self.strategy {
            Strategy::Speculate(Speculation { model, heads, .. }) => (*model, *heads),
            Strategy::Contrastive(_) => (true, false),
            _ => (false, false),
        };
        for (wanted, given, name) in [
            (wants_draft, &self.model.draft, "model.draft"),
            (wants_heads, &self.model.heads, "model.heads"),
        ] {
            if !wanted && given.is_some() {
                bail!(
                    "{name} is given, and the strategy {} does not use it",
                    self.strategy.name()
                );
            }
        }
        if wants_draft {
            options = options.with_draft(match (&self.model.draft, target) {
                (Some(folder), _) => DraftSource::Folder(models::resolve(folder)?),
                (None, None) => DraftSource::Embedded,
                (None, Some(_)) => bail!(
                    "the strategy {} needs a second model beside the one of --model: name its folder by --set model.draft=DIR",
                    self.strategy.name()
                ),
            });
        }
        if wants_heads {
            options = options.with_heads(match (&self.model.heads, target) {
                (Some(file), _) => HeadsSource::File(file.clone()),
                (None, None) => HeadsSource::Embedded,
                (None, Some(folder)) => HeadsSource::File(folder.join("heads.onnx")),
            });
        }
        Ok(options)
    }
}

/// Serialises through text, which gives 0.1 rather than the `f32` next to it.
fn form_of(settings: &impl Serialize) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&serde_json::to_string(settings)?)?)
}
