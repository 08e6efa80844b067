//! Help, and the menu of scenes.

use ratatui::Frame;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Role, popup};
use crate::app::App;
use crate::scene::Scene;

const KEYS: [(&str, &str); 14] = [
    ("n, space, Enter", "take the token that is drawn (▸)"),
    (
        "b, Backspace",
        "go back a token; n takes the same one again",
    ),
    ("a", "play and pause"),
    ("Home, End", "the beginning; play to the end at once"),
    ("↑ ↓", "choose a slider"),
    ("← →", "move it; with Shift ten times as far"),
    ("0", "switch it off"),
    ("r", "draw again, with the next seed"),
    ("s, 1 to 4", "scenes: parameters that move by themselves"),
    ("p", "edit the prompt"),
    ("c", "edit the schema, pattern or grammar"),
    ("Esc", "stop what goes on, close what is open"),
    ("?, F1", "this page"),
    ("q, Ctrl-C", "leave"),
];

pub(super) fn help(app: &App, frame: &mut Frame<'_>) {
    let area = popup(frame, 64, KEYS.len() as u16 + 4);
    let block = app.block("Keys").border_style(app.style(Role::Plain));
    let mut lines: Vec<Line<'_>> = { KEYS.iter() }
        .map(|(keys, about)| {
            Line::from(vec![
                app.span(format!(" {keys:<16} "), Role::Strong),
                Span::raw(*about),
            ])
        })
        .collect();
    lines.push(Line::default());
    lines.push(Line::from(
        app.span(" Any key closes this page.", Role::Soft),
    ));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

pub(super) fn scenes(app: &App, frame: &mut Frame<'_>, selected: usize) {
    let area = popup(frame, 76, Scene::ALL.len() as u16 + 4);
    let block = app.block("Scenes").border_style(app.style(Role::Plain));
    let mut lines: Vec<Line<'_>> = { Scene::ALL.iter().enumerate() }
        .map(|(at, scene)| {
            let (mark, role) = match at == selected {
                true => ("▸", Role::Strong),
                false => (" ", Role::Plain),
            };
            Line::from(app.span(format!(" {mark}{} {}", at + 1, scene.about()), role))
        })
        .collect();
    lines.push(Line::default());
    lines.push(Line::from(
        app.span(" Enter or a number starts one, Esc leaves.", Role::Soft),
    ));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
