//! `structgen lab compare`.

use anyhow::{Context, bail};
use serde_json::json;
use structgen::SamplingParams;
use structgen::decode::request::Params;
use structgen_lab::chart::{Axis, BarChart, BarGroup};
use structgen_lab::compare::{DRAWS, Method, compare};
use structgen_lab::{Distribution, NamedDistribution};

use super::report::{Report, ReportArgs};
use super::source::{Logits, SourceArgs};
use super::table::{Table, percent, three, title};

/// Options of `structgen lab compare`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "KL draws is the divergence of the draws from the original, KL exact that of the distribution that is drawn from, which is \
    -ln(mass kept)\nfor samplers that remove the same tokens at every step; for XTC, which acts at random, both outcomes count. \
    KL of the original from the\ndraws is infinite as soon as one token was not drawn. TV is the total variation distance of the draws. Each draw is a first step: samplers with a memory have none."
)]
pub(crate) struct Args {
    /// Another sampling method: comma-separated parameters, such as top_h=0.4 or temperature=0.7,min_p=0.1; may be
    /// repeated
    #[arg(long, value_name = "NAME=VALUE,…")]
    sampler: Vec<String>,
    /// Number of draws per method
    #[arg(long, value_name = "N", default_value_t = DRAWS)]
    draws: usize,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    if args.draws == 0 || args.draws > 1_000_000 {
        bail!("--draws is {}, and must be from 1 to 1000000", args.draws);
    }
    let mut methods = Method::standard();
    for sampler in &args.sampler {
        methods.push(method(sampler)?);
    }
    let source = args
        .source
        .read(|| Logits::named(NamedDistribution::Zipf))?;
    let original = Distribution::from_logits(&source.logits)?;
    let mut rows = Vec::new();
    for mut method in methods {
        method.params.seed = args.seed;
        rows.push(compare(&original, &method, args.draws)?);
    }
    let mut table = Table::new([
        "<method", "draws", "unique", "H nats", "top", "KL draws", "KL exact", "mass", "TV", "kept",
    ]);
    for row in &rows {
        table.row([
            row.method.clone(),
            row.draws.to_string(),
            row.unique.to_string(),
            three(row.entropy),
            if row.has_top { "yes" } else { "no" }.to_owned(),
            three(row.kl_draws),
            three(row.kl_exact),
            percent(row.mass),
            three(row.total_variation),
            row.kept.to_string(),
        ]);
    }
    let (top, p) = original.top();
    let nuclei = [0.5, 0.9, 0.95].map(|mass| original.nucleus(mass));
    let facts = format!(
        "{} tokens, H = {:.3} nats ({:.3} bits), the top one {} has {:.4}; nuclei of .5, .9, .95: {}, {}, {} tokens.",
        original.probabilities().len(),
        original.entropy(),
        original.entropy_bits(),
        source.token(top as u32),
        p,
        nuclei[0],
        nuclei[1],
        nuclei[2]
    );
    let groups = rows
        .iter()
        .map(|row| BarGroup::new(row.method.clone(), [row.kl_exact, row.kl_draws]));
    let chart = BarChart {
        title: format!("Divergence from {}", source.about),
        x: Axis::linear("KL divergence (nats)"),
        series: vec![
            "of what is drawn from, exact".to_owned(),
            format!("of {} draws", args.draws),
        ],
        groups: groups.collect(),
    };
    Ok(Report {
        json: json!({
            "source": source.about,
            "tokens": original.probabilities().len(),
            "entropy": original.entropy(),
            "entropy_bits": original.entropy_bits(),
            "top": p,
            "nuclei": {"0.5": nuclei[0], "0.9": nuclei[1], "0.95": nuclei[2]},
            "methods": rows,
        }),
        text: format!(
            "{}{facts}\n\n{}\nThe divergence of the original from the draws is infinite wherever a token was not drawn.\n",
            title(&format!("Samplers compared: {}", source.about)),
            table.text()
        ),
        chart: chart.into(),
    })
}

/// Parses a method written as `name=value,name=value`.
fn method(text: &str) -> anyhow::Result<Method> {
    let mut params = Params::default();
    params.options.sampling.temperature = 1.0;
    for part in text.split(',') {
        let (name, value) = part.split_once('=').with_context(|| {
            format!("--sampler takes NAME=VALUE, such as top_h=0.4, and {part:?} has no =")
        })?;
        let name = name.trim();
        params.set(name, value.trim())?;
        if name == "seed" || params.options.sampling.seed != SamplingParams::default().seed {
            bail!("{name} in --sampler: all methods have the seed of --seed");
        }
        if !is_sampling_only(&params) {
            bail!("{name} in --sampler is no sampling parameter");
        }
    }
    let sampling: SamplingParams = params.options.sampling;
    sampling.validate()?;
    Ok(Method::new(text, sampling))
}

fn is_sampling_only(params: &Params) -> bool {
    let sampling = params.options.sampling.clone();
    let mut only = Params::default();
    only.options.sampling = sampling;
    *params == only
}
