//! A short notation for grammars made from schemas, used in snapshots.

use std::fmt::Write as _;

use structgen_grammar::{
    Expr, ExprId, Grammar, NumberSet, Regular, Slot, StringContent, StringShape, Tally,
};

/// Prints one rule per line; a rule that others refer to has its own name.
pub(super) fn print(grammar: &Grammar) -> String {
    let mut out = String::new();
    for rule in grammar.rules() {
        let _ = writeln!(out, "{} = {}", rule.name, expr(grammar, rule.body));
    }
    out
}

fn expr(grammar: &Grammar, id: ExprId) -> String {
    let list = |ids: &[ExprId], between: &str| {
        let all: Vec<String> = ids.iter().map(|&id| expr(grammar, id)).collect();
        all.join(between)
    };
    match grammar.expr(id) {
        Expr::Never => "never".to_owned(),
        Expr::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Expr::Choice(arms) => list(arms, " | "),
        Expr::Rule(rule) => grammar.rule(*rule).name.clone(),
        Expr::String(shape) => string(shape),
        Expr::Number(set) => number(set),
        Expr::Object(shape) => {
            let mut parts: Vec<String> = Vec::new();
            for property in &shape.properties {
                let mark = if property.required { "" } else { "?" };
                let value = slot(grammar, &property.value);
                let absent = (0..32).filter(|tally| property.absent >> tally & 1 == 1);
                let absent: String = absent.map(|tally| format!(" or none #{tally}")).collect();
                parts.push(format!("{:?}{mark}: {value}{absent}", property.key));
            }
            for pattern in &shape.patterns {
                let value = slot(grammar, &pattern.value);
                parts.push(format!("/{:?}/: {value}", pattern.keys));
            }
            let additional = shape.additional.iter();
            parts.extend(additional.map(|value| format!("..: {}", slot(grammar, value))));
            let counts = counts(shape.min_members, shape.max_members);
            format!(
                "{{{}}}{counts}{}",
                parts.join(", "),
                tallies(&shape.tallies)
            )
        }
        Expr::Array(shape) => {
            let mut parts: Vec<String> = Vec::new();
            parts.extend(shape.prefix.iter().map(|item| slot(grammar, item)));
            let rest = shape.rest.iter();
            parts.extend(rest.map(|item| format!("..{}", slot(grammar, item))));
            let counts = counts(shape.min_items, shape.max_items);
            let unique = if shape.unique { " unique" } else { "" };
            let tallies = tallies(&shape.tallies);
            format!("[{}]{counts}{tallies}{unique}", parts.join(", "))
        }
        other => format!("{other:?}"),
    }
}

fn slot(grammar: &Grammar, slot: &Slot) -> String {
    let alternatives = slot.alternatives.iter().map(|alternative| {
        let marks = (0..32).filter(|tally| alternative.tallies >> tally & 1 == 1);
        let marks: String = marks.map(|tally| format!("#{tally} ")).collect();
        format!("{marks}{}", expr(grammar, alternative.value))
    });
    match slot.alternatives.len() {
        0 => "never".to_owned(),
        _ => alternatives.collect::<Vec<_>>().join(" | "),
    }
}

fn tallies(tallies: &[Tally]) -> String {
    let tallies = tallies.iter().enumerate();
    let shown = tallies.map(|(i, tally)| format!(" #{i}{}", counts(tally.min, tally.max)));
    shown.collect()
}

fn counts(min: u32, max: Option<u32>) -> String {
    match (min, max) {
        (0, None) => String::new(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    }
}

fn string(shape: &StringShape) -> String {
    let counts = counts(shape.min_length, shape.max_length);
    match &shape.content {
        StringContent::Any => format!("string{counts}"),
        StringContent::Literals(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
            texts.join(" | ")
        }
        StringContent::Regular(regular) => format!("string<{}>{counts}", self::regular(regular)),
    }
}

/// A regular set, shortened if it is long.
fn regular(set: &Regular) -> String {
    let text = match set {
        Regular::Never => "never".to_owned(),
        Regular::Empty => "()".to_owned(),
        Regular::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Regular::Chars(set) if set.complement().is_empty() => "any".to_owned(),
        Regular::Chars(set) => {
            let range = |&(low, high): &(char, char)| match low == high {
                true => low.escape_debug().to_string(),
                false => format!("{}-{}", low.escape_debug(), high.escape_debug()),
            };
            format!("[{}]", set.ranges().iter().map(range).collect::<String>())
        }
        Regular::ByteRange(low, high) => format!("[{low:02x}-{high:02x}]"),
        Regular::Concat(parts) => parts.iter().map(regular).collect::<Vec<_>>().join(" "),
        Regular::Union(arms) => {
            format!(
                "({})",
                arms.iter().map(regular).collect::<Vec<_>>().join(" | ")
            )
        }
        Regular::Intersection(arms) => {
            format!(
                "({})",
                arms.iter().map(regular).collect::<Vec<_>>().join(" & ")
            )
        }
        Regular::Complement(body) => format!("!({})", regular(body)),
        Regular::Look {
            behind,
            negated,
            body,
        } => format!(
            "(?{}{}{})",
            if *behind { "<" } else { "" },
            if *negated { "!" } else { "=" },
            regular(body)
        ),
        Regular::Repeat { body, min, max } => format!("({}){}", regular(body), {
            let counts = counts(*min, *max);
            if counts.is_empty() {
                "*".to_owned()
            } else {
                counts
            }
        }),
    };
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn number(set: &NumberSet) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(bound) = &set.lower {
        let sign = if bound.exclusive { ">" } else { ">=" };
        parts.push(format!("{sign} {}", bound.value));
    }
    if let Some(bound) = &set.upper {
        let sign = if bound.exclusive { "<" } else { "<=" };
        parts.push(format!("{sign} {}", bound.value));
    }
    parts.extend(
        set.multiples_of
            .iter()
            .map(|divisor| format!("% {divisor}")),
    );
    if set.written_whole {
        parts.push("whole".to_owned());
    }
    match parts.is_empty() {
        true => "number".to_owned(),
        false => format!("number<{}>", parts.join(", ")),
    }
}
