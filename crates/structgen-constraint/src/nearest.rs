//! Finds a matching text near one that does not match, and completions.
//!
//! A best-first search over pairs of a state and a position in the text; a step keeps, deletes, replaces or inserts a
//! character. Two rules keep it small: edits are tried only after keeping the text was tried, and what is missing
//! altogether (a member, a closing bracket) is inserted along the state's known completion, so that it costs one step
//! rather than one per character. The result always matches, but it is not proven to be the nearest: where many
//! characters are possible, only a few are tried.

mod budget;
mod completion;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_automata::{LimitExceeded, SetId};

use self::budget::Budget;
use self::completion::{bytes, completion, kind};
use crate::error::limit;
use crate::visit::Visit;
use crate::walk::run;
use crate::{Mask, Matcher, MatcherError};

/// A matching text, near one that does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearText {
    /// The text.
    pub text: Vec<u8>,
    /// The number of characters that were inserted, deleted or replaced.
    pub edits: u32,
}

/// The cost of edits. Continuing the previous edit is cheap, because a missing member is one mistake rather than ten.
/// Inserting, which leaves the text as it is, is cheapest.
mod cost {
    pub(super) const INSERT: u32 = 3;
    pub(super) const REPLACE: u32 = 4;
    pub(super) const DELETE: u32 = 5;
    /// Each further character of an insertion or deletion.
    pub(super) const ONE_MORE: u32 = 1;
}

/// The number of characters of progress that are worth a cost of one.
const PROGRESS_PER_COST: u64 = 1;

/// If more characters than this are possible, only a few of them are tried.
const FEW_CHARACTERS: usize = 16;

/// The number of characters that are then tried.
const TRIED_OF_MANY: usize = 3;

/// The number of further steps in search of a nearer text after the first was found.
const MORE_STEPS: u64 = 4_000;

impl Matcher {
    /// Returns a text that matches from here on and is near the given one, found in about `steps` steps of the
    /// automaton, or `None` if none was found. A text that matches is returned as it is.
    ///
    /// The steps also pay for the states that the search adds: about 700 bytes each. At most 64 KiB are inserted at one
    /// position.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
    /// # use structgen_grammar::{GrammarBuilder, JsonForm};
    /// # use structgen_vocab::Vocabulary;
    /// # let mut builder = GrammarBuilder::new();
    /// # let root = builder.declare("root");
    /// # let body = builder.bytes("yellow");
    /// # builder.define(root, body);
    /// # let grammar = builder.finish(root, JsonForm::generate());
    /// # let vocabulary = Arc::new(Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[])?);
    /// # let tables = Arc::new(VocabularyTables::new(vocabulary));
    /// # let constraint = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
    /// // The constraint has one text, "yellow".
    /// let near = constraint.matcher().nearest_text(b"yelow!", 10_000)?.unwrap();
    /// assert_eq!((near.text, near.edits), (b"yellow".to_vec(), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a limit on states or time is exceeded.
    pub fn nearest_text(
        &mut self,
        text: &[u8],
        steps: u64,
    ) -> Result<Option<NearText>, MatcherError> {
        self.visit(|visit, progress| Search::new(visit, text, steps).run(progress.state()))
    }

    /// Returns the bytes of a short known completion of the output so far and the text after it, which may be empty.
    /// `None` if the text does not match, or if its completion is longer than 64 KiB or takes too much work to write.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn completion(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>, MatcherError> {
        self.visit(|visit, progress| {
            let Some(state) = after_text(visit, progress.state(), text)? else {
                return Ok(None);
            };
            let path = completion(&mut Budget::of_one_completion(visit), state)?;
            Ok(path.map(|path| path.into_iter().map(|(byte, _)| byte).collect()))
        })
    }

    /// Returns whether the text may come next, as a prefix of what follows.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn takes_text(&mut self, text: &[u8]) -> Result<bool, MatcherError> {
        self.visit(|visit, progress| Ok(after_text(visit, progress.state(), text)?.is_some()))
    }

    /// Returns the tokens that may come after a text, without accepting it, or `None` if the text does not match.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn mask_after(&mut self, text: &[u8]) -> Result<Option<Arc<Mask>>, MatcherError> {
        self.visit(|visit, progress| {
            let Some(state) = after_text(visit, progress.state(), text)? else {
                return Ok(None);
            };
            let begun = visit.network.begin_token(state).map_err(limit)?;
            Ok(Some(visit.again().mask(begun.state)?))
        })
    }
}

/// Returns the state after a text.
fn after_text(
    visit: &Visit<'_>,
    mut state: SetId,
    text: &[u8],
) -> Result<Option<SetId>, LimitExceeded> {
    for byte in text {
        match run(&visit.again().network, state, std::slice::from_ref(byte))? {
            Ok(next) => state = next,
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(state))
}

/// A node of the search.
#[derive(Clone, Copy)]
struct Node {
    state: SetId,
    /// The index of the next character of the text.
    at: u32,
    cost: u32,
    edits: u32,
    /// The previous node; its own index at the start.
    before: u32,
    edit: Edit,
    /// Whether keeping the next character was tried, so that edits are next.
    is_kept: bool,
}

/// The edit that led to a node.
#[derive(Clone, Copy)]
enum Edit {
    Keep,
    Delete,
    /// Writes these bytes of `written`; whether they replace a character follows from the positions.
    Write {
        from: u32,
        to: u32,
    },
}

/// A character that is possible.
struct Written {
    /// Where it begins in `written`.
    from: u32,
    next: SetId,
    /// Whether it is also tried as an insertion before the next character, not only in its place.
    is_inserted: bool,
}

struct Search<'v, 's> {
    visit: &'v Visit<'s>,
    text: &'v [u8],
    characters: Vec<Range<usize>>,
    budget: Budget<'v, 's>,
    /// The least cost of a state that has no completion of a reasonable length.
    too_long: u64,
    nodes: Vec<Node>,
    /// The least cost of reaching a state at a position.
    reached: FxHashMap<(SetId, u32), u32>,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Bytes that were written, which nodes refer to.
    written: Vec<u8>,
    /// The least cost of a matching text, and the last node on the way to it.
    best: Option<(u32, u32)>,
}

impl<'v, 's> Search<'v, 's> {
    fn new(visit: &'v Visit<'s>, text: &'v [u8], steps: u64) -> Self {
        Self {
            visit,
            text,
            characters: characters(text),
            budget: Budget::new(visit, steps),
            too_long: u64::MAX,
            nodes: Vec::new(),
            reached: FxHashMap::default(),
            queue: BinaryHeap::new(),
            written: Vec::new(),
            best: None,
        }
    }

    fn run(mut self, start: SetId) -> Result<Option<NearText>, MatcherError> {
        self.push(start, 0, 0, 0, 0, Edit::Keep);
        let mut has_fallback = false;
        while let Some(Reverse((_, index))) = self.queue.pop() {
            let node = self.nodes[index as usize];
            if self.budget.is_spent() {
                break;
            }
            let is_old = self.reached.get(&(node.state, node.at)) != Some(&node.cost);
            if is_old || self.is_too_far(node.cost) {
                continue;
            }
            if node.is_kept {
                self.edit(index)?;
            } else if !self.keep(index)? && !has_fallback {
                // The text stops matching here. What matched so far is completed, as a fallback.
                has_fallback = true;
                self.complete(index)?;
            }
        }
        Ok(self.best.map(|(_, node)| NearText {
            text: self.text_of(node),
            edits: self.nodes[node as usize].edits,
        }))
    }

    fn is_too_far(&self, cost: u32) -> bool {
        self.best.is_some_and(|(best, _)| cost >= best)
    }

    /// Adds a node after another, unless its state was reached at that position at the same or a lower cost.
    fn push(&mut self, state: SetId, at: u32, cost: u32, edits: u32, before: u32, edit: Edit) {
        if self.is_too_far(cost) {
            return;
        }
        let known = self.reached.entry((state, at)).or_insert(u32::MAX);
        if *known <= cost {
            return;
        }
        *known = cost;
        let index = self.nodes.len() as u32;
        self.nodes.push(Node {
            state,
            at,
            cost,
            edits,
            before,
            edit,
            is_kept: false,
        });
        self.enqueue(index, cost);
    }

    /// Queues a node at the given cost.
    fn enqueue(&mut self, index: u32, cost: u32) {
        let rest = self.characters.len() as u64 - u64::from(self.nodes[index as usize].at);
        let priority = u64::from(cost) * PROGRESS_PER_COST + rest;
        self.queue.push(Reverse((priority, index)));
    }

    /// Keeps the next character of the text, or ends where the text does; returns whether that was possible.
    fn keep(&mut self, index: u32) -> Result<bool, MatcherError> {
        let node = self.nodes[index as usize];
        let is_kept = match self.characters.get(node.at as usize).cloned() {
            Some(character) => {
                let next = self.budget.step(node.state, &self.text[character])?;
                if let Some(next) = next {
                    self.push(next, node.at + 1, node.cost, node.edits, index, Edit::Keep);
                }
                next.is_some()
            }
            None if self.accepts(node.state)? => {
                self.found(node.cost, index);
                return Ok(true);
            }
            None => false,
        };
        self.nodes[index as usize].is_kept = true;
        self.enqueue(index, node.cost + cost::INSERT);
        Ok(is_kept)
    }

    /// Replaces the next character, deletes it, or inserts something before it.
    fn edit(&mut self, index: u32) -> Result<(), MatcherError> {
        let node = self.nodes[index as usize];
        let has_next = (node.at as usize) < self.characters.len();
        let edits = node.edits + 1;
        let mut written = self.written_characters(node.state, node.at as usize)?;
        // A replacement of the same kind comes first, such as punctuation for punctuation.
        let replaced = self.characters.get(node.at as usize);
        let replaced = replaced.map(|character| kind(self.text[character.start]));
        written.sort_by_key(|it| Some(kind(self.written[it.from as usize])) != replaced);
        for Written {
            from,
            next,
            is_inserted,
        } in written
        {
            let edit = Edit::Write {
                from,
                to: self.end_of(from),
            };
            if is_inserted {
                self.push(next, node.at, node.cost + cost::INSERT, edits, index, edit);
            }
            if has_next {
                let cost = node.cost + cost::REPLACE;
                self.push(next, node.at + 1, cost, edits, index, edit);
            }
        }
        if has_next {
            let cost = node.cost
                + match node.edit {
                    Edit::Delete => cost::ONE_MORE,
                    _ => cost::DELETE,
                };
            self.push(node.state, node.at + 1, cost, edits, index, Edit::Delete);
        }
        // What is missing altogether: every prefix of the known completion.
        if let Some(path) = self.completion(node.state)? {
            self.budget.take_steps(path.len());
            let from = self.written.len() as u32;
            let mut written = 0;
            for (place, &(byte, next)) in path.iter().enumerate() {
                self.written.push(byte);
                let is_whole = path
                    .get(place + 1)
                    .is_none_or(|&(byte, _)| byte & 0xC0 != 0x80);
                written += u32::from(byte & 0xC0 != 0x80);
                if is_whole {
                    let to = self.written.len() as u32;
                    let edit = Edit::Write { from, to };
                    let cost = node.cost + insertion(written);
                    self.push(next, node.at, cost, node.edits + written, index, edit);
                }
            }
        }
        Ok(())
    }

    /// Returns a completion of a state, unless that of a state as far from the end was too long.
    fn completion(&mut self, state: SetId) -> Result<Option<Vec<(u8, SetId)>>, MatcherError> {
        let cost = self.visit.network.cost(state);
        if cost >= self.too_long {
            return Ok(None);
        }
        let found = completion(&mut self.budget, state)?;
        if found.is_none() {
            self.too_long = cost;
        }
        Ok(found)
    }

    /// Deletes the text after a node and completes what is before it.
    fn complete(&mut self, index: u32) -> Result<(), MatcherError> {
        let node = self.nodes[index as usize];
        let Some(path) = self.completion(node.state)? else {
            return Ok(());
        };
        let from = self.written.len() as u32;
        self.written.extend(path.iter().map(|&(byte, _)| byte));
        let to = self.written.len() as u32;
        let inserted = path.iter().filter(|(byte, _)| byte & 0xC0 != 0x80).count() as u32;
        let deleted = self.characters.len() as u32 - node.at;
        let edits = node.edits + inserted + deleted;
        let deletion = match deleted {
            0 => 0,
            _ => cost::DELETE + (deleted - 1) * cost::ONE_MORE,
        };
        let cost = node.cost + insertion(inserted) + deletion;
        let last = self.nodes.len() as u32;
        self.nodes.push(Node {
            state: path.last().map_or(node.state, |&(_, state)| state),
            at: self.characters.len() as u32,
            cost,
            edits,
            before: index,
            edit: Edit::Write { from, to },
            is_kept: true,
        });
        if !self.is_too_far(cost) {
            self.best = Some((cost, last));
        }
        Ok(())
    }

    fn found(&mut self, cost: u32, node: u32) {
        if !self.is_too_far(cost) {
            self.best = Some((cost, node));
        }
        self.budget.keep_steps(MORE_STEPS);
    }

    /// Returns the characters that are possible in a state. Of many it returns a few, and a space if it can replace the
    /// character at a position and the next character can follow it.
    fn written_characters(
        &mut self,
        state: SetId,
        at: usize,
    ) -> Result<Vec<Written>, MatcherError> {
        let first = self.visit.network.first(state);
        let mut found: Vec<Written> = Vec::new();
        let candidates: Vec<u8> = bytes(first).collect();
        let visible = |&byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let only_whitespace = !candidates.iter().any(visible);
        let most = match candidates.len() > FEW_CHARACTERS {
            true => TRIED_OF_MANY,
            false => FEW_CHARACTERS,
        };
        for byte in candidates {
            // Whitespace is rarely what is missing if something else is possible, but a space may have been replaced.
            let is_inserted = found.len() < most && (only_whitespace || visible(&byte));
            if !is_inserted && byte != b' ' || self.budget.is_spent() {
                continue;
            }
            let Some((character, next)) = self.whole_character(state, byte)? else {
                continue;
            };
            if found.iter().any(|it| it.next == next) {
                continue;
            }
            if !is_inserted && !self.takes(next, at + 1)? {
                continue;
            }
            let from = self.written.len() as u32;
            self.written.extend(character);
            found.push(Written {
                from,
                next,
                is_inserted,
            });
        }
        Ok(found)
    }

    /// Returns whether the character at a position of the text is possible.
    fn takes(&mut self, state: SetId, at: usize) -> Result<bool, MatcherError> {
        let Some(character) = self.characters.get(at).cloned() else {
            return Ok(false);
        };
        Ok(self.budget.step(state, &self.text[character])?.is_some())
    }

    /// Returns a character that begins with the byte, and the state after it.
    fn whole_character(
        &mut self,
        state: SetId,
        byte: u8,
    ) -> Result<Option<(Vec<u8>, SetId)>, MatcherError> {
        let length = match byte {
            0x80..=0xBF => return Ok(None),
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0.. => 4,
            _ => 1,
        };
        let Some(mut state) = self.budget.step(state, &[byte])? else {
            return Ok(None);
        };
        let mut character = vec![byte];
        while character.len() < length {
            let mut next = None;
            for byte in bytes(self.visit.network.first(state)) {
                if let Some(found) = self.budget.step(state, &[byte])? {
                    next = Some((byte, found));
                    break;
                }
            }
            let Some((byte, found)) = next else {
                return Ok(None);
            };
            character.push(byte);
            state = found;
        }
        Ok(Some((character, state)))
    }

    /// Returns the end of the character that begins at an offset of `written`.
    fn end_of(&self, from: u32) -> u32 {
        let rest = &self.written[from as usize + 1..];
        let more = rest.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
        from + 1 + more as u32
    }

    fn accepts(&self, state: SetId) -> Result<bool, MatcherError> {
        Ok(self.visit.network.is_accepting(state).map_err(limit)?)
    }

    fn text_of(&self, node: u32) -> Vec<u8> {
        let mut way = Vec::new();
        let mut index = node;
        loop {
            let node = self.nodes[index as usize];
            way.push(node);
            if node.before == index {
                break;
            }
            index = node.before;
        }
        let mut text = Vec::new();
        for pair in way.windows(2).rev() {
            let (node, before) = (pair[0], pair[1]);
            match node.edit {
                Edit::Keep => {
                    for character in &self.characters[before.at as usize..node.at as usize] {
                        text.extend_from_slice(&self.text[character.clone()]);
                    }
                }
                Edit::Delete => {}
                Edit::Write { from, to } => {
                    text.extend_from_slice(&self.written[from as usize..to as usize]);
                }
            }
        }
        text
    }
}

/// Returns the cost of inserting characters at one position.
fn insertion(characters: u32) -> u32 {
    match characters {
        0 => 0,
        _ => cost::INSERT + (characters - 1) * cost::ONE_MORE,
    }
}

/// Returns the characters of a text; each byte that is not UTF-8 counts as one.
fn characters(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::with_capacity(text.len());
    let mut start = 0;
    for chunk in text.utf8_chunks() {
        for (at, character) in chunk.valid().char_indices() {
            found.push(start + at..start + at + character.len_utf8());
        }
        start += chunk.valid().len();
        for _ in chunk.invalid() {
            found.push(start..start + 1);
            start += 1;
        }
    }
    found
}
