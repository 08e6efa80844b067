//! A source that exceeds a limit is refused within bounded memory, all of which is freed.

use structgen_constraint::{CompiledConstraint, ConstraintOptions};
use structgen_frontend::gbnf;
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};
use structgen_grammar::Grammar;

use crate::support::vocabulary;

/// Parses and compiles sources twice, and checks that both attempts are refused by a limit, that the first takes less
/// than 512 MiB, and that all memory of the second is freed. (What is computed only once, such as tables of characters,
/// stays after the first.)
fn check(name: &str, parse: impl Fn() -> Result<Grammar, String>) {
    let tables = vocabulary();
    let options = ConstraintOptions::default();
    let attempt = || {
        let compiled = parse().and_then(|grammar| {
            CompiledConstraint::new(grammar, &tables, &options).map_err(|error| error.to_string())
        });
        compiled.map(drop).expect_err(name)
    };
    let mut refused = String::new();
    let first = allocation_counter::measure(|| refused = attempt());
    assert!(refused.contains("limit"), "{name}: {refused}");
    assert!(
        first.bytes_max < 512 << 20,
        "{name} takes {} bytes",
        first.bytes_max
    );
    let again = allocation_counter::measure(|| drop(attempt()));
    assert_eq!(again.bytes_current, 0, "{name} keeps memory");
}

fn schema(text: &str) -> Result<Grammar, String> {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let compiled = json_schema::compile_str(text, &options);
    compiled
        .map(|it| it.grammar)
        .map_err(|error| error.to_string())
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    let items: Vec<String> = (0..count).map(item).collect();
    items.join(",")
}

#[test]
fn schemas_beyond_a_limit_free_what_they_took() {
    let required = list(200, |i| {
        format!(r#"{{"properties": {{"a{i}": {{"type": "string"}}}}, "required": ["a{i}"]}}"#)
    });
    check("alternatives with a required key each", || {
        schema(&format!(r#"{{"type": "object", "oneOf": [{required}]}}"#))
    });
    let listed = list(10_001, |i| format!("[{i}]"));
    check("listed arrays", || {
        schema(&format!(r#"{{"enum": [{listed}]}}"#))
    });
    let deep = format!("{}{}", r#"{"not": "#.repeat(20_000), "}".repeat(20_000));
    check("nested negations", || schema(&deep));
}

#[test]
fn patterns_and_grammars_beyond_a_limit_free_what_they_took() {
    let grammar =
        |text: &str| gbnf::parse(text, &Default::default()).map_err(|error| error.to_string());
    let text = format!("root ::= \"{}\" | \"b\"", "a".repeat(1 << 20));
    check("a megabyte of text", || grammar(&text));
    let parts = format!("root ::= {} \"b\"", "\"a\"? ".repeat(200_000));
    check("a megabyte of optional parts", || grammar(&parts));
    check("many words of a fixed length", || {
        schema(r#"{"type": "string", "pattern": "^(\\ba{300}\\b ){300}$"}"#)
    });
}
