//! Untrusted model folders: files that are pipes or devices, are damaged, or refer to files outside the folder.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Run, model_folder, run, runtime, structgen, write};

/// A copy of the embedded draft model's folder, which is in optimum's layout.
fn folder() -> tempfile::TempDir {
    runtime();
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(model_folder().with_file_name("draft")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

fn generate(folder: &Path) -> Run {
    let mut command = structgen(["generate", "--set", "max_new_tokens=3", "--model"]);
    run(command.arg(folder).arg("hi"))
}

#[test]
#[cfg(unix)]
fn pipes_and_devices_are_refused_and_not_read() {
    let files = [
        "config.json",
        "generation_config.json",
        "genai_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "calibration.json",
    ];
    let folder = folder();
    for name in files {
        let path = folder.path().join(name);
        let before = fs::read(&path).ok();
        let _ = fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let started = Instant::now();
        generate(folder.path()).is_bad_input(&[name, "no regular file"]);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        generate(folder.path()).is_bad_input(&[name, "no regular file"]);
        assert!(started.elapsed() < Duration::from_secs(20), "{name}");
        fs::remove_file(&path).unwrap();
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
    }
    assert_eq!(generate(folder.path()).code, 0);
    // A folder without a model file.
    let model = folder.path().join("model.onnx");
    fs::remove_file(&model).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &model).unwrap();
    generate(folder.path()).is_bad_input(&["has no model"]);
}

#[test]
fn numbers_beyond_all_models_are_refused_or_change_nothing() {
    let folder = folder();
    let expected = generate(folder.path());
    assert_eq!(expected.code, 0, "{expected:?}");
    let config = fs::read_to_string(folder.path().join("config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    // The graph itself has these numbers, so the configuration need not.
    for name in [
        "num_hidden_layers",
        "vocab_size",
        "num_key_value_heads",
        "head_dim",
    ] {
        let mut absurd = config.clone();
        absurd[name] = 1_000_000_000.into();
        write(folder.path(), "config.json", absurd.to_string());
        assert_eq!(generate(folder.path()).out, expected.out, "{name}");
    }
    let context = config
        .as_object()
        .unwrap()
        .keys()
        .find(|name| ["max_position_embeddings", "n_positions"].contains(&name.as_str()));
    let context = context.unwrap();
    for number in ["0", "-1", "1e30", "99999999999999999999999", "\"many\""] {
        let mut absurd = config.clone();
        absurd[context] = serde_json::from_str(number).unwrap();
        write(folder.path(), "config.json", absurd.to_string());
        generate(folder.path()).is_bad_input(&["config.json", context]);
    }
}

#[test]
fn a_model_that_is_cut_or_garbage_is_refused_by_file() {
    let folder = folder();
    let model = folder.path().join("model.onnx");
    let whole = fs::read(&model).unwrap();
    let garbage: Vec<u8> = (0..300_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for bytes in [
        &whole[..100_000],
        &whole[..whole.len() - 1],
        &garbage,
        &[],
        &[0; 4096],
    ] {
        fs::write(&model, bytes).unwrap();
        generate(folder.path()).is_bad_input(&["model.onnx"]);
    }
    fs::write(&model, whole).unwrap();
    assert_eq!(generate(folder.path()).code, 0);
}

fn set_chat_template(folder: &Path, template: serde_json::Value) {
    let config = fs::read(folder.join("tokenizer_config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_slice(&config).unwrap();
    config["chat_template"] = template;
    write(folder, "tokenizer_config.json", config.to_string());
}

#[test]
fn control_characters_of_a_folder_do_not_reach_the_terminal() {
    const TITLE: &str = "\u{1b}]0;pwn\u{7}";
    let folder = folder();
    let chat = || {
        let mut command = structgen(["generate", "--chat", "--model"]);
        run(command.arg(folder.path()).arg("hi"))
    };
    let is_escaped = |text: &str| {
        let controls = text.chars().filter(|c| c.is_control() && *c != '\n');
        assert_eq!(controls.count(), 0, "{text:?}");
        assert!(text.contains(r"\u{1b}]0;pwn\u{7}"), "{text}");
    };
    let template = format!("{{{{ raise_exception('a\n{TITLE}') }}}}");
    let file = write(folder.path(), "chat_template.jinja", template);
    is_escaped(&chat().err);
    fs::remove_file(file).unwrap();
    let named = serde_json::json!([{"name": TITLE, "template": ""}]);
    set_chat_template(folder.path(), named);
    is_escaped(&chat().err);
    // The name of the end of sequence.
    let tokenizer = fs::read_to_string(folder.path().join("tokenizer.json")).unwrap();
    let renamed = tokenizer.replace("<eos>", r"\u001b]0;pwn\u0007");
    write(folder.path(), "tokenizer.json", renamed);
    is_escaped(&run(structgen(["doctor", "--model"]).arg(folder.path())).out);
}

#[test]
fn a_list_of_no_chat_templates_is_none() {
    let folder = folder();
    set_chat_template(folder.path(), serde_json::json!([]));
    let mut command = structgen(["generate", "--chat", "--model"]);
    run(command.arg(folder.path()).arg("hi")).is_bad_input(&["the model has no chat template"]);
}
