use super::*;
use crate::JsonForm;

#[test]
fn rules_that_nobody_needs_are_dropped_and_the_others_renumbered() {
    let mut builder = GrammarBuilder::new();
    let [lost, leaf, root, loop_a, loop_b] =
        ["lost", "leaf", "root", "loop-a", "loop-b"].map(|name| builder.declare(name));
    let a = builder.bytes("a");
    builder.define(leaf, a);
    let to_leaf = builder.rule(leaf);
    let body = builder.repeat(to_leaf, 1, None);
    builder.define(root, body);
    builder.define(lost, to_leaf);
    for (from, to) in [(loop_a, loop_b), (loop_b, loop_a)] {
        let body = builder.rule(to);
        builder.define(from, body);
    }
    let (grammar, report) = run(builder.finish(root, JsonForm::generate()));
    assert_eq!(report.dropped, ["lost", "loop-a", "loop-b"]);
    assert_eq!(grammar.to_string(), "leaf ::= \"a\"\nroot ::= leaf+\n");
    assert_eq!(grammar.rule(grammar.root()).name, "root");
}
