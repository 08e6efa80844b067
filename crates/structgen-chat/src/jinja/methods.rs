//! Methods of strings, lists and maps, as in Python, except those that modify their value.

use std::ops::Range;

use super::arguments::{Bound, CallArguments, required};
use super::budget::{Budget, Result, fail};
use super::interpreter::Interpreter;
use super::operators;
use super::print::print;
use super::printf;
use super::text::{Origin, Text, TextBuilder};
use super::value::{ListKind, Map, Value};

const OF_TEXTS: [&str; 36] = [
    "capitalize",
    "casefold",
    "count",
    "endswith",
    "find",
    "format",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
];
const OF_LISTS: [&str; 2] = ["count", "index"];
const OF_MAPS: [&str; 5] = ["copy", "get", "items", "keys", "values"];
/// Methods of Python's lists and dictionaries that modify them, which templates may not call.
const CHANGING: [&str; 12] = [
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
    "fromkeys",
];

pub(super) fn has(value: &Value, name: &str) -> bool {
    match value {
        Value::Text(_) => OF_TEXTS.contains(&name),
        Value::List(_) => OF_LISTS.contains(&name) || CHANGING.contains(&name),
        Value::Map(_) => of_map(name).is_some(),
        _ => false,
    }
}

/// The method of maps with this name, which hides a field of the same name.
pub(super) fn of_map(name: &str) -> Option<&'static str> {
    let changing = [
        "clear",
        "pop",
        "popitem",
        "setdefault",
        "update",
        "fromkeys",
    ];
    { OF_MAPS.into_iter().chain(changing) }.find(|method| *method == name)
}

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    name: &str,
    arguments: CallArguments,
) -> Result<Value> {
    if CHANGING.contains(&name) {
        return fail(format!(
            "{name} would change {}, and templates may not",
            value.kind()
        ));
    }
    match value {
        Value::Text(text) => of_text(interpreter, text, name, arguments),
        Value::List(list) => {
            let budget = &interpreter.budget;
            let [item] = arguments.bind(name, ["value"])?;
            let item = required(name, "a value", item)?;
            let mut count = 0;
            for (at, found) in list.items().iter().enumerate() {
                budget.spend(1)?;
                if found.equals(budget, &item)? {
                    if name == "index" {
                        return Ok(Value::of_len(at));
                    }
                    count += 1;
                }
            }
            match name {
                "index" => fail("index: the value is not in the list"),
                _ => Ok(Value::of_len(count)),
            }
        }
        Value::Map(map) => of_entries(&interpreter.budget, map, name, arguments),
        other => fail(format!("{} has no method {name}", other.kind())),
    }
}

fn of_entries(budget: &Budget, map: &Map, name: &str, arguments: CallArguments) -> Result<Value> {
    if name == "get" {
        let [key, default] = arguments.bind("get", ["key", "default"])?;
        let key = required("get", "a key", key)?;
        let found = map.get(budget, &key)?.cloned();
        return Ok(found.or(default).unwrap_or(Value::None));
    }
    let [] = arguments.bind(name, [])?;
    let entries = map.entries().iter();
    let mut items = Vec::new();
    match name {
        "copy" => return Ok(Value::Map(map.clone())),
        "keys" => items.extend(entries.map(|(key, _)| key.clone())),
        "values" => items.extend(entries.map(|(_, value)| value.clone())),
        _ => {
            for (key, value) in entries {
                let pair = vec![key.clone(), value.clone()];
                items.push(Value::list_of(budget, ListKind::Tuple, pair)?);
            }
        }
    }
    Value::list_of(budget, ListKind::View, items)
}

/// Whether Python counts the character as white space.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn of_text(
    interpreter: &mut Interpreter<'_>,
    text: &Text,
    name: &str,
    arguments: CallArguments,
) -> Result<Value> {
    let budget = &interpreter.budget;
    let mapped = |new: &str| Ok(Value::Text(Text::like(text, new)?));
    match name {
        "strip" | "lstrip" | "rstrip" => strip(text, name, arguments),
        "split" | "rsplit" => split(budget, text, name == "rsplit", arguments),
        "splitlines" => {
            let [keep] = arguments.bind("splitlines", ["keepends"])?;
            budget.spend_reading(text.len())?;
            let keeps_ends = keep.is_some_and(|value| value.is_true());
            let mut items = Vec::new();
            for (line, end) in lines(text) {
                let end = if keeps_ends { end } else { line.end };
                items.push(Value::Text(text.slice(line.start..end)?));
            }
            Value::list(budget, items)
        }
        "startswith" | "endswith" => affixed(budget, text, name, arguments),
        "removeprefix" | "removesuffix" => {
            let [affix] = arguments.bind(name, ["affix"])?;
            let affix = text_argument(name, affix)?;
            budget.spend_searching(affix.len())?;
            let rest = match name {
                "removeprefix" => text.strip_prefix(&*affix),
                _ => text.strip_suffix(&*affix),
            };
            Ok(Value::Text(text.part(rest.unwrap_or(text))?))
        }
        "partition" | "rpartition" => {
            let [separator] = arguments.bind(name, ["sep"])?;
            let separator = text_argument(name, separator)?;
            budget.spend_searching(text.len() + separator.len())?;
            if separator.is_empty() {
                return fail("the separator is empty");
            }
            let found = match name {
                "partition" => text.find(&*separator),
                _ => text.rfind(&*separator),
            };
            let (start, end) = match (found, name) {
                (Some(at), _) => (at, at + separator.len()),
                (None, "partition") => (text.len(), text.len()),
                (None, _) => (0, 0),
            };
            let parts = [0..start, start..end, end..text.len()];
            let parts = parts
                .into_iter()
                .map(|part| Ok(Value::Text(text.slice(part)?)));
            Value::list_of(budget, ListKind::Tuple, parts.collect::<Result<_>>()?)
        }
        "replace" => {
            let [old, new, count]: Bound<3> = arguments.bind("replace", ["old", "new", "count"])?;
            let (old, new) = (text_argument(name, old)?, text_argument(name, new)?);
            let count = super::filters::int_or("replace", count, -1)?;
            replaced(budget, text, &old, &new, count).map(Value::Text)
        }
        "find" | "rfind" | "index" | "count" => {
            let [part] = arguments.bind(name, ["sub"])?;
            let part = text_argument(name, part)?;
            budget.spend_reading(text.len() + part.len())?;
            if name == "count" {
                return Ok(Value::of_len(text.matches(&*part).count()));
            }
            let found = if name == "rfind" {
                text.rfind(&*part)
            } else {
                text.find(&*part)
            };
            match found {
                Some(at) => Ok(Value::of_len(text[..at].chars().count())),
                None if name == "index" => fail("index: the text is not found"),
                None => Ok(Value::Int(-1)),
            }
        }
        "join" => {
            let [items] = arguments.bind("join", ["iterable"])?;
            let items = required("join", "a list", items)?;
            let Some(items) = items.items(budget)? else {
                return fail(format!("join is given {}", items.kind()));
            };
            let mut out = TextBuilder::new(budget)?;
            for (at, item) in items.items().iter().enumerate() {
                if at > 0 {
                    out.push_text(text)?;
                }
                if !matches!(item, Value::Text(_)) {
                    return fail(format!("join is given {} in a list", item.kind()));
                }
                print(budget, &mut out, item)?;
            }
            Ok(Value::Text(out.finish()))
        }
        "format" => printf::str_format(budget, text, &arguments).map(Value::Text),
        "ljust" | "rjust" => {
            let [width, fill] = arguments.bind(name, ["width", "fillchar"])?;
            budget.spend_reading(text.len())?;
            let width = super::filters::int_or(name, width, 0)?;
            let missing = width.saturating_sub(text.chars().count() as i128);
            let fill = match fill {
                Some(fill) => text_argument(name, Some(fill))?,
                None => Text::new(budget, " ", Origin::Template)?,
            };
            let fill = operators::repeated(&fill, missing, budget)?;
            let mut out = TextBuilder::new(budget)?;
            let parts = if name == "ljust" {
                [text, &fill]
            } else {
                [&fill, text]
            };
            for part in parts {
                out.push_text(part)?;
            }
            Ok(Value::Text(out.finish()))
        }
        _ => {
            let [] = arguments.bind(name, [])?;
            budget.spend_reading(text.len())?;
            let all = |holds: fn(char) -> bool| {
                Ok(Value::Bool(!text.is_empty() && text.chars().all(holds)))
            };
            match name {
                "upper" => mapped(&text.to_uppercase()),
                "lower" | "casefold" => mapped(&text.to_lowercase()),
                "capitalize" => {
                    let mut rest = text.chars();
                    let first = rest.next().map(char::to_uppercase).into_iter().flatten();
                    let capitalized: String =
                        first.chain(rest.flat_map(char::to_lowercase)).collect();
                    mapped(&capitalized)
                }
                "swapcase" => {
                    let swapped: String = { text.chars() }
                        .flat_map(|c| match c.is_uppercase() {
                            true => c.to_lowercase().collect::<Vec<_>>(),
                            false => c.to_uppercase().collect(),
                        })
                        .collect();
                    mapped(&swapped)
                }
                "title" => {
                    let mut titled = String::with_capacity(text.len());
                    let mut starts_word = true;
                    for c in text.chars() {
                        match starts_word {
                            true => titled.extend(c.to_uppercase()),
                            false => titled.extend(c.to_lowercase()),
                        }
                        starts_word = !c.is_alphabetic();
                    }
                    mapped(&titled)
                }
                "islower" => Ok(Value::Bool(
                    !text.chars().any(char::is_uppercase) && text.chars().any(char::is_lowercase),
                )),
                "isupper" => Ok(Value::Bool(
                    !text.chars().any(char::is_lowercase) && text.chars().any(char::is_uppercase),
                )),
                "isspace" => all(is_space),
                "isdigit" | "isdecimal" | "isnumeric" => all(char::is_numeric),
                "isalnum" => all(char::is_alphanumeric),
                "isalpha" => all(char::is_alphabetic),
                "isascii" => Ok(Value::Bool(text.is_ascii())),
                _ => fail(format!("a str has no method {name}")),
            }
        }
    }
}

fn text_argument(method: &str, value: Option<Value>) -> Result<Text> {
    match value {
        Some(Value::Text(text)) => Ok(text),
        Some(other) => fail(format!(
            "{method} needs a str, and is given {}",
            other.kind()
        )),
        None => fail(format!("{method} needs a str")),
    }
}

fn strip(text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    let [characters] = arguments.bind(name, ["chars"])?;
    let characters = match characters {
        None | Some(Value::None) => None,
        some => Some(text_argument(name, some)?),
    };
    // Each character is searched for in the set.
    let each = characters
        .as_ref()
        .map_or(1, |characters| 1 + characters.len() as u64 / 64);
    let mut looked_at = 0;
    let mut failure = None;
    let mut is_stripped = |c: char| {
        looked_at += 1;
        if looked_at % 8 == 0 && failure.is_none() {
            failure = text.budget().spend(each).err();
        }
        failure.is_none()
            && match &characters {
                None => is_space(c),
                Some(characters) => characters.contains(c),
            }
    };
    let mut rest: &str = text;
    if name != "rstrip" {
        rest = rest.trim_start_matches(&mut is_stripped);
    }
    if name != "lstrip" {
        rest = rest.trim_end_matches(&mut is_stripped);
    }
    match failure {
        None => Ok(Value::Text(text.part(rest)?)),
        Some(failure) => Err(failure),
    }
}

/// `split` and `rsplit`.
fn split(budget: &Budget, text: &Text, from_end: bool, arguments: CallArguments) -> Result<Value> {
    let [separator, most] = arguments.bind("split", ["sep", "maxsplit"])?;
    budget.spend_searching(text.len())?;
    let most = super::filters::int_or("split", most, -1)?;
    let most = if most < 0 {
        usize::MAX
    } else {
        most.min(1 << 40) as usize
    };
    let separator = match separator {
        None | Some(Value::None) => None,
        some => Some(text_argument("split", some)?),
    };
    let mut parts: Vec<&str> = Vec::new();
    let mut held = budget.hold(0)?;
    match &separator {
        Some(separator) if separator.is_empty() => return fail("split: the separator is empty"),
        Some(separator) => {
            budget.spend_searching(separator.len())?;
            let limit = most.saturating_add(1);
            let mut add = |part| {
                held.grow(size_of::<&str>() + size_of::<Value>())?;
                parts.push(part);
                Ok(())
            };
            match from_end {
                false => text.splitn(limit, &**separator).try_for_each(&mut add)?,
                true => text.rsplitn(limit, &**separator).try_for_each(&mut add)?,
            }
        }
        None => {
            budget.spend_reading(text.len())?;
            let mut rest: &str = text;
            loop {
                rest = match from_end {
                    false => rest.trim_start_matches(is_space),
                    true => rest.trim_end_matches(is_space),
                };
                if rest.is_empty() {
                    break;
                }
                held.grow(size_of::<&str>() + size_of::<Value>())?;
                let end = if from_end {
                    rest.rfind(is_space)
                } else {
                    rest.find(is_space)
                };
                let (Some(end), true) = (end, parts.len() < most) else {
                    parts.push(rest);
                    break;
                };
                let space = rest[end..].chars().next().map_or(0, char::len_utf8);
                match from_end {
                    false => {
                        parts.push(&rest[..end]);
                        rest = &rest[end + space..];
                    }
                    true => {
                        parts.push(&rest[end + space..]);
                        rest = &rest[..end];
                    }
                }
            }
        }
    }
    if from_end {
        parts.reverse();
    }
    let mut items = Vec::with_capacity(parts.len());
    for part in parts {
        items.push(Value::Text(text.part(part)?));
    }
    Value::list(budget, items)
}

fn affixed(budget: &Budget, text: &Text, name: &str, arguments: CallArguments) -> Result<Value> {
    let [affix] = arguments.bind(name, ["affix"])?;
    let matches = |affix: &str| {
        budget.spend_searching(affix.len())?;
        Ok(match name {
            "startswith" => text.starts_with(affix),
            _ => text.ends_with(affix),
        })
    };
    match &affix {
        Some(Value::Text(affix)) => matches(affix).map(Value::Bool),
        Some(Value::List(list)) if list.kind() == ListKind::Tuple => {
            for affix in list.items() {
                match affix {
                    Value::Text(affix) if matches(affix)? => return Ok(Value::Bool(true)),
                    Value::Text(_) => {}
                    other => return fail(format!("{name} is given {}", other.kind())),
                }
            }
            Ok(Value::Bool(false))
        }
        Some(other) => fail(format!("{name} is given {}", other.kind())),
        None => fail(format!("{name} needs a str")),
    }
}

/// The text with the first `count` occurrences of a text replaced, or all of them if `count` is negative.
pub(super) fn replaced(
    budget: &Budget,
    text: &Text,
    old: &Text,
    new: &Text,
    count: i128,
) -> Result<Text> {
    budget.spend_searching(text.len() + old.len())?;
    let most = if count < 0 {
        usize::MAX
    } else {
        count.min(1 << 40) as usize
    };
    let mut out = TextBuilder::new(budget)?;
    let mut copied = 0;
    for (at, _) in text.match_indices(&**old).take(most) {
        out.push_slice(text, copied..at)?;
        out.push_text(new)?;
        copied = at + old.len();
    }
    out.push_slice(text, copied..text.len())?;
    Ok(out.finish())
}

/// The lines of a text: their ranges without line ends, and the offset after their line ends.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == text.len() {
            return None;
        }
        let from = start;
        let found = text[from..].char_indices().find(|(_, c)| is_line_end(*c));
        let Some((at, c)) = found else {
            start = text.len();
            return Some((from..start, start));
        };
        let at = from + at;
        start = at + c.len_utf8();
        if c == '\r' && text[start..].starts_with('\n') {
            start += 1;
        }
        Some((from..at, start))
    })
}

/// Whether Python's `splitlines` ends a line at the character.
fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}
