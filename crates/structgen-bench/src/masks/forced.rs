//! What forced tokens save, over all files.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use structgen::constraint::VocabularyTables;
use structgen::grammar::Whitespace;
use structgen::vocab::Tokenizer;
use structgen::{KeyOrder, Profile, SchemaOptions};
use structgen_maskbench::{Case, Engine, ForcedCounts, Structgen, count_forced};

/// Counts in two forms of JSON: with optional whitespace, hardly anything is forced.
pub(super) struct Forcing {
    reorder: bool,
    /// Everything that a validator accepts, as in the timings.
    exact: Structgen,
    /// What a model should write, with whitespace as in the instances.
    generate: Structgen,
    total: Counts,
}

/// The counts of a file; none if its schema is refused.
#[derive(Default, Serialize)]
pub(super) struct Counts {
    forced_exact: Option<ForcedCounts>,
    forced_generate: Option<ForcedCounts>,
}

impl Forcing {
    pub(super) fn new(tables: &Arc<VocabularyTables>, order: KeyOrder) -> Self {
        let exact = Structgen::new(tables.clone(), order, Vec::new());
        let generate = Structgen::new(tables.clone(), order, Vec::new()).with_schema_options(
            SchemaOptions::new()
                .with_profile(Profile::Generate)
                .with_order(order)
                .with_whitespace(Whitespace::OneSpace),
        );
        Self {
            reorder: order == KeyOrder::Declared,
            exact,
            generate,
            total: Counts::default(),
        }
    }

    /// Counts a file; a file that is not MaskBench's has no counts.
    pub(super) fn count(&mut self, path: &Path, tokenizer: &Tokenizer) -> Counts {
        let Ok(case) = Case::read(path, self.reorder) else {
            return Counts::default();
        };
        let of = |engine: &mut Structgen, total: &mut Option<ForcedCounts>| {
            let compiled = engine.compile(&case).ok()?;
            let counts = count_forced(&compiled, &case, tokenizer);
            total.get_or_insert_default().add(&counts);
            Some(counts)
        };
        Counts {
            forced_exact: of(&mut self.exact, &mut self.total.forced_exact),
            forced_generate: of(&mut self.generate, &mut self.total.forced_generate),
        }
    }
}

impl fmt::Display for Forcing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "tokens that forcing saves  instances     tokens  by masks of one token  by canonical jumps  tokens a jump  places that differ"
        )?;
        let forms = [
            ("profile exact", self.total.forced_exact),
            ("profile generate, one-space", self.total.forced_generate),
        ];
        for (form, counts) in forms {
            let counts = counts.unwrap_or_default();
            let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
            writeln!(
                f,
                "{form:<26} {:>9} {:>10} {:>21.1}% {:>18.1}% {:>14.1} {:>19}",
                counts.instances,
                counts.tokens,
                100.0 * share(counts.exact, counts.tokens),
                100.0 * share(counts.jumped, counts.tokens),
                share(counts.jumped, counts.jumps),
                counts.differing,
            )?;
        }
        Ok(())
    }
}
