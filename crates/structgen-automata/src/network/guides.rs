//! Guides: limits on the tokens of a part of the output, and temperatures.
//!
//! Only this module knows tokens; all others read bytes. A part with a guide has a frame of its own below it, which
//! waits for its end. Where a token ends, [`Call::begin_token`] counts the next one in all frames whose part it begins
//! in, and drops what can no longer be completed.

use rustc_hash::FxHashSet;
use structgen_grammar::{Guide, Temperature};
use structgen_memo::Memo;

use super::sets::Place;
use super::{Call, Element, Frame, SetId};
use crate::program::{ProcId, Program};
use crate::{LimitExceeded, StepError};

/// A rewritten set that waits below some frame.
#[derive(Clone, Copy, Debug)]
struct Rewritten {
    set: SetId,
    /// Whether some part has no token left.
    gave_up: bool,
    /// The maximum over the parts of the bytes that each still needs.
    needed: u64,
}

/// How sets that wait are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rewrite {
    /// A token begins; the number is that of the bytes missing above.
    Begin(u64),
    /// Counts are forgotten.
    Forget,
}

/// The state in which a token begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The state, or [`SetId::DEAD`] if all parts that continue have no token left.
    pub state: SetId,
    /// The maximum length in bytes of the known completions of limited parts. With fewer tokens left, parts would be
    /// dropped.
    pub needed: u64,
}

/// Caches for sets with guides.
#[derive(Debug, Default)]
pub(super) struct Guided {
    begun: Memo<SetId, Begun>,
    rewritten: Memo<(SetId, Rewrite), Rewritten>,
}

impl Guided {
    pub(super) fn memory(&self) -> usize {
        self.begun.memory() + self.rewritten.memory()
    }
}

impl Call<'_> {
    /// Returns the state after a token begins: the token counts in every limited part, and stacks are dropped whose
    /// known completion has more bytes than tokens are left.
    ///
    /// What has a completion within the limits keeps it: a part that may end here has also ended. From a live state,
    /// some one-byte token leads to another live state. Without limits on tokens, this is the state itself.
    ///
    /// # Errors
    /// If a limit of the network is exceeded, or the step depends on what a sketch omits.
    pub fn begin_token(&self, set: SetId) -> Result<Begun, StepError> {
        if !self.program.limits_tokens() {
            return Ok(Begun {
                state: set,
                needed: 0,
            });
        }
        if let Some(&known) = self.guided.begun.get(&set) {
            return Ok(known);
        }
        let mut found = Vec::new();
        let mut needed = 0;
        let mut todo = self.sets.elements(set).to_vec();
        let mut seen = FxHashSet::default();
        while let Some(element) = todo.pop() {
            if !seen.insert(element) {
                continue;
            }
            let Element { frame, below } = element;
            if !self.sets.is_guided(below) {
                found.push(element);
                continue;
            }
            let missing = self.cost_within(frame, below);
            let under = self.rewrite(below, Rewrite::Begin(missing))?;
            if under.set != SetId::DEAD {
                needed = needed.max(under.needed);
                found.push(Element {
                    frame,
                    below: under.set,
                });
            }
            // The part may have ended just here.
            if under.gave_up && self.accept_label(frame).is_some() {
                let after = self.follow(frame, below)?;
                todo.extend_from_slice(self.sets.elements(after));
            }
        }
        let state = self.intern(found)?;
        let begun = Begun { state, needed };
        Ok(*self.guided.begun.insert(set, begun))
    }

    /// Returns the state as if no token had begun in any part. States that differ only in these counts have it in
    /// common.
    ///
    /// # Errors
    /// If a limit of the network is exceeded.
    pub fn forget_tokens(&self, set: SetId) -> Result<SetId, LimitExceeded> {
        if !self.sets.is_guided(set) {
            return Ok(set);
        }
        let mut elements = self.sets.elements(set).to_vec();
        for element in &mut elements {
            element.below = self.rewrite(element.below, Rewrite::Forget)?.set;
        }
        self.intern(elements)
    }

    /// Rewrites the counts in what waits below a frame. Uses a list instead of recursion, since stacks are as deep as
    /// texts.
    fn rewrite(&self, set: SetId, how: Rewrite) -> Result<Rewritten, LimitExceeded> {
        let program = self.program.clone();
        let mut todo = vec![(set, how)];
        while let Some(&(set, how)) = todo.last() {
            if self.guided.rewritten.get(&(set, how)).is_some() {
                todo.pop();
                continue;
            }
            let mut rewritten = Rewritten {
                set,
                gave_up: false,
                needed: 0,
            };
            if self.sets.is_guided(set) {
                let mut kept = Vec::new();
                let before = todo.len();
                for &Element { frame, below } in self.sets.elements(set) {
                    let Some((frame, needed)) = counted(&program, frame, how) else {
                        rewritten.gave_up = true;
                        continue;
                    };
                    if below == SetId::DEAD {
                        kept.push(Element { frame, below });
                        continue;
                    }
                    let under = match how {
                        Rewrite::Forget => how,
                        Rewrite::Begin(missing) => {
                            let own = self.cost_within(frame, below);
                            let missing = missing.saturating_add(own);
                            // Counts above every limit are equivalent.
                            Rewrite::Begin(missing.min(program.most_tokens() + 1))
                        }
                    };
                    match self.guided.rewritten.get(&(below, under)) {
                        None => todo.push((below, under)),
                        Some(found) => {
                            rewritten.gave_up |= found.gave_up;
                            if found.set != SetId::DEAD {
                                rewritten.needed = rewritten.needed.max(needed).max(found.needed);
                                let below = found.set;
                                kept.push(Element { frame, below });
                            }
                        }
                    }
                }
                if todo.len() > before {
                    continue;
                }
                rewritten.set = self.intern(kept)?;
            }
            self.guided.rewritten.insert((set, how), rewritten);
            todo.pop();
        }
        let rewritten = self.guided.rewritten.get(&(set, how));
        Ok(*rewritten.expect("the list is done with it"))
    }

    /// Returns how many more tokens may begin in the limited part that has the fewest left; `None` outside such parts.
    #[must_use]
    pub fn tokens_left(&self, set: SetId) -> Option<u32> {
        let mut least = None;
        self.for_each_waiting(set, |frame| {
            if let Some(most) = limit_of(&self.program, frame) {
                let left = most.saturating_sub(frame.data);
                least = Some(least.map_or(left, |least: u32| least.min(left)));
            }
            true
        });
        least
    }

    /// Returns the temperature that the grammar sets for the next token: the highest of all parts in which it may
    /// begin, where of nested parts the innermost counts. `None` if it sets none.
    ///
    /// # Errors
    /// If a limit of the network is exceeded, or the step depends on what a sketch omits.
    pub fn temperature(&self, set: SetId) -> Result<Option<Temperature>, StepError> {
        let mut highest = None;
        if !self.program.sets_temperatures() {
            return Ok(highest);
        }
        let mut todo = self.sets.elements(set).to_vec();
        let mut seen = FxHashSet::default();
        while let Some(element) = todo.pop() {
            if !seen.insert(element) {
                continue;
            }
            let Element { frame, below } = element;
            self.for_each_waiting(below, |frame| {
                let own = match frame.place() {
                    Place::Guided(proc) => temperature_of(&self.program, proc),
                    _ => None,
                };
                highest = highest.max(own);
                own.is_none()
            });
            if self.accept_label(frame).is_some() {
                let after = self.follow(frame, below)?;
                todo.extend_from_slice(self.sets.elements(after));
            }
        }
        Ok(highest)
    }

    /// Visits all frames of a set and below it, as long as `go_on` returns true for the frame above.
    fn for_each_waiting(&self, set: SetId, mut go_on: impl FnMut(Frame) -> bool) {
        let mut todo = vec![set];
        let mut seen = FxHashSet::default();
        while let Some(set) = todo.pop() {
            if seen.insert(set) {
                for element in self.sets.elements(set) {
                    if go_on(element.frame) {
                        todo.push(element.below);
                    }
                }
            }
        }
    }
}

/// Returns the rewritten frame, and the number of bytes that its part still needs if its tokens are limited; `None` if
/// too few tokens are left.
fn counted(program: &Program, frame: Frame, how: Rewrite) -> Option<(Frame, u64)> {
    let Some(most) = limit_of(program, frame) else {
        return Some((frame, 0));
    };
    match how {
        Rewrite::Forget => Some((Frame { data: 0, ..frame }, 0)),
        Rewrite::Begin(missing) => {
            let left = most.checked_sub(frame.data).filter(|&left| left > 0)?;
            let data = frame.data + 1;
            (missing <= u64::from(left)).then_some((Frame { data, ..frame }, missing))
        }
    }
}

/// Returns how many tokens may begin in the part that the frame waits for.
fn limit_of(program: &Program, frame: Frame) -> Option<u32> {
    match frame.place() {
        Place::Guided(proc) => match program.proc(proc).guide {
            Some(Guide::MaxTokens(most)) => Some(most),
            _ => None,
        },
        _ => None,
    }
}

fn temperature_of(program: &Program, proc: ProcId) -> Option<Temperature> {
    match program.proc(proc).guide {
        Some(Guide::Temperature(temperature)) => Some(temperature),
        _ => None,
    }
}
