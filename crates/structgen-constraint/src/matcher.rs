//! One output in progress.

use std::sync::Arc;

use structgen_automata::{Call, CancelToken, LimitExceeded, SetId};
use structgen_grammar::Temperature;
use structgen_vocab::{TokenId, TokenMask};

use crate::error::limit;
use crate::position::Position;
use crate::step::state_after;
use crate::visit::Visit;
use crate::walk::run;
use crate::within::Within;
use crate::{CompiledConstraint, Mask, MatcherError};

/// One output in progress: the tokens accepted, and those that may come next.
///
/// A clone is a fork: changing one does not affect the other. An operation that fails leaves the matcher unchanged.
#[derive(Clone, Debug)]
pub struct Matcher {
    constraint: CompiledConstraint,
    progress: Progress,
    /// Cancels long operations.
    cancel: Option<CancelToken>,
}

/// The state of an output, and its history.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// The epoch of the states that the positions refer to.
    epoch: u64,
    now: Position,
    /// The tokens accepted, each with the position before it.
    history: Vec<(TokenId, Position)>,
}

impl CompiledConstraint {
    /// Returns a matcher at the start of an output.
    #[must_use]
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self.clone())
    }
}

impl Matcher {
    fn new(constraint: CompiledConstraint) -> Self {
        let states = constraint.states();
        let visit = constraint.visit(&states);
        let begun = visit.start();
        let start = begun.unwrap_or(visit.network.start());
        let now = Position::new(&visit.network, start, false).unwrap_or(Position {
            state: start,
            accepting: false,
            is_final: false,
            ended: false,
        });
        let progress = Progress {
            epoch: states.epoch,
            now,
            history: Vec::new(),
        };
        drop(states);
        Self {
            constraint,
            progress,
            cancel: None,
        }
    }

    /// Returns the matcher with a token that cancels its work: once the token is cancelled or its deadline has passed,
    /// operations that take work return an error. A fork has the same token.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
    /// # use structgen_grammar::{GrammarBuilder, JsonForm};
    /// # use structgen_vocab::Vocabulary;
    /// use structgen_constraint::{CancelToken, MatcherError};
    /// # let mut builder = GrammarBuilder::new();
    /// # let root = builder.declare("root");
    /// # let body = builder.bytes("yes");
    /// # builder.define(root, body);
    /// # let grammar = builder.finish(root, JsonForm::generate());
    /// # let vocabulary = Arc::new(Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[])?);
    /// # let tables = Arc::new(VocabularyTables::new(vocabulary));
    /// # let constraint = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
    ///
    /// let token = CancelToken::new();
    /// let mut matcher = constraint.matcher().with_cancel_token(token.clone());
    /// assert!(matcher.mask().is_ok());
    /// token.cancel();
    /// let refused = matcher.mask().unwrap_err();
    /// assert!(matches!(refused, MatcherError::Limit(limit) if limit.is_cancelled()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_cancel_token(self, token: CancelToken) -> Self {
        Self {
            cancel: Some(token),
            ..self
        }
    }

    /// Returns the constraint.
    #[must_use]
    pub fn constraint(&self) -> &CompiledConstraint {
        &self.constraint
    }

    /// Returns the tokens that may come next, as a shared reference: nothing is copied.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn mask(&mut self) -> Result<Arc<Mask>, MatcherError> {
        if self.progress.now.ended {
            let width = self.constraint.vocabulary().len();
            return Ok(Arc::new(Mask::empty(width)));
        }
        self.visit(|visit, progress| Ok(visit.mask(progress.now.state)?))
    }

    /// Runs an operation on the states of the constraint.
    pub(crate) fn visit<T>(
        &mut self,
        ask: impl Fn(&Visit<'_>, &mut Progress) -> Result<T, MatcherError>,
    ) -> Result<T, MatcherError> {
        let Self {
            constraint,
            progress,
            cancel,
        } = self;
        let cancel = cancel.as_ref();
        cancel.map_or(Ok(()), CancelToken::check)?;
        let _meter = constraint.meter();
        let states = constraint.states_with_room()?;
        let visit = constraint.visit(&states).with_cancel_token(cancel);
        let found = progress.enter(&visit).and_then(|()| ask(&visit, progress));
        match found {
            Err(MatcherError::Limit(limit)) if limit.is_of_kept() => {
                constraint.renew(states.epoch, |states| {
                    let visit = constraint.visit(states).with_cancel_token(cancel);
                    let mut renewed = progress.clone();
                    renewed.enter(&visit)?;
                    let found = ask(&visit, &mut renewed)?;
                    *progress = renewed;
                    Ok(found)
                })
            }
            found => found,
        }
    }

    /// Returns the [`mask`](Matcher::mask) if it needs no computation.
    pub(crate) fn known_mask(&mut self) -> Option<Result<Arc<Mask>, MatcherError>> {
        if self.progress.now.ended {
            return Some(self.mask());
        }
        // If tokens are limited, the mask depends on how many are left.
        if self.constraint.program().limits_tokens() {
            return None;
        }
        let states = self.constraint.states_with_room().ok()?;
        let visit = self.constraint.visit(&states);
        self.progress.enter(&visit).ok()?;
        visit.find(self.progress.now.state).ok()?.map(Ok)
    }

    /// Returns the [`mask`](Matcher::mask) if it is cached or may allow one token only.
    ///
    /// `None` means that the mask takes work and allows more than one token, so a model can run in the meantime and no
    /// forced token is missed.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn ready_mask(&mut self) -> Result<Option<Arc<Mask>>, MatcherError> {
        if self.progress.now.ended {
            return self.mask().map(Some);
        }
        self.visit(|visit, progress| {
            let state = progress.now.state;
            // If tokens are limited, an allowed byte need not be an allowed token.
            if !visit.network.program().limits_tokens() {
                if let Some(mask) = visit.find(state)? {
                    return Ok(Some(mask));
                }
                // Every byte is a token, so two bytes are two tokens.
                if let Next::Many = next(&visit.network, state)? {
                    return Ok(None);
                }
            }
            Ok(Some(visit.mask(state)?))
        })
    }

    /// Writes the tokens that may come next to `mask`.
    ///
    /// # Errors
    /// If a limit is exceeded.
    ///
    /// # Panics
    /// If `mask` is not as wide as the vocabulary.
    pub fn fill_mask(&mut self, mask: &mut TokenMask) -> Result<(), MatcherError> {
        self.mask()?.fill(mask);
        Ok(())
    }

    /// Accepts a token, which may be an end-of-sequence id.
    ///
    /// # Errors
    /// If the token is not allowed here, the output has ended, or a limit is exceeded.
    pub fn accept_token(&mut self, token: TokenId) -> Result<(), MatcherError> {
        self.visit(|visit, progress| {
            let after = progress.after(visit, token)?;
            progress.history.push((token, progress.now));
            progress.now = after;
            Ok(())
        })
    }

    /// Returns whether the output may end here.
    #[must_use]
    pub fn is_accepting(&self) -> bool {
        self.progress.now.accepting
    }

    /// Returns whether an end-of-sequence id was accepted, or the output may end here and nothing can follow.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.progress.now.ended || self.progress.now.is_final
    }

    /// Returns whether an end-of-sequence id was accepted.
    pub(crate) fn has_ended(&self) -> bool {
        self.progress.now.ended
    }

    /// Rolls back the last `n` tokens.
    ///
    /// # Errors
    /// If fewer tokens were accepted.
    pub fn rollback(&mut self, n: usize) -> Result<(), MatcherError> {
        let taken = self.progress.history.len();
        if n > taken {
            return Err(MatcherError::RollbackTooFar { asked: n, taken });
        }
        if n > 0 {
            self.progress.now = self.progress.history[taken - n].1;
            self.progress.history.truncate(taken - n);
        }
        Ok(())
    }

    /// Returns the tokens accepted so far.
    pub fn tokens(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.progress.history.iter().map(|&(token, _)| token)
    }

    /// Returns the forced token: the only one that may come next, if there is exactly one.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn forced_token(&mut self) -> Result<Option<TokenId>, MatcherError> {
        let mask = self.mask()?;
        Ok(match mask.list() {
            Some(&[token]) => Some(token),
            _ => None,
        })
    }

    /// Returns the forced text (jump-forward): the next bytes whatever is chosen, up to where the output may end or two
    /// bytes are possible, and at most `most` bytes.
    ///
    /// Nothing is forced where a token terminal may come.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn forced_text(&mut self, most: usize) -> Result<Vec<u8>, MatcherError> {
        if self.progress.now.ended {
            return Ok(Vec::new());
        }
        self.visit(|visit, progress| {
            let network = &visit.network;
            let mut text = Vec::new();
            let mut state = progress.now.state;
            while text.len() < most && !network.is_accepting(state).map_err(limit)? {
                let Next::One(byte, behind) = next(network, state)? else {
                    break;
                };
                if !network.next_tokens(state).map_err(limit)?.is_empty() {
                    break;
                }
                text.push(byte);
                state = behind;
            }
            Ok(text)
        })
    }

    /// Returns a number of tokens in which the output can certainly be completed from here, not counting the
    /// end-of-sequence id; 0 where it may end.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn completion_cost(&mut self) -> Result<u64, MatcherError> {
        if self.progress.now.ended {
            return Ok(0);
        }
        self.visit(|visit, progress| Ok(visit.network.cost(progress.now.state)))
    }

    /// Returns the [`completion_cost`](Matcher::completion_cost) after one more token, without accepting it.
    ///
    /// # Errors
    /// If the token is not allowed here, the output has ended, or a limit is exceeded.
    pub fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, MatcherError> {
        self.visit(|visit, progress| {
            let after = progress.after(visit, token)?;
            Ok(if after.ended {
                0
            } else {
                visit.network.cost(after.state)
            })
        })
    }

    /// Returns the tokens with a [`completion_cost_after`](Matcher::completion_cost_after) of at most `most`, apart
    /// from end-of-sequence ids. Tokens that are not allowed here may be among them.
    ///
    /// Asking for all at once takes much less time than asking for each. Returns `None` if the grammar names or counts
    /// tokens, or the output has ended.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn tokens_within(&mut self, most: u64) -> Result<Option<Arc<TokenMask>>, MatcherError> {
        let program = self.constraint.program();
        if self.progress.now.ended || program.limits_tokens() || self.constraint.names_tokens() {
            return Ok(None);
        }
        self.visit(|visit, progress| {
            let state = progress.now.state;
            if let Some(tokens) = visit.states.known_within(state, most) {
                return Ok(Some(tokens));
            }
            let tokens = Arc::new(Within::new(visit, most).tokens(state)?);
            visit.states.keep_within(state, most, &tokens);
            Ok(Some(tokens))
        })
    }

    /// Returns the temperature that the grammar sets for the next token
    /// ([`Guide::Temperature`](structgen_grammar::Guide)), if any.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn temperature(&mut self) -> Result<Option<f32>, MatcherError> {
        if self.progress.now.ended || !self.constraint.program().sets_temperatures() {
            return Ok(None);
        }
        self.visit(|visit, progress| {
            let found = visit.network.temperature(progress.now.state);
            Ok(found.map_err(limit)?.map(Temperature::get))
        })
    }

    /// Returns the state, for the oracle.
    pub(crate) fn state(&mut self, visit: &Visit<'_>) -> Result<SetId, MatcherError> {
        self.progress.enter(visit)?;
        Ok(self.progress.now.state)
    }
}

impl Progress {
    /// Returns the state after the accepted tokens.
    pub(crate) fn state(&self) -> SetId {
        self.now.state
    }

    /// Recomputes the states if they were dropped.
    fn enter(&mut self, visit: &Visit<'_>) -> Result<(), MatcherError> {
        match self.epoch == visit.states.epoch {
            true => Ok(()),
            false => self.replay(visit),
        }
    }

    #[cold]
    fn replay(&mut self, visit: &Visit<'_>) -> Result<(), MatcherError> {
        let room = visit.room_for_one(visit.states.bytes);
        let start = visit.start()?;
        let mut replayed = Self {
            epoch: visit.states.epoch,
            now: Position::new(&visit.network, start, false)?,
            history: Vec::with_capacity(self.history.len()),
        };
        for &(token, _) in &self.history {
            let after = replayed.after(&visit.again(), token)?;
            replayed.history.push((token, replayed.now));
            replayed.now = after;
        }
        room.check()?;
        *self = replayed;
        Ok(())
    }

    /// Returns the position after a token.
    fn after(&self, visit: &Visit<'_>, token: TokenId) -> Result<Position, MatcherError> {
        if self.now.ended {
            return Err(MatcherError::Finished);
        }
        let shared = visit.shared;
        if self.now.accepting && shared.eos.contains(&token) {
            return Ok(Position {
                accepting: true,
                is_final: true,
                ended: true,
                ..self.now
            });
        }
        if let Some(known) = visit.states.recall(self.now.state, token) {
            return Ok(known);
        }
        match state_after(&visit.network, self.now.state, token, shared)? {
            Ok(found) => {
                let after = Position::new(&visit.network, found, false)?;
                visit.states.remember(self.now.state, token, after);
                Ok(after)
            }
            Err(offset) => Err(MatcherError::TokenRefused { token, offset }),
        }
    }
}

/// Which bytes may come next.
enum Next {
    None,
    /// One byte, and the state after it.
    One(u8, SetId),
    Many,
}

fn next(network: &Call<'_>, state: SetId) -> Result<Next, LimitExceeded> {
    let first = network.first(state);
    let mut next = Next::None;
    for byte in (0..=u8::MAX).filter(|&byte| first.contains(byte)) {
        if let Ok(behind) = run(network, state, &[byte])? {
            match next {
                Next::None => next = Next::One(byte, behind),
                Next::One(..) | Next::Many => return Ok(Next::Many),
            }
        }
    }
    Ok(next)
}
