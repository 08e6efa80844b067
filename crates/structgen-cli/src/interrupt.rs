//! Ctrl-C while a model runs: complete outputs are kept.
//!
//! Until a model is loaded there is nothing to keep, and Ctrl-C ends the process by the system's default.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use structgen::Model;
use structgen::decode::engine::StopHandle;

/// The exit code that shells report for a program ended by Ctrl-C: 128 plus the signal's number.
const EXIT_CODE: u8 = 130;

static HAPPENED: AtomicBool = AtomicBool::new(false);
static MODELS: Mutex<Vec<StopHandle>> = Mutex::new(Vec::new());

/// Makes Ctrl-C end what the model runs, after which the command prints what is complete. A second Ctrl-C ends the
/// process at once.
pub(crate) fn watch(model: &Model) {
    static HANDLER: Once = Once::new();
    let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    models.push(model.engine().stop_handle());
    // If no handler can be set, Ctrl-C keeps ending the process.
    HANDLER.call_once(|| drop(ctrlc::set_handler(interrupt)));
}

/// Makes Ctrl-C end the process, for a command that waits for a server: the output so far is whole lines, and the file
/// of `--output` is unchanged.
pub(crate) fn end_at_once() {
    // If no handler can be set, the system's default ends the process.
    let _ = ctrlc::set_handler(|| {
        crate::output::discard();
        exit();
    });
}

/// Returns whether Ctrl-C was pressed.
pub(crate) fn happened() -> bool {
    HAPPENED.load(Ordering::Relaxed)
}

/// Returns the outcome of a command that was interrupted.
pub(crate) fn outcome() -> ExitCode {
    crate::output::tell("interrupted");
    ExitCode::from(EXIT_CODE)
}

/// Ends the process at once. Nothing is cleaned up: a model may be running, and ONNX Runtime's own clean-up at exit
/// would crash beneath it.
pub(crate) fn exit() -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(EXIT_CODE.into());
    #[cfg(not(unix))]
    #[allow(clippy::exit, reason = "the system ends all other threads first")]
    std::process::exit(EXIT_CODE.into());
}

fn interrupt() {
    if HAPPENED.swap(true, Ordering::Relaxed) {
        exit();
    }
    let models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    models.iter().for_each(StopHandle::stop);
}
