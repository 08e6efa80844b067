//! Texts of a grammar: a shortest one, and random ones.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use structgen_automata::SetId;
use structgen_grammar::Grammar;

use crate::automaton::{Automaton, Step, rank, readable};
use crate::{AlgebraError, AlgebraLimits};

/// Whether no text matches a grammar. Token terminals count as texts here.
///
/// # Errors
/// If the grammar cannot be compiled, or the limits of the automata do not suffice to decide.
pub fn is_empty(grammar: &Grammar, limits: &AlgebraLimits) -> Result<bool, AlgebraError> {
    match Automaton::new(grammar, limits) {
        Ok(_) | Err(AlgebraError::Token(_)) => Ok(false),
        Err(AlgebraError::Empty) => Ok(true),
        Err(error) => Err(error),
    }
}

/// A shortest text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortest {
    /// The text; UTF-8 if all texts of the grammar are.
    pub text: Vec<u8>,
    /// Whether it is proven that no text is shorter. If not, a limit was reached, and this is the shortest known text.
    pub is_proven: bool,
}

/// Returns a text of a grammar with the fewest bytes, or `None` if no text matches. Of several bytes that the same
/// texts may follow, it has the most readable one.
///
/// ```
/// use structgen_algebra::{AlgebraLimits, shortest};
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let grammar = parse(r#"root ::= "(" root ")" | [0-9]{3} | "yes""#, &GbnfOptions::default())?;
/// let shortest = shortest(&grammar, &AlgebraLimits::default())?.expect("some text fits");
/// assert_eq!((shortest.text.len(), shortest.is_proven), (3, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the grammar has token terminals or cannot be compiled, or the automata exceed their limits.
pub fn shortest(
    grammar: &Grammar,
    limits: &AlgebraLimits,
) -> Result<Option<Shortest>, AlgebraError> {
    let mut automaton = match Automaton::new(grammar, limits) {
        Err(AlgebraError::Empty) => return Ok(None),
        other => other?,
    };
    let found = match search(&mut automaton, limits.states) {
        // The search was given up, and completing the known text has its own budget of work.
        Err(AlgebraError::Limit(limit)) if !limit.is_cancelled() && !limit.is_timeout() => None,
        found => found?,
    };
    let is_proven = found.is_some();
    let text = match found {
        Some(text) => text,
        None => {
            automaton.begin();
            automaton.complete(automaton.start())?
        }
    };
    Ok(Some(Shortest { text, is_proven }))
}

/// The shortest text; `None` if the limit on states is reached.
fn search(automaton: &mut Automaton, states: usize) -> Result<Option<Vec<u8>>, AlgebraError> {
    let start = automaton.start();
    // How each state was first reached, which takes the fewest bytes.
    let mut from: FxHashMap<SetId, (SetId, u8)> = FxHashMap::default();
    let mut queue = VecDeque::from([(start, 0_u64)]);
    let known = automaton.cost(start)?;
    while let Some((state, length)) = queue.pop_front() {
        if automaton.accepts(state)? {
            let mut text = Vec::new();
            let mut at = state;
            while at != start {
                let (before, byte) = from[&at];
                text.push(byte);
                at = before;
            }
            text.reverse();
            return Ok(Some(text));
        }
        if from.len() > states {
            break;
        }
        if length == known {
            // Everything reached from here is longer than a known text.
            continue;
        }
        for Step { low, high, next } in automaton.steps(state)? {
            if next == start {
                continue;
            }
            let byte = readable(low, high);
            match from.entry(next) {
                Entry::Vacant(entry) => {
                    entry.insert((state, byte));
                    queue.push_back((next, length + 1));
                }
                Entry::Occupied(mut entry) => {
                    let (before, known) = entry.get_mut();
                    if *before == state && rank(byte) < rank(*known) {
                        *known = byte;
                    }
                }
            }
        }
    }
    Ok(None)
}

/// Random texts of a grammar, reproducible by seed.
///
/// At each position, all continuations and the end, if the text may end, are equally likely. This does not make all
/// texts equally likely. Every text is completed, whatever the grammar.
///
/// ```
/// use structgen_algebra::{AlgebraLimits, Sampler};
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let grammar = parse(r#"root ::= "(" root ")" | [0-9]"#, &GbnfOptions::default())?;
/// let mut sampler = Sampler::new(&grammar, 7, &AlgebraLimits::default())?;
/// for _ in 0..10 {
///     let text = sampler.sample(20)?;
///     assert!(text.len() <= 20 && text.len() % 2 == 1);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sampler {
    automaton: Automaton,
    random: u64,
}

impl Sampler {
    /// A sampler for a grammar and a seed. The limit on work applies to each text.
    ///
    /// # Errors
    /// [`AlgebraError::Empty`] if no text matches; also if the grammar has token terminals or cannot be compiled, or
    /// the automata exceed their limits.
    pub fn new(grammar: &Grammar, seed: u64, limits: &AlgebraLimits) -> Result<Self, AlgebraError> {
        Ok(Self {
            automaton: Automaton::new(grammar, limits)?,
            random: seed,
        })
    }

    /// The next text, of at most `longest` bytes; if no known text is that short, of at most the length of the known
    /// one.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn sample(&mut self, longest: u64) -> Result<Vec<u8>, AlgebraError> {
        self.automaton.begin();
        let mut text = Vec::new();
        let mut state = self.automaton.start();
        // At least the cost of the state, so some transition always fits.
        let mut left = longest.max(self.automaton.cost(state)?);
        loop {
            let mut ways: Vec<(SetId, Vec<u8>)> = Vec::new();
            for Step { low, high, next } in self.automaton.steps(state)? {
                if self.automaton.cost(next)? >= left {
                    continue;
                }
                match ways.iter_mut().find(|(known, _)| *known == next) {
                    Some((_, bytes)) => bytes.extend(low..=high),
                    None => ways.push((next, (low..=high).collect())),
                }
            }
            let may_end = self.automaton.accepts(state)?;
            let choices = ways.len() + usize::from(may_end);
            if choices == 0 {
                return Err(AlgebraError::Empty);
            }
            let chosen = self.below(choices);
            let Some((next, bytes)) = ways.into_iter().nth(chosen) else {
                return Ok(text);
            };
            // Prefer printable characters.
            let shown: Vec<u8> = bytes
                .iter()
                .copied()
                .filter(|byte| (b' '..=b'~').contains(byte))
                .collect();
            let bytes = if shown.is_empty() { bytes } else { shown };
            text.push(bytes[self.below(bytes.len())]);
            state = next;
            left -= 1;
        }
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014): the same on every platform.
    fn below(&mut self, n: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}
