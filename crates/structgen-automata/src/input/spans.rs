//! The spans of an input as a suffix tree over its word starts, built where a walk goes (write-only, top-down:
//! Giegerich and Kurtz, 1995).
//!
//! A node of the tree is an interval of suffixes with a common beginning. To continue from a node, its suffixes are
//! sorted by their next byte, once.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{END, Input, Recognised};
use crate::ByteSet;
use crate::bytes::run_between;

/// Suffixes of an input that begin with the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SpansState {
    low: u32,
    high: u32,
    /// The number of bytes read, which they have in common.
    pub(crate) depth: u32,
}

/// A span that has begun or begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenSpan {
    /// The position up to which it was read.
    pub(crate) position: u32,
    /// It cannot end before this position, since it would be empty or punctuation alone.
    pub(crate) first_end: u32,
}

/// The spans of an input.
#[derive(Debug)]
pub(crate) struct Spans {
    input: Arc<Input>,
    /// The starts of the suffixes; those of a node of the tree are contiguous.
    suffixes: Box<[u32]>,
    /// By node: the next bytes, sorted, and the index of the first suffix with each.
    branches: FxHashMap<SpansState, Box<[(u8, u32)]>>,
    /// A buffer for sorting.
    scratch: Vec<u32>,
}

impl Spans {
    /// Creates the spans of the text, and of strings that were recognised in it.
    pub(crate) fn new(input: Arc<Input>, recognised: Recognised) -> Self {
        let mut suffixes = input.starts.to_vec();
        suffixes.extend_from_slice(match recognised {
            Recognised::None => &[],
            Recognised::Strings => &input.candidate_starts,
            Recognised::OtherNotations => &input.notation_starts,
        });
        Self {
            suffixes: suffixes.into(),
            input,
            branches: FxHashMap::default(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn input(&self) -> &Arc<Input> {
        &self.input
    }

    /// Returns the node before the first byte; `None` if there is no span.
    pub(crate) fn start(&self) -> Option<SpansState> {
        let high = self.suffixes.len() as u32;
        (high > 0).then_some(SpansState {
            low: 0,
            high,
            depth: 0,
        })
    }

    /// Returns the node after one more byte.
    pub(crate) fn step(&mut self, state: SpansState, byte: u8) -> Option<SpansState> {
        if byte == END {
            return None;
        }
        let SpansState { low, high, depth } = state;
        let depth = depth + 1;
        if high - low == 1 {
            return (self.next_byte(state) == byte).then_some(SpansState { low, high, depth });
        }
        let branches = self.branches(state);
        let at = branches
            .binary_search_by_key(&byte, |&(byte, _)| byte)
            .ok()?;
        let high = branches.get(at + 1).map_or(high, |&(_, low)| low);
        let low = branches[at].1;
        Some(SpansState { low, high, depth })
    }

    /// Returns the bytes that continue.
    pub(crate) fn first(&mut self, state: SpansState) -> ByteSet {
        let mut first = ByteSet::default();
        for byte in self.next_bytes(state) {
            first.insert(byte);
        }
        first
    }

    /// Returns the bytes around this one that do not continue; one that does is a run of its own.
    pub(crate) fn equivalent_bytes(&mut self, state: SpansState, byte: u8) -> (u8, u8) {
        let next: Vec<u8> = self.next_bytes(state).collect();
        run_between(&next, byte)
    }

    fn next_bytes(&mut self, state: SpansState) -> impl Iterator<Item = u8> + '_ {
        let (one, many) = match state.high - state.low {
            1 => (Some(self.next_byte(state)), None),
            _ => (None, Some(self.branches(state))),
        };
        let many = many.into_iter().flatten().map(|&(byte, _)| byte);
        one.into_iter().chain(many).filter(|&byte| byte != END)
    }

    /// Returns the positions where the suffixes continue, and from where on they may end.
    pub(crate) fn positions(&self, state: SpansState) -> impl Iterator<Item = OpenSpan> + use<'_> {
        let suffixes = &self.suffixes[state.low as usize..state.high as usize];
        suffixes.iter().map(move |suffix| OpenSpan {
            position: suffix + state.depth,
            first_end: self.first_end(*suffix),
        })
    }

    /// Returns the position before which a span that begins here cannot end.
    #[inline]
    fn first_end(&self, suffix: u32) -> u32 {
        let first = suffix + 1;
        match self.input.bytes[suffix as usize].is_ascii_alphanumeric() {
            true => first,
            false => self.input.borders.first_end(suffix).max(first),
        }
    }

    /// Returns whether a span may end here.
    pub(crate) fn is_end(&self, state: SpansState) -> bool {
        state.depth > 0
            && self
                .positions(state)
                .any(|at| at.position >= at.first_end && self.input.borders.is_end(at.position))
    }

    /// Returns the next byte of the first suffix.
    fn next_byte(&self, state: SpansState) -> u8 {
        self.input.bytes[(self.suffixes[state.low as usize] + state.depth) as usize]
    }

    fn branches(&mut self, state: SpansState) -> &[(u8, u32)] {
        let entry = match self.branches.entry(state) {
            Entry::Occupied(known) => return known.into_mut(),
            Entry::Vacant(entry) => entry,
        };
        let bytes = &self.input.bytes;
        let suffixes = &mut self.suffixes[state.low as usize..state.high as usize];
        let byte = |suffix: u32| bytes[(suffix + state.depth) as usize];
        let first = byte(suffixes[0]);
        if suffixes.iter().all(|&suffix| byte(suffix) == first) {
            return entry.insert([(first, state.low)].into());
        }
        // A counting sort, which is stable.
        let mut counts = [0_u32; 256];
        for &suffix in &*suffixes {
            counts[usize::from(byte(suffix))] += 1;
        }
        let mut branches = Vec::new();
        let mut from = 0;
        for (byte, count) in (0..=u8::MAX).zip(&mut counts) {
            if *count > 0 {
                branches.push((byte, state.low + from));
                from += std::mem::replace(count, from);
            }
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(suffixes);
        for &suffix in &self.scratch {
            let position = &mut counts[usize::from(byte(suffix))];
            suffixes[*position as usize] = suffix;
            *position += 1;
        }
        entry.insert(branches.into())
    }
}
