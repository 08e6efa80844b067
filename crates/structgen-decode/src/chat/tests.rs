use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::*;

fn template(source: &str) -> Result<ChatTemplate, ChatError> {
    let config =
        json!({"chat_template": source, "bos_token": "<s>", "eos_token": {"content": "</s>"}});
    ChatTemplate::from_tokenizer_config(&config.to_string(), None)
}

fn options() -> ChatOptions {
    ChatOptions {
        now: UNIX_EPOCH + Duration::from_secs(1_735_689_599),
        ..ChatOptions::default()
    }
}

fn render(source: &str) -> Result<String, ChatError> {
    let messages = [
        ChatMessage::system("Be brief. "),
        ChatMessage::user("Hi <there>"),
        ChatMessage::assistant("Hello."),
        ChatMessage::user("1 < 2 & \"3\"?"),
    ];
    template(source)?.render(&messages, &options())
}

#[test]
fn blocks_on_their_own_lines_leave_no_lines() {
    let source = "{{ bos_token }}\n\
        {% for message in messages %}\n    \
            {% if message['role'] == 'system' %}\n\
        SYS {{ message.content | trim }}\n    \
            {% else %}\n\
        {{ message.role.upper() }} {{ message.content.replace('<', '[') }}{{ eos_token if loop.last }}\n    \
            {% endif %}\n\
        {% endfor %}\n\
        {%- if add_generation_prompt %}\nASSISTANT{% endif %}";
    expect_test::expect![[r#"
        <s>
        SYS Be brief.
        USER Hi [there>
        ASSISTANT Hello.
        USER 1 [ 2 & "3"?</s>
        ASSISTANT"#]]
    .assert_eq(&render(source).unwrap());
}

#[test]
fn pythons_methods_and_slices_work() {
    let source = "{% set ns = namespace(n=0) %}{% for m in messages[1:] %}{% if m.content.startswith('H') %}\
        {% set ns.n = ns.n + 1 %}{% endif %}{% if loop.index0 == 2 %}{% break %}{% endif %}{% endfor %}{{ ns.n }} \
        {{ messages[0].content.strip().split(' ')[-1] }} {% for k, v in messages[0].items() %}{{ k }},{% endfor %} \
        {{ tools is none }} {{ messages | length }}";
    assert_eq!(render(source).unwrap(), "2 brief. role,content, True 4");
}

#[test]
fn json_is_written_as_python_writes_it() {
    let chat = template(
        "{{ tools | tojson }}\n{{ tools | tojson(indent=2) }}\n{{ tools | tojson(separators=(',', ':'), sort_keys=true, \
         ensure_ascii=true) }}",
    )
    .unwrap();
    let options = ChatOptions {
        tools: Some(json!([{"name": "b<é>'", "a": {"x": [1, 2.5, true, null], "e": [], "o": {}}}])),
        ..options()
    };
    // What json.dumps gives for the same value.
    expect_test::expect![[r#"
        [{"name": "b<é>'", "a": {"x": [1, 2.5, true, null], "e": [], "o": {}}}]
        [
          {
            "name": "b<é>'",
            "a": {
              "x": [
                1,
                2.5,
                true,
                null
              ],
              "e": [],
              "o": {}
            }
          }
        ]
        [{"a":{"e":[],"o":{},"x":[1,2.5,true,null]},"name":"b<\u00e9>'"}]"#]]
    .assert_eq(&chat.render(&[], &options).unwrap());
}

#[test]
fn the_date_is_the_one_given() {
    assert_eq!(
        render("{{ strftime_now('%d %b %Y') }}").unwrap(),
        "31 Dec 2024"
    );
}

#[test]
fn generation_blocks_print_what_is_in_them() {
    let source =
        "a{%- generation -%} {{ 'b' }} {%- endgeneration %}c{% generation %}d{% endgeneration %}";
    assert_eq!(render(source).unwrap(), "abcd");
}

#[test]
fn a_prefill_stands_behind_the_prompt_as_it_is() {
    let chat = template("{% if add_generation_prompt %}A: {% endif %}").unwrap();
    let options = ChatOptions {
        prefill: "{\"x\": {{ 1 }}".into(),
        ..options()
    };
    assert_eq!(chat.render(&[], &options).unwrap(), "A: {\"x\": {{ 1 }}");
}

#[test]
fn variables_reach_the_template_and_messages_are_not_shadowed() {
    let chat = template("{{ enable_thinking }} {{ messages | length }}").unwrap();
    let mut options = options();
    options
        .variables
        .insert("enable_thinking".into(), json!(false));
    options
        .variables
        .insert("messages".into(), json!("nonsense"));
    assert_eq!(chat.render(&[], &options).unwrap(), "False 0");
}

#[test]
fn named_templates_are_chosen_by_name() {
    let config = json!({"chat_template": [
        {"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]})
    .to_string();
    let text = |name| {
        let chat = ChatTemplate::from_tokenizer_config(&config, name)?;
        chat.render(&[], &options())
    };
    assert_eq!(text(None).unwrap(), "D");
    assert_eq!(text(Some("tool_use")).unwrap(), "T");
    assert_eq!(
        text(Some("rag")).unwrap_err().to_string(),
        "there is no chat template \"rag\"; there are default, tool_use"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let config = |json: &str| {
        ChatTemplate::from_tokenizer_config(json, None)
            .unwrap_err()
            .to_string()
    };
    let errors = [
        config("{\n oops"),
        config("{}"),
        config("{\"chat_template\": 3}"),
        config("{\"chat_template\": [{\"name\": \"x\"}]}"),
        render("a\nb {% if %}").unwrap_err().to_string(),
        render("a\n{{ 'x' | nofilter }}").unwrap_err().to_string(),
        render("a\n\n{{ missing.attribute }}")
            .unwrap_err()
            .to_string(),
        render("a\n{{ raise_exception('Roles must ' ~ 'alternate') }}")
            .unwrap_err()
            .to_string(),
        render("{{ strftime_now('%Q') }}").unwrap_err().to_string(),
        render("{{ messages | tojson(spaces=3) }}")
            .unwrap_err()
            .to_string(),
    ];
    expect_test::expect![[r#"
        tokenizer_config.json: key must be a string at line 2 column 2
        the model has no chat template: tokenizer_config.json has no chat_template; give a plain prompt instead
        tokenizer_config.json: chat_template is neither a string nor a list of objects with name and template
        tokenizer_config.json: chat_template is neither a string nor a list of objects with name and template
        the chat template cannot be read, line 2: syntax error: unexpected end of block
        the chat template cannot be read, line 2: unknown filter: filter nofilter is unknown
        the chat template failed in line 3: undefined value: `missing` is undefined
        the chat template refuses the conversation: Roles must alternate
        the chat template failed in line 1: invalid operation: strftime_now: the directive %Q is not supported
        the chat template failed in line 1: too many arguments: unknown keyword argument 'spaces'"#]].assert_eq(&errors.join("\n"));
}

#[test]
fn endless_and_bottomless_templates_are_stopped() {
    let nested = "{% for a in range(9999) %}".repeat(4) + "x" + &"{% endfor %}".repeat(4);
    assert!(matches!(render(&nested), Err(ChatError::Render { .. })));
    let recursive = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
    assert!(matches!(render(recursive), Err(ChatError::Render { .. })));
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(render(&deep).is_err());
    assert!(render("{{ 'x' * 99999999999 }}").is_err());
}
