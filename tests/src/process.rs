//! Runs a program as a user's shell would.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use structgen::ort::{Runtime, ensure_runtime};

/// What a run came to.
#[derive(Debug)]
pub struct Run {
    /// Its exit code, or -1.
    pub code: i32,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

/// Runs without an input.
pub fn run(command: &mut Command) -> Run {
    run_with(command, b"")
}

/// Runs with an input. Whatever happens, the program must not panic.
pub fn run_with(command: &mut Command, input: &[u8]) -> Run {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that does not read its input is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let run = Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!run.err.contains("panicked"), "{run:?}");
    run
}

/// Makes sure that there is a runtime library, which takes a download where there is none.
pub fn runtime() -> &'static Runtime {
    let say = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
    ensure_runtime(say).unwrap()
}

/// The embedded model's files: a model folder in optimum's layout.
pub fn model_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/structgen-model/assets/main")
}

/// Writes a file, and the folders above it.
pub fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}

/// A schema of two fields.
pub const PERSON: &str = r#"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer", "minimum": 0, "maximum": 150}
    },
    "required": ["name", "age"],
    "additionalProperties": false
}"#;

impl Run {
    /// Bad input: one paragraph that says what is wrong, exit code 2, and nothing on standard output.
    #[track_caller]
    pub fn is_bad_input(&self, says: &[&str]) {
        assert_eq!(self.code, 2, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.starts_with("error: "), "{self:?}");
        assert!(!self.err.contains("\n\n"), "{self:?}");
        for text in says {
            assert!(self.err.contains(text), "{text:?} is not said: {self:?}");
        }
    }
}
