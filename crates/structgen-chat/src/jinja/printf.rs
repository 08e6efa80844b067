//! Python's two kinds of formatting: `'%s' % x` and `'{}'.format(x)`.

use super::arguments::CallArguments;
use super::budget::{Budget, Result, fail};
use super::operators::spaces;
use super::print::{print, repr, to_text};
use super::text::{Origin, Text, TextBuilder};
use super::value::Value;

/// The flags, width and precision of a `%` directive.
#[derive(Default)]
struct Directive {
    is_left: bool,
    is_zero_filled: bool,
    has_sign: bool,
    width: i128,
    precision: Option<usize>,
}

/// The maximum number of digits after the decimal point.
const MAX_PRECISION: usize = 100;

/// `format % arguments`, with the directives `%s`, `%r`, `%d`, `%i`, `%u`, `%f`, `%x` and `%%`.
pub(super) fn printf(budget: &Budget, format: &Text, arguments: &[Value]) -> Result<Text> {
    budget.spend_reading(format.len())?;
    let mut out = TextBuilder::new(budget)?;
    let mut arguments = arguments.iter();
    let mut at = 0;
    while let Some(found) = format[at..].find('%') {
        out.push_slice(format, at..at + found)?;
        at += found + 1;
        let mut directive = Directive::default();
        let mut characters = format[at..].char_indices().peekable();
        while let Some(&(_, flag @ ('-' | '0' | '+' | ' ' | '#'))) = characters.peek() {
            match flag {
                '-' => directive.is_left = true,
                '0' => directive.is_zero_filled = true,
                '+' => directive.has_sign = true,
                _ => {}
            }
            characters.next();
        }
        while let Some(digit) = characters.peek().and_then(|(_, c)| c.to_digit(10)) {
            directive.width = (directive.width * 10 + i128::from(digit)).min(1 << 40);
            characters.next();
        }
        if characters.next_if(|(_, c)| *c == '.').is_some() {
            let mut precision = 0;
            while let Some(digit) = characters.peek().and_then(|(_, c)| c.to_digit(10)) {
                precision = (precision * 10 + digit as usize).min(1 << 20);
                characters.next();
            }
            directive.precision = Some(precision);
        }
        let Some((offset, conversion)) = characters.next() else {
            return fail("the format ends within a directive");
        };
        at += offset + conversion.len_utf8();
        if conversion == '%' {
            out.push("%", Origin::Template)?;
            continue;
        }
        let Some(value) = arguments.next() else {
            return fail("there are not enough values for the format");
        };
        let text = directive.formatted(budget, conversion, value)?;
        out.push_text(&text)?;
    }
    out.push_slice(format, at..format.len())?;
    match arguments.next() {
        None => Ok(out.finish()),
        Some(_) => fail("there are more values than the format has directives"),
    }
}

impl Directive {
    fn formatted(&self, budget: &Budget, conversion: char, value: &Value) -> Result<Text> {
        let text = match conversion {
            's' => to_text(budget, value)?,
            'r' => {
                let mut out = TextBuilder::new(budget)?;
                repr(budget, &mut out, value)?;
                out.finish()
            }
            'd' | 'i' | 'u' | 'x' => {
                let number = match value {
                    Value::Float(number) if conversion != 'x' => *number as i128,
                    _ => match value.as_int() {
                        Some(number) => number,
                        None => {
                            return fail(format!(
                                "%{conversion} formats numbers, not {}",
                                value.kind()
                            ));
                        }
                    },
                };
                let digits = match conversion {
                    'x' if number < 0 => format!("-{:x}", number.unsigned_abs()),
                    'x' => format!("{number:x}"),
                    _ => number.to_string(),
                };
                return self.number(budget, &digits);
            }
            'f' => {
                let Some(number) = value.as_number() else {
                    return fail(format!("%f formats numbers, not {}", value.kind()));
                };
                let precision = self.precision.unwrap_or(6).min(MAX_PRECISION);
                return self.number(budget, &fixed_point(budget, number, precision)?);
            }
            other => return fail(format!("the directive %{other} is not supported")),
        };
        let text = match self
            .precision
            .and_then(|most| text.char_indices().nth(most))
        {
            Some((end, _)) => text.slice(0..end)?,
            None => text,
        };
        budget.spend_reading(text.len())?;
        let missing = self.width - text.chars().count() as i128;
        let fill = spaces(budget, missing)?;
        let mut out = TextBuilder::new(budget)?;
        let parts = if self.is_left {
            [&text, &fill]
        } else {
            [&fill, &text]
        };
        for part in parts {
            out.push_text(part)?;
        }
        Ok(out.finish())
    }

    fn number(&self, budget: &Budget, digits: &str) -> Result<Text> {
        let (sign, digits) = match digits.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None if self.has_sign => ("+", digits),
            None => ("", digits),
        };
        let missing = self.width - (sign.len() + digits.len()) as i128;
        let (before, zeros, after) = match (self.is_left, self.is_zero_filled) {
            (true, _) => (0, 0, missing),
            (false, true) => (0, missing, 0),
            (false, false) => (missing, 0, 0),
        };
        let mut out = TextBuilder::new(budget)?;
        out.push_text(&spaces(budget, before)?)?;
        out.push(sign, Origin::Template)?;
        let zero = Text::new(budget, "0", Origin::Template)?;
        out.push_text(&super::operators::repeated(&zero, zeros, budget)?)?;
        out.push(digits, Origin::Template)?;
        out.push_text(&spaces(budget, after)?)?;
        Ok(out.finish())
    }
}

/// `format.format(...)`, with fields such as `{}`, `{0}` and `{name}`. The supported format specifications are `d` and
/// those like `.2f`.
pub(super) fn str_format(
    budget: &Budget,
    format: &Text,
    arguments: &CallArguments,
) -> Result<Text> {
    budget.spend_reading(format.len())?;
    let mut out = TextBuilder::new(budget)?;
    let mut at = 0;
    let mut next = 0;
    while let Some(found) = format[at..].find(['{', '}']) {
        let brace = at + found;
        out.push_slice(format, at..brace)?;
        let rest = &format[brace..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            out.push_slice(format, brace..brace + 1)?;
            at = brace + 2;
            continue;
        }
        let Some(end) = rest.find('}').filter(|&end| end > 0) else {
            return fail("a brace of the format has no partner");
        };
        let (field, specification) = match rest[1..end].split_once(':') {
            Some((field, specification)) => (field, specification),
            None => (&rest[1..end], ""),
        };
        let value = if field.is_empty() {
            next += 1;
            arguments.positional.get(next - 1)
        } else if let Ok(index) = field.parse::<usize>() {
            arguments.positional.get(index)
        } else {
            let mut named = arguments.named.iter();
            named
                .find(|(name, _)| **name == *field)
                .map(|(_, value)| value)
        };
        let Some(value) = value else {
            return fail("the format has a field without a value");
        };
        budget.spend(1 + arguments.named.len() as u64)?;
        let precision = { specification.strip_prefix('.') }
            .and_then(|rest| rest.strip_suffix('f'))
            .and_then(|digits| digits.parse::<usize>().ok());
        match (specification, precision, value.as_number()) {
            ("", _, _) => print(budget, &mut out, value)?,
            ("d", _, Some(_)) if value.as_int().is_some() => print(budget, &mut out, value)?,
            (_, Some(precision), Some(number)) => {
                let precision = precision.min(MAX_PRECISION);
                out.push(&fixed_point(budget, number, precision)?, Origin::Template)?;
            }
            _ => {
                return fail(format!(
                    "the format {:?} is not supported",
                    shortened(specification)
                ));
            }
        }
        at = brace + end + 1;
    }
    out.push_slice(format, at..format.len())?;
    Ok(out.finish())
}

/// A number with `precision` digits after the decimal point. The steps are counted when they are done, since they are
/// those of at most some hundred digits.
pub(super) fn fixed_point(budget: &Budget, number: f64, precision: usize) -> Result<String> {
    let written = format!("{number:.precision$}");
    budget.spend_reading(written.len())?;
    Ok(written)
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
