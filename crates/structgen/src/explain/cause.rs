//! Finds the keyword of a schema that rejects a text.

use std::cmp::Reverse;

use structgen_frontend::json_schema::{Violation, violations};
use structgen_grammar::json_pointer::escaped;

use super::form::Form;
use super::outline::Outline;
use super::{Cause, Schema};

/// Finds why the schema rejects the text at a byte, and the JSON Pointer of the invalid value.
pub(super) fn find(
    schema: &Schema,
    form: &Form,
    text: &[u8],
    offset: usize,
) -> (Cause, Option<String>) {
    let outline = Outline::of(text);
    let innermost = outline.innermost(offset);
    let value = innermost.map(|place| outline.pointer(place));
    if let Some(key) = &outline.repeated
        && (key.start..=key.end).contains(&offset)
    {
        let quoted = &text[key.clone()];
        let key = serde_json::from_slice(quoted)
            .unwrap_or_else(|_| String::from_utf8_lossy(quoted).into_owned());
        return (Cause::RepeatedKey(key), value);
    }
    if !outline.is_complete && outline.read <= offset {
        let cause = match outline.read == text.len() {
            true => Cause::EndsEarly,
            false => Cause::NotJson,
        };
        return (cause, value);
    }
    let found = broken(schema, text, &outline);
    let is_checked = found.is_some();
    let chosen = found.and_then(|found| choose(&outline, found, offset, innermost));
    if let Some(violation) = chosen {
        let value = violation.instance.clone();
        return (Cause::Keyword(violation), Some(value));
    }
    let cause = if let Some(limit) = form.limit(text, offset, &outline) {
        Cause::Limit(limit)
    } else if !is_checked {
        Cause::Text
    } else if let Some(format) = form.partial_format(schema, text, offset, &outline) {
        Cause::Format(format)
    } else {
        Cause::Form
    };
    (cause, value)
}

/// Returns the keywords that the text violates, with everything open closed, or `None` if they could not be checked.
fn broken(schema: &Schema, text: &[u8], outline: &Outline) -> Option<Vec<Violation>> {
    let instance = match outline.is_complete {
        true => std::str::from_utf8(text).ok(),
        false => { outline.closed_with_key.as_deref() }.or(outline.closed.as_deref()),
    };
    let Schema {
        document,
        pointer,
        options,
    } = schema;
    violations(document, pointer, options, instance?).ok()
}

/// Chooses the violation that is noticed first: a text is rejected at the first byte after which no valid value exists,
/// which is at the latest at the end of the value that violates a keyword.
fn choose(
    outline: &Outline,
    found: Vec<Violation>,
    offset: usize,
    innermost: Option<usize>,
) -> Option<Violation> {
    let mut placed: Vec<_> = found
        .into_iter()
        .filter_map(|violation| {
            let place = outline.find(&about(&violation))?;
            let (start, end) = outline.span(place);
            // Of a member without a value it is only known whether it may be there.
            let has_value = outline.without_value != Some(place);
            let is_of_key = violation.instance != outline.pointer(place);
            if !(has_value || is_of_key || violation.is_forbidden && start <= offset) {
                return None;
            }
            let is_around = start <= offset && end.is_none_or(|end| offset <= end);
            let may_hold_later = end.is_none() && !is_settled(&violation, Some(place) == innermost);
            let rank = (
                may_hold_later,
                !is_around,
                end.unwrap_or(usize::MAX),
                Reverse(outline.depth(place)),
            );
            Some((rank, violation))
        })
        .collect();
    placed.sort_by_key(|(rank, _)| *rank);
    let ((may_hold_later, ..), violation) = placed.into_iter().next()?;
    (!may_hold_later).then_some(violation)
}

/// Returns the JSON Pointer of the value that must be read to notice the violation.
fn about(violation: &Violation) -> String {
    let keyword = violation.keyword.rsplit('/').next().unwrap_or_default();
    match &violation.key {
        Some(key) if matches!(keyword, "propertyNames" | "unevaluatedProperties") => {
            format!("{}/{}", violation.instance, escaped(key))
        }
        _ => violation.instance.clone(),
    }
}

/// Returns whether a keyword is already violated for good by a value that is still open.
fn is_settled(violation: &Violation, is_innermost: bool) -> bool {
    if violation.is_forbidden {
        return true;
    }
    let keyword = violation.keyword.rsplit('/').next().unwrap_or_default();
    match keyword {
        "required" | "minItems" | "minProperties" | "minLength" | "contains" | "minContains"
        | "dependentRequired" | "dependencies" => false,
        "type" | "maxItems" | "maxProperties" | "maxLength" | "uniqueItems" | "propertyNames"
        | "maxContains" => true,
        _ => is_innermost,
    }
}
