//! `structgen lab diversity`.

use serde_json::{Value, json};
use structgen::SamplingParams;
use structgen::decode::samplers::{Candidates, SamplerChain};
use structgen_lab::chart::{Axis, Line, LineChart};
use structgen_lab::diversity::{Diversity, mean, sweet_spot};

use super::report::{Report, ReportArgs};
use super::subject::{Outputs, Subject, SubjectArgs, free_text};
use super::table::{Table, one, percent, quoted, three, title};

/// Greedy decoding, and the temperatures of the first table.
const SHARES: [f32; 5] = [0.0, 0.3, 0.7, 1.0, 1.5];

/// The temperatures of the sweep.
const SWEEP: [f32; 6] = [0.3, 0.5, 0.7, 0.9, 1.0, 1.2];

const TOP_K: [usize; 4] = [5, 10, 20, 50];
const TOP_P: [f32; 4] = [0.5, 0.7, 0.9, 0.95];

/// Options of `structgen lab diversity`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "distinct-n is the number of different n-grams of all outputs over the number of all; TTR the mean type-token ratio of an output; \
    difference the\nmean share of positions at which two outputs differ; fluency the geometric mean of the tokens' probabilities at T = 1. The sweet \
    spot of the\nsweep has the largest distinct-2 times fluency. nucleus is the mean number of tokens that are left at a step."
)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Number of outputs for the first table; the others use half as many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = crate::args::at_least_one::<usize>)]
    outputs: usize,
    /// Number of tokens per output
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = crate::args::at_least_one::<usize>)]
    tokens: usize,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

/// Outputs at one setting, and their metrics.
struct Measured {
    name: String,
    outputs: Outputs,
    diversity: Diversity,
}

impl Measured {
    fn json(&self) -> Value {
        json!({"setting": self.name, "measures": self.diversity})
    }
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    let subject = args.subject.load()?;
    let at = |temperature: f32| SamplingParams {
        temperature,
        seed: args.seed,
        ..SamplingParams::default()
    };
    let measure =
        |name: String, sampling: SamplingParams, count: usize| -> anyhow::Result<Measured> {
            let outputs = subject.generate(sampling, count, args.tokens)?;
            let diversity = Diversity::of(&outputs.ids(), &outputs.log_probs());
            Ok(Measured {
                name,
                outputs,
                diversity,
            })
        };
    let name = |temperature: f32| match temperature {
        0.0 => "greedy".to_owned(),
        _ => format!("T {temperature}"),
    };
    let by_temperature = |list: &[f32], count| -> anyhow::Result<Vec<Measured>> {
        let measured = list.iter().map(|&t| measure(name(t), at(t), count));
        measured.collect()
    };
    let half = args.outputs.div_ceil(2);
    let shares = by_temperature(&SHARES, args.outputs)?;
    let extremes = by_temperature(&[0.01, 100.0], 5)?;
    let sweep = by_temperature(&SWEEP, half)?;
    let measures: Vec<Diversity> = sweep.iter().map(|row| row.diversity.clone()).collect();
    let sweet = sweet_spot(&measures).map(|at| SWEEP[at]);
    let mut truncated = Vec::new();
    for top_k in TOP_K {
        let sampling = SamplingParams { top_k, ..at(1.0) };
        let row = measure(format!("k {top_k}"), sampling.clone(), half)?;
        truncated.push((nucleus(&subject, &row.outputs, &sampling)?, row));
    }
    for top_p in TOP_P {
        let sampling = SamplingParams { top_p, ..at(1.0) };
        let row = measure(format!("p {top_p}"), sampling.clone(), half)?;
        truncated.push((nucleus(&subject, &row.outputs, &sampling)?, row));
    }

    let mut text = title(&format!("Diversity: {}", subject.about));
    text.push_str(&format!(
        "{} outputs of {} tokens at each temperature\n\n{}\n",
        args.outputs,
        args.tokens,
        table(&shares)
    ));
    text.push_str(&format!(
        "Extremes, 5 outputs: {}; at T = 100, for instance {}\n\n{}\n",
        match extremes[0].diversity.difference == 0.0 {
            true => "all the same at T = 0.01",
            false => "not all the same at T = 0.01, which is for ties or a very flat model",
        },
        quoted(&extremes[1].outputs.generations[0].text, 40),
        table(&extremes)
    ));
    text.push_str(&format!(
        "A sweep of {half} outputs each\n\n{}\n",
        table(&sweep)
    ));
    if let Some(sweet) = sweet {
        text.push_str(&format!(
            "Sweet spot: T = {sweet}, which has the largest distinct-2 times fluency.\n\n"
        ));
    }
    let mut cut = Table::new(["<sampler", "difference", "nucleus"]);
    for (nucleus, row) in &truncated {
        cut.row([
            row.name.clone(),
            three(row.diversity.difference),
            one(*nucleus),
        ]);
    }
    text.push_str(&format!(
        "Truncation at T = 1, {half} outputs each\n\n{}",
        cut.text()
    ));

    let line = |name: &str, of: fn(&Diversity) -> f64| {
        let points = SWEEP.iter().zip(&measures);
        let points =
            points.map(|(&t, measured)| (f64::from((t * 100.0).round()) / 100.0, of(measured)));
        Line::new(name, points.collect())
    };
    let chart = LineChart {
        title: "Diversity by temperature".to_owned(),
        x: Axis::linear("temperature"),
        y: Axis::linear("share").from_to(0.0, 1.0),
        lines: vec![
            line("distinct-1", |d| d.distinct[0]),
            line("distinct-2", |d| d.distinct[1]),
            line("difference", |d| d.difference),
            line("fluency", |d| d.fluency),
            line("distinct-2 x fluency", Diversity::sweetness),
        ],
    };
    let list = |rows: &[Measured]| rows.iter().map(Measured::json).collect::<Vec<_>>();
    let truncated = truncated.iter().map(|(nucleus, row)| {
        let mut json = row.json();
        json["nucleus"] = (*nucleus).into();
        json
    });
    Ok(Report {
        json: json!({
            "source": subject.about,
            "temperatures": list(&shares),
            "extremes": list(&extremes),
            "sweep": list(&sweep),
            "sweet_spot": sweet,
            "truncation": truncated.collect::<Vec<_>>(),
        }),
        text,
        chart: chart.into(),
    })
}

fn table(rows: &[Measured]) -> String {
    let mut table = Table::new([
        "<setting",
        "unique",
        "distinct-1",
        "distinct-2",
        "distinct-3",
        "TTR",
        "difference",
        "fluency",
    ]);
    for row in rows {
        let found = &row.diversity;
        table.row([
            row.name.clone(),
            percent(found.unique),
            three(found.distinct[0]),
            three(found.distinct[1]),
            three(found.distinct[2]),
            three(found.type_token_ratio),
            three(found.difference),
            three(found.fluency),
        ]);
    }
    table.text()
}

/// Returns the mean number of allowed tokens that the samplers keep per step, over some outputs.
fn nucleus(subject: &Subject, outputs: &Outputs, sampling: &SamplingParams) -> anyhow::Result<f64> {
    let mut chain = SamplerChain::new(sampling, 0)?;
    let mut candidates = Candidates::default();
    let allowed = free_text(&subject.model)?;
    let mut sizes = Vec::new();
    for ids in outputs.ids() {
        // The logits after a token are those of the next step.
        let before = &ids[..ids.len().saturating_sub(1)];
        let text = [&subject.prompt[..], before].concat();
        for logits in subject.model.logits(&text, ids.len())? {
            candidates.fill(&logits, &*allowed, &[]);
            chain.apply(&mut candidates);
            sizes.push(candidates.len() as f64);
        }
    }
    Ok(mean(sizes.into_iter()))
}
