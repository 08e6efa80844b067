//! An output's JSON as a tree, as far as it is generated.

use structgen_decode::events::{EventStream, JsonKind, OutputEvent, OutputPart};

/// A value of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its depth.
    pub depth: usize,
    /// Its key or its index in an array; empty at the root.
    pub name: String,
    /// Its type.
    pub kind: JsonKind,
    /// The text so far of a string, a number or a literal.
    pub text: String,
    /// Whether it is complete.
    pub is_done: bool,
    pointer: String,
}

/// Returns the values of a prefix of a JSON document, in order; none if it is not JSON.
#[must_use]
pub fn nodes(text: &str) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut events = EventStream::json();
    // If the text is not JSON, the values before the error are kept.
    let _ = events.push(text, &[], &mut |event| match event {
        OutputEvent::Started {
            part: OutputPart::Field { pointer, kind },
            ..
        } => nodes.push(Node {
            depth: pointer.matches('/').count(),
            name: { pointer.rsplit('/').next().unwrap_or_default() }
                .replace("~1", "/")
                .replace("~0", "~"),
            kind,
            text: String::new(),
            is_done: false,
            pointer: pointer.into_owned(),
        }),
        OutputEvent::Delta {
            part: OutputPart::Field { pointer, .. },
            text,
        } => {
            if let Some(node) = find(&mut nodes, &pointer) {
                node.text.push_str(&text);
            }
        }
        OutputEvent::Done {
            part: OutputPart::Field { pointer, .. },
            ..
        } => {
            if let Some(node) = find(&mut nodes, &pointer) {
                node.is_done = true;
            }
        }
        _ => {}
    });
    nodes
}

fn find<'n>(nodes: &'n mut [Node], pointer: &str) -> Option<&'n mut Node> {
    nodes.iter_mut().rev().find(|node| node.pointer == pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_has_the_values_that_have_begun() {
        let found = nodes(r#"{"a/b": [12, "x\n"#);
        let found: Vec<_> = { found.iter() }
            .map(|node| (node.depth, &*node.name, &*node.text, node.is_done))
            .collect();
        assert_eq!(
            found,
            [
                (0, "", "", false),
                (1, "a/b", "", false),
                (2, "0", "12", true),
                (2, "1", "x\n", false)
            ]
        );
        assert!(nodes("oops").is_empty());
    }
}
