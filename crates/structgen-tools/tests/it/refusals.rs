//! What is refused, and how; hostile input always gets an answer.

use std::sync::Arc;

use serde_json::{Value, json};
use structgen_grammar::{GrammarBuilder, JsonForm};
use structgen_tools::{
    Content, Reasoning, Tool, ToolChoice, ToolError, ToolFormat, ToolGrammar, ToolOptions,
};

fn build(preset: &str, parameters: Value, options: &ToolOptions) -> Result<ToolGrammar, ToolError> {
    let format = ToolFormat::preset(preset).expect("it is a preset");
    ToolGrammar::new(format, vec![Tool::new("f", parameters)?], options)
}

fn refused(preset: &str, parameters: Value) -> String {
    let error = build(preset, parameters, &ToolOptions::new()).unwrap_err();
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}

#[test]
fn schemas_are_refused_with_the_tools_name_and_the_pointer() {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    for (preset, parameters, says) in [
        (
            "qwen",
            object(json!({"a": {"pattern": "("}})),
            "the tool \"f\" are refused: #/properties/a/pattern",
        ),
        ("qwen", json!({"type": "string"}), "allow no object"),
        (
            "qwen",
            json!({"type": "object", "minProperties": 2, "maxProperties": 1}),
            "the tool \"f\" are refused: #: no value",
        ),
        (
            "qwen-coder",
            object(json!({"a": {"const": "x</parameter>"}})),
            "#/properties/a: the format qwen-coder cannot write this: a text of the list has the closing tag in it",
        ),
        (
            "qwen-coder",
            object(json!({"a>\nb": true})),
            "#/properties/a>\nb: the format qwen-coder",
        ),
        (
            "minimax",
            object(json!({"a": {"type": "string", "pattern": "</parameter>"}})),
            "every text that fits has the closing tag in it",
        ),
        (
            "glm",
            json!({"type": "object", "minProperties": 1}),
            "#: the format glm cannot write this: a fewest number",
        ),
        (
            "qwen-coder",
            object(json!({"a": {"type": "string", "x-structgen": {"source": "input"}}})),
            "#/properties/a: the format qwen-coder cannot write this: a string that comes from an input",
        ),
        (
            "functiongemma",
            object(json!({"a": {"type": "string", "x-structgen": {"source": "input"}}})),
            "#/properties/a: the format functiongemma cannot write this: a string that comes from an input",
        ),
        (
            "gemma",
            object(json!({"a-b": true})),
            "#/properties/a-b: the format gemma cannot write this: the key is no identifier",
        ),
    ] {
        let message = refused(preset, parameters);
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn options_that_cannot_be_met_are_refused() {
    let object = || json!({"type": "object"});
    let options = ToolOptions::new().with_reasoning(Reasoning::Required);
    let error = build("llama3", object(), &options).unwrap_err();
    assert_eq!(error.to_string(), "the format llama3 has no reasoning");
    let options = ToolOptions::new().with_choice(ToolChoice::Named("g".to_owned()));
    let error = build("llama3", object(), &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no tool \"g\" to choose; there are: f"
    );
    let options =
        ToolOptions::new().with_content(Content::Json(r#"{"type": "object"}"#.to_owned()));
    let error = build("llama3", object(), &options).unwrap_err();
    assert!(
        matches!(error, ToolError::AmbiguousContent { .. }),
        "{error}"
    );
    let format = ToolFormat::preset("qwen").expect("it is a preset");
    let required = ToolOptions::new().with_choice(ToolChoice::Required);
    let error = ToolGrammar::new(format, vec![], &required).unwrap_err();
    assert_eq!(error, ToolError::NoTools);
}

#[test]
fn formats_whose_parts_cannot_be_told_apart_are_refused() {
    for (toml, says) in [
        ("name = 'x'", "missing field `calls`"),
        (
            "name = 'x'\n[calls]\ntriger = 'y'\n[call]\nstyle = 'json'",
            "unknown field `triger`",
        ),
        (
            "name = 'x'\n[calls]\ntrigger = 'y'\n[call]\nstyle = 'poem'",
            "unknown variant `poem`",
        ),
        (
            "name = 'x'\n[calls]\ntrigger = 'y'\n[call]\nstyle = 'json'\nbegin = 'z'",
            "`calls.trigger`: calls do not begin with the trigger",
        ),
        (
            "name = 'x'\n[calls]\ntrigger = 'y'\n[call]\nstyle = 'json'\nbegin = 'y'\nname_end = 'a'",
            "`call.name_end`: a name could go on",
        ),
        (
            "name = 'x'\n[calls]\ntrigger = 'y'\nend = 'y!'\n[call]\nstyle = 'json'\nbegin = 'y'\nname_end = ' '",
            "`calls.end`: \"y!\" cannot be told from \"y\"",
        ),
        (
            "name = 'x'\n[calls]\ntrigger = 'y'\n[call]\nstyle = 'object'\nbegin = 'y'\nmembers = []",
            "`call.members`: exactly one member holds the name",
        ),
        (
            "name = 'x'\n[reasoning]\nbegin = 'a'\nend = ['b', 'c']\n[calls]\ntrigger = 'y'\n[call]\nstyle = 'python'\nbegin = 'y('",
            "`reasoning`: its end has to be",
        ),
        (
            "name = 'x'\n[calls]\ntrigger = 'y'\n[call]\nstyle = 'json'\nbegin = 'y'\nname_end = ' '\nid = { begin = '#', pattern = '(' }",
            "`call.id`",
        ),
        (
            "name = 'x'\n[calls]\ntrigger = 'y'\n[call]\nstyle = 'json'\nbegin = 'y'\nname_end = ' '\nid = { prefix = 'z', begin = '#', pattern = 'a' }",
            "`call.id`: a prefix is the end of `call.begin`",
        ),
    ] {
        let error = ToolFormat::from_toml(toml).unwrap_err().to_string();
        assert!(error.contains(says), "{toml}\n{error}");
    }
    let nested = format!("name = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(ToolFormat::from_toml(&nested).is_err());
}

#[test]
fn lists_of_tools_are_refused_by_place() {
    for (list, says) in [
        ("[", "the list of tools is not JSON"),
        ("{}", "#: a list of tools"),
        (r#"{"tools": [1]}"#, "#/tools/0: an object"),
        (
            r#"[{"function": {"name": 1}}]"#,
            "#/0/function/name: the tool's name",
        ),
        (r#"[{"name": "a b"}]"#, "\"a b\" is not usable"),
        (
            r#"[{"name": "a", "description": 1}]"#,
            "#/0/description: a text",
        ),
        (
            r#"[{"name": "add", "paramters": {"type": "object"}}]"#,
            "#/0/paramters: a tool has no such field",
        ),
        (
            r#"[{"type": "function", "function": {"name": "a", "b/c": 1}}]"#,
            "#/0/function/b~1c: a tool has no such field",
        ),
        (
            r#"[{"type": "function", "name": "a", "function": {"name": "a"}}]"#,
            "#/0/name: a tool has no such field",
        ),
        (
            r#"[{"type": "web_search"}]"#,
            "#/0/type: \"function\" is expected here",
        ),
        (
            r#"[{"type": "custom", "name": "a"}]"#,
            "#/0/type: \"function\" is expected here",
        ),
        (
            r#"[{"name": "a", "parameters": {}, "inputSchema": {}}]"#,
            "#/0/inputSchema: no second schema",
        ),
        (
            r#"[{"name": "a"}, {"name": "a"}]"#,
            "two tools of the name \"a\"",
        ),
        (
            r#"[{"name": "a", "parameters": {}, "parameters": {}}]"#,
            "#/0/parameters: no second field of this name",
        ),
        (
            r#"[{"function": {"name": "a", "description": "b", "name": "c"}}]"#,
            "#/0/function/name: no second field of this name",
        ),
    ] {
        let error = Tool::list(list).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(Tool::list(&"[".repeat(1_000_000)).is_err());
    // The forms of several APIs.
    for tool in [
        r#"{"type": "function", "name": "f", "parameters": {}, "strict": true}"#,
        r#"{"type": "custom", "name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral"}}"#,
        r#"{"name": "f", "title": "F", "inputSchema": {}, "outputSchema": {}, "annotations": {}}"#,
        r#"{"function": {"name": "f", "parameters": {}, "return": {"type": "string"}}}"#,
    ] {
        let tools = Tool::list(&format!("[{tool}]")).expect("it is a tool");
        assert_eq!(tools[0].parameters(), "{}");
    }
}

#[test]
fn a_property_that_occurs_twice_in_a_schema_is_refused() {
    let twice = r#"{"type": "object", "properties": {"a": {}, "a": {}}}"#;
    let tool = Tool::from_text("f", twice).expect("it is JSON");
    let format = ToolFormat::preset("qwen").expect("it is a preset");
    let error = ToolGrammar::new(format, vec![tool], &ToolOptions::new()).unwrap_err();
    assert!(matches!(error, ToolError::Schema { .. }), "{error}");
    let error = Tool::from_text("f", "{").unwrap_err();
    assert!(matches!(error, ToolError::NotJson { .. }), "{error}");
}

#[test]
fn outputs_that_are_in_no_format_are_errors_by_place() {
    let parse = |preset: &str, output: &str| {
        let grammar =
            build(preset, json!({"type": "object"}), &ToolOptions::new()).expect("it is usable");
        grammar.parse(output).unwrap_err().to_string()
    };
    for (preset, output, says) in [
        (
            "qwen",
            "a<tool_call>[",
            "at byte 13 of the output: \"{\" is expected",
        ),
        (
            "qwen",
            "<tool_call>{\"arguments\": {}}",
            "the call has no name",
        ),
        (
            "qwen",
            "<tool_call>{\"name\": \"f\"}",
            "the call of \"f\" has no arguments",
        ),
        (
            "qwen",
            "<tool_call>{\"name\": \"f\", \"arguments\": {]}",
            "cannot be read: key must be a string",
        ),
        (
            "mistral",
            "[TOOL_CALLS]f[ARGS]{\"a\": tru}",
            "cannot be read",
        ),
        ("mistral", "[TOOL_CALLS]f(", "\"[ARGS]\" is expected"),
        (
            "kimi",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0",
            "ends within a call",
        ),
        (
            "qwen-coder",
            "<tool_call><function=f><parameter=a>1</parameter><parameter=a>",
            "ends within a call",
        ),
        (
            "qwen-coder",
            "<tool_call><function=f><parameter=a>1</parameter><parameter=a>1</parameter>",
            "the argument \"a\" of \"f\" comes twice",
        ),
        ("gemma", "```tool_code\nf(1)", "\"1\" has no key and value"),
    ] {
        let error = parse(preset, output);
        assert!(error.contains(says), "{output}: {error}");
    }
}

#[test]
fn nothing_in_an_output_is_too_deep_or_too_long() {
    let preset =
        |name| build(name, json!({"type": "object"}), &ToolOptions::new()).expect("it is usable");
    let deep = "[".repeat(200_000);
    assert!(
        preset("mistral")
            .parse(&format!("[TOOL_CALLS]f[ARGS]{{\"a\": {deep}"))
            .is_err()
    );
    let closed = "]".repeat(200_000);
    assert!(
        preset("mistral")
            .parse(&format!("[TOOL_CALLS]f[ARGS]{{\"a\": {deep}{closed}}}"))
            .is_err()
    );
    assert!(
        preset("gemma")
            .parse(&format!("```tool_code\nf(a={deep}{closed})\n```"))
            .is_err()
    );
    let text = preset("qwen")
        .parse(&"<tool_cal".repeat(100_000))
        .expect("it is text");
    assert_eq!(text.text.len(), 900_000);
}

#[test]
fn json_content_stands_beside_calls() {
    let schema =
        json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    let options = ToolOptions::new().with_content(Content::Json(schema.to_string()));
    let grammar = build("qwen", json!({"type": "object"}), &options).expect("it is usable");
    // A marker within a string of the content is not a call.
    let output = "<think>\nhm\n</think>\n\n{\"ok\": true, \"x\": \"<tool_call>\"}";
    let message = grammar.parse(output).expect("it is in the format");
    assert_eq!(message.reasoning.as_deref(), Some("hm"));
    assert_eq!(message.text, "{\"ok\": true, \"x\": \"<tool_call>\"}");
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    assert_eq!(
        grammar
            .parse(call)
            .expect("it is in the format")
            .calls
            .len(),
        1
    );
}

#[test]
fn content_of_a_grammar_comes_after_reasoning_and_beside_no_calls() {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.literals(["yes", "no"]).expect("they are short");
    builder.define(root, body);
    let grammar = Arc::new(builder.finish(root, JsonForm::generate()));
    let options = ToolOptions::new().with_content(Content::Grammar(grammar));
    let alone = ToolGrammar::new(
        ToolFormat::preset("qwen").expect("it is a preset"),
        Vec::new(),
        &options,
    );
    let message = { alone.expect("it is usable") }
        .parse("<think>\nhm\n</think>\n\nyes")
        .expect("it is in the format");
    assert_eq!(message.reasoning.as_deref(), Some("hm"));
    assert_eq!(message.text, "yes");
    assert!(matches!(
        build("qwen", json!({"type": "object"}), &options),
        Err(ToolError::AmbiguousContent { .. })
    ));
    // In this format text has markers of its own.
    build("harmony", json!({"type": "object"}), &options).expect("it is usable");
}
