//! The open groups of a pattern and their contents so far, shared by all dialects.
//!
//! They are on an explicit stack, so nesting does not use the call stack. With [`RegexOptions::operators`], an
//! alternative is an intersection of operands, and a part may be a complement.

use std::ops::Range;

use structgen_grammar::{CharSet, Regular};

use super::behind::{MAX_WAYS, NoLookBehind, look_behind};
use super::tree::{NodeKind, Reference, Tree};
use super::{Dialect, MAX_ANCHORS, RegexError, RegexOptions, references, whole_text};

/// The maximum number of back-references in one pattern.
const MAX_REFERENCES: u32 = 100;

/// The open groups; the first, which always exists, is the whole pattern. `F` is the state restored at the end of a
/// group, such as flags.
pub(super) struct Groups<F> {
    frames: Vec<OpenGroup<F>>,
    /// The current state.
    pub(super) flags: F,
    options: RegexOptions,
    anchors: u32,
    /// The number of captured groups so far.
    captures: u32,
    /// Whether groups stay in the tree, since the pattern may refer to them.
    keeps_groups: bool,
    references: Vec<Reference>,
    /// The groups in operands of operators, which nothing can refer to.
    lost: Vec<Range<u32>>,
}

/// A group that is still open.
struct OpenGroup<F> {
    /// The position of its parenthesis; 0 for the whole pattern.
    opened: usize,
    /// Whether it looks behind and whether it is negated, if it is a look-around.
    look: Option<(bool, bool)>,
    /// Its number, if it is captured.
    number: Option<u32>,
    /// The state after the group.
    outside: F,
    arms: Vec<Tree>,
    /// The operands of `&` before this one.
    operands: Vec<Tree>,
    /// The position of the first `&` of the alternative.
    and: usize,
    parts: Vec<Piece>,
}

/// A part of an alternative. Characters stay separate until it is known that no quantifier follows.
enum Piece {
    Char(char),
    /// Cannot be repeated in some dialects: `^*` and `a**` are errors.
    Fixed(Tree),
    Set(Tree),
    /// A `~` at this position, whose operand comes next.
    Not(usize),
    /// The complement by a `~` at this position.
    Complement(usize, Tree),
}

impl<F: Copy> Groups<F> {
    pub(super) fn new(options: RegexOptions, flags: F) -> Self {
        let mut groups = Self {
            frames: Vec::new(),
            flags,
            options,
            anchors: 0,
            captures: 0,
            keeps_groups: false,
            references: Vec::new(),
            lost: Vec::new(),
        };
        groups.push_frame(0, None);
        groups
    }

    /// The same, for a pattern that may refer to its groups.
    pub(super) fn keeping_groups(self, keeps_groups: bool) -> Self {
        Self {
            keeps_groups,
            ..self
        }
    }

    fn push_frame(&mut self, opened: usize, look: Option<(bool, bool)>) {
        self.frames.push(OpenGroup {
            opened,
            look,
            number: None,
            outside: self.flags,
            arms: Vec::new(),
            operands: Vec::new(),
            and: 0,
            parts: Vec::new(),
        });
    }

    fn frame(&mut self) -> &mut OpenGroup<F> {
        if self.frames.is_empty() {
            self.push_frame(0, None);
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// Whether no group is open.
    pub(super) fn is_outermost(&self) -> bool {
        self.frames.len() < 2
    }

    /// Whether nothing has been read.
    pub(super) fn is_at_start(&mut self) -> bool {
        let is_outermost = self.is_outermost();
        let frame = self.frame();
        is_outermost && frame.arms.is_empty() && frame.operands.is_empty() && frame.parts.is_empty()
    }

    /// Opens a group.
    pub(super) fn open(&mut self, at: usize, look: Option<(bool, bool)>) -> Result<(), RegexError> {
        let limit = self.options.nesting();
        if self.frames.len() > limit as usize {
            return Err(RegexError::limit(at, "nested groups", limit));
        }
        if look.is_some() {
            self.count_look(at)?;
        }
        self.push_frame(at, look);
        Ok(())
    }

    /// Opens a captured group; returns its number.
    pub(super) fn open_captured(&mut self, at: usize) -> Result<u32, RegexError> {
        self.open(at, None)?;
        self.captures += 1;
        self.frame().number = Some(self.captures);
        Ok(self.captures)
    }

    /// The number of captured groups so far.
    pub(super) fn captures(&self) -> u32 {
        self.captures
    }

    /// Whether the captured group is still open.
    pub(super) fn is_open(&self, number: u32) -> bool {
        self.frames.iter().any(|frame| frame.number == Some(number))
    }

    /// Adds a back-reference.
    pub(super) fn refer(&mut self, reference: Reference) -> Result<(), RegexError> {
        if self.references.len() >= MAX_REFERENCES as usize {
            let what = "back-references";
            return Err(RegexError::limit(reference.at, what, MAX_REFERENCES));
        }
        let tree = Tree::reference(self.references.len(), reference);
        self.references.push(reference);
        self.push(reference.at, Piece::Set(tree))
    }

    /// Closes the innermost group.
    pub(super) fn close(&mut self, at: usize) -> Result<(), RegexError> {
        if self.frames.len() < 2 {
            return Err(RegexError::syntax(at, "no group is open here"));
        }
        self.bar()?;
        if let Some(frame) = self.frames.pop() {
            self.flags = frame.outside;
            let (opened, look, number) = (frame.opened, frame.look, frame.number);
            let body = frame.into_tree();
            let Some((behind, negated)) = look else {
                let numbered = number.filter(|_| self.keeps_groups);
                let group = match numbered {
                    Some(number) => Tree::group(number..self.captures + 1, body),
                    None => body,
                };
                return self.push(at, Piece::Set(group));
            };
            let look = match body {
                Tree::Set(body) => Tree::Set(self::look(opened, (behind, negated), body)?),
                Tree::Node(_) => {
                    let (groups, references) = (body.groups(), body.references());
                    let kind = NodeKind::Look {
                        opened,
                        behind,
                        negated,
                        body,
                    };
                    Tree::node(groups, references, kind)
                }
            };
            // Annex B of ECMA-262 allows look-aheads to be repeated, Python all.
            let look = match behind && self.options.dialect != Dialect::Python {
                true => Piece::Fixed(look),
                false => Piece::Set(look),
            };
            self.push_look(at, look)?;
        }
        Ok(())
    }

    /// The whole pattern.
    pub(super) fn finish(mut self) -> Result<Regular, RegexError> {
        if self.frames.len() > 1 {
            let opened = self.frame().opened;
            return Err(RegexError::syntax(opened, "a group is not closed"));
        }
        self.bar()?;
        let whole = self.frames.pop().map(OpenGroup::into_tree);
        let whole = whole.unwrap_or(Tree::Set(Regular::Empty));
        for reference in &self.references {
            if self.lost.iter().any(|lost| lost.contains(&reference.group)) {
                let what = "a back-reference to a group in an operand of `&` or `~`";
                return Err(RegexError::unsupported(reference.at, what));
            }
        }
        references::resolve(whole, &self.references, self.options.dialect)
    }

    /// Ends an alternative.
    pub(super) fn bar(&mut self) -> Result<(), RegexError> {
        let last = self.operand()?;
        let frame = self.frame();
        let mut operands = std::mem::take(&mut frame.operands);
        let and = frame.and;
        let arm = if operands.is_empty() {
            last
        } else {
            operands.push(last);
            let whole = self.is_outermost() && !self.options.search;
            let operands = operands
                .into_iter()
                .map(|operand| self.border(operand, whole, and))
                .collect::<Result<_, _>>()?;
            Tree::Set(Regular::Intersection(operands))
        };
        self.frame().arms.push(arm);
        Ok(())
    }

    /// Ends an operand of the `&` at `at`.
    pub(super) fn and(&mut self, at: usize) -> Result<(), RegexError> {
        let operand = self.operand()?;
        let frame = self.frame();
        if frame.operands.is_empty() {
            frame.and = at;
        }
        frame.operands.push(operand);
        Ok(())
    }

    /// Complements the next part.
    pub(super) fn not(&mut self, at: usize) {
        self.frame().parts.push(Piece::Not(at));
    }

    fn operand(&mut self) -> Result<Tree, RegexError> {
        let whole = self.is_outermost() && !self.options.search;
        let drained = std::mem::take(&mut self.frame().parts);
        let whole = whole && drained.len() == 1;
        let mut parts = Vec::new();
        let mut literal = String::new();
        for part in drained {
            let set = match part {
                Piece::Char(c) => {
                    literal.push(c);
                    continue;
                }
                Piece::Fixed(set) | Piece::Set(set) => set,
                Piece::Not(at) => return Err(nothing_to_complement(at)),
                Piece::Complement(at, body) => Tree::Set(self.complement(body, whole, at)?),
            };
            flush(&mut literal, &mut parts);
            parts.push(set);
        }
        flush(&mut literal, &mut parts);
        Ok(Tree::concat(parts))
    }

    pub(super) fn push_char(&mut self, at: usize, c: char) -> Result<(), RegexError> {
        self.push(at, Piece::Char(c))
    }

    pub(super) fn push_set(&mut self, at: usize, set: CharSet) -> Result<(), RegexError> {
        match set.ranges() {
            &[(low, high)] if low == high => self.push(at, Piece::Char(low)),
            _ => self.push(at, Piece::Set(Tree::Set(Regular::Chars(set)))),
        }
    }

    /// Adds a part that looks around.
    pub(super) fn look(&mut self, at: usize, look: Regular) -> Result<(), RegexError> {
        self.count_look(at)?;
        self.push_look(at, Piece::Fixed(Tree::Set(look)))
    }

    fn push_look(&mut self, at: usize, look: Piece) -> Result<(), RegexError> {
        match self.frame().parts.last() {
            Some(&Piece::Not(not)) => Err(nothing_to_complement(not)),
            _ => self.push(at, look),
        }
    }

    /// Adds a part, applying all the `~` before it.
    fn push(&mut self, at: usize, part: Piece) -> Result<(), RegexError> {
        let parts = &mut self.frame().parts;
        let mut outermost = None;
        let mut negated = false;
        while let Some(&Piece::Not(not)) = parts.last() {
            parts.pop();
            outermost = Some(not);
            negated = !negated;
        }
        let Some(not) = outermost else {
            parts.push(part);
            return Ok(());
        };
        let body = match part {
            Piece::Char(c) => character(c),
            Piece::Fixed(set) | Piece::Set(set) => set,
            Piece::Complement(..) | Piece::Not(_) => return Err(nothing_to_complement(at)),
        };
        let piece = if negated {
            Piece::Complement(not, body)
        } else {
            Piece::Set(Tree::Set(self.border(body, false, not)?))
        };
        self.frame().parts.push(piece);
        Ok(())
    }

    /// Repeats the last part; in some dialects repetitions and look-arounds cannot be repeated.
    pub(super) fn quantify(
        &mut self,
        at: usize,
        (min, max): (u32, Option<u32>),
        anything: bool,
    ) -> Result<(), RegexError> {
        if max.is_some_and(|max| max < min) {
            return Err(RegexError::syntax(
                at,
                "the quantifier's numbers are out of order",
            ));
        }
        let body = match self.frame().parts.pop() {
            Some(Piece::Char(c)) => character(c),
            Some(Piece::Set(set)) => set,
            Some(Piece::Complement(at, body)) => Tree::Set(self.complement(body, false, at)?),
            Some(Piece::Fixed(set)) if anything => set,
            Some(Piece::Fixed(_) | Piece::Not(_)) | None => {
                return Err(RegexError::syntax(at, "there is nothing to repeat"));
            }
        };
        self.frame().parts.push(Piece::Fixed(body.repeat(min, max)));
        Ok(())
    }

    fn complement(&mut self, body: Tree, whole: bool, at: usize) -> Result<Regular, RegexError> {
        Ok(Regular::Complement(self.border(body, whole, at)?.into()))
    }

    /// An operand, which is matched on its own. It may look around only if it is the whole text, since it cannot see
    /// beyond itself, and nothing may refer to a group in it.
    fn border(&mut self, operand: Tree, whole: bool, at: usize) -> Result<Regular, RegexError> {
        let groups = operand.groups();
        let references = &self.references[operand.references()];
        if let Some(reference) = references.first() {
            let what = "a back-reference in an operand of `&` or `~`";
            return Err(RegexError::unsupported(reference.at, what));
        }
        if !groups.is_empty() {
            self.lost.push(groups);
        }
        let operand = references::resolve(operand, &[], self.options.dialect)?;
        if !looks(&operand) {
            Ok(operand)
        } else if whole {
            Ok(whole_text(operand, false))
        } else {
            Err(RegexError::unsupported(
                at,
                "an operand of `&` or `~` that looks around and is not the whole pattern",
            ))
        }
    }

    fn count_look(&mut self, at: usize) -> Result<(), RegexError> {
        self.anchors += 1;
        if self.anchors > MAX_ANCHORS {
            return Err(RegexError::limit(at, "anchors", MAX_ANCHORS));
        }
        Ok(())
    }
}

impl<F> OpenGroup<F> {
    fn into_tree(self) -> Tree {
        Tree::union(self.arms)
    }
}

/// Returns a look-behind or look-ahead, negated or not. `opened` is the position of its parenthesis.
pub(super) fn look(
    opened: usize,
    (behind, negated): (bool, bool),
    body: Regular,
) -> Result<Regular, RegexError> {
    if !behind {
        return Ok(Regular::look(false, negated, body));
    }
    look_behind(negated, body).map_err(|refused| match refused {
        NoLookBehind::Unsupported => RegexError::unsupported(
            opened,
            "a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end,",
        ),
        NoLookBehind::TooManyWays => {
            RegexError::limit(opened, "ways to read a look-behind", MAX_WAYS as u32)
        }
    })
}

fn character(c: char) -> Tree {
    Tree::Set(Regular::literal(c.encode_utf8(&mut [0; 4])))
}

fn nothing_to_complement(at: usize) -> RegexError {
    RegexError::syntax(at, "there is nothing to take the complement of")
}

/// Whether the tree contains a look-around. Operands of operators were checked before.
pub(super) fn looks(tree: &Regular) -> bool {
    any_part(tree, &|part| matches!(part, Regular::Look { .. }))
}

/// Whether something in the tree looks ahead, at its own level or within a look-around.
pub(super) fn looks_ahead(tree: &Regular) -> bool {
    any_part(tree, &|part| {
        matches!(part, Regular::Look { behind: false, .. })
    })
}

fn any_part(tree: &Regular, test: &dyn Fn(&Regular) -> bool) -> bool {
    let mut stack = vec![tree];
    while let Some(part) = stack.pop() {
        if test(part) {
            return true;
        }
        if !matches!(part, Regular::Intersection(_) | Regular::Complement(_)) {
            stack.extend(part.parts());
        }
    }
    false
}

fn flush(literal: &mut String, parts: &mut Vec<Tree>) {
    if !literal.is_empty() {
        parts.push(Tree::Set(Regular::literal(literal)));
        literal.clear();
    }
}
