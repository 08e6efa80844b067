//! What the matchers of one constraint find out together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use arc_swap::{ArcSwap, Guard};
use structgen_automata::{LimitExceeded, Network, Program, SetId};
use structgen_memo::{Memo, Numbers};
use structgen_vocab::{TokenId, TokenMask};

use crate::masks::Masks;
use crate::matcher::Position;
use crate::named_tokens::NamedTokens;
use crate::saved::Ready;
use crate::statistics::{Counters, add};
use crate::warm::Step;
use crate::{MatcherError, Statistics, VocabularyTables};

/// States and masks, kept while they fit.
///
/// All threads work on the same [`States`]. When these take more memory than they may, new ones take their place: a thread in the middle
/// of something goes on with those that it has, which are freed once nobody uses them.
#[derive(Debug)]
pub(crate) struct Store {
    states: ArcSwap<States>,
    bytes: StoreBytes,
    /// Held by whoever replaces states.
    making_room: Mutex<()>,
    pub(crate) counters: Counters,
    /// Masks in the making that wait to be used again.
    scratch: Mutex<Vec<TokenMask>>,
}

/// How many bytes may be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreBytes {
    pub(crate) masks: usize,
    pub(crate) states: usize,
}

/// The states of a time, and what is known of them.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) network: Network,
    /// Grows by one whenever the states are thrown away: a matcher of another epoch finds its state again by replaying its tokens.
    pub(crate) epoch: u64,
    pub(crate) masks: Masks,
    /// The number of states at which memory is measured next.
    measure_at: AtomicUsize,
    /// See [`States::steps`].
    steps: Mutex<Vec<Step>>,
    /// Masks that lie in a file.
    pub(crate) ready: OnceLock<Ready>,
    /// Where tokens lead that have been taken, see [`States::remember`].
    taken: Numbers,
    /// How many tokens have to be left so that a mask with limits is that of a state; see `limits.rs`.
    pub(crate) needed: Memo<SetId, u64>,
}

/// How many new states are made between two measurements of memory.
const MEASURE_EVERY: usize = 8_192;

/// So many tokens are remembered however few states there are.
const FEW_TAKEN: usize = 1 << 12;

/// The most masks in the making that are kept.
const MOST_SCRATCH: usize = 64;

impl States {
    fn new(network: Network, epoch: u64, mask_bytes: usize) -> Self {
        Self {
            network,
            epoch,
            masks: Masks::new(mask_bytes),
            measure_at: AtomicUsize::new(MEASURE_EVERY),
            steps: Mutex::default(),
            ready: OnceLock::new(),
            taken: Numbers::default(),
            needed: Memo::default(),
        }
    }

    /// Puts the next measurement of memory off until new states have been made: those of a matcher that has just found its
    /// own again are none.
    pub(crate) fn measure_later(&self) {
        let at = self.network.len() + MEASURE_EVERY;
        self.measure_at.fetch_max(at, Ordering::Relaxed);
    }

    /// Where a token leads, if it has been taken before.
    #[inline]
    pub(crate) fn recall(&self, state: SetId, token: TokenId) -> Option<Position> {
        Some(Position::unpack(self.taken.get(taken_key(state, token))?))
    }

    /// Remembers where a token leads, which its bytes lead to one by one. Most outputs go the same ways; where they do not, this ends
    /// before it takes more memory than a small part of what the states do.
    pub(crate) fn remember(&self, state: SetId, token: TokenId, position: Position) {
        if self.taken.len() < FEW_TAKEN.max(self.network.len()) {
            self.taken.insert(taken_key(state, token), position.pack());
        }
    }

    /// About how many bytes the states take.
    pub(crate) fn memory(&self) -> usize {
        self.network.memory() + self.taken.memory()
    }

    /// How the states near the start are reached whose masks were computed ahead.
    pub(crate) fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
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
            states: ArcSwap::from_pointee(States::new(network, 0, bytes.masks)),
            bytes,
            making_room: Mutex::default(),
            counters: Counters::default(),
            scratch: Mutex::default(),
        })
    }

    pub(crate) fn bytes(&self) -> StoreBytes {
        self.bytes
    }

    /// The states as they are. They stay as long as the guard is held: for one operation.
    #[inline]
    pub(crate) fn states(&self) -> Guard<Arc<States>> {
        self.states.load()
    }

    /// The states for a new operation: others where these take more memory than they may.
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
        // One thread measures, and nobody waits for it.
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

    /// Does something again that the states of an epoch could not do because they are full: with new ones, which take their place if
    /// they can. If not, whoever asked asks for too much, and the others keep what they have.
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

    /// New states to follow these.
    fn next(&self, states: &States, shared: &Shared) -> Result<States, LimitExceeded> {
        let program = states.network.program().clone();
        let network = Network::for_tokens(program, shared.tables.token_lengths())?;
        Ok(States::new(network, states.epoch + 1, self.bytes.masks))
    }

    fn replace(&self, states: &States, next: States) {
        add(&self.counters.states_dropped, 1);
        add(&self.counters.masks_evicted, states.masks.len() as u64);
        self.states.store(Arc::new(next));
    }

    /// What has been done so far.
    pub(crate) fn statistics(&self) -> Statistics {
        let states = self.states();
        Statistics {
            nodes: states.network.program().len(),
            states: states.network.len(),
            mask_bytes: states.masks.bytes(),
            ..self.counters.read()
        }
    }

    /// Bits to make a mask in, of this width.
    pub(crate) fn take_scratch(&self, width: usize) -> TokenMask {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.pop().unwrap_or_else(|| TokenMask::new(width))
    }

    pub(crate) fn give_scratch(&self, bits: TokenMask) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if scratch.len() < MOST_SCRATCH {
            scratch.push(bits);
        }
    }
}

/// What never changes: the vocabulary's side of a constraint.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tables: Arc<VocabularyTables>,
    /// What each token terminal is in the vocabulary.
    pub(crate) tokens: Vec<NamedTokens>,
    pub(crate) eos: Vec<TokenId>,
}

/// Questions about a state, unlike steps, never depend on what a sketch leaves out.
pub(crate) fn limit(error: structgen_automata::StepError) -> LimitExceeded {
    match error {
        structgen_automata::StepError::Limit(limit) => limit,
        structgen_automata::StepError::NeedsExact => LimitExceeded {
            what: "keys within one token",
            limit: 1,
        },
    }
}
