//! A model and a prompt, the subject of most tools.

use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::Value;
use structgen::decode::constraint::PlainMask;
use structgen::decode::strategies::BeamOptions;
use structgen::decode::{Constraint as _, Generation, Output, Unconstrained};
use structgen::vocab::TokenId;
use structgen::{
    Constraint, GenerateOptions, Model, Profile, Request, SamplingParams, SchemaExtractor,
    SchemaOptions, Strategy,
};

use structgen_lab::heldout::Score;

use crate::args::LoadArgs;
use crate::commands::demo_samples::samples;
use crate::input::TextArgs;

/// The prompt for a model that was not made for extraction, if none is given.
pub(crate) const OPENING: &str = "Once upon a time";

/// A model, and a prompt.
#[derive(clap::Args, Debug)]
pub(crate) struct SubjectArgs {
    #[command(flatten)]
    prompt: TextArgs,
    #[command(flatten)]
    load: LoadArgs,
}

pub(crate) struct Subject {
    pub(crate) model: Model,
    pub(crate) prompt: Vec<TokenId>,
    /// A description for headings.
    pub(crate) about: String,
}

impl SubjectArgs {
    /// Loads the model. The default prompt is a sample extraction for the embedded model, which was made for that, and
    /// the opening of a tale for others.
    pub(crate) fn load(&self) -> anyhow::Result<Subject> {
        self.load_for(true)
    }

    /// Loads the model. The default prompt is the opening of a tale, which makes small models loop.
    pub(crate) fn load_for_text(&self) -> anyhow::Result<Subject> {
        self.load_for(false)
    }

    fn load_for(&self, extracts: bool) -> anyhow::Result<Subject> {
        let given = self.prompt.text.is_some() || self.prompt.file.is_some();
        let text = given.then(|| self.prompt.read()).transpose()?;
        let model = self.load.load()?;
        let (prompt, about) = match text {
            Some(text) => {
                let about = format!("after {}", super::table::quoted(&text, 40));
                (model.encode_prompt(&text)?, about)
            }
            None if extracts && model.is_embedded() => {
                let (request, text) = extraction(&model, None, None)?;
                let about = format!(
                    "the embedded model, free, after the prompt of an extraction from {}",
                    super::table::quoted(&text, 40)
                );
                (request.prompt, about)
            }
            None => {
                let about = format!("after {:?}", OPENING);
                (model.encode_prompt(OPENING)?, about)
            }
        };
        Ok(Subject {
            model,
            prompt,
            about,
        })
    }
}

/// Builds the request of an extraction from a text under a schema; a sample has what is not given. Also returns the
/// text.
pub(crate) fn extraction(
    model: &Model,
    text: Option<&str>,
    schema: Option<&str>,
) -> anyhow::Result<(Request, String)> {
    if text.is_some_and(|text| text.trim().is_empty()) {
        bail!("the embedded model extracts from a text, and the prompt is empty");
    }
    let sample = samples()?
        .into_iter()
        .next()
        .context("there is no sample")?;
    let text = text.unwrap_or(sample.text.as_str());
    let schema = schema.unwrap_or(sample.schema.get());
    let value: Value = serde_json::from_str(schema).context("the schema is not JSON")?;
    let options = SchemaOptions::new().with_profile(Profile::Generate);
    let options = model.extraction_options(&value, &options);
    let constraint = Constraint::json_schema_str(schema, &options)?;
    let generate = GenerateOptions::default();
    let extractor = SchemaExtractor::with_constraint(model.clone(), value, &constraint, generate)?;
    Ok((extractor.request(text)?, text.to_owned()))
}

/// Returns the tokens that decoding allows without a constraint: texts, and the ends of an output.
pub(crate) fn free_text(model: &Model) -> anyhow::Result<Arc<PlainMask>> {
    let text = model.tokenizer().vocabulary().text_tokens().clone();
    Ok(Unconstrained::new(text, model.eos()).mask()?)
}

/// Outputs under one setting.
pub(crate) struct Outputs {
    pub(crate) generations: Vec<Generation>,
}

impl Outputs {
    /// Returns the token ids of each output.
    pub(crate) fn ids(&self) -> Vec<Vec<TokenId>> {
        let ids =
            |generation: &Generation| generation.tokens.iter().map(|token| token.id).collect();
        self.generations.iter().map(ids).collect()
    }

    /// Returns the log probabilities of all tokens under the model, at temperature 1.
    pub(crate) fn log_probs(&self) -> Vec<f64> {
        let tokens = self
            .generations
            .iter()
            .flat_map(|generation| &generation.tokens);
        tokens
            .filter_map(|token| Some(f64::from(token.log_probs?.model)))
            .collect()
    }
}

impl Subject {
    /// Generates unconstrained outputs with these parameters.
    pub(crate) fn generate(
        &self,
        sampling: SamplingParams,
        outputs: usize,
        tokens: usize,
    ) -> anyhow::Result<Outputs> {
        let options = GenerateOptions {
            sampling,
            sequences: outputs,
            max_new_tokens: Some(self.model.room_after(&self.prompt, tokens)),
            log_probs: true,
            ..GenerateOptions::default()
        };
        self.run(options, Strategy::default())
    }

    /// Returns the best output of a beam search.
    pub(crate) fn beams(&self, width: usize, tokens: usize) -> anyhow::Result<Outputs> {
        let beams = BeamOptions {
            width,
            n_best: 1,
            ..BeamOptions::default()
        };
        let options = GenerateOptions {
            max_new_tokens: Some(self.model.room_after(&self.prompt, tokens)),
            ..GenerateOptions::default()
        };
        self.run(options, beams.into())
    }

    fn run(&self, options: GenerateOptions, strategy: Strategy) -> anyhow::Result<Outputs> {
        let request = Request::new(self.prompt.clone(), None)
            .with_options(options)
            .with_strategy(strategy);
        let outputs: Vec<Output> = self.model.submit(request)?.wait()?.all()?;
        let generations = outputs.into_iter().map(|output| output.generation);
        Ok(Outputs {
            generations: generations.collect(),
        })
    }

    /// Computes the log probabilities of outputs' tokens, for strategies that do not report them.
    pub(crate) fn score(&self, outputs: &[Vec<TokenId>]) -> anyhow::Result<Vec<f64>> {
        let mut score = Score::default();
        for ids in outputs {
            // The logits after a token are those of the next step.
            let before = &ids[..ids.len().saturating_sub(1)];
            let text = [&self.prompt[..], before].concat();
            let rows = self.model.logits(&text, ids.len())?;
            for (logits, &token) in rows.iter().zip(ids) {
                score.push(logits, token);
            }
        }
        Ok(score.log_probs)
    }

    /// Describes a token.
    pub(crate) fn token(&self, id: u32) -> String {
        super::source::token_text(TokenId(id), self.model.tokenizer().vocabulary())
    }
}
