//! What onnxruntime-genai's `genai_config.json` says: the graphs of a decoder, and the names of inputs and outputs.

use std::borrow::Cow;

use serde_json::Value;

use super::fields::Fields;
use super::{Layout, LongRope, ModelConfig};
use crate::LoadError;
use crate::graph_file::{GraphFile, When};
use crate::names::{Names, PastNames, StateNames, Template};

/// The file of a folder in onnxruntime-genai's layout.
pub(super) const CONFIG: &str = "genai_config.json";

/// The decoder that a `genai_config.json` describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GenaiConfig {
    pub(crate) config: ModelConfig,
    /// In the order in which they run, with paths that may lead anywhere.
    pub(crate) graphs: Vec<GraphFile>,
    pub(crate) names: Names,
    pub(crate) shares_buffers: bool,
}

impl GenaiConfig {
    pub(crate) fn from_json(text: &str) -> Result<Self, LoadError> {
        let root = Fields::parse(CONFIG, text)?;
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
                    file: CONFIG,
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
            graphs.push(GraphFile {
                renamed: renamed.into_iter().collect(),
                ..GraphFile::new(embedding.required_string("filename")?, When::Always)
            });
        }
        match decoder.get("pipeline") {
            None => graphs.push(GraphFile::new(
                decoder.required_string("filename")?,
                When::Always,
            )),
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
                layout: Layout::Genai,
            },
            graphs,
            names,
        })
    }
}

/// The stages of a pipeline, a list of objects of one stage each. Those that never run are left out.
fn stages(decoder: &Fields<'_>, pipeline: &Value) -> Result<Vec<GraphFile>, LoadError> {
    let wrong = || decoder.wrong("pipeline", "a list of objects", pipeline);
    let mut graphs = Vec::new();
    for stage in pipeline.as_array().ok_or_else(wrong)? {
        for stage in stage.as_object().ok_or_else(wrong)?.values() {
            if !stage.is_object() {
                return Err(wrong());
            }
            let stage = Fields {
                file: decoder.file,
                value: Cow::Borrowed(stage),
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
            graphs.push(GraphFile {
                renamed: renamed.collect::<Result<_, LoadError>>()?,
                ..GraphFile::new(stage.required_string("filename")?, runs)
            });
        }
    }
    match graphs.is_empty() {
        true => Err(wrong()),
        false => Ok(graphs),
    }
}

/// The context that models of this type were first trained for, where onnxruntime-genai's builder gives them two sets
/// of rotary factors. Its configuration does not name it, and its runtime knows it by the type as well.
fn long_rope_border(model_type: &str) -> Option<usize> {
    match model_type {
        "phi3" | "phi3v" | "phi4mm" | "phimoe" => Some(4096),
        "phi3small" => Some(8192),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                    layout: Genai,
                },
                graphs: [
                    GraphFile {
                        path: "decoder.onnx",
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
}
