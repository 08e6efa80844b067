use std::io;
use std::path::PathBuf;

use structgen_decode::ModelError;

use crate::{CudaError, RuntimeError};

/// Why a model could not be loaded.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The runtime library is missing or unusable.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// CUDA was asked for and cannot be used.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The folder has no model file of the kind asked for.
    #[error("{} has no model: {looked_for}{}", folder.display(), found(variants))]
    NoModel {
        /// The folder.
        folder: PathBuf,
        /// The files that were looked for.
        looked_for: String,
        /// The variants that are there.
        variants: Vec<String>,
    },
    /// The folder holds a model in a form that is not run.
    #[error("{} cannot be run: {reason}", folder.display())]
    OtherForm {
        /// The folder.
        folder: PathBuf,
        /// The form, and how to come to one that is run.
        reason: &'static str,
    },
    /// One of the JSON files is wrong.
    #[error("{file}: {problem}")]
    Config {
        /// The file's name.
        file: &'static str,
        /// What is wrong, with line or field.
        problem: String,
    },
    /// ONNX Runtime refuses the file.
    #[error("{model} is no model that ONNX Runtime can run: {reason}")]
    Session {
        /// The file, or what stands for it.
        model: String,
        /// What ONNX Runtime says.
        reason: String,
    },
    /// The graph keeps its cache with an operator that is not run.
    #[error(
        "{model} keeps its cache with the operator {operator}, which structgen does not run: export the model with a \
         cache that grows (optimum), or with GroupQueryAttention (onnxruntime-genai's model builder)"
    )]
    UnsupportedOperator {
        /// The file, or what stands for it.
        model: String,
        /// The operator.
        operator: &'static str,
    },
    /// The graph lacks an input or output that decoding needs.
    #[error("the model has no {kind} {name:?}; it has {}", list(present))]
    Missing {
        /// `input` or `output`.
        kind: &'static str,
        /// What is missing.
        name: String,
        /// What there is.
        present: Vec<String>,
    },
    /// The model keeps no cache.
    #[error(
        "the model has no inputs for a key-value cache (such as {example:?}), and without one every token would cost a \
         run over the whole text; export it with its cache (optimum: task text-generation-with-past). It has {}",
        list(present)
    )]
    NoCache {
        /// The first name that was looked for.
        example: String,
        /// The inputs there are.
        present: Vec<String>,
    },
    /// The graph has an input that nobody here knows how to fill.
    #[error("the model has an input that structgen cannot fill: {name} ({dtype})")]
    UnknownInput {
        /// The input.
        name: String,
        /// Its type and shape.
        dtype: String,
    },
    /// An input or output has a type or shape that is not supported.
    #[error("{name} of the model is {got}, and must be {wanted}")]
    Unsupported {
        /// The input or output.
        name: String,
        /// Its type and shape.
        got: String,
        /// What would be right.
        wanted: String,
    },
    /// The decoder takes embeddings, and no graph makes them of token ids.
    #[error(
        "the model takes embeddings ({name}) instead of token ids, and the folder has no graph that looks them up \
         (embed_tokens.onnx, or model.embedding in genai_config.json)"
    )]
    NoEmbedding {
        /// The input.
        name: String,
    },
    /// The configuration says that past and present share a buffer, and the graph cannot do with one.
    #[error(
        "genai_config.json says that past and present share a buffer (search.past_present_share_buffer), and the model \
         does not write its cache in place: {reason}"
    )]
    NotShared {
        /// What is in the way, or what ONNX Runtime says about a run of one token.
        reason: String,
    },
    /// Neither the graph nor the configuration specifies a number that is needed.
    #[error(
        "neither the model nor its configuration specifies {what}: {field} is missing from {file}"
    )]
    Untold {
        /// The number.
        what: &'static str,
        /// The folder's configuration.
        file: &'static str,
        /// The field that would tell it.
        field: &'static str,
    },
    /// An input or output of the cache has another use besides, so that a part of the cache would have none.
    #[error("the model's cache is ambiguous: {name} {problem}")]
    AmbiguousCache {
        /// The input or output.
        name: String,
        /// Its uses.
        problem: String,
    },
    /// The cache has more tensors than that of any model.
    #[error("the model's cache has more than {most} tensors; {name} is the first beyond these")]
    TooManyCacheTensors {
        /// The most that are supported.
        most: usize,
        /// The first input beyond them.
        name: String,
    },
}

structgen_sentence::debug_as_sentence!(LoadError);

/// An error of ONNX Runtime while a model runs.
pub(crate) fn backend(error: ort::Error) -> ModelError {
    ModelError::Backend(Box::new(error))
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    if names.is_empty() {
        return "none".into();
    }
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

fn found(variants: &[String]) -> String {
    if variants.is_empty() {
        String::new()
    } else {
        format!("; it has the variants {}", variants.join(", "))
    }
}
