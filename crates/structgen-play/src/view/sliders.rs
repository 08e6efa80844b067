//! The parameters, as sliders.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::Role;
use crate::app::App;
use crate::slider::Slider;

pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let rows = Layout::vertical([Constraint::Length(1); 2]).areas::<2>(area);
    for (row, pair) in rows.into_iter().zip(Slider::ALL.chunks(2)) {
        let cells = Layout::horizontal([Constraint::Fill(1); 2]).areas::<2>(row);
        for (cell, &slider) in cells.into_iter().zip(pair) {
            frame.render_widget(line(app, slider, cell.width.into()), cell);
        }
    }
}

fn line(app: &App, slider: Slider, width: usize) -> Line<'static> {
    let is_chosen = Slider::ALL[app.slider] == slider;
    let (mark, role) = match is_chosen {
        true => ("▸", Role::Strong),
        false => (" ", Role::Plain),
    };
    let track = width.saturating_sub(24).clamp(6, 60);
    let at = (slider.share(&app.sampling) * (track - 1) as f32).round() as usize;
    Line::from(vec![
        app.span(format!(" {mark}{:<11} ", slider.name()), role),
        app.span("━".repeat(at), Role::After),
        app.span("●", role),
        app.span("─".repeat(track - 1 - at), Role::Soft),
        Span::raw(" "),
        app.span(format!("{:<5}", slider.shown(&app.sampling)), role),
    ])
}
