//! The strategies on the embedded model give the same outputs as a single greedy run, up to rounding.

use structgen::constraint::CompiledConstraint;
use structgen::decode::{
    Generation, Strategy,
    model::DraftHeads,
    request::Report,
    strategies::{BeamOptions, PromptLookup, Speculation, SpeculationStats},
};
use structgen::ort::{Device, OrtHeads, OrtModel};
use structgen::vocab::TokenId;
use structgen::{
    Constraint, DraftSource, GenerateOptions, HeadsSource, Model, ModelOptions, Request,
    SchemaOptions,
};

use crate::support::{MARGIN, PEOPLE, bare, logits_after, open, runtime};

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "city": {"type": "string"}}}"#;

fn prompts(model: &Model) -> Vec<Vec<TokenId>> {
    let encode = |text: &str| {
        let prompt = format!("<schema>{{\"name\":string,\"age\":int}}<text>{text}<json>");
        model.encode_prompt(&prompt).unwrap()
    };
    PEOPLE.map(encode).to_vec()
}

fn schema(model: &Model) -> CompiledConstraint {
    let schema = Constraint::json_schema_str(SCHEMA, &SchemaOptions::new()).unwrap();
    model.compile(&schema).unwrap()
}

fn options() -> GenerateOptions {
    GenerateOptions {
        max_new_tokens: Some(120),
        ..GenerateOptions::default()
    }
}

fn request(
    prompt: &[TokenId],
    constraint: Option<&CompiledConstraint>,
    strategy: impl Into<Strategy>,
) -> Request {
    let request = Request::new(prompt, constraint.cloned()).with_options(options());
    request.with_strategy(strategy)
}

/// Returns an output by speculation, with the statistics of drafts.
fn drafted(model: &Model, request: Request) -> (Generation, SpeculationStats) {
    let outputs = model.submit(request).unwrap().wait().unwrap();
    let Report::Speculation(stats) = outputs.report.clone() else {
        panic!("{:?}", outputs.report);
    };
    (outputs.single().unwrap(), stats)
}

/// Asserts that where two outputs diverge, the logits of their choices are close to each other.
fn assert_same(model: &mut OrtModel, prompt: &[TokenId], a: &Generation, b: &Generation) -> bool {
    let ids = |output: &Generation| -> Vec<TokenId> {
        output.tokens.iter().map(|token| token.id).collect()
    };
    let (a, b) = (ids(a), ids(b));
    let common = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (Some(x), Some(y)) = (a.get(common), b.get(common)) else {
        assert_eq!(a, b);
        return true;
    };
    let logits = logits_after(model, &[prompt, &a[..common]].concat());
    let (x, y) = (logits[x.index()], logits[y.index()]);
    assert!((x - y).abs() < MARGIN, "{x} and {y}");
    false
}

#[test]
fn batches_drafts_and_one_beam_give_what_single_runs_give() {
    let model = open(&ModelOptions::new().with_draft(DraftSource::Embedded));
    let mut bare = bare();
    let compiled = schema(&model);
    let prompts = prompts(&model);
    let speculation = Speculation {
        model: true,
        lookup: Some(PromptLookup::default()),
        forced_text: true,
        ..Speculation::default()
    };
    let one = BeamOptions {
        width: 1,
        ..BeamOptions::default()
    };
    let mut same = 0;
    for constraint in [None, Some(&compiled)] {
        let batch: Vec<_> = { prompts.iter() }
            .map(|prompt| model.submit(request(prompt, constraint, Strategy::Sample)))
            .collect();
        let (mut tokens, mut runs) = (0, 0);
        for (prompt, batched) in prompts.iter().zip(batch) {
            let batched = batched.unwrap().wait().unwrap().single().unwrap();
            let single = model.generate(prompt, constraint, &options()).unwrap();
            let (drafted, stats) = drafted(&model, request(prompt, constraint, speculation));
            tokens += stats.tokens;
            runs += stats.target_runs;
            let beam = model.submit(request(prompt, constraint, one.clone()));
            let beam = beam.unwrap().wait().unwrap().single().unwrap();
            for other in [&batched, &drafted, &beam] {
                same += usize::from(assert_same(&mut bare, prompt, &single, other));
            }
        }
        let tokens_per_run = tokens as f64 / runs as f64;
        assert!(tokens_per_run > 1.5, "{tokens_per_run}");
    }
    // Ties that rounding decides are rare.
    assert!(same >= 44, "{same} of 48");
}

#[test]
fn heads_of_the_embedded_model_draft_for_it() {
    let heads = OrtHeads::from_bytes(runtime(), structgen_model::HEADS, Device::cpu(1)).unwrap();
    assert_eq!((heads.heads(), heads.hidden_width()), (2, 192));
    let model = open(&ModelOptions::new().with_heads(HeadsSource::Embedded));
    let mut bare = bare();
    let compiled = schema(&model);
    let speculation = Speculation {
        heads: true,
        ..Speculation::default()
    };
    let (mut same, mut kept, mut tested) = (0, 0, 0);
    for prompt in prompts(&model) {
        let single = model.generate(&prompt, Some(&compiled), &options());
        let (drafted, stats) = drafted(&model, request(&prompt, Some(&compiled), speculation));
        same += usize::from(assert_same(&mut bare, &prompt, &single.unwrap(), &drafted));
        kept += stats.heads.kept;
        tested += stats.heads.tested;
    }
    assert!(same >= 7, "{same} of 8");
    assert!(kept * 10 > tested && tested > 0, "{kept} of {tested}");
}

#[test]
fn a_graph_that_is_no_heads_is_refused_by_name() {
    let graph = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../structgen-model/assets/main/model.onnx"
    );
    runtime();
    let open = |file: &str| {
        let heads = HeadsSource::File(file.into());
        Model::embedded(&ModelOptions::new().with_heads(heads)).unwrap_err()
    };
    let chain = format!("{:?}", open(graph));
    assert!(chain.contains("hidden_states"), "{chain}");
    assert!(
        open("no/such/heads.onnx")
            .to_string()
            .contains("heads.onnx")
    );
}
