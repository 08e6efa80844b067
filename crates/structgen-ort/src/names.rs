//! The names that exporters give the inputs and outputs of a decoder.
//!
//! Of a name with a number in it, a layer's, only the form is known here; which layers a graph has is read off its
//! inputs, as hybrid models number attention layers with gaps.

/// The names of a graph's inputs and outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) input_ids: String,
    /// What a graph before the decoder makes of the ids, where there is one.
    pub(crate) inputs_embeds: String,
    /// What that graph takes of images and sounds.
    pub(crate) features: Vec<String>,
    pub(crate) attention_mask: String,
    pub(crate) position_ids: String,
    pub(crate) logits: String,
    pub(crate) past: PastNames,
    /// Past key, past value, present key, present value of an encoder's states; none for a decoder alone.
    pub(crate) cross: Option<[Template; 4]>,
    /// States of fixed size, of whatever kinds.
    pub(crate) states: Vec<StateNames>,
}

/// How one kind of state is named as an input and as the output that is fed to it in the next run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateNames {
    pub(crate) past: Template,
    pub(crate) present: Template,
}

/// The states of convolutions (conv), of state spaces (ssm) and of the delta rule (recurrent), by exporter. All begin
/// as zeros; states that do not, such as RWKV's, are not among them.
const STATES: [[&str; 2]; 13] = [
    // transformers.js: LFM2; Granite 4, Falcon-H1 and Nemotron-H; Qwen3-Next and Qwen3.5; OLMo Hybrid.
    ["past_conv.%d", "present_conv.%d"],
    ["past_ssm.%d", "present_ssm.%d"],
    ["past_recurrent.%d", "present_recurrent.%d"],
    ["past_conv.%d.query", "present_conv.%d.query"],
    ["past_conv.%d.key", "present_conv.%d.key"],
    ["past_conv.%d.value", "present_conv.%d.value"],
    // onnxruntime-genai's builder.
    ["past.%d.conv", "present.%d.conv"],
    ["past.%d.recurrent", "present.%d.recurrent"],
    // Mobius, and onnxruntime-genai where its configuration is silent.
    ["past_key_values.%d.conv_state", "present.%d.conv_state"],
    ["past_key_values.%d.ssm_state", "present.%d.ssm_state"],
    [
        "past_key_values.%d.recurrent_state",
        "present.%d.recurrent_state",
    ],
    ["past_states.%d.conv_state", "present.%d.conv_state"],
    ["past_states.%d.ssm_state", "present.%d.ssm_state"],
];

/// How the inputs and outputs of the cache are named. Each name is split around the number of its layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PastNames {
    /// One tensor for the keys and one for the values of each layer: past key, past value, present key, present value.
    Separate([Template; 4]),
    /// One tensor for both: past, present.
    Joint([Template; 2]),
}

impl PastNames {
    /// The names that optimum gave one tensor for both, in GPT-BigCode.
    pub(crate) fn key_value() -> Self {
        Self::Joint([
            Template::new("past_key_values.", ".key_value"),
            Template::new("present.", ".key_value"),
        ])
    }
}

/// A name with a number in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    before: String,
    after: String,
}

impl Template {
    pub(crate) fn new(before: &str, after: &str) -> Self {
        Self {
            before: before.into(),
            after: after.into(),
        }
    }

    /// A pattern that has `%d` for the number, once; `None` for any other.
    pub(crate) fn from_pattern(pattern: &str) -> Option<Self> {
        let (before, after) = pattern.split_once("%d")?;
        (!after.contains('%')).then(|| Self::new(before, after))
    }

    pub(crate) fn name(&self, layer: usize) -> String {
        format!("{}{layer}{}", self.before, self.after)
    }

    /// The number in a name of this form.
    pub(crate) fn layer(&self, name: &str) -> Option<usize> {
        let number = { name.strip_prefix(&self.before) }?.strip_suffix(&self.after)?;
        let layer = number.parse().ok()?;
        // No sign, and no zeros before it.
        (self.name(layer) == name).then_some(layer)
    }
}

impl Default for Names {
    /// The names that optimum gives.
    fn default() -> Self {
        Self {
            input_ids: "input_ids".into(),
            inputs_embeds: "inputs_embeds".into(),
            features: ["image_features", "audio_features"]
                .map(String::from)
                .into(),
            attention_mask: "attention_mask".into(),
            position_ids: "position_ids".into(),
            logits: "logits".into(),
            past: PastNames::Separate([
                Template::new("past_key_values.", ".key"),
                Template::new("past_key_values.", ".value"),
                Template::new("present.", ".key"),
                Template::new("present.", ".value"),
            ]),
            cross: None,
            states: StateNames::usual(),
        }
    }
}

impl StateNames {
    fn usual() -> Vec<Self> {
        let names = STATES.iter().filter_map(|[past, present]| {
            Some(Self {
                past: Template::from_pattern(past)?,
                present: Template::from_pattern(present)?,
            })
        });
        names.collect()
    }
}

impl Names {
    /// The names that optimum gives the decoder of an encoder-decoder.
    pub(crate) fn of_encoder_decoder() -> Self {
        let of = |part: &str| {
            [
                Template::new("past_key_values.", &format!(".{part}.key")),
                Template::new("past_key_values.", &format!(".{part}.value")),
                Template::new("present.", &format!(".{part}.key")),
                Template::new("present.", &format!(".{part}.value")),
            ]
        };
        Self {
            past: PastNames::Separate(of("decoder")),
            cross: Some(of("encoder")),
            // What an encoder-decoder's rows are cut by does not know of them.
            states: Vec::new(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_layers_are_read_from_names_of_their_form_alone() {
        let keys = Template::new("past_key_values.", ".key");
        let numbers = [
            ("past_key_values.0.key", Some(0)),
            ("past_key_values.12.key", Some(12)),
            ("past_key_values.012.key", None),
            ("past_key_values.+1.key", None),
            ("past_key_values..key", None),
            ("past_key_values.1.value", None),
            ("past_key_values.99999999999999999999999.key", None),
            ("key", None),
        ];
        for (name, layer) in numbers {
            assert_eq!(keys.layer(name), layer, "{name}");
        }
        assert_eq!(Template::from_pattern("a.%d.%d"), None);
        assert_eq!(Template::from_pattern("a"), None);
        assert_eq!(StateNames::usual().len(), STATES.len());
    }
}
