//! The loop: events go in, screens come out, and the model works on its own thread.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, read};
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::crossterm::{execute, queue};

use crate::app::{App, Effect, Message, Start};
use crate::headless::answer;
use crate::subject::Subject;
use crate::view;

/// Why the program cannot run on the terminal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// Standard input or output is a file or a pipe.
    #[error("a terminal is needed for input and output, and {0} is none")]
    NoTerminal(&'static str),
    /// The terminal fails.
    #[error("the terminal fails")]
    Io(#[from] io::Error),
    /// A thread cannot be started, or has ended.
    #[error("the thread of the model has ended")]
    Worker,
}

/// How long screens took to draw, from the state to the terminal's output.
#[derive(Clone, Debug, Default)]
pub struct Redraws {
    times: Vec<Duration>,
}

impl Redraws {
    /// Returns the number of screens.
    #[must_use]
    pub fn count(&self) -> usize {
        self.times.len()
    }

    /// Returns the time within which this share of the screens was drawn.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = (times.len().saturating_sub(1)) as f64 * share.clamp(0.0, 1.0);
        times.get(at.round() as usize).copied().unwrap_or_default()
    }
}

/// Checks that there is a terminal.
///
/// # Errors
/// [`TerminalError::NoTerminal`].
pub fn check() -> Result<(), TerminalError> {
    if !io::stdin().is_terminal() {
        return Err(TerminalError::NoTerminal("standard input"));
    }
    if !io::stdout().is_terminal() {
        return Err(TerminalError::NoTerminal("standard output"));
    }
    Ok(())
}

/// Plays until a key ends it. The terminal is as before afterwards, after a panic as well.
///
/// # Errors
/// [`TerminalError`].
pub fn play(start: Start, subject: impl Subject + 'static) -> Result<Redraws, TerminalError> {
    check()?;
    let (app, first) = App::new(start, subject.vocabulary());
    let (messages, inbox) = channel::<Option<Message>>();
    let (effects, work) = channel();
    let farewell = Farewell(messages.clone());
    // A process must not exit while a model runs, so its thread is waited for, whatever happens.
    thread::scope(move |scope| {
        let answer = move || answer_all(subject, &work, farewell);
        let model = named("play-model").spawn_scoped(scope, answer)?;
        let restored = Restored::new()?;
        // The thread ends with the process: waiting for a key cannot be interrupted.
        named("play-keys").spawn(move || while pass_on(read(), &messages) {})?;
        let result = run(app, first, &inbox, &effects);
        drop(restored);
        drop((effects, inbox));
        // If it panicked, the result says that the worker ended.
        let _ = model.join();
        result
    })
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// Restores the terminal when it is dropped; a panic in any thread restores it before its message is printed.
struct Restored;

impl Restored {
    fn new() -> io::Result<Self> {
        // This sets the panic hook, too.
        drop(ratatui::try_init()?);
        let restored = Self;
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(restored)
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, for handlers of signals.
pub fn restore() {
    // There is nobody left to report a failure to.
    let _ = execute!(io::stdout(), DisableBracketedPaste);
    ratatui::restore();
}

/// Sends `None` when its thread ends, even by a panic.
struct Farewell(Sender<Option<Message>>);

impl Drop for Farewell {
    fn drop(&mut self) {
        // If nobody is listening, the program has ended.
        let _ = self.0.send(None);
    }
}

fn answer_all(mut subject: impl Subject, work: &Receiver<Effect>, messages: Farewell) {
    while let Ok(effect) = work.recv() {
        let answer = answer(&mut subject, effect);
        if messages.0.send(Some(answer)).is_err() {
            return;
        }
    }
}

/// Returns whether there may be more events.
fn pass_on(event: io::Result<Event>, messages: &Sender<Option<Message>>) -> bool {
    let message = match event {
        Ok(Event::Key(key)) => Message::Key(key),
        Ok(Event::Paste(text)) => Message::Paste(text),
        Ok(Event::Resize(..)) => Message::Resized,
        Ok(_) => return true,
        Err(_) => return false,
    };
    messages.send(Some(message)).is_ok()
}

/// Draws after messages, and only then.
fn run(
    mut app: App,
    first: Effect,
    inbox: &Receiver<Option<Message>>,
    effects: &Sender<Effect>,
) -> Result<Redraws, TerminalError> {
    let backend = ratatui::backend::CrosstermBackend::new(io::stdout());
    let mut terminal = ratatui::Terminal::new(backend)?;
    let mut redraws = Redraws::default();
    let ask = |effect: Option<Effect>| match effect {
        Some(effect) => effects.send(effect).map_err(|_| TerminalError::Worker),
        None => Ok(()),
    };
    ask(Some(first))?;
    while !app.is_done() {
        let started = Instant::now();
        // The terminal shows the screen once it is complete.
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        terminal.draw(|frame| view::draw(&app, frame))?;
        queue!(io::stdout(), EndSynchronizedUpdate)?;
        io::stdout().flush()?;
        redraws.times.push(started.elapsed());
        let mut message = Some(next(inbox, app.pause())?);
        // If several keys were pressed while the screen was drawn, only the last state is shown.
        while let Some(next) = message {
            ask(app.update(next))?;
            message = match inbox.try_recv() {
                Ok(message) => Some(message.ok_or(TerminalError::Worker)?),
                Err(_) => None,
            };
        }
    }
    Ok(redraws)
}

fn next(
    inbox: &Receiver<Option<Message>>,
    pause: Option<Duration>,
) -> Result<Message, TerminalError> {
    let message = match pause {
        None => inbox.recv().ok(),
        Some(pause) => match inbox.recv_timeout(pause) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => Some(Some(Message::Tick)),
            Err(RecvTimeoutError::Disconnected) => None,
        },
    };
    message.flatten().ok_or(TerminalError::Worker)
}
