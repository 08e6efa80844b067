//! Computes masks ahead of use.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use rustc_hash::FxHashSet;
use structgen_automata::{LimitExceeded, SetId};
use structgen_vocab::TokenId;

use crate::error::limit;
use crate::step::{Step, state_after};
use crate::visit::Visit;
use crate::walk::run;
use crate::{CompiledConstraint, MatcherError};

/// The limits of [`CompiledConstraint::warm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmLimits {
    /// The maximum number of states, at most [`WarmLimits::MOST_STATES`].
    pub states: usize,
    /// The time after which no further state is begun.
    pub time: Duration,
}

impl WarmLimits {
    /// The maximum number of states that are ever visited.
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

/// What [`CompiledConstraint::warm`] has done: how far the caches are warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarmReport {
    /// The number of states whose masks are cached.
    pub states: usize,
    /// Whether these are all states that any output reaches, so that no mask is computed again while they are cached.
    pub is_complete: bool,
}

impl CompiledConstraint {
    /// Computes the masks of states breadth first, so that small grammars (choices, enums, small patterns) have all of
    /// them before the first output begins.
    ///
    /// It does nothing for grammars that limit the tokens of their parts. It stops at the limits, or once masks take
    /// half of their memory; masks computed until then stay. Matchers can work in the meantime. [`save`](Self::save)
    /// writes these masks to the file.
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
    /// let report = constraint.warm(&WarmLimits::default())?;
    /// assert_eq!((report.states, report.is_complete), (5, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a limit of the automata is exceeded. The constraint stays usable.
    pub fn warm(&self, limits: &WarmLimits) -> Result<WarmReport, MatcherError> {
        let begun = Instant::now();
        // The number of tokens left is part of the state, so the states found first are seldom those requested later.
        let most = match self.program().limits_tokens() {
            true => 0,
            false => limits.states.min(WarmLimits::MOST_STATES),
        };
        let states = self.states();
        let mut search = Search::new(&self.visit(&states));
        let mut done = 0;
        while done < search.steps.len() && search.is_going_on {
            // The states found so far are expanded in parallel, and the results are added in order, so the search is
            // the same for any number of threads.
            let look = |step: &Step| {
                let is_over = begun.elapsed() > limits.time || states.masks.is_half_full();
                let is_current = self.states_with_room()?.epoch == states.epoch;
                match is_over || !is_current {
                    true => Ok(None),
                    false => Found::new(step.state, &self.visit(&states)).map(Some),
                }
            };
            let next = &search.steps[done..search.steps.len().min(most)];
            let found: Vec<Result<Option<Found>, LimitExceeded>> = match next {
                [] => break,
                [one] => vec![look(one)],
                _ => next.par_iter().map(look).collect(),
            };
            for found in found {
                let Some(found) = found? else {
                    search.is_going_on = false;
                    break;
                };
                search.add(done, found, most);
                done += 1;
            }
        }
        let report = WarmReport {
            states: done,
            is_complete: search.is_complete && done == search.steps.len(),
        };
        search.steps.truncate(done);
        *states.steps() = search.steps;
        Ok(report)
    }
}

/// What is found from a state.
struct Found {
    /// Where tokens lead: the state, and its sketch.
    after: Vec<(TokenId, SetId, SetId)>,
    /// Whether nothing was skipped.
    is_complete: bool,
}

impl Found {
    /// Computes the mask of a state and finds the states after it. Every byte is a token, and a longer token leads
    /// where its bytes lead.
    fn new(state: SetId, visit: &Visit<'_>) -> Result<Self, LimitExceeded> {
        visit.mask(state)?;
        let shared = visit.shared;
        let mut found = Self {
            after: Vec::new(),
            is_complete: true,
        };
        let mut reach = |token: TokenId| {
            if let Ok(after) = state_after(&visit.network, state, token, shared)? {
                let sketch = visit.network.sketch(after)?;
                found.after.push((token, after, sketch));
            }
            Ok::<(), LimitExceeded>(())
        };
        let first = visit.network.first(state);
        for byte in (0..=u8::MAX).filter(|&byte| first.contains(byte)) {
            match shared.tables.vocabulary().byte_tokens()[usize::from(byte)] {
                Some(token) => reach(token)?,
                // Bytes that occur in no text need no token, but may occur within one.
                None => found.is_complete &= run(&visit.network, state, &[byte])?.is_err(),
            }
        }
        for terminal in visit.network.next_tokens(state).map_err(limit)? {
            let named = &shared.tokens[terminal as usize];
            if let Some(token) = named.first() {
                reach(token)?;
            }
            // Others may lead elsewhere, since their text may match as well.
            found.is_complete &= named.is_one();
        }
        Ok(found)
    }
}

/// A breadth-first search through states.
struct Search {
    /// The states found, earlier ones first.
    steps: Vec<Step>,
    states: FxHashSet<SetId>,
    sketches: FxHashSet<SetId>,
    /// Whether nothing was skipped.
    is_complete: bool,
    is_going_on: bool,
}

impl Search {
    fn new(visit: &Visit<'_>) -> Self {
        let state = visit.network.start();
        Self {
            steps: vec![Step {
                parent: 0,
                token: TokenId(0),
                state,
            }],
            states: FxHashSet::from_iter([state]),
            sketches: FxHashSet::default(),
            is_complete: true,
            is_going_on: true,
        }
    }

    /// Adds what was found from a state.
    fn add(&mut self, from: usize, found: Found, most: usize) {
        self.is_complete &= found.is_complete;
        for (token, state, sketch) in found.after {
            if !self.states.insert(state) {
                continue;
            }
            // States that differ only in a text usually share a mask, so other kinds of states come first.
            if !self.sketches.insert(sketch) || self.steps.len() >= most {
                self.is_complete = false;
                continue;
            }
            self.steps.push(Step {
                parent: from as u32,
                token,
                state,
            });
        }
    }
}
