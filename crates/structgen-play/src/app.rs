//! The state of the program. Only messages change it, and they may request effects.

use std::sync::Arc;
use std::time::Duration;

use ratatui::crossterm::event::KeyEvent;
use structgen_decode::SamplingParams;
use structgen_vocab::{TokenId, Vocabulary};

use crate::comparison::Comparison;
use crate::editor::Editor;
use crate::scene::{ALLOWED, Scene};
use crate::slider::Slider;
use crate::subject::{Begun, ConstraintKind, ConstraintText, Look, Problem};
use crate::walk::{Moved, Walk};

/// Pause between tokens.
const TOKEN_PAUSE: Duration = Duration::from_millis(250);

/// Pause between settings of a scene.
const FRAME_PAUSE: Duration = Duration::from_millis(700);

/// Number of positions that a scene examines to find the one with the widest choice.
const SOUGHT: usize = 40;

/// Maximum number of tokens that are taken at once.
pub(crate) const MOST: usize = 1024;

/// An event.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The screen has been resized.
    Resized,
    /// The pause of [`App::pause`] is over.
    Tick,
    /// An output was started, or cannot be.
    Begun {
        /// The prompt of the [`Effect::Begin`] that this answers.
        prompt: String,
        /// Its constraint.
        constraint: ConstraintText,
        /// The output.
        begun: Result<Begun, Problem>,
    },
    /// The model and the mask were computed.
    Looked {
        /// The run of the [`Effect::Look`] that this answers.
        run: usize,
        /// The number of tokens before the position.
        tokens: usize,
        /// Their result.
        look: Result<Look, Problem>,
    },
}

/// An action outside of the state, which is answered by a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start an output.
    Begin {
        /// The prompt.
        prompt: String,
        /// The constraint on the output.
        constraint: ConstraintText,
    },
    /// Compute the model and the mask.
    Look {
        /// The number of the output.
        run: usize,
        /// The tokens of the output.
        output: Vec<TokenId>,
    },
}

/// The initial state.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The name of the model.
    pub model: String,
    /// The prompt.
    pub prompt: String,
    /// The constraint on outputs.
    pub constraint: ConstraintText,
    /// How tokens are drawn.
    pub sampling: SamplingParams,
    /// A scene to start with.
    pub scene: Option<Scene>,
    /// The number of tokens to take at the start.
    pub tokens: usize,
    /// Whether the screen has colours.
    pub has_colour: bool,
}

/// The state.
#[derive(Debug)]
pub struct App {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) model: String,
    pub(crate) has_colour: bool,
    pub(crate) prompt: String,
    pub(crate) constraint: ConstraintText,
    pub(crate) sampling: SamplingParams,
    pub(crate) walk: Walk,
    /// The step shown at the current position.
    pub(crate) comparison: Option<Result<Comparison, String>>,
    /// The selected slider.
    pub(crate) slider: usize,
    pub(crate) mode: Mode,
    pub(crate) overlay: Overlay,
    pub(crate) waits: Waits,
    /// The last error.
    pub(crate) problem: Option<String>,
    /// The result of a scene.
    pub(crate) note: Option<String>,
    pub(crate) is_done: bool,
    /// The number of the output, by which late answers about earlier ones are recognised; 0 before the first.
    run: usize,
    first: (Option<Scene>, usize),
}

/// What happens automatically.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Nothing.
    Still,
    /// Tokens are taken, with a pause after each.
    Auto,
    /// Tokens are taken without pauses, up to this number.
    Fast(usize),
    /// A scene searches for the step with the widest choice; the best so far, and its width.
    Seek(Scene, Option<(usize, Width)>),
    /// A scene shows a frame.
    Frame(Scene, usize),
}

/// The width of a choice: whether enough tokens are allowed, and the entropy of their probabilities.
pub(crate) type Width = (bool, f64);

/// What is drawn over the main screen.
#[derive(Debug)]
pub(crate) enum Overlay {
    None,
    Help,
    Scenes(usize),
    Editor(Editing),
}

/// What the program is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    No,
    ForBegin,
    ForLook,
}

/// A text being edited.
#[derive(Debug)]
pub(crate) struct Editing {
    pub(crate) field: Field,
    pub(crate) editor: Editor,
    /// How to parse the text of a constraint.
    pub(crate) kind: ConstraintKind,
    pub(crate) problem: Option<Problem>,
}

/// Which text is being edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Prompt,
    Constraint,
}

impl App {
    /// Returns the initial state, and the first effect.
    #[must_use]
    pub fn new(start: Start, vocabulary: Arc<Vocabulary>) -> (Self, Effect) {
        let mut app = Self {
            vocabulary,
            model: start.model,
            has_colour: start.has_colour,
            prompt: String::new(),
            constraint: ConstraintText::default(),
            sampling: start.sampling,
            walk: Walk::default(),
            comparison: None,
            slider: 0,
            mode: Mode::Still,
            overlay: Overlay::None,
            waits: Waits::No,
            problem: None,
            note: None,
            is_done: false,
            run: 0,
            first: (start.scene, start.tokens),
        };
        let effect = app.begin(start.prompt, start.constraint);
        (app, effect)
    }

    /// Returns whether the program has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns when the next [`Message::Tick`] is due, or `None` if nothing happens automatically.
    #[must_use]
    pub fn pause(&self) -> Option<Duration> {
        if self.waits != Waits::No || !matches!(self.overlay, Overlay::None) {
            return None;
        }
        match self.mode {
            Mode::Still => None,
            Mode::Auto => Some(TOKEN_PAUSE),
            Mode::Fast(_) | Mode::Seek(..) => Some(Duration::ZERO),
            Mode::Frame(Scene::Together, _) => Some(TOKEN_PAUSE),
            Mode::Frame(..) => Some(FRAME_PAUSE),
        }
    }

    /// Returns the bytes of the output up to the position, and where those of the last token start.
    pub(crate) fn output(&self) -> (Vec<u8>, usize) {
        let (mut bytes, mut last) = (Vec::new(), 0);
        for token in self.walk.tokens() {
            last = bytes.len();
            bytes.extend_from_slice(self.vocabulary.token_bytes(token).unwrap_or_default());
        }
        (bytes, last)
    }

    /// Returns the step's probabilities, if there is a step.
    #[must_use]
    pub fn comparison(&self) -> Option<&Comparison> {
        self.comparison.as_ref()?.as_ref().ok()
    }

    /// Applies a message, and returns the effect it requests.
    pub fn update(&mut self, message: Message) -> Option<Effect> {
        match message {
            Message::Key(key) => self.key(key),
            Message::Paste(text) => {
                if let Overlay::Editor(editing) = &mut self.overlay {
                    // Terminals send carriage returns for line breaks.
                    let text = text.replace("\r\n", "\n").replace('\r', "\n");
                    text.chars().for_each(|c| editing.editor.insert(c));
                }
                None
            }
            Message::Resized => None,
            Message::Tick => self.tick(),
            Message::Begun {
                prompt,
                constraint,
                begun,
            } => self.begun(prompt, constraint, begun),
            Message::Looked { run, .. } if run != self.run => None,
            Message::Looked { tokens, look, .. } => {
                if self.waits == Waits::ForLook {
                    self.waits = Waits::No;
                }
                match look {
                    Ok(look) => self.walk.add(tokens, look),
                    Err(problem) => {
                        self.problem = Some(problem.message);
                        self.mode = Mode::Still;
                    }
                }
                self.compare();
                None
            }
        }
    }

    pub(crate) fn begin(&mut self, prompt: String, constraint: ConstraintText) -> Effect {
        self.waits = Waits::ForBegin;
        Effect::Begin { prompt, constraint }
    }

    fn begun(
        &mut self,
        prompt: String,
        constraint: ConstraintText,
        begun: Result<Begun, Problem>,
    ) -> Option<Effect> {
        self.waits = Waits::No;
        match begun {
            Ok(begun) => {
                if self.is_edited_as(&prompt, &constraint) {
                    self.overlay = Overlay::None;
                }
                (self.prompt, self.constraint) = (prompt, constraint);
                self.problem = None;
                let warnings = begun.warnings.join("; ");
                self.note = (!warnings.is_empty()).then_some(warnings);
                self.walk = Walk::new(begun);
                self.comparison = None;
                self.run += 1;
                self.mode = match std::mem::take(&mut self.first) {
                    (None, 0) => Mode::Still,
                    (None, tokens) => Mode::Fast(tokens),
                    (Some(scene), _) => self.first_frame(scene),
                };
                Some(self.ask())
            }
            Err(problem) => {
                if self.run == 0 && !matches!(self.overlay, Overlay::Editor(_)) {
                    // The first output is that of the command line.
                    (self.prompt, self.constraint) = (prompt.clone(), constraint.clone());
                    self.edit(Field::Constraint);
                }
                let is_edited = self.is_edited_as(&prompt, &constraint);
                if let Overlay::Editor(editing) = &mut self.overlay
                    && is_edited
                {
                    if let (Some(at), Field::Constraint) = (problem.at, editing.field) {
                        editing.editor.move_to(at);
                    }
                    editing.problem = Some(problem);
                } else {
                    // The edit was given up in the meantime, and the output before goes on.
                    self.note = Some(format!("the edit was refused: {}", problem.message));
                }
                None
            }
        }
    }

    /// Whether nothing but these texts would be lost if the editor closed.
    fn is_edited_as(&self, prompt: &str, constraint: &ConstraintText) -> bool {
        let Overlay::Editor(editing) = &self.overlay else {
            return true;
        };
        let text = match editing.field {
            Field::Prompt => prompt,
            Field::Constraint => &constraint.text,
        };
        // An editor leaves out empty lines at the end.
        Editor::new(text).text() == editing.editor.text()
    }

    /// Opens the editor for a text.
    pub(crate) fn edit(&mut self, field: Field) {
        let text = match field {
            Field::Prompt => &self.prompt,
            Field::Constraint => &self.constraint.text,
        };
        self.overlay = Overlay::Editor(Editing {
            field,
            editor: Editor::new(text),
            kind: self.constraint.kind,
            problem: None,
        });
    }

    /// Computes the step after a move, and runs the model if that is necessary.
    fn arrive(&mut self, moved: Moved) -> Option<Effect> {
        self.compare();
        (moved == Moved::Unseen).then(|| self.ask())
    }

    fn ask(&mut self) -> Effect {
        self.waits = Waits::ForLook;
        Effect::Look {
            run: self.run,
            output: self.walk.tokens(),
        }
    }

    /// Computes the step at the current position.
    pub(crate) fn compare(&mut self) {
        self.comparison = self.walk.step(&self.sampling).map(|step| {
            let step = step.map_err(|error| error.to_string())?;
            Ok(Comparison::new(&step, &self.sampling))
        });
    }

    /// Takes the drawn token.
    pub(crate) fn forward(&mut self) -> Option<Effect> {
        if self.waits != Waits::No {
            return None;
        }
        let Some(drawn) = self.comparison().and_then(|comparison| comparison.drawn) else {
            self.mode = Mode::Still;
            return None;
        };
        let accepted = self.walk.accepted(drawn, &self.sampling);
        let moved = self.walk.forward(accepted);
        self.arrive(moved)
    }

    pub(crate) fn go_to(&mut self, at: usize) -> Option<Effect> {
        if self.waits != Waits::No {
            return None;
        }
        let moved = self.walk.go_to(at);
        self.arrive(moved)
    }

    /// Plays on without pauses, up to a limit.
    pub(crate) fn play_to_end(&mut self) {
        self.mode = Mode::Fast(self.walk.at() + MOST);
    }

    pub(crate) fn start_scene(&mut self, scene: Scene) -> Option<Effect> {
        self.overlay = Overlay::None;
        (self.note, self.problem) = (None, None);
        if self.waits != Waits::No {
            return None;
        }
        self.mode = self.first_frame(scene);
        self.go_to(0)
    }

    fn first_frame(&mut self, scene: Scene) -> Mode {
        scene.set(0, &mut self.sampling);
        let moved = { Slider::ALL.iter() }.position(|&slider| Some(slider) == scene.slider());
        self.slider = moved.unwrap_or(self.slider);
        match scene.is_of_one_step() {
            true => Mode::Seek(scene, None),
            false => Mode::Frame(scene, 0),
        }
    }

    fn tick(&mut self) -> Option<Effect> {
        if self.waits != Waits::No {
            return None;
        }
        match self.mode {
            Mode::Still => None,
            Mode::Fast(tokens) if self.walk.at() >= tokens => {
                self.mode = Mode::Still;
                None
            }
            Mode::Frame(Scene::Together, _) if self.walk.at() >= MOST => {
                self.mode = Mode::Still;
                None
            }
            Mode::Auto | Mode::Fast(_) | Mode::Frame(Scene::Together, _) => self.forward(),
            Mode::Seek(scene, best) => self.seek(scene, best),
            Mode::Frame(scene, frame) if frame + 1 < scene.frames() => {
                self.show(scene, frame + 1);
                None
            }
            Mode::Frame(..) => {
                self.mode = Mode::Still;
                None
            }
        }
    }

    fn show(&mut self, scene: Scene, frame: usize) {
        self.mode = Mode::Frame(scene, frame);
        scene.set(frame, &mut self.sampling);
        self.compare();
    }

    /// Examines another position, or moves to the one with the widest choice.
    fn seek(&mut self, scene: Scene, best: Option<(usize, Width)>) -> Option<Effect> {
        let at = self.walk.at();
        let mask = self
            .comparison()
            .and_then(|comparison| comparison.columns.get(1));
        let width = mask.map(|mask| (mask.left >= ALLOWED, mask.entropy));
        let best = match (best, width) {
            (Some((_, widest)), Some(width)) if width > widest => Some((at, width)),
            (None, Some(width)) => Some((at, width)),
            (best, _) => best,
        };
        if at < SOUGHT && !self.walk.has_ended() {
            self.mode = Mode::Seek(scene, best);
            return self.forward();
        }
        let Some((at, (is_enough, _))) = best else {
            self.mode = Mode::Still;
            return None;
        };
        if !is_enough {
            self.note = Some(format!("no step allows {ALLOWED}"));
        }
        let effect = self.go_to(at);
        self.show(scene, 0);
        effect
    }
}
