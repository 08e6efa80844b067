//! The lines and columns of many positions in one text.

use super::GbnfError;

/// A position in a text and its line and column, which moves forwards only: many positions take no longer than one.
pub(super) struct Lines<'t> {
    text: &'t str,
    position: usize,
    line: usize,
    column: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            position: 0,
            line: 1,
            column: 1,
        }
    }

    /// The line and the column, in code points, of a position that is not before the last one; both count from one.
    pub(super) fn find(&mut self, position: usize) -> (usize, usize) {
        let between = &self.text[self.position..position];
        let column = GbnfError::column_of(between, between.len());
        self.column = match between.contains(['\n', '\r']) {
            true => column,
            false => self.column + column - 1,
        };
        self.line += GbnfError::line_of(between, between.len()) - 1;
        self.position = position;
        (self.line, self.column)
    }
}
