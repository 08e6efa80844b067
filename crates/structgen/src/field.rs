//! The fields of an extracted document: its leaves, with their origins and the model's confidence in them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use structgen_constraint::{CompiledConstraint, Input};
use structgen_decode::{
    Confidence, Generation,
    confidence::{FieldConfidence, SpanScore},
};
use structgen_grammar::json_pointer::unescaped;
use structgen_grammar::{Expr, ExprId, Grammar, Slot};

use crate::grounding::{is_grounded as is_grounded_constraint, ungrounded_pointers};
use crate::locate::{each_leaf, spans};
use crate::{Model, Result, recognized_input};

/// A field of an extracted document: a value that contains no others, which may be an empty array or object.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// Its JSON Pointer.
    pub pointer: String,
    /// Its value.
    pub value: Value,
    /// For a string or number, the spans of the text that it may come from, in bytes.
    pub bytes: Vec<Range<usize>>,
    /// The same spans in characters.
    pub characters: Vec<Range<usize>>,
    /// Whether the constraint allowed only values from the text here.
    pub is_grounded: bool,
    /// The probability of the value, given the text and the output before it, under the model with the constraint: the
    /// product over its tokens, up to the one that ends it. Available if [log
    /// probabilities](structgen_decode::GenerateOptions::log_probs) were requested, and for long texts.
    pub probability: Option<f64>,
    /// The probability that the model's reader gives to this value, written like this, by where it stands in the text.
    /// It does not depend on the output before it. Available with log probabilities if the model has a reader and the
    /// text is read at once, for values outside arrays and for empty arrays, unless the value comes from the larger
    /// model of a cascade.
    pub read_probability: Option<f64>,
    /// How often fields with such probabilities are correct, by the model's [calibration](crate::Calibration); the
    /// probability itself if the model has none.
    pub confidence: Option<f64>,
    /// Whether it is the answer of the larger model of a [cascade](crate::SchemaExtractor::with_larger).
    pub is_passed_on: bool,
    /// The most probable alternatives, if [requested](crate::SchemaExtractor::with_alternatives), best first.
    pub alternatives: Vec<AlternativeValue>,
}

/// A value that could have been generated instead.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AlternativeValue {
    /// The value.
    pub value: Value,
    /// Like [`Field::probability`], summed over the spellings of the value that were found. Including the field's own,
    /// the probabilities of all values sum to at most one. Where a reader finds the field's own value all but certain,
    /// little is left for the others; how they share it is found with a lower weight of the reader.
    pub probability: f64,
}

/// A field's probabilities: the span of its value in the output, and its scores.
pub(crate) struct Scored {
    pub(crate) span: Range<usize>,
    pub(crate) score: SpanScore,
}

/// Returns the scores of the leaves of an output.
pub(crate) fn scores_of_output(
    output: &Generation,
    confidence: &Confidence,
) -> HashMap<String, Scored> {
    scores(confidence, |field| output.field_score(field))
}

/// Returns the scores of the leaves of a document merged from several outputs.
pub(crate) fn scores_of_merged(confidence: &Confidence) -> HashMap<String, Scored> {
    scores(confidence, |field| field.score)
}

fn scores(
    confidence: &Confidence,
    score: impl Fn(&FieldConfidence) -> SpanScore,
) -> HashMap<String, Scored> {
    let fields = confidence.fields().iter().enumerate();
    let scored = |(at, field): (usize, &FieldConfidence)| {
        let (span, score) = (field.span.clone(), score(field));
        (confidence.pointer(at), Scored { span, score })
    };
    fields.map(scored).collect()
}

/// Returns the fields of a document, without probabilities and alternatives.
pub(crate) fn fields(
    document: &Value,
    input: Option<&Input>,
    grammar: &Grammar,
    ungrounded: &[String],
) -> Vec<Field> {
    let mut fields = Vec::new();
    each_leaf(document, |pointer, value| {
        let mut characters = Vec::new();
        let bytes = input.and_then(|input| {
            let bytes = spans(value, input)?;
            characters.extend(bytes.iter().map(|span| input.in_characters(span)));
            Some(bytes)
        });
        let bytes = bytes.unwrap_or_default();
        fields.push(Field {
            characters,
            is_grounded: !bytes.is_empty() && is_grounded(grammar, &pointer, ungrounded),
            bytes,
            value: value.clone(),
            pointer,
            probability: None,
            read_probability: None,
            confidence: None,
            is_passed_on: false,
            alternatives: Vec::new(),
        });
    });
    fields
}

/// Returns whether a schema node for a value makes it come from the text, and it was not generated freely.
fn is_grounded(grammar: &Grammar, pointer: &str, ungrounded: &[String]) -> bool {
    let mut exprs = vec![grammar.rule(grammar.root()).body];
    for part in pointer.split('/').skip(1) {
        let key = unescaped(part);
        let mut below = Vec::new();
        for id in alternatives(grammar, exprs) {
            match grammar.expr(id) {
                Expr::Object(shape) => {
                    let declared = shape.properties.iter().find(|it| *it.key == *key);
                    let others = { shape.patterns.iter().map(|it| &it.value) }
                        .chain(&shape.additional)
                        .filter(|_| declared.is_none());
                    let values = declared.map(|it| &it.value).into_iter().chain(others);
                    below.extend(values.flat_map(Slot::values));
                }
                Expr::Array(shape) => {
                    let index: usize = key.parse().unwrap_or(usize::MAX);
                    let item = shape.prefix.get(index).or(shape.rest.as_ref());
                    below.extend(item.into_iter().flat_map(Slot::values));
                }
                _ => {}
            }
        }
        exprs = below;
    }
    { alternatives(grammar, exprs).into_iter() }.any(|id| match grammar.expr(id) {
        Expr::Grounded { pointer, .. } => {
            let pointer = pointer.trim_start_matches('#');
            !ungrounded.iter().any(|free| free == pointer)
        }
        _ => false,
    })
}

/// Resolves expressions through rules and choices.
fn alternatives(grammar: &Grammar, mut open: Vec<ExprId>) -> Vec<ExprId> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match grammar.expr(id) {
            Expr::Rule(rule) => open.push(grammar.rule(*rule).body),
            Expr::Choice(arms) => open.extend(arms.iter()),
            Expr::Capture { body, .. }
            | Expr::Guided { body, .. }
            | Expr::Referent { body, .. }
            | Expr::Related { body, .. } => open.push(*body),
            _ => found.push(id),
        }
    }
    found
}

impl Model {
    /// Returns the fields of a JSON output under a constraint, with their positions in the text that it was extracted
    /// from.
    ///
    /// An [`Extraction`](crate::Extraction) contains them already; this is for the outputs of one's own
    /// [requests](Model::submit). `constraint` is the schema's, before it was bound to the text. Fields have
    /// probabilities if the request asked for [log probabilities](structgen_decode::GenerateOptions::log_probs), but
    /// none by the model's reader, which their confidence would be based on in an extraction. There
    /// are no fields if serde_json cannot represent the document.
    ///
    /// # Errors
    /// [`Error::Confidence`](crate::Error::Confidence) if the output is not JSON;
    /// [`Error::Compile`](crate::Error::Compile) if the text is too long to be searched.
    pub fn fields(
        &self,
        output: &Generation,
        constraint: &CompiledConstraint,
        text: &str,
    ) -> Result<Vec<Field>> {
        let Ok(document) = serde_json::from_str(&output.text) else {
            return Ok(Vec::new());
        };
        let input = Arc::new(recognized_input(text)?);
        let ungrounded = match is_grounded_constraint(constraint) {
            true => ungrounded_pointers(&constraint.bind(&input)?),
            false => Vec::new(),
        };
        let grammar = constraint.program().grammar();
        let mut fields = fields(&document, Some(&input), grammar, &ungrounded);
        let has_scores = { output.tokens.iter() }.all(|token| token.log_probs.is_some());
        if has_scores {
            let scores = scores_of_output(output, &output.confidence()?);
            for field in &mut fields {
                if let Some(Scored { score, .. }) = scores.get(&field.pointer) {
                    field.probability = Some(score.allowed.probability());
                    field.confidence = Some(self.confidence(&field.value, score, None));
                }
            }
        }
        Ok(fields)
    }
}
