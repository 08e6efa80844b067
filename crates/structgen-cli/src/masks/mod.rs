//! Measuring masks on MaskBench files.

mod document;
mod order;
mod summary;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use structgen::constraint::{CompiledConstraint, VocabularyTables};
use structgen::grammar::KeyOrder;
use structgen::vocab::Tokenizer;
use structgen::{Constraint, Profile, SchemaOptions};

use crate::input::read_file;
use document::Document;
use order::in_declared_order;
pub(crate) use summary::Summary;

/// A MaskBench file.
#[derive(Deserialize)]
struct BenchFile<'a> {
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    tests: Vec<BenchTest<'a>>,
}

#[derive(Deserialize)]
struct BenchTest<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    valid: bool,
}

/// What one file came to.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) file: String,
    pub(crate) status: Status,
    pub(crate) error: Option<String>,
    /// Compilation and first mask, in microseconds.
    pub(crate) ttfm_us: Option<f64>,
    /// For each token, its mask and its acceptance, in nanoseconds.
    pub(crate) tbm_ns: Vec<u64>,
    /// Of the valid instances: how many were accepted, and how many there are.
    pub(crate) valid: [usize; 2],
    /// Of the invalid instances: how many were rejected, and how many there are.
    pub(crate) invalid: [usize; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Ok,
    CompileError,
    ValidationError,
    InvalidationError,
}

/// One tokenizer, and how schemas are compiled.
pub(crate) struct Bench<'t> {
    tokenizer: &'t Tokenizer,
    tables: Arc<VocabularyTables>,
    order: KeyOrder,
    options: SchemaOptions,
}

impl<'t> Bench<'t> {
    pub(crate) fn new(
        tokenizer: &'t Tokenizer,
        tables: Arc<VocabularyTables>,
        order: KeyOrder,
    ) -> Self {
        let options = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_order(order);
        Self {
            tokenizer,
            tables,
            order,
            options,
        }
    }

    /// Measures one file. What is wrong with it, or with its schema, is in the record.
    pub(crate) fn measure(&mut self, path: &Path) -> Record {
        let file = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let mut record = Record {
            file,
            status: Status::Ok,
            error: None,
            ttfm_us: None,
            tbm_ns: Vec::new(),
            valid: [0; 2],
            invalid: [0; 2],
        };
        if let Err(error) = self.measure_into(path, &mut record) {
            record.status = Status::CompileError;
            record.error = Some(format!("{error:#}"));
        }
        record
    }

    fn measure_into(&self, path: &Path, record: &mut Record) -> anyhow::Result<()> {
        let bytes = read_file(path)?;
        let file: BenchFile<'_> =
            serde_json::from_slice(&bytes).context("the file is not one of MaskBench")?;
        let count = |valid| file.tests.iter().filter(|test| test.valid == valid).count();
        record.valid[1] = count(true);
        record.invalid[1] = count(false);

        let started = Instant::now();
        let constraint = Constraint::json_schema_str(file.schema.get(), &self.options)?;
        let compiled = constraint.compile(&self.tables, &[])?;
        compiled.matcher().mask()?;
        record.ttfm_us = Some(started.elapsed().as_nanos() as f64 / 1e3);

        // Declared order is looked up in the schema, which is parsed for nothing else.
        let schema: Option<Value> = match self.order {
            KeyOrder::Declared => Some(serde_json::from_str(file.schema.get())?),
            KeyOrder::Any => None,
        };
        for (number, test) in file.tests.iter().enumerate() {
            let outcome = self.try_instance(&compiled, schema.as_ref(), test, &mut record.tbm_ns);
            let (accepted, problem) = match outcome {
                Ok(None) => (true, None),
                Ok(Some(refusal)) => (false, Some(refusal)),
                Err(error) => (false, Some(format!("{error:#}"))),
            };
            match (test.valid, accepted) {
                (true, true) => record.valid[0] += 1,
                (false, false) => record.invalid[0] += 1,
                (true, false) => {
                    let problem = problem.unwrap_or_default();
                    note(
                        record,
                        Status::ValidationError,
                        format!("instance {number}, valid, is rejected: {problem}"),
                    );
                }
                (false, true) => {
                    note(
                        record,
                        Status::InvalidationError,
                        format!("instance {number}, invalid, is accepted"),
                    );
                }
            }
        }
        Ok(())
    }

    /// None where every token was allowed and the output may end; else where it was refused.
    fn try_instance(
        &self,
        compiled: &CompiledConstraint,
        schema: Option<&Value>,
        test: &BenchTest<'_>,
        times: &mut Vec<u64>,
    ) -> anyhow::Result<Option<String>> {
        let mut document = Document::parse(test.data.get())
            .ok_or_else(|| anyhow!("the instance cannot be read"))?;
        if let Some(schema) = schema {
            document = in_declared_order(document, schema);
        }
        let text = document.to_string();
        let tokens = self.tokenizer.encode(&text)?;
        let mut matcher = compiled.matcher();
        let mut written = 0;
        for &token in &tokens {
            let started = Instant::now();
            let allowed = matcher.mask()?.bits().contains(token);
            if !allowed {
                return Ok(Some(format!("at byte {written} of {text:.200}")));
            }
            matcher.accept_token(token)?;
            times.push(started.elapsed().as_nanos() as u64);
            written += self
                .tokenizer
                .vocabulary()
                .token_bytes(token)
                .map_or(0, <[u8]>::len);
        }
        Ok((!matcher.is_accepting()).then(|| format!("the output may not end behind {text:.200}")))
    }
}

/// An invalid instance that is accepted is worse than a valid one that is not.
fn note(record: &mut Record, status: Status, error: String) {
    if record.status == Status::Ok
        || (status == Status::InvalidationError && record.status != status)
    {
        record.status = status;
        record.error = Some(error);
    }
}
