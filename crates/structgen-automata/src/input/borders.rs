//! The word boundaries of a text: where spans may begin and end.

/// The positions at which a span may begin, and those at which it may end.
#[derive(Debug, Default)]
pub(super) struct Borders {
    /// Sorted.
    starts: Vec<u32>,
    /// A bit for each byte: whether a span may end before it.
    ends: Vec<u64>,
    /// Where punctuation begins that a span may begin with, and the end of the first character after it that is not
    /// punctuation. Sorted.
    punctuation: Vec<(u32, u32)>,
}

impl Borders {
    /// Adds the borders of a text whose first byte is at `offset`.
    pub(super) fn add(&mut self, text: &str, offset: usize) {
        let mut before = Kind::Space;
        let position = |at: usize| (offset + at) as u32;
        // The starts from this index on are followed only by punctuation so far.
        let mut open = self.starts.len();
        for (at, c) in text.char_indices() {
            let kind = Kind::of(c);
            if is_border(before, kind) {
                if before != Kind::Space {
                    self.add_end(offset + at);
                }
                if kind != Kind::Space {
                    self.starts.push(position(at));
                }
            }
            if kind != Kind::Space && !is_punctuation(c) {
                let end = (offset + at + c.len_utf8()) as u32;
                let alone = { self.starts[open..].iter() }.filter(|&&start| start < position(at));
                self.punctuation.extend(alone.map(|&start| (start, end)));
                open = self.starts.len();
            }
            before = before.then(kind);
        }
        // A span does not consist of punctuation alone.
        self.starts.truncate(open);
        if before != Kind::Space {
            self.add_end(offset + text.len());
        }
    }

    /// Adds a position at which a span may end.
    pub(super) fn add_end(&mut self, position: usize) {
        if position / 64 >= self.ends.len() {
            self.ends.resize(position / 64 + 1, 0);
        }
        self.ends[position / 64] |= 1 << (position % 64);
    }

    /// Returns the position before which a span that begins here is punctuation alone.
    #[inline]
    pub(super) fn first_end(&self, start: u32) -> u32 {
        let found = self
            .punctuation
            .binary_search_by_key(&start, |&(start, _)| start);
        found.map_or(0, |at| self.punctuation[at].1)
    }

    /// Returns the positions at which a span may begin.
    pub(super) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Returns whether a span may begin at a position.
    pub(super) fn is_start(&self, position: u32) -> bool {
        self.starts.binary_search(&position).is_ok()
    }

    /// Returns the first position, from this one on, at which a span may end.
    pub(super) fn end_from(&self, position: u32) -> Option<u32> {
        let mut word = position as usize / 64;
        let mut bits = self.ends.get(word)? & (u64::MAX << (position % 64));
        while bits == 0 {
            word += 1;
            bits = *self.ends.get(word)?;
        }
        Some(word as u32 * 64 + bits.trailing_zeros())
    }

    /// Returns whether a span may end at a position.
    #[inline]
    pub(super) fn is_end(&self, position: u32) -> bool {
        let word = self.ends.get(position as usize / 64).copied().unwrap_or(0);
        word >> (position % 64) & 1 == 1
    }
}

/// The kind of a character, as far as borders depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    /// A letter or digit of a word.
    Word,
    /// Belongs to the character before it.
    Mark,
    /// Joins the characters around it.
    Joiner,
    /// On its own: punctuation, or a character of a script without spaces.
    Other,
}

impl Kind {
    #[inline]
    fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => Self::Word,
            ' ' | '\t'..='\r' => Self::Space,
            '\0'..='\x7F' => Self::Other,
            ZERO_WIDTH_JOINER => Self::Joiner,
            _ if c.is_whitespace() => Self::Space,
            _ if is_mark(c) => Self::Mark,
            _ if c.is_alphanumeric() && !stands_alone(c) => Self::Word,
            _ => Self::Other,
        }
    }

    /// Returns the kind before a border, after this character and the next.
    fn then(self, next: Self) -> Self {
        match next {
            // A word continues after a mark.
            Self::Mark if self != Self::Space => self,
            next => next,
        }
    }
}

/// Returns whether a span may end and another begin between two characters.
#[inline]
fn is_border(before: Kind, after: Kind) -> bool {
    match (before, after) {
        (Kind::Space, Kind::Space) => false,
        (Kind::Space, _) | (_, Kind::Space) => true,
        (Kind::Word, Kind::Word) | (Kind::Joiner, _) | (_, Kind::Mark | Kind::Joiner) => false,
        _ => true,
    }
}

const ZERO_WIDTH_JOINER: char = '\u{200D}';

/// Returns whether the character is a letter or digit of a word.
pub(super) fn is_in_word(c: char) -> bool {
    Kind::of(c) == Kind::Word
}

/// Returns whether the character only modifies the one before it.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}'
        | '\u{591}'..='\u{5C7}'
        | '\u{64B}'..='\u{65F}'
        // Viramas and nuktas, which Indic scripts write within words.
        | '\u{93C}' | '\u{94D}' | '\u{9BC}' | '\u{9CD}' | '\u{A3C}' | '\u{A4D}' | '\u{ABC}' | '\u{ACD}'
        | '\u{B3C}' | '\u{B4D}' | '\u{BCD}' | '\u{C4D}' | '\u{CBC}' | '\u{CCD}' | '\u{D4D}'
        // Thai.
        | '\u{E31}' | '\u{E34}'..='\u{E3A}' | '\u{E47}'..='\u{E4E}'
        | '\u{1AB0}'..='\u{1AFF}'
        | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FE20}'..='\u{FE2F}'
        | '\u{1F3FB}'..='\u{1F3FF}'
    )
}

/// Returns whether the character is punctuation, and so has no meaning of its own, unlike units, currencies and
/// pictures.
pub(super) fn is_punctuation(c: char) -> bool {
    matches!(c,
        '!'..='#' | '&'..='*' | ','..='/' | ':' | ';' | '?' | '@' | '['..=']' | '{' | '}'
        | '¡' | '§' | '«' | '¶' | '·' | '»' | '¿'
        | '\u{2010}'..='\u{2027}'
        | '\u{2032}'..='\u{205E}'
        | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}'
        | '\u{3014}'..='\u{301F}'
        | '\u{FF01}'..='\u{FF03}'
        | '\u{FF06}'..='\u{FF0A}'
        | '\u{FF0C}'..='\u{FF0F}'
        | '\u{FF1A}' | '\u{FF1B}' | '\u{FF1F}' | '\u{FF20}'
        | '\u{FF3B}'..='\u{FF3D}' | '\u{FF5B}' | '\u{FF5D}'
        | '\u{FF5F}'..='\u{FF65}'
    )
}

/// Returns whether the character is of a script that is written without spaces between words.
fn stands_alone(c: char) -> bool {
    matches!(c,
        // Thai, Lao, Tibetan, Myanmar, Khmer.
        '\u{E00}'..='\u{FFF}'
        | '\u{1000}'..='\u{109F}'
        | '\u{1780}'..='\u{17FF}'
        // Hiragana, Katakana, Bopomofo.
        | '\u{3040}'..='\u{312F}'
        // Ideographs.
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text with its borders marked: `[` where a span may begin, `]` where it may end.
    fn marked(text: &str) -> String {
        let mut borders = Borders::default();
        borders.add(text, 0);
        let mut marked = String::new();
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            if borders.is_end(at as u32) {
                marked.push(']');
            }
            if borders.starts().contains(&(at as u32)) {
                marked.push('[');
            }
            if at < text.len() {
                marked.push(c);
            }
        }
        marked
    }

    #[test]
    fn borders_are_around_words_and_punctuation() {
        assert_eq!(marked("Ada, 36"), "[Ada][,] [36]");
        assert_eq!(marked("a_b's x-1.5"), "[a_b]['][s] [x][-][1][.][5]");
        assert_eq!(marked("\"q\"\n\nz"), "[\"][q][\"]\n\n[z]");
        // No span begins where only punctuation follows.
        assert_eq!(marked("a. -"), "[a].] -]");
        assert_eq!(marked(""), "");
    }

    #[test]
    fn punctuation_is_no_span_without_another_character() {
        let mut borders = Borders::default();
        borders.add("a, (b) - %", 0);
        let first: Vec<(u32, u32)> = { borders.starts().iter() }
            .map(|&start| (start, borders.first_end(start)))
            .collect();
        assert_eq!(
            first,
            [(0, 0), (1, 5), (3, 5), (4, 0), (5, 10), (7, 10), (9, 0)]
        );
    }

    #[test]
    fn characters_without_spaces_between_words_stand_alone() {
        assert_eq!(marked("東京2020年"), "[東][京][2020][年]");
        assert_eq!(marked("naïve Ελλάδα हिन्दी"), "[naïve] [Ελλάδα] [हिन्दी]");
        assert_eq!(marked("ที่นี่"), "[ที่][นี่]");
    }

    #[test]
    fn marks_stay_with_their_letters() {
        assert_eq!(marked("cafe\u{301}s x"), "[cafe\u{301}s] [x]");
        assert_eq!(marked("👩\u{200D}👧!"), "[👩\u{200D}👧]!]");
    }
}
