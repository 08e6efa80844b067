//! Sets of tokens as bitmasks.

use crate::TokenId;
use std::fmt;

const BITS: usize = u64::BITS as usize;

/// A set of token ids (token mask), one bit for each id of a vocabulary.
///
/// The width is the number of logits. Bits beyond the width are always zero, so equality, hashing and counting work on
/// whole words.
///
/// ```
/// use structgen_vocab::{TokenId, TokenMask};
///
/// let mut mask = TokenMask::new(100);
/// mask.allow(TokenId(3));
/// mask.allow(TokenId(99));
/// assert!(mask.contains(TokenId(3)));
/// assert_eq!(mask.iter().collect::<Vec<_>>(), [TokenId(3), TokenId(99)]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TokenMask {
    words: Box<[u64]>,
    len: usize,
}

impl TokenMask {
    /// The empty set over ids `0..len`.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(BITS)].into_boxed_slice(),
            len,
        }
    }

    /// The set of all ids `0..len`, including special tokens and holes.
    #[must_use]
    pub fn full(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(BITS)].into_boxed_slice();
        if let Some(last) = words.last_mut()
            && !len.is_multiple_of(BITS)
        {
            *last = (1 << (len % BITS)) - 1;
        }
        Self { words, len }
    }

    /// The set over ids `0..len` with these bits, in the layout of [`words`](Self::words). `None` if there are more or
    /// fewer words than the width takes, or bits beyond the width.
    #[must_use]
    pub fn from_words(words: &[u64], len: usize) -> Option<Self> {
        let past = match (words.last(), len % BITS) {
            (Some(last), 1..) => last >> (len % BITS),
            _ => 0,
        };
        (words.len() == len.div_ceil(BITS) && past == 0).then(|| Self {
            words: words.into(),
            len,
        })
    }

    /// The width in bits: the number of possible ids, not the number of ids in the set.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The number of tokens in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether the token is in the set; `false` for ids beyond the width.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: TokenId) -> bool {
        let index = id.index();
        self.words
            .get(index / BITS)
            .is_some_and(|word| word >> (index % BITS) & 1 == 1)
    }

    /// Adds a token to the set.
    ///
    /// # Panics
    /// If the id is not below [`len`](Self::len).
    #[inline]
    pub fn allow(&mut self, id: TokenId) {
        let index = id.index();
        assert!(
            index < self.len,
            "token {id} is outside a mask of {}",
            self.len
        );
        self.words[index / BITS] |= 1 << (index % BITS);
    }

    /// Adds tokens to the set.
    ///
    /// # Panics
    /// If an id is not below [`len`](Self::len).
    #[inline]
    pub fn allow_all(&mut self, ids: &[TokenId]) {
        for &id in ids {
            self.allow(id);
        }
    }

    /// Removes a token from the set; does nothing for ids beyond the width.
    #[inline]
    pub fn deny(&mut self, id: TokenId) {
        let index = id.index();
        if let Some(word) = self.words.get_mut(index / BITS) {
            *word &= !(1 << (index % BITS));
        }
    }

    /// Removes all tokens from the set.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Copies another set of the same width into this one, without allocating.
    ///
    /// # Panics
    /// If the widths differ.
    pub fn copy_from(&mut self, other: &Self) {
        self.check_width(other);
        self.words.copy_from_slice(&other.words);
    }

    /// Adds every token of another set.
    ///
    /// # Panics
    /// If the widths differ.
    pub fn union_with(&mut self, other: &Self) {
        self.check_width(other);
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Keeps only the tokens that are also in another set.
    ///
    /// # Panics
    /// If the widths differ.
    pub fn intersect_with(&mut self, other: &Self) {
        self.check_width(other);
        for (word, &keep) in self.words.iter_mut().zip(&other.words) {
            *word &= keep;
        }
    }

    /// Removes every token of another set.
    ///
    /// # Panics
    /// If the widths differ.
    pub fn subtract(&mut self, other: &Self) {
        self.check_width(other);
        for (word, &less) in self.words.iter_mut().zip(&other.words) {
            *word &= !less;
        }
    }

    /// Whether every token of this set is in the other.
    ///
    /// # Panics
    /// If the widths differ.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.check_width(other);
        self.words
            .iter()
            .zip(&other.words)
            .all(|(&word, &over)| word & !over == 0)
    }

    /// The lowest id in the set.
    #[must_use]
    pub fn first(&self) -> Option<TokenId> {
        self.iter().next()
    }

    /// The tokens of the set, lowest id first.
    #[must_use]
    pub fn iter(&self) -> TokenMaskIter<'_> {
        TokenMaskIter {
            words: &self.words,
            word: self.words.first().copied().unwrap_or(0),
            index: 0,
        }
    }

    /// The bits: id `i` is bit `i % 64` of word `i / 64`. Bits beyond the width are zero.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    fn check_width(&self, other: &Self) {
        assert_eq!(self.len, other.len, "masks of different widths");
    }
}

impl fmt::Debug for TokenMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Listing all tokens of a large mask would make test messages unreadable.
        const SHOWN: usize = 16;
        write!(f, "TokenMask({} of {}: ", self.count(), self.len)?;
        f.debug_list()
            .entries(self.iter().take(SHOWN).map(|id| id.0))
            .finish()?;
        f.write_str(if self.count() > SHOWN { " …)" } else { ")" })
    }
}

impl<'a> IntoIterator for &'a TokenMask {
    type Item = TokenId;
    type IntoIter = TokenMaskIter<'a>;

    fn into_iter(self) -> TokenMaskIter<'a> {
        self.iter()
    }
}

/// The tokens of a [`TokenMask`], lowest id first.
#[derive(Clone, Debug)]
pub struct TokenMaskIter<'a> {
    words: &'a [u64],
    word: u64,
    index: usize,
}

impl Iterator for TokenMaskIter<'_> {
    type Item = TokenId;

    #[inline]
    fn next(&mut self) -> Option<TokenId> {
        while self.word == 0 {
            self.index += 1;
            self.word = *self.words.get(self.index)?;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(TokenId((self.index * BITS) as u32 + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_full_mask_has_no_bits_past_its_width() {
        for len in [0, 1, 63, 64, 65, 128, 130] {
            let full = TokenMask::full(len);
            assert_eq!(full.count(), len);
            let mut one_by_one = TokenMask::new(len);
            for id in 0..len {
                one_by_one.allow(TokenId(id as u32));
            }
            assert_eq!(full, one_by_one);
        }
    }

    #[test]
    fn ids_past_the_width_are_never_in_the_set() {
        let mut mask = TokenMask::full(70);
        assert!(mask.contains(TokenId(69)));
        assert!(!mask.contains(TokenId(70)));
        assert!(!mask.contains(TokenId(u32::MAX)));
        mask.deny(TokenId(u32::MAX));
        assert_eq!(mask.count(), 70);
    }

    #[test]
    #[should_panic(expected = "outside a mask")]
    fn allowing_a_bit_of_the_last_word_past_the_width_is_refused() {
        TokenMask::new(70).allow(TokenId(70));
    }

    #[test]
    fn debug_output_is_short() {
        assert_eq!(
            format!("{:?}", TokenMask::full(3)),
            "TokenMask(3 of 3: [0, 1, 2])"
        );
        assert!(format!("{:?}", TokenMask::full(100_000)).len() < 200);
    }

    fn mask(len: usize, ids: &BTreeSet<u32>) -> TokenMask {
        let mut mask = TokenMask::new(len);
        for &id in ids {
            mask.allow(TokenId(id));
        }
        mask
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn masks_behave_as_sets(
            a in proptest::collection::btree_set(0u32..200, 0..80),
            b in proptest::collection::btree_set(0u32..200, 0..80),
        ) {
            let (x, y) = (mask(200, &a), mask(200, &b));
            let ids = |m: &TokenMask| m.iter().map(|id| id.0).collect::<BTreeSet<_>>();
            prop_assert_eq!(&ids(&x), &a);
            prop_assert_eq!(x.count(), a.len());
            prop_assert_eq!(x.is_empty(), a.is_empty());
            prop_assert_eq!(x.first().map(|id| id.0), a.first().copied());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x == y, a == b);
            for id in 0..220 {
                prop_assert_eq!(x.contains(TokenId(id)), a.contains(&id));
            }

            let mut union = x.clone();
            union.union_with(&y);
            prop_assert_eq!(ids(&union), a.union(&b).copied().collect::<BTreeSet<_>>());
            let mut common = x.clone();
            common.intersect_with(&y);
            prop_assert_eq!(ids(&common), a.intersection(&b).copied().collect::<BTreeSet<_>>());
            let mut rest = x.clone();
            rest.subtract(&y);
            prop_assert_eq!(ids(&rest), a.difference(&b).copied().collect::<BTreeSet<_>>());
            for &id in &b {
                union.deny(TokenId(id));
            }
            prop_assert_eq!(&union, &rest);
            union.copy_from(&y);
            prop_assert_eq!(&union, &y);
            union.clear();
            prop_assert!(union.is_empty());
        }
    }
}
