//! The attributes `lazy`, `suffix` and `stop`.
//!
//! Each of them is expressed as a regular set, so no lexer is needed: a lazy lexeme matches the texts that have no
//! shorter match as a prefix.

use super::super::tree::Tree;

/// The attributes of a rule that decide where its text ends.
#[derive(Default)]
pub(super) struct End {
    pub(super) lazy: bool,
    pub(super) suffix: Option<Tree>,
    pub(super) stop: Option<Tree>,
    /// The name of the suffix in the output.
    pub(super) name: Option<String>,
}

impl End {
    pub(super) fn is_set(&self) -> bool {
        self.lazy || self.suffix.is_some() || self.stop.is_some()
    }

    /// The expression of a rule with this body and these attributes, with its capture. The error names what cannot be
    /// expressed.
    pub(super) fn apply(self, body: Tree, capture: Option<String>) -> Result<Tree, &'static str> {
        let named = |tree: Tree, name: Option<String>| match name {
            Some(name) => Tree::Capture(name, Box::new(tree)),
            None => tree,
        };
        if let Some(stop) = self.stop {
            if self.name.is_some() {
                return Err(
                    "a text that `stop` takes back cannot be captured: use `suffix`, which is part of the text",
                );
            }
            let Tree::Text(stop, false) = stop else {
                return Err(
                    "`stop` is written with a string here: for other terminals use `suffix` without a capture",
                );
            };
            let text = if stop.is_empty() {
                body
            } else {
                before(&body, &stop)
            };
            return Ok(named(text, capture));
        }
        match self.suffix {
            Some(Tree::Text(suffix, false)) if capture.is_some() || self.name.is_some() => {
                let text = named(before(&body, &suffix), capture);
                Ok(Tree::Sequence(vec![
                    text,
                    named(Tree::Text(suffix, false), self.name),
                ]))
            }
            Some(_) if capture.is_some() || self.name.is_some() => Err(
                "what stands before a suffix is captured where the suffix is a string: capture both by a rule around this one",
            ),
            Some(suffix) => Ok(shortest(Tree::Sequence(vec![body, suffix]))),
            None if self.lazy => Ok(named(shortest(body), capture)),
            None => Ok(named(body, capture)),
        }
    }
}

/// The texts that have no shorter text of the same set as a prefix.
fn shortest(set: Tree) -> Tree {
    let more = Tree::Repeat(Box::new(Tree::any()), 1, None);
    let longer = Tree::Sequence(vec![set.clone(), more]);
    Tree::Both(vec![set, Tree::Not(Box::new(longer))])
}

/// The texts of a set before the first end: those that contain no shorter text of the set followed by the end. An empty
/// end is first found after the shortest text.
fn before(set: &Tree, end: &str) -> Tree {
    if end.is_empty() {
        return shortest(set.clone());
    }
    let without = |rest: Vec<Tree>| {
        let parts = std::iter::once(set.clone()).chain(rest);
        Tree::Not(Box::new(Tree::Sequence(parts.collect())))
    };
    let text = |text: &str| Tree::Text(text.to_owned(), false);
    let more = Tree::Repeat(Box::new(Tree::any()), 0, None);
    let mut sets = vec![set.clone(), without(vec![text(end), more])];
    // An end that starts with one of its own suffixes may also occur earlier, across the boundary.
    for (at, _) in end.char_indices().skip(1) {
        if end.starts_with(&end[at..]) {
            sets.push(without(vec![text(&end[..at])]));
        }
    }
    Tree::Both(sets)
}
