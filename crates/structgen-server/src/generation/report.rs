//! Reports on an answer, on request: what was enforced, confidence and spans, forced tokens, times.

use serde_json::{Value, json};
use structgen::decode::Generation;
use structgen::decode::request::GenerationStats;
use structgen::{Field, Model};

use super::plan::{How, Plan};

/// Returns the report on one output. `input` is the text that the answer is about.
pub(crate) fn report(
    model: &Model,
    plan: &Plan,
    output: &Generation,
    input: Option<&str>,
    seed: u64,
) -> Value {
    let constraint = match &plan.how {
        How::Constrained(compiled) => Some(compiled),
        How::Extraction { extractor, .. } => Some(extractor.compiled()),
        How::Free | How::Calls { .. } => None,
    };
    let fields = constraint
        .filter(|constraint| constraint.program().grammar().is_json())
        .and_then(|constraint| {
            let fields = model.fields(output, constraint, input.unwrap_or_default());
            fields.ok()
        })
        .unwrap_or_default();
    let masses: Vec<f32> = { output.tokens.iter() }
        .filter_map(|token| Some(token.log_probs?.removed_mass()))
        .collect();
    let mean = masses.iter().sum::<f32>() / masses.len().max(1) as f32;
    json!({
        "enforced": plan.enforced,
        "fields": fields.iter().map(field).collect::<Vec<_>>(),
        "tokens": output.tokens.len(),
        "forced_tokens": output.stats.forced_tokens,
        "removed_mass": {"mean": mean, "largest": masses.iter().copied().fold(0.0, f32::max)},
        "seed": seed,
        "finish": output.finish.to_string(),
        "steered_steps": output.stats.steered_steps,
        "lifted_bans": output.stats.lifted_bans,
        "seconds": seconds(&output.stats),
    })
}

/// Returns a field of an extracted document as JSON.
pub(crate) fn field(field: &Field) -> Value {
    let spans = |spans: &[std::ops::Range<usize>]| {
        let pairs = spans.iter().map(|span| json!([span.start, span.end]));
        pairs.collect::<Vec<_>>()
    };
    let mut object = json!({
        "pointer": field.pointer,
        "value": field.value,
        "grounded": field.is_grounded,
        "bytes": spans(&field.bytes),
        "characters": spans(&field.characters),
    });
    if let Some(probability) = field.probability {
        object["probability"] = probability.into();
    }
    if let Some(confidence) = field.confidence {
        object["confidence"] = confidence.into();
    }
    if !field.alternatives.is_empty() {
        let other = |it: &structgen::AlternativeValue| json!({"value": it.value, "probability": it.probability});
        object["alternatives"] = field.alternatives.iter().map(other).collect();
    }
    object
}

/// Returns how the time was spent.
pub(crate) fn seconds(stats: &GenerationStats) -> Value {
    json!({
        "total": stats.total_time.as_secs_f64(),
        "first_token": stats.first_token_time.as_secs_f64(),
        "prefill": stats.prefill_time.as_secs_f64(),
        "model": stats.model_time.as_secs_f64(),
        "backend": stats.backend_time.as_secs_f64(),
        "masks": stats.mask_time.as_secs_f64(),
    })
}
