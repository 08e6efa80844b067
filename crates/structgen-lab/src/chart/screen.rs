use super::scene::{CHARACTER, Scene, TEXT_LINE};
use super::theme::Ink;

/// The space around a screen.
const MARGIN: f64 = 16.0;

/// The top of the first line, below the title.
const TOP: f64 = 42.0;

/// The height of a bar in a line.
const BAR: f64 = 12.0;

/// A terminal screen: cells in lines of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Screen {
    /// The title.
    pub title: String,
    /// The lines, from top to bottom.
    pub lines: Vec<Vec<Cell>>,
}

/// A cell of a screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The character, which may consist of several code points; empty after a double-width one.
    pub text: String,
    /// The role of its colour.
    pub ink: CellInk,
    /// Whether foreground and background are swapped.
    pub is_reversed: bool,
}

/// The role of a cell's colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellInk {
    /// Text.
    Text,
    /// Less important text.
    Soft,
    /// A series of bars, or a warning, by its index.
    Series(usize),
}

impl CellInk {
    fn ink(self) -> Ink {
        match self {
            Self::Text => Ink::Text,
            Self::Soft => Ink::Soft,
            Self::Series(number) => Ink::Series(number),
        }
    }
}

/// Returns a bar of at most `width` characters for a share from 0 to 1.
///
/// ```
/// assert_eq!(structgen_lab::chart::text_bar(0.25, 6), "█▌");
/// ```
#[must_use]
pub fn text_bar(share: f64, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

impl Screen {
    pub(super) fn scene(&self) -> Scene {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let width = 2.0 * MARGIN + columns as f64 * CHARACTER;
        let height = TOP + self.lines.len() as f64 * TEXT_LINE + MARGIN;
        let mut scene = Scene::new(width, height, &self.title);
        for (line, cells) in self.lines.iter().enumerate() {
            draw_line(&mut scene, cells, TOP + line as f64 * TEXT_LINE);
        }
        scene
    }
}

/// Draws a line with its upper edge at `top`: bars and boxes as shapes, and each word as a text, so that fonts of a
/// slightly different width do not drift.
fn draw_line(scene: &mut Scene, cells: &[Cell], top: f64) {
    let left = |column: usize| MARGIN + column as f64 * CHARACTER;
    let middle = top + TEXT_LINE / 2.0;
    let mut column = 0;
    while column < cells.len() {
        let cell = &cells[column];
        let ink = cell.ink.ink();
        let is_like =
            |other: &&Cell| other.ink == cell.ink && other.is_reversed == cell.is_reversed;
        let run = |is_in: &dyn Fn(&Cell) -> bool| {
            { cells[column..].iter() }
                .take_while(|other| is_like(other) && is_in(other))
                .count()
        };
        let length = if let Some(share) = filled(&cell.text) {
            let full = run(&|other| other.text == "█");
            let rest = match cells.get(column + full).filter(is_like) {
                Some(next) if full > 0 => filled(&next.text),
                _ => None,
            };
            let (length, share) = match full {
                0 => (1, share),
                full => (
                    full + usize::from(rest.is_some()),
                    full as f64 + rest.unwrap_or(0.0),
                ),
            };
            scene.rect(
                left(column),
                middle - BAR / 2.0,
                share * CHARACTER,
                BAR,
                ink,
            );
            length
        } else if let Some([west, east, north, south]) = strokes(&cell.text) {
            let centre = left(column) + CHARACTER / 2.0;
            if west && east {
                let length = run(&|other| other.text == cell.text);
                let weight = if cell.text == "━" { 3.0 } else { 1.0 };
                scene.line(
                    vec![(left(column), middle), (left(column + length), middle)],
                    weight,
                    ink,
                );
                column += length;
                continue;
            }
            let across = (
                if west { left(column) } else { centre },
                if east { left(column + 1) } else { centre },
            );
            let down = (
                if north { top } else { middle },
                if south { top + TEXT_LINE } else { middle },
            );
            if west || east {
                scene.line(vec![(across.0, middle), (across.1, middle)], 1.0, ink);
            }
            scene.line(vec![(centre, down.0), (centre, down.1)], 1.0, ink);
            1
        } else {
            let is_word = |other: &Cell| {
                (other.is_reversed || other.text != " ")
                    && filled(&other.text).is_none()
                    && strokes(&other.text).is_none()
            };
            let length = run(&is_word);
            let text: String = cells[column..column + length]
                .iter()
                .map(|cell| &*cell.text)
                .collect();
            if cell.is_reversed {
                let width = length as f64 * CHARACTER;
                scene.rect(left(column), top + 1.0, width, TEXT_LINE - 2.0, ink);
                scene.grid_text(left(column), middle, &text, Ink::Ground);
            } else if length > 0 {
                scene.grid_text(left(column), middle, &text, ink);
            }
            length.max(1)
        };
        column += length;
    }
}

/// Returns how much of its cell a block fills, from the left.
fn filled(text: &str) -> Option<f64> {
    let eighths = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]
        .iter()
        .position(|&block| block == text)?;
    Some((eighths + 1) as f64 / 8.0)
}

/// Returns the edges that a box-drawing character extends to: left, right, up, down.
fn strokes(text: &str) -> Option<[bool; 4]> {
    Some(match text {
        "─" | "━" => [true, true, false, false],
        "│" => [false, false, true, true],
        "┌" => [false, true, false, true],
        "┐" => [true, false, false, true],
        "└" => [false, true, true, false],
        "┘" => [true, false, true, false],
        _ => return None,
    })
}
