//! Screenshots.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use structgen_lab::chart::{Cell, CellInk, Chart, Screen};

/// Converts the screen to a chart, which can be written as SVG and PNG.
#[must_use]
pub fn chart(screen: &Buffer, title: &str) -> Chart {
    let area = screen.area();
    let cell = |column: u16, row: u16| {
        let cell = &screen[(column, row)];
        let ink = match cell.fg {
            Color::Cyan => CellInk::Series(0),
            Color::Green => CellInk::Series(2),
            Color::Red => CellInk::Series(6),
            _ if cell.modifier.contains(Modifier::DIM) => CellInk::Soft,
            _ => CellInk::Text,
        };
        Cell {
            text: cell.symbol().to_owned(),
            ink,
            is_reversed: cell.modifier.contains(Modifier::REVERSED),
        }
    };
    let line = |row| (0..area.width).map(|column| cell(column, row)).collect();
    Chart::from(Screen {
        title: title.to_owned(),
        lines: (0..area.height).map(line).collect(),
    })
}
