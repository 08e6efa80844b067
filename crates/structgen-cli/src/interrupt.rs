//! Ctrl-C while a model runs: what is complete is kept.
//!
//! Until a model is loaded nothing is under way that could be kept, and Ctrl-C ends the process as the system does it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use structgen::Model;
use structgen::decode::engine::StopHandle;

/// What shells report of a program that Ctrl-C ended: 128 and the number of the signal.
pub(crate) const EXIT_CODE: u8 = 130;

static HAPPENED: AtomicBool = AtomicBool::new(false);
static MODELS: Mutex<Vec<StopHandle>> = Mutex::new(Vec::new());

/// Lets Ctrl-C end what the model runs, and the command print what is complete. A second one ends the process at once.
pub(crate) fn watch(model: &Model) {
    static HANDLER: Once = Once::new();
    let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    models.push(model.engine().stop_handle());
    // Where a handler cannot be set, the process ends as before.
    HANDLER.call_once(|| drop(ctrlc::set_handler(interrupt)));
}

/// Lets Ctrl-C end the process, for a command that waits for a server: what was written is whole lines, and the file of
/// `--output` stays as it was.
pub(crate) fn end_at_once() {
    // Where a handler cannot be set, the system ends the process.
    let _ = ctrlc::set_handler(|| {
        crate::output::discard();
        exit();
    });
}

/// Whether there was a Ctrl-C.
pub(crate) fn happened() -> bool {
    HAPPENED.load(Ordering::Relaxed)
}

/// The outcome of a command that was interrupted.
pub(crate) fn outcome() -> ExitCode {
    crate::output::tell("interrupted");
    ExitCode::from(EXIT_CODE)
}

#[allow(
    clippy::exit,
    reason = "nobody waits for a step or a reply to end who asks twice, or has nothing to keep"
)]
fn exit() {
    std::process::exit(EXIT_CODE.into());
}

fn interrupt() {
    if HAPPENED.swap(true, Ordering::Relaxed) {
        exit();
    }
    let models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    models.iter().for_each(StopHandle::stop);
}
