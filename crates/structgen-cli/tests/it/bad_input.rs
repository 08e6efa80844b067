//! Bad input is reported in one paragraph with exit code 2, and nothing is left half-done.

use std::fs;
use std::path::Path;

use crate::support::{PERSON, model_folder, run, run_with, runtime, structgen, write};

#[test]
fn a_schema_that_is_no_json_is_told_with_line_and_column() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "broken.json", "{\n  \"type\": ,\n}");
    for command in ["extract", "check"] {
        let run = run(structgen([command, "--schema"]).arg(&schema).arg("text"));
        run.is_bad_input(&["broken.json", "line 2", "column"]);
    }
    let missing = dir.path().join("missing.json");
    run(structgen(["extract", "--schema"]).arg(missing).arg("text"))
        .is_bad_input(&["missing.json", "cannot be read"]);
}

#[test]
fn an_unsatisfiable_schema_is_told_with_what_contradicts_what() {
    let dir = tempfile::tempdir().unwrap();
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer", "minimum": 5, "maximum": 4}}, "required": ["a"]}"#;
    let schema = write(dir.path(), "s.json", schema);
    let run = run(structgen(["extract", "--schema"]).arg(&schema).arg("text"));
    run.is_bad_input(&["s.json", "no value is valid", "minimum", "maximum"]);
}

#[test]
fn a_keyword_that_is_not_supported_is_told_by_name_and_pointer() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(
        dir.path(),
        "s.json",
        r#"{"properties": {"a": {"not": {"uniqueItems": true}}}}"#,
    );
    let run = run(structgen(["check", "--schema"]).arg(&schema).arg("{}"));
    run.is_bad_input(&["#/properties/a/not/uniqueItems"]);
}

#[test]
fn a_text_that_is_not_utf_8_is_told_with_its_offset() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let text = write(dir.path(), "latin1.txt", b"caf\xE9");
    let run = run(structgen(["extract", "--schema"])
        .arg(&schema)
        .arg("--file")
        .arg(&text));
    run.is_bad_input(&["latin1.txt", "not UTF-8", "0xE9", "offset 3"]);
    let run = run_with(
        structgen(["extract", "--schema"]).arg(&schema).arg("-"),
        b"\xFF",
    );
    run.is_bad_input(&["standard input", "not UTF-8"]);
}

#[test]
fn a_text_beyond_the_context_is_told_with_both_numbers() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let text = write(dir.path(), "long.txt", "a word and 1 ".repeat(2_000));
    let extract = |extra: &[&str]| {
        let mut command = structgen(["extract", "--schema"]);
        run(command.arg(&schema).args(extra).arg("--file").arg(&text))
    };
    extract(&["--refuse-long"]).is_bad_input(&["context of 4096", "shorten"]);
    extract(&["--events"]).is_bad_input(&["context of 4096", "shorten"]);
    // By default, long texts are read in windows.
    let read = extract(&[]);
    assert_eq!((read.code, read.err.as_str()), (0, ""), "{read:?}");
    assert!(read.out.starts_with("{\"name\":"), "{read:?}");
}

#[test]
fn a_model_folder_without_a_model_is_told_by_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let extract = |folder: &Path| {
        run(structgen(["extract", "--schema"])
            .arg(&schema)
            .arg("--model")
            .arg(folder)
            .arg("text"))
    };
    extract(&empty).is_bad_input(&["empty", "model.onnx"]);
    extract(&dir.path().join("nowhere")).is_bad_input(&["nowhere", "no such folder"]);
}

#[test]
fn a_tokenizer_or_a_model_that_is_none_is_told_by_file() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let folder = dir.path().join("model");
    fs::create_dir(&folder).unwrap();
    for entry in fs::read_dir(model_folder()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let extract = || {
        run(structgen(["extract", "--schema"])
            .arg(&schema)
            .arg("--model")
            .arg(&folder)
            .arg("text"))
    };
    write(&folder, "tokenizer.json", "{\"no\": \"tokenizer\"}");
    extract().is_bad_input(&["tokenizer.json"]);
    fs::remove_file(folder.join("tokenizer.json")).unwrap();
    extract().is_bad_input(&["tokenizer.json"]);
    write(&folder, "model.onnx", "this is no model");
    extract().is_bad_input(&["model.onnx"]);
}

#[test]
fn a_runtime_library_that_is_none_is_told_by_what_named_it() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let library = write(dir.path(), "libonnxruntime.so", "no library");
    let mut command = structgen(["extract", "--schema"]);
    let by_variable = run(command
        .arg(&schema)
        .arg("text")
        .env("ORT_DYLIB_PATH", &library));
    by_variable.is_bad_input(&["ORT_DYLIB_PATH", "libonnxruntime.so"]);
    let by_option = run(structgen(["extract", "--schema"])
        .arg(&schema)
        .arg("text")
        .args(["--set", &format!("model.runtime={}", library.display())]));
    by_option.is_bad_input(&["libonnxruntime.so"]);
}

#[test]
fn a_cache_folder_that_cannot_be_written_is_told_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "not-a-folder", "");
    let install = run(structgen(["runtime", "install"]).env("STRUCTGEN_CACHE", file.join("cache")));
    assert_eq!((install.code, install.out.as_str()), (2, ""), "{install:?}");
    assert!(install.err.contains("not-a-folder"), "{install:?}");
    assert_eq!(fs::read(&file).unwrap(), b"");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn cuda_is_never_replaced_by_the_processor() {
    let library = runtime().library();
    let cuda_provider = library
        .parent()
        .unwrap()
        .join("libonnxruntime_providers_cuda.so");
    if cuda_provider.is_file() {
        // With a library for CUDA the outcome depends on the machine; `structgen-ort` tests that.
        return;
    }
    let mut command = structgen(["generate", "x", "--set", "device=cuda", "--set"]);
    run(command.arg(format!("model.runtime={}", library.display())))
        .is_bad_input(&["CUDA", "structgen runtime install --cuda"]);
}

#[test]
fn more_outputs_than_a_limit_are_refused_with_both_numbers() {
    runtime();
    for (flags, told) in [
        (&["-n", "1000000"][..], "is 1000000, and must be at most "),
        (
            &["--set", "sequences=1000000"],
            "is 1000000, and must be at most ",
        ),
        (
            &["--strategy", "beam", "--set", "width=1000000"],
            "beam.width is \"1000000\", and must be a whole number, from 1 to 65536",
        ),
        (
            &["--strategy", "smc", "-n", "1000000"],
            "smc.particles is \"1000000\", and must be a whole number, from 1 to 65536",
        ),
    ] {
        let mut command = structgen(["generate", "x", "--max-tokens", "2", "--seed", "1"]);
        run(command.args(flags)).is_bad_input(&[told]);
    }
}

#[test]
fn nonsense_on_the_command_line_is_told() {
    let cases: [&[&str]; 12] = [
        &["generate", "x", "--set", "device=tpu"],
        &["generate", "x", "--temperature", "-1"],
        &["generate", "x", "--top-p", "2"],
        &["generate", "x", "--regex", "a("],
        &["generate", "x", "--regex", "a", "--json"],
        &["generate"],
        &["generate", "x", "--system", "y"],
        &["generate", "x", "--set", "top_h"],
        &["generate", "x", "--set", "model.runtime"],
        &["generate", "x", "--strategy", "beams"],
        &["choose", "x", "--device", "cuda", "--threads", "2"],
        &["nonsense"],
    ];
    for args in cases {
        let run = run(&mut structgen(args));
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{args:?} {run:?}");
        assert!(run.err.starts_with("error: "), "{args:?} {run:?}");
    }
}

#[test]
#[cfg(unix)]
fn an_argument_that_is_not_utf_8_is_an_error_of_usage() {
    use std::os::unix::ffi::OsStrExt;
    let mut command = structgen(["check", "--regex", "a"]);
    let run = run(command.arg(std::ffi::OsStr::from_bytes(b"\xFF")));
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{run:?}");
    assert!(run.err.contains("UTF-8"), "{run:?}");
}

#[test]
fn a_grammar_error_marks_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let grammar = write(dir.path(), "g.gbnf", "root ::= \"a\" |\n  missing");
    let run = run(structgen(["check", "--grammar"]).arg(&grammar).arg("a"));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.err.contains("g.gbnf") && run.err.contains("line 2, column 3"),
        "{run:?}"
    );
    assert!(run.err.contains(" |   ^"), "{run:?}");
}

#[test]
#[cfg(unix)]
fn arguments_that_are_no_utf8_name_files_or_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let odd = |bytes| OsStr::from_bytes(bytes).to_owned();
    let dir = tempfile::tempdir().unwrap();
    let name = odd(b"x\xE9.txt");
    fs::write(dir.path().join(&name), "true").unwrap();
    let check = |file: &OsStr| {
        let mut command = structgen(["--color", "never", "check", "--schema", "{\"const\": true}"]);
        run(command.current_dir(dir.path()).arg("--file").arg(file))
    };
    assert_eq!(check(&name).code, 0);
    check(&odd(b"y\xE9.txt")).is_bad_input(&["cannot be read"]);
    for args in [
        vec![odd(b"\xFF")],
        vec![odd(b"check"), odd(b"--schema"), odd(b"true"), odd(b"\xFF")],
        vec![odd(b"--color=\xFF"), odd(b"params")],
        vec![odd(b"choose"), odd(b"--threads"), odd(b"\xFF")],
    ] {
        let refused = run(&mut structgen(&args));
        assert_eq!(refused.code, 2, "{args:?}: {refused:?}");
    }
}
