//! JSON Schema: the first byte chooses how, the rest is the schema.

use serde_json::Value;
use structgen_frontend::json_schema::{
    Draft, FormatMode, KeyOrder, Profile, SchemaLimits, SchemaOptions, compile_str,
};

use crate::SplitMix;
use crate::clock::untimed;
use crate::walk::{self, show};

/// Compiles a schema and generates from it.
/// True when the input was taken and everything was looked at.
///
/// # Panics
/// When what is generated is not JSON or does not fit the schema, or on a dead end.
pub fn json_schema(data: &[u8]) -> bool {
    let Some((&how, schema)) = data.split_first() else {
        return false;
    };
    let Ok(schema) = std::str::from_utf8(schema) else {
        return false;
    };
    let profile = [Profile::Generate, Profile::Rust, Profile::Exact][usize::from(how) % 3];
    let draft = Draft::ALL[usize::from(how / 3) % 5];
    let order = if how & 128 == 0 {
        KeyOrder::Declared
    } else {
        KeyOrder::Any
    };
    // Older drafts know fewer formats, of which the independent validator takes notice and this project does not.
    let formats = if draft >= Draft::Draft7 && how & 64 == 0 && !schema.contains("$schema") {
        FormatMode::Assert
    } else {
        FormatMode::Annotate
    };
    let options = SchemaOptions::new()
        .with_profile(profile)
        .with_draft(draft)
        .with_order(order)
        .with_formats(formats)
        .with_limits(SchemaLimits {
            max_steps: 100_000,
            ..SchemaLimits::default()
        });
    let Ok(compiled) = compile_str(schema, &options) else {
        return false;
    };
    let Ok(constraint) = walk::compile(compiled.grammar) else {
        return false;
    };
    let document = serde_json::from_str(schema).ok();
    let validator = document.and_then(|value| untimed(|| validator(&value, draft, formats)));
    let mut random = SplitMix::new(u64::from(how));
    for _ in 0..3 {
        let Some(text) = walk::text(&constraint, &mut random, 16) else {
            return false;
        };
        let value = match serde_json::from_slice::<Value>(&text) {
            Ok(value) => value,
            // Profile exact has numbers that no f64 has, and deeper nesting than serde_json.
            Err(error) if profile == Profile::Exact && is_limit(&error) => continue,
            Err(error) => panic!("{error}: {}", show(&text)),
        };
        if let Some(validator) = &validator
            && is_exact(&text)
            && is_exact(schema.as_bytes())
            && let Err(error) = untimed(|| validator.validate(&value))
        {
            panic!("{} does not fit: {error}", show(&text));
        }
    }
    true
}

/// An independent validator; none for schemas that it refuses.
pub(crate) fn validator(
    schema: &Value,
    draft: Draft,
    formats: FormatMode,
) -> Option<jsonschema::Validator> {
    let draft = match draft {
        Draft::Draft4 => jsonschema::Draft::Draft4,
        Draft::Draft6 => jsonschema::Draft::Draft6,
        Draft::Draft7 => jsonschema::Draft::Draft7,
        Draft::Draft2019 => jsonschema::Draft::Draft201909,
        Draft::Draft2020 => jsonschema::Draft::Draft202012,
    };
    let mut options = jsonschema::options();
    if schema.get("$schema").is_none() {
        options = options.with_draft(draft);
    }
    options
        .should_validate_formats(formats == FormatMode::Assert)
        .build(schema)
        .ok()
}

fn is_limit(error: &serde_json::Error) -> bool {
    let message = error.to_string();
    message.contains("number out of range") || message.contains("recursion limit")
}

/// Whether the validator's floats hold the numbers of a text well enough: no run of more than 12 digits, no exponent,
/// and no zero with a sign, which is a float to its reader and therefore no integer of draft 4.
pub(crate) fn is_exact(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let longest = text
        .split(|byte| !is_part(byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    let has_exponent = text
        .windows(2)
        .any(|pair| pair[0].is_ascii_digit() && matches!(pair[1], b'e' | b'E'));
    let has_signed_zero = text.windows(2).any(|pair| pair == b"-0");
    longest <= 12 && !has_exponent && !has_signed_zero
}
