//! Merges several documents that answer the same question about parts of a text.

use super::{Confidence, FieldConfidence, SpanScore};
use crate::events::JsonKind;

/// A value that some parts report as absent is taken from another part only if it is at least this probable.
const PRESENT: f64 = 0.5;

impl Confidence {
    /// Merges several answers to the same question, each about a part of a text, into one JSON document, with the
    /// model's confidence in its values.
    ///
    /// An object gets the members of all answers. An array gets the items of all, in the order of the parts; items at
    /// the end of one part that the next part repeats at its start are taken once. Of other values the most probable
    /// one is taken ([`SpanScore::allowed`]). Null, by which a part reports that it has no answer, is taken only if no
    /// other value reaches a probability of one half. The document is written without whitespace. The caller must check
    /// whether it still matches a constraint, such as one on the number of items.
    ///
    /// Each answer is given as its text and the confidence of that text. The document is empty if there are no answers.
    #[must_use]
    pub fn merge(answers: &[(&str, &Confidence)]) -> (String, Confidence) {
        let mut merger = Merger {
            answers,
            text: String::new(),
            fields: Vec::new(),
        };
        let roots: Vec<Node> = { answers.iter().enumerate() }
            .filter(|(_, (_, confidence))| !confidence.fields.is_empty())
            .map(|(answer, _)| Node { answer, field: 0 })
            .collect();
        if !roots.is_empty() {
            merger.write(&roots, None, "");
        }
        let fields = merger.fields;
        (merger.text, Confidence { fields })
    }
}

/// A value of an answer.
#[derive(Clone, Copy)]
struct Node {
    answer: usize,
    field: usize,
}

struct Merger<'a> {
    answers: &'a [(&'a str, &'a Confidence)],
    text: String,
    fields: Vec<FieldConfidence>,
}

impl<'a> Merger<'a> {
    /// Writes the merger of values for the same place, of which there is at least one.
    fn write(&mut self, nodes: &[Node], parent: Option<usize>, name: &str) {
        let best = self.best(nodes);
        let kind = self.field(best).kind;
        if !matches!(kind, JsonKind::Object | JsonKind::Array) {
            self.copy(best, parent, name);
            return;
        }
        let alike: Vec<Node> = { nodes.iter().copied() }
            .filter(|&node| self.field(node).kind == kind)
            .collect();
        match alike[..] {
            [only] => self.copy(only, parent, name),
            _ if kind == JsonKind::Object => self.object(&alike, parent, name),
            _ => self.array(&alike, parent, name),
        }
    }

    /// Returns the most probable value, or null if the answers amount to that.
    fn best(&self, nodes: &[Node]) -> Node {
        let is_null = |&&node: &&Node| self.field(node).kind == JsonKind::Null;
        let probability = |node: Node| self.field(node).score.allowed.log_prob;
        let most_probable = |nodes: &mut dyn Iterator<Item = &Node>| {
            // Among equals, the first.
            let mut nodes = nodes.copied();
            let first = nodes.next()?;
            Some(nodes.fold(first, |best, node| {
                match probability(node) > probability(best) {
                    true => node,
                    false => best,
                }
            }))
        };
        let null = most_probable(&mut nodes.iter().filter(is_null));
        let value = most_probable(&mut nodes.iter().filter(|node| !is_null(node)));
        match (value, null) {
            (Some(value), None) => value,
            (Some(value), Some(_)) if self.is_present(value) => value,
            (_, Some(null)) => null,
            (None, None) => nodes[0],
        }
    }

    /// Returns whether a value is probable enough to win over answers without it. A container is if one of its members
    /// is.
    fn is_present(&self, node: Node) -> bool {
        let of_container = matches!(self.field(node).kind, JsonKind::Object | JsonKind::Array);
        let fields = &self.answers[node.answer].1.fields;
        let inner = &fields[node.field..node.field + self.field(node).len];
        let is_probable = |field: &FieldConfidence| {
            let is_value = !matches!(field.kind, JsonKind::Null);
            is_value && field.score.allowed.probability() >= PRESENT
        };
        is_probable(&inner[0]) || of_container && inner[1..].iter().any(is_probable)
    }

    fn field(&self, node: Node) -> &'a FieldConfidence {
        &self.answers[node.answer].1.fields[node.field]
    }

    fn slice(&self, node: Node) -> &'a str {
        &self.answers[node.answer].0[self.field(node).span.clone()]
    }

    fn children(&self, node: Node) -> impl Iterator<Item = Node> + use<'a> {
        let Node { answer, field } = node;
        let children = self.answers[answer].1.children(field);
        children.map(move |field| Node { answer, field })
    }

    /// Copies a value unchanged.
    fn copy(&mut self, node: Node, parent: Option<usize>, name: &str) {
        let start = self.text.len();
        let first = self.fields.len();
        let from = self.field(node).span.start;
        self.text.push_str(self.slice(node));
        let fields: &'a [FieldConfidence] = &self.answers[node.answer].1.fields;
        let end = node.field + fields[node.field].len;
        for field in &fields[node.field..end] {
            let span = start + field.span.start - from..start + field.span.end - from;
            let inner = field.parent.filter(|&at| at >= node.field);
            self.fields.push(FieldConfidence {
                span,
                parent: inner.map(|at| first + at - node.field),
                ..field.clone()
            });
        }
        self.fields[first].parent = parent;
        self.fields[first].name = name.into();
    }

    fn object(&mut self, nodes: &[Node], parent: Option<usize>, name: &str) {
        // Order the names as in every object, as far as the objects agree.
        let mut names: Vec<&'a str> = Vec::new();
        let mut members: Vec<Vec<Node>> = Vec::new();
        for &node in nodes {
            let mut next = 0;
            for child in self.children(node) {
                let name: &'a str = &self.field(child).name;
                match names.iter().position(|known| *known == name) {
                    Some(at) => {
                        members[at].push(child);
                        next = at + 1;
                    }
                    None => {
                        names.insert(next, name);
                        members.insert(next, vec![child]);
                        next += 1;
                    }
                }
            }
        }
        self.container(JsonKind::Object, parent, name, |merger, at| {
            for (position, (&name, nodes)) in names.iter().zip(&members).enumerate() {
                if position > 0 {
                    merger.text.push(',');
                }
                let key = name.replace("~1", "/").replace("~0", "~");
                let key = serde_json::Value::from(key).to_string();
                merger.text.push_str(&key);
                merger.text.push(':');
                merger.write(nodes, Some(at), name);
            }
        });
    }

    fn array(&mut self, nodes: &[Node], parent: Option<usize>, name: &str) {
        let mut items: Vec<Node> = Vec::new();
        for &node in nodes {
            let more: Vec<Node> = self.children(node).collect();
            let is_overlap = |&length: &usize| {
                let end = items[items.len() - length..].iter();
                end.zip(&more)
                    .all(|(&a, &b)| self.slice(a) == self.slice(b))
            };
            let longest = items.len().min(more.len());
            let overlap = (1..=longest).rev().find(is_overlap).unwrap_or(0);
            items.extend_from_slice(&more[overlap..]);
        }
        self.container(JsonKind::Array, parent, name, |merger, at| {
            for (position, &item) in items.iter().enumerate() {
                if position > 0 {
                    merger.text.push(',');
                }
                merger.copy(item, Some(at), &position.to_string());
            }
        });
    }

    /// Writes a merged container, which is as probable as its least probable member.
    fn container(
        &mut self,
        kind: JsonKind,
        parent: Option<usize>,
        name: &str,
        write_members: impl FnOnce(&mut Self, usize),
    ) {
        let (open, close) = match kind {
            JsonKind::Array => ('[', ']'),
            _ => ('{', '}'),
        };
        let at = self.fields.len();
        let start = self.text.len();
        self.fields.push(FieldConfidence {
            kind,
            span: start..start,
            is_complete: true,
            score: SpanScore::default(),
            parent,
            name: name.into(),
            len: 1,
        });
        self.text.push(open);
        write_members(self, at);
        self.text.push(close);
        let scores = self.fields[at + 1..].iter().map(|field| field.score);
        let least = scores.min_by(|a, b| a.allowed.log_prob.total_cmp(&b.allowed.log_prob));
        let len = self.fields.len() - at;
        let field = &mut self.fields[at];
        field.span.end = self.text.len();
        field.score = least.unwrap_or_default();
        field.len = len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{JsonEvents, OutputEvent, OutputPart};

    /// The confidence of a text whose values have these probabilities, in the order of their starts.
    fn confidence(text: &str, probabilities: &[f64]) -> Confidence {
        let mut fields: Vec<FieldConfidence> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut on_event = |event: OutputEvent<'_>| match event {
            OutputEvent::Started {
                part: OutputPart::Field { pointer, kind },
                start,
            } => {
                let mut score = SpanScore::default();
                score.allowed.log_prob = probabilities[fields.len()].ln();
                fields.push(FieldConfidence {
                    kind,
                    span: start..start,
                    is_complete: true,
                    score,
                    parent: open.last().copied(),
                    name: pointer.rsplit_once('/').map_or("", |(_, name)| name).into(),
                    len: 1,
                });
                open.push(fields.len() - 1);
            }
            OutputEvent::Done { span, .. } => {
                let at = open.pop().unwrap();
                fields[at].span = span;
                fields[at].len = fields.len() - at;
            }
            _ => {}
        };
        let mut events = JsonEvents::new();
        events.push(text, &mut on_event).unwrap();
        events.finish(&mut on_event).unwrap();
        Confidence { fields }
    }

    #[track_caller]
    fn check(answers: &[(&str, &[f64])], expected: &str) -> Confidence {
        let confidences: Vec<Confidence> = { answers.iter() }
            .map(|(text, probabilities)| confidence(text, probabilities))
            .collect();
        let answers: Vec<(&str, &Confidence)> = { answers.iter().zip(&confidences) }
            .map(|((text, _), confidence)| (*text, confidence))
            .collect();
        let (text, merged) = Confidence::merge(&answers);
        assert_eq!(text, expected);
        // The fields are those of the text.
        let probabilities: Vec<f64> = { merged.fields.iter() }
            .map(|field| field.score.allowed.probability())
            .collect();
        let fresh = confidence(&text, &probabilities);
        let facts = |confidence: &Confidence| -> Vec<_> {
            { confidence.fields.iter().enumerate() }
                .map(|(at, field)| {
                    (
                        confidence.pointer(at),
                        field.kind,
                        field.span.clone(),
                        field.len,
                    )
                })
                .collect()
        };
        assert_eq!(facts(&merged), facts(&fresh));
        merged
    }

    #[test]
    fn the_most_probable_value_of_each_member_is_taken() {
        check(
            &[
                (r#"{"a":"x","b":12.50}"#, &[0.1, 0.9, 0.2]),
                (r#"{"a":"y","b":7}"#, &[0.1, 0.4, 0.3]),
            ],
            r#"{"a":"x","b":7}"#,
        );
    }

    #[test]
    fn null_gives_way_to_a_value_that_is_probable() {
        let answers: [(&str, &[f64]); 2] = [
            (r#"{"a":null,"b":null}"#, &[0.9, 0.9, 0.9]),
            (r#"{"a":1,"b":2}"#, &[0.1, 0.6, 0.4]),
        ];
        check(&answers, r#"{"a":1,"b":null}"#);
        let answers: [(&str, &[f64]); 2] = [
            (r#"{"a":null}"#, &[0.9, 0.9]),
            (r#"{"a":{"b":1,"c":null}}"#, &[0.3, 0.3, 0.6, 0.9]),
        ];
        check(&answers, r#"{"a":{"b":1,"c":null}}"#);
    }

    #[test]
    fn members_keep_their_order_and_optional_ones_are_joined() {
        check(
            &[
                (r#"{"a":1,"d":4}"#, &[1.0; 3]),
                (r#"{"a":1,"b/~":2,"c":3,"d":4}"#, &[1.0; 5]),
            ],
            r#"{"a":1,"b/~":2,"c":3,"d":4}"#,
        );
    }

    #[test]
    fn items_follow_one_another_and_the_overlap_is_there_once() {
        let merged = check(
            &[
                (
                    r#"[{"n":1},{"n":2},{"n":3}]"#,
                    &[0.9, 0.9, 0.8, 0.9, 0.8, 0.9, 0.7],
                ),
                (
                    r#"[{"n":2},{"n":3},{"n":4}]"#,
                    &[0.9, 0.9, 0.8, 0.9, 0.8, 0.9, 0.6],
                ),
                (r#"[]"#, &[0.9]),
            ],
            r#"[{"n":1},{"n":2},{"n":3},{"n":4}]"#,
        );
        let least = merged.fields()[0].score.allowed.probability();
        assert!((least - 0.6).abs() < 1e-9, "{least}");
    }

    #[test]
    fn of_no_answers_there_is_nothing() {
        assert_eq!(Confidence::merge(&[]).0, "");
    }
}
