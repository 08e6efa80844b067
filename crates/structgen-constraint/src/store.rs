//! What the matchers of one constraint share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use arc_swap::{ArcSwap, Guard};
use structgen_automata::{LimitExceeded, Network, Program, SetId};
use structgen_memo::{Memo, Numbers};
use structgen_vocab::{TokenId, TokenMask};

use crate::draft::Draft;
use crate::in_string::InStrings;
use crate::masks::Masks;
use crate::position::Position;
use crate::saved_masks::MasksInFile;
use crate::shared::Shared;
use crate::statistics::{Counters, add};
use crate::step::Step;
use crate::{MatcherError, Statistics, VocabularyTables};

/// States and masks, cached up to a limit.
///
/// All threads work on the same [`States`]. When these take too much memory, they are replaced as a whole: a thread in
/// the middle of an operation continues with the old ones, which are freed after their last use.
#[derive(Debug)]
pub(crate) struct Store {
    states: ArcSwap<States>,
    bytes: StoreBytes,
    /// Held by the thread that replaces the states.
    making_room: Mutex<()>,
    pub(crate) counters: Counters,
    /// Drafts of masks, to be reused.
    scratch: Mutex<Vec<Draft>>,
}

/// The limits in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreBytes {
    pub(crate) masks: usize,
    pub(crate) states: usize,
}

/// The states of one epoch, and what was computed for them.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) network: Network,
    /// The number of times that the states were replaced. A matcher of another epoch finds its state by replaying its
    /// tokens.
    pub(crate) epoch: u64,
    /// The limit on their memory.
    pub(crate) bytes: usize,
    pub(crate) masks: Masks,
    /// The number of states at which memory is measured next.
    measure_at: AtomicUsize,
    /// See [`States::steps`].
    steps: Mutex<Vec<Step>>,
    /// Masks that are in a file.
    pub(crate) ready: OnceLock<MasksInFile>,
    /// What tokens do in the strings of terminals.
    pub(crate) in_strings: InStrings,
    /// Where accepted tokens lead, see [`States::remember`].
    taken: Numbers,
    /// The number of tokens that must be left to share the mask of a state, see `limits.rs`.
    pub(crate) needed: Memo<SetId, u64>,
    /// The tokens after which an output can be completed in time, for some states and numbers of tokens.
    within: Mutex<Vec<(SetId, u64, Arc<TokenMask>)>>,
}

/// The bytes of [`InStrings`] are at most those of states divided by this.
const IN_STRINGS: usize = 8;

/// The maximum number of sets of such tokens, each a bit for every token.
const MOST_WITHIN: usize = 16;

/// The number of new states between two measurements of memory.
const MEASURE_EVERY: usize = 8_192;

/// This many tokens are remembered, however few states there are.
const FEW_TAKEN: usize = 1 << 12;

/// The maximum number of buffers that are kept.
const MOST_SCRATCH: usize = 64;

impl States {
    fn new(network: Network, epoch: u64, bytes: StoreBytes) -> Self {
        Self {
            network,
            epoch,
            bytes: bytes.states,
            masks: Masks::new(bytes.masks),
            measure_at: AtomicUsize::new(MEASURE_EVERY),
            steps: Mutex::default(),
            ready: OnceLock::new(),
            in_strings: InStrings::new(bytes.states / IN_STRINGS),
            taken: Numbers::default(),
            needed: Memo::default(),
            within: Mutex::default(),
        }
    }

    /// Postpones the next measurement of memory until new states were created. Those that a replay created do not
    /// count.
    pub(crate) fn measure_later(&self) {
        let at = self.network.len() + MEASURE_EVERY;
        self.measure_at.fetch_max(at, Ordering::Relaxed);
    }

    /// Returns a gauge that tells when the states take more than `limit` bytes.
    pub(crate) fn gauge(&self, limit: usize) -> Gauge<'_> {
        Gauge {
            states: self,
            limit,
            measure_at: self.network.len() + MEASURE_EVERY,
        }
    }

    /// Returns where a token leads, if it was accepted before.
    #[inline]
    pub(crate) fn recall(&self, state: SetId, token: TokenId) -> Option<Position> {
        Some(Position::unpack(self.taken.get(taken_key(state, token))?))
    }

    /// Remembers where a token leads, which otherwise takes a step for each of its bytes. Most outputs take the same
    /// paths; if they do not, this stops before it takes more than a small part of the memory of the states.
    pub(crate) fn remember(&self, state: SetId, token: TokenId, position: Position) {
        if self.taken.len() < FEW_TAKEN.max(self.network.len()) {
            self.taken.insert(taken_key(state, token), position.pack());
        }
    }

    /// Returns the tokens after which an output can be completed with at most `most` tokens, if they are kept.
    pub(crate) fn known_within(&self, state: SetId, most: u64) -> Option<Arc<TokenMask>> {
        let within = self.within.lock().unwrap_or_else(PoisonError::into_inner);
        let found = within.iter().find(|kept| (kept.0, kept.1) == (state, most));
        found.map(|(_, _, tokens)| Arc::clone(tokens))
    }

    /// Keeps such tokens, instead of the oldest ones if there are many.
    pub(crate) fn keep_within(&self, state: SetId, most: u64, tokens: &Arc<TokenMask>) {
        let mut within = self.within.lock().unwrap_or_else(PoisonError::into_inner);
        if within.len() >= MOST_WITHIN {
            within.remove(0);
        }
        within.push((state, most, Arc::clone(tokens)));
    }

    /// Returns the approximate size of the states in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.network.memory() + self.in_strings.memory() + self.taken.memory()
    }

    /// Returns the steps to the states near the start whose masks were computed ahead.
    pub(crate) fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells when states take more memory than a limit, which is measured now and then.
pub(crate) struct Gauge<'s> {
    states: &'s States,
    limit: usize,
    measure_at: usize,
}

impl Gauge<'_> {
    pub(crate) fn is_full(&mut self) -> bool {
        let len = self.states.network.len();
        if len < self.measure_at {
            return false;
        }
        self.measure_at = len + MEASURE_EVERY;
        self.states.memory() > self.limit
    }
}

#[inline]
fn taken_key(state: SetId, token: TokenId) -> u64 {
    u64::from(state.number()) << 32 | u64::from(token.0)
}

impl Store {
    pub(crate) fn new(
        program: Arc<Program>,
        tables: &VocabularyTables,
        bytes: StoreBytes,
    ) -> Result<Self, LimitExceeded> {
        let network = Network::for_tokens(program, tables.token_lengths())?;
        Ok(Self {
            states: ArcSwap::from_pointee(States::new(network, 0, bytes)),
            bytes,
            making_room: Mutex::default(),
            counters: Counters::default(),
            scratch: Mutex::default(),
        })
    }

    pub(crate) fn bytes(&self) -> StoreBytes {
        self.bytes
    }

    /// Returns the current states. They stay alive while the guard is held, which is for one operation.
    #[inline]
    pub(crate) fn states(&self) -> Guard<Arc<States>> {
        self.states.load()
    }

    /// Returns the states for a new operation, after replacing them if they take too much memory.
    #[inline]
    pub(crate) fn states_with_room(
        &self,
        shared: &Shared,
    ) -> Result<Guard<Arc<States>>, LimitExceeded> {
        let states = self.states();
        match states.network.len() < states.measure_at.load(Ordering::Relaxed) {
            true => Ok(states),
            false => self.make_room(states, shared),
        }
    }

    #[cold]
    fn make_room(
        &self,
        states: Guard<Arc<States>>,
        shared: &Shared,
    ) -> Result<Guard<Arc<States>>, LimitExceeded> {
        // One thread measures; the others do not wait.
        let _measuring = match self.making_room.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(states),
        };
        let states = self.states();
        let len = states.network.len();
        if len < states.measure_at.load(Ordering::Relaxed) {
            return Ok(states);
        }
        states
            .measure_at
            .store(len + MEASURE_EVERY, Ordering::Relaxed);
        if states.memory() > self.bytes.states {
            self.replace(&states, self.next(&states, shared)?);
        }
        Ok(self.states())
    }

    /// Repeats with new states an operation that failed because those of an epoch are full. If it succeeds, the new
    /// states replace the old ones. If not, the operation is too large, and others keep their states.
    pub(crate) fn renew<T>(
        &self,
        epoch: u64,
        shared: &Shared,
        attempt: impl FnOnce(&States) -> Result<T, MatcherError>,
    ) -> Result<T, MatcherError> {
        let lock = self.making_room.lock();
        let _renewing = lock.unwrap_or_else(PoisonError::into_inner);
        let states = self.states();
        if states.epoch != epoch {
            // Another thread has replaced them.
            return attempt(&states);
        }
        let next = self.next(&states, shared)?;
        let done = attempt(&next)?;
        self.replace(&states, next);
        Ok(done)
    }

    /// Creates new states of the next epoch.
    fn next(&self, states: &States, shared: &Shared) -> Result<States, LimitExceeded> {
        let program = states.network.program().clone();
        let network = Network::for_tokens(program, shared.tables.token_lengths())?;
        Ok(States::new(network, states.epoch + 1, self.bytes))
    }

    fn replace(&self, states: &States, next: States) {
        add(&self.counters.states_dropped, 1);
        add(&self.counters.masks_evicted, states.masks.len() as u64);
        self.states.store(Arc::new(next));
    }

    /// Returns the counts so far.
    pub(crate) fn statistics(&self) -> Statistics {
        let states = self.states();
        Statistics {
            nodes: states.network.program().len(),
            states: states.network.len(),
            mask_bytes: states.masks.bytes(),
            ..self.counters.read()
        }
    }

    /// Returns an empty draft of a mask of this width.
    pub(crate) fn take_scratch(&self, width: usize) -> Draft {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.pop().unwrap_or_else(|| Draft::new(width))
    }

    /// Takes a draft back.
    pub(crate) fn give_scratch(&self, mut draft: Draft) {
        draft.clear();
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if scratch.len() < MOST_SCRATCH {
            scratch.push(draft);
        }
    }
}
