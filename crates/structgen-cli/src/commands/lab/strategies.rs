//! `structgen lab strategies`.

use serde_json::json;
use structgen::SamplingParams;
use structgen_lab::chart::{Axis, BarChart, BarGroup};
use structgen_lab::diversity::{Diversity, distinct, mean};

use super::report::{Report, ReportArgs};
use super::subject::SubjectArgs;
use super::table::{Table, quoted, three, title};

/// Characters to show of each output.
const CHARACTERS: usize = 300;

/// Options of `structgen lab strategies`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Fluency is the geometric mean of the tokens' probabilities at T = 1, distinct-2 the share of different pairs of tokens within an output, difference \
    the\nmean share of positions at which outputs of different seeds differ. Greedy and beams have no seeds: they are run once."
)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Number of tokens per output
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = crate::args::at_least_one::<usize>)]
    tokens: usize,
    /// First of three consecutive seeds; 0 follows the largest
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    let subject = args.subject.load()?;
    let at = |temperature: f32| SamplingParams {
        temperature,
        ..SamplingParams::default()
    };
    let top_k = |top_k| SamplingParams { top_k, ..at(1.0) };
    let top_p = |top_p| SamplingParams { top_p, ..at(1.0) };
    let settings: [(&str, Option<SamplingParams>); 10] = [
        ("greedy", Some(at(0.0))),
        ("T 0.5", Some(at(0.5))),
        ("T 1", Some(at(1.0))),
        ("T 1.5", Some(at(1.5))),
        ("k 10", Some(top_k(10))),
        ("k 50", Some(top_k(50))),
        ("p 0.9", Some(top_p(0.9))),
        ("p 0.95", Some(top_p(0.95))),
        (
            "p 0.9, penalty 1.2",
            Some(SamplingParams {
                repetition_penalty: 1.2,
                ..top_p(0.9)
            }),
        ),
        ("beams 4", None),
    ];
    let mut table = Table::new(["<strategy", "fluency", "distinct-2", "difference"]);
    let mut texts = String::new();
    let (mut rows, mut groups) = (Vec::new(), Vec::new());
    for (name, sampling) in settings {
        let runs = match sampling {
            None => vec![subject.beams(4, args.tokens)?],
            Some(sampling) if sampling.temperature == 0.0 => {
                vec![subject.generate(sampling, 1, args.tokens)?]
            }
            Some(sampling) => {
                let run = |later| {
                    let sampling = SamplingParams {
                        seed: args.seed.wrapping_add(later),
                        ..sampling.clone()
                    };
                    subject.generate(sampling, 1, args.tokens)
                };
                (0..3).map(run).collect::<Result<_, _>>()?
            }
        };
        let ids: Vec<_> = runs.iter().flat_map(|run| run.ids()).collect();
        let mut log_probs: Vec<f64> = runs.iter().flat_map(|run| run.log_probs()).collect();
        if log_probs.is_empty() {
            log_probs = subject.score(&ids)?;
        }
        let found = Diversity::of(&ids, &log_probs);
        // Within each output: a strategy without seeds has only one, and one output repeats less than three do.
        let within = ids.iter().map(|one| distinct(std::slice::from_ref(one), 2));
        let within = mean(within);
        let difference = match ids.len() {
            1 => "—".to_owned(),
            _ => three(found.difference),
        };
        table.row([
            name.to_owned(),
            three(found.fluency),
            three(within),
            difference,
        ]);
        texts.push_str(&format!("\n{name}\n"));
        let shown = runs.iter().flat_map(|run| &run.generations);
        let shown: Vec<String> = shown
            .map(|generation| generation.text.chars().take(CHARACTERS).collect())
            .collect();
        for text in &shown {
            texts.push_str(&format!("  {}\n", quoted(text, CHARACTERS)));
        }
        groups.push(BarGroup::new(name, [found.fluency, within]));
        rows.push(json!({"strategy": name, "measures": found, "distinct_2_within": within, "texts": shown}));
    }
    let chart = BarChart {
        title: "Strategies side by side".to_owned(),
        x: Axis::linear("share").from_to(0.0, 1.0),
        series: vec![
            "fluency".to_owned(),
            "distinct-2 within an output".to_owned(),
        ],
        groups,
    };
    Ok(Report {
        json: json!({"source": subject.about, "strategies": rows}),
        text: format!(
            "{}{}{texts}",
            title(&format!("Strategies side by side: {}", subject.about)),
            table.text()
        ),
        chart: chart.into(),
    })
}
