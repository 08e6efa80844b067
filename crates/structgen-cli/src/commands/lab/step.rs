//! `structgen lab step`.

use std::collections::HashMap;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use structgen::decode::samplers::{Accepted, SamplerChain, SequenceStart};
use structgen::vocab::{TokenId, Tokenizer, TokenizerError};
use structgen::{Model, Request, SamplingParams, SchemaOptions, TaskPreset};
use structgen_lab::chart::{Axis, BarChart, BarGroup, text_bar};
use structgen_lab::step::{Everything, Step, TokenShare};

use super::report::{Report, ReportArgs};
use super::source::{Logits, SourceArgs, token_text};
use super::subject::{extraction, free_text};
use super::table::{Table, percent, quoted, three, title};
use crate::args::RegexArgs;
use crate::commands::demo_samples::samples;
use crate::constraint_args::ConstraintArgs;
use crate::input::Document;
use crate::settings::SettingsArgs;

/// Number of tokens in a plot.
const BARS: usize = 12;

/// Options of `structgen lab step`.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("schema", |schema| schema.long("json-schema")),
    after_help = "Without any flag, the embedded model reads a sample text, and the mask of its schema is shown. p is the model's probability, \
    cumulative that\nof a token and all above it; no token below the line is kept. Samplers are temperature 0.7, top-k 50 and top-p 0.9 \
    where none is given."
)]
pub(crate) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// Output before the step [default for the sample text: the output up to its first value]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    after: Option<String>,
    /// Number of tokens to list
    #[arg(long, value_name = "N", default_value_t = 15)]
    tokens: usize,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

/// A step, and what to call its tokens.
struct Shown {
    step: Step,
    about: String,
    name: Box<dyn Fn(u32) -> String>,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    let settings = args.settings.settings()?;
    settings.check_sampling_only("lab step")?;
    let sampling = or_balanced(settings.options.sampling);
    let shown = match args.source.is_without_model() {
        true => {
            if args.constraint.is_given() {
                bail!("a mask is of a model's tokens, and the logits are not a model's");
            }
            if args.after.is_some() {
                bail!("--after is for a model's output, and the logits are not a model's");
            }
            let source = args.source.read(|| Logits::of(&[0.0], ""))?;
            let step = Step::new(
                &source.logits,
                &Everything::of(source.logits.len()),
                &sampling,
            )?;
            let about = source.about.clone();
            let name = Box::new(move |id| source.token(id));
            Shown { step, about, name }
        }
        false => of_model(args, &sampling)?,
    };
    Ok(shown.report(args.tokens.max(1)))
}

/// Returns the parameters, or if at most a seed is given, the temperature, top-k and top-p of a balanced task.
pub(crate) fn or_balanced(sampling: SamplingParams) -> SamplingParams {
    let seed = sampling.seed;
    let plain = SamplingParams {
        seed,
        ..SamplingParams::default()
    };
    if sampling != plain {
        return sampling;
    }
    SamplingParams {
        seed,
        top_k: 50,
        repetition_penalty: 1.0,
        frequency_penalty: 0.0,
        ..TaskPreset::Balanced.params()
    }
}

/// Runs a model's step, after its prompt and the output so far.
fn of_model(args: &Args, sampling: &SamplingParams) -> anyhow::Result<Shown> {
    let model = args.source.load.load()?;
    let Asked {
        request,
        about,
        after,
    } = Asked::of(args, &model)?;
    let output = encode_output(model.tokenizer(), &after)?;
    let text: Vec<TokenId> = [&request.prompt[..], &output].concat();
    let logits = model
        .logits(&text, 1)?
        .pop()
        .context("the model gave no logits")?;
    let sets_temperatures = { request.constraint.as_ref() }
        .is_some_and(|constraint| constraint.program().sets_temperatures());
    let samplers = &request.options.samplers;
    let mut chain = SamplerChain::of_sequence(sampling, samplers, sets_temperatures, 0)?;
    chain.reset(SequenceStart {
        prompt: &request.prompt,
        prefilled: 0,
        eos: model.eos(),
    });
    for &token in &output {
        chain.accept(Accepted::certain(token));
    }
    let step = match &request.constraint {
        Some(constraint) => {
            let mut matcher = constraint.matcher();
            for &token in &output {
                matcher
                    .accept_token(token)
                    .with_context(|| format!("--after {after:?} is no beginning of an output"))?;
            }
            chain.set_temperature(matcher.temperature()?);
            let mask = matcher.mask()?;
            Step::of(&logits, &*mask, &mut chain)?
        }
        None => Step::of(&logits, &*free_text(&model)?, &mut chain)?,
    };
    let about = match after.as_str() {
        "" => about,
        after => format!("{about}, output so far {}", quoted(after, 30)),
    };
    let vocabulary = model.tokenizer().vocabulary().clone();
    let name = Box::new(move |id| token_text(TokenId(id), &vocabulary));
    Ok(Shown { step, about, name })
}

/// The output to take a step of.
struct Asked {
    request: Request,
    about: String,
    /// The output before the step.
    after: String,
}

impl Asked {
    /// Returns an extraction's output if the model is the embedded one and no other constraint is given.
    fn of(args: &Args, model: &Model) -> anyhow::Result<Self> {
        let given = &args.constraint;
        let after = args.after.clone();
        if model.is_embedded() && (given.schema.is_some() || !given.is_given()) {
            let schema = { given.schema.as_deref() }
                .map(|path| Ok::<_, anyhow::Error>(Document::read_json(path)?.text))
                .transpose()?;
            let prompt = args.source.prompt();
            let (request, text) = extraction(model, prompt, schema.as_deref())?;
            let is_sample = prompt.is_none() && schema.is_none();
            return Ok(Self {
                request,
                about: format!("an extraction from {}", quoted(&text, 40)),
                after: match after {
                    None if is_sample => first_value()?,
                    after => after.unwrap_or_default(),
                },
            });
        }
        let prompt = args.source.prompt().unwrap_or(super::subject::OPENING);
        let given = given.read(None, &SchemaOptions::new(), &RegexArgs::default())?;
        let constraint = given.map(|(constraint, _)| constraint);
        let compiled = { constraint.as_ref() }
            .map(|constraint| model.compile(constraint))
            .transpose()?;
        Ok(Self {
            request: Request::new(model.encode_prompt(prompt)?, compiled),
            about: format!("after {}", quoted(prompt, 40)),
            after: after.unwrap_or_default(),
        })
    }
}

/// Encodes the beginning of an output. Some tokenizers put a space before a text, which an output does not begin with:
/// the text is then encoded after another one.
fn encode_output(tokenizer: &Tokenizer, text: &str) -> Result<Vec<TokenId>, TokenizerError> {
    let is_exact = |tokens: &[TokenId]| tokenizer.decode_bytes(tokens) == text.as_bytes();
    let alone = tokenizer.encode(text)?;
    if is_exact(&alone) {
        return Ok(alone);
    }
    // Hardly any token goes on from one of these to what follows it.
    for before in ["\n", "}", "."] {
        let tokens = tokenizer.encode(&[before, text].concat())?;
        if let Some(after) = tokens.strip_prefix(&*tokenizer.encode(before)?)
            && is_exact(after)
        {
            return Ok(after.to_vec());
        }
    }
    Ok(alone)
}

/// Returns the sample's output up to its first value, the first place with a choice.
fn first_value() -> anyhow::Result<String> {
    let sample = samples()?
        .into_iter()
        .next()
        .context("there is no sample")?;
    let schema: Value = serde_json::from_str(sample.schema.get())?;
    let keys = schema["properties"].as_object();
    let first = keys.and_then(|keys| keys.keys().next());
    Ok(first.map_or(String::new(), |key| {
        format!("{{{}:", Value::from(key.as_str()))
    }))
}

impl Shown {
    fn report(&self, listed: usize) -> Report {
        let step = &self.step;
        let kept: HashMap<u32, &TokenShare> = { step.kept.iter() }
            .map(|share| (share.id, share))
            .collect();
        let kept = |id: u32| kept.get(&id).copied();
        let cell = |share: Option<&TokenShare>| {
            share.map_or("—".to_owned(), |share| percent(share.probability))
        };
        let mut tokens = Table::new(["<token", "logit", "p", "cumulative", "after", "<p"]);
        let mut is_cut = false;
        // With a reader, those that are kept are not always the most probable ones.
        let last_kept = step
            .model
            .iter()
            .rposition(|share| kept(share.id).is_some());
        for (at, share) in step.model.iter().take(listed).enumerate() {
            let after = kept(share.id);
            if !is_cut && share.is_allowed && last_kept.is_none_or(|last| at > last) {
                is_cut = true;
                tokens.row(["╌╌ cut ╌╌".to_owned()]);
            }
            tokens.row([
                (self.name)(share.id),
                format!("{:.2}", share.logit),
                percent(share.probability),
                percent(share.cumulative),
                match share.is_allowed {
                    true => cell(after),
                    false => "refused".to_owned(),
                },
                text_bar(share.probability, 30),
            ]);
        }
        let mut stages = Table::new(["<stage", "tokens left", "took", "H nats"]);
        stages.row([
            "model".to_owned(),
            step.model.len().to_string(),
            String::new(),
            three(step.entropy),
        ]);
        stages.row([
            "mask".to_owned(),
            step.mask.allowed.to_string(),
            percent(step.mask.removed),
            String::new(),
        ]);
        for stage in &step.stages {
            stages.row([
                stage.sampler.to_owned(),
                stage.left.to_string(),
                percent(stage.removed),
                three(stage.entropy),
            ]);
        }
        let drawn = match step.drawn {
            Some(drawn) => format!(
                "Drawn: {}, which had {} after all of them.\n",
                (self.name)(drawn.id),
                percent(drawn.probability)
            ),
            None => "Nothing can be drawn.\n".to_owned(),
        };
        let refused = match step.mask.refused.is_empty() {
            true => String::new(),
            false => {
                let list = step.mask.refused.iter().take(5);
                let list = list.map(|share| {
                    format!("{} {}", (self.name)(share.id), percent(share.probability))
                });
                format!(
                    "The mask took {} of the probability; the most probable of it: {}.\n",
                    percent(step.mask.removed),
                    list.collect::<Vec<_>>().join(", ")
                )
            }
        };
        // The most probable tokens of the model, and of those that are left.
        let mut ids: Vec<u32> = step
            .model
            .iter()
            .take(BARS / 2)
            .map(|share| share.id)
            .collect();
        for share in step.kept.iter().take(BARS / 2) {
            if !ids.contains(&share.id) {
                ids.push(share.id);
            }
        }
        let groups = ids.iter().map(|&id| {
            let before = step.model.iter().find(|share| share.id == id);
            let before = before.map_or(0.0, |share| share.probability);
            let after = kept(id).map_or(0.0, |share| share.probability);
            BarGroup::new((self.name)(id), [before, after])
        });
        let chart = BarChart {
            title: "One step: before and after mask and samplers".to_owned(),
            x: Axis::linear("probability").from_to(0.0, 1.0),
            series: vec!["model".to_owned(), "after mask and samplers".to_owned()],
            groups: groups.collect(),
        };
        let named = |shares: &[TokenShare]| -> Vec<Value> {
            let shares = shares.iter().take(listed);
            let named = shares.map(|share| {
                json!({
                    "id": share.id,
                    "text": (self.name)(share.id),
                    "logit": share.logit,
                    "probability": share.probability,
                    "cumulative": share.cumulative,
                })
            });
            named.collect()
        };
        let json = json!({
            "source": self.about,
            "tokens": step.model.len(),
            "entropy": step.entropy,
            "model": named(&step.model),
            "mask": {
                "allowed": step.mask.allowed,
                "removed": step.mask.removed,
                "refused": named(&step.mask.refused),
            },
            "stages": step.stages.iter().map(|stage| json!({
                "sampler": stage.sampler,
                "left": stage.left,
                "removed": stage.removed,
                "entropy": stage.entropy,
                "tokens": named(&stage.tokens),
            })).collect::<Vec<_>>(),
            "kept": named(&step.kept),
            "drawn": step.drawn,
        });
        Report {
            json,
            text: format!(
                "{}{}\n{}\n{refused}{drawn}",
                title(&format!("One step: {}", self.about)),
                tokens.text(),
                stages.text()
            ),
            chart: chart.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tokenizer that puts a space before a text, as SentencePiece's do.
    const PREPENDING: &str = r#"{
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        ]},
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        ]},
        "model": {
            "type": "BPE",
            "vocab": {"▁": 0, "{": 1, "a": 2, "▁{": 3, "\n": 4, "}": 5, ".": 6, "\n{": 7},
            "merges": ["▁ {", "\n {"]
        }
    }"#;

    #[test]
    fn an_output_begins_without_the_space_that_a_tokenizer_puts_before_a_text() {
        let tokenizer = Tokenizer::from_bytes(PREPENDING.as_bytes()).unwrap();
        assert_eq!(
            tokenizer.decode_bytes(&tokenizer.encode("{a").unwrap()),
            b" {a"
        );
        let ids = |text| encode_output(&tokenizer, text).unwrap();
        // A line break would become one token with what follows it.
        assert_eq!(ids("{a"), [TokenId(1), TokenId(2)]);
        assert_eq!(ids(" {"), [TokenId(3)]);
        assert!(ids("").is_empty());
    }
}
