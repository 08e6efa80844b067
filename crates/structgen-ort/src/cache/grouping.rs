//! Which rows of a growing cache share a run.
//!
//! A run costs something whatever its rows are: the weights are read, the session is called. And it moves the past of
//! its rows, each padded to the longest. So rows of like length share a run, and rows of unlike length do where the
//! padding is less than what another run would cost. Both are counted in positions of a row's cache that could be moved
//! in that time.

/// Rows that are run together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Indices of the rows.
    pub(super) rows: Vec<usize>,
    /// Positions of the longest.
    pub(super) longest: usize,
    /// Whether the tensors hold exactly these rows, so that they need not be copied.
    pub(super) is_block: bool,
}

/// The number of runs in which a copy of rows has to pay for itself: requests come and go, and with each of them the
/// rows of a group change. A position takes twice as long to be copied as to be moved in a run, since the copy is fresh
/// memory; that is counted here as well.
const RUNS: usize = 4;

impl Group {
    fn positions(&self) -> usize {
        self.rows.len() * self.longest
    }

    /// The positions that a run of these rows copies first.
    fn copied(&self) -> usize {
        match self.is_block {
            true => 0,
            false => self.positions(),
        }
    }

    /// What is saved for each run by running both groups as one, if anything; `longer` has the longest row.
    fn saved_with(&self, longer: &Self, run_cost: usize) -> Option<usize> {
        let padding = self.rows.len() * (longer.longest - self.longest);
        let together = (self.rows.len() + longer.rows.len()) * longer.longest;
        let copied = together.saturating_sub(self.copied() + longer.copied());
        run_cost.checked_sub(padding + copied / RUNS)
    }
}

/// Joins groups as long as that saves anything, those first that save the most. `run_cost` is what a run costs besides
/// its rows, in positions.
pub(super) fn join(mut groups: Vec<Group>, run_cost: usize) -> Vec<Group> {
    groups.sort_by_key(|group| group.longest);
    loop {
        let pairs = groups.windows(2).enumerate();
        let saved =
            pairs.filter_map(|(at, pair)| Some((pair[0].saved_with(&pair[1], run_cost)?, at)));
        let Some((_, at)) = saved.max() else {
            return groups;
        };
        let shorter = groups.remove(at);
        let longer = &mut groups[at];
        longer.rows.extend(shorter.rows);
        longer.is_block = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lens: &[usize]) -> Vec<Group> {
        let group = |(at, &longest): (usize, &usize)| Group {
            rows: vec![at],
            longest,
            is_block: true,
        };
        lens.iter().enumerate().map(group).collect()
    }

    fn joined(groups: Vec<Group>, run_cost: usize) -> Vec<Vec<usize>> {
        let groups = join(groups, run_cost).into_iter();
        let rows = groups.map(|mut group| {
            group.rows.sort_unstable();
            group.rows
        });
        rows.collect()
    }

    #[test]
    fn rows_of_like_length_share_a_run_and_others_where_padding_costs_less_than_a_run() {
        let lens = [800, 20, 790, 30, 25];
        assert_eq!(joined(rows(&lens), 1_000), [vec![1, 3, 4], vec![0, 2]]);
        // Where a run is dear, as that of a large model, all share one.
        assert_eq!(joined(rows(&lens), 100_000), [[0, 1, 2, 3, 4]]);
        // And where it costs nothing, none do.
        assert_eq!(joined(rows(&lens), 0).len(), 5);
    }

    #[test]
    fn a_group_that_would_be_copied_anyway_is_joined_sooner() {
        let groups = |is_block| {
            let mut groups = rows(&[400, 400]);
            groups[0].rows = vec![0, 2, 3, 4];
            groups
                .iter_mut()
                .for_each(|group| group.is_block = is_block);
            groups
        };
        let cost = 5 * 400 / RUNS - 1;
        assert_eq!(joined(groups(true), cost).len(), 2);
        assert_eq!(joined(groups(false), cost).len(), 1);
    }
}
