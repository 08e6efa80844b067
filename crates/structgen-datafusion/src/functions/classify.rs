//! `classify`: which of several labels a text has, with the probability of each.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use serde_json::{Value, json};
use structgen::decode::Run;
use structgen::decode::strategies::{ChoiceRequest, Choices};

use super::Shared;
use super::function::TextFunction;
use super::rows::model_rows;
use crate::{Cell, Error, Result, RowType};

#[derive(Debug)]
pub(super) struct Classify;

impl TextFunction for Classify {
    fn name(&self) -> &'static str {
        "classify"
    }

    fn literals(&self) -> (usize, usize) {
        (2, usize::MAX)
    }

    fn row_type(&self, _: &Arc<Shared>, labels: &[&str]) -> Result<RowType> {
        let mut seen = HashSet::new();
        match labels.iter().find(|label| !seen.insert(**label)) {
            Some(twice) => Err(Error::LabelTwice((*twice).to_owned())),
            None => Ok(row_type()),
        }
    }

    fn values(&self, shared: &Arc<Shared>, labels: &[&str], texts: &ArrayRef) -> Result<ArrayRef> {
        let model = &shared.model()?.model;
        // The model fills a schema of the labels, so they are scored as it would write them.
        let schema = json!({"enum": labels});
        let tokens = |label: &&str| model.tokenizer().encode(&Value::from(*label).to_string());
        let choices: Vec<_> = { labels.iter().map(tokens).collect::<Result<_, _>>() }
            .map_err(structgen::Error::from)?;
        let submit = |text: &str| -> structgen::Result<Run> {
            let prompt = model.extraction_prompt(&schema, text)?;
            let choices = Choices::Tokens(choices.clone());
            let request = ChoiceRequest::new(prompt, choices).with_ends(model.eos());
            Ok(model.engine().submit(request)?)
        };
        let wait = |run: Run| -> structgen::Result<Cell> {
            let outputs = run.wait()?;
            let shares = outputs.choices()?.into_iter().map(|choice| choice.share);
            Ok(cells(labels, &shares.collect::<Vec<_>>()))
        };
        model_rows(shared, &row_type(), texts, submit, wait, |error| {
            let error = Cell::Text(error.to_owned());
            Cell::Cells(vec![Cell::Null, Cell::Null, Cell::Null, error])
        })
    }
}

fn row_type() -> RowType {
    let shares = RowType::Map(Box::new(RowType::Float64));
    let fields = [
        ("label", RowType::Text),
        ("probability", RowType::Float64),
        ("probabilities", shares),
        ("error", RowType::Text),
    ];
    RowType::Struct(fields.map(|(name, field)| (name.to_owned(), field)).into())
}

/// Returns the most probable label, the first among equals.
fn cells(labels: &[&str], shares: &[f64]) -> Cell {
    let mut best = 0;
    for (at, share) in shares.iter().enumerate() {
        if *share > shares[best] {
            best = at;
        }
    }
    let entries = labels.iter().zip(shares);
    let entries = entries.map(|(label, share)| ((*label).to_owned(), Cell::Float(*share)));
    Cell::Cells(vec![
        Cell::Text(labels[best].to_owned()),
        Cell::Float(shares[best]),
        Cell::Entries(entries.collect()),
        Cell::Null,
    ])
}
