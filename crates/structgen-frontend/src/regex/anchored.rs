//! Resolves anchors: what an expression matches depends on whether it is at the start or the end of the text.
//!
//! A match through `^` has consumed nothing before it, since `^` holds at one position only; the same holds for `$` and
//! what follows. An expression is therefore four regular sets, one for each combination of the ends of the text that a
//! match relies on. Every operator is defined on the four. The result is exact, wherever the anchors are:
//! `(^|,)a(,|$)`, `(?:^a|b)*`, `a^`.

use structgen_grammar::{CharSet, Regular};

/// A regular set, and whether it contains the empty string.
#[derive(Clone, Debug)]
struct NullableSet {
    regular: Regular,
    nullable: bool,
}

impl NullableSet {
    const NEVER: Self = Self {
        regular: Regular::Never,
        nullable: false,
    };
    const EMPTY: Self = Self {
        regular: Regular::Empty,
        nullable: true,
    };

    fn is_never(&self) -> bool {
        self.regular == Regular::Never
    }

    /// The empty string if it is in the set, else nothing.
    fn empty_part(&self) -> Self {
        if self.nullable {
            Self::EMPTY
        } else {
            Self::NEVER
        }
    }

    fn then(&self, next: &Self) -> Self {
        Self {
            regular: concat([self.regular.clone(), next.regular.clone()]),
            nullable: self.nullable && next.nullable,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            nullable: self.nullable || other.nullable,
            regular: union([self.regular, other.regular]),
        }
    }

    fn repeat(&self, min: u32, max: Option<u32>) -> Self {
        let regular = match (&self.regular, min, max) {
            (_, _, Some(0)) | (Regular::Empty, _, _) | (Regular::Never, 0, _) => Regular::Empty,
            (Regular::Never, _, _) => Regular::Never,
            (body, 1, Some(1)) => body.clone(),
            (body, _, _) => Regular::repeat(body.clone(), min, max),
        };
        Self {
            regular,
            nullable: min == 0 || self.nullable,
        }
    }
}

/// What an expression matches, by the ends of the text that the match relies on.
#[derive(Clone, Debug)]
pub(super) struct Anchored {
    /// Matches that rely on neither end.
    free: NullableSet,
    /// Matches that must start at the start of the text.
    start: NullableSet,
    /// Matches that must end at the end of the text.
    end: NullableSet,
    /// Matches that rely on both ends.
    both: NullableSet,
}

/// A syntax tree in postorder.
enum Task<'r> {
    Visit(&'r Regular),
    Build(&'r Regular, usize),
}

impl Anchored {
    /// The matches of a tree, if its only look-around is anchors; `None` otherwise. Uses an explicit stack, because
    /// trees nest deeper than the call stack allows.
    pub(super) fn of(tree: &Regular) -> Option<Self> {
        let mut tasks = vec![Task::Visit(tree)];
        let mut values: Vec<Self> = Vec::new();
        let (start, end) = (Regular::anchor(true), Regular::anchor(false));
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(tree) => match tree {
                    Regular::Concat(children) | Regular::Union(children) => {
                        tasks.push(Task::Build(tree, children.len()));
                        tasks.extend(children.iter().rev().map(Task::Visit));
                    }
                    Regular::Repeat { body, .. } => {
                        tasks.push(Task::Build(tree, 1));
                        tasks.push(Task::Visit(body));
                    }
                    Regular::Look { .. } if *tree == start => values.push(Self::START),
                    Regular::Look { .. } if *tree == end => values.push(Self::END),
                    Regular::Look { .. } => return None,
                    Regular::Empty => values.push(Self::EMPTY),
                    Regular::Chars(set) => values.push(Self::chars(set.clone())),
                    // Operands of operators are sets of their own.
                    other @ (Regular::Intersection(_) | Regular::Complement(_)) => {
                        values.push(Self {
                            free: NullableSet {
                                nullable: other.takes_empty(),
                                regular: other.clone(),
                            },
                            ..Self::NEVER
                        });
                    }
                    other => values.push(Self::consuming(other.clone())),
                },
                Task::Build(tree, count) => {
                    let mut parts = values.split_off(values.len() - count);
                    values.push(match tree {
                        Regular::Union(_) => Self::union(parts),
                        &Regular::Repeat { min, max, .. } => parts.swap_remove(0).repeat(min, max),
                        _ => Self::concat(parts),
                    });
                }
            }
        }
        values.pop()
    }

    const EMPTY: Self = Self {
        free: NullableSet::EMPTY,
        ..Self::NEVER
    };
    const START: Self = Self {
        start: NullableSet::EMPTY,
        ..Self::NEVER
    };
    const END: Self = Self {
        end: NullableSet::EMPTY,
        ..Self::NEVER
    };
    const NEVER: Self = Self {
        free: NullableSet::NEVER,
        start: NullableSet::NEVER,
        end: NullableSet::NEVER,
        both: NullableSet::NEVER,
    };

    /// One character of the set.
    fn chars(set: CharSet) -> Self {
        Self::consuming(if set.is_empty() {
            Regular::Never
        } else {
            Regular::Chars(set)
        })
    }

    /// A set without the empty string.
    fn consuming(regular: Regular) -> Self {
        Self {
            free: NullableSet {
                regular,
                nullable: false,
            },
            ..Self::NEVER
        }
    }

    /// Whether no match relies on an end of the text.
    fn is_free(&self) -> bool {
        self.start.is_never() && self.end.is_never() && self.both.is_never()
    }

    /// The concatenation of the parts.
    fn concat(parts: Vec<Self>) -> Self {
        let mut sequences: Vec<Self> = Vec::new();
        let mut run: Vec<Regular> = Vec::new();
        let mut nullable = true;
        let flush = |run: &mut Vec<Regular>, nullable: &mut bool, sequences: &mut Vec<Self>| {
            if !run.is_empty() {
                sequences.push(Self {
                    free: NullableSet {
                        regular: concat(run.drain(..)),
                        nullable: *nullable,
                    },
                    ..Self::NEVER
                });
                *nullable = true;
            }
        };
        for part in parts {
            if part.is_free() {
                nullable &= part.free.nullable;
                run.push(part.free.regular);
            } else {
                flush(&mut run, &mut nullable, &mut sequences);
                sequences.push(part);
            }
        }
        flush(&mut run, &mut nullable, &mut sequences);
        let Some(mut result) = sequences.pop() else {
            return Self::EMPTY;
        };
        while let Some(part) = sequences.pop() {
            result = part.then(&result);
        }
        result
    }

    fn then(&self, next: &Self) -> Self {
        // What `self` may match before a match of `next` that relies on the start: only the empty string.
        let before_start = self.free.nullable;
        let before_start_both = self.start.nullable;
        let after_end = next.free.nullable;
        let after_end_both = next.end.nullable;
        let keep = |condition: bool, set: &NullableSet| {
            if condition {
                set.clone()
            } else {
                NullableSet::NEVER
            }
        };
        let empties = (self.end.nullable || self.both.nullable)
            && (next.start.nullable || next.both.nullable);
        Self {
            free: self.free.then(&next.free),
            start: self
                .start
                .then(&next.free)
                .or(keep(before_start || before_start_both, &next.start)),
            end: self
                .free
                .then(&next.end)
                .or(keep(after_end || after_end_both, &self.end)),
            both: self
                .start
                .then(&next.end)
                .or(keep(before_start || before_start_both, &next.both))
                .or(keep(after_end || after_end_both, &self.both))
                .or(keep(empties, &NullableSet::EMPTY)),
        }
    }

    /// The union of the arms.
    fn union(arms: Vec<Self>) -> Self {
        let part = |pick: fn(&Self) -> &NullableSet| NullableSet {
            regular: union(arms.iter().map(|arm| pick(arm).regular.clone())),
            nullable: arms.iter().any(|arm| pick(arm).nullable),
        };
        Self {
            free: part(|arm| &arm.free),
            start: part(|arm| &arm.start),
            end: part(|arm| &arm.end),
            both: part(|arm| &arm.both),
        }
    }

    /// This, `min` to `max` times.
    fn repeat(&self, min: u32, max: Option<u32>) -> Self {
        let free = self.free.repeat(min, max);
        if self.is_free() || max == Some(0) {
            return Self {
                free,
                ..Self::NEVER
            };
        }
        let less = |by: u32| {
            let fewest = min.saturating_sub(by);
            max.is_none_or(|max| max >= by)
                .then(|| (fewest, max.map(|max| max - by)))
        };
        let counted = |counts: Option<(u32, Option<u32>)>, padded: bool| match counts {
            Some((min, max)) => self.free.repeat(if padded { 0 } else { min }, max),
            None => NullableSet::NEVER,
        };
        // Iterations that match the empty string at an end complete the count without consuming anything.
        let start_pads = self.start.nullable;
        let end_pads = self.end.nullable;
        let pads = start_pads || end_pads || self.free.nullable;
        let one_round = if min <= 1 || pads {
            self.both.clone()
        } else {
            self.both.empty_part()
        };
        let any_empty = pads || self.both.nullable;
        let mut start = self.start.then(&counted(less(1), start_pads));
        if start_pads {
            start = start.or(self.free.repeat(0, max));
        }
        let mut end = counted(less(1), end_pads).then(&self.end);
        if end_pads {
            end = end.or(self.free.repeat(0, max));
        }
        let both = self
            .start
            .then(&counted(less(2), start_pads || end_pads))
            .then(&self.end)
            .or(one_round)
            .or(if any_empty {
                NullableSet::EMPTY
            } else {
                NullableSet::NEVER
            });
        Self {
            free,
            start,
            end,
            both,
        }
    }

    /// The texts in which this matches somewhere.
    pub(super) fn found_anywhere(&self) -> Regular {
        let any = NullableSet {
            regular: Regular::any_text(),
            nullable: true,
        };
        any.then(&self.free)
            .then(&any)
            .or(self.start.then(&any))
            .or(any.then(&self.end))
            .or(self.both.clone())
            .regular
    }

    /// The texts that this matches from start to end.
    pub(super) fn whole(&self) -> Regular {
        union([
            self.free.regular.clone(),
            self.start.regular.clone(),
            self.end.regular.clone(),
            self.both.regular.clone(),
        ])
    }
}

/// A concatenation without redundant nodes: flat, with adjacent bytes joined.
fn concat(parts: impl IntoIterator<Item = Regular>) -> Regular {
    let mut flat: Vec<Regular> = Vec::new();
    let mut bytes: Vec<u8> = Vec::new();
    let mut push = |part: &Regular, flat: &mut Vec<Regular>| match part {
        Regular::Bytes(more) => bytes.extend_from_slice(more),
        other => {
            if !bytes.is_empty() {
                flat.push(Regular::Bytes(bytes.as_slice().into()));
                bytes.clear();
            }
            flat.push(other.clone());
        }
    };
    for part in parts {
        match &part {
            Regular::Never => return Regular::Never,
            Regular::Empty => {}
            Regular::Concat(inner) => inner.iter().for_each(|part| push(part, &mut flat)),
            other => push(other, &mut flat),
        }
    }
    if !bytes.is_empty() {
        flat.push(Regular::Bytes(bytes.into()));
    }
    match flat.len() {
        0 => Regular::Empty,
        1 => flat.swap_remove(0),
        _ => Regular::Concat(flat.into()),
    }
}

/// A union without redundant nodes: flat, without empty sets.
fn union(arms: impl IntoIterator<Item = Regular>) -> Regular {
    let mut flat: Vec<Regular> = Vec::new();
    let mut empty = false;
    let mut push = |arm: Regular, flat: &mut Vec<Regular>| {
        // One empty arm is enough.
        if arm != Regular::Empty || !std::mem::replace(&mut empty, true) {
            flat.push(arm);
        }
    };
    for arm in arms {
        match arm {
            Regular::Never => {}
            Regular::Union(inner) => inner.iter().for_each(|arm| push(arm.clone(), &mut flat)),
            other => push(other, &mut flat),
        }
    }
    match flat.len() {
        0 => Regular::Never,
        1 => flat.swap_remove(0),
        _ => Regular::Union(flat.into()),
    }
}
