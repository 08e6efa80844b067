//! Registers the files that a query names in single quotes as tables.

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use datafusion::common::TableReference;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::context::SessionContext;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{ObjectName, VisitMut, VisitorMut};

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
            ".csv",
        ),
        Some((_, "jsonl")) => (Arc::new(JsonFormat::default()), ".jsonl"),
        Some((_, "ndjson")) => (Arc::new(JsonFormat::default()), ".ndjson"),
        Some((_, "json")) => (Arc::new(JsonFormat::default()), ".json"),
        _ => bail!("the table '{path}' has to end in .parquet, .csv, .jsonl, .ndjson or .json"),
    };
    let url = ListingTableUrl::parse(path)?;
    let options = ListingOptions::new(format).with_file_extension(extension);
    let config = ListingTableConfig::new(url).with_listing_options(options);
    let config = config
        .infer_schema(&context.state())
        .await
        .map_err(|error| anyhow!(error).context(format!("the table '{path}' cannot be read")))?;
    if config
        .file_schema
        .as_ref()
        .is_none_or(|it| it.fields().is_empty())
    {
        bail!("there is no file '{path}', or it has no columns");
    }
    Ok(ListingTable::try_new(config)?)
}
