//! The coarsest partition of states whose members cannot be told apart.

use structgen_grammar::lists::Lists;

use super::State;
use crate::AlgebraError;
use crate::work::WorkCount;

/// A partition of the numbers below some bound into sets, which are split by marking some of their members.
struct Partition {
    /// The numbers, those of one set side by side, marked ones first.
    elements: Vec<u32>,
    /// The index of each number among the elements.
    places: Vec<u32>,
    set_of: Vec<u32>,
    /// Where the elements of each set begin and end.
    bounds: Vec<(u32, u32)>,
    /// The number of marked elements of each set.
    marked: Vec<u32>,
    /// The sets with marked elements.
    touched: Vec<u32>,
}

impl Partition {
    /// One set of all numbers; none if there are no numbers.
    fn new(numbers: u32) -> Self {
        let sets = usize::from(numbers > 0);
        Self {
            elements: (0..numbers).collect(),
            places: (0..numbers).collect(),
            set_of: vec![0; numbers as usize],
            bounds: vec![(0, numbers); sets],
            marked: vec![0; sets],
            touched: Vec::new(),
        }
    }

    fn len(&self) -> usize {
        self.bounds.len()
    }

    fn members(&self, set: usize) -> &[u32] {
        let (begin, end) = self.bounds[set];
        &self.elements[begin as usize..end as usize]
    }

    fn mark(&mut self, number: u32) {
        let set = self.set_of[number as usize] as usize;
        let place = self.places[number as usize];
        let first_unmarked = self.bounds[set].0 + self.marked[set];
        if place < first_unmarked {
            return;
        }
        let other = self.elements[first_unmarked as usize];
        self.elements.swap(place as usize, first_unmarked as usize);
        self.places[other as usize] = place;
        self.places[number as usize] = first_unmarked;
        if self.marked[set] == 0 {
            self.touched.push(set as u32);
        }
        self.marked[set] += 1;
    }

    /// Splits the sets that have both marked and unmarked elements. The smaller part becomes a new set.
    fn split(&mut self) {
        while let Some(set) = self.touched.pop() {
            let set = set as usize;
            let (begin, end) = self.bounds[set];
            let middle = begin + std::mem::take(&mut self.marked[set]);
            if middle == end {
                continue;
            }
            let (kept, new) = match middle - begin <= end - middle {
                true => ((middle, end), (begin, middle)),
                false => ((begin, middle), (middle, end)),
            };
            self.bounds[set] = kept;
            for &number in &self.elements[new.0 as usize..new.1 as usize] {
                self.set_of[number as usize] = self.bounds.len() as u32;
            }
            self.bounds.push(new);
            self.marked.push(0);
        }
    }
}

/// Returns the class of each state and the number of classes: states are in one class if the same texts follow. All
/// states are live.
///
/// Hopcroft's algorithm (1971) for automata without a dead state, as Valmari and Lehtinen (2008) describe it: beside
/// the states, it partitions the transitions by their byte and the class they lead to.
pub(super) fn classes(
    states: &[State],
    work: &mut WorkCount,
) -> Result<(Vec<u32>, usize), AlgebraError> {
    let (sources, targets, labels) = transitions(states, work)?;
    let mut blocks = Partition::new(states.len() as u32);
    for (number, _) in (0..).zip(states).filter(|(_, state)| state.accepts) {
        blocks.mark(number);
    }
    blocks.split();
    let mut cords = Partition::new(sources.len() as u32);
    for label in 0..labels.len() {
        work.spend(labels.of(label).len() as u64)?;
        labels.of(label).iter().for_each(|&it| cords.mark(it));
        cords.split();
    }
    // The first block tells nothing that the others and the labels do not.
    let mut next_block = 1;
    let mut next_cord = 0;
    while next_cord < cords.len() {
        let members = cords.members(next_cord);
        work.spend(members.len() as u64)?;
        members
            .iter()
            .for_each(|&it| blocks.mark(sources[it as usize]));
        blocks.split();
        next_cord += 1;
        while next_block < blocks.len() {
            let mut seen = 0;
            for &state in blocks.members(next_block) {
                let entries = targets.of(state as usize);
                seen += 1 + entries.len();
                entries.iter().for_each(|&it| cords.mark(it));
            }
            work.spend(seen as u64)?;
            cords.split();
            next_block += 1;
        }
    }
    Ok((blocks.set_of, blocks.bounds.len()))
}

/// The size of a transition by one class of bytes, with all lists and sets that it is in.
const TRANSITION: usize = 48;

/// Returns the source of each transition by one class of bytes, the transitions to each state, and those of each class
/// of bytes.
fn transitions(
    states: &[State],
    work: &mut WorkCount,
) -> Result<(Vec<u32>, Lists, Lists), AlgebraError> {
    let mut begins_class = [false; 256];
    for step in states.iter().flat_map(|state| &state.steps) {
        begins_class[usize::from(step.low)] = true;
        if let Some(after) = step.high.checked_add(1) {
            begins_class[usize::from(after)] = true;
        }
    }
    let mut class_of = [0_u32; 256];
    let mut last = 0;
    for (class, begins) in class_of.iter_mut().zip(begins_class) {
        last += u32::from(begins);
        *class = last;
    }
    let (mut sources, mut targets, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for (source, state) in (0..).zip(states) {
        let before = sources.len();
        for step in &state.steps {
            for class in class_of[usize::from(step.low)]..=class_of[usize::from(step.high)] {
                let transition = sources.len() as u32;
                sources.push(source);
                targets.push((step.next, transition));
                labels.push((class, transition));
            }
        }
        work.spend((sources.len() - before) as u64)?;
        work.hold(sources.len() * TRANSITION)?;
    }
    let targets = Lists::new(states.len(), &targets);
    let labels = Lists::new(last as usize + 1, &labels);
    Ok((sources, targets, labels))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::hash::Hash;

    use structgen_automata::CancelToken;

    use super::classes;
    use crate::automaton::{Step, push};
    use crate::dfa::State;
    use crate::work::WorkCount;
    use crate::{AlgebraError, AlgebraLimits};

    /// Splits classes by where their transitions lead until nothing changes (Moore, 1956).
    fn expected(states: &[State]) -> Vec<u32> {
        let mut classes = vec![0; states.len()];
        loop {
            let next = states.iter().zip(&classes).map(|(state, &class)| {
                let step = |byte: u8| {
                    let step = state
                        .steps
                        .iter()
                        .find(|it| (it.low..=it.high).contains(&byte));
                    step.map(|step| classes[step.next as usize])
                };
                (
                    class,
                    state.accepts,
                    (0..=u8::MAX).map(step).collect::<Vec<_>>(),
                )
            });
            let next = numbered(next);
            if next == classes {
                return classes;
            }
            classes = next;
        }
    }

    /// Numbers values in the order in which they first occur.
    fn numbered<T: Eq + Hash>(values: impl Iterator<Item = T>) -> Vec<u32> {
        let mut known = HashMap::new();
        let mut numbers = Vec::new();
        for value in values {
            let next = known.len() as u32;
            numbers.push(*known.entry(value).or_insert(next));
        }
        numbers
    }

    #[test]
    fn classes_are_those_of_a_naive_refinement() {
        let mut seed = 7_u64;
        let mut below = |n: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as u32 % n
        };
        let mut merged = 0;
        for round in 0..400 {
            let count = 1 + below(12);
            let states: Vec<State> = (0..count)
                .map(|_| {
                    let mut steps = Vec::new();
                    let mut low = 0;
                    while low < 250 {
                        let high = low + below(120) as u8 % (255 - low);
                        if below(4) > 0 {
                            push(&mut steps, low, high, below(count.min(4)));
                        }
                        low = high + 1;
                    }
                    if round % 2 == 0 {
                        steps = vec![Step {
                            low: b'a',
                            high: b'b',
                            next: below(count),
                        }];
                    }
                    let accepts = below(3) == 0;
                    State { accepts, steps }
                })
                .collect();
            let mut work = WorkCount::of_parts(&AlgebraLimits::default());
            let (found, number) = classes(&states, &mut work).expect("within the limits");
            let found = numbered(found.into_iter());
            assert_eq!(found, expected(&states), "{states:?}");
            assert_eq!(found.iter().max(), Some(&(number as u32 - 1)));
            merged += usize::from(number < states.len());
        }
        assert!(merged > 50, "{merged}");
    }

    /// `a{0,99999}`, with every state twice.
    fn chain() -> Vec<State> {
        let state = |number: u32| State {
            accepts: true,
            steps: match number {
                0 | 1 => Vec::new(),
                _ => vec![Step {
                    low: b'a',
                    high: b'a',
                    next: number - 1 - number % 2,
                }],
            },
        };
        (0..200_000).map(state).collect()
    }

    #[test]
    fn a_chain_is_no_burden() {
        let mut work = WorkCount::of_parts(&AlgebraLimits::default());
        let (_, number) = classes(&chain(), &mut work).expect("within the limits");
        assert_eq!(number, 100_000);
    }

    #[test]
    fn minimising_ends_at_a_limit_or_if_cancelled() {
        let few = AlgebraLimits {
            work: 1_000,
            ..AlgebraLimits::default()
        };
        let cancel = CancelToken::new();
        cancel.cancel();
        let cancelled = AlgebraLimits {
            cancel: Some(cancel),
            ..AlgebraLimits::default()
        };
        for (limits, is_cancelled) in [(few, false), (cancelled, true)] {
            match classes(&chain(), &mut WorkCount::of_parts(&limits)) {
                Err(AlgebraError::Limit(limit)) => assert_eq!(limit.is_cancelled(), is_cancelled),
                other => panic!("{other:?}"),
            }
        }
    }
}
