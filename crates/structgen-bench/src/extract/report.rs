//! Reports on the answers, in tables and in lines.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;
use structgen_bench::scoring::{Calibration, Cause, Document, Estimate, Example, Group, Summary};

use super::ask::Speed;
use super::table::Table;

/// Tables of groups with more rows are only in the output of `--json`.
const MAX_GROUPS: usize = 60;

/// The longest value of an example, in characters.
const MAX_VALUE: usize = 40;

/// The answers for a set, in one mode.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    pub(super) set: String,
    pub(super) mode: String,
    pub(super) strategy: String,
    pub(super) jobs: usize,
    #[serde(flatten)]
    pub(super) summary: Summary,
    /// `None` if no text was answered.
    pub(super) speed: Option<Speed>,
    pub(super) documents: Vec<Document>,
}

impl Results {
    pub(super) fn way(&self) -> String {
        format!("{}, {}", self.mode, self.strategy)
    }
}

/// The tables of a set, which compare the modes.
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) tables: Vec<Table>,
}

/// Groups results by set; those of one set must be adjacent.
pub(super) fn sections(all: &[Results]) -> Vec<Section> {
    let same_set = |a: &Results, b: &Results| a.set == b.set;
    all.chunk_by(same_set).map(section).collect()
}

fn section(results: &[Results]) -> Section {
    let (set, texts) =
        { results.first() }.map_or(("", 0), |first| (&*first.set, first.documents.len()));
    let mut tables = vec![overview(results)];
    for (by, of) in [
        (
            "type",
            (|summary| &summary.by_type) as fn(&Summary) -> &Vec<Group>,
        ),
        ("kind", |summary| &summary.by_kind),
        ("language", |summary| &summary.by_language),
        ("domain", |summary| &summary.by_domain),
    ] {
        tables.push(groups(results, by, of));
    }
    tables.push(causes(results));
    tables.push(calibrations(results));
    tables.retain(|table| !table.is_empty());
    Section {
        heading: format!("{set}, {texts} texts"),
        tables,
    }
}

fn overview(results: &[Results]) -> Table {
    let mut table = Table::new([
        "",
        "objects exact",
        "fields exact",
        "soft score",
        "no answer",
        "in windows",
        "documents/s",
        "tokens",
        "first token, ms: median, p99",
    ]);
    for one in results {
        let summary = &one.summary;
        let unanswered = { one.documents.iter() }.filter(|document| document.failure.is_some());
        let mut row = vec![
            one.way(),
            percent(summary.objects),
            percent(summary.fields),
            percent(summary.soft),
            unanswered.count().to_string(),
        ];
        if let Some(speed) = &one.speed {
            let jobs = if one.jobs > 1 {
                format!(" ({} jobs)", one.jobs)
            } else {
                String::new()
            };
            let [median, p99] = speed.first_token_ms;
            row.extend([
                speed.in_windows.to_string(),
                format!("{:.1}{jobs}", speed.documents_per_second),
                format!("{:.0}", speed.tokens),
                format!("{median:.1}, {p99:.1}"),
            ]);
        }
        table.row(row);
    }
    table
}

fn groups(results: &[Results], by: &str, of: fn(&Summary) -> &Vec<Group>) -> Table {
    let ways = results.iter().map(Results::way);
    let head = [format!("fields exact by {by}"), "fields".to_owned()];
    let mut table = Table::new(head.into_iter().chain(ways));
    // All modes have the same fields.
    let first = results.first().map_or(&[][..], |first| of(&first.summary));
    if first.len() > MAX_GROUPS {
        table.row([format!("{} groups: see --json", first.len())]);
        return table;
    }
    for group in first {
        let shares = results.iter().map(|one| {
            let same = of(&one.summary)
                .iter()
                .find(|other| other.name == group.name);
            percent(same.map(|same| same.fields))
        });
        let head = [group.name.clone(), format!("{:.0}", group.fields.of)];
        table.row(head.into_iter().chain(shares));
    }
    table
}

fn causes(results: &[Results]) -> Table {
    let ways = results.iter().map(Results::way);
    let head = ["why fields are wrong".to_owned()];
    let last = ["such as: expected → written".to_owned()];
    let mut table = Table::new(head.into_iter().chain(ways).chain(last));
    let mut all: Vec<Cause> = Vec::new();
    for count in results.iter().flat_map(|one| &one.summary.causes) {
        if !all.contains(&count.cause) {
            all.push(count.cause);
        }
    }
    for cause in all {
        let counts = results.iter().map(|one| {
            let mut counts = one.summary.causes.iter();
            counts.find(|count| count.cause == cause)
        });
        let cells = counts
            .clone()
            .map(|count| count.map_or(0, |count| count.fields).to_string());
        let example = { counts.flatten() }
            .find_map(|count| count.examples.first())
            .map(example);
        table.row([cause.to_string()].into_iter().chain(cells).chain(example));
    }
    table
}

fn calibrations(results: &[Results]) -> Table {
    let mut table = Table::new([
        "confidence",
        "fields",
        "expected calibration error",
        "above .9: fields",
        "of these right",
    ]);
    for one in results {
        let model = one.summary.calibration_model.as_ref().map(calibration);
        let allowed = one.summary.calibration_allowed.as_ref().map(calibration);
        // Without a constraint, the two are equal.
        let allowed = allowed.filter(|allowed| Some(allowed) != model.as_ref());
        let calibrated = one.summary.calibration.as_ref().map(calibration);
        // Equal for a model without a calibration.
        let calibrated = calibrated.filter(|it| Some(it) != allowed.as_ref().or(model.as_ref()));
        for (of, figures) in [
            ("model alone", model),
            ("model and constraint", allowed),
            ("calibrated", calibrated),
        ] {
            if let Some(figures) = figures {
                let name = [format!("{}: {of}", one.way())];
                table.row(name.into_iter().chain(figures));
            }
        }
    }
    table
}

fn calibration(found: &Calibration) -> [String; 4] {
    let sure = found.above_90;
    [
        found.fields.to_string(),
        format!("{:.3}", found.expected_error),
        format!("{:.0}", sure.map_or(0.0, |sure| sure.of)),
        percent(sure),
    ]
}

/// `27.1% [24.0, 30.2]`.
fn percent(estimate: Option<Estimate>) -> String {
    estimate.map_or(String::new(), |estimate| {
        let [low, high] = estimate.interval.map(|end| 100.0 * end);
        format!("{:.1}% [{low:.1}, {high:.1}]", 100.0 * estimate.share)
    })
}

fn example(example: &Example) -> String {
    let Example {
        id,
        pointer,
        expected,
        actual,
        ..
    } = example;
    let [expected, actual] = [expected, actual].map(|value| short(value.as_ref(), MAX_VALUE));
    format!("{id} {pointer}: {expected} → {actual}")
}

/// Formats a value as JSON, cut to a number of characters.
fn short(value: Option<&Value>, most: usize) -> String {
    let text = value.map_or("(absent)".to_owned(), Value::to_string);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Formats the tables of all sets.
pub(super) fn text(all: &[Results]) -> String {
    let mut text = String::new();
    for section in sections(all) {
        // Writing to a string never fails.
        let _ = writeln!(text, "\n{}", section.heading);
        for table in &section.tables {
            let _ = write!(text, "\n{}", table.text());
        }
    }
    text
}

/// Formats the fields of each document, or those that are wrong.
pub(super) fn documents(results: &Results, all: bool) -> String {
    let mut text = String::new();
    for document in { results.documents.iter() }.filter(|one| all || !one.is_exact) {
        let right = document
            .fields
            .iter()
            .filter(|field| field.is_right())
            .count();
        let _ = writeln!(
            text,
            "{} ({}, {}): {right} of {} fields, soft score {:.2}",
            document.id,
            results.set,
            results.way(),
            document.fields.len(),
            document.soft,
        );
        if let Some(failure) = &document.failure {
            let _ = writeln!(text, "    {failure}");
            continue;
        }
        for field in { document.fields.iter() }.filter(|field| all || !field.is_right()) {
            let (pointer, actual) = (&field.pointer, short(field.actual.as_ref(), usize::MAX));
            let sure = field.confidence.map_or(String::new(), |confidence| {
                format!(" ({:.2})", confidence.model)
            });
            let _ = match field.cause {
                None => writeln!(text, "    right {pointer}: {actual}{sure}"),
                Some(cause) => writeln!(
                    text,
                    "    WRONG {pointer}: {} → {actual}{sure}, {cause}",
                    short(field.expected.as_ref(), usize::MAX),
                ),
            };
        }
    }
    text
}
