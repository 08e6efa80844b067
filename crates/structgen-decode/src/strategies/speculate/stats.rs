use std::time::Duration;

use super::Source;

/// Statistics of drafts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpeculationStats {
    /// Tokens generated, including forced ones.
    pub tokens: u64,
    /// Runs of the target in which a choice was made.
    pub target_runs: u64,
    /// Runs of the draft model.
    pub draft_runs: u64,
    /// Runs of the extra heads.
    pub head_runs: u64,
    /// Time spent drafting, including runs of the draft model and the constraint's masks.
    pub draft_time: Duration,
    /// Tokens that the target tested, by position in the draft. Forced tokens are excluded.
    pub tested: Vec<u64>,
    /// Tokens that were accepted, by position in the draft.
    pub kept: Vec<u64>,
    /// Drafts of the draft model.
    pub model: SourceStats,
    /// Drafts of extra heads.
    pub heads: SourceStats,
    /// Drafts by prompt lookup.
    pub lookup: SourceStats,
    /// Drafts of forced text.
    pub forced_text: SourceStats,
}

/// Statistics of one source of drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SourceStats {
    /// Tokens that the target tested.
    pub tested: u64,
    /// Tokens that were accepted.
    pub kept: u64,
}

impl SpeculationStats {
    /// Returns the tokens per run of the target; zero before the first.
    #[must_use]
    pub fn tokens_per_run(&self) -> f64 {
        self.tokens as f64 / self.target_runs.max(1) as f64
    }

    /// Returns the acceptance rate at each position of the draft, among the tokens that the target tested.
    #[must_use]
    pub fn acceptance(&self) -> Vec<f64> {
        let pairs = self.kept.iter().zip(&self.tested);
        pairs
            .map(|(&kept, &tested)| kept as f64 / tested.max(1) as f64)
            .collect()
    }

    /// Adds the statistics of other drafts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.target_runs += other.target_runs;
        self.draft_runs += other.draft_runs;
        self.head_runs += other.head_runs;
        self.draft_time += other.draft_time;
        for (sums, terms) in [
            (&mut self.tested, &other.tested),
            (&mut self.kept, &other.kept),
        ] {
            sums.resize(sums.len().max(terms.len()), 0);
            sums.iter_mut()
                .zip(terms)
                .for_each(|(sum, term)| *sum += term);
        }
        for (sum, term) in [
            (&mut self.model, other.model),
            (&mut self.heads, other.heads),
            (&mut self.lookup, other.lookup),
            (&mut self.forced_text, other.forced_text),
        ] {
            sum.tested += term.tested;
            sum.kept += term.kept;
        }
    }

    pub(super) fn count(&mut self, source: Source, position: usize, kept: bool) {
        if self.tested.len() <= position {
            self.tested.resize(position + 1, 0);
            self.kept.resize(position + 1, 0);
        }
        self.tested[position] += 1;
        self.kept[position] += u64::from(kept);
        let of_source = match source {
            Source::ForcedText => &mut self.forced_text,
            Source::Lookup => &mut self.lookup,
            Source::Heads => &mut self.heads,
            Source::Model => &mut self.model,
            // Forced tokens are not tested, and planned ones count for their source.
            Source::Forced | Source::Plan => return,
        };
        of_source.tested += 1;
        of_source.kept += u64::from(kept);
    }
}
