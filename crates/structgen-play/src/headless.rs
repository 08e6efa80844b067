//! The program without a terminal: for tests, and for screenshots.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::app::{App, Effect, Message, Start};
use crate::subject::Subject;
use crate::view;

/// The state and its model, on one thread.
pub struct Headless<S> {
    app: App,
    subject: S,
}

impl<S: Subject> Headless<S> {
    /// Starts the program.
    pub fn new(start: Start, subject: S) -> Self {
        let (app, effect) = App::new(start, subject.vocabulary());
        let mut headless = Self { app, subject };
        headless.carry_out(Some(effect));
        headless
    }

    /// Returns the state.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Handles a message, and everything that follows from it.
    pub fn send(&mut self, message: Message) {
        let effect = self.app.update(message);
        self.carry_out(effect);
    }

    fn carry_out(&mut self, mut effect: Option<Effect>) {
        while let Some(next) = effect {
            let answer = answer(&mut self.subject, next);
            effect = self.app.update(answer);
        }
    }

    /// Runs what happens automatically until it ends.
    pub fn finish(&mut self) {
        while self.app.pause().is_some() {
            self.send(Message::Tick);
        }
    }

    /// Draws the screen at this size.
    pub fn screen(&self, width: u16, height: u16) -> Buffer {
        let backend = TestBackend::new(width, height);
        let Ok(mut terminal) = Terminal::new(backend);
        let Ok(_) = terminal.draw(|frame| view::draw(&self.app, frame));
        terminal.backend().buffer().clone()
    }
}

/// Performs an effect.
pub(crate) fn answer(subject: &mut (impl Subject + ?Sized), effect: Effect) -> Message {
    match effect {
        Effect::Begin { prompt, constraint } => Message::Begun {
            begun: subject.begin(&prompt, &constraint),
            prompt,
            constraint,
        },
        Effect::Look { run, output } => Message::Looked {
            run,
            tokens: output.len(),
            look: subject.look(&output),
        },
    }
}
