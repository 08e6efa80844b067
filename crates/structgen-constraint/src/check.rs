//! Checks whole texts, in bounded memory.
//!
//! What a text has read may be needed to its end, such as the keys of an open object, but most is not: after an item of
//! an array, the state is often the one before it. When the states fill their memory, the check keeps the text that it
//! has read **without loops**, which are the parts that lead from a state back to the same state. This text leads to
//! the same state in new states, and takes only what the rest of the check may depend on.

use rustc_hash::FxHashMap;
use structgen_automata::{CancelToken, LimitExceeded, SetId};

use crate::error::limit;
use crate::visit::Visit;
use crate::walk::run;
use crate::{Matcher, MatcherError};

/// Where a text stops matching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The offset of the first byte that does not match; the length of the text if it ends too early.
    pub offset: usize,
    /// The bytes that are allowed there, sorted.
    pub expected: Vec<u8>,
    /// Whether the text could have ended there.
    pub may_end: bool,
}

/// The number of alternatives by which each byte of a text raises the limit on its work.
const WORK_PER_BYTE: u64 = 100;

impl Matcher {
    /// Checks a text from here on, without accepting it. Returns `None` if it matches and the output may end after it,
    /// otherwise where it stops matching. A text has no tokens, so limits on tokens do not apply.
    ///
    /// The states of a text of any length take about one and a half times
    /// [`state_bytes`](crate::ConstraintOptions::state_bytes) at most; some 70,000 states are allowed whatever they
    /// take. A text whose end depends on more of them exceeds a limit.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn check_text(&mut self, text: &[u8]) -> Result<Option<Refusal>, MatcherError> {
        let mut read = Read::default();
        loop {
            match self.visit(|visit, progress| read.go_on(visit, progress.state(), text))? {
                Outcome::Checked(refusal) => return Ok(refusal),
                Outcome::Full(longer) => read = longer,
            }
        }
    }
}

/// How far a text was read.
#[derive(Default)]
struct Read {
    bytes: usize,
    /// The work so far.
    work: u64,
    /// The state there, with the epoch of the states; `None` before the first byte.
    state: Option<(u64, SetId)>,
    /// The bytes that were read, without loops, as of when the states were last full.
    route: Vec<u8>,
}

enum Outcome {
    Checked(Option<Refusal>),
    /// The states are full.
    Full(Read),
}

impl Read {
    /// Reads on from `start`, the state before the text, until the text ends or the states are full.
    fn go_on(&self, visit: &Visit<'_>, start: SetId, text: &[u8]) -> Result<Outcome, MatcherError> {
        let limits = visit.network.program().limits();
        let most_work = { limits.text_work }.saturating_add(WORK_PER_BYTE * text.len() as u64);
        let mut work = self.work;
        let mut state = match self.state {
            None => start,
            Some((epoch, state)) if epoch == visit.states.epoch => state,
            Some(_) => again(visit, start, &self.route, &mut work)?,
        };
        let mut gauge = visit.states.gauge(most_bytes(visit));
        for at in self.bytes..text.len() {
            let visit = visit.again();
            let stepped = run(&visit.network, state, &text[at..=at])?;
            work += visit.network.work();
            if work > most_work {
                let what = "alternatives looked at for one text";
                return Err(LimitExceeded {
                    what,
                    limit: most_work,
                }
                .into());
            }
            check_between(&visit, at)?;
            match stepped {
                Ok(next) => state = next,
                Err(_) => return Ok(Outcome::Checked(Some(refusal(&visit, state, at)?))),
            }
            if gauge.is_full() {
                let read = self.route.iter().chain(&text[self.bytes..=at]);
                return Ok(Outcome::Full(Self {
                    bytes: at + 1,
                    work,
                    state: Some((visit.states.epoch, state)),
                    route: without_loops(&visit, start, read)?,
                }));
            }
        }
        let refusal = match visit.network.is_accepting(state).map_err(limit)? {
            true => None,
            false => Some(refusal(visit, state, text.len())?),
        };
        Ok(Outcome::Checked(refusal))
    }
}

/// Returns the limit on the bytes of the states: more than they may take otherwise, since a text that needs nearly all
/// of these would do little else than be read again.
fn most_bytes(visit: &Visit<'_>) -> usize {
    visit.states.bytes.saturating_add(visit.states.bytes / 2)
}

/// Returns the state after bytes that lead to it, and adds the work of reading them.
fn again(
    visit: &Visit<'_>,
    start: SetId,
    route: &[u8],
    work: &mut u64,
) -> Result<SetId, MatcherError> {
    let room = visit.room_for_one(most_bytes(visit));
    let mut state = start;
    for (at, byte) in route.iter().enumerate() {
        let visit = visit.again();
        state = taken(&visit, state, *byte)?;
        *work += visit.network.work();
        check_between(&visit, at)?;
    }
    room.check()?;
    Ok(state)
}

/// Returns the bytes without those that lead from a state back to the same state.
fn without_loops<'b>(
    visit: &Visit<'_>,
    start: SetId,
    bytes: impl Iterator<Item = &'b u8>,
) -> Result<Vec<u8>, MatcherError> {
    let mut route = Vec::new();
    // The states on the route, and how many of its bytes lead to each.
    let mut states = vec![start];
    let mut places = FxHashMap::from_iter([(start, 0)]);
    for (at, &byte) in bytes.enumerate() {
        let visit = visit.again();
        let state = taken(&visit, states[route.len()], byte)?;
        check_between(&visit, at)?;
        match places.get(&state) {
            Some(&place) => {
                for gone in states.drain(place + 1..) {
                    places.remove(&gone);
                }
                route.truncate(place);
            }
            None => {
                route.push(byte);
                states.push(state);
                places.insert(state, route.len());
            }
        }
    }
    Ok(route)
}

/// Returns the state after a byte that was accepted before.
fn taken(visit: &Visit<'_>, state: SetId, byte: u8) -> Result<SetId, MatcherError> {
    run(&visit.network, state, &[byte])?.map_err(|_| MatcherError::Inconsistent { byte })
}

/// Returns the refusal of the byte at an offset, or of the end of the text.
fn refusal(visit: &Visit<'_>, state: SetId, offset: usize) -> Result<Refusal, LimitExceeded> {
    let mut expected = Vec::new();
    for byte in 0..=u8::MAX {
        if run(&visit.network, state, &[byte])?.is_ok() {
            expected.push(byte);
        }
    }
    Ok(Refusal {
        offset,
        expected,
        may_end: visit.network.is_accepting(state).map_err(limit)?,
    })
}

/// Checks now and then whether the operation was cancelled.
fn check_between(visit: &Visit<'_>, at: usize) -> Result<(), LimitExceeded> {
    let token: Option<&CancelToken> = visit.network.cancel_token();
    token.map_or(Ok(()), |token| {
        token.check_between(at as u64, at as u64 + 1)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use structgen_frontend::gbnf::{self, GbnfOptions};
    use structgen_vocab::Vocabulary;

    use super::*;
    use crate::{CompiledConstraint, ConstraintOptions, VocabularyTables};

    #[test]
    fn a_byte_that_new_states_refuse_is_an_error() {
        let vocabulary = Vocabulary::from_tokens((0..=u8::MAX).map(|byte| vec![byte]), &[]);
        let tables = Arc::new(VocabularyTables::new(Arc::new(vocabulary.unwrap())));
        let grammar = gbnf::parse(r#"root ::= "ab"*"#, &GbnfOptions::default()).unwrap();
        let options = ConstraintOptions::default();
        let constraint = CompiledConstraint::new(grammar, &tables, &options).unwrap();
        let go_on = |route: &[u8]| {
            constraint.matcher().visit(|visit, progress| {
                let read = Read {
                    state: Some((visit.states.epoch + 1, progress.state())),
                    route: route.to_vec(),
                    ..Read::default()
                };
                read.go_on(visit, progress.state(), b"b")
            })
        };
        assert!(matches!(go_on(b"a"), Ok(Outcome::Checked(None))));
        let refused = MatcherError::Inconsistent { byte: b'c' };
        assert_eq!(go_on(b"ac").err(), Some(refused));
    }
}
