//! `structgen lab temperature`.

use serde_json::json;
use structgen_lab::chart::{Axis, Line, LineChart, text_bar};
use structgen_lab::temperature::{TEMPERATURES, TemperatureTask, recommend, temperatures};

use super::report::{Report, ReportArgs};
use super::source::{Logits, SourceArgs};
use super::table::{Table, percent, three, title};

/// The logits to show if none are given.
const LOGITS: [f32; 12] = [5.0, 4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0, -1.0, -2.0];

/// Number of ranks in a plot.
const RANKS: usize = 20;

/// Options of `structgen lab temperature`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "p = softmax(logits / T); entropy H = -sum p ln p, in bits H / ln 2; effective is the number of tokens with p > .01.\n\
    A recommendation is the temperature whose entropy is nearest to the middle of the task's band: .1 to .5 nats for factual, .7 to 1.4\n\
    for balanced, 1.5 to 2.3 for creative texts."
)]
pub(crate) struct Args {
    /// Temperatures to show
    #[arg(long, value_name = "T", value_delimiter = ',', default_values_t = TEMPERATURES)]
    temperatures: Vec<f64>,
    /// Recommend a temperature for a task: factual, balanced or creative [default: each of them]
    #[arg(long, value_name = "TASK")]
    recommend: Option<TemperatureTask>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    let source = args.source.read(|| Logits::of(&LOGITS, "twelve logits"))?;
    let rows = temperatures(&source.logits, &args.temperatures)?;
    let mut table = Table::new(["T", "H nats", "H bits", "top", "effective", "<top p"]);
    for row in &rows {
        table.row([
            row.temperature.to_string(),
            three(row.entropy),
            three(row.entropy_bits),
            percent(row.top),
            row.effective.to_string(),
            text_bar(row.top, 30),
        ]);
    }
    let tasks = match args.recommend {
        Some(task) => vec![task],
        None => TemperatureTask::ALL.to_vec(),
    };
    let recommended = tasks.iter().map(|&task| recommend(&source.logits, task));
    let recommended: Vec<_> = recommended.collect::<Result<_, _>>()?;
    let mut advice = Table::new(["<task", "band, nats", "T", "H nats"]);
    for found in &recommended {
        let (low, high) = found.band;
        advice.row([
            found.task.to_string(),
            format!("{low}–{high}"),
            format!("{:.2}", found.temperature),
            match found.is_in_band {
                true => three(found.entropy),
                false => format!("{} (outside the band)", three(found.entropy)),
            },
        ]);
    }
    let lines = rows.iter().map(|row| {
        let ranks = row.probabilities.iter().take(RANKS).enumerate();
        let points = ranks.map(|(rank, &p)| ((rank + 1) as f64, p)).collect();
        Line::new(format!("T = {}", row.temperature), points)
    });
    let chart = LineChart {
        title: format!("Probabilities by temperature: {}", source.about),
        x: Axis::linear("rank of the token"),
        y: Axis::linear("probability").from_to(0.0, 1.0),
        lines: lines.collect(),
    };
    Ok(Report {
        json: json!({"source": source.about, "temperatures": rows, "recommended": recommended}),
        text: format!(
            "{}{}\nRecommended, by the entropy that suits a task\n\n{}",
            title(&format!("Temperatures: {}", source.about)),
            table.text(),
            advice.text()
        ),
        chart: chart.into(),
    })
}
