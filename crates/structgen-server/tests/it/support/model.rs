//! A model folder with the embedded model's weights and a chat template, so that it is served as chat models are.

use std::fs;
use std::path::Path;

use serde_json::Value;
use structgen_server::ModelSpec;
use tempfile::TempDir;

/// Messages between markers that the vocabulary does not have, tools before them, as Qwen's template writes them.
const TEMPLATE: &str = "{% if tools %}tools: {% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif %}\
    {% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}\n{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

/// The folder, which is deleted when it is dropped, and what to serve it as: `chat`.
pub(crate) fn chat_model() -> (TempDir, ModelSpec) {
    let folder = TempDir::new().unwrap();
    write(folder.path());
    let mut spec = ModelSpec::folder(folder.path());
    spec.name = "chat".to_owned();
    (folder, spec)
}

fn write(folder: &Path) {
    let assets = structgen_model::MAIN;
    let mut config: Value = serde_json::from_str(assets.tokenizer_config).unwrap();
    config["chat_template"] = TEMPLATE.into();
    for (name, bytes) in [
        ("model.onnx", assets.model),
        ("tokenizer.json", assets.tokenizer),
        ("tokenizer_config.json", config.to_string().as_bytes()),
        ("config.json", assets.config.as_bytes()),
        (
            "generation_config.json",
            assets.generation_config.as_bytes(),
        ),
    ] {
        fs::write(folder.join(name), bytes).unwrap();
    }
}
