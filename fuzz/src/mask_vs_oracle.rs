//! Masks against the naive oracle, over schemas of every keyword: the bytes choose the schema, the options and the
//! walk.

use structgen_frontend::json_schema::{
    FormatMode, KeyOrder, Profile, SchemaLimits, SchemaOptions, compile,
};
use structgen_grammar::{Indent, Whitespace};

use crate::SplitMix;
use crate::generator::SchemaGenerator;
use crate::walk;

/// Compiles a random schema and compares the mask of every state of some walks.
/// True when the schema was taken.
///
/// # Panics
/// When a mask is not the oracle's, on a dead end, or when a promised number of tokens does not do.
pub fn mask_vs_oracle(data: &[u8]) -> bool {
    let fold = |seed: u64, byte: &u8| (seed ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    let mut random = SplitMix::new(data.iter().fold(0xCBF2_9CE4_8422_2325, fold));
    let schema = SchemaGenerator::document(&mut random);
    let profile = [Profile::Generate, Profile::Exact][random.below(2)];
    let order = [KeyOrder::Declared, KeyOrder::RequiredFirst, KeyOrder::Any][random.below(3)];
    let whitespace = [
        Whitespace::Compact,
        Whitespace::Spaced,
        Whitespace::OneSpace,
        Whitespace::Indented {
            indent: Indent::Spaces(2),
        },
        Whitespace::Bounded { max: 3 },
    ][random.below(5)];
    let options = SchemaOptions::new()
        .with_whitespace(whitespace)
        .with_profile(profile)
        .with_order(order)
        .with_formats(FormatMode::Annotate)
        .with_limits(SchemaLimits {
            max_steps: 100_000,
            ..SchemaLimits::default()
        });
    let Ok(compiled) = compile(&schema, &options) else {
        return false;
    };
    let Ok(constraint) = walk::compile(compiled.grammar) else {
        return false;
    };
    (0..3).all(|_| walk::text(&constraint, &mut random, 1).is_some())
}
