//! Checks against an independent validator: the schema's text up to a zero byte; the bytes after it choose documents.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Number, Value};
use structgen_frontend::json_schema::{
    Draft, FormatMode, KeyOrder, Profile, SchemaLimits, SchemaOptions, compile,
};

use crate::clock::untimed;
use crate::json_schema::{is_exact, validator};
use crate::walk;

/// The number of documents of an input, and the levels of nesting of one.
const DOCUMENTS: usize = 8;
const DEEPEST: usize = 4;

/// Compiles a schema and checks documents made of its own keys, strings and numbers.
/// True when the schema was taken and every document was judged.
///
/// # Panics
/// When a document is judged otherwise.
pub fn check_vs_validator(data: &[u8]) -> bool {
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let schema = parts.next().and_then(|text| std::str::from_utf8(text).ok());
    let Some(schema) = schema.filter(|schema| is_exact(schema.as_bytes())) else {
        return false;
    };
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return false;
    };
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any)
        .with_formats(FormatMode::Annotate)
        .with_limits(SchemaLimits {
            max_steps: 100_000,
            ..SchemaLimits::default()
        });
    let Ok(compiled) = compile(&schema, &options) else {
        return false;
    };
    let Ok(constraint) = walk::compile(compiled.grammar) else {
        return false;
    };
    let Some(validator) = untimed(|| validator(&schema, Draft::Draft2020, FormatMode::Annotate))
    else {
        return false;
    };
    let mut words = Words::default();
    words.gather(&schema);
    let mut choices = Unstructured::new(parts.next().unwrap_or_default());
    for _ in 0..DOCUMENTS {
        let Ok(document) = words.document(&mut choices, DEEPEST) else {
            break;
        };
        let text = document.to_string();
        if !is_exact(text.as_bytes()) {
            continue;
        }
        let Some(refusal) =
            walk::within_limits(|| constraint.matcher().check_text(text.as_bytes()))
        else {
            return false;
        };
        let expected = untimed(|| validator.validate(&document));
        assert_eq!(
            refusal.is_none(),
            expected.is_ok(),
            "{text}: {refusal:?}, {:?}",
            expected.err().map(|error| error.to_string())
        );
    }
    true
}

/// What documents are made of.
#[derive(Default)]
struct Words {
    values: Vec<Value>,
    texts: Vec<String>,
    numbers: Vec<Number>,
}

impl Words {
    /// Gathers the values of a schema, and the keys and numbers in it.
    fn gather(&mut self, schema: &Value) {
        let mut open = vec![schema];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(members) => {
                    self.texts.extend(members.keys().cloned());
                    open.extend(members.values());
                }
                Value::Array(items) => open.extend(items),
                Value::String(text) => self.texts.push(text.clone()),
                Value::Number(number) => self.numbers.push(number.clone()),
                Value::Null | Value::Bool(_) => {}
            }
            self.values.push(value.clone());
        }
    }

    fn document(&self, choices: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
        let kinds = if depth == 0 { 5 } else { 9 };
        Ok(match choices.int_in_range(0..=kinds)? {
            0 => Value::Null,
            1 => Value::Bool(choices.arbitrary()?),
            2 => self.number(choices)?.into(),
            3 | 4 => self.text(choices)?.into(),
            5 => choices.choose(&self.values)?.clone(),
            6 | 7 => {
                let items = (0..choices.int_in_range(0..=4)?)
                    .map(|_| self.document(choices, depth - 1))
                    .collect::<Result<Vec<_>>>()?;
                items.into()
            }
            _ => {
                let mut members = Map::new();
                for _ in 0..choices.int_in_range(0..=5)? {
                    members.insert(self.text(choices)?, self.document(choices, depth - 1)?);
                }
                members.into()
            }
        })
    }

    fn number(&self, choices: &mut Unstructured<'_>) -> Result<Number> {
        if !self.numbers.is_empty() && choices.arbitrary()? {
            let number = choices.choose(&self.numbers)?;
            let by: i8 = choices.int_in_range(-1..=1)?;
            let near = number.as_i64().and_then(|it| it.checked_add(by.into()));
            return Ok(near.map_or_else(|| number.clone(), Number::from));
        }
        let hundredths = i32::from(choices.arbitrary::<i16>()?);
        Ok(match choices.arbitrary()? {
            true => (hundredths % 16).into(),
            false => Number::from_f64(f64::from(hundredths) / 100.0).unwrap_or_else(|| 0.into()),
        })
    }

    fn text(&self, choices: &mut Unstructured<'_>) -> Result<String> {
        if !self.texts.is_empty() && choices.ratio(3, 4)? {
            let text = choices.choose(&self.texts)?;
            // Most of a text, all of it, or it twice.
            return Ok(match choices.int_in_range(0..=7)? {
                0 => text.chars().skip(1).collect(),
                1 => text.repeat(2),
                _ => text.clone(),
            });
        }
        let length = choices.int_in_range(0..=4)?;
        (0..length)
            .map(|_| {
                choices
                    .choose(&['a', 'b', 'é', '"', '\\', '0', ' '])
                    .copied()
            })
            .collect()
    }
}

/// The schemas of another target, with choices.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let schemas = crate::Target::named("json_schema").map(crate::Target::seeds);
    let schemas = schemas.into_iter().flatten().enumerate();
    let with_choices = |(n, schema): (usize, Vec<u8>)| {
        let mut random = crate::SplitMix::new(n as u64);
        let choices: Vec<u8> = (0..200).map(|_| random.next_u64() as u8).collect();
        [schema.get(1..).unwrap_or_default(), b"\0", &choices].concat()
    };
    // Each is there three times, with other options, and some have numbers that no double has.
    let own = schemas.step_by(3).map(with_choices);
    own.filter(|seed| check_vs_validator(seed)).collect()
}
