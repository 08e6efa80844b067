//! A grammar written in GBNF has the same texts as the original.

use structgen_algebra::{AlgebraError, AlgebraLimits, Plain, Sampler, difference, plain, to_gbnf};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_frontend::json_schema::{KeyOrder, Profile, SchemaOptions, compile_str};
use structgen_frontend::regex::{self, RegexOptions};
use structgen_grammar::{Expr, Grammar, GrammarBuilder, JsonForm, Whitespace};

fn of_regex(pattern: &str, options: RegexOptions) -> Grammar {
    let set = regex::parse(pattern, options).expect("a pattern");
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.expr(Expr::Regular(set));
    builder.define(root, body);
    builder.finish(root, JsonForm::generate())
}

fn of_schema(schema: &str, options: &SchemaOptions) -> Grammar {
    compile_str(schema, options).expect("a schema").grammar
}

/// Writes the grammar in GBNF and parses it again.
fn again(grammar: &Grammar) -> (Grammar, String) {
    let limits = AlgebraLimits::default();
    let Plain { grammar, .. } = plain(grammar, &limits).expect("it is plain");
    let text = to_gbnf(&grammar, &limits).expect("it can be written");
    let strict = GbnfOptions {
        strict: true,
        ..GbnfOptions::default()
    };
    let read = gbnf::parse(&text, &strict);
    (read.unwrap_or_else(|error| panic!("{error}\n{text}")), text)
}

#[track_caller]
fn same(what: &str, grammar: &Grammar) {
    let (read, text) = again(grammar);
    let found = difference(grammar, &read, &AlgebraLimits::default());
    let witness = found.unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
    assert_eq!(witness, None, "{what}\n{text}");
}

#[test]
fn patterns() {
    for pattern in [
        "abc",
        "",
        "(a|b)*abb",
        "[a-z]{2,5}-[0-9]+",
        r"\w+",
        "é|日本|[😀-😂]{2}",
        r"(?i)größe",
        r#"["\\\]^-]+"#,
        r"\ba\b.*",
        "(?s).*",
        r"[^\n]{0,40}\n",
        r"\p{Lu}\p{Ll}+",
        r"(cat|dog)\b(, )?",
    ] {
        same(pattern, &of_regex(pattern, RegexOptions::rust()));
    }
    for pattern in [
        "^(?!.*foo).*$",
        r"^(?=.*\d)[a-z\d]{2,4}$",
        "b$",
        r"^\d{4}$|x",
        "(?<=a)b",
    ] {
        same(pattern, &of_regex(pattern, RegexOptions::json_schema()));
    }
}

const SCHEMAS: [&str; 22] = [
    r#"{"type": "null"}"#,
    r#"{"enum": ["a", "b\"c", 1, null, [true], {"x": 1}]}"#,
    r#"{"type": "boolean"}"#,
    r#"{"type": "integer"}"#,
    r#"{"type": "integer", "minimum": -3, "maximum": 120}"#,
    r#"{"type": "number", "multipleOf": 0.25, "minimum": 0, "maximum": 3}"#,
    r#"{"type": "string"}"#,
    r#"{"type": "string", "minLength": 1, "maxLength": 3}"#,
    r#"{"type": "string", "pattern": "^[a-c]+$"}"#,
    r#"{"type": "string", "format": "date"}"#,
    r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"], "additionalProperties": false}"#,
    r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}, "d": {"const": 4}}, "additionalProperties": false}"#,
    r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}, "d": {"const": 4}}, "required": ["b"], "additionalProperties": false}"#,
    r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}, "d": {"const": 4}}, "minProperties": 1, "maxProperties": 2, "additionalProperties": false}"#,
    r#"{"type": "object", "additionalProperties": false}"#,
    r#"{"type": "array", "items": {"enum": [1, 2]}}"#,
    r#"{"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 4}"#,
    r#"{"type": "array", "prefixItems": [{"const": 1}, {"const": 2}, {"const": 3}], "items": {"const": 4}, "minItems": 1, "maxItems": 5}"#,
    r#"{"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": false}"#,
    r#"{"type": "array", "items": {"const": 1}, "maxItems": 0}"#,
    r#"{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"é": {"const": null}}, "additionalProperties": false}}}, "required": ["a"], "additionalProperties": false}"#,
    r#"{"anyOf": [{"type": "string", "maxLength": 1}, {"type": "object", "properties": {"k": {"enum": ["x", "y"]}}, "required": ["k"], "additionalProperties": false}]}"#,
];

#[test]
fn schemas_in_all_forms_that_need_no_memory() {
    let options = SchemaOptions::new();
    let mut left_out = Vec::new();
    for schema in SCHEMAS {
        let compact = options.clone().with_whitespace(Whitespace::Compact);
        let one = options.clone().with_whitespace(Whitespace::OneSpace);
        let exact = options
            .clone()
            .with_profile(Profile::Exact)
            .with_order(KeyOrder::Declared)
            .with_whitespace(Whitespace::Bounded { max: 2 });
        for form in [&options, &compact, &one] {
            same(schema, &of_schema(schema, form));
        }
        // Numbers in every form, with up to forty digits and exponents, have too many states.
        let grammar = of_schema(schema, &exact);
        let limits = AlgebraLimits {
            states: 3_000,
            ..AlgebraLimits::default()
        };
        match plain(&grammar, &limits) {
            Err(AlgebraError::Limit(_)) => left_out.push(schema),
            _ => {
                same(schema, &grammar);
            }
        }
    }
    assert!(left_out.len() < 9, "{left_out:#?}");
}

#[test]
fn grammars_that_are_read_and_written() {
    for text in [
        "root ::= \"a\" (\"b\" | \"c\"+)* [^\"\\\\\\x00-\\x1F]{2,3} .?",
        "root ::= a | \"\"\na ::= [\\]\\[^-] root-2{0,2}\nroot-2 ::= \"\\\"\" | \"\\n\\t\\x7F\\u200D\"",
        "root ::= (((\"a\" | \"b\"){2} | \"c\")? \"d\")+",
    ] {
        let grammar = gbnf::parse(text, &GbnfOptions::default()).expect("a grammar");
        same(text, &grammar);
    }
    // Grammars that nest without bound are compared by sampling.
    let text = "root ::= root \"+\" t | t\nt ::= [0-9]+ | \"(\" root \")\"";
    let grammar = gbnf::parse(text, &GbnfOptions::default()).expect("a grammar");
    let (read, written) = again(&grammar);
    for (one, other) in [(&grammar, &read), (&read, &grammar)] {
        let mut sampler = Sampler::new(one, 3, &AlgebraLimits::default()).expect("there are texts");
        for _ in 0..200 {
            let sample = sampler.sample(30).expect("within the limits");
            let sample = String::from_utf8(sample).expect("UTF-8");
            let only = of_regex(&regex_of(&sample), RegexOptions::rust());
            let limits = AlgebraLimits::default();
            let outside = structgen_algebra::only_in(&only, other, &limits);
            assert_eq!(outside, Ok(None), "{sample}\n{written}");
        }
    }
}

/// A pattern that matches one text.
fn regex_of(text: &str) -> String {
    text.chars()
        .map(|c| format!("\\x{{{:X}}}", u32::from(c)))
        .collect()
}

#[test]
fn names_are_those_that_llama_cpp_takes() {
    let text = "root ::= a_b | a-b | __ | _1\na_b ::= \"x\" root\na-b ::= \"y\" root\n__ ::= \"z\" root\n_1 ::= \"\"";
    let grammar = gbnf::parse(text, &GbnfOptions::default()).expect("a grammar");
    let (_, written) = again(&grammar);
    for line in written.lines() {
        let (name, _) = line.split_once(" ::= ").expect("a rule");
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(name.chars().all(is_valid), "{written}");
    }
    for name in ["a-b ", "a-b-2 ", "rule ", "1 "] {
        assert!(written.contains(name), "{name}: {written}");
    }
}

#[test]
fn deep_groups_become_rules() {
    let text = format!(
        "root ::= {}\"a\"{}",
        "(\"b\" | (".repeat(48),
        "\"c\")?)".repeat(48)
    );
    let options = GbnfOptions {
        max_nesting: 200,
        ..GbnfOptions::default()
    };
    let grammar = gbnf::parse(&text, &options).expect("a grammar");
    same("deep", &grammar);
}

#[test]
fn what_takes_a_memory_is_refused_by_name() {
    let options = SchemaOptions::new();
    let any = options.clone().with_order(KeyOrder::Any);
    let indented = options.clone().with_whitespace(Whitespace::Indented {
        indent: structgen_grammar::Indent::Tab,
    });
    let two = r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "additionalProperties": false}"#;
    for (schema, options, what) in [
        (two, &any, "that keys come in any order, each once"),
        (two, &indented, "indentation by depth"),
        (
            r#"{"type": "object", "additionalProperties": {"type": "null"}}"#,
            &options,
            "that no undeclared key comes twice",
        ),
        (
            r#"{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}"#,
            &options,
            "that no item comes twice",
        ),
        (
            r#"{"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}}"#,
            &options,
            "counting the items of a kind",
        ),
    ] {
        let grammar = of_schema(schema, options);
        let refused = plain(&grammar, &AlgebraLimits::default());
        assert_eq!(refused.unwrap_err(), AlgebraError::Memory(what), "{schema}");
    }
}

#[test]
fn nesting_that_a_form_bounds_is_said() {
    let list = r##"{"$ref": "#/$defs/l", "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}}"##;
    let made = plain(
        &of_schema(list, &SchemaOptions::new()),
        &AlgebraLimits::default(),
    );
    assert_eq!(made.unwrap().deeper_than, Some(64));
    let flat = r#"{"type": "array", "items": {"type": "array", "items": {"const": 1}}}"#;
    let made = plain(
        &of_schema(flat, &SchemaOptions::new()),
        &AlgebraLimits::default(),
    );
    assert_eq!(made.unwrap().deeper_than, None);
}

#[test]
fn tokens_and_bytes_that_are_no_text() {
    let limits = AlgebraLimits::default();
    let text = "root ::= <think> [a-z]* <[7]>\n";
    let grammar = gbnf::parse(text, &GbnfOptions::default()).expect("a grammar");
    let plain_grammar = plain(&grammar, &limits).expect("tokens are plain").grammar;
    assert_eq!(to_gbnf(&plain_grammar, &limits).as_deref(), Ok(text));
    assert_eq!(
        structgen_algebra::count(&grammar, &limits),
        Err(AlgebraError::Token("<[7]>".to_owned()))
    );

    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.bytes([0xFF]);
    builder.define(root, body);
    let grammar = builder.finish(root, JsonForm::generate());
    assert_eq!(plain(&grammar, &limits), Err(AlgebraError::NoCharacters));
}
