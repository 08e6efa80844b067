//! Masks compared with those of the naive oracle, over all files.

use std::fmt;
use std::path::PathBuf;

use structgen::KeyOrder;
use structgen::vocab::Tokenizer;
use structgen_maskbench::{Case, Engine, Structgen, compare_masks};

/// What was compared; files whose schema is refused are left out.
#[derive(Default)]
pub(super) struct Comparison {
    files: usize,
    masks: u64,
    pub(super) wrong: usize,
    /// The number of files that a limit ended.
    ended: usize,
    /// A line for each wrong mask, and for each file that a limit ended.
    lines: Vec<String>,
}

impl Comparison {
    /// Compares up to `most` masks of each instance.
    pub(super) fn new(
        files: &[PathBuf],
        engine: &mut Structgen,
        order: KeyOrder,
        tokenizer: &Tokenizer,
        most: usize,
    ) -> Self {
        let mut comparison = Self::default();
        for path in files {
            let Ok(case) = Case::read(path, order == KeyOrder::Declared) else {
                continue;
            };
            let Ok(constraint) = engine.compile(&case) else {
                continue;
            };
            comparison.files += 1;
            let compared = compare_masks(&constraint, &case, tokenizer, most);
            comparison.masks += compared.count;
            comparison.wrong += compared.wrong.len();
            let wrong = compared.wrong.iter().map(ToString::to_string);
            let ended = compared.error.map(|error| error.to_string());
            comparison.ended += usize::from(ended.is_some());
            let lines = wrong
                .chain(ended)
                .map(|line| format!("{}: {line}", case.file));
            comparison.lines.extend(lines);
        }
        comparison
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            files,
            masks,
            wrong,
            ended,
            lines,
        } = self;
        writeln!(
            f,
            "masks compared             {masks} of {files} files, {wrong} wrong, {ended} files ended by a limit"
        )?;
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
