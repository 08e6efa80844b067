//! Handles keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::app::{App, Editing, Effect, Field, Mode, Overlay, Waits};
use crate::scene::Scene;
use crate::slider::Slider;
use crate::subject::{ConstraintKind, ConstraintText};

/// Steps that shift and a key move a slider, and lines per page of the editor.
const MANY: usize = 10;

impl App {
    pub(crate) fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            self.is_done = true;
            return None;
        }
        match &mut self.overlay {
            Overlay::None => self.main_key(key),
            Overlay::Help => {
                self.overlay = Overlay::None;
                None
            }
            Overlay::Scenes(selected) => {
                let count = Scene::ALL.len();
                match key.code {
                    KeyCode::Up | KeyCode::Char('k') => *selected = (*selected + count - 1) % count,
                    KeyCode::Down | KeyCode::Char('j') => *selected = (*selected + 1) % count,
                    KeyCode::Enter => {
                        let scene = Scene::ALL[*selected];
                        return self.start_scene(scene);
                    }
                    KeyCode::Char(digit @ '1'..='4') => return self.start_numbered(digit),
                    _ => self.overlay = Overlay::None,
                }
                None
            }
            Overlay::Editor(_) if is_control && key.code == KeyCode::Char('s') => self.apply(),
            Overlay::Editor(editing) => {
                if key.code == KeyCode::Esc {
                    self.close_editor();
                } else {
                    editing.key(key, is_control);
                }
                None
            }
        }
    }

    fn main_key(&mut self, key: KeyEvent) -> Option<Effect> {
        let is_many = key.modifiers.contains(KeyModifiers::SHIFT);
        let steps = if is_many { MANY as f32 } else { 1.0 };
        match key.code {
            KeyCode::Char('q') => self.is_done = true,
            KeyCode::Char('n' | ' ') | KeyCode::Enter => {
                self.mode = Mode::Still;
                return self.forward();
            }
            KeyCode::Char('b') | KeyCode::Backspace => {
                self.mode = Mode::Still;
                return self.go_to(self.walk.at().saturating_sub(1));
            }
            KeyCode::Home => {
                self.mode = Mode::Still;
                return self.go_to(0);
            }
            KeyCode::End => self.play_to_end(),
            KeyCode::Char('a') => {
                self.mode = match self.mode {
                    Mode::Still => Mode::Auto,
                    _ => Mode::Still,
                };
            }
            KeyCode::Up => self.slider = (self.slider + Slider::ALL.len() - 1) % Slider::ALL.len(),
            KeyCode::Down => self.slider = (self.slider + 1) % Slider::ALL.len(),
            KeyCode::Left => self.slide(-steps),
            KeyCode::Right => self.slide(steps),
            KeyCode::Char('0') => {
                let slider = Slider::ALL[self.slider];
                self.set(slider, slider.off());
            }
            KeyCode::Char('r') => {
                self.sampling.seed = self.sampling.seed.wrapping_add(1);
                self.compare();
            }
            KeyCode::Char('s') => self.overlay = Overlay::Scenes(0),
            KeyCode::Char(digit @ '1'..='4') => return self.start_numbered(digit),
            KeyCode::Char('p') => self.edit(Field::Prompt),
            KeyCode::Char('c') => self.edit(Field::Constraint),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.overlay = Overlay::Help,
            KeyCode::Esc => self.mode = Mode::Still,
            _ => {}
        }
        None
    }

    fn start_numbered(&mut self, digit: char) -> Option<Effect> {
        let number = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
        let &scene = Scene::ALL.get(number)?;
        self.start_scene(scene)
    }

    /// Moves the selected slider, and ends a scene.
    fn slide(&mut self, steps: f32) {
        let slider = Slider::ALL[self.slider];
        self.set(slider, slider.get(&self.sampling) + steps * slider.step());
    }

    fn set(&mut self, slider: Slider, value: f32) {
        if matches!(self.mode, Mode::Seek(..) | Mode::Frame(..)) {
            self.mode = Mode::Still;
        }
        slider.set(&mut self.sampling, value);
        self.compare();
    }

    fn apply(&mut self) -> Option<Effect> {
        let Overlay::Editor(editing) = &self.overlay else {
            return None;
        };
        if self.waits == Waits::ForBegin {
            return None;
        }
        let text = editing.editor.text();
        let (prompt, constraint) = match editing.field {
            Field::Prompt => (text, self.constraint.clone()),
            Field::Constraint => {
                let kind = editing.kind;
                (self.prompt.clone(), ConstraintText { kind, text })
            }
        };
        self.mode = Mode::Still;
        Some(self.begin(prompt, constraint))
    }

    /// Closes the editor. Without an output to return to, this ends the program.
    fn close_editor(&mut self) {
        self.overlay = Overlay::None;
        self.is_done =
            self.walk.look().is_none() && self.walk.len() == 0 && self.waits == Waits::No;
    }
}

impl Editing {
    fn key(&mut self, key: KeyEvent, is_control: bool) {
        let editor = &mut self.editor;
        match key.code {
            KeyCode::Char('t') if is_control && self.field == Field::Constraint => {
                self.kind = self.kind.next();
                self.problem = None;
                return;
            }
            KeyCode::Char('u') if is_control => editor.clear(),
            KeyCode::Char('a') if is_control => editor.home(),
            KeyCode::Char('e') if is_control => editor.end(),
            KeyCode::Char(character) if !is_control => editor.insert(character),
            KeyCode::Enter => editor.insert('\n'),
            KeyCode::Tab => editor.insert('\t'),
            KeyCode::Backspace => editor.backspace(),
            KeyCode::Delete => editor.delete(),
            KeyCode::Left => return editor.left(),
            KeyCode::Right => return editor.right(),
            KeyCode::Up => return editor.up(1),
            KeyCode::Down => return editor.down(1),
            KeyCode::PageUp => return editor.up(MANY),
            KeyCode::PageDown => return editor.down(MANY),
            KeyCode::Home => return editor.home(),
            KeyCode::End => return editor.end(),
            _ => return,
        }
        // The text has changed, so the position is no longer valid.
        if let Some(problem) = &mut self.problem {
            problem.at = None;
        }
        if self.kind == ConstraintKind::Free && self.field == Field::Constraint {
            self.kind = ConstraintKind::default();
        }
    }
}
