//! `structgen demo`: a first look for newcomers.

use std::time::Instant;

use serde_json::Value;
use structgen::ort::ensure_runtime;
use structgen::{
    Checker, Constraint, Extraction, GenerateOptions, Model, ModelOptions, Profile,
    SchemaExtractor, SchemaOptions, compact_notation,
};

use super::demo_samples::{Sample, Wrong, compare, samples};
use crate::Outcome;
use crate::error::{DONE, Failure};
use crate::output::{Paint, note, paint, write};

/// Options of `structgen demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Also show each schema in full
    #[arg(long)]
    schemas: bool,
}

const WIDTH: usize = 78;

pub(crate) fn run(args: &Args) -> Outcome {
    let runtime = ensure_runtime(|line| note(&format!("{line} (about 25 MB, once) …")))?;
    let started = Instant::now();
    let model = Model::embedded(&ModelOptions::new())?;
    let paint = paint();
    write(&format!(
        "{}\n\nA tiny model inside this program ({:.1} MB) reads each text and writes JSON. Every\n\
         token keeps it on the way to fitting the schema, with values from the text.\n\
         ONNX Runtime {}, one thread; model ready in {:.0} ms.\n",
        paint.bold("structgen: guaranteed JSON from real text"),
        (structgen_model::MAIN.model.len() + structgen_model::READER.len()) as f64 / 1e6,
        runtime.version(),
        started.elapsed().as_secs_f64() * 1e3,
    ))?;

    let mut totals = Totals::default();
    let samples = samples()?;
    for (number, sample) in samples.iter().enumerate() {
        let title = format!(
            "{} of {}  {}, {}",
            number + 1,
            samples.len(),
            sample.kind,
            sample.id
        );
        let rule = "─".repeat(WIDTH.saturating_sub(title.chars().count() + 4));
        write(&format!(
            "\n{} {} {}\n\n",
            paint.dim("──"),
            paint.bold(&title),
            paint.dim(&rule)
        ))?;
        show(sample, &model, args, paint, &mut totals)?;
    }
    write(&format!(
        "\n{}\n{}",
        paint.dim(&"─".repeat(WIDTH)),
        totals.summary(paint)
    ))?;
    let next = "structgen extract --schema schema.json \"Some text\"";
    write(&format!(
        "\nYour own text and schema:  {}\n",
        paint.bold(next)
    ))?;
    if totals.valid < samples.len() {
        return Err(Failure::incomplete(anyhow::anyhow!(
            "an output does not match its schema: this is a bug in structgen, please report it"
        )));
    }
    Ok(DONE)
}

fn show(
    sample: &Sample,
    model: &Model,
    args: &Args,
    paint: Paint,
    totals: &mut Totals,
) -> Result<(), Failure> {
    let schema: Value = serde_json::from_str(sample.schema.get())?;
    let started = Instant::now();
    let extractor = SchemaExtractor::new(
        model.clone(),
        schema.clone(),
        &SchemaOptions::new(),
        GenerateOptions::default(),
    )?;
    let compiled = started.elapsed();
    let extraction = extractor.extract(&sample.text)?;

    // Outputs are drawn from a subset of what the schema allows: check them against the exact profile.
    let exact = SchemaOptions::new().with_profile(Profile::Exact);
    let checker = Checker::new(&Constraint::json_schema_str(sample.schema.get(), &exact)?)?;
    let valid = checker.check(extraction.json.as_bytes())?.is_none();

    let notation = if args.schemas {
        serde_json::to_string_pretty(&schema)?
    } else {
        compact_notation(&schema)
    };
    let pretty = serde_json::to_string_pretty(&extraction.value)?;
    write(&block(paint, "Text", &wrap(&sample.text)))?;
    write(&block(
        paint,
        "Schema",
        &if args.schemas {
            lines(&notation)
        } else {
            wrap_notation(&notation)
        },
    ))?;
    write(&block(
        paint,
        "JSON",
        &lines(&pretty)
            .into_iter()
            .map(|line| paint.green(&line))
            .collect::<Vec<_>>(),
    ))?;
    let (fields, wrong) = compare(&extraction.value, &sample.expected);
    if !wrong.is_empty() {
        write(&block(paint, "Wrong", &corrections(&wrong)))?;
    }
    let right = fields - wrong.len();
    let mut notes = vec![paint.dim(&figures(&extraction, valid, compiled))];
    notes.insert(0, format!("{right} of {fields} fields are right"));
    write(&block(paint, "", &notes))?;
    totals.add(&extraction, valid, right, fields);
    Ok(())
}

fn figures(extraction: &Extraction<Value>, valid: bool, compiled: std::time::Duration) -> String {
    let seconds = extraction.stats.total_time.as_secs_f64();
    format!(
        "valid: {} · schema compiled in {:.1} ms · {} tokens in {:.0} ms ({} forced) · {:.0} tokens/s",
        if valid { "yes" } else { "NO" },
        compiled.as_secs_f64() * 1e3,
        extraction.tokens(),
        seconds * 1e3,
        extraction.stats.forced_tokens,
        extraction.tokens() as f64 / seconds,
    )
}

/// Formats the expected values of wrong fields, one per line.
fn corrections(wrong: &[Wrong]) -> Vec<String> {
    let line = |wrong: &Wrong| match &wrong.expected {
        Some(value) => format!("{} should be {value}", wrong.pointer),
        None => format!("{} should not be there", wrong.pointer),
    };
    wrong.iter().map(line).collect()
}

#[derive(Default)]
struct Totals {
    shown: usize,
    valid: usize,
    right: usize,
    fields: usize,
    tokens: usize,
    seconds: f64,
    outside: f64,
}

impl Totals {
    fn add(&mut self, extraction: &Extraction<Value>, valid: bool, right: usize, fields: usize) {
        self.shown += 1;
        self.right += right;
        self.fields += fields;
        self.valid += usize::from(valid);
        self.tokens += extraction.tokens();
        let seconds = extraction.stats.total_time.as_secs_f64();
        self.seconds += seconds;
        self.outside += extraction.stats.overhead_share() * seconds;
    }

    fn summary(&self, paint: Paint) -> String {
        let Self {
            shown,
            valid,
            right,
            fields,
            tokens,
            seconds,
            outside,
        } = self;
        format!(
            "{} of {shown} outputs match their schema, {right} of {fields} fields are right. {tokens} tokens in {:.0} ms, prompts included: {:.0} tokens/s,\n\
             {:.0}% of the time outside the model.\n\n\
             The texts are ten of a test set that the model never saw, drawn by a fixed rule. What is\n\
             written always matches; whether it is also right is up to the model, and this one is tiny.\n\
             `--model DIR` takes any decoder exported to ONNX.\n",
            paint.bold(&valid.to_string()),
            seconds * 1e3,
            *tokens as f64 / seconds,
            100.0 * outside / seconds,
        )
    }
}

/// Formats a label with lines beside it.
fn block(paint: Paint, label: &str, lines: &[String]) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        text.push_str(&format!(
            "  {}  {line}\n",
            paint.dim(&format!("{label:<6}"))
        ));
    }
    text.push('\n');
    text
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Wraps a text to the width beside a label.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH - 10 {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Wraps schema notation after commas.
fn wrap_notation(notation: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in notation.split_inclusive(',') {
        let last = lines.len() - 1;
        if !lines[last].is_empty()
            && lines[last].chars().count() + part.chars().count() > WIDTH - 10
        {
            lines.push(format!(" {part}"));
        } else {
            lines[last].push_str(part);
        }
    }
    lines
}
