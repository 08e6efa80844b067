//! The embedded model, once as a handle that all tests share and once without an engine.

use std::io::Write;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use structgen::decode::{
    LanguageModel,
    model::{RowId, RowRun},
};
use structgen::ort::{Device, ModelConfig, ModelSource, OrtModel, Runtime};
use structgen::vocab::TokenId;
use structgen::{Model, ModelOptions};
use structgen_model::MAIN;

/// Logits differ in their last bits with the rows and the pieces of a run: choices may differ where logits are this
/// close.
pub(crate) const MARGIN: f32 = 1e-4;

/// What several tests extract.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) age: u8,
}

/// Texts with a person in each.
pub(crate) const PEOPLE: [&str; 8] = [
    "Ada is 36 years old",
    "Bob from Rome turned 7 yesterday, and his sister Zoe is older.",
    "my name is Mia Brandt and I am 41",
    "At 90, Otto still lives in Oslo",
    "Kim, 18",
    "The visitor is called Lee. Lee is 23 and comes from Berlin.",
    "Nobody knows how old Tom is. Perhaps 50?",
    "Eve: 3 years, Paris",
];

/// Returns the runtime library, which is downloaded if it is missing.
pub(crate) fn runtime() -> &'static Runtime {
    let report = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
    structgen::ort::ensure_runtime(report).unwrap()
}

/// Returns the embedded model, opened once. Tests that compare to the last bit, or count what was reused, open their
/// own, since rows of other tests run in the same batches.
pub(crate) fn model() -> Model {
    static MODEL: LazyLock<Model> = LazyLock::new(|| open(&ModelOptions::new()));
    MODEL.clone()
}

/// The embedded model, opened with options.
pub(crate) fn open(options: &ModelOptions) -> Model {
    runtime();
    Model::embedded(options).unwrap()
}

/// Returns the model that `training/beam_goldens.py` and `training/contrastive_search_goldens.py` were run on: an early
/// extraction model of 0.43M parameters, which does not change when the embedded one is retrained.
pub(crate) fn golden_model() -> Model {
    runtime();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/model");
    Model::open(folder, &ModelOptions::new()).unwrap()
}

/// The embedded model without an engine around it.
pub(crate) fn bare() -> OrtModel {
    let config = ModelConfig::from_json(MAIN.config, Some(MAIN.generation_config)).unwrap();
    let source = ModelSource::bytes(MAIN.model, config, Device::cpu(1));
    source.open(runtime()).unwrap()
}

/// Runs tokens of one row; returns the logits of the last.
pub(crate) fn last(model: &mut OrtModel, row: RowId, tokens: &[TokenId]) -> Vec<f32> {
    let output = model.run(&[RowRun::last(row, tokens)], false).unwrap();
    output.row(0).last().to_vec()
}

/// Returns the logits after a text, in a row of its own.
pub(crate) fn logits_after(model: &mut OrtModel, tokens: &[TokenId]) -> Vec<f32> {
    let row = model.open_row().unwrap();
    let logits = last(model, row, tokens);
    model.close_row(row);
    logits
}
