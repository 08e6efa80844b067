//! A step's probabilities, one column per sampler.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use structgen_lab::chart::text_bar;
use structgen_vocab::{TokenId, Vocabulary};

use super::{Role, percent};
use crate::app::App;
use crate::comparison::{Column, Comparison, Row};

/// The widths of the columns.
struct Widths {
    name: usize,
    /// A column of numbers.
    number: usize,
    /// Each of the two bars: the model's, and that of the kept tokens.
    bar: usize,
}

impl Widths {
    fn of(width: usize, columns: usize) -> Self {
        let is_wide = width >= 24 + 13 * columns + 24;
        let (name, number) = if is_wide { (24, 13) } else { (15, 8) };
        let rest = width.saturating_sub(name + number * columns + 3);
        // Very short bars show nothing.
        let bar = if rest >= 8 { (rest / 2).min(36) } else { 0 };
        Self { name, number, bar }
    }
}

pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let title = match app.comparison() {
        Some(comparison) => title(comparison),
        None if app.walk.has_ended() => "The output has ended".to_owned(),
        None => "Next token".to_owned(),
    };
    let block = app.block(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(comparison) = app.comparison() else {
        if app.walk.has_ended() {
            let text = " b goes back a token, Home to the beginning; p and c begin another output.";
            frame.render_widget(Paragraph::new(text), inner);
        }
        return;
    };
    let widths = Widths::of(inner.width.into(), comparison.columns.len());
    let room = usize::from(inner.height.saturating_sub(3));
    let mut lines = vec![head(app, comparison, &widths)];
    let rows = comparison.top(room).into_iter();
    lines.extend(rows.map(|row| line(app, comparison, row, &widths)));
    let last = lines.len();
    lines.extend((last..=room).map(|_| Line::default()));
    lines.push(summary(app, comparison, &widths, "tokens left", |column| {
        column.left.to_string()
    }));
    lines.push(summary(
        app,
        comparison,
        &widths,
        "entropy, nats",
        |column| format!("{:.3}", column.entropy),
    ));
    frame.render_widget(Paragraph::new(lines), inner);
}

fn title(comparison: &Comparison) -> String {
    let count = |at: usize| {
        comparison
            .columns
            .get(at)
            .map_or(0, |column: &Column| column.left)
    };
    format!(
        "Next token: the mask allows {} of {} and refuses {} of the probability",
        count(1),
        count(0),
        percent(comparison.masked)
    )
}

fn head(app: &App, comparison: &Comparison, widths: &Widths) -> Line<'static> {
    let mut spans = vec![app.span(format!("  {:<1$}", "token", widths.name - 2), Role::Strong)];
    for (at, column) in comparison.columns.iter().enumerate() {
        let short = match column.name {
            "temperature" if widths.number < 12 => "temp",
            name => name,
        };
        let short: String = short.chars().take(widths.number - 1).collect();
        let role = if column.is_off {
            Role::Soft
        } else {
            Role::Strong
        };
        spans.push(app.span(format!("{short:>0$}", widths.number), role));
        if at == 0 {
            spans.push(Span::raw(" ".repeat(widths.bar + 1)));
        }
    }
    Line::from(spans)
}

fn line(app: &App, comparison: &Comparison, row: &Row, widths: &Widths) -> Line<'static> {
    let is_drawn = comparison.drawn.is_some_and(|draw| draw.id == row.token.0);
    let is_kept = row.shares.last().is_some_and(Option::is_some);
    let role = match (is_drawn, is_kept) {
        (true, _) => Role::Strong,
        (_, true) => Role::Plain,
        _ => Role::Soft,
    };
    let name = token_text(row.token, &app.vocabulary);
    let mark = if is_drawn { "▸ " } else { "  " };
    let mut spans = vec![app.span(format!("{mark}{}", padded(&name, widths.name - 2)), role)];
    for (at, (share, column)) in row.shares.iter().zip(&comparison.columns).enumerate() {
        let (text, role) = match share {
            _ if !row.is_allowed && at == 1 => ("refused".to_owned(), Role::Bad),
            None => (String::new(), role),
            Some(_) if column.is_off => ("·".to_owned(), Role::Soft),
            Some(share) => (percent(*share), role),
        };
        let is_cut = share.is_none() && at > 0 && row.shares[at - 1].is_some() && row.is_allowed;
        let text = if is_cut { "cut".to_owned() } else { text };
        spans.push(app.span(format!("{text:>0$}", widths.number), role));
        if at == 0 {
            spans.push(Span::raw(" "));
            spans.push(bar(app, *share, widths.bar, Role::Before));
        }
    }
    spans.push(Span::raw(" "));
    let last = row.shares.last().copied().flatten();
    spans.push(bar(app, last, widths.bar, Role::After));
    Line::from(spans)
}

fn bar(app: &App, share: Option<f64>, width: usize, role: Role) -> Span<'static> {
    let bar = share.map_or(String::new(), |share| text_bar(share, width));
    app.span(padded(&bar, width), role)
}

fn summary(
    app: &App,
    comparison: &Comparison,
    widths: &Widths,
    name: &str,
    of: impl Fn(&Column) -> String,
) -> Line<'static> {
    let mut spans = vec![app.span(format!("  {name:<0$}", widths.name - 2), Role::Soft)];
    for (at, column) in comparison.columns.iter().enumerate() {
        let text = if column.is_off {
            "off".to_owned()
        } else {
            of(column)
        };
        spans.push(app.span(format!("{text:>0$}", widths.number), Role::Soft));
        if at == 0 {
            spans.push(Span::raw(" ".repeat(widths.bar + 1)));
        }
    }
    Line::from(spans)
}

/// Returns a token's text in quotes, or the name of a special token.
fn token_text(token: TokenId, vocabulary: &Vocabulary) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) if !bytes.is_empty() => format!("{:?}", String::from_utf8_lossy(bytes)),
        _ => {
            { vocabulary.token_name(token) }.map_or_else(|| format!("#{}", token.0), str::to_owned)
        }
    }
}

/// Cuts or pads a text to a width.
fn padded(text: &str, width: usize) -> String {
    let mut shown = text.to_owned();
    if Span::raw(text).width() > width {
        while Span::raw(&*shown).width() >= width && shown.pop().is_some() {}
        shown.push('…');
    }
    let gap = width.saturating_sub(Span::raw(&*shown).width());
    shown + &" ".repeat(gap)
}
