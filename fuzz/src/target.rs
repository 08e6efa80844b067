//! The targets, with their seeds and dictionaries.

use std::path::{Path, PathBuf};

use crate::{
    chat_template, check_vs_validator, convert, gbnf, grammar_bytes, json_events, json_schema,
    mask_vs_oracle, matcher, model_config, onnx_weights, regex, saved_constraint, saved_tables,
    structural_tag, tokenizer_json, tokenizer_model, tool_format, tool_stream, yaml,
};

/// A function over bytes that panics where a promise is broken.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, which its files have.
    pub name: &'static str,
    /// Whether the input was taken and everything was looked at.
    pub body: fn(&[u8]) -> bool,
    /// Seeds that are made: files of formats whose version changes.
    made: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 20] = [
    target("json_schema", json_schema),
    target("mask_vs_oracle", mask_vs_oracle),
    target("matcher", matcher),
    Target {
        made: grammars,
        ..target("gbnf", gbnf)
    },
    target("convert", convert),
    target("regex", regex),
    target("structural_tag", structural_tag),
    Target {
        made: grammar_bytes::seeds,
        ..target("grammar_bytes", grammar_bytes::grammar_bytes)
    },
    Target {
        made: saved_constraint::seeds,
        ..target("saved_constraint", saved_constraint::saved_constraint)
    },
    Target {
        made: saved_tables::seeds,
        ..target("saved_tables", saved_tables::saved_tables)
    },
    target("tokenizer_json", tokenizer_json),
    Target {
        made: tool_stream::seeds,
        ..target("tool_stream", tool_stream::tool_stream)
    },
    target("chat_template", chat_template),
    target("model_config", model_config),
    target("json_events", json_events),
    Target {
        made: check_vs_validator::seeds,
        ..target("check_vs_validator", check_vs_validator::check_vs_validator)
    },
    Target {
        made: tokenizer_model::seeds,
        ..target("tokenizer_model", tokenizer_model::tokenizer_model)
    },
    Target {
        made: onnx_weights::seeds,
        ..target("onnx_weights", onnx_weights::onnx_weights)
    },
    Target {
        made: tool_format::seeds,
        ..target("tool_format", tool_format::tool_format)
    },
    target("yaml", yaml),
];

const fn target(name: &'static str, body: fn(&[u8]) -> bool) -> Target {
    Target {
        name,
        body,
        made: Vec::new,
    }
}

impl Target {
    /// The target of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The seeds: what is in `seeds/`, and what is made.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = files(&folder("seeds").join(self.name));
        seeds.extend((self.made)());
        seeds
    }

    /// Inputs that once broke a promise.
    #[must_use]
    pub fn regressions(&self) -> Vec<Vec<u8>> {
        files(&folder("regressions").join(self.name))
    }

    /// The words of `dictionaries/`, in libFuzzer's notation.
    #[must_use]
    pub fn words(&self) -> Vec<Vec<u8>> {
        let path = folder("dictionaries").join(format!("{}.dict", self.name));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().filter_map(word).collect()
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The contents of a folder's files, by their names.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}

/// The grammars of the project.
fn grammars() -> Vec<Vec<u8>> {
    let folder = folder("../grammars");
    ["json", "arithmetic", "csv", "dates", "sql-select", "emails"]
        .iter()
        .filter_map(|name| std::fs::read(folder.join(format!("{name}.gbnf"))).ok())
        .collect()
}

/// A line of a dictionary: `"\x41b"`.
fn word(line: &str) -> Option<Vec<u8>> {
    let quoted = line.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = quoted.bytes();
    let mut word = Vec::new();
    while let Some(byte) = bytes.next() {
        word.push(match byte {
            b'\\' => match bytes.next()? {
                b'x' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    let digits = std::str::from_utf8(&digits).ok()?;
                    u8::from_str_radix(digits, 16).ok()?
                }
                escaped => escaped,
            },
            byte => byte,
        });
    }
    Some(word)
}
