//! Counts drafts by their source.

use super::{Source, SpeculationStats};

impl SpeculationStats {
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
