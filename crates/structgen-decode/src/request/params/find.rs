//! Sets parameters by name.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::Strategy;
use crate::parameter::{NumberAt, Parameter, ParameterKind, form_of};

/// Why a parameter cannot be set.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// No parameter has this name.
    #[error("there is no parameter {name:?}{}", near_names(near))]
    Unknown {
        /// The name.
        name: String,
        /// Similar names.
        near: Vec<&'static str>,
    },
    /// The name is the end of several parameters' names.
    #[error("{name:?} may be any of {}: give the name in full", names.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The parameters.
        names: Vec<&'static str>,
    },
    /// The parameter belongs to another strategy than the chosen one.
    #[error(
        "{name} is a parameter of the strategy {strategy}, and the strategy is {chosen}: choose {strategy} first"
    )]
    OtherStrategy {
        /// The parameter.
        name: &'static str,
        /// Its strategy.
        strategy: &'static str,
        /// The chosen strategy.
        chosen: String,
    },
    /// The value has the wrong type, or is outside the range.
    #[error("{name} is {value:?}, and must be {expected}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// The value.
        value: String,
        /// What a valid value is.
        expected: String,
    },
}

structgen_sentence::debug_as_sentence!(ParameterError);

fn near_names(near: &[&'static str]) -> String {
    match near {
        [] => String::new(),
        [name] => format!("; did you mean {name}?"),
        [names @ .., last] => format!("; did you mean {} or {last}?", names.join(", ")),
    }
}

/// Sets a parameter by name, to a value given as text. The target is anything whose serde form has the places of the
/// table: [`Params`](crate::request::Params), or a program's own settings around them.
///
/// The name may be the parameter's [name](Parameter::name), its [path](Parameter::path), or a unique end of its name,
/// such as `multiplier` for `dry.multiplier`. If several names have that end, the parameter of the chosen strategy is
/// meant. `-` counts as `_`. The strategy itself is the parameter `strategy`; setting another one resets its options to
/// their defaults.
///
/// # Errors
/// [`ParameterError`]; the target is then unchanged.
pub fn set_parameter<T: Serialize + DeserializeOwned>(
    target: &mut T,
    table: &[Parameter],
    name: &str,
    value: &str,
) -> Result<(), ParameterError> {
    let mut form = form_of(&*target);
    let chosen = form["strategy"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let parameter = find(table, name, &chosen)?;
    if let Some(strategy) = parameter.strategy()
        && strategy != chosen
    {
        return Err(ParameterError::OtherStrategy {
            name: parameter.name,
            strategy,
            chosen,
        });
    }
    let refused = |reason: String| ParameterError::Value {
        name: parameter.name,
        value: shortened(value),
        expected: match reason.is_empty() {
            true => parameter.kind.to_string(),
            false => format!("{}: {}", parameter.kind, shortened(&reason)),
        },
    };
    if value == "none" && parameter.default_value().is_null() {
        let mut form = form.clone();
        parameter.insert(&mut form, Value::Null);
        if let Ok(set) = serde_json::from_value(form) {
            *target = set;
            return Ok(());
        }
        // A program's parameter that is not optional may have this value.
    }
    let json = { parameter.parse(value) }.ok_or_else(|| refused(String::new()))?;
    parameter.insert(&mut form, json);
    *target = serde_json::from_value(form).map_err(|error| refused(error.to_string()))?;
    Ok(())
}

/// Returns the parameters of a table that a name may mean: one, or several whose names end in it.
///
/// # Errors
/// [`ParameterError::Unknown`], with similar names.
pub fn find_parameters<'t>(
    table: &'t [Parameter],
    name: &str,
) -> Result<Vec<&'t Parameter>, ParameterError> {
    let wanted = name.trim().replace('-', "_");
    if let Some(exact) = table.iter().find(|row| row.name == wanted) {
        return Ok(vec![exact]);
    }
    let is_end = |row: &&Parameter| {
        let rest = row.name.strip_suffix(&wanted);
        rest.is_some_and(|rest| rest.ends_with('.')) || row.path() == wanted
    };
    let found: Vec<&Parameter> = table.iter().filter(is_end).collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(ParameterError::Unknown {
            near: near(table, &wanted),
            name: shortened(name),
        }),
    }
}

/// Returns the parameter that a name means if this strategy is chosen.
fn find<'t>(
    table: &'t [Parameter],
    name: &str,
    chosen: &str,
) -> Result<&'t Parameter, ParameterError> {
    let mut found = find_parameters(table, name)?;
    let is_own = |row: &&Parameter| row.strategy() == Some(chosen);
    if found.iter().any(is_own) {
        found.retain(is_own);
    }
    match found[..] {
        [parameter] => Ok(parameter),
        _ => Err(ParameterError::Ambiguous {
            name: shortened(name),
            names: found.iter().map(|row| row.name).collect(),
        }),
    }
}

/// Maximum number of names to suggest for an unknown one.
const MOST_NEAR: usize = 5;

/// A name of more bytes is not a misspelt one. Comparing it with all names would take long.
const LONGEST_MISSPELT: usize = 64;

/// Maximum number of characters of a name or value in an error.
const MOST_SHOWN: usize = 1_000;

/// Returns a text as an error shows it: cut if it is long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Returns names that are within a few letters of the wanted one, or that contain it, or all of its words.
fn near(table: &[Parameter], wanted: &str) -> Vec<&'static str> {
    if wanted.is_empty() || wanted.len() > LONGEST_MISSPELT {
        return Vec::new();
    }
    let mut near: Vec<(usize, &'static str)> = Vec::new();
    for row in table {
        let last = row.name.rsplit('.').next().unwrap_or(row.name);
        let distance = distance(last, wanted).min(distance(row.name, wanted));
        let has_word = |word: &str| row.name.split(['.', '_']).any(|own| own == word);
        let is_part =
            wanted.len() > 2 && (row.name.contains(wanted) || wanted.split('_').all(has_word));
        if distance <= 2 || is_part {
            near.push((distance, row.name));
        }
    }
    near.sort();
    near.truncate(MOST_NEAR);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns the Levenshtein distance: the number of letters to change, insert or delete.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

impl Parameter {
    /// Parses a value given as text into its serde form.
    fn parse(&self, text: &str) -> Option<Value> {
        let json = || serde_json::from_str::<Value>(text).ok();
        match self.kind {
            ParameterKind::Number(range) => {
                let number: f64 = text.parse().ok()?;
                range.contains(number).then(|| number.into())
            }
            ParameterKind::Integer(range) => {
                let number: u64 = text.parse().ok()?;
                range.contains(number as f64).then(|| number.into())
            }
            ParameterKind::Switch => text.parse::<bool>().ok().map(Value::from),
            ParameterKind::Strategy(_) => {
                let strategy = match text.starts_with('{') {
                    true => return json(),
                    false => Strategy::named(&text.replace('-', "_"))?,
                };
                serde_json::to_value(strategy).ok()
            }
            ParameterKind::Word(words) => words.contains(&text).then(|| text.into()),
            ParameterKind::Text => Some(text.into()),
            ParameterKind::Texts | ParameterKind::Ids | ParameterKind::Order
                if text.starts_with('[') =>
            {
                json()
            }
            ParameterKind::Texts => Some(json!([text])),
            ParameterKind::Ids => {
                let ids = text.split(',').filter(|id| !id.trim().is_empty());
                let ids = ids.map(|id| id.trim().parse::<u32>().ok());
                ids.collect::<Option<Vec<u32>>>().map(Value::from)
            }
            ParameterKind::Order => Some(match text.parse::<crate::samplers::OrderPreset>() {
                Ok(_) => text.into(),
                Err(_) => text.split(',').map(str::trim).collect(),
            }),
            ParameterKind::Tagged(_) if text.starts_with('{') => json(),
            ParameterKind::Tagged(tags) => {
                let (word, number) = match text.split_once(':') {
                    Some((word, number)) => (word, Some(number.parse::<u64>().ok()?)),
                    None => (text, None),
                };
                let (_, at) = tags.iter().find(|(tag, _)| *tag == word)?;
                match (at, number) {
                    (NumberAt::Nowhere, None) => Some(word.into()),
                    (NumberAt::Word, Some(number)) => Some(json!({ word: number })),
                    (NumberAt::Field(field), Some(number)) => {
                        Some(json!({ word: { *field: number } }))
                    }
                    _ => None,
                }
            }
            ParameterKind::Group(on) => match text {
                "on" => serde_json::from_str(on).ok(),
                "off" => Some(Value::Null),
                _ => json().filter(Value::is_object),
            },
            ParameterKind::Json(_) => json(),
        }
    }

    /// Inserts a value in its place, and enables its group.
    fn insert(&self, form: &mut Value, value: Value) {
        let path = self.path();
        let mut place = form;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            let Value::Object(members) = place else {
                return;
            };
            let inner = members.entry(key).or_insert(Value::Null);
            if inner.is_null() && keys.peek().is_some() {
                let on = serde_json::from_str(self.group());
                *inner = on.unwrap_or_else(|_| Map::new().into());
            }
            place = inner;
        }
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use crate::request::Params;

    #[test]
    fn names_and_values_that_are_long_are_not_repeated_in_full() {
        let long = "é".repeat(10_000);
        for (name, value) in [(&*long, "1"), ("temperature", &*long)] {
            let error = Params::default().set(name, value).unwrap_err().to_string();
            assert!(error.len() < 5_000, "{name}: {} bytes", error.len());
        }
    }
}
