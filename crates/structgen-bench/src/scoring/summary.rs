//! Aggregates the answers to many texts.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::bootstrap::{Estimate, estimate};
use super::calibration::Calibration;
use super::cause::Cause;
use super::document::{Document, Probability, ScoredField};

/// Number of examples to keep per cause.
const EXAMPLES: usize = 3;

/// Figures of many documents.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The share of documents that are exact.
    pub objects: Option<Estimate>,
    /// The share of correct fields.
    pub fields: Option<Estimate>,
    /// The mean of the documents' soft scores.
    pub soft: Option<Estimate>,
    /// The share of correct fields by type.
    pub by_type: Vec<Group>,
    /// The same by kind of text.
    pub by_kind: Vec<Group>,
    /// The same by language.
    pub by_language: Vec<Group>,
    /// The same by domain.
    pub by_domain: Vec<Group>,
    /// Why fields are wrong, most frequent cause first.
    pub causes: Vec<CauseCount>,
    /// The calibration of confidences under the model alone.
    pub calibration_model: Option<Calibration>,
    /// The calibration of confidences under the model with the constraint.
    pub calibration_allowed: Option<Calibration>,
    /// The calibration of the model's calibrated confidences.
    pub calibration: Option<Calibration>,
}

/// The fields of a type, or of the texts of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// The common property of its members.
    pub name: String,
    /// The share of correct fields.
    pub fields: Estimate,
    /// The share of documents that are exact; `None` for a type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<Estimate>,
}

/// How many fields are wrong for a cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CauseCount {
    /// The cause.
    pub cause: Cause,
    /// The number of fields.
    pub fields: usize,
    /// The first few of them.
    pub examples: Vec<Example>,
}

/// A wrong field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Example {
    /// The id of its text.
    pub id: String,
    /// The JSON Pointer of its value.
    pub pointer: String,
    /// The expected value; `None` for an absent property.
    pub expected: Option<Value>,
    /// The answer's value.
    pub actual: Option<Value>,
}

impl Summary {
    /// Aggregates documents.
    #[must_use]
    pub fn new(documents: &[Document]) -> Self {
        let all: Vec<&Document> = documents.iter().collect();
        let soft: Vec<_> = documents.iter().map(|one| (one.soft, 1.0)).collect();
        Self {
            objects: exact(&all),
            fields: right(&all, |_| true),
            soft: estimate(&soft),
            by_type: by_type(&all),
            by_kind: groups(&all, |one| one.kind.as_deref()),
            by_language: groups(&all, |one| one.language.as_deref()),
            by_domain: groups(&all, |one| one.domain.as_deref()),
            causes: causes(documents),
            calibration_model: calibration(documents, |confidence| confidence.model),
            calibration_allowed: calibration(documents, |confidence| confidence.allowed),
            calibration: calibration(documents, |confidence| confidence.calibrated),
        }
    }
}

fn exact(documents: &[&Document]) -> Option<Estimate> {
    let exact = { documents.iter() }.map(|one| (f64::from(one.is_exact), 1.0));
    estimate(&exact.collect::<Vec<_>>())
}

/// Returns the share of correct fields among those counted.
fn right(documents: &[&Document], counts: impl Fn(&ScoredField) -> bool) -> Option<Estimate> {
    let text = |document: &&Document| {
        let fields = document.fields.iter().filter(|field| counts(field));
        let right = fields.clone().filter(|field| field.is_right());
        (right.count() as f64, fields.count() as f64)
    };
    estimate(&documents.iter().map(text).collect::<Vec<_>>())
}

fn by_type(documents: &[&Document]) -> Vec<Group> {
    let fields = documents.iter().flat_map(|document| &document.fields);
    let mut kinds: Vec<&str> = fields.map(|field| &*field.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let group = |kind: &&str| {
        Some(Group {
            name: (*kind).to_owned(),
            fields: right(documents, |field| field.kind == *kind)?,
            objects: None,
        })
    };
    kinds.iter().filter_map(group).collect()
}

/// Groups texts by a property; texts without it are in no group.
fn groups<'d>(
    documents: &[&'d Document],
    name: impl Fn(&'d Document) -> Option<&'d str>,
) -> Vec<Group> {
    let mut members: BTreeMap<&str, Vec<&Document>> = BTreeMap::new();
    for document in documents {
        if let Some(name) = name(document) {
            members.entry(name).or_default().push(document);
        }
    }
    let group = |(name, documents): (&str, Vec<&Document>)| {
        Some(Group {
            name: name.to_owned(),
            fields: right(&documents, |_| true)?,
            objects: exact(&documents),
        })
    };
    members.into_iter().filter_map(group).collect()
}

fn causes(documents: &[Document]) -> Vec<CauseCount> {
    let mut counts: BTreeMap<Cause, CauseCount> = BTreeMap::new();
    for document in documents {
        for field in &document.fields {
            let Some(cause) = field.cause else { continue };
            let count = counts.entry(cause).or_insert_with(|| CauseCount {
                cause,
                fields: 0,
                examples: Vec::new(),
            });
            count.fields += 1;
            if count.examples.len() < EXAMPLES {
                count.examples.push(Example {
                    id: document.id.clone(),
                    pointer: field.pointer.clone(),
                    expected: field.expected.clone(),
                    actual: field.actual.clone(),
                });
            }
        }
    }
    let mut causes: Vec<CauseCount> = counts.into_values().collect();
    causes.sort_by_key(|count| std::cmp::Reverse(count.fields));
    causes
}

fn calibration(documents: &[Document], of: impl Fn(Probability) -> f64) -> Option<Calibration> {
    let text = |document: &Document| {
        let field = |field: &ScoredField| Some((of(field.confidence?), field.is_right()));
        document.fields.iter().filter_map(field).collect()
    };
    Calibration::new(&documents.iter().map(text).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::document::{Failure, Sample};
    use super::*;
    use serde_json::json;
    use structgen::decode::events::JsonKind;

    fn documents() -> Vec<Document> {
        let sample = |id: &str, language: Option<&str>, expected: Value| Sample {
            text: "a b 1 2".to_owned(),
            schema: json!({"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}}),
            expected,
            id: id.to_owned(),
            kind: None,
            language: language.map(str::to_owned),
            domain: None,
        };
        let sure = |_: &str| {
            Some(Probability {
                kind: JsonKind::String,
                read: None,
                model: 0.5,
                allowed: 1.0,
                calibrated: 0.6,
            })
        };
        vec![
            sample("one", Some("en"), json!({"s": "a", "n": 1}))
                .score(&Ok(json!({"s": "a", "n": 1})), sure),
            sample("two", Some("de"), json!({"s": "a", "n": 1}))
                .score(&Ok(json!({"s": "b", "n": 2})), sure),
            sample("three", Some("de"), json!({"n": 1})).score(&Ok(json!({"n": 1})), sure),
            sample("four", None, json!({"s": "a", "n": 1}))
                .score(&Err(Failure::NotJson("{".to_owned())), sure),
        ]
    }

    #[test]
    fn fields_are_counted_by_type_group_and_cause() {
        let summary = Summary::new(&documents());
        let figures = |estimate: Option<Estimate>| estimate.map(|one| (one.share, one.of));
        assert_eq!(figures(summary.objects), Some((0.5, 4.0)));
        assert_eq!(figures(summary.fields), Some((0.5, 8.0)));
        assert_eq!(figures(summary.soft), Some((0.5, 4.0)));
        let names = |groups: &[Group]| -> Vec<(String, f64, f64)> {
            { groups.iter() }
                .map(|group| (group.name.clone(), group.fields.share, group.fields.of))
                .collect()
        };
        assert_eq!(
            names(&summary.by_type),
            [
                ("absent".to_owned(), 1.0, 1.0),
                ("integer".to_owned(), 0.5, 4.0),
                ("string".to_owned(), 1.0 / 3.0, 3.0)
            ]
        );
        assert_eq!(
            names(&summary.by_language),
            [("de".to_owned(), 0.5, 4.0), ("en".to_owned(), 1.0, 2.0)]
        );
        assert!(summary.by_domain.is_empty());
        let causes: Vec<_> = { summary.causes.iter() }
            .map(|count| (count.cause, count.fields, count.examples[0].id.as_str()))
            .collect();
        assert_eq!(
            causes,
            [
                (Cause::NotJson, 2, "four"),
                (Cause::OtherPart, 1, "two"),
                (Cause::OtherNumber, 1, "two")
            ]
        );
    }

    #[test]
    fn fields_without_a_value_have_no_confidence() {
        let summary = Summary::new(&documents());
        let (model, allowed) = (
            summary.calibration_model.unwrap(),
            summary.calibration_allowed.unwrap(),
        );
        assert_eq!((model.fields, allowed.fields), (5, 5));
        assert_eq!(model.above_90, None);
        assert_eq!(allowed.above_90.map(|sure| sure.share), Some(0.6));
    }

    #[test]
    fn no_documents_have_no_figures() {
        let summary = Summary::new(&[]);
        assert!(summary.objects.is_none() && summary.fields.is_none() && summary.causes.is_empty());
    }
}
