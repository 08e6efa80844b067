//! `--chat` of `structgen generate`.

use crate::support::{run, runtime, structgen, write};

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
        "--chat-set",
        "x=false",
    ]);
    let done = run(command.arg("--messages").arg(&messages));
    assert_eq!((done.code, done.out.as_str()), (0, "a\n"), "{done:?}");
    let mut command = structgen([
        "generate",
        "--chat",
        "--choice",
        "a",
        "--chat-template",
        "rag",
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
