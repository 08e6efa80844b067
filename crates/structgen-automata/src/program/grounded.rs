//! The texts of a grounded value, given an input.

use std::sync::Arc;

use structgen_grammar::{
    Expr, Grammar, JsonForm, LiteralSet, NumberSet, StringContent, StringShape,
};

use super::{SharedInput, TerminalSpec};
use crate::input::Recognised;
use crate::json::Content;
use crate::terminal::{DEAD, START};
use crate::{Input, LimitExceeded, Limits, StepError};

/// Returns the terminal of a grounded value: candidates if numbers or strings of the format were recognised, otherwise
/// spans of the text. `None` for what is neither a string nor a number.
pub(super) fn terminal(
    value: &Expr,
    format: Option<&str>,
    input: &Arc<Input>,
    form: &JsonForm,
    limits: &Limits,
) -> Result<Option<TerminalSpec>, LimitExceeded> {
    Ok(match value {
        Expr::Number(set) => {
            let texts = numbers(set, input, form, limits)?;
            let set = LiteralSet::new(texts).map_err(|_| LimitExceeded {
                what: "candidates of the input",
                limit: u64::from(u32::MAX),
            })?;
            Some(TerminalSpec::Literals(set))
        }
        Expr::String(shape) => {
            let listed = match format {
                Some(format) => strings(shape, format, input, limits)?,
                None => Vec::new(),
            };
            Some(if listed.is_empty() {
                spans(shape, input, form, limits)?
            } else {
                TerminalSpec::String(StringShape {
                    content: StringContent::Literals(listed.into()),
                    ..StringShape::default()
                })
            })
        }
        _ => None,
    })
}

/// Returns the spans of the input of this shape. A pattern also has the recognised strings, or if nothing matches it,
/// these in other notations.
fn spans(
    shape: &StringShape,
    input: &Arc<Input>,
    form: &JsonForm,
    limits: &Limits,
) -> Result<TerminalSpec, LimitExceeded> {
    let with = |recognised| TerminalSpec::Span {
        shape: shape.clone(),
        input: SharedInput(input.clone()),
        recognised,
    };
    if !matches!(shape.content, StringContent::Regular(_)) {
        return Ok(with(Recognised::None));
    }
    let usual = with(Recognised::Strings);
    let is_enough = !input.has_other_notations() || !usual.terminal(form, limits)?.is_never();
    Ok(if is_enough {
        usual
    } else {
        with(Recognised::OtherNotations)
    })
}

/// Returns whether the input has something for a grounded value; `true` for what is not grounded.
pub(crate) fn is_in_input(
    grammar: &Grammar,
    value: &Expr,
    input: &Arc<Input>,
    limits: &Limits,
) -> Result<bool, LimitExceeded> {
    let Expr::Grounded { format, body, .. } = value else {
        return Ok(true);
    };
    let (body, form) = (grammar.expr(*body), grammar.form());
    Ok(
        match terminal(body, format.as_deref(), input, form, limits)? {
            Some(spec) => !spec.terminal(form, limits)?.is_never(),
            None => true,
        },
    )
}

/// Returns the candidates that are in a set of numbers, as they are written.
fn numbers(
    set: &NumberSet,
    input: &Input,
    form: &JsonForm,
    limits: &Limits,
) -> Result<Vec<String>, LimitExceeded> {
    let terminal = TerminalSpec::Number(set.clone()).terminal(form, limits)?;
    let is_in_set = |text: &str| -> Result<bool, StepError> {
        let mut state = START;
        for &byte in text.as_bytes() {
            state = terminal.step(state, byte)?;
        }
        Ok(state != DEAD && terminal.accept(state).is_some())
    };
    let mut texts = Vec::new();
    for text in input.numbers() {
        if !terminal.is_never() && is_in_set(&text).map_err(StepError::limit)? {
            texts.push(text);
        }
    }
    Ok(texts)
}

/// Returns the candidates of a format that are in a set of strings: sorted, without duplicates.
fn strings(
    shape: &StringShape,
    format: &str,
    input: &Input,
    limits: &Limits,
) -> Result<Vec<Box<str>>, LimitExceeded> {
    let mut content = Content::new(shape, &limits.regular)?;
    let Some(start) = content.start()? else {
        return Ok(Vec::new());
    };
    let mut texts: Vec<Box<str>> = Vec::new();
    for text in input.strings(format) {
        if let Some(state) = content.run(&start, text.as_bytes())?
            && content.accept(&state).is_some()
        {
            texts.push(text.into());
        }
    }
    texts.sort_unstable();
    texts.dedup();
    Ok(texts)
}
