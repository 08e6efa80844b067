//! A minimal constraint: a choice of texts over single bytes.

use std::sync::Arc;

use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_grammar::{ExprId, GrammarBuilder, JsonForm};
use structgen_vocab::Vocabulary;

pub(crate) fn choices(texts: &[&str]) -> CompiledConstraint {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let texts: Vec<ExprId> = texts.iter().map(|text| builder.bytes(text)).collect();
    let body = builder.choice(texts);
    builder.define(root, body);
    let grammar = builder.finish(root, JsonForm::generate());
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let vocabulary = Arc::new(Vocabulary::from_tokens(bytes, &[]).unwrap());
    let tables = Arc::new(VocabularyTables::new(vocabulary));
    CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default()).unwrap()
}
