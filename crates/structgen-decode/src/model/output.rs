use std::time::Duration;

/// The output of a run: a view of each row's logits, and of its hidden states if requested.
#[derive(Debug, Clone, Default)]
pub struct RunOutput<'a> {
    rows: Vec<RowOutput<'a>>,
    backend_time: Duration,
}

impl<'a> RunOutput<'a> {
    /// Creates an output from those of the run's rows, in order.
    pub fn new(rows: Vec<RowOutput<'a>>) -> Self {
        Self {
            rows,
            backend_time: Duration::ZERO,
        }
    }

    /// Sets the time that the run took in the backend's own calls.
    #[must_use]
    pub fn with_backend_time(mut self, time: Duration) -> Self {
        self.backend_time = time;
        self
    }

    /// Returns the time that the run took in the backend's own calls.
    pub fn backend_time(&self) -> Duration {
        self.backend_time
    }

    /// Returns the output of the row with this index in the run.
    ///
    /// # Panics
    /// If the run had fewer rows.
    pub fn row(&self, index: usize) -> RowOutput<'a> {
        self.rows[index]
    }

    /// Returns the outputs of all rows.
    pub fn rows(&self) -> &[RowOutput<'a>] {
        &self.rows
    }
}

/// The output of one row: dense `f32` numbers for its last positions, in order.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowOutput<'a> {
    logits: &'a [f32],
    width: usize,
    hidden: Option<(&'a [f32], usize)>,
}

impl<'a> RowOutput<'a> {
    /// Creates an output with `width` logits per position.
    pub fn new(logits: &'a [f32], width: usize) -> Self {
        Self {
            logits,
            width,
            hidden: None,
        }
    }

    /// Adds hidden states of `width` numbers for the same positions.
    #[must_use]
    pub fn with_hidden(mut self, hidden: &'a [f32], width: usize) -> Self {
        self.hidden = Some((hidden, width));
        self
    }

    /// Returns the number of positions, which is that requested.
    pub fn positions(&self) -> usize {
        self.logits.len() / self.width.max(1)
    }

    /// Returns the logits of a position, counted from the first one requested.
    ///
    /// # Panics
    /// If `position` is not below [`positions`](RowOutput::positions).
    pub fn logits(&self, position: usize) -> &'a [f32] {
        &self.logits[position * self.width..][..self.width]
    }

    /// Returns the logits of the last position.
    ///
    /// # Panics
    /// If the run requested none.
    pub fn last(&self) -> &'a [f32] {
        self.logits(self.positions() - 1)
    }

    /// Returns the last layer's normalised state at a position, the input of the output matrix; `None` if the run did
    /// not request it.
    ///
    /// # Panics
    /// If `position` is not below [`positions`](RowOutput::positions).
    pub fn hidden(&self, position: usize) -> Option<&'a [f32]> {
        let (hidden, width) = self.hidden?;
        Some(&hidden[position * width..][..width])
    }
}
