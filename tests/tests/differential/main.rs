//! Regular expressions against `regex-automata`, and grammars against an Earley recogniser that knows nothing of this
//! project.
//!
//! By default some hundred of each; `STRUCTGEN_FULL=1` takes 10,000 patterns and 40,000 grammars.

mod earley;
mod grammars;
mod patterns;

use structgen::constraint::{CompiledConstraint, oracle};
use structgen_tests::SplitMix;
use structgen_tests::vocabularies::TestVocabulary;

/// Walks along a text, and a little off it, and compares the mask of every state on the way with the oracle's. Returns
/// how many were compared.
///
/// # Panics
/// When two differ.
fn compare_masks(
    what: &str,
    constraint: &CompiledConstraint,
    vocabulary: &TestVocabulary,
    text: &str,
    random: &mut SplitMix,
) -> usize {
    let mut matcher = constraint.matcher();
    let mut compared = 0;
    for &byte in text.as_bytes() {
        let mask = match matcher.mask() {
            Ok(mask) => mask,
            // An ambiguous grammar has readings without number.
            Err(error) if error.to_string().contains("looked at for one token") => break,
            Err(error) => panic!("{what} along {text:?}: {error}"),
        };
        let naive = oracle::mask(&matcher).expect("within the limits");
        assert_eq!(mask.bits(), &naive, "{what} along {text:?}");
        compared += 1;
        let along = vocabulary.vocabulary().byte_tokens()[usize::from(byte)];
        let along = along.filter(|&token| naive.contains(token));
        let tokens: Vec<_> = naive.iter().filter(|&it| it != vocabulary.eos).collect();
        let Some(token) = along.or_else(|| Some(*tokens.get(random.below(tokens.len().max(1)))?))
        else {
            break;
        };
        matcher.accept_token(token).expect("the mask has it");
    }
    compared
}
