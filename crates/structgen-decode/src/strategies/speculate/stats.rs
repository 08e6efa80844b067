use std::time::Duration;

use super::Source;

/// What became of drafts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpeculationStats {
    /// Tokens generated, forced ones included.
    pub tokens: u64,
    /// Runs of the target in which a choice was made.
    pub target_runs: u64,
    /// Runs of the draft model.
    pub draft_runs: u64,
    /// Runs of the extra heads.
    pub head_runs: u64,
    /// Time spent drafting, which includes runs of the draft model and the constraint's masks.
    pub draft_time: Duration,
    /// By position in the draft, tokens that the target was asked about. Forced ones are left out.
    pub tested: Vec<u64>,
    /// By position in the draft, tokens that were kept.
    pub kept: Vec<u64>,
    /// The drafts of the model.
    pub model: SourceStats,
    /// Those of extra heads.
    pub heads: SourceStats,
    /// Those that were looked up.
    pub lookup: SourceStats,
    /// Those of text that the constraint forces.
    pub forced_text: SourceStats,
}

/// What became of the drafts of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SourceStats {
    /// Tokens that the target was asked about.
    pub tested: u64,
    /// Tokens that were kept.
    pub kept: u64,
}

impl SpeculationStats {
    /// Tokens for each run of the target; zero before the first.
    #[must_use]
    pub fn tokens_per_run(&self) -> f64 {
        self.tokens as f64 / self.target_runs.max(1) as f64
    }

    /// The share of tokens kept at each position of the draft, of those that the target was asked about.
    #[must_use]
    pub fn acceptance(&self) -> Vec<f64> {
        let pairs = self.kept.iter().zip(&self.tested);
        pairs
            .map(|(&kept, &tested)| kept as f64 / tested.max(1) as f64)
            .collect()
    }

    /// Adds what became of other drafts.
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
            // Forced tokens are not tested, and a plan is its source's.
            Source::Forced | Source::Plan => return,
        };
        of_source.tested += 1;
        of_source.kept += u64::from(kept);
    }
}
