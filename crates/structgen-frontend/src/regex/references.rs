//! Back-references: a pattern whose referenced groups have finitely many texts matches a regular set.
//!
//! At every position of a match, some groups have matched, each a certain text: their *assignment*. A part of the
//! pattern leads from the assignment before it to one or more after it, each by a set of texts of its own. A group that
//! is referred to later is therefore split by its texts, `(a|b)` into `a` and `b`, and a reference matches the text
//! that its group has in the assignment. Groups that nothing refers to later are left out of assignments, so that the
//! ways meet again after the last reference.
//!
//! A group keeps the text that it matched last. In ECMA-262, a reference to a group that has not matched matches the
//! empty text, and each round of a repetition resets the groups in it; in Python, such a reference matches nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use structgen_grammar::{CharSet, Regular};

use super::groups::{look, looks};
use super::texts::{MAX_BYTES, MAX_TEXTS, NoTexts, Texts, set_of, texts};
use super::tree::{Node, NodeKind, Reference, Tree};
use super::{Dialect, RegexError};

/// The maximum number of parts, counted once for every assignment before the part.
const MAX_PARTS: u32 = 100_000;
/// The maximum weight of all sets that are built.
const MAX_WEIGHT: usize = 2_000_000;
/// The maximum number of look-arounds in the result.
const MAX_LOOKS: u32 = 1_000;

/// The texts of the groups that have matched.
type Assignment = BTreeMap<u32, Rc<str>>;

/// Sets by the assignment that they lead to.
type Ways = BTreeMap<Assignment, Vec<Weighed>>;

/// A set, with the size of its tree. Parts of a tree are shared, but a walk visits each of their occurrences.
#[derive(Clone, PartialEq)]
struct Weighed {
    set: Regular,
    /// The number of nodes and bytes.
    weight: usize,
}

/// What a part leads to.
struct Outcomes {
    /// For each assignment after the part, the texts that lead to it.
    ways: BTreeMap<Assignment, Weighed>,
    /// The texts of all ways, in a form that does not grow with their number.
    all: Weighed,
}

/// The texts that a pattern matches.
pub(super) fn resolve(
    tree: Tree,
    references: &[Reference],
    dialect: Dialect,
) -> Result<Regular, RegexError> {
    let referred: BTreeSet<u32> = references.iter().map(|it| it.group).collect();
    let tree = match simplified(tree, &referred)? {
        Tree::Set(set) => return Ok(set),
        tree => tree,
    };
    let mut resolver = Resolver {
        references,
        dialect,
        texts: 0,
        bytes: 0,
        parts: 0,
        weight: 0,
    };
    let outcomes = resolver.outcomes(&tree, &Assignment::new(), &BTreeSet::new())?;
    // Nothing is referred to later, so there is one way at most.
    let set = match outcomes.ways.into_values().next() {
        Some(whole) => whole.set,
        None => Regular::Never,
    };
    let mut look_arounds = 0;
    let mut stack = vec![&set];
    while let Some(part) = stack.pop() {
        look_arounds += u32::from(matches!(part, Regular::Look { .. }));
        if look_arounds > MAX_LOOKS {
            let what =
                "anchors and look-arounds, once for each text of a group that is referred to,";
            return Err(resolver.limit(what, MAX_LOOKS));
        }
        stack.extend(part.parts());
    }
    Ok(set)
}

struct Resolver<'p> {
    references: &'p [Reference],
    dialect: Dialect,
    /// The number of texts of groups, counted once for every assignment before the group.
    texts: usize,
    /// The number of bytes in texts that were made.
    bytes: usize,
    parts: u32,
    weight: usize,
}

impl Resolver<'_> {
    /// What a part leads to from `before`, as far as the groups `later` are concerned. Recursive: the nesting of groups
    /// is limited.
    fn outcomes(
        &mut self,
        tree: &Tree,
        before: &Assignment,
        later: &BTreeSet<u32>,
    ) -> Result<Outcomes, RegexError> {
        let unchanged = |set: Weighed| Outcomes {
            ways: BTreeMap::from([(kept(before, later), set.clone())]),
            all: set,
        };
        let node = match tree {
            Tree::Set(set) => return Ok(unchanged(self.weighed(set.clone())?)),
            Tree::Node(node) => node,
        };
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(self.limit("parts beside a back-reference", MAX_PARTS));
        }
        match &node.kind {
            NodeKind::Concat(parts) => self.concat(parts, before, later),
            NodeKind::Union(arms) => {
                let (mut ways, mut all) = (Ways::default(), Vec::new());
                for arm in arms {
                    let outcomes = self.outcomes(arm, before, later)?;
                    for (after, set) in outcomes.ways {
                        ways.entry(after).or_default().push(set);
                    }
                    all.push(outcomes.all);
                }
                Ok(Outcomes {
                    ways: self.merged(ways)?,
                    all: self.union_of(all)?,
                })
            }
            &NodeKind::Repeat { ref body, min, max } => {
                self.repeat((node, body), (min, max), before, later)
            }
            &NodeKind::Look {
                opened,
                behind,
                negated,
                ref body,
            } => {
                let own = &self.references[node.references.clone()];
                let inner = own.iter().find(|it| node.groups.contains(&it.group));
                if let Some(inner) = inner.filter(|_| behind) {
                    let what = "a back-reference to a group in the same look-behind";
                    return Err(RegexError::unsupported(inner.at, what));
                }
                // A look-around is not matched again in another way if what follows fails.
                if !negated && let Some(group) = later.iter().find(|it| node.groups.contains(it)) {
                    let what = "a back-reference to a group in a look-around";
                    return Err(self.unsupported(node, *group, what));
                }
                let within = own.iter().map(|it| it.group).collect();
                let set = self.outcomes(body, before, &within)?.all.set;
                Ok(unchanged(self.weighed(look(
                    opened,
                    (behind, negated),
                    set,
                )?)?))
            }
            &NodeKind::Group { number, ref body } => {
                let outcomes = self.outcomes(body, before, later)?;
                if !later.contains(&number) {
                    return Ok(outcomes);
                }
                let mut ways = Ways::default();
                for (after, set) in outcomes.ways {
                    for (text, looking) in self.texts_of(node, number, &set.set)? {
                        let mut after = after.clone();
                        let set = self.weighed(set_of(&text, looking.as_ref()))?;
                        after.insert(number, text.into());
                        ways.entry(after).or_default().push(set);
                    }
                }
                Ok(Outcomes {
                    ways: self.merged(ways)?,
                    all: outcomes.all,
                })
            }
            NodeKind::Reference(reference) => Ok(match before.get(&reference.group) {
                Some(text) => {
                    self.spend(text.len())?;
                    unchanged(self.weighed(reference.of(text))?)
                }
                None if self.dialect == Dialect::Python => Outcomes {
                    ways: BTreeMap::new(),
                    all: self.weighed(Regular::Never)?,
                },
                None => unchanged(self.weighed(Regular::Empty)?),
            }),
        }
    }

    fn concat(
        &mut self,
        parts: &[Tree],
        before: &Assignment,
        later: &BTreeSet<u32>,
    ) -> Result<Outcomes, RegexError> {
        // What is referred to after each part.
        let mut laters = Vec::with_capacity(parts.len());
        let mut later = later.clone();
        for part in parts.iter().rev() {
            laters.push(later.clone());
            let references = &self.references[part.references()];
            later.extend(references.iter().map(|reference| reference.group));
        }
        // What comes before the assignments differ stays outside of the union. What comes after it is the same for all
        // ways as long as nothing in it is a reference.
        let mut common: Vec<Weighed> = Vec::new();
        let mut ways = vec![(before.clone(), Vec::new())];
        let mut all = Some(Vec::new());
        for (part, later) in parts.iter().zip(laters.iter().rev()) {
            if let Tree::Set(set) = part {
                let set = self.weighed(set.clone())?;
                self.spend(set.weight * ways.len())?;
                let every = ways.iter_mut().map(|(_, pieces)| pieces).chain(&mut all);
                every.for_each(|pieces: &mut Vec<Weighed>| pieces.push(set.clone()));
                continue;
            }
            let is_alike = ways.len() == 1 || part.references().is_empty();
            let mut next = Ways::default();
            let mut any = None;
            for (assignment, pieces) in ways {
                let outcomes = self.outcomes(part, &assignment, later)?;
                for (after, set) in outcomes.ways {
                    let pieces = pieces.iter().cloned().chain([set]);
                    let set = self.concat_of(pieces.collect())?;
                    next.entry(after).or_default().push(set);
                }
                any = Some(outcomes.all);
            }
            all = all.filter(|_| is_alike);
            if let Some(pieces) = &mut all {
                pieces.extend(any);
            }
            let merged = self.merged(next)?.into_iter();
            ways = merged.map(|(after, set)| (after, vec![set])).collect();
            if let [(_, pieces)] = &mut ways[..] {
                let pieces = std::mem::take(pieces);
                common.append(&mut all.take().unwrap_or(pieces));
                all = Some(Vec::new());
            }
        }
        let mut whole = BTreeMap::new();
        for (after, pieces) in ways {
            let pieces = common.iter().cloned().chain(pieces);
            whole.insert(after, self.concat_of(pieces.collect())?);
        }
        let all = match all.filter(|_| !whole.is_empty()) {
            Some(pieces) => self.concat_of(common.into_iter().chain(pieces).collect())?,
            None => self.union_of(whole.values().cloned().collect())?,
        };
        Ok(Outcomes { ways: whole, all })
    }

    fn repeat(
        &mut self,
        (node, body): (&Node, &Tree),
        (min, max): (u32, Option<u32>),
        before: &Assignment,
        later: &BTreeSet<u32>,
    ) -> Result<Outcomes, RegexError> {
        let mut within = later.clone();
        let own = &self.references[node.references.clone()];
        within.extend(own.iter().map(|it| it.group));
        // In ECMA-262, a round resets the groups in it. None of them is set here: only an earlier round of an outer
        // repetition could have set a group before the repetition that contains it.
        let start = kept(before, &within);
        let round = self.outcomes(body, &start, &within)?;
        if self.dialect == Dialect::Python && max.is_none_or(|max| max > 1) {
            // All rounds must lead to the same, so that only the last one matters.
            for after in round.ways.keys().filter(|&after| *after != start) {
                if self.outcomes(body, after, &within)?.ways != round.ways {
                    let is_left = |group: &u32| {
                        node.groups.contains(group)
                            && round.ways.keys().any(|after| !after.contains_key(group))
                    };
                    let group = within.iter().copied().find(is_left);
                    let what = "a back-reference to a group that a repetition may leave as it was";
                    return Err(self.unsupported(node, group.unwrap_or(node.groups.start), what));
                }
            }
        }
        let any = round.all;
        let all = self.repeat_of(any.clone(), min, max)?;
        let skipped = kept(before, later);
        let mut last = Ways::default();
        for (after, set) in round.ways {
            last.entry(kept(&after, later)).or_default().push(set);
        }
        let last = self.merged(last)?;
        if last.keys().all(|after| *after == skipped) {
            let ways = BTreeMap::from([(skipped, all.clone())]);
            return Ok(Outcomes { ways, all });
        }
        let mut ways = Ways::default();
        if min == 0 {
            ways.insert(skipped, vec![self.weighed(Regular::Empty)?]);
        }
        // In ECMA-262, a round beyond the least number of rounds takes something.
        let takes_something = self.dialect != Dialect::Python && may_be_empty(&any.set);
        let rest = max.map(|max| max.saturating_sub(1));
        for (after, set) in last.into_iter().filter(|_| max != Some(0)) {
            // How many rounds come before the last one, and the last one.
            let mut ends = Vec::new();
            if !takes_something {
                ends.push((min.max(1) - 1, rest, set));
            } else if looks(&set.set) {
                let group = later.iter().find(|&group| node.groups.contains(group));
                let group = group.map_or(node.groups.start, |&group| group);
                let what = "a back-reference to a group in a repetition of what may be empty";
                return Err(self.unsupported(node, group, what));
            } else {
                if max.is_none_or(|max| max > min) {
                    let something =
                        Regular::concat([Regular::Chars(CharSet::all()), Regular::any_text()]);
                    let taken = Regular::Intersection([set.set.clone(), something].into());
                    ends.push((min, rest, self.weighed(taken)?));
                }
                if min > 0 {
                    ends.push((min - 1, Some(min - 1), set));
                }
            }
            for (least, most, end) in ends {
                let earlier = self.repeat_of(any.clone(), least, most)?;
                let rounds = self.concat_of(vec![earlier, end])?;
                ways.entry(after.clone()).or_default().push(rounds);
            }
        }
        let ways = self.merged(ways)?;
        Ok(Outcomes { ways, all })
    }

    /// The texts of a group.
    fn texts_of(&mut self, node: &Node, group: u32, set: &Regular) -> Result<Texts, RegexError> {
        let found = texts(set, &mut self.bytes).map_err(|refused| match refused {
            NoTexts::TooMany => {
                self.limit("texts of groups that are referred to", MAX_TEXTS as u32)
            }
            NoTexts::TooLong => self.limit(
                "bytes in texts of groups that are referred to",
                MAX_BYTES as u32,
            ),
            NoTexts::Infinite => {
                let what = "a back-reference to a group with infinitely many texts";
                self.unsupported(node, group, what)
            }
            NoTexts::Unlisted => {
                let what = "a back-reference to a group whose texts cannot be listed";
                self.unsupported(node, group, what)
            }
        })?;
        self.texts += found.len();
        if self.texts > MAX_TEXTS {
            return Err(self.limit("texts of groups that are referred to", MAX_TEXTS as u32));
        }
        Ok(found)
    }

    /// The sets of each assignment as one.
    fn merged(&mut self, ways: Ways) -> Result<BTreeMap<Assignment, Weighed>, RegexError> {
        let ways = ways.into_iter();
        ways.map(|(after, sets)| Ok((after, self.union_of(sets)?)))
            .collect()
    }

    fn concat_of(&mut self, parts: Vec<Weighed>) -> Result<Weighed, RegexError> {
        self.joined(parts, Regular::Empty, Regular::concat)
    }

    fn union_of(&mut self, arms: Vec<Weighed>) -> Result<Weighed, RegexError> {
        self.joined(arms, Regular::Never, Regular::union)
    }

    fn joined(
        &mut self,
        mut parts: Vec<Weighed>,
        none: Regular,
        join: fn(Vec<Regular>) -> Regular,
    ) -> Result<Weighed, RegexError> {
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let weight = 1 + parts.iter().map(|part| part.weight).sum::<usize>();
        self.spend(weight)?;
        let sets: Vec<Regular> = parts.into_iter().map(|part| part.set).collect();
        let set = if sets.is_empty() { none } else { join(sets) };
        Ok(Weighed { set, weight })
    }

    fn repeat_of(
        &mut self,
        body: Weighed,
        min: u32,
        max: Option<u32>,
    ) -> Result<Weighed, RegexError> {
        self.spend(body.weight + 1)?;
        Ok(Weighed {
            weight: body.weight + 1,
            set: Regular::repeat(body.set, min, max),
        })
    }

    fn weighed(&mut self, set: Regular) -> Result<Weighed, RegexError> {
        let mut weight = 0;
        let mut stack = vec![&set];
        while let Some(part) = stack.pop() {
            let own = match part {
                Regular::Bytes(bytes) => 1 + bytes.len(),
                Regular::Chars(set) => 1 + set.ranges().len(),
                _ => 1,
            };
            weight += own;
            self.spend(own)?;
            stack.extend(part.parts());
        }
        Ok(Weighed { set, weight })
    }

    fn spend(&mut self, weight: usize) -> Result<(), RegexError> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > MAX_WEIGHT {
            let what = "parts of the sets that a back-reference tells apart";
            return Err(self.limit(what, MAX_WEIGHT as u32));
        }
        Ok(())
    }

    /// A limit was exceeded: an error at the first reference.
    fn limit(&self, what: &'static str, limit: u32) -> RegexError {
        let at = self.references.first().map_or(0, |first| first.at);
        RegexError::limit(at, what, limit)
    }

    /// An error at the first reference to the group after the part.
    fn unsupported(&self, node: &Node, group: u32, what: &'static str) -> RegexError {
        let (before, after) = self.references.split_at(node.references.end);
        let mut all = after.iter().chain(before);
        let at = all.find(|it| it.group == group).map_or(0, |it| it.at);
        RegexError::unsupported(at, what)
    }
}

impl Reference {
    /// What matches where the group has matched `text`.
    fn of(&self, text: &str) -> Regular {
        match self.fold {
            None => Regular::literal(text),
            Some(fold) => Regular::concat(text.chars().map(|c| Regular::Chars(fold(c)))),
        }
    }
}

/// The assignment of the groups that are referred to later.
fn kept(assignment: &Assignment, later: &BTreeSet<u32>) -> Assignment {
    let kept = assignment.iter().filter(|(group, _)| later.contains(group));
    kept.map(|(&group, text)| (group, Rc::clone(text)))
        .collect()
}

/// The same tree without groups that nothing refers to. Recursive: the nesting of groups is limited.
fn simplified(tree: Tree, referred: &BTreeSet<u32>) -> Result<Tree, RegexError> {
    let node = match tree {
        Tree::Set(_) => return Ok(tree),
        Tree::Node(node) => *node,
    };
    let all = |trees: Vec<Tree>| {
        let trees = trees.into_iter();
        trees
            .map(|tree| simplified(tree, referred))
            .collect::<Result<Vec<_>, _>>()
    };
    let kind = match node.kind {
        NodeKind::Concat(parts) => {
            let (mut runs, mut sets) = (Vec::new(), Vec::new());
            for part in all(parts)? {
                if let Tree::Node(_) = part {
                    runs.extend(run_of(&mut sets));
                    runs.push(part);
                } else {
                    sets.push(part);
                }
            }
            runs.extend(run_of(&mut sets));
            return Ok(Tree::concat(runs));
        }
        NodeKind::Union(arms) => {
            let is_set = |arm: &Tree| matches!(arm, Tree::Set(_));
            let (sets, mut arms): (Vec<_>, Vec<_>) = all(arms)?.into_iter().partition(is_set);
            if !sets.is_empty() {
                arms.push(Tree::union(sets));
            }
            return Ok(Tree::union(arms));
        }
        NodeKind::Repeat { body, min, max } => {
            return Ok(simplified(body, referred)?.repeat(min, max));
        }
        NodeKind::Group { number, body } => {
            let body = simplified(body, referred)?;
            if !referred.contains(&number) {
                return Ok(body);
            }
            NodeKind::Group { number, body }
        }
        NodeKind::Look {
            opened,
            behind,
            negated,
            body,
        } => {
            let body = simplified(body, referred)?;
            if let Tree::Set(set) = body {
                return Ok(Tree::Set(look(opened, (behind, negated), set)?));
            }
            NodeKind::Look {
                opened,
                behind,
                negated,
                body,
            }
        }
        kind @ NodeKind::Reference(_) => kind,
    };
    Ok(Tree::node(node.groups, node.references, kind))
}

/// The sets as one, unless there are none.
fn run_of(sets: &mut Vec<Tree>) -> Option<Tree> {
    (!sets.is_empty()).then(|| Tree::concat(std::mem::take(sets)))
}

/// Whether the empty text may be in the set, wherever a look-around in it stands.
fn may_be_empty(set: &Regular) -> bool {
    match set {
        Regular::Look { .. } => true,
        Regular::Concat(parts) => parts.iter().all(may_be_empty),
        Regular::Union(arms) => arms.iter().any(may_be_empty),
        Regular::Repeat { body, min, .. } => *min == 0 || may_be_empty(body),
        // The others do not look around.
        _ => set.takes_empty(),
    }
}
