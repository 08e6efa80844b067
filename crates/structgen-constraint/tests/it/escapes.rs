//! How characters of strings are written: escapes, surrogates, control characters, and characters cut into bytes.

use structgen_constraint::CompiledConstraint;
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};

use crate::support::compile;

/// What strings are put together from, some of it only right beside something else.
const PIECES: [&[u8]; 25] = [
    b"a",
    b"e",
    "\u{e9}".as_bytes(),
    "\u{1f600}".as_bytes(),
    b"\\u0061",
    b"\\u00E9",
    b"\\u00e9",
    b"\\uD83D",
    b"\\ude00",
    b"\\uDE00",
    b"\\ud83d\\ude00",
    b"\\u0000",
    b"\\u00g0",
    b"\\u61",
    b"\\n",
    b"\\/",
    b"\\\"",
    b"\\\\",
    b"\\x",
    b"\\",
    b"\"",
    b"\n",
    b"\x1f",
    b"\xC3",
    b"\xA9",
];

fn exact(schema: &str) -> CompiledConstraint {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    compile(json_schema::compile_str(schema, &options).unwrap().grammar)
}

#[test]
fn every_way_to_write_a_character_is_taken_and_nothing_else() {
    type Member = fn(&str) -> bool;
    let schemas: [(&str, Member); 4] = [
        (r#"{"type": "string"}"#, |_| true),
        (r#"{"type": "string", "maxLength": 2}"#, |text| {
            text.chars().count() <= 2
        }),
        (r#"{"enum": ["\u00e9", "a\ud83d\ude00", "\"\n"]}"#, |text| {
            ["\u{e9}", "a\u{1f600}", "\"\n"].contains(&text)
        }),
        (r#"{"type": "string", "pattern": "^a.?$"}"#, |text| {
            text.starts_with('a') && text.chars().count() <= 2 && !text.contains('\n')
        }),
    ];
    for (schema, member) in schemas {
        let constraint = exact(schema);
        let (mut taken, mut refused) = (0, 0);
        for first in PIECES {
            for second in PIECES {
                for third in PIECES {
                    let text = [b"\"", first, second, third, b"\""].concat();
                    let value: Result<String, _> = serde_json::from_slice(&text);
                    let expected = value.as_ref().is_ok_and(|value| member(value));
                    let found = constraint.matcher().check_text(&text).unwrap();
                    let shown = String::from_utf8_lossy(&text);
                    assert_eq!(found.is_none(), expected, "{schema} {shown}: {found:?}");
                    match expected {
                        true => taken += 1,
                        false => refused += 1,
                    }
                }
            }
        }
        assert!(taken > 0 && refused > 1_000, "{schema}: {taken}, {refused}");
    }
}

#[test]
fn keys_are_the_same_however_they_are_written() {
    let constraint = exact(
        r#"{"properties": {"\u00e9": {"type": "integer"}}, "required": ["\u00e9"], "additionalProperties": {"type": "boolean"}}"#,
    );
    let takes = |text: &str| {
        constraint
            .matcher()
            .check_text(text.as_bytes())
            .unwrap()
            .is_none()
    };
    for key in ["\u{e9}", r"\u00e9", r"\u00E9"] {
        assert!(takes(&format!(r#"{{"{key}":1}}"#)), "{key}");
        assert!(!takes(&format!(r#"{{"{key}":true}}"#)), "{key}");
        assert!(!takes(&format!(r#"{{"{key}":1,"\u00e9":1}}"#)), "{key}");
    }
    for other in ["e", r"\u0065", r"\ud83d\ude00", r"e\u0301"] {
        assert!(
            takes(&format!(r#"{{"\u00e9":1,"{other}":true}}"#)),
            "{other}"
        );
        assert!(!takes(&format!(r#"{{"{other}":true}}"#)), "{other}");
    }
    for wrong in [r"\ud83d", r"\ude00", r"\ude00\ud83d", r"\x", "\u{1}"] {
        assert!(
            !takes(&format!(r#"{{"\u00e9":1,"{wrong}":true}}"#)),
            "{wrong}"
        );
    }
}
