//! One of many listed numbers.
//!
//! Their machines run side by side, and the first digits leave few. A state is the list of the numbers that are left;
//! liveness and cost come from the machine of each.

use std::sync::Arc;

use structgen_grammar::{Decimal, NumberForm, NumberSet};

use super::{NumberMachine, NumberState, SIGNIFICANT, with_room};
use crate::bytes::run_between;
use crate::{ByteSet, LimitExceeded, Machine};

/// The automaton of a list of numbers.
pub(crate) struct ListedNumbersMachine {
    machines: Box<[NumberMachine]>,
}

/// The indices of the numbers that are left, each with the state of its machine.
pub(crate) type ListedNumbersState = Arc<[(u32, NumberState)]>;

impl ListedNumbersMachine {
    /// Creates the automaton of the numbers, written in a form.
    pub(crate) fn new(numbers: &[Decimal], form: &NumberForm) -> Result<Self, LimitExceeded> {
        let machines = numbers.iter().map(|number| {
            let set = NumberSet::point(number.clone());
            NumberMachine::new(&set, &with_room(&set, form))
        });
        Ok(Self {
            machines: machines.collect::<Result<_, _>>()?,
        })
    }
}

impl Machine for ListedNumbersMachine {
    type State = ListedNumbersState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<ListedNumbersState>, LimitExceeded> {
        let mut left = Vec::with_capacity(self.machines.len());
        for (place, machine) in (0..).zip(&mut self.machines) {
            left.extend(machine.start()?.map(|state| (place, state)));
        }
        Ok((!left.is_empty()).then(|| left.into()))
    }

    fn step(
        &mut self,
        state: &ListedNumbersState,
        byte: u8,
    ) -> Result<Option<ListedNumbersState>, LimitExceeded> {
        let mut left = Vec::new();
        for &(place, state) in &**state {
            let next = self.machines[place as usize].step(&state, byte)?;
            left.extend(next.map(|state| (place, state)));
        }
        Ok((!left.is_empty()).then(|| left.into()))
    }

    fn accept(&self, state: &ListedNumbersState) -> Option<u32> {
        let mut accepted = { state.iter() }
            .filter_map(|(place, state)| self.machines[*place as usize].accept(state));
        accepted.next()
    }

    fn is_end(&self, state: &ListedNumbersState) -> bool {
        let mut ends =
            { state.iter() }.map(|(place, state)| self.machines[*place as usize].is_end(state));
        ends.all(|ends| ends)
    }

    fn equivalent_bytes(&mut self, _state: &ListedNumbersState, byte: u8) -> (u8, u8) {
        run_between(SIGNIFICANT, byte)
    }

    fn first(&mut self, _state: &ListedNumbersState) -> Option<ByteSet> {
        Some(ByteSet::of(SIGNIFICANT))
    }

    fn owned_bytes(state: &ListedNumbersState) -> usize {
        size_of_val(&**state)
    }

    fn cost(&mut self, state: &ListedNumbersState) -> u32 {
        let costs = state.iter();
        let costs = costs.map(|(place, state)| self.machines[*place as usize].cost(state));
        costs.min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use structgen_grammar::JsonForm;

    use super::*;

    #[test]
    fn a_text_is_one_of_the_numbers_in_any_form() {
        let numbers = ["12", "120", "-0.5", "0"].map(|text| text.parse().expect("a number"));
        let form = JsonForm::exact().numbers;
        let mut machine = ListedNumbersMachine::new(&numbers, &form).expect("few digits");
        let mut read = |text: &str| {
            let mut state = machine.start().expect("no limit")?;
            for byte in text.bytes() {
                let next = machine.step(&state, byte).expect("no limit")?;
                let best = { 0..=u8::MAX }
                    .filter_map(|byte| machine.step(&state, byte).expect("no limit"));
                let best = best.collect::<Vec<_>>().into_iter();
                let best = best.map(|next| machine.cost(&next)).min();
                let cost = machine.cost(&state);
                assert!(cost == 0 || best.is_some_and(|best| best < cost), "{text}");
                state = next;
            }
            Some(machine.accept(&state).is_some())
        };
        for text in ["12", "1.2e1", "120", "12.0", "-0.5", "-5e-1", "0", "-0.0"] {
            assert_eq!(read(text), Some(true), "{text}");
        }
        assert_eq!(read("1"), Some(false));
        for text in ["13", "-12.", "5"] {
            assert_ne!(read(text), Some(true), "{text}");
        }
    }
}
