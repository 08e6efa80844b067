//! Reading texts, schemas and other files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow, bail};
use structgen::frontend::gbnf::GbnfFiles;

use crate::output::{check_input, is_same_file, warn};
use crate::yaml;

/// Larger texts and schemas are refused: they would only exhaust memory.
const LARGEST: u64 = 1 << 30;

/// A longer argument is not a file name.
const LONGEST_PATH: usize = 1_000;

/// Leads to the file that standard input was redirected from.
const STANDARD_INPUT: &str = "/dev/stdin";

/// The help of TEXT for commands with `--jsonl`.
pub(crate) const TEXT_OR_LINES: &str =
    "Text; `-` reads standard input. With --jsonl, the name of the file with the lines";

/// Some editors write this at the start of UTF-8. It is not part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A text: an argument, a file, or standard input.
#[derive(clap::Args, Debug)]
pub(crate) struct TextArgs {
    /// Text; `-` reads standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Read the text from a file; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) file: Option<PathBuf>,
}

impl TextArgs {
    /// Reads the bytes of the text, and returns them with a name for messages.
    pub(crate) fn read_bytes(&self) -> anyhow::Result<(Vec<u8>, String)> {
        let dash = Path::new("-");
        match (&self.text, &self.file) {
            (Some(text), None) if text != "-" => {
                if text.len() < LONGEST_PATH && Path::new(text).is_file() {
                    warn(&format!(
                        "the text is the name of a file, which --file {text} reads"
                    ));
                }
                Ok((text.clone().into_bytes(), "the text".into()))
            }
            (Some(_), None) => standard_input(),
            (None, Some(path)) if path == dash => standard_input(),
            (None, Some(path)) => Ok((read_file(path)?, path.display().to_string())),
            _ => bail!(
                "no text was given: write it as the last argument, name a file with --file, or use - for standard input"
            ),
        }
    }

    /// Reads the bytes of a JSON text, which must be UTF-8, like [`read_bytes`](Self::read_bytes). A file with the
    /// extension of YAML is converted to JSON.
    pub(crate) fn read_json_bytes(&self) -> anyhow::Result<(Vec<u8>, String)> {
        let (bytes, name) = self.read_bytes()?;
        if !self.file.as_deref().is_some_and(is_yaml) {
            return Ok((utf8(bytes, &name)?.into_bytes(), name));
        }
        let json = yaml::to_json(&utf8(bytes, &name)?)
            .with_context(|| format!("{name} is not YAML that is JSON"))?;
        Ok((json.into_bytes(), format!("{name} (as JSON)")))
    }

    /// Reads the text, which must be UTF-8.
    pub(crate) fn read(&self) -> anyhow::Result<String> {
        let (bytes, name) = self.read_bytes()?;
        utf8(bytes, &name)
    }

    /// Opens standard input or the file, to read it line by line. The positional argument is the file's name here,
    /// since a text as an argument makes no sense.
    pub(crate) fn open_lines(&self) -> anyhow::Result<Box<dyn BufRead + Send>> {
        let input: Box<dyn Read + Send> = match self.file_of_lines() {
            Some(path) if self.file.is_none() && !path.exists() => bail!(
                "there is no file {}: with --jsonl, the argument is the name of a file, not a text",
                path.display()
            ),
            Some(path) => Box::new(open(path)?),
            None => {
                take_standard_input()?;
                Box::new(io::stdin())
            }
        };
        let mut lines = BufReader::new(input);
        if lines.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            lines.consume(BYTE_ORDER_MARK.len());
        }
        Ok(Box::new(lines))
    }

    /// Returns the file of the lines, unless they come from standard input.
    fn file_of_lines(&self) -> Option<&Path> {
        { self.file.as_deref() }
            .or(self.text.as_deref().map(Path::new))
            .filter(|path| *path != Path::new("-"))
    }

    /// Returns whether the lines come from this file.
    pub(crate) fn has_lines_of(&self, path: &Path) -> bool {
        is_same_file(
            self.file_of_lines().unwrap_or(Path::new(STANDARD_INPUT)),
            path,
        )
    }
}

/// A text given as an argument or file, and its name for messages.
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Document {
    /// Reads a file, or standard input for `-`.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let (bytes, name) = if path == Path::new("-") {
            standard_input()?
        } else {
            (read_file(path)?, path.display().to_string())
        };
        let text = utf8(bytes, &name)?;
        Ok(Self { name, text })
    }

    /// Reads JSON from a file, from standard input, or from the argument itself if that starts with a brace or bracket.
    /// A file with the extension of YAML is converted to JSON.
    pub(crate) fn read_json(path: &Path) -> anyhow::Result<Self> {
        if let Some(text) = path.to_str().filter(|text| is_inline_json(text)) {
            let (name, text) = ("on the command line".to_owned(), text.to_owned());
            return Ok(Self { name, text });
        }
        let mut document = Self::read(path)?;
        let text = document.text.trim_start();
        if text.is_empty() {
            bail!("{} is empty", document.name);
        }
        // A text without a file name is YAML if it cannot be JSON.
        let begins_json =
            text.starts_with(['{', '[', '"']) || matches!(text.trim_end(), "true" | "false");
        if is_yaml(path) || (path == Path::new("-") && !begins_json) {
            document.text = yaml::to_json(&document.text)
                .map_err(|error| anyhow!("{} is not YAML that is JSON: {error}", document.name))?;
        }
        Ok(document.named_by(path))
    }

    /// Reads a grammar from a file, from standard input, or from the argument itself if that contains a rule.
    pub(crate) fn read_grammar(path: &Path) -> anyhow::Result<Self> {
        match path.to_str().filter(|text| text.contains("::=")) {
            Some(text) => Ok(Self {
                name: "on the command line".to_owned(),
                text: text.to_owned(),
            }),
            None => Ok(Self::read(path)?.named_by(path)),
        }
    }

    /// Prefixes the name for messages with what it is: `the schema on standard input`.
    fn named_by(mut self, path: &Path) -> Self {
        if path == Path::new("-") {
            self.name = "on standard input".to_owned();
        }
        self
    }
}

/// Returns whether an argument is JSON itself rather than a file name.
pub(crate) fn is_inline_json(argument: &str) -> bool {
    argument.trim_start().starts_with(['{', '['])
}

/// Returns whether a file contains YAML, by its extension.
pub(crate) fn is_yaml(path: &Path) -> bool {
    has_extension(path, &["yaml", "yml"])
}

/// Returns whether a file contains JSON or YAML, by its extension.
pub(crate) fn is_json_or_yaml(path: &Path) -> bool {
    is_yaml(path) || has_extension(path, &["json"])
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        { extensions.iter() }.any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Reads standard input, which only one of a command's inputs can use.
fn standard_input() -> anyhow::Result<(Vec<u8>, String)> {
    take_standard_input()?;
    let bytes = read_limited(io::stdin(), "standard input")?;
    Ok((bytes, "standard input".into()))
}

fn take_standard_input() -> anyhow::Result<()> {
    check_input(Path::new(STANDARD_INPUT))?;
    static IS_TAKEN: AtomicBool = AtomicBool::new(false);
    match IS_TAKEN.swap(true, Ordering::Relaxed) {
        true => bail!("standard input can be one of the inputs, and - stands for two of them"),
        false => Ok(()),
    }
}

/// Reads a file.
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_limited(open(path)?, &path.display().to_string())
}

fn open(path: &Path) -> anyhow::Result<File> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("{name} is a folder, and a file is needed");
    }
    check_input(path)?;
    Ok(file)
}

/// Reads a file, which must be UTF-8.
pub(crate) fn read_text_file(path: &Path) -> anyhow::Result<String> {
    utf8(read_file(path)?, &path.display().to_string())
}

/// Returns the files that a grammar in this file may import: those in its folder and below.
pub(crate) fn files_beside(path: &Path) -> GbnfFiles {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let files = GbnfFiles::new(move |path| {
        let folder = folder.canonicalize()?;
        let file = folder.join(path).canonicalize()?;
        // A symbolic link may point anywhere.
        if !file.starts_with(&folder) {
            return Err("it is outside of the grammar's folder".into());
        }
        Ok(read_text_file(&file)?)
    });
    match path.file_name().and_then(|name| name.to_str()) {
        Some(name) => files.with_name(name),
        None => files,
    }
}

fn read_limited(from: impl Read, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("{name} cannot be read"))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{name} is larger than {LARGEST} bytes, which is the most that is read");
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// Decodes the bytes as UTF-8, or reports where they are invalid.
pub(crate) fn utf8(bytes: Vec<u8>, name: &str) -> anyhow::Result<String> {
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        bail!(
            "{name} is not UTF-8: it begins with the byte-order mark of UTF-16; convert it to UTF-8 first"
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        let byte = error.as_bytes()[at];
        anyhow!("{name} is not UTF-8: the byte 0x{byte:02X} at offset {at} (line {line}) begins no character; convert it to UTF-8 first")
    })
}
