//! The naive oracle: tries every token, byte by byte.
//!
//! It shares only the automaton with the fast path: no trie, no tables of plain tokens, no sketches, no cached masks.
//! Both must give equal masks, which the tests check.

use structgen_automata::{Call, SetId};
use structgen_vocab::{TokenId, TokenMask};

use crate::error::limit;
use crate::walk::run;
use crate::{Matcher, MatcherError};

/// Returns the epoch and the state of a matcher. Matchers of one constraint in equal states have equal continuations.
///
/// The epoch counts how often the constraint has dropped its states; ids of states are valid within one epoch.
///
/// # Errors
/// If a limit is exceeded.
pub fn state(matcher: &Matcher) -> Result<(u64, SetId), MatcherError> {
    let mut matcher = matcher.clone();
    let constraint = matcher.constraint().clone();
    let states = constraint.states_with_room()?;
    let state = matcher.state(&constraint.visit(&states))?;
    Ok((states.epoch, state))
}

/// Returns the tokens that may come next, by trying them all.
///
/// # Errors
/// If a limit is exceeded.
pub fn mask(matcher: &Matcher) -> Result<TokenMask, MatcherError> {
    let mut matcher = matcher.clone();
    let constraint = matcher.constraint().clone();
    let vocabulary = constraint.vocabulary();
    let mut mask = TokenMask::new(vocabulary.len());
    if matcher.is_finished()
        && matcher
            .tokens()
            .last()
            .is_some_and(|token| constraint.eos().contains(&token))
    {
        return Ok(mask);
    }
    let states = constraint.states_with_room()?;
    let visit = constraint.visit(&states);
    let state = matcher.state(&visit)?;
    let network = &visit.network;
    for id in (0..vocabulary.len() as u32).map(TokenId) {
        let bytes = vocabulary.token_bytes(id).unwrap_or_default();
        if let Ok(after) = run(network, state, bytes)?
            && !bytes.is_empty()
            && goes_on(network, after)?
        {
            mask.allow(id);
        }
    }
    for (terminal, named) in constraint.shared().tokens.iter().enumerate() {
        let after = network.step_token(state, terminal as u32)?;
        if goes_on(network, after)? {
            let ids = (0..vocabulary.len() as u32).map(TokenId);
            ids.filter(|&id| named.contains(id))
                .for_each(|id| mask.allow(id));
        }
    }
    if network.is_accepting(state).map_err(limit)? {
        mask.allow_all(constraint.eos());
    }
    Ok(mask)
}

/// Returns whether the output can be completed after a token, within the limits on tokens.
fn goes_on(network: &Call<'_>, after: SetId) -> Result<bool, MatcherError> {
    Ok(network.begin_token(after).map_err(limit)?.state != SetId::DEAD)
}
