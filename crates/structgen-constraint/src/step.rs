//! Steps by tokens.

use structgen_automata::{Call, LimitExceeded, SetId};
use structgen_vocab::TokenId;

use crate::error::limit;
use crate::shared::Shared;
use crate::walk::run;

/// How a state is reached: by a token from an earlier state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The index of the earlier state; meaningless for the first, which is the start.
    pub(crate) parent: u32,
    pub(crate) token: TokenId,
    pub(crate) state: SetId,
}

/// Returns the state after a token, or the offset of its first byte that is not accepted.
pub(crate) fn state_after(
    network: &Call<'_>,
    state: SetId,
    token: TokenId,
    shared: &Shared,
) -> Result<Result<SetId, usize>, LimitExceeded> {
    let mut found = SetId::DEAD;
    let mut offset = 0;
    let bytes = shared.tables.vocabulary().token_bytes(token);
    if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
        match run(network, state, bytes)? {
            Ok(state) => found = state,
            Err(at) => offset = at,
        }
    }
    // A token that the grammar names matches its terminal; if its text matches as well, both readings continue.
    let named = shared.tokens.iter().enumerate();
    for (terminal, _) in named.filter(|(_, named)| named.contains(token)) {
        let state = network.step_token(state, terminal as u32).map_err(limit)?;
        found = network.union(found, state)?;
    }
    if found == SetId::DEAD {
        return Ok(Err(offset));
    }
    // All of its bytes match, but there are not enough tokens left for what is missing.
    let begun = network.begin_token(found).map_err(limit)?;
    Ok(match begun.state {
        SetId::DEAD => Err(bytes.map_or(0, <[u8]>::len)),
        state => Ok(state),
    })
}
