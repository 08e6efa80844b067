//! The output so far, as text and as a tree.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use structgen_decode::events::JsonKind;

use super::Role;
use crate::app::App;
use crate::tree::{Node, nodes};

pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let share = if app.walk.begun().is_json { 55 } else { 100 };
    let [text, tree] =
        Layout::horizontal([Constraint::Percentage(share), Constraint::Fill(1)]).areas(area);
    let (bytes, last) = app.output();
    draw_text(app, frame, text, &bytes, last);
    if app.walk.begun().is_json {
        let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        draw_tree(app, frame, tree, &nodes(valid));
    }
}

fn draw_text(app: &App, frame: &mut Frame<'_>, area: Rect, bytes: &[u8], mut last: usize) {
    let prompt: String = app.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let block = app.block("Output");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    // A token may start within a character.
    while last > 0 && bytes.get(last).is_some_and(|byte| byte & 0xC0 == 0x80) {
        last -= 1;
    }
    let (before, newest) = bytes.split_at(last.min(bytes.len()));
    let styled = [(before, Role::Plain), (newest, Role::Newest)]
        .into_iter()
        .flat_map(|(bytes, role)| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let style = app.style(role);
            text.chars().map(move |c| (c, style)).collect::<Vec<_>>()
        });
    let mut lines = vec![Line::from(app.span(format!("after: {prompt}"), Role::Soft))];
    let mut text = wrapped(styled, inner.width.into());
    if let Some(line) = text.last_mut().filter(|_| !app.walk.has_ended()) {
        line.push_span(app.span("▏", Role::Soft));
    }
    // If there is not enough room, the beginning is omitted.
    let room = usize::from(inner.height).saturating_sub(1).max(1);
    lines.extend(text.split_off(text.len().saturating_sub(room)));
    frame.render_widget(Paragraph::new(lines), inner);
}

/// Wraps characters to lines of a width, at any position.
fn wrapped(characters: impl Iterator<Item = (char, Style)>, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for (character, style) in characters {
        let shown = match character {
            '\n' => '⏎',
            c if c.is_control() => '·',
            c => c,
        };
        let span = Span::styled(shown.to_string(), style);
        if lines
            .last()
            .is_some_and(|line| line.width() + span.width() > width.saturating_sub(1))
        {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            line.push_span(span);
        }
        if character == '\n' {
            lines.push(Line::default());
        }
    }
    lines
}

fn draw_tree(app: &App, frame: &mut Frame<'_>, area: Rect, nodes: &[Node]) {
    let block = app.block("Tree");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    // A root that contains other values has no line of its own.
    let skipped = usize::from(nodes.first().is_some_and(|root| root.kind.is_container()));
    let lines = nodes[skipped..]
        .iter()
        .map(|node| line(app, node, skipped, inner.width.into()));
    let mut lines: Vec<Line<'_>> = lines.collect();
    let lines = lines.split_off(lines.len().saturating_sub(inner.height.into()));
    frame.render_widget(Paragraph::new(lines), inner);
}

fn line(app: &App, node: &Node, skipped: usize, width: usize) -> Line<'static> {
    let indent = "  ".repeat(node.depth.saturating_sub(skipped));
    let mut spans = vec![Span::raw(indent)];
    if node.depth > 0 {
        spans.push(app.span(format!("{} ", node.name), Role::Strong));
    }
    let text = match node.kind {
        JsonKind::Object => "object".to_owned(),
        JsonKind::Array => "array".to_owned(),
        JsonKind::String => {
            let quoted = format!("{:?}", node.text);
            match node.is_done {
                true => quoted,
                false => quoted[..quoted.len() - 1].to_owned(),
            }
        }
        _ => node.text.clone(),
    };
    let role = if node.kind.is_container() {
        Role::Soft
    } else {
        Role::Plain
    };
    let taken: usize = spans.iter().map(Span::width).sum();
    spans.push(app.span(end_of(&text, width.saturating_sub(taken + 1)), role));
    if !node.is_done {
        spans.push(app.span("▏", Role::Soft));
    }
    Line::from(spans)
}

/// Returns the end of a text that is too wide, since the end is what grows.
fn end_of(text: &str, width: usize) -> String {
    if Span::raw(text).width() <= width {
        return text.to_owned();
    }
    let mut end = text;
    while Span::raw(end).width() >= width.max(1) {
        let mut characters = end.chars();
        characters.next();
        end = characters.as_str();
    }
    format!("…{end}")
}
