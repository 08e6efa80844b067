//! From the grammar IR to byte automata: terminals as DFAs, rules as a recursive transition network with registers.

mod bytes;
mod captures;
mod components;
mod interned;
mod json;
mod limit;
mod literal;
mod literals;
mod machine;
mod network;
pub mod number;
mod program;
mod regular;
mod span;
mod terminal;

/// What a network has to know of the tokens that its states are stepped with, so that it may forget what none of them tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLengths {
    /// The most whitespace in a row.
    pub longest_gap: u16,
    /// The most characters, at least [`SHORT_TEXT`].
    pub most_characters: u32,
}

impl TokenLengths {
    /// Tokens of any length.
    pub const UNKNOWN: Self = Self {
        longest_gap: u16::MAX,
        most_characters: u32::MAX,
    };
}

pub use structgen_regular::{LimitExceeded, SHORT_TEXT};

pub use bytes::{ByteClasses, ByteSet, Ends, Span};
pub use captures::{CapturePiece, CaptureProgram, CaptureSpan};
pub use json::{Utf8, any_string};
pub use limit::{Limits, StepError};
pub use literals::LiteralsPlace;
pub use machine::{Machine, Uniform};
pub use network::{Begun, Element, Frame, Memory, Network, SetId};
pub use program::{GuideRefused, Program, ProgramError};
pub use terminal::{DEAD, START, Terminal, TerminalState};
