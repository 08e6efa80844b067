//! Registers the files that a query names in single quotes as tables.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Context, bail};
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::Schema;
use datafusion::common::TableReference;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::context::SessionContext;
use datafusion::object_store::{GetResultPayload, ObjectStoreExt};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{ObjectName, VisitMut, VisitorMut};
use futures::TryStreamExt;

use crate::quotes::Quotes;

const CSV: &str = ".csv";

/// Registers each file or pattern in single quotes as a table with that name.
pub(super) async fn register(
    context: &SessionContext,
    statement: &mut Statement,
) -> anyhow::Result<()> {
    for path in paths(statement) {
        let table = table(context, &path).await?;
        context.register_table(TableReference::bare(path), Arc::new(table))?;
    }
    Ok(())
}

fn paths(statement: &mut Statement) -> Vec<String> {
    let mut relations = QuotedRelations::default();
    // The visitor never breaks.
    let _ = match statement {
        Statement::Statement(statement) => statement.visit(&mut relations),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(&mut relations),
            CopyToSource::Relation(relation) => relations.pre_visit_relation(relation),
        },
        Statement::Explain(explain) => return paths(&mut explain.statement),
        _ => ControlFlow::Continue(()),
    };
    relations.paths
}

#[derive(Default)]
struct QuotedRelations {
    paths: Vec<String>,
}

impl VisitorMut for QuotedRelations {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        let [part] = relation.0.as_slice() else {
            return ControlFlow::Continue(());
        };
        let quoted = part.as_ident().filter(|it| it.quote_style == Some('\''));
        if let Some(path) = quoted.map(|it| it.value.clone())
            && !self.paths.contains(&path)
        {
            self.paths.push(path);
        }
        ControlFlow::Continue(())
    }
}

async fn table(context: &SessionContext, path: &str) -> anyhow::Result<ListingTable> {
    let (format, extension): (Arc<dyn FileFormat>, &str) = match path.rsplit_once('.') {
        Some((_, "parquet")) => (Arc::new(ParquetFormat::default()), ".parquet"),
        // Values may contain line breaks, so a file must not be split at lines.
        Some((_, "csv")) => (
            Arc::new(CsvFormat::default().with_newlines_in_values(true)),
            CSV,
        ),
        Some((_, "jsonl")) => (Arc::new(json()), ".jsonl"),
        Some((_, "ndjson")) => (Arc::new(json()), ".ndjson"),
        Some((_, "json")) => (Arc::new(json()), ".json"),
        _ => bail!("the table '{path}' has to end in .parquet, .csv, .jsonl, .ndjson or .json"),
    };
    let url = ListingTableUrl::parse(path)?;
    let options = ListingOptions::new(format).with_file_extension(extension);
    let config = with_schema(context, url, options).await;
    let config = config.with_context(|| format!("the table '{path}' cannot be read"))?;
    if config
        .file_schema
        .as_ref()
        .is_none_or(|it| it.fields().is_empty())
    {
        bail!("there is no file '{path}', or it has no columns");
    }
    Ok(ListingTable::try_new(config)?)
}

/// Infers the types of the columns, from all rows: otherwise, fields that occur later are dropped, and 19.99 in a
/// column of integers is read as 19.
async fn with_schema(
    context: &SessionContext,
    url: ListingTableUrl,
    options: ListingOptions,
) -> anyhow::Result<ListingTableConfig> {
    let is_csv = options.file_extension == CSV;
    let config = ListingTableConfig::new(url.clone()).with_listing_options(options);
    Ok(match is_csv {
        true => config.with_schema(Arc::new(csv_schema(context, &url).await?)),
        false => config.infer_schema(&context.state()).await?,
    })
}

fn json() -> JsonFormat {
    JsonFormat::default().with_schema_infer_max_rec(usize::MAX)
}

/// Infers the types of CSV from whole files. DataFusion infers from pieces of them, which it cuts wrongly after a
/// backslash before a quote or a quote within a field.
async fn csv_schema(context: &SessionContext, url: &ListingTableUrl) -> anyhow::Result<Schema> {
    let state = context.state();
    let store = state.runtime_env().object_store(url)?;
    let files = url.list_all_files(&state, store.as_ref(), CSV).await?;
    let files: Vec<_> = files.try_collect().await?;
    let mut schemas = Vec::with_capacity(files.len());
    for file in files {
        let content = store.get(&file.location).await?;
        let schema = match content.payload {
            GetResultPayload::File(file, _) => csv_schema_of(file),
            GetResultPayload::Stream(_) => csv_schema_of(&*content.bytes().await?),
        };
        schemas.push(schema.with_context(|| file.location.to_string())?);
    }
    Ok(Schema::try_merge(schemas)?)
}

fn csv_schema_of(csv: impl Read) -> anyhow::Result<Schema> {
    let mut csv = Quotes::new(csv);
    let (schema, _) = Format::default()
        .with_header(true)
        .infer_schema(&mut csv, None)?;
    csv.finish()?;
    Ok(schema)
}
