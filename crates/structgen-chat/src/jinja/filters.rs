//! Jinja's filters. Filters on lists are in `filters_of_lists`.

use super::arguments::{Bound, CallArguments, required};
use super::budget::{Result, fail};
use super::interpreter::Interpreter;
use super::operators::spaces;
use super::print::{escape, to_text};
use super::text::{Origin, Text, TextBuilder};
use super::value::{ListKind, Value};
use super::{filters_of_lists as lists, json, methods, printf};

pub(crate) type FilterFn = fn(&mut Interpreter<'_>, Value, CallArguments) -> Result<Value>;

const FILTERS: [(&str, FilterFn); 48] = [
    ("abs", abs),
    ("attr", attr),
    ("batch", lists::batch),
    ("capitalize", |i, v, a| case(i, &v, a, "capitalize")),
    ("center", center),
    ("count", length),
    ("d", default),
    ("default", default),
    ("dictsort", lists::dictsort),
    ("e", escape_html),
    ("escape", escape_html),
    ("first", lists::first),
    ("float", to_float),
    ("forceescape", escape_html),
    ("format", format),
    ("groupby", lists::groupby),
    ("indent", indent),
    ("int", to_int),
    ("items", lists::items),
    ("join", lists::join),
    ("last", lists::last),
    ("length", length),
    ("list", lists::list),
    ("lower", |i, v, a| case(i, &v, a, "lower")),
    ("map", lists::map),
    ("max", lists::max),
    ("min", lists::min),
    ("pprint", pprint),
    ("reject", lists::reject),
    ("rejectattr", lists::rejectattr),
    ("replace", replace),
    ("reverse", lists::reverse),
    ("round", round),
    ("safe", string),
    ("select", lists::select),
    ("selectattr", lists::selectattr),
    ("slice", lists::slice),
    ("sort", lists::sort),
    ("string", string),
    ("sum", lists::sum),
    ("title", |i, v, a| case(i, &v, a, "title")),
    ("tojson", |i, v, a| {
        let parameters = ["ensure_ascii", "indent", "separators", "sort_keys"];
        json::to_json(i, &v, a.bind("tojson", parameters)?)
    }),
    ("trim", trim),
    ("truncate", truncate),
    ("unique", lists::unique),
    ("upper", |i, v, a| case(i, &v, a, "upper")),
    ("urlencode", urlencode),
    ("wordcount", wordcount),
];

/// The filter with this name.
pub(super) fn named(name: &str) -> Option<FilterFn> {
    let found = FILTERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, filter)| *filter)
}

/// A value as a string, as string filters convert it.
pub(super) fn text_of(interpreter: &Interpreter<'_>, value: &Value) -> Result<Text> {
    to_text(&interpreter.budget, value)
}

/// An optional integer argument.
pub(super) fn int_or(filter: &str, value: Option<Value>, default: i128) -> Result<i128> {
    match value {
        None => Ok(default),
        Some(value) => match value.as_int() {
            Some(number) => Ok(number),
            None => fail(format!(
                "{filter} needs an int, and is given {}",
                value.kind()
            )),
        },
    }
}

fn abs(_: &mut Interpreter<'_>, value: Value, arguments: CallArguments) -> Result<Value> {
    let [] = arguments.bind("abs", [])?;
    match value {
        Value::Float(number) => Ok(Value::Float(number.abs())),
        _ => match value.as_int().and_then(i128::checked_abs) {
            Some(number) => Ok(Value::Int(number)),
            None => fail(format!("abs of {}", value.kind())),
        },
    }
}

fn attr(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [name] = arguments.bind("attr", ["name"])?;
    match name {
        // Never an item: like Python's `getattr`, `attr` only returns attributes.
        Some(Value::Text(name)) if !matches!(value, Value::Map(_)) => {
            interpreter.get_attribute(&value, &name)
        }
        Some(_) => Ok(Value::Undefined),
        None => fail("attr needs a name"),
    }
}

fn case(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    arguments: CallArguments,
    method: &str,
) -> Result<Value> {
    let [] = arguments.bind(method, [])?;
    let text = text_of(interpreter, value)?;
    let method = match method {
        // The filter and the method disagree on which characters separate words.
        "title" => return title(&text),
        other => other,
    };
    methods::call(
        interpreter,
        &Value::Text(text),
        method,
        CallArguments::default(),
    )
}

/// Capitalises words, which are separated by white space and `-([{<`.
fn title(text: &Text) -> Result<Value> {
    let mut titled = String::with_capacity(text.len());
    let mut starts_word = true;
    for c in text.chars() {
        match starts_word {
            true => titled.extend(c.to_uppercase()),
            false => titled.extend(c.to_lowercase()),
        }
        starts_word = c.is_whitespace() || matches!(c, '-' | '(' | '[' | '{' | '<');
    }
    Ok(Value::Text(Text::like(text, &titled)?))
}

fn center(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [width] = arguments.bind("center", ["width"])?;
    let text = text_of(interpreter, &value)?;
    let budget = &interpreter.budget;
    budget.spend_reading(text.len())?;
    let width = int_or("center", width, 80)?;
    let missing = width.saturating_sub(text.chars().count() as i128).max(0);
    let mut out = TextBuilder::new(budget)?;
    out.push_text(&spaces(budget, missing / 2)?)?;
    out.push_text(&text)?;
    out.push_text(&spaces(budget, missing - missing / 2)?)?;
    Ok(Value::Text(out.finish()))
}

fn default(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [default, boolean] = arguments.bind("default", ["default_value", "boolean"])?;
    let also_false = boolean.is_some_and(|value| value.is_true());
    let is_missing = matches!(value, Value::Undefined) || also_false && !value.is_true();
    match (is_missing, default) {
        (false, _) => Ok(value),
        (true, Some(default)) => Ok(default),
        (true, None) => Value::template(&interpreter.budget, ""),
    }
}

fn escape_html(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("escape", [])?;
    let text = text_of(interpreter, &value)?;
    let mut out = TextBuilder::new(&interpreter.budget)?;
    escape(&mut out, &text, |c| {
        let escape = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\'' => "&#39;",
            '"' => "&#34;",
            _ => return None,
        };
        Some(escape.into())
    })?;
    Ok(Value::Text(out.finish()))
}

fn to_float(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [default] = arguments.bind("float", ["default"])?;
    let number = match &value {
        Value::Text(text) => {
            interpreter.budget.spend_reading(text.len())?;
            text.trim().replace('_', "").parse().ok()
        }
        other => other.as_number(),
    };
    Ok(match number {
        Some(number) => Value::Float(number),
        None => default.unwrap_or(Value::Float(0.0)),
    })
}

fn to_int(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [default, base] = arguments.bind("int", ["default", "base"])?;
    let base = int_or("int", base, 10)?;
    let whole = |number: f64| (number.abs() < 1e38).then_some(number as i128);
    let number = match &value {
        Value::Float(number) => whole(*number),
        Value::Text(text) => {
            interpreter.budget.spend_reading(text.len())?;
            let text = text.trim().replace('_', "");
            let radix = u32::try_from(base)
                .ok()
                .filter(|base| (2..=36).contains(base));
            let digits = match radix {
                Some(16) => text.trim_start_matches("0x"),
                Some(8) => text.trim_start_matches("0o"),
                Some(2) => text.trim_start_matches("0b"),
                _ => &text,
            };
            { radix.and_then(|radix| i128::from_str_radix(digits, radix).ok()) }
                .or_else(|| text.parse().ok().and_then(whole))
        }
        other => other.as_int(),
    };
    Ok(match number {
        Some(number) => Value::Int(number),
        None => default.unwrap_or(Value::Int(0)),
    })
}

fn format(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    if !arguments.named.is_empty() {
        return fail("format with named values is not supported");
    }
    let text = text_of(interpreter, &value)?;
    printf::printf(&interpreter.budget, &text, &arguments.positional).map(Value::Text)
}

fn indent(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [width, first, blank] = arguments.bind("indent", ["width", "first", "blank"])?;
    let text = text_of(interpreter, &value)?;
    let budget = &interpreter.budget;
    let indentation = match width {
        Some(Value::Text(indentation)) => indentation,
        width => spaces(budget, int_or("indent", width, 4)?)?,
    };
    let indents_first = first.is_some_and(|value| value.is_true());
    let indents_blank = blank.is_some_and(|value| value.is_true());
    budget.spend_reading(text.len())?;
    let mut out = TextBuilder::new(budget)?;
    if indents_first {
        out.push_text(&indentation)?;
    }
    let mut is_open = true;
    for (i, (line, end)) in methods::lines(&text).enumerate() {
        if i > 0 {
            out.push("\n", Origin::Template)?;
            if indents_blank || !line.is_empty() {
                out.push_text(&indentation)?;
            }
        }
        is_open = line.end < end;
        out.push_slice(&text, line)?;
    }
    // A trailing line break starts one more line.
    if is_open && !text.is_empty() {
        out.push("\n", Origin::Template)?;
        if indents_blank {
            out.push_text(&indentation)?;
        }
    }
    Ok(Value::Text(out.finish()))
}

fn length(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("length", [])?;
    Ok(Value::of_len(match &value {
        Value::Undefined => 0,
        Value::Text(text) => {
            interpreter.budget.spend_reading(text.len())?;
            text.chars().count()
        }
        Value::List(list) if list.kind() != ListKind::Generator => list.items().len(),
        Value::Map(map) => map.entries().len(),
        other => return fail(format!("{} has no length", other.kind())),
    }))
}

fn pprint(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("pprint", [])?;
    let mut out = TextBuilder::new(&interpreter.budget)?;
    super::print::repr(&interpreter.budget, &mut out, &value)?;
    Ok(Value::Text(out.finish()))
}

fn replace(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [old, new, count]: Bound<3> = arguments.bind("replace", ["old", "new", "count"])?;
    let text = text_of(interpreter, &value)?;
    let old = text_of(interpreter, &required("replace", "old", old)?)?;
    let new = text_of(interpreter, &required("replace", "new", new)?)?;
    let count = match count {
        None | Some(Value::None) => -1,
        count => int_or("replace", count, -1)?,
    };
    methods::replaced(&interpreter.budget, &text, &old, &new, count).map(Value::Text)
}

fn round(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [precision, method] = arguments.bind("round", ["precision", "method"])?;
    let precision = int_or("round", precision, 0)?.clamp(-300, 300) as i32;
    let Some(number) = value.as_number() else {
        return fail(format!("round of {}", value.kind()));
    };
    let scale = 10_f64.powi(precision);
    Ok(
        match method
            .as_ref()
            .map(|method| method.as_text().map(|method| &**method))
        {
            None | Some(Some("common")) => match &value {
                Value::Int(_) if precision >= 0 => value,
                // In decimal, since halves of the last digit are rarely exact in binary.
                _ if precision >= 0 => {
                    let written =
                        printf::fixed_point(&interpreter.budget, number, precision as usize)?;
                    Value::Float(written.parse().unwrap_or(number))
                }
                _ => Value::Float((number * scale).round_ties_even() / scale),
            },
            Some(Some("ceil")) => Value::Float((number * scale).ceil() / scale),
            Some(Some("floor")) => Value::Float((number * scale).floor() / scale),
            Some(_) => return fail("round knows the methods common, ceil and floor"),
        },
    )
}

fn string(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("string", [])?;
    text_of(interpreter, &value).map(Value::Text)
}

fn trim(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let text = text_of(interpreter, &value)?;
    methods::call(interpreter, &Value::Text(text), "strip", arguments)
}

fn truncate(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let parameters = ["length", "killwords", "end", "leeway"];
    let [length, kill, end, leeway] = arguments.bind("truncate", parameters)?;
    let text = text_of(interpreter, &value)?;
    let end = match end {
        Some(end) => text_of(interpreter, &end)?,
        None => Text::new(&interpreter.budget, "...", Origin::Template)?,
    };
    let budget = &interpreter.budget;
    budget.spend_reading(text.len() + end.len())?;
    let most = int_or("truncate", length, 255)?;
    let leeway = int_or("truncate", leeway, 5)?;
    if text.chars().count() as i128 <= most.saturating_add(leeway) {
        return Ok(Value::Text(text));
    }
    let kept = most.saturating_sub(end.chars().count() as i128);
    let kept = kept.clamp(0, 1 << 40) as usize;
    let cut = text
        .char_indices()
        .nth(kept)
        .map_or(text.len(), |(at, _)| at);
    let cut = match kill.is_some_and(|value| value.is_true()) {
        true => cut,
        false => text[..cut].rfind(' ').unwrap_or(cut),
    };
    let mut out = TextBuilder::new(budget)?;
    out.push_slice(&text, 0..cut)?;
    out.push_text(&end)?;
    Ok(Value::Text(out.finish()))
}

fn urlencode(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("urlencode", [])?;
    let text = match &value {
        Value::Text(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
            text_of(interpreter, &value)?
        }
        other => return fail(format!("urlencode of {}", other.kind())),
    };
    let mut out = TextBuilder::new(&interpreter.budget)?;
    escape(&mut out, &text, |c| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '~' | '/') {
            return None;
        }
        let mut bytes = [0; 4];
        let bytes = c.encode_utf8(&mut bytes).bytes();
        Some(bytes.map(|byte| format!("%{byte:02X}")).collect())
    })?;
    Ok(Value::Text(out.finish()))
}

fn wordcount(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: CallArguments,
) -> Result<Value> {
    let [] = arguments.bind("wordcount", [])?;
    let text = text_of(interpreter, &value)?;
    interpreter.budget.spend_reading(text.len())?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    Ok(Value::of_len(words.count()))
}
