//! `structgen extract --jsonl`: many texts in parallel, answered in order.

mod input;
mod output;
mod retry;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Outcome;
use crate::error::{DONE, bad_input};
use crate::extraction::note_ungrounded_in_line;
use crate::interrupt;
use crate::output::{error, shows_progress, tell};
use input::Line;
use output::Earlier;
pub(crate) use output::Output;

/// Extracts from several texts at a time: a local model, or a server.
pub(crate) trait Extracts {
    /// A text in progress.
    type Running;

    /// The maximum number of texts in progress.
    fn capacity(&self) -> usize;

    /// Starts a text.
    fn submit(&self, text: String) -> anyhow::Result<Self::Running>;

    /// Waits for the answer to a text.
    fn wait(&mut self, running: Self::Running, id: Option<&RawValue>) -> anyhow::Result<Answer>;

    /// Returns whether a document finished after Ctrl-C may be incomplete.
    fn may_be_cut(&self) -> bool {
        false
    }

    /// Returns whether an error ends the run, because it is not about this text alone.
    fn ends_run(&self, error: &anyhow::Error) -> bool {
        let _ = error;
        false
    }
}

/// What was extracted from a text.
pub(crate) struct Answer {
    /// The document, as it is to be printed.
    pub(crate) document: String,
    /// The required values that the text lacks: JSON Pointers into the schema.
    pub(crate) ungrounded: Vec<String>,
}

/// An input line in progress.
struct Pending<R> {
    number: u64,
    id: Option<Box<RawValue>>,
    work: Work<R>,
}

enum Work<R> {
    /// The text is in progress, or could not be started.
    Started(anyhow::Result<R>),
    /// This line of an earlier run is written again.
    Done(String),
}

/// The line of the output for a text that could not be done.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ErrorLine<'l> {
    #[serde(borrow)]
    error: Cow<'l, str>,
    line: u64,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    id: Option<&'l RawValue>,
}

/// The maximum number of lines of an earlier run that wait for their turn to be written again.
const MOST_DONE: usize = 1 << 12;

pub(crate) fn run<E: Extracts>(
    extractor: &mut E,
    input: Box<dyn BufRead + Send>,
    mut output: Output,
) -> Outcome {
    let most = extractor.capacity();
    let lines = read_lines(input, most);
    let progress = progress_bar();
    let mut pending: VecDeque<Pending<E::Running>> = VecDeque::new();
    let (mut number, mut bad) = (0_u64, 0_u64);
    let mut is_open = true;
    let mut started = 0;
    loop {
        // Never block on input while there is output to write.
        while is_open && started < most && pending.len() < most + MOST_DONE {
            let line = match pending.is_empty() {
                true => wait_for(&lines),
                false => lines.try_recv(),
            };
            let line = match line {
                Ok(line) => line?,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    is_open = false;
                    output.check_end(number)?;
                    break;
                }
            };
            number += 1;
            let work = match output.earlier(number, &line)? {
                Earlier::Nothing => {
                    started += 1;
                    let text = line.text.map_err(anyhow::Error::msg);
                    Work::Started(text.and_then(|text| extractor.submit(text)))
                }
                Earlier::Again(line) => Work::Done(line),
                earlier => {
                    bad += u64::from(matches!(earlier, Earlier::Error));
                    progress.inc(1);
                    continue;
                }
            };
            let id = line.id;
            pending.push_back(Pending { number, id, work });
        }
        let Some(next) = pending.pop_front() else {
            if is_open && !interrupt::happened() {
                continue;
            }
            break;
        };
        let Pending { number, id, work } = next;
        let found = match work {
            Work::Started(found) => found,
            Work::Done(line) => {
                output.write(&line)?;
                progress.inc(1);
                continue;
            }
        };
        started -= 1;
        let found = found.and_then(|running| extractor.wait(running, id.as_deref()));
        if interrupt::happened() && (found.is_err() || extractor.may_be_cut()) {
            // The document may be incomplete, and later ones must not come before it.
            break;
        }
        let line = match found {
            Ok(answer) => {
                progress.suspend(|| note_ungrounded_in_line(number, &answer.ungrounded));
                // In JSON, a line break is always whitespace.
                answer.document.replace(['\n', '\r'], " ")
            }
            Err(error) if extractor.ends_run(&error) => {
                progress.finish_and_clear();
                return Err(error.context(format!("line {number}")).into());
            }
            Err(error) => {
                bad += 1;
                let error = format!("{error:#}");
                progress.suspend(|| tell(&format!("line {number}: {error}")));
                serde_json::to_string(&ErrorLine {
                    error: error.into(),
                    line: number,
                    id: id.as_deref(),
                })?
            }
        };
        output.write(&line)?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    if bad > 0 {
        error(&format!(
            "{bad} of {number} lines could not be done; their places in the output say why"
        ));
        return Ok(bad_input());
    }
    Ok(DONE)
}

/// Waits for the next line, until the program is interrupted.
fn wait_for(lines: &Receiver<io::Result<Line>>) -> Result<io::Result<Line>, TryRecvError> {
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => return Ok(line),
            Err(RecvTimeoutError::Disconnected) => return Err(TryRecvError::Disconnected),
            Err(RecvTimeoutError::Timeout) if interrupt::happened() => {
                return Err(TryRecvError::Empty);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Reads the lines on a thread of its own.
fn read_lines(mut input: Box<dyn BufRead + Send>, most: usize) -> Receiver<io::Result<Line>> {
    let (sender, receiver) = sync_channel(most);
    thread::spawn(move || {
        while let Some(line) = Line::read(&mut input).transpose() {
            let has_failed = line.is_err();
            if sender.send(line).is_err() || has_failed {
                break;
            }
        }
    });
    receiver
}

/// Returns a progress bar, hidden if standard error is not a terminal.
fn progress_bar() -> ProgressBar {
    if !shows_progress() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} texts, {per_sec}, {elapsed}");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
