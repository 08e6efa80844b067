//! Reading texts, schemas and other files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use structgen::frontend::gbnf::GbnfFiles;

/// Texts and schemas beyond this size are refused: they would only exhaust memory.
const LARGEST: u64 = 1 << 30;

/// A text: given, in a file, or on standard input.
#[derive(clap::Args, Debug)]
pub(crate) struct TextArgs {
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Read the text from a file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) file: Option<PathBuf>,
}

impl TextArgs {
    /// The bytes of the text, and a name for messages.
    pub(crate) fn read_bytes(&self) -> anyhow::Result<(Vec<u8>, String)> {
        let dash = Path::new("-");
        match (&self.text, &self.file) {
            (Some(text), None) if text != "-" => Ok((text.clone().into_bytes(), "the text".into())),
            (Some(_), None) => standard_input(),
            (None, Some(path)) if path == dash => standard_input(),
            (None, Some(path)) => Ok((read_file(path)?, path.display().to_string())),
            _ => bail!(
                "no text was given: write it as the last argument, name a file with --file, or use - for standard input"
            ),
        }
    }

    /// The text, which has to be UTF-8.
    pub(crate) fn read(&self) -> anyhow::Result<String> {
        let (bytes, name) = self.read_bytes()?;
        utf8(bytes, &name)
    }

    /// Standard input or the file, line by line. A text on the command line makes no sense there: it names the file.
    pub(crate) fn open_lines(&self) -> anyhow::Result<Box<dyn Read + Send>> {
        let named = self.file.as_deref().or(self.text.as_deref().map(Path::new));
        match named {
            Some(path) if path != Path::new("-") => {
                let file = File::open(path)
                    .with_context(|| format!("{} cannot be read", path.display()))?;
                Ok(Box::new(file))
            }
            _ => Ok(Box::new(io::stdin())),
        }
    }
}

/// The text of a file, or of standard input for `-`, and a name for messages.
pub(crate) fn read_text_or_input(path: &Path) -> anyhow::Result<(String, String)> {
    let (bytes, name) = if path == Path::new("-") {
        standard_input()?
    } else {
        (read_file(path)?, path.display().to_string())
    };
    Ok((utf8(bytes, &name)?, name))
}

fn standard_input() -> anyhow::Result<(Vec<u8>, String)> {
    let bytes = read_limited(io::stdin(), "standard input")?;
    Ok((bytes, "standard input".into()))
}

/// The bytes of a file.
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("{name} is a folder, and a file is needed");
    }
    read_limited(file, &name)
}

/// The text of a file, which has to be UTF-8.
pub(crate) fn read_text_file(path: &Path) -> anyhow::Result<String> {
    utf8(read_file(path)?, &path.display().to_string())
}

/// The files that a grammar in this file may name: those of its folder, and of folders in that.
pub(crate) fn files_beside(path: &Path) -> GbnfFiles {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let files = GbnfFiles::new(move |path| {
        let folder = folder.canonicalize()?;
        let file = folder.join(path).canonicalize()?;
        // A link may lead anywhere.
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
    Ok(bytes)
}

/// The bytes as text, or where they stop being UTF-8.
pub(crate) fn utf8(bytes: Vec<u8>, name: &str) -> anyhow::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        let byte = error.as_bytes()[at];
        anyhow!("{name} is not UTF-8: the byte 0x{byte:02X} at offset {at} (line {line}) begins no character; convert it to UTF-8 first")
    })
}
