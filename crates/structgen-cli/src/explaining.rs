//! Explanations in readable form.

use std::process::ExitCode;

use structgen::explain::{Cause, Explanation, FormLimit, NextRule, NextToken, NextTokens, RuleAt};

use crate::error::{bad_input, does_not_fit};
use crate::excerpt::excerpt;

/// Returns the exit code for a text that does not match, or could not be checked.
pub(crate) fn code(explanation: &Explanation) -> ExitCode {
    match explanation.is_undecided() {
        true => bad_input(),
        false => does_not_fit(),
    }
}

/// Formats where a text stops matching, with the position marked, and why.
pub(crate) fn refusal(explanation: &Explanation, text: &[u8], name: &str) -> String {
    let mismatch = &explanation.mismatch;
    let shown = excerpt(text, mismatch.line, mismatch.column);
    let verdict = match explanation.is_undecided() {
        true => "could not be checked",
        false => "does not match",
    };
    let mut message = format!("{name} {verdict}: {mismatch}\n{shown}");
    if let Some(cause) = cause(explanation) {
        message.push('\n');
        message.push_str(&cause);
    }
    if mismatch.may_end
        && text
            .get(mismatch.offset..)
            .is_some_and(|rest| rest == b"\n" || rest == b"\r\n")
    {
        message.push_str("\nThe text ends with a line break, which belongs to it; use printf instead of echo to leave it out.");
    }
    message
}

/// Returns where a text stops matching and why, in one line.
pub(crate) fn reason(explanation: &Explanation) -> String {
    let mismatch = &explanation.mismatch;
    match cause(explanation) {
        Some(cause) => format!("{mismatch}: {cause}"),
        None => mismatch.to_string(),
    }
}

/// Returns the reason as a sentence, or `None` if the position says it all.
fn cause(explanation: &Explanation) -> Option<String> {
    let value = value(explanation);
    Some(match &explanation.cause {
        Cause::Keyword(violation) => {
            let mut text = format!("{value} {} ({})", violation.demand, violation.keyword);
            let mut causes = &violation.causes;
            while let Some(cause) = causes.first() {
                let place = place(&cause.instance);
                text.push_str(&format!("\n  {place} {} ({})", cause.demand, cause.keyword));
                causes = &cause.causes;
            }
            text
        }
        Cause::NotJson => format!("this is not JSON, within {value}"),
        Cause::EndsEarly => format!("the text ends within {value}"),
        Cause::RepeatedKey(key) => format!("the key {key:?} comes twice"),
        Cause::Limit(limit) => limit_in_words(limit),
        Cause::Format(format) => format!(
            "{value} violates no keyword, but the format is accepted in part only: {} ({})",
            format.left_out, format.keyword
        ),
        Cause::Form => format!(
            "{value} breaks no keyword of JSON Schema: what is refused is how it is written (order of keys, whitespace, escapes, the form of a number), or a relation to other values"
        ),
        _ => match explanation.rules.is_empty() {
            true => return None,
            false => format!("within the {}", rules(&explanation.rules)),
        },
    })
}

/// Formats a limit of a profile.
fn limit_in_words(limit: &FormLimit) -> String {
    let FormLimit {
        what,
        limit,
        profile,
        ..
    } = limit;
    format!(
        "the profile `{}` accepts at most {limit} {what}",
        profile.name()
    )
}

fn value(explanation: &Explanation) -> String {
    place(explanation.value.as_deref().unwrap_or_default())
}

fn place(pointer: &str) -> String {
    match pointer {
        "" => "the document".to_owned(),
        pointer => format!("the value at {pointer}"),
    }
}

/// Formats rules, from the outermost to the innermost.
pub(crate) fn rules(rules: &[RuleAt]) -> String {
    let shown: Vec<String> = rules.iter().map(rule).collect();
    match &shown[..] {
        [one] => format!("rule {one}"),
        _ => format!("rules {}", shown.join(" > ")),
    }
}

fn rule(rule: &RuleAt) -> String {
    match rule.line {
        Some(line) => format!("`{}` (line {line})", rule.name),
        None => format!("`{}`", rule.name),
    }
}

/// Formats what each rule may continue with.
pub(crate) fn next_rules(next: &[NextRule]) -> Vec<String> {
    next.iter()
        .map(|next| format!("{}: {}", rule(&next.rule), next.in_words()))
        .collect()
}

/// Formats tokens with their ids.
pub(crate) fn tokens(tokens: &NextTokens) -> String {
    let shown = |token: &NextToken| match token.is_special {
        true => format!("{} ({})", token.text, token.id.0),
        false => format!("{:?} ({})", token.text, token.id.0),
    };
    let listed: Vec<String> = tokens.listed.iter().map(shown).collect();
    let more = match tokens.count - listed.len() {
        0 => "",
        _ => ", …",
    };
    let NextTokens { count, of, .. } = tokens;
    format!("{count} of {of}: {}{more}", listed.join(", "))
}

/// Formats a name, with entries under it.
pub(crate) fn lines(name: &str, entries: &[String]) -> String {
    let mut text = String::new();
    for (index, entry) in entries.iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        text.push_str(&format!("{name:<10}{entry}\n"));
    }
    text
}
