//! The program, and tables for it.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use tempfile::TempDir;

pub(crate) const CONTACT: &str = r#"{"type": "object", "required": ["name", "city"],
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}}"#;

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A folder with a schema and tables.
pub(crate) struct Tables {
    folder: TempDir,
}

impl Tables {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("contact.json"), CONTACT).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Adds rows with a number, a text and a nested value, as JSON Lines.
    pub(crate) fn with_mails(self, rows: usize) -> Self {
        self.write("mails.jsonl", mails(rows));
        self
    }

    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        static RUNTIME: Once = Once::new();
        RUNTIME.call_once(|| {
            let say = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
            structgen::runtime::ensure(say).unwrap();
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_structgen-tables"));
        command
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        run(&mut self.command(args))
    }

    /// Runs `extract` on the mails, with more arguments.
    pub(crate) fn extract(&self, input: &str, output: &str, more: &[&str]) -> Run {
        self.run(extract_args(input, output).iter().chain(more))
    }
}

pub(crate) fn extract_args<'a>(input: &'a str, output: &'a str) -> Vec<&'a str> {
    vec![
        "extract",
        "--input",
        input,
        "--column",
        "body",
        "--schema",
        "contact.json",
        "--output",
        output,
        "--workers",
        "2",
    ]
}

pub(crate) fn mails(rows: usize) -> String {
    let names = ["Ruben Keller", "Ada Byron", "Mia Brandt"];
    let cities = ["Utrecht", "London", "Graz", "Oslo"];
    let mut lines = String::new();
    for row in 0..rows {
        let (name, city) = (names[row % 3], cities[row % 4]);
        let body = format!("Mail {row}: my name is {name} and I live in {city}.");
        writeln!(
            lines,
            r#"{{"id": {row}, "body": "{body}", "from": {{"n": {row}}}}}"#
        )
        .unwrap();
    }
    lines
}

pub(crate) fn run(command: &mut Command) -> Run {
    end(start(command))
}

/// Starts a command with captured output.
pub(crate) fn start(command: &mut Command) -> Child {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits for the end of a command.
pub(crate) fn end(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let run = Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!run.err.contains("panicked"), "{run:?}");
    run
}

/// Returns the `id`s of JSON Lines rows.
pub(crate) fn ids(lines: &str) -> Vec<u64> {
    let rows = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.map(|row| row["id"].as_u64().unwrap()).collect()
}
