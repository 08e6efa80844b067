//! Model folders: which file to load, and what the files beside it say.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use structgen_artifact::open_regular;

use crate::LoadError;
use crate::config::{GenaiConfig, ModelConfig};
use crate::graph_file::{GraphFile, When};
use crate::names::Names;

/// A model folder, as optimum or onnxruntime-genai writes it.
///
/// - optimum: `model.onnx` or `decoder_model_merged.onnx`, in the folder or its `onnx` folder, quantised variants as
///   `model_quantized.onnx`, `model_q4.onnx` and the like, with `config.json` and `generation_config.json`;
///   A decoder may also be two files, `decoder_model.onnx` and `decoder_with_past_model.onnx`. Beside that of an
///   encoder-decoder is `encoder_model.onnx`;
/// - transformers.js, of models of images and texts: the same with `embed_tokens.onnx`, which makes of token ids what
///   the decoder takes. Images are left out.
/// - onnxruntime-genai: `genai_config.json`, which names the file, an embedding graph before it, or the graphs of a
///   pipeline.
///
/// External data lies beside the model file, and ONNX Runtime finds it there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelFolder {
    /// The graphs of the decoder, in the order in which they run: at least one.
    pub graphs: Vec<GraphFile>,
    /// The encoder whose states the decoder attends to, for an encoder-decoder.
    pub encoder: Option<PathBuf>,
    /// What the configuration says.
    pub config: ModelConfig,
    /// Whether the folder is onnxruntime-genai's.
    pub genai: bool,
    /// Whether past and present share a buffer: `search.past_present_share_buffer` in `genai_config.json`.
    pub shares_buffers: bool,
    pub(crate) names: Names,
}

/// The stems of model files that hold a whole decoder, the usual one first, and last those that hold half of one.
const STEMS: [&str; 4] = ["model", "decoder_model_merged", "model_merged", WITH_PAST];

impl ModelFolder {
    /// Looks through a folder.
    ///
    /// `variant` is the suffix of a quantised file, such as `quantized`, `int8`, `fp16` or `q4`; none takes the plain
    /// file, or the only variant there is.
    ///
    /// # Errors
    /// [`LoadError::NoModel`] with the variants that are there, [`LoadError::Config`], [`LoadError::Read`].
    pub fn open(folder: &Path, variant: Option<&str>) -> Result<Self, LoadError> {
        if !folder.is_dir() {
            let kind = io::ErrorKind::NotADirectory;
            return Err(LoadError::Read {
                path: folder.to_owned(),
                source: io::Error::new(kind, "there is no such folder"),
            });
        }
        if variant.is_none()
            && let Some(text) = read_config(&folder.join("genai_config.json"))?
        {
            let genai = GenaiConfig::from_json(&text)?;
            return Self::open_genai(folder, genai);
        }
        let Files { graphs, encoder } = find_model(folder, variant)?;
        let model = graphs.last().map(|graph| graph.path.as_path());
        let beside = model.and_then(Path::parent).unwrap_or(folder);
        let read_either = |name: &str| -> Result<Option<String>, LoadError> {
            match read_config(&folder.join(name))? {
                Some(text) => Ok(Some(text)),
                None => read_config(&beside.join(name)),
            }
        };
        let config = read_either("config.json")?.ok_or_else(|| LoadError::Config {
            file: "config.json",
            problem: format!("it is missing from {}", folder.display()),
        })?;
        let generation = read_either("generation_config.json")?;
        Ok(Self {
            names: match &encoder {
                Some(_) => Names::of_encoder_decoder(),
                None => Names::default(),
            },
            graphs,
            encoder,
            config: ModelConfig::from_json(&config, generation.as_deref())?,
            genai: false,
            shares_buffers: false,
        })
    }

    /// All ONNX files that are loaded.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let graphs = self.graphs.iter().map(|graph| graph.path.as_path());
        graphs.chain(self.encoder.as_deref())
    }

    /// The names of these files, for people.
    #[must_use]
    pub fn file_names(&self) -> String {
        let names = self.files().map(|file| file.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }

    fn open_genai(folder: &Path, genai: GenaiConfig) -> Result<Self, LoadError> {
        let graphs = genai.graphs.into_iter().map(|graph| {
            let file = graph.path.display().to_string();
            // The folder may come from anywhere: its configuration does not get to name files elsewhere.
            let mut parts = graph.path.components();
            if !parts.all(|part| matches!(part, Component::Normal(_))) {
                return Err(LoadError::Config {
                    file: "genai_config.json",
                    problem: format!("filename {file:?} leads out of the folder"),
                });
            }
            let path = folder.join(&graph.path);
            if !path.is_file() {
                return Err(LoadError::NoModel {
                    folder: folder.to_owned(),
                    looked_for: format!("genai_config.json names {file:?}, which is not there"),
                    variants: Vec::new(),
                });
            }
            Ok(GraphFile { path, ..graph })
        });
        Ok(Self {
            graphs: graphs.collect::<Result<_, _>>()?,
            encoder: None,
            config: genai.config,
            genai: true,
            shares_buffers: genai.shares_buffers,
            names: genai.names,
        })
    }
}

/// The files of one model.
struct Files {
    graphs: Vec<GraphFile>,
    encoder: Option<PathBuf>,
}

fn find_model(folder: &Path, variant: Option<&str>) -> Result<Files, LoadError> {
    let folders = [folder.to_owned(), folder.join("onnx")];
    let other_form = |reason| LoadError::OtherForm {
        folder: folder.to_owned(),
        reason,
    };
    let suffix = variant.map(|v| format!("_{v}")).unwrap_or_default();
    for dir in &folders {
        for stem in STEMS {
            let path = dir.join(format!("{stem}{suffix}.onnx"));
            if path.is_file() {
                return Files::of(path, stem, &suffix).map_err(other_form);
            }
        }
    }
    let found: Vec<(String, PathBuf)> = folders.iter().flat_map(|dir| variants(dir)).collect();
    match (&found[..], variant) {
        ([(variant, only)], None) => {
            let suffix = format!("_{variant}");
            let name = only.file_name().unwrap_or_default().to_string_lossy();
            let stem = name.trim_end_matches(".onnx").trim_end_matches(&suffix);
            Files::of(only.clone(), stem, &suffix).map_err(other_form)
        }
        ([], _) if let Some(reason) = form_of(&folders) => Err(other_form(reason)),
        _ => Err(LoadError::NoModel {
            folder: folder.to_owned(),
            looked_for: format!(
                "neither model{suffix}.onnx nor decoder_model_merged{suffix}.onnx is in it or in its folder onnx"
            ),
            variants: found.into_iter().map(|(name, _)| name).collect(),
        }),
    }
}

impl Files {
    /// A decoder with what is beside it: the graph for texts without a past; and the encoder and the table of
    /// embeddings of the same variant, or else the plain ones.
    fn of(model: PathBuf, stem: &str, suffix: &str) -> Result<Self, &'static str> {
        let beside = |stem: &str, suffix: &str| {
            Some(model.with_file_name(format!("{stem}{suffix}.onnx"))).filter(|path| path.is_file())
        };
        let or_plain = |stem: &str| beside(stem, suffix).or_else(|| beside(stem, ""));
        let (encoder, embedding) = (or_plain("encoder_model"), or_plain(EMBEDDING));
        let beginning = beside("decoder_model", suffix).filter(|_| stem == WITH_PAST);
        if stem == WITH_PAST && beginning.is_none() {
            return Err(
                "decoder_with_past_model.onnx alone does not begin a text: decoder_model.onnx is missing",
            );
        }
        if encoder.is_some() && !stem.starts_with("decoder") {
            return Err(
                "encoder_model.onnx shows that it is an encoder-decoder, and no decoder is beside it",
            );
        }
        let runs = match beginning {
            Some(_) => When::WithPast,
            None => When::Always,
        };
        let before = embedding.map(|path| GraphFile::new(path, When::Always));
        let beginning = beginning.map(|path| GraphFile::new(path, When::WithoutPast));
        let graphs = before.into_iter().chain(beginning);
        Ok(Self {
            graphs: graphs.chain([GraphFile::new(model, runs)]).collect(),
            encoder,
        })
    }
}

/// The stem of a graph that continues texts alone.
const WITH_PAST: &str = "decoder_with_past_model";
/// The stem of a graph that looks up the embeddings of tokens.
const EMBEDDING: &str = "embed_tokens";

/// Forms that are not run: the end of a file's name, and what to do.
const OTHER_FORMS: [(&str, &str); 4] = [
    (
        "decoder_model.onnx",
        "decoder_model.onnx alone takes no past; export it again with its cache (optimum-cli export onnx --task \
         text-generation-with-past, or text2text-generation-with-past for encoder-decoders)",
    ),
    (
        ".gguf",
        "a GGUF file is for llama.cpp; export the model that it was made from with optimum \
         (optimum-cli export onnx --task text-generation-with-past) or onnxruntime-genai's model builder",
    ),
    (
        ".safetensors",
        "it has PyTorch's weights; export them with optimum (optimum-cli export onnx --model DIR --task \
         text-generation-with-past OUT) or onnxruntime-genai's model builder",
    ),
    (
        "pytorch_model.bin",
        "it has PyTorch's weights; export them with optimum (optimum-cli export onnx --model DIR --task \
         text-generation-with-past OUT) or onnxruntime-genai's model builder",
    ),
];

fn form_of(folders: &[PathBuf]) -> Option<&'static str> {
    let mut forms = OTHER_FORMS.iter();
    let found = forms.find(|(end, _)| {
        folders
            .iter()
            .any(|dir| has_file(dir, |name| name.ends_with(end)))
    });
    found.map(|(_, reason)| *reason)
}

/// Whether a folder has a file by such a name.
fn has_file(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    { entries.map(|entry| entry.file_name()) }.any(|name| name.to_str().is_some_and(&is_wanted))
}

/// The variants in a folder, by name.
fn variants(dir: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(".onnx")?;
            // Longer stems first: `model_merged_q4` is no variant `merged_q4`.
            let stems = [
                "decoder_model_merged_",
                "decoder_with_past_model_",
                "model_merged_",
                "model_",
            ];
            let variant = stems.iter().find_map(|stem| name.strip_prefix(stem))?;
            Some((variant.to_owned(), entry.path()))
        })
        .collect();
    found.sort();
    found
}

/// The text of one of a model folder's configuration files, none if there is no such file.
///
/// The folder may come from anywhere. So a pipe, which might never end, and a device are refused, and so is what is a
/// thousand times the size of a configuration; links are followed, of which a cache of downloads consists.
///
/// # Errors
/// [`LoadError::Read`].
#[doc(hidden)]
pub fn read_config(path: &Path) -> Result<Option<String>, LoadError> {
    const LARGEST: u64 = 16 << 20;
    let read = || -> io::Result<String> {
        let file = open_regular(path)?;
        if file.metadata()?.len() > LARGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    };
    match read() {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LoadError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn name(dir: &tempfile::TempDir, variant: Option<&str>) -> Result<String, String> {
        let opened = ModelFolder::open(dir.path(), variant).map_err(|e| {
            e.to_string()
                .replace(&dir.path().display().to_string(), "DIR")
        })?;
        let names = opened.files().map(|file| {
            let name = file.strip_prefix(dir.path()).unwrap();
            name.display().to_string()
        });
        Ok(names.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn the_plain_file_wins_and_variants_are_chosen_by_name() {
        let dir = folder(&[
            ("config.json", "{}"),
            ("onnx/model.onnx", ""),
            ("onnx/model_q4.onnx", ""),
            ("onnx/model_quantized.onnx", ""),
        ]);
        assert_eq!(name(&dir, None).unwrap(), "onnx/model.onnx");
        assert_eq!(name(&dir, Some("q4")).unwrap(), "onnx/model_q4.onnx");
        expect_test::expect!["DIR has no model: neither model_fp16.onnx nor decoder_model_merged_fp16.onnx is in it or in its folder onnx; it has the variants q4, quantized"].assert_eq(&name(&dir, Some("fp16")).unwrap_err());
    }

    #[test]
    fn embeddings_are_looked_up_by_a_graph_of_the_same_variant_or_the_plain_one() {
        let dir = folder(&[
            ("config.json", "{}"),
            ("onnx/embed_tokens.onnx", ""),
            ("onnx/embed_tokens_fp16.onnx", ""),
            ("onnx/decoder_model_merged_fp16.onnx", ""),
            ("onnx/decoder_model_merged_q4.onnx", ""),
        ]);
        let names = ["fp16", "q4"].map(|variant| name(&dir, Some(variant)).unwrap());
        expect_test::expect![[r#"
            onnx/embed_tokens_fp16.onnx, onnx/decoder_model_merged_fp16.onnx
            onnx/embed_tokens.onnx, onnx/decoder_model_merged_q4.onnx"#]]
        .assert_eq(&names.join("\n"));
    }

    #[test]
    fn an_only_variant_is_taken_and_several_are_not_guessed_at() {
        let one = folder(&[
            ("config.json", "{}"),
            ("decoder_model_merged_int8.onnx", ""),
        ]);
        assert_eq!(name(&one, None).unwrap(), "decoder_model_merged_int8.onnx");
        let two = folder(&[
            ("config.json", "{}"),
            ("model_int8.onnx", ""),
            ("model_q4.onnx", ""),
        ]);
        expect_test::expect!["DIR has no model: neither model.onnx nor decoder_model_merged.onnx is in it or in its folder onnx; it has the variants int8, q4"].assert_eq(&name(&two, None).unwrap_err());
    }

    #[test]
    fn a_genai_folder_goes_by_its_own_configuration() {
        let genai =
            |file: &str| format!("{{\"model\":{{\"decoder\":{{\"filename\":\"{file}\"}}}}}}");
        let dir = folder(&[("genai_config.json", &genai("m.onnx")), ("m.onnx", "")]);
        assert_eq!(name(&dir, None).unwrap(), "m.onnx");
        let errors = ["../m.onnx", "/etc/passwd", "n.onnx"].map(|file| {
            let dir = folder(&[("genai_config.json", &genai(file))]);
            name(&dir, None).unwrap_err()
        });
        expect_test::expect![[r#"
            genai_config.json: filename "../m.onnx" leads out of the folder
            genai_config.json: filename "/etc/passwd" leads out of the folder
            DIR has no model: genai_config.json names "n.onnx", which is not there"#]]
        .assert_eq(&errors.join("\n"));
    }

    #[test]
    fn other_forms_of_models_are_named_with_what_to_do() {
        let forms: [&[&str]; 5] = [
            &["encoder_model.onnx", "decoder_model.onnx"],
            &["onnx/decoder_with_past_model.onnx"],
            &["tiny.Q4_K_M.gguf"],
            &["model.safetensors"],
            &["pytorch_model.bin"],
        ];
        let errors = forms.map(|files| {
            let files: Vec<_> = files.iter().map(|&file| (file, "")).collect();
            name(&folder(&files), None).unwrap_err()
        });
        expect_test::expect![[r#"
            DIR cannot be run: decoder_model.onnx alone takes no past; export it again with its cache (optimum-cli export onnx --task text-generation-with-past, or text2text-generation-with-past for encoder-decoders)
            DIR cannot be run: decoder_with_past_model.onnx alone does not begin a text: decoder_model.onnx is missing
            DIR cannot be run: a GGUF file is for llama.cpp; export the model that it was made from with optimum (optimum-cli export onnx --task text-generation-with-past) or onnxruntime-genai's model builder
            DIR cannot be run: it has PyTorch's weights; export them with optimum (optimum-cli export onnx --model DIR --task text-generation-with-past OUT) or onnxruntime-genai's model builder
            DIR cannot be run: it has PyTorch's weights; export them with optimum (optimum-cli export onnx --model DIR --task text-generation-with-past OUT) or onnxruntime-genai's model builder"#]].assert_eq(&errors.join("\n"));
        let pair = folder(&[
            ("config.json", "{}"),
            ("onnx/decoder_model.onnx", ""),
            ("onnx/decoder_with_past_model.onnx", ""),
        ]);
        assert_eq!(
            name(&pair, None).unwrap(),
            "onnx/decoder_model.onnx, onnx/decoder_with_past_model.onnx"
        );
        let opened = ModelFolder::open(pair.path(), None).unwrap();
        let runs: Vec<When> = opened.graphs.iter().map(|graph| graph.runs).collect();
        assert_eq!(runs, [When::WithoutPast, When::WithPast]);
        // A model that is run is taken, whatever lies beside it.
        let both = folder(&[
            ("config.json", "{}"),
            ("model.onnx", ""),
            ("model.safetensors", ""),
        ]);
        assert_eq!(name(&both, None).unwrap(), "model.onnx");
    }

    #[test]
    fn folders_without_a_model_or_a_configuration_are_refused() {
        let errors = [
            name(&folder(&[]), None).unwrap_err(),
            name(&folder(&[("model.onnx", "")]), None).unwrap_err(),
            ModelFolder::open(Path::new("/nowhere/at/all"), None)
                .unwrap_err()
                .to_string(),
        ];
        expect_test::expect![[r#"
            DIR has no model: neither model.onnx nor decoder_model_merged.onnx is in it or in its folder onnx
            config.json: it is missing from DIR
            /nowhere/at/all cannot be read"#]].assert_eq(&errors.join("\n"));
    }
}
