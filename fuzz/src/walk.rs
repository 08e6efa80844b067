//! A short random output under a constraint.

use std::sync::{Arc, OnceLock};

use structgen_constraint::{
    CompileError, CompiledConstraint, ConstraintOptions, MatcherError, VocabularyTables, oracle,
};
use structgen_grammar::Grammar;
use structgen_vocab::{TokenId, Vocabulary};

use crate::SplitMix;
use crate::clock::{timed, untimed};

/// Tokens that cross the borders of JSON, behind those of the single bytes.
const PIECES: [&str; 32] = [
    "\":",
    "\": ",
    "\",",
    "\", \"",
    "{\"",
    "\"}",
    "}}",
    "]}",
    "[[",
    "],[",
    "true",
    "null",
    "12",
    "0.",
    "-1",
    "1e5",
    "\\u00",
    "\\\"",
    "é",
    "日本",
    "😀",
    "aa",
    "  ",
    "a\":1,\"",
    "{\"a\":1,\"a\":",
    "{\"\":1,\"a",
    "[1,1",
    "[\"a\",\"a\"",
    "aaaaaaaaaaaaaaaaaaaa",
    "abababababababababab12",
    "                    ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// The end-of-sequence id.
pub(crate) const EOS: TokenId = TokenId(256 + PIECES.len() as u32);

pub(crate) fn tables() -> &'static Arc<VocabularyTables> {
    static TABLES: OnceLock<Arc<VocabularyTables>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let tokens = (0..=u8::MAX)
            .map(|byte| vec![byte])
            .chain(PIECES.iter().map(|piece| piece.as_bytes().to_vec()));
        let vocabulary = Vocabulary::from_tokens(tokens, &[(EOS, "<eos>")]).expect("a vocabulary");
        Arc::new(VocabularyTables::new(Arc::new(vocabulary)))
    })
}

/// Options with limits that inputs of some kilobytes meet.
pub(crate) fn options() -> ConstraintOptions {
    ConstraintOptions {
        eos: vec![EOS],
        mask_bytes: 16 << 20,
        state_bytes: 64 << 20,
        ..ConstraintOptions::default()
    }
}

/// Joins a grammar to the vocabulary.
pub(crate) fn compile(grammar: Grammar) -> Result<CompiledConstraint, CompileError> {
    timed(|| CompiledConstraint::new(grammar, tables(), &options()))
}

/// Walks at random to a complete text, and compares one mask in so many with the oracle's. None where a limit was met,
/// or where even the shortest text takes more than a few hundred tokens.
///
/// # Panics
/// When there is a dead end, the promised number of tokens does not do, or a mask is not the oracle's.
pub(crate) fn text(
    constraint: &CompiledConstraint,
    random: &mut SplitMix,
    one_in: usize,
) -> Option<Vec<u8>> {
    let mut matcher = constraint.matcher();
    let needed = within_limits(|| matcher.completion_cost())?;
    if needed > 300 {
        return None;
    }
    let budget = needed + random.below(60) as u64;
    let mut text = Vec::new();
    for taken in 0..=budget {
        let left = budget - taken;
        let mask = within_limits(|| matcher.mask())?;
        assert!(mask.count() > 0, "a dead end after {:?}", show(&text));
        if random.below(one_in) == 0 {
            let naive = unless_limited(untimed(|| oracle::mask(&matcher)))?;
            assert!(
                mask.bits() == &naive,
                "not the oracle's mask after {:?}",
                show(&text)
            );
        }
        let tokens: Vec<TokenId> = mask.bits().iter().collect();
        // Some at random, then all in turn.
        let drawn: Vec<usize> = (0..4).map(|_| random.below(tokens.len())).collect();
        let mut chosen = None;
        for index in drawn.into_iter().chain(0..tokens.len()) {
            let token = tokens[index];
            if token == EOS
                || left > 0 && within_limits(|| matcher.completion_cost_after(token))? < left
            {
                chosen = Some(token);
                break;
            }
        }
        // Where the text may end, the end-of-sequence token is allowed.
        let Some(token) = chosen else {
            panic!("nothing fits the budget after {:?}", show(&text));
        };
        within_limits(|| matcher.accept_token(token))?;
        if token == EOS {
            return Some(text);
        }
        text.extend_from_slice(
            constraint
                .vocabulary()
                .token_bytes(token)
                .unwrap_or_default(),
        );
        if matcher.is_finished() {
            return Some(text);
        }
    }
    panic!("the budget was not kept: {:?}", show(&text));
}

/// What a call returns, which is timed; none where a limit was met.
///
/// # Panics
/// When anything else went wrong.
pub(crate) fn within_limits<T>(call: impl FnOnce() -> Result<T, MatcherError>) -> Option<T> {
    unless_limited(timed(call))
}

fn unless_limited<T>(result: Result<T, MatcherError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(MatcherError::Limit(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The checker takes a text that was generated; one of a grammar that names tokens is not looked at.
///
/// # Panics
/// When it refuses it.
pub(crate) fn is_taken(constraint: &CompiledConstraint, text: &[u8]) {
    if !constraint.program().token_terminals().is_empty() {
        return;
    }
    let refusal = within_limits(|| constraint.matcher().check_text(text));
    assert!(
        matches!(refusal, None | Some(None)),
        "{:?} does not fit: {refusal:?}",
        show(text)
    );
}

pub(crate) fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
