//! Filters on lists and maps.

use std::cmp::Ordering;
use std::sync::Arc;

use super::arguments::CallArguments;
use super::budget::{Budget, Result, fail};
use super::filters::{self, int_or, text_of};
use super::interpreter::Interpreter;
use super::operators;
use super::print::print;
use super::tests_of_values;
use super::text::{Text, TextBuilder};
use super::value::{List, ListKind, Value};

/// The items of a filter's input.
fn items_of(budget: &Budget, filter: &str, value: &Value) -> Result<List> {
    let Some(items) = value.items(budget)? else {
        return fail(format!("{filter} of {}", value.kind()));
    };
    budget.spend(items.items().len() as u64 / 4)?;
    Ok(items)
}

fn generator(budget: &Budget, items: Vec<Value>) -> Result<Value> {
    Value::list_of(budget, ListKind::Generator, items)
}

/// `value.a.b`, for an attribute path of names and indices.
fn attribute(interpreter: &mut Interpreter<'_>, value: &Value, path: &Value) -> Result<Value> {
    let Value::Text(path) = path else {
        return interpreter.get_item(value, path);
    };
    interpreter.budget.spend_reading(path.len())?;
    let mut found = value.clone();
    for part in path.split('.') {
        // Like `item[part]` in Jinja's environment: items take precedence over attributes.
        let part = match part.parse::<i128>() {
            Ok(index) => Value::Int(index),
            Err(_) => Value::template(&interpreter.budget, part)?,
        };
        found = interpreter.get_item(&found, &part)?;
    }
    Ok(found)
}

fn attribute_or(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    path: Option<&Value>,
) -> Result<Value> {
    match path {
        None | Some(Value::None) => Ok(value.clone()),
        Some(path) => attribute(interpreter, value, path),
    }
}

/// The sort key of a value, which ignores case unless it is significant.
fn sort_key(budget: &Budget, value: Value, is_case_sensitive: bool) -> Result<Value> {
    match value {
        Value::Text(text) if !is_case_sensitive => {
            budget.spend_reading(text.len())?;
            Ok(Value::Text(Text::like(&text, &text.to_lowercase())?))
        }
        other => Ok(other),
    }
}

/// Sorts by keys, which must be comparable, and keeps the order of those that are equal.
fn sorted(budget: &Budget, keyed: Vec<(Value, Value)>, is_reversed: bool) -> Result<Vec<Value>> {
    let before = match is_reversed {
        true => Ordering::Greater,
        false => Ordering::Less,
    };
    let is_before =
        |(a, _): &(Value, Value), (b, _): &(Value, Value)| Ok(a.order(budget, b)? == Some(before));
    let sorted = merge_sorted(keyed, &is_before)?;
    Ok(sorted.into_iter().map(|(_, value)| value).collect())
}

/// A merge sort that ends with the first failure. Unlike the standard library's sort, it never panics, although NaN has
/// no order.
fn merge_sorted<T>(
    mut items: Vec<T>,
    is_before: &impl Fn(&T, &T) -> Result<bool>,
) -> Result<Vec<T>> {
    if items.len() < 2 {
        return Ok(items);
    }
    let mut merged = Vec::with_capacity(items.len());
    let right = items.split_off(items.len() / 2);
    let mut left = merge_sorted(items, is_before)?.into_iter().peekable();
    let mut right = merge_sorted(right, is_before)?.into_iter().peekable();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if is_before(b, a)? {
            &mut right
        } else {
            &mut left
        };
        merged.extend(next.next());
    }
    merged.extend(left.chain(right));
    Ok(merged)
}

fn is_true(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}

pub(super) fn batch(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [count, fill] = arguments.bind("batch", ["linecount", "fill_with"])?;
    let items = items_of(&i.budget, "batch", &value)?;
    let count = int_or("batch", count, 0)?;
    if count <= 0 {
        return fail("batch needs a length");
    }
    let count = count.min(1 << 32) as usize;
    let mut batches = Vec::new();
    for chunk in items.items().chunks(count) {
        let mut chunk = chunk.to_vec();
        if let Some(fill) = &fill
            && !matches!(fill, Value::None)
        {
            let missing = count - chunk.len();
            i.budget.spend(missing as u64)?;
            let _held = i.budget.hold(missing * size_of::<Value>())?;
            chunk.extend(std::iter::repeat_n(fill.clone(), missing));
        }
        batches.push(Value::list(&i.budget, chunk)?);
    }
    generator(&i.budget, batches)
}

pub(super) fn slice(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [count, fill] = arguments.bind("slice", ["slices", "fill_with"])?;
    let items = items_of(&i.budget, "slice", &value)?;
    let items = items.items();
    let count = int_or("slice", count, 0)?;
    if count <= 0 || count > 100_000 {
        return fail("slice needs a number of slices, at most 100000");
    }
    let count = count as usize;
    let (each, extra) = (items.len() / count, items.len() % count);
    let mut slices = Vec::new();
    let mut start = 0;
    for at in 0..count {
        let end = start + each + usize::from(at < extra);
        let mut part = items[start..end].to_vec();
        if let Some(fill) = &fill
            && !matches!(fill, Value::None)
            && at >= extra
            && extra > 0
        {
            part.push(fill.clone());
        }
        slices.push(Value::list(&i.budget, part)?);
        start = end;
    }
    generator(&i.budget, slices)
}

pub(super) fn dictsort(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let parameters = ["case_sensitive", "by", "reverse"];
    let [case_sensitive, by, reverse] = arguments.bind("dictsort", parameters)?;
    let Value::Map(map) = &value else {
        return fail(format!("dictsort of {}", value.kind()));
    };
    let by_value = by
        .as_ref()
        .and_then(Value::as_text)
        .is_some_and(|by| **by == *"value");
    let is_case_sensitive = is_true(case_sensitive);
    let mut keyed = Vec::new();
    for (key, value) in map.entries() {
        let by = if by_value { value } else { key };
        let by = sort_key(&i.budget, by.clone(), is_case_sensitive)?;
        let pair = vec![key.clone(), value.clone()];
        keyed.push((by, Value::list_of(&i.budget, ListKind::Tuple, pair)?));
    }
    let sorted = sorted(&i.budget, keyed, is_true(reverse))?;
    Value::list(&i.budget, sorted)
}

pub(super) fn first(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("first", [])?;
    if let Value::Text(text) = &value {
        return operators::character(&i.budget, text, 0);
    }
    let items = items_of(&i.budget, "first", &value)?;
    Ok(items.items().first().cloned().unwrap_or(Value::Undefined))
}

pub(super) fn last(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("last", [])?;
    if let Value::Text(text) = &value {
        return operators::character(&i.budget, text, -1);
    }
    let items = items_of(&i.budget, "last", &value)?;
    Ok(items.items().last().cloned().unwrap_or(Value::Undefined))
}

pub(super) fn groupby(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let parameters = ["attribute", "default", "case_sensitive"];
    let [path, default, case_sensitive] = arguments.bind("groupby", parameters)?;
    let is_case_sensitive = is_true(case_sensitive);
    let items = items_of(&i.budget, "groupby", &value)?;
    let mut keyed = Vec::new();
    for item in items.items() {
        let mut key = attribute_or(i, item, path.as_ref())?;
        if let (Value::Undefined, Some(default)) = (&key, &default) {
            key = default.clone();
        }
        let folded = sort_key(&i.budget, key.clone(), is_case_sensitive)?;
        let pair = Value::list_of(
            &i.budget,
            ListKind::Tuple,
            vec![key, item.clone(), folded.clone()],
        )?;
        keyed.push((folded, pair));
    }
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for entry in sorted(&i.budget, keyed, false)? {
        let Value::List(entry) = entry else { continue };
        let [key, item, folded] = entry.items() else {
            continue;
        };
        match groups.last_mut() {
            Some((last, _, members)) if last.equals(&i.budget, folded)? => {
                members.push(item.clone())
            }
            _ => groups.push((folded.clone(), key.clone(), vec![item.clone()])),
        }
    }
    let mut pairs = Vec::new();
    for (_, key, members) in groups {
        let members = Value::list(&i.budget, members)?;
        pairs.push(Value::list_of(
            &i.budget,
            ListKind::Tuple,
            vec![key, members],
        )?);
    }
    Value::list(&i.budget, pairs)
}

pub(super) fn items(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("items", [])?;
    match &value {
        Value::Undefined => generator(&i.budget, Vec::new()),
        Value::Map(map) => {
            let mut pairs = Vec::new();
            for (key, value) in map.entries() {
                let pair = vec![key.clone(), value.clone()];
                pairs.push(Value::list_of(&i.budget, ListKind::Tuple, pair)?);
            }
            generator(&i.budget, pairs)
        }
        other => fail(format!("items of {}", other.kind())),
    }
}

pub(super) fn join(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [separator, path] = arguments.bind("join", ["d", "attribute"])?;
    let separator = match separator {
        Some(separator) => Some(text_of(i, &separator)?),
        None => None,
    };
    let items = items_of(&i.budget, "join", &value)?;
    let mut out = TextBuilder::new(&i.budget)?;
    for (at, item) in items.items().iter().enumerate() {
        if at > 0
            && let Some(separator) = &separator
        {
            out.push_text(separator)?;
        }
        let item = attribute_or(i, item, path.as_ref())?;
        i.budget.spend(1)?;
        print(&i.budget, &mut out, &item)?;
    }
    Ok(Value::Text(out.finish()))
}

pub(super) fn list(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("list", [])?;
    let items = items_of(&i.budget, "list", &value)?;
    match items.kind() {
        ListKind::List => Ok(Value::List(items)),
        _ => Value::list(&i.budget, items.items().to_vec()),
    }
}

/// The filter `map`: reads an attribute of each item, or applies a filter to it.
pub(super) fn map(
    i: &mut Interpreter<'_>,
    value: Value,
    mut arguments: CallArguments,
) -> Result<Value> {
    let items = items_of(&i.budget, "map", &value)?;
    let mut mapped = Vec::new();
    if arguments.positional.is_empty() {
        let [path, default] = arguments.bind("map", ["attribute", "default"])?;
        let Some(path) = path else {
            return fail("map needs a filter or an attribute");
        };
        for item in items.items() {
            i.budget.spend(1)?;
            let found = attribute(i, item, &path)?;
            mapped.push(match (&found, &default) {
                (Value::Undefined, Some(default)) => default.clone(),
                _ => found,
            });
        }
        return generator(&i.budget, mapped);
    }
    let filter = arguments.positional.remove(0);
    let Some(filter) = filter.as_text().and_then(|name| filters::named(name)) else {
        return fail("map is given an unknown filter");
    };
    for item in items.items() {
        let arguments = copied(i, &arguments)?;
        mapped.push(i.nested(|i| filter(i, item.clone(), arguments))?);
    }
    generator(&i.budget, mapped)
}

fn copied(i: &Interpreter<'_>, arguments: &CallArguments) -> Result<CallArguments> {
    let length = arguments.positional.len() + arguments.named.len();
    i.budget.spend(1 + length as u64)?;
    let named = arguments.named.iter();
    Ok(CallArguments {
        positional: arguments.positional.clone(),
        named: named
            .map(|(name, value)| (Arc::clone(name), value.clone()))
            .collect(),
    })
}

pub(super) fn max(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    extreme(i, &value, arguments, "max", Ordering::Greater)
}

pub(super) fn min(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    extreme(i, &value, arguments, "min", Ordering::Less)
}

fn extreme(
    i: &mut Interpreter<'_>,
    value: &Value,
    arguments: CallArguments,
    filter: &str,
    wanted: Ordering,
) -> Result<Value> {
    let [case_sensitive, path] = arguments.bind(filter, ["case_sensitive", "attribute"])?;
    let is_case_sensitive = is_true(case_sensitive);
    let items = items_of(&i.budget, filter, value)?;
    let mut best: Option<(Value, Value)> = None;
    for item in items.items() {
        let key = attribute_or(i, item, path.as_ref())?;
        let key = sort_key(&i.budget, key, is_case_sensitive)?;
        let is_better = match &best {
            None => true,
            Some((best, _)) => key.order(&i.budget, best)? == Some(wanted),
        };
        if is_better {
            best = Some((key, item.clone()));
        }
    }
    Ok(best.map_or(Value::Undefined, |(_, value)| value))
}

pub(super) fn select(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    chosen(i, &value, arguments, "select", false, true)
}

pub(super) fn reject(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    chosen(i, &value, arguments, "reject", false, false)
}

pub(super) fn selectattr(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    chosen(i, &value, arguments, "selectattr", true, true)
}

pub(super) fn rejectattr(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    chosen(i, &value, arguments, "rejectattr", true, false)
}

/// The items for which a test has the wanted result, applied to them or to one of their attributes.
fn chosen(
    i: &mut Interpreter<'_>,
    value: &Value,
    mut arguments: CallArguments,
    filter: &str,
    by_attribute: bool,
    wanted: bool,
) -> Result<Value> {
    let items = items_of(&i.budget, filter, value)?;
    let path = match by_attribute {
        true if arguments.positional.is_empty() => {
            return fail(format!("{filter} needs an attribute"));
        }
        true => Some(arguments.positional.remove(0)),
        false => None,
    };
    let test = match arguments.positional.is_empty() {
        true => None,
        false => {
            let name = arguments.positional.remove(0);
            let test = name.as_text().and_then(|name| tests_of_values::named(name));
            if test.is_none() {
                return fail(format!("{filter} is given an unknown test"));
            }
            test
        }
    };
    let mut kept = Vec::new();
    for item in items.items() {
        let tested = attribute_or(i, item, path.as_ref())?;
        let passes = match test {
            None => {
                i.budget.spend(1)?;
                tested.is_true()
            }
            Some(test) => {
                let arguments = copied(i, &arguments)?;
                i.nested(|i| test(i, &tested, arguments))?
            }
        };
        if passes == wanted {
            kept.push(item.clone());
        }
    }
    generator(&i.budget, kept)
}

pub(super) fn reverse(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("reverse", [])?;
    let items = items_of(&i.budget, "reverse", &value)?;
    if let Value::Text(text) = &value {
        let mut out = TextBuilder::new(&i.budget)?;
        for (at, c) in text.char_indices().rev() {
            out.push_slice(text, at..at + c.len_utf8())?;
        }
        return Ok(Value::Text(out.finish()));
    }
    generator(&i.budget, items.items().iter().rev().cloned().collect())
}

pub(super) fn sort(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let parameters = ["reverse", "case_sensitive", "attribute"];
    let [reverse, case_sensitive, path] = arguments.bind("sort", parameters)?;
    let is_case_sensitive = is_true(case_sensitive);
    let items = items_of(&i.budget, "sort", &value)?;
    let mut keyed = Vec::new();
    for item in items.items() {
        let key = attribute_or(i, item, path.as_ref())?;
        keyed.push((sort_key(&i.budget, key, is_case_sensitive)?, item.clone()));
    }
    let sorted = sorted(&i.budget, keyed, is_true(reverse))?;
    Value::list(&i.budget, sorted)
}

pub(super) fn sum(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [path, start] = arguments.bind("sum", ["attribute", "start"])?;
    let items = items_of(&i.budget, "sum", &value)?;
    let mut total = start.unwrap_or(Value::Int(0));
    for item in items.items() {
        let item = attribute_or(i, item, path.as_ref())?;
        i.budget.spend(1)?;
        total = operators::binary(&i.budget, super::ast::Binary::Add, &total, &item)?;
    }
    Ok(total)
}

pub(super) fn unique(
    i: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [case_sensitive, path] = arguments.bind("unique", ["case_sensitive", "attribute"])?;
    let is_case_sensitive = is_true(case_sensitive);
    let items = items_of(&i.budget, "unique", &value)?;
    let mut seen: Vec<Value> = Vec::new();
    let mut kept = Vec::new();
    for item in items.items() {
        let key = attribute_or(i, item, path.as_ref())?;
        let key = sort_key(&i.budget, key, is_case_sensitive)?;
        let mut is_new = true;
        for other in &seen {
            i.budget.spend(1)?;
            if other.equals(&i.budget, &key)? {
                is_new = false;
                break;
            }
        }
        if is_new {
            seen.push(key);
            kept.push(item.clone());
        }
    }
    generator(&i.budget, kept)
}
