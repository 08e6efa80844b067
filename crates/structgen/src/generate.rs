//! Generation, free or under a constraint.

use std::ops::ControlFlow;

use structgen_constraint::CompiledConstraint;
use structgen_decode::{
    BeamOptions, BeamOutput, Delta, EventStream, FinishReason, GenerateError, GenerateOptions,
    Generation, Generator, LanguageModel, OutputEvent, PrefixCache, Request, Speculation,
    Unconstrained,
};
use structgen_ort::{OrtCache, OrtModel};
use structgen_vocab::{TokenId, Tokenizer};

use crate::{Model, Result};

/// Runs a generator of the model under a constraint; without one, under that of free text.
macro_rules! under {
    ($model:ident, $constraint:ident, |$generator:ident, $under:ident| $run:block) => {{
        let mut free = $model.free();
        let mut $generator = generator(&mut $model.model, &$model.tokenizer, &mut $model.prefixes);
        match $constraint {
            Some(constraint) => {
                let $under = &mut constraint.matcher();
                $run
            }
            None => {
                let $under = &mut free;
                $run
            }
        }
    }};
}
pub(crate) use under;

impl Model {
    /// Generates one output behind a prompt; without a constraint, free text.
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate). An output that was cut before it was complete is an error, too, with
    /// what there is.
    pub fn generate(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
    ) -> Result<Generation> {
        self.stream(prompt, constraint, options, |_| ControlFlow::Continue(()))
    }

    /// Generates one output and hands out its text as it comes.
    ///
    /// # Errors
    /// As [`generate`](Model::generate).
    pub fn stream(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.stream(prompt, constraint, options, on_delta)?)
        })
    }

    /// Generates one output and tells what becomes of its parts as it comes: of its JSON values or captures, or its text.
    ///
    /// [`EventStream`] says which, and does the same for the other ways to generate. A callback that breaks ends the output.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use structgen::decode::{OutputEvent, OutputPart};
    /// use structgen::{Constraint, GenerateOptions, Model, ModelOptions, SchemaOptions};
    ///
    /// let mut model = Model::embedded(&ModelOptions::new())?;
    /// let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
    /// let compiled = model.compile(&Constraint::json_schema_str(schema, &SchemaOptions::new())?)?;
    /// let prompt = model.encode_prompt("A flat in Graz: ")?;
    /// model.stream_events(&prompt, Some(&compiled), &GenerateOptions::default(), |event| {
    ///     if let OutputEvent::Delta { part: OutputPart::Field { pointer, .. }, text } = event
    ///         && pointer == "/city"
    ///     {
    ///         print!("{text}");
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Model::generate); [`Error::Events`](crate::Error::Events) when finding captures exceeds a limit.
    pub fn stream_events(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        mut on_event: impl FnMut(OutputEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        let mut events = constraint.map_or_else(EventStream::text, EventStream::new);
        let mut told = Ok(());
        let generation = self.stream(prompt, constraint, options, |delta| {
            let mut flow = ControlFlow::Continue(());
            told = events.push(&delta, &mut |event| {
                if flow.is_continue() {
                    flow = on_event(event);
                }
            });
            match told {
                Ok(()) => flow,
                Err(_) => ControlFlow::Break(()),
            }
        });
        told?;
        let generation = generation?;
        if generation.finish != FinishReason::Cancelled {
            // The output has ended: there is nothing left for the callback to stop.
            events.finish(&mut |event| {
                let _ = on_event(event);
            })?;
        }
        Ok(generation)
    }

    /// Generates one output like [`stream`](Model::stream), with fewer runs of the model where drafts are kept: its distribution is the same.
    ///
    /// Drafts of forced text are written by this model's tokenizer.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use structgen::decode::{PromptLookup, Speculation};
    /// use structgen::{GenerateOptions, Model, ModelOptions};
    ///
    /// let mut model = Model::embedded(&ModelOptions::new())?;
    /// let mut draft = Model::embedded_draft(&ModelOptions::new())?;
    /// let vocabulary = draft.tokenizer().vocabulary().clone();
    /// let mut speculation = Speculation::new()
    ///     .with_model(draft.language_model(), vocabulary)
    ///     .with_lookup(PromptLookup::default())
    ///     .with_forced_text();
    /// let prompt = model.encode_prompt("one, two, three, ")?;
    /// let options = GenerateOptions::default();
    /// model.stream_speculative(&prompt, None, &options, &mut speculation, |delta| {
    ///     print!("{}", delta.text);
    ///     ControlFlow::Continue(())
    /// })?;
    /// println!("{:.1} tokens a run", speculation.stats().tokens_per_run());
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Model::generate), and where the draft model has another vocabulary.
    pub fn stream_speculative(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        speculation: &mut Speculation<'_>,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.stream_speculative(prompt, constraint, options, speculation, on_delta)?)
        })
    }

    /// Generates an output behind each prompt, all in one cache; without a constraint, free text.
    ///
    /// Which prompts run together changes nothing but, by rounding, the last bits of logits. Prompts with constraints or options of
    /// their own take [`Generator::generate_batch`].
    ///
    /// ```no_run
    /// use structgen::{Constraint, GenerateOptions, Model, ModelOptions};
    ///
    /// let mut model = Model::open("path/to/model", &ModelOptions::new())?;
    /// let prompts = [
    ///     model.encode_prompt("The capital of France is")?,
    ///     model.encode_prompt("The capital of Italy is")?,
    /// ];
    /// let city = model.compile(&Constraint::choices(["Paris", "Rome"])?)?;
    /// for output in model.generate_batch(&prompts, Some(&city), &GenerateOptions::default())? {
    ///     println!("{}", output?.text);
    /// }
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate) when the model fails. What is wrong with one output is an error of its own.
    pub fn generate_batch(
        &mut self,
        prompts: &[impl AsRef<[TokenId]>],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
    ) -> Result<Vec<Result<Generation>>> {
        let requests = prompts.iter().map(|prompt| (prompt.as_ref(), 0));
        self.run_batch(requests, constraint, options)
    }

    /// Generates `n` outputs behind one prompt, which is run once; each draws random numbers of its own.
    ///
    /// The first equals that of [`generate`](Model::generate). At temperature zero all are the same.
    ///
    /// # Errors
    /// As [`generate_batch`](Model::generate_batch).
    pub fn generate_many(
        &mut self,
        prompt: &[TokenId],
        n: usize,
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
    ) -> Result<Vec<Result<Generation>>> {
        let requests = (0..n as u64).map(|sequence| (prompt, sequence));
        self.run_batch(requests, constraint, options)
    }

    /// Searches the best outputs behind a prompt with several beams, best first.
    ///
    /// ```no_run
    /// use structgen::decode::{BeamOptions, Distinct};
    /// use structgen::{Constraint, GenerateOptions, Model, ModelOptions};
    ///
    /// let mut model = Model::open("path/to/model", &ModelOptions::new())?;
    /// let prompt = model.encode_prompt("Three primes: ")?;
    /// let primes = model.compile(&Constraint::regex("[0-9]+, [0-9]+, [0-9]+")?)?;
    /// let beams = BeamOptions { width: 8, n_best: 3, distinct: Distinct::Text, ..BeamOptions::default() };
    /// for output in model.beam_search(&prompt, Some(&primes), &GenerateOptions::default(), &beams)? {
    ///     println!("{:.3} {}", output.score, output.generation.text);
    /// }
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Model::generate), and options of beams that make no sense.
    pub fn beam_search(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        beams: &BeamOptions,
    ) -> Result<Vec<BeamOutput>> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.beam_search(prompt, constraint, options, beams)?)
        })
    }

    fn run_batch<'p>(
        &mut self,
        prompts: impl Iterator<Item = (&'p [TokenId], u64)>,
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
    ) -> Result<Vec<Result<Generation>>> {
        let free = self.free();
        let mut generator = generator(&mut self.model, &self.tokenizer, &mut self.prefixes);
        let outputs = match constraint {
            Some(constraint) => {
                let matchers = prompts.map(|prompt| request(prompt, constraint.matcher(), options));
                generator.generate_batch(matchers.collect())
            }
            None => {
                let texts = prompts.map(|prompt| request(prompt, free.clone(), options));
                generator.generate_batch(texts.collect())
            }
        };
        let outputs = outputs.map_err(GenerateError::from)?.into_iter();
        Ok(outputs.map(|output| Ok(output?)).collect())
    }

    pub(crate) fn free(&self) -> Unconstrained {
        let text = self.tokenizer.vocabulary().text_tokens().clone();
        Unconstrained::new(text, &self.model.info().eos)
    }

    /// How many tokens the model's context leaves behind a prompt, at most `most`.
    #[must_use]
    pub fn room_behind(&self, prompt: &[TokenId], most: usize) -> usize {
        // At least one, so that a prompt that is too long is told as such.
        self.model
            .info()
            .context_length
            .saturating_sub(prompt.len())
            .clamp(1, most.max(1))
    }
}

pub(crate) fn generator<'a>(
    model: &'a mut OrtModel,
    tokenizer: &'a Tokenizer,
    prefixes: &'a mut Option<PrefixCache<OrtCache>>,
) -> Generator<'a, OrtModel> {
    let generator = Generator::new(model, tokenizer.vocabulary()).with_encoder(tokenizer);
    match prefixes {
        Some(prefixes) => generator.with_prefix_cache(prefixes),
        None => generator,
    }
}

fn request<'a, C>(
    (prompt, sequence): (&'a [TokenId], u64),
    constraint: C,
    options: &'a GenerateOptions,
) -> Request<'a, C> {
    Request {
        sequence,
        ..Request::new(prompt, constraint, options)
    }
}
