//! Case-insensitive matching.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use structgen_grammar::CharSet;

use super::class::char_set;

/// The set closed under Unicode's simple case folding.
pub(super) fn fold(set: &CharSet) -> CharSet {
    let ranges = set.ranges().iter();
    let mut class = ClassUnicode::new(ranges.map(|&(low, high)| ClassUnicodeRange::new(low, high)));
    match class.try_case_fold_simple() {
        Ok(()) => char_set(&class),
        // The tables are always built in: the workspace enables all of them in `regex-syntax`.
        Err(_) => set.clone(),
    }
}

/// The set closed under the case folding of Python's flag `IGNORECASE`.
pub(super) fn fold_like_python(set: &CharSet, ascii: bool) -> CharSet {
    if ascii {
        let other_case = set.ranges().iter().flat_map(|&(low, high)| {
            let within = |from: char, to: char, by: i8| {
                let shift = move |c: char| char::from((c as u8).wrapping_add_signed(by));
                let (low, high) = (low.max(from), high.min(to));
                (low <= high).then(|| (shift(low), shift(high)))
            };
            [within('a', 'z', -32), within('A', 'Z', 32)]
        });
        return CharSet::new(set.ranges().iter().copied().chain(other_case.flatten()));
    }
    // In addition to simple case folding, Python identifies the four letters i.
    const LETTERS_I: [char; 4] = ['I', 'i', '\u{130}', '\u{131}'];
    let folded = fold(set);
    if LETTERS_I.iter().any(|&i| folded.contains(i)) {
        let ranges = folded.ranges().iter().copied();
        return CharSet::new(ranges.chain(LETTERS_I.map(|i| (i, i))));
    }
    folded
}
