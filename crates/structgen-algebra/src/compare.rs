//! Compares the languages of two grammars, with a text that distinguishes them.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use structgen_automata::SetId;
use structgen_grammar::Grammar;

use crate::automaton::{Automaton, Step, readable};
use crate::error::over;
use crate::{AlgebraError, AlgebraLimits};

/// One of two grammars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    First,
    /// The second.
    Second,
}

/// A text that matches only one of two grammars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The text; usually, but not always, one of the shortest.
    pub text: Vec<u8>,
    /// The grammar that it matches.
    pub fits: Side,
}

/// Returns a text that matches only one of two grammars, or `None` if they have the same texts.
///
/// Searches pairs of states breadth first, as for two finite automata (Hopcroft and Karp, 1971, without the
/// union-find). This terminates if both grammars are regular. Otherwise a difference is found if there is one within
/// the limits, and equality only if the reachable pairs are exhausted within the limits.
///
/// ```
/// use structgen_algebra::{AlgebraLimits, Side, difference};
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let read = |text| parse(text, &GbnfOptions::default()).unwrap();
/// let (one, other) = (read(r#"root ::= ("a" | "b")*"#), read(r#"root ::= ("a"* "b")* "a"*"#));
/// assert_eq!(difference(&one, &other, &AlgebraLimits::default())?, None);
///
/// let other = read(r#"root ::= ("a" | "b")+"#);
/// let witness = difference(&one, &other, &AlgebraLimits::default())?.expect("they differ");
/// assert_eq!((&*witness.text, witness.fits), (&b""[..], Side::First));
/// # Ok::<(), structgen_algebra::AlgebraError>(())
/// ```
///
/// # Errors
/// If a grammar has token terminals or cannot be compiled, or a limit is exceeded.
pub fn difference(
    first: &Grammar,
    second: &Grammar,
    limits: &AlgebraLimits,
) -> Result<Option<Witness>, AlgebraError> {
    search(first, second, limits, true)
}

/// Returns a text that matches the first grammar but not the second, or `None` if every text of the first matches the
/// second.
///
/// # Errors
/// As [`difference`].
pub fn only_in(
    first: &Grammar,
    second: &Grammar,
    limits: &AlgebraLimits,
) -> Result<Option<Vec<u8>>, AlgebraError> {
    let witness = search(first, second, limits, false)?;
    Ok(witness.map(|witness| witness.text))
}

/// A pair of states; `None` if the text so far begins none of the grammar's texts.
type Pair = (Option<SetId>, Option<SetId>);

fn search(
    first: &Grammar,
    second: &Grammar,
    limits: &AlgebraLimits,
    both_ways: bool,
) -> Result<Option<Witness>, AlgebraError> {
    // Both automata together stay within the limit.
    let half = AlgebraLimits {
        bytes: limits.bytes / 2,
        ..limits.clone()
    };
    let automaton = |grammar| match Automaton::new(grammar, &half) {
        Err(AlgebraError::Empty) => Ok(None),
        other => other.map(Some),
    };
    let (mut first, mut second) = (automaton(first)?, automaton(second)?);
    let start = (
        first.as_ref().map(Automaton::start),
        second.as_ref().map(Automaton::start),
    );
    let mut from: FxHashMap<Pair, Option<(Pair, u8)>> = FxHashMap::from_iter([(start, None)]);
    let mut queue = VecDeque::from([start]);
    while let Some(pair) = queue.pop_front() {
        let fits = match pair {
            (None, None) => continue,
            // Only one grammar continues here: any completion distinguishes them.
            (Some(_), None) => Some(Side::First),
            (None, Some(_)) => both_ways.then_some(Side::Second),
            (Some(one), Some(other)) => {
                match (accepts(&mut first, one)?, accepts(&mut second, other)?) {
                    (true, false) => Some(Side::First),
                    (false, true) if both_ways => Some(Side::Second),
                    _ => None,
                }
            }
        };
        if let Some(fits) = fits {
            let mut text = path(&from, pair);
            let (automaton, state) = match fits {
                Side::First => (&mut first, pair.0),
                Side::Second => (&mut second, pair.1),
            };
            if let (Some(automaton), Some(state)) = (automaton, state) {
                text.extend(automaton.complete(state)?);
            }
            return Ok(Some(Witness { text, fits }));
        }
        if pair.0.is_none() {
            continue;
        }
        for (byte, next) in steps(&mut first, &mut second, pair)? {
            if from.contains_key(&next) {
                continue;
            }
            if from.len() >= limits.states {
                return Err(over("pairs of states that are compared", limits.states));
            }
            from.insert(next, Some((pair, byte)));
            queue.push_back(next);
        }
    }
    Ok(None)
}

fn accepts(automaton: &mut Option<Automaton>, state: SetId) -> Result<bool, AlgebraError> {
    match automaton {
        Some(automaton) => automaton.accepts(state),
        None => Ok(false),
    }
}

/// The text that leads to a pair.
fn path(from: &FxHashMap<Pair, Option<(Pair, u8)>>, pair: Pair) -> Vec<u8> {
    let mut text = Vec::new();
    let mut at = pair;
    while let Some(&Some((before, byte))) = from.get(&at) {
        text.push(byte);
        at = before;
    }
    text.reverse();
    text
}

/// The successors of a pair, with the bytes that lead to them.
fn steps(
    first: &mut Option<Automaton>,
    second: &mut Option<Automaton>,
    pair: Pair,
) -> Result<Vec<(u8, Pair)>, AlgebraError> {
    let of = |automaton: &mut Option<Automaton>, state: Option<SetId>| match (automaton, state) {
        (Some(automaton), Some(state)) => automaton.steps(state),
        _ => Ok(Vec::new()),
    };
    let (one, other) = (of(first, pair.0)?, of(second, pair.1)?);
    let mut borders: Vec<u16> = one
        .iter()
        .chain(&other)
        .flat_map(|step| [u16::from(step.low), u16::from(step.high) + 1])
        .collect();
    borders.sort_unstable();
    borders.dedup();
    let lead = |steps: &[Step], byte: u8| {
        let step = steps
            .iter()
            .find(|step| (step.low..=step.high).contains(&byte));
        step.map(|step| step.next)
    };
    let mut found = Vec::new();
    for border in borders.windows(2) {
        let (low, high) = (border[0] as u8, (border[1] - 1) as u8);
        let next = (lead(&one, low), lead(&other, low));
        if next != (None, None) {
            found.push((readable(low, high), next));
        }
    }
    Ok(found)
}
