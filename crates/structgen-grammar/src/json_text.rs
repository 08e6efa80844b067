//! Whether a grammar's texts are JSON.

use crate::{Expr, ExprId, Grammar, Regular};

/// The maximum number of parts of a sequence that is examined: a value has only whitespace around it.
const MAX_PARTS: usize = 8;

/// The maximum number of nodes examined to prove that a part is whitespace.
const MAX_SPACE: usize = 64;

impl Grammar {
    /// Whether every text is one JSON value, as far as the expressions show: shapes, `true`, `false` and `null`, and
    /// whitespace around them.
    ///
    /// This holds for compiled schemas. It is not detected for a grammar that spells JSON in literals and patterns, or
    /// has a capture around a value.
    ///
    /// ```
    /// use structgen_grammar::{Expr, GrammarBuilder, JsonForm, NumberSet};
    ///
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.declare("root");
    /// let number = builder.expr(Expr::Number(NumberSet::default()));
    /// let null = builder.bytes("null");
    /// let body = builder.choice([number, null]);
    /// builder.define(root, body);
    /// assert!(builder.finish(root, JsonForm::generate()).is_json());
    /// ```
    #[must_use]
    pub fn is_json(&self) -> bool {
        let mut met = vec![false; self.exprs.len()];
        let mut open = vec![self.rule(self.root()).body];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut met[id.index()], true) {
                continue;
            }
            match self.expr(id) {
                // Grounded, referent and related values are strings or numbers.
                Expr::Never
                | Expr::String(_)
                | Expr::Number(_)
                | Expr::Grounded { .. }
                | Expr::Referent { .. }
                | Expr::Related { .. } => {}
                expr @ (Expr::Object(_) | Expr::Array(_) | Expr::Choice(_)) => {
                    open.extend(expr.children());
                }
                Expr::Rule(rule) => open.push(self.rule(*rule).body),
                Expr::Sequence(parts) if parts.len() <= MAX_PARTS => {
                    match one(parts, |&part| self.is_space(part)) {
                        Some(&value) => open.push(value),
                        None => return false,
                    }
                }
                Expr::Bytes(bytes) if is_word(bytes) => {}
                Expr::Regular(set) if is_words(set) => {}
                _ => return false,
            }
        }
        true
    }

    /// Whether the expression matches only whitespace.
    fn is_space(&self, id: ExprId) -> bool {
        match self.expr(id) {
            Expr::Empty => true,
            Expr::Bytes(bytes) => bytes.iter().all(|byte| is_space(char::from(*byte))),
            Expr::Regular(set) => is_spaces(set),
            _ => false,
        }
    }
}

/// The only part that is not whitespace.
fn one<T>(parts: &[T], is_space: impl Fn(&T) -> bool) -> Option<&T> {
    let mut others = parts.iter().filter(|part| !is_space(part));
    let found = others.next()?;
    others.next().is_none().then_some(found)
}

fn is_word(text: &[u8]) -> bool {
    matches!(text, b"true" | b"false" | b"null")
}

/// Whether the regular set contains only `true`, `false` and `null`, with optional whitespace around them.
fn is_words(set: &Regular) -> bool {
    let mut open = vec![set];
    while let Some(set) = open.pop() {
        match set {
            Regular::Never => {}
            Regular::Bytes(bytes) if is_word(bytes) => {}
            Regular::Union(arms) => open.extend(arms.iter()),
            Regular::Concat(parts) if parts.len() <= MAX_PARTS => match one(parts, is_spaces) {
                Some(value) => open.push(value),
                None => return false,
            },
            _ => return false,
        }
    }
    true
}

fn is_spaces(set: &Regular) -> bool {
    let mut open = vec![set];
    for _ in 0..MAX_SPACE {
        match open.pop() {
            None => return true,
            Some(Regular::Never | Regular::Empty) => {}
            Some(Regular::Bytes(bytes)) if bytes.iter().all(|&b| is_space(char::from(b))) => {}
            Some(Regular::Chars(set))
                if { set.ranges().iter() }
                    .all(|&(low, high)| high <= ' ' && (low..=high).all(is_space)) => {}
            Some(Regular::Concat(parts) | Regular::Union(parts)) => open.extend(parts.iter()),
            Some(Regular::Repeat { body, .. }) => open.push(body),
            Some(_) => return false,
        }
    }
    false
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CharSet, GrammarBuilder, JsonForm, ObjectShape, Slot, StringShape, passes};

    fn is_json(body: impl Fn(&mut GrammarBuilder) -> ExprId) -> bool {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let body = body(&mut builder);
        builder.define(root, body);
        let grammar = builder.finish(root, JsonForm::generate());
        let (passed, _) = passes::run(grammar.clone());
        assert_eq!(grammar.is_json(), passed.is_json(), "{grammar}{passed}");
        grammar.is_json()
    }

    fn object(builder: &mut GrammarBuilder, value: ExprId) -> ExprId {
        builder.expr(Expr::Object(Box::new(ObjectShape {
            additional: Some(Slot::of(value)),
            ..ObjectShape::default()
        })))
    }

    fn space(builder: &mut GrammarBuilder) -> ExprId {
        let set = CharSet::new([(' ', ' '), ('\t', '\n')]);
        builder.expr(Expr::Regular(Regular::Repeat {
            body: Regular::Chars(set).into(),
            min: 0,
            max: Some(3),
        }))
    }

    #[test]
    fn a_grounded_value_is_json() {
        assert!(is_json(|builder| {
            let string = builder.expr(Expr::String(StringShape::default()));
            builder.grounded("#", None, string)
        }));
    }

    #[test]
    fn shapes_and_words_are_json_with_whitespace_around_them() {
        for around in [false, true] {
            for words in [
                &["null"][..],
                &["true", "false"],
                &["true", "false", "null"],
            ] {
                for nested in [false, true] {
                    assert!(is_json(|builder| {
                        let arms: Vec<ExprId> = words.iter().map(|w| builder.bytes(w)).collect();
                        let mut value = builder.choice(arms);
                        if nested {
                            value = object(builder, value);
                        }
                        let gap = space(builder);
                        match around {
                            true => builder.sequence([gap, value, gap]),
                            false => value,
                        }
                    }));
                }
            }
        }
    }

    #[test]
    fn what_has_other_texts_is_not_json() {
        let string =
            |builder: &mut GrammarBuilder| builder.expr(Expr::String(StringShape::default()));
        // A word of another language, also nested inside other expressions.
        assert!(!is_json(|builder| builder.bytes("True")));
        assert!(!is_json(|builder| {
            let word = builder.bytes("True");
            object(builder, word)
        }));
        // Two values, no value, and a value followed by something else.
        assert!(!is_json(|builder| {
            let value = string(builder);
            builder.sequence([value, value])
        }));
        assert!(!is_json(|builder| {
            let value = string(builder);
            let end = builder.bytes(";");
            builder.sequence([value, end])
        }));
        assert!(!is_json(space));
        assert!(!is_json(|builder| {
            let value = string(builder);
            builder.repeat(value, 0, None)
        }));
    }
}
