//! JSON objects and arrays as the sequences of their parts.

use structgen_grammar::{
    ArrayShape, CharSet, Expr, ExprId, ObjectShape, Property, Regular, Slot, StringContent,
    StringShape, Whitespace,
};

use super::{Maker, is_long};
use crate::AlgebraError;

/// Punctuation, with the whitespace next to it.
struct Marks {
    /// The opening bracket, with the whitespace after it.
    open: ExprId,
    /// The whitespace before the closing bracket.
    gap: ExprId,
    close: ExprId,
    comma: ExprId,
    colon: ExprId,
}

impl Maker<'_> {
    /// The members in their order, any of which may be absent unless required.
    pub(super) fn object(&mut self, shape: &ObjectShape) -> Result<ExprId, AlgebraError> {
        let has_values = |property: &&Property| !property.value.alternatives.is_empty();
        let free = shape.properties.iter().skip(shape.ordered as usize);
        if !shape.tallies.is_empty() {
            return Err(AlgebraError::Memory("counting the members of a kind"));
        }
        if shape.additional.is_some() || !shape.patterns.is_empty() {
            return Err(AlgebraError::Memory("that no undeclared key comes twice"));
        }
        if free.filter(has_values).count() > 1 {
            return Err(AlgebraError::Memory(
                "that keys come in any order, each once",
            ));
        }
        let is_impossible = |property: &Property| property.required && !has_values(&property);
        if shape.properties.iter().any(is_impossible) {
            return Ok(self.builder.never());
        }
        let properties: Vec<&Property> = shape.properties.iter().filter(has_values).collect();
        // If the required keys alone decide whether the number of members is within bounds, members need not be
        // counted.
        let required = properties
            .iter()
            .filter(|property| property.required)
            .count() as u32;
        let most = properties.len() as u32;
        let counts =
            shape.min_members > required || shape.max_members.is_some_and(|max| max < most);
        let marks = self.marks('{', '}')?;
        let mut members = Vec::with_capacity(properties.len());
        for property in &properties {
            let key = self.leaf(&Expr::String(StringShape {
                content: StringContent::Literals([property.key.clone()].into()),
                ..StringShape::default()
            }))?;
            let value = self.slot(&property.value);
            members.push(self.sequence([key, marks.colon, value]));
        }
        let full = self.sequence([marks.gap, marks.close]);
        // The continuations after each number of members so far. Unless members are counted, it only matters whether
        // there is one.
        let kinds = if counts { most as usize + 1 } else { 2 };
        let mut rests: Vec<ExprId> = (0..kinds)
            .map(|members| {
                let fits = !counts
                    || (members as u32 >= shape.min_members
                        && shape.max_members.is_none_or(|max| members as u32 <= max));
                match (fits, members) {
                    // The whitespace of an empty object is that after its opening brace.
                    (true, 0) => marks.close,
                    (true, _) => full,
                    (false, _) => self.builder.never(),
                }
            })
            .collect();
        for (index, property) in properties.iter().enumerate().rev() {
            let is_first_possible = properties[..index.saturating_sub(1)]
                .iter()
                .all(|before| !before.required);
            let mut befores = Vec::with_capacity(kinds);
            for kind in 0..kinds.min(index + 1).max(1) {
                self.work.spend(1)?;
                self.check_size()?;
                let more = (kind + 1).min(kinds - 1);
                let comma = (kind > 0).then_some(marks.comma);
                let with: Vec<ExprId> = comma.into_iter().chain([members[index]]).collect();
                let rest = if !property.required && more == kind {
                    // The rest is the same with or without this member.
                    let one = self.sequence(with);
                    let one = self.builder.repeat(one, 0, Some(1));
                    self.sequence([one, rests[kind]])
                } else {
                    let taken = self.sequence(with.into_iter().chain([rests[more]]));
                    let passed = (!property.required).then(|| rests[kind]);
                    self.builder.choice([taken].into_iter().chain(passed))
                };
                // A continuation of several places becomes a rule.
                let is_shared = index > 1 && kind > 0 && (counts || is_first_possible)
                    || index > 0 && is_long(&self.builder, rest);
                befores.push(if is_shared {
                    self.shared("members", rest)
                } else {
                    rest
                });
            }
            befores.resize(kinds, full);
            rests = befores;
        }
        Ok(self.sequence([marks.open, rests[0]]))
    }

    /// The items of the prefix, as far as present, followed by the rest.
    pub(super) fn array(&mut self, shape: &ArrayShape) -> Result<ExprId, AlgebraError> {
        if !shape.tallies.is_empty() {
            return Err(AlgebraError::Memory("counting the items of a kind"));
        }
        if shape.unique && shape.max_items.is_none_or(|max| max > 1) {
            return Err(AlgebraError::Memory("that no item comes twice"));
        }
        let marks = self.marks('[', ']')?;
        let min = shape.min_items;
        let max = shape.max_items.unwrap_or(u32::MAX);
        let prefix: Vec<ExprId> = shape.prefix.iter().map(|slot| self.slot(slot)).collect();
        let rest = shape.rest.as_ref().map(|slot| self.slot(slot));
        // The continuation after each number of items, from the end of the prefix to its start.
        let behind = (prefix.len() as u32).max(1);
        let mut tail = match rest {
            Some(rest) if max > behind => {
                let more = self.sequence([marks.comma, rest]);
                let most = shape.max_items.map(|max| max - behind);
                self.builder.repeat(more, min.saturating_sub(behind), most)
            }
            _ if min > behind => self.builder.never(),
            _ => self.builder.bytes([]),
        };
        for (index, &item) in prefix.iter().enumerate().skip(1).rev() {
            let count = index as u32;
            tail = if count >= max {
                self.builder.bytes([])
            } else {
                let more = self.sequence([marks.comma, item, tail]);
                let fewest = u32::from(count < min);
                self.builder.repeat(more, fewest, Some(1))
            };
            if index > 1 && is_long(&self.builder, tail) {
                tail = self.shared("items", tail);
            }
        }
        let first = prefix.first().copied().or(rest).filter(|_| max > 0);
        let filled =
            first.map(|first| self.sequence([marks.open, first, tail, marks.gap, marks.close]));
        let empty = (min == 0).then(|| self.sequence([marks.open, marks.close]));
        Ok(self.builder.choice(filled.into_iter().chain(empty)))
    }

    fn slot(&mut self, slot: &Slot) -> ExprId {
        let values: Vec<ExprId> = slot.values().map(|id| self.copies[&id]).collect();
        self.builder.choice(values)
    }

    fn marks(&mut self, open: char, close: char) -> Result<Marks, AlgebraError> {
        let (anywhere, behind) = match self.grammar.form().whitespace {
            Whitespace::Compact => (None, None),
            Whitespace::Spaced => (None, Some((0, 1, " "))),
            Whitespace::OneSpace => (None, Some((1, 1, " "))),
            Whitespace::Bounded { max } => {
                let some = Some((0, u32::from(max), " \t\n\r"));
                (some, some)
            }
            Whitespace::Indented { .. } => {
                return Err(AlgebraError::Memory("indentation by depth"));
            }
        };
        let mut gap = |gap: Option<(u32, u32, &str)>| match gap {
            None => self.builder.bytes([]),
            Some((min, max, characters)) => {
                let set = CharSet::from_iter(characters.chars());
                let one = match characters.len() {
                    1 => self.builder.bytes(characters),
                    _ => self.builder.expr(Expr::Regular(Regular::Chars(set))),
                };
                self.builder.repeat(one, min, Some(max))
            }
        };
        let (anywhere, behind) = (gap(anywhere), gap(behind));
        let mut mark = |mark: char| self.builder.bytes(mark.to_string());
        let [open, close, comma, colon] = [open, close, ',', ':'].map(&mut mark);
        Ok(Marks {
            open: self.sequence([open, anywhere]),
            gap: anywhere,
            close,
            comma: self.sequence([anywhere, comma, behind]),
            colon: self.sequence([anywhere, colon, behind]),
        })
    }
}
