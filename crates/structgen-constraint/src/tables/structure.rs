//! How much of a JSON text a token may be: its keys, and the gaps between its words.

use structgen_automata::is_gap;
use structgen_vocab::Vocabulary;

/// What any token has at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Structure {
    /// The number of colons that only whitespace separates from a quote before them.
    pub(super) most_keys: u32,
    /// The number of runs of whitespace or cut characters, and of backslashes.
    pub(super) most_gaps: u32,
}

impl Structure {
    /// Reads all tokens of a vocabulary.
    pub(super) fn of(vocabulary: &Vocabulary) -> Self {
        let tokens = vocabulary.tokens();
        tokens.fold(Self::default(), |most, (_, bytes)| Self {
            most_keys: most.most_keys.max(keys(bytes)),
            most_gaps: most.most_gaps.max(gaps(bytes)),
        })
    }
}

fn keys(bytes: &[u8]) -> u32 {
    let ends_key = |before: &[u8]| before.trim_ascii_end().ends_with(b"\"");
    let colons = (0..bytes.len()).filter(|&i| bytes[i] == b':');
    colons.filter(|&i| ends_key(&bytes[..i])).count() as u32
}

fn gaps(bytes: &[u8]) -> u32 {
    let (mut count, mut before) = (0, Kind::Other);
    let mut next = |kind: Kind| {
        count += u32::from(kind != Kind::Other && kind != before);
        before = kind;
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            next(match c {
                '\\' => Kind::Backslash,
                c if is_gap(c) => Kind::Gap,
                _ => Kind::Other,
            });
        }
        // A cut character may be whitespace.
        chunk.invalid().iter().for_each(|_| next(Kind::Gap));
    }
    count
}

/// What a character may be in a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gap,
    /// One that may be part of the escape of whitespace, or stand for itself. Each escape of whitespace has a run of
    /// backslashes of its own, since a letter follows it.
    Backslash,
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_by_the_colons_after_quotes() {
        for (token, count) in [
            ("\":", 1),
            ("\" \n:", 1),
            ("{\"a\":\"b\":", 2),
            ("::", 0),
            ("a:", 0),
            ("\"", 0),
        ] {
            assert_eq!(keys(token.as_bytes()), count, "{token}");
        }
    }

    #[test]
    fn gaps_are_runs_of_whitespace_escapes_and_cut_characters() {
        for (token, count) in [
            (&b"word"[..], 0),
            (b" word", 1),
            (b" \t\n", 1),
            (b" a b ", 3),
            (b"\\n\\n", 2),
            (b"\\\\", 1),
            (b"\\ \\ ", 4),
            ("a\u{3000}b\u{a0}".as_bytes(), 2),
            (b"\x80\x80a\xe3", 2),
            ("é".as_bytes(), 0),
        ] {
            assert_eq!(gaps(token), count, "{token:?}");
        }
    }
}
