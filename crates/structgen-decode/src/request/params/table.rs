use super::parameter::{NumberAt, Parameter, ParameterKind as K, Place, Range};

/// All parameters of a request: one row per field of the serde form of [`Params`](super::Params).
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "strategy",
        place: Place::Top,
        kind: K::Strategy,
        help: "How outputs are searched for",
    },
    // How tokens are chosen.
    sampling(
        "temperature",
        NOT_NEGATIVE,
        "Divides the logits; 0 picks the most probable token",
    ),
    sampling(
        "dynamic_temperature",
        K::Group(r#"{"range": 0.0, "exponent": 1.0}"#),
        "Makes the temperature follow the entropy",
    ),
    sampling(
        "dynamic_temperature.range",
        NOT_NEGATIVE,
        "Maximum distance of the temperature from its value, to either side",
    ),
    sampling(
        "dynamic_temperature.exponent",
        NOT_NEGATIVE,
        "Above 1, it stays low until the entropy is high",
    ),
    sampling(
        "top_k",
        COUNT,
        "Keeps this many of the most probable tokens; 0 is off",
    ),
    sampling(
        "top_k_ties",
        K::Switch,
        "Whether top-k also keeps all tokens equal to the last one",
    ),
    sampling(
        "top_p",
        UNIT,
        "Keeps the most probable tokens up to this total probability; 1 is off",
    ),
    sampling(
        "min_p",
        UNIT,
        "Drops tokens below this share of the largest probability; 0 is off",
    ),
    sampling(
        "typical_p",
        K::Number(Range::new(0.0, 1.0, false, true)),
        "Keeps the tokens whose surprise is closest to the entropy, up to this total probability; 1 is off",
    ),
    sampling(
        "epsilon_cutoff",
        BELOW_ONE,
        "Drops tokens below this probability; 0 is off",
    ),
    sampling(
        "eta_cutoff",
        BELOW_ONE,
        "Drops tokens below this probability, or a smaller one depending on the entropy; 0 is off",
    ),
    sampling(
        "top_n_sigma",
        NOT_NEGATIVE,
        "Keeps logits at most this many standard deviations below the largest; 0 is off",
    ),
    sampling(
        "top_h",
        UNIT,
        "Keeps this share of the entropy of the hundred most probable tokens; 0 is off",
    ),
    sampling(
        "xtc",
        K::Group(r#"{"probability": 0.5, "threshold": 0.1}"#),
        "Drops all top choices except the least likely one, with some probability",
    ),
    sampling(
        "xtc.probability",
        UNIT,
        "Probability that a step drops anything",
    ),
    sampling(
        "xtc.threshold",
        UNIT,
        "Probability from which a token is a top choice",
    ),
    sampling(
        "min_keep",
        AT_LEAST_ONE,
        "Minimum number of tokens that top-p, min-p, typical-p, epsilon, eta and XTC keep",
    ),
    sampling(
        "mirostat",
        K::Group(r#"{"version": 2, "tau": 5.0, "eta": 0.1}"#),
        "Steers towards a target surprise",
    ),
    sampling(
        "mirostat.version",
        K::Integer(Range::new(1.0, 2.0, true, true)),
        "Version of mirostat",
    ),
    sampling(
        "mirostat.tau",
        NOT_NEGATIVE,
        "Target surprise per token, in bits",
    ),
    sampling(
        "mirostat.eta",
        NOT_NEGATIVE,
        "Share of the error that the next step corrects",
    ),
    sampling(
        "adaptive_p",
        K::Group(r#"{"target": 0.5, "decay": 0.9}"#),
        "Steers towards a target probability",
    ),
    sampling(
        "adaptive_p.target",
        UNIT,
        "Desired mean probability of the chosen tokens",
    ),
    sampling(
        "adaptive_p.decay",
        K::Number(Range::new(0.0, 0.99, true, true)),
        "Factor by which each choice reduces the weight of earlier ones in the mean",
    ),
    sampling(
        "repetition_penalty",
        POSITIVE,
        "Penalises tokens seen before: divides positive logits, multiplies others; 1 is off",
    ),
    sampling(
        "repetition_scope",
        SCOPE,
        "Which tokens the repetition penalty counts",
    ),
    sampling(
        "repetition_window",
        COUNT,
        "How many of the last of these count; 0 means all",
    ),
    sampling(
        "repetition_guard",
        K::Group(r#"{"window": 64, "strength": 1.5}"#),
        "A repetition penalty that grows with how much the output repeats itself",
    ),
    sampling(
        "repetition_guard.window",
        K::Integer(Range::new(2.0, 1024.0, true, true)),
        "How many of the output's last tokens to measure",
    ),
    sampling(
        "repetition_guard.strength",
        POSITIVE,
        "Penalty in a loop; 1 is off",
    ),
    sampling(
        "frequency_penalty",
        FINITE,
        "Subtracted from a logit per occurrence of the token; 0 is off",
    ),
    sampling(
        "presence_penalty",
        FINITE,
        "Subtracted from a logit if the token has occurred; 0 is off",
    ),
    sampling(
        "frequency_scope",
        SCOPE,
        "Which tokens the frequency and presence penalties count",
    ),
    sampling(
        "frequency_window",
        COUNT,
        "How many of the last of these count; 0 means all",
    ),
    sampling(
        "dry",
        K::Group(
            r#"{"multiplier": 0.8, "base": 1.75, "allowed_length": 2, "range": 0, "breakers": []}"#,
        ),
        "Penalises continuing a repetition, more the longer it is",
    ),
    sampling(
        "dry.multiplier",
        NOT_NEGATIVE,
        "Penalty of the shortest repetition that is penalised; 0 is off",
    ),
    sampling(
        "dry.base",
        K::Number(Range::at_least(1.0)),
        "Factor by which each further token multiplies the penalty",
    ),
    sampling(
        "dry.allowed_length",
        COUNT,
        "Repetitions of fewer tokens are not penalised",
    ),
    sampling(
        "dry.range",
        COUNT,
        "How many of the last tokens to search; 0 means all",
    ),
    sampling(
        "dry.breakers",
        K::Json("[[13], [29, 30]]"),
        "Sequences of token ids that no repetition extends across",
    ),
    sampling(
        "no_repeat_ngram",
        COUNT,
        "Forbids repeating a sequence of this many tokens; 0 is off",
    ),
    sampling(
        "logit_bias",
        K::Json(r#"{"50": 1.5, "60": "-inf"}"#),
        "Added to the logits of token ids; -inf bans a token",
    ),
    sampling("suppress", K::Ids, "Token ids that are banned"),
    sampling(
        "bad_words",
        K::Json("[[50], [60, 61]]"),
        "Sequences of token ids that are banned",
    ),
    sampling(
        "forced_tokens",
        K::Json(r#"{"0": 50}"#),
        "Token ids to force at positions of the output, counted from 0",
    ),
    sampling(
        "min_length",
        COUNT,
        "Minimum number of tokens of prompt and output together",
    ),
    sampling(
        "length_decay",
        K::Group(r#"{"start": 0, "factor": 1.0}"#),
        "Makes the end more or less likely as the output grows",
    ),
    sampling(
        "length_decay.start",
        COUNT,
        "Number of output tokens after which the decay starts",
    ),
    sampling(
        "length_decay.factor",
        POSITIVE,
        "Factor per further token; above 1 it shortens outputs",
    ),
    sampling(
        "watermark",
        K::Group(r#"{"gamma": 0.25, "delta": 2.0, "key": 15485863}"#),
        "Favours a keyed share of the vocabulary, by which the text can be recognised later",
    ),
    sampling(
        "watermark.gamma",
        K::Number(Range::new(0.0, 1.0, false, false)),
        "Share of the vocabulary to favour",
    ),
    sampling(
        "watermark.delta",
        FINITE,
        "Added to the logits of favoured tokens",
    ),
    sampling(
        "watermark.key",
        COUNT,
        "Key needed to tell favoured tokens from others",
    ),
    sampling(
        "seed",
        COUNT,
        "Seed for sampling; the same seed gives the same output",
    ),
    sampling(
        "order",
        K::Order,
        "Order of the samplers: structgen, llama.cpp, hf, or their names",
    ),
    // Where outputs end, and what to report about them.
    option("sequences", AT_LEAST_ONE, "Number of outputs to generate"),
    option(
        "max_new_tokens",
        COUNT,
        "Maximum number of tokens per output; by default the rest of the context",
    ),
    option(
        "min_new_tokens",
        COUNT,
        "Minimum number of tokens, unless only the end is allowed",
    ),
    option("stop", K::Texts, "Texts that end the output"),
    option(
        "stop_text",
        K::Word(&["trimmed", "kept"]),
        "Whether the output includes the text that ended it",
    ),
    option("time_limit", NOT_NEGATIVE, "Maximum seconds to spend"),
    option(
        "log_probs",
        K::Switch,
        "Whether to compute log probabilities",
    ),
    option(
        "alternatives",
        COUNT,
        "How many of the most probable tokens to report for each choice",
    ),
    option(
        "refused",
        COUNT,
        "How many of the most probable refused tokens to report for each choice",
    ),
    option(
        "token_times",
        K::Switch,
        "Whether to record the time of each token",
    ),
    option(
        "jump_forward",
        K::Word(&["exact", "canonical"]),
        "How to handle forced text: force single tokens only, or whole texts as the tokenizer encodes them",
    ),
    option(
        "overflow",
        K::Tagged(&[
            ("error", NumberAt::Nowhere),
            ("crop", NumberAt::Field("keep")),
        ]),
        "What to do if the text outgrows the context: fail, or continue with the first N tokens and the last ones",
    ),
    option("prefill", K::Ids, "Token ids that the output starts with"),
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
        AT_LEAST_ONE,
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
    strategy("smc.particles", AT_LEAST_ONE, "Number of particles"),
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
const POSITIVE: K = K::Number(Range::POSITIVE);
const FINITE: K = K::Number(Range::ANY);
const BELOW_ONE: K = K::Number(Range::new(0.0, 1.0, true, false));
const COUNT: K = K::Integer(Range::NOT_NEGATIVE);
const AT_LEAST_ONE: K = K::Integer(Range::at_least(1.0));
const FORCED_END: K = K::Word(&["counted", "free"]);
const FORCED_END_HELP: &str = "Whether the probability of the end counts if nothing can follow";
const SCOPE: K = K::Word(&["all", "prompt", "output"]);

const fn sampling(name: &'static str, kind: K, help: &'static str) -> Parameter {
    let place = Place::Sampling;
    Parameter {
        name,
        place,
        kind,
        help,
    }
}

const fn option(name: &'static str, kind: K, help: &'static str) -> Parameter {
    let place = Place::Options;
    Parameter {
        name,
        place,
        kind,
        help,
    }
}

const fn strategy(name: &'static str, kind: K, help: &'static str) -> Parameter {
    let place = Place::Strategy;
    Parameter {
        name,
        place,
        kind,
        help,
    }
}
