//! The built-in functions.

use std::rc::Rc;

use super::arguments::{CallArguments, required};
use super::budget::{Failure, Result, fail};
use super::interpreter::Interpreter;
use super::print::to_text;
use super::text::Text;
use super::value::{Callable, ListKind, Map, Value};
use crate::time;

/// The maximum length of a range, as in Jinja's sandbox.
const MAX_RANGE: i128 = 100_000;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Function {
    Range,
    Dict,
    Namespace,
    RaiseException,
    StrftimeNow,
    /// `loop.cycle`, called in this iteration.
    Cycle(usize),
}

/// The function with this name, or an undefined value.
pub(super) fn named(name: &str) -> Value {
    let function = match name {
        "range" => Function::Range,
        "dict" => Function::Dict,
        "namespace" => Function::Namespace,
        "raise_exception" => Function::RaiseException,
        "strftime_now" => Function::StrftimeNow,
        _ => return Value::Undefined,
    };
    Value::Callable(Rc::new(Callable::Function(function)))
}

impl Function {
    pub(super) fn call(
        self,
        interpreter: &mut Interpreter<'_>,
        arguments: CallArguments,
    ) -> Result<Value> {
        match self {
            Self::Range => range(interpreter, arguments),
            Self::Dict => Ok(Value::Map(fields(interpreter, "dict", arguments)?)),
            Self::Namespace => {
                let fields = fields(interpreter, "namespace", arguments)?;
                let id = interpreter.new_namespace()?;
                for (name, value) in fields.entries() {
                    let Some(name) = name.as_text() else {
                        return fail("the attributes of a namespace have names");
                    };
                    interpreter.set_attribute(id, (**name).into(), value.clone())?;
                }
                Ok(Value::Namespace(id))
            }
            Self::RaiseException => {
                let [message] = arguments.bind("raise_exception", ["message"])?;
                let message = required("raise_exception", "message", message)?;
                let message = to_text(&interpreter.budget, &message)?;
                Err(Failure::Raised(message.to_string()))
            }
            Self::StrftimeNow => {
                let [format] = arguments.bind("strftime_now", ["format"])?;
                let Some(Value::Text(format)) = format else {
                    return fail("strftime_now needs a format");
                };
                interpreter.budget.spend_reading(16 * format.len())?;
                let _held = interpreter.budget.hold(16 * format.len())?;
                match time::strftime(interpreter.now, &format) {
                    Ok(text) => Ok(Value::Text(Text::like(&format, &text)?)),
                    Err(reason) => fail(reason),
                }
            }
            Self::Cycle(index) => match arguments.positional.len() {
                0 => fail("loop.cycle needs items"),
                length => Ok(arguments.positional[index % length].clone()),
            },
        }
    }
}

/// `range(stop)`, `range(start, stop)` and `range(start, stop, step)`.
fn range(interpreter: &Interpreter<'_>, arguments: CallArguments) -> Result<Value> {
    let given = arguments.positional.len();
    let [first, second, step] = arguments.bind("range", ["start", "stop", "step"])?;
    let number = |value: Option<Value>, default: i128| match value {
        None => Ok(default),
        Some(value) => match value.as_int() {
            Some(number) => Ok(number),
            None => fail(format!("range needs ints, and is given {}", value.kind())),
        },
    };
    let (start, stop) = match given {
        1 => (0, number(first, 0)?),
        _ => (number(first, 0)?, number(second, 0)?),
    };
    let step = number(step, 1)?;
    if given == 0 || step == 0 {
        return fail("range needs an end and a step that is not 0");
    }
    let distance = match step > 0 {
        true => stop.saturating_sub(start),
        false => start.saturating_sub(stop),
    };
    let stride = step.saturating_abs();
    let length = match distance > 0 {
        true => (distance - 1) / stride + 1,
        false => 0,
    };
    if length > MAX_RANGE {
        return Err(Failure::Limit("items of a range", MAX_RANGE as u64));
    }
    interpreter.budget.spend(length as u64)?;
    let items = (0..length).map(|i| Value::Int(start + i * step)).collect();
    Value::list_of(&interpreter.budget, ListKind::View, items)
}

/// The fields of `dict(...)` and `namespace(...)`: those of a map or of pairs, and keyword arguments.
fn fields(interpreter: &Interpreter<'_>, callee: &str, arguments: CallArguments) -> Result<Map> {
    let budget = &interpreter.budget;
    let mut entries = Vec::new();
    if arguments.positional.len() > 1 {
        return fail(format!("{callee} takes one map and named values"));
    }
    for value in &arguments.positional {
        match value {
            Value::Map(map) => entries.extend(map.entries().iter().cloned()),
            other => {
                let Some(pairs) = other.items(budget)? else {
                    return fail(format!("{callee} is given {}", other.kind()));
                };
                for pair in pairs.items() {
                    match pair {
                        Value::List(pair) if pair.items().len() == 2 => {
                            entries.push((pair.items()[0].clone(), pair.items()[1].clone()));
                        }
                        _ => return fail(format!("{callee} needs pairs")),
                    }
                }
            }
        }
    }
    for (name, value) in arguments.named {
        entries.push((Value::template(budget, &name)?, value));
    }
    Map::new(budget, entries)
}
