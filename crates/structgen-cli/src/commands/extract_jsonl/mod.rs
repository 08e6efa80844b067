//! `structgen extract --jsonl`: many texts, several at a time, in order.

mod input;
mod output;

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use structgen::{Extracting, SchemaExtractor};

use crate::Outcome;
use crate::error::{DONE, bad_input};
use crate::extraction::{ExtractionArgs, PassedOn};
use crate::interrupt;
use crate::output::{error, shows_progress, tell};
use input::Line;
pub(crate) use output::Output;

/// A line of the input under way.
struct Pending {
    number: u64,
    id: Option<Value>,
    found: anyhow::Result<Extracting<IgnoredAny>>,
}

pub(crate) fn run(
    extractor: &SchemaExtractor,
    results: &ExtractionArgs,
    input: Box<dyn BufRead + Send>,
    mut output: Output,
) -> Outcome {
    let model = extractor.model();
    let most = model.engine().capacity();
    let lines = read_lines(input, most);
    let progress = progress_bar();
    let mut pending: VecDeque<Pending> = VecDeque::new();
    let (mut number, mut bad) = (0_u64, 0_u64);
    let mut passed_on = PassedOn::default();
    let mut is_open = true;
    loop {
        // Nobody waits for more input while there is something to be written.
        while is_open && pending.len() < most {
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
            if output.has(number, &line)? {
                progress.inc(1);
                continue;
            }
            let found = { line.text.map_err(anyhow::Error::msg) }
                .and_then(|text| Ok(extractor.submit(&text)?));
            pending.push_back(Pending {
                number,
                id: line.id,
                found,
            });
        }
        let Some(next) = pending.pop_front() else {
            if is_open && !interrupt::happened() {
                continue;
            }
            break;
        };
        let Pending { number, id, found } = next;
        let found = found.and_then(|found| Ok(found.wait()?));
        if interrupt::happened()
            && (found.is_err() || results.alternatives() > 0 || results.small_first)
        {
            // It is not known to be complete, and those after it keep their order.
            break;
        }
        let line = found.and_then(|found| {
            passed_on.add(&found);
            // In JSON a line break is never more than whitespace.
            Ok(results
                .print(&found, id.as_ref(), model)?
                .replace(['\n', '\r'], " "))
        });
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                bad += 1;
                let message = format!("{error:#}");
                progress.suspend(|| tell(&format!("line {number}: {message}")));
                let mut line = json!({"error": message, "line": number});
                if let Some(id) = id {
                    line["id"] = id;
                }
                line.to_string()
            }
        };
        output.write(&line)?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    if results.small_first {
        passed_on.report();
    }
    if bad > 0 {
        error(&format!(
            "{bad} of {number} lines could not be done; their places in the output say why"
        ));
        return Ok(bad_input());
    }
    Ok(DONE)
}

/// The next line, however long it takes, unless the program is interrupted.
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

/// The lines, read on a thread of their own.
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

/// Nothing is drawn where standard error is no terminal.
fn progress_bar() -> ProgressBar {
    if !shows_progress() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} texts, {per_sec}, {elapsed}");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
