//! The merges of a BPE model whose file has scores or a list of lines instead.

use crate::error::check_size;
use crate::file::{Merge, Merges};
use crate::names::NameMap;
use crate::{Vocabulary, VocabularyError};

/// The maximum number of bytes that are compared to find the merges of a model: some seconds of work.
const MAX_WORK: usize = 1 << 31;
/// The maximum length of all merges together, in bytes: that of a file which lists them.
const MAX_BYTES: usize = Vocabulary::MAX_FILE_BYTES as usize;

/// The merges that produce each piece, best score first. SentencePiece merges the two neighbours that form the piece
/// with the best score. Several merges that form one piece are ordered by the ids of their parts, as in transformers.
pub(super) fn of_scores<'p>(
    pieces: impl Iterator<Item = (&'p str, u32, f32)> + Clone,
) -> Result<Merges, VocabularyError> {
    let ids: NameMap<'_, u32> = pieces.clone().map(|(text, id, _)| (text, id)).collect();
    let work: usize = { pieces.clone() }
        .map(|(text, ..)| text.len() * text.len())
        .fold(0, usize::saturating_add);
    check_size("the square of the tokens' lengths", work, MAX_WORK)?;
    let mut merges = Vec::new();
    let mut bytes = 0;
    for (text, _, score) in pieces {
        let first = merges.len();
        for (at, _) in text.char_indices().skip(1) {
            let (left, right) = text.split_at(at);
            if let (Some(&left_id), Some(&right_id)) = (ids.get(left), ids.get(right)) {
                merges.push((score, (left_id, right_id), left, right));
                bytes += text.len();
                check_size("the number of merges", merges.len(), Merges::MAX)?;
                check_size("all merges in bytes", bytes, MAX_BYTES)?;
            }
        }
        merges[first..].sort_by_key(|&(_, ids, ..)| ids);
    }
    let lengths = |left: &str, right: &str| (left.chars().count(), right.chars().count());
    merges.sort_by(|(a, _, left, right), (b, _, other_left, other_right)| {
        { b.total_cmp(a) }.then_with(|| lengths(other_left, other_right).cmp(&lengths(left, right)))
    });
    let merges = { merges.into_iter() }
        .map(|(_, _, left, right)| Merge(left.to_owned(), right.to_owned()))
        .collect();
    Ok(Merges(merges))
}

/// Parses the lines of a `merges.txt`.
pub(super) fn of_lines(text: &[u8]) -> Result<Merges, VocabularyError> {
    let text = std::str::from_utf8(text).map_err(|_| wrong(0))?;
    let is_comment =
        |at: usize, line: &str| line.trim().is_empty() || at == 0 && line.starts_with("#version");
    let lines = { text.lines().enumerate() }.filter(|&(at, line)| !is_comment(at, line));
    let mut merges = Vec::new();
    for (at, line) in lines {
        check_size("the number of merges", merges.len() + 1, Merges::MAX)?;
        // Pieces contain no spaces: byte-level models write them as `Ġ`.
        match line.trim_end_matches('\r').split_once(' ') {
            Some((left, right))
                if !left.is_empty() && !right.is_empty() && !right.contains(' ') =>
            {
                merges.push(Merge(left.to_owned(), right.to_owned()));
            }
            _ => return Err(wrong(at + 1)),
        }
    }
    Ok(Merges(merges))
}

fn wrong(line: usize) -> VocabularyError {
    VocabularyError::Merges { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(Merges(merges): &Merges) -> String {
        let merges = merges
            .iter()
            .map(|Merge(left, right)| format!("{left}+{right}"));
        merges.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_best_score_is_merged_first() {
        let pieces = [
            ("ab", -1.0),
            ("abc", 0.0),
            ("bc", -0.5),
            ("a", -9.0),
            ("b", -9.0),
            ("c", -9.0),
        ];
        let pieces = pieces
            .iter()
            .zip(0..)
            .map(|(&(text, score), id)| (text, id, score));
        assert_eq!(shown(&of_scores(pieces).unwrap()), "ab+c a+bc b+c a+b");
    }

    #[test]
    fn lines_are_two_pieces_each() {
        assert_eq!(
            shown(&of_lines("#version: 0.2\na b\r\n\nĠ #version\n".as_bytes()).unwrap()),
            "a+b Ġ+#version"
        );
        for (text, line) in [("a b\nc\n", 2), ("a b c", 1), (" b", 1)] {
            let error = of_lines(text.as_bytes()).unwrap_err();
            assert!(
                matches!(error, VocabularyError::Merges { line: at } if at == line),
                "{error}"
            );
        }
        assert!(of_lines(&[0xff]).is_err());
    }
}
