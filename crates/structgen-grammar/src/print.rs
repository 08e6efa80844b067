//! Prints a grammar, one rule per line, in GBNF as far as possible.
//!
//! What GBNF cannot express is written like a call: `regular(…)` around a regular terminal, `json-object({…})` and the
//! like for JSON shapes, `never()`. The output is for people; nothing parses it.

use std::fmt::{self, Write};

use crate::notation::{class, push_char, quantifier};
use crate::{
    ArrayShape, Expr, ExprId, Grammar, NumberSet, ObjectShape, Regular, Slot, StringContent,
    StringShape, Tally, TokenTerminal,
};

/// The maximum number of pieces printed of one rule: expressions share parts, so what is small in memory may be
/// exponentially large in print.
const MAX_PIECES: usize = 20_000;
/// The maximum number of ranges, texts or arms printed of one set.
const MAX_MEMBERS: usize = 24;

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in self.rules() {
            write!(f, "{} ::= ", rule.name)?;
            Printer {
                grammar: self,
                stack: vec![Piece::Expr(rule.body, Place::Rule)],
            }
            .print(f)?;
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// The context of an expression, which decides whether it needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Rule,
    Choice,
    Sequence,
    Repeat,
}

/// Something still to be printed.
enum Piece<'g> {
    Text(&'static str),
    Owned(String),
    Expr(ExprId, Place),
    Regular(&'g Regular, Place),
}

/// Prints with an explicit stack: expressions may nest deeper than the call stack allows.
struct Printer<'g> {
    grammar: &'g Grammar,
    stack: Vec<Piece<'g>>,
}

impl<'g> Printer<'g> {
    fn print(mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pieces = 0;
        while let Some(piece) = self.stack.pop() {
            pieces += 1;
            if pieces > MAX_PIECES {
                return f.write_str(" …");
            }
            let from = self.stack.len();
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Owned(text) => f.write_str(&text)?,
                Piece::Expr(id, place) => self.expr(id, place),
                Piece::Regular(regular, place) => self.regular(regular, place),
            }
            // Pieces were pushed in reading order.
            self.stack[from..].reverse();
        }
        Ok(())
    }

    fn text(&mut self, text: &'static str) {
        self.stack.push(Piece::Text(text));
    }

    fn owned(&mut self, text: String) {
        self.stack.push(Piece::Owned(text));
    }

    /// Parts with a separator, in parentheses if `place` binds tighter than `own`.
    fn list(
        &mut self,
        parts: impl Iterator<Item = Piece<'g>>,
        between: &'static str,
        own: Place,
        place: Place,
    ) {
        let parentheses = place > own;
        if parentheses {
            self.text("(");
        }
        for (index, part) in parts.enumerate() {
            if index > 0 {
                self.text(between);
            }
            self.stack.push(part);
        }
        if parentheses {
            self.text(")");
        }
    }

    fn expr(&mut self, id: ExprId, place: Place) {
        let grammar: &'g Grammar = self.grammar;
        match grammar.expr(id) {
            Expr::Never => self.text("never()"),
            Expr::Empty => self.text("\"\""),
            Expr::Bytes(bytes) => self.owned(literal(bytes)),
            Expr::Literals(set) => {
                let shown = set.iter().take(MAX_MEMBERS);
                let more = set.count().saturating_sub(MAX_MEMBERS as u64);
                let cut = (more > 0).then(|| Piece::Owned(format!("… {more} more")));
                self.list(
                    shown.map(|text| Piece::Owned(literal(&text))).chain(cut),
                    " | ",
                    Place::Rule,
                    place,
                );
            }
            Expr::Regular(Regular::Chars(set)) => self.owned(class(set, MAX_MEMBERS)),
            Expr::Regular(regular) => {
                self.text("regular(");
                self.stack.push(Piece::Regular(regular, Place::Rule));
                self.text(")");
            }
            Expr::Sequence(parts) => self.list(
                parts.iter().map(|&id| Piece::Expr(id, Place::Sequence)),
                " ",
                Place::Choice,
                place,
            ),
            Expr::Choice(arms) => self.list(
                arms.iter().map(|&id| Piece::Expr(id, Place::Choice)),
                " | ",
                Place::Rule,
                place,
            ),
            Expr::Repeat { body, min, max } => {
                self.stack.push(Piece::Expr(*body, Place::Repeat));
                self.owned(quantifier(*min, *max));
            }
            Expr::Capture { name, body } => {
                self.owned(format!("@{name}("));
                self.stack.push(Piece::Expr(*body, Place::Rule));
                self.text(")");
            }
            Expr::Guided { guide, body } => {
                self.owned(format!("{guide}("));
                self.stack.push(Piece::Expr(*body, Place::Rule));
                self.text(")");
            }
            Expr::Grounded { format, body, .. } => {
                let format = format.as_deref().map(|format| format!("{format}: "));
                self.owned(format!("input({}", format.unwrap_or_default()));
                self.stack.push(Piece::Expr(*body, Place::Rule));
                self.text(")");
            }
            Expr::Referent { name, body } => {
                self.owned(format!("referent({name}: "));
                self.stack.push(Piece::Expr(*body, Place::Rule));
                self.text(")");
            }
            Expr::Related {
                relation,
                referent,
                body,
                ..
            } => {
                self.owned(format!("related({relation} {referent}: "));
                self.stack.push(Piece::Expr(*body, Place::Rule));
                self.text(")");
            }
            Expr::Rule(rule) => self.owned(grammar.rule(*rule).name.clone()),
            Expr::Token(token) => self.owned(token_terminal(token)),
            Expr::String(shape) => self.string(shape),
            Expr::Number(set) => self.owned(number(set)),
            Expr::Object(shape) => self.object(shape),
            Expr::Array(shape) => self.array(shape),
        }
    }

    fn regular(&mut self, regular: &'g Regular, place: Place) {
        match regular {
            Regular::Never => self.text("never()"),
            Regular::Empty => self.text("\"\""),
            Regular::Bytes(bytes) => self.owned(literal(bytes)),
            Regular::Chars(set) => self.owned(class(set, MAX_MEMBERS)),
            Regular::ByteRange(low, high) => {
                self.owned(format!("byte({low:#04x}-{high:#04x})"));
            }
            Regular::Concat(parts) => self.list(
                parts
                    .iter()
                    .map(|part| Piece::Regular(part, Place::Sequence)),
                " ",
                Place::Choice,
                place,
            ),
            Regular::Union(arms) => {
                let shown = arms.iter().take(MAX_MEMBERS);
                let more = arms.len().saturating_sub(MAX_MEMBERS);
                let cut = (more > 0).then(|| Piece::Owned(format!("… {more} more")));
                self.list(
                    shown
                        .map(|arm| Piece::Regular(arm, Place::Choice))
                        .chain(cut),
                    " | ",
                    Place::Rule,
                    place,
                );
            }
            Regular::Intersection(arms) => {
                self.text("intersection(");
                self.list(
                    arms.iter().map(|arm| Piece::Regular(arm, Place::Rule)),
                    ", ",
                    Place::Repeat,
                    Place::Rule,
                );
                self.text(")");
            }
            Regular::Complement(body) => {
                self.text("complement(");
                self.stack.push(Piece::Regular(body, Place::Rule));
                self.text(")");
            }
            Regular::Repeat { body, min, max } => {
                self.stack.push(Piece::Regular(body, Place::Repeat));
                self.owned(quantifier(*min, *max));
            }
            Regular::Look {
                behind,
                negated,
                body,
            } => {
                self.text(match (behind, negated) {
                    (false, false) => "ahead(",
                    (false, true) => "not-ahead(",
                    (true, false) => "behind(",
                    (true, true) => "not-behind(",
                });
                self.stack.push(Piece::Regular(body, Place::Rule));
                self.text(")");
            }
        }
    }

    fn string(&mut self, shape: &'g StringShape) {
        self.text("json-string(");
        match &shape.content {
            StringContent::Any => {}
            StringContent::Regular(regular) => {
                self.stack.push(Piece::Regular(regular, Place::Rule));
            }
            StringContent::Literals(texts) => {
                for (index, text) in texts.iter().take(MAX_MEMBERS).enumerate() {
                    if index > 0 {
                        self.text(" | ");
                    }
                    self.owned(literal(text.as_bytes()));
                }
                if texts.len() > MAX_MEMBERS {
                    self.owned(format!(" | … {} more", texts.len() - MAX_MEMBERS));
                }
            }
        }
        if (shape.min_length, shape.max_length) != (0, None) {
            if shape.content != StringContent::Any {
                self.text(", ");
            }
            self.owned(format!(
                "length {}",
                bounds(shape.min_length, shape.max_length)
            ));
        }
        self.text(")");
    }

    fn object(&mut self, shape: &'g ObjectShape) {
        self.text("json-object({");
        let mut between = " ";
        for (index, property) in shape.properties.iter().enumerate() {
            self.text(std::mem::replace(&mut between, ", "));
            // A bar marks the end of the ordered properties.
            let bar = if index == shape.ordered as usize {
                "| "
            } else {
                ""
            };
            let mark = if property.required { "!" } else { "" };
            let key = literal(property.key.as_bytes());
            self.owned(format!("{bar}{key}{mark}: "));
            self.slot(&property.value);
            for tally in (0..u32::BITS).filter(|tally| property.absent >> tally & 1 == 1) {
                self.owned(format!(" or none #{tally}"));
            }
        }
        for pattern in &shape.patterns {
            self.text(std::mem::replace(&mut between, ", "));
            self.stack
                .push(Piece::Regular(&pattern.keys, Place::Sequence));
            self.text(": ");
            self.slot(&pattern.value);
        }
        if let Some(additional) = &shape.additional {
            self.text(std::mem::replace(&mut between, ", "));
            self.text("*: ");
            self.slot(additional);
        }
        self.text(if between == " " { "}" } else { " }" });
        if (shape.min_members, shape.max_members) != (0, None) {
            let members = bounds(shape.min_members, shape.max_members);
            self.owned(format!(", {members} members"));
        }
        self.tallies(&shape.tallies);
        self.text(")");
    }

    fn array(&mut self, shape: &'g ArrayShape) {
        self.text("json-array([");
        for (index, slot) in shape.prefix.iter().enumerate() {
            if index > 0 {
                self.text(", ");
            }
            self.slot(slot);
        }
        if let Some(rest) = &shape.rest {
            self.text(if shape.prefix.is_empty() {
                "*: "
            } else {
                ", *: "
            });
            self.slot(rest);
        }
        self.text("]");
        if (shape.min_items, shape.max_items) != (0, None) {
            self.owned(format!(
                ", {} items",
                bounds(shape.min_items, shape.max_items)
            ));
        }
        self.tallies(&shape.tallies);
        self.text(if shape.unique { ", unique)" } else { ")" });
    }

    fn tallies(&mut self, tallies: &[Tally]) {
        for (index, tally) in tallies.iter().enumerate() {
            self.owned(format!(", {} of #{index}", bounds(tally.min, tally.max)));
        }
    }

    /// The alternatives, each with the tallies that it counts towards.
    fn slot(&mut self, slot: &Slot) {
        for (index, alternative) in slot.alternatives.iter().enumerate() {
            if index > 0 {
                self.text(" | ");
            }
            for tally in 0..u32::BITS {
                if alternative.tallies >> tally & 1 == 1 {
                    self.owned(format!("#{tally} "));
                }
            }
            let place = if slot.alternatives.len() > 1 {
                Place::Choice
            } else {
                Place::Rule
            };
            self.stack.push(Piece::Expr(alternative.value, place));
        }
        if slot.alternatives.is_empty() {
            self.text("never()");
        }
    }
}

/// A token terminal in GBNF's notation, if its name can be written so.
fn token_terminal(token: &TokenTerminal) -> String {
    let name = |name: &str| {
        if name.starts_with('<') {
            name.to_owned()
        } else {
            format!("token({name:?})")
        }
    };
    match token {
        TokenTerminal::Name(text) => name(text),
        TokenTerminal::Id(id) => format!("<[{id}]>"),
        TokenTerminal::NotName(text) => format!("!{}", name(text)),
        TokenTerminal::NotId(id) => format!("!<[{id}]>"),
    }
}

fn bounds(min: u32, max: Option<u32>) -> String {
    match max {
        None => format!("{min}.."),
        Some(max) if max == min => min.to_string(),
        Some(max) => format!("{min}..={max}"),
    }
}

fn number(set: &NumberSet) -> String {
    let mut parts = Vec::new();
    if let Some(lower) = &set.lower {
        parts.push(format!(
            "{} {}",
            if lower.exclusive { ">" } else { ">=" },
            lower.value
        ));
    }
    if let Some(upper) = &set.upper {
        parts.push(format!(
            "{} {}",
            if upper.exclusive { "<" } else { "<=" },
            upper.value
        ));
    }
    for divisor in &set.multiples_of {
        parts.push(format!("multiple of {divisor}"));
    }
    for divisor in &set.not_multiples_of {
        parts.push(format!("no multiple of {divisor}"));
    }
    if set.written_whole {
        parts.push("written whole".into());
    }
    format!("json-number({})", parts.join(", "))
}

/// A literal in double quotes, or `bytes("…")` if it is not UTF-8.
fn literal(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let mut printed = String::from("\"");
            for c in text.chars() {
                push_char(&mut printed, c, &['"', '\\']);
            }
            printed.push('"');
            printed
        }
        Err(_) => format!("bytes(\"{}\")", bytes.escape_ascii()),
    }
}

#[cfg(test)]
mod tests;
