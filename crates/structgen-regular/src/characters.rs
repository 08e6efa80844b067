//! Sets of characters as automata over the bytes of UTF-8.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex_syntax::utf8::{Utf8Range, Utf8Sequence, Utf8Sequences};
use rustc_hash::FxHashMap;
use structgen_grammar::CharSet;

use super::finite::{FiniteState, FiniteStates, Transition, push_transition};

/// The minimal automaton of a set of characters, independent of any machine.
#[derive(Debug)]
struct Template {
    states: FiniteStates,
    start: FiniteState,
}

/// Sets with more ranges than this are cached for the whole process.
const LARGE: usize = 16;
/// The maximum number of cached sets. Later ones are built where they are needed.
const REMEMBERED: usize = 1_024;

static TEMPLATES: LazyLock<Mutex<FxHashMap<CharSet, Arc<Template>>>> =
    LazyLock::new(Mutex::default);

/// Adds the automaton of a nonempty set; the strings of the state are the bytes of its characters.
pub(super) fn add(set: &CharSet, states: &mut FiniteStates) -> FiniteState {
    if set.ranges().len() <= LARGE {
        return build(set, states);
    }
    let lock = || TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock().get(set).cloned();
    let template = known.unwrap_or_else(|| {
        let mut own = FiniteStates::new();
        let start = build(set, &mut own);
        let template = Arc::new(Template { states: own, start });
        let mut templates = lock();
        if templates.len() < REMEMBERED {
            templates.insert(set.clone(), Arc::clone(&template));
        }
        template
    });
    import(&template, states)
}

/// Copies a template state by state; targets are stored before their sources.
fn import(template: &Template, states: &mut FiniteStates) -> FiniteState {
    let mut ids: Vec<FiniteState> = Vec::with_capacity(template.start.0 as usize + 1);
    let mut transitions: Vec<Transition> = Vec::new();
    for index in 0..=template.start.0 {
        let source = FiniteState(index);
        transitions.clear();
        transitions.extend(
            template
                .states
                .transitions(source)
                .iter()
                .map(|transition| Transition {
                    next: ids[transition.next.0 as usize],
                    ..*transition
                }),
        );
        ids.push(states.intern(template.states.accepts(source), &transitions));
    }
    let start = ids[template.start.0 as usize];
    states.set_utf8(start);
    start
}

fn build(set: &CharSet, states: &mut FiniteStates) -> FiniteState {
    let mut sequences: Vec<Utf8Sequence> = Vec::new();
    for &(low, high) in set.ranges() {
        sequences.extend(Utf8Sequences::new(low, high));
    }
    let start = subtree(&sequences, 0, states);
    states.set_utf8(start);
    start
}

/// Returns the state for the sequences without their first `depth` bytes. Sequences are sorted, and two byte ranges at
/// one position are equal or disjoint, since their characters are disjoint. The depth is at most four.
fn subtree(sequences: &[Utf8Sequence], depth: usize, states: &mut FiniteStates) -> FiniteState {
    let mut transitions: Vec<Transition> = Vec::new();
    for group in sequences.chunk_by(|left, right| range(left, depth) == range(right, depth)) {
        let Utf8Range { start, end } = range(&group[0], depth);
        let next = if group[0].len() == depth + 1 {
            FiniteStates::EMPTY
        } else {
            subtree(group, depth + 1, states)
        };
        push_transition(&mut transitions, start, end, next);
    }
    states.intern(false, &transitions)
}

fn range(sequence: &Utf8Sequence, depth: usize) -> Utf8Range {
    sequence.as_slice()[depth]
}
