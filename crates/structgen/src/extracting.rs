//! An extraction under way: one run of the model, or one for each window of a long text.

use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use structgen_constraint::Input;
use structgen_decode::{Confidence, GenerateError, Output, Outputs, Run, request::GenerationStats};

use crate::{Error, Extraction, LocatedValue, Result, SchemaExtractor, locate, recognized_input};

/// An extraction under way: [`SchemaExtractor::submit`]. Dropping it cancels the extraction.
#[must_use = "an extraction that is dropped is cancelled"]
pub struct Extracting<T> {
    extractor: SchemaExtractor,
    runs: VecDeque<Run>,
    /// What of a long text is not submitted yet.
    rest: VecDeque<Range<usize>>,
    text: Arc<str>,
    /// What a text that is read at once has of the values that come from it.
    input: Option<Arc<Input>>,
    ungrounded: Vec<String>,
    value: PhantomData<fn() -> T>,
}

impl<T> Extracting<T> {
    /// A text that is read at once.
    pub(crate) fn one(extractor: SchemaExtractor, text: &str, events: bool) -> Result<Self> {
        let (mut request, grounding) = extractor.prepare(text)?;
        request.events = events;
        let run = extractor.model().submit(request)?;
        let (input, ungrounded) = match grounding {
            Some(grounding) => (Some(grounding.input), grounding.ungrounded),
            None => (None, Vec::new()),
        };
        Ok(Self {
            extractor,
            runs: VecDeque::from([run]),
            rest: VecDeque::new(),
            text: Arc::from(""),
            input,
            ungrounded,
            value: PhantomData,
        })
    }

    /// A text that is read in windows.
    pub(crate) fn windows(
        extractor: SchemaExtractor,
        text: &str,
        windows: Vec<Range<usize>>,
    ) -> Result<Self> {
        let model = extractor.model();
        let most = model.engine().capacity();
        let mut extracting = Self {
            extractor,
            runs: VecDeque::new(),
            rest: windows.into(),
            text: Arc::from(text),
            input: None,
            ungrounded: Vec::new(),
            value: PhantomData,
        };
        // As many as can run, and one for each worker to go on with.
        for _ in 0..most {
            extracting.submit_next()?;
        }
        Ok(extracting)
    }

    /// The run of a text that is read at once, or that of the first window that has not been waited for.
    pub(crate) fn run(&mut self) -> Option<&mut Run> {
        self.runs.front_mut()
    }

    fn submit_next(&mut self) -> Result<()> {
        let Some(window) = self.rest.pop_front() else {
            return Ok(());
        };
        let (mut request, grounding) = self.extractor.prepare(&self.text[window])?;
        for pointer in grounding.into_iter().flat_map(|it| it.ungrounded) {
            if !self.ungrounded.contains(&pointer) {
                self.ungrounded.push(pointer);
            }
        }
        // Which answer is taken depends on how probable it is.
        request.options.log_probs = true;
        self.runs.push_back(self.extractor.model().submit(request)?);
        Ok(())
    }

    /// The output of a run.
    fn take(&mut self, outputs: Outputs, taken: &mut Vec<Output>) -> Result<()> {
        let first = outputs.outputs.into_iter().next();
        taken.push(first.unwrap_or(Err(GenerateError::NoOutput))?);
        self.submit_next()
    }
}

impl<T: DeserializeOwned> Extracting<T> {
    /// Waits for the value.
    ///
    /// # Errors
    /// As [`SchemaExtractor::extract`].
    pub fn wait(mut self) -> Result<Extraction<T>> {
        let mut outputs = Vec::new();
        while let Some(run) = self.runs.pop_front() {
            self.take(run.wait()?, &mut outputs)?;
        }
        self.finish(outputs)
    }

    /// [`wait`](Self::wait) for asynchronous code.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    #[cfg(feature = "async")]
    pub async fn wait_async(mut self) -> Result<Extraction<T>> {
        let mut outputs = Vec::new();
        while let Some(run) = self.runs.pop_front() {
            let done = run.await?;
            self.take(done, &mut outputs)?;
        }
        self.finish(outputs)
    }

    fn finish(self, outputs: Vec<Output>) -> Result<Extraction<T>> {
        let (json, confidence) = match &outputs[..] {
            [only] => {
                let wanted = self.extractor.has_log_probs();
                let confidence = wanted.then(|| only.generation.confidence()).transpose()?;
                (only.generation.text.clone(), confidence)
            }
            windows => {
                let (json, confidence) = self.merge(windows)?;
                (json, Some(confidence))
            }
        };
        let value = serde_json::from_str(&json).map_err(|source| Error::Deserialize {
            type_name: type_name::<T>(),
            json: json.clone(),
            source,
        })?;
        let mut stats = GenerationStats::default();
        for output in &outputs {
            stats += &output.generation.stats;
        }
        let sources = self.locate(&json)?;
        Ok(Extraction {
            value,
            json,
            confidence,
            stats,
            outputs,
            sources,
            ungrounded: self.ungrounded,
        })
    }

    /// Where in the text the values of a document are.
    fn locate(&self, json: &str) -> Result<Vec<LocatedValue>> {
        let whole;
        let input = match &self.input {
            Some(input) => &**input,
            None if self.extractor.is_grounded() && !self.text.is_empty() => {
                whole = recognized_input(&self.text)?;
                &whole
            }
            None => return Ok(Vec::new()),
        };
        // What serde_json cannot hold has no places.
        let document = serde_json::from_str(json);
        Ok(document.map_or_else(|_| Vec::new(), |document| locate(&document, input)))
    }

    /// The answers of all windows as one document, or the most probable of them where that one does not fit the schema.
    fn merge(&self, windows: &[Output]) -> Result<(String, Confidence)> {
        let mut answers = Vec::new();
        for output in windows {
            answers.push((&*output.generation.text, output.generation.confidence()?));
        }
        let borrowed: Vec<(&str, &Confidence)> = { answers.iter() }
            .map(|(text, confidence)| (*text, confidence))
            .collect();
        let (json, confidence) = Confidence::merge(&borrowed);
        let refusal = self
            .extractor
            .compiled()
            .matcher()
            .check_text(json.as_bytes())?;
        if refusal.is_none() {
            return Ok((json, confidence));
        }
        let probability = |confidence: &Confidence| {
            let whole = confidence.fields().first();
            whole.map_or(f64::NEG_INFINITY, |whole| whole.score.allowed.mean)
        };
        let best = { answers.into_iter() }
            .max_by(|(_, a), (_, b)| probability(a).total_cmp(&probability(b)));
        let (text, confidence) = best.ok_or(GenerateError::NoOutput)?;
        Ok((text.to_owned(), confidence))
    }
}

impl<T> fmt::Debug for Extracting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extracting")
            .field("runs", &self.runs.len())
            .field("rest", &self.rest.len())
            .finish_non_exhaustive()
    }
}
