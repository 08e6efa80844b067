//! A cache of masks by state, limited in size.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use hashbrown::HashTable;
use structgen_automata::SetId;
use structgen_memo::Memo;

use crate::Mask;
use crate::draft::Drafted;
use crate::statistics::{LANES, lane};

/// Masks age in two generations: when the younger one is full, the older one is evicted. Masks of different states that
/// were found in the same form are stored once.
///
/// Looking up a cached mask takes no lock.
#[derive(Debug)]
pub(crate) struct Masks {
    ages: ArcSwap<Ages>,
    /// Held by the thread that begins a new generation.
    ageing: Mutex<()>,
    /// Masks that were computed ahead and stay as long as their states do.
    ahead: Generation,
    /// The maximum size of all masks in bytes.
    limit: usize,
}

#[derive(Debug, Default)]
struct Ages {
    recent: Arc<Generation>,
    old: Arc<Generation>,
}

/// A state, and the scope of its mask.
pub(crate) type Key = (SetId, Scope);

/// Which tokens a cached mask is valid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// All tokens, as if the grammar did not limit their number.
    All,
    /// Short tokens only.
    Short,
    /// All tokens, including limits on their number.
    Limited,
}

/// A mask with a copy for each of a few threads, which would otherwise contend for one reference count.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) mask: Arc<Mask>,
    copies: OnceLock<Box<[OnceLock<Arc<Mask>>; LANES]>>,
}

impl Kept {
    pub(crate) fn new(mask: Mask) -> Self {
        Self {
            mask: Arc::new(mask),
            copies: OnceLock::new(),
        }
    }

    /// Returns the mask for the calling thread.
    #[inline]
    pub(crate) fn get(&self) -> Arc<Mask> {
        let mask = match lane() {
            0 => &self.mask,
            lane => {
                let new = || Box::new([const { OnceLock::new() }; LANES]);
                let copies = self.copies.get_or_init(new);
                copies[lane % LANES].get_or_init(|| Arc::new(self.mask.copy()))
            }
        };
        mask.clone()
    }
}

#[derive(Debug, Default)]
struct Generation {
    by_state: Memo<Key, Arc<Kept>>,
    /// Each mask once.
    distinct: Mutex<HashTable<Arc<Kept>>>,
    bytes: AtomicUsize,
}

impl Masks {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            ages: ArcSwap::default(),
            ageing: Mutex::default(),
            ahead: Generation::default(),
            limit,
        }
    }

    /// Returns the size of the masks in bytes. Lists and unions count as if their bits existed, and masks of both
    /// generations count twice.
    pub(crate) fn bytes(&self) -> usize {
        let ages = self.ages.load();
        ages.recent.bytes() + ages.old.bytes() + self.ahead.bytes()
    }

    /// Returns the number of states whose mask may be evicted.
    pub(crate) fn len(&self) -> usize {
        let ages = self.ages.load();
        ages.recent.by_state.len() + ages.old.by_state.len()
    }

    /// Returns whether the next mask may evict older ones.
    pub(crate) fn is_half_full(&self) -> bool {
        self.is_full(&self.ages.load().recent)
    }

    /// Returns the maximum size in bytes of masks that may be evicted.
    fn limit(&self) -> usize {
        self.limit.saturating_sub(self.ahead.bytes())
    }

    fn is_full(&self, generation: &Generation) -> bool {
        generation.bytes() > self.limit() / 2
    }

    /// Returns whether the masks that stay have taken more than half of the memory.
    pub(crate) fn is_ahead_full(&self) -> bool {
        self.ahead.bytes() > self.limit()
    }

    /// Returns the mask of a state without renewing it.
    pub(crate) fn peek(&self, key: Key) -> Option<Arc<Kept>> {
        let ages = self.ages.load();
        let mut generations = [&*ages.recent, &self.ahead, &*ages.old].into_iter();
        generations.find_map(|masks| masks.by_state.get(&key).cloned())
    }

    /// Returns the mask of a state and renews it; the second value is the number of masks evicted by that.
    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<(Arc<Mask>, u64)> {
        self.find_by(key, |kept| kept.get())
    }

    /// Like [`find`](Self::find), for callers that cache the mask for another state as well.
    pub(crate) fn find_kept(&self, key: Key) -> Option<(Arc<Kept>, u64)> {
        self.find_by(key, Arc::clone)
    }

    #[inline]
    fn find_by<T>(&self, key: Key, get: impl Fn(&Arc<Kept>) -> T) -> Option<(T, u64)> {
        let ages = self.ages.load();
        for young in [&*ages.recent, &self.ahead] {
            if let Some(kept) = young.by_state.get(&key) {
                return Some((get(kept), 0));
            }
        }
        let kept = ages.old.by_state.get(&key)?.clone();
        drop(ages);
        let gone = self.add(key, kept.clone());
        Some((get(&kept), gone))
    }

    /// Caches the mask of a state; returns the number of masks evicted for it.
    pub(crate) fn add(&self, key: Key, mask: Arc<Kept>) -> u64 {
        let ages = self.ages.load();
        if !self.is_full(&ages.recent) {
            ages.recent.put(key, mask);
            return 0;
        }
        drop(ages);
        let gone = self.age();
        self.ages.load().recent.put(key, mask);
        gone
    }

    /// Begins a new generation; returns the number of states that lose their mask.
    fn age(&self) -> u64 {
        let _ageing = self.ageing.lock().unwrap_or_else(PoisonError::into_inner);
        let ages = self.ages.load();
        // Another thread may just have begun one.
        if !self.is_full(&ages.recent) {
            return 0;
        }
        self.ages.store(Arc::new(Ages {
            recent: Arc::default(),
            old: ages.recent.clone(),
        }));
        ages.old.by_state.len() as u64
    }

    /// Caches the mask of a state for as long as the states exist.
    pub(crate) fn add_ahead(&self, key: Key, mask: Arc<Kept>) {
        self.ahead.put(key, mask);
    }

    /// Returns the mask of these tokens, shared with another state if it is cached.
    pub(crate) fn share(&self, tokens: &Drafted<'_>, width: usize) -> Arc<Kept> {
        // The tokens are copied only if no cached mask is equal.
        let fingerprint = tokens.fingerprint();
        let same = |Kept { mask, .. }: &Kept| {
            mask.fingerprint() == fingerprint && tokens.is_stored_as(mask)
        };
        let ages = self.ages.load();
        let generations = [&*ages.recent, &self.ahead, &*ages.old];
        let used = generations.into_iter().filter(|masks| masks.bytes() > 0);
        let mut known = used.filter_map(|masks| {
            let distinct = masks.distinct();
            distinct.find(fingerprint, |kept| same(kept)).cloned()
        });
        known.next().unwrap_or_else(|| {
            let mask = tokens.to_mask(width);
            Arc::new(Kept::new(mask.with_fingerprint(fingerprint)))
        })
    }
}

impl Generation {
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn distinct(&self) -> MutexGuard<'_, HashTable<Arc<Kept>>> {
        self.distinct.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: Key, kept: Arc<Kept>) {
        let mut distinct = self.distinct();
        let same = |other: &Arc<Kept>| Arc::ptr_eq(other, &kept);
        let fingerprint = kept.mask.fingerprint();
        if distinct.find(fingerprint, same).is_none() {
            self.bytes.fetch_add(kept.mask.memory(), Ordering::Relaxed);
            distinct.insert_unique(fingerprint, kept.clone(), |kept| kept.mask.fingerprint());
        }
        drop(distinct);
        self.by_state.insert(key, kept);
    }
}
