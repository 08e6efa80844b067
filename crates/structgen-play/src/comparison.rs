//! A step's probabilities, one sampler after the other.

use std::collections::HashMap;

use structgen_decode::SamplingParams;
use structgen_lab::step::{Draw, READER, Stage, Step, TokenShare};
use structgen_vocab::TokenId;

use crate::slider::Slider;

/// Maximum number of tokens to compare.
const ROWS: usize = 60;

/// The probabilities of a step's tokens: a row per token, and columns for the model, the mask and each sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The model, the mask, and the samplers in order.
    pub columns: Vec<Column>,
    /// The most probable tokens, including refused ones, and the drawn one; most probable first.
    pub rows: Vec<Row>,
    /// The drawn token.
    pub drawn: Option<Draw>,
    /// The probability mass that the mask removed.
    pub masked: f64,
}

/// The tokens that the model, the mask or a sampler left.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name.
    pub name: &'static str,
    /// Whether it is a sampler that is off, which changes nothing.
    pub is_off: bool,
    /// The number of tokens left.
    pub left: usize,
    /// The entropy of the tokens left, in nats.
    pub entropy: f64,
    /// The largest probability of a token left.
    pub top: f64,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The token.
    pub token: TokenId,
    /// Whether the mask allows it.
    pub is_allowed: bool,
    /// Its probability in each column; `None` after it was removed.
    pub shares: Vec<Option<f64>>,
}

impl Comparison {
    /// Compares the stages of a step.
    #[must_use]
    pub fn new(step: &Step, params: &SamplingParams) -> Self {
        let mut table = Self::empty(step);
        let index: HashMap<u32, usize> = { table.rows.iter().enumerate() }
            .map(|(row, it)| (it.token.0, row))
            .collect();
        let allowed = || step.model.iter().filter(|share| share.is_allowed);
        // The sum over allowed tokens is exact even if almost everything was refused.
        let mass: f64 = allowed().map(|share| share.probability).sum();
        let entropy = allowed().map(|share| share.probability / mass);
        let top = |shares: &[TokenShare]| shares.first().map_or(0.0, |share| share.probability);
        table.column("model", step.model.len(), step.entropy, top(&step.model));
        table.fill(&index, step.model.iter(), 1.0);
        table.column(
            "mask",
            allowed().count(),
            -entropy.map(|p| p * p.ln()).sum::<f64>() + 0.0,
            allowed()
                .next()
                .map_or(0.0, |share| share.probability / mass),
        );
        table.fill(&index, allowed(), mass);
        let mut stages = step.stages.iter().peekable();
        if let Some(stage) = stages.next_if(|stage| stage.sampler == READER) {
            table.stage(&index, stage);
        }
        for &kind in &params.order {
            match stages.peek() {
                Some(stage) if stage.sampler == kind.name() => {
                    table.stage(&index, stage);
                    stages.next();
                }
                _ if Slider::ALL.iter().any(|slider| slider.kind() == kind) => {
                    table.repeat(kind.name());
                }
                _ => {}
            }
        }
        // The constraint's temperature comes last if the parameters have no place for one.
        stages.for_each(|stage| table.stage(&index, stage));
        table
    }

    /// Creates only the rows: the most probable tokens, at least two thirds of them allowed if there are that many, and
    /// the drawn one.
    fn empty(step: &Step) -> Self {
        let of = |wanted: bool| {
            step.model
                .iter()
                .filter(move |share| share.is_allowed == wanted)
        };
        let refused = of(false).take(ROWS).count().min(ROWS / 3);
        let allowed = of(true).take(ROWS - refused).count();
        let mut shares: Vec<&TokenShare> = of(true)
            .take(allowed)
            .chain(of(false).take(ROWS - allowed))
            .collect();
        let is_drawn = |share: &&TokenShare| step.drawn.is_some_and(|draw| draw.id == share.id);
        if !shares.iter().any(is_drawn) {
            shares.extend(step.model.iter().find(is_drawn));
        }
        shares.sort_by(|a, b| {
            b.probability
                .total_cmp(&a.probability)
                .then(a.id.cmp(&b.id))
        });
        let row = |share: &TokenShare| Row {
            token: TokenId(share.id),
            is_allowed: share.is_allowed,
            shares: Vec::new(),
        };
        Self {
            columns: Vec::new(),
            rows: shares.into_iter().map(row).collect(),
            drawn: step.drawn,
            masked: step.mask.removed,
        }
    }

    /// Adds a column for a sampler that is on.
    fn stage(&mut self, index: &HashMap<u32, usize>, stage: &Stage) {
        let top = stage.tokens.first().map_or(0.0, |share| share.probability);
        self.column(stage.sampler, stage.left, stage.entropy, top);
        self.fill(index, stage.tokens.iter(), 1.0);
    }

    fn column(&mut self, name: &'static str, left: usize, entropy: f64, top: f64) {
        self.columns.push(Column {
            name,
            is_off: false,
            left,
            entropy,
            top,
        });
        for row in &mut self.rows {
            row.shares.push(None);
        }
    }

    /// Fills the last column with shares of a distribution with this mass.
    fn fill<'s>(
        &mut self,
        index: &HashMap<u32, usize>,
        shares: impl Iterator<Item = &'s TokenShare>,
        mass: f64,
    ) {
        for share in shares {
            if let Some(&row) = index.get(&share.id)
                && let Some(last) = self.rows[row].shares.last_mut()
            {
                *last = Some(share.probability / mass);
            }
        }
    }

    /// Adds a column for a sampler that is off.
    fn repeat(&mut self, name: &'static str) {
        let Some(last) = self.columns.last() else {
            return;
        };
        let column = Column {
            name,
            is_off: true,
            ..last.clone()
        };
        self.columns.push(column);
        for row in &mut self.rows {
            row.shares.push(row.shares.last().copied().flatten());
        }
    }

    /// Returns the last column.
    #[must_use]
    pub fn last(&self) -> Option<&Column> {
        self.columns.last()
    }

    /// Returns the rows for a screen with this much room: the most probable tokens, two thirds of them allowed, and the
    /// drawn one, in order.
    #[must_use]
    pub fn top(&self, room: usize) -> Vec<&Row> {
        let count = |allowed: bool| {
            self.rows
                .iter()
                .filter(|row| row.is_allowed == allowed)
                .count()
        };
        let refused = count(false)
            .min(room / 3)
            .max(room.saturating_sub(count(true)));
        let mut left = [refused, room.saturating_sub(refused)];
        // The drawn token may be less probable than those that there is room for.
        let is_drawn = |row: &Row| self.drawn.is_some_and(|draw| draw.id == row.token.0);
        let mut is_drawn_to_come = self.rows.iter().any(is_drawn);
        let mut rows: Vec<&Row> = Vec::new();
        for row in &self.rows {
            let left = &mut left[usize::from(row.is_allowed)];
            let is_kept_free = row.is_allowed && is_drawn_to_come && *left == 1;
            if *left > 0 && (!is_kept_free || is_drawn(row)) {
                *left -= 1;
                is_drawn_to_come &= !is_drawn(row);
                rows.push(row);
            }
        }
        rows
    }
}
