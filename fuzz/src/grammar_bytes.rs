//! Grammars in files: the bytes are the grammar's.

use structgen_constraint::WarmLimits;
use structgen_frontend::json_schema::{SchemaOptions, compile_str};
use structgen_grammar::Grammar;

use crate::clock::timed;
use crate::walk;
use crate::{SplitMix, Target};

/// Reads a grammar and goes some way through its masks.
/// True when the input was taken and everything was looked at.
///
/// What such a grammar says need make no sense (values without a text, classes of keys that overlap), so only that
/// nothing panics is looked at, and that what was read is written as it was.
///
/// # Panics
/// When a grammar that was read is written otherwise.
pub fn grammar_bytes(data: &[u8]) -> bool {
    let Ok(grammar) = Grammar::from_bytes(data) else {
        return false;
    };
    assert_eq!(grammar.to_bytes().as_deref(), Ok(data));
    let Ok(constraint) = walk::compile(grammar) else {
        return false;
    };
    let few = WarmLimits {
        states: 20,
        ..WarmLimits::default()
    };
    // Whatever they return, they return.
    let _ = timed(|| constraint.warm(&few));
    let mut random = SplitMix::new(data.len() as u64);
    let mut matcher = constraint.matcher();
    for _ in 0..16 {
        let Ok(mask) = timed(|| matcher.mask()) else {
            break;
        };
        let allowed: Vec<_> = mask.bits().iter().collect();
        if allowed.is_empty() {
            break;
        }
        let token = allowed[random.below(allowed.len())];
        if timed(|| matcher.accept_token(token)).is_err() {
            break;
        }
    }
    true
}

/// The bytes of schemas' grammars.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let bytes = |seed: Vec<u8>| {
        let schema = std::str::from_utf8(seed.get(1..)?).ok()?;
        let compiled = compile_str(schema, &SchemaOptions::new()).ok()?;
        compiled.grammar.to_bytes().ok()
    };
    let schemas = Target::named("json_schema").map_or_else(Vec::new, Target::seeds);
    schemas.into_iter().step_by(3).filter_map(bytes).collect()
}
