//! A cascade passes the fields with low confidence on from a small model to a larger one.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use structgen_constraint::MatcherError;
use structgen_decode::{
    GenerateError, GenerateOptions, Output, Outputs, Run, confidence::SpanScore,
};
use structgen_vocab::TokenId;

use crate::value_request::{ValueRequest, value_after};
use crate::{Error, Request, Result, SchemaExtractor};

/// Which fields go to which larger model.
#[derive(Clone)]
pub(crate) struct Cascade {
    pub(crate) larger: SchemaExtractor,
    pub(crate) below: f64,
}

/// Passes the fields of a document on to the larger model in sequence: each is requested after the part of the document
/// before it, as it is by then.
pub(crate) struct PassingOn {
    larger: SchemaExtractor,
    /// The request for the whole extraction.
    request: Request,
    /// The small model's document.
    document: String,
    /// The document so far.
    written: String,
    /// Its end, which the next field's output starts with.
    before: String,
    /// How much of the small model's document is in it.
    copied: usize,
    /// The fields still to be requested, each with the bytes of its value in the small model's document.
    rest: VecDeque<(String, Range<usize>)>,
    /// The scores of the values that the larger model has provided.
    answered: HashMap<String, SpanScore>,
}

impl PassingOn {
    pub(crate) fn new(
        larger: &SchemaExtractor,
        text: &str,
        document: String,
        rest: VecDeque<(String, Range<usize>)>,
    ) -> Result<Self> {
        let mut request = larger.request(text)?;
        // Greedy, and without options for a whole output, such as stop strings.
        request.options = GenerateOptions {
            max_new_tokens: request.options.max_new_tokens,
            time_limit: request.options.time_limit,
            log_probs: true,
            ..GenerateOptions::default()
        };
        Ok(Self {
            larger: larger.clone(),
            request,
            document,
            written: String::new(),
            before: String::new(),
            copied: 0,
            rest,
            answered: HashMap::new(),
        })
    }

    /// Submits the request for the next field; returns `None` if there is none, or the larger model's constraint does
    /// not allow the document before it.
    pub(crate) fn next(&mut self) -> Result<Option<Run>> {
        let (Some((_, span)), Some(constraint)) = (self.rest.front(), &self.request.constraint)
        else {
            return Ok(None);
        };
        self.written
            .push_str(&self.document[self.copied..span.start]);
        self.copied = span.start;
        let model = self.larger.model();
        let (tokens, end) = self.tokens_before(&self.document[span.clone()])?;
        self.before = self.written[end..].to_owned();
        let value = ValueRequest::new(&self.request.prompt, constraint, &tokens, &self.before);
        let value = match value {
            // It does not allow what comes after that either.
            Err(Error::Matcher(MatcherError::TokenRefused { .. } | MatcherError::Finished)) => {
                self.rest.clear();
                return Ok(None);
            }
            value => value?,
        };
        let mut options = self.request.options.clone();
        let most = options.max_new_tokens.unwrap_or(usize::MAX);
        options.max_new_tokens = Some(model.room_after(&value.request.prompt, most));
        let request = value.request.with_options(options);
        Ok(Some(model.engine().submit(request)?))
    }

    /// Returns the tokens of the document so far, without those that also start `value`, and their length in bytes. The
    /// model expects a token such as `":"` there; after `":` it would be in a state it was never trained on.
    fn tokens_before(&self, value: &str) -> Result<(Vec<TokenId>, usize)> {
        let model = self.larger.model();
        let vocabulary = model.tokenizer().vocabulary();
        let mut tokens = model.tokenizer().encode(&[&self.written, value].concat())?;
        let mut end = 0;
        let mut is_before = |token: &TokenId| {
            let length = vocabulary.token_bytes(*token).map_or(0, <[u8]>::len);
            let fits = end + length <= self.written.len();
            end += if fits { length } else { 0 };
            fits
        };
        let before = tokens.iter().take_while(|token| is_before(token)).count();
        tokens.truncate(before);
        match self.written.is_char_boundary(end) {
            true => Ok((tokens, end)),
            false => Ok((model.tokenizer().encode(&self.written)?, self.written.len())),
        }
    }

    /// Takes the larger model's value, if the document is still valid with it.
    pub(crate) fn take(&mut self, outputs: Outputs) -> Result<()> {
        let output: Option<Result<Output, GenerateError>> = outputs.outputs.into_iter().next();
        let generation = output.unwrap_or(Err(GenerateError::NoOutput))?.generation;
        let Some((pointer, span)) = self.rest.pop_front() else {
            return Ok(());
        };
        let Some(value) = value_after(&self.before, &generation.text) else {
            return Ok(());
        };
        let whole = [&self.written, value, &self.document[span.end..]].concat();
        let mut matcher = self.larger.compiled().matcher();
        let refusal = matcher.check_text(whole.as_bytes()).map_err(Error::from)?;
        if refusal.is_none() {
            self.written.push_str(value);
            self.copied = span.end;
            self.answered
                .insert(pointer, generation.score().unwrap_or_default());
        }
        Ok(())
    }

    /// Returns the score of the larger model's value of a field, or `None` if the small model's value was kept.
    pub(crate) fn score_of(&self, pointer: &str) -> Option<&SpanScore> {
        // A value that contains others has no field of its own.
        let inside = |(asked, _): &(&String, &SpanScore)| {
            let rest = pointer.strip_prefix(asked.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.answered.iter().find(inside).map(|(_, score)| score)
    }

    /// Returns the document with the larger model's values.
    pub(crate) fn document(&self) -> String {
        [&self.written, &self.document[self.copied..]].concat()
    }
}
