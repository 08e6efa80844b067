use crate::Strategy;
use crate::demand::MOST_ROWS;
use crate::parameter::{Effect, NumberAt, Parameter, ParameterKind as K, Place, Range};
use crate::samplers::PARAMETERS as SAMPLING;

/// All parameters of a request: one row per field of the serde form of [`Params`](super::Params).
pub const PARAMETERS: &[Parameter] = &all();

const STRATEGY: Parameter = Parameter {
    name: "strategy",
    place: Place::Top,
    effect: Effect::Request,
    kind: K::Strategy(&Strategy::NAMES),
    help: "How outputs are searched for",
};

/// Returns the strategy, the sampling parameters, and the rows below.
const fn all() -> [Parameter; 1 + SAMPLING.len() + OTHER.len()] {
    let mut rows = [STRATEGY; 1 + SAMPLING.len() + OTHER.len()];
    let (sampling, rest) = rows.split_at_mut(1).1.split_at_mut(SAMPLING.len());
    sampling.copy_from_slice(SAMPLING);
    rest.copy_from_slice(OTHER);
    rows
}

const OTHER: &[Parameter] = &[
    // Where outputs end, and what to report about them.
    option(
        "sequences",
        Effect::Sequences,
        AT_LEAST_ONE,
        "Number of outputs to generate",
    ),
    option(
        "max_new_tokens",
        Effect::Request,
        COUNT,
        "Maximum number of tokens per output; by default the rest of the context",
    ),
    option(
        "min_new_tokens",
        Effect::Tokens,
        COUNT,
        "Minimum number of tokens, unless only the end is allowed",
    ),
    option(
        "stop",
        Effect::Tokens,
        K::Texts,
        "Texts that end the output",
    ),
    option(
        "stop_text",
        Effect::Tokens,
        K::Word(&["trimmed", "kept"]),
        "Whether the output includes the text that ended it",
    ),
    option(
        "time_limit",
        Effect::Request,
        NOT_NEGATIVE,
        "Maximum seconds to spend",
    ),
    option(
        "log_probs",
        Effect::Request,
        K::Switch,
        "Whether to compute log probabilities",
    ),
    option(
        "alternatives",
        Effect::Tokens,
        COUNT,
        "How many of the most probable tokens to report for each choice",
    ),
    option(
        "refused",
        Effect::Tokens,
        COUNT,
        "How many of the most probable refused tokens to report for each choice",
    ),
    option(
        "token_times",
        Effect::Tokens,
        K::Switch,
        "Whether to record the time of each token",
    ),
    option(
        "jump_forward",
        Effect::ForcedText,
        K::Word(&["exact", "canonical"]),
        "How to handle forced text: force single tokens only, or whole texts as the tokenizer encodes them",
    ),
    option(
        "overflow",
        Effect::Overflow,
        K::Tagged(&[
            ("error", NumberAt::Nowhere),
            ("crop", NumberAt::Field("keep")),
        ]),
        "What to do if the text outgrows the context: fail, or continue with the first N tokens and the last ones",
    ),
    option(
        "prefill",
        Effect::Request,
        K::Ids,
        "Token ids that the output starts with",
    ),
    // Strategies.
    strategy(
        "speculate.model",
        K::Switch,
        "Whether the draft model drafts",
    ),
    strategy(
        "speculate.lookup",
        K::Group(r#"{"longest": 3, "shortest": 1}"#),
        "Drafts what followed the last tokens when they occurred before",
    ),
    strategy(
        "speculate.lookup.longest",
        COUNT,
        "Maximum number of last tokens to match",
    ),
    strategy(
        "speculate.lookup.shortest",
        AT_LEAST_ONE,
        "Minimum number of last tokens to match",
    ),
    strategy(
        "speculate.heads",
        K::Switch,
        "Whether the model's extra heads draft",
    ),
    strategy(
        "speculate.forced_text",
        K::Switch,
        "Whether forced text is drafted",
    ),
    strategy(
        "speculate.length",
        K::Tagged(&[("adaptive", NumberAt::Word), ("fixed", NumberAt::Word)]),
        "Number of tokens per draft: up to N depending on acceptance, or always N",
    ),
    strategy(
        "beam.width",
        ROWS,
        "Number of beams to continue in each step",
    ),
    strategy(
        "beam.n_best",
        AT_LEAST_ONE,
        "Number of outputs to return, best first; at most the width",
    ),
    strategy(
        "beam.length_penalty",
        FINITE,
        "Exponent of the length by which the sum of log probabilities is divided",
    ),
    strategy(
        "beam.early_stopping",
        K::Word(&["heuristic", "always", "never"]),
        "When to stop, once there are as many outputs as beams",
    ),
    strategy(
        "beam.groups",
        AT_LEAST_ONE,
        "Number of beam groups of equal size",
    ),
    strategy(
        "beam.diversity_penalty",
        NOT_NEGATIVE,
        "Subtracted from a token's log probability for each beam of an earlier group that has just chosen it",
    ),
    strategy(
        "beam.sample",
        K::Switch,
        "Whether to draw continuations instead of taking the best",
    ),
    strategy(
        "beam.renormalize",
        K::Switch,
        "Whether log probabilities are over the allowed tokens instead of all",
    ),
    strategy(
        "beam.distinct",
        K::Word(&["tokens", "text", "json_value"]),
        "Which outputs count as the same",
    ),
    strategy(
        "guidance.scale",
        FINITE,
        "Amplifies the effect of the prompt by this factor; 1 is off",
    ),
    strategy(
        "guidance.prompt",
        K::Ids,
        "Token ids of the prompt to steer away from; by default the prompt's last token",
    ),
    strategy(
        "contrastive.alpha",
        UNIT,
        "Keeps tokens with at least this share of the largest probability",
    ),
    strategy(
        "contrastive.beta",
        NOT_NEGATIVE,
        "Weight of the draft model",
    ),
    strategy(
        "contrastive_search.alpha",
        UNIT,
        "Weight of a token's novelty",
    ),
    strategy(
        "contrastive_search.top_k",
        AT_LEAST_ONE,
        "Number of tokens to compare",
    ),
    strategy(
        "asap.attempts",
        COUNT,
        "Maximum number of attempts per output",
    ),
    strategy("asap.forced_end", FORCED_END, FORCED_END_HELP),
    strategy(
        "rejection.attempts",
        COUNT,
        "Maximum number of attempts per output",
    ),
    strategy("rejection.forced_end", FORCED_END, FORCED_END_HELP),
    strategy("smc.particles", ROWS, "Number of particles"),
    strategy(
        "smc.threshold",
        UNIT,
        "Resample the particles when their effective number falls below this share of them",
    ),
    strategy(
        "smc.resampling",
        K::Word(&["systematic", "stratified", "multinomial"]),
        "How to resample particles",
    ),
    strategy("smc.forced_end", FORCED_END, FORCED_END_HELP),
];

const UNIT: K = K::Number(Range::UNIT);
const NOT_NEGATIVE: K = K::Number(Range::NOT_NEGATIVE);
const FINITE: K = K::Number(Range::ANY);
const COUNT: K = K::Integer(Range::NOT_NEGATIVE);
const AT_LEAST_ONE: K = K::Integer(Range::at_least(1.0));
/// A number of rows of a cache.
const ROWS: K = K::Integer(Range::new(1.0, MOST_ROWS as f64, true, true));
const FORCED_END: K = K::Word(&["counted", "free"]);
const FORCED_END_HELP: &str = "Whether the probability of the end counts if nothing can follow";

const fn option(name: &'static str, effect: Effect, kind: K, help: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Options,
        effect,
        kind,
        help,
    }
}

const fn strategy(name: &'static str, kind: K, help: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Strategy,
        effect: Effect::Request,
        kind,
        help,
    }
}
