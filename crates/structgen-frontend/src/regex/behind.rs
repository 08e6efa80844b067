//! Look-aheads inside a look-behind, as in `(?<=\bfoo\b)`.
//!
//! A look-behind is run along the text up to its own position, so nothing in it may look beyond that. A look-ahead is
//! moved to the position itself: `(?<=a(?=b))` is `(?<=a)(?=b)`. If more of the look-behind follows, a look-ahead at
//! one character becomes a condition on that: `(?=b).c` is `(?=b)` if the rest is empty, and otherwise begins with `b`.

use structgen_grammar::{CharSet, Regular};

use super::groups::{looks, looks_ahead};

/// The maximum number of readings of a look-behind; each `\b` in it doubles them.
pub(super) const MAX_WAYS: usize = 64;

/// Why a look-behind is not supported.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoLookBehind {
    /// It repeats a look-ahead, or looks ahead at more than one character before its end.
    Unsupported,
    /// It has more than [`MAX_WAYS`] readings.
    TooManyWays,
}

/// A look-behind whose body may look ahead: matches the empty text if the body, negated or not, ends here.
pub(super) fn look_behind(negated: bool, body: Regular) -> Result<Regular, NoLookBehind> {
    if !looks_ahead(&body) {
        return Ok(Regular::look(true, negated, body));
    }
    let conditions = |way: BehindReading| {
        let behind = Regular::look(true, negated, Regular::concat(way.pieces));
        let then = way.then.into_iter().map(|ahead| ahead.look(negated));
        std::iter::once(behind).chain(then).collect::<Vec<_>>()
    };
    let ways = ways(&body)?.into_iter().map(conditions);
    Ok(match negated {
        false => Regular::union(ways.map(Regular::concat)),
        // None of the readings: in each of them some condition fails.
        true => Regular::concat(ways.map(Regular::union)),
    })
}

/// One reading of a set: pieces that do not look ahead, and the conditions on what follows them.
#[derive(Clone, Default)]
struct BehindReading {
    pieces: Vec<Regular>,
    then: Vec<Ahead>,
}

/// A condition on what follows.
#[derive(Clone)]
struct Ahead {
    negated: bool,
    body: Regular,
}

/// Recursive: the nesting of groups is limited.
fn ways(tree: &Regular) -> Result<Vec<BehindReading>, NoLookBehind> {
    if !looks_ahead(tree) {
        return Ok(vec![BehindReading {
            pieces: vec![tree.clone()],
            then: Vec::new(),
        }]);
    }
    match tree {
        Regular::Look {
            behind: false,
            negated,
            body,
        } => Ok(vec![BehindReading {
            pieces: Vec::new(),
            then: vec![Ahead {
                negated: *negated,
                body: (**body).clone(),
            }],
        }]),
        Regular::Concat(parts) => {
            let mut all = vec![BehindReading::default()];
            for part in parts.iter() {
                let next = ways(part)?;
                let mut longer = Vec::new();
                for (one, other) in all
                    .iter()
                    .flat_map(|one| next.iter().map(move |it| (one, it)))
                {
                    longer.extend(one.followed_by(other)?);
                    few(&longer)?;
                }
                all = longer;
            }
            Ok(all)
        }
        Regular::Union(arms) => {
            let mut all = Vec::new();
            for arm in arms.iter() {
                all.extend(ways(arm)?);
                few(&all)?;
            }
            Ok(all)
        }
        Regular::Repeat { body, min, max } if *max == Some(1) => {
            let mut all = ways(body)?;
            if *min == 0 {
                all.push(BehindReading::default());
            }
            few(&all).map(|()| all)
        }
        // Operands of `&` and `~` do not look around, and the others have no parts.
        _ => Err(NoLookBehind::Unsupported),
    }
}

fn few(ways: &[BehindReading]) -> Result<(), NoLookBehind> {
    match ways.len() <= MAX_WAYS {
        true => Ok(()),
        false => Err(NoLookBehind::TooManyWays),
    }
}

impl BehindReading {
    /// The readings of a concatenation.
    fn followed_by(&self, other: &Self) -> Result<Vec<Self>, NoLookBehind> {
        let mut ways = vec![self.clone()];
        for piece in &other.pieces {
            let mut longer = Vec::new();
            for way in ways {
                way.push(piece, &mut longer)?;
                few(&longer)?;
            }
            ways = longer;
        }
        for way in &mut ways {
            way.then.extend(other.then.iter().cloned());
        }
        Ok(ways)
    }

    /// The readings with one more piece.
    fn push(mut self, piece: &Regular, ways: &mut Vec<Self>) -> Result<(), NoLookBehind> {
        if self.then.is_empty() || is_place(piece) {
            self.pieces.push(piece.clone());
            ways.push(self);
            return Ok(());
        }
        if looks(piece) {
            return Err(NoLookBehind::Unsupported);
        }
        // The condition is on the piece's first character, or remains if the piece is empty.
        let firsts = self
            .then
            .iter()
            .map(Ahead::first)
            .collect::<Option<Vec<_>>>();
        let firsts = firsts.ok_or(NoLookBehind::Unsupported)?;
        if piece.takes_empty() {
            ways.push(self.clone());
        }
        let begins = |set| Regular::concat([Regular::Chars(set), Regular::any_text()]);
        let operands = std::iter::once(piece.clone()).chain(firsts.into_iter().map(begins));
        self.pieces.push(Regular::Intersection(operands.collect()));
        self.then.clear();
        ways.push(self);
        Ok(())
    }
}

impl Ahead {
    fn look(self, negated: bool) -> Regular {
        Regular::look(false, self.negated != negated, self.body)
    }

    /// The possible first characters of what follows, if the condition is on one character and something follows.
    fn first(&self) -> Option<CharSet> {
        let set = match &self.body {
            Regular::Chars(set) => set.clone(),
            Regular::Bytes(bytes) => {
                let mut chars = std::str::from_utf8(bytes).ok()?.chars();
                let first = chars.next()?;
                chars
                    .next()
                    .is_none()
                    .then(|| CharSet::from_iter([first]))?
            }
            _ => return None,
        };
        Some(if self.negated { set.complement() } else { set })
    }
}

/// Whether the set only matches the empty text, possibly with look-around.
fn is_place(set: &Regular) -> bool {
    match set {
        Regular::Empty | Regular::Look { .. } => true,
        Regular::Concat(parts) | Regular::Union(parts) => parts.iter().all(is_place),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The ends of the matches that begin at a position, directly by the definition. Texts are ASCII.
    fn ends(set: &Regular, text: &str, from: usize) -> BTreeSet<usize> {
        let all = |sets: &[Regular]| -> Vec<BTreeSet<usize>> {
            sets.iter().map(|set| ends(set, text, from)).collect()
        };
        match set {
            Regular::Empty => BTreeSet::from([from]),
            Regular::Chars(set) => {
                let first = text[from..].chars().next();
                first
                    .filter(|&c| set.contains(c))
                    .map(|_| from + 1)
                    .into_iter()
                    .collect()
            }
            Regular::Bytes(bytes) => {
                let found = text.as_bytes()[from..].starts_with(bytes);
                found.then_some(from + bytes.len()).into_iter().collect()
            }
            Regular::Concat(parts) => parts.iter().fold(BTreeSet::from([from]), |at, part| {
                at.iter().flat_map(|&at| ends(part, text, at)).collect()
            }),
            Regular::Union(arms) => all(arms).into_iter().flatten().collect(),
            Regular::Intersection(arms) => {
                let all = all(arms);
                (from..=text.len())
                    .filter(|to| all.iter().all(|ends| ends.contains(to)))
                    .collect()
            }
            Regular::Repeat { body, min, max } => {
                let mut at = BTreeSet::from([from]);
                let mut found = BTreeSet::new();
                for round in 0..=max.unwrap_or(*min + 8) {
                    if round >= *min {
                        found.extend(&at);
                    }
                    at = at.iter().flat_map(|&at| ends(body, text, at)).collect();
                }
                found
            }
            Regular::Look {
                behind,
                negated,
                body,
            } => {
                let found = match behind {
                    false => !ends(body, text, from).is_empty(),
                    true => (0..=from).any(|start| ends(body, text, start).contains(&from)),
                };
                (found != *negated).then_some(from).into_iter().collect()
            }
            _ => unreachable!("{set:?} is not among those that are tried"),
        }
    }

    fn set() -> impl Strategy<Value = Regular> {
        let word = || CharSet::from_iter(['a', 'b']);
        let leaf = prop_oneof![
            Just(Regular::literal("a")),
            Just(Regular::literal("ab")),
            Just(Regular::Empty),
            Just(Regular::Chars(word())),
            Just(Regular::repeat(Regular::Chars(word()), 0, None)),
            Just(Regular::any_text()),
            Just(Regular::anchor(true)),
            Just(Regular::anchor(false)),
            Just(super::super::boundary(word(), false)),
            Just(super::super::boundary(word(), true)),
            Just(Regular::look(false, false, Regular::literal("b"))),
            Just(Regular::look(false, true, Regular::literal("ba"))),
        ];
        leaf.prop_recursive(3, 10, 3, |inner| {
            let parts = prop::collection::vec(inner.clone(), 1..4);
            prop_oneof![
                4 => parts.clone().prop_map(Regular::concat),
                2 => parts.prop_map(Regular::union),
                1 => (inner, 0_u32..2).prop_map(|(body, min)| Regular::repeat(body, min, Some(1))),
            ]
        })
    }

    #[test]
    fn what_looks_ahead_is_where_it_was() {
        let letters = ["a", "b", " "];
        let longer = |texts: &Vec<String>| -> Vec<String> {
            texts
                .iter()
                .flat_map(|it| letters.map(|letter| format!("{it}{letter}")))
                .collect()
        };
        let mut texts = vec![vec![String::new()]];
        (0..4).for_each(|i| texts.push(longer(&texts[i])));
        let texts = texts.concat();
        let taken = Cell::new(0);
        let config = ProptestConfig {
            cases: 500,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        proptest!(config, |(body in set(), negated: bool)| {
            let Ok(moved) = look_behind(negated, body.clone()) else {
                return Ok(());
            };
            taken.set(taken.get() + usize::from(looks_ahead(&body)));
            let plain = Regular::look(true, negated, body);
            for text in &texts {
                for at in 0..=text.len() {
                    prop_assert_eq!(
                        ends(&moved, text, at),
                        ends(&plain, text, at),
                        "{:?} at {} of {:?}", plain, at, text
                    );
                }
            }
        });
        assert!(taken.get() > 100, "{taken:?}");
    }

    #[test]
    fn what_cannot_be_moved_is_refused() {
        let ahead = |text| Regular::look(false, false, Regular::literal(text));
        let any = || Regular::Chars(CharSet::all());
        let refused = |parts: Vec<Regular>| look_behind(false, Regular::concat(parts)).err();
        assert_eq!(
            refused(vec![ahead("ab"), any()]),
            Some(NoLookBehind::Unsupported)
        );
        assert_eq!(refused(vec![any(), ahead("ab")]), None);
        let repeated = Regular::repeat(Regular::concat([ahead("a"), any()]), 0, None);
        assert_eq!(refused(vec![repeated]), Some(NoLookBehind::Unsupported));
        let boundary = || super::super::boundary(CharSet::from_iter(['a']), false);
        let many = (0..8).flat_map(|_| [boundary(), any()]).collect();
        assert_eq!(refused(many), Some(NoLookBehind::TooManyWays));
    }
}
