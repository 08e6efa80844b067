//! Scripts of the benchmarks and of the training data, which need Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{run, write};

/// Imports the script with empty modules for what it needs, and runs the command that it would run with `--help`.
const GENAI_LOOP: &str = r#"
import subprocess, sys, types
for name in ("numpy", "onnxruntime", "onnxruntime_genai", "genai_layout"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["genai_layout"].convert = None
sys.path.insert(0, sys.argv[1])
import genai_loop
print("program:", genai_loop.PROGRAM.name, flush=True)
sys.exit(subprocess.call(genai_loop.Structgen(sys.argv[2], ["--help"]).command))
"#;

fn python() -> Command {
    let mut command = Command::new("python3");
    // No compiled files in the source tree.
    command.arg("-B");
    command
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_loop_beside_genai_runs_a_command_that_exists() {
    let program = env!("CARGO_BIN_EXE_structgen-bench");
    let run = run(python()
        .args(["-c", GENAI_LOOP])
        .arg(folder("peers"))
        .arg(program));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("program: structgen-bench\n"), "{run:?}");
    assert!(run.out.contains("--loops"), "{run:?}");
}

#[test]
fn a_passage_with_an_empty_group_is_an_error_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    for group in ["{*2-3 lines:}", "{*2-3 lines:  }"] {
        let passage = format!("@ empty-group list\nA list:\n{group}\n? name=!string\n");
        let file = write(dir.path(), "en/broken.txt", passage);
        for command in [&["check"][..], &["show", "1"]] {
            let mut python = python();
            python.arg("passages.py").args(command).arg(&file);
            let run = run(python.current_dir(folder("../../training")));
            let said = run.out + &run.err;
            assert_eq!(run.code, 1, "{command:?}: {said}");
            assert!(
                said.contains("broken.txt:3: a group without text"),
                "{command:?}: {said}"
            );
            assert!(!said.contains("Traceback"), "{command:?}: {said}");
        }
    }
}
