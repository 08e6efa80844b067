//! The rows of a partition: reads them, extracts values, and writes them.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use serde_json::json;
use structgen_datafusion::{ColumnExtractor, ExtraColumns};

use super::files::{self, RowWriter};
use super::input::{Chunk, Selection};
use super::plan::{PartFolder, Plan};

/// Computes the output's rows from the input's.
pub(super) struct Extraction<'p> {
    plan: &'p Plan,
    selection: Selection,
    extractor: ColumnExtractor,
    /// The schema of the output.
    schema: SchemaRef,
    /// The index in it of the column of errors, if there is one.
    error_column: Option<usize>,
}

/// The number of an input row, counted over all files, and why it has no value.
pub(super) type RowError = (u64, String);

impl<'p> Extraction<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        selection: Selection,
        extractor: ColumnExtractor,
        columns: ExtraColumns,
    ) -> anyhow::Result<Self> {
        let mut kept: Option<SchemaRef> = None;
        for input in &plan.inputs {
            let schema = input.kept_schema(&selection)?;
            match &kept {
                Some(kept) if kept.fields() != schema.fields() => {
                    let path = input.path.display();
                    bail!("the columns of {path} are not those of the files before it");
                }
                _ => kept = Some(schema),
            }
        }
        let kept = kept.context("there is no input")?;
        let mut fields: Vec<Arc<Field>> = kept.fields().iter().cloned().collect();
        for value in value_fields(&extractor.data_type()) {
            if fields.iter().any(|field| field.name() == value.name()) {
                bail!(
                    "the column {:?} is one of the input and one of the schema: choose with --keep which are kept",
                    value.name()
                );
            }
            fields.push(value);
        }
        let error_column = fields.iter().position(|field| field.name() == "_error");
        Ok(Self {
            plan,
            selection,
            extractor,
            schema: Arc::new(Schema::new(fields)),
            error_column: error_column.filter(|_| columns.error),
        })
    }

    pub(super) fn plan(&self) -> &Plan {
        self.plan
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Loads the model now.
    pub(super) fn load(&self) -> anyhow::Result<()> {
        let none: ArrayRef = Arc::new(datafusion::arrow::array::StringArray::new_null(0));
        self.extractor.extract(&none)?;
        Ok(())
    }

    /// Computes the rows of a partition, in batches.
    pub(super) fn each_batch(
        &self,
        partition: usize,
        mut take: impl FnMut(RecordBatch, Vec<RowError>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let partition = &self.plan.partitions[partition];
        let input = &self.plan.inputs[partition.input];
        let path = || format!("{} cannot be read", input.path.display());
        let mut first = partition.first_row;
        for chunk in input.read(&partition.piece, &self.selection)? {
            let chunk = chunk.with_context(path)?;
            let rows = chunk.texts.len() as u64;
            let (chunk, numbers) = self.sampled(chunk, first)?;
            first += rows;
            if numbers.is_empty() {
                continue;
            }
            let found = self.extractor.extract(&chunk.texts)?;
            let errors = by_row(chunk.bad.into_iter().chain(found.errors));
            let mut columns = chunk.kept.columns().to_vec();
            columns.extend(value_columns(&found.values));
            if let Some(at) = self.error_column {
                // The extractor does not know the errors of reading.
                let reasons = (0..numbers.len()).map(|row| errors.get(&row));
                columns[at] = Arc::new(reasons.collect::<StringArray>());
            }
            let batch = RecordBatch::try_new(SchemaRef::clone(&self.schema), columns)?;
            let errors = errors.into_iter().map(|(row, error)| (numbers[row], error));
            take(batch, errors.collect())?;
        }
        if first != partition.first_row + partition.piece.rows {
            bail!("{}: it has fewer rows than when the run began", path());
        }
        Ok(())
    }

    /// Returns the rows of a chunk that are in the sample, and their numbers.
    fn sampled(&self, chunk: Chunk, first: u64) -> anyhow::Result<(Chunk, Vec<u64>)> {
        let numbers = (0..chunk.texts.len() as u64).map(|row| first + row);
        let Some(sample) = self.plan.sample else {
            return Ok((chunk, numbers.collect()));
        };
        let chosen: Vec<bool> = numbers.clone().map(|row| sample.has(row)).collect();
        let place = |row: usize| chosen[..row].iter().filter(|it| **it).count();
        let bad = chunk.bad.into_iter().filter(|(row, _)| chosen[*row]);
        let bad = bad.map(|(row, error)| (place(row), error)).collect();
        let mask = BooleanArray::from(chosen);
        let numbers = numbers.filter(|row| sample.has(*row)).collect();
        let chunk = Chunk {
            texts: datafusion::arrow::compute::filter(&chunk.texts, &mask)?,
            kept: filter_record_batch(&chunk.kept, &mask)?,
            bad,
        };
        Ok((chunk, numbers))
    }

    /// Writes the rows of a partition. The file appears under its name at the end, when everything that belongs to it
    /// is on disk.
    pub(super) fn write_part(
        &self,
        partition: usize,
        folder: &PartFolder,
        mut progress: impl FnMut(u64, u64),
    ) -> anyhow::Result<()> {
        let path = folder.part(partition);
        let file = files::temporary_beside(&path)?;
        let mut writer = RowWriter::new(file.reopen()?, self.plan.format, &self.schema)?;
        let (mut rows, mut errors) = (0, Vec::new());
        self.each_batch(partition, |batch, bad| {
            writer.write(&batch)?;
            rows += batch.num_rows() as u64;
            progress(batch.num_rows() as u64, bad.len() as u64);
            for (row, error) in bad {
                writeln!(errors, "{}", json!({"row": row, "error": error}))?;
            }
            Ok(())
        })?;
        let expected = self.plan.partitions[partition].rows;
        if rows != expected {
            bail!("part {partition} has {rows} rows, and {expected} were planned");
        }
        let cannot_be_written = || format!("{} cannot be written", path.display());
        writer.finish().with_context(cannot_be_written)?;
        if !errors.is_empty() {
            files::write_whole(&folder.errors(partition), &errors)?;
        }
        files::persist(file, &path).with_context(cannot_be_written)
    }
}

/// Joins the errors of each row.
fn by_row(errors: impl Iterator<Item = (usize, String)>) -> BTreeMap<usize, String> {
    let mut joined: BTreeMap<usize, String> = BTreeMap::new();
    for (row, error) in errors {
        joined
            .entry(row)
            .and_modify(|before| *before = format!("{before}; {error}"))
            .or_insert(error);
    }
    joined
}

/// Returns the columns of a value: the properties of an object, or a single one named `value`.
fn value_fields(of: &DataType) -> Vec<Arc<Field>> {
    match of {
        DataType::Struct(fields) => fields.iter().cloned().collect(),
        other => vec![Arc::new(Field::new("value", other.clone(), true))],
    }
}

/// Returns the columns of a value; for a row without one, all of them are NULL.
fn value_columns(values: &ArrayRef) -> Vec<ArrayRef> {
    match values.data_type() {
        // All fields of a NULL struct are NULL.
        DataType::Struct(_) => values.as_struct().columns().to_vec(),
        _ => vec![ArrayRef::clone(values)],
    }
}

#[cfg(test)]
mod tests {
    use structgen::decode::SchedulerLimits;
    use structgen::{Model, ModelOptions};
    use structgen_datafusion::{FunctionOptions, Functions};

    use super::super::files::FileFormat;
    use super::super::input::Input;
    use super::*;

    fn model(queue: usize) -> structgen::Result<Model> {
        structgen::runtime::ensure(crate::terminal::say)?;
        let mut limits = SchedulerLimits::default();
        limits.queue = queue;
        Model::embedded(&ModelOptions::new().with_limits(limits))
    }

    #[test]
    fn a_part_is_missing_as_long_as_the_model_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.jsonl");
        std::fs::write(&path, "{\"body\": \"Ada from Graz\"}\n").unwrap();
        let selection = Selection {
            text: "body".to_owned(),
            keep: None,
        };
        let inputs = vec![Input::scan(&path, &selection, 10).unwrap()];
        let plan = Plan::new(inputs, Vec::new(), FileFormat::Jsonl, None, None);
        let parts = PartFolder::open(&folder.path().join("out.jsonl"), &plan, false).unwrap();
        // A model that may queue no request refuses all of them.
        for (queue, is_done) in [(0, false), (100, true)] {
            let functions = Functions::new(move || model(queue), FunctionOptions::new());
            let columns = ExtraColumns::default();
            let extractor = functions
                .extractor(r#"{"type": "string"}"#, columns)
                .unwrap();
            let extraction = Extraction::new(&plan, selection.clone(), extractor, columns).unwrap();
            let written = extraction.write_part(0, &parts, |_, _| {});
            assert_eq!(written.is_ok(), is_done, "{written:?}");
            assert_eq!(parts.is_done(0), is_done);
            assert!(!parts.errors(0).exists());
        }
    }
}
