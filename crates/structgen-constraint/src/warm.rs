//! Masks before anybody asks for them.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use structgen_automata::{LimitExceeded, SetId};
use structgen_vocab::TokenId;

use crate::step::behind;
use crate::store::{Shared, Store, limit};
use crate::walk::run;
use crate::{CompiledConstraint, MatcherError};

/// How far [`CompiledConstraint::warm`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmLimits {
    /// The most states, at most [`WarmLimits::MOST_STATES`].
    pub states: usize,
    /// No further state is begun after this time.
    pub time: Duration,
}

impl WarmLimits {
    /// More states are never visited, whatever the limits say.
    pub const MOST_STATES: usize = 1 << 14;
}

impl Default for WarmLimits {
    /// A thousand states in a tenth of a second.
    fn default() -> Self {
        Self {
            states: 1_000,
            time: Duration::from_millis(100),
        }
    }
}

/// What [`CompiledConstraint::warm`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warmth {
    /// The states whose masks are ready.
    pub states: usize,
    /// Whether these are all that any output comes to, so that no mask is ever computed again as long as they are kept.
    pub is_complete: bool,
}

/// How a state is reached: by a token, from one that stands before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Its place; of no meaning for the first, which is where outputs begin.
    pub(crate) parent: u32,
    pub(crate) token: TokenId,
    pub(crate) state: SetId,
}

impl CompiledConstraint {
    /// Computes the masks of states breadth first, so that small grammars have all of them before the first output begins: choices, enums,
    /// small patterns.
    ///
    /// For grammars that limit the tokens of their parts nothing is done. It stops at the limits, and where half of the memory for masks is taken; what was done until then remains. Matchers can work meanwhile.
    /// [`save`](Self::save) puts these masks into the file.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables, WarmLimits};
    /// use structgen_grammar::{GrammarBuilder, JsonForm};
    /// use structgen_vocab::{TokenId, Vocabulary};
    ///
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.declare("root");
    /// let (yes, no) = (builder.bytes("yes"), builder.bytes("no"));
    /// let body = builder.choice([yes, no]);
    /// builder.define(root, body);
    /// let grammar = builder.finish(root, JsonForm::generate());
    ///
    /// let vocabulary = Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[])?;
    /// let tables = Arc::new(VocabularyTables::new(Arc::new(vocabulary)));
    /// let constraint = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
    /// // The start, "y", "ye", "n", and the one end.
    /// let warmth = constraint.warm(&WarmLimits::default())?;
    /// assert_eq!((warmth.states, warmth.is_complete), (5, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a limit of the automata is exceeded. The constraint is as usable as before.
    pub fn warm(&self, limits: &WarmLimits) -> Result<Warmth, MatcherError> {
        let begun = Instant::now();
        // How many tokens are left is a state: what is asked for is seldom among those that were met first.
        let most = match self.program().limits_tokens() {
            true => 0,
            false => limits.states.min(WarmLimits::MOST_STATES),
        };
        let mut search = Search::new(&self.store());
        let mut done = 0;
        while done < search.steps.len() {
            // The lock is let go of between states.
            let mut store = self.store();
            store.make_room()?;
            let is_over = done >= most || begun.elapsed() > limits.time;
            if is_over || store.epoch != search.epoch || store.is_half_full() {
                search.is_complete = false;
                break;
            }
            store.mask(search.steps[done].state, self.shared())?;
            search.expand(done, most, &mut store, self.shared())?;
            done += 1;
        }
        search.steps.truncate(done);
        let warmth = Warmth {
            states: done,
            is_complete: search.is_complete,
        };
        let mut store = self.store();
        if store.epoch == search.epoch {
            store.ready.steps = search.steps;
        }
        Ok(warmth)
    }
}

/// A breadth-first search through states.
struct Search {
    epoch: u64,
    /// The states that were found, those before them first.
    steps: Vec<Step>,
    states: FxHashSet<SetId>,
    sketches: FxHashSet<SetId>,
    /// Whether nothing was passed over.
    is_complete: bool,
}

impl Search {
    fn new(store: &Store) -> Self {
        let state = store.network.start();
        Self {
            epoch: store.epoch,
            steps: vec![Step {
                parent: 0,
                token: TokenId(0),
                state,
            }],
            states: FxHashSet::from_iter([state]),
            sketches: FxHashSet::default(),
            is_complete: true,
        }
    }

    /// Finds the states behind one. Every byte is a token, and longer tokens lead to what their bytes lead to.
    fn expand(
        &mut self,
        from: usize,
        most: usize,
        store: &mut Store,
        shared: &Shared,
    ) -> Result<(), LimitExceeded> {
        let state = self.steps[from].state;
        let first = store.network.first(state);
        for byte in (0..=u8::MAX).filter(|&byte| first.contains(byte)) {
            match shared.tables.vocabulary().byte_tokens()[usize::from(byte)] {
                Some(token) => self.reach(from, token, most, store, shared)?,
                // Bytes that stand in no text need no token, but may be within one.
                None => self.is_complete &= run(&mut store.network, state, &[byte])?.is_err(),
            }
        }
        for terminal in store.network.next_tokens(state).map_err(limit)? {
            let named = &shared.tokens[terminal as usize];
            if let Some(token) = named.first() {
                self.reach(from, token, most, store, shared)?;
            }
            // Others may lead elsewhere: their text may fit as well.
            self.is_complete &= named.is_one();
        }
        Ok(())
    }

    fn reach(
        &mut self,
        from: usize,
        token: TokenId,
        most: usize,
        store: &mut Store,
        shared: &Shared,
    ) -> Result<(), LimitExceeded> {
        let Ok(state) = behind(&mut store.network, self.steps[from].state, token, shared)? else {
            return Ok(());
        };
        if !self.states.insert(state) {
            return Ok(());
        }
        // States that differ in a text only mostly have one mask: other kinds of states come first.
        let is_new = self.sketches.insert(store.network.sketch(state)?);
        if !is_new || self.steps.len() >= most {
            self.is_complete = false;
            return Ok(());
        }
        self.steps.push(Step {
            parent: from as u32,
            token,
            state,
        });
        Ok(())
    }
}
