//! Which keywords are named where no value is valid, or where one is not, and what is checked for misspellings.

use structgen_frontend::json_schema::{
    Profile, SchemaError, SchemaLimits, SchemaOptions, Violation, compile_str, violations,
};

/// The keywords named for an unsatisfiable schema.
#[track_caller]
fn conflicts(schema: &str, options: &SchemaOptions) -> Vec<String> {
    match compile_str(schema, options) {
        Err(SchemaError::Unsatisfiable { conflicts, .. }) => conflicts,
        other => panic!("{schema}: {other:?}"),
    }
}

#[test]
fn what_a_negation_contradicts_is_named() {
    let both = r#"{"allOf": [{"not": {"type": "string"}}, {"type": "string"}]}"#;
    assert_eq!(
        conflicts(both, &SchemaOptions::new()),
        ["#/allOf", "#/allOf/0/not", "#/allOf/1/type"]
    );
    let twice = r#"{"not": {"not": {"minimum": 5, "maximum": 3, "type": "number"}}}"#;
    assert_eq!(
        conflicts(twice, &SchemaOptions::new()),
        [
            "#/not",
            "#/not/not/minimum",
            "#/not/not/maximum",
            "#/not/not/type"
        ]
    );
    let key = r#"{
        "not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "required": ["b"]
    }"#;
    assert_eq!(
        conflicts(key, &SchemaOptions::new()),
        ["#/required", "#/not"]
    );
}

#[test]
fn items_that_are_needed_but_not_allowed_are_named() {
    let all = |schema: &str| conflicts(schema, &SchemaOptions::new());
    let types =
        r#"{"type": "array", "items": {"type": "object"}, "contains": {"enum": ["A", null]}}"#;
    assert_eq!(
        all(types),
        [
            "#/type",
            "#/items",
            "#/contains",
            "#/items/type",
            "#/contains/enum"
        ]
    );
    let values = all(
        r#"{"type": "array", "items": {"enum": [1, 2]}, "contains": {"minimum": 3, "type": "number"}}"#,
    );
    assert!(
        values.contains(&"#/contains/minimum".to_owned()),
        "{values:?}"
    );
    let prefix = all(
        r#"{"type": "array", "prefixItems": [{"type": "null"}, {"type": "null"}, {"type": "string"}],
            "items": {"type": "string"}, "contains": {"type": "null"}, "minContains": 3}"#,
    );
    assert!(prefix.contains(&"#/contains".to_owned()), "{prefix:?}");
    let enough = r#"{"type": "array", "prefixItems": [{}, {"type": "null"}, {"type": "string"}],
        "items": {"type": "string"}, "contains": {"type": "null"}, "minContains": 2}"#;
    assert!(compile_str(enough, &SchemaOptions::new()).is_ok());
}

#[test]
fn a_number_beyond_a_double_is_not_called_no_json() {
    for (schema, column) in [
        (r#"{"maximum": 1e400}"#, 17),
        (r#"{"const": 1e1000}"#, 16),
        (r#"{"minimum": -1e1000}"#, 19),
    ] {
        let error = compile_str(schema, &SchemaOptions::new()).unwrap_err();
        assert_eq!(
            error,
            SchemaError::NumberTooLarge { line: 1, column },
            "{schema}"
        );
        assert!(error.to_string().contains("about 1.8e308"), "{error}");
    }
    let error = violations("{}", "", &SchemaOptions::new(), "[1e400]").unwrap_err();
    assert!(
        error.to_string().contains("a number of the value"),
        "{error}"
    );
}

/// The violation of a union, and those of its most promising schema.
#[track_caller]
fn of_union(schema: &str, value: &str) -> (String, Vec<String>) {
    let found = violations(schema, "", &SchemaOptions::new(), value).unwrap();
    let [union] = &found[..] else {
        panic!("{found:?}");
    };
    let shown = |it: &Violation| format!("{} {}", it.instance, it.demand);
    let causes = union.causes.iter().map(|it| shown(it).trim().to_owned());
    (union.demand.clone(), causes.collect())
}

#[test]
fn the_reason_is_that_of_the_schema_that_fails_last_in_the_text() {
    let object =
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}"#;
    let cat =
        r#"{"properties": {"k": {"const": "cat"}, "b": {"type": "string"}}, "required": ["k"]}"#;
    let dog =
        r#"{"properties": {"k": {"const": "dog"}, "b": {"type": "string"}}, "required": ["k"]}"#;
    let null = r#"{"type": "null"}"#;
    let string = r#"{"type": "string"}"#;
    let nested = r#"{"oneOf": [{"type": "null"}, {"properties": {"a": {"maximum": 3}}}]}"#;
    for (one, other, value, cause) in [
        (string, object, r#"{"a": "x"}"#, "/a must be an integer"),
        (null, object, r#"{"b": "x"}"#, "must have the key \"a\""),
        (cat, dog, r#"{"k": "dog", "b": 3}"#, "/b must be a string"),
        (cat, dog, r#"{"b": 3, "k": "dog"}"#, "/b must be a string"),
        (
            string,
            nested,
            r#"{"a": 7}"#,
            " must be valid under exactly one of the schemas of `oneOf`",
        ),
    ] {
        for keyword in ["anyOf", "oneOf"] {
            for (first, second) in [(one, other), (other, one)] {
                let schema = format!(r#"{{"{keyword}": [{first}, {second}]}}"#);
                let (demand, causes) = of_union(&schema, value);
                assert_eq!(causes, [cause.trim()], "{schema}");
                assert!(!demand.contains("2 schemas"), "{demand}");
            }
        }
    }
}

#[test]
fn schemas_that_fail_together_are_counted() {
    let schema = r#"{"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "number"}]}"#;
    let (demand, causes) = of_union(schema, "{}");
    assert_eq!(
        demand,
        "must be valid under one of the 3 schemas of `anyOf`"
    );
    assert_eq!(causes, ["must be a string"]);
    // Fewer violations are better.
    let schema = r#"{"anyOf": [{"required": ["a", "b"]}, {"required": ["c"]}]}"#;
    let (demand, causes) = of_union(schema, "{}");
    assert_eq!(demand, "must be valid under one of the schemas of `anyOf`");
    assert_eq!(causes, ["must have the key \"c\""]);
}

#[test]
fn the_search_for_contradictions_shares_the_limit_on_steps() {
    let schema = r#"{"type": "array", "minItems": 1, "items": {"allOf": [
        {"type": "string", "minLength": 5}, {"maxLength": 3}
    ]}}"#;
    let all = conflicts(schema, &SchemaOptions::new());
    assert_eq!(all.len(), 7, "{all:?}");
    let limited = |max_steps| {
        let limits = SchemaLimits {
            max_steps,
            ..SchemaLimits::default()
        };
        compile_str(schema, &SchemaOptions::new().with_limits(limits)).expect_err("no value")
    };
    let mut counts = Vec::new();
    for max_steps in 0..1_000 {
        match limited(max_steps) {
            SchemaError::Limit { .. } => assert!(counts.is_empty(), "{max_steps}"),
            error => {
                let message = error.to_string();
                let SchemaError::Unsatisfiable { conflicts, .. } = error else {
                    panic!("{message}");
                };
                assert!(all.starts_with(&conflicts), "{conflicts:?}");
                assert_eq!(message.contains("contradicting"), !conflicts.is_empty());
                counts.push(conflicts.len());
            }
        }
    }
    assert!(counts.is_sorted());
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&7)));
}

#[test]
fn alternatives_of_a_negation_are_checked_for_misspellings() {
    let schema =
        r#"{"not": {"allOf": [{"required": ["a"], "minProprties": 2}, {"required": ["b"]}]}}"#;
    let error = compile_str(schema, &SchemaOptions::new().with_strict(true)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "#/not/allOf/0/minProprties: `minProprties` is not a keyword and asserts nothing; did you mean `minProperties`?"
    );
    let report = compile_str(schema, &SchemaOptions::new()).unwrap().report;
    let pointers: Vec<String> = report.entries.iter().map(|it| it.pointer()).collect();
    for pointer in ["#/not/allOf/0/required", "#/not/allOf/1/required"] {
        assert!(pointers.iter().any(|it| it == pointer), "{pointers:?}");
    }
}

#[test]
fn what_is_left_out_of_a_format_contradicts_nothing() {
    let of = |schema: &str, profile| {
        let options = SchemaOptions::new().with_profile(profile);
        compile_str(schema, &options)
            .expect_err("no value")
            .to_string()
    };
    let schema =
        r#"{"type": "string", "maxLength": 3, "format": "hostname", "pattern": "^xn--[a-z0-9]+$"}"#;
    let message = of(schema, Profile::Exact);
    assert!(message.contains("#/maxLength"), "{message}");
    assert!(!message.contains("#/format"), "{message}");
    // Each variant leaves out what could be of the other one.
    let variants = r#"{"required": ["a", "b"], "oneOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
    ]}"#;
    let message = of(variants, Profile::Rust);
    assert!(message.contains("left out"), "{message}");
}
