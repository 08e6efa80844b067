//! Passing the fields of which a small model is not sure on to a larger one.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

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

/// Fields of a document on their way to the larger model, one after another: each is asked for after what the document has before
/// it by then.
pub(crate) struct PassingOn {
    larger: SchemaExtractor,
    /// Of a whole extraction.
    request: Request,
    /// The small model's document.
    document: String,
    /// The document so far.
    written: String,
    /// Its end, which the output of the next field begins with.
    before: String,
    /// How much of the small model's is in it.
    copied: usize,
    /// The fields that are still to be asked for, each with the bytes of its value in the small model's document.
    rest: VecDeque<(String, Range<usize>)>,
    /// How probable the values are that the larger model has answered with.
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
        // Greedily, and without what is of a whole output, such as stop strings.
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

    /// The run of the next field.
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
        let value = ValueRequest::new(&self.request.prompt, constraint, &tokens, &self.before)?;
        let mut options = self.request.options.clone();
        let most = options.max_new_tokens.unwrap_or(usize::MAX);
        options.max_new_tokens = Some(model.room_after(&value.request.prompt, most));
        let request = value.request.with_options(options);
        Ok(Some(model.engine().submit(request)?))
    }

    /// The tokens of the document so far, without those that also begin `value`, and how many bytes they are. A token such as `":"`
    /// is what the model expects there; after `":` it would see what it never saw.
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

    /// Takes the larger model's value where the document stays valid with it.
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

    /// How probable the larger model's value of a field is; none where the small model's stays.
    pub(crate) fn score_of(&self, pointer: &str) -> Option<&SpanScore> {
        // A value with others in it has no field of its own.
        let inside = |(asked, _): &(&String, &SpanScore)| {
            let rest = pointer.strip_prefix(asked.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.answered.iter().find(inside).map(|(_, score)| score)
    }

    /// The document with the larger model's values.
    pub(crate) fn document(&self) -> String {
        [&self.written, &self.document[self.copied..]].concat()
    }
}
