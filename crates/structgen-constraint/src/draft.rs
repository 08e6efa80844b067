//! A mask that is being computed.

use structgen_vocab::{TokenId, TokenMask};

use crate::Mask;
use crate::mask::{fingerprint_of_list, fingerprint_of_union, fingerprint_of_words, write_union};

/// The tokens of a mask that is being computed: sets and a list of tokens while these are few, bits from then on. Most
/// masks then take no time that grows with the vocabulary.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Sets that are in the mask as a whole, each of more than [`Mask::LISTED`] tokens.
    sets: Vec<Mask>,
    /// Other tokens, in any order; some may be there twice, or in one of the sets.
    tokens: Vec<TokenId>,
    /// Whether `bits` has taken the place of both.
    is_bits: bool,
    /// Of width 0 until they are needed.
    bits: TokenMask,
    width: usize,
}

/// The maximum number of sets.
const MOST_SETS: usize = 4;

/// The maximum number of listed tokens, repeated ones included.
const MOST_TOKENS: usize = 1024;

impl Draft {
    /// The empty set over ids `0..width`.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            sets: Vec::with_capacity(MOST_SETS),
            tokens: Vec::with_capacity(MOST_TOKENS),
            is_bits: false,
            bits: TokenMask::new(0),
            width,
        }
    }

    /// Returns the width of the mask.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Removes all tokens, and lets go of the sets.
    pub(crate) fn clear(&mut self) {
        self.sets.clear();
        self.tokens.clear();
        self.is_bits = false;
    }

    /// Adds a token.
    #[inline]
    pub(crate) fn allow(&mut self, token: TokenId) {
        if !self.is_bits {
            if self.tokens.len() < MOST_TOKENS {
                self.tokens.push(token);
                return;
            }
            self.as_bits();
        }
        self.bits.allow(token);
    }

    /// Adds tokens.
    #[inline]
    pub(crate) fn allow_all(&mut self, tokens: &[TokenId]) {
        if !self.is_bits && self.tokens.len() + tokens.len() <= MOST_TOKENS {
            self.tokens.extend_from_slice(tokens);
        } else {
            self.as_bits().allow_all(tokens);
        }
    }

    /// Adds every token of a set.
    pub(crate) fn union_with(&mut self, set: &Mask) {
        if let Some(list) = set.list() {
            self.allow_all(list);
        } else if !self.is_bits && self.sets.iter().any(|other| other.is_copy_of(set)) {
            // It is in the mask.
        } else if !self.is_bits && self.sets.len() < MOST_SETS {
            self.sets.push(set.copy());
        } else {
            self.as_bits().union_with(set.bits());
        }
    }

    /// Returns the tokens as bits, which they stay.
    pub(crate) fn as_bits(&mut self) -> &mut TokenMask {
        if !self.is_bits {
            self.is_bits = true;
            if self.bits.len() != self.width {
                self.bits = TokenMask::new(self.width);
            }
            write_union(&self.sets, &self.tokens, &mut self.bits);
        }
        &mut self.bits
    }

    /// Returns the tokens as they are stored.
    pub(crate) fn drafted(&mut self) -> Drafted<'_> {
        if self.is_bits {
            return Drafted::of(&self.bits);
        }
        if self.sets.is_empty() && !are_many(&self.tokens) {
            self.tokens.sort_unstable();
            self.tokens.dedup();
            if self.tokens.len() <= Mask::LISTED {
                return Drafted::List(self.tokens[..].into());
            }
        }
        Drafted::Union(&self.sets, &self.tokens)
    }
}

/// Returns whether these are certainly more than [`Mask::LISTED`] different tokens.
fn are_many(tokens: &[TokenId]) -> bool {
    if tokens.len() <= Mask::LISTED {
        return false;
    }
    let mut seen = [0_u64; 64];
    for token in tokens {
        seen[token.index() / 64 % 64] |= 1 << (token.index() % 64);
    }
    // Different tokens may have one place, but one token has not two.
    let places: u32 = seen.iter().map(|word| word.count_ones()).sum();
    places as usize > Mask::LISTED
}

/// The tokens of a mask, as they are stored.
pub(crate) enum Drafted<'d> {
    /// At most [`Mask::LISTED`] tokens, sorted.
    List(Box<[TokenId]>),
    /// More tokens, as a union of sets and tokens.
    Union(&'d [Mask], &'d [TokenId]),
    /// More tokens.
    Bits(&'d TokenMask),
}

impl<'d> Drafted<'d> {
    /// Returns the tokens of a set.
    pub(crate) fn of(bits: &'d TokenMask) -> Self {
        match Mask::list_of(bits) {
            Some(list) => Self::List(list),
            None => Self::Bits(bits),
        }
    }

    /// Returns the hash that their mask has.
    pub(crate) fn fingerprint(&self) -> u64 {
        match self {
            Self::List(list) => fingerprint_of_list(list),
            Self::Union(sets, tokens) => fingerprint_of_union(sets, tokens),
            Self::Bits(bits) => fingerprint_of_words(bits.words()),
        }
    }

    /// Returns whether the mask has these tokens and is stored in the same form.
    pub(crate) fn is_stored_as(&self, mask: &Mask) -> bool {
        match (self, mask.list(), mask.union()) {
            (Self::List(list), Some(other), _) => **list == *other,
            (Self::Union(sets, tokens), _, Some((other_sets, other_tokens))) => {
                let same = |(set, other): (&Mask, &Mask)| set.is_copy_of(other);
                sets.len() == other_sets.len()
                    && sets.iter().zip(other_sets).all(same)
                    && *tokens == other_tokens
            }
            (Self::Bits(bits), None, None) => mask.bits() == *bits,
            _ => false,
        }
    }

    /// Returns their mask over ids `0..width`.
    pub(crate) fn to_mask(&self, width: usize) -> Mask {
        match self {
            Self::List(list) => Mask::from_list(list, width),
            Self::Union(sets, tokens) => Mask::from_union(sets, tokens, width),
            Self::Bits(bits) => Mask::from_bits((*bits).clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 3_000;

    fn token(id: usize) -> TokenId {
        TokenId(id as u32)
    }

    fn set(ids: impl Iterator<Item = usize>) -> Mask {
        let mut bits = TokenMask::new(WIDTH);
        ids.for_each(|id| bits.allow(token(id)));
        Mask::of(bits)
    }

    /// Checks that a mask has exactly these tokens, whatever it is asked first.
    fn is_set_of(draft: &mut Draft, expected: &TokenMask) {
        let mut made = || draft.drafted().to_mask(WIDTH);
        let (mask, filled) = (made(), made());
        let few = (expected.count() <= Mask::LISTED).then(|| expected.iter().collect::<Vec<_>>());
        assert_eq!(mask.list(), few.as_deref());
        for id in 0..WIDTH {
            assert_eq!(mask.contains(token(id)), expected.contains(token(id)));
        }
        let mut bits = TokenMask::full(WIDTH);
        filled.fill(&mut bits);
        assert_eq!(&bits, expected);
        assert_eq!(filled.count(), expected.count());
        assert_eq!((mask.bits(), filled.bits()), (expected, expected));
        filled.fill(&mut bits);
        assert_eq!(&bits, expected);
        assert!((0..WIDTH).all(|id| filled.contains(token(id)) == expected.contains(token(id))));
        assert!(draft.drafted().is_stored_as(&mask));
        assert_eq!(draft.drafted().fingerprint(), mask.fingerprint());
    }

    #[test]
    fn drafts_become_the_masks_of_their_tokens() {
        let sets = [
            set(0..0),
            set(10..12),
            set(5..69),
            set(100..165),
            set((0..WIDTH).step_by(3)),
            set(0..1_500),
            set(1_000..WIDTH),
            set((0..WIDTH).rev().step_by(2)),
        ];
        // One draft after another in the same buffer.
        let mut draft = Draft::new(WIDTH);
        let mut forms = [0; 3];
        for seed in 0_usize..600 {
            draft.clear();
            let mut expected = TokenMask::new(WIDTH);
            let random = |n: usize, most: usize| (seed * 7_919 + n * 104_729) % 1_000_003 % most;
            for step in 0..random(0, 6) {
                match random(step + 1, 4) {
                    0 => {
                        let set = &sets[random(step + 10, sets.len())];
                        draft.union_with(set);
                        expected.union_with(set.bits());
                    }
                    1 => {
                        let id = token(random(step + 20, WIDTH));
                        draft.allow(id);
                        expected.allow(id);
                    }
                    _ => {
                        let (start, len) = (random(step + 30, WIDTH), random(step + 40, 700));
                        // Repeated ones count once.
                        let ids = (start..WIDTH).take(len % 70).cycle().take(len);
                        let ids: Vec<TokenId> = ids.map(token).collect();
                        draft.allow_all(&ids);
                        expected.allow_all(&ids);
                    }
                }
            }
            is_set_of(&mut draft, &expected);
            let form = match draft.drafted() {
                Drafted::List(_) => 0,
                Drafted::Union(..) => 1,
                Drafted::Bits(_) => 2,
            };
            forms[form] += 1;
        }
        assert!(forms.iter().all(|&form| form > 20), "{forms:?}");
    }

    #[test]
    fn as_many_tokens_as_a_list_has_are_a_list() {
        for (count, is_list) in [(Mask::LISTED, true), (Mask::LISTED + 1, false)] {
            // Apart by a multiple of what tells them from one another at first.
            for apart in [1, 40] {
                let mut draft = Draft::new(WIDTH);
                for id in (0..count).chain(0..count) {
                    draft.allow(token(id * apart));
                }
                let mask = draft.drafted().to_mask(WIDTH);
                assert_eq!(mask.list().is_some(), is_list, "{count} {apart}");
                assert_eq!(mask.count(), count);
            }
        }
    }
}
