//! The constraint of a Rust type, and a test whether its texts deserialise.
//!
//! `Deserialize` may demand more than a schema expresses: schemars gives a `SocketAddr` the schema of any string. So
//! the type itself is tried with texts drawn from the constraint, before any model runs.

use std::any::type_name;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;
use structgen_constraint::Matcher;
use structgen_decode::samplers::SequenceRng;
use structgen_frontend::json_schema::{IntegerKeys, Profile, SchemaOptions};
use structgen_grammar::json_pointer::escaped;
use structgen_vocab::TokenId;

use crate::checker::byte_tables;
use crate::{Constraint, Error, Result};

/// How many texts a type is tried with: at least the first number, and up to the second while they are short.
const FEW_TEXTS: usize = 64;
const MANY_TEXTS: usize = 400;
/// This many bytes of texts are enough.
const ENOUGH_BYTES: usize = 4_000;
/// The maximum bytes per text, in turn: short texts lack optional parts, long ones have them.
const LENGTHS: [usize; 4] = [0, 30, 80, 160];

impl Constraint {
    /// Creates a constraint to JSON that deserialises into a Rust type, in profile [`Rust`](Profile::Rust).
    ///
    /// The type's schema alone cannot guarantee this, so texts that match it are tried with the type before the
    /// constraint is returned. If the keys of a map are integers, their range is the widest that the type accepts.
    ///
    /// ```
    /// use std::net::SocketAddr;
    /// use structgen::{Constraint, Error, SchemaOptions};
    ///
    /// let options = SchemaOptions::new();
    /// assert!(Constraint::for_type::<std::net::IpAddr>(&options).is_ok());
    /// // Its schema is that of any string.
    /// let refused = Constraint::for_type::<Vec<SocketAddr>>(&options);
    /// assert!(matches!(refused, Err(Error::TypeRefuses { pointer, .. }) if pointer == "#/items"));
    /// ```
    ///
    /// # Errors
    /// [`Error::TypeSchema`] if the type's schema is not supported; [`Error::TypeRefuses`], with the JSON Pointer of
    /// the schema node, if the type rejects a text that matches.
    pub fn for_type<T: JsonSchema + DeserializeOwned>(options: &SchemaOptions) -> Result<Self> {
        let schema = schema_of::<T>();
        let options = options.clone().with_profile(Profile::Rust);
        let with_keys = |keys| {
            let options = options.clone().with_integer_keys(keys);
            Self::json_schema(&schema, &options).map_err(|source| Error::TypeSchema {
                type_name: type_name::<T>(),
                source: Box::new(source),
            })
        };
        let [widest, narrower @ ..] = IntegerKeys::WIDEST_FIRST;
        // The largest keys show whether the type accepts all.
        let largest = with_keys(widest.only_bounds())?;
        let Err(mut refused) = largest.try_out::<T>(&schema) else {
            return with_keys(widest);
        };
        for keys in narrower {
            let bounds = with_keys(keys.only_bounds())?;
            if bounds.grammar() == largest.grammar() {
                // No key is an integer.
                break;
            }
            match bounds.try_out::<T>(&schema) {
                Ok(()) => return with_keys(keys),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Deserialises texts drawn from the constraint.
    fn try_out<T: DeserializeOwned>(&self, schema: &Value) -> Result<()> {
        let compiled = self.compile(byte_tables()?, &[])?;
        let mut random = SequenceRng::new(0, 0);
        let mut bytes = 0;
        for (tried, longest) in LENGTHS.into_iter().cycle().take(MANY_TEXTS).enumerate() {
            if tried >= FEW_TEXTS && bytes >= ENOUGH_BYTES {
                break;
            }
            let text = draw(compiled.matcher(), longest, &mut random)?;
            bytes += text.len();
            if let Err(source) = serde_json::from_slice::<T>(&text) {
                let json = String::from_utf8_lossy(&text).into_owned();
                return Err(Error::TypeRefuses {
                    type_name: type_name::<T>(),
                    pointer: refused_node::<T>(schema, &json),
                    json,
                    source,
                });
            }
        }
        Ok(())
    }
}

/// Draws a random text, which is steered to its end from a length on.
fn draw(mut matcher: Matcher, longest: usize, random: &mut SequenceRng) -> Result<Vec<u8>> {
    let mut below = |n: usize| ((random.uniform() * n as f64) as usize).min(n.saturating_sub(1));
    let mut text = Vec::new();
    while !matcher.is_finished() {
        if matcher.is_accepting() && (text.len() >= longest || below(3) == 0) {
            break;
        }
        let mask = matcher.mask()?;
        let mut allowed: Vec<u8> = mask.bits().iter().map(|token| token.0 as u8).collect();
        if allowed.is_empty() {
            break;
        }
        let byte = if text.len() < longest {
            // Draw a random kind first: most bytes are those that strings may contain.
            let mut kinds: Vec<u8> = allowed.iter().copied().map(kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            let picked = kinds[below(kinds.len())];
            allowed.retain(|&byte| kind(byte) == picked);
            allowed[below(allowed.len())]
        } else {
            // The cheapest byte costs less than the current state.
            let mut cheapest = (u64::MAX, 0);
            for byte in allowed {
                let cost = matcher.completion_cost_after(TokenId(byte.into()))?;
                cheapest = cheapest.min((cost, byte));
            }
            cheapest.1
        };
        matcher.accept_token(TokenId(byte.into()))?;
        text.push(byte);
    }
    Ok(text)
}

/// Bytes of one kind have the same role in JSON; each punctuation character is its own kind.
fn kind(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => b'0',
        b'"' | b',' | b':' | b'[' | b']' | b'{' | b'}' | b'\\' | b'-' | b'.' => byte,
        0x80.. => 0x80,
        _ => b'a',
    }
}

/// Returns the schema of a type for deserialising, in draft 2020-12.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_deserialize()
        .with_transform(RecursiveTransform(bound_seconds))
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Adds the bounds of seconds that types demand beyond what schemars derives: `SystemTime` keeps them as `i64` and adds
/// its nanoseconds, and `chrono::TimeDelta` counts milliseconds.
fn bound_seconds(schema: &mut Schema) {
    let node = schema.as_value();
    let is_delta = node.pointer("/prefixItems/0/format") == Some(&Value::from("int64"))
        && node.pointer("/prefixItems/1/exclusiveMaximum") == Some(&Value::from(1_000_000_000));
    let bounded = match is_delta {
        true => schema.pointer_mut("/prefixItems/0"),
        false => schema.pointer_mut("/properties/secs_since_epoch"),
    };
    let most = match is_delta {
        true => i64::MAX / 1000 - 1,
        // Nanoseconds may be up to `u32::MAX`, which are four seconds.
        false => i64::MAX - 4,
    };
    if let Some(Value::Object(seconds)) = bounded {
        seconds.insert("maximum".to_owned(), most.into());
        if is_delta {
            seconds.insert("minimum".to_owned(), (-most).into());
        }
    }
}

/// Returns the JSON Pointer of the schema of the value that the type rejects, or of one that contains it.
fn refused_node<T: DeserializeOwned>(schema: &Value, json: &str) -> String {
    let mut pointer = "#".to_owned();
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return pointer;
    };
    for segment in error.path() {
        match below(schema, &pointer, segment, MAX_REFERENCES) {
            Some(next) => pointer = next,
            None => break,
        }
    }
    pointer
}

/// Maximum number of references and alternatives between a value's schema and one that names its parts.
const MAX_REFERENCES: usize = 16;

/// Returns the pointer of the schema of a value inside the value of the schema at this pointer.
fn below(root: &Value, pointer: &str, step: &Segment, left: usize) -> Option<String> {
    let schema = root.pointer(pointer.strip_prefix('#')?)?;
    let left = left.checked_sub(1)?;
    let has = |name: &str| schema.pointer(name).is_some();
    let names: Vec<String> = match step {
        Segment::Map { key } | Segment::Enum { variant: key } => {
            let key = escaped(key);
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let pattern = patterns.and_then(|patterns| patterns.keys().next());
            let pattern = pattern.map(|it| escaped(it));
            [format!("/properties/{key}")]
                .into_iter()
                .chain(pattern.map(|pattern| format!("/patternProperties/{pattern}")))
                .chain(["/additionalProperties".to_owned()])
                .collect()
        }
        Segment::Seq { index } => vec![format!("/prefixItems/{index}"), "/items".to_owned()],
        Segment::Unknown => return None,
    };
    if let Some(name) = names.iter().find(|name| has(name)) {
        return Some(format!("{pointer}{name}"));
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str)
        && let Some(found) = below(root, target, step, left)
    {
        return Some(found);
    }
    ["allOf", "anyOf", "oneOf"].iter().find_map(|name| {
        let arms = schema.get(name)?.as_array()?.len();
        (0..arms).find_map(|arm| below(root, &format!("{pointer}/{name}/{arm}"), step, left))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checker;
    use serde_json::json;

    #[test]
    fn the_schema_of_a_part_is_found_through_references_and_alternatives() {
        let schema = json!({
            "properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/List"}]}},
            "$defs": {"List": {"prefixItems": [true], "items": {"additionalProperties": {"type": "string"}}}}
        });
        let below = |pointer: &str, step: Segment| below(&schema, pointer, &step, MAX_REFERENCES);
        let key = |key: &str| Segment::Map {
            key: key.to_owned(),
        };
        assert_eq!(below("#", key("a")).as_deref(), Some("#/properties/a"));
        assert_eq!(below("#", key("b")), None);
        let item = below("#/properties/a", Segment::Seq { index: 0 });
        assert_eq!(item.as_deref(), Some("#/$defs/List/prefixItems/0"));
        let item = below("#/properties/a", Segment::Seq { index: 3 });
        assert_eq!(item.as_deref(), Some("#/$defs/List/items"));
        let value = below("#/$defs/List/items", key("x"));
        assert_eq!(
            value.as_deref(),
            Some("#/$defs/List/items/additionalProperties")
        );
    }

    #[test]
    fn integers_reach_the_bounds_of_64_bits() {
        #[track_caller]
        fn check<T: JsonSchema + DeserializeOwned>(accepted: &[&str], refused: &[&str]) {
            let constraint = Constraint::for_type::<T>(&SchemaOptions::new()).unwrap();
            let checker = Checker::new(&constraint).unwrap();
            let is_accepted = |text: &str| checker.check(text.as_bytes()).unwrap().is_none();
            for text in accepted {
                assert!(is_accepted(text), "{text}");
                assert!(serde_json::from_str::<T>(text).is_ok(), "{text}");
            }
            for text in refused {
                assert!(!is_accepted(text), "{text}");
            }
        }
        check::<u64>(&["0", "18446744073709551615"], &["18446744073709551616"]);
        check::<i64>(
            &["-9223372036854775808", "9223372036854775807"],
            &["-9223372036854775809"],
        );
        // Larger ones would be accepted here, but not where serde buffers them.
        check::<i128>(
            &["-9223372036854775808", "18446744073709551615"],
            &["-9223372036854775809", "18446744073709551616"],
        );
        check::<u128>(&["18446744073709551615"], &["18446744073709551616"]);
    }

    #[test]
    fn references_in_a_circle_lead_nowhere() {
        let schema = json!({"$ref": "#"});
        assert_eq!(
            below(&schema, "#", &Segment::Seq { index: 0 }, MAX_REFERENCES),
            None
        );
    }
}
