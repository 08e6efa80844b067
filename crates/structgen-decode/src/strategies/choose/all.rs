//! The probability of a text over all of its tokenizations: a search, most probable prefix first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use structgen_vocab::{TokenId, TokenTrie};

use super::{Distinct, Distribution, log_add};
use crate::demand::{Demand, Given, Text};
use crate::task::{Context, Task, TaskSize};
use crate::{FinishReason, GenerateError, Outputs};

/// When to end the search over all tokenizations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllLimits {
    /// Maximum number of model runs.
    pub runs: usize,
    /// Stop once at most this share of the probability found is open, over all choices together. Choices are told apart
    /// however improbable they are.
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

/// Maximum number of open prefixes, which bounds their memory.
const MOST_OPEN: usize = 1 << 20;

/// A prefix of some choices, as tokens.
struct Beginning {
    log: f64,
    /// The order of discovery, which breaks ties.
    number: usize,
    /// Starts with those of the prompt.
    tokens: Vec<TokenId>,
    /// The bytes of its text, and the choices that start with them.
    text: Prefix,
}

/// A number of first bytes, and the range of the sorted choices that share them.
#[derive(Clone, Copy)]
struct Prefix {
    len: usize,
    low: usize,
    high: usize,
}

impl Ord for Beginning {
    fn cmp(&self, other: &Self) -> Ordering {
        let logs = self.log.total_cmp(&other.log);
        logs.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Beginning {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Beginning {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Beginning {}

/// The search. The model's row is cut back to its common prefix with the next one.
pub(super) struct All {
    choices: Distinct<Vec<u8>>,
    ends: Vec<TokenId>,
    limits: AllLimits,
    /// The logarithms of the sorted choices' probabilities, as far as they are summed.
    complete: Vec<f64>,
    open: BinaryHeap<Beginning>,
    /// The number of prefixes opened so far.
    opened: usize,
    /// The approximate probability of all open prefixes.
    open_mass: f64,
    /// The probability found so far.
    found_mass: f64,
    runs: usize,
    /// The prefix to run.
    next: Option<Beginning>,
    /// The tokens in the model's row.
    row: Vec<TokenId>,
    /// The probability left out of each sorted choice, because prefixes exceed the context.
    left_out: Vec<f64>,
    context_length: usize,
    most_tokens: usize,
    is_stopped: bool,
}

impl All {
    pub(super) fn new(
        prompt: Vec<TokenId>,
        texts: &[String],
        ends: Vec<TokenId>,
        limits: AllLimits,
        context_length: usize,
    ) -> Self {
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.clone().into_bytes()).collect();
        let choices = Distinct::new(&texts);
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        let high = choices.sorted.len();
        let mut search = Self {
            complete: vec![f64::NEG_INFINITY; high],
            choices,
            ends,
            limits,
            open: BinaryHeap::new(),
            opened: 0,
            open_mass: 0.0,
            found_mass: 0.0,
            runs: 0,
            next: None,
            row: Vec::new(),
            left_out: vec![0.0; high],
            context_length,
            most_tokens: context_length.min(prompt.len() + longest),
            is_stopped: false,
        };
        let (len, low) = (0, 0);
        search.add(0.0, prompt, Prefix { len, low, high });
        search
    }

    fn is_whole(&self, text: Prefix) -> bool {
        self.choices.sorted[text.low].len() == text.len
    }

    /// Adds a prefix: counts it if it is a whole choice, and opens it if it can still become one.
    fn add(&mut self, log: f64, tokens: Vec<TokenId>, text: Prefix) {
        let is_whole = self.is_whole(text);
        let asks_for_end = !self.ends.is_empty();
        if is_whole && !asks_for_end {
            self.find(text, log);
        }
        let is_open = text.high - text.low > usize::from(is_whole) || (is_whole && asks_for_end);
        if !is_open || log == f64::NEG_INFINITY {
            return;
        }
        if tokens.len() > self.context_length {
            self.leave_out(text, log);
            return;
        }
        self.open.push(Beginning {
            log,
            number: self.opened,
            tokens,
            text,
        });
        self.opened += 1;
        self.open_mass += log.exp();
    }

    /// Adds a tokenization of a whole choice.
    fn find(&mut self, text: Prefix, log: f64) {
        let complete = &mut self.complete[text.low];
        *complete = log_add(*complete, log);
        self.found_mass += log.exp();
    }

    /// Leaves a prefix out of every choice that starts with it, except one that it equals and that has been counted.
    fn leave_out(&mut self, text: Prefix, log: f64) {
        let counted = self.ends.is_empty() && self.is_whole(text);
        for left_out in &mut self.left_out[text.low + usize::from(counted)..text.high] {
            *left_out += log.exp();
        }
    }

    fn is_enough(&self) -> bool {
        self.found_mass > 0.0 && self.open_mass <= self.limits.tolerance * self.found_mass
    }

    /// Returns the most probable open prefix, unless the search may stop.
    fn pop(&mut self) -> Option<Beginning> {
        if self.runs >= self.limits.runs || self.open.len() >= MOST_OPEN {
            return None;
        }
        if self.is_enough() {
            // Sum anew: rounding errors accumulate in the running sum.
            self.open_mass = self.open.iter().map(|open| open.log.exp()).sum();
            if self.is_enough() {
                return None;
            }
        }
        let next = self.open.pop()?;
        self.open_mass -= next.log.exp();
        self.runs += 1;
        Some(next)
    }
}

impl Task for All {
    fn advance(
        &mut self,
        _: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        if self.is_stopped {
            return Ok(());
        }
        self.next = self.pop();
        if let Some(next) = &self.next {
            let pairs = self.row.iter().zip(&next.tokens);
            let common = pairs.take_while(|(own, other)| own == other).count();
            // The last token is run again, for its logits.
            let keep = common.min(next.tokens.len() - 1);
            demands.push(Demand::row(
                Text::Main,
                keep,
                next.tokens[keep..].to_vec(),
                1,
            ));
            self.row.clone_from(&next.tokens);
        }
        Ok(())
    }

    fn give(&mut self, cx: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let [output] = given.rows else {
            return Ok(());
        };
        if !given.is_done {
            return Ok(());
        }
        let Some(from) = self.next.take() else {
            return Ok(());
        };
        let distribution = Distribution::new(output.last(), from.tokens.len())?;
        if !self.ends.is_empty() && self.is_whole(from.text) {
            self.find(from.text, from.log + distribution.log_of_any(&self.ends));
        }
        let trie = cx.codec.vocabulary.trie();
        for (token, text) in continuations(trie, &self.choices.sorted, from.text) {
            let tokens = [&from.tokens[..], &[token]].concat();
            self.add(from.log + distribution.log(token), tokens, text);
        }
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.most_tokens;
        TaskSize::new(1, tokens)
    }

    /// What is still open counts as left out.
    fn stop(&mut self, _: FinishReason) {
        self.is_stopped = true;
        self.open.extend(self.next.take());
    }

    fn finish(mut self: Box<Self>, _: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        for open in std::mem::take(&mut self.open) {
            self.leave_out(open.text, open.log);
        }
        let complete = self.complete.iter().copied();
        let found: Vec<(f64, f64)> = complete.zip(self.left_out).collect();
        Ok(self.choices.report(&found))
    }
}

/// Returns the tokens by which a prefix continues towards a choice, each with the text after it.
fn continuations(trie: &TokenTrie, sorted: &[Vec<u8>], from: Prefix) -> Vec<(TokenId, Prefix)> {
    let mut found = Vec::new();
    let mut open = vec![(TokenTrie::ROOT, from)];
    while let Some((node, Prefix { len, low, high })) = open.pop() {
        let mut start = low + usize::from(sorted[low].len() == len);
        while start < high {
            let byte = sorted[start][len];
            let same = sorted[start..high].partition_point(|text| text[len] == byte);
            if let Some(child) = trie.child(node, byte) {
                let text = Prefix {
                    len: len + 1,
                    low: start,
                    high: start + same,
                };
                found.extend(trie.tokens(child).iter().map(|&token| (token, text)));
                open.push((child, text));
            }
            start += same;
        }
    }
    found
}
