//! The naive oracle: every token, byte by byte.
//!
//! It shares the automaton with the fast path and nothing else: no trie, no tables of plain tokens, no sketches, no
//! kept masks. The masks of the two have to be equal; the tests hold the fast path to it.

use structgen_automata::{Call, SetId};
use structgen_vocab::{TokenId, TokenMask};

use crate::store::limit;
use crate::walk::run;
use crate::{Matcher, MatcherError};

/// The state that a matcher is in. Matchers of one constraint that are in equal states go on alike.
///
/// The number counts how often the constraint has thrown its states away: the names of states hold until then.
///
/// # Errors
/// When a limit is exceeded.
pub fn state(matcher: &Matcher) -> Result<(u64, SetId), MatcherError> {
    let mut matcher = matcher.clone();
    let constraint = matcher.constraint().clone();
    let states = constraint.states_with_room()?;
    let state = matcher.state(&constraint.visit(&states))?;
    Ok((states.epoch, state))
}

/// The tokens that may come next, found by trying them all.
///
/// # Errors
/// When a limit is exceeded.
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
        if let Ok(behind) = run(network, state, bytes)?
            && !bytes.is_empty()
            && goes_on(network, behind)?
        {
            mask.allow(id);
        }
    }
    for (terminal, named) in constraint.shared().tokens.iter().enumerate() {
        let behind = network.step_token(state, terminal as u32)?;
        if goes_on(network, behind)? {
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

/// Whether the output can be completed after a token, within the limits of tokens.
fn goes_on(network: &Call<'_>, behind: SetId) -> Result<bool, MatcherError> {
    Ok(network.begin_token(behind).map_err(limit)?.state != SetId::DEAD)
}
