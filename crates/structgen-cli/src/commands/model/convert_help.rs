//! `structgen model convert-help`: which exporter converts a model into a working folder.

use std::process::ExitCode;

use serde_json::json;

use crate::error::DONE;
use crate::output::write_line;

/// The exporter versions that were checked (docs/model-folders.md).
const OPTIMUM: &str = "optimum 2.1 with optimum-onnx 0.1";
const GENAI: &str = "onnxruntime-genai 0.18";

/// Families whose optimum export generated the same tokens as with the exporter's own runtime.
const BY_OPTIMUM: [&str; 30] = [
    "arcee",
    "bloom",
    "codegen",
    "cohere",
    "falcon",
    "gemma",
    "gemma2",
    "gemma3",
    "glm",
    "gpt2",
    "gpt_bigcode",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "granite",
    "helium",
    "llama",
    "mistral",
    "mpt",
    "nemotron",
    "olmo",
    "olmo2",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "smollm3",
    "stablelm",
];

/// The same for onnxruntime-genai's model builder.
const BY_GENAI: [&str; 8] = [
    "gemma2", "granite", "llama", "nemotron", "olmo", "phi", "phi3", "qwen3",
];

/// Encoder-decoder families whose optimum export generated the same tokens as with transformers.
const ENCODER_DECODERS: [&str; 4] = ["bart", "marian", "mt5", "t5"];

/// Model names that do not start with the name of their family.
const OTHER_NAMES: [(&str, &str); 15] = [
    ("codellama", "llama"),
    ("tinyllama", "llama"),
    ("smollm2", "llama"),
    ("vicuna", "llama"),
    ("deepseek-r1-distill-llama", "llama"),
    ("deepseek-r1-distill-qwen", "qwen2"),
    ("mixtral", "mixtral"),
    ("starcoder", "gpt_bigcode"),
    ("pythia", "gpt_neox"),
    ("gpt-neox", "gpt_neox"),
    ("gpt-neo", "gpt_neo"),
    ("gpt-j", "gptj"),
    ("flan-t5", "t5"),
    ("opus-mt", "marian"),
    ("distilbart", "bart"),
];

pub(super) fn run(name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let family = family(name);
    let is_in = |families: &[&str]| family.is_some_and(|family| families.contains(&family));
    let has_encoder = is_in(&ENCODER_DECODERS);
    let task = match has_encoder {
        true => "text2text-generation-with-past",
        false => "text-generation-with-past",
    };
    let optimum = format!("optimum-cli export onnx --model {name} --task {task} DIR");
    let genai = |precision: &str| {
        format!("python -m onnxruntime_genai.models.builder -m {name} -o DIR -p {precision} -e cpu")
    };
    let is_checked = has_encoder || is_in(&BY_OPTIMUM);
    let mut commands = vec![(optimum, OPTIMUM, "float32", is_checked)];
    if !has_encoder {
        commands.push((genai("int4"), GENAI, "int4", is_in(&BY_GENAI)));
    }
    if json {
        let command = |(command, exporter, weights, checked): &(String, &str, &str, bool)| json!({"command": command, "tested_with": exporter, "weights": weights, "family_checked": checked});
        let commands: Vec<_> = commands.iter().map(command).collect();
        let object = json!({"model": name, "family": family, "commands": commands});
        write_line(&serde_json::to_string_pretty(&object)?)?;
        return Ok(DONE);
    }
    match family {
        Some(family) => write_line(&format!("{name} is of the family {family}."))?,
        None => write_line(&format!("The family of {name} is not known here."))?,
    }
    for (command, exporter, weights, is_checked) in commands {
        let checked = match is_checked {
            true => "exports of this family were compared with the exporter's own tokens",
            false => "exports of this family were not checked",
        };
        write_line(&format!("\n# {exporter}, {weights}: {checked}\n{command}"))?;
    }
    write_line("\nThen: structgen doctor --model DIR")?;
    Ok(DONE)
}

/// Finds a model's family: the longest one that the last part of its name starts with.
fn family(name: &str) -> Option<&'static str> {
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let plain = |text: &str| text.replace(['-', '_', '.', ' '], "");
    let families = BY_OPTIMUM.iter().chain(&BY_GENAI).chain(&ENCODER_DECODERS);
    let known = families.map(|&family| (family, family));
    known
        .chain(OTHER_NAMES)
        .filter(|(begins, _)| plain(&last).starts_with(&plain(begins)))
        .max_by_key(|(begins, _)| begins.len())
        .map(|(_, family)| family)
        .filter(|family| BY_OPTIMUM.contains(family) || ENCODER_DECODERS.contains(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_go_by_the_names_of_models() {
        for (name, expected) in [
            ("meta-llama/Llama-3.2-1B", Some("llama")),
            ("codellama/CodeLlama-7b-hf", Some("llama")),
            ("Qwen/Qwen3-0.6B", Some("qwen3")),
            ("Qwen/Qwen2.5-7B-Instruct", Some("qwen2")),
            ("microsoft/Phi-3-mini-4k-instruct", Some("phi3")),
            ("google/gemma-2-2b-it", Some("gemma2")),
            ("bigcode/starcoderbase-1b", Some("gpt_bigcode")),
            ("google/flan-t5-base", Some("t5")),
            ("Helsinki-NLP/opus-mt-en-de", Some("marian")),
            ("mistralai/Mixtral-8x7B", None),
            ("state-spaces/mamba-130m", None),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
    }
}
