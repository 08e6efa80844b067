//! Arguments whose strings have the format's own quotes, at every depth.

use rustc_hash::FxHashMap;
use structgen_grammar::{ArrayShape, Expr, ExprId, ObjectShape, Property};

use super::Lowering;
use super::arguments::{GROUNDED, as_it_is, leaves};
use super::raw::text_before;
use crate::{Tool, ToolError};

/// The maximum nesting of values, as in the parser; recursive schemas are unbounded.
const DEEPEST: usize = 100;

/// The state while the values of one argument are lowered.
struct Quoting<'q> {
    quote: &'q str,
    /// The argument that contains the values.
    top: &'q Property,
    /// Known values, with their nesting; `None` while a value is in progress.
    known: FxHashMap<ExprId, Option<Nested>>,
}

type Nested = (ExprId, usize);

impl Lowering<'_> {
    /// `key:value,key:value`.
    pub(super) fn quoted(
        &mut self,
        tool: &Tool,
        objects: &[ExprId],
        quote: &str,
    ) -> Result<ExprId, ToolError> {
        let comma = self.builder.bytes(",");
        let mut arms = Vec::new();
        for &object in objects {
            let shape = self.plain(tool, object)?;
            let mut parts = Vec::with_capacity(shape.properties.len());
            for top in &shape.properties {
                let known = FxHashMap::default();
                let mut quoting = Quoting { quote, top, known };
                let (member, _) = self.quoted_member(tool, top, &mut quoting)?;
                parts.push((member, top.required));
            }
            arms.push(self.listed(&parts, comma));
        }
        Ok(self.builder.choice(arms))
    }

    fn quoted_member(
        &mut self,
        tool: &Tool,
        property: &Property,
        quoting: &mut Quoting<'_>,
    ) -> Result<Nested, ToolError> {
        let is_plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if property.key.is_empty() || !property.key.chars().all(is_plain) {
            let reason = "a key has characters that could not be told from the text around it";
            return Err(self.unsupported(tool, quoting.top, reason));
        }
        let (value, depth) = self.quoted_value(tool, property.value.values(), quoting)?;
        let key = self.builder.bytes(format!("{}:", property.key));
        Ok((self.builder.sequence([key, value]), depth))
    }

    /// Recursive; the depth is limited, since a value in progress is never entered again.
    fn quoted_value(
        &mut self,
        tool: &Tool,
        values: impl Iterator<Item = ExprId>,
        quoting: &mut Quoting<'_>,
    ) -> Result<Nested, ToolError> {
        let marker = self.text(quoting.quote);
        let mut arms = Vec::new();
        let mut deepest = 0;
        for leaf in leaves(&self.builder, values.collect::<Vec<_>>()) {
            if self.is_grounded_string(leaf) {
                return Err(self.unsupported(tool, quoting.top, GROUNDED));
            }
            match self.builder.get(leaf).clone() {
                Expr::String(shape) => {
                    let set = as_it_is(&shape, text_before([quoting.quote]));
                    if self.is_inhabited(tool, quoting.top, &set)? {
                        let inner = self.regular(set);
                        arms.push(self.builder.sequence([marker, inner, marker]));
                    }
                }
                Expr::Object(_) | Expr::Array(_) => {
                    let (value, depth) = self.quoted_nested(tool, leaf, quoting)?;
                    deepest = deepest.max(depth + 1);
                    arms.push(value);
                }
                _ => arms.push(leaf),
            }
        }
        if arms.is_empty() {
            let reason = "every text that fits has the quote in it";
            return Err(self.unsupported(tool, quoting.top, reason));
        }
        Ok((self.builder.choice(arms), deepest))
    }

    /// An object or a list; each is lowered once.
    fn quoted_nested(
        &mut self,
        tool: &Tool,
        leaf: ExprId,
        quoting: &mut Quoting<'_>,
    ) -> Result<Nested, ToolError> {
        let unbounded = "its values nest too deeply, or without a bound";
        match quoting.known.get(&leaf) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Err(self.unsupported(tool, quoting.top, unbounded)),
            None => {}
        }
        // The number of values in progress is the nesting.
        if quoting.known.values().filter(|it| it.is_none()).count() > DEEPEST {
            return Err(self.unsupported(tool, quoting.top, unbounded));
        }
        quoting.known.insert(leaf, None);
        let (value, depth) = match self.builder.get(leaf).clone() {
            Expr::Array(shape) => self.quoted_items(tool, &shape, quoting)?,
            _ => {
                let shape = self.plain(tool, leaf)?;
                self.quoted_object(tool, &shape, quoting)?
            }
        };
        if depth > DEEPEST {
            return Err(self.unsupported(tool, quoting.top, unbounded));
        }
        quoting.known.insert(leaf, Some((value, depth)));
        Ok((value, depth))
    }

    fn quoted_object(
        &mut self,
        tool: &Tool,
        shape: &ObjectShape,
        quoting: &mut Quoting<'_>,
    ) -> Result<Nested, ToolError> {
        let [open, close, comma] = ["{", "}", ","].map(|it| self.builder.bytes(it));
        let mut parts = Vec::with_capacity(shape.properties.len());
        let mut deepest = 0;
        for property in &shape.properties {
            let (member, depth) = self.quoted_member(tool, property, quoting)?;
            deepest = deepest.max(depth);
            parts.push((member, property.required));
        }
        let members = self.listed(&parts, comma);
        Ok((self.builder.sequence([open, members, close]), deepest))
    }

    fn quoted_items(
        &mut self,
        tool: &Tool,
        shape: &ArrayShape,
        quoting: &mut Quoting<'_>,
    ) -> Result<Nested, ToolError> {
        if !shape.prefix.is_empty() || !shape.tallies.is_empty() || shape.unique {
            let reason = "of a list it knows what the items are and how many, and nothing else";
            return Err(self.unsupported(tool, quoting.top, reason));
        }
        let [open, close, comma, none] = ["[", "]", ",", ""].map(|it| self.builder.bytes(it));
        let max = shape.max_items;
        let mut items = self.builder.never();
        let mut deepest = 0;
        if let Some(rest) = &shape.rest
            && max != Some(0)
        {
            let (item, depth) = self.quoted_value(tool, rest.values(), quoting)?;
            deepest = depth;
            let next = self.builder.sequence([comma, item]);
            let fewest = shape.min_items.saturating_sub(1);
            let more = self.builder.repeat(next, fewest, max.map(|max| max - 1));
            items = self.builder.sequence([item, more]);
        }
        if shape.min_items == 0 {
            items = self.builder.choice([none, items]);
        }
        Ok((self.builder.sequence([open, items, close]), deepest))
    }
}
