//! How an extraction is printed: the document alone, or with details of its fields.

use std::num::NonZeroUsize;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use structgen::{Extraction, Field, Model};

use crate::args::at_least_one;
use crate::output::note;
use crate::results::ResultArgs;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct ExtractionArgs {
    /// Report where in the text each field's value is, in bytes and characters, and whether the field was restricted to
    /// values from the text
    #[arg(long, conflicts_with_all = ["events", "outputs"])]
    spans: bool,
    /// Report each field's N most probable alternatives, given the output before it; this takes a beam search per field
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["events", "outputs"],
        value_parser = at_least_one::<NonZeroUsize>
    )]
    alternatives: Option<NonZeroUsize>,
    /// Extract with the embedded model first, and use that of --model only for the fields with low confidence; all
    /// others are kept
    #[arg(long, requires = "model", conflicts_with_all = ["events", "outputs", "server"], help_heading = "Model")]
    pub(crate) small_first: bool,
    /// Confidence below which --small-first passes a field on
    #[arg(
        long,
        value_name = "P",
        requires = "small_first",
        default_value_t = 0.5,
        help_heading = "Model"
    )]
    pub(crate) below: f64,
    #[command(flatten)]
    pub(crate) results: ResultArgs,
}

/// How many fields were passed on to the larger model.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassedOn {
    fields: usize,
    of: usize,
}

impl PassedOn {
    pub(crate) fn add<T>(&mut self, found: &Extraction<T>) {
        self.fields += found.fields.iter().filter(|it| it.is_passed_on).count();
        self.of += found.fields.len();
    }

    /// Prints the share of these fields to standard error.
    pub(crate) fn report(self) {
        let Self { fields, of } = self;
        note(&format!("{fields} of {of} fields are of the larger model"));
    }
}

/// Prints a note for each required value that the text lacks, by its JSON Pointer into the schema.
pub(crate) fn note_ungrounded(pointers: &[String]) {
    for pointer in pointers {
        note(&format!(
            "note: the text has no value for {}",
            named(pointer)
        ));
    }
}

/// Prints a note of the required values that the text in a line of the input lacks.
pub(crate) fn note_ungrounded_in_line(number: u64, pointers: &[String]) {
    if !pointers.is_empty() {
        let names: Vec<&str> = pointers.iter().map(|pointer| named(pointer)).collect();
        let names = names.join(", ");
        note(&format!(
            "note: line {number}: the text has no value for {names}"
        ));
    }
}

/// Returns how messages name a schema node.
fn named(pointer: &str) -> &str {
    match pointer {
        "" => "the document",
        _ => pointer,
    }
}

/// A server's reply to `/v1/extract`.
#[derive(Debug, Deserialize)]
pub(crate) struct Reply {
    json: String,
    fields: Vec<ReportedField>,
    pub(crate) ungrounded: Vec<String>,
    pub(crate) usage: Usage,
}

/// The number of tokens that a reply used.
#[derive(Debug, Deserialize)]
pub(crate) struct Usage {
    pub(crate) completion_tokens: usize,
}

/// The details of a field, as reported by a server.
#[derive(Debug, Deserialize)]
struct ReportedField {
    pointer: String,
    value: Value,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default)]
    probability: Option<f64>,
    grounded: bool,
    /// The start and end of each span.
    bytes: Vec<(usize, usize)>,
    characters: Vec<(usize, usize)>,
    #[serde(default)]
    alternatives: Vec<Value>,
}

impl From<&Field> for ReportedField {
    fn from(field: &Field) -> Self {
        let pairs = |spans: &[Range<usize>]| -> Vec<(usize, usize)> {
            spans.iter().map(|span| (span.start, span.end)).collect()
        };
        let alternatives = field.alternatives.iter();
        Self {
            pointer: field.pointer.clone(),
            value: field.value.clone(),
            confidence: field.confidence,
            probability: field.probability,
            grounded: field.is_grounded,
            bytes: pairs(&field.bytes),
            characters: pairs(&field.characters),
            alternatives: alternatives
                .map(|other| json!({"value": other.value, "probability": other.probability}))
                .collect(),
        }
    }
}

/// A document with the requested details.
#[derive(Serialize)]
struct Line<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l RawValue>,
    value: &'l RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ungrounded: Option<&'l [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_on: Option<Vec<&'l str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<Value>>,
}

impl ExtractionArgs {
    /// Returns the number of alternatives to report per field.
    pub(crate) fn alternatives(&self) -> usize {
        self.alternatives.map_or(0, NonZeroUsize::get)
    }

    /// Returns a flag that only works with a single output, if one is set.
    pub(crate) fn of_one_output(&self) -> Option<&'static str> {
        match (self.spans, self.alternatives, self.small_first) {
            (true, ..) => Some("--spans"),
            (_, Some(_), _) => Some("--alternatives"),
            (.., true) => Some("--small-first"),
            _ => None,
        }
    }

    fn lists_fields(&self) -> bool {
        self.spans || self.alternatives.is_some() || self.results.confidence
    }

    /// Formats the document of a server's reply, like [`print`](Self::print).
    pub(crate) fn print_reply(
        &self,
        reply: &Reply,
        id: Option<&RawValue>,
    ) -> anyhow::Result<String> {
        if id.is_none() && !self.lists_fields() {
            return Ok(reply.json.clone());
        }
        let value = RawValue::from_string(reply.json.replace(['\n', '\r'], " "))?;
        let fields = || reply.fields.iter().map(|it| self.field(it)).collect();
        let line = Line {
            id,
            value: &value,
            fields: self.lists_fields().then(fields),
            ungrounded: self.spans.then_some(&reply.ungrounded[..]),
            passed_on: None,
            outputs: None,
        };
        Ok(serde_json::to_string(&line)?)
    }

    /// Formats the document as it is, or as a line of JSON if details were requested or it has an id.
    pub(crate) fn print<T>(
        &self,
        found: &Extraction<T>,
        id: Option<&RawValue>,
        model: &Model,
    ) -> anyhow::Result<String> {
        let lists_fields = self.lists_fields();
        if id.is_none() && !lists_fields && !self.results.details {
            return Ok(found.json.clone());
        }
        // Numbers are kept as text, since they may exceed every numeric type of this program.
        let value = RawValue::from_string(found.json.replace(['\n', '\r'], " "))?;
        let outputs = found.outputs.iter();
        let line = Line {
            id,
            value: &value,
            fields: lists_fields.then(|| {
                { found.fields.iter() }
                    .map(|it| self.field(&it.into()))
                    .collect()
            }),
            ungrounded: self.spans.then_some(&found.ungrounded[..]),
            passed_on: self.small_first.then(|| {
                { found.fields.iter().filter(|it| it.is_passed_on) }
                    .map(|it| &*it.pointer)
                    .collect()
            }),
            outputs: { self.results.details }.then(|| {
                outputs
                    .map(|output| self.results.details(&output.generation, model))
                    .collect()
            }),
        };
        Ok(serde_json::to_string(&line)?)
    }

    fn field(&self, field: &ReportedField) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("pointer", field.pointer.as_str().into());
        put("value", field.value.clone());
        if self.results.confidence {
            put("confidence", field.confidence.into());
        }
        if self.results.confidence || self.alternatives.is_some() {
            put("probability", field.probability.into());
        }
        if self.spans {
            let span = |(start, end): &(usize, usize)| json!({"start": start, "end": end});
            let spans = field.bytes.iter().zip(&field.characters);
            let spans = spans.map(
                |(bytes, characters)| json!({"bytes": span(bytes), "characters": span(characters)}),
            );
            put("spans", spans.collect());
            put("grounded", field.grounded.into());
        }
        if self.alternatives.is_some() {
            put("alternatives", field.alternatives.clone().into());
        }
        object.into()
    }
}
