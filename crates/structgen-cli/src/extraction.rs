//! What is printed of an extraction: its document, alone or with what is known of its fields.

use std::num::NonZeroUsize;
use std::ops::Range;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use structgen::{Extraction, Field, Model};

use crate::args::at_least_one;
use crate::output::note;
use crate::results::ResultArgs;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct ExtractionArgs {
    /// Report for each field where in the text its value is, in bytes and characters, and whether it could be nothing that is not
    /// in the text
    #[arg(long, conflicts_with_all = ["events", "outputs"])]
    spans: bool,
    /// Report for each field its N most probable other values, given what was written before it: a search by beams for each
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["events", "outputs"],
        value_parser = at_least_one::<NonZeroUsize>
    )]
    alternatives: Option<NonZeroUsize>,
    /// Ask the embedded model first, and the one of --model only for the fields of which it is not sure; all others stay
    #[arg(long, requires = "model", conflicts_with_all = ["events", "outputs"], help_heading = "Model")]
    pub(crate) small_first: bool,
    /// The confidence below which --small-first passes a field on
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

    /// Prints the share to standard error.
    pub(crate) fn report(self) {
        let Self { fields, of } = self;
        note(&format!("{fields} of {of} fields are of the larger model"));
    }
}

/// A document with what is asked for beside it.
#[derive(Serialize)]
struct Line<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l Value>,
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
    /// The number of other values of each field.
    pub(crate) fn alternatives(&self) -> usize {
        self.alternatives.map_or(0, NonZeroUsize::get)
    }

    /// What only a single output has, by its flag.
    pub(crate) fn of_one_output(&self) -> Option<&'static str> {
        match (self.spans, self.alternatives, self.small_first) {
            (true, ..) => Some("--spans"),
            (_, Some(_), _) => Some("--alternatives"),
            (.., true) => Some("--small-first"),
            _ => None,
        }
    }

    /// The document as it is, or as a line of JSON where more is asked for, or it has an id.
    pub(crate) fn print<T>(
        &self,
        found: &Extraction<T>,
        id: Option<&Value>,
        model: &Model,
    ) -> anyhow::Result<String> {
        let lists_fields = self.spans || self.alternatives.is_some() || self.results.confidence;
        if id.is_none() && !lists_fields && !self.results.details {
            return Ok(found.json.clone());
        }
        // The numbers are as they were written, and may be such that no type of this program holds.
        let value = RawValue::from_string(found.json.replace(['\n', '\r'], " "))?;
        let outputs = found.outputs.iter();
        let line = Line {
            id,
            value: &value,
            fields: lists_fields.then(|| found.fields.iter().map(|it| self.field(it)).collect()),
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

    fn field(&self, field: &Field) -> Value {
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
            let span = |span: &Range<usize>| json!({"start": span.start, "end": span.end});
            let spans = field.bytes.iter().zip(&field.characters);
            let spans = spans.map(
                |(bytes, characters)| json!({"bytes": span(bytes), "characters": span(characters)}),
            );
            put("spans", spans.collect());
            put("grounded", field.is_grounded.into());
        }
        if self.alternatives.is_some() {
            let others = field.alternatives.iter();
            let others =
                others.map(|other| json!({"value": other.value, "probability": other.probability}));
            put("alternatives", others.collect());
        }
        object.into()
    }
}
