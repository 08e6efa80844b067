//! The built-in formats: one file each.

use super::ToolFormat;

/// Names, aliases and files.
pub(super) const ALL: [(&str, &[&str], &str); 26] = [
    (
        "command-r",
        &["command-r-plus"],
        include_str!("../../presets/command-r.toml"),
    ),
    (
        "command-r7b",
        &["command-a"],
        include_str!("../../presets/command-r7b.toml"),
    ),
    (
        "deepseek",
        &["deepseek-v3", "deepseek-r1"],
        include_str!("../../presets/deepseek.toml"),
    ),
    (
        "deepseek-v3.1",
        &[],
        include_str!("../../presets/deepseek-v3.1.toml"),
    ),
    (
        "functiongemma",
        &[],
        include_str!("../../presets/functiongemma.toml"),
    ),
    (
        "gemma",
        &["gemma3"],
        include_str!("../../presets/gemma.toml"),
    ),
    (
        "gemma-list",
        &[],
        include_str!("../../presets/gemma-list.toml"),
    ),
    ("gemma4", &[], include_str!("../../presets/gemma4.toml")),
    (
        "glm",
        &["glm-4.5", "glm-4.6", "glm4"],
        include_str!("../../presets/glm.toml"),
    ),
    (
        "granite",
        &["granite3"],
        include_str!("../../presets/granite.toml"),
    ),
    (
        "granite-3.1",
        &[],
        include_str!("../../presets/granite-3.1.toml"),
    ),
    (
        "harmony",
        &["gpt-oss"],
        include_str!("../../presets/harmony.toml"),
    ),
    (
        "kimi",
        &["kimi-k2"],
        include_str!("../../presets/kimi.toml"),
    ),
    (
        "llama3",
        &["llama3.1", "llama3.2", "llama3.3"],
        include_str!("../../presets/llama3.toml"),
    ),
    (
        "llama3-function",
        &[],
        include_str!("../../presets/llama3-function.toml"),
    ),
    (
        "llama-pythonic",
        &["llama4", "pythonic"],
        include_str!("../../presets/llama-pythonic.toml"),
    ),
    (
        "minimax",
        &["minimax-m2"],
        include_str!("../../presets/minimax.toml"),
    ),
    (
        "minimax-m1",
        &[],
        include_str!("../../presets/minimax-m1.toml"),
    ),
    (
        "mistral",
        &["mistral-v13", "devstral", "magistral"],
        include_str!("../../presets/mistral.toml"),
    ),
    (
        "mistral-v3",
        &["mistral-v7"],
        include_str!("../../presets/mistral-v3.toml"),
    ),
    (
        "mistral-v11",
        &[],
        include_str!("../../presets/mistral-v11.toml"),
    ),
    (
        "phi4",
        &["phi-4", "phi4-mini"],
        include_str!("../../presets/phi4.toml"),
    ),
    (
        "phi4-functools",
        &[],
        include_str!("../../presets/phi4-functools.toml"),
    ),
    (
        "phi4-single",
        &[],
        include_str!("../../presets/phi4-single.toml"),
    ),
    (
        "qwen",
        &["hermes", "qwen2.5", "qwen3", "granite4"],
        include_str!("../../presets/qwen.toml"),
    ),
    (
        "qwen-coder",
        &["qwen3-coder"],
        include_str!("../../presets/qwen-coder.toml"),
    ),
];

pub(super) fn find(name: &str) -> Option<ToolFormat> {
    let named = ALL
        .iter()
        .find(|(own, others, _)| *own == name || others.contains(&name))?;
    // The test below checks that all of them parse.
    ToolFormat::from_toml(named.2).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_format_of_its_name_with_sources_and_samples() {
        for (name, _, text) in ALL {
            let format =
                ToolFormat::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(format.name, name);
            assert!(
                !format.sources.is_empty() && !format.models.is_empty(),
                "{name}"
            );
            assert!(format.samples.len() >= 4, "{name}: too few samples");
        }
    }

    #[test]
    fn no_name_is_taken_twice() {
        let mut names: Vec<&str> = ALL
            .iter()
            .flat_map(|(own, others, _)| std::iter::once(*own).chain(others.iter().copied()))
            .collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
