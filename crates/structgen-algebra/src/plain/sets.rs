//! Regular sets and JSON strings and numbers as plain expressions.

use structgen_grammar::{CharSet, Expr, ExprId, Regular, StringContent, StringShape};

use super::Maker;
use crate::AlgebraError;
use crate::dfa::Dfa;

/// The maximum nesting of regular sets.
const MAX_NESTING: u32 = 2_000;
/// The maximum number of automaton states that are inlined into one another; a state is inlined if it has one entry.
const INLINED: u32 = 12;

impl Maker<'_> {
    /// A regular set, keeping its structure if it consists of characters, sequences, unions and repetitions.
    pub(super) fn regular(&mut self, regular: &Regular) -> Result<ExprId, AlgebraError> {
        if looks(regular) {
            return self.leaf(&Expr::Regular(regular.clone()));
        }
        self.written(regular, 0)
    }

    /// Recursive: the depth is bounded.
    fn written(&mut self, regular: &Regular, depth: u32) -> Result<ExprId, AlgebraError> {
        if depth > MAX_NESTING {
            return Err(crate::error::over(
                "nested regular sets",
                MAX_NESTING as usize,
            ));
        }
        Ok(match regular {
            Regular::Never => self.builder.never(),
            Regular::Empty => self.builder.bytes([]),
            Regular::Bytes(bytes) if std::str::from_utf8(bytes).is_ok() => {
                self.builder.bytes(bytes)
            }
            Regular::Chars(set) => self.characters(set),
            Regular::ByteRange(low, high) if *high < 0x80 => {
                let set = CharSet::new([(char::from(*low), char::from(*high))]);
                self.characters(&set)
            }
            Regular::Bytes(_) | Regular::ByteRange(..) => {
                return Err(AlgebraError::NoCharacters);
            }
            Regular::Concat(parts) => {
                let parts = self.all_written(parts, depth)?;
                self.sequence(parts)
            }
            Regular::Union(arms) => {
                let arms = self.all_written(arms, depth)?;
                self.builder.choice(arms)
            }
            Regular::Repeat { body, min, max } => {
                let body = self.written(body, depth + 1)?;
                self.builder.repeat(body, *min, *max)
            }
            Regular::Intersection(arms) if arms.len() == 1 && !looks(&arms[0]) => {
                self.written(&arms[0], depth + 1)?
            }
            Regular::Intersection(_) | Regular::Complement(_) | Regular::Look { .. } => {
                self.leaf(&Expr::Regular(regular.clone()))?
            }
        })
    }

    fn all_written(&mut self, parts: &[Regular], depth: u32) -> Result<Vec<ExprId>, AlgebraError> {
        let mut written = Vec::with_capacity(parts.len());
        for part in parts {
            written.push(self.written(part, depth + 1)?);
        }
        Ok(written)
    }

    /// One character of a set.
    fn characters(&mut self, set: &CharSet) -> ExprId {
        match set.ranges() {
            [] => self.builder.never(),
            &[(low, high)] if low == high => self.builder.bytes(low.to_string()),
            _ => self
                .builder
                .expr(Expr::Regular(Regular::Chars(set.clone()))),
        }
    }

    /// A leaf, as the rules of its automaton. Lists of strings are written one by one.
    pub(super) fn leaf(&mut self, leaf: &Expr) -> Result<ExprId, AlgebraError> {
        if let Some(&known) = self.leaves.get(leaf) {
            return Ok(known);
        }
        let made = match leaf {
            Expr::String(StringShape {
                content: StringContent::Literals(texts),
                min_length,
                max_length,
            }) if texts.len() > 1 => {
                let mut arms = Vec::with_capacity(texts.len());
                for text in texts {
                    arms.push(self.leaf(&Expr::String(StringShape {
                        content: StringContent::Literals([text.clone()].into()),
                        min_length: *min_length,
                        max_length: *max_length,
                    }))?);
                }
                self.builder.choice(arms)
            }
            _ => match Dfa::of_leaf(leaf.clone(), self.grammar.form(), self.limits) {
                Ok(dfa) => self.automaton(&dfa, name_of(leaf))?,
                Err(AlgebraError::Empty) => self.builder.never(),
                Err(error) => return Err(error),
            },
        };
        self.leaves.insert(leaf.clone(), made);
        Ok(made)
    }

    /// The rules of an automaton: each state becomes the expression of its continuations. A state with a single entry
    /// is inlined.
    pub(super) fn automaton(&mut self, dfa: &Dfa, name: &str) -> Result<ExprId, AlgebraError> {
        // The transitions by characters, for states at character boundaries, which are found breadth first.
        let mut steps: Vec<Vec<(u32, CharSet)>> = vec![Vec::new(); dfa.states.len()];
        let mut entries = vec![0_u32; dfa.states.len()];
        let mut depths = vec![u32::MAX; dfa.states.len()];
        let mut order = vec![0_usize];
        entries[0] = 1;
        depths[0] = 0;
        let mut at = 0;
        while at < order.len() {
            let state = order[at];
            at += 1;
            steps[state] = dfa.characters(state as u32)?;
            for &(next, _) in &steps[state] {
                let next = next as usize;
                if next == state {
                    continue;
                }
                entries[next] += 1;
                if depths[next] == u32::MAX {
                    depths[next] = 0;
                    order.push(next);
                }
            }
        }
        let mut ids = vec![None; dfa.states.len()];
        for &state in &order {
            let is_inlined = |next: usize| next != state && entries[next] == 1;
            for &(next, _) in &steps[state] {
                let next = next as usize;
                if is_inlined(next) {
                    depths[next] = (depths[state] + 1) % INLINED;
                }
            }
        }
        // A rule for every state that is not inlined.
        let mut rules = vec![None; dfa.states.len()];
        for &state in &order {
            let is_entry = state == 0 && entries[0] == 1;
            if !is_entry && (entries[state] > 1 || depths[state] == 0) {
                let rule = self.rule(name);
                rules[state] = Some(rule);
                ids[state] = Some(self.builder.rule(rule));
            }
        }
        // Inlined states come after the states that contain them, so build in reverse.
        for &state in order.iter().rev() {
            let mut arms = Vec::new();
            let mut again = None;
            for (next, set) in &steps[state] {
                let one = self.characters(set);
                if *next as usize == state {
                    again = Some(one);
                    continue;
                }
                let rest = ids[*next as usize].unwrap_or_else(|| self.builder.never());
                arms.push(self.sequence([one, rest]));
            }
            if dfa.states[state].accepts {
                arms.push(self.builder.bytes([]));
            }
            let mut body = self.builder.choice(arms);
            if let Some(again) = again {
                let again = self.builder.repeat(again, 0, None);
                body = self.sequence([again, body]);
            }
            match rules[state] {
                Some(rule) => self.builder.define(rule, body),
                None => ids[state] = Some(body),
            }
        }
        Ok(ids[0].unwrap_or_else(|| self.builder.never()))
    }
}

/// The base name of a leaf's rules.
fn name_of(leaf: &Expr) -> &'static str {
    match leaf {
        Expr::String(_) => "string",
        Expr::Number(_) => "number",
        _ => "set",
    }
}

/// Whether the set contains a look-around that sees beyond it.
fn looks(regular: &Regular) -> bool {
    let mut stack = vec![regular];
    while let Some(part) = stack.pop() {
        match part {
            Regular::Look { .. } => return true,
            Regular::Intersection(_) | Regular::Complement(_) => {}
            _ => stack.extend(part.parts()),
        }
    }
    false
}
