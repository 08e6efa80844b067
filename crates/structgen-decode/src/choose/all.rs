//! The probability of a text over all the ways of writing it as tokens.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use structgen_vocab::{TokenId, TokenTrie, Vocabulary};

use super::{ChoiceProbability, ChooseError, Runner, distinct, log_add, shares};
use crate::LanguageModel;

/// How far [`all`] goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllLimits {
    /// The most runs of the model.
    pub runs: usize,
    /// It is enough when no more probability than this is open, for all choices together.
    pub tolerance: f64,
}

impl Default for AllLimits {
    /// A thousand runs, or one millionth.
    fn default() -> Self {
        Self {
            runs: 1_000,
            tolerance: 1e-6,
        }
    }
}

/// So many beginnings wait at most: they take memory.
const MOST_OPEN: usize = 1 << 20;

/// A beginning of some choices, as tokens.
struct Open {
    log: f64,
    /// In the order in which they are found, so that equal ones have an order.
    number: usize,
    tokens: Vec<TokenId>,
    /// How many bytes that is.
    length: usize,
    /// The places among the sorted choices of those that begin so.
    low: usize,
    high: usize,
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        let logs = self.log.total_cmp(&other.log);
        logs.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

/// How probable it is that each text follows the prompt, in whichever tokens: a sum over all sequences of tokens that spell it, and, where `ends`
/// has end-of-sequence ids, any of them behind it.
///
/// Beginnings are continued in the order of their probability. What is open when a limit is met bounds what was left out: no text can get more than
/// the beginnings that it has in common with what is open.
///
/// ```
/// use structgen_decode::{MockModel, choose};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// // All single bytes, and "no" as one token: "no" can be written in two ways.
/// let tokens = (0..=255).map(|byte| vec![byte]).chain([b"no".to_vec()]);
/// let vocabulary = Vocabulary::from_tokens(tokens, &[])?;
/// let mut model = MockModel::new(257, 32, []);
/// let limits = choose::AllLimits { tolerance: 0.0, ..Default::default() };
/// let found = choose::all(&mut model, &vocabulary, &[TokenId(5)], &["yes", "no"], &[], &limits)?;
/// assert_eq!(found[1].left_out, 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ChooseError`]: without a prompt or a choice, and where the model fails.
pub fn all<M: LanguageModel>(
    model: &mut M,
    vocabulary: &Vocabulary,
    prompt: &[TokenId],
    choices: &[impl AsRef<str>],
    ends: &[TokenId],
    limits: &AllLimits,
) -> Result<Vec<ChoiceProbability>, ChooseError> {
    if prompt.is_empty() {
        return Err(ChooseError::EmptyPrompt);
    }
    let texts: Vec<&[u8]> = { choices.iter() }
        .map(|choice| choice.as_ref().as_bytes())
        .collect();
    if texts.is_empty() {
        return Err(ChooseError::NoChoices);
    }
    let (sorted, places) = distinct(&texts);
    let mut runner = Runner::new(model)?;
    let mut complete = vec![f64::NEG_INFINITY; sorted.len()];
    let mut open: BinaryHeap<Open> = BinaryHeap::new();
    let mut number = 0;
    // How much probability is open, about.
    let mut mass: f64 = 0.0;
    // Takes up a beginning: what is a whole choice already, and what can still become one.
    let mut add = |beginning: Open, complete: &mut [f64], open: &mut BinaryHeap<Open>| -> f64 {
        let Open { low, high, log, .. } = beginning;
        let is_whole = sorted[low].len() == beginning.length;
        if is_whole && ends.is_empty() {
            complete[low] = log_add(complete[low], log);
        }
        let is_open = high - low > usize::from(is_whole) || (is_whole && !ends.is_empty());
        if !is_open || log == f64::NEG_INFINITY {
            return 0.0;
        }
        open.push(Open {
            number,
            ..beginning
        });
        number += 1;
        log.exp()
    };
    let start = Open {
        log: 0.0,
        number: 0,
        tokens: prompt.to_vec(),
        length: 0,
        low: 0,
        high: sorted.len(),
    };
    mass += add(start, &mut complete, &mut open);
    let mut runs = 0;
    while runs < limits.runs && open.len() < MOST_OPEN {
        if mass <= limits.tolerance {
            // What was added and taken away is not quite what is there.
            mass = open.iter().map(|open| open.log.exp()).sum();
            if mass <= limits.tolerance {
                break;
            }
        }
        let Some(next) = open.pop() else { break };
        mass -= next.log.exp();
        runs += 1;
        let found = runner.behind(&next.tokens, |distribution| {
            if !ends.is_empty() && sorted[next.low].len() == next.length {
                let log = next.log + distribution.log_of_any(ends);
                complete[next.low] = log_add(complete[next.low], log);
            }
            let behind = continuations(vocabulary.trie(), &sorted, &next);
            let with_log = behind.into_iter().map(|(token, length, low, high)| {
                let log = next.log + distribution.log(token);
                (token, log, length, low, high)
            });
            with_log.collect::<Vec<_>>()
        })?;
        for (token, log, length, low, high) in found {
            let mut tokens = next.tokens.clone();
            tokens.push(token);
            let beginning = Open {
                log,
                number: 0,
                tokens,
                length,
                low,
                high,
            };
            mass += add(beginning, &mut complete, &mut open);
        }
    }
    // What is open counts for every choice that begins so, but where it is one already that has been counted.
    let mut left_out = vec![0.0; sorted.len()];
    for open in open {
        let counted = ends.is_empty() && sorted[open.low].len() == open.length;
        for left_out in &mut left_out[open.low + usize::from(counted)..open.high] {
            *left_out += open.log.exp();
        }
    }
    let found: Vec<(f64, f64)> = complete.into_iter().zip(left_out).collect();
    let found = shares(&found);
    Ok(places.into_iter().map(|place| found[place]).collect())
}

/// The tokens that a beginning goes on with towards a choice: with each how many bytes there are then, and which choices begin so.
fn continuations(
    trie: &TokenTrie,
    sorted: &[&&[u8]],
    from: &Open,
) -> Vec<(TokenId, usize, usize, usize)> {
    let mut found = Vec::new();
    let mut open = vec![(TokenTrie::ROOT, from.length, from.low, from.high)];
    while let Some((node, length, low, high)) = open.pop() {
        let mut start = low + usize::from(sorted[low].len() == length);
        while start < high {
            let byte = sorted[start][length];
            let same = sorted[start..high].partition_point(|text| text[length] == byte);
            if let Some(child) = trie.child(node, byte) {
                let place = (length + 1, start, start + same);
                let tokens = trie.tokens(child).iter();
                found.extend(tokens.map(|&token| (token, place.0, place.1, place.2)));
                open.push((child, place.0, place.1, place.2));
            }
            start += same;
        }
    }
    found
}
