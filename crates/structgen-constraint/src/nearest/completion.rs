//! Completions: short texts after which an output may end.

use structgen_automata::{ByteSet, SetId};

use super::budget::Budget;
use crate::MatcherError;
use crate::error::limit;

/// The maximum length of a completion, in bytes.
const LONGEST_COMPLETION: usize = 1 << 16;

/// If more bytes than this are possible, the first one that shortens the way is written: trying all of them at every
/// position of a long string takes hundreds of times as long.
const FEW_BYTES: u32 = 16;

/// Returns the bytes of a known completion, each with the state after it. Returns `None` if it is too long, or the
/// budget is spent.
pub(super) fn completion(
    budget: &mut Budget<'_, '_>,
    mut state: SetId,
) -> Result<Option<Vec<(u8, SetId)>>, MatcherError> {
    let visit = budget.visit();
    let mut path = Vec::new();
    loop {
        let cost = visit.network.cost(state);
        if cost == 0 || visit.network.is_accepting(state).map_err(limit)? {
            return Ok(Some(path));
        }
        if budget.is_spent() {
            return Ok(None);
        }
        let first = visit.network.first(state);
        let mut best: Option<(u64, u8, SetId)> = None;
        for byte in bytes(first) {
            if let Some(next) = budget.attempt(state, &[byte])? {
                let next_cost = visit.network.cost(next);
                if best.is_none_or(|(least, ..)| next_cost < least) {
                    best = Some((next_cost, byte, next));
                }
                if next_cost < cost && first.len() > FEW_BYTES {
                    break;
                }
            }
        }
        match best {
            Some((least, byte, next)) if least < cost && path.len() < LONGEST_COMPLETION => {
                path.push((byte, next));
                state = next;
            }
            _ => return Ok(None),
        }
    }
}

/// Returns the bytes of a set, those first that a reader would prefer.
pub(super) fn bytes(set: ByteSet) -> impl Iterator<Item = u8> {
    let mut sorted: Vec<u8> = (0..=u8::MAX).filter(|&byte| set.contains(byte)).collect();
    sorted.sort_by_key(|&byte| kind(byte));
    sorted.into_iter()
}

/// Returns the kind of character that a byte is or begins.
pub(super) fn kind(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 1,
        b'A'..=b'Z' => 2,
        0x21..=0x7E => 3,
        0x80.. => 4,
        b' ' => 5,
        _ => 6,
    }
}
