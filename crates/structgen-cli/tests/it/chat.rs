//! `--chat` of `structgen generate`.

use crate::support::{PERSON, run, runtime, structgen, write};

#[test]
fn a_conversation_is_a_message_per_line() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let conversation = "{\"role\": \"user\", \"content\": \"Say a.\"}\n\n\
        {\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": []}\n{\"role\": \"tool\", \"content\": \"a\"}\n";
    let messages = write(dir.path(), "messages.jsonl", conversation);
    let mut command = structgen([
        "generate",
        "--chat",
        "--choice",
        "a",
        "--set",
        "chat.variables={\"x\": false}",
    ]);
    let done = run(command.arg("--messages").arg(&messages));
    assert_eq!((done.code, done.out.as_str()), (0, "a\n"), "{done:?}");
    let mut command = structgen([
        "generate",
        "--chat",
        "--choice",
        "a",
        "--set",
        "chat.template=rag",
    ]);
    let refused = run(command.arg("--messages").arg(&messages));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.err.contains("there is no chat template \"rag\""),
        "{refused:?}"
    );
}

#[test]
fn what_is_wrong_with_a_conversation_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let messages = write(dir.path(), "messages.jsonl", "{\"role\": \"user\"}\n[1]\n");
    let empty = write(dir.path(), "empty.jsonl", "\n");
    for (file, more, expected) in [
        (&messages, vec!["--chat"], "line 2: this is not a message"),
        (&empty, vec!["--chat"], "has no message"),
        (&messages, vec![], "--chat"),
        (&messages, vec!["--chat", "--system", "x"], "--system"),
        (&messages, vec!["--chat", "text"], "cannot be used with"),
    ] {
        let mut command = structgen(["generate", "--messages"]);
        let refused = run(command.arg(file).args(more));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(expected), "{expected}: {refused:?}");
    }
}

#[test]
fn the_embedded_model_extracts_from_the_last_message_of_a_user() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let generate = |args: &[&str]| {
        let run = run(structgen(["generate", "--json-schema", PERSON]).args(args));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        run.out
    };
    let text = "Ada Lovelace was 36 years old";
    let expected = generate(&[text]);
    assert!(expected.contains("Ada Lovelace"), "{expected}");
    assert_eq!(generate(&["--chat", text]), expected);
    for content in [
        format!("{text:?}"),
        format!(r#"[{{"type": "text", "text": {text:?}}}]"#),
    ] {
        let conversation = format!(
            "{{\"role\": \"user\", \"content\": \"Bob is 7\"}}\n{{\"role\": \"user\", \"content\": {content}}}\n\
            {{\"role\": \"assistant\", \"content\": \"Yes?\"}}\n"
        );
        let messages = write(dir.path(), "messages.jsonl", conversation);
        let messages = messages.to_str().unwrap();
        assert_eq!(generate(&["--chat", "--messages", messages]), expected);
    }
    let nobody = "{\"role\": \"system\", \"content\": \"Hi\"}\n";
    let nobody = write(dir.path(), "nobody.jsonl", nobody);
    let mut command = structgen(["generate", "--json-schema", PERSON, "--chat", "--messages"]);
    run(command.arg(nobody)).is_bad_input(&["no message of a user"]);
}

#[test]
fn options_for_a_template_are_refused_where_none_is_used() {
    for flags in [
        &["--system", "Be brief."][..],
        &["--set", "chat.variables={\"x\": 1}"],
        &["--set", "chat.template=rag"],
        &["--set", "chat.generation_prompt=false"],
    ] {
        let mut command = structgen(["generate", "--json-schema", PERSON, "--chat", "Ada"]);
        let name = flags.last().filter(|_| flags[0] == "--set");
        let name = name.map_or(flags[0], |set| set.split_once('=').unwrap().0);
        run(command.args(flags)).is_bad_input(&[name, "chat template"]);
    }
}
