//! What came out for one file.

use serde::Serialize;

/// How a file was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every instance was judged right.
    Ok,
    /// No value fits the schema, which is an error by design, and no instance is said to: each is judged right.
    Unsatisfiable,
    /// The schema was refused.
    CompileError,
    /// A valid instance was rejected.
    ValidationError,
    /// An invalid instance was accepted.
    InvalidationError,
    /// The engine failed on an instance, for example at a limit, and judged the others right.
    Undecided,
}

impl Status {
    /// Whether every instance was judged right.
    #[must_use]
    pub fn is_right(self) -> bool {
        matches!(self, Self::Ok | Self::Unsatisfiable)
    }
}

/// One line of the benchmark's output.
#[derive(Clone, Debug, Serialize)]
pub struct FileResult {
    /// The file's name.
    pub file: String,
    /// How it was judged.
    pub status: Status,
    /// What the engine said, where it refused or failed; else which instance was misjudged.
    pub error: Option<String>,
    /// Compiling plus the first mask, in microseconds.
    pub ttfm_us: Option<f64>,
    /// One mask plus accepting its token, in nanoseconds, for each token of each instance.
    pub tbm_ns: Vec<u64>,
    /// Of the valid instances, how many were accepted, and how many there are.
    pub valid: (usize, usize),
    /// Of the invalid instances, how many were rejected, and how many there are.
    pub invalid: (usize, usize),
    /// The number of instances on which the engine failed, which are neither accepted nor rejected.
    pub undecided: usize,
    /// The number of times in `tbm_ns` of each instance that was judged.
    #[serde(skip)]
    pub steps: Vec<usize>,
}

impl FileResult {
    /// The result of a file before anything is judged.
    #[must_use]
    pub fn new(file: String) -> Self {
        Self {
            file,
            status: Status::Ok,
            error: None,
            ttfm_us: None,
            tbm_ns: Vec::new(),
            valid: (0, 0),
            invalid: (0, 0),
            undecided: 0,
            steps: Vec::new(),
        }
    }

    /// The times of each instance that was judged, in nanoseconds, one for each token that was tried.
    pub fn instance_times(&self) -> impl Iterator<Item = &[u64]> {
        let mut rest = self.tbm_ns.as_slice();
        self.steps.iter().map(move |&steps| {
            let (own, others) = rest.split_at(steps);
            rest = others;
            own
        })
    }

    /// Lowers every time to that of another run of the same file, where that was less: what the work takes, without
    /// what disturbed it.
    ///
    /// Both runs take the same steps, so they differ in nothing but times.
    pub fn keep_best(&mut self, other: &Self) {
        for (best, &time) in self.tbm_ns.iter_mut().zip(&other.tbm_ns) {
            *best = time.min(*best);
        }
        if let (Some(best), Some(time)) = (&mut self.ttfm_us, other.ttfm_us) {
            *best = time.min(*best);
        }
    }
}
