//! An extraction in progress: one run of the model, or one per window of a long text.

use std::any::type_name;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use structgen_constraint::Input;
use structgen_decode::{Confidence, GenerateError, Output, Outputs, Run, request::GenerationStats};
use structgen_vocab::TokenId;

use crate::alternatives::{Searches, others};
use crate::cascade::PassingOn;
use crate::field::{Scored, fields, scores_of_merged, scores_of_output};
use crate::locate::each_leaf;
use crate::reader::Found;
use crate::schema_extractor::Prepared;
use crate::{Error, Extraction, Field, Result, SchemaExtractor, recognized_input};

/// An extraction in progress: [`SchemaExtractor::submit`]. Dropping it cancels the extraction.
#[must_use = "an extraction that is dropped is cancelled"]
pub struct Extracting<T> {
    extractor: SchemaExtractor,
    runs: VecDeque<Run>,
    /// The windows of a long text that are not submitted yet.
    rest: VecDeque<Range<usize>>,
    text: Arc<str>,
    /// The source of the values, if the text is read at once.
    input: Option<Arc<Input>>,
    /// Whether it is.
    is_whole: bool,
    /// Searches for alternatives, if these are requested and the text is read at once.
    searches: Option<Searches>,
    /// The reader's findings in the text, or in each of the windows so far.
    found: Vec<Found>,
    ungrounded: Ungrounded,
    value: PhantomData<fn() -> T>,
}

/// The schema nodes whose required values the text lacks, or windows of it.
#[derive(Debug, Default)]
struct Ungrounded {
    /// The windows so far; a text that is read at once is one.
    windows: usize,
    /// How many of these lack a value for each pointer.
    lacking: Vec<(String, usize)>,
}

impl Ungrounded {
    fn add(&mut self, pointers: Vec<String>) {
        self.windows += 1;
        for pointer in pointers {
            match { self.lacking.iter_mut() }.find(|(known, _)| *known == pointer) {
                Some((_, windows)) => *windows += 1,
                None => self.lacking.push((pointer, 1)),
            }
        }
    }

    /// Returns the pointers for which some window may have generated a value freely.
    fn in_a_window(&self) -> Vec<String> {
        { self.lacking.iter() }
            .map(|(pointer, _)| pointer.clone())
            .collect()
    }

    /// Returns the pointers for which no window has a value.
    fn in_the_text(self) -> Vec<String> {
        { self.lacking.into_iter() }
            .filter(|(_, windows)| *windows == self.windows)
            .map(|(pointer, _)| pointer)
            .collect()
    }
}

impl<T> Extracting<T> {
    /// Starts a text that is read at once.
    pub(crate) fn one(
        extractor: SchemaExtractor,
        text: &str,
        prompt: Vec<TokenId>,
        events: bool,
    ) -> Result<Self> {
        let Prepared {
            mut request,
            grounding,
            found,
        } = extractor.prepare(text, prompt)?;
        request.events = events;
        let searches = match (extractor.alternatives(), &request.constraint) {
            (1.., Some(constraint)) => Some(Searches {
                model: extractor.model().clone(),
                prompt: request.prompt.clone(),
                prefill: request.options.prefill.clone(),
                constraint: constraint.clone(),
                preference: { found.as_ref() }
                    .map(|it| it.mild_preference(extractor.model().tokenizer())),
                most: extractor.alternatives(),
                rest: VecDeque::new(),
                running: VecDeque::new(),
            }),
            _ => None,
        };
        let run = extractor.model().submit(request)?;
        let mut ungrounded = Ungrounded::default();
        let input = grounding.map(|grounding| {
            ungrounded.add(grounding.ungrounded);
            grounding.input
        });
        Ok(Self {
            extractor,
            runs: VecDeque::from([run]),
            rest: VecDeque::new(),
            text: Arc::from(text),
            input,
            is_whole: true,
            searches,
            found: found.into_iter().collect(),
            ungrounded,
            value: PhantomData,
        })
    }

    /// Starts a text that is read in windows.
    pub(crate) fn windows(
        extractor: SchemaExtractor,
        text: &str,
        windows: Vec<Range<usize>>,
    ) -> Result<Self> {
        let mut extracting = Self {
            extractor,
            runs: VecDeque::new(),
            rest: windows.into(),
            text: Arc::from(text),
            input: None,
            is_whole: false,
            searches: None,
            found: Vec::new(),
            ungrounded: Ungrounded::default(),
            value: PhantomData,
        };
        // Other texts may be in progress, and need the queue: the other windows are submitted once this text is waited
        // for.
        extracting.submit_more(1)?;
        Ok(extracting)
    }

    /// Returns the run of a text that is read at once, or of the first window that was not waited for.
    pub(crate) fn run(&mut self) -> Option<&mut Run> {
        self.runs.front_mut()
    }

    /// Returns the next run to wait for. As many are kept in progress as can run, plus one per worker to continue with,
    /// if the queue has room for them.
    fn next_run(&mut self) -> Result<Option<Run>> {
        self.submit_more(self.extractor.model().engine().capacity())?;
        Ok(self.runs.pop_front())
    }

    /// Submits windows until `most` are in progress, or half of the queue is full: the rest of it is for the first
    /// windows of other texts.
    fn submit_more(&mut self, most: usize) -> Result<()> {
        let engine = self.extractor.model().engine().clone();
        while self.runs.len() < most
            && (self.runs.is_empty() || 2 * engine.waiting() < engine.limits().queue)
            && let Some(window) = self.rest.pop_front()
        {
            match self.submit_window(window.clone()) {
                Err(error) if error.is_queue_full() && !self.runs.is_empty() => {
                    self.rest.push_front(window);
                    break;
                }
                submitted => submitted?,
            }
        }
        Ok(())
    }

    fn submit_window(&mut self, window: Range<usize>) -> Result<()> {
        let window = &self.text[window];
        let prompt = self.extractor.prompt(window)?;
        let Prepared {
            mut request,
            grounding,
            found,
        } = self.extractor.prepare(window, prompt)?;
        // Which answer is taken depends on its probability.
        request.options.log_probs = true;
        self.runs.push_back(self.extractor.model().submit(request)?);
        if let Some(grounding) = grounding {
            self.ungrounded.add(grounding.ungrounded);
        }
        self.found.extend(found);
        Ok(())
    }
}

/// Returns the only output of a run.
fn only(outputs: Outputs) -> Result<Output> {
    let first = outputs.outputs.into_iter().next();
    Ok(first.unwrap_or(Err(GenerateError::NoOutput))?)
}

impl<T: DeserializeOwned> Extracting<T> {
    /// Waits for the value.
    ///
    /// # Errors
    /// As for [`SchemaExtractor::extract`].
    pub fn wait(mut self) -> Result<Extraction<T>> {
        let mut outputs = Vec::new();
        while let Some(run) = self.next_run()? {
            outputs.push(only(run.wait()?)?);
        }
        let mut answer = self.answer(&outputs)?;
        while let Some(passing) = &mut answer.passing
            && let Some(run) = passing.next()?
        {
            passing.take(run.wait()?)?;
        }
        let (mut found, mut searches) = self.finish(outputs, answer)?;
        while let Some(searches) = &mut searches
            && let Some(search) = searches.next(&found.outputs[0].generation)?
        {
            let field = &mut found.fields[search.field];
            field.alternatives = others(search.run.wait()?, &search.before, field, searches.most);
        }
        Ok(found)
    }

    /// Like [`wait`](Self::wait), for asynchronous code.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    #[cfg(feature = "async")]
    pub async fn wait_async(mut self) -> Result<Extraction<T>> {
        let mut outputs = Vec::new();
        while let Some(run) = self.next_run()? {
            outputs.push(only(run.await?)?);
        }
        let mut answer = self.answer(&outputs)?;
        while let Some(passing) = &mut answer.passing
            && let Some(run) = passing.next()?
        {
            passing.take(run.await?)?;
        }
        let (mut found, mut searches) = self.finish(outputs, answer)?;
        while let Some(searches) = &mut searches
            && let Some(search) = searches.next(&found.outputs[0].generation)?
        {
            let done = search.run.await?;
            let field = &mut found.fields[search.field];
            field.alternatives = others(done, &search.before, field, searches.most);
        }
        Ok(found)
    }

    /// Returns the answer from the outputs, and the fields that go to a larger model.
    fn answer(&self, outputs: &[Output]) -> Result<Answer> {
        if let Some(error) = self.found.iter().find_map(Found::failure) {
            return Err(GenerateError::from(error).into());
        }
        let (json, confidence) = match outputs {
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
        let scores = match (&confidence, outputs) {
            (None, _) => HashMap::new(),
            (Some(confidence), [only]) => scores_of_output(&only.generation, confidence),
            (Some(confidence), _) => scores_of_merged(confidence),
        };
        let passing = match self.extractor.cascade() {
            None => None,
            Some(cascade) => {
                let mut rest = VecDeque::new();
                let document: Value = serde_json::from_str(&json).unwrap_or_default();
                each_leaf(&document, |pointer, value| {
                    if let Some(scored) = scores.get(&pointer)
                        && self.confidence(&json, &pointer, value, scored).0 < cascade.below
                    {
                        rest.push_back((pointer, scored.span.clone()));
                    }
                });
                match rest.is_empty() {
                    true => None,
                    false => Some(PassingOn::new(
                        &cascade.larger,
                        &self.text,
                        json.clone(),
                        rest,
                    )?),
                }
            }
        };
        Ok(Answer {
            json,
            confidence,
            scores,
            passing,
        })
    }

    /// Returns the value, and the searches for alternatives in its fields.
    fn finish(
        mut self,
        outputs: Vec<Output>,
        answer: Answer,
    ) -> Result<(Extraction<T>, Option<Searches>)> {
        let json = match &answer.passing {
            Some(passing) => passing.document(),
            None => answer.json.clone(),
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
        let mut fields = self.fields(&json);
        for (at, field) in fields.iter_mut().enumerate() {
            let passing = answer.passing.as_ref();
            let cascade = self.extractor.cascade();
            if let (Some(score), Some(cascade)) =
                (passing.and_then(|it| it.score_of(&field.pointer)), cascade)
            {
                field.is_passed_on = true;
                field.is_grounded &= cascade.larger.is_grounded();
                field.probability = Some(score.allowed.probability());
                let larger = cascade.larger.model();
                field.confidence = Some(larger.confidence(&field.value, score, None));
            } else if let Some(scored) = answer.scores.get(&field.pointer) {
                field.probability = Some(scored.score.allowed.probability());
                let (confidence, read) =
                    self.confidence(&answer.json, &field.pointer, &field.value, scored);
                (field.confidence, field.read_probability) = (Some(confidence), read);
                if let Some(searches) = &mut self.searches {
                    searches.rest.push_back((at, scored.span.clone()));
                }
            }
        }
        let found = Extraction {
            value,
            json: self.extractor.formatted(&json).unwrap_or(json),
            fields,
            confidence: answer.confidence,
            stats,
            outputs,
            ungrounded: self.ungrounded.in_the_text(),
        };
        Ok((found, self.searches))
    }

    /// Returns the confidence in a field of the model's document, and its probability by the reader.
    fn confidence(
        &self,
        json: &str,
        pointer: &str,
        value: &Value,
        scored: &Scored,
    ) -> (f64, Option<f64>) {
        // What is found in a window of a long text is not what is found in the text.
        let found = self.found.first().filter(|_| self.is_whole);
        let read = found.and_then(|it| it.probability(pointer, &json[scored.span.clone()]));
        let model = self.extractor.model();
        (model.confidence(value, &scored.score, read), read)
    }

    /// Returns the fields of a document, with their positions in the text.
    fn fields(&self, json: &str) -> Vec<Field> {
        // A value that serde_json cannot represent has no fields.
        let Ok(document) = serde_json::from_str::<Value>(json) else {
            return Vec::new();
        };
        let input = match &self.input {
            Some(input) => Some(Arc::clone(input)),
            // For a text that is too long for this, positions are unknown.
            None => recognized_input(&self.text).ok().map(Arc::new),
        };
        let grammar = self.extractor.compiled().program().grammar();
        fields(
            &document,
            input.as_deref(),
            grammar,
            &self.ungrounded.in_a_window(),
        )
    }

    /// Merges the answers of all windows into one document, or returns the most probable of them if the merged one does
    /// not match the schema.
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

/// The result of a model's outputs.
struct Answer {
    json: String,
    confidence: Option<Confidence>,
    scores: HashMap<String, Scored>,
    passing: Option<PassingOn>,
}

impl<T> fmt::Debug for Extracting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extracting")
            .field("runs", &self.runs.len())
            .field("rest", &self.rest.len())
            .finish_non_exhaustive()
    }
}
