//! Finds the rules of a grammar that a text is in.

use std::collections::HashMap;

use structgen_automata::{CapturePiece, CaptureProgram, CaptureSpan, Limits};
use structgen_frontend::gbnf::{GbnfOptions, rule_places};
use structgen_grammar::{Grammar, passes::captures};

use super::next::NextRule;
use crate::Result;

/// Longer prefixes are not parsed by rules: the parser's table grows with their square at worst.
const LONGEST: usize = 10_000;

/// The maximum number of steps to find the rules for one explanation.
pub(super) const MOST_STEPS: u64 = 1_000_000;

/// Maximum number of rules in progress to report, innermost ones first.
const MOST_RULES: usize = 20;

/// The rules of a grammar.
#[derive(Debug)]
pub(super) struct Rules {
    captures: CaptureProgram,
    /// The line of each rule's definition, by name.
    lines: HashMap<String, usize>,
}

/// A rule that contains a position of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleAt {
    /// The rule's name.
    pub name: String,
    /// The line of its definition in the grammar; `None` for a rule of an imported file.
    pub line: Option<usize>,
    /// The start of the rule's text, in bytes.
    pub start: usize,
}

impl Rules {
    /// Returns the rules of a grammar, or `None` if they cannot be told apart in a text.
    pub(super) fn of(grammar: &Grammar, text: &str, options: &GbnfOptions) -> Result<Option<Self>> {
        let places = rule_places(text, options)?;
        let lines = { places.into_iter() }.map(|place| (place.name, place.line));
        let lines = lines.collect();
        let captured = captures::of_rules(grammar);
        Ok(match CaptureProgram::new(&captured, &Limits::default()) {
            Ok(Some(captures)) => Some(Self { captures, lines }),
            Ok(None) | Err(_) => None,
        })
    }

    /// Returns the rules in progress after the beginning of a text, outermost first; none if that takes too many steps.
    pub(super) fn in_progress(&self, before: &[u8], steps: &mut u64) -> Vec<RuleAt> {
        let spans = self.read(before, steps);
        let mut open: Vec<RuleAt> = { spans.iter() }
            .filter(|span| span.is_open)
            .map(|span| self.at(span))
            .collect();
        // To a reader, a rule that starts with itself is a single rule.
        open.dedup_by(|a, b| a.name == b.name && a.start == b.start);
        open.split_off(open.len().saturating_sub(MOST_RULES))
    }

    /// Returns which rule each possible next byte belongs to, grouped by rule, as far as the steps suffice.
    pub(super) fn expected(&self, before: &[u8], bytes: &[u8], steps: &mut u64) -> Vec<NextRule> {
        let mut found: Vec<(RuleAt, Vec<u8>)> = Vec::new();
        let mut text = before.to_vec();
        for &byte in bytes {
            text.push(byte);
            let spans = self.read(&text, steps);
            text.pop();
            let covers = |span: &&CaptureSpan| {
                span.span.start <= before.len() && span.span.end > before.len()
            };
            let Some(innermost) = spans.iter().rfind(covers) else {
                continue;
            };
            let rule = self.at(innermost);
            match found.iter_mut().find(|(known, _)| known.name == rule.name) {
                Some((_, bytes)) => bytes.push(byte),
                None => found.push((rule, vec![byte])),
            }
        }
        let next = |(rule, bytes)| NextRule { rule, bytes };
        found.into_iter().map(next).collect()
    }

    fn read(&self, text: &[u8], steps: &mut u64) -> Vec<CaptureSpan> {
        if text.len() > LONGEST {
            return Vec::new();
        }
        let pieces = [CapturePiece::text(text)];
        let found = self.captures.find_within(&pieces, &[], false, steps);
        found.ok().flatten().unwrap_or_default()
    }

    fn at(&self, span: &CaptureSpan) -> RuleAt {
        RuleAt {
            name: span.name.to_string(),
            line: self.lines.get(&*span.name).copied(),
            start: span.span.start,
        }
    }
}
