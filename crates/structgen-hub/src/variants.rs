//! The models in a repository, and the files of each.

use std::collections::BTreeMap;

use crate::RemoteFile;

/// A model of a repository, which consists of some of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variant<'r> {
    /// The suffix of its graph (`q4`, `fp16`, `int8`); `plain` for a graph without one; for onnxruntime-genai's, the
    /// folder.
    pub name: String,
    /// All files of the repository.
    repository: &'r [RemoteFile],
    source: Source<'r>,
}

/// What a variant's files are found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source<'r> {
    /// A graph in one of the [`GRAPH_FOLDERS`].
    Graph {
        graph: Graph<'r>,
        folder: &'static str,
    },
    /// A folder of onnxruntime-genai's.
    Folder(&'r str),
}

impl<'r> Variant<'r> {
    /// Returns the files that a model folder needs, each with its path in the model folder.
    ///
    /// They are listed on demand: variants share most of them, so a list for each of many could take gigabytes.
    #[must_use]
    pub fn files(&self) -> Vec<(&'r RemoteFile, &'r str)> {
        match self.source {
            Source::Graph { graph, folder } => { beside(self.repository) }
                .chain(graph.files(self.repository, folder))
                .map(|file| (file, &*file.path))
                .collect(),
            Source::Folder(folder) => { self.repository.iter() }
                .filter_map(|file| Some((file, in_folder(&file.path, folder)?)))
                .collect(),
        }
    }

    /// Returns whether it has neither suffix nor folder.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.name == PLAIN
    }

    /// Returns the total size of its files in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let files = self.files().into_iter();
        files.fold(0, |sum, (file, _)| sum.saturating_add(file.size))
    }
}

/// The name of a variant without a suffix.
const PLAIN: &str = "plain";

/// File stems of graphs with a whole decoder, the usual one first, and last the stem of half of one, in the order of
/// opening model folders.
const STEMS: [&str; 4] = [
    "model",
    "decoder_model_merged",
    "model_merged",
    "decoder_with_past_model",
];

/// The folders of graphs in optimum's layout.
const GRAPH_FOLDERS: [&str; 2] = ["", "onnx/"];

/// Maximum size of a file other than the graphs: that of a tokenizer.
const LARGEST_BESIDE: u64 = 256 << 20;

/// Returns the ONNX models in a list of files, sorted by name.
///
/// Each has its graph, the files whose names start with the graph's, which contain its external data, and the
/// configuration, tokenizer, chat templates and licences.
#[must_use]
pub fn variants(files: &[RemoteFile]) -> Vec<Variant<'_>> {
    let mut found: BTreeMap<&str, Source<'_>> = BTreeMap::new();
    for folder in GRAPH_FOLDERS {
        for stem in STEMS {
            for file in files {
                let graph = in_folder(&file.path, folder).and_then(Graph::of_name);
                let Some(graph) = graph.filter(|graph| graph.stem == stem) else {
                    continue;
                };
                let name = graph.suffix.unwrap_or(PLAIN);
                found.entry(name).or_insert(Source::Graph { graph, folder });
            }
        }
    }
    for file in files {
        let Some(folder) = file.path.strip_suffix("genai_config.json") else {
            continue;
        };
        let name = match folder {
            "" => PLAIN,
            folder => match folder.strip_suffix('/') {
                Some(name) => name,
                None => continue,
            },
        };
        found.insert(name, Source::Folder(folder));
    }
    let found = found.into_iter().map(|(name, source)| Variant {
        name: name.to_owned(),
        repository: files,
        source,
    });
    found.collect()
}

/// Returns the name of a file that is directly in a folder.
fn in_folder<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|name| !name.contains('/'))
}

/// The parsed name of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Graph<'n> {
    stem: &'static str,
    suffix: Option<&'n str>,
}

impl<'n> Graph<'n> {
    fn of_name(name: &'n str) -> Option<Self> {
        let name = name.strip_suffix(".onnx")?;
        let stems = STEMS.into_iter().filter(|stem| name.starts_with(stem));
        // The longest one: `model_merged` does not have a suffix `merged`.
        let stem = stems.max_by_key(|stem| stem.len())?;
        let suffix = match &name[stem.len()..] {
            "" => None,
            rest => Some(rest.strip_prefix('_')?),
        };
        Some(Self { stem, suffix })
    }

    /// Returns the graph, those that run with it, and the files with their external data: `model.onnx_data`,
    /// `model.onnx_data_1`, `model.onnx.data`.
    fn files<'r>(
        self,
        files: &'r [RemoteFile],
        folder: &str,
    ) -> impl Iterator<Item = &'r RemoteFile> + use<'r> {
        let suffix = self.suffix.map(|suffix| format!("_{suffix}"));
        let suffix = suffix.unwrap_or_default();
        let with = match self.stem {
            "decoder_model_merged" => {
                &["decoder_model_merged", "encoder_model", "embed_tokens"][..]
            }
            "decoder_with_past_model" => &[
                "decoder_with_past_model",
                "decoder_model",
                "encoder_model",
                "embed_tokens",
            ],
            _ => std::slice::from_ref(&self.stem),
        };
        let is_there = |path: &String| files.iter().any(|file| file.path == *path);
        let graphs: Vec<String> = { with.iter() }
            .map(|stem| {
                // If there is no such variant, the plain file is used.
                let own = Some(format!("{folder}{stem}{suffix}.onnx")).filter(is_there);
                own.unwrap_or_else(|| format!("{folder}{stem}.onnx"))
            })
            .collect();
        let is_own = move |path: &str| {
            let mut rests = graphs
                .iter()
                .filter_map(|graph| path.strip_prefix(&**graph));
            rests.any(|rest| {
                rest.is_empty() || rest.starts_with("_data") || rest.starts_with(".data")
            })
        };
        files.iter().filter(move |file| is_own(&file.path))
    }
}

/// Returns the files in a repository's root that are not weights, and its chat templates.
fn beside(files: &[RemoteFile]) -> impl Iterator<Item = &RemoteFile> {
    const ENDS: [&str; 5] = [".json", ".jinja", ".txt", "tokenizer.model", "spiece.model"];
    const LICENCES: [&str; 4] = ["LICENSE", "LICENCE", "NOTICE", "USE_POLICY"];
    let is_wanted = |name: &str| {
        let upper = name.to_ascii_uppercase();
        LICENCES.iter().any(|begin| upper.starts_with(begin))
            // Indices of other formats' weights are not needed.
            || ENDS.iter().any(|end| name.ends_with(end)) && !name.ends_with(".index.json")
    };
    files.iter().filter(move |file| {
        let is_wanted = match in_folder(&file.path, "") {
            Some(name) => is_wanted(name),
            None => file.path.starts_with("additional_chat_templates/"),
        };
        is_wanted && file.size <= LARGEST_BESIDE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checksum;

    fn found(paths: &[&str]) -> String {
        let file = |path: &&str| RemoteFile {
            path: (*path).to_owned(),
            size: 1,
            checksum: Checksum::GitObject(String::new()),
        };
        let files: Vec<RemoteFile> = paths.iter().map(file).collect();
        let lines = variants(&files).into_iter().map(|variant| {
            let files = variant.files().into_iter();
            let files = files.map(|(file, name)| match file.path == name {
                true => name.to_owned(),
                false => format!("{}={name}", file.path),
            });
            format!("{}: {}", variant.name, files.collect::<Vec<_>>().join(" "))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn variants_have_their_graph_its_data_and_what_lies_beside() {
        expect_test::expect![[r#"
            plain: LICENSE.txt additional_chat_templates/tools.jinja config.json tokenizer.json onnx/model.onnx onnx/model.onnx_data
            q4: LICENSE.txt additional_chat_templates/tools.jinja config.json tokenizer.json onnx/model_q4.onnx
            q4f16: LICENSE.txt additional_chat_templates/tools.jinja config.json tokenizer.json onnx/model_q4f16.onnx onnx/model_q4f16.onnx_data onnx/model_q4f16.onnx_data_1"#]].assert_eq(&found(&[
            ".gitattributes",
            "README.md",
            "LICENSE.txt",
            "additional_chat_templates/tools.jinja",
            "config.json",
            "model.safetensors",
            "model.safetensors.index.json",
            "onnx/model.onnx",
            "onnx/model.onnx_data",
            "onnx/model_q4.onnx",
            "onnx/model_q4f16.onnx",
            "onnx/model_q4f16.onnx_data",
            "onnx/model_q4f16.onnx_data_1",
            "tokenizer.json",
        ]));
    }

    #[test]
    fn graphs_that_run_together_belong_together() {
        expect_test::expect![[r#"
            int8: config.json onnx/decoder_model_merged_int8.onnx onnx/encoder_model_int8.onnx
            plain: config.json onnx/decoder_model_merged.onnx onnx/encoder_model.onnx"#]]
        .assert_eq(&found(&[
            "config.json",
            "onnx/decoder_model.onnx",
            "onnx/decoder_model_merged.onnx",
            "onnx/decoder_model_merged_int8.onnx",
            "onnx/encoder_model.onnx",
            "onnx/encoder_model_int8.onnx",
        ]));
    }

    #[test]
    fn the_text_part_of_a_model_of_images_has_its_embeddings() {
        expect_test::expect![[r#"
            plain: config.json onnx/decoder_model_merged.onnx onnx/embed_tokens.onnx
            q4: config.json onnx/decoder_model_merged_q4.onnx onnx/decoder_model_merged_q4.onnx_data onnx/embed_tokens_q4.onnx"#]].assert_eq(&found(&[
            "config.json",
            "onnx/decoder_model_merged.onnx",
            "onnx/decoder_model_merged_q4.onnx",
            "onnx/decoder_model_merged_q4.onnx_data",
            "onnx/embed_tokens.onnx",
            "onnx/embed_tokens_q4.onnx",
            "onnx/vision_encoder.onnx",
        ]));
    }

    #[test]
    fn halves_belong_together_where_no_whole_is_there() {
        expect_test::expect![[r#"
            int8: config.json onnx/decoder_model_int8.onnx onnx/decoder_with_past_model_int8.onnx onnx/encoder_model.onnx
            plain: config.json onnx/decoder_model_merged.onnx onnx/encoder_model.onnx"#]]
        .assert_eq(&found(&[
            "config.json",
            "onnx/decoder_model.onnx",
            "onnx/decoder_model_int8.onnx",
            "onnx/decoder_model_merged.onnx",
            "onnx/decoder_with_past_model.onnx",
            "onnx/decoder_with_past_model_int8.onnx",
            "onnx/encoder_model.onnx",
        ]));
    }

    #[test]
    fn folders_of_onnxruntime_genai_are_variants() {
        expect_test::expect![[r#"
            cpu/int4: cpu/int4/genai_config.json=genai_config.json cpu/int4/model.onnx=model.onnx cpu/int4/model.onnx.data=model.onnx.data
            cuda/fp16: cuda/fp16/genai_config.json=genai_config.json cuda/fp16/model.onnx=model.onnx"#]].assert_eq(&found(&[
            "README.md",
            "config.json",
            "cpu/int4/genai_config.json",
            "cpu/int4/model.onnx",
            "cpu/int4/model.onnx.data",
            "cuda/fp16/genai_config.json",
            "cuda/fp16/model.onnx",
        ]));
    }

    /// A list of the files of each variant would have a hundred million entries.
    #[test]
    fn many_variants_do_not_each_hold_what_lies_beside() {
        let file = |path: String| RemoteFile {
            path,
            size: 1,
            checksum: Checksum::GitObject(String::new()),
        };
        let files: Vec<RemoteFile> = (0..10_000)
            .flat_map(|n| [format!("model_{n}.onnx"), format!("{n}.json")])
            .map(file)
            .collect();
        let variants = variants(&files);
        assert_eq!(variants.len(), 10_000);
        assert_eq!(variants[0].files().len(), 10_001);
        assert_eq!(variants[0].bytes(), 10_001);
    }
}
