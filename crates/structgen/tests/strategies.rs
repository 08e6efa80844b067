//! The strategies on the embedded model: what they give is what a single greedy run gives, up to rounding.

#![allow(missing_docs, reason = "a test")]

use std::io::Write;
use std::ops::ControlFlow;

use structgen::decode::{
    BeamOptions, DraftHeads, Forward, Generation, LanguageModel, PromptLookup, Speculation,
};
use structgen::vocab::TokenId;
use structgen::{Constraint, GenerateOptions, Model, ModelOptions, SchemaOptions};

/// Logits change in their last bits with the number of rows of a run: choices may differ where the logits are so near to each other.
const MARGIN: f32 = 1e-4;

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "city": {"type": "string"}}}"#;

fn model() -> Model {
    structgen::ort::ensure_runtime(|line| drop(writeln!(std::io::stderr(), "{line}"))).unwrap();
    Model::embedded(&ModelOptions::new()).unwrap()
}

fn prompts(model: &Model) -> Vec<Vec<TokenId>> {
    let texts = [
        "Ada is 36 years old",
        "Bob from Rome turned 7 yesterday, and his sister Zoe is older.",
        "my name is Mia Brandt and I am 41",
        "At 90, Otto still lives in Oslo",
        "Kim, 18",
        "The visitor is called Lee. Lee is 23 and comes from Berlin.",
        "Nobody knows how old Tom is. Perhaps 50?",
        "Eve: 3 years, Paris",
    ];
    let encode = |text: &&str| {
        let prompt = format!("<schema>{{\"name\":string,\"age\":int}}<text>{text}<json>");
        model.encode_prompt(&prompt).unwrap()
    };
    texts.iter().map(encode).collect()
}

/// Where two outputs part, the logits of what they chose are next to each other.
fn assert_same(model: &mut Model, prompt: &[TokenId], a: &Generation, b: &Generation) -> bool {
    let ids = |output: &Generation| {
        output
            .tokens
            .iter()
            .map(|token| token.id)
            .collect::<Vec<_>>()
    };
    let (a, b) = (ids(a), ids(b));
    let common = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (Some(x), Some(y)) = (a.get(common), b.get(common)) else {
        assert_eq!(a, b);
        return true;
    };
    let model = model.language_model();
    let mut cache = model.new_cache(&[0]).unwrap();
    let tokens = [prompt, &a[..common]].concat();
    let logits = model.forward(Forward::last(&tokens), &mut cache).unwrap();
    let logits = logits.row(0, 0);
    let (x, y) = (logits[x.index()], logits[y.index()]);
    assert!((x - y).abs() < MARGIN, "{x} and {y}");
    false
}

#[test]
fn batches_drafts_and_one_beam_give_what_single_runs_give() {
    let mut model = model();
    let mut draft = Model::embedded_draft(&ModelOptions::new()).unwrap();
    let schema = Constraint::json_schema_str(SCHEMA, &SchemaOptions::new()).unwrap();
    let compiled = model.compile(&schema).unwrap();
    let options = GenerateOptions {
        max_new_tokens: Some(120),
        ..GenerateOptions::default()
    };
    let prompts = prompts(&model);
    let mut same = 0;
    for constraint in [None, Some(&compiled)] {
        let batch = model
            .generate_batch(&prompts, constraint, &options)
            .unwrap();
        let vocabulary = draft.tokenizer().vocabulary().clone();
        let mut speculation = Speculation::new()
            .with_model(draft.language_model(), vocabulary)
            .with_lookup(PromptLookup::default())
            .with_forced_text();
        for (prompt, batched) in prompts.iter().zip(batch) {
            let single = model.generate(prompt, constraint, &options).unwrap();
            let go_on = |_: structgen::decode::Delta<'_>| ControlFlow::Continue(());
            let drafted = model
                .stream_speculative(prompt, constraint, &options, &mut speculation, go_on)
                .unwrap();
            let one = BeamOptions {
                width: 1,
                ..BeamOptions::default()
            };
            let beam = model
                .beam_search(prompt, constraint, &options, &one)
                .unwrap();
            for other in [&batched.unwrap(), &drafted, &beam[0].generation] {
                same += usize::from(assert_same(&mut model, prompt, &single, other));
            }
        }
        let stats = speculation.stats();
        assert!(stats.tokens_per_run() > 1.5, "{stats:?}");
    }
    // Ties that rounding decides are rare.
    assert!(same >= 44, "{same} of 48");
}

#[test]
fn heads_of_the_embedded_model_draft_for_it() {
    let mut model = model();
    let mut heads = Model::embedded_heads(&ModelOptions::new()).unwrap();
    assert_eq!((heads.heads(), heads.hidden_width()), (2, 96));
    let schema = Constraint::json_schema_str(SCHEMA, &SchemaOptions::new()).unwrap();
    let compiled = model.compile(&schema).unwrap();
    let options = GenerateOptions {
        max_new_tokens: Some(120),
        ..GenerateOptions::default()
    };
    let mut speculation = Speculation::new().with_heads(&mut heads);
    let mut same = 0;
    for prompt in prompts(&model) {
        let single = model.generate(&prompt, Some(&compiled), &options).unwrap();
        let go_on = |_: structgen::decode::Delta<'_>| ControlFlow::Continue(());
        let drafted = model
            .stream_speculative(&prompt, Some(&compiled), &options, &mut speculation, go_on)
            .unwrap();
        same += usize::from(assert_same(&mut model, &prompt, &single, &drafted));
    }
    assert!(same >= 7, "{same} of 8");
    let stats = speculation.stats();
    assert!(stats.heads.kept * 10 > stats.heads.tested, "{stats:?}");
}

#[test]
fn a_graph_that_is_no_heads_is_refused_by_name() {
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../structgen-model/assets/main/model.onnx"
    );
    drop(self::model());
    let error = Model::open_heads(model, &ModelOptions::new()).unwrap_err();
    let chain = format!("{error:?}");
    assert!(chain.contains("hidden_states"), "{chain}");
    let missing = Model::open_heads("no/such/heads.onnx", &ModelOptions::new());
    assert!(missing.unwrap_err().to_string().contains("heads.onnx"));
}
