//! A fixed text as a machine.

use crate::bytes::run_between;
use crate::{ByteSet, LimitExceeded, Machine};

/// Matches exactly these bytes; a state is the number of bytes read.
pub(crate) struct LiteralMachine(pub(crate) Box<[u8]>);

impl Machine for LiteralMachine {
    type State = u32;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<u32>, LimitExceeded> {
        Ok(Some(0))
    }

    fn step(&mut self, state: &u32, byte: u8) -> Result<Option<u32>, LimitExceeded> {
        Ok((self.0.get(*state as usize) == Some(&byte)).then_some(state + 1))
    }

    fn equivalent_bytes(&mut self, state: &u32, byte: u8) -> (u8, u8) {
        match self.0.get(*state as usize) {
            Some(next) => run_between(&[*next], byte),
            None => (0, u8::MAX),
        }
    }

    fn first(&mut self, state: &u32) -> Option<ByteSet> {
        let next = self.0.get(*state as usize);
        Some(ByteSet::of(next.map_or(&[], std::slice::from_ref)))
    }

    fn accept(&self, state: &u32) -> Option<u32> {
        self.is_end(state).then_some(0)
    }

    fn is_end(&self, state: &u32) -> bool {
        *state as usize == self.0.len()
    }

    fn cost(&mut self, state: &u32) -> u32 {
        self.0.len() as u32 - state
    }
}
