//! The log of a training run.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value};

/// A model's accuracy over the tokens it was trained on: a line for each split and metric.
pub(super) struct Curve {
    pub(super) lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Reads the JSON lines of `training/train.py`: `tokens`, and for each split the shares of whole answers and of their
/// tokens that were correct.
pub(super) fn read(path: &Path) -> anyhow::Result<Curve> {
    let text = crate::read(path)?;
    let name = path.display();
    let entries: Vec<Map<String, Value>> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .collect::<Result<_, _>>()
        .with_context(|| format!("the training log {name} cannot be used"))?;
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for entry in &entries {
        let Some(tokens) = entry.get("tokens").and_then(Value::as_f64) else {
            bail!("the training log {name} has a line without tokens");
        };
        for (split, shares) in entry {
            let shares = shares.as_array().map_or(&[][..], Vec::as_slice);
            for (measure, share) in ["whole answers", "tokens"].iter().zip(shares) {
                let Some(share) = share.as_f64() else {
                    continue;
                };
                let line = format!("{split}, {measure}");
                let at = lines.iter().position(|(name, _)| *name == line);
                let at = at.unwrap_or_else(|| {
                    lines.push((line, Vec::new()));
                    lines.len() - 1
                });
                lines[at].1.push((tokens / 1e6, share));
            }
        }
    }
    if lines.is_empty() {
        bail!("the training log {name} has no shares of right answers");
    }
    Ok(Curve { lines })
}
