//! The embedded extraction model: weights, tokenizer and draft model.
//!
//! Two small decoders of the same vocabulary that fill a JSON Schema from a text, as bytes in the binary. What
//! they were trained on and what they reach is in this crate's `MODEL_CARD.md`. Their prompt is
//! `<schema>SCHEMA<text>TEXT<json>`, with the schema in the compact notation that the crate `structgen` renders.
//!
//! ```
//! let main = structgen_model::MAIN;
//! assert!(main.config.contains("max_position_embeddings"));
//! assert!(main.model.len() > structgen_model::DRAFT.model.len());
//! ```

/// The files of a model folder, embedded.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Assets {
    /// `model.onnx`: the graph with its weights.
    pub model: &'static [u8],
    /// `tokenizer.json`.
    pub tokenizer: &'static [u8],
    /// `tokenizer_config.json`.
    pub tokenizer_config: &'static str,
    /// `config.json`.
    pub config: &'static str,
    /// `generation_config.json`.
    pub generation_config: &'static str,
    /// `genai_config.json`, of a graph that writes its cache in place.
    pub genai_config: Option<&'static str>,
}

impl Assets {
    /// Returns whether the graph keeps past and present of its cache in one buffer, so that a session must share them.
    #[must_use]
    pub fn shares_buffers(&self) -> bool {
        self.genai_config.is_some()
    }
}

macro_rules! assets {
    ($folder:literal, $genai_config:expr) => {
        Assets {
            model: include_bytes!(concat!("../assets/", $folder, "/model.onnx")),
            tokenizer: include_bytes!(concat!("../assets/", $folder, "/tokenizer.json")),
            tokenizer_config: include_str!(concat!(
                "../assets/",
                $folder,
                "/tokenizer_config.json"
            )),
            config: include_str!(concat!("../assets/", $folder, "/config.json")),
            generation_config: include_str!(concat!(
                "../assets/",
                $folder,
                "/generation_config.json"
            )),
            genai_config: $genai_config,
        }
    };
}

/// The extraction model.
pub const MAIN: Assets = assets!(
    "main",
    Some(include_str!("../assets/main/genai_config.json"))
);

/// `calibration.json` of [`MAIN`]: how often fields are right, by how probable they were.
pub const CALIBRATION: &str = include_str!("../assets/main/calibration.json");

/// A smaller model of the same vocabulary, which drafts tokens for [`MAIN`] in speculative decoding.
pub const DRAFT: Assets = assets!("draft", None);

/// `heads.onnx`: two heads that guess the tokens after the next one from a hidden state of [`MAIN`], for drafts without
/// a second model.
pub const HEADS: &[u8] = include_bytes!("../assets/main/heads.onnx");

/// `reader.onnx` of [`MAIN`]: an encoder that says where in a text each field of a schema has its value.
pub const READER: &[u8] = include_bytes!("../assets/main/reader.onnx");

impl std::fmt::Debug for Assets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assets")
            .field("model_bytes", &self.model.len())
            .field("tokenizer_bytes", &self.tokenizer.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draft_model_has_the_tokenizer_of_the_main_model() {
        assert_eq!(MAIN.tokenizer, DRAFT.tokenizer);
    }
}
