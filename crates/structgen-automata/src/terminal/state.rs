//! What is cached of a state.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::{DEAD, TerminalState};

/// A state or row that was not computed.
pub(super) const UNKNOWN: TerminalState = u32::MAX;
/// In place of the label of a state in which no text ends.
pub(super) const NOT_FINAL: u32 = u32::MAX;

/// The number of runs of bytes whose steps a state stores without a row; most states need no more.
pub(super) const FEW_STEPS: usize = 4;

/// A run of bytes and the state to which it leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub(super) low: u8,
    pub(super) high: u8,
    pub(super) next: TerminalState,
}

impl Steps {
    /// Packs into one number the length of the run (0 if there are no steps), its first byte, and the next state.
    #[inline]
    pub(super) fn pack(self) -> u64 {
        let len = u64::from(self.high - self.low) + 1;
        u64::from(self.next) << 32 | u64::from(self.low) << 16 | len
    }

    pub(super) fn unpack(packed: u64) -> Option<Self> {
        let low = (packed >> 16) as u8;
        let last = (packed as u16).checked_sub(1)?;
        Some(Self {
            low,
            high: low + last as u8,
            next: (packed >> 32) as u32,
        })
    }

    /// Returns the next state, if the byte is in the run.
    #[inline]
    pub(super) fn next(packed: u64, byte: u8) -> Option<TerminalState> {
        let at = byte.wrapping_sub((packed >> 16) as u8);
        (u16::from(at) < packed as u16).then_some((packed >> 32) as u32)
    }
}

/// The cached data of a state. It fits a cache line, since each step reads several of these fields.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct State {
    /// The steps, packed, as long as they are few; the used ones come first.
    pub(super) few: [AtomicU64; FEW_STEPS],
    /// The row of the table, or [`UNKNOWN`].
    pub(super) row: AtomicU32,
    /// The label, or [`NOT_FINAL`].
    pub(super) accept: AtomicU32,
    /// The state that accepts the same tokens and forgets whitespace, see [`Machine::abstract_whitespace`].
    pub(super) loose: AtomicU32,
    /// The states that accept the same short tokens, and the same tokens, and forget counters, see
    /// [`Machine::abstract_counters`]. [`UNKNOWN`] if not computed.
    pub(super) relaxed: [AtomicU32; 2],
    /// The index of its span in the list of all spans, or one of the constants below.
    pub(super) span: AtomicU32,
    /// The index in the list of first bytes, or one of [`NOT_ASKED`] and [`UNTRIED`].
    pub(super) first: AtomicU32,
    pub(super) is_end: AtomicBool,
}

/// It was not requested.
pub(super) const NOT_ASKED: u32 = u32::MAX;

/// There is no span.
pub(super) const NO_SPAN: u32 = u32::MAX - 1;

/// The machine knows no span, and none was searched.
pub(super) const NOT_SEARCHED: u32 = u32::MAX - 2;

/// The machine does not know the first bytes, and none was tried.
pub(super) const UNTRIED: u32 = u32::MAX - 2;

impl Default for State {
    /// A state that is not final and about which nothing is known.
    fn default() -> Self {
        Self {
            few: [const { AtomicU64::new(0) }; FEW_STEPS],
            row: AtomicU32::new(UNKNOWN),
            accept: AtomicU32::new(NOT_FINAL),
            loose: AtomicU32::new(DEAD),
            relaxed: [const { AtomicU32::new(UNKNOWN) }; 2],
            span: AtomicU32::new(NOT_ASKED),
            first: AtomicU32::new(NOT_ASKED),
            is_end: AtomicBool::new(false),
        }
    }
}

/// The steps of a state by every byte, as far as they are known.
pub(super) struct Row(pub(super) [AtomicU32; 256]);

impl Default for Row {
    fn default() -> Self {
        Self([const { AtomicU32::new(UNKNOWN) }; 256])
    }
}

pub(super) fn fill(Row(row): &Row, Steps { low, high, next }: Steps) {
    for step in &row[usize::from(low)..=usize::from(high)] {
        step.store(next, Ordering::Release);
    }
}
