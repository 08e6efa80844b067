//! Extracts with the model, from several texts in parallel.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use structgen::decode::{Confidence, GenerateError, Generation};
use structgen::{Calibration, Error, GenerateOptions, LongText, Model, SchemaExtractor};
use structgen_bench::scoring::{Failure, Probability, Sample, Summary};
use structgen_maskbench::Percentiles;

use super::mode::{Mode, Strategy, Written};
use super::report::Results;
use super::set::Set;

/// A set's schemas, compiled for a model.
pub(super) struct Extractors {
    all: Vec<Result<SchemaExtractor, Failure>>,
    /// The time of compiling.
    seconds: f64,
}

/// The speed of the answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Speed {
    /// Answers per second over all jobs, from the text to the document, with compiled schemas.
    pub(super) documents_per_second: f64,
    /// Number of texts that exceeded the context and were read in windows.
    pub(super) in_windows: usize,
    /// Mean number of prompt tokens per text.
    pub(super) prompt_tokens: f64,
    /// Mean number of answer tokens per text, including forced ones.
    pub(super) tokens: f64,
    /// Milliseconds until the first token that was not forced.
    pub(super) first_token_ms: [f64; 2],
    /// Mean milliseconds to compile a schema.
    pub(super) compile_ms: f64,
}

/// The cost of an answer.
#[derive(Clone, Copy, Debug)]
struct Cost {
    windows: usize,
    prompt_tokens: usize,
    tokens: usize,
    first_token: Duration,
}

impl Cost {
    fn of(outputs: &[Generation]) -> Option<Self> {
        let first = outputs.first()?;
        let first_choice = { first.tokens.iter() }
            .chain(&first.end)
            .find(|token| !token.forced)
            .and_then(|token| token.time);
        let prompts = outputs.iter().map(|output| output.stats.prompt_tokens);
        Some(Self {
            windows: outputs.len(),
            prompt_tokens: prompts.sum(),
            tokens: outputs.iter().map(|output| output.tokens.len()).sum(),
            first_token: first_choice.unwrap_or(first.stats.total_time),
        })
    }
}

struct Answer {
    value: Result<Value, Failure>,
    confidence: HashMap<String, Probability>,
    /// `None` if nothing was generated.
    cost: Option<Cost>,
}

impl Extractors {
    pub(super) fn compile(
        model: &Model,
        samples: &[Sample],
        mode: Mode,
        long_text: LongText,
        max_tokens: Option<usize>,
    ) -> Self {
        let started = Instant::now();
        let options = GenerateOptions {
            max_new_tokens: max_tokens,
            log_probs: true,
            token_times: true,
            ..GenerateOptions::default()
        };
        let extractor = |sample: &Sample| {
            let (schema, options) = (sample.schema.clone(), options.clone());
            SchemaExtractor::new(model.clone(), schema, &mode.schema_options(), options)
                .map(|extractor| extractor.with_long_text(long_text))
                .map_err(failure)
        };
        Self {
            all: samples.iter().map(extractor).collect(),
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    /// Extracts every document of a set.
    pub(super) fn ask(
        &self,
        set: &Set,
        mode: Mode,
        strategy: Strategy,
        jobs: NonZeroUsize,
    ) -> anyhow::Result<Results> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut answers = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let (Some(extractor), Some(sample)) = (self.all.get(at), set.samples.get(at))
                else {
                    return answers;
                };
                let answer = match extractor {
                    Ok(extractor) => answer(extractor, sample, mode, strategy),
                    Err(failure) => Answer::failed(failure.clone()),
                };
                answers.push((at, answer));
            }
        };
        let started = Instant::now();
        let mut answers = thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs.get()).map(|_| scope.spawn(work)).collect();
            let mut answers = Vec::new();
            for thread in threads {
                let done = thread.join();
                answers.extend(done.map_err(|_| anyhow::anyhow!("a thread has panicked"))?);
            }
            anyhow::Ok(answers)
        })?;
        let seconds = started.elapsed().as_secs_f64();
        answers.sort_by_key(|(at, _)| *at);
        let documents: Vec<_> = { answers.iter() }
            .map(|(at, answer)| {
                let confidence = |pointer: &str| answer.confidence.get(pointer).copied();
                set.samples[*at].score(&answer.value, confidence)
            })
            .collect();
        let costs: Vec<Cost> = answers
            .iter()
            .filter_map(|(_, answer)| answer.cost)
            .collect();
        Ok(Results {
            set: set.name.clone(),
            mode: mode.to_string(),
            strategy: strategy.to_string(),
            jobs: jobs.get(),
            summary: Summary::new(&documents),
            speed: self.speed(&costs, seconds),
            documents,
        })
    }

    fn speed(&self, costs: &[Cost], seconds: f64) -> Option<Speed> {
        let mean = |of: fn(&Cost) -> usize| {
            costs.iter().map(of).sum::<usize>() as f64 / costs.len() as f64
        };
        let milliseconds = |cost: &Cost| cost.first_token.as_secs_f64() * 1e3;
        let first = Percentiles::new(costs.iter().map(milliseconds).collect());
        (!costs.is_empty()).then(|| Speed {
            documents_per_second: costs.len() as f64 / seconds,
            in_windows: costs.iter().filter(|cost| cost.windows > 1).count(),
            prompt_tokens: mean(|cost| cost.prompt_tokens),
            tokens: mean(|cost| cost.tokens),
            first_token_ms: [first.p50, first.p99],
            compile_ms: self.seconds * 1e3 / self.all.len() as f64,
        })
    }
}

fn answer(extractor: &SchemaExtractor, sample: &Sample, mode: Mode, strategy: Strategy) -> Answer {
    let extractor = extractor.clone().with_strategy(strategy.options());
    match mode.ask(&extractor, &sample.text) {
        Ok(written) => Answer::new(written, extractor.model().calibration()),
        Err(error) => Answer::failed(failure(error)),
    }
}

impl Answer {
    fn new(written: Written, calibration: Option<Calibration>) -> Self {
        let confidence = written.confidence.as_ref();
        Self {
            cost: Cost::of(&written.outputs),
            confidence: { confidence.map(|it| probabilities(it, &written, calibration)) }
                .unwrap_or_default(),
            value: serde_json::from_str(&written.json).map_err(|_| Failure::NotJson(written.json)),
        }
    }

    fn failed(failure: Failure) -> Self {
        Self {
            value: Err(failure),
            confidence: HashMap::new(),
            cost: None,
        }
    }
}

fn probabilities(
    confidence: &Confidence,
    written: &Written,
    calibration: Option<Calibration>,
) -> HashMap<String, Probability> {
    let fields = confidence.fields().iter().enumerate();
    fields
        .map(|(at, field)| {
            // As `Extraction::fields` does.
            let score = match &written.outputs[..] {
                [only] => only.field_score(field),
                _ => field.score,
            };
            let allowed = score.allowed.probability();
            let pointer = confidence.pointer(at);
            let read = written.read.get(&pointer).copied();
            let calibrated = calibration.map(|it| it.confidence(field.kind, &score, read));
            let probability = Probability {
                kind: field.kind,
                read,
                model: score.model.probability(),
                allowed,
                calibrated: calibrated.unwrap_or(allowed),
            };
            (pointer, probability)
        })
        .collect()
}

fn failure(error: Error) -> Failure {
    let does_not_fit = matches!(
        error,
        Error::Generate(
            GenerateError::ContextOverflow { .. } | GenerateError::BudgetTooSmall { .. }
        )
    );
    let message = format!("{:#}", anyhow::Error::from(error));
    match does_not_fit {
        true => Failure::DoesNotFit(message),
        false => Failure::Other(message),
    }
}
