//! Draws the state as a screen.
//!
//! Colours are the terminal's own sixteen, on its own background, and never the only carrier of meaning: a word, a sign
//! or a weight always says the same, so that the screen is readable in light and dark terminals and without colour.

mod distribution;
mod editor;
mod output;
mod overlays;
mod sliders;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::app::{App, Mode, Overlay, Waits};
use crate::slider::Slider;

/// The smallest screen on which everything fits.
pub const LEAST: (u16, u16) = (64, 18);

/// The role of a style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// Titles, keys, and the selection.
    Strong,
    /// Less important text.
    Soft,
    /// Probabilities of the model.
    Before,
    /// Probabilities after mask and samplers.
    After,
    /// Refused tokens, and errors.
    Bad,
    /// The newest token.
    Newest,
}

impl App {
    pub(crate) fn style(&self, role: Role) -> Style {
        let colour = |colour| match self.has_colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        };
        match role {
            Role::Plain => Style::new(),
            Role::Strong => Style::new().add_modifier(Modifier::BOLD),
            Role::Soft => Style::new().add_modifier(Modifier::DIM),
            Role::Before => colour(Color::Cyan),
            Role::After => colour(Color::Green),
            Role::Bad => colour(Color::Red),
            Role::Newest => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    pub(crate) fn span(&self, text: impl Into<String>, role: Role) -> Span<'static> {
        Span::styled(text.into(), self.style(role))
    }

    pub(crate) fn block(&self, title: impl Into<String>) -> Block<'static> {
        let title = Line::from(self.span(format!(" {} ", title.into()), Role::Strong));
        Block::bordered()
            .border_style(self.style(Role::Soft))
            .title(title)
    }
}

/// Draws the screen.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!(
            "This terminal has {} columns and {} lines; play takes {} and {}. Make it larger, or leave with q.",
            area.width, area.height, LEAST.0, LEAST.1
        );
        let text = Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true });
        frame.render_widget(text, area);
        return;
    }
    let [head, texts, distribution, sliders, status, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length((area.height / 3).clamp(6, 16)),
        Constraint::Min(8),
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(header(app), head);
    output::draw(app, frame, texts);
    distribution::draw(app, frame, distribution);
    sliders::draw(app, frame, sliders);
    frame.render_widget(self::status(app), status);
    frame.render_widget(hints(app, area.width), keys);
    match &app.overlay {
        Overlay::None => {}
        Overlay::Help => overlays::help(app, frame),
        Overlay::Scenes(selected) => overlays::scenes(app, frame, *selected),
        Overlay::Editor(editing) => editor::draw(app, editing, frame),
    }
}

fn header(app: &App) -> Line<'static> {
    let at = match app.walk.len() {
        0 => String::new(),
        tokens => format!(" · token {} of {tokens}", app.walk.at()),
    };
    Line::from(vec![
        app.span(" structgen play ", Role::Strong),
        app.span(
            format!(
                " {} · {}{at} · seed {}",
                app.model,
                app.constraint.kind.name(),
                app.sampling.seed
            ),
            Role::Plain,
        ),
    ])
}

/// Describes what is going on, or the error.
fn status(app: &App) -> Line<'static> {
    if let Some(problem) = &app.problem {
        let problem = problem.replace('\n', " ");
        return Line::from(app.span(format!(" error: {problem}"), Role::Bad));
    }
    if let Some(Err(error)) = &app.comparison {
        return Line::from(app.span(format!(" error: {error}"), Role::Bad));
    }
    let text = match (app.waits, app.mode) {
        (Waits::ForBegin, _) => "compiling …".to_owned(),
        (_, Mode::Seek(..)) => {
            format!(
                "looking for the step with the widest choice: token {} …",
                app.walk.at()
            )
        }
        (_, Mode::Frame(scene, _)) if scene.is_of_one_step() => frame_note(app),
        (_, Mode::Frame(scene, _)) => scene.about().to_owned(),
        (Waits::ForLook, _) => "the model runs …".to_owned(),
        (_, Mode::Auto | Mode::Fast(_)) => "playing; a stops".to_owned(),
        _ if app.walk.has_ended() => "complete".to_owned(),
        _ => step_note(app),
    };
    let note = app.note.as_ref().map_or(String::new(), |note| {
        format!(" ({})", note.replace('\n', " "))
    });
    Line::from(app.span(format!(" {text}{note}"), Role::Plain))
}

/// Describes the effect of a scene's setting on the step.
fn frame_note(app: &App) -> String {
    let slider = Slider::ALL[app.slider];
    format!(
        "{} {}: {}",
        slider.name(),
        slider.shown(&app.sampling),
        step_note(app)
    )
}

/// Describes the effect of the samplers on the step.
fn step_note(app: &App) -> String {
    let Some(comparison) = app.comparison() else {
        return String::new();
    };
    let (Some(last), Some(mask)) = (comparison.last(), comparison.columns.get(1)) else {
        return String::new();
    };
    format!(
        "{} of {} allowed tokens kept, entropy {:.2} nats, top {}",
        last.left,
        mask.left,
        last.entropy,
        percent(last.top)
    )
}

fn hints(app: &App, width: u16) -> Line<'static> {
    let keys = [
        ("n", "next"),
        ("b", "back"),
        ("a", "auto"),
        ("↑↓←→", "sliders"),
        ("r", "redraw"),
        ("s", "scenes"),
        ("p", "prompt"),
        ("c", "constraint"),
        ("?", "help"),
        ("q", "quit"),
    ];
    let mut spans = vec![Span::raw(" ")];
    let mut left = usize::from(width);
    for (key, about) in keys {
        let wanted = key.chars().count() + about.len() + 3;
        // Help and quitting are the last to be omitted.
        let is_kept = matches!(key, "?" | "q") || left > wanted + 16;
        if is_kept {
            left = left.saturating_sub(wanted);
            spans.push(app.span(key, Role::Strong));
            spans.push(Span::raw(format!(" {about}  ")));
        }
    }
    Line::from(spans)
}

/// Formats a share as a percentage.
fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Clears and returns a rectangle of this size in the middle of the screen.
fn popup(frame: &mut Frame<'_>, width: u16, height: u16) -> Rect {
    let area = frame.area();
    let (width, height) = (width.min(area.width), height.min(area.height));
    let popup = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, popup);
    popup
}
