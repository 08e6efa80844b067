//! `structgen lab advise`.

use anyhow::bail;
use serde_json::json;
use structgen::decode::{FinishReason, samplers::Repetition};
use structgen::{Request, Strategy};
use structgen_lab::advise::{Observed, SLOW, Symptom};
use structgen_lab::chart::{Axis, BarChart, BarGroup};
use structgen_lab::heldout::Score;

use super::report::{Report, ReportArgs};
use super::subject::SubjectArgs;
use super::table::{Table, one, quoted, three, title};
use crate::settings::SettingsArgs;

/// Output tokens, if no number is given.
const TOKENS: usize = 100;

/// Options of `structgen lab advise`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "An output loops where its last 24 tokens or more are one stretch three times over; it is nonsense where the mean surprise of its tokens \
    is above\nhalf of ln(vocabulary); it is cut off where it ended by the number of tokens; it is slow below 5 tokens a second."
)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Only advise on this symptom: loops, nonsense, cut-off, slow or out-of-memory; may be repeated
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["TextArgs", "model", "ModelSettings", "SettingsArgs"]
    )]
    symptom: Vec<Symptom>,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    if !args.symptom.is_empty() {
        return Ok(only(&args.symptom));
    }
    let mut settings = args.settings.settings()?;
    settings.options.log_probs = true;
    settings.options.max_new_tokens.get_or_insert(TOKENS);
    settings.check()?;
    settings.check_scopes("lab advise", &[])?;
    if settings.lists_outputs() || settings.strategy != Strategy::default() {
        bail!("lab advise looks at one output, which is sampled or greedy");
    }
    let subject = args.subject.load_for_text()?;
    let request = Request::new(subject.prompt.clone(), None)
        .with_options(settings.options.clone())
        .with_strategy(Strategy::default());
    let output = subject.model.submit(request)?.wait()?.single()?;
    let ids: Vec<_> = output.tokens.iter().map(|token| token.id).collect();
    let log_probs = output.tokens.iter().filter_map(|token| token.log_probs);
    let score = Score {
        log_probs: log_probs
            .map(|log_probs| f64::from(log_probs.model))
            .collect(),
    };
    let speed = ids.len() as f64 / output.stats.total_time.as_secs_f64().max(1e-9);
    let vocabulary = subject.model.tokenizer().vocabulary().len();
    let observed = Observed {
        tokens: &ids,
        is_cut_off: output.finish == FinishReason::MaxTokens,
        surprise: Some((score.surprise(), vocabulary)),
        speed: Some(speed),
    };
    let symptoms = Symptom::of(&observed);
    let repetition = Repetition::of(&ids[ids.len().saturating_sub(64)..]);
    let threshold = (vocabulary as f64).ln() / 2.0;
    let mut table = Table::new(["<measure", "value", "<a symptom where"]);
    let mut row =
        |name: &str, value: String, limit: String| table.row([name.to_owned(), value, limit]);
    row(
        "tokens",
        ids.len().to_string(),
        "no more were allowed".to_owned(),
    );
    row(
        "repetition, last 64",
        three(repetition.severity),
        "the end is a stretch three times over".to_owned(),
    );
    row(
        "surprise, nats",
        three(score.surprise()),
        format!("above {threshold:.3}"),
    );
    row("tokens a second", one(speed), format!("below {SLOW}"));
    let mut text = format!(
        "{}{}\n\nIt ended by: {}\n\n{}\n",
        title(&format!("Advice: {}", subject.about)),
        quoted(&output.text, 300),
        output.finish,
        table.text()
    );
    match symptoms.is_empty() {
        true => text.push_str("Nothing to change.\n"),
        false => text.push_str(&lines(&symptoms)),
    }
    let chart = BarChart {
        title: "What the output shows".to_owned(),
        x: Axis::linear("share of what counts as a symptom").from_to(0.0, 2.0),
        series: vec!["measured".to_owned()],
        groups: vec![
            BarGroup::new("repetition", [repetition.severity / Repetition::LOOP]),
            BarGroup::new("surprise", [score.surprise() / threshold]),
            BarGroup::new("slowness", [SLOW / speed]),
        ],
    };
    Ok(Report {
        json: json!({
            "source": subject.about,
            "text": output.text,
            "tokens": ids.len(),
            "finish": output.finish.to_string(),
            "repetition": repetition,
            "surprise": score.surprise(),
            "tokens_per_second": speed,
            "symptoms": symptoms.iter().map(described).collect::<Vec<_>>(),
        }),
        text,
        chart: chart.into(),
    })
}

/// Advises on symptoms that the user has seen.
fn only(symptoms: &[Symptom]) -> Report {
    let groups = symptoms
        .iter()
        .map(|symptom| BarGroup::new(symptom.name(), [1.0]));
    let chart = BarChart {
        title: "Symptoms".to_owned(),
        x: Axis::linear("seen").from_to(0.0, 1.0),
        series: vec!["seen".to_owned()],
        groups: groups.collect(),
    };
    Report {
        json: json!({"symptoms": symptoms.iter().map(described).collect::<Vec<_>>()}),
        text: lines(symptoms),
        chart: chart.into(),
    }
}

fn described(symptom: &Symptom) -> serde_json::Value {
    json!({"symptom": symptom, "advice": symptom.advice()})
}

fn lines(symptoms: &[Symptom]) -> String {
    let lines = symptoms
        .iter()
        .map(|symptom| format!("{symptom}: {}\n", symptom.advice()));
    lines.collect()
}
