use std::time::Duration;

/// What a run returns: a view of the logits, and of the hidden states where they were asked for, of each row.
#[derive(Debug, Clone, Default)]
pub struct RunOutput<'a> {
    rows: Vec<RowOutput<'a>>,
    backend_time: Duration,
}

impl<'a> RunOutput<'a> {
    /// The outputs of a run's rows, in their order.
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

    /// The time that the run took in the backend's own calls.
    pub fn backend_time(&self) -> Duration {
        self.backend_time
    }

    /// The output of the row at this place of the run.
    ///
    /// # Panics
    /// When the run had fewer rows.
    pub fn row(&self, index: usize) -> RowOutput<'a> {
        self.rows[index]
    }

    /// The outputs of all rows.
    pub fn rows(&self) -> &[RowOutput<'a>] {
        &self.rows
    }
}

/// What a run returns of one row: numbers of its last positions, dense, the first position first, in `f32`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowOutput<'a> {
    logits: &'a [f32],
    width: usize,
    hidden: Option<(&'a [f32], usize)>,
}

impl<'a> RowOutput<'a> {
    /// Logits of `width` numbers for each position.
    pub fn new(logits: &'a [f32], width: usize) -> Self {
        Self {
            logits,
            width,
            hidden: None,
        }
    }

    /// The same output with hidden states of `width` numbers for the same positions.
    #[must_use]
    pub fn with_hidden(mut self, hidden: &'a [f32], width: usize) -> Self {
        self.hidden = Some((hidden, width));
        self
    }

    /// The number of positions, as many as the run asked for.
    pub fn positions(&self) -> usize {
        self.logits.len() / self.width.max(1)
    }

    /// The logits of a position, counted from the first one asked for.
    ///
    /// # Panics
    /// When `position` is not below [`positions`](RowOutput::positions).
    pub fn logits(&self, position: usize) -> &'a [f32] {
        &self.logits[position * self.width..][..self.width]
    }

    /// The logits of the last position.
    ///
    /// # Panics
    /// When the run asked for none.
    pub fn last(&self) -> &'a [f32] {
        self.logits(self.positions() - 1)
    }

    /// The last layer's state at a position, as the output matrix takes it: normalised. `None` where the run did not
    /// ask.
    ///
    /// # Panics
    /// When `position` is not below [`positions`](RowOutput::positions).
    pub fn hidden(&self, position: usize) -> Option<&'a [f32]> {
        let (hidden, width) = self.hidden?;
        Some(&hidden[position * width..][..width])
    }
}
