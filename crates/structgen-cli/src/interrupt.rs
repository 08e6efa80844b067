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

/// Whether there was a Ctrl-C.
pub(crate) fn happened() -> bool {
    HAPPENED.load(Ordering::Relaxed)
}

/// The outcome of a command that was interrupted.
pub(crate) fn outcome() -> ExitCode {
    crate::output::tell("interrupted");
    ExitCode::from(EXIT_CODE)
}

fn interrupt() {
    if HAPPENED.swap(true, Ordering::Relaxed) {
        #[allow(
            clippy::exit,
            reason = "whoever asks twice does not wait for a step to end"
        )]
        std::process::exit(EXIT_CODE.into());
    }
    let models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    models.iter().for_each(StopHandle::stop);
}
