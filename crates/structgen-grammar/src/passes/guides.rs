//! Removes guides, which do not change the texts.

use super::rebuild;
use crate::{Expr, Grammar};

/// Runs the pass. Rules are kept.
#[must_use]
pub fn run(grammar: Grammar) -> Grammar {
    let is_guided = |expr: &Expr| matches!(expr, Expr::Guided { .. });
    if !grammar.exprs().iter().any(is_guided) {
        return grammar;
    }
    rebuild::unwrap(grammar, |expr| match expr {
        Expr::Guided { body, .. } => Some(*body),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::run;
    use crate::{GrammarBuilder, Guide, JsonForm};

    #[test]
    fn nested_guides_are_removed() {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let [a, b] = ["a", "b"].map(|text| builder.bytes(text));
        let inner = builder.guided(Guide::MaxTokens(1), a);
        let inner = builder.sequence([inner, b]);
        let outer = builder.guided(Guide::MaxTokens(2), inner);
        builder.define(root, outer);
        let without = run(builder.finish(root, JsonForm::generate()));
        expect![[r#"
            root ::= "a" "b"
        "#]]
        .assert_eq(&without.to_string());
        assert_eq!(run(without.clone()), without);
    }
}
