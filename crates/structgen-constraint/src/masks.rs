//! Masks by state, kept while they fit.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use structgen_automata::SetId;
use structgen_vocab::{TokenId, TokenMask};

use crate::Mask;

/// Masks age in two generations: when the younger one is full, the older one goes. Many states take the same tokens: such masks are one.
#[derive(Debug)]
pub(crate) struct Masks {
    recent: Generation,
    old: Generation,
    /// Masks that were computed ahead and stay as long as their states do.
    ahead: Generation,
    /// How many bytes the others may take.
    limit: usize,
}

/// A state, and what its mask is right for.
pub(crate) type Key = (SetId, Scope);

/// What a kept mask is right for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// All tokens; where the grammar limits its tokens, as if it did not.
    All,
    /// Short tokens only.
    Short,
    /// All tokens, limits included.
    Limited,
}

#[derive(Debug, Default)]
struct Generation {
    by_state: FxHashMap<Key, (u64, Arc<Mask>)>,
    /// Each mask once, with what [`fingerprint`] tells of it.
    distinct: HashTable<(u64, Arc<Mask>)>,
    bytes: usize,
}

impl Masks {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            recent: Generation::default(),
            old: Generation::default(),
            ahead: Generation::default(),
            limit,
        }
    }

    /// How many bytes the masks take, those of lists as if their bits were there.
    pub(crate) fn bytes(&self) -> usize {
        self.recent.bytes + self.old.bytes + self.ahead.bytes
    }

    /// How many states have a mask that may go.
    pub(crate) fn len(&self) -> usize {
        self.recent.by_state.len() + self.old.by_state.len()
    }

    /// Whether the next mask may make older ones go.
    pub(crate) fn is_half_full(&self) -> bool {
        self.recent.bytes > self.limit / 2
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.limit + self.ahead.bytes);
    }

    /// The mask of a state, without making it any younger.
    pub(crate) fn peek(&self, key: Key) -> Option<&Arc<Mask>> {
        let generations = [&self.recent, &self.ahead, &self.old].into_iter();
        let mut found = generations.filter_map(|masks| masks.by_state.get(&key));
        found.next().map(|(_, mask)| mask)
    }

    /// The mask of a state. It is as young as a new one from then on; the second part says how many others went for that.
    pub(crate) fn find(&mut self, key: Key) -> Option<(Arc<Mask>, u64)> {
        for young in [&self.recent, &self.ahead] {
            if let Some((_, mask)) = young.by_state.get(&key) {
                return Some((mask.clone(), 0));
            }
        }
        let (fingerprint, mask) = self.old.take(key)?;
        Some((mask.clone(), self.put(key, fingerprint, mask)))
    }

    /// Keeps a mask that was made elsewhere; returns how many went for it.
    pub(crate) fn keep(&mut self, key: Key, mask: Arc<Mask>) -> u64 {
        let fingerprint = match mask.list() {
            Some(list) => fingerprint_of_list(list),
            None => fingerprint(mask.bits().words()),
        };
        self.put(key, fingerprint, mask)
    }

    /// The mask of these tokens for a state, and how many others went for it.
    pub(crate) fn add(&mut self, key: Key, bits: &TokenMask) -> (Arc<Mask>, u64) {
        let (fingerprint, mask) = self.share(bits);
        (mask.clone(), self.put(key, fingerprint, mask))
    }

    /// The mask of these tokens, which is that of another state if that is kept.
    pub(crate) fn share(&self, bits: &TokenMask) -> (u64, Arc<Mask>) {
        let (list, fingerprint) = match Mask::list_of(bits) {
            Some(list) => {
                let fingerprint = fingerprint_of_list(&list);
                (Some(list), fingerprint)
            }
            None => (None, fingerprint(bits.words())),
        };
        let same = |(other, mask): &(u64, Arc<Mask>)| {
            *other == fingerprint
                && match (&list, mask.list()) {
                    (Some(list), Some(other)) => **list == *other,
                    (None, None) => mask.bits() == bits,
                    _ => false,
                }
        };
        let generations = [&self.recent, &self.ahead, &self.old].into_iter();
        let mut known = generations.filter_map(|masks| masks.distinct.find(fingerprint, same));
        let mask = match known.next() {
            Some((_, mask)) => mask.clone(),
            None => Arc::new(match list {
                Some(list) => Mask::from_list(&list, bits.len()),
                None => Mask::from_bits(bits.clone()),
            }),
        };
        (fingerprint, mask)
    }

    /// Lets the mask of a state, which has just been made, stay as long as its state does; `false` where masks of that kind have taken half of
    /// the memory there is.
    pub(crate) fn stay(&mut self, state: SetId) -> bool {
        let key = (state, Scope::All);
        // What depends on texts is found under its own state.
        if let Some((fingerprint, mask)) = self.recent.take(key) {
            let before = self.ahead.bytes;
            self.ahead.put(key, fingerprint, mask);
            let taken = self.ahead.bytes - before;
            self.limit = self.limit.saturating_sub(taken);
        }
        self.ahead.bytes <= self.limit
    }

    fn put(&mut self, key: Key, fingerprint: u64, mask: Arc<Mask>) -> u64 {
        let mut gone = 0;
        if self.is_half_full() {
            gone = self.old.by_state.len() as u64;
            self.old = std::mem::take(&mut self.recent);
        }
        self.recent.put(key, fingerprint, mask);
        gone
    }
}

impl Generation {
    fn take(&mut self, key: Key) -> Option<(u64, Arc<Mask>)> {
        let (fingerprint, mask) = self.by_state.remove(&key)?;
        // Nobody else has it but the list of distinct ones.
        if Arc::strong_count(&mask) == 2 {
            let same = |(_, other): &(u64, Arc<Mask>)| Arc::ptr_eq(other, &mask);
            if let Ok(entry) = self.distinct.find_entry(fingerprint, same) {
                entry.remove();
                self.bytes -= mask.memory();
            }
        }
        Some((fingerprint, mask))
    }

    fn put(&mut self, key: Key, fingerprint: u64, mask: Arc<Mask>) {
        let same = |(_, other): &(u64, Arc<Mask>)| Arc::ptr_eq(other, &mask);
        if self.distinct.find(fingerprint, same).is_none() {
            self.bytes += mask.memory();
            let entry = (fingerprint, mask.clone());
            let hash = |(fingerprint, _): &(u64, Arc<Mask>)| *fingerprint;
            self.distinct.insert_unique(fingerprint, entry, hash);
        }
        self.by_state.insert(key, (fingerprint, mask));
    }
}

/// A hash of a set's words, eight at a time: they do not wait for one another.
fn fingerprint(words: &[u64]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = [1_u64, 2, 3, 4, 5, 6, 7, 8];
    let mut chunks = words.chunks_exact(lanes.len());
    for chunk in &mut chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk) {
            *lane = (lane.rotate_left(5) ^ word).wrapping_mul(FACTOR);
        }
    }
    let mut hasher = FxHasher::default();
    (lanes, chunks.remainder()).hash(&mut hasher);
    hasher.finish()
}

fn fingerprint_of_list(list: &[TokenId]) -> u64 {
    let mut hasher = FxHasher::default();
    list.hash(&mut hasher);
    hasher.finish()
}
