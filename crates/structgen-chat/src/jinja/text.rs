//! Strings that track which of their bytes come from the template.

use std::ops::{Deref, Range};
use std::rc::Rc;

use super::budget::{Budget, Held, Result};

/// The origin of bytes in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The template, or the names of the special tokens.
    Template,
    /// The conversation and other variables.
    Data,
}

/// A shared string with the origins of its bytes.
#[derive(Clone)]
pub(crate) struct Text(Rc<Inner>);

struct Inner {
    text: String,
    /// Ranges of bytes from the template: in order, not empty, and not adjacent.
    template: Vec<Range<usize>>,
    held: Held,
}

impl Text {
    pub(crate) fn new(budget: &Budget, text: &str, origin: Origin) -> Result<Self> {
        let mut builder = TextBuilder::new(budget)?;
        builder.push(text, origin)?;
        Ok(builder.finish())
    }

    /// A text with the origin of `source` for all its bytes; data if `source` is mixed.
    pub(crate) fn like(source: &Text, text: &str) -> Result<Self> {
        let budget = source.budget();
        budget.spend_reading(text.len())?;
        Self::new(budget, text, source.origin())
    }

    /// The origin of the whole text: the template only if all bytes come from it.
    pub(crate) fn origin(&self) -> Origin {
        match self.0.template.as_slice() {
            [range] if range.len() == self.0.text.len() => Origin::Template,
            [] if self.0.text.is_empty() => Origin::Template,
            _ => Origin::Data,
        }
    }

    pub(crate) fn budget(&self) -> &Budget {
        self.0.held.budget()
    }

    /// The origin of the byte at an offset.
    pub(crate) fn origin_at(&self, at: usize) -> Origin {
        let ranges = &self.0.template;
        let next = ranges.partition_point(|range| range.end <= at);
        match ranges.get(next) {
            Some(range) if range.contains(&at) => Origin::Template,
            _ => Origin::Data,
        }
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> Result<Self> {
        if range.len() == self.len() {
            return Ok(self.clone());
        }
        let mut builder = TextBuilder::new(self.budget())?;
        builder.push_slice(self, range)?;
        Ok(builder.finish())
    }

    /// The slice at `part`, which must be a subslice of this string.
    pub(crate) fn part(&self, part: &str) -> Result<Self> {
        let start = part.as_ptr() as usize - self.0.text.as_ptr() as usize;
        self.slice(start..start + part.len())
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

/// Writes a [`Text`] piece by piece.
pub(crate) struct TextBuilder {
    text: String,
    template: Vec<Range<usize>>,
    held: Held,
}

/// The memory of a text in addition to its bytes.
const TEXT_OVERHEAD: usize = 128;

impl TextBuilder {
    pub(crate) fn new(budget: &Budget) -> Result<Self> {
        budget.spend_making()?;
        Ok(Self {
            text: String::new(),
            template: Vec::new(),
            held: budget.hold(TEXT_OVERHEAD)?,
        })
    }

    pub(crate) fn push(&mut self, text: &str, origin: Origin) -> Result<()> {
        self.claim(text.len())?;
        if origin == Origin::Template {
            self.mark(self.text.len()..self.text.len() + text.len())?;
        }
        self.text.push_str(text);
        Ok(())
    }

    pub(crate) fn push_text(&mut self, text: &Text) -> Result<()> {
        self.push_slice(text, 0..text.len())
    }

    pub(crate) fn push_slice(&mut self, source: &Text, range: Range<usize>) -> Result<()> {
        self.claim(range.len())?;
        let start = self.text.len();
        let ranges = &source.0.template;
        let first = ranges.partition_point(|marked| marked.end <= range.start);
        for marked in &ranges[first..] {
            if marked.start >= range.end {
                break;
            }
            let (from, to) = (marked.start.max(range.start), marked.end.min(range.end));
            self.mark(from - range.start + start..to - range.start + start)?;
        }
        self.text.push_str(&source[range]);
        Ok(())
    }

    /// Counts bytes before they are copied.
    fn claim(&mut self, bytes: usize) -> Result<()> {
        self.held.budget().spend(1 + bytes as u64 / 64)?;
        self.held.grow(bytes)
    }

    fn mark(&mut self, range: Range<usize>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        match self.template.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => {
                self.held.budget().spend(1)?;
                self.held.grow(size_of::<Range<usize>>())?;
                self.template.push(range);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Text {
        Text(Rc::new(Inner {
            text: self.text,
            template: self.template,
            held: self.held,
        }))
    }

    pub(crate) fn budget(&self) -> &Budget {
        self.held.budget()
    }

    /// The text and its ranges; their memory is no longer counted.
    pub(crate) fn into_parts(self) -> (String, Vec<Range<usize>>) {
        (self.text, self.template)
    }
}
