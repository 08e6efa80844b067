//! Tables on the terminal in one style: underlined headings, numbers aligned right.

use structgen_lab::heldout::Score;

use crate::output::paint;

/// A table, which is laid out once all rows are known.
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these columns. A column whose head starts with `<` is aligned left.
    pub(crate) fn new(heads: impl Into<Vec<&'static str>>) -> Self {
        Self {
            heads: heads.into(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    pub(crate) fn text(&self) -> String {
        let name = |head: &&'static str| head.trim_start_matches('<');
        let widths = self.heads.iter().enumerate().map(|(column, head)| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max();
            widest.unwrap_or(0).max(name(head).chars().count())
        });
        let widths: Vec<usize> = widths.collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::new();
            for ((cell, &width), head) in cells.zip(&widths).zip(&self.heads) {
                let gap = width.saturating_sub(cell.chars().count());
                if !text.is_empty() {
                    text.push_str("  ");
                }
                match head.starts_with('<') {
                    true => text.push_str(&format!("{cell}{}", " ".repeat(gap))),
                    false => text.push_str(&format!("{}{cell}", " ".repeat(gap))),
                }
            }
            text.truncate(text.trim_end().len());
            text
        };
        let paint = paint();
        let head = line(&mut self.heads.iter().map(name));
        let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len().max(1) - 1));
        let mut text = format!("{}\n{}\n", paint.bold(&head), paint.dim(&rule));
        for row in &self.rows {
            text.push_str(&line(&mut row.iter().map(String::as_str)));
            text.push('\n');
        }
        text
    }
}

/// Formats a heading above a table.
pub(crate) fn title(text: &str) -> String {
    format!("{}\n\n", paint().bold(text))
}

/// Formats a number with three decimals, or as infinite.
pub(crate) fn three(number: f64) -> String {
    match number.is_finite() {
        true => format!("{number:.3}"),
        false => "∞".to_owned(),
    }
}

/// Formats a number with one decimal.
pub(crate) fn one(number: f64) -> String {
    format!("{number:.1}")
}

/// Formats a share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Quotes a text on one line, truncated to `most` characters.
pub(crate) fn quoted(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// Formats the perplexity of a score, infinite if a token is impossible.
pub(crate) fn perplexity(score: &Score) -> String {
    match score.perplexity() {
        finite if finite.is_finite() => format!("{finite:.1}"),
        _ => "∞".to_owned(),
    }
}
