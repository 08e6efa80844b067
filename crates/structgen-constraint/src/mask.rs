//! Token masks.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHasher;
use structgen_vocab::{TokenId, TokenMask};

/// The tokens that may come next, including end-of-sequence ids exactly where the output may end.
///
/// A mask of few tokens is stored as a list, and most others as a union: of sets that many masks contain, such as all
/// plain texts, and of some tokens. Their bits are computed on demand.
// Aligned to a cache line, so that the reference count beside it in an `Arc` has a line of its own: a thread that
// changes the count does not invalidate masks that other threads read.
#[derive(Debug)]
#[repr(align(64))]
pub struct Mask(Arc<Tokens>);

/// What all copies of a mask share.
#[derive(Debug)]
struct Tokens {
    width: usize,
    form: Form,
    bits: OnceLock<TokenMask>,
    count: OnceLock<usize>,
    fingerprint: OnceLock<u64>,
    /// Whether something else than masks keeps the set, and counts its memory.
    is_kept_elsewhere: bool,
}

/// How a set is stored.
#[derive(Debug)]
enum Form {
    /// The tokens, sorted; at most [`Mask::LISTED`].
    List(Box<[TokenId]>),
    /// The union of other sets and of tokens in any order; more than [`Mask::LISTED`].
    Union(Box<[Mask]>, Box<[TokenId]>),
    /// Bits, of which more than [`Mask::LISTED`] are set.
    Bits,
}

impl Mask {
    /// The maximum number of tokens of a mask that is stored as a list.
    pub const LISTED: usize = 64;

    /// The mask without tokens.
    pub(crate) fn empty(width: usize) -> Self {
        Self::from_list(&[], width)
    }

    /// Returns the tokens of a set as a list, if there are at most [`Mask::LISTED`].
    pub(crate) fn list_of(bits: &TokenMask) -> Option<Box<[TokenId]>> {
        const WORDS: usize = 8;
        let mut listed = [TokenId(0); Self::LISTED];
        let mut count = 0;
        for (i, words) in bits.words().chunks(WORDS).enumerate() {
            // In a set of few tokens, most words are zero.
            if words.iter().fold(0, |all, word| all | word) == 0 {
                continue;
            }
            for (j, &word) in words.iter().enumerate() {
                let mut word = word;
                while word != 0 {
                    let bit = (i * WORDS + j) as u32 * 64 + word.trailing_zeros();
                    *listed.get_mut(count)? = TokenId(bit);
                    count += 1;
                    word &= word - 1;
                }
            }
        }
        Some(listed[..count].into())
    }

    /// Creates a mask from a sorted list of at most [`Mask::LISTED`] tokens.
    pub(crate) fn from_list(list: &[TokenId], width: usize) -> Self {
        Self::new(Form::List(list.into()), OnceLock::new(), width)
    }

    /// Creates a mask from bits.
    pub(crate) fn of(bits: TokenMask) -> Self {
        match Self::list_of(&bits) {
            Some(list) => Self::from_list(&list, bits.len()),
            None => Self::from_bits(bits),
        }
    }

    /// Creates a mask from sets and tokens, which are more than [`Mask::LISTED`] together.
    pub(crate) fn from_union(sets: &[Self], tokens: &[TokenId], width: usize) -> Self {
        let sets = sets.iter().map(Self::copy).collect();
        Self::new(Form::Union(sets, tokens.into()), OnceLock::new(), width)
    }

    /// Creates a mask from bits, of which more than [`Mask::LISTED`] are set.
    pub(crate) fn from_bits(bits: TokenMask) -> Self {
        let width = bits.len();
        Self::new(Form::Bits, OnceLock::from(bits), width)
    }

    fn new(form: Form, bits: OnceLock<TokenMask>, width: usize) -> Self {
        Self(Arc::new(Tokens {
            width,
            form,
            bits,
            count: OnceLock::new(),
            fingerprint: OnceLock::new(),
            is_kept_elsewhere: false,
        }))
    }

    /// Returns a new mask as one that something else than other masks keeps, which count its memory otherwise.
    pub(crate) fn kept_elsewhere(mut self) -> Self {
        if let Some(tokens) = Arc::get_mut(&mut self.0) {
            tokens.is_kept_elsewhere = true;
        }
        self
    }

    /// Returns whether the token may come next.
    #[must_use]
    pub fn contains(&self, token: TokenId) -> bool {
        match (&self.0.form, self.0.bits.get()) {
            (Form::List(list), _) => list.binary_search(&token).is_ok(),
            (Form::Union(sets, tokens), None) => {
                sets.iter().any(|set| set.contains(token)) || tokens.contains(&token)
            }
            _ => self.bits().contains(token),
        }
    }

    /// Returns the set as bits, as wide as the logits.
    #[must_use]
    pub fn bits(&self) -> &TokenMask {
        self.0.bits.get_or_init(|| {
            let mut bits = TokenMask::new(self.0.width);
            self.write(&mut bits);
            bits
        })
    }

    /// Writes the set to `mask`.
    ///
    /// # Panics
    /// If `mask` has another width.
    pub fn fill(&self, mask: &mut TokenMask) {
        assert_eq!(mask.len(), self.0.width, "masks of different widths");
        match (&self.0.form, self.0.bits.get()) {
            (Form::Union(..), Some(bits)) => mask.copy_from(bits),
            _ => self.write(mask),
        }
    }

    fn write(&self, mask: &mut TokenMask) {
        match &self.0.form {
            Form::List(list) => {
                mask.clear();
                mask.allow_all(list);
            }
            Form::Union(sets, tokens) => write_union(sets, tokens, mask),
            Form::Bits => mask.copy_from(self.bits()),
        }
    }

    /// Returns the set as a sorted list if it has at most [`Mask::LISTED`] tokens; a sampler then reads only those
    /// logits.
    #[must_use]
    pub fn list(&self) -> Option<&[TokenId]> {
        match &self.0.form {
            Form::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the number of tokens in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.count.get_or_init(|| match self.list() {
            Some(list) => list.len(),
            None => self.bits().count(),
        })
    }

    /// Returns the sets and tokens that the mask was created from, if it is a union.
    pub(crate) fn union(&self) -> Option<(&[Self], &[TokenId])> {
        match &self.0.form {
            Form::Union(sets, tokens) => Some((sets, tokens)),
            _ => None,
        }
    }

    /// Returns whether this is a copy of the other mask, or the other way round.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns a hash of the set as it is stored.
    pub(crate) fn fingerprint(&self) -> u64 {
        *self.0.fingerprint.get_or_init(|| match &self.0.form {
            Form::List(list) => fingerprint_of_list(list),
            Form::Union(sets, tokens) => fingerprint_of_union(sets, tokens),
            Form::Bits => fingerprint_of_words(self.bits().words()),
        })
    }

    /// Returns the same set with a hash that the caller has computed.
    pub(crate) fn with_fingerprint(self, fingerprint: u64) -> Self {
        self.0.fingerprint.get_or_init(|| fingerprint);
        self
    }

    /// Returns another handle to the same set.
    pub(crate) fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    /// Returns the approximate size in bytes, including bits that are not computed yet, and the sets of a union that
    /// only masks keep.
    pub(crate) fn memory(&self) -> usize {
        let (sets, tokens): (&[Self], usize) = match &self.0.form {
            Form::List(tokens) => (&[], tokens.len()),
            Form::Union(sets, tokens) => (sets, tokens.len()),
            Form::Bits => (&[], 0),
        };
        let sets = sets.iter().filter(|set| !set.0.is_kept_elsewhere);
        self.0.width / 8 * (1 + sets.count()) + size_of::<TokenId>() * tokens + 128
    }
}

/// Writes the union of sets and tokens to `mask`.
pub(crate) fn write_union(sets: &[Mask], tokens: &[TokenId], mask: &mut TokenMask) {
    match sets {
        [] => mask.clear(),
        [first, others @ ..] => {
            mask.copy_from(first.bits());
            for set in others {
                mask.union_with(set.bits());
            }
        }
    }
    mask.allow_all(tokens);
}

/// Hashes the words of a set. Equal hashes are followed by a comparison.
pub(crate) fn fingerprint_of_words(words: &[u64]) -> u64 {
    fingerprint_of(words, |word| *word, &mut FxHasher::default())
}

/// Hashes a union as it is stored.
pub(crate) fn fingerprint_of_union(sets: &[Mask], tokens: &[TokenId]) -> u64 {
    let mut hasher = FxHasher::default();
    for set in sets {
        Arc::as_ptr(&set.0).hash(&mut hasher);
    }
    fingerprint_of(tokens, |token| token.0.into(), &mut hasher)
}

/// Hashes items in eight independent lanes, by operations that processors have for several words at once.
#[inline]
fn fingerprint_of<T>(items: &[T], word: impl Fn(&T) -> u64, hasher: &mut FxHasher) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4, 5, 6, 7, 8];
    let mut chunks = items.chunks_exact(lanes.len());
    for chunk in &mut chunks {
        for (lane, item) in lanes.iter_mut().zip(chunk) {
            *lane = lane.rotate_left(5).wrapping_add(word(item));
        }
    }
    lanes.hash(hasher);
    for item in chunks.remainder() {
        word(item).hash(hasher);
    }
    hasher.finish()
}

pub(crate) fn fingerprint_of_list(list: &[TokenId]) -> u64 {
    let mut hasher = FxHasher::default();
    list.hash(&mut hasher);
    hasher.finish()
}
