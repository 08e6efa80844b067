//! Ctrl-C while a model runs: complete outputs are kept. On Unix, SIGTERM and SIGHUP are handled alike.
//!
//! Until a model is loaded there is nothing to keep, and the signals end the process by the system's default.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use structgen::Model;
use structgen::decode::engine::StopHandle;

/// The number of the signal of Ctrl-C.
const INTERRUPT: u8 = 2;

/// The number of the last signal, or 0.
static SIGNAL: AtomicU8 = AtomicU8::new(0);
static MODELS: Mutex<Vec<StopHandle>> = Mutex::new(Vec::new());

/// Makes Ctrl-C end what the model runs, after which the command prints what is complete. A second Ctrl-C ends the
/// process at once.
pub(crate) fn watch(model: &Model) {
    static HANDLER: Once = Once::new();
    let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    models.push(model.engine().stop_handle());
    HANDLER.call_once(|| set_handler(interrupt));
}

/// Makes Ctrl-C end the process, for a command that waits for a server: the output so far is whole lines, and the file
/// of `--output` is unchanged.
pub(crate) fn end_at_once() {
    set_handler(|signal| {
        SIGNAL.store(signal, Ordering::Relaxed);
        exit();
    });
}

/// Sets the handler of Ctrl-C and, on Unix, of the other signals that ask a process to end. If it cannot be set, they
/// keep ending the process.
fn set_handler(handler: fn(u8)) {
    let _ = ctrlc::set_handler(move || handler(INTERRUPT));
    #[cfg(unix)]
    handle_termination(handler);
}

#[cfg(unix)]
fn handle_termination(handler: fn(u8)) {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut handled = vec![SIGTERM];
    // nohup has it ignored, and a handler would undo that.
    if crate::process::ignores(SIGHUP) == Some(false) {
        handled.push(SIGHUP);
    }
    let Ok(mut signals) = Signals::new(handled) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            handler(u8::try_from(signal).unwrap_or(INTERRUPT));
        }
    });
}

/// Returns whether Ctrl-C was pressed, or the process was asked to end in another way.
pub(crate) fn happened() -> bool {
    SIGNAL.load(Ordering::Relaxed) != 0
}

/// Returns the exit code that shells report for a program ended by the signal.
fn exit_code() -> u8 {
    let signal = match SIGNAL.load(Ordering::Relaxed) {
        0 => INTERRUPT,
        signal => signal,
    };
    128 + signal
}

/// Returns the outcome of a command that was interrupted.
pub(crate) fn outcome() -> ExitCode {
    crate::output::tell("interrupted");
    ExitCode::from(exit_code())
}

/// Ends the process at once. Only the unfinished file of `--output` is removed: a model may be running, and ONNX
/// Runtime's own clean-up at exit would crash beneath it.
pub(crate) fn exit() -> ! {
    crate::output::discard_at_once();
    #[cfg(unix)]
    signal_hook::low_level::exit(exit_code().into());
    #[cfg(not(unix))]
    #[allow(clippy::exit, reason = "the system ends all other threads first")]
    std::process::exit(exit_code().into());
}

fn interrupt(signal: u8) {
    if SIGNAL.swap(signal, Ordering::Relaxed) != 0 {
        exit();
    }
    let models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    models.iter().for_each(StopHandle::stop);
}
