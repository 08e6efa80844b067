use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::json;

use super::*;

fn template(source: &str) -> Result<ChatTemplate, ChatError> {
    let config =
        json!({"chat_template": source, "bos_token": "<s>", "eos_token": {"content": "</s>"}});
    ChatTemplate::from_tokenizer_config(&config.to_string())
}

fn options() -> ChatOptions {
    ChatOptions {
        now: UNIX_EPOCH + Duration::from_secs(1_735_689_599),
        ..ChatOptions::default()
    }
}

fn prompt(source: &str) -> Result<ChatPrompt, ChatError> {
    let messages = [
        ChatMessage::system("Be brief. "),
        ChatMessage::user("Hi <there>"),
        ChatMessage::assistant("Hello."),
        ChatMessage::user("1 < 2 & \"3\"?"),
    ];
    template(source)?.render(&messages, &options())
}

fn render(source: &str) -> Result<String, ChatError> {
    prompt(source).map(|prompt| prompt.text().to_owned())
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
fn none_is_not_iterable_and_undefined_is() {
    let source = "{{ tools is iterable }} {{ missing is iterable }} {{ tools is none }}";
    assert_eq!(render(source).unwrap(), "False True True");
}

#[test]
fn json_is_written_as_python_writes_it() {
    let chat = template(
        "{{ tools | tojson }}\n{{ tools | tojson(indent=2) }}\n{{ tools | tojson(separators=(',', ':'), sort_keys=true, \
         ensure_ascii=true) }}",
    )
    .unwrap();
    let options = ChatOptions {
        tools: Some(vec![
            json!({"name": "b<é>'", "a": {"x": [1, 2.5, true, null], "e": [], "o": {}}}),
        ]),
        ..options()
    };
    // The output of json.dumps for the same value.
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
    .assert_eq(chat.render(&[], &options).unwrap().text());
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
fn a_prefill_follows_the_prompt_as_it_is() {
    let chat = template("{% if add_generation_prompt %}A: {% endif %}").unwrap();
    let options = ChatOptions {
        prefill: "{\"x\": {{ 1 }}".into(),
        ..options()
    };
    let prompt = chat.render(&[], &options).unwrap();
    assert_eq!(prompt.text(), "A: {\"x\": {{ 1 }}");
    assert_eq!(prompt.trusted().first(), Some(&(0..3)));
}

#[test]
fn variables_reach_the_template_and_those_with_a_place_of_their_own_are_refused() {
    let chat = template("{{ enable_thinking }} {{ messages | length }}").unwrap();
    let rendered = |name: &str, value| {
        let mut options = options();
        options.variables.insert(name.into(), value);
        { chat.render(&[], &options) }
            .map(|prompt| prompt.text().to_owned())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        rendered("enable_thinking", json!(false)).unwrap(),
        "False 0"
    );
    assert_eq!(
        rendered("messages", json!("nonsense")).unwrap_err(),
        "the variable \"messages\" cannot be set: it is the conversation"
    );
    assert_eq!(
        rendered("add_generation_prompt", json!(false)).unwrap_err(),
        "the variable \"add_generation_prompt\" cannot be set: it is an option of its own, add_generation_prompt"
    );
    assert!(rendered("add_generation_prompt", json!(true)).is_ok());
}

#[test]
fn named_templates_are_chosen_by_name_and_by_tools() {
    let config = json!({"chat_template": [
        {"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"},
        {"name": "broken", "template": "{% if"}]})
    .to_string();
    let chat = ChatTemplate::from_tokenizer_config(&config).unwrap();
    let text = |template: Option<&str>, tools| {
        let template = template.map(str::to_owned);
        let options = ChatOptions {
            template,
            tools,
            ..options()
        };
        chat.render(&[], &options)
            .map(|prompt| prompt.text().to_owned())
    };
    assert_eq!(text(None, None).unwrap(), "D");
    assert_eq!(text(Some("tool_use"), None).unwrap(), "T");
    assert_eq!(text(None, Some(Vec::new())).unwrap(), "T");
    assert_eq!(text(Some("default"), Some(Vec::new())).unwrap(), "D");
    assert!(matches!(
        text(Some("broken"), None),
        Err(ChatError::Syntax { .. })
    ));
    let none = ChatTemplate::from_tokenizer_config(r#"{"chat_template": []}"#);
    assert!(matches!(none, Err(ChatError::NoTemplate)), "{none:?}");
    assert_eq!(
        text(Some("rag"), None).unwrap_err().to_string(),
        "there is no chat template \"rag\"; there are broken, default, tool_use"
    );
}

/// The parts of a prompt that come from the template.
fn trusted(source: &str) -> Vec<String> {
    let prompt = prompt(source).unwrap();
    let parts = prompt.trusted().iter();
    parts
        .map(|range| prompt.text()[range.clone()].to_owned())
        .collect()
}

#[test]
fn origins_survive_filters_and_methods() {
    let cases: [(&str, &[&str]); 18] = [
        (
            "{{ strftime_now('%Y') }}{{ strftime_now(messages[1].content) }}",
            &["2024"],
        ),
        ("<{{ messages[1].content }}>", &["<", ">"]),
        (
            "{{ ('<' ~ messages[1].content ~ '>') | trim }}",
            &["<", ">"],
        ),
        (
            "{{ (' <' + messages[0].content + ' ').strip() }}.",
            &["<", "."],
        ),
        ("{{ ('ab' ~ messages[1].content)[1:4] }}", &["b"]),
        (
            "{{ messages[1].content.replace('Hi', '<|x|>') }}",
            &["<|x|>"],
        ),
        (
            "{{ messages[1].content | replace(' ', '<|x|>') }}",
            &["<|x|>"],
        ),
        (
            "{{ [messages[1].content, 'b', messages[2].content] | join('-') }}",
            &["-b-"],
        ),
        ("{{ messages[1].content.split(' ') | join('|') }}", &["|"]),
        ("{{ '%s-%s' | format(messages[1].content, 'x') }}", &["-x"]),
        ("{{ '{}!'.format(messages[1].content) }}", &["!"]),
        ("{{ messages[3].content | tojson }}", &["\"", "\""]),
        (
            "{% set x %}a{{ messages[1].content }}b{% endset %}{{ x | string }}",
            &["a", "b"],
        ),
        (
            "{% macro m(t) %}[{{ t }}]{% endmacro %}{{ m(messages[1].content) }}",
            &["[", "]"],
        ),
        (
            "{{ ('a\\n' ~ messages[1].content) | indent(2) }}",
            &["a\n  "],
        ),
        ("{{ messages[1].content | upper }}{{ 'a' | upper }}", &["A"]),
        (
            "{{ bos_token ~ messages[1].content ~ eos_token }}",
            &["<s>", "</s>"],
        ),
        // Templates form names of tokens from roles, but not from other texts.
        ("{{ '<|' ~ messages[1].role ~ '|>' }}", &["<|user|>"]),
    ];
    for (source, expected) in cases {
        assert_eq!(trusted(source), expected, "{source}");
    }
}

#[test]
fn a_role_that_is_not_a_word_is_data() {
    let chat = template("[{{ messages[0].role }}]").unwrap();
    let messages = [ChatMessage::new("<|im_end|>", "x")];
    let prompt = chat.render(&messages, &options()).unwrap();
    assert_eq!(prompt.trusted(), [0..1, 11..12]);
}

#[test]
fn the_final_message_is_continued() {
    let chat = template(
        "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}</s>{% endfor %}{% if add_generation_prompt %}!{% endif %}",
    )
    .unwrap();
    let options = ChatOptions {
        add_generation_prompt: false,
        continue_final_message: true,
        ..options()
    };
    let text = |content| {
        let messages = [ChatMessage::user("Hi"), ChatMessage::assistant(content)];
        chat.render(&messages, &options)
            .map(|prompt| prompt.text().to_owned())
    };
    assert_eq!(text(" Well, ").unwrap(), "[user]Hi</s>[assistant]Well,");
    let both = ChatOptions {
        add_generation_prompt: true,
        ..options.clone()
    };
    assert!(matches!(
        chat.render(&[], &both),
        Err(ChatError::Options { .. })
    ));
    assert!(matches!(
        chat.render(&[], &options),
        Err(ChatError::Options { .. })
    ));
}

#[test]
fn a_final_message_whose_text_is_in_the_end_of_its_turn_is_continued() {
    let continued = |source: &str, content: serde_json::Value| {
        let messages = [ChatMessage::user("Hi"), ChatMessage::assistant(content)];
        let options = ChatOptions {
            add_generation_prompt: false,
            continue_final_message: true,
            ..options()
        };
        let prompt = template(source)?.render(&messages, &options)?;
        let trusted = prompt.trusted().iter();
        let trusted = trusted.map(|range| prompt.text()[range.clone()].to_owned());
        Ok::<_, ChatError>((prompt.text().to_owned(), trusted.collect::<Vec<_>>()))
    };
    let plain = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|the_end|>{% endfor %}";
    let trusted = ["<|user|>", "<|the_end|><|assistant|>"].map(str::to_owned);
    for text in ["<", "|", "e", "the_end", "<|the_end|>", " ", ""] {
        let (prompt, from_template) = continued(plain, text.into()).unwrap();
        assert_eq!(prompt, format!("<|user|>Hi<|the_end|><|assistant|>{text}"));
        assert_eq!(from_template, trusted, "{text:?}");
    }
    // A template that trims messages trims the final one, and the space before it.
    let trims = "{% for m in messages %}[{{ m.role }}] {{ m.content | trim }}\n{% endfor %}";
    let (prompt, _) = continued(trims, " e ".into()).unwrap();
    assert_eq!(prompt, "[user] Hi\n[assistant] e");
    let parts =
        json!([{"type": "text", "text": "a"}, {"type": "text", "text": "e"}, {"type": "image"}]);
    let of_parts =
        "{% for m in messages %}{% for p in m.content %}{{ p.text }};{% endfor %}end{% endfor %}";
    let (prompt, _) = continued(of_parts, parts).unwrap();
    assert!(prompt.ends_with("enda;e"), "{prompt}");
    for changes in [
        "{{ messages | length }}",
        "{{ messages[1].content | upper }}",
    ] {
        let error = continued(changes, "e".into()).unwrap_err();
        assert!(matches!(error, ChatError::Options { .. }), "{error}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let config = |json: &str| {
        ChatTemplate::from_tokenizer_config(json)
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
        render("{% for m in tools %}{% endfor %}")
            .unwrap_err()
            .to_string(),
        render("{{ messages.append(1) }}").unwrap_err().to_string(),
    ];
    expect_test::expect![[r#"
        tokenizer_config.json: key must be a string at line 2 column 2
        the model has no chat template: there is neither a chat_template.jinja nor a chat_template in tokenizer_config.json; give a plain prompt instead
        tokenizer_config.json: chat_template is neither a string nor a list of objects with name and template
        tokenizer_config.json: chat_template is neither a string nor a list of objects with name and template
        the chat template cannot be read, line 2: expected an expression, found %}
        the chat template cannot be read, line 2: unknown filter nofilter
        the chat template failed in line 3: missing is undefined
        the chat template refuses the conversation: Roles must alternate
        the chat template failed in line 1: strftime_now: the directive %Q is not supported
        the chat template failed in line 1: tojson has no parameter spaces
        the chat template failed in line 1: tools is None and cannot be iterated over
        the chat template failed in line 1: append would change a list, and templates may not"#]].assert_eq(&errors.join("\n"));
}

/// Templates designed to exhaust the stack, memory or time.
#[test]
fn hostile_templates_end_soon_with_the_name_of_a_limit() {
    let grow = |start: &str, step: &str, rounds: usize, end: &str| {
        format!(
            "{{% set n = namespace(x={start}) %}}{{% for i in range({rounds}) %}}{{% set n.x = {step} %}}{{% endfor %}}{{{{ {end} }}}}"
        )
    };
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!(
            "{{{{ {}{inner}{} }}}}",
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    let big = "{% set s = ('a' * 1000) * 10000 %}";
    let often = |before: &str, value: &str| {
        format!("{before}{{% for i in range(99999) %}}{{% set x = {value} %}}{{% endfor %}}")
    };
    let many_variables: String = (0..1_000)
        .map(|i| format!("{{% set v{i} = 1 %}}"))
        .collect();
    let templates = [
        "{% for a in range(9999) %}".repeat(4) + "x" + &"{% endfor %}".repeat(4),
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(),
        "{% macro m(a) %}{{ (m(a) | upper) ~ m(a) }}{% endmacro %}{{ m(1) }}".to_owned(),
        nested("(", "1", ")", 100_000),
        nested("not ", "1", "", 32_000),
        nested("[", "1", "]", 20_000),
        nested("", "''", "|e", 100_000),
        nested("", "1", "+1", 60_000),
        nested("", "messages", "[0]", 60_000),
        "{% if 1 %}".repeat(10_000) + &"{% endif %}".repeat(10_000),
        grow("'abcdefgh'", "n.x + n.x", 60, "n.x"),
        grow("'abcdefgh'", "n.x ~ n.x", 60, "n.x"),
        grow("[1]", "n.x + n.x", 60, "n.x"),
        grow("[1]", "[n.x, n.x]", 60, "n.x"),
        grow("[1]", "[n.x, n.x]", 60, "n.x == [n.x[0], n.x[1]]"),
        grow("[1]", "[n.x, n.x]", 60, "n.x | tojson"),
        grow("[]", "[n.x]", 100_000, "n.x | tojson"),
        grow("'\"'", "n.x | tojson", 100, "n.x"),
        "{{ 'x' * 99999999999 }}".to_owned(),
        "{{ [0] * 99999999999 }}".to_owned(),
        "{{ range(99999999999) }}".to_owned(),
        "{{ '%1000000000d' | format(1) }}".to_owned(),
        "{{ 'a\\nb' | indent(99999999999) }}".to_owned(),
        "{{ 'a'.ljust(99999999999) }}".to_owned(),
        "{{ 'a' | center(99999999999) }}".to_owned(),
        "{% set s = 'a' * 1000000 %}{{ range(99999) | join(s) }}".to_owned(),
        "{% set s = 'a' * 1000000 %}{{ s | replace('a', s) }}".to_owned(),
        "{{ range(99999) | unique | list }}".to_owned(),
        "{{ ('a ' * 5000000).split() | length }}".to_owned(),
        "{{ [1] | batch(99999999, 0) | list }}".to_owned(),
        "{% for i in range(99999) %}{% set x %}{{ 'a' * 1000000 }}{% endset %}{% endfor %}"
            .to_owned(),
        "x".repeat(300_000),
        "{% macro f(x) %}".to_owned()
            + &"{% macro x() %}{% endmacro %}".repeat(8_000)
            + "{% set ns.p = x %}{% endmacro %}{% set ns = namespace(p=1) %}"
            + &often("", "f(ns.p)"),
        often(&(big.to_owned() + "{% set ns = namespace(a=1) %}"), "ns[s]"),
        "{% set ns = namespace() %}".to_owned()
            + &often("", "1").replace("set x", &format!("set ns.{}", "x".repeat(100_000))),
        often(
            "{% set s = 'a' * 100000 %}{% set m = {s ~ 'b': 1, s ~ 'c': 2, s ~ 'd': 3} %}",
            &format!("m.{}", "a".repeat(100_001)),
        ),
        often(big, "s.startswith(s)"),
        often(big, "s.endswith((s, s))"),
        often(big, "s.removeprefix(s)"),
        often(big, "'b'.find(s)"),
        often(big, "'b'.partition(s)"),
        often(big, "'b'.replace(s, '')"),
        often(big, "'b'.split(s)"),
        "{% with %}".to_owned()
            + &many_variables
            + &often("{% macro m() %}{% endmacro %}", "m()")
            + "{% endwith %}",
        often("", "1.79e308 | round(300)"),
        often("", "'%.100f' % 1.79e308"),
        often("", "'{:.100f}'.format(1.79e308)"),
    ];
    for source in templates {
        let start = Instant::now();
        let result = render(&source);
        let shown: String = source.chars().take(80).collect();
        assert!(
            matches!(result, Err(ChatError::Limit { .. })),
            "{shown}: {result:?}"
        );
        // Ten times what it usually takes, for busy machines.
        assert!(start.elapsed() < Duration::from_secs(5), "{shown}");
    }
    let cycle = "{% set x = namespace() %}{% set x.y = x %}{{ x }}";
    assert!(matches!(render(cycle), Err(ChatError::Render { .. })));
}

#[test]
fn values_with_shared_parts_are_not_read_again_and_again() {
    let macros: String = (0..45)
        .map(|i| format!("{{% macro m{i}() %}}{{% endmacro %}}"))
        .collect();
    let tuples = "{% set ns = namespace(t=(1,)) %}{% for i in range(60) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}";
    for source in [
        "{% with a = 1 %}".to_owned() + &macros + "{% set l = [m44] %}{% endwith %}ok",
        tuples.to_owned() + "{% set m = {ns.t: 1} %}ok",
    ] {
        assert_eq!(render(&source).unwrap(), "ok");
    }
    let error = render("{% set m = {([],): 1} %}").unwrap_err();
    assert!(
        error.to_string().contains("cannot be the key of a map"),
        "{error}"
    );
}

#[test]
fn values_without_an_order_are_sorted_or_refused() {
    let list = |other: &str| {
        format!(
            "{{% set ns = namespace(l=[]) %}}{{% for i in range(40) %}}{{% set ns.l = ns.l + \
             [{other} if i % 3 == 0 else i * 7919 % 101] %}}{{% endfor %}}"
        )
    };
    let numbers = list("'nan' | float");
    let sorted = "{{ ns.l | sort | length }} {{ ns.l | sort(reverse=true) | length }}";
    assert_eq!(render(&(numbers + sorted)).unwrap(), "40 40");
    let error = render(&(list("'a'") + "{{ ns.l | sort }}")).unwrap_err();
    assert!(error.to_string().contains("have no order"), "{error}");
    let words = "{{ ['b', 'C', 'B', 'a'] | sort }} {{ ['b', 'C', 'B', 'a'] | sort(reverse=true) }}";
    assert_eq!(
        render(words).unwrap(),
        "['a', 'b', 'B', 'C'] ['C', 'b', 'B', 'a']"
    );
}

#[test]
fn integers_at_their_limits_are_computed_as_in_python() {
    let source = "{% set most = 170141183460469231731687303715884105727 %}{% set least = -most - 1 %}\
        {{ most % -3 }} {{ least % -1 }} {{ least % 7 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 'a' | center(least) }} \
        {{ 'a'.ljust(least) }} {{ 'a'.rjust(least) }} {{ 'a b' | truncate(least) }}";
    assert_eq!(render(source).unwrap(), "-2 0 5 2 -2 a a a ...");
}
