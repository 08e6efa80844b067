//! The open groups of a pattern and their contents so far, shared by all dialects.
//!
//! They are on an explicit stack, so nesting does not use the call stack. With [`RegexOptions::operators`], an
//! alternative is an intersection of operands, and a part may be a complement.

use structgen_grammar::{CharSet, Regular};

use super::behind::{MAX_WAYS, NoLookBehind, look_behind};
use super::{Dialect, MAX_ANCHORS, RegexError, RegexOptions, whole_text};

/// The open groups; the first, which always exists, is the whole pattern. `F` is the state restored at the end of a
/// group, such as flags.
pub(super) struct Groups<F> {
    frames: Vec<OpenGroup<F>>,
    /// The current state.
    pub(super) flags: F,
    options: RegexOptions,
    anchors: u32,
}

/// A group that is still open.
struct OpenGroup<F> {
    /// The position of its parenthesis; 0 for the whole pattern.
    opened: usize,
    /// Whether it looks behind and whether it is negated, if it is a look-around.
    look: Option<(bool, bool)>,
    /// The state after the group.
    outside: F,
    arms: Vec<Regular>,
    /// The operands of `&` before this one.
    operands: Vec<Regular>,
    /// The position of the first `&` of the alternative.
    and: usize,
    parts: Vec<Piece>,
}

/// A part of an alternative. Characters stay separate until it is known that no quantifier follows.
enum Piece {
    Char(char),
    /// Cannot be repeated in some dialects: `^*` and `a**` are errors.
    Fixed(Regular),
    Set(Regular),
    /// A `~` at this position, whose operand comes next.
    Not(usize),
    /// The complement by a `~` at this position.
    Complement(usize, Regular),
}

impl<F: Copy> Groups<F> {
    pub(super) fn new(options: RegexOptions, flags: F) -> Self {
        let mut groups = Self {
            frames: Vec::new(),
            flags,
            options,
            anchors: 0,
        };
        groups.push_frame(0, None);
        groups
    }

    fn push_frame(&mut self, opened: usize, look: Option<(bool, bool)>) {
        self.frames.push(OpenGroup {
            opened,
            look,
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

    /// Closes the innermost group.
    pub(super) fn close(&mut self, at: usize) -> Result<(), RegexError> {
        if self.frames.len() < 2 {
            return Err(RegexError::syntax(at, "no group is open here"));
        }
        self.bar()?;
        if let Some(frame) = self.frames.pop() {
            self.flags = frame.outside;
            let (opened, look, body) = (frame.opened, frame.look, frame.into_regular());
            match look {
                None => self.push(at, Piece::Set(body))?,
                // Annex B of ECMA-262 allows look-aheads to be repeated.
                Some((false, negated)) => {
                    self.push_look(at, Piece::Set(Regular::look(false, negated, body)))?;
                }
                Some((true, negated)) => {
                    let look = look_behind(negated, body).map_err(|refused| match refused {
                        NoLookBehind::Unsupported => RegexError::unsupported(
                            opened,
                            "a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end,",
                        ),
                        NoLookBehind::TooManyWays => {
                            RegexError::limit(opened, "ways to read a look-behind", MAX_WAYS as u32)
                        }
                    })?;
                    let look = match self.options.dialect {
                        Dialect::Python => Piece::Set(look),
                        Dialect::Rust | Dialect::Ecma262 => Piece::Fixed(look),
                    };
                    self.push_look(at, look)?;
                }
            }
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
        Ok(self
            .frames
            .pop()
            .map_or(Regular::Empty, OpenGroup::into_regular))
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
                .map(|operand| border(operand, whole, and))
                .collect::<Result<_, _>>()?;
            Regular::Intersection(operands)
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

    fn operand(&mut self) -> Result<Regular, RegexError> {
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
                Piece::Complement(at, body) => complement(body, whole, at)?,
            };
            flush(&mut literal, &mut parts);
            parts.push(set);
        }
        flush(&mut literal, &mut parts);
        Ok(if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Regular::concat(parts)
        })
    }

    pub(super) fn push_char(&mut self, at: usize, c: char) -> Result<(), RegexError> {
        self.push(at, Piece::Char(c))
    }

    pub(super) fn push_set(&mut self, at: usize, set: CharSet) -> Result<(), RegexError> {
        match set.ranges() {
            &[(low, high)] if low == high => self.push(at, Piece::Char(low)),
            _ => self.push(at, Piece::Set(Regular::Chars(set))),
        }
    }

    /// Adds a part that looks around.
    pub(super) fn look(&mut self, at: usize, look: Regular) -> Result<(), RegexError> {
        self.count_look(at)?;
        self.push_look(at, Piece::Fixed(look))
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
            Piece::Char(c) => Regular::literal(c.encode_utf8(&mut [0; 4])),
            Piece::Fixed(set) | Piece::Set(set) => set,
            Piece::Complement(..) | Piece::Not(_) => return Err(nothing_to_complement(at)),
        };
        parts.push(if negated {
            Piece::Complement(not, body)
        } else {
            Piece::Set(border(body, false, not)?)
        });
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
            Some(Piece::Char(c)) => Regular::literal(c.encode_utf8(&mut [0; 4])),
            Some(Piece::Set(set)) => set,
            Some(Piece::Complement(at, body)) => complement(body, false, at)?,
            Some(Piece::Fixed(set)) if anything => set,
            Some(Piece::Fixed(_) | Piece::Not(_)) | None => {
                return Err(RegexError::syntax(at, "there is nothing to repeat"));
            }
        };
        let repeated = Regular::repeat(body, min, max);
        self.frame().parts.push(Piece::Fixed(repeated));
        Ok(())
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
    fn into_regular(mut self) -> Regular {
        if self.arms.len() == 1 {
            self.arms.swap_remove(0)
        } else {
            Regular::union(self.arms)
        }
    }
}

fn nothing_to_complement(at: usize) -> RegexError {
    RegexError::syntax(at, "there is nothing to take the complement of")
}

fn complement(body: Regular, whole: bool, at: usize) -> Result<Regular, RegexError> {
    Ok(Regular::Complement(border(body, whole, at)?.into()))
}

/// An operand, which is matched on its own. It may look around only if it is the whole text, since it cannot see beyond
/// itself.
fn border(operand: Regular, whole: bool, at: usize) -> Result<Regular, RegexError> {
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

fn flush(literal: &mut String, parts: &mut Vec<Regular>) {
    if !literal.is_empty() {
        parts.push(Regular::literal(literal));
        literal.clear();
    }
}
