use super::parameter::{NumberAt, Parameter, ParameterKind as K, Place, Range};

/// All parameters of a request: one row per field of the serde form of [`Params`](super::Params).
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "strategy",
        place: Place::Top,
        kind: K::Strategy,
        help: "How outputs are looked for",
    },
    // How tokens are chosen.
    sampling(
        "temperature",
        NOT_NEGATIVE,
        "Divides the logits; 0 takes the largest",
    ),
    sampling(
        "dynamic_temperature",
        K::Group(r#"{"range": 0.0, "exponent": 1.0}"#),
        "Lets the temperature follow the entropy",
    ),
    sampling(
        "dynamic_temperature.range",
        NOT_NEGATIVE,
        "How far the temperature may go from its value, to either side",
    ),
    sampling(
        "dynamic_temperature.exponent",
        NOT_NEGATIVE,
        "Above 1, it stays low until the entropy is high",
    ),
    sampling(
        "top_k",
        COUNT,
        "Keeps this many of the largest logits; 0 is off",
    ),
    sampling(
        "top_k_ties",
        K::Switch,
        "Whether top-k keeps all that equal the last one",
    ),
    sampling(
        "top_p",
        UNIT,
        "Keeps the likeliest tokens with this much probability together; 1 is off",
    ),
    sampling(
        "min_p",
        UNIT,
        "Drops tokens below this share of the largest probability; 0 is off",
    ),
    sampling(
        "typical_p",
        K::Number(Range::new(0.0, 1.0, false, true)),
        "Keeps this much probability of what is as surprising as expected; 1 is off",
    ),
    sampling(
        "epsilon_cutoff",
        BELOW_ONE,
        "Drops tokens below this probability; 0 is off",
    ),
    sampling(
        "eta_cutoff",
        BELOW_ONE,
        "Drops tokens below this probability or, by the entropy, a smaller one; 0 is off",
    ),
    sampling(
        "top_n_sigma",
        NOT_NEGATIVE,
        "Keeps logits up to this many standard deviations below the largest; 0 is off",
    ),
    sampling(
        "top_h",
        UNIT,
        "Keeps this share of the entropy of the hundred largest; 0 is off",
    ),
    sampling(
        "xtc",
        K::Group(r#"{"probability": 0.5, "threshold": 0.1}"#),
        "Drops all top choices but the least likely one, now and then",
    ),
    sampling(
        "xtc.probability",
        UNIT,
        "How probable it is that a step drops anything",
    ),
    sampling(
        "xtc.threshold",
        UNIT,
        "The probability from which on a token is a top choice",
    ),
    sampling(
        "min_keep",
        AT_LEAST_ONE,
        "How many tokens top-p, min-p, typical-p, epsilon, eta and XTC leave at least",
    ),
    sampling(
        "mirostat",
        K::Group(r#"{"version": 2, "tau": 5.0, "eta": 0.1}"#),
        "Aims at a surprise",
    ),
    sampling(
        "mirostat.version",
        K::Integer(Range::new(1.0, 2.0, true, true)),
        "Which mirostat",
    ),
    sampling(
        "mirostat.tau",
        NOT_NEGATIVE,
        "The surprise of a token that is aimed at, in bits",
    ),
    sampling(
        "mirostat.eta",
        NOT_NEGATIVE,
        "The share of the error that the next step corrects",
    ),
    sampling(
        "adaptive_p",
        K::Group(r#"{"target": 0.5, "decay": 0.9}"#),
        "Aims at a probability",
    ),
    sampling(
        "adaptive_p.target",
        UNIT,
        "The probability that picks have on average",
    ),
    sampling(
        "adaptive_p.decay",
        K::Number(Range::new(0.0, 0.99, true, true)),
        "What is left of a pick's weight after each further one",
    ),
    sampling(
        "repetition_penalty",
        POSITIVE,
        "Divides or multiplies the logits of tokens seen before; 1 is off",
    ),
    sampling(
        "repetition_scope",
        SCOPE,
        "Which tokens the repetition penalty looks at",
    ),
    sampling(
        "repetition_window",
        COUNT,
        "How many of the last of these; 0 is all of them",
    ),
    sampling(
        "repetition_guard",
        K::Group(r#"{"window": 64, "strength": 1.5}"#),
        "A repetition penalty that grows with how much the output repeats itself",
    ),
    sampling(
        "repetition_guard.window",
        K::Integer(Range::new(2.0, 1024.0, true, true)),
        "How many of the last tokens of the output are looked at",
    ),
    sampling(
        "repetition_guard.strength",
        POSITIVE,
        "The penalty in a loop; 1 is off",
    ),
    sampling(
        "frequency_penalty",
        FINITE,
        "Taken from a logit for each occurrence; 0 is off",
    ),
    sampling(
        "presence_penalty",
        FINITE,
        "Taken from a logit once the token has come; 0 is off",
    ),
    sampling(
        "frequency_scope",
        SCOPE,
        "Which tokens the frequency and presence penalties look at",
    ),
    sampling(
        "frequency_window",
        COUNT,
        "How many of the last of these; 0 is all of them",
    ),
    sampling(
        "dry",
        K::Group(
            r#"{"multiplier": 0.8, "base": 1.75, "allowed_length": 2, "range": 0, "breakers": []}"#,
        ),
        "Punishes going on with what has come before, the more the longer",
    ),
    sampling(
        "dry.multiplier",
        NOT_NEGATIVE,
        "The penalty of the shortest repetition that is punished; 0 is off",
    ),
    sampling(
        "dry.base",
        K::Number(Range::at_least(1.0)),
        "What each further token multiplies the penalty by",
    ),
    sampling(
        "dry.allowed_length",
        COUNT,
        "Repetitions of fewer tokens are free",
    ),
    sampling(
        "dry.range",
        COUNT,
        "How many of the last tokens are searched; 0 is all of them",
    ),
    sampling(
        "dry.breakers",
        K::Json("[[13], [29, 30]]"),
        "Sequences of token ids that no repetition goes beyond",
    ),
    sampling(
        "no_repeat_ngram",
        COUNT,
        "No sequence of this many tokens comes twice; 0 is off",
    ),
    sampling(
        "logit_bias",
        K::Json(r#"{"50": 1.5, "60": "-inf"}"#),
        "Added to the logits of token ids; -inf suppresses",
    ),
    sampling("suppress", K::Ids, "Tokens that never come"),
    sampling(
        "bad_words",
        K::Json("[[50], [60, 61]]"),
        "Sequences of token ids that never come",
    ),
    sampling(
        "forced_tokens",
        K::Json(r#"{"0": 50}"#),
        "The token id at places of the output, counted from 0",
    ),
    sampling(
        "min_length",
        COUNT,
        "No end before prompt and output have this many tokens",
    ),
    sampling(
        "length_decay",
        K::Group(r#"{"start": 0, "factor": 1.0}"#),
        "Makes the end more likely, or less, as the output grows",
    ),
    sampling(
        "length_decay.start",
        COUNT,
        "How many tokens of output change nothing",
    ),
    sampling(
        "length_decay.factor",
        POSITIVE,
        "What each further token multiplies by; above 1 it shortens",
    ),
    sampling(
        "watermark",
        K::Group(r#"{"gamma": 0.25, "delta": 2.0, "key": 15485863}"#),
        "Favours a keyed share of the vocabulary, by which the text can be told later",
    ),
    sampling(
        "watermark.gamma",
        K::Number(Range::new(0.0, 1.0, false, false)),
        "The share of the vocabulary that is favoured",
    ),
    sampling(
        "watermark.delta",
        FINITE,
        "Added to the logits of favoured tokens",
    ),
    sampling(
        "watermark.key",
        COUNT,
        "Whoever knows it can tell favoured tokens from others",
    ),
    sampling(
        "seed",
        COUNT,
        "Seeds the draw: equal seeds give equal output",
    ),
    sampling(
        "order",
        K::Order,
        "The order of the samplers: structgen, llama.cpp, hf, or their names",
    ),
    // Where outputs end, and what to report about them.
    option("sequences", COUNT, "How many outputs"),
    option(
        "max_new_tokens",
        COUNT,
        "The most tokens of an output; none is what the context leaves",
    ),
    option(
        "min_new_tokens",
        COUNT,
        "No end before this many tokens, unless nothing else is allowed",
    ),
    option("stop", K::Texts, "Texts that end the output"),
    option(
        "stop_text",
        K::Word(&["trimmed", "kept"]),
        "Whether a text that ended the output stays in it",
    ),
    option("time_limit", NOT_NEGATIVE, "The most seconds to spend"),
    option(
        "log_probs",
        K::Switch,
        "Whether to compute log probabilities",
    ),
    option(
        "alternatives",
        COUNT,
        "How many of the most probable tokens of each choice are kept",
    ),
    option(
        "refused",
        COUNT,
        "How many of the most probable tokens that the constraint refused at each choice are kept",
    ),
    option(
        "token_times",
        K::Switch,
        "Whether each token has the time at which it was taken",
    ),
    option(
        "jump_forward",
        K::Word(&["exact", "canonical"]),
        "What is done about text that the constraint forces: one token at a time, or all of it as the tokenizer writes it",
    ),
    option(
        "overflow",
        K::Tagged(&[
            ("error", NumberAt::Nowhere),
            ("crop", NumberAt::Field("keep")),
        ]),
        "What is done where the text outgrows the context: nothing, or going on without all but the first N tokens and the last ones",
    ),
    option("prefill", K::Ids, "Tokens that the answer begins with"),
    // Strategies.
    strategy(
        "speculate.model",
        K::Switch,
        "Whether the draft model drafts",
    ),
    strategy(
        "speculate.lookup",
        K::Group(r#"{"longest": 3, "shortest": 1}"#),
        "Drafts what followed the last tokens when they came before",
    ),
    strategy(
        "speculate.lookup.longest",
        COUNT,
        "The most last tokens that have to have come before",
    ),
    strategy("speculate.lookup.shortest", AT_LEAST_ONE, "The fewest"),
    strategy(
        "speculate.heads",
        K::Switch,
        "Whether the model's extra heads draft",
    ),
    strategy(
        "speculate.forced_text",
        K::Switch,
        "Whether text that the constraint forces is drafted",
    ),
    strategy(
        "speculate.length",
        K::Tagged(&[("adaptive", NumberAt::Word), ("fixed", NumberAt::Word)]),
        "How many tokens are drafted at once: up to N by how many are kept, or always N",
    ),
    strategy(
        "beam.width",
        AT_LEAST_ONE,
        "How many beams go on in each step",
    ),
    strategy(
        "beam.n_best",
        AT_LEAST_ONE,
        "How many outputs to return, best first; at most the width",
    ),
    strategy(
        "beam.length_penalty",
        FINITE,
        "The score is the sum of log probabilities over the length to this power",
    ),
    strategy(
        "beam.early_stopping",
        K::Word(&["heuristic", "always", "never"]),
        "When to stop, once there are as many outputs as beams",
    ),
    strategy(
        "beam.groups",
        AT_LEAST_ONE,
        "In how many groups of the same size the beams are",
    ),
    strategy(
        "beam.diversity_penalty",
        NOT_NEGATIVE,
        "Taken from a token's log probability for each beam of an earlier group that has just chosen it",
    ),
    strategy(
        "beam.sample",
        K::Switch,
        "Whether continuations are drawn instead of the best being taken",
    ),
    strategy(
        "beam.renormalize",
        K::Switch,
        "Whether log probabilities are among allowed tokens instead of all",
    ),
    strategy(
        "beam.distinct",
        K::Word(&["tokens", "text", "json_value"]),
        "Which outputs count as the same",
    ),
    strategy(
        "guidance.scale",
        FINITE,
        "How much stronger what the prompt changes is made; 1 is off",
    ),
    strategy(
        "guidance.prompt",
        K::Ids,
        "The tokens of the prompt that guidance leads away from; without them, the prompt's last token",
    ),
    strategy(
        "contrastive.alpha",
        UNIT,
        "Looks at tokens with this share of the largest probability",
    ),
    strategy(
        "contrastive.beta",
        NOT_NEGATIVE,
        "How much the draft model counts",
    ),
    strategy(
        "contrastive_search.alpha",
        UNIT,
        "How much it counts that a token is unlike those before it",
    ),
    strategy(
        "contrastive_search.top_k",
        AT_LEAST_ONE,
        "How many tokens are looked at",
    ),
    strategy(
        "asap.attempts",
        COUNT,
        "Gives up after this many attempts at one output",
    ),
    strategy("asap.forced_end", FORCED_END, FORCED_END_HELP),
    strategy(
        "rejection.attempts",
        COUNT,
        "Gives up after this many attempts at one output",
    ),
    strategy("rejection.forced_end", FORCED_END, FORCED_END_HELP),
    strategy(
        "smc.particles",
        AT_LEAST_ONE,
        "How many particles run together",
    ),
    strategy(
        "smc.threshold",
        UNIT,
        "Particles are drawn anew when their effective number falls below this share of them",
    ),
    strategy(
        "smc.resampling",
        K::Word(&["systematic", "stratified", "multinomial"]),
        "How they are drawn anew",
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
const FORCED_END_HELP: &str = "Whether it counts how probable the end is where nothing can follow";
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
