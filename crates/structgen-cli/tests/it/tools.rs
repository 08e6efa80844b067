//! `--tools` of `structgen generate` and `structgen check`.

use crate::support::{run, run_with, runtime, structgen, write};
use serde_json::Value;

const TOOLS: &str = include_str!("../../../../examples/tools.json");

#[test]
fn calls_are_checked_in_their_format() {
    let dir = tempfile::tempdir().unwrap();
    let tools = write(dir.path(), "tools.json", TOOLS);
    let call = "[TOOL_CALLS]get_order[ARGS]{\"number\": \"AB-1234\"}";
    let check = |text: &str, more: &[&str]| {
        let mut command = structgen(["check", "--tools"]);
        run(command
            .arg(&tools)
            .args(["--tool-format", "mistral"])
            .args(more)
            .arg(text))
    };
    assert_eq!(check(call, &[]).out, "the text matches\n");
    assert_eq!(check("Hello.", &[]).code, 0);
    assert_eq!(check("Hello.", &["--tool-choice", "required"]).code, 1);
    assert_eq!(check(call, &["--tool-choice", "none"]).code, 1);
    assert_eq!(check(call, &["--tool-choice", "get_order,refund"]).code, 0);
    let run = check(&call.replace("AB", "ab"), &[]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("at byte 39 "), "{run:?}");
}

#[test]
fn what_was_written_is_printed_as_calls() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let tools = write(dir.path(), "tools.json", TOOLS);
    for format in ["qwen", "llama3", "qwen-coder", "gemma"] {
        let mut command = structgen(["generate", "--tools"]);
        let command = command.arg(&tools).args([
            "--set",
            &format!("tools.format={format}"),
            "--set",
            "tools.choice=refund",
            "--max-tokens",
            "300",
        ]);
        let run = run(command.arg("Refund 12 euros of AB-1234, it was broken: "));
        assert_eq!(run.code, 0, "{run:?}");
        let message: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(message["calls"][0]["name"], "refund", "{format}: {message}");
        let cents = message["calls"][0]["arguments"]["cents"].as_u64();
        assert!(
            cents.is_some_and(|cents| (1..=100_000).contains(&cents)),
            "{message}"
        );
    }
}

#[test]
fn what_is_wrong_with_tools_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let tools = write(dir.path(), "tools.json", TOOLS);
    let broken = write(
        dir.path(),
        "broken.json",
        r#"[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"pattern": "("}}}}]"#,
    );
    let format = write(
        dir.path(),
        "format.toml",
        "name = 'x'\n[calls]\n[call]\nstyle = 'json'",
    );
    let check = |tools: &std::path::Path, more: &[&str]| {
        run(structgen(["check", "--tools"])
            .arg(tools)
            .args(more)
            .arg("text"))
    };
    check(&broken, &[]).is_bad_input(&["the tool \"f\"", "#/properties/a/pattern"]);
    check(&tools, &["--tool-format", "nonsense"]).is_bad_input(&["\"nonsense\"", "llama3", "qwen"]);
    check(&tools, &["--tool-choice", "pay"])
        .is_bad_input(&["no tool \"pay\"", "get_order, refund"]);
    let path = format.display().to_string();
    check(&tools, &["--tool-format", &path]).is_bad_input(&["format.toml", "`calls.trigger`"]);
}

#[test]
fn structural_tags_are_checked_and_written() {
    runtime();
    let tag = r#"{"format": {"type": "sequence", "elements": [
        {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_tokens": 4}, "end": "</think>"},
        {"type": "json_schema", "json_schema": {"enum": ["yes", "no"]}}]}}"#;
    let check = |text: &str| {
        let mut command = structgen(["check", "--structural-tag", tag]);
        run(command.arg(text))
    };
    assert_eq!(check("<think>so</think>\"yes\"").code, 0);
    let refused = check("<think>so</think>yes");
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("at byte 17 "), "{refused:?}");

    let mut command = structgen(["generate", "Is it?", "--set"]);
    let written = run(command.arg(format!("structural_tag={tag}")));
    assert_eq!(written.code, 0, "{written:?}");
    let text = written.out.trim_end();
    assert_eq!(check(text).code, 0, "{text}");

    let broken = tag.replace("any_text", "some_text");
    let mut command = structgen(["check", "--structural-tag", &broken, "x"]);
    run(&mut command).is_bad_input(&["#/format/elements/0/content/type"]);
}

#[test]
fn tools_for_a_chat_are_read_once() {
    runtime();
    let args = [
        "generate",
        "--chat",
        "--tools",
        "-",
        "--set",
        "tools.choice=ping",
        "Ping!",
    ];
    let tools =
        br#"{"tools": [{"name": "ping", "input_schema": {"type": "object", "maxProperties": 0}}]}"#;
    let done = run_with(&mut structgen(args), tools);
    assert_eq!(done.code, 0, "{done:?}");
    let message: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(message["calls"][0]["name"], "ping", "{message}");
}
