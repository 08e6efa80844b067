//! What the model's JSON files say: context length, vocabulary, special ids, and onnxruntime-genai's names.

use std::collections::BTreeMap;

use serde_json::Value;
use structgen_vocab::TokenId;

use crate::LoadError;
use crate::folder::When;
use crate::names::{Names, PastNames, StateNames, Template};

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
    /// Every id that ends a text.
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
    /// End-of-sequence ids of both count.
    ///
    /// # Errors
    /// [`LoadError::Config`] with file, and line or field, for what is no JSON or makes no sense.
    pub fn from_json(config: &str, generation: Option<&str>) -> Result<Self, LoadError> {
        let root = Fields::parse("config.json", config)?;
        let text = root.object("text_config")?;
        let first = |names: &[&str]| -> Result<Option<usize>, LoadError> {
            for fields in text.iter().chain([&root]) {
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
            eos: root.ids("eos_token_id")?,
            bos: root.ids("bos_token_id")?.first().copied(),
            heads,
            kv_heads: first(&["num_key_value_heads"])?.or(heads),
            head_dim: first(&["head_dim"])?.or(derived),
            sliding_window: first(&["sliding_window"])?,
            long_rope: None,
            decoder_start,
        };
        let windows =
            { text.iter().chain([&root]) }.map(|fields| fields.flag("use_sliding_window"));
        if windows
            .collect::<Result<Vec<_>, _>>()?
            .contains(&Some(false))
        {
            result.sliding_window = None;
        }
        let mut scaling = text.iter().chain([&root]).filter_map(|fields| {
            let scaling = fields
                .get("rope_scaling")
                .or_else(|| fields.get("rope_parameters"))?;
            ["rope_type", "type"]
                .iter()
                .find_map(|name| scaling.get(name)?.as_str())
        });
        if scaling.any(|kind| kind == "longrope" || kind == "su") {
            let border = first(&["original_max_position_embeddings"])?;
            result.long_rope = border.map(|border| LongRope::ShortAlone { border });
        }
        if let Some(generation) = generation {
            for id in generation.ids("eos_token_id")? {
                if !result.eos.contains(&id) {
                    result.eos.push(id);
                }
            }
            result.bos = result
                .bos
                .or(generation.ids("bos_token_id")?.first().copied());
        }
        Ok(result)
    }
}

/// The decoder that a `genai_config.json` describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GenaiConfig {
    pub(crate) config: ModelConfig,
    /// In the order in which they run.
    pub(crate) graphs: Vec<GenaiGraph>,
    pub(crate) names: Names,
    pub(crate) shares_buffers: bool,
}

/// A graph that a `genai_config.json` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GenaiGraph {
    pub(crate) file: String,
    pub(crate) runs: When,
    /// Outputs that later graphs know by another name, each with that name.
    pub(crate) renamed: BTreeMap<String, String>,
}

impl GenaiConfig {
    pub(crate) fn from_json(text: &str) -> Result<Self, LoadError> {
        let root = Fields::parse("genai_config.json", text)?;
        let model = root.required_object("model")?;
        let decoder = model.required_object("decoder")?;
        let inputs = decoder.object("inputs")?;
        let outputs = decoder.object("outputs")?;
        let defaults = Names::default();
        let read = |fields: &Option<Fields<'_>>, name: &str| match fields {
            Some(fields) => fields.string(name),
            None => Ok(None),
        };
        let template =
            |fields: &Option<Fields<'_>>, name: &str| -> Result<Option<Template>, LoadError> {
                let Some(pattern) = read(fields, name)? else {
                    return Ok(None);
                };
                let template = Template::from_pattern(&pattern);
                template.map(Some).ok_or_else(|| LoadError::Config {
                    file: "genai_config.json",
                    problem: format!("{name} is {pattern:?}, and must have one %d for the layer"),
                })
            };
        let joint = (
            template(&inputs, "past_names")?,
            template(&outputs, "present_names")?,
        );
        let past = if let (Some(past), Some(present)) = joint {
            PastNames::Joint([past, present])
        } else {
            let PastNames::Separate(mut names) = defaults.past else {
                return Err(root.missing("past_key_names"));
            };
            let given = [
                template(&inputs, "past_key_names")?,
                template(&inputs, "past_value_names")?,
                template(&outputs, "present_key_names")?,
                template(&outputs, "present_value_names")?,
            ];
            for (name, given) in names.iter_mut().zip(given) {
                if let Some(given) = given {
                    *name = given;
                }
            }
            PastNames::Separate(names)
        };
        let mut states = defaults.states;
        for kind in ["conv", "recurrent"] {
            let past = template(&inputs, &format!("past_{kind}_names"))?;
            let present = template(&outputs, &format!("present_{kind}_names"))?;
            if let (Some(past), Some(present)) = (past, present) {
                states.insert(0, StateNames { past, present });
            }
        }
        let embedding = model.object("embedding")?;
        let (embedding_inputs, embedding_outputs) = match &embedding {
            Some(embedding) => (embedding.object("inputs")?, embedding.object("outputs")?),
            None => (None, None),
        };
        let inputs_embeds = read(&inputs, "inputs_embeds")?.unwrap_or(defaults.inputs_embeds);
        let mut features = defaults.features;
        for kind in ["image_features", "audio_features"] {
            features.extend(read(&embedding_inputs, kind)?);
        }
        let mut graphs = Vec::new();
        if let Some(embedding) = &embedding {
            let output = read(&embedding_outputs, "inputs_embeds")?;
            let renamed = output.map(|output| (output, inputs_embeds.clone()));
            graphs.push(GenaiGraph {
                file: embedding.required_string("filename")?,
                runs: When::Always,
                renamed: renamed.into_iter().collect(),
            });
        }
        match decoder.get("pipeline") {
            None => graphs.push(GenaiGraph {
                file: decoder.required_string("filename")?,
                runs: When::Always,
                renamed: BTreeMap::new(),
            }),
            Some(pipeline) => graphs.extend(stages(&decoder, pipeline)?),
        }
        let ids = match read(&embedding_inputs, "input_ids")? {
            Some(ids) => Some(ids),
            None => read(&inputs, "input_ids")?,
        };
        let names = Names {
            input_ids: ids.unwrap_or(defaults.input_ids),
            inputs_embeds,
            features,
            attention_mask: read(&inputs, "attention_mask")?.unwrap_or(defaults.attention_mask),
            position_ids: read(&inputs, "position_ids")?.unwrap_or(defaults.position_ids),
            logits: read(&outputs, "logits")?.unwrap_or(defaults.logits),
            past,
            cross: None,
            states,
        };
        let heads = decoder.number("num_attention_heads")?;
        let shares_buffers = match root.object("search")? {
            Some(search) => search.flag("past_present_share_buffer")?,
            None => None,
        };
        Ok(Self {
            shares_buffers: shares_buffers.unwrap_or(false),
            config: ModelConfig {
                context_length: model.number("context_length")?,
                vocab_size: model.number("vocab_size")?,
                eos: model.ids("eos_token_id")?,
                bos: model.ids("bos_token_id")?.first().copied(),
                heads,
                kv_heads: decoder.number("num_key_value_heads")?.or(heads),
                head_dim: decoder.number("head_size")?,
                sliding_window: match decoder.object("sliding_window")? {
                    Some(window) => window.number("window_size")?,
                    None => None,
                },
                long_rope: { model.string("type")? }
                    .and_then(|model_type| long_rope_border(&model_type))
                    .map(|border| LongRope::ByLength { border }),
                decoder_start: Vec::new(),
            },
            graphs,
            names,
        })
    }
}

/// The stages of a pipeline, a list of objects of one stage each. Those that never run are left out.
fn stages(decoder: &Fields<'_>, pipeline: &Value) -> Result<Vec<GenaiGraph>, LoadError> {
    let wrong = || decoder.wrong("pipeline", "a list of objects", pipeline);
    let mut graphs = Vec::new();
    for stage in pipeline.as_array().ok_or_else(wrong)? {
        for stage in stage.as_object().ok_or_else(wrong)?.values() {
            if !stage.is_object() {
                return Err(wrong());
            }
            let stage = Fields {
                file: decoder.file,
                value: std::borrow::Cow::Borrowed(stage),
            };
            let on_prompt = stage.flag("run_on_prompt")?.unwrap_or(true);
            let on_tokens = stage.flag("run_on_token_gen")?.unwrap_or(true);
            let runs = match (on_prompt, on_tokens) {
                (true, true) => When::Always,
                (true, false) => When::WithoutPast,
                (false, true) => When::WithPast,
                (false, false) => continue,
            };
            let forwarded = stage.object("output_names_forwarder")?;
            let forwarded = forwarded.iter().flat_map(|names| names.value.as_object());
            let renamed = forwarded.flatten().map(|(from, to)| {
                let to = to
                    .as_str()
                    .ok_or_else(|| stage.wrong("output_names_forwarder", "an object of names", to));
                Ok((from.clone(), to?.to_owned()))
            });
            graphs.push(GenaiGraph {
                file: stage.required_string("filename")?,
                runs,
                renamed: renamed.collect::<Result<_, LoadError>>()?,
            });
        }
    }
    match graphs.is_empty() {
        true => Err(wrong()),
        false => Ok(graphs),
    }
}

/// The context that models of this type were first trained for, where onnxruntime-genai's builder gives them two sets of
/// rotary factors. Its configuration does not name it, and its runtime knows it by the type as well.
fn long_rope_border(model_type: &str) -> Option<usize> {
    match model_type {
        "phi3" | "phi3v" | "phi4mm" | "phimoe" => Some(4096),
        "phi3small" => Some(8192),
        _ => None,
    }
}

/// A JSON object of one of the files, read field by field with errors that name file and field.
struct Fields<'v> {
    file: &'static str,
    value: std::borrow::Cow<'v, Value>,
}

impl<'v> Fields<'v> {
    fn parse(file: &'static str, text: &str) -> Result<Self, LoadError> {
        let value: Value = serde_json::from_str(text).map_err(|error| LoadError::Config {
            file,
            problem: error.to_string(),
        })?;
        if !value.is_object() {
            return Err(LoadError::Config {
                file,
                problem: "it is no JSON object".into(),
            });
        }
        Ok(Self {
            file,
            value: std::borrow::Cow::Owned(value),
        })
    }

    fn wrong(&self, name: &str, wanted: &str, value: &Value) -> LoadError {
        let mut shown = value.to_string();
        if shown.len() > 60 {
            shown = "something else".into();
        }
        LoadError::Config {
            file: self.file,
            problem: format!("{name} must be {wanted}, and is {shown}"),
        }
    }

    fn missing(&self, name: &str) -> LoadError {
        LoadError::Config {
            file: self.file,
            problem: format!("{name} is missing"),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    fn number(&self, name: &str) -> Result<Option<usize>, LoadError> {
        // Nothing real has more positions, heads or logits; larger numbers would overflow what is computed of them.
        const LARGEST: u64 = 1 << 31;
        self.get(name)
            .map(|value| {
                let number = value.as_u64().filter(|&n| 0 < n && n <= LARGEST);
                number
                    .map(|n| n as usize)
                    .ok_or_else(|| self.wrong(name, "a number from 1 to 2147483648", value))
            })
            .transpose()
    }

    fn ids(&self, name: &str) -> Result<Vec<TokenId>, LoadError> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let id = |item: &Value| {
            item.as_u64()
                .and_then(|n| u32::try_from(n).ok())
                .map(TokenId)
        };
        let ids: Option<Vec<TokenId>> = items.iter().map(id).collect();
        ids.ok_or_else(|| self.wrong(name, "a token id or a list of them", value))
    }

    fn string(&self, name: &str) -> Result<Option<String>, LoadError> {
        self.get(name)
            .map(|value| {
                let text = value.as_str().map(str::to_owned);
                text.ok_or_else(|| self.wrong(name, "a string", value))
            })
            .transpose()
    }

    fn required_string(&self, name: &str) -> Result<String, LoadError> {
        self.string(name)?.ok_or_else(|| self.missing(name))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, LoadError> {
        self.get(name)
            .map(|value| {
                let flag = value.as_bool();
                flag.ok_or_else(|| self.wrong(name, "true or false", value))
            })
            .transpose()
    }

    fn object(&self, name: &str) -> Result<Option<Fields<'_>>, LoadError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.is_object() => Ok(Some(Fields {
                file: self.file,
                value: std::borrow::Cow::Borrowed(value),
            })),
            Some(value) => Err(self.wrong(name, "an object", value)),
        }
    }

    fn required_object(&self, name: &str) -> Result<Fields<'_>, LoadError> {
        self.object(name)?.ok_or_else(|| self.missing(name))
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
                                "num_key_value_heads": 2, "vocab_size": 99}}"#,
            Some(r#"{"eos_token_id": [1, 5], "bos_token_id": 3}"#),
        )
        .unwrap();
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
                        3,
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
            }
        "#]]
        .assert_debug_eq(&config);
    }

    #[test]
    fn genai_names_are_read_and_the_rest_is_filled_in() {
        let mut config = GenaiConfig::from_json(
            r#"{"model": {"context_length": 32, "eos_token_id": [4], "decoder": {
                "filename": "decoder.onnx", "head_size": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
                "inputs": {"input_ids": "ids", "past_names": "past_%d", "past_conv_names": "conv_%d"},
                "outputs": {"present_names": "present_%d", "present_conv_names": "conv_after_%d"}}}}"#,
        )
        .unwrap();
        // Before those that exporters give.
        assert_eq!(config.names.states.len(), 1 + Names::default().states.len());
        config.names.states.truncate(1);
        expect_test::expect![[r#"
            GenaiConfig {
                config: ModelConfig {
                    context_length: Some(
                        32,
                    ),
                    vocab_size: None,
                    eos: [
                        TokenId(
                            4,
                        ),
                    ],
                    bos: None,
                    heads: Some(
                        4,
                    ),
                    kv_heads: Some(
                        2,
                    ),
                    head_dim: Some(
                        8,
                    ),
                    sliding_window: None,
                    long_rope: None,
                    decoder_start: [],
                },
                graphs: [
                    GenaiGraph {
                        file: "decoder.onnx",
                        runs: Always,
                        renamed: {},
                    },
                ],
                names: Names {
                    input_ids: "ids",
                    inputs_embeds: "inputs_embeds",
                    features: [
                        "image_features",
                        "audio_features",
                    ],
                    attention_mask: "attention_mask",
                    position_ids: "position_ids",
                    logits: "logits",
                    past: Joint(
                        [
                            Template {
                                before: "past_",
                                after: "",
                            },
                            Template {
                                before: "present_",
                                after: "",
                            },
                        ],
                    ),
                    cross: None,
                    states: [
                        StateNames {
                            past: Template {
                                before: "conv_",
                                after: "",
                            },
                            present: Template {
                                before: "conv_after_",
                                after: "",
                            },
                        },
                    ],
                },
                shares_buffers: false,
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
