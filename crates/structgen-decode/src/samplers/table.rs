use super::repetition_guard::MAX_WINDOW;
use crate::parameter::{Effect, Parameter, ParameterKind as K, Place, Range};

/// One row per field of the serde form of [`SamplingParams`](super::SamplingParams). Ranges are checked as they are
/// here, and strategies that do not draw tokens, or follow the model's own distribution, refuse parameters by their
/// effects.
pub(crate) const PARAMETERS: &[Parameter] = &[
    draws(
        "temperature",
        NOT_NEGATIVE,
        "Divides the logits; 0 picks the most probable token",
    ),
    draws(
        "dynamic_temperature",
        K::Group(r#"{"range": 0.0, "exponent": 1.0}"#),
        "Makes the temperature follow the entropy",
    ),
    draws(
        "dynamic_temperature.range",
        NOT_NEGATIVE,
        "Maximum distance of the temperature from its value, to either side",
    ),
    draws(
        "dynamic_temperature.exponent",
        NOT_NEGATIVE,
        "Above 1, it stays low until the entropy is high",
    ),
    draws(
        "top_k",
        COUNT,
        "Keeps this many of the most probable tokens; 0 is off",
    ),
    draws(
        "top_k_ties",
        K::Switch,
        "Whether top-k also keeps all tokens equal to the last one",
    ),
    draws(
        "top_p",
        UNIT,
        "Keeps the most probable tokens up to this total probability; 1 is off",
    ),
    draws(
        "min_p",
        UNIT,
        "Drops tokens below this share of the largest probability; 0 is off",
    ),
    draws(
        "typical_p",
        K::Number(Range::new(0.0, 1.0, false, true)),
        "Keeps the tokens whose surprise is closest to the entropy, up to this total probability; 1 is off",
    ),
    draws(
        "epsilon_cutoff",
        BELOW_ONE,
        "Drops tokens below this probability; 0 is off",
    ),
    draws(
        "eta_cutoff",
        BELOW_ONE,
        "Drops tokens below this probability, or a smaller one depending on the entropy; 0 is off",
    ),
    draws(
        "top_n_sigma",
        NOT_NEGATIVE,
        "Keeps logits at most this many standard deviations below the largest; 0 is off",
    ),
    draws(
        "top_h",
        UNIT,
        "Keeps this share of the entropy of the hundred most probable tokens; 0 is off",
    ),
    draws(
        "xtc",
        K::Group(r#"{"probability": 0.5, "threshold": 0.1}"#),
        "Drops all top choices except the least likely one, with some probability",
    ),
    draws(
        "xtc.probability",
        UNIT,
        "Probability that a step drops anything",
    ),
    draws(
        "xtc.threshold",
        UNIT,
        "Probability from which a token is a top choice",
    ),
    draws(
        "min_keep",
        AT_LEAST_ONE,
        "Minimum number of tokens that top-p, min-p, typical-p, epsilon, eta and XTC keep",
    ),
    feedback(
        "mirostat",
        K::Group(r#"{"version": 2, "tau": 5.0, "eta": 0.1}"#),
        "Steers towards a target surprise",
    ),
    feedback(
        "mirostat.version",
        K::Integer(Range::new(1.0, 2.0, true, true)),
        "Version of mirostat",
    ),
    feedback(
        "mirostat.tau",
        NOT_NEGATIVE,
        "Target surprise per token, in bits",
    ),
    feedback(
        "mirostat.eta",
        NOT_NEGATIVE,
        "Share of the error that the next step corrects",
    ),
    feedback(
        "adaptive_p",
        K::Group(r#"{"target": 0.5, "decay": 0.9}"#),
        "Steers towards a target probability",
    ),
    feedback(
        "adaptive_p.target",
        UNIT,
        "Desired mean probability of the chosen tokens",
    ),
    feedback(
        "adaptive_p.decay",
        K::Number(Range::new(0.0, 0.99, true, true)),
        "Factor by which each choice reduces the weight of earlier ones in the mean",
    ),
    logits(
        "repetition_penalty",
        POSITIVE,
        "Penalises tokens seen before: divides positive logits, multiplies others; 1 is off",
    ),
    logits(
        "repetition_scope",
        SCOPE,
        "Which tokens the repetition penalty counts",
    ),
    logits(
        "repetition_window",
        COUNT,
        "How many of the last of these count; 0 means all",
    ),
    logits(
        "repetition_guard",
        K::Group(r#"{"window": 64, "strength": 1.5}"#),
        "A repetition penalty that grows with how much the output repeats itself",
    ),
    logits(
        "repetition_guard.window",
        K::Integer(Range::new(2.0, MAX_WINDOW as f64, true, true)),
        "How many of the output's last tokens to measure",
    ),
    logits(
        "repetition_guard.strength",
        POSITIVE,
        "Penalty in a loop; 1 is off",
    ),
    logits(
        "frequency_penalty",
        FINITE,
        "Subtracted from a logit per occurrence of the token; 0 is off",
    ),
    logits(
        "presence_penalty",
        FINITE,
        "Subtracted from a logit if the token has occurred; 0 is off",
    ),
    logits(
        "frequency_scope",
        SCOPE,
        "Which tokens the frequency and presence penalties count",
    ),
    logits(
        "frequency_window",
        COUNT,
        "How many of the last of these count; 0 means all",
    ),
    logits(
        "dry",
        K::Group(
            r#"{"multiplier": 0.8, "base": 1.75, "allowed_length": 2, "range": 0, "breakers": []}"#,
        ),
        "Penalises continuing a repetition, more the longer it is",
    ),
    logits(
        "dry.multiplier",
        NOT_NEGATIVE,
        "Penalty of the shortest repetition that is penalised; 0 is off",
    ),
    logits(
        "dry.base",
        K::Number(Range::at_least(1.0)),
        "Factor by which each further token multiplies the penalty",
    ),
    logits(
        "dry.allowed_length",
        COUNT,
        "Repetitions of fewer tokens are not penalised",
    ),
    logits(
        "dry.range",
        COUNT,
        "How many of the last tokens to search; 0 means all",
    ),
    logits(
        "dry.breakers",
        K::Json("[[13], [29, 30]]"),
        "Sequences of token ids that no repetition extends across",
    ),
    logits(
        "no_repeat_ngram",
        COUNT,
        "Forbids repeating a sequence of this many tokens; 0 is off",
    ),
    logits(
        "logit_bias",
        K::Json(r#"{"50": 1.5, "60": "-inf"}"#),
        "Added to the logits of token ids; -inf bans a token",
    ),
    logits("suppress", K::Ids, "Token ids that are banned"),
    logits(
        "bad_words",
        K::Json("[[50], [60, 61]]"),
        "Sequences of token ids that are banned",
    ),
    logits(
        "forced_tokens",
        K::Json(r#"{"0": 50}"#),
        "Token ids to force at positions of the output, counted from 0",
    ),
    logits(
        "min_length",
        COUNT,
        "Minimum number of tokens of prompt and output together",
    ),
    logits(
        "length_decay",
        K::Group(r#"{"start": 0, "factor": 1.0}"#),
        "Makes the end more or less likely as the output grows",
    ),
    logits(
        "length_decay.start",
        COUNT,
        "Number of output tokens after which the decay starts",
    ),
    logits(
        "length_decay.factor",
        POSITIVE,
        "Factor per further token; above 1 it shortens outputs",
    ),
    logits(
        "watermark",
        K::Group(r#"{"gamma": 0.25, "delta": 2.0, "key": 15485863}"#),
        "Favours a keyed share of the vocabulary, by which the text can be recognised later",
    ),
    logits(
        "watermark.gamma",
        K::Number(Range::new(0.0, 1.0, false, false)),
        "Share of the vocabulary to favour",
    ),
    logits(
        "watermark.delta",
        FINITE,
        "Added to the logits of favoured tokens",
    ),
    logits(
        "watermark.key",
        COUNT,
        "Key needed to tell favoured tokens from others",
    ),
    row(
        "seed",
        Effect::Request,
        COUNT,
        "Seed for sampling; the same seed gives the same output",
    ),
    logits(
        "order",
        K::Order,
        "Order of the samplers: structgen, llama.cpp, hf, or their names",
    ),
];

const UNIT: K = K::Number(Range::UNIT);
const NOT_NEGATIVE: K = K::Number(Range::NOT_NEGATIVE);
const POSITIVE: K = K::Number(Range::POSITIVE);
const FINITE: K = K::Number(Range::ANY);
const BELOW_ONE: K = K::Number(Range::new(0.0, 1.0, true, false));
const COUNT: K = K::Integer(Range::NOT_NEGATIVE);
const AT_LEAST_ONE: K = K::Integer(Range::at_least(1.0));
const SCOPE: K = K::Word(&["all", "prompt", "output"]);

/// A parameter of how tokens are drawn.
const fn draws(name: &'static str, kind: K, help: &'static str) -> Parameter {
    row(name, Effect::Draws, kind, help)
}

/// A parameter of a sampler that learns from its draws.
const fn feedback(name: &'static str, kind: K, help: &'static str) -> Parameter {
    row(name, Effect::Feedback, kind, help)
}

/// A parameter of a bias, ban or penalty.
const fn logits(name: &'static str, kind: K, help: &'static str) -> Parameter {
    row(name, Effect::Logits, kind, help)
}

const fn row(name: &'static str, effect: Effect, kind: K, help: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Sampling,
        effect,
        kind,
        help,
    }
}
