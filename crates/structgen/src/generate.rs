//! Generation, free or constrained.

use std::ops::ControlFlow;

use structgen_constraint::CompiledConstraint;
use structgen_decode::{
    GenerateOptions, Generation, Outputs, Run, Unconstrained,
    events::{EventStream, OutputEvent},
};
use structgen_vocab::TokenId;

use crate::{Model, Result};

/// A prompt, an optional constraint on its outputs, and how to generate them.
///
/// ```no_run
/// use structgen::decode::strategies::BeamOptions;
/// use structgen::{Constraint, Model, ModelOptions, Request};
///
/// let model = Model::open("path/to/model", &ModelOptions::new())?;
/// let primes = model.compile(&Constraint::regex("[0-9]+, [0-9]+, [0-9]+")?)?;
/// let request = Request::new(model.encode_prompt("Three primes: ")?, Some(primes))
///     .with_strategy(BeamOptions { width: 8, n_best: 3, ..BeamOptions::default() });
/// for output in model.submit(request)?.wait()?.all()? {
///     println!("{:?} {}", output.score, output.generation.text);
/// }
/// # Ok::<(), structgen::Error>(())
/// ```
pub type Request = structgen_decode::Request<Option<CompiledConstraint>>;

impl Model {
    /// Submits a request, which runs concurrently with those of other threads. Everything a model generates goes
    /// through this; the other methods are conveniences.
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate) if the request is invalid, or the queue is full.
    pub fn submit(&self, request: Request) -> Result<Run> {
        let engine = self.engine();
        Ok(match &request.constraint {
            Some(constraint) => {
                let matcher = constraint.matcher();
                engine.submit(request.with_constraint(matcher))?
            }
            None => engine.submit(request.with_constraint(self.free_text()))?,
        })
    }

    /// Generates one output after a prompt; without a constraint, free text.
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate). An output that was cut before it was complete is an error too,
    /// which contains the partial output.
    pub fn generate(
        &self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
    ) -> Result<Generation> {
        let request = Request::new(prompt, constraint.cloned()).with_options(options.clone());
        Ok(self.submit(request)?.wait()?.single()?)
    }

    /// Runs a request and reports the parts of its first output as it is generated: its JSON values or captures, or its
    /// text. [`EventStream`] defines which. A callback that breaks cancels the request.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use structgen::decode::events::{OutputEvent, OutputPart};
    /// use structgen::{Constraint, Model, ModelOptions, Request, SchemaOptions};
    ///
    /// let model = Model::embedded(&ModelOptions::new())?;
    /// let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
    /// let compiled = model.compile(&Constraint::json_schema_str(schema, &SchemaOptions::new())?)?;
    /// let request = Request::new(model.encode_prompt("A flat in Graz: ")?, Some(compiled));
    /// model.stream(request, |event| {
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
    /// As for [`submit`](Model::submit); [`Error::Events`](crate::Error::Events) if the search for captures exceeds a
    /// limit.
    pub fn stream(
        &self,
        request: Request,
        mut on_event: impl FnMut(OutputEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Outputs> {
        let constraint = request.constraint.as_ref();
        let mut events = constraint.map_or_else(EventStream::text, EventStream::new);
        let mut run = self.submit(request.with_events())?;
        let mut flow = ControlFlow::Continue(());
        let mut ids = Vec::new();
        for event in run.by_ref().filter(|event| event.output == 0) {
            ids.extend(event.ids);
            events.push(&event.text, &ids, &mut |event| {
                if flow.is_continue() {
                    flow = on_event(event);
                }
            })?;
            if flow.is_break() {
                run.cancel();
                break;
            }
        }
        let outputs = run.wait()?;
        if flow.is_continue() && matches!(outputs.outputs.first(), Some(Ok(_))) {
            events.finish(&mut |event| {
                // The output has ended: there is nothing left for the callback to stop.
                let _ = on_event(event);
            })?;
        }
        Ok(outputs)
    }

    pub(crate) fn free_text(&self) -> Unconstrained {
        let text = self.tokenizer().vocabulary().text_tokens().clone();
        Unconstrained::new(text, self.eos())
    }
}
