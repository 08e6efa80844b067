//! Both notations of a grammar judge every sample according to its folder, so that the engines are timed on the same
//! language.

#[path = "../../structgen-vocab/tests/it/support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;

use structgen_bench::grammars::{self, Gbnf, Lark};
use structgen_bench::llguidance_engine::LlGuidance;
use structgen_constraint::VocabularyTables;
use structgen_maskbench::{Engine, FileResult, Instance, run_case};
use structgen_vocab::Tokenizer;

/// Runs one case per sample, so that each is judged and named.
fn wrong<E: Engine>(
    engine: &mut E,
    name: &str,
    source: &str,
    samples: &[Instance],
    tokenizer: &Tokenizer,
) -> Vec<String> {
    let judge = |sample: &Instance| {
        let case = grammars::case(name, source.to_owned(), vec![sample.clone()]);
        let FileResult { error, .. } = run_case(engine, &case, tokenizer);
        error.map(|error| format!("{name}: {error}: {}", sample.text))
    };
    samples.iter().filter_map(judge).collect()
}

#[test]
fn both_notations_judge_all_samples_right() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../structgen-model/assets/main");
    judge_all(&Arc::new(
        Tokenizer::from_file(model.join("tokenizer.json")).unwrap(),
    ));
}

/// Tokens of a large vocabulary span lexemes, which those of a small one hardly do.
#[test]
fn so_they_do_with_a_large_vocabulary() {
    if let Some(bytes) = support::real_tokenizer("llama3") {
        judge_all(&Arc::new(Tokenizer::from_bytes(&bytes).unwrap()));
    }
}

fn judge_all(tokenizer: &Arc<Tokenizer>) {
    let (eos, _) = tokenizer.vocabulary().special_tokens().next().unwrap();
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    let mut ours = Gbnf::new(tables, eos);
    let mut theirs = Lark(LlGuidance::new(tokenizer, eos).unwrap());
    let mut misjudged = Vec::new();
    for name in grammars::NAMES {
        let (gbnf, lark) = grammars::sources(name).unwrap();
        let samples = grammars::samples(name).unwrap();
        assert!(samples.iter().filter(|sample| !sample.is_valid).count() >= 3);
        assert!(samples.iter().filter(|sample| sample.is_valid).count() >= 15);
        let ours = wrong(&mut ours, name, &gbnf, &samples, tokenizer);
        misjudged.extend(ours.into_iter().map(|what| format!("GBNF: {what}")));
        let theirs = wrong(&mut theirs, name, &lark, &samples, tokenizer);
        misjudged.extend(theirs.into_iter().map(|what| format!("Lark: {what}")));
    }
    assert!(misjudged.is_empty(), "{}", misjudged.join("\n"));
}
