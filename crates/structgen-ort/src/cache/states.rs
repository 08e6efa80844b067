//! States of fixed size: what a convolution or a recurrence has made of a row's text.
//!
//! The keys and values of a prefix are a part of the tensors, so a cut is a number. A state depends on the whole text,
//! and no earlier state can be computed from it. So a row keeps the states at a few earlier lengths, its snapshots. A
//! snapshot is a handle on tensors that a run returned anyway: taking one copies nothing, and forks share it. A row
//! that is cut goes back to the last snapshot before the cut, or to its beginning; the tokens from there to the cut run
//! again with the next ones (`model/texts.rs`).
//!
//! Their number is bounded, as the states of a row may take megabytes. The newest snapshot is the row itself, the one
//! before it is needed when a draft is refused, and the first when texts share a prefix. The others are spaced so that
//! a rollback runs at most a few times as many tokens again as it takes back.

use std::collections::BTreeMap;
use std::sync::Arc;

use ort::value::DynValue;
use structgen_decode::{ModelError, model::RowId};

use super::tensors::{by_float, fetched, numbers, numbers_mut, too_short};
use crate::memory;
use crate::number::Number;
use crate::signature::StateTensor;

/// The most snapshots of a row.
const MOST: usize = 6;

/// The snapshots of all rows of a model; empty for a model that has only keys and values.
#[derive(Debug)]
pub(crate) struct StateRows {
    layout: Vec<StateTensor>,
    rows: BTreeMap<RowId, Snapshots>,
}

impl StateRows {
    pub(crate) fn new(layout: Vec<StateTensor>) -> Self {
        let rows = BTreeMap::new();
        Self { layout, rows }
    }

    /// Opens `fork` with the states of a row at its last snapshot of at most `len` tokens; returns the length there.
    pub(crate) fn fork(&mut self, row: RowId, len: usize, fork: RowId) -> usize {
        if let Some(snapshots) = self.rows.get(&row).cloned() {
            self.rows.insert(fork, snapshots);
        }
        self.cut(fork, len)
    }

    /// Drops the snapshots of more than `len` tokens; returns the length at the last one left, or `len` for a model
    /// without states.
    pub(crate) fn cut(&mut self, row: RowId, len: usize) -> usize {
        match (&self.layout[..], self.rows.get_mut(&row)) {
            ([], _) => len,
            (_, Some(snapshots)) => snapshots.cut(len),
            (_, None) => 0,
        }
    }

    pub(crate) fn close(&mut self, row: RowId) {
        self.rows.remove(&row);
    }

    /// The row's share of the memory of its states.
    pub(crate) fn bytes(&self, row: RowId) -> usize {
        { self.rows.get(&row) }.map_or(0, |snapshots| snapshots.bytes(&self.layout))
    }

    /// The bytes of a row with as many snapshots as it may have, and with what a run returns.
    pub(crate) fn most_bytes(&self) -> usize {
        let states = self.layout.iter().map(StateTensor::bytes);
        states
            .fold(0, usize::saturating_add)
            .saturating_mul(MOST + 1)
    }

    /// The states of exactly these rows, in this order: the tensors that hold them, or new ones. Rows without tokens,
    /// and `None`, have zeros.
    pub(crate) fn assemble(&self, rows: &[Option<RowId>]) -> Result<Arc<States>, ModelError> {
        let own: Vec<Option<(&Arc<States>, usize)>> = { rows.iter() }
            .map(|row| self.rows.get(row.as_ref()?)?.last())
            .collect();
        if let Some(Some((first, _))) = own.first()
            && first.rows == rows.len()
        {
            let is_here = |(at, own): (usize, &Option<(&Arc<States>, usize)>)| {
                own.is_some_and(|(states, place)| Arc::ptr_eq(states, first) && place == at)
            };
            if own.iter().enumerate().all(is_here) {
                return Ok(Arc::clone(first));
            }
        }
        Ok(Arc::new(States::gathered(&self.layout, &own)?))
    }

    /// Adds a snapshot to each row that a run named, at the new length of its text; `None` stands for an entry that
    /// only fills the batch.
    pub(crate) fn commit(
        &mut self,
        rows: impl Iterator<Item = Option<(RowId, usize)>>,
        states: States,
    ) {
        if self.layout.is_empty() {
            return;
        }
        let states = Arc::new(states);
        for (place, row) in rows.enumerate() {
            if let Some((row, len)) = row {
                self.rows.entry(row).or_default().push(len, &states, place);
            }
        }
    }

    /// Copies rows out of tensors of which at least half belongs to rows that have left, so that these are freed.
    pub(crate) fn release_left(&mut self) {
        let rows = self.rows.values_mut();
        rows.for_each(|snapshots| snapshots.leave_left(&self.layout));
    }
}

/// The states of the rows of one run, `[rows, sizes of a row]` each.
#[derive(Debug)]
pub(crate) struct States {
    tensors: Vec<DynValue>,
    rows: usize,
}

impl States {
    pub(crate) fn new(tensors: Vec<DynValue>, rows: usize) -> Self {
        Self { tensors, rows }
    }

    /// The tensors, as inputs of the next run.
    pub(crate) fn tensors(&self) -> &[DynValue] {
        &self.tensors
    }

    /// The states of rows in other tensors, zeros for those that have none.
    fn gathered(
        layout: &[StateTensor],
        rows: &[Option<(&Arc<Self>, usize)>],
    ) -> Result<Self, ModelError> {
        let tensors = layout.iter().enumerate().map(|(at, layout)| {
            let on_processor = fetched_states(rows, at)?;
            let places = rows.iter().map(|row| {
                let (states, place) = (*row)?;
                let fetched = { on_processor.iter() }.find(|(of, _)| Arc::ptr_eq(of, states));
                Some((fetched.map_or(&states.tensors[at], |(_, copy)| copy), place))
            });
            let places: Vec<_> = places.collect();
            by_float!(layout, gathered(layout, &places))
        });
        Ok(Self::new(tensors.collect::<Result<_, _>>()?, rows.len()))
    }
}

/// States of so many rows, which a run writes all numbers of.
pub(crate) fn unwritten(layout: &[StateTensor], rows: usize) -> Result<Vec<DynValue>, ModelError> {
    let tensors = layout.iter();
    tensors
        .map(|layout| by_float!(layout, unwritten_tensor(layout, rows)))
        .collect()
}

/// The states of a text without tokens.
pub(crate) fn empty(layout: &[StateTensor]) -> Result<Vec<DynValue>, ModelError> {
    Ok(States::gathered(layout, &[None])?.tensors)
}

fn unwritten_tensor<T: Number>(layout: &StateTensor, rows: usize) -> Result<DynValue, ModelError> {
    memory::tensor::<T>(&layout.shape(rows))
}

fn gathered<T: Number>(
    layout: &StateTensor,
    rows: &[Option<(&DynValue, usize)>],
) -> Result<DynValue, ModelError> {
    let mut gathered = unwritten_tensor::<T>(layout, rows.len())?;
    let size = layout.numbers();
    let targets = numbers_mut::<T>(&mut gathered)?.chunks_exact_mut(size);
    for (to, row) in targets.zip(rows) {
        let Some((tensor, place)) = *row else {
            to.fill(T::default());
            continue;
        };
        let from = numbers::<T>(tensor)?;
        let end = (place + 1) * size;
        let own = from.get(end - size..end);
        to.copy_from_slice(own.ok_or_else(|| too_short(from.len(), end))?);
    }
    Ok(gathered)
}

/// Copies of one tensor of all states that are not in the processor's memory.
fn fetched_states<'r>(
    rows: &[Option<(&'r Arc<States>, usize)>],
    at: usize,
) -> Result<Vec<(&'r Arc<States>, DynValue)>, ModelError> {
    let mut copies: Vec<(&Arc<States>, DynValue)> = Vec::new();
    for &(states, _) in rows.iter().flatten() {
        if !copies.iter().any(|(of, _)| Arc::ptr_eq(of, states))
            && let Some(copy) = fetched(&states.tensors[at])?
        {
            copies.push((states, copy));
        }
    }
    Ok(copies)
}

/// The states of a row at some lengths of its text, the shortest first.
#[derive(Debug, Clone, Default)]
struct Snapshots(Vec<Snapshot>);

#[derive(Debug, Clone)]
struct Snapshot {
    len: usize,
    states: Arc<States>,
    /// The row of the tensors.
    place: usize,
}

impl Snapshots {
    /// The states of the longest text, and the row of their tensors.
    fn last(&self) -> Option<(&Arc<States>, usize)> {
        let Snapshot { states, place, .. } = self.0.last()?;
        Some((states, *place))
    }

    /// Keeps the states of a text that has grown to a length.
    fn push(&mut self, len: usize, states: &Arc<States>, place: usize) {
        let states = Arc::clone(states);
        self.0.push(Snapshot { len, states, place });
        if self.0.len() > MOST
            && let Some(least) = self.least_useful()
        {
            self.0.remove(least);
        }
    }

    /// Forgets what is after a length; returns the length of the longest text that is left, zero where none is.
    fn cut(&mut self, len: usize) -> usize {
        self.0.retain(|snapshot| snapshot.len <= len);
        self.0.last().map_or(0, |snapshot| snapshot.len)
    }

    /// The snapshot without which the least would have to be run again, measured by how far back a cut there reaches.
    /// Neither the first nor one of the two newest.
    fn least_useful(&self) -> Option<usize> {
        let lens: Vec<u64> = { self.0.iter() }
            .map(|snapshot| snapshot.len as u64)
            .collect();
        let end = lens.last()?;
        let cost = |&at: &usize| {
            let (gap, back) = (lens[at + 1] - lens[at - 1], end - lens[at + 1] + 1);
            // Lengths are below 2^32.
            (gap << 32) / back
        };
        (1..lens.len().checked_sub(2)?).min_by_key(cost)
    }

    /// The row's share of the tensors' memory.
    fn bytes(&self, layout: &[StateTensor]) -> usize {
        let row: usize = layout.iter().map(StateTensor::bytes).sum();
        let shares = { self.0.iter() }
            .map(|Snapshot { states, .. }| states.rows * row / Arc::strong_count(states));
        shares.sum()
    }

    /// Copies the row out of tensors of which at least half belongs to rows that have left, so that these are freed.
    fn leave_left(&mut self, layout: &[StateTensor]) {
        for snapshot in &mut self.0 {
            let Snapshot { states, place, .. } = snapshot;
            if states.rows > 1
                && Arc::strong_count(states) * 2 <= states.rows
                // Without room for the copy, the row stays where it is.
                && let Ok(alone) = States::gathered(layout, &[Some((&*states, *place))])
            {
                (*states, *place) = (Arc::new(alone), 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(lens: impl IntoIterator<Item = usize>) -> Snapshots {
        let states = Arc::new(States::new(Vec::new(), 1));
        let mut snapshots = Snapshots::default();
        for len in lens {
            snapshots.push(len, &states, 0);
            assert!(snapshots.0.len() <= MOST);
            assert_eq!(snapshots.0.last().unwrap().len, len);
        }
        snapshots
    }

    #[test]
    fn a_cut_goes_back_to_the_last_snapshot_before_it() {
        let mut snapshots = grown([10, 11, 12]);
        assert_eq!(snapshots.cut(20), 12);
        assert_eq!(snapshots.cut(11), 11);
        assert_eq!(snapshots.cut(9), 0);
        assert_eq!(snapshots.cut(9), 0);
        assert!(snapshots.last().is_none());
    }

    #[test]
    fn a_cut_costs_some_times_what_it_takes_back() {
        for prompt in [1, 7, 100] {
            for end in prompt..prompt + 300 {
                let snapshots = grown(prompt..=end);
                assert_eq!(snapshots.0[0].len, prompt);
                for back in 1..=end - prompt {
                    let len = end - back;
                    let again = len - snapshots.clone().cut(len);
                    assert!(again <= 10 * back, "{again} for {back} of {end}");
                    // The last step is taken back for nothing.
                    assert!(back > 1 || again == 0);
                }
            }
        }
    }
}
