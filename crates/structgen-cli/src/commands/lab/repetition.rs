//! `structgen lab repetition`.

use serde_json::json;
use structgen::SamplingParams;
use structgen::decode::samplers::{Repetition, RepetitionGuardParams};
use structgen_lab::chart::{Axis, BarChart, BarGroup};
use structgen_lab::diversity::{Common, most_common, type_token_ratio};

use super::report::{Report, ReportArgs};
use super::subject::SubjectArgs;
use super::table::{Table, percent, quoted, three, title};

/// Number of most common tokens to list.
const COMMON: usize = 5;

/// Options of `structgen lab repetition`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Severity, from 0 to 1, is 1 - (1 - t*t/4)(1 - b)(1 - s): t and b are the shares of tokens and of pairs that came before, and s grows \
    from 0 for a\nlongest repeated stretch of 2 tokens to 1 for one of 18. --repetition-guard is a penalty that grows with it, from 1 to 1.5."
)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Penalties to compare; 1 is none
    #[arg(long, value_name = "R", value_delimiter = ',', default_values_t = [1.0, 1.1, 1.3, 1.5, 2.0])]
    penalties: Vec<f32>,
    /// Number of tokens per output
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = crate::args::at_least_one::<usize>)]
    tokens: usize,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    let subject = args.subject.load_for_text()?;
    let mut settings: Vec<(String, SamplingParams)> = Vec::new();
    for &repetition_penalty in &args.penalties {
        let params = SamplingParams {
            repetition_penalty,
            ..SamplingParams::default()
        };
        settings.push((format!("penalty {repetition_penalty}"), params));
    }
    let guard = SamplingParams {
        repetition_guard: Some(RepetitionGuardParams::default()),
        ..SamplingParams::default()
    };
    settings.push(("guard".to_owned(), guard));

    let mut table = Table::new([
        "<greedy with",
        "unique/total",
        "tokens",
        "pairs",
        "longest",
        "severity",
        "<most common",
    ]);
    let mut samples = String::new();
    let (mut rows, mut groups) = (Vec::new(), Vec::new());
    for (name, params) in settings {
        let outputs = subject.generate(params, 1, args.tokens)?;
        let ids = outputs.ids();
        let ratio = type_token_ratio(&ids);
        let found = Repetition::of(&ids[0]);
        let common = most_common(&ids[0], COMMON);
        let shown =
            |common: &Common| format!("{} {}", subject.token(common.id), percent(common.share));
        let list = common.iter().map(shown).collect::<Vec<_>>().join("  ");
        table.row([
            name.clone(),
            three(ratio),
            found.token_repeats.to_string(),
            found.bigram_repeats.to_string(),
            found.longest_repeat.to_string(),
            three(found.severity),
            list,
        ]);
        let text = &outputs.generations[0].text;
        samples.push_str(&format!("{name:<12}  {}\n", quoted(text, 90)));
        groups.push(BarGroup::new(name.clone(), [ratio, found.severity]));
        let common = common.iter().map(|common| {
            json!({"id": common.id, "text": subject.token(common.id), "count": common.count, "share": common.share})
        });
        rows.push(json!({
            "setting": name,
            "unique_share": ratio,
            "repetition": found,
            "most_common": common.collect::<Vec<_>>(),
            "text": text,
        }));
    }
    let chart = BarChart {
        title: format!("Repetition in {} greedy tokens", args.tokens),
        x: Axis::linear("share").from_to(0.0, 1.0),
        series: vec![
            "unique / total".to_owned(),
            "severity of repetition".to_owned(),
        ],
        groups,
    };
    Ok(Report {
        json: json!({"source": subject.about, "settings": rows}),
        text: format!(
            "{}{} greedy tokens each; tokens and pairs are how many came before, longest is the longest stretch that did\n\n{}\n{samples}",
            title(&format!("Repetition: {}", subject.about)),
            args.tokens,
            table.text()
        ),
        chart: chart.into(),
    })
}
