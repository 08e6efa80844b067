//! Finds the terminals that have more values than any array has items, so that distinct items never run out.

use structgen_grammar::{Decimal, NumberSet, StringContent, StringShape};

use super::{Node, NodeId, Program, TerminalSpec};

/// More than any array has items: its text would not fit into memory.
const MANY: u32 = 1 << 24;

/// This many characters make at least [`MANY`] strings, and this many digits as many numbers.
const MANY_CHARACTERS: u32 = 8;

impl Program {
    /// Returns the texts that begin at the node, if these are listed strings and nothing else.
    pub(crate) fn listed(&self, mut node: NodeId) -> Option<&[Box<str>]> {
        /// The maximum number of rules to follow that only name another one.
        const MAX_RULES: usize = 16;
        for _ in 0..MAX_RULES {
            match self.node(node) {
                Node::Call { proc, next } if *self.node(*next) == Node::End => {
                    node = self.proc(*proc).entry;
                }
                Node::Terminal { terminal, next } if *self.node(*next) == Node::End => {
                    return match &self.terminals[*terminal as usize] {
                        TerminalSpec::String(StringShape {
                            content: StringContent::Literals(texts),
                            min_length: 0,
                            max_length: None,
                        }) => Some(texts),
                        _ => None,
                    };
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns whether a terminal has at least [`MANY`] texts with different values; `false` if its structure does not
    /// show it.
    pub(crate) fn has_many_texts(&self, terminal: u32) -> bool {
        match &self.terminals[terminal as usize] {
            TerminalSpec::Bytes(_)
            | TerminalSpec::Literals(_)
            | TerminalSpec::Regular(_)
            | TerminalSpec::ListedNumbers(_)
            | TerminalSpec::Span { .. } => false,
            TerminalSpec::Number(set) => {
                let is_small = |number: &Decimal| number.exponent() <= 4;
                let NumberSet { lower, upper, .. } = set;
                (lower.is_none() || upper.is_none())
                    && lower
                        .iter()
                        .chain(upper)
                        .all(|bound| is_small(&bound.value))
                    && set.multiples_of.len() < 2
                    && set.not_multiples_of.is_empty()
                    && set
                        .multiples_of
                        .iter()
                        .all(|it| is_small(it) && it.is_integer() && !it.is_zero())
                    && u32::from(self.form.numbers.integer_digits) > 4 + MANY_CHARACTERS
            }
            TerminalSpec::String(StringShape {
                content,
                min_length,
                max_length,
            }) => {
                let long = max_length.is_none_or(|max| max >= MANY_CHARACTERS);
                match content {
                    StringContent::Any => long,
                    StringContent::Regular(set)
                        if long && *min_length == 0 && max_length.is_none() =>
                    {
                        let count = structgen_regular::count(set, self.limits.regular, MANY);
                        count.is_ok_and(|count| count >= MANY)
                    }
                    StringContent::Regular(_) | StringContent::Literals(_) => false,
                }
            }
        }
    }
}
