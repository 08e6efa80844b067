//! Tokens in replies: OpenAI's log probabilities, and steps with the effect of the mask.

use serde_json::{Value, json};
use structgen::decode::GeneratedToken;
use structgen::decode::request::Alternative;
use structgen::vocab::{TokenId, Vocabulary};

/// OpenAI's substitute for a log probability of minus infinity or close to it.
const LEAST: f32 = -9999.0;

/// Returns the log probabilities of tokens in the format of chat completions: under the model with the constraint, so
/// that the probabilities of all allowed tokens sum to one.
pub(crate) fn chat_logprobs(
    tokens: &[GeneratedToken],
    others: usize,
    vocabulary: &Vocabulary,
) -> Value {
    let entry = |token: &GeneratedToken| {
        let top = token.alternatives.iter().take(others);
        let top: Vec<Value> = top
            .map(|other| described(other.id, other.log_probs.allowed, vocabulary))
            .collect();
        let mut entry = described(token.id, logprob(token), vocabulary);
        entry["top_logprobs"] = top.into();
        entry
    };
    json!({"content": tokens.iter().map(entry).collect::<Vec<_>>(), "refusal": null})
}

fn described(id: TokenId, logprob: f32, vocabulary: &Vocabulary) -> Value {
    json!({
        "token": text(id, vocabulary),
        "logprob": logprob.max(LEAST),
        "bytes": bytes(id, vocabulary),
    })
}

/// Returns the log probabilities of tokens in the format of completions. `offset` is the number of characters before
/// the first token, and then after the last one.
pub(crate) fn completion_logprobs(
    tokens: &[GeneratedToken],
    others: usize,
    vocabulary: &Vocabulary,
    offset: &mut usize,
) -> Value {
    let top = |token: &GeneratedToken| {
        let others = token.alternatives.iter().take(others);
        let named = |other: &Alternative| {
            let logprob = other.log_probs.allowed.max(LEAST);
            (text(other.id, vocabulary), Value::from(logprob))
        };
        Value::Object(others.map(named).collect())
    };
    let start = |token: &GeneratedToken| {
        let bytes = { vocabulary.token_bytes(token.id) }.unwrap_or_default();
        // Each character has one byte that does not continue another.
        let begun = bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        std::mem::replace(offset, *offset + begun)
    };
    let offsets: Vec<usize> = tokens.iter().map(start).collect();
    json!({
        "tokens": tokens.iter().map(|token| text(token.id, vocabulary)).collect::<Vec<_>>(),
        "token_logprobs": tokens.iter().map(logprob).collect::<Vec<_>>(),
        "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
        "text_offset": offsets,
    })
}

/// Returns a token's log probability under the model with the constraint.
fn logprob(token: &GeneratedToken) -> f32 {
    match token.log_probs {
        Some(log_probs) => log_probs.allowed.max(LEAST),
        // While an output is generated, a forced token has none yet; the mask allows no other token.
        None => 0.0,
    }
}

/// Returns the tokens of an answer step by step: the choice, what the mask allowed, and what it refused.
pub(crate) fn steps(tokens: &[GeneratedToken], vocabulary: &Vocabulary) -> Value {
    let step = |token: &GeneratedToken| {
        let removed = token.log_probs.map(|it| it.removed_mass());
        let mask = token.mask.as_ref();
        json!({
            "id": token.id.0,
            "text": text(token.id, vocabulary),
            "bytes": bytes(token.id, vocabulary),
            "forced": token.forced,
            "logprob": logprob(token),
            "removed_mass": removed,
            "allowed": if token.forced { Some(1) } else { mask.map(|mask| mask.allowed) },
            "wanted": listed(mask.map_or(&[], |mask| &mask.refused), vocabulary, |it| it.log_probs.model),
            "alternatives": listed(&token.alternatives, vocabulary, |it| it.log_probs.allowed),
        })
    };
    tokens.iter().map(step).collect()
}

fn listed(
    tokens: &[Alternative],
    vocabulary: &Vocabulary,
    log_prob: impl Fn(&Alternative) -> f32,
) -> Value {
    let one = |other: &Alternative| {
        json!({
            "id": other.id.0,
            "text": text(other.id, vocabulary),
            "probability": log_prob(other).exp(),
        })
    };
    tokens.iter().map(one).collect()
}

/// Returns a token's text, or the name of a special token.
pub(crate) fn text(token: TokenId, vocabulary: &Vocabulary) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) if !bytes.is_empty() => String::from_utf8_lossy(bytes).into_owned(),
        _ => vocabulary.token_name(token).unwrap_or_default().to_owned(),
    }
}

fn bytes(token: TokenId, vocabulary: &Vocabulary) -> Vec<u8> {
    vocabulary.token_bytes(token).unwrap_or_default().to_vec()
}
