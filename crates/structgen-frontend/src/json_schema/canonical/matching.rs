//! Whether one text is in a regular set.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use structgen_grammar::Regular;

/// Whether the text is in the set; `None` when the budget of steps, which is used up on the way, does not suffice.
///
/// For every part of the tree and every place in the text, the set of places where a match of the part may end is found once. That
/// treats intersection and complement like everything else, at a cost that is polynomial in tree and text.
pub(crate) fn is_match(regular: &Regular, text: &str, budget: &mut u64) -> Option<bool> {
    let mut matcher = Matcher {
        text,
        known: FxHashMap::default(),
        budget,
    };
    Some(matcher.ends(regular, 0)?.contains(&text.len()))
}

type Ends = std::rc::Rc<BTreeSet<usize>>;

struct Matcher<'t> {
    text: &'t str,
    /// By the part's address and the place where the match begins.
    known: FxHashMap<(usize, usize), Ends>,
    budget: &'t mut u64,
}

impl Matcher<'_> {
    fn spend(&mut self, steps: usize) -> Option<()> {
        *self.budget = self.budget.checked_sub(steps as u64)?;
        Some(())
    }

    fn ends(&mut self, regular: &Regular, from: usize) -> Option<Ends> {
        let key = (std::ptr::from_ref(regular).addr(), from);
        if let Some(known) = self.known.get(&key) {
            return Some(Ends::clone(known));
        }
        self.spend(1)?;
        let ends = Ends::new(self.find(regular, from)?);
        self.spend(ends.len())?;
        self.known.insert(key, Ends::clone(&ends));
        Some(ends)
    }

    fn behind_all(&mut self, regular: &Regular, from: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        let mut all = BTreeSet::new();
        for &place in from {
            let ends = self.ends(regular, place)?;
            self.spend(ends.len())?;
            all.extend(ends.iter().copied());
        }
        Some(all)
    }

    fn find(&mut self, regular: &Regular, from: usize) -> Option<BTreeSet<usize>> {
        let rest = &self.text.as_bytes()[from..];
        Some(match regular {
            Regular::Never => BTreeSet::new(),
            Regular::Empty => [from].into(),
            Regular::Bytes(bytes) if rest.starts_with(bytes) => [from + bytes.len()].into(),
            Regular::Bytes(_) => BTreeSet::new(),
            Regular::Chars(set) => match self.text.get(from..).and_then(|rest| rest.chars().next())
            {
                Some(c) if set.contains(c) => [from + c.len_utf8()].into(),
                _ => BTreeSet::new(),
            },
            Regular::ByteRange(low, high) => match rest.first() {
                Some(byte) if (low..=high).contains(&byte) => [from + 1].into(),
                _ => BTreeSet::new(),
            },
            Regular::Concat(parts) => {
                let mut ends = BTreeSet::from([from]);
                for part in parts.iter() {
                    ends = self.behind_all(part, &ends)?;
                    if ends.is_empty() {
                        break;
                    }
                }
                ends
            }
            Regular::Union(arms) => {
                let mut ends = BTreeSet::new();
                for arm in arms.iter() {
                    ends.extend(self.ends(arm, from)?.iter().copied());
                }
                ends
            }
            Regular::Intersection(arms) => {
                let mut ends: Option<BTreeSet<usize>> = None;
                for arm in arms.iter() {
                    let arm = self.ends(arm, from)?;
                    ends = Some(match ends {
                        Some(ends) => ends.intersection(&arm).copied().collect(),
                        None => arm.as_ref().clone(),
                    });
                }
                // No arms: every text.
                ends.unwrap_or_else(|| self.boundaries(from))
            }
            Regular::Complement(body) => {
                let inside = self.ends(body, from)?;
                let all = self.boundaries(from);
                self.spend(all.len())?;
                all.difference(&inside).copied().collect()
            }
            Regular::Repeat { body, min, max } => self.repeated(body, from, *min, *max)?,
        })
    }

    /// The places behind whole characters; none when `from` is inside one, since what begins there is no UTF-8.
    fn boundaries(&self, from: usize) -> BTreeSet<usize> {
        let text = self.text;
        let is_start = text.is_char_boundary(from);
        let ends = from..=text.len();
        ends.filter(|&end| is_start && text.is_char_boundary(end))
            .collect()
    }

    fn repeated(
        &mut self,
        body: &Regular,
        from: usize,
        min: u32,
        max: Option<u32>,
    ) -> Option<BTreeSet<usize>> {
        let mut current = BTreeSet::from([from]);
        let mut ends = BTreeSet::new();
        let mut count: u32 = 0;
        loop {
            if count >= min {
                ends.extend(current.iter().copied());
            }
            if max.is_some_and(|max| count >= max) || current.is_empty() {
                return Some(ends);
            }
            self.spend(1)?;
            let next = self.behind_all(body, &current)?;
            if next == current && count >= min {
                return Some(ends);
            }
            if next == current {
                // It stays so for every further round, the one that counts included.
                ends.extend(current.iter().copied());
                return Some(ends);
            }
            // Past the minimum, only places that are new can lead anywhere new.
            current = if count >= min {
                next.difference(&ends).copied().collect()
            } else {
                next
            };
            count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regex::{RegexOptions, parse};

    fn matches(pattern: &str, text: &str) -> bool {
        let regular = parse(pattern, RegexOptions::json_schema()).expect("the pattern is read");
        is_match(&regular, text, &mut 1_000_000).expect("the budget suffices")
    }

    #[test]
    fn patterns_are_searched_for() {
        assert!(matches("b+", "abbc"));
        assert!(!matches("^b+$", "abbc"));
        assert!(matches("^(a|bc){2,3}$", "abca"));
        assert!(!matches("^(a|bc){2,3}$", "a"));
        assert!(!matches("^(a|bc){2,3}$", "aaaa"));
        assert!(matches("^[^é]*$", "e"));
        assert!(matches("^é$", "é"));
        assert!(matches("^(a*)*$", "aaa"));
        assert!(matches("^(a?){5}$", "aa"));
    }

    #[test]
    fn complements_and_intersections_are_exact() {
        let a = parse("^a*$", RegexOptions::json_schema()).expect("the pattern is read");
        let even = parse("^(..)*$", RegexOptions::json_schema()).expect("the pattern is read");
        let not_a = Regular::Complement(a.clone().into());
        let mut budget = 100_000;
        assert_eq!(is_match(&not_a, "aa", &mut budget), Some(false));
        assert_eq!(is_match(&not_a, "aé", &mut budget), Some(true));
        let both = Regular::Intersection([a, even].into());
        assert_eq!(is_match(&both, "aa", &mut budget), Some(true));
        assert_eq!(is_match(&both, "aaa", &mut budget), Some(false));
        assert_eq!(is_match(&both, "ab", &mut budget), Some(false));
    }

    #[test]
    fn work_is_bounded() {
        let heavy =
            parse("^((a*)*b?)*$", RegexOptions::json_schema()).expect("the pattern is read");
        assert_eq!(is_match(&heavy, &"a".repeat(5_000), &mut 10_000), None);
    }
}
