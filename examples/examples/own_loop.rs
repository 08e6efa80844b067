//! The pieces by themselves: masks of a real vocabulary, and a loop of one's own without any model.

use structgen::constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen::frontend::json_schema::{self, SchemaOptions};
use structgen::vocab::{TokenId, Tokenizer};

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    let tokenizer = Tokenizer::from_bytes(structgen_model::MAIN.tokenizer)?;
    // Once per tokenizer, shared by all constraints.
    let tables = VocabularyTables::new(tokenizer.vocabulary().clone()).into();

    let schema = serde_json::json!({"type": "array", "items": {"enum": ["red", "green"]}, "minItems": 1, "maxItems": 3});
    let compiled = json_schema::compile(&schema, &SchemaOptions::new())?;
    let eos = tokenizer
        .vocabulary()
        .special_token("<eos>")
        .into_iter()
        .collect();
    let options = ConstraintOptions {
        eos,
        ..ConstraintOptions::default()
    };
    let constraint = CompiledConstraint::new(compiled.grammar, &tables, &options)?;

    // Where a model would give logits, this one likes high ids.
    let mut matcher = constraint.matcher();
    let mut written: Vec<TokenId> = Vec::new();
    while !matcher.is_finished() {
        let mask = matcher.mask()?;
        let Some(token) = mask.bits().iter().last() else {
            break;
        };
        println!(
            "{:>4} tokens allowed, {:?} taken",
            mask.count(),
            tokenizer.vocabulary().token_name(token)
        );
        matcher.accept_token(token)?;
        written.push(token);
    }
    println!("{}", tokenizer.decode(&written, true)?);
    Ok(())
}
