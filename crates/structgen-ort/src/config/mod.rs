//! What the model's JSON files say: context length, vocabulary, special ids, and onnxruntime-genai's names.

mod fields;
mod genai;

pub(crate) use genai::GenaiConfig;

use std::borrow::Cow;

use structgen_vocab::TokenId;

use crate::LoadError;
use fields::Fields;

/// The file of a folder in optimum's layout.
const CONFIG: &str = "config.json";

/// What the loop must know of a model beyond its ONNX file.
///
/// ```
/// use structgen_ort::ModelConfig;
/// use structgen_vocab::TokenId;
///
/// let config = ModelConfig::from_json(
///     r#"{"max_position_embeddings": 512, "vocab_size": 1024, "eos_token_id": [2, 7]}"#,
///     None,
/// )?;
/// assert_eq!(config.context_length, Some(512));
/// assert_eq!(config.eos, [TokenId(2), TokenId(7)]);
/// # Ok::<(), structgen_ort::LoadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ModelConfig {
    /// Positions that the model can attend to.
    pub context_length: Option<usize>,
    /// Logits of each position, for graphs that leave the number open.
    pub vocab_size: Option<usize>,
    /// Every id that ends a text: those of the model, or else of its nested text model, and those of
    /// `generation_config.json`.
    pub eos: Vec<TokenId>,
    /// The id that starts a text.
    pub bos: Option<TokenId>,
    /// Heads of queries, by which optimum's graphs repeat keys and values.
    pub heads: Option<usize>,
    /// Heads of keys and values, for graphs that leave the number open.
    pub kv_heads: Option<usize>,
    /// Numbers in each head's key or value, for graphs that leave the number open.
    pub head_dim: Option<usize>,
    /// The last positions that attention is limited to, in some or all layers.
    pub sliding_window: Option<usize>,
    /// Two sets of rotary factors, one for short texts and one for long ones.
    pub long_rope: Option<LongRope>,
    /// The tokens that the text of an encoder-decoder's decoder starts with: `decoder_start_token_id`, and
    /// `forced_bos_token_id` where there is one. None for a decoder alone.
    pub decoder_start: Vec<TokenId>,
    pub(crate) layout: Layout,
}

/// Whose file a configuration is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Layout {
    /// `config.json`.
    #[default]
    Optimum,
    /// `genai_config.json`.
    Genai,
}

/// What graphs may leave to the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    ContextLength,
    VocabSize,
    KvHeads,
    HeadDim,
    DecoderStart,
}

impl Setting {
    /// What it is, and its fields in `config.json` and in `genai_config.json`.
    fn names(self) -> [&'static str; 3] {
        match self {
            Self::ContextLength => [
                "the context length",
                "max_position_embeddings",
                "model.context_length",
            ],
            Self::VocabSize => ["the number of logits", "vocab_size", "model.vocab_size"],
            Self::KvHeads => [
                "the number of key-value heads",
                "num_key_value_heads",
                "model.decoder.num_key_value_heads",
            ],
            Self::HeadDim => ["the size of a head", "head_dim", "model.decoder.head_size"],
            Self::DecoderStart => [
                "the token that starts the decoder's text",
                "decoder_start_token_id",
                "model.decoder_start_token_id",
            ],
        }
    }
}

/// What a graph makes of LongRoPE (Ding et al. 2024): short rotary factors up to the context that the model was first
/// trained for, long ones for longer texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongRope {
    /// It chooses by the length of the text, if it has a branch at all: onnxruntime-genai's model builder.
    ByLength {
        /// The longest text that has short factors.
        border: usize,
    },
    /// It has the short factors alone, with which it was traced: optimum.
    ShortAlone {
        /// The longest text that they are for.
        border: usize,
    },
}

impl ModelConfig {
    /// Reads the texts of `config.json` and, where there is one, `generation_config.json`.
    ///
    /// End-of-sequence ids of both count. Those of a nested text model count if the model itself has none.
    ///
    /// # Errors
    /// [`LoadError::Config`] with file, and line or field, for what is no JSON or makes no sense.
    pub fn from_json(config: &str, generation: Option<&str>) -> Result<Self, LoadError> {
        let root = Fields::parse(CONFIG, config)?;
        let text = root.object("text_config")?;
        let levels = || text.iter().chain([&root]);
        let first = |names: &[&str]| -> Result<Option<usize>, LoadError> {
            for fields in levels() {
                for name in names {
                    if let Some(number) = fields.number(name)? {
                        return Ok(Some(number));
                    }
                }
            }
            Ok(None)
        };
        let heads = first(&[
            "num_attention_heads",
            "n_head",
            "num_heads",
            "decoder_attention_heads",
        ])?;
        let hidden = first(&["hidden_size", "n_embd", "d_model"])?;
        let derived = match (hidden, heads) {
            (Some(hidden), Some(heads)) if heads > 0 => Some(hidden / heads),
            _ => None,
        };
        let generation = match generation {
            Some(text) => Some(Fields::parse("generation_config.json", text)?),
            None => None,
        };
        let mut decoder_start = Vec::new();
        for name in ["decoder_start_token_id", "forced_bos_token_id"] {
            let of_generation = generation.iter().map(|generation| generation.ids(name));
            let ids = of_generation
                .chain([root.ids(name)])
                .collect::<Result<Vec<_>, _>>()?;
            decoder_start.extend(ids.iter().find_map(|ids| ids.first()));
        }
        let mut result = Self {
            context_length: first(&[
                "max_position_embeddings",
                "n_positions",
                "n_ctx",
                "max_sequence_length",
                "max_seq_len",
                "seq_length",
            ])?,
            vocab_size: first(&["vocab_size"])?,
            eos: Vec::new(),
            bos: None,
            heads,
            kv_heads: first(&["num_key_value_heads"])?.or(heads),
            head_dim: first(&["head_dim"])?.or(derived),
            sliding_window: first(&["sliding_window"])?,
            long_rope: None,
            decoder_start,
            layout: Layout::Optimum,
        };
        let ids = |name| -> Result<Vec<TokenId>, LoadError> {
            let mut ids = root.ids(name)?;
            // Those of the text model count where the model has none of its own, as in transformers.
            if let Some(text) = text.as_ref().filter(|_| ids.is_empty()) {
                ids = text.ids(name)?;
            }
            if let Some(generation) = &generation {
                ids.extend(generation.ids(name)?);
            }
            Ok(ids)
        };
        for id in ids("eos_token_id")? {
            if !result.eos.contains(&id) {
                result.eos.push(id);
            }
        }
        result.bos = ids("bos_token_id")?.first().copied();
        let windows = levels().map(|fields| fields.flag("use_sliding_window"));
        if windows
            .collect::<Result<Vec<_>, _>>()?
            .contains(&Some(false))
        {
            result.sliding_window = None;
        }
        if let Some(factors) = levels().find_map(Fields::long_rope) {
            const BORDER: &str = "original_max_position_embeddings";
            let border = match first(&[BORDER])? {
                Some(border) => Some(border),
                None => factors.number(BORDER)?,
            };
            result.long_rope = border.map(|border| LongRope::ShortAlone { border });
        }
        Ok(result)
    }

    /// The error for a setting that neither a graph nor this configuration specifies.
    pub(crate) fn untold(&self, setting: Setting) -> LoadError {
        let [what, plain, genai] = setting.names();
        let (file, field) = match self.layout {
            Layout::Optimum => (CONFIG, plain),
            Layout::Genai => (genai::CONFIG, genai),
        };
        LoadError::Untold { what, file, field }
    }
}

impl Fields<'_> {
    /// The object with LongRoPE's factors, where a model has them.
    fn long_rope(&self) -> Option<Fields<'_>> {
        let value = { self.get("rope_scaling") }.or_else(|| self.get("rope_parameters"))?;
        let kind = { ["rope_type", "type"].iter() }.find_map(|name| value.get(name)?.as_str())?;
        matches!(kind, "longrope" | "su").then_some(Fields {
            file: self.file,
            value: Cow::Borrowed(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_both_files_count_and_nested_text_models_are_read() {
        let config = ModelConfig::from_json(
            r#"{"eos_token_id": 1, "bos_token_id": null,
                "text_config": {"n_positions": 64, "num_attention_heads": 8, "hidden_size": 96,
                                "num_key_value_heads": 2, "vocab_size": 99,
                                "eos_token_id": [1, 7], "bos_token_id": 4}}"#,
            Some(r#"{"eos_token_id": [1, 5], "bos_token_id": 3}"#),
        )
        .unwrap();
        let of_text = ModelConfig::from_json(r#"{"text_config": {"eos_token_id": [2, 7]}}"#, None);
        assert_eq!(of_text.unwrap().eos, [TokenId(2), TokenId(7)]);
        expect_test::expect![[r#"
            ModelConfig {
                context_length: Some(
                    64,
                ),
                vocab_size: Some(
                    99,
                ),
                eos: [
                    TokenId(
                        1,
                    ),
                    TokenId(
                        5,
                    ),
                ],
                bos: Some(
                    TokenId(
                        4,
                    ),
                ),
                heads: Some(
                    8,
                ),
                kv_heads: Some(
                    2,
                ),
                head_dim: Some(
                    12,
                ),
                sliding_window: None,
                long_rope: None,
                decoder_start: [],
                layout: Optimum,
            }
        "#]]
        .assert_debug_eq(&config);
    }

    #[test]
    fn nonsense_is_refused_with_file_and_field() {
        let hf = |text: &str| ModelConfig::from_json(text, None).unwrap_err().to_string();
        let genai = |text: &str| GenaiConfig::from_json(text).unwrap_err().to_string();
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let errors = [
            hf("{\"a\":\n  oops}"),
            hf("[]"),
            hf(&deep),
            hf(r#"{"max_position_embeddings": -3}"#),
            hf(r#"{"max_position_embeddings": 99999999999}"#),
            hf(r#"{"num_attention_heads": 0, "hidden_size": 8}"#),
            hf(r#"{"eos_token_id": ["</s>"]}"#),
            hf(r#"{"text_config": 3}"#),
            genai("{}"),
            genai(r#"{"model": {"decoder": {}}}"#),
            genai(
                r#"{"model": {"decoder": {"filename": "m.onnx", "inputs": {"past_key_names": "past"}}}}"#,
            ),
        ];
        expect_test::expect![[r#"
            config.json: expected value at line 2 column 3
            config.json: it is no JSON object
            config.json: recursion limit exceeded at line 1 column 128
            config.json: max_position_embeddings must be a number from 1 to 2147483648, and is -3
            config.json: max_position_embeddings must be a number from 1 to 2147483648, and is 99999999999
            config.json: num_attention_heads must be a number from 1 to 2147483648, and is 0
            config.json: eos_token_id must be a token id or a list of them, and is ["</s>"]
            config.json: text_config must be an object, and is 3
            genai_config.json: model is missing
            genai_config.json: filename is missing
            genai_config.json: past_key_names is "past", and must have one %d for the layer"#]].assert_eq(&errors.join("\n"));
    }
}
