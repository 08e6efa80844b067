//! The editor of the prompt and the constraint, with errors marked in place.

use ratatui::Frame;
use ratatui::layout::Position;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Role, popup};
use crate::app::{App, Editing, Field, Waits};

/// Columns of a long line to show from the cursor on, including its own.
const AHEAD: usize = 12;

/// Lines for the error.
const PROBLEM: u16 = 3;

pub(super) fn draw(app: &App, editing: &Editing, frame: &mut Frame<'_>) {
    let area = frame.area();
    let area = popup(
        frame,
        area.width.saturating_sub(4).min(110),
        area.height.saturating_sub(2),
    );
    let title = match editing.field {
        Field::Prompt => "Prompt".to_owned(),
        Field::Constraint => format!("Constraint: {}", editing.kind.name()),
    };
    let keys = match editing.field {
        Field::Prompt => " Ctrl-S use  Esc leave  Ctrl-U clear ",
        Field::Constraint => " Ctrl-S use  Esc leave  Ctrl-U clear  Ctrl-T another kind ",
    };
    let block = app
        .block(title)
        .border_style(app.style(Role::Plain))
        .title_bottom(keys);
    let inner = block.inner(area);
    frame.render_widget(block, area);

    let mut text = inner;
    text.height = inner.height.saturating_sub(PROBLEM);
    let (line, column) = editing.editor.cursor();
    let top = (line + 1).saturating_sub(text.height.into());
    // A long line shows some of what comes after the cursor.
    let left = (column + AHEAD).saturating_sub(text.width.into());
    let at = editing.problem.as_ref().and_then(|problem| problem.at);
    let lines = { editing.editor.lines().iter().enumerate() }
        .skip(top)
        .take(text.height.into())
        .map(|(number, line)| shown(app, number, line, left, at));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), text);
    let before: String = { editing.editor.lines().get(line) }.map_or(String::new(), |line| {
        line[left.min(column)..column].iter().collect()
    });
    let x = text.x + u16::try_from(Span::raw(before).width()).unwrap_or(0);
    let y = text.y + u16::try_from(line - top).unwrap_or(0);
    frame.set_cursor_position(Position::new(x.min(text.right().saturating_sub(1)), y));

    let mut below = inner;
    below.y = text.bottom();
    below.height = inner.height.min(PROBLEM);
    let message = match (&editing.problem, app.waits) {
        (_, Waits::ForBegin) => app.span("compiling …", Role::Plain),
        (Some(problem), _) => {
            let at = problem.at.map_or(String::new(), |(line, column)| {
                format!("line {}, column {}: ", line + 1, column + 1)
            });
            app.span(
                format!("{at}{}", problem.message.replace('\n', " ")),
                Role::Bad,
            )
        }
        _ => app.span("", Role::Plain),
    };
    frame.render_widget(
        Paragraph::new(Line::from(message)).wrap(Wrap { trim: true }),
        below,
    );
}

/// Returns a line from a column on, with the position of an error marked.
fn shown(
    app: &App,
    number: usize,
    line: &[char],
    left: usize,
    at: Option<(usize, usize)>,
) -> Line<'static> {
    let wrong = at
        .filter(|&(line, _)| line == number)
        .map(|(_, column)| column);
    let text = |from: usize, to: usize| -> String {
        let range = from.max(left).min(line.len())..to.min(line.len()).max(left.min(line.len()));
        line.get(range).unwrap_or_default().iter().collect()
    };
    let Some(column) = wrong else {
        return Line::from(text(0, line.len()));
    };
    // A position after the last character must be visible too.
    let mark = match text(column, column + 1) {
        empty if empty.is_empty() => " ".to_owned(),
        mark => mark,
    };
    let style = app
        .style(Role::Bad)
        .add_modifier(Modifier::REVERSED | Modifier::BOLD);
    Line::from(vec![
        Span::raw(text(0, column)),
        Span::styled(mark, style),
        Span::raw(text(column + 1, line.len())),
    ])
}
