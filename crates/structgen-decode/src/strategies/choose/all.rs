//! The probability of a text over all the ways of writing it as tokens: a search, the most probable beginning first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use structgen_vocab::{TokenId, TokenTrie};

use super::{Distinct, Distribution, log_add};
use crate::task::{Context, Demand, Given, Task, TaskSize, Text};
use crate::{FinishReason, GenerateError, Outputs};

/// How far the search for all tokenizations goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllLimits {
    /// The most runs of the model.
    pub runs: usize,
    /// It is enough when no more than this share of the probability that was found is open, for all choices together. However
    /// improbable they are, they are told apart.
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

/// The most beginnings that wait: they take memory.
const MOST_OPEN: usize = 1 << 20;

/// A beginning of some choices, as tokens.
struct Beginning {
    log: f64,
    /// In the order in which they are found, so that equal ones have an order.
    number: usize,
    /// Those of the prompt first.
    tokens: Vec<TokenId>,
    /// The bytes of its text, and the choices that begin with them.
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

/// The search. The model's row is cut back to what it has in common with the next beginning.
pub(super) struct All {
    choices: Distinct<Vec<u8>>,
    ends: Vec<TokenId>,
    limits: AllLimits,
    /// The logarithms of the probabilities of the sorted choices, as far as they are summed.
    complete: Vec<f64>,
    open: BinaryHeap<Beginning>,
    /// The number of beginnings that were opened.
    opened: usize,
    /// How much probability is open, about.
    open_mass: f64,
    /// How much was found.
    found_mass: f64,
    runs: usize,
    /// The beginning that is run.
    next: Option<Beginning>,
    /// The tokens of the model's row.
    row: Vec<TokenId>,
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

    /// Takes up a beginning: what is a whole choice already, and what can still become one.
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
        self.open.push(Beginning {
            log,
            number: self.opened,
            tokens,
            text,
        });
        self.opened += 1;
        self.open_mass += log.exp();
    }

    /// A way of writing a whole choice.
    fn find(&mut self, text: Prefix, log: f64) {
        let complete = &mut self.complete[text.low];
        *complete = log_add(*complete, log);
        self.found_mass += log.exp();
    }

    fn is_enough(&self) -> bool {
        self.found_mass > 0.0 && self.open_mass <= self.limits.tolerance * self.found_mass
    }

    /// The most probable beginning that is open, unless it is enough.
    fn pop(&mut self) -> Option<Beginning> {
        if self.runs >= self.limits.runs || self.open.len() >= MOST_OPEN {
            return None;
        }
        if self.is_enough() {
            // What was added and taken away is not quite what is left.
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
            // The last one is run again, for its logits.
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
        TaskSize { rows: 1, tokens }
    }

    /// What is open by then counts as left out.
    fn stop(&mut self, _: FinishReason) {
        self.is_stopped = true;
        self.open.extend(self.next.take());
    }

    fn finish(self: Box<Self>, _: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        // What is open counts for every choice that begins so, but where it is one already that has been counted.
        let mut left_out = vec![0.0; self.complete.len()];
        for open in &self.open {
            let counted = self.ends.is_empty() && self.is_whole(open.text);
            for left_out in &mut left_out[open.text.low + usize::from(counted)..open.text.high] {
                *left_out += open.log.exp();
            }
        }
        let found: Vec<(f64, f64)> = self.complete.iter().copied().zip(left_out).collect();
        Ok(self.choices.report(&found))
    }
}

/// The tokens that a beginning continues with towards a choice, each with the text that there is then.
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
