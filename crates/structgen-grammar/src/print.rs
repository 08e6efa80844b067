//! Printing a grammar, one rule a line, in the notation of GBNF as far as it goes.

use std::fmt;

use crate::{Expr, ExprId, Grammar};

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in self.rules() {
            writeln!(
                f,
                "{} ::= {}",
                rule.name,
                Printed {
                    grammar: self,
                    id: rule.body,
                    nested: false
                }
            )?;
        }
        Ok(())
    }
}

struct Printed<'g> {
    grammar: &'g Grammar,
    id: ExprId,
    nested: bool,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.grammar.expr(self.id) {
            Expr::Choice(arms) if !self.nested => {
                for (i, &id) in arms.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" | ")?;
                    }
                    write!(
                        f,
                        "{}",
                        Printed {
                            grammar: self.grammar,
                            id,
                            nested: true
                        }
                    )?;
                }
                Ok(())
            }
            Expr::Bytes(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            other => write!(f, "{other:?}"),
        }
    }
}
