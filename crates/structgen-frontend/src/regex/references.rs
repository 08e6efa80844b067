//! Back-references: what a pattern matches whose groups have finitely many texts is a regular set.
//!
//! At every position of a match, some groups have matched, each a certain text: their *assignment*. A part of the
//! pattern leads from the assignment before it to several after it, each by a set of texts of its own. So a group that
//! is referred to later is split by its texts, `(a|b)` into `a` and `b`, and a reference is the text that its group has
//! in the assignment. An assignment has no group that nothing refers to later, so the ways meet again after the last
//! reference.
//!
//! A group keeps the text that it matched last. In ECMA-262, a group that has not matched is the empty text, and each
//! round of a repetition forgets the groups in it; in Python, a reference to such a group matches nothing.

use std::collections::{BTreeMap, BTreeSet};

use structgen_grammar::{CharSet, Regular};

use super::groups::{look, looks};
use super::texts::{MAX_TEXTS, NoTexts, Texts, set_of, texts};
use super::tree::{Node, NodeKind, Reference, Tree};
use super::{Dialect, RegexError};

/// The maximum number of parts, counted once for every assignment before the part.
const MAX_PARTS: u32 = 100_000;
/// The maximum number of look-arounds in the result.
const MAX_LOOKS: u32 = 1_000;

/// The texts of the groups that have matched.
type Assignment = BTreeMap<u32, String>;

/// For each assignment after a part, the texts that lead to it.
type Outcomes = BTreeMap<Assignment, Regular>;

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
        referred,
        dialect,
        texts: 0,
        bytes: 0,
        parts: 0,
    };
    let outcomes = resolver.outcomes(&tree, &Assignment::new(), &BTreeSet::new())?;
    let set = union(outcomes.into_values().collect());
    let mut looks = 0;
    let mut stack = vec![&set];
    while let Some(part) = stack.pop() {
        looks += u32::from(matches!(part, Regular::Look { .. }));
        if looks > MAX_LOOKS {
            let what =
                "anchors and look-arounds, once for each text of a group that is referred to,";
            let at = references.first().map_or(0, |first| first.at);
            return Err(RegexError::limit(at, what, MAX_LOOKS));
        }
        stack.extend(part.parts());
    }
    Ok(set)
}

struct Resolver<'p> {
    references: &'p [Reference],
    /// The groups that something refers to.
    referred: BTreeSet<u32>,
    dialect: Dialect,
    /// The number of texts of groups, counted once for every assignment before the group.
    texts: usize,
    bytes: usize,
    parts: u32,
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
        let unchanged = |set| Outcomes::from([(kept(before, later), set)]);
        let node = match tree {
            Tree::Set(set) => return Ok(unchanged(set.clone())),
            Tree::Node(node) => node,
        };
        self.count_part(node)?;
        match &node.kind {
            NodeKind::Concat(parts) => self.concat(parts, before, later),
            NodeKind::Union(arms) => {
                let mut all = Ways::default();
                for arm in arms {
                    all.extend(self.outcomes(arm, before, later)?);
                }
                Ok(all.outcomes())
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
                if behind && let Some(inner) = self.first_within(node, self.of(node)) {
                    let what = "a back-reference to a group in the same look-behind";
                    return Err(RegexError::unsupported(inner.at, what));
                }
                // A look-around is not matched again in another way if what follows fails.
                if !negated && let Some(group) = later.iter().find(|it| node.groups.contains(it)) {
                    let at = self.reference_to(*group);
                    let what = "a back-reference to a group in a look-around";
                    return Err(RegexError::unsupported(at, what));
                }
                let within = self.of(node).map(|it| it.group).collect();
                let outcomes = self.outcomes(body, before, &within)?;
                let set = union(outcomes.into_values().collect());
                Ok(unchanged(look(opened, (behind, negated), set)?))
            }
            &NodeKind::Group { number, ref body } => {
                let outcomes = self.outcomes(body, before, later)?;
                if !later.contains(&number) {
                    return Ok(outcomes);
                }
                let mut all = Ways::default();
                for (after, set) in outcomes {
                    for (text, looking) in self.texts_of(number, &set)? {
                        let mut after = after.clone();
                        let set = set_of(&text, &looking);
                        after.insert(number, text);
                        all.push(after, set);
                    }
                }
                Ok(all.outcomes())
            }
            NodeKind::Reference(reference) => Ok(match before.get(&reference.group) {
                Some(text) => unchanged(reference.of(text)),
                None if self.dialect == Dialect::Python => Outcomes::new(),
                None => unchanged(Regular::Empty),
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
        // What comes before the assignments differ stays outside of the union.
        let mut common = Vec::new();
        let mut ways = vec![(before.clone(), Vec::new())];
        for (part, later) in parts.iter().zip(laters.iter().rev()) {
            if let Tree::Set(set) = part {
                ways.iter_mut()
                    .for_each(|(_, pieces)| pieces.push(set.clone()));
                continue;
            }
            let mut next = Ways::default();
            for (assignment, pieces) in ways {
                for (after, set) in self.outcomes(part, &assignment, later)? {
                    let pieces = pieces.iter().cloned().chain([set]);
                    next.push(after, concat(pieces.collect()));
                }
            }
            let outcomes = next.outcomes().into_iter();
            ways = outcomes.map(|(after, set)| (after, vec![set])).collect();
            if let [(_, pieces)] = &mut ways[..] {
                common.append(pieces);
            }
        }
        let whole = |pieces: Vec<Regular>| concat(common.iter().cloned().chain(pieces).collect());
        let ways = ways.into_iter();
        Ok(ways.map(|(after, pieces)| (after, whole(pieces))).collect())
    }

    fn repeat(
        &mut self,
        (node, body): (&Node, &Tree),
        (min, max): (u32, Option<u32>),
        before: &Assignment,
        later: &BTreeSet<u32>,
    ) -> Result<Outcomes, RegexError> {
        let mut within = later.clone();
        within.extend(self.of(node).map(|it| it.group));
        // In ECMA-262, a round forgets the groups in it. None of them is here: a group is only set before a repetition
        // that contains it by an earlier round of an outer one.
        let start = kept(before, &within);
        let round = self.outcomes(body, &start, &within)?;
        if self.dialect == Dialect::Python {
            // All rounds must lead to the same, so that only the last one matters.
            for after in round.keys().filter(|&after| *after != start) {
                if self.outcomes(body, after, &within)? != round {
                    let group = self.referred.range(node.groups.clone()).next();
                    let at = group.map_or(0, |&group| self.reference_to(group));
                    let what = "a back-reference to a group that a repetition may leave as it was";
                    return Err(RegexError::unsupported(at, what));
                }
            }
        }
        let any = union(round.values().cloned().collect());
        let skipped = kept(before, later);
        let mut last = Ways::default();
        for (after, set) in round {
            last.push(kept(&after, later), set);
        }
        let last = last.outcomes();
        if last.keys().all(|after| *after == skipped) {
            return Ok(Outcomes::from([(skipped, Regular::repeat(any, min, max))]));
        }
        let mut all = Ways::default();
        if min == 0 {
            all.push(skipped, Regular::Empty);
        }
        if max == Some(0) {
            return Ok(all.outcomes());
        }
        let rest = max.map(|max| max - 1);
        let last_of = |after: Assignment, least: u32, most, set: Regular, all: &mut Ways| {
            let earlier = Regular::repeat(any.clone(), least, most);
            all.push(after, Regular::concat([earlier, set]));
        };
        // In ECMA-262, a round beyond the least number of rounds takes something.
        let takes_something = self.dialect != Dialect::Python && may_be_empty(&any);
        for (after, set) in last {
            if !takes_something {
                last_of(after, min.max(1) - 1, rest, set, &mut all);
                continue;
            }
            if looks(&set) {
                let group = later.iter().find(|&group| node.groups.contains(group));
                let at = group.map_or(0, |&group| self.reference_to(group));
                let what = "a back-reference to a group in a repetition of what may be empty";
                return Err(RegexError::unsupported(at, what));
            }
            if max.is_none_or(|max| max > min) {
                let something =
                    Regular::concat([Regular::Chars(CharSet::all()), Regular::any_text()]);
                let taken = Regular::Intersection([set.clone(), something].into());
                last_of(after.clone(), min, rest, taken, &mut all);
            }
            if min > 0 {
                last_of(after, min - 1, Some(min - 1), set, &mut all);
            }
        }
        Ok(all.outcomes())
    }

    /// The references in a part.
    fn of(&self, node: &Node) -> impl Iterator<Item = &Reference> {
        self.references[node.references.clone()].iter()
    }

    /// The first of these references whose group is in the part.
    fn first_within<'r>(
        &self,
        node: &Node,
        mut references: impl Iterator<Item = &'r Reference>,
    ) -> Option<&'r Reference> {
        references.find(|reference| node.groups.contains(&reference.group))
    }

    /// The position of the first reference to a group.
    fn reference_to(&self, group: u32) -> usize {
        let found = self.references.iter().find(|it| it.group == group);
        found.map_or(0, |reference| reference.at)
    }

    fn count_part(&mut self, node: &Node) -> Result<(), RegexError> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            let at = self.references[node.references.start.min(self.references.len() - 1)].at;
            let what = "parts beside a back-reference";
            return Err(RegexError::limit(at, what, MAX_PARTS));
        }
        Ok(())
    }

    /// The texts of a group.
    fn texts_of(&mut self, group: u32, set: &Regular) -> Result<Texts, RegexError> {
        let at = self.reference_to(group);
        let too_many =
            || RegexError::limit(at, "texts of groups that are referred to", MAX_TEXTS as u32);
        let found = texts(set, &mut self.bytes).map_err(|refused| match refused {
            NoTexts::TooMany => too_many(),
            NoTexts::Infinite => RegexError::unsupported(
                at,
                "a back-reference to a group with infinitely many texts",
            ),
        })?;
        self.texts += found.len();
        if self.texts > MAX_TEXTS {
            return Err(too_many());
        }
        Ok(found)
    }
}

impl Reference {
    /// What matches where the group has matched `text`.
    fn of(&self, text: &str) -> Regular {
        match self.fold {
            None => Regular::literal(text),
            Some(fold) => concat(text.chars().map(|c| Regular::Chars(fold(c))).collect()),
        }
    }
}

/// Sets by the assignment that they lead to.
#[derive(Default)]
struct Ways(BTreeMap<Assignment, Vec<Regular>>);

impl Ways {
    fn push(&mut self, after: Assignment, set: Regular) {
        self.0.entry(after).or_default().push(set);
    }

    fn extend(&mut self, outcomes: Outcomes) {
        for (after, set) in outcomes {
            self.push(after, set);
        }
    }

    fn outcomes(self) -> Outcomes {
        let ways = self.0.into_iter();
        ways.map(|(after, sets)| (after, union(sets))).collect()
    }
}

/// The assignment of the groups that are referred to later.
fn kept(assignment: &Assignment, later: &BTreeSet<u32>) -> Assignment {
    let kept = assignment.iter().filter(|(group, _)| later.contains(group));
    kept.map(|(&group, text)| (group, text.clone())).collect()
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
            let is_set = |part: &Tree| matches!(part, Tree::Set(_));
            let parts = all(parts)?;
            let runs = parts.chunk_by(|one, other| is_set(one) && is_set(other));
            return Ok(Tree::concat(
                runs.map(|run| Tree::concat(run.to_vec())).collect(),
            ));
        }
        NodeKind::Union(arms) => return Ok(Tree::union(all(arms)?)),
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

fn concat(mut parts: Vec<Regular>) -> Regular {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => Regular::concat(parts),
    }
}

fn union(mut arms: Vec<Regular>) -> Regular {
    match arms.len() {
        0 => Regular::Never,
        1 => arms.swap_remove(0),
        _ => Regular::union(arms),
    }
}
