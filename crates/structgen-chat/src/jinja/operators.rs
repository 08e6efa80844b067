//! Operators on values, and indexing and slicing of lists and strings.

use super::ast::Binary;
use super::budget::{Budget, Result, fail};
use super::printf;
use super::text::{Origin, Text, TextBuilder};
use super::value::{List, ListKind, Value};

pub(super) fn binary(budget: &Budget, operator: Binary, a: &Value, b: &Value) -> Result<Value> {
    match (operator, a, b) {
        (Binary::Add, Value::Text(a), Value::Text(b)) => {
            let mut out = TextBuilder::new(budget)?;
            out.push_text(a)?;
            out.push_text(b)?;
            Ok(Value::Text(out.finish()))
        }
        (Binary::Add, Value::List(a), Value::List(b)) if a.kind() == b.kind() => {
            joined(budget, a.kind(), &[a, b])
        }
        (Binary::Multiply, Value::Text(text), count)
        | (Binary::Multiply, count, Value::Text(text))
            if count.as_int().is_some() =>
        {
            Ok(Value::Text(repeated(
                text,
                count.as_int().unwrap_or(0),
                budget,
            )?))
        }
        (Binary::Multiply, Value::List(list), count)
        | (Binary::Multiply, count, Value::List(list))
            if count.as_int().is_some() =>
        {
            let count = count.as_int().unwrap_or(0).clamp(0, 1 << 32) as usize;
            // Reserved before the list of references is allocated.
            let total = count.saturating_mul(list.items().len());
            let _held = budget.hold(total.saturating_mul(size_of::<Value>()))?;
            let count = if list.items().is_empty() { 0 } else { count };
            joined(budget, list.kind(), &vec![list; count])
        }
        (Binary::Remainder, Value::Text(format), arguments) => {
            let arguments = match arguments {
                Value::List(list) if list.kind() == ListKind::Tuple => list.items(),
                other => std::slice::from_ref(other),
            };
            printf::printf(budget, format, arguments).map(Value::Text)
        }
        _ => numbers(operator, a, b),
    }
}

fn joined(budget: &Budget, kind: ListKind, lists: &[&List]) -> Result<Value> {
    let length = lists.iter().map(|list| list.items().len()).sum::<usize>();
    budget.spend(1 + length as u64 / 2)?;
    let _held = budget.hold(length * size_of::<Value>())?;
    let mut items = Vec::with_capacity(length);
    for list in lists {
        items.extend(list.items().iter().cloned());
    }
    Value::list_of(budget, kind, items)
}

pub(super) fn repeated(text: &Text, count: i128, budget: &Budget) -> Result<Text> {
    let mut out = TextBuilder::new(budget)?;
    if !text.is_empty() {
        for _ in 0..count {
            out.push_text(text)?;
        }
    }
    Ok(out.finish())
}

/// A number of spaces.
pub(super) fn spaces(budget: &Budget, count: i128) -> Result<Text> {
    repeated(&Text::new(budget, " ", Origin::Template)?, count, budget)
}

fn numbers(operator: Binary, a: &Value, b: &Value) -> Result<Value> {
    let wrong = || {
        let symbol = match operator {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::FloorDivide => "//",
            Binary::Remainder => "%",
            Binary::Power => "**",
        };
        fail(format!("{} {symbol} {} makes no sense", a.kind(), b.kind()))
    };
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        if y == 0
            && matches!(
                operator,
                Binary::Divide | Binary::FloorDivide | Binary::Remainder
            )
        {
            return fail("division by zero");
        }
        let result = match operator {
            Binary::Add => x.checked_add(y),
            Binary::Subtract => x.checked_sub(y),
            Binary::Multiply => x.checked_mul(y),
            Binary::FloorDivide => floor_divided(x, y),
            Binary::Remainder => Some(floor_remainder(x, y)),
            Binary::Power if y >= 0 => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
            Binary::Divide => return Ok(Value::Float(x as f64 / y as f64)),
            Binary::Power => return Ok(Value::Float((x as f64).powf(y as f64))),
        };
        return match result {
            Some(result) => Ok(Value::Int(result)),
            None => fail("a whole number has more than 127 bits"),
        };
    }
    let (Some(x), Some(y)) = (a.as_number(), b.as_number()) else {
        return wrong();
    };
    Ok(Value::Float(match operator {
        Binary::Add => x + y,
        Binary::Subtract => x - y,
        Binary::Multiply => x * y,
        Binary::Divide | Binary::FloorDivide | Binary::Remainder if y == 0.0 => {
            return fail("division by zero");
        }
        Binary::Divide => x / y,
        Binary::FloorDivide => (x / y).floor(),
        Binary::Remainder => x - (x / y).floor() * y,
        Binary::Power => x.powf(y),
    }))
}

/// Division that rounds down; `None` on overflow. The divisor must not be 0.
fn floor_divided(x: i128, y: i128) -> Option<i128> {
    let quotient = x.checked_div(y)?;
    match x % y != 0 && (x < 0) != (y < 0) {
        true => Some(quotient - 1),
        false => Some(quotient),
    }
}

/// The remainder of that division, which has the divisor's sign. The divisor must not be 0.
fn floor_remainder(x: i128, y: i128) -> i128 {
    let remainder = x.wrapping_rem(y);
    match remainder != 0 && (remainder < 0) != (y < 0) {
        true => remainder + y,
        false => remainder,
    }
}

pub(super) fn negative(value: Value) -> Result<Value> {
    match value {
        Value::Float(number) => Ok(Value::Float(-number)),
        _ => match value.as_int().and_then(i128::checked_neg) {
            Some(number) => Ok(Value::Int(number)),
            None => fail(format!("{} has no negative", value.kind())),
        },
    }
}

/// `item in container`.
pub(super) fn contains(budget: &Budget, container: &Value, item: &Value) -> Result<bool> {
    match container {
        Value::Text(text) => match item {
            Value::Text(part) => {
                budget.spend_searching(text.len())?;
                Ok(text.contains(&**part))
            }
            other => fail(format!("{} cannot be in a str", other.kind())),
        },
        Value::Map(map) => Ok(map.get(budget, item)?.is_some()),
        Value::Undefined => Ok(false),
        Value::List(list) => {
            for found in list.items() {
                budget.spend(1)?;
                if found.equals(budget, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        other => fail(format!("nothing can be in {}", other.kind())),
    }
}

/// The position of an index, which counts from the end if negative.
pub(super) fn place(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 {
        index + length as i128
    } else {
        index
    };
    usize::try_from(index).ok().filter(|&at| at < length)
}

/// The character at an index.
pub(super) fn character(budget: &Budget, text: &Text, index: i128) -> Result<Value> {
    budget.spend_reading(text.len())?;
    let found = match index < 0 {
        true => text
            .char_indices()
            .rev()
            .nth((-(index + 1)).min(1 << 40) as usize),
        false => text.char_indices().nth(index.min(1 << 40) as usize),
    };
    Ok(match found {
        Some((at, c)) => Value::Text(text.slice(at..at + c.len_utf8())?),
        None => Value::Undefined,
    })
}

/// `value[start:end:step]`.
pub(super) fn slice(budget: &Budget, value: &Value, bounds: &[Option<Value>; 3]) -> Result<Value> {
    let mut numbers = [None; 3];
    for (number, bound) in numbers.iter_mut().zip(bounds) {
        *number = match bound {
            None | Some(Value::None) => None,
            Some(bound) => match bound.as_int() {
                Some(number) => Some(number),
                None => return fail(format!("a slice is bounded by {}", bound.kind())),
            },
        };
    }
    match value {
        Value::List(list) if list.kind() != ListKind::Generator => {
            let places = places(budget, numbers, list.items().len())?;
            let items = places
                .into_iter()
                .map(|at| list.items()[at].clone())
                .collect();
            Value::list_of(budget, list.kind(), items)
        }
        Value::Text(text) => {
            budget.spend_reading(text.len())?;
            let _held = budget.hold(text.len().saturating_mul(8))?;
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let end_of = |at: usize| starts.get(at + 1).copied().unwrap_or(text.len());
            let places = places(budget, numbers, starts.len())?;
            let is_run = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
            if let (true, Some(&first), Some(&last)) = (is_run, places.first(), places.last()) {
                return Ok(Value::Text(text.slice(starts[first]..end_of(last))?));
            }
            let mut out = TextBuilder::new(budget)?;
            for at in places {
                out.push_slice(text, starts[at]..end_of(at))?;
            }
            Ok(Value::Text(out.finish()))
        }
        other => fail(format!("{} has no slices", other.kind())),
    }
}

/// The positions in a slice, in order.
fn places(budget: &Budget, bounds: [Option<i128>; 3], length: usize) -> Result<Vec<usize>> {
    let [start, end, step] = bounds;
    let step = step.unwrap_or(1);
    if step == 0 {
        return fail("the step of a slice is 0");
    }
    let length = length as i128;
    let (lowest, highest) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let clamped = |bound: i128| {
        let bound = if bound < 0 {
            bound.saturating_add(length)
        } else {
            bound
        };
        bound.clamp(lowest, highest)
    };
    let start = start.map_or(if step > 0 { lowest } else { highest }, clamped);
    let end = end.map_or(if step > 0 { highest } else { lowest }, clamped);
    let _held = budget.hold((length as usize).saturating_mul(8))?;
    budget.spend(1 + length as u64 / 16)?;
    let mut places = Vec::new();
    let mut at = start;
    while if step > 0 { at < end } else { at > end } {
        places.push(at as usize);
        at = at.saturating_add(step);
    }
    Ok(places)
}
