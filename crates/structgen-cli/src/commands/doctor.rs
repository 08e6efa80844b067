//! `structgen doctor`: checks the installation and reports what works and what does not.

use std::path::Path;

use serde_json::{Value, json};
use structgen::decode::{ModelInfo, model::Packing};
use structgen::ort::{ModelFolder, Runtime, cuda_libraries};
use structgen::{Constraint, GenerateOptions, Model};

use crate::Outcome;
use crate::args::LoadArgs;
use crate::error::{DONE, bad_input};
use crate::models;
use crate::output::{paint, printable, write_line};
use crate::process;

/// Options of `structgen doctor`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit codes: 0 everything that was looked at works, 2 something does not.")]
pub(crate) struct Args {
    #[command(flatten)]
    load: LoadArgs,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// The checks made so far.
struct Checkup {
    failed: bool,
    /// The findings, if they are printed as JSON at the end rather than one by one.
    findings: Option<Vec<Value>>,
}

impl Checkup {
    fn good(&mut self, what: &str, finding: &str) -> std::io::Result<()> {
        let label = format!("{}    ", paint().green("ok"));
        self.found("ok", &label, what, finding)
    }

    fn note(&mut self, what: &str, finding: &str) -> std::io::Result<()> {
        self.found("note", "-     ", what, finding)
    }

    fn bad(&mut self, what: &str, finding: &str) -> std::io::Result<()> {
        self.failed = true;
        self.found("failed", &paint().red("FAILED"), what, finding)
    }

    fn found(
        &mut self,
        status: &str,
        label: &str,
        what: &str,
        finding: &str,
    ) -> std::io::Result<()> {
        match &mut self.findings {
            Some(findings) => {
                findings.push(json!({"status": status, "what": what, "finding": finding}));
                Ok(())
            }
            None => {
                let finding = printable(finding).replace('\n', "\n        ");
                write_line(&format!("{label}  {what:<18} {finding}"))
            }
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut checkup = Checkup {
        failed: false,
        findings: args.json.then(Vec::new),
    };
    checkup.note("structgen", env!("CARGO_PKG_VERSION"))?;
    let options = args.load.settings.options(None)?;
    let search = options.search();
    match search.cache_dir() {
        Some(dir) => checkup.note("cache folder", &dir.display().to_string())?,
        None => checkup.note("cache folder", "none: set STRUCTGEN_CACHE or HOME")?,
    }
    match Runtime::load(&search) {
        Err(error) => checkup.bad("ONNX Runtime", &chain(&error))?,
        Ok(runtime) => {
            let found = format!(
                "{}, {} ({})",
                runtime.version(),
                runtime.library().display(),
                runtime.source()
            );
            checkup.good("ONNX Runtime", &found)?;
            checkup.good("providers", &runtime.providers().join(", "))?;
            if runtime.providers().contains(&"CUDAExecutionProvider") {
                for library in cuda_libraries(runtime) {
                    let finding = match (library.loads, library.required) {
                        (true, _) => "loads",
                        (false, true) => "cannot be loaded: CUDA will not work",
                        (false, false) => "cannot be loaded: some operators will not work on CUDA",
                    };
                    checkup.note(library.name, finding)?;
                }
            }
            if let Some(folder) = &args.load.model {
                let folder = models::find(folder)?;
                let variant = args.load.settings.variant.as_deref();
                look_at_folder(&mut checkup, &folder, variant)?;
            }
            match args.load.load() {
                Err(error) => checkup.bad("model", &format!("{error:#}"))?,
                Ok(model) => look_at_model(&mut checkup, &model)?,
            }
        }
    }
    if let Some(findings) = &checkup.findings {
        let object = json!({"ok": !checkup.failed, "findings": findings});
        write_line(&serde_json::to_string_pretty(&object)?)?;
    }
    Ok(if checkup.failed { bad_input() } else { DONE })
}

fn look_at_folder(
    checkup: &mut Checkup,
    folder: &Path,
    variant: Option<&str>,
) -> std::io::Result<()> {
    match ModelFolder::open(folder, variant) {
        Ok(found) => {
            let layout = match (found.genai, found.shares_buffers) {
                (true, true) => "onnxruntime-genai's layout, past and present in one buffer",
                (true, false) => "onnxruntime-genai's layout",
                (false, _) => "optimum's layout",
            };
            checkup.good("model file", &format!("{} ({layout})", found.file_names()))
        }
        // Loading the model reports this as well, and that is the failure.
        Err(_) => Ok(()),
    }
}

fn look_at_model(checkup: &mut Checkup, model: &Model) -> std::io::Result<()> {
    let vocabulary = model.tokenizer().vocabulary().clone();
    let tokens = vocabulary.tokens().count();
    checkup.good(
        "tokenizer",
        &format!("{tokens} text tokens, {} ids", vocabulary.len()),
    )?;
    let eos: Vec<String> = model
        .eos()
        .iter()
        .map(|&id| {
            format!(
                "{} ({})",
                id.0,
                vocabulary.token_name(id).unwrap_or("no name")
            )
        })
        .collect();
    match eos.is_empty() {
        true => checkup.note(
            "end of sequence",
            "none is configured: free text ends at its limit only",
        )?,
        false => checkup.good("end of sequence", &eos.join(", "))?,
    }
    checkup.note("prompts", model.prompt_style())?;
    let info = model.info();
    let positions = match &info.output_start {
        Some(start) => format!(
            "encoder-decoder, {} positions of the prompt and as many of the output",
            start.longest
        ),
        None => format!("{} positions", info.context_length),
    };
    let logits = info.logits_width;
    checkup.good("model", &format!("{positions}, {logits} logits"))?;
    checkup.note("cache", &memory(info))?;
    checkup.note("batches", packing(info))?;
    for note in model.notes() {
        checkup.note("note", &note.to_string())?;
    }
    for (name, outlets) in [("inputs", model.inputs()), ("outputs", model.outputs())] {
        let shown: Vec<String> = outlets
            .iter()
            .take(6)
            .map(|(name, dtype)| format!("{name}: {dtype}"))
            .collect();
        let more = match outlets.len() - shown.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        checkup.note(name, &format!("{}{more}", shown.join(", ")))?;
    }
    match try_model(model) {
        Ok(found) => checkup.good("a constrained run", &found),
        Err(error) => checkup.bad("a constrained run", &chain(&error)),
    }
}

/// Describes which rows the graph can process in one run.
fn packing(info: &ModelInfo) -> &'static str {
    match info.packing {
        Packing::Apart => "a sequence at a time",
        Packing::Uniform => "sequences that take the same number of tokens run together",
        Packing::Slots => "sequences of any lengths run together, a token of each",
        Packing::Ragged => "sequences of any lengths run together, any number of tokens of each",
        _ => "in a way that this program does not know",
    }
}

/// Describes the computed size of keys and values, and the process's memory use.
fn memory(info: &ModelInfo) -> String {
    let bytes = info.cache_bytes_per_token;
    let full = (bytes * info.context_length) as f64 / 1e6;
    let process = process::memory();
    format!("{bytes} bytes a token, {full:.1} MB for the whole context; this process: {process}")
}

/// Generates a few tokens under a constraint, which exercises every part.
fn try_model(model: &Model) -> structgen::Result<String> {
    let constraint = model.compile(&Constraint::regex("[a-z]{3,8}")?)?;
    let prompt = model.encode_prompt("A word: ")?;
    let generation = model.generate(&prompt, Some(&constraint), &GenerateOptions::default())?;
    let milliseconds = generation.stats.total_time.as_secs_f64() * 1e3;
    Ok(format!(
        "{:?}, {} tokens in {milliseconds:.1} ms",
        generation.text,
        generation.tokens.len()
    ))
}

/// Formats an error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
