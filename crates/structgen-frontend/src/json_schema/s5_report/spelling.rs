//! Misspelt keywords and formats: undefined names similar to one that constrains values.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};
use strsim::osa_distance;

use crate::json_schema::formats;
use crate::json_schema::keywords::{self, FORMAT_OF_NO_DRAFT, KEYWORDS, Role, Row};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{KEYWORD_OF_NO_DRAFT, Schema, TypeSet};
use crate::json_schema::s3_canonical::Canonicalizer;
use crate::json_schema::{Draft, FormatMode, SchemaOptions, SchemaWarning};

/// The maximum number of warnings for one schema.
const MOST_WARNINGS: usize = 100;

/// The maximum number of different names that are compared with the known ones.
const MOST_NAMES: usize = 10_000;

/// Longer names are not misspelt keywords.
const LONGEST_NAME: usize = 32;

/// Keywords of other specifications and tools that are similar to one of JSON Schema: older drafts, ajv, VS Code,
/// OpenAPI and form generators.
const KEYWORDS_ELSEWHERE: [&str; 18] = [
    "constant",
    "discriminator",
    "dynamicDefaults",
    "enumNames",
    "example",
    "exclusiveRange",
    "formatMaximum",
    "formatMinimum",
    "inclusiveMaximum",
    "inclusiveMinimum",
    "markdownDescription",
    "media",
    "nullable",
    "optional",
    "optionalProperties",
    "patternRequired",
    "requires",
    "uniqueItemProperties",
];

/// Formats of other specifications that are similar to one of JSON Schema.
const FORMATS_ELSEWHERE: [&str; 8] = [
    "date-time-local",
    "datetime-local",
    "http-date",
    "iso-date-time",
    "iso-time",
    "mime",
    "time-local",
    "url",
];

/// The misspelt keywords and formats of the schemas that the compilation reached.
pub(crate) fn find(
    canonical: &Canonicalizer<'_, '_>,
    options: &SchemaOptions,
) -> Vec<SchemaWarning> {
    let program = &canonical.program;
    let mut found = Vec::new();
    // One pointer may be several schemas, in different dynamic scopes.
    let mut pointers = FxHashSet::default();
    let mut compared: FxHashMap<(&str, Draft), Option<&'static str>> = FxHashMap::default();
    for &id in canonical.reached() {
        let schema = program.schema_ref(id);
        let is_unknown =
            |(_, note): &(&str, &str)| [KEYWORD_OF_NO_DRAFT, FORMAT_OF_NO_DRAFT].contains(note);
        if !schema.annotations.iter().any(is_unknown) {
            continue;
        }
        let draft = program.resources.get(schema.resource).dialect.draft;
        let Json::Object(members) = schema.json else {
            continue;
        };
        for (name, value) in members {
            if found.len() == MOST_WARNINGS || compared.len() == MOST_NAMES {
                return found;
            }
            let pointer = || program.keyword_pointer(id, name);
            let warning = if name == "format" {
                misspelt_format(schema, value, options).map(|(format, nearest)| {
                    SchemaWarning::Format {
                        pointer: pointer(),
                        format: format.to_owned(),
                        nearest,
                    }
                })
            } else if keywords::find(name).is_some() {
                None
            } else {
                let nearest = compared.entry((name, draft));
                let nearest = nearest.or_insert_with(|| nearest_keyword(name, draft));
                let nearest = nearest.filter(|nearest| is_value_of(nearest, value));
                nearest.map(|nearest| SchemaWarning::Keyword {
                    pointer: pointer(),
                    keyword: name.to_string(),
                    nearest,
                })
            };
            if let Some(warning) = warning
                && pointers.insert(pointer())
            {
                found.push(warning);
            }
        }
    }
    found
}

/// The format of a schema and the one it is similar to, if that would be enforced.
fn misspelt_format<'j>(
    schema: &Schema<'_>,
    value: &'j Json<'_>,
    options: &SchemaOptions,
) -> Option<(&'j str, &'static str)> {
    let Json::String(format) = value else {
        return None;
    };
    let is_unknown = options.formats == FormatMode::Assert
        && schema.annotations.contains(&("format", FORMAT_OF_NO_DRAFT));
    let nearest = is_unknown.then(|| nearest_format(format)).flatten();
    nearest.map(|nearest| (format.as_ref(), nearest))
}

/// The keyword of the draft that a name misspells, if it constrains values.
pub(super) fn nearest_keyword(name: &str, draft: Draft) -> Option<&'static str> {
    static FOLDED: OnceLock<Vec<(String, &Row)>> = OnceLock::new();
    let folded = FOLDED.get_or_init(|| KEYWORDS.iter().map(|row| (fold(row.name), row)).collect());
    // A name that begins with another character was marked deliberately: `_format`, `//pattern`, `@type`.
    let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '$');
    let is_extension = name.get(..2).is_some_and(|x| x.eq_ignore_ascii_case("x-"));
    if name.len() > LONGEST_NAME || !is_word || is_extension || KEYWORDS_ELSEWHERE.contains(&name) {
        return None;
    }
    let plain = fold(name);
    let shortest = if name.starts_with('$') { 4 } else { 5 };
    let candidates = folded
        .iter()
        .filter(|(_, row)| !name.starts_with('$') || row.name.starts_with('$'))
        .filter_map(|(word, row)| Some((distance(&plain, word, shortest)?, *row)));
    let nearest: Vec<(usize, &Row)> = candidates.collect();
    let least = nearest.iter().map(|(distance, _)| *distance).min()?;
    let mut nearest = nearest
        .into_iter()
        .filter(|(distance, _)| *distance == least)
        .map(|(_, row)| row);
    // Every value is valid for `const`, so a similar word may as well be a custom keyword.
    let matters = |row: &Row| {
        matches!(row.role(draft), Role::Assertion | Role::Applicator)
            && (row.name != "const" || least == 0)
    };
    let first = nearest.next()?;
    (matters(first) && nearest.all(matters)).then_some(first.name)
}

/// The format that a name misspells.
pub(super) fn nearest_format(name: &str) -> Option<&'static str> {
    if name.len() > LONGEST_NAME || FORMATS_ELSEWHERE.contains(&name) {
        return None;
    }
    let plain = fold(name);
    formats::names()
        .filter_map(|known| Some((distance(&plain, &fold(known), 6)?, known)))
        .min()
        .map(|(_, known)| known)
}

/// A name without case and separators: `min_length` and `minLength` are the same.
fn fold(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '$'));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The number of edits between two folded names if it is small for their length, else `None`. An edit inserts, removes
/// or replaces a letter, or swaps two neighbours. `shortest` is the length from which one edit counts as small.
fn distance(one: &str, other: &str, shortest: usize) -> Option<usize> {
    let length = one.len().max(other.len());
    // An edit adds or removes at most two letters.
    let different = (letters(one) ^ letters(other)).count_ones();
    if length - one.len().min(other.len()) > 2 || different > 2 * 2 {
        return None;
    }
    let edits = osa_distance(one, other);
    let is_small = match edits {
        0 => true,
        1 => length >= shortest || (length >= 4 && one.len() == other.len() && is_swap(one, other)),
        2 => length >= 10,
        _ => false,
    };
    is_small.then_some(edits)
}

/// The set of the letters of a folded name, as bits.
fn letters(name: &str) -> u32 {
    let letters = name.bytes().filter(u8::is_ascii_lowercase);
    letters.fold(0, |set, letter| set | 1 << (letter - b'a'))
}

/// Whether two words have the same letters, in any order.
fn is_swap(one: &str, other: &str) -> bool {
    let sorted = |word: &str| {
        let mut bytes = word.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    sorted(one) == sorted(other)
}

/// Whether the value has the type that the keyword expects. Values of misspelt keywords do, those of custom keywords
/// rarely.
fn is_value_of(keyword: &str, value: &Json<'_>) -> bool {
    match keyword {
        "$ref" | "$dynamicRef" | "$recursiveRef" => {
            matches!(value, Json::String(reference) if reference.starts_with('#') || reference.contains('/'))
        }
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => matches!(value, Json::Object(_) | Json::Bool(_)),
        "items" => matches!(value, Json::Object(_) | Json::Array(_)),
        "allOf" | "anyOf" | "enum" | "oneOf" | "prefixItems" | "required" => {
            matches!(value, Json::Array(_))
        }
        "dependencies" | "dependentRequired" | "dependentSchemas" | "patternProperties"
        | "properties" => matches!(value, Json::Object(_)),
        "exclusiveMaximum" | "exclusiveMinimum" => {
            matches!(value, Json::Number(_) | Json::Bool(_))
        }
        "uniqueItems" => matches!(value, Json::Bool(_)),
        "format" | "pattern" => matches!(value, Json::String(_)),
        "type" => match value {
            Json::String(name) => TypeSet::named(name).is_some(),
            Json::Array(_) => true,
            _ => false,
        },
        "const" => true,
        // Those who misspell keywords often quote numbers.
        _ => match value {
            Json::Number(_) => true,
            Json::String(text) => text.parse::<f64>().is_ok(),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_keywords_have_one_that_is_near() {
        for (written, meant) in [
            ("minLenght", "minLength"),
            ("min_length", "minLength"),
            ("minlength", "minLength"),
            ("propertees", "properties"),
            ("properites", "properties"),
            ("additionalPropertys", "additionalProperties"),
            ("additional-properties", "additionalProperties"),
            ("requred", "required"),
            ("tpye", "type"),
            ("type:", "type"),
            ("properties ", "properties"),
            ("item", "items"),
            ("anyof", "anyOf"),
            ("ref", "$ref"),
            ("$reff", "$ref"),
            ("maxmimum", "maximum"),
            ("exclusiveMinimumm", "exclusiveMinimum"),
        ] {
            let nearest = nearest_keyword(written, Draft::Draft2020);
            assert_eq!(nearest, Some(meant), "{written}");
        }
    }

    #[test]
    fn names_that_are_meant_as_they_are_have_none_near() {
        let elsewhere = "example nullable discriminator xml externalDocs markdownDescription defaultSnippets deprecationMessage \
            errorMessage enumNames propertyOrder readonly comment comments _format //pattern @type x-format X-Type $allOf $note \
            inclusiveMinimum requires optional uniqueItemProperties patternRequired minValue maxValue min max note notes cost port \
            host form info env file self links defs definition schema schemas id name names values typeof units uniqueness \
            constant aliases ignoreCase javaType self options hidden tags";
        for name in elsewhere.split_whitespace() {
            assert_eq!(nearest_keyword(name, Draft::Draft2020), None, "{name}");
        }
    }

    #[test]
    fn keywords_that_the_draft_does_not_have_are_not_proposed() {
        assert_eq!(nearest_keyword("prefixitems", Draft::Draft7), None);
        let later = nearest_keyword("prefixitems", Draft::Draft2020);
        assert_eq!(later, Some("prefixItems"));
    }

    #[test]
    fn misspelt_formats_have_one_that_is_near() {
        for (written, meant) in [
            ("emial", "email"),
            ("e-mail", "email"),
            ("datetime", "date-time"),
            ("DATE", "date"),
            ("URI", "uri"),
            ("dtae", "date"),
            ("date_time", "date-time"),
            ("ip-v4", "ipv4"),
            ("hostnames", "hostname"),
        ] {
            assert_eq!(nearest_format(written), Some(meant), "{written}");
        }
        for name in "url data mime mail float double byte binary password topic text path color-hex semver cidr host ports \
            partial-date relative-uri mime-type phone style utc-millisec"
            .split_whitespace()
        {
            assert_eq!(nearest_format(name), None, "{name}");
        }
    }
}
